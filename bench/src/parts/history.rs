//! What freezing a board costs those who play on it, what friends cost, and what a year of daily snapshots takes.
//!
//! Everything goes through the embedded engine on a real disk, in a directory that is removed at the end. Submissions are sent at a
//! fixed rate, whatever the answers take, and each one's time counts from when it was due: a stall shows in all that were due
//! meanwhile.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use standings_core::{Board, BoardId, Millis};
use standings_embedded::{Embedded, Options};
use standings_engine::{Clock, Engine, EngineError, ManualClock, SnapshotsQuery, StandingRef};
use tokio::task::JoinSet;

use crate::{
    board::{Ids, count_text, first_score},
    engine::{self, row, win},
    histogram::Histogram,
    meter::{own_resident_bytes, settle},
    options::Common,
    progress,
    report::{Report, Row, megabytes, number, thousands},
};

/// The longest wait of any submission while a snapshot is taken and a season closes; friends; a year of snapshots.
///
/// At 25 million players it takes about six minutes and 8 GB of disk.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Submissions a second.
    #[arg(long, default_value_t = 5_000)]
    rate: u32,
    /// Seconds of the same load with nothing else.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Players of whom a year of daily snapshots is taken; 0 leaves it out.
    #[arg(long, default_value_t = 100_000)]
    year_players: u64,
}

/// The longest that anything may take before the engine counts as stuck.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let dir = arguments.common.scratch()?;
    let mut report = Report::new("history", arguments.common.players, dir.path())?;
    report = report.under(format!(
        "{} submissions a second, through the embedded engine",
        thousands(arguments.rate.into())
    ));
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(freeze(&mut report, dir.path(), arguments))?;
    drop(dir);
    if arguments.year_players > 0 {
        let dir = arguments.common.scratch()?;
        runtime.block_on(year(&mut report, dir.path(), arguments.year_players))?;
    }
    report.write(&arguments.common.results)
}

/// Submits at a fixed rate for a while; how long each waited.
async fn play(
    engine: &Arc<Embedded>,
    board: &BoardId,
    players: u64,
    rate: u32,
    time: Duration,
) -> Result<Histogram> {
    let started = Instant::now();
    let mut waits = Histogram::default();
    let mut tasks = JoinSet::new();
    for number in 0..u64::from(rate) * time.as_secs() {
        let due = started + Duration::from_secs(1) * u32::try_from(number)? / rate;
        tokio::time::sleep_until(due.into()).await;
        let (engine, board) = (Arc::clone(engine), board.clone());
        let submission = win(Ids::Hex.player(number.wrapping_mul(7919) % players));
        tasks.spawn(async move {
            let answer = engine.submit(&board, vec![submission]).await;
            answer.map(|_| due.elapsed())
        });
        while let Some(done) = tasks.try_join_next() {
            waits.record(done??);
        }
    }
    while let Some(done) = tasks.join_next().await {
        waits.record(done??);
    }
    Ok(waits)
}

/// How long a file may take.
const LONGEST: Duration = Duration::from_secs(600);

/// What is done to a board while others play on it.
#[derive(Clone, Copy, Debug)]
enum Freeze {
    Snapshot,
    Close,
}

impl Freeze {
    /// Does it, two seconds from now; how long it takes until it can be read.
    async fn run(self, engine: Arc<Embedded>, board: BoardId) -> Result<Duration, EngineError> {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let started = Instant::now();
        if matches!(self, Self::Close) {
            engine.close_season(&board, None).await?;
        }
        // After a close: until that is in its file. The keeper does one thing at a time.
        engine.take_snapshot(&board).await?;
        engine.maintain(LONGEST).await?;
        Ok(started.elapsed())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "a snapshot is taken",
            Self::Close => "the season closes",
        }
    }
}

async fn freeze(report: &mut Report, dir: &Path, arguments: &Arguments) -> Result<()> {
    let (players, rate) = (arguments.common.players, arguments.rate);
    let engine = engine::open(dir)?;
    let board = BoardId::new("main")?;
    engine.put_board(&board, Board::default()).await?;
    progress::step(&format!("engine: loading {players} players"));
    engine::load(&engine, &board, 0..players).await?;
    settle(std::process::id());
    friends(report, &engine, &board, players).await?;
    progress::step("submissions and nothing else");
    let time = Duration::from_secs(arguments.seconds);
    let quiet = play(&engine, &board, players, rate, time).await?;
    let row = Row::new("longest wait of a submission, nothing else", "ms", quiet.longest_millis());
    report.push(row.note(quiet.text()));
    report.line("latency-while-freezing", "nothing else", quiet.curve());
    for what in [Freeze::Snapshot, Freeze::Close] {
        progress::step(&format!("submissions while {}", what.name()));
        let other = tokio::spawn(what.run(Arc::clone(&engine), board.clone()));
        let (mut waits, started) = (Histogram::default(), Instant::now());
        while !other.is_finished() {
            ensure!(started.elapsed() < PATIENCE, "{what:?} took over {PATIENCE:?}");
            waits.add(&play(&engine, &board, players, rate, Duration::from_secs(10)).await?);
        }
        let name = format!("longest wait of a submission while {}", what.name());
        let row = Row::new(name, "ms", waits.longest_millis()).of("freeze").at_most(50.0);
        let took = other.await??.as_secs_f64();
        report.push(row.note(format!("{}; it took {took:.1} s", waits.text())));
        report.line("latency-while-freezing", what.name(), waits.curve());
    }
    engine.shutdown().await;
    Ok(())
}

/// What a ranking among 500 friends takes.
async fn friends(
    report: &mut Report,
    engine: &Embedded,
    board: &BoardId,
    players: u64,
) -> Result<()> {
    const FRIENDS: u64 = 500;
    const TIMES: u64 = 100;
    let mut waits = Histogram::default();
    for time in 0..TIMES {
        let who = Ids::Hex.player(time * 31 % players);
        let list = (0..FRIENDS).map(|n| Ids::Hex.player((time * 7919 + n * 104_729 + 1) % players));
        engine.put_friends(&who, list.collect()).await?;
        let started = Instant::now();
        let answer = engine.among_friends(board, &StandingRef::CURRENT, &who).await?;
        waits.record(started.elapsed());
        ensure!(answer.rows.len() > 400, "{} rows", answer.rows.len());
    }
    let row = Row::new("ranking among 500 friends, longest of 100", "ms", waits.longest_millis());
    report.push(row.at_most(10.0).note(waits.text()));
    Ok(())
}

async fn year(report: &mut Report, dir: &Path, players: u64) -> Result<()> {
    progress::step(&format!("a year of daily snapshots of {players} players"));
    let clock = Arc::new(ManualClock::new(Millis(1_767_225_600_000)));
    let options = Options {
        dir: dir.join("data"),
        purge_every: Duration::from_secs(5),
        ..Options::default()
    };
    let engine = Embedded::open(options, Arc::clone(&clock) as Arc<dyn Clock>)?;
    let board = BoardId::new("level")?;
    engine.put_board(&board, definition("forever")?).await?;
    engine::load(&engine, &board, 0..players).await?;
    let started = Instant::now();
    for day in 1..=365 {
        one_day(&engine, &clock, &board, players, day).await?;
    }
    let took = started.elapsed().as_secs_f64();
    let name = format!("a year of daily snapshots of {} players", count_text(players));
    sizes(report, dir, &name, &format!("taken in {took:.0} s"))?;
    engine.put_board(&board, definition("90 days")?).await?;
    tokio::time::sleep(Duration::from_secs(12)).await;
    sizes(report, dir, &format!("{name}, kept for 90 days"), "")?;
    engine.shutdown().await;
    Ok(())
}

fn definition(keep: &str) -> Result<Board> {
    let json = format!(
        r#"{{"season":"never","rule":"latest","ties":"earliest","snapshots":{{"keep":"{keep}"}}}}"#
    );
    Board::from_json(&json).context("a definition")
}

/// One in twenty plays, then the day ends, and its snapshot is waited for.
async fn one_day(
    engine: &Embedded,
    clock: &ManualClock,
    board: &BoardId,
    players: u64,
    day: u64,
) -> Result<()> {
    const DAY: i64 = 86_400_000;
    let rows = (0..players / 20)
        .map(|n| row(Ids::Hex.player((n * 20 + day) % players), first_score(n + day)));
    engine.set_scores(board, None, rows.collect()).await?;
    clock.advance(Millis(DAY + if day == 1 { 1000 } else { 0 }));
    let listed = SnapshotsQuery { before: None, limit: 1000 };
    let started = Instant::now();
    while engine.snapshots(board, &listed).await?.snapshots.len() < usize::try_from(day)? {
        ensure!(started.elapsed() < PATIENCE, "no snapshot of day {day} within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

fn sizes(report: &mut Report, dir: &Path, what: &str, more: &str) -> Result<()> {
    let data = dir.join("data");
    let (frozen, all) = (megabytes(bytes(&data.join("frozen"))?), megabytes(bytes(&data)?));
    let process = megabytes(own_resident_bytes());
    let note =
        format!("whole directory {} MB; process {} MB; {more}", number(all), number(process));
    report.push(Row::new(what, "MB", frozen).note(note.trim_end_matches("; ")));
    Ok(())
}

fn bytes(dir: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(total)
}
