//! The release server on a directory of its own: started, loaded, stopped, killed and started again.

use std::{
    io::{BufWriter, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::{
    board::{Id, Ids, first_score},
    child,
    client::Connection,
    meter, progress,
};

/// The key that the server is started with.
pub const KEY: &str = "sk_benchmarkbenchmarkbenchmarkbenchmarkbenchm";

/// Rows of one request of the load.
const CHUNK: u64 = 50_000;
/// How long a start, a stop or a single call may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long an import may take: 25 million rows take minutes.
const IMPORT_LIMIT: Duration = Duration::from_secs(3_600);
/// Between two looks whether a server is ready.
const LOOK: Duration = Duration::from_millis(10);

/// A server that lives as long as this value.
#[derive(Debug)]
pub struct Server {
    process: Child,
    /// Where it listens.
    pub address: SocketAddr,
    binary: PathBuf,
    dir: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is left to do about a process that is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts a server on a new directory and waits until it is ready.
    pub async fn start(binary: &Path, dir: TempDir) -> Result<Self> {
        // The port is free now; that it still is when the server takes it is likely enough for a benchmark.
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let process = spawn(binary, address, dir.path())?;
        let mut server = Self { process, address, binary: binary.to_owned(), dir };
        server.ready().await?;
        Ok(server)
    }

    /// Waits until `/readyz` answers 200.
    async fn ready(&mut self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(status) = self.process.try_wait()? {
                bail!("the server ended by itself: {status}");
            }
            if let Ok(mut connection) = Connection::open(self.address).await {
                let ready = connection.call(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
                if let Ok(Ok((200, _))) = timeout(PATIENCE, ready).await {
                    return Ok(());
                }
            }
            sleep(LOOK).await;
        }
        bail!("the server was not ready within {PATIENCE:?}")
    }

    /// Stops it as an operator does, with a signal; how long that takes.
    pub async fn stop(&mut self) -> Result<Duration> {
        let started = Instant::now();
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("a process has an id")?, Signal::TERM)?;
        while started.elapsed() < PATIENCE {
            if let Some(status) = self.process.try_wait()? {
                ensure!(status.success(), "the server stopped with {status}");
                return Ok(started.elapsed());
            }
            sleep(LOOK).await;
        }
        bail!("the server did not stop within {PATIENCE:?}")
    }

    /// Ends it without a chance to do anything, as `kill -9`.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Starts it again on the same directory, after [`Self::stop`] or [`Self::kill`]; how long until it is ready.
    pub async fn start_again(&mut self) -> Result<Duration> {
        let started = Instant::now();
        self.process = spawn(&self.binary, self.address, self.dir.path())?;
        self.ready().await?;
        Ok(started.elapsed())
    }

    /// Sets everyone's first score through the API.
    pub async fn load(&self, ids: Ids, players: u64) -> Result<()> {
        let row = |id, score| format!("{{\"user_id\":\"{id}\",\"score\":{score}}}\n");
        self.load_rows(ids, players, row).await
    }

    /// The same with a name for each player.
    pub async fn load_named(&self, players: u64) -> Result<()> {
        let row = |id: Id, score| {
            let name = &id.as_ref()[16..];
            format!("{{\"user_id\":\"{id}\",\"score\":{score},\"user_name\":\"Player {name}\"}}\n")
        };
        self.load_rows(Ids::Numbered, players, row).await
    }

    async fn load_rows(
        &self,
        ids: Ids,
        players: u64,
        row: impl Fn(Id, u64) -> String,
    ) -> Result<()> {
        progress::step(&format!("standings: loading {players} players through the API"));
        let bar = progress::bar(players, "players");
        let mut connection = Connection::open(self.address).await?;
        let mut at = 0;
        while at < players {
            let end = players.min(at + CHUNK);
            let mut body = String::new();
            for player in at..end {
                body.push_str(&row(ids.id(player), first_score(player)));
            }
            let request = format!(
                "PUT /v1/boards/main/scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\
                 Content-Type: application/x-ndjson\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let answer = timeout(PATIENCE, connection.call(request.as_bytes())).await;
            let (status, answer) = answer.context("the server is stuck")??;
            ensure!(status == 200, "{}", String::from_utf8_lossy(answer));
            at = end;
            bar.set_position(at);
        }
        bar.finish_and_clear();
        self.settle().await
    }

    /// Imports a file with the command line, which shows its own progress; how long it takes.
    pub fn import(&self, file: &Path) -> Result<Duration> {
        let started = Instant::now();
        let mut import = Command::new(&self.binary)
            .args(["import", "--board", "main", "--server", &format!("http://{}", self.address)])
            .arg(file)
            .env("STANDINGS_KEY", KEY)
            .stdout(Stdio::null())
            .spawn()?;
        let status = child::finish(&mut import, IMPORT_LIMIT)?;
        ensure!(status.success(), "standings import: {status}");
        Ok(started.elapsed())
    }

    /// What a path answers to a reader.
    pub async fn get(&self, path: &str) -> Result<serde_json::Value> {
        Ok(serde_json::from_slice(&self.get_bytes(path).await?)?)
    }

    async fn get_bytes(&self, path: &str) -> Result<Vec<u8>> {
        let mut connection = Connection::open(self.address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = timeout(PATIENCE, connection.call(request.as_bytes())).await;
        let (status, body) = answer.context("the server is stuck")??;
        ensure!(status == 200, "{path}: {status} {}", String::from_utf8_lossy(body));
        Ok(body.to_vec())
    }

    /// Records that wait for the history.
    async fn history_lag(&self) -> Result<u64> {
        let metrics = String::from_utf8(self.get_bytes("/metrics").await?)?;
        let lag =
            metrics.lines().find_map(|line| line.strip_prefix("standings_history_lag_records "));
        Ok(lag.context("the metrics tell the history's lag")?.parse()?)
    }

    /// Players and the sum of their scores in the current season.
    pub async fn players_and_sum(&self) -> Result<(u64, u64)> {
        let seasons = self.get("/v1/boards/main/seasons?limit=1").await?;
        let season = &seasons["data"][0];
        let players = season["players"].as_u64().context("a season has players")?;
        let mean = season["mean"].as_f64().unwrap_or(0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a sum of positive scores; the mean has its digits"
        )]
        let sum = (mean * meter::float(players)).round() as u64;
        Ok((players, sum))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it keeps in memory.
    pub fn resident_bytes(&self) -> Option<u64> {
        meter::resident_bytes(self.process.id())
    }

    /// Waits until it has nothing to do and nothing left to do: the history gathers records for some seconds.
    pub async fn settle(&self) -> Result<()> {
        let started = Instant::now();
        while self.history_lag().await? > 0 && started.elapsed() < meter::SETTLE_LIMIT {
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        meter::settle(self.process.id());
        Ok(())
    }
}

fn spawn(binary: &Path, address: SocketAddr, dir: &Path) -> Result<Child> {
    Command::new(binary)
        .args(["serve", "--listen", &address.to_string(), "--log-level", "error", "--data"])
        .arg(dir.join("data"))
        .env("STANDINGS_ADMIN_KEY", KEY)
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))
}

/// Writes everyone's first score as `user_id,score`.
pub fn write_csv(file: &Path, ids: Ids, players: u64) -> Result<()> {
    progress::step(&format!("writing a file of {players} rows"));
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(file)?);
    for player in 0..players {
        writeln!(out, "{},{}", ids.id(player), first_score(player))?;
    }
    out.flush()?;
    Ok(())
}

/// The sum of everyone's first score.
pub fn first_sum(players: u64) -> u64 {
    (0..players).map(first_score).sum()
}
