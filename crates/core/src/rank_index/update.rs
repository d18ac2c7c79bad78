//! Giving a player another record: in its place, or in another one.
//!
//! On a board with many ties a player who wins points goes to the end of those who have its new score, and on a large board that is
//! the end of some leaf, known by its finger. This way, which nearly all take, has no search, and counts no further up than to the
//! node that is above both leaves. Others stay in their leaf, or are a removal and an insertion.

use super::draft::Draft;
use super::edit;
use super::head::Run;
use super::leaf::tag_of;
use super::locator::Locator;
use super::moves::Moves;
use super::packed::Packed;
use super::tree::{Place, Tree};
use super::{Position, Record};

/// A player in the tree.
#[derive(Clone, Copy)]
pub(super) struct Player<'a> {
    pub(super) id: Packed<'a>,
    pub(super) hash: u64,
    pub(super) place: Place,
}

impl Tree {
    /// Moves a player to where another record belongs, probably to the end of leaf `finger`. Returns its position there, if that is
    /// asked for.
    #[inline]
    pub(super) fn update(
        &mut self,
        locator: &mut Locator,
        Player { id, hash, place }: Player<'_>,
        record: Record,
        finger: Option<u32>,
        ranked: bool,
    ) -> Option<Position> {
        let player = (id, tag_of(hash));
        let appended = finger.and_then(|leaf| {
            let at = self.in_use(leaf)?.at();
            // Where the player still is, nobody may move.
            let moving = leaf != place.leaf;
            let slot = edit::try_append(self.blocks.block_mut(at), player, record, moving)?;
            self.trust.note(true);
            Some(Place { leaf, slot })
        });
        let Some(now) = appended else {
            self.remove(locator, place);
            // Others of the same hash may be in either leaf: which of them is meant does not matter to the locator.
            let now = self.insert(locator, player, record);
            if now.leaf != place.leaf {
                locator.relocate(hash, place.leaf, now.leaf);
            }
            return ranked.then(|| self.position(now));
        };
        if now.leaf != place.leaf {
            locator.relocate(hash, place.leaf, now.leaf);
            self.count_moved(place.leaf, now.leaf);
        }
        let position = ranked.then(|| {
            // The row that is left still counts in its leaf, no longer above it.
            let left = u64::from(place.leaf == now.leaf);
            Position(self.position(now).0 - left)
        });
        self.take_out(locator, place);
        position
    }

    /// A player went from one leaf to another: tells the nodes above either, up to the one above both.
    #[inline]
    fn count_moved(&mut self, from: u32, to: u32) {
        let [mut from, mut to] = [from, to].map(|leaf| self.leaves[leaf as usize].parent());
        // All leaves are equally far from the root.
        while from != to
            && let (Some((left, from_index)), Some((right, to_index))) = (from.get(), to.get())
        {
            from = self.nodes.count_down(left, from_index);
            to = self.nodes.count_up(right, to_index);
        }
    }

    /// Replaces the record of a player whose place among the others of its leaf stays within the leaf, and returns its
    /// row. Returns none, with nothing changed, where that is not certain from the leaf alone.
    pub(super) fn update_within(
        &mut self,
        locator: &mut Locator,
        Player { id, hash, place: Place { leaf, slot } }: Player<'_>,
        record: Record,
    ) -> Option<usize> {
        let view = self.leaf(leaf);
        let target = view.before(record.key, id);
        // The row as it is still counts.
        let row = view.row_before(target) - usize::from(slot < target);
        let inside = row > 0 && row + 1 < view.rows();
        let stays = (target == slot || target == slot + 1) && view.key(slot) == record.key;
        if !(inside || stays || self.height == 0) {
            return None;
        }
        let was_first = view.first() == slot;
        let at = self.leaves[leaf as usize].at();
        let block = self.blocks.block_mut(at);
        if edit::try_move(block, slot, target - usize::from(slot < target), record) {
            if was_first {
                self.first_changed(leaf);
            }
            return Some(row);
        }
        let player = (id, tag_of(hash));
        if edit::remove(block, slot).0 == 0 {
            // A leaf of one: no other numbers to fit to.
            let mut draft = Draft::default();
            draft.append_new(player, record);
            let new = self.rewrite(leaf, &draft, (0, 1), Run::default(), &mut Moves::default());
            new.ok().flatten().expect("one row fits, and is new");
            return Some(row);
        }
        if was_first {
            self.first_changed(leaf);
        }
        let slot = self.leaf(leaf).before(record.key, id);
        let now = self.insert_at(locator, Place { leaf, slot }, player, record);
        if now.leaf != leaf {
            locator.relocate(hash, leaf, now.leaf);
        }
        Some(row)
    }
}
