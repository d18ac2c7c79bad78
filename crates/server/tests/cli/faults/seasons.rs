//! Seasons that end while everyone submits.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{agent, call, get, times, tried};
use crate::process::{Server, standings};

const CLIENTS: usize = 6;

/// Points by season and player.
type Sums = BTreeMap<(String, String), u64>;

/// A season a minute, which an administrator ends more often still.
#[test]
fn what_is_submitted_where_seasons_meet_is_in_exactly_the_season_of_its_receipt() {
    let seconds = times("STANDINGS_SEASON_SECONDS", 4);
    let server = Server::start();
    let board = format!("{}/v1/boards/minutes", server.address);
    let definition = json!({"season": "* * * * *", "grace": "0 seconds"});
    assert_eq!(call(&agent(), "PUT", &board, &definition).0, 201);
    let (sums, stop) = (Mutex::new(Sums::new()), AtomicBool::new(false));
    let refused = AtomicUsize::new(0);
    let closes = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (board, sums, stop, refused) = (&board, &sums, &stop, &refused);
            scope.spawn(move || submit(board, client, sums, stop, refused));
        }
        let started = Instant::now();
        let (agent, mut closes) = (agent(), 0);
        while started.elapsed() < Duration::from_secs(seconds as u64) {
            std::thread::sleep(Duration::from_millis(100));
            let (status, answer) =
                call(&agent, "POST", &format!("{board}/seasons/close"), &Value::Null);
            assert_eq!(status, 200, "{answer}");
            closes += 1;
        }
        stop.store(true, Ordering::Relaxed);
        closes
    });
    let sums = sums.into_inner().unwrap();
    assert_eq!(standing_sums(&board), sums);
    let seasons = sums.keys().map(|(season, _)| season).collect::<std::collections::BTreeSet<_>>();
    assert!(seasons.len() > closes / 2, "{} seasons of {closes} had scores", seasons.len());
    let (total, seasons) = (sums.values().sum::<u64>(), seasons.len());
    let mut server = server;
    server.kill_and_restart();
    assert_eq!(standing_sums(&format!("{}/v1/boards/minutes", server.address)), sums);
    let stopped = server.stop();
    standings(&["check", "--data", &stopped.path("data")]).ok();
    standings(&["rebuild", "--dry-run", "--data", &stopped.path("data")]).ok();
    tried(&format!(
        "{closes} seasons ended in {seconds} s under load, {total} points in {seasons} seasons, each in the one of its receipt; {} refused",
        refused.into_inner()
    ));
}

/// Submits without a time, so that the moment of the decision chooses the season.
fn submit(
    board: &str,
    client: usize,
    sums: &Mutex<Sums>,
    stop: &AtomicBool,
    refused: &AtomicUsize,
) {
    let agent = agent();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let player = format!("p{}", (client + number) % 4);
        let body = json!({"user_id": player, "points": 1});
        let (status, receipt) = call(&agent, "POST", &format!("{board}/scores"), &body);
        if status == 409 {
            // Between the reading of the clock and the decision the season was ended by hand.
            assert_eq!(receipt["code"], "season_closed");
            refused.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        assert_eq!(status, 200, "{receipt}");
        let season = receipt["season"].as_str().unwrap().to_owned();
        *sums.lock().unwrap().entry((season, player)).or_default() += 1;
    }
}

/// What all seasons show.
fn standing_sums(board: &str) -> Sums {
    let agent = agent();
    let mut sums = Sums::new();
    let mut before = String::new();
    loop {
        let (status, seasons) = get(&agent, &format!("{board}/seasons?limit=1000{before}"));
        assert_eq!(status, 200, "{seasons}");
        for season in seasons["data"].as_array().unwrap() {
            let id = season["id"].as_str().unwrap();
            let (_, rows) = get(&agent, &format!("{board}/scores?limit=1000&season={id}"));
            for row in rows["data"].as_array().unwrap() {
                let player = row["user_id"].as_str().unwrap().to_owned();
                sums.insert((id.to_owned(), player), row["score"].as_u64().unwrap());
            }
        }
        match seasons["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return sums,
        }
    }
}
