//! One leaf: some fifty players in order, stored by column in a block of the heap.
//!
//! ```text
//! header 40 B | forms 0 or n B | ids | scores n x 0..8 B | times n x 0..8 B | lags n x 0..8 B
//! ```
//! The three numbers of a record are its folded score, the time it was reached, and by how much the last update came later.
//! A column holds what each number exceeds the column's smallest by, in as few whole bytes as the largest needs: none at all
//! where all are equal, as scores often are and lags nearly always. Ids of one form need no forms column.
//!
//! Reading and changing in place is here; anything that changes widths goes through a [`Draft`](super::draft::Draft).

use std::cmp::Ordering;

use super::Record;
use super::packed::{Form, Packed};
use crate::{SortKey, time::Millis};

pub(super) const HEADER: usize = 40;
/// Rows in a leaf at most, however small they are: it bounds the search for an id.
pub(super) const MAX_ROWS: usize = 128;
/// Marks a leaf whose ids have more than one form.
const MIXED: u8 = 255;

/// What the header says. Bytes 0..4 are the leaf's own number, see [`Heap`](super::heap::Heap).
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) rows: usize,
    /// The form of all ids, if they have one.
    pub(super) form: Option<Form>,
    /// Length of the ids column.
    pub(super) id_bytes: usize,
    pub(super) widths: [usize; 3],
    pub(super) bases: [i64; 3],
}

impl Head {
    #[inline]
    fn read(block: &[u8]) -> Self {
        let block: &[u8; HEADER] = block.first_chunk().expect("a block is at least a line");
        let base =
            |at: usize| i64::from_le_bytes(*block[at..].first_chunk().expect("within the header"));
        Self {
            rows: usize::from(u16::from_le_bytes([block[4], block[5]])),
            id_bytes: usize::from(u16::from_le_bytes([block[6], block[7]])),
            form: (block[8] != MIXED).then_some(Form(block[8])),
            widths: [block[9], block[10], block[11]].map(usize::from),
            bases: [base(16), base(24), base(32)],
        }
    }

    pub(super) fn write(&self, block: &mut [u8]) {
        let short = |number: usize| u16::try_from(number).expect("a leaf is small").to_le_bytes();
        block[4..6].copy_from_slice(&short(self.rows));
        block[6..8].copy_from_slice(&short(self.id_bytes));
        block[8] = self.form.map_or(MIXED, |form| form.0);
        for (at, width) in self.widths.into_iter().enumerate() {
            block[9 + at] = u8::try_from(width).expect("at most 8");
        }
        for (at, base) in self.bases.into_iter().enumerate() {
            block[16 + 8 * at..][..8].copy_from_slice(&base.to_le_bytes());
        }
    }

    fn form_bytes(&self) -> usize {
        if self.form.is_some() { 0 } else { self.rows }
    }

    #[inline]
    fn ids_at(&self) -> usize {
        HEADER + self.form_bytes()
    }

    #[inline]
    pub(super) fn column_at(&self, column: usize) -> usize {
        let before: usize = self.widths[..column].iter().sum();
        self.ids_at() + self.id_bytes + before * self.rows
    }

    /// All bytes in use.
    pub(super) fn size(&self) -> usize {
        self.column_at(3)
    }
}

/// The three numbers of a record, as the columns hold them.
#[inline]
pub(super) fn numbers(record: Record) -> [i64; 3] {
    let at = record.key.at.0;
    [record.key.folded, at, record.updated_at.0.wrapping_sub(at)]
}

/// The least bytes that hold a number.
pub(super) fn width(delta: u64) -> usize {
    (64 - delta.leading_zeros()).div_ceil(8) as usize
}

/// A leaf to read. The slice may go on after the leaf's end.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    block: &'a [u8],
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

    #[inline]
    fn number(&self, column: usize, row: usize) -> i64 {
        let width = self.head.widths[column];
        if width == 0 {
            return self.head.bases[column];
        }
        // The eight bytes that end with the number: they start in the header at the earliest, so this never leaves the block.
        let end = self.head.column_at(column) + (row + 1) * width;
        let word = u64::from_le_bytes(*self.block[end - 8..].first_chunk().expect("in the leaf"));
        self.head.bases[column].wrapping_add_unsigned(word >> (64 - 8 * width))
    }

    #[inline]
    pub(super) fn folded(&self, row: usize) -> i64 {
        self.number(0, row)
    }

    #[inline]
    pub(super) fn key(&self, row: usize) -> SortKey {
        SortKey { folded: self.number(0, row), at: Millis(self.number(1, row)) }
    }

    #[inline]
    pub(super) fn record(&self, row: usize) -> Record {
        let key = self.key(row);
        Record { key, updated_at: Millis(key.at.0.wrapping_add(self.number(2, row))) }
    }

    pub(super) fn id(&self, row: usize) -> Packed<'a> {
        let (at, form) = match self.head.form {
            Some(form) => (self.head.ids_at() + row * form.bytes(), form),
            None => {
                (self.head.ids_at() + self.id_bytes_before(row), Form(self.block[HEADER + row]))
            }
        };
        Packed { form, bytes: &self.block[at..at + form.bytes()] }
    }

    /// All ids in order, faster than one by one where forms are mixed.
    pub(super) fn ids(&self) -> impl Iterator<Item = Packed<'a>> + use<'a> {
        let (block, head) = (self.block, self.head);
        let mut at = head.ids_at();
        (0..head.rows).map(move |row| {
            let form = head.form.unwrap_or_else(|| Form(block[HEADER + row]));
            let bytes = &block[at..at + form.bytes()];
            at += bytes.len();
            Packed { form, bytes }
        })
    }

    fn id_bytes_before(&self, row: usize) -> usize {
        match self.head.form {
            Some(form) => row * form.bytes(),
            None => self.block[HEADER..HEADER + row].iter().map(|&form| Form(form).bytes()).sum(),
        }
    }

    /// Which row has this id.
    pub(super) fn row_of(&self, id: Packed<'_>) -> Option<usize> {
        let Some(form) = self.head.form else { return self.ids().position(|held| held == id) };
        if form != id.form {
            return None;
        }
        let ids = &self.block[self.head.ids_at()..][..self.head.id_bytes];
        match form.bytes() {
            4 => find_chunk::<4>(ids, id.bytes),
            8 => find_chunk::<8>(ids, id.bytes),
            12 => find_chunk::<12>(ids, id.bytes),
            16 => find_chunk::<16>(ids, id.bytes),
            24 => find_chunk::<24>(ids, id.bytes),
            bytes => ids.chunks_exact(bytes).position(|held| held == id.bytes),
        }
    }

    /// How many rows have a smaller folded score.
    pub(super) fn before_score(&self, folded: i64) -> usize {
        partition(self.rows(), |row| self.folded(row) < folded)
    }

    /// How many rows come before this key and id.
    pub(super) fn before(&self, key: SortKey, id: Packed<'_>) -> usize {
        partition(self.rows(), |row| self.cmp(row, key, id) == Ordering::Less)
    }

    #[inline]
    pub(super) fn cmp(&self, row: usize, key: SortKey, id: Packed<'_>) -> Ordering {
        self.key(row).cmp(&key).then_with(|| self.id(row).cmp_text(id))
    }

    /// The five columns as (start, bytes before the row, bytes of the row, all bytes).
    fn columns(&self, row: usize, id_bytes: usize) -> [(usize, usize, usize, usize); 5] {
        let head = &self.head;
        let form = usize::from(head.form.is_none());
        let number = |column: usize| {
            let width = head.widths[column];
            (head.column_at(column), row * width, width, head.rows * width)
        };
        [
            (HEADER, row * form, form, head.rows * form),
            (head.ids_at(), self.id_bytes_before(row), id_bytes, head.id_bytes),
            number(0),
            number(1),
            number(2),
        ]
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

#[inline]
fn find_chunk<const N: usize>(ids: &[u8], id: &[u8]) -> Option<usize> {
    let id: &[u8; N] = id.try_into().ok()?;
    ids.as_chunks::<N>().0.iter().position(|held| held == id)
}

/// What became of an insertion in place.
pub(super) enum Insertion {
    Done,
    /// Only room was missing: the block must have so many bytes.
    Needs(usize),
    /// The columns are too narrow, or the leaf has all the rows it may have.
    Refused,
}

/// Inserts a row where the widths allow it and the block has room; otherwise changes nothing.
pub(super) fn try_insert(
    block: &mut [u8],
    max_rows: usize,
    row: usize,
    id: Packed<'_>,
    record: Record,
) -> Insertion {
    let leaf = Leaf::new(block);
    let mut head = leaf.head;
    let numbers = numbers(record);
    let mut deltas = [0; 3];
    for column in 0..3 {
        let base = head.bases[column];
        deltas[column] = numbers[column].wrapping_sub(base).cast_unsigned();
        if numbers[column] < base || width(deltas[column]) > head.widths[column] {
            return Insertion::Refused;
        }
    }
    let row_bytes =
        id.bytes.len() + usize::from(head.form.is_none()) + head.widths.iter().sum::<usize>();
    if head.form.is_some_and(|form| form != id.form) || head.rows >= max_rows {
        return Insertion::Refused;
    }
    if head.size() + row_bytes > block.len() {
        return Insertion::Needs(head.size() + row_bytes);
    }
    let columns = leaf.columns(row, id.bytes.len());
    let mut shift = row_bytes;
    for (column, (start, before, item, all)) in columns.into_iter().enumerate().rev() {
        shift -= item;
        block.copy_within(start + before..start + all, start + before + shift + item);
        if shift > 0 {
            block.copy_within(start..start + before, start + shift);
        }
        let hole = &mut block[start + shift + before..][..item];
        match column {
            0 => hole.fill(id.form.0),
            1 => hole.copy_from_slice(id.bytes),
            number => hole.copy_from_slice(&deltas[number - 2].to_le_bytes()[..item]),
        }
    }
    head.rows += 1;
    head.id_bytes += id.bytes.len();
    head.write(block);
    Insertion::Done
}

/// Removes a row.
pub(super) fn remove(block: &mut [u8], row: usize) {
    let leaf = Leaf::new(block);
    let mut head = leaf.head;
    let id_bytes = leaf.id(row).bytes.len();
    let mut shift = 0;
    for (start, before, item, all) in leaf.columns(row, id_bytes) {
        if shift > 0 {
            block.copy_within(start..start + before, start - shift);
        }
        block.copy_within(start + before + item..start + all, start + before - shift);
        shift += item;
    }
    head.rows -= 1;
    head.id_bytes -= id_bytes;
    head.write(block);
}
