//! Clearing away what is past its time, for good.
//!
//! Events of seasons and boards that are gone are left out when the store is compacted: one pass, nothing to scan or to mark.
//! What is left of erased players is taken out of lists that name them, and then compacted away likewise.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use fjall::{
    Keyspace, OwnedWriteBatch, PersistMode,
    compaction::filter::{
        CompactionFilter, CompactionFilterResult, Context, Factory, ItemAccessor, Verdict,
    },
};
use standings_core::{Millis, PlayerId};

use super::{
    History, HistoryError, Result, StoredEvent, bests::board_of, event_key, friends::StoredFriends,
    names::name_key, split_event_key,
};
use crate::record::{BoardNo, ErasureNo, LogRecord, SeasonNo};

/// Which seasons there are, and up to which number there could be any.
#[derive(Default)]
pub(crate) struct Present {
    pub(crate) next_board: BoardNo,
    /// For each board the seasons, and the number of the next one.
    pub(crate) boards: HashMap<BoardNo, (SeasonNo, Vec<SeasonNo>)>,
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

/// Space that must be left beside a merge.
const COMPACTION_RESERVE: u64 = 128 << 20;
/// How long the store may take to write what it has in memory, at most some tens of megabytes.
const FLUSH_LIMIT: Duration = Duration::from_secs(60);

/// A filter for each keyspace that has one.
type Filters = Arc<dyn Fn(&str) -> Option<Arc<dyn Factory>> + Send + Sync>;

/// What compactions leave out, while there is anything.
#[derive(Clone, Default)]
pub(super) struct Gone(Arc<Mutex<Option<Arc<Present>>>>);

impl Gone {
    fn present(&self) -> Option<Arc<Present>> {
        self.0.lock().ok()?.clone()
    }

    fn set(&self, present: Option<Arc<Present>>) {
        if let Ok(mut gone) = self.0.lock() {
            *gone = present;
        }
    }

    /// The filters by keyspace.
    pub(super) fn filters(&self) -> Filters {
        let gone = self.clone();
        Arc::new(move |keyspace| {
            let kind = match keyspace {
                "events" => Kind::Events,
                "imports" => Kind::Imports,
                "bests" => Kind::Bests,
                _ => return None,
            };
            Some(Arc::new(FilterFactory { gone: gone.clone(), kind }) as Arc<dyn Factory>)
        })
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Events,
    Imports,
    Bests,
}

struct FilterFactory {
    gone: Gone,
    kind: Kind,
}

impl Factory for FilterFactory {
    fn name(&self) -> &'static str {
        "gone"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        Box::new(Filter { present: self.gone.present(), kind: self.kind })
    }
}

struct Filter {
    present: Option<Arc<Present>>,
    kind: Kind,
}

impl CompactionFilter for Filter {
    fn filter_item(&mut self, item: ItemAccessor<'_>, _: &Context) -> CompactionFilterResult {
        let Some(present) = &self.present else { return Ok(Verdict::Keep) };
        let place = match self.kind {
            // What players had in seasons that are gone goes with the board.
            Kind::Bests => {
                let gone = board_of(item.key()).is_some_and(|board| present.is_board_gone(board));
                return Ok(if gone { Verdict::Destroy } else { Verdict::Keep });
            }
            Kind::Events => {
                let event = postcard::from_bytes(&item.value()?).ok();
                split_event_key(item.key()).ok().zip(event).map(|((_, board, _), event)| {
                    let (StoredEvent::Accepted { season, .. }
                    | StoredEvent::Removed { season, .. }) = event;
                    (board, season)
                })
            }
            Kind::Imports => match postcard::from_bytes(&item.value()?) {
                Ok(LogRecord::Scores { board, season, .. }) => Some((board, season)),
                _ => None,
            },
        };
        let gone = place.is_some_and(|(board, season)| present.is_gone(board, season));
        // Whatever else was written under the same key is of the same season, and goes likewise: nothing older reappears.
        Ok(if gone { Verdict::Destroy } else { Verdict::Keep })
    }
}

impl History {
    /// How many seasons and boards had gone when their events were last cleared away.
    pub(crate) fn cleared(&self) -> Result<u64> {
        match self.meta.get("cleared")? {
            Some(bytes) => {
                Ok(u64::from_be_bytes(bytes.as_ref().try_into().map_err(|_| HistoryError::Key)?))
            }
            None => Ok(0),
        }
    }

    /// Clears away the events of seasons and boards that are gone; so many had gone by then.
    pub(crate) fn clear_gone(&self, present: Present, gone: u64) -> Result<()> {
        self.gone.set(Some(Arc::new(present)));
        let mut all = [&self.events, &self.imports, &self.bests].into_iter();
        let compacted = all.try_for_each(|keyspace| self.compact(keyspace));
        self.gone.set(None);
        compacted?;
        self.room_for(1)?;
        self.meta.insert("cleared", gone.to_be_bytes())?;
        self.persist()
    }

    /// Takes everything about a player out of the store, as far as it is by player.
    pub(super) fn erase(&self, batch: &mut OwnedWriteBatch, player: &PlayerId) -> Result<()> {
        let (low, high) = (event_key(player, 0, 0), event_key(player, BoardNo::MAX, u64::MAX));
        for guard in self.events.range(low..=high) {
            let (key, value) = guard.into_inner()?;
            let (_, board, _) = split_event_key(&key)?;
            if let StoredEvent::Accepted { event_id: Some(id), entry, .. } =
                postcard::from_bytes(&value)?
            {
                self.remove_id(batch, (board, &id), player, entry.updated_at)?;
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
        let erased = self.catalog_records()?.into_iter().filter_map(|(seq, record)| match record {
            LogRecord::PlayerErased { player, erasure, at } if erasure < before => {
                Some((player, seq, at))
            }
            _ => None,
        });
        Ok(erased.collect())
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
            let seq = u64::from_be_bytes(key.as_ref().try_into().map_err(|_| HistoryError::Key)?);
            let LogRecord::Scores { board, season, at, mut rows } = postcard::from_bytes(&value)?
            else {
                continue;
            };
            let count = rows.len();
            rows.retain(|row| since(&row.player, seq));
            if rows.len() < count {
                self.room_for(count)?;
                let record = LogRecord::Scores { board, season, at, rows };
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
        records.try_for_each(|seq| Ok(self.catalog.remove(seq)?))
    }

    /// Rewrites the whole store without what was removed from it.
    pub(crate) fn compact_all(&self) -> Result<()> {
        let ids = self.ids.buckets().into_iter().map(|(_, ids)| ids);
        let all = [&self.events, &self.players, &self.names, &self.friends, &self.bests];
        let all = all.into_iter().chain([&self.catalog, &self.imports, &self.meta]).cloned();
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
            let keyspace = self.db.keyspace(&name, super::options)?;
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
