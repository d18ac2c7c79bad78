//! Boards as they were at a date.

use serde_json::{Value, json};

use crate::server::Server;

fn users(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|row| row["user_id"].as_str().unwrap()).collect()
}

fn submit(server: &Server, user: &str, points: i64) {
    server.submit("/v1/scores", &json!({"user_id": user, "points": points})).ok(200);
}

fn take(server: &Server, board: &str) -> Value {
    let path = format!("/v1/boards/{board}/snapshots");
    server.send("POST", &path, "admin", &Value::Null).ok(201)
}

/// Rows p00 to p24 with 100, 99 … 76 points, the first three with the official ranks 3, 2 and 1.
fn imported(server: &Server, date: &str) {
    let rows: Vec<_> = (0..25)
        .map(|i| {
            let mut row =
                json!({"user_id": format!("p{i:02}"), "score": 100 - i, "user_name": format!("Player {i}")});
            if i < 3 {
                row["official_rank"] = json!(3 - i);
            }
            row.to_string()
        })
        .collect();
    let path = format!("/v1/boards/main/snapshots/{date}");
    let reply = server.ndjson("PUT", &path, "admin", &rows.join("\n")).ok(200);
    assert_eq!(reply, json!({"snapshot": date, "players": 25}));
}

#[test]
fn a_snapshot_stays_as_the_board_was() {
    let server = Server::start();
    submit(&server, "a", 5);
    submit(&server, "b", 3);
    assert_eq!(take(&server, "main"), json!({"snapshot": "2026-11-15", "players": 2}));
    submit(&server, "b", 4);
    submit(&server, "c", 1);
    let page = server.get("/v1/scores?snapshot=2026-11-15").ok(200);
    assert_eq!(users(&page), ["a", "b"]);
    assert_eq!((&page["snapshot"], &page["season"]), (&json!("2026-11-15"), &json!("2026-11")));
    assert_eq!((&page["players"], &page["data"][1]["score"]), (&json!(2), &json!(3)));
    assert_eq!(server.get("/v1/scores?snapshot=latest").ok(200), page);
    let now = server.get("/v1/scores").ok(200);
    assert_eq!((users(&now), now.get("snapshot")), (vec!["b", "a", "c"], None));
    // A second one of the date takes the place of the first.
    assert_eq!(take(&server, "main")["players"], 3);
    assert_eq!(users(&server.get("/v1/scores?snapshot=latest").ok(200)), ["b", "a", "c"]);
}

#[test]
fn every_read_of_a_board_can_be_of_a_snapshot() {
    let server = Server::start();
    imported(&server, "2026-02-21");
    submit(&server, "p24", 1000);
    let date = "snapshot=2026-02-21";
    let page = server.get(&format!("/v1/scores?{date}&min=80&max=82")).ok(200);
    assert_eq!(users(&page), ["p18", "p19", "p20"]);
    let ids = server.get(&format!("/v1/scores?{date}&ids=p20,nobody,p03")).ok(200);
    assert_eq!((users(&ids), &ids["missing"]), (vec!["p03", "p20"], &json!(["nobody"])));
    assert_eq!(ids["snapshot"], "2026-02-21");
    let entry = server.get(&format!("/v1/scores/p24?{date}&around=1")).ok(200);
    assert_eq!(
        (&entry["user_info"]["rank"], &entry["snapshot"]),
        (&json!(25), &json!("2026-02-21"))
    );
    assert_eq!(entry["around"].as_array().unwrap().len(), 3);
    let place = server.get(&format!("/v1/scores/at/80?{date}")).ok(200);
    assert_eq!((&place["rank"], &place["snapshot"]), (&json!(21), &json!("2026-02-21")));
    let distribution = server.get(&format!("/v1/distribution?{date}")).ok(200);
    assert_eq!(
        (&distribution["max"], &distribution["snapshot"]),
        (&json!(100), &json!("2026-02-21"))
    );
    server.send("PUT", "/v1/players/p24/friends", "game", &json!({"user_ids": ["p00"]})).ok(200);
    let friends = server.get(&format!("/v1/scores/p24?{date}&friends=true")).ok(200);
    assert_eq!(
        (&friends["snapshot"], &friends["friends"][1]["board_rank"]),
        (&json!("2026-02-21"), &json!(25))
    );
    server.get(&format!("/v1/scores/nobody?{date}")).refused(404, "unknown_player");
}

#[test]
fn official_ranks_are_shown_where_there_are_any() {
    let server = Server::start();
    imported(&server, "2026-02-21");
    let page = server.get("/v1/scores?snapshot=latest&limit=4").ok(200);
    let official: Vec<_> =
        page["data"].as_array().unwrap().iter().map(|row| row.get("official_rank")).collect();
    assert_eq!(official, [Some(&json!(3)), Some(&json!(2)), Some(&json!(1)), None]);
    assert_eq!(page["data"][0]["user_name"], "Player 0");
    let entry = server.get("/v1/scores/p00?snapshot=latest").ok(200);
    assert_eq!(
        (&entry["user_info"]["rank"], &entry["user_info"]["official_rank"]),
        (&json!(1), &json!(3))
    );
}

#[test]
fn pages_go_on_in_the_snapshot_that_they_began_in() {
    let server = Server::start();
    imported(&server, "2026-02-21");
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/scores?snapshot=latest&limit=4{next}")).ok(200);
        assert_eq!(page["snapshot"], "2026-02-21");
        seen.extend(users(&page).into_iter().map(str::to_owned));
        let Some(cursor) = page["next"].as_str() else { break };
        next = format!("&after={cursor}");
        if seen.len() == 8 {
            // Another becomes the latest meanwhile.
            submit(&server, "x", 1);
            take(&server, "main");
        }
    }
    assert_eq!(seen, (0..25).map(|i| format!("p{i:02}")).collect::<Vec<_>>());
}

#[test]
fn a_cursor_of_a_snapshot_fits_no_other_list() {
    let server = Server::start();
    imported(&server, "2026-02-20");
    imported(&server, "2026-02-21");
    let page = server.get("/v1/scores?snapshot=2026-02-20&limit=2").ok(200);
    let cursor = page["next"].as_str().unwrap();
    for query in ["", "&snapshot=2026-02-20", "&snapshot=latest"] {
        let rest = server.get(&format!("/v1/scores?limit=1&after={cursor}{query}")).ok(200);
        assert_eq!((users(&rest), &rest["snapshot"]), (vec!["p02"], &json!("2026-02-20")));
    }
    for query in ["snapshot=2026-02-21", "season=current", "season=2026-02"] {
        server.get(&format!("/v1/scores?after={cursor}&{query}")).refused(400, "bad_cursor");
    }
    submit(&server, "a", 2);
    submit(&server, "b", 1);
    let season = server.get("/v1/scores?limit=1").ok(200);
    let cursor = season["next"].as_str().unwrap();
    server.get(&format!("/v1/scores?after={cursor}&snapshot=latest")).refused(400, "bad_cursor");
}

#[test]
fn snapshots_are_listed_newest_first_in_pages() {
    let server = Server::start();
    assert_eq!(server.get("/v1/boards/main/snapshots").ok(200), json!({"data": [], "next": null}));
    for date in ["2026-02-20", "2026-02-22", "2026-02-21"] {
        imported(&server, date);
    }
    let dates = |query: &str| {
        let page = server.get(&format!("/v1/boards/main/snapshots?{query}")).ok(200);
        let data = page["data"].as_array().unwrap().iter();
        (data.map(|row| row["snapshot"].clone()).collect::<Vec<_>>(), page["next"].clone())
    };
    let all = [json!("2026-02-22"), json!("2026-02-21"), json!("2026-02-20")];
    assert_eq!(dates(""), (all.to_vec(), Value::Null));
    assert_eq!(dates("limit=2"), (all[..2].to_vec(), json!("2026-02-21")));
    assert_eq!(dates("limit=2&before=2026-02-21"), (all[2..].to_vec(), Value::Null));
    let first = &server.get("/v1/boards/main/snapshots?limit=1").ok(200)["data"][0];
    assert_eq!(*first, json!({"snapshot": "2026-02-22", "players": 25}));
}

#[test]
fn a_snapshot_that_is_not_there_or_cannot_be_is_refused() {
    let server = Server::start();
    for path in [
        "/v1/scores?snapshot=latest",
        "/v1/scores?snapshot=2026-02-21",
        "/v1/scores/a?snapshot=2026-02-21",
        "/v1/distribution?snapshot=2026-02-21",
    ] {
        server.get(path).refused(404, "unknown_snapshot");
    }
    let rows = "{\"user_id\":\"a\",\"score\":1}\n";
    let put = |path: &str, rows: &str| server.ndjson("PUT", path, "admin", rows);
    put("/v1/boards/main/snapshots/2026-11-16", rows).refused(422, "snapshot_in_future");
    put("/v1/boards/main/snapshots/2026-11-15", rows).ok(200);
    put("/v1/boards/none/snapshots/2026-02-21", rows).refused(404, "unknown_board");
    put("/v1/boards/main/snapshots/latest", rows).refused(400, "malformed");
    put("/v1/boards/main/snapshots/2026-02-30", rows).refused(400, "malformed");
    server
        .send("POST", "/v1/boards/none/snapshots", "admin", &Value::Null)
        .refused(404, "unknown_board");
}

#[test]
fn a_snapshot_is_imported_wholly_or_not_at_all() {
    let server = Server::start();
    imported(&server, "2026-02-21");
    let path = "/v1/boards/main/snapshots/2026-02-21";
    for (rows, words) in [
        ("{\"user_id\":\"a\",\"score\":1}\n{\"user_id\":\"b\"}\n", "line 2"),
        ("{\"user_id\":\"a\",\"score\":1,\"official_rank\":0}\n", "official_rank"),
        ("{\"user_id\":\"a\",\"score\":1,\"official_rank\":4294967296}\n", "official_rank"),
        ("{\"user_id\":\"a\",\"score\":1,\"rank\":1}\n", "rank"),
        ("\n", "no rows"),
    ] {
        let refused = server.ndjson("PUT", path, "admin", rows);
        refused.refused(400, "malformed");
        assert!(refused.text.contains("nothing was imported"), "{}", refused.text);
        assert!(refused.text.contains(words), "{}", refused.text);
    }
    let twice = "{\"user_id\":\"x\",\"score\":3}\n{\"user_id\":\"x\",\"score\":7}\n";
    server.ndjson("PUT", path, "admin", twice).refused(422, "bad_row");
    assert_eq!(server.get("/v1/scores?snapshot=2026-02-21").ok(200)["players"], 25);
    let last = "{\"user_id\":\"x\",\"score\":3,\"official_rank\":4294967295}\n";
    server.ndjson("PUT", path, "admin", last).ok(200);
    let page = server.get("/v1/scores?snapshot=2026-02-21").ok(200);
    assert_eq!(
        (&page["players"], &page["data"][0]["official_rank"]),
        (&json!(1), &json!(4_294_967_295_u32))
    );
}

#[test]
fn a_players_days_are_listed_with_the_name_of_the_day() {
    let server = Server::start();
    server.send("PUT", "/v1/boards/power", "admin", &json!({"season": "never"})).ok(201);
    imported(&server, "2026-02-20");
    imported(&server, "2026-02-21");
    let power = "{\"user_id\":\"p03\",\"score\":7,\"user_name\":\"Old\"}\n";
    server.ndjson("PUT", "/v1/boards/power/snapshots/2026-02-21", "admin", power).ok(200);
    server.send("PUT", "/v1/players/p03", "game", &json!({"name": "New"})).ok(200);
    let days = |query: &str| {
        let page = server.get(&format!("/v1/players/p03/snapshots?{query}")).ok(200);
        let data = page["data"].as_array().unwrap().iter();
        data.map(|row| {
            format!("{} {}", row["snapshot"].as_str().unwrap(), row["board"].as_str().unwrap())
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(days(""), ["2026-02-21 main", "2026-02-21 power", "2026-02-20 main"]);
    assert_eq!(days("board=main"), ["2026-02-21 main", "2026-02-20 main"]);
    assert_eq!(days("from=2026-02-21"), ["2026-02-21 main", "2026-02-21 power"]);
    assert_eq!(days("from=2026-02-01&to=2026-02-20"), ["2026-02-20 main"]);
    let all = server.get("/v1/players/p03/snapshots").ok(200);
    assert_eq!(
        all["data"][1],
        json!({
            "snapshot": "2026-02-21", "board": "power", "user_name": "Old", "score": 7, "rank": 1,
            "official": false, "official_rank": null,
        })
    );
    assert_eq!(all["next"], Value::Null);
    let official = server.get("/v1/players/p00/snapshots?limit=1").ok(200);
    let row = &official["data"][0];
    assert_eq!((&row["official"], &row["official_rank"]), (&json!(true), &json!(3)));
}

#[test]
fn a_players_days_come_in_pages_that_show_each_once() {
    let server = Server::start();
    for day in 1..=7 {
        imported(&server, &format!("2026-02-{day:02}"));
    }
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/players/p03/snapshots?limit=3{next}")).ok(200);
        let data = page["data"].as_array().unwrap().iter();
        seen.extend(data.map(|row| row["snapshot"].as_str().unwrap().to_owned()));
        let Some(mark) = page["next"].as_str() else { break };
        next = format!("&before={mark}");
    }
    assert_eq!(seen, (1..=7).rev().map(|day| format!("2026-02-{day:02}")).collect::<Vec<_>>());
}
