//! The release server on a directory of its own, with the board loaded through the API.

use std::{
    fmt::Write as _,
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    client::Connection,
    work::{PREFIX, score},
};

/// The key that the server is started with.
pub(crate) const KEY: &str = "sk_benchmarkbenchmarkbenchmarkbenchmarkbenchm";

/// Rows of one request of the load.
const CHUNK: u64 = 50_000;

/// A server that lives as long as this value.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is left to do about a process that is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    pub(crate) async fn start(binary: &Path, within: &Path) -> Result<Self> {
        let dir = tempfile::tempdir_in(within)?;
        // The port is free now; that it still is when the server takes it is likely enough for a benchmark.
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let process = Command::new(binary)
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(dir.path())
            .env("STANDINGS_ADMIN_KEY", KEY)
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let server = Self { process, address, _dir: dir };
        for _ in 0..200 {
            if let Ok(mut connection) = Connection::open(address).await {
                let ready = connection.call(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await;
                if ready.is_ok_and(|(status, _)| status == 200) {
                    return Ok(server);
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("the server was not ready within ten seconds")
    }

    /// Sets everyone's first score.
    pub(crate) async fn load(&self, players: u64) -> Result<()> {
        let started = Instant::now();
        let mut connection = Connection::open(self.address).await?;
        let mut at = 0;
        while at < players {
            let end = players.min(at + CHUNK);
            let mut body = String::new();
            for player in at..end {
                let score = score(player);
                writeln!(body, "{{\"user_id\":\"{PREFIX}{player:012}\",\"score\":{score}}}")?;
            }
            let request = format!(
                "PUT /v1/boards/main/scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\
                 Content-Type: application/x-ndjson\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let (status, answer) = connection.call(request.as_bytes()).await?;
            ensure!(status == 200, "{}", String::from_utf8_lossy(answer));
            at = end;
            eprint!("\rstandings: {at} of {players} players loaded");
        }
        eprintln!(", in {:.1?}", started.elapsed());
        Ok(())
    }

    /// What it keeps in memory.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    }
}
