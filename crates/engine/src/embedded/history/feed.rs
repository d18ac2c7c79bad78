//! The thread that feeds the history.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use fjall::{OwnedWriteBatch, PersistMode};
use parking_lot::MutexGuard;
use standings_core::{PlayerId, Profile};

use super::{
    Group, History, HistoryError, Result, StoredEvent, event_key, friends::StoredFriends,
    names::name_key,
};
use crate::embedded::record::Record;

/// Records in one batch: enough that the cost of a batch does not count, few enough to be small in memory.
const BATCH_RECORDS: usize = 16_384;
/// How long to gather after the first record came: feeding a few at a time costs more than all the rest of a submission.
/// Reads look into what waits, so nobody sees the difference.
const GATHER: Duration = Duration::from_millis(10);
/// How often what was applied is made to survive a power cut. Until then the log keeps its segments.
const PERSIST_EVERY: Duration = Duration::from_secs(1);
/// How long to wait after the store refused a batch.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Space that there must be before the store is given more: a batch, and the tables that it may cause to be written. A
/// write that fails for want of space would leave the store out of order until a restart, which nothing else here is.
const RESERVE_BYTES: u64 = 64 << 20;

impl History {
    /// Feeds the store until it is told to end and nothing is left. A store that fails is tried again: the records stay in
    /// the tail and in the log, and once too many wait, writers are refused.
    pub(crate) fn feed(&self) {
        let mut persisted = Instant::now();
        let mut dirty = false;
        loop {
            let (groups, closing) = self.wait_for_groups(dirty);
            if groups.is_empty() && closing {
                break;
            }
            if !groups.is_empty() {
                if !self.try_apply(&groups) {
                    if closing {
                        break;
                    }
                    std::thread::sleep(RETRY_AFTER);
                    continue;
                }
                dirty = true;
                self.tail.lock().applied(groups.len());
                self.room.notify_waiters();
            }
            if dirty && (groups.is_empty() || persisted.elapsed() >= PERSIST_EVERY) {
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
        let room = rustix::fs::statvfs(&self.path)
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        if room < RESERVE_BYTES {
            tracing::warn!(
                room,
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

    /// A store that has met a write that failed takes no other until it is opened anew.
    fn note_failure(&self, error: &HistoryError) {
        if matches!(error, HistoryError::Store(fjall::Error::Poisoned)) {
            self.failed.store(true, Ordering::Release);
        }
    }

    /// Waits for work; while something is not yet persisted, only for a while.
    fn wait_for_groups(&self, dirty: bool) -> (Vec<Arc<Group>>, bool) {
        let mut tail = self.tail.lock();
        let mut gather_until = None;
        loop {
            let groups = tail.next(BATCH_RECORDS);
            let few = groups.iter().map(|group| group.weight()).sum::<usize>() < BATCH_RECORDS;
            if !groups.is_empty() && few && !tail.closing {
                let until = *gather_until.get_or_insert_with(|| Instant::now() + GATHER);
                if Instant::now() < until {
                    // A condition would wake this thread with every group.
                    MutexGuard::unlocked(&mut tail, || std::thread::sleep(GATHER));
                    continue;
                }
            }
            if !groups.is_empty() || tail.closing {
                return (groups, tail.closing);
            }
            if !dirty {
                self.work.wait(&mut tail);
            } else if self.work.wait_for(&mut tail, PERSIST_EVERY).timed_out() {
                return (Vec::new(), false);
            }
        }
    }

    /// Ends [`feed`](Self::feed) once everything that may go into the store is in it.
    pub(crate) fn close(&self) {
        self.tail.lock().closing = true;
        self.work.notify_one();
    }

    /// Applies groups in one atomic batch, together with the position that they lead to.
    fn apply(&self, groups: &[Arc<Group>]) -> Result<()> {
        // An erasure looks at what the store has, so all that comes before it must be there.
        let erases = |group: &Arc<Group>| {
            group.records.iter().any(|record| matches!(record, Record::PlayerErased { .. }))
        };
        if groups.len() > 1 && groups.iter().any(erases) {
            return groups.iter().try_for_each(|group| self.apply(std::slice::from_ref(group)));
        }
        let Some(last) = groups.last() else { return Ok(()) };
        let _changing = self.changing.lock();
        let mut batch = self.db.batch();
        // What earlier records of this very batch have made of profiles: the store cannot tell yet.
        let mut profiles = HashMap::new();
        // In the order of their keys, which the store takes faster.
        let mut events = Vec::new();
        for group in groups {
            for (record, seq) in group.records.iter().zip(group.first_seq..) {
                if let Record::Event(event) = record {
                    let key = event_key(&event.player, event.board, seq);
                    events.push((key, postcard::to_stdvec(&StoredEvent::of(event))?));
                    self.insert_id(&mut batch, event)?;
                } else {
                    self.apply_record(&mut batch, &mut profiles, record, seq)?;
                }
            }
        }
        events.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (key, value) in events {
            batch.insert(&self.events, key, value);
        }
        batch.insert(&self.meta, "position", last.end().to_be_bytes());
        // Out of this process at once: what is left in it would have to find room later.
        batch.durability(Some(PersistMode::Buffer)).commit()?;
        Ok(())
    }

    fn apply_record(
        &self,
        batch: &mut OwnedWriteBatch,
        profiles: &mut HashMap<PlayerId, Option<Profile>>,
        record: &Record,
        seq: u64,
    ) -> Result<()> {
        match record {
            // Events are sorted first; see `apply`.
            Record::Event(_) | Record::NameWas { .. } => {}
            Record::Scores { .. } => {
                batch.insert(&self.imports, seq.to_be_bytes(), postcard::to_stdvec(record)?);
            }
            Record::EntryRemoved { board, season, player, at } => {
                let stored = StoredEvent::Removed { season: *season, at: *at };
                let key = event_key(player, *board, seq);
                batch.insert(&self.events, key, postcard::to_stdvec(&stored)?);
            }
            Record::PlayerPut { player, profile } => {
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
            Record::FriendsPut { player, friends } => {
                let stored = StoredFriends { seq, friends: friends.clone() };
                batch.insert(&self.friends, player.as_bytes(), postcard::to_stdvec(&stored)?);
            }
            Record::PlayerErased { player, .. } => {
                self.erase(batch, player)?;
                profiles.insert(player.clone(), None);
                batch.insert(&self.catalog, seq.to_be_bytes(), postcard::to_stdvec(record)?);
            }
            Record::BoardPut { .. }
            | Record::BoardDeleted { .. }
            | Record::SeasonOpened { .. }
            | Record::SeasonEnds { .. }
            | Record::SeasonClosed { .. }
            | Record::SeasonFrozen { .. }
            | Record::SeasonExpired { .. }
            | Record::SeasonDropped { .. }
            | Record::SnapshotTaken(_)
            | Record::SnapshotFrozen { .. }
            | Record::SnapshotImported { .. }
            | Record::SnapshotDropped { .. }
            | Record::ErasuresPurged { .. }
            | Record::KeyPut { .. }
            | Record::KeyDeleted { .. } => {
                batch.insert(&self.catalog, seq.to_be_bytes(), postcard::to_stdvec(record)?);
            }
        }
        Ok(())
    }
}
