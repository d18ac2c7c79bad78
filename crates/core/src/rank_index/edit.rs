//! Changing a leaf in place, and moving it to a block of another size.

use super::Record;
use super::head::{HEADER, Head, MAX_ROWS, REFERENCE, narrow};
use super::leaf::{Leaf, reference};
use super::packed::{Form, Packed};

const MAX_ROWS_BYTE: u8 = 128;
const _: () = assert!(MAX_ROWS == MAX_ROWS_BYTE as usize);

impl Leaf<'_> {
    /// Writes the rows into a block for which `head` was made: the same rows with room for more, or for fewer.
    /// Slots stay, so none may be beyond the new room.
    pub(super) fn copy_to(&self, head: &Head, block: &mut [u8]) {
        head.write(block);
        let old = self.head();
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
        copy(old.at(0), head.at(0), head.stride() * head.cap.min(old.cap));
        copy(old.ids_at(), head.ids_at(), old.id_bytes);
    }
}

/// What became of an insertion in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    /// In this slot.
    Done(usize),
    /// Only room was missing.
    Full,
    /// The rows are too narrow, or the id is of another form.
    Refused,
}

/// Writes a leaf of one row, whose numbers are the smallest there will be.
pub(super) fn begin(block: &mut [u8], mut head: Head, id: Packed<'_>) {
    for (slot, room) in block[HEADER..HEADER + head.cap].iter_mut().enumerate() {
        *room = narrow(slot);
    }
    write_id(block, &mut head, 0, id);
    head.set_numbers(block, 0, [0; 3]);
    head.write(block);
}

/// Inserts a row where the widths allow it and there is room; otherwise changes nothing.
pub(super) fn try_insert(
    block: &mut [u8],
    row: usize,
    id: Packed<'_>,
    record: Record,
) -> Insertion {
    let head = Head::read(block);
    let Some(deltas) = head.deltas(record) else { return Insertion::Refused };
    if head.form.is_some_and(|form| form != id.form) {
        return Insertion::Refused;
    }
    if !head.has_room_for(id, block.len()) {
        return Insertion::Full;
    }
    if row == head.rows && head.closed {
        let last = Leaf::new(block).folded(row - 1);
        Head::write_closed(block, last == record.key.folded);
    }
    let order = &mut block[HEADER..=HEADER + head.rows];
    let slot = order[head.rows];
    order.copy_within(row..head.rows, row + 1);
    order[row] = slot;
    Insertion::Done(fill(block, head, row, id, deltas))
}

/// Inserts a row after all others, if its score is that of the last one, its key is after that one's, the next leaf begins with another
/// score, the widths allow it and there is room; otherwise changes nothing. Returns its slot and its row.
#[inline]
pub(super) fn try_append(
    block: &mut [u8],
    id: Packed<'_>,
    record: Record,
) -> Option<(usize, usize)> {
    if !Leaf::new(block).ends_before(record.key) {
        return None;
    }
    let head = Head::read(block);
    let deltas = head.deltas(record)?;
    if head.form.is_some_and(|form| form != id.form) || !head.has_room_for(id, block.len()) {
        return None;
    }
    Some((fill(block, head, head.rows, id, deltas), head.rows))
}

/// Writes a row that has its place in the order, and says that there is one more. Returns its slot.
#[inline]
fn fill(block: &mut [u8], mut head: Head, row: usize, id: Packed<'_>, deltas: [u64; 3]) -> usize {
    let slot = usize::from(block[HEADER + row]);
    write_id(block, &mut head, slot, id);
    head.set_numbers(block, slot, deltas);
    head.rows += 1;
    head.run.inserted(row);
    head.write_rows(block);
    slot
}

/// Writes the id of a slot that is free.
#[inline]
pub(super) fn write_id(block: &mut [u8], head: &mut Head, slot: usize, id: Packed<'_>) {
    let at = head.at(slot);
    if head.form.is_some() {
        put(&mut block[at..], id.bytes);
        return;
    }
    let [low, high] = u16::try_from(head.id_bytes).expect("a leaf is small").to_le_bytes();
    block[at..at + REFERENCE].copy_from_slice(&[id.form.0, low, high]);
    put(&mut block[head.ids_at() + head.id_bytes..], id.bytes);
    head.id_bytes += id.bytes.len();
}

/// Copies bytes to the beginning of others. Of a known length that is two instructions, else a call.
#[inline]
pub(super) fn put(to: &mut [u8], from: &[u8]) {
    match (from.first_chunk::<12>(), to.first_chunk_mut::<12>()) {
        (Some(short), Some(room)) if from.len() == 12 => *room = *short,
        _ => to[..from.len()].copy_from_slice(from),
    }
}

/// Removes a row; what the head says then.
pub(super) fn remove(block: &mut [u8], row: usize) -> Head {
    let mut head = Head::read(block);
    let order = &mut block[HEADER..HEADER + head.rows];
    let slot = order[row];
    order.copy_within(row + 1.., row);
    order[head.rows - 1] = slot;
    head.rows -= 1;
    if head.form.is_none() {
        remove_mixed_id(block, &mut head, usize::from(slot));
    }
    head.run.removed(row);
    head.write_rows(block);
    head
}

/// Closes the gap that an id leaves among the others.
fn remove_mixed_id(block: &mut [u8], head: &mut Head, slot: usize) {
    let (form, gone) = reference(&block[head.at(slot)..]);
    let bytes = form.bytes();
    let ids = &mut block[head.ids_at()..];
    ids.copy_within(gone + bytes..head.id_bytes, gone);
    head.id_bytes -= bytes;
    for row in 0..head.rows {
        let at = head.at(usize::from(block[HEADER + row]));
        let (Form(form), from) = reference(&block[at..]);
        if from > gone {
            let [low, high] = u16::try_from(from - bytes).expect("less than before").to_le_bytes();
            block[at..at + REFERENCE].copy_from_slice(&[form, low, high]);
        }
    }
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

/// Moves the rows in slots from `cap` on to free slots before it, so that the leaf can shrink. Calls `moved` with each id, its old
/// slot and its new one.
pub(super) fn vacate(
    block: &mut [u8],
    cap: usize,
    mut moved: impl FnMut(Packed<'_>, usize, usize),
) {
    let head = Head::read(block);
    let mut free = head.rows;
    for from in cap..head.cap {
        let Some(row) = Leaf::new(block).row_in(from) else { continue };
        while usize::from(block[HEADER + free]) >= cap {
            free += 1;
        }
        let to = usize::from(block[HEADER + free]);
        block.swap(HEADER + row, HEADER + free);
        let at = head.at(from);
        block.copy_within(at..at + head.stride(), head.at(to));
        moved(Leaf::new(block).id_in(to), from, to);
    }
}
