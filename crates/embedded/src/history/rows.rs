//! Rows on their way into one keyspace, brought into the order of their keys.
//!
//! A row is a key and a value in one long piece of memory: nothing is allocated for each, and the store takes them either
//! one by one or, where there are many, as a finished table. A table costs a fraction: no journal, no search for the
//! place of every key, and neither is needed, since the log has the records until the store has them for good.

use fjall::{Keyspace, OwnedWriteBatch};
use serde::Serialize;

use crate::history::Result;

/// From so many rows on they become a table of their own. Many small tables would cost more in merging than they save.
/// So few in tests that they meet both ways.
pub(super) const TABLE_ROWS: usize = if cfg!(test) { 4 } else { 65_536 };
/// Tables that have not been merged yet. With more the store slows down those who put in row by row, until it has caught
/// up; of tables it takes any number, and reads would have to look into all of them.
const MOST_TABLES: usize = 24;

/// Keys and values.
#[derive(Default)]
pub(super) struct Rows {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

/// Where a row lies: the key, and the value right after it.
#[derive(Clone, Copy)]
struct Row {
    /// The part of the key in which keys first differ, as a number: most comparisons need no more.
    head: u64,
    start: u32,
    value: u32,
    end: u32,
}

impl Rows {
    /// Adds a row, whose key is in parts.
    pub(super) fn push(&mut self, key: &[&[u8]], value: &impl Serialize) -> Result<()> {
        let start = self.len();
        for part in key {
            self.bytes.extend_from_slice(part);
        }
        let middle = self.len();
        self.bytes = postcard::to_extend(value, std::mem::take(&mut self.bytes))?;
        self.rows.push(Row { head: 0, start, value: middle, end: self.len() });
        Ok(())
    }

    fn len(&self) -> u32 {
        u32::try_from(self.bytes.len()).expect("a batch of the history is far below 4 GiB")
    }

    fn key(&self, row: Row) -> &[u8] {
        &self.bytes[row.start as usize..row.value as usize]
    }

    fn value(&self, row: Row) -> &[u8] {
        &self.bytes[row.value as usize..row.end as usize]
    }

    /// Whether there are so many that they are better off as a table.
    pub(super) fn are_a_table(&self, keyspace: &Keyspace) -> bool {
        self.rows.len() >= TABLE_ROWS && keyspace.l0_table_count() < MOST_TABLES
    }

    /// Puts the rows into a batch for a keyspace; returns how many bytes they are.
    pub(super) fn store(mut self, batch: &mut OwnedWriteBatch, keyspace: &Keyspace) -> u64 {
        self.sort();
        for row in &self.rows {
            batch.insert(keyspace, self.key(*row), self.value(*row));
        }
        u64::from(self.len())
    }

    /// Puts the rows into a keyspace at once, as a table. They are there before any batch, and again if the batch that goes with
    /// them fails and is made anew.
    pub(super) fn store_table(mut self, keyspace: &Keyspace) -> Result<()> {
        self.sort();
        let mut table = keyspace.start_ingestion()?;
        for row in &self.rows {
            table.write(self.key(*row), self.value(*row))?;
        }
        table.finish()?;
        Ok(())
    }

    /// Brings the rows into the order of their keys. Of several with one key the last stays.
    fn sort(&mut self) {
        let shared = self.shared();
        let mut rows = std::mem::take(&mut self.rows);
        for row in &mut rows {
            let mut head = [0; 8];
            let rest = &self.key(*row)[shared..];
            let length = rest.len().min(8);
            head[..length].copy_from_slice(&rest[..length]);
            row.head = u64::from_be_bytes(head);
        }
        rows.sort_unstable_by(|a, b| {
            let by_key = || self.key(*a)[shared..].cmp(&self.key(*b)[shared..]);
            // The latest first: it is the one that is kept.
            a.head.cmp(&b.head).then_with(by_key).then_with(|| b.start.cmp(&a.start))
        });
        rows.dedup_by(|a, b| a.head == b.head && self.key(*a) == self.key(*b));
        self.rows = rows;
    }

    /// How many bytes all keys begin with alike: ids of one game often share their beginning.
    fn shared(&self) -> usize {
        let Some(first) = self.rows.first().map(|row| self.key(*row)) else { return 0 };
        self.rows.iter().fold(first.len(), |shared, row| {
            let key = self.key(*row);
            if key.get(..shared) == first.get(..shared) {
                return shared;
            }
            first.iter().zip(key).take_while(|(a, b)| a == b).count()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fjall::{Database, KeyspaceCreateOptions};

    use super::*;
    use standings_engine::conformance::model::Random;

    /// Keys that share beginnings, are the beginnings of others, and repeat.
    fn key(random: &mut Random) -> Vec<u8> {
        let length = random.below(14);
        let tail = (0..length).map(|_| u8::try_from(random.below(3)).unwrap());
        b"player-".iter().copied().chain(tail).collect()
    }

    #[test]
    fn rows_are_stored_as_a_map_would_have_them_one_by_one_and_as_a_table() {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let db = Database::builder(dir.path()).open().unwrap();
        let keyspace = db.keyspace("rows", KeyspaceCreateOptions::default).unwrap();
        let mut random = Random(7);
        let mut model = BTreeMap::new();
        for count in [0, 1, 2, 3, 4, 5, 50, 2, 500, 3, 40] {
            let mut rows = Rows::default();
            for _ in 0..count {
                let (key, value) = (key(&mut random), random.below(1000));
                let (start, end) = key.split_at(key.len() / 2);
                rows.push(&[start, end], &value).unwrap();
                model.insert(key, value);
            }
            if rows.are_a_table(&keyspace) {
                rows.store_table(&keyspace).unwrap();
            } else {
                let mut batch = db.batch();
                rows.store(&mut batch, &keyspace);
                batch.commit().unwrap();
            }
            let stored: BTreeMap<Vec<u8>, u64> = keyspace
                .iter()
                .map(|guard| guard.into_inner().unwrap())
                .map(|(key, value)| (key.to_vec(), postcard::from_bytes(&value).unwrap()))
                .collect();
            assert_eq!(stored, model);
        }
        assert!(keyspace.table_count() > 0, "some were stored as tables");
    }
}
