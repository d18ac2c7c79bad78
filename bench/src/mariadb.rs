//! The database that leaderboards start in: a `MariaDB` that this program starts for itself and stops again.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::child;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a statement may take: a load of millions of rows takes minutes.
const STATEMENT: Duration = Duration::from_secs(3_600);

/// A server that lives as long as this value.
#[derive(Debug)]
pub struct MariaDb {
    process: Child,
    socket: PathBuf,
    _dir: TempDir,
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Nothing is left to do about a process that is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl MariaDb {
    /// Starts one with an empty database `bench`, and memory enough for all of it.
    pub fn start(dir: TempDir) -> Result<Self> {
        // The path of a socket is short, or it does not work.
        let socket = std::env::temp_dir().join(format!("bench-{}.sock", std::process::id()));
        let data = dir.path().join("data");
        let mut install = Command::new("mariadb-install-db");
        install
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", data.display()));
        child::output(&mut install, PATIENCE).context("scripts/install-test-deps.sh mariadb")?;
        let process = spawn(&data, &socket)?;
        let mut server = Self { process, socket, _dir: dir };
        let started = Instant::now();
        while server.query("CREATE DATABASE IF NOT EXISTS bench").is_err() {
            if let Some(status) = server.process.try_wait()? {
                bail!("mariadbd ended by itself: {status}");
            }
            ensure!(started.elapsed() < PATIENCE, "mariadbd did not answer within {PATIENCE:?}");
            sleep(Duration::from_millis(200));
        }
        Ok(server)
    }

    /// Runs statements and returns what they print.
    pub fn query(&self, statements: &str) -> Result<String> {
        let mut client = Command::new("mariadb");
        client
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
            .args(["--local-infile=1", "--execute", statements])
            .arg(format!("--socket={}", self.socket.display()))
            .stderr(Stdio::null());
        child::output(&mut client, STATEMENT)
    }
}

fn spawn(data: &Path, socket: &Path) -> Result<Child> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    Command::new("mariadbd")
        // Without it, it refuses to run as root; others may not change their user anyway.
        .args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1", "--skip-name-resolve"])
        .args(["--local-infile=1", "--innodb-buffer-pool-size=2G"])
        .arg(format!("--port={port}"))
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--pid-file={}", data.join("pid").display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("mariadbd is not on the PATH (scripts/install-test-deps.sh mariadb)")
}
