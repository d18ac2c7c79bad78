//! Writing files in the background: checkpoints and frozen standings.
//!
//! Each of the threads does one job at a time, in order. A job ends with a call on the sequencer, which logs what the new file means; until that
//! record is durable the file is nothing, and a crash leaves at most a file that the next start removes.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use standings_core::{BoardId, Name, PlayerId};
use standings_index::RankIndex;
use tokio::sync::oneshot;

use crate::{
    Shared,
    files::{archive, archive::FrozenRow},
    operations::{
        backup,
        checkpoint::View,
        clear,
        freeze::{self, Before, Keep, Writing, folded_goal},
        import::{Begun, Importing, Target},
    },
    read::board::unwritable,
    record::{AsOfNo, BoardNo, FrozenFile, SeasonNo},
    state::{erasures::Hidden, live::Live, snapshots::PendingSource},
    write::{Prepared, Sequencer},
};
use standings_engine::{BackupInfo, Result};

/// How long to wait before a file that could not be written is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Something to write.
pub(crate) enum Job {
    /// A checkpoint. It begins only now, so that nothing is kept for it while other jobs run; the last one before the
    /// end was begun by the sequencer, which is gone by then.
    Checkpoint(Option<View>),
    /// A season that has closed, or a snapshot that was taken.
    Freeze(Freeze),
    /// A closed season or a snapshot from elsewhere.
    Import(Box<Import>),
    /// Seasons past their time: the players' bests are kept, the rest goes.
    Retire(Vec<(BoardNo, SeasonNo)>),
    /// What is left of erased players and dropped seasons goes.
    Purge,
    /// Says how many jobs were done, and whether any is left that the disk did not take: all that came before it is done.
    CatchUp(oneshot::Sender<CaughtUp>),
    /// A copy of everything.
    Backup { to: PathBuf, reply: oneshot::Sender<Result<BackupInfo>> },
    /// No more jobs will come.
    Stop,
}

/// A standing to be written.
pub(crate) struct Freeze {
    pub(crate) board: BoardNo,
    pub(crate) what: Frozen,
    pub(crate) rows: u64,
    /// The name of the file, never used before.
    pub(crate) name: String,
    /// The caller that waits gets the number of players, or that it is not written yet.
    pub(crate) reply: Option<oneshot::Sender<u64>>,
}

/// What is frozen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frozen {
    Season(SeasonNo),
    Snapshot(AsOfNo),
}

/// A standing from elsewhere.
pub(crate) struct Import {
    pub(crate) board: BoardId,
    pub(crate) begun: Begun,
    pub(crate) target: Target,
    pub(crate) importing: Importing,
    pub(crate) rows: Box<RankIndex>,
    pub(crate) names: HashMap<PlayerId, Name>,
    pub(crate) official_ranks: HashMap<PlayerId, u32>,
    pub(crate) reply: oneshot::Sender<Result<u64>>,
}

/// How far a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaughtUp {
    /// Jobs done since the start.
    pub(crate) done: u64,
    /// Whether the disk refused any that will be tried again.
    pub(crate) refused: bool,
}

/// Works until there is nothing more to come.
pub(crate) fn run(shared: &Arc<Shared>, jobs: &Receiver<Job>) {
    // Standings that the disk did not take. They are tried again and hold up nothing else: someone may be waiting.
    let mut refused: Vec<Freeze> = Vec::new();
    let mut retry_at = Instant::now();
    let mut done = 0;
    loop {
        let wait = retry_at.saturating_duration_since(Instant::now());
        let job = if refused.is_empty() {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(wait)
        };
        done += u64::from(!matches!(job, Ok(Job::CatchUp(_)) | Err(_)));
        match job {
            Ok(Job::CatchUp(reply)) => {
                let _ = reply.send(CaughtUp { done, refused: !refused.is_empty() });
            }
            Ok(Job::Checkpoint(view)) => checkpoint(shared, view),
            Ok(Job::Freeze(standing)) => refused.extend(freeze(shared, standing)),
            Ok(Job::Import(import)) => {
                let written = write_import(shared, &import);
                let _ = import.reply.send(written);
            }
            Ok(Job::Retire(seasons)) => clear::retire(shared, &seasons),
            Ok(Job::Purge) => clear::purge(shared),
            Ok(Job::Backup { to, reply }) => {
                let _ = reply.send(backup::backup(shared, &to));
            }
            // What is left the next start finds closed, and freezes.
            Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !refused.is_empty() && Instant::now() >= retry_at {
            refused = refused.into_iter().filter_map(|standing| freeze(shared, standing)).collect();
            retry_at = Instant::now() + RETRY_AFTER;
        }
    }
}

pub(crate) fn checkpoint(shared: &Arc<Shared>, view: Option<View>) {
    let view = view.map_or_else(|| shared.queue.change_blocking(Sequencer::begin_view), Ok);
    let Ok(view) = view else { return };
    let started = Instant::now();
    let position = view.position;
    let written = view.write(&shared.disk);
    match &written {
        Ok(bytes) => {
            let seconds = started.elapsed().as_secs_f64();
            shared.metrics.checkpoints.inc();
            tracing::info!(position, bytes, seconds, "checkpoint written");
        }
        Err(error) => tracing::error!(%error, "a checkpoint could not be written; the log is kept"),
    }
    let position = written.is_ok().then_some(position);
    let _ = shared.queue.change_blocking(move |sequencer| {
        sequencer.checkpoint_done(position);
        Ok(())
    });
}

/// Writes a standing; gives it back if the disk did not take it. Its rows stay in memory.
fn freeze(shared: &Arc<Shared>, mut standing: Freeze) -> Option<Freeze> {
    // Nothing can be recorded any more; the next start freezes it.
    if shared.broken.lock().is_some() {
        standing.reply = None;
        return Some(standing);
    }
    let (board, name) = (standing.board, standing.name.clone());
    let done = match standing.what {
        Frozen::Season(season) => freeze_season(shared, board, season, name),
        Frozen::Snapshot(snapshot) => freeze_snapshot(shared, board, snapshot, name),
    };
    let what = standing.what;
    match done {
        Ok(written) => {
            tracing::info!(board, ?what, "frozen");
            if let (Some(reply), Some(players)) = (standing.reply.take(), written) {
                let _ = reply.send(players);
            }
            // The last handle on a large standing goes here, where no caller waits.
            None
        }
        Err(error) => {
            tracing::warn!(%error, board, ?what, "a standing could not be frozen yet");
            standing.reply = None;
            Some(standing)
        }
    }
}

fn freeze_season(
    shared: &Arc<Shared>,
    board: BoardNo,
    season: SeasonNo,
    name: String,
) -> Result<Option<u64>> {
    let due = {
        let catalog = shared.catalog.read();
        let state = catalog.board_no(board);
        let found = state.zip(state.and_then(|board| board.season(season)));
        // Its board may be gone, or an import in its place.
        found.and_then(|(state, season)| {
            let live = Arc::clone(season.live()?);
            let goal = folded_goal(state, &season);
            Some((live, season.closed?, goal, season.span.starts_at))
        })
    };
    let Some((live, closed, goal, starts_at)) = due else {
        return Ok(None);
    };
    let before = Before::of(shared, board, (season, starts_at));
    let before = before.map_err(|error| unwritable(&error))?;
    let view = live.write().begin_view();
    let streaks = goal.map(|goal| (goal, &before));
    let written = Writing { live: &live, view, ties: closed.ties, streaks }.write(shared, name);
    Live::end_view(&live, view);
    let file = written.map_err(|error| unwritable(&error))?;
    let file = FrozenFile { erasures: closed.erasures, ..file };
    shared.queue.change_blocking(move |s| s.freeze_done(board, season, file))?;
    Ok(None)
}

fn freeze_snapshot(
    shared: &Arc<Shared>,
    board: BoardNo,
    snapshot: AsOfNo,
    name: String,
) -> Result<Option<u64>> {
    let due = {
        let catalog = shared.catalog.read();
        catalog.board_no(board).and_then(|board| board.pending_snapshot(snapshot).cloned())
    };
    let Some(pending) = due else {
        return Ok(None);
    };
    let written = match &pending.source {
        PendingSource::View(live, view) => {
            Writing { live, view: *view, ties: pending.ties, streaks: None }.write(shared, name)
        }
        PendingSource::File(file) => shared.frozen.get(file).and_then(|old| {
            freeze::rewrite(shared, &old, name, file, |_, text| {
                Ok(if text.player.is_empty() { Keep::Place } else { Keep::Row })
            })
        }),
    };
    let file = written.map_err(|error| unwritable(&error))?;
    let file = FrozenFile { erasures: pending.erasures, ..file };
    let players = file.players;
    shared.queue.change_blocking(move |s| s.store_snapshot(board, snapshot, file))?;
    Ok(Some(players))
}

/// A new file with what stays of the one that it replaces.
pub(crate) fn replacing(old: &FrozenFile, new: FrozenFile) -> FrozenFile {
    let FrozenFile { imported, carries, erasures, .. } = *old;
    FrozenFile { imported, carries, erasures, ..new }
}

fn write_import(shared: &Arc<Shared>, import: &Import) -> Result<u64> {
    let Import { board, begun, target, importing, rows, names, official_ranks, .. } = import;
    let begun = *begun;
    // Who is erased from here on is hidden by the file's own number.
    let (hidden, erasures) = {
        let catalog = shared.catalog.read();
        (Hidden::since(catalog.erased(), importing.erasures), catalog.next_erasure())
    };
    let hides = |player: &str| hidden.as_ref().is_some_and(|hidden| hidden.contains(player));
    let gone = hidden.iter().flat_map(Hidden::iter).filter(|player| rows.get(player).is_some());
    let players = rows.len() - gone.count() as u64;
    let (id, wanted) = (board.clone(), target.clone());
    let Prepared { board: no, season, name, goal, ties } =
        shared.queue.change_blocking(move |s| s.prepare_import(&id, begun, &wanted))?;
    // Streaks go on from the season before, in a season.
    let before = match season {
        Some(season) => Before::of(shared, no, season).map_err(|error| unwritable(&error))?,
        None => Before::none(),
    };
    let file = archive::write(&shared.disk, name, ties, players, |writer| {
        let mut failed = Ok(());
        rows.scan(standings_core::Position(0), |player: &str, record| {
            if hides(player) {
                return std::ops::ControlFlow::Continue(());
            }
            let streak = match goal {
                Some(goal) if record.key.folded <= goal => before.streak(player).map(|n| n + 1),
                _ => Ok(0),
            };
            failed = streak.and_then(|streak| {
                writer.push(FrozenRow {
                    player,
                    name: names.get(player).map(Name::as_str),
                    record,
                    streak,
                    official_rank: official_ranks.get(player).copied(),
                })
            });
            match failed {
                Ok(()) => std::ops::ControlFlow::Continue(()),
                Err(_) => std::ops::ControlFlow::Break(()),
            }
        });
        failed
    });
    let file = file.map_err(|error| unwritable(&error))?;
    let carries = before.closed;
    let file = FrozenFile { imported: true, carries, erasures, ..file };
    let (board, target) = (board.clone(), target.clone());
    shared.queue.change_blocking(move |s| s.finish_import(&board, begun, &target, &file))?;
    Ok(players)
}
