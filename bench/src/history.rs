//! What freezing a board costs those who play on it, what friends cost, and what a year of daily snapshots takes.
//!
//! Everything goes through the embedded engine on a real disk, in a directory that is removed at the end. `freeze` submits at a
//! fixed rate, whatever the answers take, and counts each submission's time from when it was due: a stall shows in all that were
//! due meanwhile.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use standings_core::{
    Board, BoardId, Millis, PlayerId, Score, limits::EVENT_ID_WINDOW, rule::Submission,
};
use standings_engine::{
    Clock, Engine, ManualClock, ScoreRow, SnapshotsQuery, StandingRef, SystemClock,
    embedded::{Embedded, Options},
};
use tokio::{runtime::Runtime, task::JoinSet};

/// Rows that an import sends at once.
const CHUNK: u64 = 10_000;

#[derive(Parser)]
#[command(about = "What freezing, friends and a year of snapshots cost")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The longest wait of any submission while a snapshot is taken and a season closes
    Freeze {
        /// Players on the board.
        #[arg(long, default_value_t = 1_000_000)]
        players: u64,
        /// Submissions a second.
        #[arg(long, default_value_t = 5_000)]
        rate: u64,
        /// Where to put the data.
        #[arg(long, default_value = ".")]
        dir: std::path::PathBuf,
    },
    /// A year of daily snapshots, and what is left of it after retention
    Year {
        /// Players on the board.
        #[arg(long, default_value_t = 100_000)]
        players: u64,
        /// Where to put the data.
        #[arg(long, default_value = ".")]
        dir: std::path::PathBuf,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().what {
        What::Freeze { players, rate, dir } => {
            let dir = tempfile::tempdir_in(dir)?;
            Runtime::new()?.block_on(freeze(dir.path(), players, rate))
        }
        What::Year { players, dir } => {
            let dir = tempfile::tempdir_in(dir)?;
            Runtime::new()?.block_on(year(dir.path(), players))
        }
    }
}

fn player(number: u64) -> PlayerId {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    PlayerId::new(&format!("{mixed:016x}{number:08x}")).expect("hex digits")
}

fn score(number: u64) -> Score {
    let skewed = (number % 1000).pow(3) / 1_000_000;
    Score::new(skewed.cast_signed()).expect("it is small")
}

async fn load(engine: &Embedded, board: &BoardId, players: u64) -> Result<()> {
    let started = Instant::now();
    for from in (0..players).step_by(usize::try_from(CHUNK)?) {
        let rows = (from..(from + CHUNK).min(players)).map(|number| ScoreRow {
            player: player(number),
            score: score(number),
            at: None,
            user_name: None,
            official_rank: None,
        });
        engine.set_scores(board, rows.collect()).await?;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("loaded {players} players in {seconds:.1} s");
    Ok(())
}

/// Submits at a fixed rate for a while; every wait, in order of size.
async fn play(
    engine: &Arc<Embedded>,
    board: &BoardId,
    players: u64,
    rate: u64,
    time: Duration,
) -> Result<Vec<Duration>> {
    let total = rate * time.as_secs();
    let started = Instant::now();
    let mut waits = Vec::with_capacity(usize::try_from(total)?);
    let mut tasks = JoinSet::new();
    for number in 0..total {
        let due = started + Duration::from_secs(1) * u32::try_from(number)? / u32::try_from(rate)?;
        tokio::time::sleep_until(due.into()).await;
        let (engine, board) = (Arc::clone(engine), board.clone());
        let submission = Submission {
            player: player(number.wrapping_mul(7919) % players),
            points: Score::new(1).expect("small"),
            event_id: None,
            at: None,
            user_name: None,
            updated_before: None,
        };
        tasks.spawn(async move {
            let answer = engine.submit(&board, vec![submission]).await;
            answer.map(|_| due.elapsed())
        });
        while let Some(done) = tasks.try_join_next() {
            waits.push(done??);
        }
    }
    while let Some(done) = tasks.join_next().await {
        waits.push(done??);
    }
    waits.sort_unstable();
    Ok(waits)
}

fn report(what: &str, waits: &[Duration], took: Option<Duration>) {
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list"
        )]
        let place = (waits.len() as f64 * share) as usize;
        waits[place.min(waits.len() - 1)].as_secs_f64() * 1e3
    };
    let took = took.map_or("–".to_owned(), |took| format!("{:.1} s", took.as_secs_f64()));
    println!(
        "| {what} | {} | {:.2} ms | {:.2} ms | {:.2} ms | {:.1} ms | {took} |",
        waits.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
    );
}

async fn freeze(dir: &Path, players: u64, rate: u64) -> Result<()> {
    let options = Options { dir: dir.join("data"), ..Options::default() };
    let engine = Embedded::open(options, Arc::new(SystemClock))?;
    let board = BoardId::new("main")?;
    engine.put_board(&board, Board::default()).await?;
    load(&engine, &board, players).await?;
    friends(&engine, &board, players).await?;
    println!(
        "\n| {rate} submissions a second, {players} players | sent | p50 | p99 | p99.9 | longest | took |"
    );
    println!("|---|---|---|---|---|---|---|");
    let quiet = play(&engine, &board, players, rate, Duration::from_secs(20)).await?;
    report("nothing else", &quiet, None);
    for what in ["a snapshot", "the season closes"] {
        let (engine2, board2) = (Arc::clone(&engine), board.clone());
        let other = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let started = Instant::now();
            if what == "a snapshot" {
                engine2.take_snapshot(&board2).await?;
            } else {
                engine2.close_season(&board2).await?;
                // Until it is in its file: an import into it would have to wait as long.
                engine2.take_snapshot(&board2).await?;
            }
            Ok::<_, standings_engine::EngineError>(started.elapsed())
        });
        let mut waits = Vec::new();
        while !other.is_finished() {
            waits.extend(play(&engine, &board, players, rate, Duration::from_secs(10)).await?);
        }
        waits.sort_unstable();
        report(what, &waits, Some(other.await??));
    }
    engine.shutdown().await;
    Ok(())
}

/// What a ranking among 500 friends takes.
async fn friends(engine: &Embedded, board: &BoardId, players: u64) -> Result<()> {
    const FRIENDS: u64 = 500;
    const TIMES: u64 = 100;
    let mut waits = Vec::new();
    for time in 0..TIMES {
        let who = player(time * 31 % players);
        let list = (0..FRIENDS).map(|n| player((time * 7919 + n * 104_729 + 1) % players));
        engine.put_friends(&who, list.collect()).await?;
        let started = Instant::now();
        let answer = engine.among_friends(board, &StandingRef::CURRENT, &who).await?;
        waits.push(started.elapsed());
        anyhow::ensure!(answer.rows.len() > 400, "{} rows", answer.rows.len());
    }
    waits.sort_unstable();
    let (half, most) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    println!("a ranking among {FRIENDS} friends: p50 {half:.1?}, longest of {TIMES} {most:.1?}");
    Ok(())
}

async fn year(dir: &Path, players: u64) -> Result<()> {
    const DAY: i64 = 86_400_000;
    let start = Millis(1_767_225_600_000);
    let clock = Arc::new(ManualClock::new(start));
    let data = dir.join("data");
    let options = Options {
        dir: data.clone(),
        purge_every: Duration::from_secs(5),
        event_id_window: EVENT_ID_WINDOW,
        ..Options::default()
    };
    let engine = Embedded::open(options, Arc::clone(&clock) as Arc<dyn Clock>)?;
    let board = BoardId::new("level")?;
    let definition = |keep: &str| {
        let json = format!(
            r#"{{"season":"never","rule":"latest","ties":"earliest","snapshots":{{"keep":"{keep}"}}}}"#
        );
        Board::from_json(&json).context("a definition")
    };
    engine.put_board(&board, definition("forever")?).await?;
    load(&engine, &board, players).await?;
    let listed = SnapshotsQuery { before: None, limit: 1000 };
    let started = Instant::now();
    for day in 1..=365 {
        // One in twenty plays every day.
        let rows = (0..players / 20).map(|n| ScoreRow {
            player: player((n * 20 + day) % players),
            score: score(n + day),
            at: None,
            user_name: None,
            official_rank: None,
        });
        engine.set_scores(&board, rows.collect()).await?;
        clock.set(Millis(start.0 + DAY * i64::try_from(day)? + 1000));
        while engine.snapshots(&board, &listed).await?.snapshots.len() < usize::try_from(day)? {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("365 days in {seconds:.0} s\n");
    println!(
        "| daily snapshots of {players} players | snapshots | frozen files | whole directory | memory |"
    );
    println!("|---|---|---|---|---|");
    let show = |what: &str, snapshots: usize| -> Result<()> {
        let (frozen, all) = (bytes(&data.join("frozen"))?, bytes(&data)?);
        println!(
            "| {what} | {snapshots} | {} MB | {} MB | {} MB |",
            mb(frozen),
            mb(all),
            mb(memory())
        );
        Ok(())
    };
    show("after a year", 365)?;
    engine.put_board(&board, definition("90 days")?).await?;
    let kept = engine.snapshots(&board, &listed).await?.snapshots.len();
    tokio::time::sleep(Duration::from_secs(12)).await;
    show("kept for 90 days", kept)?;
    engine.shutdown().await;
    Ok(())
}

fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
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

/// The resident size of this process, where the system tells it.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
