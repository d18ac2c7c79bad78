//! What the server says about itself: the API, its page, metrics.

use std::path::Path;

use serde_json::{Value, json};

use crate::server::Server;

fn snapshot() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")
}

#[test]
fn the_published_api_is_the_one_that_was_reviewed() {
    let published = standings_server::openapi_document();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::create_dir_all(snapshot().parent().unwrap()).unwrap();
        std::fs::write(snapshot(), format!("{published}\n")).unwrap();
    }
    let reviewed = std::fs::read_to_string(snapshot()).unwrap_or_default();
    if reviewed.trim_end() != published {
        let different = reviewed.lines().zip(published.lines()).position(|(old, new)| old != new);
        panic!(
            "docs/openapi.json differs from what the code publishes, from line {} on. If the change is meant, run\n  \
             UPDATE_OPENAPI=1 cargo test -p standings-server --test http the_published_api\nand commit the file",
            different.unwrap_or(0) + 1
        );
    }
}

#[test]
fn every_documented_call_exists_and_declares_problems() {
    let server = Server::start();
    let document = server.get("/openapi.json").ok(200);
    let mut calls = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let problem = &operation["responses"]["default"]["content"];
            assert!(problem["application/problem+json"].is_object(), "{method} {path}");
            let concrete = path
                .replace("{board}", "main")
                .replace("{user_id}", "someone")
                .replace("{score}", "5")
                .replace("{season}", "2026-10")
                .replace("{date}", "2026-02-21")
                .replace("{name}", "nothing");
            // Without a key: whatever is guarded answers 401, and what is not there 404 or 405.
            let reply = server.call(&method.to_uppercase(), &concrete, &[], "");
            assert!(
                ![404, 405].contains(&reply.status) || reply.code() == "unknown_player",
                "{method} {path}"
            );
            calls += 1;
        }
    }
    assert_eq!(calls, 41);
    let names: Vec<_> = document["components"]["schemas"].as_object().unwrap().keys().collect();
    let text = document.to_string();
    for (at, _) in text.match_indices("#/components/schemas/") {
        let name = text[at + 21..].split('"').next().unwrap();
        assert!(names.iter().any(|known| *known == name), "{name} is not defined");
    }
}

#[test]
fn the_page_of_the_api_needs_nothing_from_elsewhere() {
    let server = Server::start();
    let page = server.get("/docs");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    assert!(!page.text.contains("http://") && !page.text.contains("https://"));
    assert_eq!(server.get("/").ok(200)["docs"], "/docs");
}

#[test]
fn metrics_count_requests_problems_and_what_the_engine_does() {
    let server = Server::start();
    server.submit("/v1/scores", &json!({"user_id": "a", "points": 1})).ok(200);
    server.submit("/v1/scores", &json!({"user_id": "a"})).refused(400, "malformed");
    server.get("/v1/scores/a").ok(200);
    server.get("/nowhere").refused(404, "not_found");
    server.submit("/v1/boards/main/scores/batch", &json!([5])).ok(200);
    let metrics = server.get("/metrics");
    assert!(metrics.header("content-type").starts_with("application/openmetrics-text"));
    for line in [
        r#"standings_http_requests_total{route="/v1/scores",method="POST",status="200"} 1"#,
        r#"standings_http_requests_total{route="/v1/scores",method="POST",status="400"} 1"#,
        r#"standings_http_requests_total{route="/v1/scores/{user_id}",method="GET",status="200"} 1"#,
        r#"standings_http_requests_total{route="unmatched",method="any",status="404"} 1"#,
        r#"standings_http_requests_total{route="/v1/boards/{board}/scores/batch",method="POST",status="200"} 1"#,
        r#"standings_http_request_duration_seconds_count{route="/v1/scores",method="POST"} 2"#,
        r#"standings_http_problems_total{code="malformed"} 2"#,
        "standings_events_total 1",
        "# EOF",
    ] {
        assert!(metrics.text.contains(line), "{line}\n{}", metrics.text);
    }
    let connections =
        metrics.text.lines().find(|line| line.starts_with("standings_http_connections "));
    assert!(connections.is_some_and(|line| !line.ends_with(" 0")), "{connections:?}");
}

#[test]
fn a_receipt_has_the_members_that_are_documented() {
    let server = Server::start();
    let receipt = server.submit("/v1/scores", &json!({"user_id": "a", "points": 1})).ok(200);
    let schema = &server.get("/openapi.json").ok(200)["components"]["schemas"]["Receipt"];
    let own = &schema["allOf"][1];
    let required: Vec<_> =
        own["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let members: Vec<_> = receipt.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(sorted(required), sorted(members));
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}
