//! `MariaDB`, with memory enough for all of the table.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{Database, PATIENCE, STATEMENT, wait_until};
use crate::child;

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
    /// Starts one with an empty database.
    pub fn start(dir: TempDir) -> Result<Self> {
        // The path of a socket is short, or it does not work.
        let socket = std::env::temp_dir().join(format!("bench-{}.sock", std::process::id()));
        let data = dir.path().join("data");
        let mut install = Command::new("mariadb-install-db");
        install
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", data.display()));
        child::output(&mut install, PATIENCE).context("scripts/install-test-deps.sh mariadb")?;
        let mut server = Self { process: spawn(&data, &socket)?, socket, _dir: dir };
        let ready = || query(&server.socket, "CREATE DATABASE IF NOT EXISTS bench").is_ok();
        wait_until(&mut server.process, ready)?;
        Ok(server)
    }
}

impl Database for MariaDb {
    const NAME: &'static str = "MariaDB";

    fn version(&self) -> Result<String> {
        self.query("SELECT VERSION()")
    }

    fn load(&self, csv: &Path) -> Result<()> {
        self.query(
            "CREATE TABLE bench.scores \
             (user_id CHAR(24) CHARACTER SET ascii PRIMARY KEY, score BIGINT NOT NULL, KEY (score))",
        )?;
        let file = csv.display();
        self.query(&format!(
            "LOAD DATA LOCAL INFILE '{file}' INTO TABLE bench.scores FIELDS TERMINATED BY ',' (user_id, score)"
        ))?;
        Ok(())
    }

    fn query(&self, statements: &str) -> Result<String> {
        query(&self.socket, statements)
    }
}

fn query(socket: &Path, statements: &str) -> Result<String> {
    let mut client = Command::new("mariadb");
    client
        .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
        .args(["--local-infile=1", "--execute", statements])
        .arg(format!("--socket={}", socket.display()))
        .stderr(Stdio::null());
    child::output(&mut client, STATEMENT)
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
