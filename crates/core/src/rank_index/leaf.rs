//! One leaf: up to 128 players, each in a row of its own, in a block of the heap.
//!
//! ```text
//! header 40 B | order cap x 1 B | rows cap x (id, score 0..8 B, time 0..8 B, lag 0..8 B)
//!   ids of one form:  in the rows, all of one length
//!   ids of many:      form and place in the row (3 B), the ids after all rows, one after another
//! ```
//! A player has a *slot* and keeps it while it is in the leaf: the locator knows it, so that of a leaf only what a player needs
//! is fetched. Which *row* it has, its place among the others, is said by `order` alone: the slots of rows 0, 1, 2 and so on, then
//! the free ones. So a player who comes, goes or changes its place moves some bytes of `order`, and what is in its slot is written.
//!
//! The three numbers of a record are its folded score, the time it was reached, and by how much the last update came later.
//! A leaf holds what each number exceeds the smallest of its kind by, in as few whole bytes as the largest needs: none at all
//! where all are equal, as scores often are and lags nearly always.
//!
//! Reading is here, changing in place in [`edit`](super::edit); anything that changes widths goes through a
//! [`Draft`](super::draft::Draft).

use std::cmp::Ordering;

use super::Record;
use super::head::{HEADER, Head, Header, narrow};
use super::lanes;
use super::packed::{Form, Packed};
use crate::{SortKey, time::Millis};

/// A leaf to read. The slice may go on after the leaf's end.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    pub(super) block: &'a [u8],
    pub(super) header: Header<'a>,
}

impl<'a> Leaf<'a> {
    #[inline]
    pub(super) fn new(block: &'a [u8]) -> Self {
        Self { block, header: Header::of(block) }
    }

    /// All that the header says.
    #[inline]
    pub(super) fn head(&self) -> Head {
        Head::read(self.block)
    }

    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.header.rows()
    }

    /// The slots of the rows, then the free ones.
    #[inline]
    pub(super) fn order(&self) -> &'a [u8] {
        &self.block[HEADER..HEADER + self.header.cap()]
    }

    #[inline]
    pub(super) fn slot(&self, row: usize) -> usize {
        usize::from(self.block[HEADER + row])
    }

    /// The row of a slot, unless the slot is free.
    #[inline]
    pub(super) fn row_in(&self, slot: usize) -> Option<usize> {
        lanes::find(self.order(), narrow(slot)).filter(|&row| row < self.header.rows())
    }

    #[inline]
    fn number(&self, column: usize, slot: usize) -> i64 {
        let width = self.header.width(column);
        if width == 0 {
            return self.header.base(column);
        }
        // The eight bytes that end with the number: they start in the header at the earliest, so this never leaves the block.
        let end = self.header.end(column, slot);
        let word = u64::from_le_bytes(*self.block[end - 8..].first_chunk().expect("in the leaf"));
        self.header.base(column).wrapping_add_unsigned(word >> (64 - 8 * width))
    }

    #[inline]
    pub(super) fn folded(&self, row: usize) -> i64 {
        self.number(0, self.slot(row))
    }

    #[inline]
    pub(super) fn key(&self, row: usize) -> SortKey {
        self.key_in(self.slot(row))
    }

    #[inline]
    fn key_in(&self, slot: usize) -> SortKey {
        SortKey { folded: self.number(0, slot), at: Millis(self.number(1, slot)) }
    }

    /// The numbers of a record, as a row holds them.
    #[inline]
    pub(super) fn numbers_in(&self, slot: usize) -> [i64; 3] {
        [self.number(0, slot), self.number(1, slot), self.number(2, slot)]
    }

    #[inline]
    pub(super) fn record_in(&self, slot: usize) -> Record {
        let key = self.key_in(slot);
        Record { key, updated_at: Millis(key.at.0.wrapping_add(self.number(2, slot))) }
    }

    /// The id in a slot, which someone may have left.
    #[inline]
    pub(super) fn id_in(&self, slot: usize) -> Packed<'a> {
        let at = self.header.at(slot);
        match self.header.form() {
            Some(form) => Packed { form, bytes: &self.block[at..at + form.bytes()] },
            None => self.mixed_id(at),
        }
    }

    fn mixed_id(&self, row_at: usize) -> Packed<'a> {
        let (form, from) = reference(&self.block[row_at..]);
        let at = self.header.ids_at() + from;
        Packed { form, bytes: &self.block[at..at + form.bytes()] }
    }

    /// Whether a slot has this id, of someone who may have left.
    #[inline]
    pub(super) fn is_in(&self, slot: usize, id: Packed<'_>) -> bool {
        match self.header.form() {
            Some(form) if slot < self.header.cap() => {
                form == id.form && same(self.id_in(slot).bytes, id.bytes)
            }
            // Where someone has left, there is no id to look at.
            None => self.row_in(slot).is_some() && self.id_in(slot) == id,
            _ => false,
        }
    }

    /// Whether a key is not before the first row's and not after the last one's.
    #[inline]
    pub(super) fn spans(&self, key: SortKey) -> bool {
        // Scores first: where all are equal they are in the header, and rows may still be on their way.
        let last = self.rows() - 1;
        (self.folded(0)..=self.folded(last)).contains(&key.folded)
            && (self.key(0)..=self.key(last)).contains(&key)
    }

    #[inline]
    pub(super) fn last_folded(&self) -> i64 {
        self.folded(self.rows() - 1)
    }

    /// Whether a key of this leaf's last score comes after all its rows, and before the next leaf for certain.
    #[inline]
    pub(super) fn ends_before(&self, key: SortKey) -> bool {
        let last = self.rows() - 1;
        self.header.closed() && self.folded(last) == key.folded && self.key(last) < key
    }

    /// How many rows have a smaller folded score.
    pub(super) fn before_score(&self, folded: i64) -> usize {
        partition(self.rows(), |row| self.folded(row) < folded)
    }

    /// How many rows come before this key and id. Most who come have the latest time of their score, and come last.
    pub(super) fn before(&self, key: SortKey, id: Packed<'_>) -> usize {
        if self.key(self.rows() - 1) < key {
            return self.rows();
        }
        partition(self.rows(), |row| self.cmp(row, key, id) == Ordering::Less)
    }

    #[inline]
    pub(super) fn cmp(&self, row: usize, key: SortKey, id: Packed<'_>) -> Ordering {
        let slot = self.slot(row);
        self.key_in(slot).cmp(&key).then_with(|| self.id_in(slot).cmp_text(id))
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut slots: Vec<_> = self.order().to_vec();
        slots.sort_unstable();
        let all: Vec<_> = (0..narrow(self.header.cap())).collect();
        assert_eq!(slots, all, "every slot is a row's or free");
        assert!(self.head().size() <= self.block.len());
        let ids = (0..self.rows()).map(|row| self.id_in(self.slot(row)).bytes.len());
        let apart = if self.header.form().is_some() { 0 } else { ids.sum() };
        assert_eq!(self.head().id_bytes, apart, "ids have no gaps between them");
    }
}

/// The form of an id, and where among the ids it begins.
#[inline]
pub(super) fn reference(row: &[u8]) -> (Form, usize) {
    (Form(row[0]), usize::from(u16::from_le_bytes([row[1], row[2]])))
}

/// Whether two slices are equal, of ids of one form: two comparisons for most, where a call takes longer than they.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    match (a.first_chunk::<8>(), b.first_chunk::<8>(), a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_first), Some(b_first), Some(a_last), Some(b_last)) if a.len() <= 16 => {
            a_first == b_first && a_last == b_last
        }
        _ => a == b,
    }
}

/// The first index at which the predicate no longer holds.
#[inline]
pub(super) fn partition(len: usize, mut before: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_the_same_only_if_every_byte_is() {
        for length in 0..=20 {
            let slice: Vec<u8> = (0..length).collect();
            assert!(same(&slice, &slice.clone()));
            for at in 0..slice.len() {
                let mut other = slice.clone();
                other[at] ^= 1;
                assert!(!same(&slice, &other), "{length} bytes, byte {at}");
            }
        }
    }
}
