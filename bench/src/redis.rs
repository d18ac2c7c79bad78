//! The peer: a Redis that this program starts for itself and stops again, with the same board.

use std::{
    io::{BufReader, BufWriter, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::{
    board::{Ids, PREFIX, SCORES, first_score},
    child, progress,
    random::Random,
    wire,
};

/// Commands sent before their replies are read.
const PIPELINE: u64 = 1000;
/// How long a start, a stop or a single command may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two looks whether something has happened.
const LOOK: Duration = Duration::from_millis(10);

/// A Redis that lives as long as this value.
#[derive(Debug)]
pub struct Redis {
    process: Child,
    port: u16,
    connection: Connection,
    dir: TempDir,
}

/// What Redis says its commands cost inside the server, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// `ZINCRBY`
    pub update: f64,
    /// `ZREVRANK`
    pub rank: f64,
}

/// How Redis got its board: the layout of its memory depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// By inserts in random order.
    Grown,
    /// From its file, which lays the set out in the order of the scores.
    Restarted,
}

impl State {
    /// For the names of figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grown => "Redis grown by inserts",
            Self::Restarted => "Redis after a restart",
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Nothing is left to do about a process that is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Redis {
    /// Starts one that is empty, writes nothing by itself, and keeps its files in `dir`.
    pub fn start(dir: TempDir) -> Result<Self> {
        // The port is free now; that it still is when Redis takes it is likely enough for a benchmark.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (process, connection) = spawn(port, dir.path())?;
        Ok(Self { process, port, connection, dir })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Loads everyone's first score through `redis-cli --pipe`; how long it takes.
    pub fn load(&mut self, ids: Ids, players: u64) -> Result<Duration> {
        progress::step(&format!("redis: loading {players} players through redis-cli --pipe"));
        let bar = progress::bar(players, "players");
        let started = Instant::now();
        let mut pipe = Command::new("redis-cli")
            .args(["-p", &self.port.to_string(), "--pipe"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("redis-cli is not on the PATH")?;
        let mut input = pipe.stdin.take().context("it was asked for")?;
        let mut commands = Vec::new();
        for player in 0..players {
            let score = first_score(player).to_string();
            wire::redis_command(&["ZADD", "board", &score, ids.id(player).as_ref()], &mut commands);
            if commands.len() > 1 << 16 || player + 1 == players {
                input.write_all(&commands)?;
                commands.clear();
                bar.set_position(player + 1);
            }
        }
        drop(input);
        let status = child::finish(&mut pipe, PATIENCE)?;
        bar.finish_and_clear();
        let took = started.elapsed();
        let loaded = self.command(&["ZCARD", "board"])?;
        ensure!(status.success() && loaded == players.to_string(), "redis has {loaded} players");
        Ok(took)
    }

    /// Stops it with everything in its file and starts it again; how long the start takes until it answers.
    pub fn restart(&mut self) -> Result<Duration> {
        progress::step("redis: a restart from its file");
        self.command(&["SAVE"])?;
        // It closes the connection instead of answering.
        let _ = self.command(&["SHUTDOWN", "NOSAVE"]);
        child::finish(&mut self.process, PATIENCE)?;
        let started = Instant::now();
        (self.process, self.connection) = spawn(self.port, self.dir.path())?;
        Ok(started.elapsed())
    }

    /// From now on every change is flushed to its log before it is answered.
    pub fn flush_always(&mut self) -> Result<()> {
        progress::step("redis: appendonly yes, appendfsync always");
        self.command(&["CONFIG", "SET", "auto-aof-rewrite-percentage", "0"])?;
        self.command(&["CONFIG", "SET", "appendfsync", "always"])?;
        self.command(&["CONFIG", "SET", "appendonly", "yes"])?;
        let asked = Instant::now();
        // It first writes everything it has, in the background.
        loop {
            let info = self.command(&["INFO", "persistence"])?;
            let is = |line: &str| info.lines().any(|found| found == line);
            if is("aof_enabled:1")
                && is("aof_rewrite_in_progress:0")
                && is("aof_rewrite_scheduled:0")
            {
                return Ok(());
            }
            ensure!(asked.elapsed() < PATIENCE, "redis wrote no log within {PATIENCE:?}");
            sleep(Duration::from_millis(100));
        }
    }

    /// Random updates and ranks, others with every seed, and what the server says they took.
    pub fn costs(&mut self, seed: u64, players: u64, operations: u64) -> Result<Costs> {
        self.command(&["CONFIG", "RESETSTAT"])?;
        let (ids, mut random) = (Ids::Hex, Random(seed));
        let mut commands = Vec::new();
        for _ in 0..operations.div_ceil(PIPELINE) {
            commands.clear();
            for _ in 0..PIPELINE {
                let points = (1 + random.below(10)).to_string();
                let id = ids.id(random.below(players));
                wire::redis_command(&["ZINCRBY", "board", &points, id.as_ref()], &mut commands);
            }
            for _ in 0..PIPELINE {
                let id = ids.id(random.below(players));
                wire::redis_command(&["ZREVRANK", "board", id.as_ref()], &mut commands);
            }
            self.connection.send(&commands)?;
            for _ in 0..2 * PIPELINE {
                self.connection.receive()?;
            }
        }
        let stats = self.command(&["INFO", "commandstats"])?;
        Ok(Costs { update: cost(&stats, "zincrby")?, rank: cost(&stats, "zrevrank")? })
    }

    /// Requests a second by redis-benchmark, over about so many seconds.
    pub fn benchmark(
        &self,
        asked: Asked,
        players: u64,
        clients: usize,
        seconds: u64,
    ) -> Result<f64> {
        let (command, range) = asked.command(players);
        progress::step(&format!("redis: {}", command.join(" ")));
        // As many as take about the time, after a first look at how fast it is.
        let first = self.benchmark_of(&command, range, clients, 20_000)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate is positive and small"
        )]
        let requests = first as u64 * seconds;
        self.benchmark_of(&command, range, clients, requests.max(20_000))
    }

    fn benchmark_of(
        &self,
        command: &[String],
        range: u64,
        clients: usize,
        requests: u64,
    ) -> Result<f64> {
        let mut benchmark = Command::new("redis-benchmark");
        benchmark
            .args(["-p", &self.port.to_string(), "-c", &clients.to_string(), "--csv"])
            .args(["-n", &requests.to_string(), "-r", &range.to_string()])
            .args(command);
        let text = child::output(&mut benchmark, PATIENCE)?;
        let rate = text.lines().next_back().and_then(|line| line.split("\",\"").nth(1));
        rate.and_then(|rate| rate.parse().ok()).with_context(|| format!("redis-benchmark: {text}"))
    }

    /// Bytes that it says it uses, and bytes that are in RAM.
    pub fn memory(&mut self) -> Result<(u64, u64)> {
        let info = self.command(&["INFO", "memory"])?;
        let field = |name: &str| -> Result<u64> {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            Ok(line.context("INFO memory tells it")?.parse()?)
        };
        Ok((field("used_memory:")?, field("used_memory_rss:")?))
    }

    /// Sends one command and reads its reply, as text.
    pub fn command(&mut self, words: &[&str]) -> Result<String> {
        let mut command = Vec::new();
        wire::redis_command(words, &mut command);
        self.connection.send(&command)?;
        self.connection.receive()
    }
}

/// What redis-benchmark asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// `ZINCRBY` of a random player
    Increment,
    /// `ZREVRANK` of a random player
    Rank,
    /// The top 10
    Top,
    /// Nine rows from a random score on: two positions that belong together are beyond it
    FromScore,
}

impl Asked {
    /// The command, and below what its random number is.
    fn command(self, players: u64) -> (Vec<String>, u64) {
        let id = format!("{PREFIX}__rand_int__");
        let (words, range): (&[&str], u64) = match self {
            Self::Increment => (&["ZINCRBY", "board", "3", &id], players),
            Self::Rank => (&["ZREVRANK", "board", &id], players),
            Self::Top => (&["ZREVRANGE", "board", "0", "9", "WITHSCORES"], players),
            Self::FromScore => (
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
                SCORES,
            ),
        };
        (words.iter().map(|word| (*word).to_owned()).collect(), range)
    }
}

/// Nanoseconds a call, from `INFO commandstats`.
fn cost(stats: &str, command: &str) -> Result<f64> {
    let beginning = format!("cmdstat_{command}:");
    let line = stats.lines().find(|line| line.starts_with(&beginning));
    let field =
        line.and_then(|line| line.split(',').find_map(|f| f.strip_prefix("usec_per_call=")));
    Ok(field.context("the command was measured")?.parse::<f64>()? * 1e3)
}

/// Starts a process and waits until it has read its file and answers.
fn spawn(port: u16, dir: &Path) -> Result<(Child, Connection)> {
    let mut process = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--port", &port.to_string(), "--dir"])
        .arg(dir)
        .stdout(Stdio::null())
        .spawn()
        .context("redis-server is not on the PATH (scripts/install-test-deps.sh redis)")?;
    match wait_for(&mut process, port) {
        Ok(connection) => Ok((process, connection)),
        Err(error) => {
            let _ = process.kill();
            let _ = process.wait();
            Err(error)
        }
    }
}

fn wait_for(process: &mut Child, port: u16) -> Result<Connection> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = process.try_wait()? {
            bail!("redis-server ended by itself: {status}");
        }
        // While it reads its file it answers with an error.
        if let Ok(mut connection) = Connection::open(port)
            && connection.send(b"*1\r\n$4\r\nPING\r\n").is_ok()
            && connection.receive().is_ok_and(|pong| pong == "PONG")
        {
            return Ok(connection);
        }
        sleep(LOOK);
    }
    bail!("redis-server did not answer within {PATIENCE:?}")
}

/// One connection, for commands and pipelines.
#[derive(Debug)]
struct Connection {
    reader: BufReader<TcpStream>,
    writer: BufWriter<TcpStream>,
}

impl Connection {
    fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
        Ok(Self { reader, writer: BufWriter::with_capacity(1 << 16, stream) })
    }

    fn send(&mut self, commands: &[u8]) -> Result<()> {
        self.writer.write_all(commands)?;
        Ok(self.writer.flush()?)
    }

    /// Reads one reply, which is not a list.
    fn receive(&mut self) -> Result<String> {
        use std::io::BufRead as _;
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let line = line.trim_end();
        match line.split_at_checked(1) {
            Some(("+" | ":", text)) => Ok(text.to_owned()),
            Some(("$", length)) => {
                let Ok(length) = length.parse::<usize>() else { return Ok(String::new()) };
                let mut body = vec![0; length + 2];
                self.reader.read_exact(&mut body)?;
                // Lines of an INFO end like those of the protocol.
                Ok(String::from_utf8(body)?.trim_end().to_owned())
            }
            _ => bail!("redis answered {line:?}"),
        }
    }
}
