//! A disk that is full, and a data directory that takes no writes any more.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{agent, call, get, metric, times, tried, until};
use crate::process::{Server, standings};

/// Long enough for the history to try again.
const PATIENCE: Duration = Duration::from_secs(30);

/// A small file system in memory; making one takes root.
struct Volume(PathBuf);

impl Volume {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        let made = mount.args(["-t", "tmpfs", "-o", "size=192m", "tmpfs"]).arg(&at).output();
        made.is_ok_and(|made| made.status.success()).then_some(Self(at))
    }

    /// Takes all the space that is left.
    fn fill(&self) {
        let mut file =
            File::options().append(true).create(true).open(self.0.join("filler")).unwrap();
        let mut block = vec![1; 1 << 20];
        while !block.is_empty() {
            if file.write_all(&block).is_err() {
                block.truncate(block.len() / 2);
            }
        }
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // Whoever still has a file open keeps what is left of it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Sends events one after the other and knows what was acknowledged.
struct Sender {
    agent: ureq::Agent,
    sent: u64,
    acknowledged: u64,
}

impl Sender {
    fn new() -> Self {
        Self { agent: agent(), sent: 0, acknowledged: 0 }
    }

    /// The next event, which is large so that a full disk is noticed soon.
    fn submit(&mut self, server: &Server) -> (u16, Value) {
        let name = format!("{:0>120}", self.sent);
        let events = (0..200).map(|n| {
            let event = format!("{:0>100}-{n}", self.sent);
            json!({"user_id": format!("p{n}"), "points": 1, "event_id": event, "user_name": name})
        });
        let url = format!("{}/v1/boards/main/scores/batch", server.address);
        let (status, answer) = call(&self.agent, "POST", &url, &json!(events.collect::<Vec<_>>()));
        if status == 200 {
            assert_eq!(answer["accepted"], 200, "{answer}");
            self.sent += 1;
            self.acknowledged += 1;
        }
        (status, answer)
    }

    /// Submits until it is refused, as not applied; how many were taken before.
    fn until_refused(&mut self, server: &Server) {
        for _ in 0..3000 {
            let (status, problem) = self.submit(server);
            if status != 200 {
                assert_eq!((status, &problem["code"]), (503, &json!("unavailable")), "{problem}");
                return;
            }
        }
        panic!("a disk without space takes everything");
    }

    /// Every score is what was acknowledged, to the point.
    fn verify(&self, server: &Server) {
        for page in ["", "&offset=100"] {
            let url = format!("{}/v1/scores?limit=100{page}", server.address);
            let (status, top) = get(&self.agent, &url);
            assert_eq!(status, 200, "reads go on: {top}");
            for row in top["data"].as_array().unwrap() {
                assert_eq!(row["score"], self.acknowledged, "{row}");
            }
            assert_eq!(top["players"], 200);
        }
    }

    /// The history of a player is what was acknowledged as well.
    fn verify_history(&self, server: &Server) {
        let url = format!("{}/v1/players/p7/scores?limit=1", server.address);
        let (status, history) = get(&self.agent, &url);
        assert_eq!((status, &history["data"][0]["score"]), (200, &json!(self.acknowledged)));
    }

    /// Waits until the history has all.
    fn settled(&self, server: &Server) {
        until("the history has all", PATIENCE, || {
            metric(&self.agent, &server.address, "standings_history_lag_records") == 0
        });
    }

    /// Writes and history go on by themselves.
    fn recovers(&mut self, server: &Server) {
        until("writes go on", PATIENCE, || self.submit(server).0 == 200);
        self.settled(server);
        self.verify(server);
        self.verify_history(server);
    }
}

fn is_right(data: &str) {
    standings(&["check", "--data", data]).ok();
    standings(&["rebuild", "--dry-run", "--data", data]).ok();
}

#[test]
fn a_full_disk_refuses_writes_goes_on_reading_and_takes_writes_again_when_there_is_space() {
    let rounds = times("STANDINGS_DISK_ROUNDS", 2);
    let dir = tempfile::tempdir().unwrap();
    let Some(volume) = Volume::mount(dir.path().join("volume")) else {
        return tried(
            "no right to mount a small disk here; the simulated one and a limit on files stand in",
        );
    };
    link(&volume.0, &dir);
    // The lines that it logs are on the same disk.
    let setup = format!("exec 2>>{}", volume.0.join("stderr").display());
    let mut server = Server::start_after(dir, &setup, &[]);
    let mut sender = Sender::new();
    for round in 0..rounds {
        sender.submit(&server);
        sender.settled(&server);
        volume.fill();
        sender.until_refused(&server);
        for _ in 0..5 {
            assert_eq!(sender.submit(&server).0, 503);
            sender.verify(&server);
            sender.verify_history(&server);
        }
        if round % 2 == 1 {
            // Reads are served after a start on a full disk as well.
            server.restart_after(&setup, &[]);
            sender.verify(&server);
        }
        volume.free();
        sender.recovers(&server);
        assert_eq!(get(&sender.agent, &format!("{}/readyz", server.address)).0, 200);
    }
    server.kill_and_restart();
    sender.verify(&server);
    let acknowledged = sender.acknowledged * 200;
    let stopped = server.stop();
    is_right(&stopped.path("data"));
    drop(volume);
    tried(&format!("a full disk {rounds} times, {acknowledged} scores acknowledged, nothing lost"));
}

/// Puts the data onto a volume.
fn link(volume: &Path, dir: &TempDir) {
    let data = volume.join("data");
    fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(data, dir.path().join("data")).unwrap();
}

/// Permissions do not stop root, and a file system cannot be made read-only under a process that writes to it. What can be
/// had everywhere is that every write of the process fails.
#[test]
fn a_directory_that_takes_no_writes_any_more_is_read_and_written_again_when_it_does() {
    let rounds = times("STANDINGS_DISK_ROUNDS", 2);
    let dir = tempfile::tempdir().unwrap();
    // Without the trap the signal that comes with the refusal would end the process. Its log lines are refused as well.
    let setup = format!("trap '' XFSZ; exec 2>>{}", dir.path().join("stderr").display());
    let mut server = Server::start_after(dir, &setup, &[]);
    let limit = |server: &Server, bytes: &str| {
        let limit = Command::new("prlimit")
            .args(["--pid", &server.id().to_string(), &format!("--fsize={bytes}:unlimited")])
            .status();
        assert!(limit.unwrap().success());
    };
    let mut sender = Sender::new();
    for round in 0..rounds {
        for _ in 0..3 {
            sender.submit(&server);
        }
        limit(&server, "0");
        sender.until_refused(&server);
        // Long enough for the history to have met it as well.
        for _ in 0..5 {
            assert_eq!(sender.submit(&server).0, 503);
            sender.verify(&server);
            sender.verify_history(&server);
            std::thread::sleep(Duration::from_millis(100));
        }
        if round % 2 == 0 {
            limit(&server, "unlimited");
            until("writes go on", PATIENCE, || sender.submit(&server).0 == 200);
            sender.verify_history(&server);
        }
        // The history's store may have met it, and then says that it needs a restart.
        let (ready, why) = get(&sender.agent, &format!("{}/readyz", server.address));
        assert!(
            ready == 200 || why["detail"].as_str().unwrap().contains("until a restart"),
            "{why}"
        );
        server.restart_after(&setup, &[]);
        sender.verify(&server);
        sender.recovers(&server);
    }
    let acknowledged = sender.acknowledged * 200;
    let stopped = server.stop();
    is_right(&stopped.path("data"));
    tried(&format!(
        "a directory that takes no writes {rounds} times, {acknowledged} scores acknowledged, nothing lost"
    ));
}
