//! The first bytes of a leaf: how many rows, how wide, and so where each of them is.

use super::IndexRecord;
use super::lanes;
use super::mem::LINE;
use super::packed::{Form, Packed};
use standings_core::limits::PLAYER_ID_BYTES;

pub(super) const HEADER: usize = 40;
/// Rows in a leaf at most, however small they are: as many tags as are looked at in one go.
pub(super) const MAX_ROWS: usize = lanes::MOST;
/// Set beside the width of the last number where the next leaf, if there is one, begins with another score.
const CLOSED: u8 = 0x80;
/// Marks a leaf whose ids have more than one form.
const MIXED: u8 = 255;
/// What a row has of its id where ids have more than one form: the form, and where among the ids it begins, in two bytes.
pub(super) const REFERENCE: usize = 3;

/// The longest row: an id and three numbers.
pub(super) const MAX_STRIDE: usize = PLAYER_ID_BYTES + 3 * 8;

/// What the header says. Bytes 0..4 are the leaf's own number, see [`Heap`](super::heap::Heap).
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) rows: usize,
    /// Slots up to the last row: as many as there are rows, and holes between them.
    pub(super) slots: usize,
    /// Slots for which there is room.
    pub(super) cap: usize,
    /// The form of all ids, if they have one.
    pub(super) form: Option<Form>,
    /// Bytes of the ids that are not in rows: none, if they have one form.
    pub(super) id_bytes: usize,
    pub(super) widths: [usize; 3],
    pub(super) bases: [i64; 3],
    pub(super) run: Run,
    /// The next leaf, if there is one, begins with a greater folded score than this one ends with. Not always known.
    pub(super) closed: bool,
    stride: usize,
}

/// Insertions one after another: a board on which the latest of equal scores is the last gets all its new rows at a few
/// places. A leaf that is split in a run is split after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// The slot after the last one that was filled.
    next: u8,
    /// How often an insertion was there.
    length: u8,
}

impl Run {
    const LONG: u8 = 8;

    /// The same after one more.
    pub(super) fn after(mut self, slot: usize) -> Self {
        self.inserted(slot);
        self
    }

    pub(super) fn is_long(self) -> bool {
        self.length >= Self::LONG
    }

    #[inline]
    pub(super) fn inserted(&mut self, slot: usize) {
        let follows = usize::from(self.next) == slot;
        self.length = if follows { self.length.saturating_add(1) } else { 0 };
        self.next = narrow(slot + 1);
    }

    /// The same where rows of a leaf moved: `now` tells where one is.
    pub(super) fn moved(mut self, now: impl FnOnce(usize) -> usize) -> Self {
        self.next = narrow(now(usize::from(self.next)));
        self
    }
}

/// Rows, slots and widths all fit a byte.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 255")]
pub(super) fn narrow(number: usize) -> u8 {
    debug_assert!(u8::try_from(number).is_ok());
    number as u8
}

/// The header of a leaf, of which only what is asked for is read.
#[derive(Clone, Copy)]
pub(super) struct Header<'a>(&'a [u8; HEADER]);

impl<'a> Header<'a> {
    #[inline]
    pub(super) fn of(block: &'a [u8]) -> Self {
        Self(block.first_chunk().expect("a block is at least a line"))
    }

    #[inline]
    pub(super) fn rows(self) -> usize {
        usize::from(self.0[4])
    }

    #[inline]
    pub(super) fn slots(self) -> usize {
        usize::from(self.0[15])
    }

    #[inline]
    pub(super) fn cap(self) -> usize {
        usize::from(self.0[5])
    }

    #[inline]
    pub(super) fn form(self) -> Option<Form> {
        (self.0[6] != MIXED).then_some(Form(self.0[6]))
    }

    #[inline]
    pub(super) fn stride(self) -> usize {
        usize::from(self.0[11])
    }

    #[inline]
    pub(super) fn width(self, column: usize) -> usize {
        usize::from(self.0[12 + column] & !CLOSED)
    }

    #[inline]
    pub(super) fn base(self, column: usize) -> i64 {
        i64::from_le_bytes(*self.0[16 + 8 * column..].first_chunk().expect("within the header"))
    }

    #[inline]
    pub(super) fn closed(self) -> bool {
        self.0[14] & CLOSED != 0
    }

    /// Where the row in a slot begins.
    #[inline]
    pub(super) fn at(self, slot: usize) -> usize {
        HEADER + self.cap() + slot * self.stride()
    }

    /// Where a number of the row in a slot ends.
    #[inline]
    pub(super) fn end(self, column: usize, slot: usize) -> usize {
        let after: usize = (column + 1..3).map(|column| self.width(column)).sum();
        self.at(slot + 1) - after
    }

    /// Where the ids are that are not in rows.
    #[inline]
    pub(super) fn ids_at(self) -> usize {
        self.at(self.cap())
    }

    /// The bytes that so many rows less need, without holes and room for more, where ids have one form.
    #[inline]
    pub(super) fn exact(self, less: usize) -> usize {
        HEADER + (self.rows() - less) * (1 + self.stride())
    }
}

impl Head {
    #[inline]
    pub(super) fn read(block: &[u8]) -> Self {
        let header = Header::of(block);
        let bytes = header.0;
        Self {
            rows: header.rows(),
            slots: header.slots(),
            cap: header.cap(),
            form: header.form(),
            run: Run { next: bytes[7], length: bytes[10] },
            id_bytes: usize::from(u16::from_le_bytes([bytes[8], bytes[9]])),
            stride: header.stride(),
            closed: header.closed(),
            widths: std::array::from_fn(|column| header.width(column)),
            bases: std::array::from_fn(|column| header.base(column)),
        }
    }

    pub(super) fn write(&self, block: &mut [u8]) {
        let block: &mut [u8; HEADER] = block.first_chunk_mut().expect("a block is at least a line");
        block[5] = narrow(self.cap);
        block[6] = self.form.map_or(MIXED, |form| form.0);
        block[11] = narrow(self.stride);
        for (at, width) in self.widths.into_iter().enumerate() {
            block[12 + at] = narrow(width);
        }
        Self::write_closed(block, self.closed);
        for (at, base) in self.bases.into_iter().enumerate() {
            block[16 + 8 * at..][..8].copy_from_slice(&base.to_le_bytes());
        }
        self.write_rows(block);
    }

    /// Writes that the next leaf begins with a greater score, or that this is not known.
    pub(super) fn write_closed(block: &mut [u8], closed: bool) {
        block[14] = block[14] & !CLOSED | if closed { CLOSED } else { 0 };
    }

    /// Writes that there are so many rows, where ids have one form.
    #[inline]
    pub(super) fn write_count(block: &mut [u8], rows: usize) {
        block[4] = narrow(rows);
    }

    /// Writes that there are only so many slots. A run that was at their end goes on there.
    #[inline]
    pub(super) fn cut_slots(block: &mut [u8], slots: usize) {
        block[15] = narrow(slots);
        block[7] = block[7].min(narrow(slots));
    }

    /// Writes what an insertion or a removal changes.
    #[inline]
    pub(super) fn write_rows(&self, block: &mut [u8]) {
        let id_bytes = u16::try_from(self.id_bytes).expect("a leaf is small").to_le_bytes();
        block[4] = narrow(self.rows);
        block[15] = narrow(self.slots);
        block[7..11].copy_from_slice(&[self.run.next, id_bytes[0], id_bytes[1], self.run.length]);
    }

    /// The head of a leaf for these rows, with just the room they need. `id_bytes` are those of all ids.
    pub(super) fn new(
        rows: usize,
        form: Option<Form>,
        id_bytes: usize,
        low: [i64; 3],
        high: [i64; 3],
    ) -> Self {
        let widths: [usize; 3] = std::array::from_fn(|column| {
            width(high[column].wrapping_sub(low[column]).cast_unsigned())
        });
        let stride = form.map_or(REFERENCE, Form::bytes) + widths.iter().sum::<usize>();
        let id_bytes = if form.is_some() { 0 } else { id_bytes };
        let run = Run::default();
        Self {
            rows,
            slots: rows,
            cap: rows,
            form,
            id_bytes,
            widths,
            bases: low,
            run,
            closed: false,
            stride,
        }
    }

    /// The head of a leaf that begins with this row, where one row follows another and the last leaf is full. The times to come
    /// will be as far apart as they were; scores and lags are expected to be equal, as they mostly are.
    pub(super) fn next(&self, record: IndexRecord) -> Self {
        let run = Run { next: 1, ..self.run };
        let widths = [0, self.widths[1], 0];
        let stride = self.stride - self.widths[0] - self.widths[2];
        Self {
            rows: 1,
            slots: 1,
            cap: 1,
            widths,
            bases: numbers(record),
            run,
            closed: false,
            stride,
            ..*self
        }
    }

    /// The same without room for more, and without holes.
    pub(super) fn exact(self) -> Self {
        Self { slots: self.rows, cap: self.rows, ..self }
    }

    /// The same with room for `spare` bytes of rows more, in so many rows and bytes at most, up to the end of a line; and the
    /// bytes of the block.
    pub(super) fn with_room(
        mut self,
        spare: usize,
        max_rows: usize,
        max_bytes: usize,
    ) -> (Self, usize) {
        let size = self.size();
        let bytes = (size + spare).min(max_bytes).max(size).next_multiple_of(LINE);
        let more = (bytes - size) / self.row_bytes();
        self.cap = (self.rows + more).min(max_rows).max(self.rows);
        (self, bytes)
    }

    /// Whether one more row of this id has a place after the others in a block of so many bytes.
    #[inline]
    pub(super) fn has_room_for(&self, id: Packed<'_>, bytes: usize) -> bool {
        self.slots < self.cap && (self.form.is_some() || self.size() + id.bytes.len() <= bytes)
    }

    /// What one more row takes, if its id is as long as the others.
    pub(super) fn row_bytes(&self) -> usize {
        1 + self.stride + self.id_bytes.div_ceil(self.rows.max(1))
    }

    /// Bytes of a row.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Where the row in a slot begins.
    #[inline]
    pub(super) fn at(&self, slot: usize) -> usize {
        HEADER + self.cap + slot * self.stride
    }

    /// Where a number of the row in a slot ends.
    #[inline]
    pub(super) fn end(&self, column: usize, slot: usize) -> usize {
        let after: usize = self.widths[column + 1..].iter().sum();
        self.at(slot + 1) - after
    }

    /// Where the ids are that are not in rows.
    #[inline]
    pub(super) fn ids_at(&self) -> usize {
        self.at(self.cap)
    }

    /// All bytes in use.
    pub(super) fn size(&self) -> usize {
        self.ids_at() + self.id_bytes
    }

    /// By how much each number exceeds the smallest of its kind, if the rows are wide enough.
    #[inline]
    pub(super) fn deltas(&self, record: IndexRecord) -> Option<[u64; 3]> {
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
                let end = self.end(column, slot);
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

/// The three numbers of a record, as rows hold them.
#[inline]
pub(super) fn numbers(record: IndexRecord) -> [i64; 3] {
    let at = record.key.at.0;
    [record.key.folded, at, record.updated_at.0.wrapping_sub(at)]
}

/// The least bytes that hold a number.
pub(super) fn width(delta: u64) -> usize {
    (64 - delta.leading_zeros()).div_ceil(8) as usize
}
