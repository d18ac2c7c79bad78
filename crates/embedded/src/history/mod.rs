//! The history: a view of the log in fjall, with a position.
//!
//! It holds what cannot be kept in memory: every event by player, profiles and names, event ids, and the records that
//! make the catalog. A thread of its own feeds it in large batches, long after the writes were acknowledged. Until then
//! records wait in the [`Tail`], in memory, and every read merges the two; a receipt is thus always followed by a
//! history that contains it. The position is written in one atomic batch with the records, or, where there are enough events
//! or event ids for a table of their own, right after that. A crash in between leaves rows ahead of the position. They do
//! no harm: their records are still in the log, are applied again under the same keys, and until then wait in the tail,
//! which goes before the store wherever anything is read.
//!
//! | keyspace | key | value |
//! |---|---|---|
//! | `meta` | `position` | the next sequence number to apply, u64 big endian |
//! | `events` | player, 0, board u32, sequence u64 | [`StoredEvent`] |
//! | `ids-`*t* | board u32, event id | [`Recorded`], of those accepted in the span of time that ends at *t* |
//! | `friends` | player | [`StoredFriends`](friends::StoredFriends) |
//! | `bests` | player, 0, board u32 | [`Best`](standings_core::best::Best), of seasons that are gone |
//! | `players` | player | profile |
//! | `names` | folded name, 0, player | the name as written |
//! | `catalog` | sequence u64 | a record of boards, seasons or keys |
//! | `erasures` | sequence u64 | a record of an erasure of which something may be left |
//! | `imports` | board u32, season u32, sequence u64 | a record of scores that were set |
//! | `removals` | board u32, season u32, player | nothing: who was taken off a season, and may have events of it |
//!
//! Numbers in keys are big endian, so that they sort.

mod bests;
mod clearing;
mod feed;
mod friends;
mod group;
mod ids;
mod names;
mod player_events;
mod profiles;
mod rows;
mod tail;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use fjall::{
    Database, Keyspace, KeyspaceCreateOptions, PersistMode, compaction::Leveled,
    config::FilterPolicy,
};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use standings_core::{EventId, Millis, PlayerId, Profile, Score, decide::Recorded, rule::Entry};

use crate::record::{BoardNo, Event, LogRecord, SeasonNo};
pub(crate) use clearing::Present;
pub(crate) use group::Group;
use ids::Ids;
use tail::Tail;

/// Memory for blocks of the history: names and event ids of players who are active now.
const CACHE_BYTES: u64 = 24 << 20;
/// Small journals and memtables make the store reopen in half a second; see the measurements in the design.
const JOURNAL_BYTES: u64 = 64 << 20;
const MEMTABLE_BYTES: u64 = 16 << 20;
/// Profiles kept decoded: the top of every board, and those who look at it.
const CACHED_PROFILES: usize = 100_000;

/// The history and what is on its way into it.
pub(crate) struct History {
    db: Database,
    meta: Keyspace,
    events: Keyspace,
    ids: Ids,
    players: Keyspace,
    names: Keyspace,
    friends: Keyspace,
    bests: Keyspace,
    catalog: Keyspace,
    erasures: Keyspace,
    imports: Keyspace,
    removals: Keyspace,
    tail: Mutex<Tail>,
    /// Held while events change: by the feeding thread, and by the keeper when it clears away.
    changing: Mutex<()>,
    /// Bytes of events in the store's journal since it was last ended here.
    journaled: AtomicU64,
    /// Rows that clearing away has looked at.
    #[cfg(test)]
    looks: AtomicU64,
    /// Signals the feeding thread: records wait, or the end has come.
    work: Condvar,
    /// Signals writers that wait for room.
    pub(crate) room: tokio::sync::Notify,
    path: PathBuf,
    /// What a test leaves free on its disk.
    #[cfg(test)]
    room_left: AtomicU64,
    /// Set once the store takes nothing any more until it is opened anew.
    failed: AtomicBool,
    /// All records before this number are in the store and would survive a power cut.
    durable: AtomicU64,
    profiles: quick_cache::sync::Cache<PlayerId, Option<Arc<Profile>>>,
    /// Whether anyone has ever had a profile. On boards of bare ids nobody has, and nothing need be looked up.
    any_profiles: AtomicBool,
    /// Counts changes of profiles; see [`History::profiles`].
    profile_epoch: AtomicU64,
    /// While a test holds it, the store does not answer for profiles.
    #[cfg(test)]
    pub(crate) gate: parking_lot::RwLock<()>,
}

/// A ledger entry of one player: board, season and sequence number are in its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum StoredEvent {
    Accepted {
        season: SeasonNo,
        points: Score,
        event_id: Option<EventId>,
        at: Millis,
        entry: Entry,
    },
    Removed {
        season: SeasonNo,
        at: Millis,
    },
}

impl StoredEvent {
    pub(crate) fn season(&self) -> SeasonNo {
        let (Self::Accepted { season, .. } | Self::Removed { season, .. }) = self;
        *season
    }

    pub(crate) fn of(event: &Event) -> Self {
        Self::Accepted {
            season: event.season,
            points: event.points,
            event_id: event.event_id.clone(),
            at: event.at,
            entry: event.entry,
        }
    }
}

/// What the id of an event is used for.
fn recorded(event: &Event) -> Recorded {
    Recorded {
        season: event.season,
        player: event.player.clone(),
        points: event.points,
        entry: event.entry,
    }
}

/// Anything that went wrong in the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error("the history store failed: {0}")]
    Store(#[from] fjall::Error),
    #[error("the history holds a value that cannot be decoded: {0}; run `standings check`")]
    Decode(#[from] postcard::Error),
    #[error("the history holds a key that cannot be decoded; run `standings check`")]
    Key,
    #[error("the history needs {needed} bytes of free disk, and there are {room}")]
    NoRoom { needed: u64, room: u64 },
    #[error("the history store does not write what it has in memory")]
    Slow,
}

pub(crate) type Result<T> = std::result::Result<T, HistoryError>;

impl History {
    pub(crate) fn open(path: &Path, event_id_window: Millis) -> Result<Self> {
        let db = Database::builder(path)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .manual_journal_persist(true)
            .worker_threads(1)
            .open()?;
        let keyspace = |name: &str| db.keyspace(name, options);
        let meta = keyspace("meta")?;
        let events = db.keyspace("events", event_options)?;
        let ids = Ids::open(&db, event_id_window)?;
        let friends = keyspace("friends")?;
        let bests = keyspace("bests")?;
        let players = keyspace("players")?;
        let names = keyspace("names")?;
        let catalog = keyspace("catalog")?;
        let erasures = keyspace("erasures")?;
        let imports = db.keyspace("imports", import_options)?;
        let removals = keyspace("removals")?;
        let position = match meta.get("position")? {
            Some(bytes) => {
                u64::from_be_bytes(bytes.as_ref().try_into().map_err(|_| HistoryError::Key)?)
            }
            None => 0,
        };
        let any_profiles = AtomicBool::new(!players.is_empty()?);
        Ok(Self {
            db,
            meta,
            events,
            ids,
            players,
            names,
            friends,
            bests,
            catalog,
            erasures,
            imports,
            removals,
            tail: Mutex::new(Tail::new(position)),
            changing: Mutex::new(()),
            journaled: AtomicU64::new(0),
            #[cfg(test)]
            looks: AtomicU64::new(0),
            work: Condvar::new(),
            room: tokio::sync::Notify::new(),
            path: path.to_owned(),
            #[cfg(test)]
            room_left: AtomicU64::new(u64::MAX),
            failed: AtomicBool::new(false),
            durable: position.into(),
            profiles: quick_cache::sync::Cache::new(CACHED_PROFILES),
            any_profiles,
            profile_epoch: AtomicU64::new(0),
            #[cfg(test)]
            gate: parking_lot::RwLock::new(()),
        })
    }

    /// The number of the first record that is not yet in the store.
    pub(crate) fn position(&self) -> u64 {
        self.tail.lock().position()
    }

    /// All records before this number are in the store for good; the log may drop them.
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Whether only a restart lets the store take records again. Until then they wait in the log.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// What is free on its disk.
    fn free_bytes(&self) -> u64 {
        let free = rustix::fs::statvfs(&self.path)
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        #[cfg(test)]
        let free = free.min(self.room_left.load(Ordering::Acquire));
        free
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests count"))]
    fn note_look(&self) {
        #[cfg(test)]
        self.looks.fetch_add(1, Ordering::Relaxed);
    }

    /// How many records wait.
    pub(crate) fn lag(&self) -> usize {
        self.tail.lock().len()
    }

    /// Takes over records that are durable in the log, or (with durability `interval`) will be once the log has been
    /// synced up to their end; see [`History::release`].
    pub(crate) fn push(&self, group: Group) {
        let group = Arc::new(group);
        if group.profiles {
            // Before anyone can find it.
            self.any_profiles.store(true, Ordering::SeqCst);
        }
        self.tail.lock().push(Arc::clone(&group));
        if group.profiles {
            self.forget_profiles(&group);
        }
    }

    /// Lets everything before this number into the store: the log has it durably. The store must never know more than the
    /// log, or a crash would leave it ahead.
    pub(crate) fn release(&self, before: u64) {
        let wanted = self.tail.lock().release(before);
        if wanted {
            self.work.notify_one();
        }
    }

    /// Visits the whole ledger of events as the store has it: by player, then by board, then in order. Those that a crash
    /// left ahead of the position are the log's to tell.
    pub(crate) fn visit_events(
        &self,
        mut visitor: impl FnMut(PlayerId, BoardNo, u64, StoredEvent),
    ) -> Result<()> {
        let position = self.position();
        for guard in self.events.iter() {
            let (key, value) = guard.into_inner()?;
            let (player, board, seq) = split_event_key(&key)?;
            if seq >= position {
                continue;
            }
            visitor(player, board, seq, postcard::from_bytes(&value)?);
        }
        Ok(())
    }

    /// Visits the records that made boards, seasons and keys, and the erasures, in order, each with its number.
    pub(crate) fn visit_catalog(&self, mut visitor: impl FnMut(u64, LogRecord)) -> Result<()> {
        // Few wait to be cleared away; of the others there may be many.
        let erasures: Vec<_> = self.erasures.iter().map(numbered).collect::<Result<_>>()?;
        let mut erasures = erasures.into_iter().peekable();
        for guard in self.catalog.iter() {
            let (seq, record) = numbered(guard)?;
            while let Some((seq, erasure)) = erasures.next_if(|(erased, _)| *erased < seq) {
                visitor(seq, erasure);
            }
            visitor(seq, record);
        }
        erasures.for_each(|(seq, erasure)| visitor(seq, erasure));
        Ok(())
    }

    /// Visits the scores that were set, of each season in order, each record with its number.
    pub(crate) fn visit_imports(&self, mut visitor: impl FnMut(u64, LogRecord)) -> Result<()> {
        for guard in self.imports.iter() {
            let (key, value) = guard.into_inner()?;
            visitor(clearing::import_seq(&key)?, postcard::from_bytes(&value)?);
        }
        Ok(())
    }

    /// Makes what has been applied survive a power cut.
    pub(crate) fn persist(&self) -> Result<()> {
        let position = self.position();
        self.db.persist(PersistMode::SyncAll)?;
        self.durable.fetch_max(position, Ordering::AcqRel);
        Ok(())
    }

    /// Bytes on disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.db.disk_space().unwrap_or(0)
    }

    /// Copies the store as it is at one instant into another directory.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<()> {
        use fjall::Readable as _;
        let snapshot = {
            // Not between a table and the batch that it belongs to.
            let _changing = self.changing.lock();
            self.db.snapshot()
        };
        let copy = Self::open(path, self.ids.window)?;
        let mut pairs = vec![
            (self.events.clone(), copy.events.clone()),
            (self.players.clone(), copy.players.clone()),
            (self.names.clone(), copy.names.clone()),
            (self.friends.clone(), copy.friends.clone()),
            (self.bests.clone(), copy.bests.clone()),
            (self.catalog.clone(), copy.catalog.clone()),
            (self.erasures.clone(), copy.erasures.clone()),
            (self.imports.clone(), copy.imports.clone()),
            (self.removals.clone(), copy.removals.clone()),
            (self.meta.clone(), copy.meta.clone()),
        ];
        for (bucket, ids) in self.ids.buckets() {
            pairs.push((ids, copy.ids.ending(&copy.db, bucket)?));
        }
        for (from, to) in &pairs {
            let mut ingestion = to.start_ingestion()?;
            for guard in snapshot.iter(from) {
                let (key, value) = guard.into_inner()?;
                ingestion.write(key, value)?;
            }
            ingestion.finish()?;
        }
        copy.db.persist(PersistMode::SyncAll)?;
        Ok(())
    }
}

/// A record with its number.
fn numbered(guard: fjall::Guard) -> Result<(u64, LogRecord)> {
    let (key, value) = guard.into_inner()?;
    let seq = key.as_ref().try_into().map_err(|_| HistoryError::Key)?;
    Ok((u64::from_be_bytes(seq), postcard::from_bytes(&value)?))
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES)
}

/// Of events there are more than of all else together. They are only ever read in ranges, for which filters are of no use;
/// and tables come in sizes that are worth a merge only eight at a time. A table is flushed whole, and the log's flushes wait
/// for it: it is small.
fn event_options() -> KeyspaceCreateOptions {
    let levels = Leveled::default().with_l0_threshold(8).with_table_target_size(4 << 20);
    options().filter_policy(FilterPolicy::disabled()).compaction_strategy(Arc::new(levels))
}

/// What an import leaves in memory stays there until there is more, and hardly anybody reads it: a quarter of what others may keep.
fn import_options() -> KeyspaceCreateOptions {
    options().max_memtable_size(MEMTABLE_BYTES / 4)
}

/// Ids hold no control characters, so a zero byte ends one.
fn event_key(player: &str, board: BoardNo, seq: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(player.len() + 13);
    key.extend_from_slice(player.as_bytes());
    key.push(0);
    key.extend_from_slice(&board.to_be_bytes());
    key.extend_from_slice(&seq.to_be_bytes());
    key
}

/// What the keys of a season's rows begin with.
fn season_key((board, season): (BoardNo, SeasonNo)) -> [u8; 8] {
    ((u64::from(board) << 32) | u64::from(season)).to_be_bytes()
}

fn split_season_key(key: &[u8]) -> Result<(BoardNo, SeasonNo)> {
    let split = || {
        let (board, rest) = key.split_first_chunk()?;
        Some((BoardNo::from_be_bytes(*board), SeasonNo::from_be_bytes(*rest.first_chunk()?)))
    };
    split().ok_or(HistoryError::Key)
}

fn split_event_key(key: &[u8]) -> Result<(PlayerId, BoardNo, u64)> {
    let split = || {
        let (rest, seq) = key.split_last_chunk::<8>()?;
        let (rest, board) = rest.split_last_chunk::<4>()?;
        let player = std::str::from_utf8(rest.strip_suffix(&[0])?).ok()?;
        let player = PlayerId::new(player).ok()?;
        Some((player, BoardNo::from_be_bytes(*board), u64::from_be_bytes(*seq)))
    };
    split().ok_or(HistoryError::Key)
}
