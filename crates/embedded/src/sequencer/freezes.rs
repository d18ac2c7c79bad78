//! Standings that are frozen, have been written, or are to go.

use std::sync::Arc;

use standings_core::{BoardId, LocalDate, Millis, PlayerId, SeasonId};
use tokio::sync::oneshot;

use super::Sequencer;
use crate::{
    catalog::{BoardState, Rows},
    keeper::Frozen,
    record::{BoardNo, ErasureNo, FrozenFile, LogRecord, SeasonNo, SnapshotNo, Taken},
};
use standings_engine::{EngineError, Result, SnapshotInfo};

/// What a snapshot of one date is of.
pub(super) fn taken(
    board: &BoardState,
    season: SeasonNo,
    season_id: SeasonId,
    date: LocalDate,
    at: Millis,
) -> Taken {
    let (goal, official) =
        (board.definition.goal(), board.definition.snapshots().map_or(0, |policy| policy.official));
    let (dates, snapshot) = (vec![(date, at)], board.snapshots.next());
    Taken { board: board.no, snapshot, season, season_id, dates, goal, official }
}

impl Sequencer {
    /// A closed season's rows are in a file now, unless others have been put in their place meanwhile.
    pub(crate) fn freeze_done(
        &mut self,
        board: BoardNo,
        season: SeasonNo,
        file: FrozenFile,
    ) -> Result<()> {
        if self.shared.catalog.read().live(board, season).is_none() {
            self.shared.discard(&file);
        } else {
            self.frozen(board, season, file, None)?;
        }
        Ok(())
    }

    /// A snapshot is in this file from now on, whatever it was in before.
    pub(crate) fn store_snapshot(
        &mut self,
        board: BoardNo,
        snapshot: SnapshotNo,
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

    /// Takes a snapshot of the current season now, for today.
    pub(crate) fn take_snapshot(
        &mut self,
        id: &BoardId,
        reply: oneshot::Sender<Result<SnapshotInfo>>,
    ) {
        match self.take(id) {
            Ok((board, snapshot, None)) => {
                self.freeze(board, Frozen::Snapshot(snapshot), Some(reply));
            }
            Ok((.., Some(info))) => drop(reply.send(Ok(info))),
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    /// Marks a snapshot; of a board without players it is done at once.
    fn take(&mut self, id: &BoardId) -> Result<(BoardNo, SnapshotNo, Option<SnapshotInfo>)> {
        let now = self.shared.clock.now();
        let (taken, empty) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let season = &board.seasons[board.current(now)];
            let date = board.definition.local_date(now);
            (taken(board, season.no, season.span.id.clone(), date, now), season.is_empty())
        };
        let (board, snapshot, date) = (taken.board, taken.snapshot, taken.dates[0].0);
        let mut records = vec![LogRecord::SnapshotTaken(taken)];
        if empty {
            let file = Box::default();
            records.push(LogRecord::SnapshotFrozen { board, snapshot, file });
        }
        self.commit(records)?;
        self.schedule(board);
        Ok((board, snapshot, empty.then_some(SnapshotInfo { date, players: 0 })))
    }

    pub(crate) fn erase_player(&mut self, player: PlayerId) -> Result<()> {
        let erasure = self.shared.catalog.read().next_erasure();
        let at = self.shared.clock.now();
        self.commit(vec![LogRecord::PlayerErased { player, erasure, at }])
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
        self.disturbed.insert(board, self.shared.clock.now());
        self.commit(vec![LogRecord::SeasonDropped { board, season }])?;
        self.schedule(board);
        self.discard(&[file]);
        Ok(())
    }

    pub(crate) fn erasures_purged(&mut self, before: ErasureNo) -> Result<()> {
        self.commit(vec![LogRecord::ErasuresPurged { before }])
    }
}
