//! Submitting and reading.

use serde_json::{Value, json};

use crate::server::{NOW, Server};

fn ids(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|row| row["user_id"].as_str().unwrap()).collect()
}

#[test]
fn a_receipt_tells_score_and_rank_before_and_after() {
    let server = Server::start();
    let first =
        server.submit("/v1/scores", &json!({"user_id": "a", "points": 5, "user_name": "Ann"}));
    assert_eq!(
        first.ok(200),
        json!({
            "user_id": "a", "board": "main", "season": "2026-11", "score": 5, "rank": 1,
            "previous_score": null, "previous_rank": null, "changed": true, "at": "2026-11-15T10:00:00Z",
        })
    );
    server.submit("/v1/boards/main/scores", &json!({"user_id": "b", "points": 7})).ok(200);
    let second =
        server.submit("/v1/scores", &json!({"user_id": "a", "points": 3, "at": NOW.0})).ok(200);
    assert_eq!(second["score"], 8);
    assert_eq!((&second["rank"], &second["previous_rank"]), (&json!(1), &json!(2)));
    assert_eq!(second["previous_score"], 5);
    let unchanged = server.submit("/v1/scores", &json!({"user_id": "a", "points": 0})).ok(200);
    assert_eq!(unchanged["changed"], false);
}

#[test]
fn an_event_id_counts_once() {
    let server = Server::start();
    let event = json!({"user_id": "a", "points": 5, "event_id": "e1"});
    assert_eq!(server.submit("/v1/scores", &event).ok(200).get("duplicate"), None);
    server.submit("/v1/scores", &json!({"user_id": "b", "points": 9})).ok(200);
    let repeat = server.submit("/v1/scores", &event).ok(200);
    assert_eq!(repeat["duplicate"], true);
    assert_eq!((&repeat["score"], &repeat["rank"]), (&json!(5), &json!(2)));
    let other = json!({"user_id": "a", "points": 6, "event_id": "e1"});
    server.submit("/v1/scores", &other).refused(409, "event_id_reused");
    assert_eq!(server.get("/v1/scores/a").ok(200)["user_info"]["score"], 5);
}

#[test]
fn each_rule_that_is_broken_has_its_status_and_code() {
    let server = Server::start();
    let limited = json!({"min_points": 1, "max_points": 10, "once_per": "day"});
    server.send("PUT", "/v1/boards/limited", "admin", &limited).ok(201);
    let submit = |body: Value| server.submit("/v1/boards/limited/scores", &body);
    submit(json!({"user_id": "a", "points": 11})).refused(422, "points_out_of_range");
    submit(json!({"user_id": "a", "points": 5, "at": NOW.0 + 61_000})).refused(422, "at_in_future");
    submit(json!({"user_id": "a", "points": 5, "at": "2026-01-01T00:00:00Z"}))
        .refused(409, "season_closed");
    submit(json!({"user_id": "a", "points": 5})).ok(200);
    submit(json!({"user_id": "a", "points": 5})).refused(409, "too_soon");
    let conditional = json!({"user_id": "a", "points": 5, "expect": {"updated_before": NOW.0}});
    submit(conditional).refused(409, "condition_failed");
    let most = 9_007_199_254_740_991_i64;
    server.submit("/v1/scores", &json!({"user_id": "a", "points": most})).ok(200);
    server
        .submit("/v1/scores", &json!({"user_id": "a", "points": 1}))
        .refused(422, "score_out_of_range");
    assert_eq!(server.get("/v1/scores/a").ok(200)["user_info"]["score"], most);
}

#[test]
fn a_batch_answers_each_item_in_its_place() {
    let server = Server::start();
    let batch = json!([
        {"user_id": "a", "points": 5},
        {"user_id": "a", "points": "many"},
        {"user_id": "b", "points": 7, "at": "2031-01-01T00:00:00Z"},
        ["a", 5],
        {"user_id": "b", "points": 7},
    ]);
    let reply = server.submit("/v1/boards/main/scores/batch", &batch).ok(200);
    assert_eq!((&reply["accepted"], &reply["rejected"]), (&json!(2), &json!(3)));
    let results = reply["results"].as_array().unwrap();
    assert_eq!(results[0]["score"], 5);
    assert_eq!(results[1]["code"], "malformed");
    assert!(results[1]["detail"].as_str().unwrap().starts_with("points: "), "{}", results[1]);
    assert_eq!(results[2]["code"], "at_in_future");
    assert_eq!(results[3]["code"], "malformed");
    assert_eq!(results[4]["rank"], 1);
    assert_eq!(ids(&server.get("/v1/scores").ok(200)), ["b", "a"]);
}

#[test]
fn a_batch_may_come_as_lines() {
    let server = Server::start();
    let lines = "{\"user_id\":\"a\",\"points\":5}\r\n\n{bad\n{\"user_id\":\"b\",\"points\":7}";
    let reply = server.ndjson("POST", "/v1/boards/main/scores/batch", "game", lines).ok(200);
    assert_eq!((&reply["accepted"], &reply["rejected"]), (&json!(2), &json!(1)));
    assert_eq!(reply["results"][1]["code"], "malformed");
}

#[test]
fn a_batch_has_a_size_and_is_an_array() {
    let server = Server::start();
    let item = json!({"user_id": "a", "points": 1});
    let most = Value::Array(vec![item.clone(); 10_000]);
    let reply = server.submit("/v1/boards/main/scores/batch", &most).ok(200);
    assert_eq!(reply["accepted"], 10_000);
    let more = Value::Array(vec![item.clone(); 10_001]);
    server.submit("/v1/boards/main/scores/batch", &more).refused(413, "batch_too_large");
    server.submit("/v1/boards/main/scores/batch", &item).refused(400, "malformed");
    server.submit("/v1/boards/none/scores/batch", &json!([])).refused(404, "unknown_board");
    assert_eq!(server.get("/v1/scores/a").ok(200)["user_info"]["score"], 10_000);
}

#[test]
fn a_player_may_be_called_batch() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "batch", "points": 1})).ok(200);
    let path = "/v1/boards/main/scores/batch";
    assert_eq!(server.get(path).ok(200)["user_info"]["user_id"], "batch");
    server.send("DELETE", path, "admin", &Value::Null).ok(204);
    server.get(path).refused(404, "unknown_player");
    server.submit("/v1/boards/main/scores/someone", &json!([])).refused(405, "method_not_allowed");
}

/// 25 players, two of each score.
fn filled() -> Server {
    let server = Server::start();
    let batch: Vec<_> =
        (0..25).map(|i| json!({"user_id": format!("p{i:02}"), "points": 100 - i / 2})).collect();
    let reply = server.submit("/v1/boards/main/scores/batch", &Value::Array(batch)).ok(200);
    assert_eq!(reply["accepted"], 25);
    server
}

#[test]
fn the_top_is_a_page_of_rows() {
    let server = filled();
    let page = server.get("/v1/scores?limit=3").ok(200);
    assert_eq!((&page["board"], &page["season"]), (&json!("main"), &json!("2026-11")));
    assert_eq!((&page["total"], &page["players"]), (&json!(3), &json!(25)));
    assert_eq!(
        page["data"][2],
        json!({
            "user_id": "p02", "user_name": null, "avatar_url": null, "rank": 3, "score": 99,
            "at": "2026-11-15T10:00:00Z",
        })
    );
    assert_eq!(ids(&server.get("/v1/boards/main/scores").ok(200)).len(), 10);
    assert_eq!(ids(&server.get("/v1/scores?limit=2&offset=23").ok(200)), ["p23", "p24"]);
    assert_eq!(server.get("/v1/scores?offset=25").ok(200)["next"], Value::Null);
}

#[test]
fn pages_show_everyone_exactly_once_even_across_a_new_season() {
    let server = filled();
    let (mut seen, mut next) = (Vec::new(), String::new());
    for pages in 0.. {
        let page = server.get(&format!("/v1/scores?limit=4{next}")).ok(200);
        assert_eq!(page["season"], "2026-11");
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(cursor) = page["next"].as_str() else { break };
        next = format!("&after={cursor}");
        if pages == 1 {
            // The list goes on in the season that it began in.
            server.turn_to(standings_core::Millis(NOW.0 + 20 * 86_400_000));
        }
    }
    let all: Vec<_> = (0..25).map(|i| format!("p{i:02}")).collect();
    assert_eq!(seen, all);
    assert_eq!(server.get("/v1/scores").ok(200)["season"], "2026-12");
    assert_eq!(ids(&server.get("/v1/scores?season=previous&limit=1").ok(200)), ["p00"]);
}

#[test]
fn a_cursor_carries_its_filter_and_fits_no_other_list() {
    let server = filled();
    server.send("PUT", "/v1/boards/other", "admin", &json!({})).ok(201);
    let page = server.get("/v1/scores?min=97&max=99&limit=4").ok(200);
    assert_eq!(ids(&page), ["p02", "p03", "p04", "p05"]);
    let cursor = page["next"].as_str().unwrap();
    let rest = server.get(&format!("/v1/scores?after={cursor}")).ok(200);
    assert_eq!(ids(&rest), ["p06", "p07"]);
    let repeated = server.get(&format!("/v1/scores?min=97&max=99&after={cursor}")).ok(200);
    assert_eq!(ids(&repeated), ["p06", "p07"]);
    for bad in [
        format!("/v1/scores?min=1&after={cursor}"),
        format!("/v1/scores?season=2026-10&after={cursor}"),
        format!("/v1/boards/other/scores?after={cursor}"),
        format!("/v1/scores?after=x{cursor}"),
        "/v1/scores?after=".to_owned(),
    ] {
        server.get(&bad).refused(400, "bad_cursor");
    }
    server.get(&format!("/v1/scores?offset=1&after={cursor}")).refused(400, "malformed");
}

#[test]
fn given_players_are_found_in_one_call() {
    let server = filled();
    let page = server.get("/v1/scores?ids=p09,nobody,p00,p09").ok(200);
    assert_eq!(ids(&page), ["p00", "p09"]);
    assert_eq!(page["missing"], json!(["nobody"]));
    server.get("/v1/scores?ids=a&limit=5").refused(400, "malformed");
    server.get("/v1/scores?ids=").refused(400, "malformed");
    let ids = |count: u32| (0..count).map(|i| format!("{i:0>36}")).collect::<Vec<_>>().join(",");
    let many = server.get(&format!("/v1/scores?ids={}", ids(1000))).ok(200);
    assert_eq!(many["missing"].as_array().unwrap().len(), 1000);
    server.get(&format!("/v1/scores?ids={}", ids(1001))).refused(400, "malformed");
}

#[test]
fn an_entry_comes_with_its_surroundings() {
    let server = filled();
    let entry = server.get("/v1/scores/p10").ok(200);
    let info = &entry["user_info"];
    assert_eq!(
        (&info["rank"], &info["score"], &info["percentile"]),
        (&json!(11), &json!(95), &json!(60.0))
    );
    assert_eq!(info["updated_at"], "2026-11-15T10:00:00Z");
    assert_eq!(entry.get("around"), None);
    let around = server.get("/v1/boards/main/scores/p10?around=2").ok(200);
    let rows = around["around"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[2]["user_id"], "p10");
    let edge = server.get("/v1/scores/p00?around=2").ok(200);
    assert_eq!(edge["around"].as_array().unwrap().len(), 5);
    server.get("/v1/scores/nobody").refused(404, "unknown_player");
    server.get("/v1/scores/p00?season=2020-01").refused(404, "unknown_season");
}

#[test]
fn a_score_has_a_place_and_a_board_a_distribution() {
    let server = filled();
    let place = server.get("/v1/scores/at/95?around=2").ok(200);
    assert_eq!((&place["score"], &place["rank"]), (&json!(95), &json!(11)));
    assert!(place["percentile"].is_number());
    assert!(!place["around"].as_array().unwrap().is_empty());
    let distribution = server.get("/v1/boards/main/distribution").ok(200);
    assert_eq!((&distribution["min"], &distribution["max"]), (&json!(88), &json!(100)));
    assert_eq!(distribution["players"], 25);
    assert_eq!(distribution["deciles"].as_array().unwrap().len(), 9);
    let bars = distribution["histogram"].as_array().unwrap();
    assert_eq!(bars.iter().map(|bar| bar["players"].as_u64().unwrap()).sum::<u64>(), 25);
}

#[test]
fn a_goal_divides_the_players() {
    let server = Server::start();
    server.send("PUT", "/v1/boards/goal", "admin", &json!({"goal": 3})).ok(201);
    for (user, points) in [("a", 5), ("b", 3), ("c", 1)] {
        server
            .submit("/v1/boards/goal/scores", &json!({"user_id": user, "points": points}))
            .ok(200);
    }
    let met = server.get("/v1/boards/goal/scores?success=true").ok(200);
    assert_eq!(ids(&met), ["a", "b"]);
    assert_eq!(met["data"][0]["success"], true);
    assert_eq!(ids(&server.get("/v1/boards/goal/scores?success=false").ok(200)), ["c"]);
}

#[test]
fn head_answers_like_get_without_a_body() {
    let server = filled();
    let get = server.get("/v1/scores");
    let head = server.call("HEAD", "/v1/scores", &[], "");
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), get.text.len().to_string());
    assert_eq!(server.call("HEAD", "/v1/scores/nobody", &[], "").status, 404);
}
