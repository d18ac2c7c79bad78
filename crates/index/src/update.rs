//! Giving a player another record: in its place, or in another one.
//!
//! On a board with many ties a player who wins points goes to the end of those who have its new score, and on a large board that is
//! the end of some leaf, known by its finger. This way, which nearly all take, has no search. Others stay in their leaf, or are a
//! removal and an insertion.

use super::IndexRecord;
use super::draft::Draft;
use super::edit;
use super::fingers::Finger;
use super::head::Run;
use super::leaf::{Tagged, tag_of};
use super::locator::Locator;
use super::moves::Moves;
use super::packed::Packed;
use super::tree::{NodeSlot, Tree};

/// A player in the tree.
#[derive(Clone, Copy)]
pub(super) struct Player<'a> {
    pub(super) id: Packed<'a>,
    pub(super) hash: u64,
    pub(super) place: NodeSlot,
}

impl Tree {
    /// Moves a player to where another record belongs, probably to the end of leaf `finger`.
    #[inline]
    pub(super) fn update(
        &mut self,
        locator: &mut Locator,
        Player { id, hash, place }: Player<'_>,
        record: IndexRecord,
        finger: Option<Finger>,
    ) -> NodeSlot {
        // First out of the one leaf: the other one is still on its way.
        self.remove(locator, place);
        let player = (id, tag_of(hash));
        let appended = finger.and_then(|finger| self.append(finger.leaf, player, record));
        let now = appended.unwrap_or_else(|| self.insert(locator, player, record));
        // Others with these bits of hash may be in either leaf: which of them is meant does not matter to the locator.
        if now.leaf != place.leaf {
            locator.relocate(hash, place.leaf, now.leaf);
        }
        now
    }

    /// Puts a player at the end of a leaf, if that is certain to be its place and there is room.
    #[inline]
    fn append(&mut self, leaf: u32, player: Tagged<'_>, record: IndexRecord) -> Option<NodeSlot> {
        let at = self.leaves.in_use(leaf)?;
        let slot = edit::try_append(self.blocks.block_mut(at), player, record)?;
        self.trust.note(true);
        self.count_above(leaf);
        let place = NodeSlot { leaf, slot };
        self.point_at(record.key, place);
        Some(place)
    }

    /// Replaces the record of a player whose place among the others of its leaf stays within the leaf, and returns its
    /// row. Returns none, with nothing changed, where that is not certain from the leaf alone.
    pub(super) fn update_within(
        &mut self,
        locator: &mut Locator,
        Player { id, hash, place: NodeSlot { leaf, slot } }: Player<'_>,
        record: IndexRecord,
    ) -> Option<usize> {
        let view = self.leaf(leaf);
        let target = view.before(record.key, id);
        // The row as it is still counts.
        let row = view.row_at(target) - usize::from(slot < target);
        let inside = row > 0 && row + 1 < view.rows();
        let stays = (target == slot || target == slot + 1) && view.key(slot) == record.key;
        if !(inside || stays || self.height == 0) {
            return None;
        }
        let was_first = view.first() == slot;
        let at = self.leaves.at(leaf);
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
        let now = self.insert_at(locator, NodeSlot { leaf, slot }, player, record);
        if now.leaf != leaf {
            locator.relocate(hash, leaf, now.leaf);
        }
        Some(row)
    }
}
