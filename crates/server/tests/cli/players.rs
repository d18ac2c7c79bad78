//! `player`, and a rank among friends.

use serde_json::json;

use crate::process::Server;

#[test]
fn a_player_is_shown_with_current_scores() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never"]).ok();
    server.run(&["submit", "alice", "7", "--board", "b", "--name", "Alice"]).ok();
    assert_eq!(
        server.run(&["player", "show", "alice"]).ok(),
        "PROFILE  VALUE\n\
         user_id  alice\n\
         name     Alice\n\
         \n\
         BOARD  SEASON  RANK  SCORE\n\
         b      all        1      7\n"
    );
    assert!(server.run(&["player", "show", "bob"]).fails(1).ends_with("(unknown_player)\n"));
}

#[test]
fn a_player_is_erased_only_when_that_is_meant() {
    let server = Server::start();
    let asked = server.run(&["player", "erase", "alice"]).fails(2);
    assert!(asked.contains("for good") && asked.contains("--yes"), "{asked}");
    server.run(&["submit", "alice", "7"]).ok();
    assert_eq!(server.run(&["player", "erase", "alice", "--yes"]).ok(), "player alice is erased\n");
    assert!(server.run(&["rank", "alice"]).fails(1).ends_with("(unknown_player)\n"));
}

#[test]
fn history_is_listed_page_by_page() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never"]).ok();
    for (points, event) in [("7", "one"), ("5", "two"), ("3", "three")] {
        let at = "2026-01-02T03:04:05Z";
        server
            .run(&["submit", "alice", points, "--board", "b", "--event-id", event, "--at", at])
            .ok();
    }
    let first = server.run(&["player", "history", "alice", "--limit", "2"]).ok();
    let lines: Vec<_> = first.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "AT                    BOARD  SEASON  POINTS  SCORE  EVENT",
            "2026-01-02T03:04:05Z  b      all          3     15  three",
            "2026-01-02T03:04:05Z  b      all          5     12  two",
        ]
    );
    let next = lines[3].strip_prefix("older ones: --before ").unwrap();
    let rest = server.json(&["player", "history", "alice", "--before", next]);
    assert_eq!((&rest["data"][0]["event_id"], &rest["next"]), (&json!("one"), &json!(null)));
}

#[test]
fn seasons_are_listed_with_best_and_streaks() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never", "--goal", "5"]).ok();
    server.run(&["submit", "alice", "7", "--board", "b", "--at", "2026-01-02T03:04:05Z"]).ok();
    let seasons = server.run(&["player", "seasons", "alice", "--board", "b"]).ok();
    let lines: Vec<_> = seasons.lines().collect();
    assert!(lines[0].starts_with("SEASON  STARTS"), "{seasons}");
    assert!(lines[1].starts_with("all     "), "{seasons}");
    assert!(lines[1].contains("   1      7  yes      2026-01-02T03:04:05Z  20"), "{seasons}");
    assert_eq!(lines[2..], ["best: 7 in all", "streak: 1, longest: 1"]);
    let bad = server.run(&["player", "seasons", "alice", "--board", "b", "--from", "soon"]);
    assert!(bad.fails(1).ends_with("(malformed)\n"));
}

#[test]
fn snapshots_of_a_player_are_listed() {
    let server = Server::start();
    server.run(&["board", "create", "level", "--season", "never"]).ok();
    let file = server.file("level.csv", "a,90,,Ann,2\nb,80,,,\n");
    for date in ["2026-02-20", "2026-02-21"] {
        server.run(&["import", &file, "--board", "level", "--snapshot", date]).ok();
    }
    assert_eq!(
        server.run(&["player", "snapshots", "a", "--from", "2026-02-21"]).ok(),
        "SNAPSHOT    BOARD  NAME  RANK  OFFICIAL  SCORE\n\
         2026-02-21  level  Ann      1         2     90\n"
    );
    let both = server.json(&["player", "snapshots", "b", "--board", "level"]);
    assert_eq!(both["data"].as_array().unwrap().len(), 2);
}

#[test]
fn a_player_is_ranked_among_friends() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never"]).ok();
    for (user, points) in [("alice", "30"), ("bob", "20"), ("carol", "10")] {
        server.run(&["submit", user, points, "--board", "b", "--at", "1000"]).ok();
    }
    let set = server.run(&["player", "set-friends", "carol", "bob", "dave", "carol"]).ok();
    assert_eq!(set, "carol has 2 friends\n");
    assert_eq!(server.run(&["player", "friends", "carol"]).ok(), "FRIEND\nbob\ndave\n");
    let among = server.run(&["rank", "carol", "--board", "b", "--friends"]).ok();
    assert!(
        among.starts_with(
            "RANK  ON BOARD  USER   SCORE  AT\n\
             \x20  1         2  bob       20  1970-01-01T00:00:01Z\n\
             \x20  2         3  carol     10  1970-01-01T00:00:01Z\n\
             percentile 33.33, updated 20"
        ),
        "{among}"
    );
    server.run(&["player", "set-friends", "dave", "alice"]).ok();
    let dave = server.run(&["rank", "dave", "--board", "b", "--friends"]).ok();
    assert!(dave.ends_with("   1         1  alice     30  1970-01-01T00:00:01Z\n"), "{dave}");
    assert_eq!(
        server.run(&["player", "set-friends", "dave", "--none"]).ok(),
        "dave has 0 friends\n"
    );
    let alone = server.run(&["rank", "dave", "--board", "b", "--friends"]).ok();
    assert_eq!(alone, "no entry, and none of a friend\n");
}
