//! A board whose players have names, which is what games have: the HTTP API in turns with another build, and submissions while
//! anonymous clients page through the board.
//!
//! The processor is shared and its speed changes from minute to minute, so two builds take turns on the same work, and what counts is
//! the median of each.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Args;

use crate::{
    client::{Done, Load, closed, open},
    meter::median,
    options::{Common, server_binary},
    progress,
    report::{Report, Row},
    server::Server,
    work::Work,
};

/// Anonymous clients that page at the same time.
const PAGING: usize = 4;

/// Players with names: the HTTP API in turns with another build, and submissions while anonymous clients page.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Seconds for every figure of every turn.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Turns, of which the median counts.
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Connections.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Submissions a second while clients page.
    #[arg(long, default_value_t = 2_500)]
    submissions: u32,
    /// The server's program [default: the one beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
    /// Another build of it to take turns with.
    #[arg(long)]
    beside: Option<PathBuf>,
}

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let scratch = arguments.common.scratch()?;
    let mut report = Report::new("named", arguments.common.players, scratch.path())?;
    let mut servers = Vec::new();
    let ours = server_binary(arguments.server.as_ref())?;
    for binary in [Some(&ours), arguments.beside.as_ref()].into_iter().flatten() {
        let server = Server::start(binary, arguments.common.scratch()?).await?;
        server.load_named(arguments.common.players).await?;
        servers.push(server);
    }
    let works = [
        (Work::Submit, "POST …/scores, durable"),
        (Work::Rank, "GET …/scores/{user_id}"),
        (Work::Top, "GET …/scores, top 10"),
        (Work::Around, "GET …/scores/{user_id}?around=4"),
    ];
    for (work, name) in works {
        let rates = throughput(arguments, &servers, work, name).await?;
        report.push(Row::new(name, "/s", rates[0]).beside(rates.get(1).copied()));
    }
    paging(&mut report, arguments, &servers).await?;
    report.write(&arguments.common.results)
}

fn load(arguments: &Arguments, server: &Server, work: Work, connections: usize) -> Load {
    Load { address: server.address, work, players: arguments.common.players, connections }
}

/// Requests a second of each server.
async fn throughput(
    arguments: &Arguments,
    servers: &[Server],
    work: Work,
    name: &str,
) -> Result<Vec<f64>> {
    let mut rates = vec![Vec::new(); servers.len()];
    for turn in 1..=arguments.turns {
        progress::step(&format!("{name}, turn {turn} of {}", arguments.turns));
        for (server, rates) in servers.iter().zip(&mut rates) {
            let load = load(arguments, server, work, arguments.connections);
            rates.push(closed(load, Duration::from_secs(arguments.seconds)).await?.rate());
            server.settle().await?;
        }
    }
    Ok(rates.into_iter().map(median).collect())
}

/// Submissions alone, and while anonymous clients page.
async fn paging(report: &mut Report, arguments: &Arguments, servers: &[Server]) -> Result<()> {
    for (server, which) in servers.iter().zip(["", " (the other build)"]) {
        let time = Duration::from_secs(2 * arguments.seconds);
        let submit = || {
            let load = load(arguments, server, Work::Submit, arguments.connections);
            open(load, arguments.submissions, time)
        };
        let page = || closed(load(arguments, server, Work::Page, PAGING), time);
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        let mut notes = (String::new(), String::new());
        for turn in 1..=arguments.turns {
            progress::step(&format!("submissions while {PAGING} clients page, turn {turn}{which}"));
            let quiet: Done = submit().await?;
            let (busy, pages) = tokio::join!(submit(), page());
            let (busy, pages) = (busy?, pages?);
            alone.push(quiet.latency.millis(0.99));
            beside.push(busy.latency.millis(0.99));
            notes.0 = quiet.latency.text();
            notes.1 = format!("{}, {:.0} pages/s", busy.latency.text(), pages.rate());
            server.settle().await?;
        }
        let name = format!(
            "p99 of {} submissions a second while {PAGING} anonymous clients page, beside that without{which}",
            arguments.submissions
        );
        let note = format!("the last turn alone {}; with pages {}", notes.0, notes.1);
        let row = Row::new(name, "ms", median(beside)).beside(median(alone)).note(note);
        let row = if which.is_empty() { row.of("paging").at_most_times(3.0) } else { row };
        report.push(row);
    }
    Ok(())
}
