//! Taking players out of the tree: leaves and nodes that become small join a neighbour, so that memory follows.

use super::draft::Draft;
use super::grow::relocate;
use super::leaf::{self, Leaf};
use super::locator::Locator;
use super::node::number_of;
use super::tree::{LeafRef, NONE, Place, Tree};

impl Tree {
    /// Removes the player at a place.
    pub(super) fn remove(&mut self, locator: &mut Locator, Place { leaf, row }: Place) {
        let LeafRef { at, parent } = self.leaves[leaf as usize];
        let block = self.blocks.block_mut(at);
        leaf::remove(block, row);
        let head = Leaf::new(block).head;
        let (mut child, mut up) = (leaf, parent);
        let mut neighbour = u32::MAX;
        while up != NONE {
            let node = &mut self.nodes[up as usize];
            let index = node.index_of(child);
            node.counts[index] -= 1;
            if child == leaf && up == parent {
                neighbour = node.smaller_neighbour(index);
            }
            (child, up) = (up, node.parent);
        }
        if head.rows == 0 {
            self.free_block(at);
            self.free_leaf(leaf);
            match parent {
                NONE => self.root = NONE,
                parent => self.remove_child(parent, leaf),
            }
            return;
        }
        if row == 0 {
            self.first_changed(leaf);
        }
        // Judged by the counts in the parent, which are at hand; only then are the neighbours looked at.
        let together = head.rows + neighbour as usize;
        let few = together <= self.limits.leaf_rows * 3 / 4
            && together * head.size() / head.rows <= self.limits.leaf_bytes * 3 / 4;
        if !(few && self.merge(locator, leaf, parent)) {
            self.reallocate(leaf, head.size());
        }
    }

    /// Joins a leaf that has become small with a neighbour under the same parent, if together they leave room for more.
    fn merge(&mut self, locator: &mut Locator, leaf: u32, parent: u32) -> bool {
        if parent == NONE {
            return false;
        }
        let node = self.node(parent);
        let index = node.index_of(leaf);
        let before = index.checked_sub(1).map(|before| (before, index));
        let after = (index + 1 < node.len()).then_some((index, index + 1));
        for (left, right) in [after, before].into_iter().flatten() {
            let node = self.node(parent);
            let (a, b) = (node.children[left], node.children[right]);
            let (head_a, head_b) = (self.leaf(a).head, self.leaf(b).head);
            if head_a.size() + head_b.size() > self.limits.leaf_bytes * 7 / 8
                || head_a.rows + head_b.rows > self.limits.leaf_rows * 3 / 4
            {
                continue;
            }
            let mut draft = Draft::default();
            draft.append(self.leaf(a));
            draft.append(self.leaf(b));
            // The larger one stays, so that fewer players move.
            let (stays, goes, moved) = if head_a.rows >= head_b.rows {
                (a, b, head_a.rows..draft.len())
            } else {
                (b, a, 0..head_a.rows)
            };
            if !self.rewrite(stays, &draft, 0, draft.len()) {
                continue;
            }
            relocate(locator, &draft, moved, goes, stays);
            let count = u32::try_from(draft.len()).expect("a leaf is small");
            let node = &mut self.nodes[parent as usize];
            let kept = node.index_of(stays);
            node.counts[kept] = count;
            // If the left one goes, the one that stays begins where that began.
            node.keys[kept] = number_of(draft.key(0));
            self.free_block(self.leaves[goes as usize].at);
            self.free_leaf(goes);
            self.remove_child(parent, goes);
            return true;
        }
        false
    }

    /// Takes a child that no longer exists, or has no players of its own, out of its node.
    fn remove_child(&mut self, number: u32, child: u32) {
        let node = &mut self.nodes[number as usize];
        let index = node.index_of(child);
        node.remove(index);
        let (len, parent, first) = (node.len(), node.parent, node.keys[0]);
        if len == 0 {
            self.free_node(number);
            match parent {
                NONE => self.root = NONE,
                parent => self.remove_child(parent, number),
            }
        } else if len == 1 && parent == NONE {
            self.collapse_root();
        } else {
            if index == 0 {
                self.set_first(number, parent, first);
            }
            if parent != NONE && len < self.limits.fanout / 4 {
                self.merge_node(number, parent);
            }
        }
    }

    /// A root with a single child is not needed.
    fn collapse_root(&mut self) {
        while self.height > 0 && self.node(self.root).len() == 1 {
            let old = self.root;
            self.root = self.node(old).children[0];
            self.height -= 1;
            self.free_node(old);
            self.set_parent(self.root, self.height, NONE);
        }
    }

    /// Joins a node that has become small with a neighbour, if together they leave room for more.
    fn merge_node(&mut self, number: u32, parent: u32) {
        let up = self.node(parent);
        let index = up.index_of(number);
        let before = index.checked_sub(1).map(|before| (before, index));
        let after = (index + 1 < up.len()).then_some((index, index + 1));
        for (left, right) in [after, before].into_iter().flatten() {
            let up = self.node(parent);
            let (a, b) = (up.children[left], up.children[right]);
            if self.node(a).len() + self.node(b).len() > self.limits.fanout * 3 / 4 {
                continue;
            }
            let (mut from, mut to) = (*self.node(b), *self.node(a));
            from.move_to(0, &mut to);
            for &child in &to.children()[self.node(a).len()..] {
                self.set_parent(child, to.level - 1, a);
            }
            let count = to.count();
            self.nodes[a as usize] = to;
            self.nodes[parent as usize].counts[left] = count;
            self.free_node(b);
            self.remove_child(parent, b);
            return;
        }
    }
}
