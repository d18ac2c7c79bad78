//! Each example under `examples/` prints what it says, against a server of the test's own. What is printed is compared whole, so
//! that every figure of an example is checked.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::process::{Server, program, standings};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

/// Runs an example, and then asks the stopped server's files whether they agree with their own ledger.
fn runs(name: &str) {
    let folder = examples().join(name);
    let server = Server::start();
    let binaries = Path::new(env!("CARGO_BIN_EXE_standings")).parent().unwrap();
    let run = server
        .program(&folder.join("run.sh"))
        .env("STANDINGS_BIN", binaries)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert!(run.status.success(), "{name}: {err}\n{out}");
    assert_eq!(err, "", "{name}");
    let expected = fs::read_to_string(folder.join("output.txt")).unwrap();
    for (number, (line, expected)) in out.lines().zip(expected.lines()).enumerate() {
        assert_eq!(line, expected, "{name}/output.txt, line {}", number + 1);
    }
    assert_eq!(out, expected, "{name}/output.txt");
    let stopped = server.stop();
    standings(&["rebuild", "--data", &stopped.path("data")]).ok();
}

#[test]
fn the_tournament_prints_what_it_says() {
    runs("tournament");
}

#[test]
fn the_puzzle_game_prints_what_it_says() {
    runs("puzzle-game");
}

#[test]
fn the_role_playing_bot_prints_what_it_says() {
    runs("role-playing-bot");
}

#[test]
fn the_commit_challenge_prints_what_it_says() {
    runs("commit-challenge");
}

/// Folders of examples.
fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

#[test]
fn every_example_has_a_readme_of_one_screen_and_a_make_target() {
    let makefile = fs::read_to_string(examples().join("../Makefile")).unwrap();
    assert_eq!(folders().len(), 4);
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.lines().count() <= 50, "{name}/README.md is more than a screen");
        assert!(readme.contains(&format!("make example-{name}")), "{name}/README.md");
        assert!(makefile.contains(name), "make example-{name}");
    }
}

#[test]
fn the_readme_of_an_example_names_only_files_that_exist() {
    const ENDINGS: [&str; 6] = [".sh", ".json", ".csv", ".txt", ".rs", ".md"];
    for folder in folders() {
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        let links = readme.split("](").skip(1).map(|link| link.split(')').next().unwrap());
        let quoted = readme.split('`').skip(1).step_by(2);
        let files = quoted.filter(|word| ENDINGS.iter().any(|ending| word.ends_with(ending)));
        let mut named = 0;
        for file in links.filter(|link| !link.starts_with("http")).chain(files) {
            named += 1;
            let from = [&folder, &examples().join("..")].map(|base| base.join(file).exists());
            assert!(from.contains(&true), "{} names {file}", folder.display());
        }
        assert!(named >= 4, "{}: its files are named", folder.display());
    }
}

/// As a person would run it in a clone: the example starts its own server.
#[test]
fn an_example_without_a_server_starts_its_own() {
    let folder = examples().join("puzzle-game");
    let mut command = program(&folder.join("run.sh"));
    let binaries = Path::new(env!("CARGO_BIN_EXE_standings")).parent().unwrap();
    // A key for another server must not get in the way.
    let run = command.env("STANDINGS_BIN", binaries).env("STANDINGS_KEY", "of-another").output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let expected = fs::read_to_string(folder.join("output.txt")).unwrap();
    assert_eq!(String::from_utf8(run.stdout).unwrap(), expected);
}
