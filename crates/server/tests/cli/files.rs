//! `import` and `export`.

use std::{
    fmt::Write as _,
    fs,
    io::Write,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

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
    assert!(!server.path("rows.csv.standings-import").exists(), "a finished import leaves nothing");
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
fn an_interrupted_import_goes_on_where_it_was() {
    const ROWS: u64 = 100_000;
    let server = Server::start();
    board(&server, "a");
    let content = (0..ROWS).map(|i| format!("player-{i},{i}\n")).collect::<Vec<_>>().concat();
    let file = server.file("many.csv", &content);
    let position = server.path("many.csv.standings-import");
    // Small requests, so that there is time to interrupt it among them.
    let args = ["import", &file, "--board", "a", "--batch", "20"];
    let mut import = server.command().args(args).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !position.exists() {
        assert!(Instant::now() < deadline, "no position was noted");
        thread::sleep(Duration::from_millis(1));
    }
    import.kill().unwrap();
    import.wait().unwrap();
    let noted: Value = serde_json::from_slice(&fs::read(&position).unwrap()).unwrap();
    let done = noted["at"]["rows"].as_u64().unwrap();
    assert!((20..ROWS).contains(&done), "it was interrupted in the middle: {noted}");
    let before = server.json(&["top", "--board", "a", "--limit", "1"])["players"].as_u64().unwrap();
    assert!(before >= done && before <= done + 20, "{before} players, {done} noted");

    let rerun = server.run(&["import", &file, "--board", "a"]);
    assert!(rerun.err.starts_with("continuing after row "), "{}", rerun.err);
    assert!(rerun.ok().starts_with("a, season all: 100,000 rows set, in "));
    assert!(!position.exists());
    let top = server.json(&["top", "--board", "a", "--limit", "1"]);
    assert_eq!(top["players"], ROWS);
    let first = server.json(&["rank", "player-0", "--board", "a"]);
    assert_eq!(first["user_info"]["rank"], ROWS);
}

#[test]
fn a_bad_row_is_named_and_what_was_before_it_is_told() {
    let server = Server::start();
    board(&server, "a");
    let file = server.file("bad.csv", "a,1\nb,2\nc,3\nd,x\ne,5\n");
    let words = server.run(&["import", &file, "--board", "a", "--batch", "2"]).fails(1);
    assert!(words.contains("bad.csv line 4: \"x\" is not a score"), "{words}");
    assert!(words.contains("2 rows were set; the same command goes on from there"), "{words}");
    assert_eq!(rows(&server, &["--board", "a"]).len(), 2);
    // The corrected file is another one: it is imported from its beginning, which changes nothing for the rows before.
    fs::write(&file, "a,1\nb,2\nc,3\nd,44\ne,5\n").unwrap();
    let again = server.run(&["import", &file, "--board", "a"]);
    assert!(again.err.contains("beginning at the first row"), "{}", again.err);
    assert!(again.ok().contains(": 5 rows set"));
    assert_eq!(rows(&server, &["--board", "a"]).len(), 5);
}

#[test]
fn an_import_whose_position_cannot_be_noted_goes_on_and_says_so_once() {
    let server = Server::start();
    board(&server, "a");
    let good = server.file("good.csv", "a,1\nb,2\nc,3\n");
    let taken = server.path("good.csv.standings-import");
    fs::create_dir(&taken).unwrap();
    let import = server.run(&["import", &good, "--board", "a", "--batch", "1"]);
    assert_eq!(import.err.matches("cannot note").count(), 1, "{}", import.err);
    assert!(import.err.contains("begins at the first row"), "{}", import.err);
    assert!(import.ok().contains(": 3 rows set"));
    assert!(taken.is_dir() && !server.path("good.csv.standings-import.new").exists());

    let bad = server.file("bad.csv", "a,1\nb,2\nc,x\n");
    fs::create_dir(server.path("bad.csv.standings-import")).unwrap();
    let words = server.run(&["import", &bad, "--board", "a", "--batch", "1"]).fails(1);
    assert!(words.contains("2 rows were set"), "{words}");
    assert!(!words.contains("goes on from there"), "{words}");
}

#[test]
fn restart_ignores_the_position() {
    let server = Server::start();
    board(&server, "a");
    let file = server.file("bad.csv", "a,1\nb,2\nc,x\n");
    server.run(&["import", &file, "--board", "a", "--batch", "1"]).fails(1);
    let on = server.run(&["import", &file, "--board", "a"]);
    assert!(on.err.contains("continuing after row 2"), "{}", on.err);
    let anew = server.run(&["import", &file, "--board", "a", "--restart"]).fails(1);
    assert!(!anew.contains("continuing") && anew.contains("no row was set"), "{anew}");
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
    assert!(words.contains("line 10001: \"x\" is not a score"), "{words}");
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
