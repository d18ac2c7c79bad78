//! What goes wrong, what is said about it, and what the shell is told.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    process::Stdio,
};

use crate::process::{Server, standings};

#[test]
fn a_refusal_is_one_line_with_what_to_do_and_its_code() {
    let server = Server::start();
    let refused = server.run(&["top", "--board", "nope"]).fails(1);
    assert!(refused.starts_with("error: ") && refused.ends_with(" (unknown_board)\n"), "{refused}");
    assert_eq!(refused.lines().count(), 1);
    assert!(server.run(&["rank", "nobody"]).fails(1).ends_with(" (unknown_player)\n"));
    assert!(server.run(&["top", "--limit", "5000"]).fails(1).ends_with(" (malformed)\n"));
    let future = server.run(&["submit", "a", "1", "--at", "2990-01-01T00:00:00Z"]).fails(1);
    assert!(future.ends_with(" (at_in_future)\n"), "{future}");
    let key = server.run(&["submit", "a", "1", "--key", "wrong"]).fails(1);
    assert!(key.ends_with(" (unauthorized)\n"), "{key}");
}

#[test]
fn a_wrong_call_has_the_code_of_a_wrong_call() {
    for args in [
        &["submit", "alice"][..],
        &["submit", "alice", "many"],
        &["key", "create", "x", "--role", "king"],
        &["board", "create", "b", "--rule", "worst"],
        &["import", "x.csv"],
        &["check"],
        &["season", "close"],
        &["snapshot", "take"],
        &["player", "set-friends", "alice"],
        &["player", "erase", "alice"],
        &["top", "--season", "2026-11", "--snapshot", "latest"],
        &["rank", "alice", "--friends", "--around", "4"],
        &["export", "--year", "2025", "--season", "2025-11"],
        &["import", "x.csv", "--board", "b", "--season", "2025-11", "--snapshot", "2025-11-01"],
        &["top", "--server", "localhost"],
    ] {
        standings(args).fails(2);
    }
}

#[test]
fn no_server_tells_how_to_start_one() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = format!("http://127.0.0.1:{port}");
    let words = standings(&["top", "--server", &server]).fails(1);
    assert!(words.contains(&server) && words.contains("standings serve"), "{words}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let server = Server::start();
    let rows = (0..20_000).map(|i| format!("player-number-{i},{i}\n")).collect::<Vec<_>>().concat();
    server.run(&["import", &server.file("rows.csv", &rows), "--board", "main"]).ok();
    let mut export = server
        .command()
        .arg("export")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    // As `| head -1` does: read a line, then leave.
    let mut out = BufReader::new(export.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    drop(out);
    assert_eq!(first, "user_id,score,at,user_name\n");
    let mut words = String::new();
    export.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert_eq!(export.wait().unwrap().code(), Some(0), "{words}");
    assert_eq!(words, "");
}

#[test]
fn a_server_without_tls_is_called_so() {
    let server = Server::start();
    let address = server.address.replace("http://", "https://");
    let words = server.run(&["top", "--server", &address]).fails(1);
    assert!(words.contains("does not speak TLS"), "{words}");
    assert!(words.contains(&server.address) && !words.contains("--ca"), "{words}");
}

#[test]
fn a_directory_that_cannot_be_made_is_told_once() {
    let words = standings(&["serve", "--data", "/proc/nope", "--listen", "127.0.0.1:0"]).fails(1);
    let told = words.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(told.contains("/proc/nope"), "{told}");
    assert_eq!(told.matches("(os error").count(), 1, "{told}");
}

#[test]
fn a_private_authority_is_trusted_when_it_is_given() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cert = file("cert.pem", made.cert.pem());
    let key = file("key.pem", made.signing_key.serialize_pem());
    let server = Server::start_with(&["--tls-cert", &cert, "--tls-key", &key]);
    let address = server.address.replace("127.0.0.1", "localhost");
    assert!(address.starts_with("https://"), "{address}");
    let submit = ["submit", "alice", "3", "--server", &address, "--ca", &cert];
    assert!(server.run(&submit).ok().starts_with("alice: score 3, rank 1, board main"));
    let untrusted = server.run(&["top", "--server", &address]).fails(1);
    assert!(untrusted.contains("--ca"), "{untrusted}");
    let empty = server.run(&["top", "--server", &address, "--ca", &key]).fails(1);
    assert!(empty.contains("no certificate"), "{empty}");
}
