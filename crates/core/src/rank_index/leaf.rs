//! One leaf: some sixty players, stored by column in a block of the heap.
//!
//! ```text
//! header 40 B | order cap x 1 B | ids | scores cap x 0..8 B | times cap x 0..8 B | lags cap x 0..8 B
//!   ids of one form:  last two bytes cap x 2 B | the bytes before them cap x (length - 2) B
//!   ids of many:      forms cap x 1 B | the ids, one after another
//! ```
//! A player has a *slot*, the same in every column, and keeps it while it is in the leaf. Which *row* it has, its place among the
//! others, is said by `order` alone: the slots of rows 0, 1, 2 and so on, then the free ones. So a player who comes, goes or
//! changes its place moves some bytes of `order`, and one entry of each other column is written.
//!
//! The three numbers of a record are its folded score, the time it was reached, and by how much the last update came later.
//! A column holds what each number exceeds the column's smallest by, in as few whole bytes as the largest needs: none at all
//! where all are equal, as scores often are and lags nearly always. The last two bytes of ids are apart because they tell
//! players apart: a look-up scans them, sixteen bytes at once, and reads the rest of one id.
//!
//! Reading is here, changing in place in [`edit`](super::edit); anything that changes widths goes through a
//! [`Draft`](super::draft::Draft).

use std::cmp::Ordering;

use super::Record;
use super::head::{FREE, HEADER, Head, TAIL, narrow};
use super::lanes;
use super::mem::{LINE, prefetch};
use super::packed::{Buffer, Form, Packed};
use crate::{SortKey, time::Millis};

/// A leaf to read. The slice may go on after the leaf's end.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    pub(super) block: &'a [u8],
    pub(super) head: Head,
}

impl<'a> Leaf<'a> {
    #[inline]
    pub(super) fn new(block: &'a [u8]) -> Self {
        Self { block, head: Head::read(block) }
    }

    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.head.rows
    }

    /// The slots of the rows, then the free ones.
    #[inline]
    pub(super) fn order(&self) -> &'a [u8] {
        &self.block[HEADER..HEADER + self.head.cap]
    }

    #[inline]
    fn slot(&self, row: usize) -> usize {
        usize::from(self.block[HEADER + row])
    }

    /// The row of a slot, unless the slot is free.
    #[inline]
    fn row_at(&self, slot: usize) -> Option<usize> {
        lanes::find(self.order(), narrow(slot)).filter(|&row| row < self.head.rows)
    }

    #[inline]
    fn number(&self, column: usize, slot: usize) -> i64 {
        let width = self.head.widths[column];
        if width == 0 {
            return self.head.bases[column];
        }
        // The eight bytes that end with the number: they start in the header at the earliest, so this never leaves the block.
        let end = self.head.column_at(column) + (slot + 1) * width;
        let word = u64::from_le_bytes(*self.block[end - 8..].first_chunk().expect("in the leaf"));
        self.head.bases[column].wrapping_add_unsigned(word >> (64 - 8 * width))
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

    /// The numbers of a record, as the columns hold them.
    #[inline]
    pub(super) fn numbers(&self, row: usize) -> [i64; 3] {
        let slot = self.slot(row);
        [self.number(0, slot), self.number(1, slot), self.number(2, slot)]
    }

    #[inline]
    pub(super) fn record(&self, row: usize) -> Record {
        let slot = self.slot(row);
        let key = self.key_in(slot);
        Record { key, updated_at: Millis(key.at.0.wrapping_add(self.number(2, slot))) }
    }

    /// The id of a row, put together in the buffer where it is stored in parts.
    #[inline]
    pub(super) fn id<'b>(&self, row: usize, buffer: &'b mut Buffer) -> Packed<'b>
    where
        'a: 'b,
    {
        let slot = self.slot(row);
        let Some(form) = self.head.form else {
            let forms = self.forms();
            let at = self.head.ids_at() + self.head.cap + id_bytes_before(forms, slot);
            let form = Form(forms[slot]);
            return Packed { form, bytes: &self.block[at..at + form.bytes()] };
        };
        let (body, tail) = (self.body(form, slot), self.tail(slot));
        Packed { form, bytes: buffer.join(body, tail) }
    }

    fn forms(&self) -> &'a [u8] {
        &self.block[self.head.ids_at()..][..self.head.cap]
    }

    #[inline]
    fn tail(&self, slot: usize) -> [u8; TAIL] {
        *self.block[self.head.ids_at() + TAIL * slot..].first_chunk().expect("in the leaf")
    }

    /// An id but for its last bytes.
    #[inline]
    fn body(&self, form: Form, slot: usize) -> &'a [u8] {
        let length = form.bytes() - TAIL;
        &self.block[self.head.ids_at() + TAIL * self.head.cap + length * slot..][..length]
    }

    /// Whether a row is there and has this id.
    #[inline]
    pub(super) fn holds(&self, row: usize, id: Packed<'_>) -> bool {
        if row >= self.rows() {
            return false;
        }
        if self.head.form.is_none() {
            return self.id(row, &mut Buffer::new()) == id;
        }
        self.is_in(self.slot(row), id)
    }

    /// Asks for the rest of what a player has here; the slot in which it seems to be by the beginning of the leaf.
    #[inline]
    pub(super) fn prefetch_row(&self, id: Packed<'_>) -> Option<usize> {
        let (form, tail) = (self.head.form?, id.bytes.last_chunk()?);
        let tails = &self.block[self.head.ids_at()..][..TAIL * self.head.cap];
        let slot = lanes::find_pair(tails, u16::from_le_bytes(*tail), Some)?;
        let body = self.body(form, slot);
        for part in [body.first(), body.last()].into_iter().flatten() {
            prefetch(part);
        }
        for column in 0..2 {
            let width = self.head.widths[column];
            if width > 0 {
                prefetch(&self.block[self.head.column_at(column) + slot * width]);
            }
        }
        Some(slot)
    }

    /// The row of a slot, if the player in it has this id.
    #[inline]
    pub(super) fn row_in(&self, slot: usize, id: Packed<'_>) -> Option<usize> {
        self.is_in(slot, id).then(|| self.row_at(slot)).flatten()
    }

    /// Whether a slot has this id, of someone who may have left.
    #[inline]
    fn is_in(&self, slot: usize, id: Packed<'_>) -> bool {
        match (self.head.form, id.bytes.split_last_chunk::<TAIL>()) {
            (Some(form), Some((body, tail))) => {
                form == id.form && self.tail(slot) == *tail && same(self.body(form, slot), body)
            }
            _ => false,
        }
    }

    /// Asks for what an insertion after the last row reads and writes, but for the order.
    #[inline]
    pub(super) fn prefetch_insertion(&self) {
        self.prefetch_numbers();
        let (rows, cap) = (self.rows(), self.head.cap);
        if let (Some(form), true) = (self.head.form, rows < cap) {
            let slot = self.slot(rows);
            prefetch(&self.block[self.head.ids_at() + TAIL * slot]);
            if let Some(body) = self.body(form, slot).first() {
                prefetch(body);
            }
        }
    }

    /// Asks for the scores and times.
    #[inline]
    pub(super) fn prefetch_numbers(&self) {
        for line in self.block[self.head.column_at(0)..self.head.column_at(2)].chunks(LINE) {
            prefetch(&line[0]);
        }
    }

    /// Which row has this id.
    #[inline]
    pub(super) fn row_of(&self, id: Packed<'_>) -> Option<usize> {
        let Some(form) = self.head.form else { return self.row_among_mixed(id) };
        let (body, tail) = id.bytes.split_last_chunk::<TAIL>()?;
        if form != id.form {
            return None;
        }
        let tails = &self.block[self.head.ids_at()..][..TAIL * self.head.cap];
        lanes::find_pair(tails, u16::from_le_bytes(*tail), |slot| {
            // A free slot may still hold the id of someone who left.
            same(self.body(form, slot), body).then(|| self.row_at(slot)).flatten()
        })
    }

    fn row_among_mixed(&self, id: Packed<'_>) -> Option<usize> {
        let mut at = self.head.ids_at() + self.head.cap;
        let mut slots = self.forms().iter();
        let slot = slots.position(|&form| {
            let held = &self.block[at..at + bytes_of(form)];
            at += held.len();
            form == id.form.0 && held == id.bytes
        })?;
        self.row_at(slot)
    }

    /// Whether a key is not before the first row's and not after the last one's.
    #[inline]
    pub(super) fn spans(&self, key: SortKey) -> bool {
        // Scores first: where all are equal they are in the header, and times may still be on their way.
        let last = self.rows() - 1;
        (self.folded(0)..=self.folded(last)).contains(&key.folded)
            && (self.key(0)..=self.key(last)).contains(&key)
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
        self.key(row).cmp(&key).then_with(|| self.id(row, &mut Buffer::new()).cmp_text(id))
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut slots: Vec<_> = self.order().to_vec();
        slots.sort_unstable();
        let all: Vec<_> = (0..narrow(self.head.cap)).collect();
        assert_eq!(slots, all, "every slot is a row's or free");
        assert!(self.head.size() <= self.block.len());
        if self.head.form.is_none() {
            let ids: usize = self.forms().iter().map(|&form| bytes_of(form)).sum();
            assert_eq!(ids, self.head.id_bytes);
            let held = self.forms().iter().filter(|&&form| form != FREE).count();
            assert_eq!(held, self.rows(), "free slots have no form");
        }
    }
}

/// Whether two slices of the same length are equal: two comparisons for most ids, where a call takes longer than they.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    match (a.first_chunk::<8>(), b.first_chunk::<8>(), a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_first), Some(b_first), Some(a_last), Some(b_last)) if a.len() <= 16 => {
            a_first == b_first && a_last == b_last
        }
        _ => a == b,
    }
}

/// The bytes that a slot of some form takes among mixed ones.
#[inline]
pub(super) fn bytes_of(form: u8) -> usize {
    if form == FREE { 0 } else { Form(form).bytes() }
}

pub(super) fn id_bytes_before(forms: &[u8], slot: usize) -> usize {
    forms[..slot].iter().map(|&form| bytes_of(form)).sum()
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
