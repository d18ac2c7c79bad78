//! A leaf taken apart: for bulk loading, splits, merges, and rows that do not fit the widths.

use super::IndexRecord;
use super::edit::write_id;
use super::head::{HEADER, Head, numbers};
use super::leaf::{Leaf, Tagged};
use super::moves::Moves;
use super::node::{Child, number_of};
use super::packed::{Form, Packed};
use standings_core::{SortKey, limits::PLAYER_ID_BYTES, time::Millis};

/// Rows in order, not yet encoded.
#[derive(Default)]
pub(super) struct Draft {
    rows: Vec<Row>,
    /// The packed ids, in the order in which they were added.
    ids: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Row {
    numbers: [i64; 3],
    form: Form,
    id_at: usize,
    tag: u8,
    /// The leaf from which the row comes; none where it is new.
    from: Option<u32>,
}

impl Draft {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.ids.clear();
    }

    /// Appends all rows of a leaf.
    pub(super) fn append(&mut self, number: u32, leaf: Leaf<'_>) {
        self.rows.reserve(leaf.rows() + 1);
        self.ids.reserve(leaf.head().size() + PLAYER_ID_BYTES);
        for slot in leaf.filled() {
            let player = (leaf.id_in(slot), leaf.tag(slot));
            self.push(player, leaf.numbers_in(slot), Some(number));
        }
    }

    /// Appends a new row.
    #[inline]
    pub(super) fn append_new(&mut self, player: Tagged<'_>, record: IndexRecord) {
        self.push(player, numbers(record), None);
    }

    #[inline]
    fn push(&mut self, (id, tag): Tagged<'_>, numbers: [i64; 3], from: Option<u32>) {
        let id_at = self.ids.len();
        self.rows.push(Row { numbers, form: id.form, id_at, tag, from });
        // Copies of a known length are two instructions, others a call.
        match id.bytes.first_chunk::<12>() {
            Some(bytes) if id.bytes.len() == 12 => self.ids.extend_from_slice(bytes),
            _ => self.ids.extend_from_slice(id.bytes),
        }
    }

    /// Puts a new row among the others.
    pub(super) fn insert(&mut self, row: usize, player: Tagged<'_>, record: IndexRecord) {
        self.append_new(player, record);
        self.rows[row..].rotate_right(1);
    }

    pub(super) fn id(&self, row: usize) -> Packed<'_> {
        let row = &self.rows[row];
        Packed { form: row.form, bytes: &self.ids[row.id_at..][..row.form.bytes()] }
    }

    pub(super) fn key(&self, row: usize) -> SortKey {
        let [folded, at, _] = self.rows[row].numbers;
        SortKey { folded, at: Millis(at) }
    }

    /// The head of a leaf for these rows.
    pub(super) fn head(&self, from: usize, to: usize) -> Head {
        let rows = &self.rows[from..to];
        let form = rows.first().map(|row| row.form);
        let form = form.filter(|form| rows.iter().all(|row| row.form == *form));
        let id_bytes = rows.iter().map(|row| row.form.bytes()).sum();
        let (mut low, mut high) = ([i64::MAX; 3], [i64::MIN; 3]);
        for row in rows {
            for column in 0..3 {
                low[column] = low[column].min(row.numbers[column]);
                high[column] = high[column].max(row.numbers[column]);
            }
        }
        Head::new(rows.len(), form, id_bytes, low, high)
    }

    /// What the parent of a leaf with these rows knows of it.
    pub(super) fn child(&self, number: u32, from: usize, to: usize) -> Child {
        let count = u32::try_from(to - from).expect("a leaf is small");
        Child { number, count, key: number_of(self.key(from)) }
    }

    /// The middle of rows that do not fit one leaf, given that the row at `new` is the reason. A row that came at the
    /// end starts a leaf of its own: rows arriving in order then leave full leaves behind, not halves.
    pub(super) fn middle(&self, new: usize) -> usize {
        if new + 1 == self.rows.len() {
            return new;
        }
        // By bytes of ids, not by rows: one may be as long as all the others.
        let half = self.ids.len() / 2;
        let mut bytes = 0;
        let middle = self.rows.iter().position(|row| {
            bytes += row.form.bytes();
            bytes > half
        });
        middle.unwrap_or(0).clamp(1, self.rows.len() - 1)
    }

    /// Writes some rows, for which `head` was made, into the block of a leaf. `moves` gets those who come from another one, but for the
    /// new row, whose slot is returned.
    pub(super) fn encode(
        &self,
        from: usize,
        mut head: Head,
        (leaf, block): (u32, &mut [u8]),
        moves: &mut Moves,
    ) -> Option<usize> {
        let mut new = None;
        head.id_bytes = 0;
        for (slot, row) in self.rows[from..from + head.rows].iter().enumerate() {
            let id = self.id(from + slot);
            match row.from {
                None => new = Some(slot),
                Some(old) if old != leaf => moves.push(id.hash(), old, leaf),
                Some(_) => {}
            }
            block[HEADER + slot] = row.tag;
            write_id(block, &mut head, slot, id);
            let deltas = std::array::from_fn(|column| {
                row.numbers[column].wrapping_sub(head.bases[column]).cast_unsigned()
            });
            head.set_numbers(block, slot, deltas);
        }
        head.write(block);
        new
    }
}
