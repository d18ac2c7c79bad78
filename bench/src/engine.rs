//! The embedded engine without HTTP: loaded, and what a submission and a rank query cost on it.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use standings_core::{BoardId, PlayerId, Score, rule::Submission};
use standings_embedded::{Embedded, Options};
use standings_engine::{Engine, EngineError, ScoreRow, StandingRef, SystemClock};
use tokio::task::JoinSet;

use crate::{
    board::{Ids, first_score},
    meter::{Clock, float, processor_time, settle},
    progress,
    random::Random,
};

/// Rows that a load sends at once.
const CHUNK: u64 = 10_000;
/// Submissions under way at once.
const AT_ONCE: u64 = 64;
/// How often a write is tried again while the engine is busy, and how long it waits each time.
const RETRIES: usize = 1_000;
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// An engine with its defaults, on a directory.
pub fn open(dir: &Path) -> Result<Arc<Embedded>> {
    let options = Options { dir: dir.join("data"), ..Options::default() };
    Ok(Embedded::open(options, Arc::new(SystemClock))?)
}

/// A submission of one point and nothing else.
pub fn win(player: PlayerId) -> Submission {
    Submission {
        player,
        points: Score::new(1).expect("small"),
        event_id: None,
        at: None,
        user_name: None,
        updated_before: None,
    }
}

/// A row of an import.
pub fn row(player: PlayerId, score: u64) -> ScoreRow {
    let score = Score::new(score.cast_signed()).expect("small");
    ScoreRow { player, score, at: None, user_name: None, official_rank: None }
}

/// Sets everyone's first score; the players are those from `players.start` on.
pub async fn load(engine: &Embedded, board: &BoardId, players: std::ops::Range<u64>) -> Result<()> {
    let bar = progress::bar(players.end - players.start, "players");
    for from in players.clone().step_by(usize::try_from(CHUNK)?) {
        let rows = (from..(from + CHUNK).min(players.end))
            .map(|number| row(Ids::Hex.player(number), first_score(number)));
        engine.set_scores(board, None, rows.collect()).await?;
        bar.inc(CHUNK);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Does something for each number below `count`, up to 64 at once.
pub async fn for_each<F>(count: u64, what: impl Fn(u64) -> F) -> Result<()>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for number in 0..count {
        if number >= AT_ONCE {
            running.join_next().await.context("64 are running")???;
        }
        running.spawn(what(number));
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}

/// Submits, again where the engine says that it has to catch up first.
pub async fn submit(engine: &Embedded, board: &BoardId, wins: Vec<Submission>) -> Result<()> {
    for _ in 0..RETRIES {
        match engine.submit(board, wins.clone()).await {
            Err(EngineError::Overloaded { .. }) => tokio::time::sleep(RETRY_AFTER).await,
            done => {
                for receipt in done? {
                    receipt?;
                }
                return Ok(());
            }
        }
    }
    anyhow::bail!("the engine stayed busy for {:?}", RETRY_AFTER * u32::try_from(RETRIES)?)
}

/// What a submission and a rank query cost.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Nanoseconds on a processor for one submission: everything that the process does for it, at once and later.
    pub submit: f64,
    /// Submissions a second, 64 at once, each flushed before its receipt.
    pub rate: f64,
    /// Nanoseconds on a processor for a rank.
    pub rank: f64,
}

/// Boards that all have the same players.
#[derive(Clone, Debug)]
pub struct Boards {
    /// Their ids.
    pub boards: Arc<Vec<BoardId>>,
    /// Players on each.
    pub players: u64,
}

impl Boards {
    fn any(&self, random: &mut Random) -> (&BoardId, PlayerId) {
        let board = random.below(self.boards.len() as u64);
        let board = &self.boards[usize::try_from(board).expect("an index")];
        (board, Ids::Hex.player(random.below(self.players)))
    }
}

/// Measures both for a time each, on random players of random boards.
pub async fn costs(engine: &Arc<Embedded>, boards: &Boards, time: Duration) -> Result<Costs> {
    settle(std::process::id());
    let rank = rank(engine, boards, time).await?;
    let (submit, rate) = submissions(engine, boards, time).await?;
    Ok(Costs { submit, rate, rank })
}

async fn submissions(
    engine: &Arc<Embedded>,
    boards: &Boards,
    time: Duration,
) -> Result<(f64, f64)> {
    let own = std::process::id();
    let before = processor_time(own).context("Linux tells it")?;
    let (total, started) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let worker = |number: u64| {
        let (engine, boards, total) = (Arc::clone(engine), boards.clone(), Arc::clone(&total));
        async move {
            let mut random = Random(number << 32);
            while started.elapsed() < time {
                let (board, player) = boards.any(&mut random);
                submit(&engine, board, vec![win(player)]).await?;
                total.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    };
    for_each(AT_ONCE, worker).await?;
    let (took, total) = (started.elapsed(), float(total.load(Ordering::Relaxed)));
    settle(own);
    let used = processor_time(own).context("Linux tells it")?.saturating_sub(before);
    Ok((used.as_secs_f64() * 1e9 / total, total / took.as_secs_f64()))
}

async fn rank(engine: &Arc<Embedded>, boards: &Boards, time: Duration) -> Result<f64> {
    const PIECE: u64 = 10_000;
    let (mut random, started) = (Random(5), Instant::now());
    let (mut nanoseconds, mut pieces) = (0.0, 0.0);
    while started.elapsed() < time {
        let asked: Vec<_> = (0..PIECE).map(|_| boards.any(&mut random)).collect();
        let clock = Clock::start();
        for (board, player) in &asked {
            engine.entry(board, &StandingRef::CURRENT, player, None).await?;
        }
        nanoseconds += clock.per(PIECE);
        pieces += 1.0;
    }
    Ok(nanoseconds / pieces)
}
