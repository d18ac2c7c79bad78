//! Rare changes, each decided, logged and published on its own between two groups.

use std::sync::Arc;

use standings_core::{Board, BoardId, KeyName, Millis, PlayerId, SeasonId};

use super::{Sequencer, seasons::opened};
use crate::{
    erasures::Hidden,
    frozen,
    keeper::Frozen,
    log::Segment,
    record::{BoardNo, FrozenFile, LogRecord, SeasonNo},
};
use standings_engine::{
    EngineError, FirstStart, Initialised, KeyHash, Put, Result, Role, SeasonRef,
};

/// What taking a player off a season leads to.
pub(crate) enum Removal {
    /// It is done.
    Done,
    /// The season is in a file: the player's row must be found first.
    Frozen { board: BoardNo, season: SeasonNo },
}

impl Sequencer {
    /// A name for a frozen file that was never used before. Files of an earlier run have a record, and so a lower number,
    /// or were removed at the start; those of this run are counted.
    pub(crate) fn new_name(&mut self, board: BoardNo, season: SeasonNo) -> String {
        self.names_given += 1;
        frozen::name(board, season, self.log.next_seq(), self.names_given)
    }

    /// Ends the segment that is being written, and names all that are complete and the record after them.
    pub(crate) fn seal(&mut self) -> Result<(Vec<String>, u64)> {
        self.log.roll().map_err(|error| self.failed(&error))?;
        self.shared.history.release(self.log.durable_seq());
        let mut segments = self.log.segments();
        // The last one is the new, empty one.
        segments.pop();
        Ok((segments.iter().map(Segment::path).collect(), self.log.next_seq()))
    }

    /// Makes everything durable that was written, and names the record after it.
    pub(crate) fn flush(&mut self) -> Result<u64> {
        self.sync()?;
        Ok(self.log.next_seq())
    }

    pub(crate) fn put_board(&mut self, id: &BoardId, definition: &Board) -> Result<Put> {
        let now = self.shared.clock.now();
        let (put, board) = {
            let catalog = self.shared.catalog.read();
            match catalog.board(id) {
                Some(board) => {
                    let changed = board.definition.change(definition, catalog.has_scores(board));
                    changed.map_err(|error| EngineError::ImmutableSetting(error.field))?;
                    if *definition != *board.definition {
                        self.disturbed.insert(board.no, now);
                    }
                    (Put::Changed, board.no)
                }
                None => (Put::Created, catalog.next_board()),
            }
        };
        let put_board = LogRecord::BoardPut {
            board,
            id: id.clone(),
            definition: definition.to_json(),
            at: now,
        };
        let mut records = vec![put_board];
        if put == Put::Created {
            // With its first season at once: a board without one answers nothing.
            records.push(opened(board, 0, &definition.season_at(now)));
        } else {
            records.extend(self.reopen(id, definition, now));
        }
        self.commit(records)?;
        self.schedule(board);
        Ok(put)
    }

    /// Where a board without scores changes what they would mean, it starts anew: with the season of the new schedule,
    /// and apart from the events of players who were taken off, which were decided by the old rule.
    fn reopen(&self, id: &BoardId, definition: &Board, now: Millis) -> Vec<LogRecord> {
        let catalog = self.shared.catalog.read();
        let Some(board) = catalog.board(id) else { return Vec::new() };
        if catalog.has_scores(board) || board.definition.change(definition, true).is_ok() {
            return Vec::new();
        }
        let span = definition.season_at(now);
        // No season has a score, so nothing is lost with them.
        let mut records: Vec<LogRecord> = board
            .seasons
            .iter()
            .map(|season| LogRecord::SeasonDropped { board: board.no, season: season.no })
            .collect();
        records.push(opened(board.no, board.next_season, &span));
        records
    }

    pub(crate) fn delete_board(&mut self, id: &BoardId) -> Result<()> {
        let (board, files) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            (board.no, board.files().cloned().collect::<Vec<_>>())
        };
        self.commit(vec![LogRecord::BoardDeleted { board }])?;
        self.schedule(board);
        self.discard(&files);
        Ok(())
    }

    /// Removes files that the last record took out of use. With durability `interval` that record may not be durable yet,
    /// and a power cut must not leave a record that names a file which is gone.
    pub(crate) fn discard(&mut self, files: &[Arc<FrozenFile>]) {
        if files.is_empty() || self.sync().is_err() {
            return;
        }
        for file in files {
            // Snapshots of several dates may share one.
            if !self.shared.catalog.read().uses(file) {
                self.shared.discard(file);
            }
        }
    }

    pub(crate) fn remove_entry(
        &mut self,
        id: &BoardId,
        which: &SeasonRef,
        player: &PlayerId,
    ) -> Result<Removal> {
        let now = self.shared.clock.now();
        let (board, season) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let season = board.resolve(which, now).ok_or_else(|| EngineError::UnknownSeason {
                board: id.clone(),
                season: which.to_string(),
            })?;
            self.disturbed.insert(board.no, now);
            let Some(live) = season.live() else {
                return Ok(Removal::Frozen { board: board.no, season: season.no });
            };
            let erased = season.closed;
            let erased = erased.and_then(|closed| Hidden::since(catalog.erased(), closed.erasures));
            if live.read().index().get(player).is_none()
                || erased.is_some_and(|erased| erased.contains(player))
            {
                return Err(EngineError::UnknownPlayer(player.clone()));
            }
            if season.closed.is_some() {
                // It may be in the file that is being written.
                self.removed.entry((board.no, season.no)).or_default().push(player.clone());
            }
            (board.no, season.no)
        };
        let player = player.clone();
        self.commit(vec![LogRecord::EntryRemoved { board, season, player, at: now }])?;
        Ok(Removal::Done)
    }

    pub(crate) fn close_season(
        &mut self,
        id: &BoardId,
        which: Option<&SeasonId>,
    ) -> Result<(SeasonId, SeasonId)> {
        let now = self.shared.clock.now();
        let (records, board, closed, ids) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let current = &board.seasons[board.current(now)];
            let unknown = |id: &SeasonId| EngineError::UnknownSeason {
                board: board.id.clone(),
                season: id.to_string(),
            };
            let season = match which {
                None => current,
                Some(id) => {
                    let mut begun = board.begun(now);
                    begun.find(|season| season.span.id == *id).ok_or_else(|| unknown(id))?
                }
            };
            let closed = season.span.id.clone();
            if season.closed.is_some() {
                if which.is_none() {
                    // The clock was set back into a season that has been closed.
                    return Err(EngineError::Conflict(format!(
                        "season {closed} is closed already"
                    )));
                }
                // Where it was ended by hand, what followed is its next part.
                let rest = board.season_by_id(&closed.next_part()).unwrap_or(current);
                return Ok((closed, rest.span.id.clone()));
            }
            let (no, goal) = (board.no, board.definition.goal());
            let mut records = Vec::new();
            let mut next = current.span.id.clone();
            if season.no == current.no {
                let (ended, rest) = season.span.close_at(now);
                next = rest.id.clone();
                let ends_at = ended.ends_at;
                records.push(LogRecord::SeasonEnds { board: no, season: season.no, ends_at });
                records.push(opened(no, board.next_season, &rest));
            }
            records.push(LogRecord::SeasonClosed { board: no, season: season.no, goal });
            (records, no, season.no, (closed, next))
        };
        self.commit(records)?;
        self.schedule(board);
        self.freeze(board, Frozen::Season(closed), None);
        Ok(ids)
    }

    /// The first board and the first admin key, in one step.
    pub(crate) fn initialise(&mut self, first: FirstStart) -> Result<Initialised> {
        let now = self.shared.clock.now();
        let (no, done) = {
            let catalog = self.shared.catalog.read();
            let mut keys = catalog.keys();
            let admin = !keys.any(|(_, key)| key.role == Role::Admin);
            let new = catalog.next_board() == 0 && catalog.keys().next().is_none();
            (catalog.next_board(), Initialised { board: new, admin })
        };
        let mut records = Vec::new();
        if done.board {
            let (id, definition) = first.board;
            let json = definition.to_json();
            records.push(LogRecord::BoardPut { board: no, id, definition: json, at: now });
            records.push(opened(no, 0, &definition.season_at(now)));
        }
        if done.admin {
            let (name, hash) = first.admin;
            records.push(LogRecord::KeyPut { name, role: Role::Admin, hash, at: now });
        }
        self.commit(records)?;
        self.schedule(no);
        Ok(done)
    }

    pub(crate) fn put_key(
        &mut self,
        name: KeyName,
        role: Role,
        hash: KeyHash,
        replace: bool,
    ) -> Result<()> {
        if !replace && self.shared.catalog.read().key_named(&name).is_some() {
            return Err(EngineError::KeyExists);
        }
        let at = self.shared.clock.now();
        self.commit(vec![LogRecord::KeyPut { name, role, hash, at }])
    }

    pub(crate) fn delete_key(&mut self, name: KeyName) -> Result<()> {
        if self.shared.catalog.read().key_named(&name).is_none() {
            return Err(EngineError::UnknownKey);
        }
        self.commit(vec![LogRecord::KeyDeleted { name }])
    }
}
