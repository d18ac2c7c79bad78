//! Clearing away for good what is past its time: seasons beyond their keep, old event ids, erased players.
//!
//! Reads stop showing such things at once, by a record in the log. This is the rest, in the background and without haste: a
//! crash at any point leaves work that is found and done again.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use standings_core::{IndexRecord, PlayerId, SeasonSpan, best::Best};

use crate::{
    Shared,
    files::archive,
    history::{HistoryError, Present},
    operations::{
        freeze::{self, Keep},
        keeper::{Frozen, replacing},
    },
    out_of_order,
    record::{BoardNo, ErasureNo, FrozenFile, SeasonNo},
    state::{
        catalog::{BoardState, Rows},
        erasures::Hidden,
    },
    write::Sequencer,
};
use standings_engine::EngineError;

/// How long the history may take to catch up before something is left for the next time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why something is left for the next time.
#[derive(Debug, thiserror::Error)]
enum Left {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Keeps the bests of expired seasons, clears away their events, and drops them.
pub(crate) fn retire(shared: &Arc<Shared>, seasons: &[(BoardNo, SeasonNo)]) {
    if let Err(error) = try_retire(shared, seasons) {
        tracing::warn!(%error, "expired seasons are not dropped yet");
    }
}

fn try_retire(shared: &Arc<Shared>, seasons: &[(BoardNo, SeasonNo)]) -> Result<(), Left> {
    let mut due = Vec::new();
    for &(board, season) in seasons {
        let Some((file, span)) = expired(shared, board, season) else { continue };
        due.push((board, season, file, span));
    }
    if due.is_empty() {
        return Ok(());
    }
    // All that they had must be where it is cleared away, and an erasure on its way there would take bests that are kept now for older.
    let position = shared.queue.change_blocking(Sequencer::flush)?;
    catch_up(shared, position)?;
    let mut retired = Ok(());
    for (board, season, file, span) in due {
        if shared.stopping() {
            break;
        }
        if let Err(error) = retire_one(shared, (board, season), &file, &span) {
            retired = Err(error);
        }
    }
    retired
}

/// The file and the span of a season that is expired and written.
fn expired(
    shared: &Shared,
    board: BoardNo,
    season: SeasonNo,
) -> Option<(Arc<FrozenFile>, SeasonSpan)> {
    let catalog = shared.catalog.read();
    let season = catalog.board_no(board)?.season(season).filter(|season| season.expired)?;
    match &season.rows {
        Rows::Frozen(file) => Some((Arc::clone(file), season.span.clone())),
        Rows::Live(_) => None,
    }
}

fn retire_one(
    shared: &Arc<Shared>,
    place: (BoardNo, SeasonNo),
    file: &FrozenFile,
    span: &SeasonSpan,
) -> Result<(), Left> {
    let (board, season) = place;
    let hidden = || Hidden::since(shared.catalog.read().erased(), file.erasures);
    let frozen = shared.frozen.get(file)?;
    let players = |visit: &mut dyn FnMut(&str, &IndexRecord) -> Result<(), HistoryError>| {
        frozen.rows(|record, text| {
            // Where someone was erased there is only a place.
            let seen = !text.player.is_empty();
            if seen { visit(&text.player, &record).map_err(io::Error::other) } else { Ok(()) }
        })
    };
    shared.history.keep_bests(board, hidden, |keep| {
        players(&mut |player, record| {
            let (folded, starts_at, season) = (record.key.folded, span.starts_at, span.id.clone());
            keep(player, Best { folded, starts_at, season })
        })
        .map_err(Left::from)
    })?;
    shared.history.clear_season(place, archive::named_at(&file.name), |clear| {
        players(&mut |player, _| clear(player)).map_err(Left::from)
    })?;
    shared.queue.change_blocking(move |s| s.season_retired(board, season))?;
    Ok(())
}

/// Clears away all that is due. Each step is taken whatever became of those before it: one file that cannot be read must not
/// keep everything else for ever. What needs no space to give some back comes first.
pub(crate) fn purge(shared: &Arc<Shared>) {
    let attempt = |step: fn(&Arc<Shared>) -> Result<(), Left>| {
        if let Err(error) = step(shared) {
            tracing::warn!(%error, "clearing away is left for the next time");
        }
    };
    shared.discard_again();
    attempt(expire_ids);
    retire_expired(shared);
    attempt(clear_gone);
    attempt(purge_erased);
    if shared.catalog.read().traces {
        // With a new checkpoint the log drops its segments from before.
        let _ = shared.queue.change_blocking(|s| {
            s.ask_checkpoint();
            Ok(())
        });
    }
}

fn expire_ids(shared: &Arc<Shared>) -> Result<(), Left> {
    Ok(shared.history.expire_ids(shared.clock.now())?)
}

/// Drops the seasons that could not be dropped when they expired.
fn retire_expired(shared: &Arc<Shared>) {
    let expired: Vec<(BoardNo, SeasonNo)> = {
        let catalog = shared.catalog.read();
        let boards = catalog.boards();
        let slots = boards.flat_map(|b| b.timeline.slots().iter().map(|slot| (b.no, slot)));
        slots.filter(|(_, slot)| slot.expired).map(|(board, slot)| (board, slot.no)).collect()
    };
    retire(shared, &expired);
}

/// Clears away what is left of boards that are gone, and of seasons that went with the rules that they had.
fn clear_gone(shared: &Arc<Shared>) -> Result<(), Left> {
    let gone = shared.catalog.read().gone();
    if shared.history.cleared()? != gone {
        // What is gone must not come back with a power cut, and its last events must be where they are cleared away.
        let position = shared.queue.change_blocking(Sequencer::flush)?;
        catch_up(shared, position)?;
        let present = present(&shared.catalog.read());
        shared.history.clear_gone(&present, gone, || shared.stopping())?;
    }
    Ok(())
}

/// Waits until the history has all records before a position.
fn catch_up(shared: &Arc<Shared>, position: u64) -> Result<(), Left> {
    let started = Instant::now();
    while shared.history.position() < position {
        // Without room it does not move, and other steps need not wait for that one after the other.
        shared.history.room_for(0)?;
        let failed = shared.history.has_failed();
        if failed || shared.stopping() || started.elapsed() > PATIENCE {
            return Err(out_of_order("the history is behind").into());
        }
        shared.history.hurry();
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn present(catalog: &crate::state::catalog::Catalog) -> Present {
    let seasons = |board: &BoardState| board.timeline.slots().iter().map(|slot| slot.no).collect();
    let boards =
        catalog.boards().map(|board| (board.no, (board.timeline.next_no(), seasons(board))));
    Present { next_board: catalog.next_board(), boards: boards.collect() }
}

/// Takes what is left of erased players out of every file.
fn purge_erased(shared: &Arc<Shared>) -> Result<(), Left> {
    // Who may still be in something that is yet to be written, or is being imported, must be known until that is done.
    let (erased, before) = {
        let catalog = shared.catalog.read();
        let importing = shared.importing.lock().iter().copied().min();
        let before = catalog.settled_erasures().min(importing.unwrap_or(ErasureNo::MAX));
        let erased = catalog.erased().iter().filter(|(_, erased)| erased.number < before);
        (erased.map(|(who, erased)| (who.clone(), *erased)).collect::<HashMap<_, _>>(), before)
    };
    if erased.is_empty() {
        return Ok(());
    }
    // One that cannot be written anew does not keep what is elsewhere.
    let mut blanked = Ok(());
    for (board, what, file) in files(shared) {
        let hidden: HashSet<PlayerId> = erased
            .iter()
            .filter(|(_, erased)| erased.number >= file.erasures)
            .map(|(player, _)| player.clone())
            .collect();
        if let Err(error) = blank(shared, board, what, &file, &hidden, before) {
            tracing::warn!(%error, file = file.name, "erased players cannot be taken out yet");
            blanked = Err(error);
        }
    }
    // The history must have seen the erasures before it is asked to forget what is left.
    let (_, position) = shared.queue.change_blocking(Sequencer::seal)?;
    catch_up(shared, position)?;
    shared.history.clear_erased(before)?;
    if blanked.is_ok() {
        shared.history.forget_erasures(before)?;
    }
    shared.history.compact_all()?;
    // Whom a file may still name must be known, and hidden, until it does not.
    blanked?;
    shared.queue.change_blocking(move |s| s.erasures_purged(before))?;
    tracing::info!(players = erased.len(), "nothing is left of erased players");
    Ok(())
}

/// All frozen standings.
fn files(shared: &Shared) -> Vec<(BoardNo, Frozen, Arc<FrozenFile>)> {
    let catalog = shared.catalog.read();
    let mut files = Vec::new();
    for board in catalog.boards() {
        for slot in board.timeline.slots() {
            if let Rows::Frozen(file) = &slot.data.rows {
                files.push((board.no, Frozen::Season(slot.no), Arc::clone(file)));
            }
        }
        let mut seen = HashSet::new();
        for snapshot in &board.snapshots {
            if let Some(file) = snapshot.file().filter(|file| seen.insert(file.name.clone())) {
                files.push((board.no, Frozen::Snapshot(snapshot.of.no), Arc::clone(file)));
            }
        }
    }
    files.retain(|(_, _, file)| !file.name.is_empty());
    files
}

/// Writes a file anew without the ids and names of players, if it has any of them.
fn blank(
    shared: &Arc<Shared>,
    board: BoardNo,
    what: Frozen,
    file: &Arc<FrozenFile>,
    hidden: &HashSet<PlayerId>,
    before: ErasureNo,
) -> Result<(), Left> {
    let old = shared.frozen.get(file)?;
    let mut found = false;
    for player in hidden {
        found = found || old.row_of(player)?.is_some();
    }
    if !found {
        return Ok(());
    }
    let number = match what {
        Frozen::Season(number) | Frozen::Snapshot(number) => number,
    };
    let name = shared.queue.change_blocking(move |s| Ok(s.new_name(board, number)))?;
    let new = freeze::rewrite(shared, &old, name, file, |_, text| {
        let gone = text.player.is_empty() || hidden.contains(text.player.as_str());
        Ok(if gone { Keep::Place } else { Keep::Row })
    })?;
    let new = FrozenFile { erasures: before, blanked: true, ..replacing(file, new) };
    let old = Arc::clone(file);
    shared.queue.change_blocking(move |s| s.rewritten(board, what, &old, &new))?;
    Ok(())
}
