//! Concurrent clients, crashes, and a record of every call and its answer, which must be that of one number a player
//! ([`History::check`]): what every engine does without crashes, over HTTP and with them.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use standings_engine::conformance::linear::History;

use crate::{
    faults::{times, tried},
    process::{ADMIN, Server},
};

/// Crashes in `make test`; `STANDINGS_KILL_ROUNDS` says how many otherwise.
const ROUNDS: usize = 5;
const CLIENTS: u64 = 6;
/// Few, so that clients meet.
const PLAYERS: u64 = 3;

/// An event without a receipt yet: it may have counted.
#[derive(Clone)]
struct InDoubt {
    event: String,
    player: u64,
    points: i64,
    sent: u64,
}

#[derive(Default)]
struct Record {
    history: History,
    in_doubt: Mutex<Vec<InDoubt>>,
    next_event: AtomicU64,
}

impl Record {
    /// One client: submits, repeats and reads until the server goes away or it is told to stop.
    fn play(&self, client: u64, round: usize, address: &str, stop: &AtomicBool) {
        let agent = agent();
        let mut turn = client * 31 + round as u64;
        while !stop.load(Ordering::Relaxed) {
            turn = turn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (player, choice) = ((turn >> 33) % PLAYERS, (turn >> 40) % 8);
            if choice == 0 {
                let sent = self.history.moment();
                let Some(score) = read(&agent, address, player) else { return };
                self.history.read(&name(player), sent, score);
                continue;
            }
            let number = self.next_event.fetch_add(1, Ordering::Relaxed);
            let (event, points) = (format!("event-{number}"), 1 + ((turn >> 50) % 9).cast_signed());
            let doubt = InDoubt { event, player, points, sent: self.history.moment() };
            if !self.send(&agent, address, &doubt) {
                self.in_doubt.lock().unwrap().push(doubt);
                return;
            }
            // A client that did not hear the answer sends it again.
            if choice == 1 && !self.send(&agent, address, &doubt) {
                return;
            }
        }
    }

    /// Sends an event and notes its receipt; whether there was one.
    fn send(&self, agent: &ureq::Agent, address: &str, event: &InDoubt) -> bool {
        let InDoubt { event: id, player, points, sent } = event;
        let body = json!({"user_id": name(*player), "points": points, "event_id": id});
        let answer = agent
            .post(format!("{address}/v1/scores"))
            .header("Authorization", format!("Bearer {ADMIN}"))
            .header("Content-Type", "application/json")
            .send(body.to_string());
        let Some(receipt) = answer.ok().and_then(|mut answer| {
            let text = answer.body_mut().read_to_string().ok()?;
            assert_eq!(answer.status(), 200, "{text}");
            serde_json::from_str::<Value>(&text).ok()
        }) else {
            return false;
        };
        let score = receipt["score"].as_i64().unwrap();
        self.history.receipt(id, (&name(*player), *points), *sent, (score, true));
        true
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

fn name(player: u64) -> String {
    format!("p{player}")
}

/// A score; 0 where there is none.
fn read(agent: &ureq::Agent, address: &str, player: u64) -> Option<i64> {
    let mut answer = agent.get(format!("{address}/v1/scores/{}", name(player))).call().ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    if answer.status() == 404 {
        return Some(0);
    }
    let entry: Value = serde_json::from_str(&text).ok()?;
    Some(entry["user_info"]["score"].as_i64().unwrap())
}

#[test]
fn every_score_is_one_number_changed_once_by_each_event_whatever_crashes() {
    let rounds = times("STANDINGS_KILL_ROUNDS", ROUNDS);
    let mut server = Server::start();
    let record = Record::default();
    for round in 0..rounds {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (address, record, stop) = (server.address.clone(), &record, &stop);
                scope.spawn(move || record.play(client, round, &address, stop));
            }
            std::thread::sleep(Duration::from_millis(50 + round as u64 * 61 % 250));
            server.kill_and_restart();
            stop.store(true, Ordering::Relaxed);
        });
        // What has no receipt is sent again, as the contract says, until it has one.
        let agent = agent();
        for event in std::mem::take(&mut *record.in_doubt.lock().unwrap()) {
            assert!(record.send(&agent, &server.address, &event), "the server is up");
        }
    }
    let agent = agent();
    let last: BTreeMap<String, i64> = (0..PLAYERS)
        .map(|player| (name(player), read(&agent, &server.address, player).unwrap()))
        .collect();
    let (events, reads) = record.history.check(&last);
    assert!(events > 50 && reads > 5, "{events} events and {reads} reads are too few to tell");
    tried(&format!(
        "{rounds} kills, {events} events and {reads} reads recorded: one number each, each event once"
    ));
}
