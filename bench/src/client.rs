//! Connections that stay open, and the two ways to load a server.
//!
//! [`closed`] has one request under way on every connection: throughput. [`open`] has requests due at a fixed rate, whatever the
//! answers take, and counts each from when it was due: latency without coordinated omission, because a stall shows in all that
//! were due meanwhile. Both end with an error where a server fails or stands still.

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
    time::timeout,
};

use crate::{
    histogram::Histogram,
    meter::float,
    random::Random,
    wire::{self, Answer},
    work::Work,
};

/// The pause between two looks at what is due: short beside any latency that matters, long enough to cost little.
const TICK: Duration = Duration::from_micros(200);
/// How long a load may take beyond its time before the server counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who asks what of whom.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The server.
    pub address: SocketAddr,
    /// What is asked.
    pub work: Work,
    /// Players on the board.
    pub players: u64,
    /// Connections that ask.
    pub connections: usize,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Done {
    /// Of every request.
    pub latency: Histogram,
    /// The same by when requests were due, in pieces of [`SLICE`]; only of an open load.
    pub slices: Vec<Histogram>,
    /// From the first request to the last answer.
    pub took: Duration,
}

/// How much time one of [`Done::slices`] covers.
pub const SLICE: Duration = Duration::from_secs(10);

impl Done {
    /// Answers a second.
    pub fn rate(&self) -> f64 {
        float(self.latency.total()) / self.took.as_secs_f64()
    }

    fn record(&mut self, due: Duration, took: Duration) {
        let slice = usize::try_from(due.as_secs() / SLICE.as_secs()).expect("a bench ends");
        if self.slices.len() <= slice {
            self.slices.resize_with(slice + 1, Histogram::default);
        }
        self.slices[slice].record(took);
        self.latency.record(took);
    }

    fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency);
        if self.slices.len() < other.slices.len() {
            self.slices.resize_with(other.slices.len(), Histogram::default);
        }
        for (mine, more) in self.slices.iter_mut().zip(&other.slices) {
            mine.add(more);
        }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::with_capacity(16 * 1024) })
    }

    /// Sends an HTTP request and reads its answer: status and body.
    pub async fn call(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.exchange(request, wire::http).await
    }

    /// Sends a request and reads until there is an answer.
    async fn exchange(
        &mut self,
        request: &[u8],
        find: fn(&[u8]) -> Result<Option<Answer>>,
    ) -> Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        self.input.clear();
        let answer = loop {
            if self.stream.read_buf(&mut self.input).await? == 0 {
                bail!("the server closed the connection");
            }
            if let Some(answer) = find(&self.input)? {
                break answer;
            }
        };
        Ok((answer.status, &self.input[answer.body..answer.end]))
    }
}

/// One request after the other on every connection, for a time.
pub async fn closed(load: Load, time: Duration) -> Result<Done> {
    let start = Instant::now();
    let connection = move |number: u64| async move {
        let mut connection = Connection::open(load.address).await?;
        let (mut random, mut request) = (Random(number << 32), Vec::new());
        let mut done = Done::default();
        while start.elapsed() < time {
            let wanted = load.work.request(&mut random, load.players, &mut request);
            let asked = Instant::now();
            let (status, body) = connection.exchange(&request, load.work.answer()).await?;
            done.latency.record(asked.elapsed());
            load.work.check(status, body, &wanted)?;
        }
        Ok(done)
    };
    gather(load, start, time, connection).await
}

/// Requests at a fixed rate, whatever the answers take; each counts from when it was due.
pub async fn open(load: Load, rate: u32, time: Duration) -> Result<Done> {
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..load.connections).map(|_| mpsc::unbounded_channel::<Instant>()).unzip();
    let start = Instant::now() + Duration::from_millis(50);
    let pacer = std::thread::spawn(move || pace(&senders, start, rate, time));
    let receivers: Rc<Vec<Cell<Option<_>>>> =
        Rc::new(receivers.into_iter().map(|receiver| Cell::new(Some(receiver))).collect());
    let connection = move |number: u64| {
        let receivers = Rc::clone(&receivers);
        async move {
            let mut dues = receivers[usize::try_from(number)?].take().context("taken once")?;
            let mut connection = Connection::open(load.address).await?;
            let (mut random, mut request) = (Random((number << 32) + 1), Vec::new());
            let mut done = Done::default();
            while let Some(due) = dues.recv().await {
                let wanted = load.work.request(&mut random, load.players, &mut request);
                let (status, body) = connection.exchange(&request, load.work.answer()).await?;
                done.record(due - start, due.elapsed());
                load.work.check(status, body, &wanted)?;
            }
            Ok(done)
        }
    };
    let done = gather(load, start, time, connection).await;
    // It ends at its time, or at once where the connections have failed.
    let _ = pacer.join();
    done
}

/// Tells the connections in turn when a request is due. A thread of its own sleeps to the point; the runtime's timers count
/// whole milliseconds.
fn pace(senders: &[mpsc::UnboundedSender<Instant>], start: Instant, rate: u32, time: Duration) {
    let every = Duration::from_secs(1) / rate;
    let mut due = start;
    for sender in senders.iter().cycle() {
        while due > Instant::now() {
            std::thread::sleep((due - Instant::now()).max(TICK));
        }
        if due >= start + time || sender.send(due).is_err() {
            break;
        }
        due += every;
    }
}

/// Runs all connections and adds up what they counted.
async fn gather<F>(
    load: Load,
    start: Instant,
    time: Duration,
    connection: impl Fn(u64) -> F,
) -> Result<Done>
where
    F: Future<Output = Result<Done>> + 'static,
{
    let local = LocalSet::new();
    let mut running = JoinSet::new();
    for number in 0..load.connections as u64 {
        running.spawn_local_on(connection(number), &local);
    }
    let all = local.run_until(async {
        let mut all = Done::default();
        while let Some(done) = running.join_next().await {
            all.add(&done??);
        }
        all.took = start.elapsed();
        anyhow::Ok(all)
    });
    match timeout(time + PATIENCE, all).await {
        Ok(done) => done.with_context(|| format!("{:?} failed", load.work)),
        Err(_) => bail!("{:?}: no end {PATIENCE:?} after its time; the server is stuck", load.work),
    }
}
