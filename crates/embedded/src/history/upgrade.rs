//! From a store of format version 1 to the present one.
//!
//! Version 1 had all event ids in one keyspace; that it is there is how such a store is known. Its ids go where they belong now,
//! the records that name frozen standings are encoded anew, and the keyspace goes last. Interrupted, it is done again.

use fjall::{PersistMode, Readable as _};
use standings_core::Millis;

use super::{History, Result, StoredId, options};
use crate::v1;

const IDS: &str = "ids";
/// Set in `meta` once the records of the catalog are encoded anew: doing it again would not read them.
const CATALOG_DONE: &str = "upgraded-catalog";
/// Ids in one batch.
const BATCH: usize = 10_000;

impl History {
    /// Brings the store to the present format, if it is of an older one.
    pub(super) fn upgrade(&self) -> Result<()> {
        if !self.db.list_keyspace_names().iter().any(|name| &**name == IDS) {
            return Ok(());
        }
        tracing::info!("the history is of format version 1; upgrading it");
        if self.meta.get(CATALOG_DONE)?.is_none() {
            self.upgrade_catalog()?;
        }
        let ids = self.db.keyspace(IDS, options)?;
        self.upgrade_ids(&ids)?;
        self.db.persist(PersistMode::SyncAll)?;
        self.db.delete_keyspace(ids)?;
        self.meta.remove(CATALOG_DONE)?;
        self.db.persist(PersistMode::SyncAll)?;
        Ok(())
    }

    fn upgrade_catalog(&self) -> Result<()> {
        let mut batch = self.db.batch();
        for guard in self.catalog.iter() {
            let (key, value) = guard.into_inner()?;
            let (record, _) = v1::take_record(&value)?;
            batch.insert(&self.catalog, key, postcard::to_stdvec(&record)?);
        }
        batch.insert(&self.meta, CATALOG_DONE, "");
        batch.durability(Some(PersistMode::SyncAll)).commit()?;
        Ok(())
    }

    /// Those that are past their window stay behind.
    fn upgrade_ids(&self, ids: &fjall::Keyspace) -> Result<()> {
        let snapshot = self.db.snapshot();
        let mut newest = Millis::MIN;
        for guard in snapshot.iter(ids) {
            let stored: StoredId = postcard::from_bytes(&guard.value()?)?;
            newest = newest.max(stored.entry.updated_at);
        }
        let mut batch = self.db.batch();
        for guard in snapshot.iter(ids) {
            let (key, value) = guard.into_inner()?;
            let accepted = postcard::from_bytes::<StoredId>(&value)?.entry.updated_at;
            if newest >= accepted.plus(self.ids.window) {
                continue;
            }
            batch.insert(&self.ids.of(&self.db, accepted)?, key, value);
            if batch.len() >= BATCH {
                std::mem::replace(&mut batch, self.db.batch()).commit()?;
            }
        }
        batch.commit()?;
        Ok(())
    }
}
