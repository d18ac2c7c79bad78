//! The same board in a Redis that this program starts for itself and stops again, measured by redis-benchmark.

use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::work::{PREFIX, score};

/// Commands sent before their replies are read.
const PIPELINE: u64 = 1000;

/// A Redis that lives as long as this value.
pub(crate) struct Redis {
    process: Child,
    port: u16,
    reader: BufReader<TcpStream>,
    writer: BufWriter<TcpStream>,
    _dir: tempfile::TempDir,
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Redis {
    pub(crate) fn start() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--enable-debug-command", "yes", "--port", &port.to_string(), "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server is not on the PATH (scripts/install-test-deps.sh redis)")?;
        for _ in 0..100 {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                let reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
                let writer = BufWriter::with_capacity(1 << 16, stream);
                return Ok(Self { process, port, reader, writer, _dir: dir });
            }
            sleep(Duration::from_millis(50));
        }
        process.kill()?;
        process.wait()?;
        bail!("redis-server did not answer within five seconds")
    }

    pub(crate) fn load(&mut self, players: u64) -> Result<()> {
        let mut at = 0;
        while at < players {
            let end = players.min(at + PIPELINE);
            for player in at..end {
                let (score, id) = (score(player).to_string(), format!("{PREFIX}{player:012}"));
                self.send(&["ZADD", "board", &score, &id])?;
            }
            self.receive(end - at)?;
            at = end;
            if at.is_multiple_of(100_000) {
                eprint!("\rredis: {at} of {players} players loaded");
            }
        }
        eprintln!();
        Ok(())
    }

    /// Writes everything to its file and reads it back, as a restart does.
    pub(crate) fn reload(&mut self) -> Result<()> {
        eprintln!("redis: a restart from its file");
        self.send(&["DEBUG", "RELOAD"])?;
        self.receive(1)
    }

    /// Requests a second: ZINCRBY, ZREVRANK, the top 10, and nine rows from a random score on.
    pub(crate) fn measure(&self, players: u64, clients: usize, seconds: u64) -> Result<[f64; 4]> {
        let id = format!("{PREFIX}__rand_int__");
        let commands: [(&[&str], u64); 4] = [
            (&["ZINCRBY", "board", "3", &id], players),
            (&["ZREVRANK", "board", &id], players),
            (&["ZREVRANGE", "board", "0", "9", "WITHSCORES"], players),
            // redis-benchmark cannot make a window of two positions that belong together; from a score on, it can.
            (
                &[
                    "ZREVRANGEBYSCORE",
                    "board",
                    "__rand_int__",
                    "-inf",
                    "WITHSCORES",
                    "LIMIT",
                    "0",
                    "9",
                ],
                5_000,
            ),
        ];
        let mut rates = [0.0; 4];
        for (rate, (command, range)) in rates.iter_mut().zip(commands) {
            eprintln!("redis: {}", command.join(" "));
            // As many as take about the time, after a first look at how fast it is.
            let first = self.benchmark(command, range, clients, 50_000)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rate is positive and small"
            )]
            let requests = first as u64 * seconds;
            *rate = self.benchmark(command, range, clients, requests.max(50_000))?;
        }
        Ok(rates)
    }

    fn benchmark(
        &self,
        command: &[&str],
        range: u64,
        clients: usize,
        requests: u64,
    ) -> Result<f64> {
        let output = Command::new("redis-benchmark")
            .args(["-p", &self.port.to_string(), "-c", &clients.to_string(), "--csv"])
            .args(["-n", &requests.to_string(), "-r", &range.to_string()])
            .args(command)
            .output()
            .context("redis-benchmark is not on the PATH")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text.lines().next_back().and_then(|line| line.split("\",\"").nth(1));
        rate.and_then(|rate| rate.parse().ok()).with_context(|| format!("redis-benchmark: {text}"))
    }

    fn send(&mut self, words: &[&str]) -> Result<()> {
        write!(self.writer, "*{}\r\n", words.len())?;
        for word in words {
            write!(self.writer, "${}\r\n{word}\r\n", word.len())?;
        }
        Ok(())
    }

    fn receive(&mut self, replies: u64) -> Result<()> {
        self.writer.flush()?;
        let mut line = String::new();
        for _ in 0..replies {
            line.clear();
            self.reader.read_line(&mut line)?;
            ensure!(line.starts_with([':', '+']), "redis answered {line:?}");
        }
        Ok(())
    }
}
