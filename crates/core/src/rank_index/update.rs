//! Giving a player another record: in its place, or in another one.
//!
//! On a board with many ties a player who wins points goes to the end of those who have its new score, and on a large board that is
//! the end of some leaf, known by its finger. This way, which nearly all take, has no search, and counts no further up than to the
//! node that is above both leaves. Others stay in their leaf, or are a removal and an insertion.

use super::draft::Draft;
use super::edit;
use super::head::Run;
use super::locator::Locator;
use super::moves::Moves;
use super::packed::Packed;
use super::seat::Seat;
use super::tree::{Place, Tree};
use super::{Position, Record};

/// A player in the tree.
#[derive(Clone, Copy)]
pub(super) struct Player<'a> {
    pub(super) id: Packed<'a>,
    pub(super) hash: u64,
    pub(super) seat: Seat,
    pub(super) row: usize,
}

impl Tree {
    /// Moves a player to where another record belongs, probably to the end of leaf `finger`. Returns its position there, if that is
    /// asked for.
    #[inline]
    pub(super) fn update(
        &mut self,
        locator: &mut Locator,
        Player { id, hash, seat, row }: Player<'_>,
        record: Record,
        finger: Option<u32>,
        ranked: bool,
    ) -> Option<Position> {
        let place = Place { leaf: seat.leaf(), row };
        let appended = finger.and_then(|leaf| self.append(leaf, id, record));
        let Some((now, now_row)) = appended else {
            self.remove(locator, place);
            // Someone else may sit there by now, or even this player again: neither matters to the locator.
            let now = self.insert(locator, id, record);
            locator.relocate(hash, seat, now);
            return ranked.then(|| self.position(self.place(now)));
        };
        // Before others move: this one may be among them.
        locator.relocate(hash, seat, now);
        self.count_moved(place.leaf, now.leaf());
        let position = ranked.then(|| {
            // The row that is left still counts in its leaf, no longer above it.
            let left = usize::from(place.leaf == now.leaf());
            self.position(Place { leaf: now.leaf(), row: now_row - left })
        });
        self.take_out(locator, place);
        position
    }

    /// Puts a player at the end of a leaf, if that is certain to be its place and there is room. The nodes above are not told.
    #[inline]
    fn append(&mut self, leaf: u32, id: Packed<'_>, record: Record) -> Option<(Seat, usize)> {
        let at = self.in_use(leaf)?.at();
        let (slot, row) = edit::try_append(self.blocks.block_mut(at), id, record)?;
        self.trust.note(true);
        Some((Seat::new(leaf, slot), row))
    }

    /// A player went from one leaf to another: tells the nodes above either, up to the one above both.
    #[inline]
    fn count_moved(&mut self, from: u32, to: u32) {
        let [mut from, mut to] = [from, to].map(|leaf| self.leaves[leaf as usize].parent());
        // All leaves are equally far from the root.
        while from != to
            && let (Some((left, from_index)), Some((right, to_index))) = (from.get(), to.get())
        {
            let mut node = self.nodes.get_mut(left);
            node.count_down(from_index);
            from = node.counts.parent;
            let mut node = self.nodes.get_mut(right);
            node.count_up(to_index);
            to = node.counts.parent;
        }
    }

    /// Replaces the record of a player whose place among the others of its leaf stays within the leaf, and returns its
    /// row. Returns none, with nothing changed, where that is not certain from the leaf alone.
    pub(super) fn update_within(
        &mut self,
        locator: &mut Locator,
        Player { id, hash, seat, row }: Player<'_>,
        record: Record,
    ) -> Option<usize> {
        let leaf = seat.leaf();
        let view = self.leaf(leaf);
        let target = view.before(record.key, id);
        // The row as it is still counts: after it, the target is one less.
        let target = if target > row { target - 1 } else { target };
        let inside = target > 0 && target + 1 < view.rows();
        let stays = target == row && view.key(row) == record.key;
        if !(inside || stays || self.height == 0) {
            return None;
        }
        let at = self.leaves[leaf as usize].at();
        let block = self.blocks.block_mut(at);
        if edit::try_move(block, row, target, record) {
            if row == 0 && target > 0 {
                self.first_changed(leaf);
            }
            return Some(target);
        }
        let now = if edit::remove(block, row).rows == 0 {
            // A leaf of one: no other numbers to fit to.
            let mut draft = Draft::default();
            draft.append_new(id, record);
            let new = self.rewrite(leaf, &draft, (0, 1), Run::default(), &mut Moves::default());
            new.ok().flatten().expect("one row fits, and is new")
        } else {
            if row == 0 && target > 0 {
                self.first_changed(leaf);
            }
            self.insert_at(locator, Place { leaf, row: target }, id, record)
        };
        if now != seat {
            locator.relocate(hash, seat, now);
        }
        Some(target)
    }
}
