//! Changing a leaf in place, and moving it to a block of another size.

use super::IndexRecord;
use super::head::{HEADER, Head, Header, MAX_STRIDE, REFERENCE};
use super::leaf::{HOLE, Leaf, Tagged, bits_before, reference};
use super::packed::{Form, Packed};

impl Leaf<'_> {
    /// Writes the rows into a block for which `head` was made: the same rows, without holes, with room for more or fewer.
    pub(super) fn copy_to(&self, mut head: Head, block: &mut [u8]) {
        let old = self.head();
        head.run = head.run.moved(|slot| self.row_at(slot.min(old.slots)));
        head.write(block);
        let stride = head.stride();
        let (mut filled, mut to) = (self.filled(), 0);
        let mut copy = |from: usize, to: usize, bytes: usize| {
            block[to..to + bytes].copy_from_slice(&self.block[from..from + bytes]);
        };
        while let Some((from, rows)) = filled.next_run() {
            copy(HEADER + from, HEADER + to, rows);
            copy(old.at(from), head.at(to), rows * stride);
            to += rows;
        }
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
pub(super) fn begin(block: &mut [u8], mut head: Head, (id, tag): Tagged<'_>) {
    write_id(block, &mut head, 0, id);
    head.set_numbers(block, 0, [0; 3]);
    block[HEADER] = tag;
    head.write(block);
}

/// Inserts a row before the one in a slot, where the widths allow it and there is room; otherwise changes nothing.
pub(super) fn try_insert(
    block: &mut [u8],
    slot: usize,
    (id, tag): Tagged<'_>,
    record: IndexRecord,
) -> Insertion {
    let leaf = Leaf::new(block);
    let mut head = leaf.head();
    let Some(deltas) = head.deltas(record) else { return Insertion::Refused };
    if head.form.is_some_and(|form| form != id.form) {
        return Insertion::Refused;
    }
    let Some(free) = nearest_free(leaf, &head, slot, id) else { return Insertion::Full };
    if slot == head.slots && head.closed {
        Head::write_closed(block, leaf.folded(slot - 1) == record.key.folded);
    }
    head.slots = head.slots.max(free + 1);
    Insertion::Done(fill_from(block, head, (free, slot), (id, tag), deltas))
}

/// The slot nearest to one before which a row is to be inserted that nobody has.
fn nearest_free(leaf: Leaf<'_>, head: &Head, slot: usize, id: Packed<'_>) -> Option<usize> {
    let end = head.has_room_for(id, leaf.block.len()).then_some(head.slots);
    let holes = leaf.holes();
    let before = holes & bits_before(slot);
    let after = (holes ^ before).trailing_zeros();
    let after = if after == u128::BITS { end } else { Some(after as usize) };
    let before = before.checked_ilog2().map(|before| before as usize);
    match (before, after) {
        (Some(before), Some(after)) if after - slot <= slot - 1 - before => Some(after),
        (before, after) => before.or(after),
    }
}

/// Moves the rows between two slots by one, from `to` on towards `from`, so that `to` is free instead of `from`.
fn shift(block: &mut [u8], head: &Head, from: usize, to: usize) {
    if from < to {
        block.copy_within(HEADER + from + 1..=HEADER + to, HEADER + from);
        block.copy_within(head.at(from + 1)..head.at(to + 1), head.at(from));
    } else if from > to {
        block.copy_within(HEADER + to..HEADER + from, HEADER + to + 1);
        block.copy_within(head.at(to)..head.at(from), head.at(to + 1));
    }
}

/// Inserts a row after all others, if its score is that of the last one, its key is after that one's, the next leaf begins with another
/// score, the widths allow it and there is room; otherwise changes nothing. Returns its slot.
#[inline]
pub(super) fn try_append(
    block: &mut [u8],
    (id, tag): Tagged<'_>,
    record: IndexRecord,
) -> Option<usize> {
    if !Leaf::new(block).ends_before(record.key) {
        return None;
    }
    let mut head = Head::read(block);
    let deltas = head.deltas(record)?;
    if head.form.is_some_and(|form| form != id.form) {
        return None;
    }
    if head.has_room_for(id, block.len()) {
        head.slots += 1;
        return Some(fill(block, head, head.slots - 1, (id, tag), deltas));
    }
    let hole = Leaf::new(block).holes().checked_ilog2()?;
    Some(fill_from(block, head, (hole as usize, head.slots), (id, tag), deltas))
}

/// Writes a row before the one in a slot, at the cost of a free slot, to which the rows in between move. Returns its slot.
fn fill_from(
    block: &mut [u8],
    mut head: Head,
    (free, before): (usize, usize),
    player: Tagged<'_>,
    deltas: [u64; 3],
) -> usize {
    let left = free < before;
    let slot = before - usize::from(left);
    shift(block, &head, free, slot);
    if left {
        head.run = head.run.moved(|next| next - usize::from((free + 1..=before).contains(&next)));
    }
    fill(block, head, slot, player, deltas)
}

/// Writes a row into a slot that is free and counts already, and says that there is one more. Returns the slot.
#[inline]
fn fill(
    block: &mut [u8],
    mut head: Head,
    slot: usize,
    (id, tag): Tagged<'_>,
    deltas: [u64; 3],
) -> usize {
    write_id(block, &mut head, slot, id);
    head.set_numbers(block, slot, deltas);
    block[HEADER + slot] = tag;
    head.rows += 1;
    head.run.inserted(slot);
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

/// Removes the row in a slot. Returns how many are left, and the bytes that they need.
#[inline]
pub(super) fn remove(block: &mut [u8], slot: usize) -> (usize, usize) {
    let header = Header::of(block);
    if header.form().is_none() {
        return remove_mixed(block, slot);
    }
    let (rows, slots, exact) = (header.rows() - 1, header.slots(), header.exact(1));
    block[HEADER + slot] = HOLE;
    Head::write_count(block, rows);
    if slot + 1 == slots {
        cut_holes(block);
    }
    (rows, exact)
}

/// There are no slots after the last row.
fn cut_holes(block: &mut [u8]) {
    let tags = &block[HEADER..HEADER + Header::of(block).slots()];
    let last = tags.iter().rposition(|tag| *tag != HOLE);
    Head::cut_slots(block, last.map_or(0, |last| last + 1));
}

/// Closes the gaps that a row and its id leave among the others.
fn remove_mixed(block: &mut [u8], slot: usize) -> (usize, usize) {
    let mut head = Head::read(block);
    let (form, gone) = reference(&block[head.at(slot)..]);
    let bytes = form.bytes();
    let ids = &mut block[head.ids_at()..];
    ids.copy_within(gone + bytes..head.id_bytes, gone);
    head.id_bytes -= bytes;
    (head.rows, head.slots) = (head.rows - 1, head.slots - 1);
    head.run = head.run.moved(|next| next - usize::from(slot < next));
    shift(block, &head, slot, head.slots);
    for slot in 0..head.slots {
        let at = head.at(slot);
        let (Form(form), from) = reference(&block[at..]);
        if from > gone {
            let [low, high] = u16::try_from(from - bytes).expect("less than before").to_le_bytes();
            block[at..at + REFERENCE].copy_from_slice(&[form, low, high]);
        }
    }
    head.write_rows(block);
    (head.rows, head.exact().size())
}

/// Gives a row another record and another slot, where the widths allow it; otherwise changes nothing.
pub(super) fn try_move(block: &mut [u8], from: usize, to: usize, record: IndexRecord) -> bool {
    let head = Head::read(block);
    let Some(deltas) = head.deltas(record) else { return false };
    if from != to {
        let tag = block[HEADER + from];
        let mut row = [0; MAX_STRIDE];
        let row = &mut row[..head.stride()];
        row.copy_from_slice(&block[head.at(from)..head.at(from + 1)]);
        shift(block, &head, from, to);
        block[HEADER + to] = tag;
        block[head.at(to)..head.at(to + 1)].copy_from_slice(row);
        if from + 1 == head.slots {
            cut_holes(block);
        }
    }
    head.set_numbers(block, to, deltas);
    true
}
