//! The design's own load: 2,500 submissions and 50 top-10 reads a second, for minutes.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Args;

use crate::{
    board::Ids,
    client::{Done, Load, SLICE, open},
    histogram::Histogram,
    latency_floor,
    meter::float,
    options::{Common, server_binary},
    progress,
    report::{Report, Row, megabytes, number, thousands},
    server::{Server, first_sum},
    work::{POINTS, Work},
};

/// The design's own load over HTTP: latency from when each request was due, and over time.
///
/// At the end the sum of all scores must be what was acknowledged. Ten minutes, and at 25 million players three more for loading.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// How long.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Submissions a second.
    #[arg(long, default_value_t = 2_500)]
    submissions: u32,
    /// Reads of the top 10 a second.
    #[arg(long, default_value_t = 50)]
    reads: u32,
    /// Connections for each of the two.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// The server's program [default: the one beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
}

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let players = arguments.common.players;
    let binary = server_binary(arguments.server.as_ref())?;
    let scratch = arguments.common.scratch()?;
    let mut report = Report::new("soak", players, scratch.path())?;
    let Arguments { submissions, reads, seconds, .. } = *arguments;
    report = report.under(format!(
        "{} submissions and {reads} reads a second for {seconds} s",
        thousands(submissions.into())
    ));
    latency_floor::measure(&mut report, scratch.path())?;
    let server = Server::start(&binary, scratch).await?;
    server.load(Ids::Numbered, players).await?;
    let before = server.resident_bytes();
    let (writes, reads) = both(arguments, &server).await?;
    latency(&mut report, "submissions", &writes);
    latency(&mut report, "top-10 reads", &reads);
    acknowledged(&mut report, &server, players, &writes).await?;
    if let Some((before, after)) = before.zip(server.resident_bytes()) {
        let note = format!("{} MB before", number(megabytes(before)));
        report.push(Row::new("memory of the server afterwards", "MB", megabytes(after)).note(note));
    }
    report.write(&arguments.common.results)
}

/// Both loads at the same time, with a bar.
async fn both(arguments: &Arguments, server: &Server) -> Result<(Done, Done)> {
    let time = Duration::from_secs(arguments.seconds);
    progress::step(&format!("the design's own load for {time:?}"));
    let on = |work| Load {
        address: server.address,
        work,
        players: arguments.common.players,
        connections: arguments.connections,
    };
    let bar = progress::bar(arguments.seconds, "seconds");
    let ticking = bar.clone();
    let ticks = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            ticking.inc(1);
        }
    });
    let done = tokio::join!(
        open(on(Work::Submit), arguments.submissions, time),
        open(on(Work::Top), arguments.reads, time)
    );
    ticks.abort();
    bar.finish_and_clear();
    Ok((done.0?, done.1?))
}

/// A figure of a piece of time.
type Of = fn(&Histogram) -> f64;

fn latency(report: &mut Report, name: &str, done: &Done) {
    let note = format!(
        "{} at {}/s; {}; longest {:.1} ms",
        number(float(done.latency.total())),
        number(done.rate()),
        done.latency.text(),
        done.latency.longest_millis()
    );
    for (quantile, percent, most) in [(0.99, "p99", 5.0), (0.999, "p99.9", 20.0)] {
        let row = Row::new(format!("{name}, {percent}"), "ms", done.latency.millis(quantile));
        report.push(row.of("design").at_most(most).note(&note));
    }
    report.line("latency", format!("design load: {name}"), done.latency.curve());
    let over_time = |of: Of| {
        let seconds = (1..).map(|slice| float(slice * SLICE.as_secs()));
        seconds.zip(done.slices.iter().map(of)).collect::<Vec<_>>()
    };
    let lines: [(&str, Of); 3] = [
        ("p50", |slice| slice.millis(0.5)),
        ("p99", |slice| slice.millis(0.99)),
        ("longest", Histogram::longest_millis),
    ];
    for (what, of) in lines {
        report.line("latency-over-time", format!("{name}, {what}"), over_time(of));
    }
}

/// The sum of all scores against what was there and what was acknowledged.
async fn acknowledged(
    report: &mut Report,
    server: &Server,
    players: u64,
    writes: &Done,
) -> Result<()> {
    let (_, sum) = server.players_and_sum().await?;
    let wanted = first_sum(players) + POINTS * writes.latency.total();
    let row = Row::new(
        "points on the board that were not acknowledged, or the other way round",
        "",
        float(sum.abs_diff(wanted)),
    );
    report.push(row.of("design").at_most(0.0));
    Ok(())
}
