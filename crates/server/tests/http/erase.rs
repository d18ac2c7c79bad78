//! Erasing a player everywhere.

use serde_json::{Value, json};
use standings_core::{Board, BoardId, PlayerId, Score};
use standings_embedded::{Embedded, Options};
use standings_engine::{Engine as _, ScoreRow};
use standings_server::config::HttpOptions;
use tokio::runtime::Runtime;

use crate::server::Server;

#[test]
fn an_erased_player_is_in_no_answer_and_the_others_keep_their_ranks() {
    let server = Server::start();
    for (user, points) in [("gone", 9), ("a", 5), ("b", 3)] {
        let score =
            json!({"user_id": user, "points": points, "user_name": format!("Name of {user}")});
        server.submit("/v1/scores", &score).ok(200);
    }
    server.send("PUT", "/v1/players/gone/friends", "game", &json!({"user_ids": ["a"]})).ok(200);
    server
        .send("PUT", "/v1/players/a/friends", "game", &json!({"user_ids": ["gone", "b"]}))
        .ok(200);
    server.send("POST", "/v1/boards/main/snapshots", "admin", &Value::Null).ok(201);
    server.send("POST", "/v1/boards/main/seasons/close", "admin", &Value::Null).ok(200);
    server.submit("/v1/scores", &json!({"user_id": "gone", "points": 9})).ok(200);
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);

    server.send("DELETE", "/v1/players/gone", "admin", &Value::Null).ok(204);
    server.get("/v1/players/gone").refused(404, "unknown_player");
    for read in ["", "season=2026-11", "snapshot=latest"] {
        server.get(&format!("/v1/scores/gone?{read}")).refused(404, "unknown_player");
        let page = server.get(&format!("/v1/scores?{read}")).text;
        assert!(!page.contains("gone"), "{page}");
        let friends = server.get(&format!("/v1/scores/a?friends=true&{read}")).text;
        assert!(!friends.contains("gone"), "{friends}");
    }
    // Frozen ranks stay; those of the open season close up.
    let rank = |read: &str| {
        server.get(&format!("/v1/scores/a?{read}")).ok(200)["user_info"]["rank"].clone()
    };
    assert_eq!([rank("season=2026-11"), rank("snapshot=latest"), rank("")], [2, 2, 1]);
    for list in ["scores", "seasons", "snapshots"] {
        let reply = server.get(&format!("/v1/players/gone/{list}"));
        let empty = reply.status == 404 || reply.json()["data"] == json!([]);
        assert!(empty, "{list}: {}", reply.text);
    }
    assert_eq!(server.get("/v1/players?prefix=Name%20of%20g").ok(200), json!({"data": []}));
    assert_eq!(server.get("/v1/players/gone/friends").ok(200), json!({"user_ids": []}));
}

#[test]
fn erasing_again_is_done_already() {
    let server = Server::start();
    for _ in 0..2 {
        server.send("DELETE", "/v1/players/nobody", "admin", &Value::Null).ok(204);
    }
    let typo = server.send("DELETE", "/v1/players/a?season=x", "admin", &Value::Null);
    typo.refused(400, "malformed");
}

#[test]
fn a_player_stored_under_an_id_that_is_no_longer_taken_is_read_and_erased() {
    let server = Server::unready(HttpOptions::default(), None);
    let odd = PlayerId::new("a\u{200B}").unwrap();
    Runtime::new().unwrap().block_on(async {
        let options = Options { dir: server.dir.path().join("data"), ..Options::default() };
        let engine = Embedded::open(options, server.clock.clone()).unwrap();
        let main = BoardId::new("main").unwrap();
        engine.put_board(&main, Board::default()).await.unwrap();
        let row = ScoreRow {
            player: odd,
            score: Score::new(7).unwrap(),
            at: None,
            user_name: None,
            official_rank: None,
        };
        engine.set_scores(&main, None, vec![row]).await.unwrap();
        engine.shutdown().await;
    });
    server.recover();
    assert_eq!(server.get("/v1/scores").ok(200)["data"][0]["user_id"], "a\u{200B}");
    assert_eq!(server.get("/v1/scores/a%E2%80%8B").ok(200)["user_info"]["score"], 7);
    let again = json!({"user_id": "a\u{200B}", "points": 1});
    server.submit("/v1/scores", &again).refused(400, "malformed");
    server.send("DELETE", "/v1/players/a%E2%80%8B", "admin", &Value::Null).ok(204);
    assert_eq!(server.get("/v1/scores").ok(200)["players"], 0);
}
