//! The same board in a Redis that this program starts for itself and stops again.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::index_board::{Ids, Random, first_record};

/// What Redis needs for one board.
pub(crate) struct Peer {
    pub(crate) bytes_per_player: f64,
    pub(crate) update_ns: f64,
    pub(crate) rank_ns: f64,
}

/// Commands sent before their replies are read.
const PIPELINE: u64 = 1000;

/// A server that lives as long as this value.
struct Server {
    process: Child,
    reader: BufReader<TcpStream>,
    writer: BufWriter<TcpStream>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is left to do about a process that is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn measure(players: u64, operations: u64) -> Result<Peer> {
    let mut server = Server::start()?;
    let empty = server.used_memory()?;
    eprintln!("redis: loading {players} players");
    let mut at = 0;
    while at < players {
        let batch = PIPELINE.min(players - at);
        for player in at..at + batch {
            let score = (-first_record(player).key.folded).to_string();
            server.send(&["ZADD", "board", &score, Ids::Hex.id(player).as_ref()])?;
        }
        server.receive(batch)?;
        at += batch;
    }
    let bytes_per_player = (server.used_memory()? - empty) / ratio(players);
    eprintln!("redis: {operations} updates and ranks");
    server.send(&["CONFIG", "RESETSTAT"])?;
    server.receive(1)?;
    let mut random = Random(7);
    for _ in 0..operations / PIPELINE {
        for _ in 0..PIPELINE {
            let points = (1 + random.below(10)).to_string();
            let id = Ids::Hex.id(random.below(players));
            server.send(&["ZINCRBY", "board", &points, id.as_ref()])?;
        }
        server.receive(PIPELINE)?;
        for _ in 0..PIPELINE {
            let id = Ids::Hex.id(random.below(players));
            server.send(&["ZREVRANK", "board", id.as_ref()])?;
        }
        server.receive(PIPELINE)?;
    }
    let stats = server.info("commandstats")?;
    let cost = |command: &str| -> Result<f64> {
        let line = stats.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:")));
        let field =
            line.and_then(|line| line.split(',').find_map(|f| f.strip_prefix("usec_per_call=")));
        Ok(field.context("the command was measured")?.parse::<f64>()? * 1e3)
    };
    Ok(Peer { bytes_per_player, update_ns: cost("zincrby")?, rank_ns: cost("zrevrank")? })
}

impl Server {
    fn start() -> Result<Self> {
        // The port is free now; that it still is when Redis takes it is likely enough for a benchmark.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"])
            .args(["--port", &port.to_string()])
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server is not on the PATH (Debian: apt-get install redis-server)")?;
        for _ in 0..100 {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                let reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
                return Ok(Self {
                    process,
                    reader,
                    writer: BufWriter::with_capacity(1 << 16, stream),
                });
            }
            sleep(Duration::from_millis(50));
        }
        process.kill()?;
        process.wait()?;
        bail!("redis-server did not answer within five seconds")
    }

    fn send(&mut self, words: &[&str]) -> Result<()> {
        write!(self.writer, "*{}\r\n", words.len())?;
        for word in words {
            write!(self.writer, "${}\r\n{word}\r\n", word.len())?;
        }
        Ok(())
    }

    /// Reads so many replies and returns the last one's text.
    fn receive(&mut self, replies: u64) -> Result<String> {
        self.writer.flush()?;
        let mut last = String::new();
        for _ in 0..replies {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            ensure!(!line.starts_with('-') && !line.is_empty(), "redis answered {line:?}");
            last = match line.strip_prefix('$').map(|length| length.trim().parse::<i64>()) {
                Some(Ok(length @ 0..)) => {
                    let mut body = vec![0; usize::try_from(length)? + 2];
                    self.reader.read_exact(&mut body)?;
                    String::from_utf8(body)?
                }
                _ => line,
            };
        }
        Ok(last)
    }

    fn info(&mut self, section: &str) -> Result<String> {
        self.send(&["INFO", section])?;
        self.receive(1)
    }

    fn used_memory(&mut self) -> Result<f64> {
        let info = self.info("memory")?;
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        Ok(used.context("INFO memory tells it")?.trim().parse()?)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of players are far below 2^52")]
fn ratio(players: u64) -> f64 {
    players as f64
}
