//! Boards, seasons and keys in memory: everything but the standings' rows.
//!
//! The catalog changes by applying records and in no other way, live and in recovery alike.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use standings_core::{Board, BoardId, KeyName, Millis, Score, SeasonId, SeasonSpan};

use super::{
    live::{Live, record_of},
    record::{BoardNo, FrozenFile, Record, SeasonNo},
};
use crate::types::{BoardInfo, KeyHash, KeyInfo, Role, SeasonRef, SeasonState};

/// All there is.
#[derive(Default)]
pub(crate) struct Catalog {
    boards: BTreeMap<BoardNo, BoardState>,
    by_id: HashMap<BoardId, BoardNo>,
    keys: BTreeMap<KeyName, StoredKey>,
    by_hash: HashMap<KeyHash, KeyName>,
    next_board: BoardNo,
}

/// A board and its seasons.
pub(crate) struct BoardState {
    pub(crate) no: BoardNo,
    pub(crate) id: BoardId,
    pub(crate) definition: Arc<Board>,
    /// Oldest first, without gaps from the board's creation on; older ones may have been imported.
    pub(crate) seasons: Vec<Season>,
    pub(crate) next_season: SeasonNo,
    /// Whether scores were ever set here: such players are in no history.
    pub(crate) imported: bool,
}

/// One run of a board.
#[derive(Clone)]
pub(crate) struct Season {
    pub(crate) no: SeasonNo,
    pub(crate) span: SeasonSpan,
    /// Set once it takes no more submissions.
    pub(crate) closed: Option<Closed>,
    pub(crate) rows: Rows,
}

/// What is fixed when a season closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub(crate) goal: Option<Score>,
}

/// Where a season's entries are.
#[derive(Clone)]
pub(crate) enum Rows {
    /// In memory: it takes submissions, or has just closed and is being written.
    Live(Arc<RwLock<Live>>),
    /// In an immutable file.
    Frozen(Arc<FrozenFile>),
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredKey {
    pub(crate) role: Role,
    pub(crate) hash: KeyHash,
    pub(crate) created_at: Millis,
}

/// A catalog as records, with the numbers that must not be given again.
#[derive(Serialize, Deserialize)]
pub(crate) struct Image {
    records: Vec<Record>,
    next_board: BoardNo,
    next_seasons: Vec<(BoardNo, SeasonNo)>,
    imported: Vec<BoardNo>,
}

impl Season {
    pub(crate) fn state(&self, now: Millis) -> SeasonState {
        match self.closed {
            Some(_) => SeasonState::Closed,
            None if now >= self.span.ends_at => SeasonState::Closing,
            None => SeasonState::Open,
        }
    }

    /// The goal that counts: a closed season keeps its own.
    pub(crate) fn goal(&self, board: &Board) -> Option<Score> {
        self.closed.map_or(board.goal(), |closed| closed.goal)
    }

    pub(crate) fn live(&self) -> Option<&Arc<RwLock<Live>>> {
        match &self.rows {
            Rows::Live(live) => Some(live),
            Rows::Frozen(_) => None,
        }
    }
}

impl BoardState {
    /// The board as it is shown.
    pub(crate) fn info(&self, now: Millis) -> BoardInfo {
        let season = &self.seasons[self.current(now)];
        let players = match &season.rows {
            Rows::Live(live) => live.read().index().len(),
            Rows::Frozen(file) => file.players,
        };
        BoardInfo {
            id: self.id.clone(),
            definition: Arc::clone(&self.definition),
            season: season.span.clone(),
            players,
        }
    }

    /// Where the season that contains an instant is in the list.
    pub(crate) fn season_at(&self, instant: Millis) -> Option<usize> {
        let after = self.seasons.partition_point(|season| season.span.starts_at <= instant);
        let index = after.checked_sub(1)?;
        (instant < self.seasons[index].span.ends_at).then_some(index)
    }

    /// The season that contains the present; were the clock before or after all of them, the nearest.
    pub(crate) fn current(&self, now: Millis) -> usize {
        let after = self.seasons.partition_point(|season| season.span.starts_at <= now);
        after.saturating_sub(1)
    }

    pub(crate) fn resolve(&self, which: &SeasonRef, now: Millis) -> Option<&Season> {
        match which {
            SeasonRef::Current => self.seasons.get(self.current(now)),
            SeasonRef::Previous => self.seasons.get(self.current(now).checked_sub(1)?),
            SeasonRef::Id(id) => {
                // Not yet begun is not yet there, though it is opened a minute ahead.
                self.seasons
                    .iter()
                    .rfind(|season| season.span.id == *id && season.span.starts_at <= now)
            }
        }
    }

    pub(crate) fn season_by_id(&self, id: &SeasonId) -> Option<&Season> {
        self.seasons.iter().rfind(|season| season.span.id == *id)
    }

    pub(crate) fn season(&self, no: SeasonNo) -> Option<&Season> {
        self.seasons.iter().rfind(|season| season.no == no)
    }

    fn season_mut(&mut self, no: SeasonNo) -> Option<&mut Season> {
        self.seasons.iter_mut().rfind(|season| season.no == no)
    }

    /// Whether any season has a score.
    pub(crate) fn has_scores(&self) -> bool {
        self.seasons.iter().any(|season| match &season.rows {
            Rows::Live(live) => !live.read().index().is_empty(),
            Rows::Frozen(file) => file.players > 0,
        })
    }
}

impl Catalog {
    pub(crate) fn board(&self, id: &BoardId) -> Option<&BoardState> {
        self.boards.get(self.by_id.get(id)?)
    }

    pub(crate) fn board_no(&self, no: BoardNo) -> Option<&BoardState> {
        self.boards.get(&no)
    }

    pub(crate) fn boards(&self) -> impl Iterator<Item = &BoardState> {
        self.boards.values()
    }

    pub(crate) fn next_board(&self) -> BoardNo {
        self.next_board
    }

    pub(crate) fn live(&self, board: BoardNo, season: SeasonNo) -> Option<&Arc<RwLock<Live>>> {
        self.boards.get(&board)?.season(season)?.live()
    }

    pub(crate) fn key(&self, hash: &KeyHash) -> Option<KeyInfo> {
        let name = self.by_hash.get(hash)?;
        self.key_named(name)
    }

    pub(crate) fn key_named(&self, name: &KeyName) -> Option<KeyInfo> {
        let key = self.keys.get(name)?;
        Some(KeyInfo { name: name.clone(), role: key.role, created_at: key.created_at })
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = (&KeyName, &StoredKey)> {
        self.keys.iter()
    }

    /// Applies a record, to rows as well.
    pub(crate) fn apply(&mut self, record: &Record) {
        match record {
            Record::Event(event) => {
                let Some(board) = self.boards.get(&event.board) else { return };
                if let Some(live) = board.season(event.season).and_then(Season::live) {
                    let record = record_of(board.definition.order(), event.entry);
                    live.write().set(&event.player, record);
                }
            }
            Record::Scores { board, season, at, rows } => {
                let Some(board) = self.boards.get_mut(board) else { return };
                board.imported = true;
                let order = board.definition.order();
                if let Some(live) = board.season(*season).and_then(Season::live) {
                    let mut live = live.write();
                    for row in rows {
                        live.set(&row.player, record_of(order, row.entry(*at)));
                    }
                }
            }
            Record::EntryRemoved { board, season, player, .. } => {
                if let Some(live) = self.live(*board, *season) {
                    live.write().remove(player);
                }
            }
            _ => self.define(record),
        }
    }

    /// Applies what a record says of boards, seasons and keys.
    fn define(&mut self, record: &Record) {
        match record {
            Record::BoardPut { board, id, definition, .. } => {
                self.put_board(*board, id, definition);
            }
            Record::BoardDeleted { board } => {
                if let Some(gone) = self.boards.remove(board) {
                    self.by_id.remove(&gone.id);
                }
            }
            Record::SeasonOpened { board, season, id, starts_at, ends_at } => {
                let span = SeasonSpan { id: id.clone(), starts_at: *starts_at, ends_at: *ends_at };
                self.open_season(*board, *season, span);
            }
            Record::SeasonEnds { board, season, ends_at } => {
                self.on_season(*board, *season, |season| season.span.ends_at = *ends_at);
            }
            Record::SeasonClosed { board, season, goal } => {
                self.on_season(*board, *season, |season| {
                    season.closed = Some(Closed { goal: *goal });
                });
            }
            Record::SeasonFrozen { board, season, file } => {
                self.on_season(*board, *season, |season| {
                    season.rows = Rows::Frozen(Arc::new(file.clone()));
                });
            }
            Record::SeasonDropped { board, season } => {
                if let Some(board) = self.boards.get_mut(board) {
                    board.seasons.retain(|kept| kept.no != *season);
                }
            }
            Record::KeyPut { name, role, hash, at } => {
                self.delete_key(name);
                let key = StoredKey { role: *role, hash: *hash, created_at: *at };
                self.keys.insert(name.clone(), key);
                self.by_hash.insert(*hash, name.clone());
            }
            Record::KeyDeleted { name } => self.delete_key(name),
            Record::Event(_)
            | Record::Scores { .. }
            | Record::EntryRemoved { .. }
            | Record::PlayerPut { .. } => {}
        }
    }

    fn put_board(&mut self, no: BoardNo, id: &BoardId, definition: &str) {
        let definition = Arc::new(
            Board::from_json(definition).expect("a definition was valid when it was logged"),
        );
        self.next_board = self.next_board.max(no + 1);
        self.by_id.insert(id.clone(), no);
        if let Some(board) = self.boards.get_mut(&no) {
            board.definition = definition;
            return;
        }
        let (id, seasons) = (id.clone(), Vec::new());
        let imported = false;
        let board = BoardState { no, id, definition, seasons, next_season: 0, imported };
        self.boards.insert(no, board);
    }

    fn open_season(&mut self, board: BoardNo, no: SeasonNo, span: SeasonSpan) {
        let Some(board) = self.boards.get_mut(&board) else { return };
        if board.season(no).is_some() {
            return;
        }
        board.next_season = board.next_season.max(no + 1);
        // After one that began at the same instant: that one was closed before any time had passed.
        let place = board.seasons.partition_point(|season| season.span.starts_at <= span.starts_at);
        let rows = Rows::Live(Arc::default());
        // One at a time: most boards are idle, and there may be a hundred thousand.
        board.seasons.reserve_exact(1);
        board.seasons.insert(place, Season { no, span, closed: None, rows });
    }

    pub(crate) fn for_each_season(&mut self, mut change: impl FnMut(BoardNo, &mut Season)) {
        for board in self.boards.values_mut() {
            for season in &mut board.seasons {
                change(board.no, season);
            }
        }
    }

    fn on_season(&mut self, board: BoardNo, season: SeasonNo, change: impl FnOnce(&mut Season)) {
        if let Some(season) = self.boards.get_mut(&board).and_then(|b| b.season_mut(season)) {
            change(season);
        }
    }

    fn delete_key(&mut self, name: &KeyName) {
        if let Some(key) = self.keys.remove(name) {
            // The same secret may have been given another name since.
            if self.by_hash.get(&key.hash) == Some(name) {
                self.by_hash.remove(&key.hash);
            }
        }
    }

    /// The catalog as a checkpoint keeps it.
    pub(crate) fn image(&self) -> Image {
        Image {
            records: self.to_records(),
            next_board: self.next_board,
            next_seasons: self.boards.values().map(|b| (b.no, b.next_season)).collect(),
            imported: self.boards.values().filter(|b| b.imported).map(|b| b.no).collect(),
        }
    }

    pub(crate) fn from_image(image: &Image) -> Self {
        let mut catalog = Self::default();
        for record in &image.records {
            catalog.apply(record);
        }
        catalog.next_board = catalog.next_board.max(image.next_board);
        for board in &image.imported {
            catalog.note_import(*board);
        }
        for (board, next) in &image.next_seasons {
            if let Some(board) = catalog.boards.get_mut(board) {
                board.next_season = board.next_season.max(*next);
            }
        }
        catalog
    }

    /// Notes that scores are set on a board.
    pub(crate) fn note_import(&mut self, board: BoardNo) {
        if let Some(board) = self.boards.get_mut(&board) {
            board.imported = true;
        }
    }

    /// The records that make this catalog, without rows.
    fn to_records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for board in self.boards.values() {
            records.push(Record::BoardPut {
                board: board.no,
                id: board.id.clone(),
                definition: board.definition.to_json(),
                at: Millis(0),
            });
            for season in &board.seasons {
                let (board, no) = (board.no, season.no);
                let SeasonSpan { id, starts_at, ends_at } = season.span.clone();
                records.push(Record::SeasonOpened { board, season: no, id, starts_at, ends_at });
                if let Some(Closed { goal }) = season.closed {
                    records.push(Record::SeasonClosed { board, season: no, goal });
                }
                if let Rows::Frozen(file) = &season.rows {
                    let file = FrozenFile::clone(file);
                    records.push(Record::SeasonFrozen { board, season: no, file });
                }
            }
        }
        for (name, key) in &self.keys {
            records.push(Record::KeyPut {
                name: name.clone(),
                role: key.role,
                hash: key.hash,
                at: key.created_at,
            });
        }
        records
    }
}
