//! Starting on the files of an earlier format.

use std::{fs, path::Path, process::Command, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{agent, call, get, times, tried, until};
use crate::process::{Server, standings};

/// The event ids of the fixture are to be known for good.
const ARGS: [&str; 2] = ["--event-id-window", "876000 hours"];

/// The files of a fixture, as `data`, and what the server that wrote them answered.
fn unpack(name: &str, which: &str) -> (TempDir, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/{name}.tar.gz"));
    let unpacked = Command::new("tar").arg("-C").arg(dir.path()).arg("-xzf").arg(archive).status();
    assert!(unpacked.unwrap().success());
    fs::rename(dir.path().join(name).join(which), dir.path().join("data")).unwrap();
    let answers = fs::read_to_string(dir.path().join(name).join("answers.json")).unwrap();
    (dir, serde_json::from_str(&answers).unwrap())
}

/// Whether an answer has all that an earlier version answered; it may have more.
fn covers(now: &Value, then: &Value) -> bool {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            then.iter().all(|(name, then)| now.get(name).is_some_and(|now| covers(now, then)))
        }
        (Value::Array(now), Value::Array(then)) => {
            now.len() == then.len() && now.iter().zip(then).all(|(now, then)| covers(now, then))
        }
        _ => now == then,
    }
}

fn answers_as_before(server: &Server, answers: &[Value]) {
    let agent = agent();
    for answer in answers {
        let path = answer["path"].as_str().unwrap();
        let (status, now) = get(&agent, &format!("{}{path}", server.address));
        assert_eq!(status, 200, "{path}: {now}");
        assert!(covers(&now, &answer["answer"]), "{path}: {now}\nbefore: {}", answer["answer"]);
    }
}

/// Event ids of the fixture count no second time.
fn ids_are_known(server: &Server) {
    let agent = agent();
    let ids = (1..=40).flat_map(|n| {
        let wins = (1..=4).map(move |season| {
            let points = if season == 4 { n % 5 } else { n * season % 37 };
            ("wins", format!("wins-{season}-{n}"), points)
        });
        wins.chain([("laps", format!("laps-{n}"), 90_000 - n % 9 * 100)]).map(move |id| (n, id))
    });
    for (n, (board, event, points)) in ids {
        let body = json!({"user_id": format!("player-{n}"), "points": points, "event_id": event});
        let url = format!("{}/v1/boards/{board}/scores", server.address);
        let (status, receipt) = call(&agent, "POST", &url, &body);
        assert_eq!((status, &receipt["duplicate"]), (200, &json!(true)), "{event}: {receipt}");
    }
}

/// Streaks are new: they are counted from the seasons that were there. All of players with at least 30 points.
fn streaks_are_counted(server: &Server) {
    let agent = agent();
    let url = format!("{}/v1/players/player-34/seasons?board=wins", server.address);
    // 34, 68 % 37 = 31 and 102 % 37 = 28 points: two successes and one failure.
    until("streaks are counted", Duration::from_secs(20), || {
        let (status, seasons) = get(&agent, &url);
        assert_eq!(status, 200, "{seasons}");
        seasons["longest_streak"] == 2
    });
}

fn history_is_whole(server: &Server) {
    let url = format!("{}/v1/players/player-5/scores?limit=100", server.address);
    let (status, history) = get(&agent(), &url);
    let points: Vec<_> =
        history["data"].as_array().unwrap().iter().map(|event| event["points"].clone()).collect();
    assert_eq!(
        (status, points),
        (200, vec![json!(0), json!(89_500), json!(15), json!(10), json!(5)])
    );
}

fn upgrade(which: &str) {
    let (dir, answers) = unpack("format-1", which);
    let server = Server::start_after(dir, ":", &ARGS);
    answers_as_before(&server, &answers);
    ids_are_known(&server);
    streaks_are_counted(&server);
    history_is_whole(&server);
    // Still the same after what is written now is read back.
    let mut server = server;
    server.restart_after(":", &ARGS);
    answers_as_before(&server, &answers);
    ids_are_known(&server);
    let stopped = server.stop();
    standings(&["check", "--data", &stopped.path("data")]).ok();
    standings(&["rebuild", "--dry-run", "--data", &stopped.path("data")]).ok();
}

#[test]
fn a_directory_of_format_1_is_read_whole_and_goes_on_in_this_format() {
    upgrade("killed");
    upgrade("stopped");
    tried(
        "format version 1 as a killed server left it and as a stopped one did, every answer as before",
    );
}

#[test]
fn a_kill_while_a_directory_of_format_1_is_upgraded_does_no_harm() {
    let rounds = times("STANDINGS_UPGRADE_KILLS", 3);
    for round in 0..rounds {
        let (dir, answers) = unpack("format-1", if round % 2 == 0 { "killed" } else { "stopped" });
        // Another moment of the start each time.
        let after = round * 200 / rounds;
        let setup = format!("sh -c 'sleep 0.{after:03}; kill -9 $0' $$ &");
        let data = dir.path().join("data");
        let status = Command::new("sh")
            .args(["-c", &format!("{setup}\nexec \"$@\""), "sh", env!("CARGO_BIN_EXE_standings")])
            .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--data"])
            .arg(data)
            .args(ARGS)
            .stdout(std::process::Stdio::null())
            .status();
        assert_eq!(status.unwrap().code(), None, "it was killed");
        let server = Server::start_after(dir, ":", &ARGS);
        answers_as_before(&server, &answers);
        ids_are_known(&server);
    }
    tried(&format!("{rounds} kills while upgrading, every answer as before"));
}
