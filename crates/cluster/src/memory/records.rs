//! Records and lists: documents on shard 0.

use std::collections::BTreeMap;

use crate::traits::{Change, Defined, List, Looked, NONCES, Put, Record, RecordKey, Version};

/// Records and lists.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Records.
    pub records: BTreeMap<RecordKey, Record>,
    /// Rows of lists.
    pub rows: BTreeMap<(List, Vec<u8>), String>,
}

impl Records {
    pub(super) fn look(&self, key: &RecordKey, known: Version) -> Looked {
        match self.records.get(key) {
            None => Looked::Absent,
            Some(record) if record.version == known => Looked::Known,
            Some(record) => Looked::Is(record.clone()),
        }
    }

    pub(super) fn define(&mut self, change: &Change) -> Defined {
        let landed = |put: &Put| {
            let record = self.records.get(&put.key);
            record.is_some_and(|record| record.nonces.iter().any(|(_, n)| *n == change.nonce))
        };
        if change.puts.iter().any(landed) {
            return Defined::Done;
        }
        if !change.puts.iter().all(|put| self.version(&put.key) == put.was) {
            let now = change.puts.iter().map(|put| self.records.get(&put.key).cloned()).collect();
            let certain = change.puts.iter().any(|put| self.remembers(put));
            return if certain { Defined::Conflict(now) } else { Defined::Forgotten(now) };
        }
        for put in &change.puts {
            self.put(put, change);
        }
        for row in &change.rows {
            let key = (row.list, row.key.clone());
            match &row.body {
                Some(body) => drop(self.rows.insert(key, body.clone())),
                None => drop(self.rows.remove(&key)),
            }
        }
        Defined::Done
    }

    fn version(&self, key: &RecordKey) -> Version {
        self.records.get(key).map_or(Version::ABSENT, |record| record.version)
    }

    /// Whether all changes since the version that is named are remembered, so that a nonce which is not among them was not theirs.
    fn remembers(&self, put: &Put) -> bool {
        match self.records.get(&put.key) {
            None => put.was == Version::ABSENT,
            Some(record) if put.was == Version::ABSENT => record.nonces.len() < NONCES,
            Some(record) => record.nonces.iter().any(|(version, _)| *version <= put.was),
        }
    }

    fn put(&mut self, put: &Put, change: &Change) {
        assert!(put.version > put.was, "a version grows");
        let old = self.records.remove(&put.key);
        let Some(body) = &put.body else { return };
        let mut nonces = old.map_or_else(Vec::new, |old| old.nonces);
        nonces.push((put.version, change.nonce));
        let forgotten = nonces.len().saturating_sub(NONCES);
        nonces.drain(..forgotten);
        let record = Record { version: put.version, nonces, body: body.clone() };
        self.records.insert(put.key.clone(), record);
    }
}
