//! Clearing away what is past its time, for good.
//!
//! What goes is removed key by key, in batches that hold up no other work. A season's events are found by its players, whom its file lists
//! (with those who were taken off it, whom `removals` lists), so clearing one costs in proportion to what it had. Deleted boards
//! leave no such list: for them everything is walked through once, in pieces. Space comes back as the store merges.
//!
//! What is left of erased players is taken out of lists that name them, and the store is merged at once, so that no byte stays.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use fjall::{Guard, Keyspace, OwnedWriteBatch, PersistMode, UserKey};
use standings_core::{Millis, PlayerId};

use crate::history::{
    History, HistoryError, Result, StoredEvent, bests::board_of, event_key, friends::StoredFriends,
    names::name_key, numbered, season_key, split_event_key, split_season_key,
};
use crate::record::{BoardNo, ErasureNo, LogRecord, SeasonNo};

/// Which seasons there are, and up to which number there could be any.
#[derive(Default)]
pub(crate) struct Present {
    pub(crate) next_board: BoardNo,
    /// For each board the seasons, and the number of the next one.
    pub(crate) boards: HashMap<BoardNo, (SeasonNo, HashSet<SeasonNo>)>,
}

impl Present {
    /// Whether a season was there and is gone. One that is newer than this list is not.
    fn is_gone(&self, board: BoardNo, season: SeasonNo) -> bool {
        match self.boards.get(&board) {
            Some((next, seasons)) => season < *next && !seasons.contains(&season),
            None => self.is_board_gone(board),
        }
    }

    fn is_board_gone(&self, board: BoardNo) -> bool {
        board < self.next_board && !self.boards.contains_key(&board)
    }
}

/// The key of who was taken off a season.
pub(super) fn removal_key(place: (BoardNo, SeasonNo), player: &str) -> Vec<u8> {
    [&season_key(place)[..], player.as_bytes()].concat()
}

/// The key of scores that were set in a season by a record.
pub(super) fn import_key(place: (BoardNo, SeasonNo), seq: u64) -> Vec<u8> {
    [&season_key(place)[..], &seq.to_be_bytes()].concat()
}

/// The number of the record of such a key.
pub(super) fn import_seq(key: &[u8]) -> Result<u64> {
    key.last_chunk().copied().map(u64::from_be_bytes).ok_or(HistoryError::Key)
}

/// Keys that are removed in one batch.
const BATCH: usize = if cfg!(test) { 16 } else { 4096 };
/// Rows that are walked through with one look at the store.
const PIECE: usize = 4 * BATCH;
/// Space that must be left beside a merge.
const COMPACTION_RESERVE: u64 = 128 << 20;
/// How long the store may take to write what it has in memory, at most some tens of megabytes.
const FLUSH_LIMIT: Duration = Duration::from_secs(60);

/// Keys on their way out.
struct Clearing<'a> {
    history: &'a History,
    keys: Vec<(Keyspace, UserKey)>,
}

impl<'a> Clearing<'a> {
    fn new(history: &'a History) -> Self {
        Self { history, keys: Vec::new() }
    }

    fn remove(&mut self, keyspace: &Keyspace, key: UserKey) -> Result<()> {
        self.keys.push((keyspace.clone(), key));
        if self.keys.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.history.room_for(self.keys.len())?;
        let _changing = self.history.changing.lock();
        let mut batch = self.history.db.batch();
        for (keyspace, key) in self.keys.drain(..) {
            batch.remove(&keyspace, key);
        }
        // Out of this process at once, as long as there is room for it.
        batch.durability(Some(PersistMode::Buffer)).commit()?;
        Ok(())
    }

    /// A player's events in a season, all of which come before a number.
    fn events(&mut self, player: &str, place: (BoardNo, SeasonNo), before: u64) -> Result<()> {
        let events = &self.history.events;
        for guard in events.range(event_key(player, place.0, 0)..event_key(player, place.0, before))
        {
            self.history.note_look();
            let (key, value) = guard.into_inner()?;
            if postcard::from_bytes::<StoredEvent>(&value)?.season() == place.1 {
                self.remove(events, key)?;
            }
        }
        Ok(())
    }

    /// All rows of a season in a keyspace whose keys begin with it.
    fn season(&mut self, keyspace: &Keyspace, place: (BoardNo, SeasonNo)) -> Result<()> {
        for guard in keyspace.prefix(season_key(place)) {
            self.remove(keyspace, guard.key()?)?;
        }
        Ok(())
    }

    /// Removes rows wherever they are, in pieces; whether it came to the end.
    fn walk(
        &mut self,
        keyspace: &Keyspace,
        is_gone: impl Fn(Guard) -> Result<(UserKey, bool)>,
        stopping: &impl Fn() -> bool,
    ) -> Result<bool> {
        let mut from = Vec::new();
        loop {
            if stopping() {
                return Ok(false);
            }
            let mut seen = 0;
            for guard in keyspace.range(from.clone()..).take(PIECE) {
                seen += 1;
                let (key, gone) = is_gone(guard)?;
                // The next piece begins right after this key.
                from = [&key, &[0][..]].concat();
                if gone {
                    self.remove(keyspace, key)?;
                }
            }
            if seen < PIECE {
                return Ok(true);
            }
        }
    }
}

impl History {
    /// Clears away the imports of a season, the events of these players and of those who were taken off it, all of which come before a
    /// number. Doing it twice is harmless. It is durable when this returns.
    pub(crate) fn clear_season<E: From<HistoryError>>(
        &self,
        place: (BoardNo, SeasonNo),
        before: u64,
        visit: impl FnOnce(&mut dyn FnMut(&str) -> Result<()>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut clearing = Clearing::new(self);
        visit(&mut |player| clearing.events(player, place, before))?;
        self.clear_rest(&mut clearing, place)?;
        Ok(())
    }

    fn clear_rest(&self, clearing: &mut Clearing<'_>, place: (BoardNo, SeasonNo)) -> Result<()> {
        for guard in self.removals.prefix(season_key(place)) {
            let key = guard.key()?;
            let player = std::str::from_utf8(&key[season_key(place).len()..]);
            // One of them may have come after its file was named.
            clearing.events(player.map_err(|_| HistoryError::Key)?, place, u64::MAX)?;
        }
        clearing.season(&self.removals, place)?;
        clearing.season(&self.imports, place)?;
        clearing.flush()?;
        self.persist()
    }

    /// How many boards had gone when what was left of them was last cleared away.
    pub(crate) fn cleared(&self) -> Result<u64> {
        match self.meta.get("cleared")? {
            Some(bytes) => {
                Ok(u64::from_be_bytes(bytes.as_ref().try_into().map_err(|_| HistoryError::Key)?))
            }
            None => Ok(0),
        }
    }

    /// Clears away what is left of boards and seasons of which no list tells what they had; so many had gone by then.
    pub(crate) fn clear_gone(
        &self,
        present: &Present,
        gone: u64,
        stopping: impl Fn() -> bool,
    ) -> Result<()> {
        let of_season = |guard: Guard| {
            let key = guard.key()?;
            let (board, season) = split_season_key(&key)?;
            Ok((key, present.is_gone(board, season)))
        };
        let of_event = |guard: Guard| {
            let (key, value) = guard.into_inner()?;
            let board = split_event_key(&key)?.1;
            let season = postcard::from_bytes::<StoredEvent>(&value)?.season();
            Ok((key, present.is_gone(board, season)))
        };
        // What players had in seasons that are gone goes with the board.
        let of_board = |guard: Guard| {
            let key = guard.key()?;
            let gone = board_of(&key).is_some_and(|board| present.is_board_gone(board));
            Ok((key, gone))
        };
        let mut clearing = Clearing::new(self);
        let whole = clearing.walk(&self.imports, of_season, &stopping)?
            && clearing.walk(&self.removals, of_season, &stopping)?
            && clearing.walk(&self.events, of_event, &stopping)?
            && clearing.walk(&self.bests, of_board, &stopping)?;
        clearing.flush()?;
        if whole {
            self.meta.insert("cleared", gone.to_be_bytes())?;
            self.persist()?;
        }
        Ok(())
    }

    /// Takes everything about a player out of the store, as far as it is by player.
    pub(super) fn erase(&self, batch: &mut OwnedWriteBatch, player: &PlayerId) -> Result<()> {
        let (low, high) = (event_key(player, 0, 0), event_key(player, BoardNo::MAX, u64::MAX));
        for guard in self.events.range(low..=high) {
            let (key, value) = guard.into_inner()?;
            let (_, board, _) = split_event_key(&key)?;
            match postcard::from_bytes(&value)? {
                StoredEvent::Accepted { event_id: Some(id), entry, .. } => {
                    self.remove_id(batch, (board, &id), player, entry.updated_at)?;
                }
                StoredEvent::Removed { season, .. } => {
                    batch.remove(&self.removals, removal_key((board, season), player));
                }
                StoredEvent::Accepted { .. } => {}
            }
            batch.remove(&self.events, key);
        }
        let own = [player.as_bytes(), &[0]].concat();
        for guard in self.bests.prefix(&own) {
            batch.remove(&self.bests, guard.key()?);
        }
        if let Some(bytes) = self.players.get(player.as_bytes())? {
            let profile: standings_core::Profile = postcard::from_bytes(&bytes)?;
            if let Some(name) = &profile.name {
                batch.remove(&self.names, name_key(name, player));
            }
            batch.remove(&self.players, player.as_bytes());
        }
        batch.remove(&self.friends, player.as_bytes());
        Ok(())
    }

    /// The erasures before a number: who, by which record, and when.
    fn erasures(&self, before: ErasureNo) -> Result<Vec<(PlayerId, u64, Millis)>> {
        let mut erased = Vec::new();
        for guard in self.erasures.iter() {
            let (seq, record) = numbered(guard)?;
            if let LogRecord::PlayerErased { player, erasure, at } = record
                && erasure < before
            {
                erased.push((player, seq, at));
            }
        }
        Ok(erased)
    }

    /// Takes erased players out of what names them in passing: other players' lists of friends, imports, event ids.
    pub(crate) fn clear_erased(&self, before: ErasureNo) -> Result<()> {
        // By the number of the record, so that what was written after it stays, whatever the clock said.
        let erased: HashMap<PlayerId, (u64, Millis)> = self
            .erasures(before)?
            .into_iter()
            .map(|(player, seq, at)| (player, (seq, at)))
            .collect();
        if erased.is_empty() {
            return Ok(());
        }
        let since =
            |player: &PlayerId, seq: u64| erased.get(player).is_none_or(|(at, _)| seq > *at);
        for guard in self.friends.iter() {
            let (key, value) = guard.into_inner()?;
            let StoredFriends { seq, friends } = postcard::from_bytes(&value)?;
            if friends.iter().all(|friend| since(friend, seq)) {
                continue;
            }
            let _changing = self.changing.lock();
            // It may have been replaced since.
            if let Some(value) = self.friends.get(&key)? {
                let StoredFriends { seq, mut friends } = postcard::from_bytes(&value)?;
                self.room_for(friends.len())?;
                friends.retain(|friend| since(friend, seq));
                self.friends.insert(key, postcard::to_stdvec(&StoredFriends { seq, friends })?)?;
            }
        }
        for guard in self.imports.iter() {
            let (key, value) = guard.into_inner()?;
            let seq = import_seq(&key)?;
            let LogRecord::Scores { board, season, mut rows } = postcard::from_bytes(&value)?
            else {
                continue;
            };
            let count = rows.len();
            rows.retain(|row| since(&row.player, seq));
            if rows.len() < count {
                self.room_for(count)?;
                let record = LogRecord::Scores { board, season, rows };
                self.imports.insert(key, postcard::to_stdvec(&record)?)?;
            }
        }
        self.clear_ids(&erased)
    }

    /// Removes the records of the erasures themselves. They go last: until then a crash leaves work that is found again.
    pub(crate) fn forget_erasures(&self, before: ErasureNo) -> Result<()> {
        let erasures = self.erasures(before)?;
        self.room_for(erasures.len())?;
        let mut records = erasures.into_iter().map(|(_, seq, _)| seq.to_be_bytes());
        records.try_for_each(|seq| Ok(self.erasures.remove(seq)?))
    }

    /// Rewrites the whole store without what was removed from it.
    pub(crate) fn compact_all(&self) -> Result<()> {
        let ids = self.ids.buckets().into_iter().map(|(_, ids)| ids);
        let all = [&self.events, &self.players, &self.names, &self.friends, &self.bests];
        let all = all.into_iter().chain([
            &self.removals,
            &self.catalog,
            &self.erasures,
            &self.imports,
            &self.meta,
        ]);
        let all = all.cloned();
        let mut seen = HashSet::new();
        for keyspace in all.chain(ids).filter(|keyspace| seen.insert(keyspace.id())) {
            self.compact(&keyspace)?;
        }
        self.persist()
    }

    /// Writes what is in memory and merges it with all that is on disk, if there is room for both at once: what a merge has
    /// written when the disk is full would stay there until a restart.
    fn compact(&self, keyspace: &Keyspace) -> Result<()> {
        let needed = keyspace.disk_space() + COMPACTION_RESERVE;
        let room = self.free_bytes();
        if room < needed {
            return Err(HistoryError::NoRoom { needed, room });
        }
        keyspace.rotate_memtable()?;
        let started = Instant::now();
        while keyspace.sealed_memtable_count() > 0 {
            // The store's own thread ends when it meets a disk that fails, and tells only who writes.
            if started.elapsed() > FLUSH_LIMIT {
                let error = self.db.persist(PersistMode::Buffer).err();
                let error = error.map_or(HistoryError::Slow, HistoryError::from);
                self.note_failure(&error);
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        keyspace.major_compact()?;
        Ok(())
    }
}

#[cfg(test)]
impl History {
    /// How many rows were looked at to find what goes, since this was last asked.
    pub(crate) fn looks(&self) -> u64 {
        self.looks.swap(0, std::sync::atomic::Ordering::Relaxed)
    }

    /// How many bests there are.
    pub(crate) fn bests(&self) -> Result<usize> {
        self.bests
            .iter()
            .map(|guard| Ok(guard.key().map(|_| ())?))
            .try_fold(0, |n, one: Result<()>| one.map(|()| n + 1))
    }

    /// How many spans of time have event ids.
    pub(crate) fn id_buckets(&self) -> usize {
        self.ids.buckets().len()
    }

    /// The keyspaces that hold some bytes, in a key or a value.
    pub(crate) fn search(&self, what: &[u8]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for name in self.db.list_keyspace_names() {
            let keyspace = self.db.keyspace(&name, crate::history::options)?;
            for guard in keyspace.iter() {
                let (key, value) = guard.into_inner()?;
                if [key, value].iter().any(|bytes| bytes.windows(what.len()).any(|p| p == what)) {
                    found.push(name.to_string());
                    break;
                }
            }
        }
        Ok(found)
    }
}
