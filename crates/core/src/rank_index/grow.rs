//! Putting players into the tree: the change in place, the split, the way up.

use super::Record;
use super::draft::Draft;
use super::heap::Address;
use super::leaf::{self, Insertion, Leaf, MAX_ROWS};
use super::locator::Locator;
use super::node::{Child, Node, number_of};
use super::packed::Packed;
use super::tree::{NONE, Place, Tree};

/// Room in a block that is not worth a smaller block: less moving to and fro.
const SLACK: usize = 128;

impl Tree {
    /// Inserts a player who is not in the tree and returns its leaf. Players who change leaves on the way are
    /// relocated; this one the caller reports.
    pub(super) fn insert(&mut self, locator: &mut Locator, id: Packed<'_>, record: Record) -> u32 {
        if self.root == NONE {
            let mut draft = Draft::default();
            draft.insert(0, id, record);
            self.root = self.new_leaf(&draft, 0, 1, NONE);
            self.height = 0;
            return self.root;
        }
        let mut leaf = self.root;
        for _ in 0..self.height {
            let index = self.child_for(leaf, record.key, id);
            let node = &mut self.nodes[leaf as usize];
            node.counts[index] += 1;
            leaf = node.children[index];
        }
        self.prefetch_block(leaf);
        let row = self.leaf(leaf).before(record.key, id);
        self.insert_at(locator, Place { leaf, row }, id, record)
    }

    /// Inserts at a place that is known to be right, the counts above being right already.
    pub(super) fn insert_at(
        &mut self,
        locator: &mut Locator,
        Place { leaf, row }: Place,
        id: Packed<'_>,
        record: Record,
    ) -> u32 {
        let max_rows = self.limits.leaf_rows;
        loop {
            let at = self.leaves[leaf as usize].at;
            match leaf::try_insert(self.blocks.block_mut(at), max_rows, row, id, record) {
                Insertion::Done => break,
                Insertion::Needs(bytes) if bytes <= self.limits.leaf_bytes => {
                    self.reallocate(leaf, bytes);
                }
                // Columns that are wider than they have to be by now are narrowed before a leaf counts as full.
                Insertion::Needs(_) | Insertion::Refused => {
                    let mut draft = Draft::default();
                    draft.append(self.leaf(leaf));
                    draft.insert(row, id, record);
                    if !self.rewrite(leaf, &draft, 0, draft.len()) {
                        return self.split(locator, leaf, &draft, row);
                    }
                    break;
                }
            }
        }
        if row == 0 {
            self.first_changed(leaf);
        }
        leaf
    }

    /// Replaces the content of a leaf by some rows of a draft, unless they are too many for one leaf.
    pub(super) fn rewrite(&mut self, leaf: u32, draft: &Draft, from: usize, to: usize) -> bool {
        let head = draft.head(from, to);
        if head.rows > self.limits.leaf_rows || head.size() > self.limits.leaf_bytes {
            return false;
        }
        self.reallocate(leaf, head.size());
        let at = self.leaves[leaf as usize].at;
        draft.encode(from, &head, self.blocks.block_mut(at));
        true
    }

    /// Gives a leaf a block of another size, if the present one does not suit; the content is lost if it does not fit.
    pub(super) fn reallocate(&mut self, leaf: u32, bytes: usize) {
        let old = self.leaves[leaf as usize].at;
        let capacity = self.blocks.capacity(old);
        if bytes <= capacity && bytes + SLACK > capacity {
            return;
        }
        let new = self.blocks.allocate(bytes, leaf);
        let keep = bytes.min(capacity);
        self.blocks.copy(old, new, keep);
        self.leaves[leaf as usize].at = new;
        self.free_block(old);
    }

    pub(super) fn free_block(&mut self, at: Address) {
        if let Some(moved) = self.blocks.free(at) {
            self.leaves[moved.owner as usize].at = moved.to;
        }
    }

    /// Distributes a draft that is too long over a leaf and a new one after it. Returns the leaf of row `new`.
    pub(super) fn split(
        &mut self,
        locator: &mut Locator,
        leaf: u32,
        draft: &Draft,
        new: usize,
    ) -> u32 {
        let middle = draft.split_at(new);
        let parent = self.leaves[leaf as usize].parent;
        let right = self.new_leaf(draft, middle, draft.len(), parent);
        assert!(self.rewrite(leaf, draft, 0, middle), "half a leaf fits a leaf");
        let moved = (middle..draft.len()).filter(|&row| row != new);
        relocate(locator, draft, moved, leaf, right);
        let count = |rows: usize| u32::try_from(rows).expect("a leaf is small");
        if new == 0 {
            self.first_changed(leaf);
        }
        let left = Child { number: leaf, count: count(middle), key: number_of(draft.key(0)) };
        let added = Child {
            number: right,
            count: count(draft.len() - middle),
            key: number_of(draft.key(middle)),
        };
        self.add_child(parent, 0, left, added);
        if new < middle { leaf } else { right }
    }

    /// Adds a child after `left`, whose count changed with it, to the node `parent`, or to a new root above both.
    pub(super) fn add_child(&mut self, parent: u32, level: u16, left: Child, added: Child) {
        if parent == NONE {
            let root = self.new_node(&Node::new(level + 1, NONE));
            let node = &mut self.nodes[root as usize];
            node.insert(0, left);
            node.insert(1, added);
            self.set_parent(left.number, level, root);
            self.set_parent(added.number, level, root);
            self.root = root;
            self.height = level + 1;
            return;
        }
        let node = &mut self.nodes[parent as usize];
        let index = node.index_of(left.number);
        node.counts[index] = left.count;
        if node.len() < self.limits.fanout {
            node.insert(index + 1, added);
            self.set_parent(added.number, level, parent);
            return;
        }
        // As with leaves, a child at the end starts a node of its own.
        let middle = if index + 1 == node.len() { node.len() } else { node.len() / 2 };
        let (grand, mut right) = (node.parent, Node::new(level + 1, node.parent));
        node.move_to(middle, &mut right);
        let into_right = index + 1 > middle || middle == self.limits.fanout;
        if into_right {
            right.insert(index + 1 - middle, added);
        } else {
            node.insert(index + 1, added);
        }
        let left = Child { number: parent, count: node.count(), key: node.keys[0] };
        let number = self.new_node(&right);
        for &child in right.children() {
            self.set_parent(child, level, number);
        }
        if !into_right {
            self.set_parent(added.number, level, parent);
        }
        let right = Child { number, count: right.count(), key: right.keys[0] };
        self.add_child(grand, level + 1, left, right);
    }

    pub(super) fn set_parent(&mut self, child: u32, level: u16, parent: u32) {
        if level == 0 {
            self.leaves[child as usize].parent = parent;
        } else {
            self.nodes[child as usize].parent = parent;
        }
    }

    /// The first row of a leaf is another: tells every node for which it is the first.
    pub(super) fn first_changed(&mut self, leaf: u32) {
        let key = number_of(self.leaf(leaf).key(0));
        self.set_first(leaf, self.leaves[leaf as usize].parent, key);
    }

    pub(super) fn set_first(&mut self, mut child: u32, mut parent: u32, key: u128) {
        while parent != NONE {
            let node = &mut self.nodes[parent as usize];
            let index = node.index_of(child);
            node.keys[index] = key;
            if index > 0 {
                return;
            }
            (child, parent) = (parent, node.parent);
        }
    }

    /// Replaces the record of a player whose place among the others of its leaf stays within the leaf. Returns false,
    /// with nothing changed, where that is not certain from the leaf alone.
    pub(super) fn update_within(
        &mut self,
        locator: &mut Locator,
        Place { leaf, row }: Place,
        id: Packed<'_>,
        record: Record,
    ) -> bool {
        let view = self.leaf(leaf);
        let target = view.before(record.key, id);
        // The row as it is still counts: after it, the target is one less.
        let target = if target > row { target - 1 } else { target };
        let inside = target > 0 && target + 1 < view.rows();
        let stays = target == row && view.key(row) == record.key;
        if !(inside || stays || self.height == 0) {
            return false;
        }
        let at = self.leaves[leaf as usize].at;
        let block = self.blocks.block_mut(at);
        leaf::remove(block, row);
        if Leaf::new(block).rows() == 0 {
            // A leaf of one: no columns to fit into.
            let mut draft = Draft::default();
            draft.insert(0, id, record);
            assert!(self.rewrite(leaf, &draft, 0, 1), "one row fits");
            return true;
        }
        if row == 0 && target > 0 {
            self.first_changed(leaf);
        }
        let now = self.insert_at(locator, Place { leaf, row: target }, id, record);
        if now != leaf {
            locator.relocate(id.hash(), leaf, now);
        }
        true
    }
}

/// Tells the locator of players who changed leaves. Their slots are all over the table: fetched together, then changed.
pub(super) fn relocate(
    locator: &mut Locator,
    draft: &Draft,
    rows: impl Iterator<Item = usize>,
    from: u32,
    to: u32,
) {
    let mut hashes = [0; MAX_ROWS + 1];
    let mut count = 0;
    for row in rows {
        hashes[count] = draft.id(row).hash();
        locator.prefetch(hashes[count]);
        count += 1;
    }
    for &hash in &hashes[..count] {
        locator.relocate(hash, from, to);
    }
}
