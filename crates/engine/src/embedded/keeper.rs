//! The thread that writes large files in the background: checkpoints and frozen standings.
//!
//! One job at a time, in order. A job ends with a call on the sequencer, which logs what the new file means; until that
//! record is durable the file is nothing, and a crash leaves at most a file that the next start removes.

use std::{
    collections::HashMap,
    io,
    ops::ControlFlow,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use compact_str::CompactString;
use parking_lot::RwLock;
use standings_core::{
    BoardId, Name, PlayerId, Position, RankIndex, Record as Row, SeasonId, standing::Standing,
};
use tokio::sync::oneshot;

use super::{
    Shared, backup,
    catalog::Rows,
    checkpoint::View,
    frozen::{self, FrozenWriter},
    live::Live,
    out_of_order,
    reads::unwritable,
    record::{BoardNo, FrozenFile, SeasonNo},
    sequencer::Sequencer,
};
use crate::{
    error::{EngineError, Result},
    types::BackupInfo,
};

/// Rows read under one lock while a season is written.
const SCAN_ROWS: usize = 2048;
/// How long to wait before a file that could not be written is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Something to write.
pub(crate) enum Job {
    /// A checkpoint. It begins only now, so that nothing is kept for it while other jobs run; the last one before the
    /// end was begun by the sequencer, which is gone by then.
    Checkpoint(Option<View>),
    /// A season that has closed.
    Freeze(Freeze),
    /// A closed season without one player.
    Remove {
        board: BoardNo,
        season: SeasonNo,
        player: PlayerId,
        reply: oneshot::Sender<Result<()>>,
    },
    /// A closed season from elsewhere.
    Import {
        board: BoardId,
        season: SeasonId,
        rows: Box<RankIndex>,
        names: HashMap<PlayerId, Name>,
        reply: oneshot::Sender<Result<u64>>,
    },
    /// A copy of everything. As a job, so that no other file comes or goes meanwhile.
    Backup { to: PathBuf, reply: oneshot::Sender<Result<BackupInfo>> },
    /// No more jobs will come.
    Stop,
}

/// A closed season to be written.
pub(crate) struct Freeze {
    pub(crate) board: BoardNo,
    pub(crate) season: SeasonNo,
    pub(crate) live: Arc<RwLock<Live>>,
    pub(crate) name: String,
}

impl Freeze {
    /// Whether the season is still to be written: its board may be gone, or an import in its place.
    fn is_due(&self, shared: &Shared) -> bool {
        let catalog = shared.catalog.read();
        let live = catalog.live(self.board, self.season);
        live.is_some_and(|live| Arc::ptr_eq(live, &self.live))
    }
}

/// Works until there is nothing more to come.
pub(crate) fn run(shared: &Arc<Shared>, jobs: &Receiver<Job>) {
    // Seasons that the disk did not take. They are tried again and hold up nothing else: someone may be waiting.
    let mut refused: Vec<Freeze> = Vec::new();
    let mut retry_at = Instant::now();
    loop {
        let wait = retry_at.saturating_duration_since(Instant::now());
        let job = if refused.is_empty() {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(wait)
        };
        match job {
            Ok(Job::Checkpoint(view)) => checkpoint(shared, view),
            Ok(Job::Freeze(season)) => refused.extend(freeze(shared, season)),
            Ok(Job::Remove { board, season, player, reply }) => {
                let _ = reply.send(remove(shared, board, season, &player));
            }
            Ok(Job::Import { board, season, rows, names, reply }) => {
                let _ = reply.send(import(shared, &board, &season, &rows, &names));
            }
            Ok(Job::Backup { to, reply }) => {
                let _ = reply.send(backup::backup(shared, &to));
            }
            // What is left the next start finds closed, and freezes.
            Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !refused.is_empty() && Instant::now() >= retry_at {
            refused = refused.into_iter().filter_map(|season| freeze(shared, season)).collect();
            retry_at = Instant::now() + RETRY_AFTER;
        }
    }
}

fn checkpoint(shared: &Arc<Shared>, view: Option<View>) {
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

/// Writes a closed season; gives it back if the disk did not take it. Its rows stay in memory and readable.
fn freeze(shared: &Arc<Shared>, season: Freeze) -> Option<Freeze> {
    if !season.is_due(shared) {
        return None;
    }
    // Nothing can be recorded any more; the next start freezes it.
    if shared.broken.lock().is_some() {
        return Some(season);
    }
    let Freeze { board, season: no, live, name } = &season;
    let (board, no) = (*board, *no);
    let done = match write_live(shared, live, name) {
        Ok(file) => shared.queue.change_blocking(move |s| s.freeze_done(board, no, file)),
        Err(error) => Err(unwritable(&error)),
    };
    match done {
        Ok(()) => {
            tracing::info!(board, season = no, "season frozen");
            // The last handle on a large standing goes here, where it keeps nobody waiting.
            None
        }
        Err(error) => {
            tracing::warn!(%error, board, season = no, "a season could not be frozen yet");
            Some(season)
        }
    }
}

fn write_live(shared: &Shared, live: &RwLock<Live>, name: &str) -> io::Result<FrozenFile> {
    let players = live.read().players();
    frozen::write(&shared.disk, name.to_owned(), players, |writer| {
        let mut last = None;
        loop {
            let rows = live.read().rows_after(last.as_ref(), SCAN_ROWS);
            push_rows(shared, writer, &rows)?;
            match rows.into_iter().next_back() {
                Some(row) => last = Some(row),
                None => return Ok(()),
            }
        }
    })
}

/// Writes rows with the names that the players have now.
fn push_rows(
    shared: &Shared,
    writer: &mut FrozenWriter<'_>,
    rows: &[(CompactString, Row)],
) -> io::Result<()> {
    for (player, record) in rows {
        let profile = match PlayerId::new(player) {
            Ok(id) => shared.history.profile_uncached(&id).map_err(io::Error::other)?,
            Err(_) => None,
        };
        let name = profile.as_ref().and_then(|profile| profile.name.as_deref());
        writer.push(player, name, *record)?;
    }
    Ok(())
}

fn remove(shared: &Arc<Shared>, board: BoardNo, season: SeasonNo, player: &PlayerId) -> Result<()> {
    let current = {
        let catalog = shared.catalog.read();
        let season = catalog.board_no(board).and_then(|board| board.season(season));
        match season.map(|season| season.rows.clone()) {
            Some(Rows::Frozen(file)) => file,
            // Jobs run in order, so it was to be frozen before this, and the disk did not take it.
            Some(Rows::Live(_)) => return Err(out_of_order("the season is still being written")),
            // Its board has been deleted.
            None => return Err(EngineError::UnknownPlayer(player.clone())),
        }
    };
    let old = shared.frozen.get(&current).map_err(|error| unwritable(&error))?;
    let found = old.find(player).map_err(|error| unwritable(&error))?;
    let Some(found) = found else { return Err(EngineError::UnknownPlayer(player.clone())) };
    let name = shared.queue.change_blocking(move |s| Ok(s.new_name(board, season)))?;
    let file = frozen::write(&shared.disk, name, current.players - 1, |writer| {
        let mut position = 0;
        let mut failed = Ok(());
        old.visit(Position(0), &mut |id, record| {
            if position != found.position.0 {
                failed = old
                    .name_at(Position(position))
                    .and_then(|name| writer.push(id, name.as_deref(), record));
            }
            position += 1;
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        failed
    });
    let file = file.map_err(|error| unwritable(&error))?;
    let file = FrozenFile { imported: current.imported, ..file };
    let player = player.clone();
    shared.queue.change_blocking(move |s| s.frozen(board, season, file, Some(player)))
}

fn import(
    shared: &Arc<Shared>,
    board: &BoardId,
    season: &SeasonId,
    rows: &RankIndex,
    names: &HashMap<PlayerId, Name>,
) -> Result<u64> {
    let players = rows.len();
    let (id, season_id) = (board.clone(), season.clone());
    let name = shared.queue.change_blocking(move |sequencer| {
        let (board, season, ..) = sequencer.place_import(&id, &season_id)?;
        Ok(sequencer.new_name(board, season))
    })?;
    let file = frozen::write(&shared.disk, name, players, |writer| {
        let mut failed = Ok(());
        rows.scan(Position(0), |player: &str, record: Row| {
            failed = writer.push(player, names.get(player).map(Name::as_str), record);
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        failed
    });
    let file = file.map_err(|error| unwritable(&error))?;
    let file = FrozenFile { imported: true, ..file };
    let (board, season) = (board.clone(), season.clone());
    shared.queue.change_blocking(move |s| s.import_season(&board, &season, file))?;
    Ok(players)
}
