//! Midnight: the seasons of very many boards end at one instant, under load.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Result, ensure};
use clap::Args;
use tokio::task::JoinSet;

use crate::{
    client::{Connection, Done, Load, open},
    latency_floor,
    meter::float,
    options::{Common, server_binary},
    progress,
    report::{Report, Row, number, thousands},
    server::{KEY, Server},
    work::Work,
};

/// Very many boards whose seasons end at the same instant, with submissions and reads going on: no one should wait for the others'
/// boards.
///
/// Each board has an entry, so that each has a season to close and to write. Boards are made first, which takes some minutes; their
/// seasons are of an hour, and end in the middle of the load.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Boards.
    #[arg(long, default_value_t = 100_000)]
    boards: u64,
    /// Submissions a second.
    #[arg(long, default_value_t = 500)]
    submissions: u32,
    /// Reads of a board's top a second.
    #[arg(long, default_value_t = 500)]
    reads: u32,
    /// Connections for each of the two.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// How long the load goes on after the end of the seasons.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The server's program [default: the one beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
}

/// How long the load goes on before the seasons end.
const BEFORE: Duration = Duration::from_secs(30);
/// Connections that make boards: their submissions share flushes.
const MAKERS: u64 = 16;
/// The most time that may have to be left for making a thousand boards.
const MAKING: Duration = Duration::from_secs(6);
/// No request should wait longer than this.
const MOST_MILLIS: f64 = 50.0;

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let Arguments { boards, submissions, reads, .. } = *arguments;
    let binary = server_binary(arguments.server.as_ref())?;
    let scratch = arguments.common.scratch()?;
    let mut report = Report::new("midnight", boards, scratch.path())?;
    report = report.under(format!(
        "{} boards with an entry each, whose seasons end at once; {submissions} submissions and {reads} reads a second",
        thousands(boards)
    ));
    latency_floor::measure(&mut report, scratch.path())?;
    let server = Server::start(&binary, scratch).await?;
    let ends_at = end(boards);
    make(&server, boards, ends_at).await?;
    server.settle().await?;
    let begin = ends_at.checked_sub(BEFORE).unwrap_or_default();
    let wait = begin.checked_sub(now()?);
    ensure!(wait.is_some(), "making {boards} boards took too long; the seasons have ended");
    progress::step("waiting for the end of the seasons");
    tokio::time::sleep(wait.unwrap_or_default()).await;
    let time = BEFORE + Duration::from_secs(arguments.seconds);
    let on = |work| Load {
        address: server.address,
        work,
        players: boards,
        connections: arguments.connections,
    };
    let (writes, tops) = tokio::join!(
        open(on(Work::AnyBoardSubmit), submissions, time),
        open(on(Work::AnyBoardTop), reads, time)
    );
    for (name, done) in [("submissions", &writes?), ("reads", &tops?)] {
        latency(&mut report, name, done);
    }
    report.write(&arguments.common.results)
}

fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

/// A whole minute that leaves time to make the boards.
fn end(boards: u64) -> Duration {
    let making = MAKING * u32::try_from(boards.div_ceil(1000)).unwrap_or(u32::MAX);
    let after = now().unwrap_or_default() + BEFORE + making;
    Duration::from_secs((after.as_secs() / 60 + 1) * 60)
}

/// Makes the boards, each with an entry.
async fn make(server: &Server, boards: u64, ends_at: Duration) -> Result<()> {
    progress::step(&format!("standings: making {boards} boards"));
    let bar = progress::bar(boards, "boards");
    let minute = ends_at.as_secs() / 60 % 60;
    let definition = format!(r#"{{"season":"{minute} * * * *","grace":"0 seconds"}}"#);
    let mut makers = JoinSet::new();
    for maker in 0..MAKERS {
        let (address, bar, definition) = (server.address, bar.clone(), definition.clone());
        makers.spawn(async move {
            let mut connection = Connection::open(address).await?;
            for board in (maker..boards).step_by(usize::try_from(MAKERS)?) {
                let path = format!("/v1/boards/b{board}");
                call(&mut connection, "PUT", &path, &definition).await?;
                let body = r#"{"user_id":"first","points":1}"#;
                call(&mut connection, "POST", &format!("{path}/scores"), body).await?;
                bar.inc(1);
            }
            anyhow::Ok(())
        });
    }
    while let Some(made) = makers.join_next().await {
        made??;
    }
    bar.finish_and_clear();
    Ok(())
}

async fn call(connection: &mut Connection, method: &str, path: &str, body: &str) -> Result<()> {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, answer) = connection.call(request.as_bytes()).await?;
    ensure!(status < 300, "{path}: {status} {}", String::from_utf8_lossy(answer));
    Ok(())
}

fn latency(report: &mut Report, name: &str, done: &Done) {
    let slices = done.slices.iter().map(|slice| number(slice.longest_millis()));
    let slices = slices.collect::<Vec<_>>().join(", ");
    let note = format!(
        "{} at {}/s; {}; longest in each 10 s: {slices} ms",
        number(float(done.latency.total())),
        number(done.rate()),
        done.latency.text(),
    );
    let longest = Row::new(format!("{name}, longest"), "ms", done.latency.longest_millis());
    report.push(longest.of("midnight").at_most(MOST_MILLIS).note(&note));
    report.push(Row::new(format!("{name}, p99"), "ms", done.latency.millis(0.99)));
}
