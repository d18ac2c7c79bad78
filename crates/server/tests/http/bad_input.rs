//! What clients get wrong: a 4xx with a code, and nothing changes.

use serde_json::{Value, json};

use crate::server::Server;

/// Everything that a board shows.
fn state(server: &Server) -> (String, String) {
    (server.get("/v1/scores?limit=1000").text, server.get("/v1/boards").text)
}

#[test]
fn a_body_that_is_not_a_submission_is_refused_and_changes_nothing() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 1})).ok(200);
    let before = state(&server);
    let long_id = format!(r#"{{"user_id":"{}","points":1}}"#, "x".repeat(129));
    let deep = "[".repeat(100_000);
    let bodies: &[&str] = &[
        "",
        " ",
        "{",
        "null",
        "[]",
        "5",
        "\"a\"",
        "NaN",
        "{}",
        "[\"a\",1]",
        &deep,
        &long_id,
        r#"{"user_id":"a"}"#,
        r#"{"points":1}"#,
        r#"{"user_id":1,"points":1}"#,
        r#"{"user_id":null,"points":1}"#,
        r#"{"user_id":"","points":1}"#,
        r#"{"user_id":"a/b","points":1}"#,
        r#"{"user_id":"a,b","points":1}"#,
        r#"{"user_id":"..","points":1}"#,
        r#"{"user_id":"a\u0000","points":1}"#,
        r#"{"user_id":"a\ud800","points":1}"#,
        r#"{"user_id":"a\u200b","points":1}"#,
        r#"{"user_id":"a\u202eb","points":1}"#,
        r#"{"user_id":"\u00a0","points":1}"#,
        r#"{"user_id":"a","points":"1"}"#,
        r#"{"user_id":"a","points":1.5}"#,
        r#"{"user_id":"a","points":5.0}"#,
        r#"{"user_id":"a","points":1e3}"#,
        r#"{"user_id":"a","points":1e400}"#,
        r#"{"user_id":"a","points":-1e400}"#,
        r#"{"user_id":"a","points":NaN}"#,
        r#"{"user_id":"a","points":Infinity}"#,
        r#"{"user_id":"a","points":true}"#,
        r#"{"user_id":"a","points":null}"#,
        r#"{"user_id":"a","points":9007199254740992}"#,
        r#"{"user_id":"a","points":-9007199254740992}"#,
        r#"{"user_id":"a","points":99999999999999999999999999}"#,
        r#"{"user_id":"a","points":1,"points":2}"#,
        r#"{"user_id":"a","points":1,"pionts":2}"#,
        r#"{"user_id":"a","points":1,"event_id":""}"#,
        r#"{"user_id":"a","points":1,"event_id":5}"#,
        r#"{"user_id":"a","points":1,"at":"yesterday"}"#,
        r#"{"user_id":"a","points":1,"at":"20261115T100000Z"}"#,
        r#"{"user_id":"a","points":1,"at":1.5}"#,
        r#"{"user_id":"a","points":1,"at":99999999999999999}"#,
        r#"{"user_id":"a","points":1,"user_name":""}"#,
        r#"{"user_id":"a","points":1,"expect":{}}"#,
        r#"{"user_id":"a","points":1,"expect":[1]}"#,
        r#"{"user_id":"a","points":1,"expect":{"updated_after":1}}"#,
        r#"{"user_id":"a","points":1} {"user_id":"a","points":1}"#,
    ];
    for body in bodies {
        let reply = server.send_raw("POST", "/v1/scores", "game", "application/json", *body);
        assert_eq!((reply.status, reply.code().as_str()), (400, "malformed"), "{body:.80}");
    }
    let not_utf8 = b"{\"user_id\":\"a\xff\",\"points\":1}".to_vec();
    server
        .send_raw("POST", "/v1/scores", "game", "application/json", not_utf8)
        .refused(400, "malformed");
    assert_eq!(state(&server), before);
}

#[test]
fn the_field_that_is_wrong_is_named() {
    let server = Server::start();
    for (body, field) in [
        (r#"{"user_id":"a","points":"1"}"#, "points"),
        (r#"{"user_id":"a","points":1e400}"#, "points"),
        (r#"{"user_id":7,"points":1}"#, "user_id"),
        (r#"{"user_id":"a","points":1,"at":"noon"}"#, "at"),
        (r#"{"user_id":"a","points":1,"expect":{"updated_before":true}}"#, "expect.updated_before"),
        (r#"{"user_id":"a"}"#, "points"),
        (r#"{"user_id":"a","points":1,"pionts":1}"#, "pionts"),
    ] {
        let reply = server.send_raw("POST", "/v1/scores", "game", "application/json", body);
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(field), "{body}: {detail}");
    }
}

#[test]
fn a_player_who_is_not_there_is_said_to_be_so_of_profiles_and_entries_alike() {
    let server = Server::start();
    for path in ["/v1/players/nope", "/v1/scores/nope"] {
        let reply = server.get(path);
        reply.refused(404, "unknown_player");
        assert_eq!(reply.json()["detail"], "there is no player \"nope\" here", "{path}");
    }
}

#[test]
fn a_byte_order_mark_before_rows_is_skipped_and_elsewhere_it_is_named() {
    let server = Server::start();
    let batch = "/v1/boards/main/scores/batch";
    let rows = "\u{feff}{\"user_id\":\"a\",\"points\":1}\n{\"user_id\":\"b\",\"points\":1}\n";
    assert_eq!(server.ndjson("POST", batch, "game", rows).ok(200)["accepted"], 2);
    let rows = "\u{feff}{\"user_id\":\"a\",\"score\":5}\n{\"user_id\":\"b\",\"score\":4}\n";
    for (path, member, value) in [
        ("/v1/boards/main/scores", "rows", 2),
        ("/v1/boards/main/snapshots/2026-02-21", "players", 2),
    ] {
        assert_eq!(server.ndjson("PUT", path, "admin", rows).ok(200)[member], value, "{path}");
    }
    let marks = "\u{feff}\u{feff}{\"user_id\":\"a\",\"score\":5}\n";
    server.ndjson("PUT", "/v1/boards/main/scores", "admin", marks).refused(400, "malformed");
    let later = "{\"user_id\":\"a\",\"score\":5}\n\u{feff}{\"user_id\":\"b\",\"score\":4}\n";
    let refused = server.ndjson("PUT", "/v1/boards/main/scores", "admin", later);
    refused.refused(400, "malformed");
    assert!(refused.text.contains("line 2: "), "{}", refused.text);
    for (path, body) in [
        ("/v1/scores", "\u{feff}{\"user_id\":\"a\",\"points\":1}"),
        (batch, "\u{feff}[{\"user_id\":\"a\",\"points\":1}]"),
    ] {
        let refused = server.send_raw("POST", path, "game", JSON, body);
        refused.refused(400, "malformed");
        assert!(refused.text.contains("byte order mark"), "{}", refused.text);
    }
}

#[test]
fn an_address_that_leads_nowhere_is_a_problem() {
    let server = Server::start();
    for (path, status, code) in [
        ("/nowhere", 404, "not_found"),
        ("/v1", 404, "not_found"),
        ("/v1/scores/", 404, "not_found"),
        ("/v1//scores", 404, "not_found"),
        ("/v1/boards/none/scores", 404, "unknown_board"),
        ("/v1/boards/none", 404, "unknown_board"),
        ("/v1/boards/Main/scores", 400, "malformed"),
        ("/v1/boards/%2e%2e/scores", 400, "malformed"),
        ("/v1/boards/a%2Fb/scores", 400, "malformed"),
        ("/v1/boards/%ff/scores", 400, "malformed"),
        ("/v1/scores/a%2Fb", 400, "malformed"),
        ("/v1/scores/%2e%2e", 400, "malformed"),
        ("/v1/scores/a%00", 400, "malformed"),
        ("/v1/scores/%c3%28", 400, "malformed"),
        ("/v1/scores/at/many", 400, "malformed"),
        ("/v1/scores/at/1.5", 400, "malformed"),
        ("/v1/scores/at/9007199254740992", 400, "malformed"),
        ("/v1/scores/a/b", 404, "not_found"),
        ("/v1/players/nobody", 404, "unknown_player"),
        ("/v1/players/nobody/scores/5", 404, "not_found"),
        ("/v1/players/a%2Fb/friends", 400, "malformed"),
        ("/v1/players/a/seasons?board=none&from=2026-01", 404, "unknown_board"),
        ("/v1/players/a/seasons?from=2026-W46", 404, "unknown_season"),
        ("/v1/players/a/seasons?to=2026-11.2", 404, "unknown_season"),
        ("/v1/players/a/scores?before=x", 400, "bad_cursor"),
        ("/v1/players/a/scores?before=", 400, "bad_cursor"),
        ("/v1/players/a/snapshots?before=x", 400, "bad_cursor"),
    ] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{path}");
    }
    let patch = server.call("PATCH", "/v1/scores", &[], "");
    patch.refused(405, "method_not_allowed");
    assert!(patch.header("allow").contains("POST"));
    server.call("DELETE", "/healthz", &[], "").refused(405, "method_not_allowed");
    let post = server.submit("/v1/boards/main/scores/batches", &json!([]));
    post.refused(405, "method_not_allowed");
    assert_eq!(post.header("allow"), "GET,HEAD,DELETE");
}

#[test]
fn a_parameter_that_is_wrong_unknown_or_out_of_place_is_refused() {
    let server = Server::start();
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=ten",
        "limit=",
        "limit=1&limit=2",
        "offset=-1",
        "offset=1e3",
        "min=low",
        "min=2&max=1",
        "success=yes",
        "success=1",
        "season=never-was",
        "season=",
        "snapshot=",
        "snapshot=today",
        "snapshot=2026-2-1",
        "snapshot=2026-02-21&season=2026-02",
        "season=current&snapshot=latest",
        "ids=a&season=2026-02&snapshot=latest",
        "lmit=5",
        "limit=%ff",
        "LIMIT=5",
        "ids=a&after=b",
        "ids=a/b",
        "ids=,",
    ] {
        let reply = server.get(&format!("/v1/scores?{query}"));
        assert_eq!((reply.status, reply.code().as_str()), (400, "malformed"), "{query}");
    }
    for (query, words) in [
        ("lmit=5", "there is no parameter \"lmit\" here; this call takes season, snapshot, limit"),
        ("limit=1&limit=2", "limit is given twice"),
        ("limit=0", "limit: it must be a whole number from 1 to 1000"),
        ("min=low", "min: "),
        ("season=soon", "season: it is current, previous or an id: a season is written"),
        ("snapshot=soon", "snapshot: it is latest or a date: a date is written"),
        ("snapshot=latest&season=current", "snapshot and season cannot be combined"),
        ("ids=a&limit=5", "ids and limit cannot be combined"),
    ] {
        let refused = server.get(&format!("/v1/scores?{query}")).json();
        assert!(refused["detail"].as_str().unwrap().starts_with(words), "{query}: {refused}");
    }
    for path in [
        "/v1/scores/a?around=101",
        "/v1/scores/a?around=-1",
        "/v1/scores/a?friends=yes",
        "/v1/scores/a?friends=true&around=4",
        "/v1/scores/a?friends=true&limit=4",
        "/v1/scores/a?snapshot=latest&season=current",
        "/v1/scores/at/5?snapshot=soon",
        "/v1/distribution?snapshot=latest&season=current",
        "/v1/boards?x=1",
        "/v1/players",
        "/v1/players?name=a&prefix=b",
        "/v1/players?name=",
        "/v1/boards/main/seasons?year=x",
        "/v1/boards/main/seasons?before=soon",
        "/v1/players/a?board=main",
        "/v1/boards/main/snapshots?before=soon",
        "/v1/boards/main/snapshots?limit=0",
        "/v1/boards/main/snapshots?year=2026",
        "/v1/players/a/friends?limit=5",
        "/v1/players/a/scores?limit=1001",
        "/v1/players/a/scores?board=Main",
        "/v1/players/a/scores?from=2026-01-01",
        "/v1/players/a/seasons?limit=0",
        "/v1/players/a/seasons?from=",
        "/v1/players/a/seasons?from=soon",
        "/v1/players/a/seasons?to=2026-02-30",
        "/v1/players/a/seasons?before=soon",
        "/v1/players/a/seasons?from=2026-03&to=2026-01",
        "/v1/players/a/seasons?from=2026-03&to=2026-02",
        "/v1/players/a/seasons?from=2026-02-21&to=2026-02-20",
        "/v1/players/a/snapshots?from=2026-02",
        "/v1/players/a/snapshots?to=soon",
        "/v1/players/a/snapshots?from=2026-02-02&to=2026-02-01",
    ] {
        server.get(path).refused(400, "malformed");
    }
}

#[test]
fn a_body_of_another_type_is_refused() {
    let server = Server::start();
    let body = r#"{"user_id":"a","points":1}"#;
    for media in ["text/plain", "application/x-www-form-urlencoded", "application/x-ndjson", "json"]
    {
        server
            .send_raw("POST", "/v1/scores", "game", media, body)
            .refused(415, "unsupported_media_type");
    }
    server.send_raw("POST", "/v1/scores", "game", "application/json; charset=utf-8", body).ok(200);
    server
        .send("PUT", "/v1/boards/main/scores", "admin", &json!({"user_id": "a", "score": 1}))
        .refused(415, "unsupported_media_type");
}

#[test]
fn definitions_profiles_and_keys_are_checked_too() {
    let server = Server::start();
    let before = state(&server);
    let put = |path: &str, body: Value| server.send("PUT", path, "admin", &body);
    for definition in [
        json!({"rule": "most"}),
        json!({"rules": "sum"}),
        json!({"season": "sometimes"}),
        json!({"time_zone": "Moon/Base"}),
        json!({"grace": "400 days"}),
        json!({"goal": 1.5}),
        json!([]),
        json!(null),
    ] {
        put("/v1/boards/new", definition).refused(400, "malformed");
    }
    put("/v1/boards/New", json!({})).refused(400, "malformed");
    for profile in [
        json!({"name": ""}),
        json!({"nom": "A"}),
        json!({"avatar_url": "javascript:alert(1)"}),
        json!({"attributes": [1]}),
        json!({"attributes": {"x": "y".repeat(5000)}}),
        json!({"name": 5}),
    ] {
        put("/v1/players/a", profile).refused(400, "malformed");
    }
    let nested = format!("{}{{}}{}", "{\"a\":".repeat(200), "}".repeat(200));
    for attributes in [r#"{"a":1e400}"#, r#"{"a":"\ud800"}"#, r#"{"\udc00":1}"#, &nested] {
        let body = format!(r#"{{"attributes":{attributes}}}"#);
        let refused = server.send_raw("PUT", "/v1/players/a", "game", "application/json", body);
        refused.refused(400, "malformed");
        assert!(refused.text.contains("\"detail\":\"attributes: "), "{}", refused.text);
    }
    for friends in [
        json!({}),
        json!([]),
        json!(["a"]),
        json!({"user_ids": "a"}),
        json!({"user_ids": ["a/b"]}),
        json!({"user_ids": [1]}),
        json!({"user_ids": [], "ids": []}),
    ] {
        put("/v1/players/a/friends", friends).refused(400, "malformed");
    }
    for hidden in ["%20", "%E2%80%8B", "a%E2%80%A8b", "%EF%BB%BFa", "a%EF%BF%BE"] {
        put(&format!("/v1/players/{hidden}"), json!({"name": "A"})).refused(400, "malformed");
        let friends = format!("/v1/players/{hidden}/friends");
        put(&friends, json!({"user_ids": ["a"]})).refused(400, "malformed");
    }
    put("/v1/players/a/friends", json!({"user_ids": ["b", "c\u{2066}"]})).refused(400, "malformed");
    for path in ["/v1/boards/main/scores", "/v1/boards/main/snapshots/2026-02-21"] {
        let row = "{\"user_id\":\"a\u{feff}\",\"score\":1}";
        server.ndjson("PUT", path, "admin", row).refused(400, "malformed");
    }
    let many: Vec<_> = (0..5001).map(|i| i.to_string()).collect();
    put("/v1/players/a/friends", json!({"user_ids": many})).refused(422, "too_many_friends");
    for key in [
        json!({"name": "a b", "role": "game"}),
        json!({"name": "k", "role": "king"}),
        json!({"name": "k"}),
    ] {
        server.send("POST", "/v1/keys", "admin", &key).refused(400, "malformed");
    }
    server.send("POST", "/v1/backup", "admin", &json!({"path": 5})).refused(400, "malformed");
    let date = json!({"date": "2026-02-21"});
    let refused = server.send("POST", "/v1/boards/main/snapshots", "admin", &date);
    refused.refused(400, "malformed");
    assert!(refused.text.contains("takes no body"), "{}", refused.text);
    for which in [date, json!({"season": "soon"}), json!({"season": 11}), json!(["2026-11"])] {
        server
            .send("POST", "/v1/boards/main/seasons/close", "admin", &which)
            .refused(400, "malformed");
    }
    server.get("/v1/players/a").refused(404, "unknown_player");
    assert_eq!(state(&server), before);
}

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

/// Every call that takes no parameters, with a body that it would take otherwise. The two probes take any: a server that is
/// well must not be put out of service because of what a load balancer adds.
const WITHOUT_PARAMETERS: &[(&str, &str, &str, &str)] = &[
    ("POST", "/v1/scores", JSON, r#"{"user_id":"a","points":1}"#),
    ("POST", "/v1/boards/main/scores", JSON, r#"{"user_id":"a","points":1}"#),
    ("POST", "/v1/boards/main/scores/batch", JSON, r#"[{"user_id":"a","points":1}]"#),
    ("POST", "/v1/boards/main/scores/batch", NDJSON, r#"{"user_id":"a","points":1}"#),
    ("PUT", "/v1/boards/main/scores", NDJSON, r#"{"user_id":"a","score":1}"#),
    ("GET", "/v1/boards/main", JSON, ""),
    ("PUT", "/v1/boards/main", JSON, r#"{"title":"Another"}"#),
    ("POST", "/v1/boards/main/seasons/close", JSON, ""),
    ("PUT", "/v1/boards/main/seasons/2026-10", NDJSON, r#"{"user_id":"a","score":1}"#),
    ("POST", "/v1/boards/main/snapshots", JSON, ""),
    ("PUT", "/v1/boards/main/snapshots/2026-02-21", NDJSON, r#"{"user_id":"a","score":1}"#),
    ("GET", "/v1/players/a", JSON, ""),
    ("PUT", "/v1/players/a", JSON, r#"{"name":"B"}"#),
    ("DELETE", "/v1/players/a", JSON, ""),
    ("GET", "/v1/players/a/friends", JSON, ""),
    ("PUT", "/v1/players/a/friends", JSON, r#"{"user_ids":["b"]}"#),
    ("GET", "/v1/keys", JSON, ""),
    ("POST", "/v1/keys", JSON, r#"{"name":"new","role":"game"}"#),
    ("DELETE", "/v1/keys/read", JSON, ""),
    ("POST", "/v1/backup", JSON, r#"{"path":"/nonexistent/backup"}"#),
    ("GET", "/metrics", JSON, ""),
    ("GET", "/openapi.json", JSON, ""),
    ("GET", "/docs", JSON, ""),
    ("GET", "/", JSON, ""),
    ("DELETE", "/v1/boards/main", JSON, ""),
];

#[test]
fn a_call_without_parameters_refuses_one_and_has_no_effect() {
    let server = Server::start();
    let put = server.send("PUT", "/v1/players/a", "game", &json!({"name": "A"}));
    assert_eq!(put.status, 200);
    let everything = || {
        let lists = ["keys", "players/a", "players/a/friends", "boards/main/seasons"];
        let lists = lists.map(|path| format!("/v1/{path}"));
        (state(&server), lists.map(|path| server.send("GET", &path, "admin", &Value::Null).text))
    };
    let before = everything();
    for (method, path, media, body) in WITHOUT_PARAMETERS {
        for query in ["season=2026-10", "x"] {
            let path = format!("{path}?{query}");
            let reply = server.send_raw(method, &path, "admin", media, *body);
            assert_eq!((reply.status, reply.code().as_str()), (400, "malformed"), "{path}");
            assert!(reply.text.contains("this call takes none"), "{method} {path}: {}", reply.text);
            assert_eq!(everything(), before, "{method} {path}");
        }
    }
    for path in ["/v1/boards/main?", "/healthz?x", "/readyz?x"] {
        server.get(path).ok(200);
    }
}

#[test]
fn every_documented_call_without_parameters_is_in_the_list_above() {
    let document: Value = serde_json::from_str(standings_server::openapi_document()).unwrap();
    let probes = ["/healthz", "/readyz"];
    for (path, item) in document["paths"].as_object().unwrap() {
        if probes.contains(&path.as_str()) {
            continue;
        }
        let concrete = path
            .replace("{board}", "main")
            .replace("{user_id}", "a")
            .replace("{season}", "2026-10")
            .replace("{date}", "2026-02-21")
            .replace("{name}", "read");
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array();
            if parameters.is_some_and(|all| all.iter().any(|one| one["in"] == "query")) {
                continue;
            }
            let listed = |(listed, path, ..): &(&str, &str, &str, &str)| {
                listed.eq_ignore_ascii_case(method) && *path == concrete
            };
            assert!(WITHOUT_PARAMETERS.iter().any(listed), "{method} {concrete}");
        }
    }
}

#[test]
fn what_a_setting_may_be_is_said_when_it_is_something_else() {
    let server = Server::start();
    let whole = "expected a whole number within \u{b1}9007199254740991";
    let text = "expected a string";
    let rules = "expected one of `sum`, `best`, `latest`";
    for (definition, words) in [
        (json!({"goal": 1.5}), vec!["goal: ", whole]),
        (json!({"min_points": "1"}), vec!["min_points: ", whole]),
        (json!({"max_points": 9_007_199_254_740_992_i64}), vec!["max_points: ", whole]),
        (json!({"rule": null}), vec!["rule: ", "null", text]),
        (json!({"rule": 5}), vec!["rule: ", "`5`", text]),
        (json!({"rule": ["sum"]}), vec!["rule: ", text]),
        (json!({"rule": {"sum": null}}), vec!["rule: ", text]),
        (json!({"rule": "most"}), vec!["rule: unknown variant `most`", rules]),
        (json!({"order": "up"}), vec!["order: ", "expected `desc` or `asc`"]),
        (json!({"week_starts": "x"}), vec!["week_starts: ", "expected one of `monday`, `tuesday`"]),
        (json!({"once_per": "x"}), vec!["once_per: ", "expected `day` or `hour`"]),
        (json!({"once_per": {"day": null}}), vec!["once_per: ", text]),
        (json!({"snapshots": {"every": "hour"}}), vec!["snapshots.every: ", "expected `day`"]),
    ] {
        let reply = server.send("PUT", "/v1/boards/new", "admin", &definition);
        reply.refused(400, "malformed");
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with(words[0]), "{definition}: {detail}");
        assert!(words.iter().all(|word| detail.contains(word)), "{definition}: {detail}");
    }
    server.send("PUT", "/v1/boards/new", "admin", &json!({"once_per": null})).ok(201);
}
