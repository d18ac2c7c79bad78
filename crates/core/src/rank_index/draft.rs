//! A leaf taken apart: for bulk loading, splits, merges, and rows that do not fit the widths.

use super::Record;
use super::edit::write_ids;
use super::head::{Head, numbers};
use super::leaf::Leaf;
use super::node::{Child, number_of};
use super::packed::{Buffer, Form, Packed};
use crate::{SortKey, limits::PLAYER_ID_BYTES, time::Millis};

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
    pub(super) fn append(&mut self, leaf: Leaf<'_>) {
        self.rows.reserve(leaf.rows() + 1);
        self.ids.reserve(leaf.head.id_bytes + PLAYER_ID_BYTES);
        let mut buffer = Buffer::new();
        for row in 0..leaf.rows() {
            let id = leaf.id(row, &mut buffer);
            let id_at = self.ids.len();
            self.rows.push(Row { numbers: leaf.numbers(row), form: id.form, id_at });
            self.ids.extend_from_slice(id.bytes);
        }
    }

    pub(super) fn insert(&mut self, row: usize, id: Packed<'_>, record: Record) {
        let id_at = self.ids.len();
        self.ids.extend_from_slice(id.bytes);
        self.rows.insert(row, Row { numbers: numbers(record), form: id.form, id_at });
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

    /// Writes some rows, for which `head` was made, into a block large enough.
    pub(super) fn encode(&self, from: usize, head: &Head, block: &mut [u8]) {
        head.write(block);
        let rows = &self.rows[from..from + head.rows];
        write_ids(block, head, (from..from + head.rows).map(|row| self.id(row)));
        for column in 0..3 {
            let (width, base) = (head.widths[column], head.bases[column]);
            if width == 0 {
                continue;
            }
            let mut at = head.column_at(column);
            for row in rows {
                let delta = row.numbers[column].wrapping_sub(base).to_le_bytes();
                // Eight bytes are faster to write than fewer; what they overwrite comes later.
                match block[at..].first_chunk_mut() {
                    Some(room) => *room = delta,
                    None => block[at..at + width].copy_from_slice(&delta[..width]),
                }
                at += width;
            }
        }
    }
}
