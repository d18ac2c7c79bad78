//! `import` and `export`.

use std::{fmt::Write as _, fs, io::Write, process::Stdio};

use serde_json::{Value, json};

use crate::process::{ADMIN, Server};

const CSV: &str = "\
user_id,score,at,user_name
1001,30,2026-01-02T03:04:05.678Z,\"Lee, \"\"A\"\"\"
b b,20,1000,
플레이어,-5,,플레이어
";

const NDJSON: &str = r#"{"user_id":"1001","score":30,"at":"2026-01-02T03:04:05.678Z","user_name":"Lee, \"A\""}
{"user_name":null,"score":20,"at":1000,"user_id":"b b"}

{"user_id":"플레이어","score":-5,"user_name":"플레이어"}"#;

fn board(server: &Server, id: &str) {
    server.run(&["board", "create", id, "--season", "never"]).ok();
}

fn rows(server: &Server, args: &[&str]) -> Vec<Value> {
    let args: Vec<_> = ["top", "--limit", "1000"].iter().chain(args).copied().collect();
    server.json(&args)["data"].as_array().unwrap().clone()
}

#[test]
fn csv_and_ndjson_set_the_same_scores() {
    let server = Server::start();
    for (id, name, content) in [
        ("a", "rows.csv", CSV),
        ("b", "rows.ndjson", NDJSON),
        ("c", "rows", NDJSON),
        ("d", "x", CSV),
    ] {
        board(&server, id);
        let file = server.file(name, content);
        let said = server.run(&["import", &file, "--board", id]).ok();
        assert!(said.starts_with(&format!("{id}, season all: 3 rows set, in ")), "{said}");
        let rows = rows(&server, &["--board", id]);
        let member = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
        assert_eq!(member("user_id"), ["1001", "b b", "플레이어"]);
        assert_eq!(member("score"), [30, 20, -5]);
        assert_eq!(member("user_name"), [json!("Lee, \"A\""), Value::Null, json!("플레이어")]);
        assert_eq!(rows[0]["at"], "2026-01-02T03:04:05.678Z");
        assert_eq!(rows[1]["at"], "1970-01-01T00:00:01Z");
    }
}

#[test]
fn standard_input_is_read_too() {
    let server = Server::start();
    board(&server, "a");
    let mut import = server
        .command()
        .args(["import", "-", "--board", "a", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(b"x,1\ny,2\n").unwrap();
    let out = import.wait_with_output().unwrap();
    let done: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(done, json!({"board": "a", "season": "all", "rows": 2}));
}

#[test]
fn an_export_can_be_imported_and_gives_the_same_again() {
    let server = Server::start();
    board(&server, "a");
    // Three pages, with ties that their times tell apart.
    let mut content = CSV.to_owned();
    for i in 0..2500 {
        writeln!(content, "p{i},{},{},\"n,{i}\"", i % 7, i * 1000 + i % 10).unwrap();
    }
    server.run(&["import", &server.file("a.csv", &content), "--board", "a"]).ok();
    for format in ["csv", "ndjson"] {
        board(&server, format);
        let first = server.path(&format!("first.{format}"));
        let first = first.to_str().unwrap();
        server.run(&["export", "--board", "a", "-o", first]).ok();
        server.run(&["import", first, "--board", format]).ok();
        let second = server.run(&["export", "--board", format, "--format", format]).ok();
        assert_eq!(second.lines().count(), 2503 + usize::from(format == "csv"));
        assert!(second == fs::read_to_string(first).unwrap(), "{format}");
        assert_eq!(rows(&server, &["--board", "a"]), rows(&server, &["--board", format]));
    }
}

#[test]
fn a_bad_row_is_named_and_the_corrected_file_sets_all() {
    let server = Server::start();
    board(&server, "a");
    // More than one request.
    let rows = (0..60_000).map(|i| format!("player-{i},{i}\n")).collect::<Vec<_>>().concat();
    let file = server.file("bad.csv", &format!("{rows}x,y\n"));
    let import = ["import", &file, "--board", "a"];
    let words = server.run(&import).fails(1);
    assert!(words.contains("bad.csv row 60001: score \"y\": invalid digit"), "{words}");
    assert!(words.ends_with("; a, season all: 50,000 rows set\n"), "{words}");
    fs::write(&file, format!("{rows}x,70000\n")).unwrap();
    let again = server.run(&import).ok();
    assert!(again.starts_with("a, season all: 60,001 rows set, in "), "{again}");
    let top = server.json(&["top", "--board", "a", "--limit", "1"]);
    assert_eq!((&top["players"], &top["data"][0]["user_id"]), (&json!(60_001), &json!("x")));
}

#[test]
fn a_closed_season_is_replaced_wholly_or_not_at_all() {
    let server = Server::start();
    server.run(&["board", "create", "m"]).ok();
    let closed = ureq::post(format!("{}/v1/boards/m/seasons/close", server.address))
        .header("Authorization", format!("Bearer {ADMIN}"))
        .send_empty()
        .unwrap();
    assert_eq!(closed.status(), 200);
    let current = server.json(&["board", "show", "m"])["current_season"]["id"].clone();
    let season = current.as_str().unwrap().split('.').next().unwrap().to_owned();

    let mut content = String::new();
    for i in 0..10_000 {
        writeln!(content, "p{i},{i}").unwrap();
    }
    let good = server.file("good.csv", &content);
    let said = server.run(&["import", &good, "--board", "m", "--season", &season]).ok();
    assert!(said.starts_with(&format!("m, season {season}: 10,000 players, in ")), "{said}");
    let top = server.json(&["top", "--board", "m", "--season", &season, "--limit", "1"]);
    assert_eq!((&top["players"], &top["data"][0]["user_id"]), (&json!(10_000), &json!("p9999")));

    let bad = server.file("bad.csv", &format!("{content}q,x\n"));
    let words = server.run(&["import", &bad, "--board", "m", "--season", &season]).fails(1);
    assert!(words.contains("row 10001: score \"x\""), "{words}");
    assert!(words.contains("nothing was imported"), "{words}");
    let empty = server.file("empty.csv", "user_id,score\n");
    let words = server.run(&["import", &empty, "--board", "m", "--season", &season]).fails(1);
    assert!(words.contains("has no rows"), "{words}");
    let after = server.json(&["top", "--board", "m", "--season", &season, "--limit", "1"]);
    assert_eq!(after["players"], 10_000);

    let open = current.as_str().unwrap();
    let refused = server.run(&["import", &good, "--board", "m", "--season", open]).fails(1);
    assert!(refused.contains("(season_open)"), "{refused}");
}

#[test]
fn a_refused_import_says_why() {
    let server = Server::start();
    let content = (0..200_000).map(|i| format!("player-{i},{i}\n")).collect::<Vec<_>>().concat();
    let file = server.file("many.csv", &content);
    let unknown = server.run(&["import", &file, "--board", "nope"]).fails(1);
    assert!(unknown.contains("(unknown_board)") && unknown.contains("no row was set"), "{unknown}");
    let key = server.run(&["import", &file, "--board", "main", "--key", "wrong"]).fails(1);
    assert!(key.contains("(unauthorized)"), "{key}");
    let missing = server.run(&["import", "/nonexistent.csv", "--board", "main"]).fails(1);
    assert!(missing.contains("cannot read /nonexistent.csv"), "{missing}");
}
