//! Taking players out of the tree: leaves and nodes that become small join a neighbour, so that memory follows. A leaf that grows at its
//! end waits with that, and no longer does once it got a smaller block.

use super::draft::Draft;
use super::edit;
use super::grow::SLACK;
use super::head::Run;
use super::locator::Locator;
use super::moves::Moves;
use super::node::{Link, number_of};
use super::tree::{NONE, NodeSlot, Tree};

impl Tree {
    /// Removes the player at a place.
    pub(super) fn remove(&mut self, locator: &mut Locator, NodeSlot { leaf, slot }: NodeSlot) {
        let mut link = self.leaves.parent(leaf);
        while let Some((above, index)) = link.get() {
            link = self.nodes.count_down(above, index);
        }
        let (at, parent) = (self.leaves.at(leaf), self.leaves.parent(leaf));
        let was_first = self.leaf(leaf).first() == slot;
        let (rows, size) = edit::remove(self.blocks.block_mut(at), slot);
        if rows == 0 {
            self.free_block(at);
            self.free_leaf(leaf);
            self.remove_child(parent);
            return;
        }
        if was_first {
            self.first_changed(leaf);
        }
        // Judged by the counts in the parent, which are at hand; only then are the neighbours looked at.
        let beside = parent
            .get()
            .and_then(|(above, index)| self.nodes.counts(above).smaller_neighbour(index));
        let few = beside.map(|beside| beside + rows).is_some_and(|together| {
            together <= self.limits.leaf_rows * 3 / 4
                && together * size <= self.limits.leaf_bytes * 3 / 4 * rows
        });
        if !(few && self.merge(locator, parent)) && is_due(size, self.blocks.capacity(at)) {
            self.shrink(leaf);
        }
    }

    /// Gives a leaf a smaller block, without room for more than the end of a line leaves: nearly all leaves that lose rows get few
    /// new ones. One in which rows follow one another has to do so anew before it gets much room again.
    fn shrink(&mut self, leaf: u32) {
        let head = self.leaf(leaf).head();
        let (mut smaller, bytes) = self.with_room(head.exact(), 0);
        smaller.run = Run::default();
        self.resize(leaf, smaller, bytes);
    }

    /// Joins a leaf that has become small with a neighbour under the same parent, if together they leave room for more.
    fn merge(&mut self, locator: &mut Locator, link: Link) -> bool {
        let Some((parent, index)) = link.get() else { return false };
        let node = self.node(parent);
        let before = index.checked_sub(1).map(|before| (before, index));
        let after = (index + 1 < node.len()).then_some((index, index + 1));
        for (left, right) in [after, before].into_iter().flatten() {
            let node = self.node(parent);
            let (a, b) = (node.child(left), node.child(right));
            let (head_a, head_b) = (self.leaf(a).head(), self.leaf(b).head());
            // Where players of one score come one after another there will be more: with those of the next score behind them, each
            // would have to be put between.
            let grows = head_a.closed && head_a.run.is_long();
            if grows
                || head_a.exact().size() + head_b.exact().size() > self.limits.leaf_bytes * 7 / 8
                || head_a.rows + head_b.rows > self.limits.leaf_rows * 3 / 4
            {
                continue;
            }
            let mut draft = Draft::default();
            draft.append(a, self.leaf(a));
            draft.append(b, self.leaf(b));
            // The larger one stays, so that fewer players move.
            let (stays, kept, goes, gone) =
                if head_a.rows >= head_b.rows { (left, a, right, b) } else { (right, b, left, a) };
            let mut moves = Moves::default();
            if self.rewrite(kept, &draft, (0, draft.len()), Run::default(), &mut moves).is_err() {
                continue;
            }
            moves.fetch(locator);
            moves.tell(locator);
            let count = u32::try_from(draft.len()).expect("a leaf is small");
            let mut node = self.nodes.get_mut(parent);
            node.set_count(stays, count);
            // If the left one goes, the one that stays begins where that began.
            node.set_key(stays, number_of(draft.key(0)));
            self.free_block(self.leaves.at(gone));
            self.free_leaf(gone);
            self.remove_child(Link::new(parent, goes));
            return true;
        }
        false
    }

    /// Takes a child that no longer exists, or has no players of its own, out of its node.
    fn remove_child(&mut self, link: Link) {
        let Some((number, index)) = link.get() else {
            self.root = NONE;
            return;
        };
        let mut node = self.nodes.get_mut(number);
        node.remove(index);
        let node = node.get();
        let (len, parent, first) = (node.len(), node.counts.parent, node.key(0));
        if len == 0 {
            self.free_node(number);
            self.remove_child(parent);
        } else if len == 1 && parent == Link::NONE {
            self.collapse_root();
        } else {
            self.relink(number, index);
            if index == 0 {
                self.set_first(parent, first);
            }
            if len < self.limits.fanout / 4 {
                self.merge_node(parent);
            }
        }
    }

    /// A root with a single child is not needed.
    fn collapse_root(&mut self) {
        while self.height > 0 && self.node(self.root).len() == 1 {
            let old = self.root;
            self.root = self.node(old).child(0);
            self.height -= 1;
            self.free_node(old);
        }
        match self.height {
            0 => self.leaves.set_parent(self.root, Link::NONE),
            _ => self.nodes.counts_mut(self.root).parent = Link::NONE,
        }
    }

    /// Joins a node that has become small with a neighbour, if together they leave room for more.
    fn merge_node(&mut self, link: Link) {
        let Some((parent, index)) = link.get() else { return };
        let up = self.node(parent);
        let before = index.checked_sub(1).map(|before| (before, index));
        let after = (index + 1 < up.len()).then_some((index, index + 1));
        for (left, right) in [after, before].into_iter().flatten() {
            let up = self.node(parent);
            let (a, b) = (up.child(left), up.child(right));
            let joined = self.node(a).len();
            if joined + self.node(b).len() > self.limits.fanout * 3 / 4 {
                continue;
            }
            let mut to = self.node(a).copied();
            self.nodes.get_mut(b).move_to(0, &mut to);
            self.nodes.set(a, &to);
            self.relink(a, joined);
            self.nodes.get_mut(parent).set_count(left, to.get().count());
            self.free_node(b);
            self.remove_child(Link::new(parent, right));
            return;
        }
    }
}

/// Whether rows that need so many bytes are worth a smaller block than one of `capacity`.
#[inline]
pub(super) fn is_due(size: usize, capacity: usize) -> bool {
    size + SLACK < capacity
}
