//! HTTP/1 over connections that stay open, and the two ways to load a server.

use std::{
    cell::Cell,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
    task::{JoinSet, LocalSet},
};

use crate::{
    histogram::Histogram,
    work::{Random, Work},
};

/// The pause between two looks at what is due: short beside any latency that matters, long enough to cost little.
const TICK: Duration = Duration::from_micros(200);

/// Who asks what of whom.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) work: Work,
    pub(crate) players: u64,
    pub(crate) connections: usize,
}

/// What came of it.
pub(crate) struct Done {
    pub(crate) latency: Histogram,
    pub(crate) took: Duration,
}

impl Done {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(crate) fn rate(&self) -> f64 {
        self.latency.total() as f64 / self.took.as_secs_f64()
    }
}

/// One connection.
pub(crate) struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request and reads its answer: status, and where in `body` the body begins.
    pub(crate) async fn call(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        self.input.clear();
        let (mut head, mut length) = (0, usize::MAX);
        while self.input.len() < length {
            let read = self.stream.read_buf(&mut self.input).await?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            if head == 0
                && let Some(end) = self.input.windows(4).position(|four| four == b"\r\n\r\n")
            {
                head = end + 4;
                length = head + content_length(&self.input[..head])?;
            }
        }
        let status = std::str::from_utf8(self.input.get(9..12).unwrap_or_default())?.parse()?;
        Ok((status, &self.input[head..]))
    }
}

fn content_length(head: &[u8]) -> Result<usize> {
    let text = std::str::from_utf8(head)?;
    let value = text.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    value.context("an answer without a length")?.parse().context("a length is a number")
}

/// One request after the other on every connection, for a time.
pub(crate) async fn closed(load: Load, time: Duration) -> Result<Done> {
    let start = Instant::now();
    let connection = move |number: u64| async move {
        let mut connection = Connection::open(load.address).await?;
        let (mut random, mut request) = (Random(number << 32), Vec::new());
        let mut latency = Histogram::new();
        while start.elapsed() < time {
            let wanted = load.work.request(&mut random, load.players, &mut request);
            let asked = Instant::now();
            let (status, body) = connection.call(&request).await?;
            latency.record(asked.elapsed());
            load.work.check(status, body, &wanted)?;
        }
        Ok(latency)
    };
    gather(load.connections, start, connection).await
}

/// Requests at a fixed rate, whatever the answers take; each counts from when it was due.
pub(crate) async fn open(load: Load, rate: u32, time: Duration) -> Result<Done> {
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..load.connections).map(|_| mpsc::unbounded_channel::<Instant>()).unzip();
    let start = Instant::now() + Duration::from_millis(50);
    // A thread of its own sleeps to the point; the runtime's timers count whole milliseconds.
    let pacer = std::thread::spawn(move || {
        let every = Duration::from_secs(1) / rate;
        let mut due = start;
        for sender in senders.iter().cycle() {
            while due > Instant::now() {
                std::thread::sleep((due - Instant::now()).max(TICK));
            }
            if due > start + time || sender.send(due).is_err() {
                break;
            }
            due += every;
        }
    });
    let receivers: Rc<Vec<Cell<Option<_>>>> =
        Rc::new(receivers.into_iter().map(|receiver| Cell::new(Some(receiver))).collect());
    let connection = move |number: u64| {
        let receivers = Rc::clone(&receivers);
        async move {
            let mut due = receivers[usize::try_from(number)?].take().context("taken once")?;
            let mut connection = Connection::open(load.address).await?;
            let (mut random, mut request) = (Random((number << 32) + 1), Vec::new());
            let mut latency = Histogram::new();
            while let Some(due) = due.recv().await {
                let wanted = load.work.request(&mut random, load.players, &mut request);
                let (status, body) = connection.call(&request).await?;
                latency.record(due.elapsed());
                load.work.check(status, body, &wanted)?;
            }
            Ok(latency)
        }
    };
    let done = gather(load.connections, start, connection).await;
    let _ = pacer.join();
    done
}

/// Runs all connections and adds up what they counted.
async fn gather<F>(
    connections: usize,
    start: Instant,
    connection: impl Fn(u64) -> F,
) -> Result<Done>
where
    F: Future<Output = Result<Histogram>> + 'static,
{
    let local = LocalSet::new();
    let mut running = JoinSet::new();
    for number in 0..connections as u64 {
        running.spawn_local_on(connection(number), &local);
    }
    local
        .run_until(async {
            let mut latency = Histogram::new();
            while let Some(done) = running.join_next().await {
                latency.add(&done??);
            }
            Ok(Done { latency, took: start.elapsed() })
        })
        .await
}
