//! The README's commands give the README's output, and what the documents name exists.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::process::{ADMIN, Server, standings};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs a line of the README against a server of the test's own.
fn run(server: &Server, line: &str) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_standings")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &line.replace("http://127.0.0.1:7878", &server.address)])
        .env("PATH", path)
        .env("KEY", ADMIN)
        .env("STANDINGS_KEY", ADMIN)
        .env("STANDINGS_SERVER", &server.address)
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Commands and what the README says that they print.
fn session(text: &str) -> Vec<(String, String)> {
    let mut session: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => {
                if let Some(command) = line.strip_prefix("$ ") {
                    session.push((command.to_owned(), String::new()));
                } else {
                    let (_, output) = session.last_mut().expect("a command comes first");
                    output.push_str(line);
                    output.push('\n');
                }
            }
        }
    }
    session
}

/// Times, season ids and texts for people differ from run to run; everything else must not.
fn normal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("\"20") {
        let (before, from) = rest.split_at(start);
        let end = from[1..].find('"').map_or(from.len(), |end| end + 2);
        out.push_str(before);
        out.push_str(if end > 12 { "\"TIME\"" } else { "\"SEASON\"" });
        rest = &from[end..];
    }
    out.push_str(rest);
    if let Some(start) = out.find("\"detail\":\"") {
        let value = start + "\"detail\":\"".len();
        let end = out[value..].find("\",\"").map_or(out.len(), |end| value + end);
        out.replace_range(value..end, "TEXT");
    }
    out.trim_end().to_owned()
}

#[test]
fn the_commands_of_the_readme_print_what_it_says() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let session = session(&readme);
    assert!(session.len() >= 8, "the README has commands");
    let server = Server::start();
    for (command, expected) in session {
        let actual = run(&server, &command);
        if !expected.is_empty() {
            assert_eq!(normal(&actual), normal(&expected), "{command}");
        }
    }
}

/// The documents of the project, and their names.
fn documents() -> Vec<(String, String)> {
    let files = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/format.md",
        "docs/operations.md",
        "examples/tournament/README.md",
        "examples/puzzle-game/README.md",
        "examples/role-playing-bot/README.md",
        "examples/commit-challenge/README.md",
    ];
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    files.iter().map(|name| ((*name).to_owned(), read(name))).collect()
}

#[test]
fn every_file_that_a_document_links_to_exists() {
    for (name, text) in documents() {
        let folder = root().join(&name).parent().unwrap().to_owned();
        for link in text.split("](").skip(1) {
            let target = link.split(')').next().unwrap();
            if !target.starts_with("http") && !target.starts_with('#') {
                assert!(folder.join(target).exists(), "{name} links to {target}");
            }
        }
    }
}

#[test]
fn every_source_file_that_a_document_names_exists() {
    for (name, text) in documents() {
        for quoted in text.split('`').skip(1).step_by(2) {
            if quoted.starts_with("crates/") && !quoted.contains([' ', '*', '<', '{']) {
                assert!(root().join(quoted).exists(), "{name} names {quoted}");
            }
        }
    }
}

#[test]
fn every_make_target_and_subcommand_that_a_document_names_exists() {
    let help = standings(&["help"]).ok();
    for (name, text) in documents() {
        for quoted in text.split('`').skip(1).step_by(2) {
            let mut words = quoted.split_whitespace();
            match (words.next(), words.next()) {
                (Some("make"), Some(target)) => {
                    // Only says what it would do. Some targets are made from a pattern, so that reading the file is not enough.
                    let rule =
                        Command::new("make").args(["-n", target]).current_dir(root()).output();
                    assert!(rule.unwrap().status.success(), "{name} names `make {target}`");
                }
                (Some("standings"), Some(command)) => {
                    let entry = format!("\n  {command} ");
                    assert!(help.contains(&entry), "{name} names `standings {command}`");
                }
                _ => {}
            }
        }
    }
}
