//! One leaf: up to 128 players, each in a row of its own, in a block of the heap.
//!
//! ```text
//! header 40 B | tags cap x 1 B | rows cap x (id, score 0..8 B, time 0..8 B, lag 0..8 B)
//!   ids of one form:  in the rows, all of one length
//!   ids of many:      form and place in the row (3 B), the ids after all rows, one after another
//! ```
//! Rows are in order, each in a *slot*. A player is found by its *tag*, a byte of its hash: all tags of a leaf are compared at once,
//! and of two players of a leaf one in 255 has the tag of the other.
//!
//! Who leaves, leaves a *hole*: a tag that is nobody's. All else of the row stays, so that the rows are still in order, holes among
//! them, and a search need not know which are which. Holes are filled by who comes in between, and go when the leaf
//! gets another block. There is no hole after the last row, and none where ids have more than one form.
//!
//! The three numbers of a record are its folded score, the time it was reached, and by how much the last update came later.
//! A leaf holds what each number exceeds the smallest of its kind by, in as few whole bytes as the largest needs: none at all
//! where all are equal, as scores often are and lags nearly always.
//!
//! Reading is here, changing in place in [`edit`](super::edit); anything that changes widths goes through a
//! [`Draft`](super::draft::Draft).

use std::cmp::Ordering;

use super::IndexRecord;
use super::bucket::bits_of;
use super::head::{HEADER, Head, Header, narrow};
use super::lanes;
use super::packed::{Form, Packed};
use standings_core::{SortKey, time::Millis};

/// The tag of a hole.
pub(super) const HOLE: u8 = 0;

/// The tag of a player: bits that the locator has too.
#[inline]
pub(super) fn tag_of(hash: u64) -> u8 {
    tag_of_bits(bits_of(hash))
}

/// The same by what the locator has of the hash.
#[inline]
pub(super) fn tag_of_bits(bits: u16) -> u8 {
    match bits.to_le_bytes()[0] {
        HOLE => 1,
        tag => tag,
    }
}

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

    /// Rows and the holes between them.
    #[inline]
    pub(super) fn slots(&self) -> usize {
        self.header.slots()
    }

    #[inline]
    pub(super) fn tag(&self, slot: usize) -> u8 {
        self.block[HEADER + slot]
    }

    /// A bit for each slot that is a hole.
    #[inline]
    pub(super) fn holes(&self) -> u128 {
        if self.rows() == self.slots() {
            return 0;
        }
        lanes::equal(&self.block[HEADER..], self.slots(), HOLE)
    }

    /// The slots of the rows, in order.
    #[inline]
    pub(super) fn filled(&self) -> Slots {
        Slots(!self.holes() & (u128::MAX >> (lanes::MOST - self.slots())))
    }

    /// The slot of the first row.
    #[inline]
    pub(super) fn first(&self) -> usize {
        if self.tag(0) == HOLE { self.holes().trailing_ones() as usize } else { 0 }
    }

    /// The slot of the last row.
    #[inline]
    pub(super) fn last(&self) -> usize {
        self.slots() - 1
    }

    /// How many rows are before a slot, all of them if there is no such slot.
    #[inline]
    pub(super) fn row_at(&self, slot: usize) -> usize {
        slot - (self.holes() & bits_before(slot)).count_ones() as usize
    }

    /// The slot of a row.
    #[inline]
    pub(super) fn slot_of(&self, row: usize) -> usize {
        if self.rows() == self.slots() {
            return row;
        }
        self.filled().nth(row).expect("a row of the leaf")
    }

    /// The slot in which a player is.
    #[inline]
    pub(super) fn find(&self, id: Packed<'_>, tag: u8) -> Option<usize> {
        self.tagged(tag).find(|&slot| self.has_id(slot, id))
    }

    /// The slots that have a tag.
    #[inline]
    pub(super) fn tagged(&self, tag: u8) -> Slots {
        Slots(lanes::equal(&self.block[HEADER..], self.slots(), tag))
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
    pub(super) fn folded(&self, slot: usize) -> i64 {
        self.number(0, slot)
    }

    #[inline]
    pub(super) fn key(&self, slot: usize) -> SortKey {
        SortKey { folded: self.number(0, slot), at: Millis(self.number(1, slot)) }
    }

    /// The numbers of a record, as a row holds them.
    #[inline]
    pub(super) fn numbers_in(&self, slot: usize) -> [i64; 3] {
        [self.number(0, slot), self.number(1, slot), self.number(2, slot)]
    }

    #[inline]
    pub(super) fn record_in(&self, slot: usize) -> IndexRecord {
        let key = self.key(slot);
        IndexRecord { key, updated_at: Millis(key.at.0.wrapping_add(self.number(2, slot))) }
    }

    /// The id in a slot, which may be a hole unless ids have more than one form.
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

    /// Whether a player is in this slot.
    #[inline]
    pub(super) fn is_in(&self, slot: usize, id: Packed<'_>) -> bool {
        slot < self.slots() && self.tag(slot) != HOLE && self.has_id(slot, id)
    }

    /// Whether the row in a slot, or the one that was there, has this id.
    #[inline]
    pub(super) fn has_id(&self, slot: usize, id: Packed<'_>) -> bool {
        match self.header.form() {
            Some(form) => form == id.form && same(self.id_in(slot).bytes, id.bytes),
            None => self.id_in(slot) == id,
        }
    }

    /// Whether a key is not before the first row's and not after the last one's.
    #[inline]
    pub(super) fn spans(&self, key: SortKey) -> bool {
        // Scores first: where all are equal they are in the header, and rows may still be on their way.
        let (first, last) = (self.first(), self.last());
        (self.folded(first)..=self.folded(last)).contains(&key.folded)
            && (self.key(first)..=self.key(last)).contains(&key)
    }

    #[inline]
    pub(super) fn last_folded(&self) -> i64 {
        self.folded(self.last())
    }

    /// Whether a key of this leaf's last score comes after all its rows, and before the next leaf for certain.
    #[inline]
    pub(super) fn ends_before(&self, key: SortKey) -> bool {
        let last = self.last();
        self.header.closed() && self.folded(last) == key.folded && self.key(last) < key
    }

    /// How many rows have a smaller folded score.
    pub(super) fn before_score(&self, folded: i64) -> usize {
        self.row_at(partition(self.slots(), |slot| self.folded(slot) < folded))
    }

    /// How many slots come before this key and id. Most who come have the latest time of their score, and come last.
    pub(super) fn before(&self, key: SortKey, id: Packed<'_>) -> usize {
        if self.key(self.last()) < key {
            return self.slots();
        }
        partition(self.slots(), |slot| self.cmp(slot, key, id) == Ordering::Less)
    }

    #[inline]
    pub(super) fn cmp(&self, slot: usize, key: SortKey, id: Packed<'_>) -> Ordering {
        self.key(slot).cmp(&key).then_with(|| self.id_in(slot).cmp_text(id))
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        assert!(self.rows() <= self.slots() && self.slots() <= self.header.cap());
        assert_ne!(self.tag(self.last()), HOLE, "the last slot is a row's");
        assert_eq!(self.filled().count(), self.rows());
        let tags = self.filled().all(|slot| self.tag(slot) == tag_of(self.id_in(slot).hash()));
        assert!(tags, "a tag is that of its id");
        let ordered = (1..self.slots()).all(|slot| {
            let order = self.cmp(slot - 1, self.key(slot), self.id_in(slot));
            // Who left may have come back.
            order.is_lt()
                || order.is_eq() && [slot - 1, slot].map(|at| self.tag(at)).contains(&HOLE)
        });
        assert!(ordered, "holes are in order too");
        assert!(self.header.form().is_some() || self.rows() == self.slots());
        assert!(self.head().size() <= self.block.len());
        let ids = self.filled().map(|slot| self.id_in(slot).bytes.len());
        let apart = if self.header.form().is_some() { 0 } else { ids.sum() };
        assert_eq!(self.head().id_bytes, apart, "ids have no gaps between them");
    }
}

/// A bit for each slot before one, which may be the one after all that there can be.
#[inline]
pub(super) fn bits_before(slot: usize) -> u128 {
    debug_assert!(slot <= lanes::MOST);
    !u128::MAX.unbounded_shl(u32::from(narrow(slot)))
}

/// A player as a leaf has it.
pub(super) type Tagged<'a> = (Packed<'a>, u8);

/// Slots, by a bit for each.
pub(super) struct Slots(u128);

impl Slots {
    /// How many are next to each other from the first one on.
    #[inline]
    pub(super) fn next_run(&mut self) -> Option<(usize, usize)> {
        let from = self.0.trailing_zeros();
        if from == u128::BITS {
            return None;
        }
        let run = (self.0 >> from).trailing_ones();
        self.0 &= u128::MAX.checked_shl(from + run).unwrap_or(0);
        Some((from as usize, run as usize))
    }

    /// Only those from a slot on.
    pub(super) fn from(self, slot: usize) -> Self {
        Self(self.0 >> slot << slot)
    }
}

impl Iterator for Slots {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(slot)
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
