//! Runs the binary, as a server and as a client of it.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
};

use serde_json::Value;
use tempfile::TempDir;

/// The first admin key of every server here.
pub(crate) const ADMIN: &str = "an-admin-key-for-tests";

/// The binary, without what the environment may say about servers.
pub(crate) fn command() -> Command {
    program(Path::new(env!("CARGO_BIN_EXE_standings")))
}

/// A program, likewise.
pub(crate) fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("STANDINGS_") || text.to_ascii_lowercase().ends_with("_proxy") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command that needs no server.
pub(crate) fn standings(args: &[&str]) -> Ran {
    Ran::of(command().args(args), args)
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    args: String,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(command: &mut Command, args: &[&str]) -> Self {
        let ran = command.stdin(Stdio::null()).output().unwrap();
        Self {
            args: args.join(" "),
            code: ran.status.code(),
            out: String::from_utf8(ran.stdout).unwrap(),
            err: String::from_utf8(ran.stderr).unwrap(),
        }
    }

    /// What it printed; it must have succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}: {}", self.args, self.err);
        self.out
    }

    /// What it said went wrong; it must have ended with this code and without a panic.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}: {}{}", self.args, self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self.err
    }
}

/// A server of its own for a test, with a directory for the test's files.
pub(crate) struct Server {
    child: Child,
    /// Such as `http://127.0.0.1:40001`.
    pub(crate) address: String,
    /// Deleted at the end.
    dir: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (child, address) = serve(&dir.path().join("data"), &[]);
        Self { child, address, dir }
    }

    pub(crate) fn start_with(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (child, address) = serve(&dir.path().join("data"), args);
        Self { child, address, dir }
    }

    /// On the files in `data` of a directory, after a piece of shell that sets limits.
    pub(crate) fn start_after(dir: TempDir, setup: &str, args: &[&str]) -> Self {
        let (child, address) = serve_by(after(setup), &dir.path().join("data"), args);
        Self { child, address, dir }
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as a crash does, and starts another on its files after a piece of shell that sets limits.
    pub(crate) fn restart_after(&mut self, setup: &str, args: &[&str]) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        (self.child, self.address) = serve_by(after(setup), &self.dir.path().join("data"), args);
    }

    /// Whether it has ended by itself, and how.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// A file or directory of the test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file of the test, and gives its name.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A command that calls this server with the admin key.
    pub(crate) fn command(&self) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_standings")))
    }

    /// A program that calls this server with the admin key.
    pub(crate) fn program(&self, path: &Path) -> Command {
        let mut command = program(path);
        command.env("STANDINGS_SERVER", &self.address).env("STANDINGS_ADMIN_KEY", ADMIN);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command().args(args), args)
    }

    /// What a command prints with `--json`.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.run(&args).ok()).unwrap()
    }

    /// Kills it as a crash does, and starts another on its files.
    pub(crate) fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        (self.child, self.address) = serve(&self.dir.path().join("data"), &[]);
    }

    /// Stops it as an operator does, and gives its files back.
    pub(crate) fn stop(mut self) -> Stopped {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "a stop is a success");
        let empty = tempfile::tempdir().unwrap();
        Stopped { dir: std::mem::replace(&mut self.dir, empty) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been stopped before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The files of a stopped server.
pub(crate) struct Stopped {
    dir: TempDir,
}

impl Stopped {
    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// Starts a server on one of its directories.
    pub(crate) fn serve(self, data: &str) -> Server {
        let (child, address) = serve(&self.dir.path().join(data), &[]);
        Server { child, address, dir: self.dir }
    }
}

/// The binary, run by a shell once that has done something else.
fn after(setup: &str) -> Command {
    let mut shell = program(Path::new("sh"));
    shell.args(["-c", &format!("{setup}\nexec \"$@\""), "sh", env!("CARGO_BIN_EXE_standings")]);
    shell
}

/// Starts a server and waits until it is ready.
fn serve(data: &Path, args: &[&str]) -> (Child, String) {
    serve_by(command(), data, args)
}

fn serve_by(mut command: Command, data: &Path, args: &[&str]) -> (Child, String) {
    let mut child = command
        .args(["serve", "--listen", "127.0.0.1:0", "--admin-key", ADMIN, "--log-level", "warn"])
        .arg("--data")
        .arg(data)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.split(' ').find(|word| word.starts_with("http"));
    let address = address.unwrap_or_else(|| panic!("the server said {line:?}")).to_owned();
    // Read to the end, so that the server never waits for its own output.
    thread::spawn(move || out.read_to_end(&mut Vec::new()));
    (child, address)
}
