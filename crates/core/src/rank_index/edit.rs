//! Changing a leaf in place, and moving it to a block of another size.

use super::Record;
use super::head::{FREE, HEADER, Head, MAX_ROWS, TAIL, narrow};
use super::leaf::{Leaf, bytes_of, id_bytes_before};
use super::packed::Packed;

const MAX_ROWS_BYTE: u8 = 128;
const _: () = assert!(MAX_ROWS == MAX_ROWS_BYTE as usize);

impl Leaf<'_> {
    /// Writes the rows into a block for which `head` was made: the same columns with room for more rows, or for fewer.
    /// Slots stay, so none may be beyond the new room.
    pub(super) fn copy_to(&self, head: &Head, block: &mut [u8]) {
        head.write(block);
        let (old, cap) = (&self.head, head.cap.min(self.head.cap));
        let order = &mut block[HEADER..HEADER + head.cap];
        let (rows, free) = self.order().split_at(old.rows);
        order[..rows.len()].copy_from_slice(rows);
        let free = free.iter().copied().filter(|slot| usize::from(*slot) < head.cap);
        let free = free.chain(narrow(old.cap)..MAX_ROWS_BYTE);
        for (room, slot) in order[rows.len()..].iter_mut().zip(free) {
            *room = slot;
        }
        let mut copy = |from: usize, to: usize, bytes: usize| {
            block[to..to + bytes].copy_from_slice(&self.block[from..from + bytes]);
        };
        if let Some(form) = old.form {
            copy(old.ids_at(), head.ids_at(), TAIL * cap);
            let bodies = (old.ids_at() + TAIL * old.cap, head.ids_at() + TAIL * head.cap);
            copy(bodies.0, bodies.1, (form.bytes() - TAIL) * cap);
        } else {
            copy(old.ids_at(), head.ids_at(), cap);
            copy(old.ids_at() + old.cap, head.ids_at() + head.cap, old.id_bytes);
        }
        for column in 0..3 {
            copy(old.column_at(column), head.column_at(column), old.widths[column] * cap);
        }
        if old.form.is_none() {
            block[head.ids_at() + cap..head.ids_at() + head.cap].fill(FREE);
        }
    }
}

/// What became of an insertion in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    Done,
    /// Only room was missing.
    Full,
    /// The columns are too narrow, or the id is of another form.
    Refused,
}

/// Inserts a row where the widths allow it and there is room; otherwise changes nothing.
pub(super) fn try_insert(
    block: &mut [u8],
    row: usize,
    id: Packed<'_>,
    record: Record,
) -> Insertion {
    let mut head = Head::read(block);
    let Some(deltas) = head.deltas(record) else { return Insertion::Refused };
    if head.form.is_some_and(|form| form != id.form) {
        return Insertion::Refused;
    }
    if !head.has_room_for(id) {
        return Insertion::Full;
    }
    let order = &mut block[HEADER..=HEADER + head.rows];
    let slot = usize::from(order[head.rows]);
    order.copy_within(row..head.rows, row + 1);
    order[row] = narrow(slot);
    write_id(block, &head, slot, id);
    head.set_numbers(block, slot, deltas);
    head.rows += 1;
    head.id_bytes += id.bytes.len();
    head.run.inserted(row);
    head.write_rows(block);
    Insertion::Done
}

/// Writes the id of a slot that is free.
#[inline]
fn write_id(block: &mut [u8], head: &Head, slot: usize, id: Packed<'_>) {
    let at = head.ids_at();
    if head.form.is_some() {
        let (body, tail) =
            id.bytes.split_last_chunk::<TAIL>().expect("a form of two bytes or more");
        block[at + TAIL * slot..][..TAIL].copy_from_slice(tail);
        block[at + TAIL * head.cap + body.len() * slot..][..body.len()].copy_from_slice(body);
    } else {
        let before = id_bytes_before(&block[at..at + head.cap], slot);
        let ids = &mut block[at + head.cap..head.columns_at];
        ids.copy_within(before..head.id_bytes, before + id.bytes.len());
        ids[before..before + id.bytes.len()].copy_from_slice(id.bytes);
        block[at + slot] = id.form.0;
    }
}

/// Removes a row; what the head says then.
pub(super) fn remove(block: &mut [u8], row: usize) -> Head {
    let mut head = Head::read(block);
    let order = &mut block[HEADER..HEADER + head.rows];
    let slot = order[row];
    order.copy_within(row + 1.., row);
    order[head.rows - 1] = slot;
    let id_bytes = match head.form {
        Some(form) => form.bytes(),
        None => remove_mixed_id(block, &head, usize::from(slot)),
    };
    head.rows -= 1;
    head.id_bytes -= id_bytes;
    head.run.removed(row);
    head.write_rows(block);
    head
}

fn remove_mixed_id(block: &mut [u8], head: &Head, slot: usize) -> usize {
    let at = head.ids_at();
    let before = id_bytes_before(&block[at..at + head.cap], slot);
    let bytes = bytes_of(block[at + slot]);
    block[at + slot] = FREE;
    let ids = &mut block[at + head.cap..head.columns_at];
    ids.copy_within(before + bytes..head.id_bytes, before);
    bytes
}

/// Gives a row another record and another place, where the widths allow it; otherwise changes nothing.
pub(super) fn try_move(block: &mut [u8], from: usize, to: usize, record: Record) -> bool {
    let head = Head::read(block);
    let Some(deltas) = head.deltas(record) else { return false };
    let slot = block[HEADER + from];
    head.set_numbers(block, usize::from(slot), deltas);
    let order = &mut block[HEADER..HEADER + head.rows];
    if from < to {
        order.copy_within(from + 1..=to, from);
    } else {
        order.copy_within(to..from, to + 1);
    }
    order[to] = slot;
    true
}

/// Moves the players in slots from `cap` on to free slots before it, so that the leaf can shrink. Ids must be of one form.
pub(super) fn vacate(block: &mut [u8], cap: usize) {
    let head = Head::read(block);
    let length = head.form.expect("ids of one form").bytes() - TAIL;
    let columns = columns(&head, length);
    let mut free = head.rows;
    for row in 0..head.rows {
        let from = usize::from(block[HEADER + row]);
        if from < cap {
            continue;
        }
        while usize::from(block[HEADER + free]) >= cap {
            free += 1;
        }
        let to = usize::from(block[HEADER + free]);
        block.swap(HEADER + row, HEADER + free);
        for (start, item) in columns {
            carry(block, start + from * item, start + to * item, item);
        }
    }
}

/// Copies an entry of a column. Of a known length that is two instructions, else a call.
#[inline]
fn carry(block: &mut [u8], from: usize, to: usize, bytes: usize) {
    fn fixed<const N: usize>(block: &mut [u8], from: usize, to: usize) {
        let entry: [u8; N] = *block[from..].first_chunk().expect("in the leaf");
        block[to..to + N].copy_from_slice(&entry);
    }
    match bytes {
        0 => {}
        1 => block[to] = block[from],
        2 => fixed::<2>(block, from, to),
        3 => fixed::<3>(block, from, to),
        10 => fixed::<10>(block, from, to),
        _ => block.copy_within(from..from + bytes, to),
    }
}

/// Start and bytes of an entry, for every column but the order.
fn columns(head: &Head, body: usize) -> [(usize, usize); 5] {
    [
        (head.ids_at(), TAIL),
        (head.ids_at() + TAIL * head.cap, body),
        (head.column_at(0), head.widths[0]),
        (head.column_at(1), head.widths[1]),
        (head.column_at(2), head.widths[2]),
    ]
}

/// Writes `order` for rows in slots of the same numbers, and after it the rows' ids.
pub(super) fn write_ids<'a>(block: &mut [u8], head: &Head, ids: impl Iterator<Item = Packed<'a>>) {
    for (slot, room) in block[HEADER..HEADER + head.cap].iter_mut().enumerate() {
        *room = narrow(slot);
    }
    let at = head.ids_at();
    let (tails_or_forms, rest) =
        block[at..].split_at_mut(if head.form.is_some() { TAIL } else { 1 } * head.cap);
    if let Some(form) = head.form {
        let length = form.bytes() - TAIL;
        for (slot, (id, room)) in ids.zip(tails_or_forms.as_chunks_mut::<TAIL>().0).enumerate() {
            let (body, tail) =
                id.bytes.split_last_chunk::<TAIL>().expect("a form of two bytes or more");
            *room = *tail;
            let room = &mut rest[slot * length..][..length];
            // Copies of a known length are two instructions, others a call.
            match (length, body.first_chunk::<10>(), room.first_chunk_mut::<10>()) {
                (10, Some(body), Some(room)) => *room = *body,
                _ => room.copy_from_slice(body),
            }
        }
    } else {
        tails_or_forms.fill(FREE);
        let mut at = 0;
        for (id, form) in ids.zip(tails_or_forms) {
            *form = id.form.0;
            rest[at..at + id.bytes.len()].copy_from_slice(id.bytes);
            at += id.bytes.len();
        }
    }
}
