//! The HTTP rows of the targets: the release server beside Redis, with the same board, in one run.
//!
//! Throughput is a closed loop: as many connections as Redis gets clients, each with one request under way. Latency is an
//! open loop: requests are due at a fixed rate whatever the answers take, and each counts from when it was due, so that a
//! stall shows in all that were due meanwhile. Every answer is checked. Generator, server and Redis share the machine.

mod client;
mod histogram;
mod redis;
mod report;
mod server;
mod work;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use clap::Parser;

use crate::{
    client::{Load, closed, open},
    redis::Redis,
    report::{Report, Row},
    server::Server,
    work::Work,
};

#[derive(Parser)]
#[command(about = "The HTTP API beside Redis: the same board, the same work, one run")]
struct Arguments {
    /// Players on the board.
    #[arg(long, default_value_t = 1_000_000)]
    players: u64,
    /// Seconds for every figure.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Seconds of the design's own load: 2,500 submissions and 50 reads a second.
    #[arg(long, default_value_t = 10)]
    design_seconds: u64,
    /// Connections of the server and clients of Redis.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// The server's binary; by default the one beside this program.
    #[arg(long)]
    server: Option<PathBuf>,
    /// Where the data goes while it is measured.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Where the table is written.
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
    /// Leave Redis out.
    #[arg(long)]
    no_redis: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // One thread: the generator should leave the machine to what it measures.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&arguments))
}

async fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { players, connections, .. } = *arguments;
    let time = Duration::from_secs(arguments.seconds);
    let binary = match &arguments.server {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("standings"),
    };
    let mut report = Report::new(players, connections, &binary)?;
    let peers = if arguments.no_redis {
        None
    } else {
        Some(measure_redis(players, connections, arguments.seconds)?)
    };
    let server = Server::start(&binary, &arguments.dir).await?;
    server.load(players).await?;
    report.memory = server.resident_bytes();

    let on = |work| Load { address: server.address, work, players, connections };
    let singles = [
        (Work::Submit, "POST …/scores, durable, a second", 1.0),
        (Work::Rank, "GET …/scores/{user_id}, a second", 1.0),
        (Work::Top, "GET …/scores, top 10, a second", 0.8),
        (Work::Around, "GET …/scores/{user_id}?around=4, a second", 1.0),
    ];
    for (number, (work, name, target)) in singles.into_iter().enumerate() {
        eprintln!("{name}");
        let done = closed(on(work), time).await?;
        let rate = done.rate();
        let latency = done.latency.text();
        for state in 0..2 {
            let peer = peers.as_ref().map(|peers| peers[state][number]);
            let state = ["fresh", "after a restart"][state];
            let name = format!("{name}; Redis {state}");
            report.rows.push(Row::throughput(name, rate, peer, target, &latency));
        }
    }
    eprintln!("batches of 1,000");
    let batches = Load { connections: 8.min(connections), ..on(Work::Batch) };
    let done = closed(batches, time).await?;
    let name = "updates in batches of 1,000, durable, a second".to_owned();
    report.rows.push(Row::absolute(name, done.rate() * 1000.0, 250_000.0, &done.latency.text()));

    latencies(&mut report, &on, time).await?;
    let design = Duration::from_secs(arguments.design_seconds);
    eprintln!("the design's own load for {design:?}");
    let (submits, reads) =
        tokio::join!(open(on(Work::Submit), 2_500, design), open(on(Work::Top), 50, design));
    for (name, done) in [("2,500 submissions", submits?), ("50 top-10 reads", reads?)] {
        let latency = done.latency.text();
        for (quantile, most) in [(0.99, 5.0), (0.999, 20.0)] {
            let name = format!("{name} a second, p{}, ms", quantile * 100.0);
            report.rows.push(Row::at_most(name, done.latency.millis(quantile), most, &latency));
        }
    }
    report.write(&arguments.results)
}

/// Reads alone, and the same reads while scores are written.
async fn latencies(report: &mut Report, on: &impl Fn(Work) -> Load, time: Duration) -> Result<()> {
    eprintln!("5,000 reads a second, alone");
    let alone = open(on(Work::Rank), 5_000, time).await?;
    eprintln!("5,000 reads a second while 20,000 scores a second are written");
    let (busy, writes) =
        tokio::join!(open(on(Work::Rank), 5_000, time), open(on(Work::Submit), 20_000, time));
    let (busy, writes) = (busy?, writes?);
    let (p99, with) = (alone.latency.millis(0.99), busy.latency.millis(0.99));
    let note = format!(
        "alone {}; with writes {}; the writes {:.0} a second, {}",
        alone.latency.text(),
        busy.latency.text(),
        writes.rate(),
        writes.latency.text()
    );
    let name =
        "p99 of reads while 20,000 scores a second are written, over that without".to_owned();
    report.rows.push(Row::at_most(name, with / p99, 2.0, &note));
    Ok(())
}

/// Redis on the same work: fresh from inserts, and after a restart from its file.
fn measure_redis(players: u64, clients: usize, seconds: u64) -> Result<[[f64; 4]; 2]> {
    let mut redis = Redis::start().context("Redis")?;
    redis.load(players)?;
    let fresh = redis.measure(players, clients, seconds)?;
    redis.reload()?;
    let reloaded = redis.measure(players, clients, seconds)?;
    Ok([fresh, reloaded])
}
