//! Rare changes, each decided, logged and published on its own between two groups.

use std::sync::Arc;

use standings_core::{Board, BoardId, KeyName, PlayerId, SeasonId, timeline::NotEnded};

use crate::write::{
    Sequencer,
    seasons::{emptied, season},
};
use crate::{
    files::archive,
    log::Segment,
    record::{BoardNo, FrozenFile, LogRecord, SeasonNo, Transition},
    state::erasures::Hidden,
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
        archive::name(board, season, self.log.next_seq(), self.names_given)
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
        let at = self.now_on(id)?;
        let (put, board, restart) = {
            let catalog = self.shared.catalog.read();
            match catalog.board(id) {
                Some(board) => {
                    let changed = board.definition.change(definition, board.has_scores());
                    changed.map_err(|error| EngineError::ImmutableSetting(error.field))?;
                    // What would change the meaning of scores makes a board without any start anew: with the season of the new
                    // schedule, and apart from the events of players who were taken off, which were decided by the old rule.
                    let anew = board.definition.change(definition, true).is_err();
                    (Put::Changed, board.no, anew.then(|| definition.season_at(at).starts_at))
                }
                None => (Put::Created, catalog.next_board(), None),
            }
        };
        let (id, json) = (id.clone(), definition.to_json());
        let mut records = vec![LogRecord::BoardPut { board, id, definition: json, at }];
        records.extend(restart.map(|begins| season(board, Transition::Restart(begins))));
        self.commit(records)?;
        self.schedule(board);
        Ok(put)
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
        let now = self.now_on(id)?;
        let (board, season) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let season = board.resolve(which, now).ok_or_else(|| EngineError::UnknownSeason {
                board: id.clone(),
                season: which.to_string(),
            })?;
            let unknown = || EngineError::UnknownPlayer(player.clone());
            // Without a slot it has no entries.
            let no = season.no.ok_or_else(unknown)?;
            let Some(live) = season.live() else {
                return Ok(Removal::Frozen { board: board.no, season: no });
            };
            let erased = season.closed;
            let erased = erased.and_then(|closed| Hidden::since(catalog.erased(), closed.erasures));
            if live.read().index().get(player).is_none()
                || erased.is_some_and(|erased| erased.contains(player))
            {
                return Err(unknown());
            }
            if season.closed.is_some() {
                // It may be in the file that is being written.
                self.removed.entry((board.no, no)).or_default().push(player.clone());
            }
            (board.no, no)
        };
        let player = player.clone();
        self.commit(vec![LogRecord::EntryRemoved { board, season, player, at: now }])?;
        Ok(Removal::Done)
    }

    /// Ends a season now: the current one, or a given one.
    pub(crate) fn close_season(
        &mut self,
        id: &BoardId,
        which: Option<&SeasonId>,
    ) -> Result<(SeasonId, SeasonId)> {
        let now = self.now_on(id)?;
        let (records, no, ended) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let ended = board.timeline.close_now(&board.definition, which, now);
            let mut ended = ended.map_err(|why| match why {
                NotEnded::Unknown => {
                    let season = which.map_or_else(|| "current".to_owned(), SeasonId::to_string);
                    EngineError::UnknownSeason { board: id.clone(), season }
                }
                NotEnded::AlreadyClosed => {
                    EngineError::Conflict("the current season is closed already".to_owned())
                }
            })?;
            let mut records = Vec::new();
            for transition in std::mem::take(&mut ended.transitions) {
                let emptied = emptied(board, &transition);
                records.push(season(board.no, transition));
                records.extend(emptied);
            }
            (records, board.no, ended)
        };
        self.commit_seasons(records)?;
        self.schedule(no);
        Ok((ended.season, ended.current))
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
