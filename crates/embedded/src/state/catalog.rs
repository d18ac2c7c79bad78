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
use standings_core::{Board, BoardId, KeyName, LocalDate, Millis, PlayerId, timeline::Timeline};

pub(crate) use crate::state::board::{BoardState, Rows, Season, SeasonData};
use crate::{
    record::{AsOf, BoardNo, ErasureNo, FrozenFile, LogRecord, SeasonNo, Transition},
    state::{
        erasures::{Erased, Erasures},
        live::{Live, record_of},
        snapshots::{Snapshot, SnapshotRows},
    },
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
    /// How many boards have gone, and have started anew.
    gone: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredKey {
    pub(crate) role: Role,
    pub(crate) hash: KeyHash,
    pub(crate) created_at: Millis,
}

/// A catalog as a checkpoint keeps it, without rows.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Image {
    boards: Vec<BoardImage>,
    keys: BTreeMap<KeyName, StoredKey>,
    next_board: BoardNo,
    erased: Vec<(PlayerId, ErasureNo, Millis)>,
    next_erasure: ErasureNo,
    gone: u64,
}

#[derive(Serialize, Deserialize)]
struct BoardImage {
    no: BoardNo,
    id: BoardId,
    definition: String,
    timeline: Timeline<SeasonImage>,
    /// A snapshot that is yet to be written is in no checkpoint.
    snapshots: Vec<(LocalDate, Millis, AsOf, FrozenFile)>,
    imported: bool,
}

#[derive(Serialize, Deserialize)]
struct SeasonImage {
    /// Without one its rows are in the checkpoint.
    file: Option<FrozenFile>,
    erasures: ErasureNo,
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
        self.boards.get(&board)?.timeline.slot(season)?.data.live()
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
                if let Some(live) = self.live(event.board, event.season) {
                    let record = record_of(board.definition.order(), event.entry);
                    live.write().set(&event.player, record);
                }
            }
            LogRecord::Scores { board, season, rows } => {
                let Some(state) = self.boards.get_mut(board) else { return };
                state.imported = true;
                let order = state.definition.order();
                if let Some(live) = self.live(*board, *season) {
                    let mut live = live.write();
                    for row in rows {
                        live.set(&row.player, record_of(order, row.entry));
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
        for slot in boards.flat_map(|board| board.timeline.slots()) {
            if let (None, Some(live)) = (slot.closed, slot.data.live())
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

    /// How many boards have gone, and have started anew.
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
                    self.gone += 1;
                }
            }
            LogRecord::Season { board, transition } => self.take(*board, transition),
            LogRecord::SeasonFrozen { board, season, file } => {
                self.note_erasures(file.erasures);
                if let Some(board) = self.boards.get_mut(board) {
                    board.freeze(*season, file);
                }
            }
            LogRecord::KeyPut { name, role, hash, at } => {
                self.delete_key(name);
                let key = StoredKey { role: *role, hash: *hash, created_at: *at };
                self.keys.insert(name.clone(), key);
                self.by_hash.insert(*hash, name.clone());
            }
            LogRecord::KeyDeleted { name } => self.delete_key(name),
            LogRecord::SnapshotFrozen { board, snapshot, file } => {
                self.note_erasures(file.erasures);
                self.freeze_snapshot(*board, *snapshot, file);
            }
            LogRecord::SnapshotImported { board, as_of, file } => {
                self.note_erasures(file.erasures);
                if let Some(board) = self.boards.get_mut(board) {
                    board.import_snapshot(as_of, file);
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
        let definition = parse(definition);
        self.next_board = self.next_board.max(no + 1);
        self.by_id.insert(id.clone(), no);
        self.ids.insert(id.clone());
        if let Some(board) = self.boards.get_mut(&no) {
            let due = |board: &Board| board.snapshot_due(at);
            if due(&board.definition) != due(&definition) {
                // Another time of day counts from now on, not for the days before.
                board.timeline.taken_through(at);
            }
            board.definition = definition;
            return;
        }
        let (id, timeline) = (id.clone(), Timeline::new(&definition, at));
        let (snapshots, imported) = (Vec::new(), false);
        self.boards.insert(no, BoardState { no, id, definition, timeline, snapshots, imported });
    }

    /// Takes a change of a board's seasons, with what it means for what is kept of them.
    fn take(&mut self, board: BoardNo, transition: &Transition) {
        if let Transition::AsOf(as_of) = transition {
            self.take_snapshot(board, as_of);
        }
        let Some(state) = self.boards.get_mut(&board) else { return };
        state.timeline.take(transition, SeasonData::default);
        match transition {
            Transition::Close(no, _) => {
                let erasures = self.next_erasure;
                self.on_season(board, *no, |data| data.erasures = erasures);
            }
            Transition::DropSnapshot(date) => state.drop_snapshot(*date),
            Transition::Restart(_) => self.gone += 1,
            Transition::Drop(_)
            | Transition::Open(..)
            | Transition::Ends(..)
            | Transition::Expire(_)
            | Transition::AsOf(_) => {}
        }
    }

    /// Changes what is kept of each season.
    pub(crate) fn for_each_season(&mut self, mut change: impl FnMut(BoardNo, SeasonNo, &mut Rows)) {
        for board in self.boards.values_mut() {
            let numbers: Vec<SeasonNo> =
                board.timeline.slots().iter().map(|slot| slot.no).collect();
            for no in numbers {
                if let Some(slot) = board.timeline.slot_mut(no) {
                    change(board.no, no, &mut slot.data.rows);
                }
            }
        }
    }

    fn on_season(
        &mut self,
        board: BoardNo,
        season: SeasonNo,
        change: impl FnOnce(&mut SeasonData),
    ) {
        let board = self.boards.get_mut(&board);
        if let Some(slot) = board.and_then(|board| board.timeline.slot_mut(season)) {
            change(&mut slot.data);
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
        let erased = self
            .erased
            .iter()
            .map(|(player, Erased { number, at })| (player.clone(), *number, *at));
        Image {
            boards: self.boards.values().map(BoardImage::of).collect(),
            keys: self.keys.clone(),
            next_board: self.next_board,
            erased: erased.collect(),
            next_erasure: self.next_erasure,
            gone: self.gone,
        }
    }

    pub(crate) fn from_image(image: Image) -> Self {
        let Image { boards, keys, next_board, erased, next_erasure, gone } = image;
        let boards = boards.into_iter().map(|board| (board.no, board.into_state()));
        let boards: BTreeMap<BoardNo, BoardState> = boards.collect();
        let mut all = Erasures::default();
        for (player, number, at) in erased {
            all.insert(&player, Erased { number, at });
        }
        Self {
            by_id: boards.values().map(|board| (board.id.clone(), board.no)).collect(),
            by_hash: keys.iter().map(|(name, key)| (key.hash, name.clone())).collect(),
            ids: boards.values().map(|board| board.id.clone()).collect(),
            erased: Arc::new(all),
            boards,
            keys,
            next_board,
            next_erasure,
            gone,
            traces: false,
        }
    }

    /// Whether something is not yet written of which only the log knows all: a snapshot.
    pub(crate) fn needs_log(&self) -> bool {
        !self.pending_snapshots().is_empty()
    }

    /// Erasures before this number are the concern of nothing that is yet to be written: who was erased later may be in
    /// it, and must be known until it is.
    pub(crate) fn settled_erasures(&self) -> ErasureNo {
        let slots = self.boards.values().flat_map(|board| board.timeline.slots());
        let closing = slots.filter(|slot| slot.closed.is_some() && !slot.data.is_archived());
        let closing = closing.map(|slot| slot.data.erasures);
        let snapshots = self.boards.values().flat_map(|board| &board.snapshots);
        let taken = snapshots.filter_map(Snapshot::pending_erasures);
        closing.chain(taken).fold(self.next_erasure, ErasureNo::min)
    }

    /// Notes that scores are set on a board.
    pub(crate) fn note_import(&mut self, board: BoardNo) {
        if let Some(board) = self.boards.get_mut(&board) {
            board.imported = true;
        }
    }
}

impl BoardImage {
    fn of(board: &BoardState) -> Self {
        let written = board.snapshots.iter().filter_map(|snapshot| {
            let file = FrozenFile::clone(snapshot.file()?);
            Some((snapshot.date, snapshot.at, AsOf::clone(&snapshot.of), file))
        });
        let timeline = board.timeline.clone().map(|_, SeasonData { rows, erasures }| {
            let file = match rows {
                Rows::Live(_) => None,
                Rows::Frozen(file) => Some(FrozenFile::clone(&file)),
            };
            SeasonImage { file, erasures }
        });
        Self {
            no: board.no,
            id: board.id.clone(),
            definition: board.definition.to_json(),
            timeline,
            snapshots: written.collect(),
            imported: board.imported,
        }
    }

    fn into_state(self) -> BoardState {
        let definition = parse(&self.definition);
        let timeline = self.timeline.map(|_, SeasonImage { file, erasures }| {
            let rows = file.map_or_else(Rows::default, |file| Rows::Frozen(Arc::new(file)));
            SeasonData { rows, erasures }
        });
        let snapshots = self.snapshots.into_iter().map(|(date, at, of, file)| {
            let rows = SnapshotRows::Frozen(Arc::new(file));
            Snapshot { date, at, of: Arc::new(of), rows }
        });
        BoardState {
            no: self.no,
            id: self.id,
            definition,
            timeline,
            snapshots: snapshots.collect(),
            imported: self.imported,
        }
    }
}

fn parse(definition: &str) -> Arc<Board> {
    Arc::new(Board::from_json(definition).expect("a definition was valid when it was logged"))
}
