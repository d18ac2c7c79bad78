//! Standings that are frozen, have been written, or are to go.

use std::sync::Arc;

use standings_core::{BoardId, LocalDate, PlayerId};
use tokio::sync::oneshot;

use crate::write::{
    Sequencer,
    seasons::{emptied, season as season_record},
};
use crate::{
    operations::keeper::Frozen,
    out_of_order,
    read::board::unwritable,
    record::{AsOfNo, BoardNo, ErasureNo, FrozenFile, LogRecord, SeasonNo, Transition},
    state::{
        catalog::{BoardState, Rows},
        erasures::Erased,
    },
};
use standings_engine::{EngineError, Result};

impl Sequencer {
    /// A closed season's rows are in a file now, unless others have been put in their place meanwhile.
    pub(crate) fn freeze_done(
        &mut self,
        board: BoardNo,
        season: SeasonNo,
        file: FrozenFile,
    ) -> Result<()> {
        let removed = self.removed.get(&(board, season)).cloned().unwrap_or_default();
        if self.shared.catalog.read().live(board, season).is_none() {
            self.shared.discard(&file);
        } else {
            let file = self.without(file, &removed)?;
            self.frozen(board, season, file, None)?;
        }
        self.removed.remove(&(board, season));
        Ok(())
    }

    /// A file without the players who were taken off while it was written.
    fn without(&self, file: FrozenFile, players: &[PlayerId]) -> Result<FrozenFile> {
        let mut without = file;
        for player in players {
            let open = self.shared.frozen.get(&without).map_err(|error| unwritable(&error))?;
            let row = open.row_of(player).map_err(|error| unwritable(&error))?;
            if let Some((position, record, text)) = row {
                let next = without.without(position, record.key.folded, text.streak);
                self.shared.frozen.close(&without);
                without = next;
            }
        }
        Ok(without)
    }

    /// A player is taken off a season that is in this file, at this place. Whether it still was.
    pub(crate) fn remove_row(
        &mut self,
        board: BoardNo,
        season: SeasonNo,
        (from, without): (&FrozenFile, FrozenFile),
        player: PlayerId,
    ) -> Result<bool> {
        let is_current = {
            let catalog = self.shared.catalog.read();
            let file = catalog.board_no(board).and_then(|b| b.file(Frozen::Season(season)));
            file.is_some_and(|file| **file == *from)
        };
        if is_current {
            self.frozen(board, season, without, Some(player))?;
            self.shared.frozen.close(from);
        }
        Ok(is_current)
    }

    /// A snapshot is in this file from now on, whatever it was in before.
    pub(crate) fn store_snapshot(
        &mut self,
        board: BoardNo,
        snapshot: AsOfNo,
        file: FrozenFile,
    ) -> Result<()> {
        let mut old: Vec<_> = {
            let catalog = self.shared.catalog.read();
            catalog.board_no(board).into_iter().flat_map(BoardState::files).cloned().collect()
        };
        // A later one of the same date may have been written before it, or the date dropped.
        old.push(Arc::new(file.clone()));
        if self.shared.catalog.read().board_no(board).is_none() {
            self.shared.discard(&file);
            return Ok(());
        }
        self.commit(vec![LogRecord::SnapshotFrozen { board, snapshot, file: Box::new(file) }])?;
        self.schedule(board);
        self.discard(&old);
        Ok(())
    }

    /// A season's rows are in a file now, and the file is durable. Whatever else changed with it is in the same group.
    pub(crate) fn frozen(
        &mut self,
        board: BoardNo,
        season: SeasonNo,
        file: FrozenFile,
        removed: Option<PlayerId>,
    ) -> Result<()> {
        let old = {
            let catalog = self.shared.catalog.read();
            let found = catalog.board_no(board).and_then(|board| board.season(season));
            match found.map(|season| season.rows.clone()) {
                // The board was deleted meanwhile.
                None => {
                    self.shared.discard(&file);
                    return Ok(());
                }
                Some(Rows::Frozen(old)) => Some(old),
                Some(Rows::Live(_)) => None,
            }
        };
        let mut records = Vec::new();
        if let Some(player) = removed {
            let at = self.shared.clock.now();
            records.push(LogRecord::EntryRemoved { board, season, player, at });
        }
        records.push(LogRecord::SeasonFrozen { board, season, file: Box::new(file) });
        self.commit(records)?;
        self.schedule(board);
        self.discard(&Vec::from_iter(old));
        Ok(())
    }

    /// A file was written anew, and is durable. Where another has taken its place meanwhile, that one stays.
    pub(crate) fn rewritten(
        &mut self,
        board: BoardNo,
        what: Frozen,
        old: &FrozenFile,
        new: &FrozenFile,
    ) -> Result<()> {
        let is_current = {
            let catalog = self.shared.catalog.read();
            let file = catalog.board_no(board).and_then(|board| board.file(what));
            file.is_some_and(|file| **file == *old)
        };
        if !is_current {
            self.shared.discard(new);
            return Err(out_of_order("another file has taken the place of one that was rewritten"));
        }
        let done = match what {
            Frozen::Season(season) => self.frozen(board, season, new.clone(), None),
            Frozen::Snapshot(snapshot) => self.store_snapshot(board, snapshot, new.clone()),
        };
        self.unless_done(&done, new);
        done
    }

    /// Removes a file that was to be named by a record, if that failed.
    pub(super) fn unless_done(&self, done: &Result<()>, file: &FrozenFile) {
        match done {
            // The record that names it may be there after a restart.
            Ok(()) | Err(EngineError::OutcomeUnknown { .. }) => {}
            Err(_) => self.shared.discard(file),
        }
    }

    /// Takes a snapshot of the current season now, for today. Its players follow when it is written; of a board without any that
    /// is at once.
    pub(crate) fn take_snapshot(
        &mut self,
        id: &BoardId,
    ) -> Result<(LocalDate, oneshot::Receiver<u64>)> {
        let now = self.now_on(id)?;
        let (board, snapshot, date, taken, emptied) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let as_of = board.timeline.as_of_now(&board.definition, now);
            let (no, date) = (as_of.no, as_of.dates[0].0);
            let taken = Transition::AsOf(as_of);
            let emptied = emptied(board, &taken);
            (board.no, no, date, season_record(board.no, taken), emptied)
        };
        let empty = emptied.is_some();
        self.commit([taken].into_iter().chain(emptied).collect())?;
        self.schedule(board);
        let (reply, written) = oneshot::channel();
        if empty {
            let _ = reply.send(0);
        } else {
            self.freeze(board, Frozen::Snapshot(snapshot), Some(reply));
        }
        Ok((date, written))
    }

    /// Takes a player off the boards on which there are events, or scores that were set. What that costs does not depend on other boards.
    pub(crate) fn erase_player(&mut self, player: PlayerId) -> Result<()> {
        let mut boards = self.shared.read_history(|history| history.boards_of(&player))?;
        let erased = {
            let catalog = self.shared.catalog.read();
            boards.extend(catalog.boards().filter(|board| board.imported).map(|board| board.no));
            Erased { number: catalog.next_erasure(), at: self.shared.clock.now() }
        };
        let (who, Erased { number: erasure, at }) = (player.clone(), erased);
        let group = self.log(vec![LogRecord::PlayerErased { player, erasure, at }])?;
        let boards = Vec::from_iter(boards);
        self.shared.catalog.write().erase(&who, erased, &boards);
        if let Some(group) = group {
            self.publish_group(group);
        }
        Ok(())
    }

    /// The bests of an expired season are kept; the rest may go.
    pub(crate) fn season_retired(&mut self, board: BoardNo, season: SeasonNo) -> Result<()> {
        let file = {
            let catalog = self.shared.catalog.read();
            let found = catalog.board_no(board).and_then(|board| board.season(season));
            match found.map(|season| (season.expired, season.rows.clone())) {
                Some((true, Rows::Frozen(file))) => file,
                _ => return Ok(()),
            }
        };
        self.commit(vec![season_record(board, Transition::Drop(season))])?;
        self.schedule(board);
        self.discard(&[file]);
        Ok(())
    }

    pub(crate) fn erasures_purged(&mut self, before: ErasureNo) -> Result<()> {
        self.commit(vec![LogRecord::ErasuresPurged { before }])
    }
}
