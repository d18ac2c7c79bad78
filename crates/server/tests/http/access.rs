//! Who may call, and how often.

use serde_json::{Value, json};
use standings_server::config::{Cors, HttpOptions, Reads};

use crate::server::Server;

/// Every call that needs a key, with the smallest role that may make it.
const GUARDED: &[(&str, &str, &str)] = &[
    ("POST", "/v1/scores", "game"),
    ("POST", "/v1/boards/main/scores", "game"),
    ("POST", "/v1/boards/main/scores/batch", "game"),
    ("PUT", "/v1/players/a", "game"),
    ("PUT", "/v1/players/a/friends", "game"),
    ("DELETE", "/v1/players/a", "admin"),
    ("PUT", "/v1/boards/main/scores", "admin"),
    ("DELETE", "/v1/boards/main/scores/a", "admin"),
    ("PUT", "/v1/boards/main", "admin"),
    ("DELETE", "/v1/boards/main", "admin"),
    ("POST", "/v1/boards/main/seasons/close", "admin"),
    ("PUT", "/v1/boards/main/seasons/2026-10", "admin"),
    ("POST", "/v1/boards/main/snapshots", "admin"),
    ("PUT", "/v1/boards/main/snapshots/2026-02-21", "admin"),
    ("GET", "/v1/keys", "admin"),
    ("POST", "/v1/keys", "admin"),
    ("DELETE", "/v1/keys/game", "admin"),
    ("POST", "/v1/backup", "admin"),
];

#[test]
fn without_the_right_key_nothing_happens() {
    let server = Server::start();
    let before = server.get("/v1/boards").text;
    for (method, path, role) in GUARDED {
        let body = json!({"user_id": "a", "points": 1});
        let none = server.call(method, path, &[], "");
        none.refused(401, "unauthorized");
        assert_eq!(none.header("www-authenticate"), "Bearer");
        let unknown = server.send(method, path, "sk_unknown", &body);
        unknown.refused(401, "unauthorized");
        assert_eq!(none.text, unknown.text, "nothing hints at which keys exist");
        server.send(method, path, "read", &body).refused(403, "forbidden");
        if *role == "admin" {
            server.send(method, path, "game", &body).refused(403, "forbidden");
        }
        let basic = [("authorization", "Basic YWRtaW46YWRtaW4=")];
        server.call(method, path, &basic, "").refused(401, "unauthorized");
    }
    assert_eq!(server.get("/v1/boards").text, before);
    let keys = server.send("GET", "/v1/keys", "admin", &Value::Null).ok(200);
    assert_eq!(keys["data"].as_array().unwrap().len(), 3);
}

#[test]
fn a_key_is_shown_once_works_at_once_and_stops_at_once() {
    let server = Server::start();
    let made = server.send("POST", "/v1/keys", "admin", &json!({"name": "eu-1", "role": "game"}));
    let made = made.ok(201);
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("sk_"), "{key}");
    let score = json!({"user_id": "a", "points": 1});
    server.send("POST", "/v1/scores", key, &score).ok(200);
    server.send("GET", "/v1/keys", key, &Value::Null).refused(403, "forbidden");
    let again = json!({"name": "eu-1", "role": "read"});
    server.send("POST", "/v1/keys", "admin", &again).refused(409, "key_exists");
    let listed = server.send("GET", "/v1/keys", "admin", &Value::Null);
    assert!(!listed.text.contains(key) && listed.text.contains("eu-1"), "{}", listed.text);
    assert_eq!(listed.ok(200)["data"][1]["created_at"], "2026-11-15T10:00:00Z");
    server.send("DELETE", "/v1/keys/eu-1", "admin", &Value::Null).ok(204);
    server.send("POST", "/v1/scores", key, &score).refused(401, "unauthorized");
    server.send("DELETE", "/v1/keys/eu-1", "admin", &Value::Null).refused(404, "unknown_key");
}

#[test]
fn reads_are_open_unless_the_configuration_wants_a_key() {
    let open = Server::start();
    open.get("/v1/scores").ok(200);
    let closed = Server::with(HttpOptions { reads: Reads::Key, ..HttpOptions::default() });
    for path in [
        "/v1/scores",
        "/v1/scores/a",
        "/v1/scores/a?friends=true",
        "/v1/boards",
        "/v1/boards/main/snapshots",
        "/v1/players?name=a",
        "/v1/players/a/friends",
        "/v1/players/a/scores",
        "/v1/players/a/seasons",
        "/v1/players/a/snapshots",
        "/v1/distribution",
        "/metrics",
    ] {
        closed.get(path).refused(401, "unauthorized");
    }
    closed.send("GET", "/v1/scores", "read", &Value::Null).ok(200);
    closed.send("GET", "/v1/scores", "game", &Value::Null).ok(200);
    closed.get("/healthz").ok(200);
    let bearer = [("authorization", "Bearer read")];
    assert!(closed.call("GET", "/metrics", &bearer, "").text.contains("standings_http_requests"));
    assert_eq!(open.get("/metrics").status, 200);
}

#[test]
fn a_key_that_calls_too_often_is_told_when_to_come_back() {
    let server =
        Server::with(HttpOptions { rate_limit: 1, rate_burst: 3, ..HttpOptions::default() });
    let score = json!({"user_id": "a", "points": 1});
    let replies: Vec<_> = (0..5).map(|_| server.submit("/v1/scores", &score)).collect();
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 3);
    replies[4].refused(429, "rate_limited");
    assert_eq!(replies[4].header("retry-after"), "1");
    server.send("POST", "/v1/scores", "admin", &score).ok(200);
    server.get("/v1/scores").ok(200);
}

#[test]
fn pages_of_any_origin_may_read_and_none_may_write() {
    let server = Server::start();
    let origin = [("origin", "https://game.example")];
    let read = server.call("GET", "/v1/scores", &origin, "");
    assert_eq!(read.header("access-control-allow-origin"), "*");
    let refused = server.call("GET", "/v1/scores/nobody", &origin, "");
    assert_eq!(refused.header("access-control-allow-origin"), "*");
    let write = server.call("POST", "/v1/scores", &origin, "");
    assert_eq!(write.header("access-control-allow-origin"), "");
    let asked = server.call("OPTIONS", "/v1/scores", &origin, "");
    assert_eq!((asked.status, asked.header("access-control-allow-methods")), (204, "GET, HEAD"));
}

#[test]
fn origins_can_be_listed() {
    let cors: Cors = "https://game.example, https://other.example/".parse().unwrap();
    let server = Server::with(HttpOptions { cors, ..HttpOptions::default() });
    let from = |origin: &str| {
        let reply = server.call("GET", "/v1/scores", &[("origin", origin)], "");
        reply.header("access-control-allow-origin").to_owned()
    };
    assert_eq!(from("https://other.example"), "https://other.example");
    assert_eq!(from("https://evil.example"), "");
}

#[test]
fn an_answer_that_depends_on_the_origin_says_so_to_caches() {
    let listed: Cors = "https://game.example".parse().unwrap();
    let server = Server::with(HttpOptions { cors: listed, ..HttpOptions::default() });
    let read = ("GET", "/v1/scores");
    for ((method, path), origin, allowed) in [
        (read, "", ""),
        (("GET", "/v1/scores/nobody"), "", ""),
        (read, "https://game.example", "https://game.example"),
        (read, "https://evil.example", ""),
        (read, "", ""),
        (("GET", "/v1/boards"), "", ""),
        (("HEAD", "/v1/scores"), "", ""),
        (("OPTIONS", "/v1/scores"), "https://evil.example", ""),
        (("OPTIONS", "/v1/scores"), "https://game.example", "https://game.example"),
    ] {
        let headers = [("origin", origin)];
        let headers = if origin.is_empty() { &[] } else { &headers[..] };
        let reply = server.call(method, path, headers, "");
        assert_eq!(reply.header("vary"), "Origin", "{method} {path} from {origin:?}");
        assert_eq!(
            reply.header("access-control-allow-origin"),
            allowed,
            "{method} from {origin:?}"
        );
    }
    assert_eq!(server.call("POST", "/v1/scores", &[], "").header("vary"), "");
    for cors in [Cors::Any, Cors::None] {
        let server = Server::with(HttpOptions { cors, ..HttpOptions::default() });
        assert_eq!(server.get("/v1/scores").header("vary"), "");
        assert_eq!(server.get("/v1/boards").header("vary"), "");
    }
}

#[test]
fn a_request_id_is_echoed_or_made() {
    let server = Server::start();
    let given = server.call("GET", "/healthz", &[("x-request-id", "abc-123")], "");
    assert_eq!(given.header("x-request-id"), "abc-123");
    let made = server.call("GET", "/healthz", &[("x-request-id", "a b")], "");
    assert_eq!(made.header("x-request-id").len(), 16);
}
