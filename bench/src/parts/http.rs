//! The HTTP rows of the targets: the release server beside Redis, with the same board, in one run.
//!
//! Throughput is a closed loop: as many connections as Redis gets clients, each with one request under way. Latency is an
//! open loop: requests are due at a fixed rate whatever the answers take, and each counts from when it was due. Every answer is
//! checked. The generator shares the machine with what it loads; server and Redis never run at the same time.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{
    board::Ids,
    client::{Done, Load, closed, open},
    latency_floor,
    meter::{float, processor_time},
    options::{Common, server_binary},
    progress,
    redis::{Asked, Redis, State},
    report::{Report, Row, number},
    server::Server,
    work::{BATCH, Work},
};

/// The HTTP API beside Redis: the same board, the same work, one run.
///
/// At 25 million players it takes about 15 minutes, most of them for loading Redis and the server.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Seconds for every figure.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Connections of the server and clients of Redis.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// The server's program [default: the one beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
    /// Leave Redis out.
    #[arg(long)]
    no_redis: bool,
    /// Measure only writes, leave Redis out, and print what they cost; no report is written.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Writes>,
}

/// A way to write scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Writes {
    /// One score a request.
    Singles,
    /// A thousand scores a request.
    Batches,
    /// The same with an event id for each score.
    BatchesWithIds,
}

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    // One thread: the generator should leave the machine to what it measures.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let binary = server_binary(arguments.server.as_ref())?;
    let scratch = arguments.common.scratch()?;
    if !arguments.only.is_empty() {
        return writes(arguments, Server::start(&binary, scratch).await?).await;
    }
    let mut report = Report::new("http", arguments.common.players, scratch.path())?.beside_redis();
    report = report.under(format!(
        "{} connections, generator and servers on the same machine",
        arguments.connections
    ));
    latency_floor::measure(&mut report, scratch.path())?;
    let peers = if arguments.no_redis { Peers::default() } else { redis(arguments).await? };
    let server = Server::start(&binary, scratch).await?;
    server.load(Ids::Numbered, arguments.common.players).await?;
    let on = |work| Load {
        address: server.address,
        work,
        players: arguments.common.players,
        connections: arguments.connections,
    };
    let time = Duration::from_secs(arguments.seconds);
    throughput(&mut report, &peers, &on, time).await?;
    server.settle().await?;
    reads_under_writes(&mut report, &on, time * 2).await?;
    report.write(&arguments.common.results)
}

/// Writes alone, and the processor's time that the server takes for each score. That is the figure to compare two
/// programs by: it says the same on a machine that does other things as well.
async fn writes(arguments: &Arguments, server: Server) -> Result<()> {
    let (players, connections) = (arguments.common.players, arguments.connections);
    server.load(Ids::Numbered, players).await?;
    for kind in &arguments.only {
        let (name, work, connections, scores) = match kind {
            Writes::Singles => ("POST …/scores", Work::Submit, connections, 1),
            Writes::Batches => ("batches of 1,000", Work::Batch, connections.min(8), BATCH),
            Writes::BatchesWithIds => {
                let name = "batches of 1,000 with event ids";
                (name, Work::BatchWithIds, connections.min(8), BATCH)
            }
        };
        progress::step(name);
        let load = Load { address: server.address, work, players, connections };
        let before = processor_time(server.id());
        let done = closed(load, Duration::from_secs(arguments.seconds)).await?;
        // What the server does later for these scores is theirs as well.
        server.settle().await?;
        let used = processor_time(server.id())
            .zip(before)
            .map(|(after, before)| after.saturating_sub(before));
        println!("{name}: {}", cost(&done, scores, used));
    }
    Ok(())
}

fn cost(done: &Done, scores: u64, used: Option<Duration>) -> String {
    let written = float(done.latency.total() * scores);
    let used = used.map_or_else(
        || "unknown time".to_owned(),
        |used| format!("{:.2} µs", used.as_secs_f64() * 1e6 / written),
    );
    let rate = number(done.rate() * float(scores));
    format!("{rate} scores/s, {used} of the processor a score; {}", done.latency.text())
}

/// Requests a second of Redis, in one of its states.
#[derive(Clone, Copy, Default)]
struct Peer {
    increment: Option<f64>,
    rank: Option<f64>,
    top: Option<f64>,
    window: Option<f64>,
    window_by_score: Option<f64>,
    rank_by_our_client: Option<f64>,
}

#[derive(Default)]
struct Peers {
    grown: Peer,
    restarted: Peer,
    /// `ZINCRBY` with `appendfsync always`, after a restart.
    always: Option<f64>,
}

/// Redis on the same work: fresh from inserts, after a restart from its file, and with every change flushed.
async fn redis(arguments: &Arguments) -> Result<Peers> {
    let mut redis = Redis::start(arguments.common.scratch()?)?;
    redis.load(Ids::Numbered, arguments.common.players)?;
    let grown = ask_redis(&redis, arguments).await?;
    redis.restart()?;
    let restarted = ask_redis(&redis, arguments).await?;
    redis.flush_always()?;
    let Arguments { connections, seconds, .. } = *arguments;
    let always =
        redis.benchmark(Asked::Increment, arguments.common.players, connections, seconds)?;
    Ok(Peers { grown, restarted, always: Some(always) })
}

async fn ask_redis(redis: &Redis, arguments: &Arguments) -> Result<Peer> {
    let Arguments { connections, seconds, .. } = *arguments;
    let players = arguments.common.players;
    let by_benchmark = |asked| redis.benchmark(asked, players, connections, seconds).map(Some);
    let by_us = async |work| -> Result<Option<f64>> {
        progress::step(&format!("redis: {work:?} by our own client"));
        let load = Load { address: redis.address(), work, players, connections };
        Ok(Some(closed(load, Duration::from_secs(seconds)).await?.rate()))
    };
    Ok(Peer {
        increment: by_benchmark(Asked::Increment)?,
        rank: by_benchmark(Asked::Rank)?,
        top: by_benchmark(Asked::Top)?,
        window: by_us(Work::RedisWindow).await?,
        window_by_score: by_benchmark(Asked::FromScore)?,
        rank_by_our_client: by_us(Work::RedisRank).await?,
    })
}

async fn throughput(
    report: &mut Report,
    peers: &Peers,
    on: &impl Fn(Work) -> Load,
    time: Duration,
) -> Result<()> {
    type Of = fn(&Peer) -> Option<f64>;
    let singles: [(Work, &str, &str, f64, Of); 4] = [
        (Work::Submit, "post", "POST …/scores, durable", 1.0, |peer| peer.increment),
        (Work::Rank, "get-rank", "GET …/scores/{user_id}", 1.0, |peer| peer.rank),
        (Work::Top, "top", "GET …/scores, top 10", 0.8, |peer| peer.top),
        (Work::Around, "around", "GET …/scores/{user_id}?around=4", 1.0, |peer| peer.window),
    ];
    for (work, row, name, times, of) in singles {
        progress::step(name);
        let done = closed(on(work), time).await?;
        for (state, peer) in [(State::Grown, &peers.grown), (State::Restarted, &peers.restarted)] {
            let note = format!("closed loop: {}{}", done.latency.text(), aside(work, peer));
            let row = Row::new(format!("{name}; {}", state.name()), "/s", done.rate()).of(row);
            report.push(row.beside(of(peer)).at_least_times(times).note(note));
        }
        if work == Work::Submit {
            let row = Row::new(format!("{name}; Redis with appendfsync always"), "/s", done.rate());
            report.push(row.of("post").beside(peers.always).at_least_times(2.0));
        }
    }
    progress::step("batches of 1,000");
    let batches = on(Work::Batch);
    let batches = Load { connections: batches.connections.min(8), ..batches };
    let done = closed(batches, time).await?;
    let rate = done.rate() * float(BATCH);
    let row = Row::new("updates in batches of 1,000, durable", "/s", rate).of("batches");
    report.push(row.at_least(250_000.0).note(format!("closed loop: {}", done.latency.text())));
    Ok(())
}

/// What else Redis was asked that belongs to a figure.
fn aside(work: Work, peer: &Peer) -> String {
    let text = |value: Option<f64>| value.map(number);
    match work {
        Work::Around => match (text(peer.window), text(peer.window_by_score)) {
            (Some(_), Some(by_score)) => format!(
                "; Redis by our own client, ZREVRANGE of nine rows at a random position; its own client would need ZREVRANK \
                 first; by redis-benchmark from a random score on {by_score}/s"
            ),
            _ => String::new(),
        },
        Work::Rank => text(peer.rank_by_our_client)
            .map_or_else(String::new, |rate| format!("; ZREVRANK by our own client {rate}/s")),
        _ => String::new(),
    }
}

/// Reads alone, and the same reads while scores are written.
async fn reads_under_writes(
    report: &mut Report,
    on: &impl Fn(Work) -> Load,
    time: Duration,
) -> Result<()> {
    progress::step("5,000 reads a second, alone");
    let alone = open(on(Work::Rank), 5_000, time).await?;
    progress::step("5,000 reads a second while 20,000 scores a second are written");
    let (busy, writes) =
        tokio::join!(open(on(Work::Rank), 5_000, time), open(on(Work::Submit), 20_000, time));
    let (busy, writes) = (busy?, writes?);
    let (p99, with) = (alone.latency.millis(0.99), busy.latency.millis(0.99));
    let note = format!(
        "alone {}; with writes {}; the writes {}/s, {}",
        alone.latency.text(),
        busy.latency.text(),
        number(writes.rate()),
        writes.latency.text()
    );
    let name = "p99 of reads while 20,000 scores a second are written, beside that without";
    report.push(
        Row::new(name, "ms", with)
            .beside(p99)
            .of("reads-under-writes")
            .at_most_times(2.0)
            .note(note),
    );
    // Reads beside writes that fell behind would be compared with less than they are to bear.
    let row = Row::new("scores written meanwhile, of 20,000 a second", "/s", writes.rate());
    report.push(row.of("reads-under-writes").at_least(19_800.0));
    let curves = [
        ("5,000 reads/s alone", &alone),
        ("reads beside 20,000 writes/s", &busy),
        ("those 20,000 writes/s", &writes),
    ];
    for (name, done) in curves {
        report.line("latency", name, done.latency.curve());
    }
    Ok(())
}
