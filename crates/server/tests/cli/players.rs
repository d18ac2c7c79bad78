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
fn a_list_of_friends_is_replaced_shown_and_emptied() {
    let server = Server::start();
    server.run(&["submit", "alice", "30"]).ok();
    let set = server.run(&["player", "set-friends", "carol", "alice", "dave", "alice"]).ok();
    assert_eq!(set, "carol has 2 friends\n");
    assert_eq!(server.run(&["player", "friends", "carol"]).ok(), "FRIEND\nalice\ndave\n");
    let carol = server.run(&["rank", "carol", "--friends"]).ok();
    assert!(carol.contains("   1         1  alice     30  20"), "{carol}");
    let emptied = server.run(&["player", "set-friends", "carol", "--none"]).ok();
    assert_eq!(emptied, "carol has 0 friends\n");
    let alone = server.run(&["rank", "carol", "--friends"]).ok();
    assert_eq!(alone, "no entry, and none of a friend\n");
}
