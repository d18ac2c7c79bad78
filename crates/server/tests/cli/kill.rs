//! `kill -9` under load: nothing acknowledged is lost, nothing counts twice.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    faults::{times, tried},
    process::{ADMIN, Server, standings},
};

/// Rounds in `make test`; `STANDINGS_KILL_ROUNDS=200` is what the project promises to have passed.
const ROUNDS: usize = 8;
const CLIENTS: usize = 4;
const PLAYERS: usize = 5;

/// What one client has sent for each of its players, and what was acknowledged.
#[derive(Default)]
struct Client {
    number: usize,
    sent: [u64; PLAYERS],
    acknowledged: [u64; PLAYERS],
    /// Events that were sent and not acknowledged: they may have counted.
    in_doubt: Vec<(usize, u64)>,
}

impl Client {
    fn player(&self, player: usize) -> String {
        format!("c{}-p{player}", self.number)
    }

    /// Submits until told to stop or the server is gone.
    fn hammer(&mut self, address: &str, stop: &AtomicBool) {
        let agent = agent();
        let mut turn = 0;
        while !stop.load(Ordering::Relaxed) {
            let player = turn % PLAYERS;
            turn += 1;
            self.sent[player] += 1;
            let event = self.sent[player];
            if self.submit(&agent, address, player, event).is_none() {
                self.in_doubt.push((player, event));
                return;
            }
            self.acknowledged[player] += 1;
        }
    }

    /// The receipt, or nothing where the server went away.
    fn submit(
        &self,
        agent: &ureq::Agent,
        address: &str,
        player: usize,
        event: u64,
    ) -> Option<Value> {
        let user = self.player(player);
        let body = json!({"user_id": user, "points": 1, "event_id": format!("{user}-{event}")});
        let mut answer = agent
            .post(format!("{address}/v1/scores"))
            .header("Authorization", format!("Bearer {ADMIN}"))
            .header("Content-Type", "application/json")
            .send(body.to_string())
            .ok()?;
        let text = answer.body_mut().read_to_string().ok()?;
        assert_eq!(answer.status(), 200, "{text}");
        serde_json::from_str(&text).ok()
    }

    /// What was acknowledged is there; what was in doubt counts once, whether or not it had counted.
    fn verify(&mut self, address: &str) {
        let agent = agent();
        for player in 0..PLAYERS {
            if self.sent[player] == 0 {
                continue;
            }
            let score = self.score(&agent, address, player);
            let in_doubt = self.in_doubt.iter().filter(|(p, _)| *p == player).count() as u64;
            let acknowledged = self.acknowledged[player];
            assert!(
                (acknowledged..=acknowledged + in_doubt).contains(&score),
                "{}: {acknowledged} acknowledged, {in_doubt} in doubt, score {score}",
                self.player(player)
            );
        }
        for (player, event) in std::mem::take(&mut self.in_doubt) {
            self.submit(&agent, address, player, event).expect("the server is up");
            self.acknowledged[player] += 1;
            assert_eq!(self.score(&agent, address, player), self.sent[player]);
        }
    }

    fn score(&self, agent: &ureq::Agent, address: &str, player: usize) -> u64 {
        let mut answer =
            agent.get(format!("{address}/v1/scores/{}", self.player(player))).call().unwrap();
        if answer.status() == 404 {
            return 0;
        }
        let entry: Value =
            serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        entry["user_info"]["score"].as_u64().unwrap()
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .into()
}

#[test]
fn a_killed_server_loses_nothing_acknowledged_and_counts_nothing_twice() {
    let rounds = times("STANDINGS_KILL_ROUNDS", ROUNDS);
    let mut server = Server::start();
    let mut clients: Vec<Client> =
        (0..CLIENTS).map(|number| Client { number, ..Client::default() }).collect();
    for round in 0..rounds {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for client in &mut clients {
                let (address, stop) = (server.address.clone(), &stop);
                scope.spawn(move || client.hammer(&address, stop));
            }
            // Each round is killed at another moment of whatever the server does.
            std::thread::sleep(Duration::from_millis(20 + round as u64 * 37 % 200));
            server.kill_and_restart();
            stop.store(true, Ordering::Relaxed);
        });
        for client in &mut clients {
            client.verify(&server.address);
        }
    }
    let accepted: u64 = clients.iter().flat_map(|client| client.sent).sum();
    assert!(accepted > rounds as u64, "{accepted} scores were accepted under load");
    let data = server.stop();
    standings(&["check", "--data", &data.path("data")]).ok();
    let rebuilt = standings(&["rebuild", "--dry-run", "--data", &data.path("data")]).ok();
    assert!(rebuilt.contains('0'), "{rebuilt}");
    tried(&format!("{rounds} kills under load, {accepted} scores, nothing lost, nothing twice"));
}
