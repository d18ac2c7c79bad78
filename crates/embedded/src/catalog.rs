//! All boards, seasons and keys in memory: everything but the standings' rows.
//!
//! The catalog changes by applying records and in no other way, live and in recovery alike.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::Arc,
};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use standings_core::{Board, BoardId, KeyName, Millis, PlayerId, SeasonSpan, board::Ties};

pub(crate) use super::board_state::{BoardState, Closed, Rows, Season};
use super::{
    erasures::{Erased, Erasures},
    live::{Live, record_of},
    record::{BoardNo, ErasureNo, FrozenFile, LogRecord, SeasonNo, SnapshotNo},
    snapshot::{Snapshot, Snapshots},
};
use standings_engine::{KeyHash, KeyInfo, Role};

/// All there is.
#[derive(Default)]
pub(crate) struct Catalog {
    boards: BTreeMap<BoardNo, BoardState>,
    by_id: HashMap<BoardId, BoardNo>,
    /// In order, for lists.
    ids: BTreeSet<BoardId>,
    keys: BTreeMap<KeyName, StoredKey>,
    by_hash: HashMap<KeyHash, KeyName>,
    next_board: BoardNo,
    erased: Arc<Erasures>,
    next_erasure: ErasureNo,
    /// Whether log and checkpoint may name players of whom nothing else is left: until the next checkpoint.
    pub(crate) traces: bool,
    /// How many boards have gone, and seasons that were not past their time.
    gone: u64,
    /// Boards that started anew, and with which season. Not with the board: few ever do.
    restarted: BTreeMap<BoardNo, SeasonNo>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredKey {
    pub(crate) role: Role,
    pub(crate) hash: KeyHash,
    pub(crate) created_at: Millis,
}

/// A catalog as records, with the numbers that must not be given again.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(super) records: Vec<LogRecord>,
    pub(super) next_board: BoardNo,
    pub(super) next_seasons: Vec<(BoardNo, SeasonNo)>,
    pub(super) imported: Vec<BoardNo>,
    /// Of boards that have ever had snapshots.
    snapshots: Vec<(BoardNo, SnapshotNo, Millis)>,
    next_erasure: ErasureNo,
    /// Of seasons that have closed and are not yet in a file, what held when they did.
    closed: Vec<(BoardNo, SeasonNo, Closed)>,
    restarted: BTreeMap<BoardNo, SeasonNo>,
    gone: u64,
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

    /// Boards by id, from after one on.
    pub(crate) fn boards_after(&self, id: Option<&BoardId>) -> impl Iterator<Item = &BoardState> {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        let ids = self.ids.range::<BoardId, _>((from, Bound::Unbounded));
        ids.filter_map(|id| self.board(id))
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
    pub(crate) fn apply(&mut self, record: &LogRecord) {
        match record {
            LogRecord::Event(event) => {
                let Some(board) = self.boards.get(&event.board) else { return };
                if let Some(live) = board.season(event.season).and_then(Season::live) {
                    let record = record_of(board.definition.order(), event.entry);
                    live.write().set(&event.player, record);
                }
            }
            LogRecord::Scores { board, season, at, rows } => {
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
            LogRecord::EntryRemoved { board, season, player, .. } => {
                if let Some(live) = self.live(*board, *season) {
                    live.write().remove(player);
                }
            }
            LogRecord::PlayerErased { player, erasure, at } => {
                let boards: Vec<BoardNo> = self.boards.keys().copied().collect();
                self.erase(player, Erased { number: *erasure, at: *at }, &boards);
            }
            LogRecord::ErasuresPurged { before } => {
                Arc::make_mut(&mut self.erased).purge(*before);
                self.note_erasures(*before);
                self.traces = true;
            }
            _ => self.define(record),
        }
    }

    /// Takes a player off every season that takes submissions, given the boards on which there may be any. Closed ones keep the ranks of
    /// the others, and show the player no more.
    pub(crate) fn erase(&mut self, player: &PlayerId, erased: Erased, boards: &[BoardNo]) {
        Arc::make_mut(&mut self.erased).insert(player, erased);
        self.next_erasure = self.next_erasure.max(erased.number + 1);
        let boards = boards.iter().filter_map(|board| self.boards.get(board));
        for season in boards.flat_map(|board| &board.seasons) {
            if let (None, Some(live)) = (season.closed, season.live())
                && live.read().index().get(player).is_some()
            {
                live.write().remove(player);
            }
        }
    }

    /// Numbers of erasures up to here have been given. The ledger forgets those that are purged; this is how it knows.
    fn note_erasures(&mut self, next: ErasureNo) {
        self.next_erasure = self.next_erasure.max(next);
    }

    /// Whether a file is still that of a season or a snapshot. The number of the board is in its name.
    pub(crate) fn uses(&self, file: &FrozenFile) -> bool {
        let board = file.name.split('-').next().and_then(|no| no.parse().ok());
        let board = board.and_then(|no| self.boards.get(&no));
        board.is_some_and(|board| board.files().any(|used| used.name == file.name))
    }

    /// The erasures of which something may be left.
    pub(crate) fn erased(&self) -> &Arc<Erasures> {
        &self.erased
    }

    pub(crate) fn next_erasure(&self) -> ErasureNo {
        self.next_erasure
    }

    /// The season with which a board last started anew: events before it count for nothing, and neither do their ids.
    pub(crate) fn restarted(&self, board: BoardNo) -> SeasonNo {
        self.restarted.get(&board).copied().unwrap_or_default()
    }

    /// Whether anything is kept of scores on a board: what they mean must not change then. Of seasons that are past their
    /// time it is the bests, and whether a season had any is not known any more.
    pub(crate) fn has_scores(&self, board: &BoardState) -> bool {
        // Numbers are given one after the other, and when a board starts anew all its seasons go.
        let since = board.next_season.saturating_sub(self.restarted(board.no));
        let retired = since as usize > board.seasons.len();
        retired || board.shows_scores()
    }

    /// How many boards have gone, and seasons that were not past their time.
    pub(crate) fn gone(&self) -> u64 {
        self.gone
    }

    /// Applies what a record says of boards, seasons and keys.
    fn define(&mut self, record: &LogRecord) {
        match record {
            LogRecord::BoardPut { board, id, definition, at } => {
                self.put_board(*board, id, definition, *at);
            }
            LogRecord::BoardDeleted { board } => {
                if let Some(gone) = self.boards.remove(board) {
                    self.by_id.remove(&gone.id);
                    self.ids.remove(&gone.id);
                    self.restarted.remove(board);
                    self.gone += 1;
                }
            }
            LogRecord::SeasonOpened { board, season, id, starts_at, ends_at } => {
                let span = SeasonSpan { id: id.clone(), starts_at: *starts_at, ends_at: *ends_at };
                self.open_season(*board, *season, span);
            }
            LogRecord::SeasonEnds { board, season, ends_at } => {
                self.on_season(*board, *season, |season| season.span.ends_at = *ends_at);
            }
            LogRecord::SeasonClosed { board, season, goal } => {
                let ties =
                    self.boards.get(board).map_or_else(Ties::default, |b| b.definition.ties());
                let closed = Closed { goal: *goal, ties, erasures: self.next_erasure };
                self.on_season(*board, *season, |season| season.closed = Some(closed));
            }
            LogRecord::SeasonExpired { board, season } => {
                self.on_season(*board, *season, |season| season.expired = true);
            }
            LogRecord::SeasonFrozen { board, season, file } => {
                self.note_erasures(file.erasures);
                if let Some(board) = self.boards.get_mut(board) {
                    board.freeze(*season, file);
                }
            }
            LogRecord::SeasonDropped { board, season } => {
                if let Some(board) = self.boards.get_mut(board) {
                    if board.season(*season).is_some_and(|season| !season.expired) {
                        let since = self.restarted.entry(board.no).or_default();
                        *since = (*since).max(*season + 1);
                        self.gone += 1;
                    }
                    board.seasons.retain(|kept| kept.no != *season);
                }
            }
            LogRecord::KeyPut { name, role, hash, at } => {
                self.delete_key(name);
                let key = StoredKey { role: *role, hash: *hash, created_at: *at };
                self.keys.insert(name.clone(), key);
                self.by_hash.insert(*hash, name.clone());
            }
            LogRecord::KeyDeleted { name } => self.delete_key(name),
            LogRecord::SnapshotTaken(taken) => self.take_snapshot(taken),
            LogRecord::SnapshotFrozen { board, snapshot, file } => {
                self.note_erasures(file.erasures);
                self.freeze_snapshot(*board, *snapshot, file);
            }
            LogRecord::SnapshotImported { taken, file } => {
                self.note_erasures(file.erasures);
                self.import_snapshot(taken, file);
            }
            LogRecord::SnapshotDropped { board, date } => {
                if let Some(board) = self.boards.get_mut(board) {
                    board.drop_snapshot(*date);
                }
            }
            LogRecord::Event(_)
            | LogRecord::Scores { .. }
            | LogRecord::EntryRemoved { .. }
            | LogRecord::PlayerPut { .. }
            | LogRecord::FriendsPut { .. }
            | LogRecord::PlayerErased { .. }
            | LogRecord::ErasuresPurged { .. } => {}
        }
    }

    pub(crate) fn board_mut(&mut self, no: BoardNo) -> Option<&mut BoardState> {
        self.boards.get_mut(&no)
    }

    fn put_board(&mut self, no: BoardNo, id: &BoardId, definition: &str, at: Millis) {
        let definition = Arc::new(
            Board::from_json(definition).expect("a definition was valid when it was logged"),
        );
        self.next_board = self.next_board.max(no + 1);
        self.by_id.insert(id.clone(), no);
        self.ids.insert(id.clone());
        if let Some(board) = self.boards.get_mut(&no) {
            let due = |board: &Board| board.snapshot_due(at);
            if due(&board.definition) != due(&definition) {
                // Another time of day counts from now on, not for the days before.
                board.snapshots.taken_through(at);
            }
            board.definition = definition;
            return;
        }
        let mut snapshots = Snapshots::default();
        if definition.snapshots().is_some() {
            snapshots.taken_through(at);
        }
        let board = BoardState {
            no,
            id: id.clone(),
            definition,
            seasons: Vec::new(),
            next_season: 0,
            snapshots,
            imported: false,
        };
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
        board.seasons.insert(place, Season { no, span, closed: None, expired: false, rows });
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
            snapshots: self
                .boards
                .values()
                .filter(|b| !b.snapshots.is_none())
                .map(|b| (b.no, b.snapshots.next(), b.snapshots.through()))
                .collect(),
            next_erasure: self.next_erasure,
            closed: self.closing(),
            restarted: self.restarted.clone(),
            gone: self.gone,
        }
    }

    /// Seasons that have closed and are not yet in a file.
    fn closing(&self) -> Vec<(BoardNo, SeasonNo, Closed)> {
        let seasons = self.boards.values().flat_map(|b| b.seasons.iter().map(|s| (b.no, s)));
        let waiting = seasons.filter(|(_, season)| season.live().is_some());
        waiting.filter_map(|(board, s)| s.closed.map(|closed| (board, s.no, closed))).collect()
    }

    /// Whether something is not yet written of which only the log knows all: a snapshot.
    pub(crate) fn needs_log(&self) -> bool {
        !self.pending_snapshots().is_empty()
    }

    /// Erasures before this number are the concern of nothing that is yet to be written: who was erased later may be in
    /// it, and must be known until it is.
    pub(crate) fn settled_erasures(&self) -> ErasureNo {
        let closing = self.closing().into_iter().map(|(.., closed)| closed.erasures);
        let snapshots = self.boards.values().flat_map(|board| board.snapshots.list());
        let taken = snapshots.filter_map(Snapshot::pending_erasures);
        closing.chain(taken).fold(self.next_erasure, ErasureNo::min)
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
        for (board, next, through) in &image.snapshots {
            if let Some(board) = catalog.boards.get_mut(board) {
                board.snapshots.restore(*next, *through);
            }
        }
        catalog.next_erasure = catalog.next_erasure.max(image.next_erasure);
        for (board, season, closed) in &image.closed {
            catalog.on_season(*board, *season, |season| season.closed = Some(*closed));
        }
        catalog.restarted.clone_from(&image.restarted);
        catalog.gone = image.gone;
        catalog
    }

    /// Notes that scores are set on a board.
    pub(crate) fn note_import(&mut self, board: BoardNo) {
        if let Some(board) = self.boards.get_mut(&board) {
            board.imported = true;
        }
    }

    /// The records that make this catalog, without rows.
    fn to_records(&self) -> Vec<LogRecord> {
        let mut records = Vec::new();
        for board in self.boards.values() {
            records.push(LogRecord::BoardPut {
                board: board.no,
                id: board.id.clone(),
                definition: board.definition.to_json(),
                at: Millis(0),
            });
            for season in &board.seasons {
                let (board, no) = (board.no, season.no);
                let SeasonSpan { id, starts_at, ends_at } = season.span.clone();
                records.push(LogRecord::SeasonOpened { board, season: no, id, starts_at, ends_at });
                if let Some(Closed { goal, .. }) = season.closed {
                    records.push(LogRecord::SeasonClosed { board, season: no, goal });
                }
                if let Rows::Frozen(file) = &season.rows {
                    let file = Box::new(FrozenFile::clone(file));
                    records.push(LogRecord::SeasonFrozen { board, season: no, file });
                }
                if season.expired {
                    records.push(LogRecord::SeasonExpired { board, season: no });
                }
            }
            records.extend(board.snapshots.list().iter().filter_map(Snapshot::to_record));
        }
        for (player, Erased { number, at }) in self.erased.iter() {
            let (player, erasure, at) = (player.clone(), *number, *at);
            records.push(LogRecord::PlayerErased { player, erasure, at });
        }
        for (name, key) in &self.keys {
            records.push(LogRecord::KeyPut {
                name: name.clone(),
                role: key.role,
                hash: key.hash,
                at: key.created_at,
            });
        }
        records
    }
}
