//! Friends: their lists, and a ranking among them.

use serde_json::{Value, json};

use crate::server::Server;

fn befriend(server: &Server, user: &str, friends: &[&str]) -> Value {
    let path = format!("/v1/players/{user}/friends");
    server.send("PUT", &path, "game", &json!({"user_ids": friends})).ok(200)
}

/// Users with their rank among friends and on the board.
fn ranks(reply: &Value) -> Vec<(&str, u64, u64)> {
    let rows = reply["friends"].as_array().unwrap().iter();
    rows.map(|row| {
        let number = |member: &str| row[member].as_u64().unwrap();
        (row["user_id"].as_str().unwrap(), number("rank"), number("board_rank"))
    })
    .collect()
}

/// Players a to j with 100, 90 … 10 points; e and f have the same.
fn filled() -> Server {
    let server = Server::start();
    for (index, user) in ('a'..='j').enumerate() {
        let points = if user == 'f' { 60 } else { 100 - 10 * index };
        server.submit("/v1/scores", &json!({"user_id": user, "points": points})).ok(200);
    }
    server
}

#[test]
fn a_list_is_replaced_whole_and_read_as_it_was_stored() {
    let server = Server::start();
    assert_eq!(server.get("/v1/players/a/friends").ok(200), json!({"user_ids": []}));
    let stored = befriend(&server, "a", &["c", "b", "a", "c"]);
    assert_eq!(stored, json!({"user_ids": ["c", "b"]}));
    assert_eq!(server.get("/v1/players/a/friends").ok(200), stored);
    assert_eq!(server.get("/v1/players/b/friends").ok(200), json!({"user_ids": []}));
    assert_eq!(befriend(&server, "a", &["d"]), json!({"user_ids": ["d"]}));
    assert_eq!(befriend(&server, "a", &[]), json!({"user_ids": []}));
    assert_eq!(server.get("/v1/players/a/friends").ok(200), json!({"user_ids": []}));
}

#[test]
fn a_list_has_up_to_5000_friends() {
    let server = Server::start();
    let mut friends: Vec<_> = (0..5000).map(|i| format!("friend-{i}")).collect();
    let path = "/v1/players/a/friends";
    let put = |friends: &[String]| server.send("PUT", path, "game", &json!({"user_ids": friends}));
    assert_eq!(put(&friends).ok(200)["user_ids"].as_array().unwrap().len(), 5000);
    friends.push("one-more".to_owned());
    put(&friends).refused(422, "too_many_friends");
    assert_eq!(server.get(path).ok(200)["user_ids"].as_array().unwrap().len(), 5000);
}

#[test]
fn a_player_is_ranked_among_friends_and_on_the_board() {
    let server = filled();
    befriend(&server, "h", &["b", "e", "f", "nobody"]);
    let reply = server.get("/v1/scores/h?friends=true").ok(200);
    assert_eq!(ranks(&reply), [("b", 1, 2), ("e", 2, 5), ("f", 2, 5), ("h", 4, 8)]);
    let info = &reply["user_info"];
    assert_eq!((&info["rank"], &info["percentile"]), (&json!(8), &json!(30.0)));
    assert_eq!(info.get("board_rank"), None);
    assert_eq!((reply.get("around"), reply.get("snapshot")), (None, None));
    // The list is one-way.
    assert_eq!(ranks(&server.get("/v1/boards/main/scores/b?friends=true").ok(200)), [("b", 1, 2)]);
    assert_eq!(server.get("/v1/scores/h?friends=false").ok(200).get("friends"), None);
}

#[test]
fn a_player_without_an_entry_sees_friends_all_the_same() {
    let server = filled();
    befriend(&server, "newcomer", &["c", "a"]);
    let reply = server.get("/v1/scores/newcomer?friends=true").ok(200);
    assert_eq!(reply["user_info"], Value::Null);
    assert_eq!(ranks(&reply), [("a", 1, 1), ("c", 2, 3)]);
    let alone = server.get("/v1/scores/nobody?friends=true").ok(200);
    assert_eq!(alone, json!({"user_info": null, "friends": []}));
    server.get("/v1/scores/newcomer").refused(404, "unknown_player");
    server.get("/v1/boards/none/scores/a?friends=true").refused(404, "unknown_board");
}

#[test]
fn friends_and_around_exclude_each_other_and_the_answer_says_so() {
    let server = filled();
    let refused = server.get("/v1/scores/a?friends=true&around=2");
    refused.refused(400, "malformed");
    assert!(refused.text.contains("friends and around cannot be combined"), "{}", refused.text);
    assert_eq!(
        server.get("/v1/scores/a?friends=false&around=1").ok(200)["around"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}
