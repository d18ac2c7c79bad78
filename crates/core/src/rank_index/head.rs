//! The first bytes of a leaf: how many rows, how wide, and where each column begins.

use super::Record;
use super::mem::LINE;
use super::packed::{Form, Packed};

pub(super) const HEADER: usize = 40;
/// Rows in a leaf at most, however small they are: it bounds the search for an id.
pub(super) const MAX_ROWS: usize = 128;
/// Marks a leaf whose ids have more than one form, and in such a leaf a slot without a player.
pub(super) const MIXED: u8 = 255;
pub(super) const FREE: u8 = 255;
/// Bytes of an id that are in a column of their own.
pub(super) const TAIL: usize = 2;

/// What the header says. Bytes 0..4 are the leaf's own number, see [`Heap`](super::heap::Heap).
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) rows: usize,
    /// Rows for which there is room.
    pub(super) cap: usize,
    /// The form of all ids, if they have one.
    pub(super) form: Option<Form>,
    /// Bytes of all ids.
    pub(super) id_bytes: usize,
    /// Where the ids end.
    pub(super) columns_at: usize,
    pub(super) widths: [usize; 3],
    pub(super) bases: [i64; 3],
    pub(super) run: Run,
}

/// Insertions one after another: a board on which the latest of equal scores is the last gets all its new rows at a few
/// places. A leaf that is split in a run is split after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// The row after the last one that was inserted.
    next: u8,
    /// How often an insertion was there.
    length: u8,
}

impl Run {
    const LONG: u8 = 4;

    pub(super) fn is_long(self) -> bool {
        self.length >= Self::LONG
    }

    #[inline]
    pub(super) fn inserted(&mut self, row: usize) {
        let follows = usize::from(self.next) == row;
        self.length = if follows { self.length.saturating_add(1) } else { 0 };
        self.next = narrow(row + 1);
    }

    #[inline]
    pub(super) fn removed(&mut self, row: usize) {
        self.next -= u8::from(row < usize::from(self.next));
    }
}

/// Rows, slots and widths all fit a byte.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 128")]
pub(super) fn narrow(number: usize) -> u8 {
    debug_assert!(u8::try_from(number).is_ok());
    number as u8
}

impl Head {
    #[inline]
    pub(super) fn read(block: &[u8]) -> Self {
        let block: &[u8; HEADER] = block.first_chunk().expect("a block is at least a line");
        let short = |at: usize| usize::from(u16::from_le_bytes([block[at], block[at + 1]]));
        let base =
            |at: usize| i64::from_le_bytes(*block[at..].first_chunk().expect("within the header"));
        Self {
            rows: usize::from(block[4]),
            cap: usize::from(block[5]),
            form: (block[6] != MIXED).then_some(Form(block[6])),
            run: Run { next: block[7], length: block[15] },
            id_bytes: short(8),
            columns_at: short(10),
            widths: [block[12], block[13], block[14]].map(usize::from),
            bases: [base(16), base(24), base(32)],
        }
    }

    pub(super) fn write(&self, block: &mut [u8]) {
        let block: &mut [u8; HEADER] = block.first_chunk_mut().expect("a block is at least a line");
        let short = |number: usize| u16::try_from(number).expect("a leaf is small").to_le_bytes();
        block[6] = self.form.map_or(MIXED, |form| form.0);
        block[5] = narrow(self.cap);
        block[10..12].copy_from_slice(&short(self.columns_at));
        for (at, width) in self.widths.into_iter().enumerate() {
            block[12 + at] = narrow(width);
        }
        for (at, base) in self.bases.into_iter().enumerate() {
            block[16 + 8 * at..][..8].copy_from_slice(&base.to_le_bytes());
        }
        self.write_rows(block);
    }

    /// Writes what an insertion or a removal changes.
    #[inline]
    pub(super) fn write_rows(&self, block: &mut [u8]) {
        block[4] = narrow(self.rows);
        block[7] = self.run.next;
        block[15] = self.run.length;
        block[8..10]
            .copy_from_slice(&u16::try_from(self.id_bytes).expect("a leaf is small").to_le_bytes());
    }

    /// The head of a leaf for these rows, with just the room they need.
    pub(super) fn new(
        rows: usize,
        form: Option<Form>,
        id_bytes: usize,
        low: [i64; 3],
        high: [i64; 3],
    ) -> Self {
        let widths = std::array::from_fn(|column| {
            width(high[column].wrapping_sub(low[column]).cast_unsigned())
        });
        let form = form.filter(|form| form.bytes() >= TAIL);
        let run = Run::default();
        Self { rows, cap: rows, form, id_bytes, columns_at: 0, widths, bases: low, run }.exact()
    }

    /// The same without room for more.
    pub(super) fn exact(mut self) -> Self {
        self.cap = self.rows;
        self.columns_at = self.ids_at() + self.id_bytes + self.form_bytes();
        self
    }

    /// The same with room for `spare` bytes of rows more, in so many rows and bytes at most, up to the end of a line.
    pub(super) fn with_room(mut self, spare: usize, max_rows: usize, max_bytes: usize) -> Self {
        let size = self.size();
        let bytes = (size + spare).min(max_bytes).max(size).next_multiple_of(LINE);
        let mut room = bytes - size;
        self.cap = (self.rows + room / self.row_bytes()).min(max_rows).max(self.rows);
        if let Some(form) = self.form {
            self.columns_at = HEADER + self.cap * (1 + form.bytes());
        } else {
            room -= (self.cap - self.rows) * (2 + self.widths.iter().sum::<usize>());
            self.columns_at = HEADER + 2 * self.cap + self.id_bytes + room;
        }
        self
    }

    /// Whether one more row of this id has a place.
    #[inline]
    pub(super) fn has_room_for(&self, id: Packed<'_>) -> bool {
        let id_room = self.columns_at - self.ids_at() - self.form_bytes();
        self.rows < self.cap && self.id_bytes + id.bytes.len() <= id_room
    }

    pub(super) fn form_bytes(&self) -> usize {
        if self.form.is_some() { 0 } else { self.cap }
    }

    /// What one more row takes, if its id is as long as the others.
    pub(super) fn row_bytes(&self) -> usize {
        let id = match self.form {
            Some(form) => form.bytes(),
            None => 1 + self.id_bytes.div_ceil(self.rows.max(1)),
        };
        1 + id + self.widths.iter().sum::<usize>()
    }

    /// Where the ids begin: with their forms, or their last bytes.
    #[inline]
    pub(super) fn ids_at(&self) -> usize {
        HEADER + self.cap
    }

    #[inline]
    pub(super) fn column_at(&self, column: usize) -> usize {
        let before: usize = self.widths[..column].iter().sum();
        self.columns_at + before * self.cap
    }

    /// All bytes in use.
    pub(super) fn size(&self) -> usize {
        self.column_at(3)
    }

    /// By how much each number exceeds its column's smallest, if the columns are wide enough.
    #[inline]
    pub(super) fn deltas(&self, record: Record) -> Option<[u64; 3]> {
        let numbers = numbers(record);
        let mut deltas = [0; 3];
        for column in 0..3 {
            let base = self.bases[column];
            deltas[column] = numbers[column].wrapping_sub(base).cast_unsigned();
            // In two steps: a shift by all 64 bits is none.
            let bits = 4 * self.widths[column];
            if numbers[column] < base || deltas[column] >> bits >> bits != 0 {
                return None;
            }
        }
        Some(deltas)
    }

    /// Writes the numbers of a slot.
    #[inline]
    pub(super) fn set_numbers(&self, block: &mut [u8], slot: usize, deltas: [u64; 3]) {
        for (column, delta) in deltas.into_iter().enumerate() {
            let width = self.widths[column];
            if width > 0 {
                // The eight bytes that end with the number, as when reading it.
                let end = self.column_at(column) + (slot + 1) * width;
                let word: &mut [u8; 8] = block[end - 8..].first_chunk_mut().expect("in the leaf");
                let before = u64::from_le_bytes(*word) & low_bytes(8 - width);
                *word = (before | delta << (64 - 8 * width)).to_le_bytes();
            }
        }
    }
}

/// A mask of the lowest so many bytes of a number, up to seven.
#[inline]
fn low_bytes(count: usize) -> u64 {
    (1 << (8 * count)) - 1
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
