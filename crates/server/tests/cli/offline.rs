//! `backup`, and `check`, `rebuild` and `restore` on a stopped server's files.

use std::fs;

use crate::process::{Server, standings};

#[test]
fn a_backup_is_checked_restored_and_served() {
    let server = Server::start();
    for (user, points) in [("alice", "30"), ("bob", "20"), ("carol", "10")] {
        server.run(&["submit", user, points]).ok();
    }
    let before = server.json(&["top"]);
    let backup = server.path("backup");
    let made = server.json(&["backup", backup.to_str().unwrap()]);
    assert_eq!(made["path"], backup.to_str().unwrap());
    assert!(made["bytes"].as_u64().unwrap() > 0, "{made}");
    // What comes after the backup is not in it.
    server.run(&["submit", "dave", "99"]).ok();
    let data = server.path("data");
    let running = standings(&["check", "--data", data.to_str().unwrap()]).fails(1);
    assert!(running.starts_with("error: "), "{running}");

    let stopped = server.stop();
    let (backup, new) = (stopped.path("backup"), stopped.path("new"));
    let occupied = standings(&["restore", &backup, "--data", &stopped.path("data")]).fails(1);
    assert!(occupied.contains("is not empty"), "{occupied}");
    let restored = standings(&["restore", &backup, "--data", &new]).ok();
    assert!(restored.contains("all is well") && restored.contains(" bytes restored"), "{restored}");
    assert!(!fs::exists(format!("{new}.restoring")).unwrap());
    let server = stopped.serve("new");
    assert_eq!(server.json(&["top"]), before);
}

#[test]
fn a_stopped_server_is_checked_and_rebuilt() {
    let server = Server::start();
    for (user, points) in [("alice", "30"), ("bob", "20"), ("alice", "5")] {
        server.run(&["submit", user, points]).ok();
    }
    let before = server.json(&["top"]);
    let stopped = server.stop();
    let data = stopped.path("data");
    let checked = standings(&["check", "--data", &data]).ok();
    assert!(checked.ends_with("all is well\n"), "{checked}");
    let dry = standings(&["rebuild", "--data", &data, "--dry-run"]).ok();
    assert!(dry.contains("entries: 2\nentries that differed: 0\n"), "{dry}");
    assert!(dry.contains("the standings are what the ledger says"), "{dry}");
    standings(&["rebuild", "--data", &data]).ok();
    assert_eq!(stopped.serve("data").json(&["top"]), before);
}

#[test]
fn a_directory_without_data_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().to_str().unwrap();
    let new = dir.path().join("new");
    for args in [
        &["check", "--data", empty][..],
        &["rebuild", "--data", empty],
        &["restore", empty, "--data", new.to_str().unwrap()],
    ] {
        standings(args).fails(1);
    }
    assert!(!new.exists());
}
