//! A player's submissions and seasons, goals and streaks.

use serde_json::{Value, json};
use standings_core::Millis;
use standings_server::config::HttpOptions;

use crate::server::{NOW, Server};

const DAY: i64 = 86_400_000;

/// Values of one member of the rows of a list.
fn members<'a>(list: &'a Value, member: &str) -> Vec<&'a Value> {
    list["data"].as_array().unwrap().iter().map(|row| &row[member]).collect()
}

#[test]
fn every_accepted_submission_is_listed_newest_first() {
    let server = Server::start();
    server.send("PUT", "/v1/boards/laps", "admin", &json!({"rule": "best"})).ok(201);
    let event =
        json!({"user_id": "a", "points": 5, "event_id": "e1", "at": "2026-11-14T08:00:00Z"});
    server.submit("/v1/scores", &event).ok(200);
    server.submit("/v1/scores", &event).ok(200);
    server.submit("/v1/scores", &json!({"user_id": "b", "points": 9})).ok(200);
    server.submit("/v1/boards/laps/scores", &json!({"user_id": "a", "points": 7})).ok(200);
    server.submit("/v1/boards/laps/scores", &json!({"user_id": "a", "points": 3})).ok(200);
    let bad = json!({"user_id": "a", "points": 1, "at": "2031-01-01T00:00:00Z"});
    server.submit("/v1/scores", &bad).refused(422, "at_in_future");
    let all = server.get("/v1/players/a/scores").ok(200);
    assert_eq!(
        all,
        json!({
            "data": [
                {"board": "laps", "season": "2026-11", "points": 3, "score": 7, "at": "2026-11-15T10:00:00Z", "event_id": null},
                {"board": "laps", "season": "2026-11", "points": 7, "score": 7, "at": "2026-11-15T10:00:00Z", "event_id": null},
                {"board": "main", "season": "2026-11", "points": 5, "score": 5, "at": "2026-11-14T08:00:00Z", "event_id": "e1"},
            ],
            "next": null,
        })
    );
    let main = server.get("/v1/players/a/scores?board=main").ok(200);
    assert_eq!(members(&main, "event_id"), [&json!("e1")]);
}

#[test]
fn a_receipt_is_in_the_history_at_once_and_pages_show_each_once() {
    let server = Server::start();
    for i in 0..25 {
        server.submit("/v1/scores", &json!({"user_id": "a", "points": i})).ok(200);
        let newest = server.get("/v1/players/a/scores?limit=1").ok(200);
        assert_eq!(members(&newest, "points"), [&json!(i)]);
    }
    assert_eq!(members(&server.get("/v1/players/a/scores").ok(200), "points").len(), 10);
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/players/a/scores?limit=4{next}")).ok(200);
        seen.extend(members(&page, "points").into_iter().map(|points| points.as_i64().unwrap()));
        let Some(mark) = page["next"].as_str() else { break };
        // What comes meanwhile is newer than the place that was reached.
        server.submit("/v1/scores", &json!({"user_id": "a", "points": 1000})).ok(200);
        next = format!("&before={mark}");
    }
    assert_eq!(seen, (0..25).rev().collect::<Vec<_>>());
}

#[test]
fn who_is_not_known_has_empty_lists() {
    let server = Server::start();
    let empty = json!({"data": [], "next": null});
    assert_eq!(server.get("/v1/players/nobody/scores").ok(200), empty);
    assert_eq!(server.get("/v1/players/nobody/snapshots").ok(200), empty);
    assert_eq!(
        server.get("/v1/players/nobody/seasons").ok(200),
        json!({"data": [], "best": null, "current_streak": null, "longest_streak": null, "next": null})
    );
    for list in ["scores", "seasons", "snapshots"] {
        let path = format!("/v1/players/nobody/{list}?board=none");
        server.get(&path).refused(404, "unknown_board");
    }
}

#[test]
fn a_mark_fits_no_other_list() {
    let server = Server::start();
    for user in ["a", "a", "b", "b"] {
        server.submit("/v1/scores", &json!({"user_id": user, "points": 1})).ok(200);
    }
    let page = server.get("/v1/players/a/scores?limit=1").ok(200);
    let mark = page["next"].as_str().unwrap();
    server.get(&format!("/v1/players/a/scores?before={mark}")).ok(200);
    for bad in [
        format!("/v1/players/b/scores?before={mark}"),
        format!("/v1/players/a/snapshots?before={mark}"),
        format!("/v1/players/a/scores?board=main&before={mark}"),
        format!("/v1/players/a/scores?before=x{mark}"),
    ] {
        server.get(&bad).refused(400, "bad_cursor");
    }
}

/// A weekly board with a goal of 5, in the week 2026-W46, and what a player got in the weeks 42 to 46.
fn weeks() -> Server {
    let server = Server::unready(HttpOptions::default(), None);
    server.clock.set(Millis(NOW.0 - 28 * DAY));
    server.recover();
    let board = json!({"season": "weekly", "goal": 5, "keep": "forever"});
    server.send("PUT", "/v1/boards/weeks", "admin", &board).ok(201);
    let submit = |user: &str, points: i64| {
        let score = json!({"user_id": user, "points": points});
        server.submit("/v1/boards/weeks/scores", &score).ok(200);
    };
    // 2026-W42, 43: success; 44: none; 45: no entry; 46: success.
    for (week, points) in [(42, Some(7)), (43, Some(5)), (44, Some(1)), (45, None), (46, Some(6))] {
        server.turn_to(Millis(NOW.0 - (46 - week) * 7 * DAY));
        submit("rival", 6);
        if let Some(points) = points {
            submit("john-doe", points);
        }
    }
    server
}

#[test]
fn seasons_are_listed_with_rank_success_best_and_streaks() {
    let server = weeks();
    let all = server.get("/v1/players/john-doe/seasons?board=weeks").ok(200);
    assert_eq!(members(&all, "season"), ["2026-W46", "2026-W44", "2026-W43", "2026-W42"]);
    assert_eq!(members(&all, "score"), [6, 1, 5, 7]);
    assert_eq!(members(&all, "rank"), [1, 2, 2, 1]);
    assert_eq!(members(&all, "success"), [true, false, true, true]);
    assert_eq!(
        all["data"][3],
        json!({
            "season": "2026-W42", "starts_at": "2026-10-12T00:00:00Z", "ends_at": "2026-10-19T00:00:00Z",
            "score": 7, "rank": 1, "success": true, "at": "2026-10-18T10:00:00Z", "updated_at": "2026-10-18T10:00:00Z",
        })
    );
    assert_eq!(all["best"], json!({"score": 7, "season": "2026-W42"}));
    assert_eq!((&all["current_streak"], &all["longest_streak"]), (&json!(1), &json!(2)));
    assert_eq!(all["next"], Value::Null);
    let rival = server.get("/v1/players/rival/seasons?board=weeks&limit=1").ok(200);
    assert_eq!((&rival["current_streak"], &rival["longest_streak"]), (&json!(5), &json!(5)));
}

#[test]
fn seasons_are_narrowed_by_season_or_date_and_paged() {
    let server = weeks();
    let seasons = |query: &str| {
        let page = server.get(&format!("/v1/players/john-doe/seasons?board=weeks&{query}")).ok(200);
        // What narrows the list leaves the rest alone.
        assert_eq!(page["best"]["score"], 7, "{query}");
        assert_eq!(page["longest_streak"], 2, "{query}");
        let ids: Vec<_> =
            members(&page, "season").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        (ids.join(" "), page["next"].clone())
    };
    for (query, expected) in [
        ("from=2026-W44", "2026-W46 2026-W44"),
        ("to=2026-W43", "2026-W43 2026-W42"),
        ("from=2026-W43&to=2026-W44", "2026-W44 2026-W43"),
        ("from=2026-10-20&to=2026-10-20", "2026-W43"),
        // A Sunday and the Monday after it.
        ("from=2026-10-18&to=2026-10-19", "2026-W43 2026-W42"),
        ("from=2026-W45&to=2026-W45", ""),
        ("from=2026-W47", ""),
    ] {
        assert_eq!(seasons(query), (expected.to_owned(), Value::Null), "{query}");
    }
    assert_eq!(seasons("limit=3"), ("2026-W46 2026-W44 2026-W43".to_owned(), json!("2026-W43")));
    assert_eq!(seasons("limit=3&before=2026-W43"), ("2026-W42".to_owned(), Value::Null));
}

#[test]
fn a_part_of_a_season_that_was_ended_by_hand_has_its_own_time() {
    let server = Server::start();
    let submit = || server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    submit();
    server.send("POST", "/v1/boards/main/seasons/close", "admin", &Value::Null).ok(200);
    server.clock.advance(Millis(DAY));
    submit();
    let seasons = |query: &str| {
        let page = server.get(&format!("/v1/players/a/seasons?{query}")).ok(200);
        members(&page, "season").into_iter().cloned().collect::<Vec<_>>()
    };
    assert_eq!(seasons("from=2026-11&to=2026-11"), ["2026-11.2", "2026-11"]);
    assert_eq!(seasons("from=2026-11.2"), ["2026-11.2"]);
    server.get("/v1/players/a/seasons?from=2026-11.3").refused(404, "unknown_season");
    // One that was ended as soon as it began is not after itself.
    for _ in 0..2 {
        server.send("POST", "/v1/boards/main/seasons/close", "admin", &Value::Null).ok(200);
    }
    server.get("/v1/players/a/seasons?from=2026-11.4&to=2026-11.2").refused(400, "malformed");
    assert_eq!(seasons("from=2026-11.2&to=2026-11.4"), ["2026-11.2"]);
    server.get("/v1/players/a/seasons?from=2026-11.3&to=2026-11.3").ok(200);
}

#[test]
fn a_part_is_found_however_many_came_after_it() {
    let server = Server::start();
    let close = || server.send("POST", "/v1/boards/main/seasons/close", "admin", &Value::Null);
    close().ok(200);
    server.clock.advance(Millis(DAY));
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    for _ in 0..1001 {
        close().ok(200);
    }
    let page = server.get("/v1/players/a/seasons?from=2026-11.2&to=2026-11.2").ok(200);
    assert_eq!(members(&page, "season"), ["2026-11.2"]);
    for unknown in ["2026-11.2000", "2026-11.4294967295", "2026-W46.2"] {
        let path = format!("/v1/players/a/seasons?from={unknown}");
        server.get(&path).refused(404, "unknown_season");
    }
}

#[test]
fn a_list_goes_on_from_a_season_of_the_board_only() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    for list in ["/v1/boards/main/seasons", "/v1/players/a/seasons"] {
        let page = server.get(&format!("{list}?before=2027-01")).ok(200);
        assert_eq!(page["data"].as_array().unwrap().len(), 1, "{list}");
        server.get(&format!("{list}?before=2026-W46")).refused(404, "unknown_season");
    }
}

#[test]
fn a_season_past_keep_is_refused_with_what_to_change() {
    let server = Server::start();
    let row = "{\"user_id\":\"a\",\"score\":5}";
    let import = || server.ndjson("PUT", "/v1/boards/main/seasons/2020-01", "admin", row);
    import().refused(409, "past_retention");
    let detail = import().text;
    assert!(detail.contains("season 2020-01") && detail.contains("change keep"), "{detail}");
    assert_eq!(server.get("/v1/players/a/seasons").ok(200)["best"], Value::Null);
    server.send("PUT", "/v1/boards/main", "admin", &json!({"keep": "forever"})).ok(200);
    assert_eq!(import().ok(200), json!({"season": "2020-01", "players": 1}));
}

#[test]
fn without_a_goal_there_is_no_success_and_no_streak() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    let seasons = server.get("/v1/players/a/seasons").ok(200);
    assert_eq!(members(&seasons, "success"), [&Value::Null]);
    assert_eq!(
        (&seasons["current_streak"], &seasons["longest_streak"]),
        (&json!(null), &json!(null))
    );
    let list = server.get("/v1/boards/main/seasons").ok(200);
    let season = &list["data"][0];
    for member in ["successes", "success_rate", "streaks"] {
        assert_eq!(season[member], Value::Null, "{member}");
    }
    assert_eq!(list["mean_success_rate"], Value::Null);
}

#[test]
fn a_season_without_an_end_has_none() {
    let server = Server::start();
    server.send("PUT", "/v1/boards/ever", "admin", &json!({"season": "never"})).ok(201);
    server.submit("/v1/boards/ever/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    let seasons = server.get("/v1/players/a/seasons?board=ever&from=2020-01-01").ok(200);
    assert_eq!(
        (&seasons["data"][0]["season"], &seasons["data"][0]["ends_at"]),
        (&json!("all"), &Value::Null)
    );
}

#[test]
fn a_list_of_seasons_has_rates_and_streaks() {
    let server = weeks();
    let list = server.get("/v1/boards/weeks/seasons?year=2026").ok(200);
    assert_eq!(members(&list, "id"), ["2026-W46", "2026-W45", "2026-W44", "2026-W43", "2026-W42"]);
    assert_eq!(members(&list, "players"), [2, 1, 2, 2, 2]);
    assert_eq!(members(&list, "successes"), [2, 1, 1, 2, 2]);
    assert_eq!(members(&list, "success_rate"), [1.0, 1.0, 0.5, 1.0, 1.0]);
    assert_eq!(list["data"][3]["streaks"], json!([{"length": 2, "players": 2}]));
    assert_eq!(list["data"][2]["streaks"], json!([{"length": 3, "players": 1}]));
    // Of the seasons that are over: (1 + 0.5 + 1 + 1) / 4, whatever is on the page.
    assert_eq!(list["mean_success_rate"], 0.875);
    let page = server.get("/v1/boards/weeks/seasons?year=2026&limit=1").ok(200);
    assert_eq!((&page["mean_success_rate"], &page["next"]), (&json!(0.875), &json!("2026-W46")));
}

#[test]
fn a_rate_has_four_decimals() {
    let server = Server::start();
    server.send("PUT", "/v1/boards/goal", "admin", &json!({"goal": 5})).ok(201);
    for (user, points) in [("a", 5), ("b", 7), ("c", 1)] {
        server
            .submit("/v1/boards/goal/scores", &json!({"user_id": user, "points": points}))
            .ok(200);
    }
    server.send("POST", "/v1/boards/goal/seasons/close", "admin", &Value::Null).ok(200);
    let list = server.get("/v1/boards/goal/seasons?year=2026").ok(200);
    assert_eq!(members(&list, "success_rate"), [&Value::Null, &json!(0.6667)]);
    assert_eq!(members(&list, "final"), [false, true]);
    assert_eq!(list["mean_success_rate"], 0.6667);
    let all = server.get("/v1/boards/goal/seasons").ok(200);
    assert_eq!(all["mean_success_rate"], Value::Null, "it is of a year");
}

#[test]
fn a_season_that_is_named_is_closed_once_however_often_that_is_sent() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 5})).ok(200);
    let close = |season: &str| {
        let body = json!({"season": season});
        server.send("POST", "/v1/boards/main/seasons/close", "admin", &body)
    };
    for _ in 0..3 {
        let closed = close("2026-11").ok(200);
        assert_eq!(closed, json!({"closed": "2026-11", "current": "2026-11.2"}));
    }
    close("2026-12").refused(404, "unknown_season");
    close("November").refused(400, "malformed");
    let list = server.get("/v1/boards/main/seasons").ok(200);
    assert_eq!(members(&list, "id"), ["2026-11.2", "2026-11"]);
}
