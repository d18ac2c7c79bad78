//! `snapshot`, and what reads and writes one.

use std::fs;

use serde_json::json;

use crate::process::Server;

const CSV: &str = "\
user_id,score,at,user_name,official_rank
a,90,2026-02-20T10:00:00Z,Ann,2
b,80,2026-02-20T11:00:00Z,,1
c,50,2026-02-20T12:00:00Z,,
";

#[test]
fn a_snapshot_is_taken_listed_and_read() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never"]).ok();
    server.run(&["submit", "alice", "7", "--board", "b"]).ok();
    let taken = server.run(&["snapshot", "take", "--board", "b"]).ok();
    let date = taken.strip_prefix("b, snapshot ").unwrap().strip_suffix(": 1 players\n").unwrap();
    server.run(&["submit", "alice", "5", "--board", "b"]).ok();
    assert_eq!(
        server.run(&["snapshot", "list", "--board", "b"]).ok(),
        format!("SNAPSHOT    PLAYERS\n{date}        1\n")
    );
    let top = server.run(&["top", "--board", "b", "--snapshot", "latest"]).ok();
    assert!(top.starts_with(&format!("b, snapshot {date}, players: 1\n")), "{top}");
    let rank = server.json(&["rank", "alice", "--board", "b", "--snapshot", date]);
    assert_eq!((&rank["user_info"]["score"], &rank["snapshot"]), (&json!(7), &json!(date)));
    assert_eq!(server.json(&["rank", "alice", "--board", "b"])["user_info"]["score"], 12);
}

#[test]
fn a_snapshot_is_imported_and_exported_with_its_official_ranks() {
    let server = Server::start();
    server.run(&["board", "create", "level", "--season", "never"]).ok();
    let file = server.file("level.csv", CSV);
    let import = ["import", &file, "--board", "level", "--snapshot", "2026-02-21"];
    let said = server.run(&import).ok();
    assert!(said.starts_with("level, snapshot 2026-02-21: 3 players, in "), "{said}");
    let top =
        server.run(&["top", "--board", "level", "--snapshot", "2026-02-21", "--min", "60"]).ok();
    assert_eq!(
        top,
        "level, snapshot 2026-02-21, players: 3\n\
         RANK  OFFICIAL  USER  NAME  SCORE  AT\n\
         \x20  1         2  a     Ann      90  2026-02-20T10:00:00Z\n\
         \x20  2         1  b              80  2026-02-20T11:00:00Z\n"
    );
    let export = ["export", "--board", "level", "--snapshot", "2026-02-21"];
    assert_eq!(server.run(&export).ok(), CSV);
    // What was exported as lines gives the same again.
    let lines = server.path("level.ndjson");
    let lines = lines.to_str().unwrap();
    server.run(&[&export[..], &["-o", lines]].concat()).ok();
    assert!(fs::read_to_string(lines).unwrap().contains("\"official_rank\":2"));
    server.run(&["import", lines, "--board", "level", "--snapshot", "2026-02-19"]).ok();
    let again = server.run(&["export", "--board", "level", "--snapshot", "2026-02-19"]).ok();
    assert_eq!(again, CSV);
    let future = ["import", &file, "--board", "level", "--snapshot", "2999-01-01"];
    assert!(server.run(&future).fails(1).contains("(snapshot_in_future)"));
}

#[test]
fn official_ranks_go_into_snapshots_only() {
    let server = Server::start();
    let file = server.file("level.csv", CSV);
    let words = server.run(&["import", &file, "--board", "main"]).fails(1);
    assert!(words.contains("row 2: ") && words.contains("--snapshot"), "{words}");
    let line = r#"{"user_id":"a","score":1,"official_rank":1}"#;
    let file = server.file("level.ndjson", line);
    let words = server.run(&["import", &file, "--board", "main"]).fails(1);
    assert!(words.contains("row 1: ") && words.contains("--snapshot"), "{words}");
    let bad = server.file("bad.csv", "a,1,,,first\n");
    let words =
        server.run(&["import", &bad, "--board", "main", "--snapshot", "2026-02-21"]).fails(1);
    assert!(words.contains("row 1: official_rank \"first\": invalid digit"), "{words}");
}
