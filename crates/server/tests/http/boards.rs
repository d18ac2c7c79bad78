//! Boards, seasons, imports, players and operations.

use serde_json::{Value, json};

use crate::server::Server;

#[test]
fn a_board_is_created_changed_and_deleted() {
    let server = Server::start();
    let lap = json!({"title": "Laps", "rule": "best", "order": "asc", "season": "never"});
    let made = server.send("PUT", "/v1/boards/laps", "admin", &lap).ok(201);
    assert_eq!(
        (&made["id"], &made["rule"], &made["ties"]),
        (&json!("laps"), &json!("best"), &json!("share"))
    );
    for (user, points) in [("a", 90), ("b", 80), ("a", 95)] {
        server
            .submit("/v1/boards/laps/scores", &json!({"user_id": user, "points": points}))
            .ok(200);
    }
    let board = server.get("/v1/boards/laps").ok(200);
    assert_eq!((&board["title"], &board["players"]), (&json!("Laps"), &json!(2)));
    assert_eq!(
        (&board["current_season"]["id"], &board["current_season"]["ends_at"]),
        (&json!("all"), &Value::Null)
    );
    let ids: Vec<_> = server.get("/v1/boards").ok(200)["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|board| board["id"].clone())
        .collect();
    assert_eq!(ids, ["laps", "main"]);
    let page = server.get("/v1/boards?limit=1").ok(200);
    assert_eq!((&page["data"][0]["id"], &page["next"]), (&json!("laps"), &json!("laps")));
    assert_eq!(page["data"][0].get("players"), None, "a list does not count players");
    let rest = server.get("/v1/boards?limit=1&after=laps").ok(200);
    assert_eq!((&rest["data"][0]["id"], &rest["next"]), (&json!("main"), &Value::Null));
    let mut other = lap.clone();
    other["title"] = json!("Lap times");
    assert_eq!(
        server.send("PUT", "/v1/boards/laps", "admin", &other).ok(200)["title"],
        "Lap times"
    );
    other["order"] = json!("desc");
    server.send("PUT", "/v1/boards/laps", "admin", &other).refused(409, "immutable_setting");
    server.send("DELETE", "/v1/boards/laps", "admin", &Value::Null).ok(204);
    server.get("/v1/boards/laps").refused(404, "unknown_board");
    server.send("DELETE", "/v1/boards/laps", "admin", &Value::Null).refused(404, "unknown_board");
    server.send("PUT", "/v1/boards/laps", "admin", &other).ok(201);
    assert_eq!(server.get("/v1/boards/laps/scores").ok(200)["players"], 0);
}

#[test]
fn a_cheater_is_taken_off_and_ranks_close_up() {
    let server = Server::start();
    for (user, points) in [("cheat", 99), ("a", 5)] {
        server.submit("/v1/scores", &json!({"user_id": user, "points": points})).ok(200);
    }
    let path = "/v1/boards/main/scores/cheat";
    server
        .send("DELETE", &format!("{path}?seson=x"), "admin", &Value::Null)
        .refused(400, "malformed");
    server.send("DELETE", path, "admin", &Value::Null).ok(204);
    server.send("DELETE", path, "admin", &Value::Null).refused(404, "unknown_player");
    assert_eq!(server.get("/v1/scores/a").ok(200)["user_info"]["rank"], 1);
}

#[test]
fn seasons_are_listed_closed_and_imported_whole() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    let closed =
        server.send("POST", "/v1/boards/main/seasons/close", "admin", &Value::Null).ok(200);
    assert_eq!(closed, json!({"closed": "2026-11", "current": "2026-11.2"}));
    let seasons = server.get("/v1/boards/main/seasons?year=2026").ok(200);
    let data = seasons["data"].as_array().unwrap();
    assert_eq!((&data[0]["id"], &data[0]["state"]), (&json!("2026-11.2"), &json!("open")));
    assert_eq!(
        (&data[1]["id"], &data[1]["state"], &data[1]["players"]),
        (&json!("2026-11"), &json!("closed"), &json!(1))
    );
    assert_eq!(
        (&data[1]["mean"], &data[1]["ends_at"]),
        (&json!(5.0), &json!("2026-11-15T10:00:00Z"))
    );
    let first = server.get("/v1/boards/main/seasons?limit=1").ok(200);
    assert_eq!(first["next"], "2026-11.2");
    let rest = server.get("/v1/boards/main/seasons?limit=5&before=2026-11.2").ok(200);
    assert_eq!(rest["data"][0]["id"], "2026-11");

    let rows =
        "{\"user_id\":\"x\",\"score\":3}\n{\"user_id\":\"y\",\"score\":7,\"user_name\":\"Yan\"}\n";
    let path = "/v1/boards/main/seasons/2026-11";
    assert_eq!(
        server.ndjson("PUT", path, "admin", rows).ok(200),
        json!({"season": "2026-11", "players": 2})
    );
    let page = server.get("/v1/scores?season=2026-11").ok(200);
    assert_eq!(
        (&page["data"][0]["user_id"], &page["data"][0]["user_name"]),
        (&json!("y"), &json!("Yan"))
    );
    assert_eq!(page["players"], 2);
    let bad = format!("{rows}{{\"user_id\":\"z\"}}\n");
    let refused = server.ndjson("PUT", path, "admin", &bad);
    refused.refused(400, "malformed");
    assert!(
        refused.text.contains("line 3") && refused.text.contains("nothing was imported"),
        "{}",
        refused.text
    );
    let official = "{\"user_id\":\"x\",\"score\":3,\"official_rank\":1}\n";
    server.ndjson("PUT", path, "admin", official).refused(400, "malformed");
    let twice = "{\"user_id\":\"x\",\"score\":3}\n{\"user_id\":\"x\",\"score\":7}\n";
    assert_eq!(server.ndjson("PUT", path, "admin", twice).status / 100, 4);
    assert_eq!(server.get("/v1/scores?season=2026-11").ok(200)["players"], 2);
    // A pipe that broke must not empty a season.
    server.ndjson("PUT", path, "admin", "\n").refused(400, "malformed");
    assert_eq!(server.get("/v1/scores?season=2026-11").ok(200)["players"], 2);
    server
        .ndjson("PUT", "/v1/boards/main/seasons/2026-11.2", "admin", rows)
        .refused(409, "season_open");
}

#[test]
fn scores_are_set_whatever_the_rule() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "p0", "points": 5})).ok(200);
    let row = |i: i64| {
        let score = 20_000 - i;
        json!({"user_id": format!("p{i}"), "score": score, "at": "2026-11-02T00:00:00Z"})
            .to_string()
    };
    let rows = (0..10_000).map(row).collect::<Vec<_>>().join("\n");
    let set = server.ndjson("PUT", "/v1/boards/main/scores", "admin", &rows).ok(200);
    assert_eq!(set, json!({"board": "main", "season": "2026-11", "rows": 10_000}));
    let entry = server.get("/v1/scores/p0").ok(200);
    assert_eq!(
        (&entry["user_info"]["score"], &entry["user_info"]["at"]),
        (&json!(20_000), &json!("2026-11-02T00:00:00Z"))
    );
    assert_eq!(server.get("/v1/scores/p9999").ok(200)["user_info"]["rank"], 10_000);

    let bad = format!(
        "{}\n\n{{\"user_id\":\"q\",\"score\":1.5}}\n",
        "{\"user_id\":\"q\",\"score\":1}\n".repeat(5000)
    );
    let refused = server.ndjson("PUT", "/v1/boards/main/scores", "admin", &bad);
    refused.refused(400, "malformed");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("the first 5000 rows were applied: line 5003: score: "), "{detail}");
    assert_eq!(server.get("/v1/scores/q").ok(200)["user_info"]["score"], 1);
    let late = "{\"user_id\":\"q\",\"score\":1,\"at\":\"2026-12-01T00:00:00Z\"}";
    let late = format!("{}{late}\n", "{\"user_id\":\"q\",\"score\":2}\n".repeat(5000));
    let refused = server.ndjson("PUT", "/v1/boards/main/scores", "admin", &late);
    refused.refused(422, "at_in_future");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    // Rows go to the engine by the thousand, and those that came with a bad one go with it.
    assert!(detail.starts_with("the first 4096 rows were applied: row 5001: "), "{detail}");
    server.ndjson("PUT", "/v1/boards/none/scores", "admin", "").refused(404, "unknown_board");
}

#[test]
fn attributes_that_are_taken_can_be_read_again() {
    let server = Server::start();
    let send = |depth: usize| {
        let nested = format!("{}{{}}{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let body = format!(r#"{{"attributes":{nested}}}"#);
        server.send_raw("PUT", "/v1/players/deep", "game", "application/json", body)
    };
    let deepest = (1..200).rev().find(|&depth| send(depth).status == 200).unwrap();
    assert!(deepest > 100, "{deepest}");
    // What a reader with the usual limit of depth makes of it, the answer around it included.
    assert!(server.get("/v1/players/deep").ok(200)["attributes"]["a"].is_object());
    let body =
        r#"{"attributes":{"n":[null,true,-1,1.5e3,18446744073709551615],"t":"\ud83d\ude00"}}"#;
    server.send_raw("PUT", "/v1/players/p", "game", "application/json", body).ok(200);
    let read = server.get("/v1/players/p").ok(200);
    assert_eq!(read["attributes"]["n"], json!([null, true, -1, 1500.0, u64::MAX]));
    assert_eq!(read["attributes"]["t"], "😀");
}

#[test]
fn a_player_has_a_profile_and_is_found_by_name() {
    let server = Server::start();
    let profile = json!({
        "name": "Héllo", "avatar_url": "https://example.org/a.png", "attributes": {"level": 7, "tags": ["x"]},
    });
    let put = server.send("PUT", "/v1/players/p1", "game", &profile).ok(200);
    assert_eq!(put["attributes"], profile["attributes"]);
    server.submit("/v1/scores", &json!({"user_id": "p1", "points": 5})).ok(200);
    server
        .submit("/v1/scores", &json!({"user_id": "p2", "points": 3, "user_name": "help"}))
        .ok(200);
    let player = server.get("/v1/players/p1").ok(200);
    assert_eq!((&player["name"], &player["user_id"]), (&json!("Héllo"), &json!("p1")));
    assert_eq!(
        player["boards"],
        json!([{"board": "main", "season": "2026-11", "score": 5, "rank": 1}])
    );
    assert_eq!(
        server.get("/v1/scores").ok(200)["data"][0]["avatar_url"],
        "https://example.org/a.png"
    );
    let by_name = server.get("/v1/players?name=H%C3%89LLO").ok(200);
    assert_eq!(by_name, json!({"data": [{"user_id": "p1", "user_name": "Héllo"}]}));
    let by_prefix = server.get("/v1/players?prefix=h").ok(200);
    assert_eq!(by_prefix["data"].as_array().unwrap().len(), 2);
    assert_eq!(server.get("/v1/players?name=nobody").ok(200), json!({"data": []}));
}

#[test]
fn a_backup_is_a_copy_in_a_new_directory() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    let to = server.dir.path().join("copy");
    let made = server.send("POST", "/v1/backup", "admin", &json!({"path": to})).ok(200);
    assert!(made["bytes"].as_u64().unwrap() > 0, "{made}");
    assert!(to.is_dir());
    let again = server.send("POST", "/v1/backup", "admin", &json!({"path": to}));
    assert_eq!(again.status / 100, 4, "{}", again.text);
}
