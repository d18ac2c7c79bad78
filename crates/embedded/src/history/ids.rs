//! Event ids, kept for a window of time and then dropped all at once.
//!
//! Ids go by the time of their acceptance into keyspaces of half a window each. Looking one up asks the few that may still
//! matter, and filters answer for those that do not have it; forgetting is dropping the oldest keyspace,
//! which costs nothing and gives back its space. A keyspace is named by the end of its span, so that it is known when to
//! drop it even after the window was set to another length.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
};

use fjall::{Database, Keyspace, OwnedWriteBatch};
use parking_lot::RwLock;
use standings_core::{EventId, Millis, PlayerId};

use crate::history::{
    History, HistoryError, Recorded, Result, StoredEvent, event_key, options, recorded, rows::Rows,
};
use crate::record::{BoardNo, Event};

const PREFIX: &str = "ids-";

/// The event ids.
pub(super) struct Ids {
    pub(super) window: Millis,
    /// By the end of the span of time.
    buckets: RwLock<BTreeMap<i64, Keyspace>>,
}

impl Ids {
    pub(super) fn open(db: &Database, window: Millis) -> Result<Self> {
        let mut buckets = BTreeMap::new();
        for name in db.list_keyspace_names() {
            if let Some(number) = name.strip_prefix(PREFIX).and_then(|number| number.parse().ok()) {
                buckets.insert(number, db.keyspace(&name, options)?);
            }
        }
        Ok(Self { window, buckets: RwLock::new(buckets) })
    }

    /// The end of the span of time that an instant lies in.
    fn end(&self, instant: Millis) -> i64 {
        let span = (self.window.0 / 2).max(60_000);
        instant.0.div_euclid(span).saturating_add(1).saturating_mul(span)
    }

    pub(super) fn buckets(&self) -> Vec<(i64, Keyspace)> {
        self.buckets.read().iter().map(|(number, ids)| (*number, ids.clone())).collect()
    }

    /// Adds the id of an event, if it has one, to the rows of its span of time.
    pub(super) fn add(&self, rows: &mut BTreeMap<i64, Rows>, event: &Event) -> Result<()> {
        let Some(id) = &event.event_id else { return Ok(()) };
        let rows = rows.entry(self.end(event.entry.updated_at)).or_default();
        rows.push(&[&event.board.to_be_bytes(), id.as_bytes()], &recorded(event))
    }

    /// The keyspace of the span of time that ends so, made if there is none.
    pub(super) fn ending(&self, db: &Database, end: i64) -> Result<Keyspace> {
        if let Some(ids) = self.buckets.read().get(&end) {
            return Ok(ids.clone());
        }
        let ids = db.keyspace(&format!("{PREFIX}{end}"), options)?;
        self.buckets.write().insert(end, ids.clone());
        Ok(ids)
    }
}

impl History {
    /// What was answered for an event id.
    pub(crate) fn event_id(&self, board: BoardNo, id: &EventId) -> Result<Option<Recorded>> {
        let erased = {
            let tail = self.tail.lock();
            if let Some(stored) = tail.event_id(board, id) {
                return Ok(Some(stored));
            }
            tail.erased()
        };
        let last = self.last_use(&id_key(board, id))?;
        Ok(last.filter(|stored| !erased.contains_key(&stored.player)))
    }

    /// What the store has of an id. By its latest use and not by the last span of time: a span of a window that was longer may end
    /// after those of today.
    fn last_use(&self, key: &[u8]) -> Result<Option<Recorded>> {
        let mut last: Option<Recorded> = None;
        for ids in self.ids.buckets.read().values() {
            let Some(bytes) = ids.get(key)? else { continue };
            let stored: Recorded = postcard::from_bytes(&bytes)?;
            if last.as_ref().is_none_or(|last| last.entry.updated_at <= stored.entry.updated_at) {
                last = Some(stored);
            }
        }
        Ok(last)
    }

    /// Forgets the id of an event that was accepted at an instant, if it is still this player's.
    pub(super) fn remove_id(
        &self,
        batch: &mut OwnedWriteBatch,
        (board, id): (BoardNo, &EventId),
        player: &str,
        accepted_at: Millis,
    ) -> Result<()> {
        let key = id_key(board, id);
        let later = (Bound::Excluded(accepted_at.0), Bound::Unbounded);
        for ids in self.ids.buckets.read().range(later).map(|(_, ids)| ids) {
            if let Some(bytes) = ids.get(&key)?
                && postcard::from_bytes::<Recorded>(&bytes)?.player.as_str() == player
            {
                batch.remove(ids, &key[..]);
            }
        }
        Ok(())
    }

    /// Forgets the ids of players whose events went with their season before they were erased. Each is given with the
    /// instant of the erasure: what was accepted later is of someone who came back.
    pub(super) fn clear_ids(&self, erased: &HashMap<PlayerId, (u64, Millis)>) -> Result<()> {
        for (_, ids) in self.ids.buckets() {
            for guard in ids.iter() {
                let (key, value) = guard.into_inner()?;
                let stored: Recorded = postcard::from_bytes(&value)?;
                let Some((_, at)) = erased.get(&stored.player) else { continue };
                if stored.entry.updated_at > *at || self.has_event(&stored.player, &key)? {
                    continue;
                }
                self.room_for(1)?;
                let _changing = self.changing.lock();
                // It may have been given to another event since.
                if ids.get(&key)?.is_some_and(|now| now == value) {
                    ids.remove(key)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the player has an event with the id of this key.
    fn has_event(&self, player: &PlayerId, id: &[u8]) -> Result<bool> {
        let (board, id) = id.split_first_chunk().ok_or(HistoryError::Key)?;
        let board = BoardNo::from_be_bytes(*board);
        for guard in
            self.events.range(event_key(player, board, 0)..=event_key(player, board, u64::MAX))
        {
            if let StoredEvent::Accepted { event_id: Some(found), .. } =
                postcard::from_bytes(&guard.value()?)?
                && found.as_bytes() == id
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Forgets the ids that are past their window.
    pub(crate) fn expire_ids(&self, now: Millis) -> Result<()> {
        let old = now.plus(Millis(-self.ids.window.0));
        let gone = self.ids.buckets().into_iter().take_while(|(end, _)| *end <= old.0);
        for (end, ids) in gone {
            // Before it is deleted: nobody must find half of it.
            self.ids.buckets.write().remove(&end);
            if let Err(error) = self.db.delete_keyspace(ids.clone()) {
                self.ids.buckets.write().insert(end, ids);
                return Err(error.into());
            }
        }
        Ok(())
    }
}

fn id_key(board: BoardNo, id: &EventId) -> Vec<u8> {
    [&board.to_be_bytes()[..], id.as_bytes()].concat()
}
