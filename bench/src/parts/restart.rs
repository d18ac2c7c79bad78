//! Loading a board from a file, what it takes in memory, and how long a stop and a start take: beside Redis, in one run.

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, ensure};
use clap::Args;

use crate::{
    board::Ids,
    client::{Load, closed},
    meter::float,
    options::{Common, server_binary},
    progress,
    redis::Redis,
    report::{Report, Row, megabytes, number},
    server::{Server, first_sum, write_csv},
    work::{POINTS, Work},
};

/// `standings import`, memory, stop, restart and a restart after `kill -9`, beside Redis.
///
/// At 25 million players it takes about 15 minutes and 8 GB of disk.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Seconds of submissions before the kill.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Only ids that pack: leaves out a second import with ids that do not.
    #[arg(long)]
    hex_only: bool,
    /// The server's program [default: the one beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
    /// Leave Redis out.
    #[arg(long)]
    no_redis: bool,
}

/// What Redis needs for the same.
#[derive(Clone, Copy, Default)]
struct Peer {
    load: Option<f64>,
    used: Option<f64>,
    resident: Option<f64>,
    restart: Option<f64>,
}

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let scratch = arguments.common.scratch()?;
    let mut report =
        Report::new("restart", arguments.common.players, scratch.path())?.beside_redis();
    let peer = if arguments.no_redis { Peer::default() } else { redis(arguments)? };
    of_ids(&mut report, arguments, Ids::Hex, peer).await?;
    if !arguments.hex_only {
        of_ids(&mut report, arguments, Ids::Text, peer).await?;
    }
    report.write(&arguments.common.results)
}

fn redis(arguments: &Arguments) -> Result<Peer> {
    let players = arguments.common.players;
    let mut redis = Redis::start(arguments.common.scratch()?)?;
    let load = redis.load(Ids::Hex, players)?;
    let (used, resident) = redis.memory()?;
    let restart = redis.restart()?;
    Ok(Peer {
        load: Some(load.as_secs_f64()),
        used: Some(float(used) / float(players)),
        resident: Some(float(resident) / float(players)),
        restart: Some(restart.as_secs_f64()),
    })
}

/// Everything with one kind of ids: the targets of time are for those that pack, which Redis does not tell apart.
async fn of_ids(report: &mut Report, arguments: &Arguments, ids: Ids, peer: Peer) -> Result<()> {
    let players = arguments.common.players;
    let name = ids.name();
    let binary = server_binary(arguments.server.as_ref())?;
    let files = arguments.common.scratch()?;
    let csv = files.path().join("players.csv");
    write_csv(&csv, ids, players)?;
    let mut server = Server::start(&binary, arguments.common.scratch()?).await?;
    progress::step(&format!("standings: import of {players} players, {name}"));
    let import = server.import(&csv)?;
    drop(files);
    ensure!(server.players_and_sum().await? == (players, first_sum(players)), "not all are there");
    let note = format!("{} rows/s", number(float(players) / import.as_secs_f64()));
    let row = Row::new(format!("import of a file, {name}"), "s", import.as_secs_f64());
    report.push(timed(row.note(note), ids, "load", peer.load));

    server.settle().await?;
    memory(report, &server, ids, peer, players, "after the import");
    let stop = server.stop().await?;
    report.push(Row::new(format!("clean stop, {name}"), "s", stop.as_secs_f64()));
    progress::step("standings: a restart");
    let restart = server.start_again().await?;
    ensure!(server.players_and_sum().await? == (players, first_sum(players)), "not all are back");
    let row = Row::new(format!("restart until ready, {name}"), "s", restart.as_secs_f64());
    report.push(timed(row, ids, "restart", peer.restart));
    memory(report, &server, ids, peer, players, "after a restart");
    if ids == Ids::Hex {
        kill(report, &mut server, arguments, players).await?;
    }
    Ok(())
}

/// A third of what Redis needs, for the ids that the targets speak of.
fn timed(row: Row, ids: Ids, of: &str, peer: Option<f64>) -> Row {
    let row = row.beside(peer);
    if ids == Ids::Hex { row.of(of).at_most_one_in(3.0) } else { row }
}

fn memory(report: &mut Report, server: &Server, ids: Ids, peer: Peer, players: u64, when: &str) {
    let Some(bytes) = server.resident_bytes() else { return };
    let (of, most) = if ids == Ids::Text { ("memory-text", 46.0) } else { ("memory", 26.0) };
    let name = format!("whole process, bytes a player {when}, {}", ids.name());
    let used =
        peer.used.map_or_else(String::new, |used| format!("; Redis counts {used:.1} B as used"));
    let note = format!("{} MB resident{used}", number(megabytes(bytes)));
    let row = Row::new(name, "B", float(bytes) / float(players)).beside(peer.resident);
    report.push(row.of(of).at_most(most).note(note));
}

/// A kill under load, and the restart after it: everything acknowledged must be there.
async fn kill(
    report: &mut Report,
    server: &mut Server,
    arguments: &Arguments,
    players: u64,
) -> Result<()> {
    progress::step("standings: submissions, then kill -9 and a restart");
    let load = Load { address: server.address, work: Work::Submit, players, connections: 64 };
    let before = server.players_and_sum().await?.1;
    let done = closed(load, Duration::from_secs(arguments.seconds)).await?;
    server.kill()?;
    let restart = server.start_again().await?;
    let (_, sum) = server.players_and_sum().await?;
    let acknowledged = before + POINTS * done.latency.total();
    ensure!(sum == acknowledged, "{sum} points after the kill, {acknowledged} acknowledged");
    let note =
        format!("after {} submissions, all of them there", number(float(done.latency.total())));
    let row = Row::new("restart until ready after kill -9", "s", restart.as_secs_f64());
    report.push(row.note(note));
    Ok(())
}
