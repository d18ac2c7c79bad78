//! `PostgreSQL`, with memory enough for all of the table.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{Database, PATIENCE, STATEMENT, wait_until};
use crate::child;

/// Where Debian puts the server's programs: a directory for each version.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// It refuses to run as root. Its package makes this user for it.
const USER: &str = "postgres";

/// A server that lives as long as this value.
#[derive(Debug)]
pub struct Postgres {
    process: Child,
    programs: PathBuf,
    dir: TempDir,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Asked by its own tool, it ends its workers as well and gives shared memory back.
        let mut stop = command(&self.programs.join("pg_ctl"));
        stop.args(["stop", "--mode=immediate", "--pgdata"]).arg(data(&self.dir));
        // Nothing is left to do about a process that is gone already.
        let _ = child::output(&mut stop, PATIENCE);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Postgres {
    /// Starts one with an empty database, reached by a socket in its own directory.
    pub fn start(dir: TempDir) -> Result<Self> {
        let programs = programs()?;
        let dir = if is_root() { given_away()? } else { dir };
        let mut install = command(&programs.join("initdb"));
        install
            .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--username", USER, "--pgdata"])
            .arg(data(&dir));
        child::output(&mut install, PATIENCE)?;
        let process = command(&programs.join("postgres"))
            .args(["-c", "shared_buffers=2GB", "-c", "listen_addresses=", "-c"])
            .arg(format!("unix_socket_directories={}", dir.path().display()))
            .arg("-D")
            .arg(data(&dir))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Self { process, programs, dir };
        let ready = || query(server.dir.path(), "CREATE SCHEMA IF NOT EXISTS bench").is_ok();
        wait_until(&mut server.process, ready)?;
        Ok(server)
    }
}

impl Database for Postgres {
    const NAME: &'static str = "PostgreSQL";

    fn version(&self) -> Result<String> {
        self.query("SHOW server_version")
    }

    fn load(&self, csv: &Path) -> Result<()> {
        self.query(
            "CREATE TABLE bench.scores (user_id TEXT PRIMARY KEY, score BIGINT NOT NULL); \
             CREATE INDEX ON bench.scores (score)",
        )?;
        self.query(&format!("\\copy bench.scores FROM '{}' WITH (FORMAT csv)", csv.display()))?;
        // Otherwise it would read the table to see which rows of the index are there.
        self.query("VACUUM ANALYZE bench.scores")?;
        Ok(())
    }

    fn query(&self, statements: &str) -> Result<String> {
        query(self.dir.path(), statements)
    }
}

fn query(socket: &Path, statements: &str) -> Result<String> {
    let mut client = Command::new("psql");
    client
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username", USER])
        .args(["--set=ON_ERROR_STOP=1", "--dbname=postgres", "--command", statements, "--host"])
        .arg(socket)
        .stderr(Stdio::null());
    child::output(&mut client, STATEMENT)
}

fn data(dir: &TempDir) -> PathBuf {
    dir.path().join("data")
}

/// The programs of the newest version that is installed.
fn programs() -> Result<PathBuf> {
    let missing = "PostgreSQL is not installed (scripts/install-test-deps.sh postgres)";
    let versions = std::fs::read_dir(PROGRAMS).context(missing)?.filter_map(Result::ok);
    let number = |path: &PathBuf| path.file_name().and_then(OsStr::to_str)?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(number).context(missing)?;
    Ok(newest.join("bin"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// One of its programs, to be run as another user than root.
fn command(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]).arg(program);
    // It may not be able to enter this one.
    command.current_dir("/");
    command
}

/// A directory that belongs to that other user, in a place that anyone can reach and that is on a disk.
fn given_away() -> Result<TempDir> {
    let dir = tempfile::tempdir_in("/var/tmp")?;
    let id = child::output(Command::new("id").args(["--user", USER]), PATIENCE)?;
    std::os::unix::fs::chown(dir.path(), Some(id.trim().parse()?), None)?;
    Ok(dir)
}
