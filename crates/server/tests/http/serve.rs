//! `standings serve` as an operator starts and stops it.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

/// A started process, what it printed, and its address.
struct Process {
    child: Child,
    printed: String,
    url: String,
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_standings"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STANDINGS_")) {
        command.env_remove(name);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Process {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut printed = String::new();
        while !printed.contains("All calls:") {
            printed += &lines.next().expect("it says that it is ready").unwrap();
            printed.push('\n');
        }
        let url = printed.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        Self { child, url: url.to_owned(), printed }
    }

    /// The key that was printed.
    fn key(&self) -> Option<&str> {
        self.printed.lines().map(str::trim).find(|line| line.starts_with("sk_"))
    }

    fn call(&self, method: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
        self.send(method, path, key, "application/json", body)
    }

    fn send(&self, method: &str, path: &str, key: &str, media: &str, body: &Value) -> (u16, Value) {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", media)
            .body(if body.is_null() { String::new() } else { body.to_string() });
        let mut response = agent.run(request.unwrap()).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), serde_json::from_str(&text).unwrap_or_default())
    }

    /// Stops it with SIGTERM and asserts that it ends well.
    fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn the_first_start_makes_a_key_and_the_default_board_and_only_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let first = Process::start(command(dir.path()));
    let key = first.key().expect("a key is printed").to_owned();
    let (status, receipt) =
        first.call("POST", "/v1/scores", &key, &json!({"user_id": "a", "points": 3}));
    assert_eq!((status, &receipt["board"], &receipt["rank"]), (200, &json!("main"), &json!(1)));
    first.stop();

    let second = Process::start(command(dir.path()));
    assert_eq!(second.key(), None, "the key is shown once");
    let (_, entry) = second.call("GET", "/v1/scores/a", &key, &Value::Null);
    assert_eq!(entry["user_info"]["score"], 3, "what was accepted is there again");
    assert_eq!(second.call("DELETE", "/v1/boards/main", &key, &Value::Null).0, 204);
    second.stop();

    let mut with_key = command(dir.path());
    with_key.env("STANDINGS_ADMIN_KEY", "a-key-of-my-own-choice");
    let third = Process::start(with_key);
    let (status, boards) = third.call("GET", "/v1/boards", &key, &Value::Null);
    assert_eq!((status, &boards["data"]), (200, &json!([])), "a deleted board stays deleted");
    assert_eq!(third.call("GET", "/v1/keys", "a-key-of-my-own-choice", &Value::Null).0, 200);
    assert_eq!(third.call("GET", "/v1/keys", &key, &Value::Null).0, 401, "it replaced the first");
    third.stop();
}

#[test]
fn a_limit_of_players_refuses_new_ones_with_a_problem() {
    let dir = tempfile::tempdir().unwrap();
    let mut limited = command(dir.path());
    limited.env("STANDINGS_MAX_PLAYERS", "2");
    let server = Process::start(limited);
    let key = server.key().expect("a key is printed").to_owned();
    let submit = |id: &str| {
        let body = json!({"user_id": id, "points": 1, "user_name": "Someone"});
        let (status, answer) = server.call("POST", "/v1/scores", &key, &body);
        (status, answer["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!((submit("a").0, submit("b").0), (200, 200));
    assert_eq!(submit("c"), (422, "board_full".to_owned()));
    let row = json!({"user_id": "d", "score": 1});
    let (path, media) = ("/v1/boards/main/scores", "application/x-ndjson");
    let (status, answer) = server.send("PUT", path, &key, media, &row);
    assert_eq!((status, &answer["code"]), (422, &json!("board_full")), "{answer}");
    assert!(answer["detail"].as_str().unwrap().contains("row 1: "), "{answer}");
    assert_eq!(submit("a").0, 200, "whoever is on the board goes on");
    let (_, page) = server.call("GET", "/v1/scores", &key, &Value::Null);
    assert_eq!(page["players"], 2);
    assert_eq!(server.call("GET", "/v1/players/c", &key, &Value::Null).0, 404, "no trace of it");
    server.stop();
}

#[test]
fn what_cannot_work_is_said_and_ends_with_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let running = Process::start(command(dir.path()));
    let fails = |mut command: Command, says: &str| {
        let mut child = command.spawn().unwrap();
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(text.contains(says), "{text}");
    };
    fails(command(dir.path()), "in use by another server");
    let elsewhere = tempfile::tempdir().unwrap();
    let with = |flags: &[&str]| {
        let mut command = command(elsewhere.path());
        command.args(flags);
        command
    };
    fails(with(&["--engine", "redis"]), "possible values: embedded");
    fails(with(&["--tls-cert", "cert.pem"]), "TLS needs both");
    fails(with(&["--idle-timeout", "soon"]), "30 seconds");
    fails(with(&["--admin-key", "short"]), "at least 16");
    fails(with(&["--config", "/nowhere/standings.toml"]), "cannot read the configuration");
    running.stop();
}
