//! Entries in order, where places are counted fast enough for a store in memory: sorted pieces of a few hundred.

use standings_core::{IndexRecord, Millis, PlayerId, SortKey};

use crate::traits::{Row, Version};

/// A piece that grows to so many is split in two.
const PIECE: usize = 512;

#[derive(Clone, Debug)]
struct Entry {
    key: SortKey,
    player: PlayerId,
    updated_at: Millis,
    version: Version,
}

impl Entry {
    fn place(&self) -> (SortKey, &str) {
        (self.key, self.player.as_str())
    }

    fn row(&self) -> Row {
        let record = IndexRecord { key: self.key, updated_at: self.updated_at };
        let player = Some(self.player.clone());
        Row { player, record, version: self.version, name: None, streak: 0 }
    }
}

/// Entries in order of key, then player.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    /// None is empty.
    pieces: Vec<Vec<Entry>>,
    len: usize,
    total: i128,
}

impl Ordered {
    pub(super) fn len(&self) -> u64 {
        self.len as u64
    }

    /// The sum of folded scores.
    pub(super) fn total(&self) -> i128 {
        self.total
    }

    pub(super) fn insert(&mut self, player: PlayerId, record: IndexRecord, version: Version) {
        self.len += 1;
        self.total += i128::from(record.key.folded);
        let entry = Entry { key: record.key, player, updated_at: record.updated_at, version };
        let piece = self.piece(|other| other.place() < entry.place());
        let Some(entries) = self.pieces.get_mut(piece) else {
            match self.pieces.last_mut() {
                Some(last) => last.push(entry),
                None => self.pieces.push(vec![entry]),
            }
            return self.split(self.pieces.len() - 1);
        };
        let index = entries.partition_point(|other| other.place() < entry.place());
        entries.insert(index, entry);
        self.split(piece);
    }

    pub(super) fn remove(&mut self, player: &PlayerId, key: SortKey) {
        let place = (key, player.as_str());
        let piece = self.piece(|other| other.place() < place);
        let entries = &mut self.pieces[piece];
        let index = entries.partition_point(|other| other.place() < place);
        let gone = entries.remove(index);
        debug_assert_eq!(gone.place(), place);
        if entries.is_empty() {
            self.pieces.remove(piece);
        }
        self.len -= 1;
        self.total -= i128::from(key.folded);
    }

    /// How many sort before a place.
    pub(super) fn before(&self, key: SortKey, player: &PlayerId) -> u64 {
        self.count(|entry| entry.place() < (key, player.as_str()))
    }

    /// How many sort at or before a place.
    pub(super) fn through(&self, key: SortKey, player: &PlayerId) -> u64 {
        self.count(|entry| entry.place() <= (key, player.as_str()))
    }

    /// How many have a better score.
    pub(super) fn better(&self, folded: i64) -> u64 {
        self.count(|entry| entry.key.folded < folded)
    }

    /// Rows from a position on.
    pub(super) fn rows(&self, from: u64, limit: usize) -> Vec<Row> {
        let mut skip = usize::try_from(from).unwrap_or(usize::MAX);
        let mut rows = Vec::new();
        for piece in &self.pieces {
            if skip >= piece.len() {
                skip -= piece.len();
                continue;
            }
            rows.extend(piece[skip..].iter().take(limit - rows.len()).map(Entry::row));
            skip = 0;
            if rows.len() == limit {
                break;
            }
        }
        rows
    }

    /// The first piece that is not all before.
    fn piece(&self, before: impl Fn(&Entry) -> bool) -> usize {
        self.pieces.partition_point(|piece| piece.last().is_some_and(&before))
    }

    fn count(&self, before: impl Fn(&Entry) -> bool) -> u64 {
        let piece = self.piece(&before);
        let whole: usize = self.pieces[..piece].iter().map(Vec::len).sum();
        let part = self.pieces.get(piece).map_or(0, |piece| piece.partition_point(before));
        (whole + part) as u64
    }

    fn split(&mut self, piece: usize) {
        let entries = &mut self.pieces[piece];
        if entries.len() >= PIECE {
            let rest = entries.split_off(PIECE / 2);
            self.pieces.insert(piece + 1, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dice::Dice;

    #[test]
    fn places_are_those_of_a_sorted_list_after_any_changes() {
        let mut dice = Dice::new(7);
        let (mut ordered, mut model) = (Ordered::default(), BTreeSet::new());
        for _ in 0..6000 {
            let player = PlayerId::new(&format!("p{}", dice.below(2500))).unwrap();
            let folded = i64::try_from(dice.below(40)).unwrap();
            let key = SortKey { folded, at: Millis(0) };
            if model.remove(&(key, player.clone())) {
                ordered.remove(&player, key);
            } else {
                let record = IndexRecord { key, updated_at: Millis(0) };
                ordered.insert(player.clone(), record, Version(1));
                model.insert((key, player));
            }
        }
        let sorted: Vec<_> = model.into_iter().collect();
        assert!(ordered.pieces.len() > 3, "{}", ordered.pieces.len());
        assert_eq!(ordered.len(), sorted.len() as u64);
        assert_eq!(ordered.total(), sorted.iter().map(|(key, _)| i128::from(key.folded)).sum());
        for (position, (key, player)) in (0..).zip(&sorted) {
            assert_eq!(ordered.before(*key, player), position);
            assert_eq!(ordered.through(*key, player), position + 1);
            assert_eq!(ordered.rows(position, 1)[0].player.as_ref(), Some(player));
        }
        let better = sorted.iter().filter(|(key, _)| key.folded < 20).count() as u64;
        assert_eq!(ordered.better(20), better);
        assert_eq!(ordered.rows(10, 700).len(), 700);
        assert_eq!(ordered.rows(ordered.len(), 1), []);
    }
}
