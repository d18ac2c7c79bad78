//! The thread that feeds the history.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use fjall::{OwnedWriteBatch, PersistMode};
use standings_core::{PlayerId, Profile};

use crate::history::{
    Group, History, HistoryError, Result, StoredEvent,
    clearing::{import_key, removal_key},
    event_key,
    friends::StoredFriends,
    names::name_key,
    rows::{self, Rows},
};
use crate::record::LogRecord;

/// Records in one batch: enough for a table of their own, few enough to be small in memory and quick to replay.
const BATCH_RECORDS: usize = 262_144;
/// How long to gather after the first record came: a few at a time cost more than all the rest of a submission. Reads look
/// into what waits, so nobody sees the difference; whoever needs the records in the store says so (see
/// [`History::hurry`]).
const GATHER: Duration =
    if cfg!(test) { Duration::from_millis(10) } else { Duration::from_secs(10) };
/// Fewer records than this after a tenth of that time will not become a table, and need not wait for it.
const FEW_RECORDS: usize = rows::TABLE_ROWS.div_ceil(10);
/// Groups that are forgotten at once after they were applied: some thousand records.
const FORGOTTEN_GROUPS: usize = 2;
/// Records after which memory is given back, once no others wait.
const GIVE_BACK_AFTER: usize = BATCH_RECORDS / 16;
/// How often what was applied is made to survive a power cut. Until then the log keeps its segments.
const PERSIST_EVERY: Duration = Duration::from_secs(1);
/// How long to wait after the store refused a batch.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Space that there must be before the store is given more, for the tables that it may cause to be written, and for each
/// record of a batch. A write that fails for want of space would leave the store out of order until a restart, which
/// nothing else here is.
const RESERVE_BYTES: u64 = 64 << 20;
const RECORD_BYTES: u64 = 256;

impl History {
    /// Feeds the store until it is told to end and nothing is left. A store that fails is tried again: the records stay in
    /// the tail and in the log, and once too many wait, writers are refused.
    pub(crate) fn feed(&self) {
        let mut persisted = Instant::now();
        let mut dirty = false;
        // Records applied since memory was last given back.
        let mut applied = 0;
        loop {
            let (groups, closing) = self.wait_for_groups(dirty);
            let idle = groups.is_empty();
            if idle && closing {
                break;
            }
            if !idle {
                if !self.try_apply(&groups) {
                    if closing {
                        break;
                    }
                    std::thread::sleep(RETRY_AFTER);
                    continue;
                }
                dirty = true;
                // Not all at once: whoever writes waits for the lock.
                for few in groups.chunks(FORGOTTEN_GROUPS) {
                    self.tail.lock().applied(few.len());
                }
                self.room.notify_waiters();
                applied += groups.iter().map(|group| group.weight).sum::<usize>();
                drop(groups);
                if applied >= GIVE_BACK_AFTER && self.lag() == 0 {
                    standings_index::give_back();
                    applied = 0;
                }
            }
            if dirty && (idle || persisted.elapsed() >= PERSIST_EVERY) {
                match self.persist() {
                    Ok(()) => dirty = false,
                    Err(error) => {
                        tracing::error!(%error, "the history cannot be made durable");
                        self.note_failure(&error);
                    }
                }
                persisted = Instant::now();
            }
        }
        if let Err(error) = self.persist() {
            tracing::error!(%error, "the history cannot be made durable; the log keeps what it lacks");
        }
    }

    /// Applies groups, if there is room for them; whether that worked.
    fn try_apply(&self, groups: &[Arc<Group>]) -> bool {
        if self.has_failed() {
            // It would take tables still, one with every attempt.
            return false;
        }
        let records: usize = groups.iter().map(|group| group.weight).sum();
        if let Err(error) = self.room_for(records) {
            tracing::warn!(
                %error,
                "the disk is nearly full: the history waits, and the log keeps what it lacks"
            );
            return false;
        }
        let applied = self.apply(groups);
        if let Err(error) = &applied {
            tracing::error!(%error, "the history does not take records; trying again");
            self.note_failure(error);
        }
        applied.is_ok()
    }

    /// Whether the store may be given so many more records. Whoever writes to it asks first.
    pub(crate) fn room_for(&self, records: usize) -> Result<()> {
        let needed = RESERVE_BYTES + records as u64 * RECORD_BYTES;
        let room = self.free_bytes();
        if room < needed { Err(HistoryError::NoRoom { needed, room }) } else { Ok(()) }
    }

    /// A store that has met a write that failed takes no other until it is opened anew.
    pub(super) fn note_failure(&self, error: &HistoryError) {
        if matches!(error, HistoryError::Store(fjall::Error::Poisoned)) {
            self.failed.store(true, Ordering::Release);
        }
    }

    /// Waits until there is a batch, or for long enough that a smaller one will do; while something is not yet persisted,
    /// only for a while.
    fn wait_for_groups(&self, dirty: bool) -> (Vec<Arc<Group>>, bool) {
        let mut tail = self.tail.lock();
        let persist_at = dirty.then(|| Instant::now() + PERSIST_EVERY);
        loop {
            let patience = if tail.ready() < FEW_RECORDS { GATHER / 10 } else { GATHER };
            let gathered = tail.ready_since().map(|since| since + patience);
            let now = Instant::now();
            let due = tail.closing || tail.hurry || gathered.is_some_and(|until| until <= now);
            if tail.ready() >= BATCH_RECORDS || due && tail.ready() > 0 || tail.closing {
                tail.hurry = false;
                return (tail.next(BATCH_RECORDS), tail.closing);
            }
            if persist_at.is_some_and(|at| at <= now) {
                return (Vec::new(), false);
            }
            // Not with every group: waking this thread costs more than the group.
            tail.wanted = if tail.ready() == 0 { 1 } else { BATCH_RECORDS };
            match gathered.into_iter().chain(persist_at).min() {
                Some(until) => drop(self.work.wait_until(&mut tail, until)),
                None => self.work.wait(&mut tail),
            }
        }
    }

    /// Has all that waits put into the store now: someone needs it there.
    pub(crate) fn hurry(&self) {
        self.tail.lock().hurry = true;
        self.work.notify_one();
    }

    /// Ends [`feed`](Self::feed) once everything that may go into the store is in it.
    pub(crate) fn close(&self) {
        self.tail.lock().closing = true;
        self.work.notify_one();
    }

    /// Applies groups, in atomic batches together with the positions that they lead to.
    ///
    /// Events and their ids may be there before their batch, as tables. A crash in between leaves them ahead of the position:
    /// they are applied again, under the same keys, and until then whoever reads the store prefers what waits.
    fn apply(&self, groups: &[Arc<Group>]) -> Result<()> {
        // An erasure looks at what the store has, so all that comes before it must be there: it is a batch of its own.
        for together in groups.chunk_by(|a, b| !a.erases() && !b.erases()) {
            let _changing = self.changing.lock();
            // Out of this process at once: what is left in it would have to find room later.
            self.store_tables(together)?.durability(Some(PersistMode::Buffer)).commit()?;
        }
        Ok(())
    }

    /// Stores what becomes tables. Returns the batch of everything else that the groups change, and of the position that
    /// they lead to.
    fn store_tables(&self, groups: &[Arc<Group>]) -> Result<OwnedWriteBatch> {
        let mut batch = self.db.batch();
        // What earlier records of this very batch have made of profiles: the store cannot tell yet.
        let mut profiles = HashMap::new();
        let mut events = Rows::default();
        let mut ids = BTreeMap::new();
        for group in groups {
            for (record, seq) in group.records.iter().zip(group.first_seq..) {
                if let LogRecord::Event(event) = record {
                    let (board, seq) = (event.board.to_be_bytes(), seq.to_be_bytes());
                    let key = [event.player.as_bytes(), &[0], &board, &seq];
                    events.push(&key, &StoredEvent::of(event))?;
                    self.ids.add(&mut ids, event)?;
                } else {
                    self.apply_record(&mut batch, &mut profiles, record, seq)?;
                }
            }
        }
        // A keyspace that cannot be made is noticed before there is a table.
        let mut stores = vec![(events, self.events.clone())];
        for (bucket, ids) in ids {
            stores.push((ids, self.ids.ending(&self.db, bucket)?));
        }
        let (tables, rows): (Vec<_>, Vec<_>) =
            stores.into_iter().partition(|(rows, keyspace)| rows.are_a_table(keyspace));
        for (rows, keyspace) in rows {
            let journaled = rows.store(&mut batch, &keyspace);
            self.journaled.fetch_add(journaled, Ordering::Relaxed);
        }
        if !tables.is_empty() {
            self.before_tables()?;
        }
        for (rows, keyspace) in tables {
            rows.store_table(&keyspace)?;
        }
        if let Some(last) = groups.last() {
            batch.insert(&self.meta, "position", last.end().to_be_bytes());
        }
        Ok(batch)
    }

    /// A table takes what its keyspace has in memory to the disk, and so must not be ahead of the journal: half of an
    /// erasure would survive a power cut. And the journal, of which the store sees no end where tables come in between, is
    /// ended here once it is long.
    fn before_tables(&self) -> Result<()> {
        self.db.persist(PersistMode::SyncAll)?;
        if self.journaled.load(Ordering::Relaxed) >= crate::history::JOURNAL_BYTES {
            self.meta.rotate_memtable()?;
            self.journaled.store(0, Ordering::Relaxed);
        }
        Ok(())
    }

    fn apply_record(
        &self,
        batch: &mut OwnedWriteBatch,
        profiles: &mut HashMap<PlayerId, Option<Profile>>,
        record: &LogRecord,
        seq: u64,
    ) -> Result<()> {
        match record {
            // Events go into the store sorted; see `store_tables`.
            LogRecord::Event(_) => {}
            LogRecord::Scores { board, season, .. } => {
                let key = import_key((*board, *season), seq);
                batch.insert(&self.imports, key, postcard::to_stdvec(record)?);
            }
            LogRecord::EntryRemoved { board, season, player, at } => {
                let stored = StoredEvent::Removed { season: *season, at: *at };
                let key = event_key(player, *board, seq);
                batch.insert(&self.events, key, postcard::to_stdvec(&stored)?);
                batch.insert(&self.removals, removal_key((*board, *season), player), "");
            }
            LogRecord::PlayerPut { player, profile } => {
                let before = match profiles.remove(player) {
                    Some(before) => before,
                    None => match self.players.get(player.as_bytes())? {
                        Some(bytes) => Some(postcard::from_bytes(&bytes)?),
                        None => None,
                    },
                };
                if let Some(name) = before.and_then(|before: Profile| before.name) {
                    batch.remove(&self.names, name_key(&name, player));
                }
                if let Some(name) = &profile.name {
                    batch.insert(&self.names, name_key(name, player), name.as_bytes());
                }
                batch.insert(&self.players, player.as_bytes(), postcard::to_stdvec(profile)?);
                profiles.insert(player.clone(), Some(profile.clone()));
            }
            LogRecord::FriendsPut { player, friends } => {
                let stored = StoredFriends { seq, friends: friends.clone() };
                batch.insert(&self.friends, player.as_bytes(), postcard::to_stdvec(&stored)?);
            }
            LogRecord::PlayerErased { player, .. } => {
                self.erase(batch, player)?;
                profiles.insert(player.clone(), None);
                batch.insert(&self.erasures, seq.to_be_bytes(), postcard::to_stdvec(record)?);
            }
            LogRecord::BoardPut { .. }
            | LogRecord::BoardDeleted { .. }
            | LogRecord::Season { .. }
            | LogRecord::SeasonFrozen { .. }
            | LogRecord::SnapshotFrozen { .. }
            | LogRecord::SnapshotImported { .. }
            | LogRecord::ErasuresPurged { .. }
            | LogRecord::KeyPut { .. }
            | LogRecord::KeyDeleted { .. } => {
                batch.insert(&self.catalog, seq.to_be_bytes(), postcard::to_stdvec(record)?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl History {
    /// Lets nothing into the store until it is opened anew.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        // Whatever was under way is done.
        drop(self.changing.lock());
    }

    /// Leaves so many bytes free on the store's disk.
    pub(crate) fn leave_room(&self, bytes: u64) {
        self.room_left.store(bytes, Ordering::Release);
    }

    /// Leaves of the next batch what a crash in its middle leaves: the tables, and no position.
    pub(crate) fn break_off(&self) -> Result<()> {
        let groups = self.tail.lock().next(BATCH_RECORDS);
        let _changing = self.changing.lock();
        self.store_tables(&groups).map(drop)
    }
}
