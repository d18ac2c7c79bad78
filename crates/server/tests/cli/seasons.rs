//! `season`, and a year of a board as a file.

use std::fs;

use serde_json::Value;

use crate::process::Server;

/// The id of a board's current season.
fn current(server: &Server, board: &str) -> String {
    let board = server.json(&["board", "show", board]);
    board["current_season"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_season_is_closed_and_listed_with_its_statistics() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--goal", "5"]).ok();
    for (user, points) in [("alice", "7"), ("bob", "5"), ("carol", "3")] {
        server.run(&["submit", user, points, "--board", "b"]).ok();
    }
    let season = current(&server, "b");
    let closed = server.run(&["season", "close", "b"]).ok();
    assert_eq!(closed, format!("season {season} of b is closed; {season}.2 is current\n"));
    let list = server.run(&["season", "list", "--board", "b", "--year", &season[..4]]).ok();
    let lines: Vec<_> = list.lines().collect();
    assert!(lines[0].starts_with("SEASON"), "{list}");
    assert!(lines[0].contains("PLAYERS  MEAN  SUCCESSES     RATE"), "{list}");
    assert!(lines[1].starts_with(&format!("{season}.2  open ")), "{list}");
    assert!(lines[2].starts_with(&format!("{season}    closed ")), "{list}");
    assert!(lines[2].contains("      3  5.00          2  66.67 %"), "{list}");
    assert_eq!(lines[3], "mean success rate of the seasons that are over: 66.67 %");
    let first = server.run(&["season", "list", "--board", "b", "--limit", "1"]).ok();
    assert!(first.ends_with(&format!("older ones: --before {season}.2\n")), "{first}");
    let none = server.json(&["season", "list", "--board", "b", "--year", "1999"]);
    assert_eq!(none["data"], Value::Array(vec![]));
}

#[test]
fn a_year_is_written_to_a_file_season_by_season() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--goal", "5"]).ok();
    let season = current(&server, "b");
    let year = &season[..4];
    server.run(&["submit", "alice", "7", "--board", "b", "--name", "Alice"]).ok();
    server.run(&["submit", "bob", "3", "--board", "b"]).ok();
    server.run(&["season", "close", "b"]).ok();
    server.run(&["submit", "bob", "9", "--board", "b"]).ok();

    let file = server.path("year.ndjson");
    let args = ["export", "--board", "b", "--year", year, "-o", file.to_str().unwrap()];
    let said = server.run(&args);
    assert!(said.err.contains("year.ndjson: 3 rows, in "), "{}", said.err);
    let text = fs::read_to_string(&file).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!((&rows[0]["season"], &rows[0]["rank"]), (&season.as_str().into(), &1.into()));
    assert_eq!((&rows[1]["user_name"], &rows[1]["success"]), (&Value::Null, &false.into()));

    let none = server.run(&["export", "--board", "b", "--year", "1999"]);
    assert_eq!(none.out, "", "a refusal writes nothing");
    assert!(none.fails(1).contains("has no season of 1999"));
}
