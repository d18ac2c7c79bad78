//! `top`, `rank` and `submit`.

use serde_json::json;

use crate::process::Server;

#[test]
fn a_submitted_score_is_in_the_top_and_has_a_rank() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never"]).ok();
    let submit = |user: &str, points: &str| {
        server.run(&["submit", user, points, "--board", "b", "--at", "1000"]).ok()
    };
    assert_eq!(submit("alice", "10"), "alice: score 10, rank 1, board b, season all\n");
    assert_eq!(submit("bob", "-20"), "bob: score -20, rank 2, board b, season all\n");
    assert_eq!(
        submit("bob", "40"),
        "bob: score 20, rank 1 (before: -20, rank 2), board b, season all\n"
    );
    assert_eq!(
        server.run(&["top", "--board", "b"]).ok(),
        "b, season all, players: 2\n\
         RANK  USER   SCORE  AT\n\
         \x20  1  bob       20  1970-01-01T00:00:01Z\n\
         \x20  2  alice     10  1970-01-01T00:00:01Z\n"
    );
    let rank = server.run(&["rank", "alice", "--board", "b"]).ok();
    assert!(rank.starts_with("RANK  USER   SCORE  AT\n   2  alice     10  "), "{rank}");
    assert!(rank.contains("percentile 50.00, updated 20"), "{rank}");
    let around = server.run(&["rank", "alice", "--board", "b", "--around", "1"]).ok();
    assert!(around.contains("   1  bob       20  "), "{around}");
}

#[test]
fn top_takes_a_page_and_a_range() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never"]).ok();
    let rows = (1..=50).map(|i| format!("p{i:02},{i}\n")).collect::<Vec<_>>().concat();
    server.run(&["import", &server.file("rows.csv", &rows), "--board", "b"]).ok();
    let users = |args: &[&str]| {
        let args: Vec<_> = ["top", "--board", "b"].iter().chain(args).copied().collect();
        let page = server.json(&args);
        let users = page["data"].as_array().unwrap().iter().map(|row| row["user_id"].clone());
        users.collect::<Vec<_>>()
    };
    assert_eq!(users(&["--limit", "2", "--offset", "3"]), [json!("p47"), json!("p46")]);
    assert_eq!(users(&["--min", "10", "--max", "12"]), [json!("p12"), json!("p11"), json!("p10")]);
    assert_eq!(users(&["--min", "-5", "--max", "1"]), [json!("p01")]);
}

#[test]
fn an_event_counts_once_and_a_name_is_shown() {
    let server = Server::start();
    server.run(&["board", "create", "b", "--season", "never"]).ok();
    let args =
        ["submit", "1001", "5", "--board", "b", "--event-id", "win-1", "--name", "플레이어 A"];
    assert_eq!(server.json(&args)["score"], 5);
    let again = server.json(&args);
    assert_eq!((&again["score"], &again["duplicate"]), (&json!(5), &json!(true)));
    assert!(server.run(&args).ok().contains("score 5, rank 1 (counted before)"));
    let top = server.run(&["top", "--board", "b"]).ok();
    assert!(
        top.contains("RANK  USER  NAME        SCORE  AT\n   1  1001  플레이어 A      5  "),
        "{top}"
    );
}

#[test]
fn the_default_board_needs_no_name() {
    let server = Server::start();
    assert_eq!(server.json(&["submit", "alice", "3"])["board"], "main");
    assert_eq!(server.json(&["top"])["data"][0]["user_id"], "alice");
    assert_eq!(server.json(&["rank", "alice"])["user_info"]["rank"], 1);
}
