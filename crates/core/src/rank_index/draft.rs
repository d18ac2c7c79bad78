//! A leaf taken apart: for bulk loading, splits, merges, and rows that do not fit the widths.

use super::Record;
use super::leaf::{HEADER, Head, Leaf, numbers, width};
use super::packed::{Form, Packed};
use crate::{SortKey, time::Millis};

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
        self.ids.reserve(leaf.head.id_bytes + 128);
        for (row, id) in leaf.ids().enumerate() {
            self.insert(self.rows.len(), id, leaf.record(row));
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

    /// The header that these rows need.
    pub(super) fn head(&self, from: usize, to: usize) -> Head {
        let rows = &self.rows[from..to];
        let mut head = Head {
            rows: rows.len(),
            form: rows.first().map(|row| row.form),
            id_bytes: rows.iter().map(|row| row.form.bytes()).sum(),
            widths: [0; 3],
            bases: [0; 3],
        };
        head.form = head.form.filter(|form| rows.iter().all(|row| row.form == *form));
        for column in 0..3 {
            let (low, high) = rows.iter().fold((i64::MAX, i64::MIN), |(low, high), row| {
                (low.min(row.numbers[column]), high.max(row.numbers[column]))
            });
            head.bases[column] = low;
            head.widths[column] = width(high.wrapping_sub(low).cast_unsigned());
        }
        head
    }

    /// Where to split rows that do not fit one leaf, given that the row at `new` is the reason. A row that came at the
    /// end starts a leaf of its own: rows arriving in order then leave full leaves behind, not halves.
    pub(super) fn split_at(&self, new: usize) -> usize {
        if new + 1 == self.rows.len() {
            return new;
        }
        // By bytes, not by rows: one long id must not make a half that again does not fit.
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
        let mut at = HEADER;
        if head.form.is_none() {
            for row in rows {
                block[at] = row.form.0;
                at += 1;
            }
        }
        for row in rows {
            let id = &self.ids[row.id_at..][..row.form.bytes()];
            let room = &mut block[at..at + id.len()];
            // Copies of a known length are two instructions, others a call.
            match (id.len(), id.first_chunk::<12>(), room.first_chunk_mut::<12>()) {
                (12, Some(id), Some(room)) => *room = *id,
                _ => room.copy_from_slice(id),
            }
            at += id.len();
        }
        for column in 0..3 {
            let (width, base) = (head.widths[column], head.bases[column]);
            if width == 0 {
                continue;
            }
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
