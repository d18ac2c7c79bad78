//! Putting players into the tree: the change in place, the split, the way up.

use super::draft::Draft;
use super::edit::{self, Insertion};
use super::head::{Head, MAX_ROWS, Run};
use super::heap::Address;
use super::leaf::Leaf;
use super::locator::Locator;
use super::mem::{LINE, prefetch};
use super::node::{Child, Link, Node, number_of};
use super::packed::Packed;
use super::tree::{NONE, Place, Tree};
use super::{Position, Record};
use crate::SortKey;

/// Bytes for more rows that a leaf gets with a new block.
pub(super) const SPARE: usize = 32;
/// The same where one row follows another.
const LONG_SPARE: usize = 384;
/// Bytes without rows that are worth a smaller block. A leaf whose rows come and go keeps its block for some eight removals more
/// than insertions.
pub(super) const SLACK: usize = 160;

/// Where a player was inserted.
pub(super) struct Inserted {
    pub(super) leaf: u32,
    /// Only if it was asked for.
    pub(super) position: Option<Position>,
}

impl Tree {
    /// Inserts a player who is not in the tree. Players who change leaves on the way are relocated; this one the caller
    /// reports.
    pub(super) fn insert(
        &mut self,
        locator: &mut Locator,
        id: Packed<'_>,
        record: Record,
        ranked: bool,
    ) -> Inserted {
        if self.root == NONE {
            let mut draft = Draft::default();
            draft.insert(0, id, record);
            self.root = self.new_leaf(&draft, 0, 1, 0, Link::NONE);
            self.height = 0;
            return Inserted { leaf: self.root, position: ranked.then_some(Position(0)) };
        }
        let finger = if self.trust.is_due() { self.finger(record.key) } else { None };
        let (leaf, before) = match finger {
            Some(leaf) => {
                self.leaf(leaf).prefetch_insertion();
                (leaf, self.count_above(leaf, ranked))
            }
            None => self.count_down_to(record.key, id, ranked),
        };
        let row = self.leaf(leaf).before(record.key, id);
        let leaf = self.insert_at(locator, Place { leaf, row }, id, record);
        self.ends.set(record.key.folded, leaf);
        Inserted { leaf, position: ranked.then_some(Position(before + row as u64)) }
    }

    /// Counts one more player in every node above a leaf; how many come before the leaf, if that is asked for.
    fn count_above(&mut self, leaf: u32, ranked: bool) -> u64 {
        let mut before = 0;
        let mut link = self.leaves[leaf as usize].parent;
        while let Some((parent, index)) = link.get() {
            let node = &mut self.nodes[parent as usize];
            node.count_up(index);
            if ranked {
                before += node.before(index);
            }
            link = node.parent;
        }
        before
    }

    /// The same on the way from the root to the leaf of a player who is not there yet.
    fn count_down_to(&mut self, key: SortKey, id: Packed<'_>, ranked: bool) -> (u32, u64) {
        let (mut leaf, mut before) = (self.root, 0);
        for _ in 0..self.height {
            let index = self.child_for(leaf, key, id);
            let node = &mut self.nodes[leaf as usize];
            node.count_up(index);
            if ranked {
                before += node.before(index);
            }
            leaf = node.children[index];
            if node.level > 1 {
                self.node(leaf).prefetch_pilots();
            }
        }
        self.prefetch_block(leaf);
        (leaf, before)
    }

    /// Inserts at a place that is known to be right, the counts above being right already.
    pub(super) fn insert_at(
        &mut self,
        locator: &mut Locator,
        Place { leaf, row }: Place,
        id: Packed<'_>,
        record: Record,
    ) -> u32 {
        loop {
            let at = self.leaves[leaf as usize].at;
            match edit::try_insert(self.blocks.block_mut(at), row, id, record) {
                Insertion::Done => break,
                Insertion::Full if self.make_room(leaf, id) => {}
                // Columns that are wider than they have to be by now are narrowed before a leaf counts as full.
                Insertion::Full | Insertion::Refused => {
                    let run = self.leaf(leaf).head.run;
                    let mut draft = Draft::default();
                    draft.append(self.leaf(leaf));
                    draft.insert(row, id, record);
                    if !self.rewrite(leaf, &draft, 0, draft.len()) {
                        return self.split(locator, leaf, &draft, row, run);
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

    /// Gives a leaf a larger block, if it may have one in which there is room for this id.
    fn make_room(&mut self, leaf: u32, id: Packed<'_>) -> bool {
        let head = self.leaf(leaf).head;
        // Rows that are all there are have the first slots; with fewer, some may be in slots beyond those of a new block.
        if head.rows < head.cap {
            return false;
        }
        // Where one row follows another, all the room will be needed.
        let spare = if head.run.is_long() { LONG_SPARE } else { SPARE + id.bytes.len() };
        let larger = self.with_room(head.exact(), spare);
        let enough = larger.has_room_for(id);
        if enough {
            self.resize(leaf, &larger);
        }
        enough
    }

    /// Moves a leaf to a block with room for more rows, or for fewer, none of which is in a slot beyond it.
    pub(super) fn resize(&mut self, leaf: u32, head: &Head) {
        let old = self.leaves[leaf as usize].at;
        let new = self.blocks.allocate(head.size(), leaf);
        let (from, to) = self.blocks.pair(old, new);
        Leaf::new(from).copy_to(head, to);
        self.leaves[leaf as usize].at = new;
        self.free_block(old);
    }

    /// Replaces the content of a leaf by some rows of a draft, unless they are too many for one leaf.
    pub(super) fn rewrite(&mut self, leaf: u32, draft: &Draft, from: usize, to: usize) -> bool {
        let head = draft.head(from, to);
        // Ids of many forms need room in two places, and one of them runs out.
        let spare = if head.form.is_some() { SPARE } else { SPARE + 2 * head.row_bytes() };
        self.rewrite_as(leaf, draft, from, head, spare)
    }

    /// The same with a head that was made for these rows, and room for `spare` bytes of rows more.
    pub(super) fn rewrite_as(
        &mut self,
        leaf: u32,
        draft: &Draft,
        from: usize,
        head: Head,
        spare: usize,
    ) -> bool {
        if !self.is_leaf(&head) {
            return false;
        }
        let head = self.with_room(head, spare);
        let old = self.leaves[leaf as usize].at;
        if self.blocks.capacity(old) != head.size().next_multiple_of(LINE) {
            self.leaves[leaf as usize].at = self.blocks.allocate(head.size(), leaf);
            self.free_block(old);
        }
        let at = self.leaves[leaf as usize].at;
        draft.encode(from, &head, self.blocks.block_mut(at));
        true
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
        run: Run,
    ) -> u32 {
        self.start_fingers();
        let Some(middle) = self.split_at(draft, new, run) else {
            return self.split_around(locator, leaf, draft, new);
        };
        let moved = (middle..draft.len()).filter(|&row| row != new);
        let right = self.cut(locator, leaf, draft, middle, middle, moved);
        if new == 0 {
            self.first_changed(leaf);
        }
        let left = draft.child(leaf, 0, middle);
        let parent = self.leaves[leaf as usize].parent;
        self.add_child(parent, 0, left, draft.child(right, middle, draft.len()));
        if new < middle { leaf } else { right }
    }

    /// Where to cut so that both parts fit a leaf, if there is such a place near the middle or at the new row.
    fn split_at(&self, draft: &Draft, new: usize, run: Run) -> Option<usize> {
        let half = draft.middle(new);
        // Where rows come one after another, the next one is expected after the new one. Cut there, all that are to come go to the
        // end of a leaf, and leave full leaves behind.
        let places = if run.is_long() { [new + 1, half, new] } else { [half, new + 1, new] };
        let fits = |from, to| self.is_leaf(&draft.head(from, to));
        let mut places = places.into_iter().filter(|middle| (1..draft.len()).contains(middle));
        places.find(|&middle| fits(0, middle) && fits(middle, draft.len()))
    }

    /// A new row that is unlike the others, in a leaf of many: with it either part would be too wide. It gets a leaf of
    /// its own between them.
    fn split_around(&mut self, locator: &mut Locator, leaf: u32, draft: &Draft, new: usize) -> u32 {
        let right = self.cut(locator, leaf, draft, new, new + 1, new + 1..draft.len());
        // The counts above have the new row already: until it has its leaf, it counts with the left part.
        let mut left = draft.child(leaf, 0, new);
        left.count += 1;
        let parent = self.leaves[leaf as usize].parent;
        self.add_child(parent, 0, left, draft.child(right, new + 1, draft.len()));
        left.count -= 1;
        let alone = self.new_leaf(draft, new, new + 1, 0, Link::NONE);
        let parent = self.leaves[leaf as usize].parent;
        self.add_child(parent, 0, left, draft.child(alone, new, new + 1));
        alone
    }

    /// Leaves the rows before `end` in a leaf and puts those from `start` on into a new one.
    fn cut(
        &mut self,
        locator: &mut Locator,
        leaf: u32,
        draft: &Draft,
        end: usize,
        start: usize,
        moved: impl Iterator<Item = usize>,
    ) -> u32 {
        let right = self.new_leaf(draft, start, draft.len(), SPARE, Link::NONE);
        assert!(self.rewrite(leaf, draft, 0, end), "a part that was chosen to fit");
        relocate(locator, draft, moved, leaf, right);
        right
    }

    fn is_leaf(&self, head: &Head) -> bool {
        head.rows <= self.limits.leaf_rows && head.size() <= self.limits.leaf_bytes
    }

    /// Adds a child after `left`, whose count changed with it, to the node `parent`, or to a new root above both.
    pub(super) fn add_child(&mut self, parent: Link, level: u16, left: Child, added: Child) {
        let Some((parent, index)) = parent.get() else {
            let mut root = Node::new(level + 1, Link::NONE);
            root.insert(0, left);
            root.insert(1, added);
            self.root = self.new_node(&root);
            self.height = level + 1;
            self.relink(self.root, 0);
            return;
        };
        let node = &mut self.nodes[parent as usize];
        node.set_count(index, left.count);
        if node.len() < self.limits.fanout {
            node.insert(index + 1, added);
            self.relink(parent, index + 1);
            return;
        }
        // As with leaves, a child at the end starts a node of its own.
        let middle = if index + 1 == node.len() { node.len() } else { node.len() / 2 };
        let (above, mut right) = (node.parent, Node::new(level + 1, Link::NONE));
        node.move_to(middle, &mut right);
        if index + 1 > middle || middle == self.limits.fanout {
            right.insert(index + 1 - middle, added);
        } else {
            node.insert(index + 1, added);
        }
        let left = Child { number: parent, count: node.count(), key: node.key(0) };
        let number = self.new_node(&right);
        self.relink(parent, 0);
        self.relink(number, 0);
        let right = Child { number, count: right.count(), key: right.key(0) };
        self.add_child(above, level + 1, left, right);
    }

    /// Tells the children of a node, from one on, where they are.
    pub(super) fn relink(&mut self, number: u32, from: usize) {
        let Self { nodes, leaves, .. } = self;
        let (len, level) = (nodes[number as usize].len(), nodes[number as usize].level);
        for index in from..len {
            let child = nodes[number as usize].children[index] as usize;
            let link = Link::new(number, index);
            if level == 1 {
                leaves[child].parent = link;
            } else {
                nodes[child].parent = link;
            }
        }
    }

    /// The first row of a leaf is another: tells every node for which it is the first.
    pub(super) fn first_changed(&mut self, leaf: u32) {
        let key = number_of(self.leaf(leaf).key(0));
        self.set_first(self.leaves[leaf as usize].parent, key);
    }

    pub(super) fn set_first(&mut self, mut link: Link, key: u128) {
        while let Some((parent, index)) = link.get() {
            let node = &mut self.nodes[parent as usize];
            node.set_key(index, key);
            if index > 0 {
                return;
            }
            link = node.parent;
        }
    }

    /// Replaces the record of a player whose place among the others of its leaf stays within the leaf, and returns its
    /// row. Returns none, with nothing changed, where that is not certain from the leaf alone.
    pub(super) fn update_within(
        &mut self,
        locator: &mut Locator,
        Place { leaf, row }: Place,
        id: Packed<'_>,
        hash: u64,
        record: Record,
    ) -> Option<usize> {
        let view = self.leaf(leaf);
        let target = view.before(record.key, id);
        // The row as it is still counts: after it, the target is one less.
        let target = if target > row { target - 1 } else { target };
        let inside = target > 0 && target + 1 < view.rows();
        let stays = target == row && view.key(row) == record.key;
        if !(inside || stays || self.height == 0) {
            return None;
        }
        let at = self.leaves[leaf as usize].at;
        let block = self.blocks.block_mut(at);
        if edit::try_move(block, row, target, record) {
            if row == 0 && target > 0 {
                self.first_changed(leaf);
            }
            return Some(target);
        }
        if edit::remove(block, row).rows == 0 {
            // A leaf of one: no columns to fit into.
            let mut draft = Draft::default();
            draft.insert(0, id, record);
            assert!(self.rewrite(leaf, &draft, 0, 1), "one row fits");
            return Some(target);
        }
        if row == 0 && target > 0 {
            self.first_changed(leaf);
        }
        let now = self.insert_at(locator, Place { leaf, row: target }, id, record);
        if now != leaf {
            locator.relocate(hash, leaf, now);
        }
        Some(target)
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
        count += 1;
    }
    let mut buckets = [None; MAX_ROWS + 1];
    for (both, hash) in buckets.iter_mut().zip(&hashes[..count]) {
        *both = locator.buckets_for(*hash);
    }
    for bucket in buckets.iter().flatten().flatten() {
        prefetch(*bucket);
    }
    for &hash in &hashes[..count] {
        locator.relocate(hash, from, to);
    }
}
