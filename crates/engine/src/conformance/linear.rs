//! Histories: what was sent and what was answered, by many at once. Afterwards the record alone must show that each player's score
//! behaved like one number that was changed by one submission at a time, each exactly once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use standings_core::{BoardId, rule::Submission};
use tokio::task::JoinSet;

use super::{
    World,
    model::Random,
    world::{event, id},
};
use crate::{Engine, EngineError, Receipt, Refused, StandingRef};

/// An event: when it was first sent, when its receipt came, and what that said.
#[derive(Clone, Debug)]
struct Submitted {
    player: String,
    points: i64,
    sent: u64,
    answered: u64,
    score: i64,
    /// Whether every later read shows it.
    shown: bool,
}

/// A read of a score; 0 where there was none.
#[derive(Clone, Debug)]
struct Read {
    player: String,
    sent: u64,
    answered: u64,
    score: i64,
}

/// A record of calls and answers. Moments are numbers given in order, so that of two calls it is known which one was over before the
/// other began.
#[derive(Debug, Default)]
pub struct History {
    moment: AtomicU64,
    submitted: Mutex<HashMap<String, Submitted>>,
    reads: Mutex<Vec<Read>>,
}

impl History {
    /// The moment of now: to be asked for right before something is sent.
    pub fn moment(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::SeqCst)
    }

    /// Notes the receipt of an event, the first or a repeated one. A store that could not tell the rank need not show it yet.
    pub fn receipt(
        &self,
        event: &str,
        (player, points): (&str, i64),
        sent: u64,
        (score, shown): (i64, bool),
    ) {
        let answered = self.moment();
        let mut submitted = self.submitted.lock().unwrap();
        let player = player.to_owned();
        let first = Submitted { player, points, sent, answered, score, shown };
        let known = submitted.entry(event.to_owned()).or_insert(first);
        assert_eq!(known.score, score, "{event} was answered twice, and differently");
    }

    /// Notes what a read showed.
    pub fn read(&self, player: &str, sent: u64, score: i64) {
        let (player, answered) = (player.to_owned(), self.moment());
        self.reads.lock().unwrap().push(Read { player, sent, answered, score });
    }

    /// Asserts that every event counted once, in an order that all answers agree with, and that nothing else did: `last` is what
    /// each player has in the end. Returns how many events and reads there were.
    pub fn check(&self, last: &BTreeMap<String, i64>) -> (usize, usize) {
        let submitted = self.submitted.lock().unwrap();
        let reads = self.reads.lock().unwrap();
        for (player, last) in last {
            let mut events: Vec<&Submitted> =
                submitted.values().filter(|event| event.player == *player).collect();
            events.sort_by_key(|event| event.score);
            let mut score = 0;
            for event in &events {
                assert_eq!(event.score, score + event.points, "{player} after {score}: {event:?}");
                score = event.score;
            }
            assert_eq!(*last, score, "{player} has what was accepted, and nothing else");
            in_order_of_time(&events);
            let reads: Vec<&Read> = reads.iter().filter(|read| read.player == *player).collect();
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
        let before = events.iter().filter(|event| event.shown && event.answered < read.sent);
        let least = before.map(|event| event.score).max().unwrap_or(0);
        let seen = reads.iter().filter(|earlier| earlier.answered < read.sent);
        let least = seen.map(|earlier| earlier.score).fold(least, i64::max);
        assert!(read.score >= least, "{read:?} after {least} was known");
        let of = events.iter().find(|event| event.score == read.score);
        let possible = read.score == 0 || of.is_some_and(|event| event.sent < read.answered);
        assert!(possible, "{read:?} is no score that there was by then");
    }
}

const CLIENTS: u64 = 6;
/// Of each client.
const CALLS: u64 = 120;
/// Few, so that clients meet.
const PLAYERS: u64 = 3;
/// How often a client sends again what the store could not take.
const ATTEMPTS: usize = 50;

/// Many clients at once, on all servers, who repeat what they have sent.
pub async fn every_score_is_one_number_changed_once_by_each_event(world: &mut World) {
    let board = world.forever().await;
    let history = Arc::new(History::default());
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (servers, board, history) = (world.servers(), board.clone(), Arc::clone(&history));
        clients.spawn(async move { play(client, &servers, &board, &history).await });
    }
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
    world.quiesce().await;
    let mut last = BTreeMap::new();
    for player in (0..PLAYERS).map(player) {
        last.insert(player.clone(), world.entry(&board, &player).await.row.score.get());
    }
    let (events, reads) = history.check(&last);
    assert!(events > 300 && reads > 30, "{events} events and {reads} reads are too few to tell");
}

fn player(number: u64) -> String {
    format!("p{number}")
}

/// One client: submits, repeats and reads.
async fn play(client: u64, servers: &[Arc<dyn Engine>], board: &BoardId, history: &History) {
    let mut random = Random(client + 1);
    for call in 0..CALLS {
        let player = player(random.below(PLAYERS));
        let server = &servers[random.index(servers.len())];
        let sent = history.moment();
        let choice = random.below(8);
        if choice == 0 {
            let entry = server.entry(board, &StandingRef::CURRENT, &id(&player), None).await;
            match entry {
                Ok(entry) => history.read(&player, sent, entry.row.score.get()),
                Err(EngineError::UnknownPlayer(_)) => history.read(&player, sent, 0),
                Err(other) => panic!("{other:?}"),
            }
            continue;
        }
        let (name, points) = (format!("{client}-{call}"), 1 + random.below(9).cast_signed());
        let sends = if choice == 1 { 2 } else { 1 };
        for _ in 0..sends {
            let server = &servers[random.index(servers.len())];
            let receipt = send(&**server, board, &event(&player, points, &name)).await;
            let answer = (receipt.score.get(), receipt.rank.is_some() && !receipt.duplicate);
            history.receipt(&name, (&player, points), sent, answer);
        }
    }
}

/// Sends an event until it has a receipt, as the contract says.
async fn send(server: &dyn Engine, board: &BoardId, event: &Submission) -> Receipt {
    for _ in 0..ATTEMPTS {
        let answer = server.submit(board, vec![event.clone()]).await;
        match answer.map(|mut answers| answers.remove(0)) {
            Ok(Ok(receipt)) => return receipt,
            Ok(Err(Refused::Rule(rejection))) => panic!("{event:?}: {rejection}"),
            Ok(Err(Refused::Store(_))) | Err(_) => tokio::task::yield_now().await,
        }
    }
    panic!("{event:?} was not taken {ATTEMPTS} times");
}
