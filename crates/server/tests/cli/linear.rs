//! Concurrent clients, crashes, and a record of every call and its answer. Afterwards the record alone must show that each
//! player's score behaved like one number that was changed by one submission at a time, each exactly once.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    faults::{times, tried},
    process::{ADMIN, Server},
};

/// Crashes in `make test`; `STANDINGS_KILL_ROUNDS` says how many otherwise.
const ROUNDS: usize = 5;
const CLIENTS: u64 = 6;
/// Few, so that clients meet.
const PLAYERS: u64 = 3;

/// An event: when it was first sent, when its receipt came, and what that said.
#[derive(Clone, Debug)]
struct Submitted {
    player: u64,
    points: u64,
    sent: Instant,
    answered: Instant,
    score: u64,
}

/// A read of a score; 0 where there was none.
#[derive(Clone, Debug)]
struct Read {
    player: u64,
    sent: Instant,
    answered: Instant,
    score: u64,
}

/// An event without a receipt yet: it may have counted.
#[derive(Clone)]
struct InDoubt {
    event: String,
    player: u64,
    points: u64,
    sent: Instant,
}

#[derive(Default)]
struct Record {
    submitted: Mutex<HashMap<String, Submitted>>,
    reads: Mutex<Vec<Read>>,
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
                let sent = Instant::now();
                let Some(score) = read(&agent, address, player) else { return };
                let read = Read { player, sent, answered: Instant::now(), score };
                self.reads.lock().unwrap().push(read);
                continue;
            }
            let number = self.next_event.fetch_add(1, Ordering::Relaxed);
            let (event, points) = (format!("event-{number}"), 1 + (turn >> 50) % 9);
            let doubt = InDoubt { event, player, points, sent: Instant::now() };
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
        let InDoubt { event: id, player, points, sent } = event.clone();
        let body = json!({"user_id": format!("p{player}"), "points": points, "event_id": id});
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
        let score = receipt["score"].as_u64().unwrap();
        let answered = Instant::now();
        let mut submitted = self.submitted.lock().unwrap();
        let known = submitted.entry(id.clone()).or_insert(Submitted {
            player,
            points,
            sent,
            answered,
            score,
        });
        assert_eq!(known.score, score, "{id} was answered twice, and differently");
        true
    }

    /// Every event has a receipt in the end, and counted once.
    fn check(&self, last: &HashMap<u64, u64>) -> (usize, usize) {
        let submitted = self.submitted.lock().unwrap();
        let reads = self.reads.lock().unwrap();
        for player in 0..PLAYERS {
            let mut events: Vec<&Submitted> =
                submitted.values().filter(|event| event.player == player).collect();
            events.sort_by_key(|event| event.score);
            let mut score = 0;
            for event in &events {
                assert_eq!(event.score, score + event.points, "p{player} after {score}: {event:?}");
                score = event.score;
            }
            assert_eq!(last[&player], score, "p{player} has what was accepted, and nothing else");
            in_order_of_time(&events);
            let reads: Vec<&Read> = reads.iter().filter(|read| read.player == player).collect();
            reads_fit(&events, &reads);
        }
        (submitted.len(), reads.len())
    }
}

/// What was answered before something else was sent came before it.
fn in_order_of_time(events: &[&Submitted]) {
    let mut by_answer = events.to_vec();
    by_answer.sort_by_key(|event| event.answered);
    let mut by_sending = events.to_vec();
    by_sending.sort_by_key(|event| event.sent);
    let (mut done, mut highest) = (0, 0);
    for event in by_sending {
        while by_answer.get(done).is_some_and(|earlier| earlier.answered < event.sent) {
            highest = highest.max(by_answer[done].score);
            done += 1;
        }
        assert!(event.score > highest, "{event:?} was sent after {highest} was answered");
    }
}

/// A read shows a score that there was between its question and its answer.
fn reads_fit(events: &[&Submitted], reads: &[&Read]) {
    for read in reads {
        let before = events.iter().filter(|event| event.answered < read.sent);
        let least = before.map(|event| event.score).max().unwrap_or(0);
        let seen = reads.iter().filter(|earlier| earlier.answered < read.sent);
        let least = seen.map(|earlier| earlier.score).fold(least, u64::max);
        assert!(read.score >= least, "{read:?} after {least} was known");
        let of = events.iter().find(|event| event.score == read.score);
        let possible = read.score == 0 || of.is_some_and(|event| event.sent < read.answered);
        assert!(possible, "{read:?} is no score that there was by then");
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

fn read(agent: &ureq::Agent, address: &str, player: u64) -> Option<u64> {
    let mut answer = agent.get(format!("{address}/v1/scores/p{player}")).call().ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    if answer.status() == 404 {
        return Some(0);
    }
    let entry: Value = serde_json::from_str(&text).ok()?;
    Some(entry["user_info"]["score"].as_u64().unwrap())
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
    let last: HashMap<u64, u64> = (0..PLAYERS)
        .map(|player| (player, read(&agent, &server.address, player).unwrap()))
        .collect();
    let (events, reads) = record.check(&last);
    assert!(events > 50 && reads > 5, "{events} events and {reads} reads are too few to tell");
    tried(&format!(
        "{rounds} kills, {events} events and {reads} reads recorded: one number each, each event once"
    ));
}
