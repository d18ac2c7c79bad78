//! The order: leaves of players under nodes that count them.
//!
//! Parents are known from below, so a player's position is a climb from its leaf. Leaves and nodes have numbers that never
//! change while they live; a freed number is used again. What must hold, and [`check`](super::check) verifies:
//! - players ascend by (key, id bytes) within a leaf and from leaf to leaf;
//! - a node knows each child's number of players and first key exactly, and each child its parent;
//! - no leaf is empty, but for none at all; the root node has at least two children;
//! - the locator holds each player's leaf.

use super::Position;
use super::draft::Draft;
use super::fingers::{Fingers, Trust};
use super::head::{Head, MAX_ROWS};
use super::heap::{Address, Heap};
use super::leaf::{Leaf, partition};
use super::locator::MAX_LEAVES;
use super::node::{FANOUT, Link, Node, number_of, score_number};
use super::packed::{Buffer, Packed};
use super::paged::Paged;
use crate::SortKey;

/// What the table of leaves knows of one. A free number has the next free one as its parent.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct LeafRef {
    pub(super) at: Address,
    pub(super) parent: Link,
}

/// No leaf and no node.
pub(super) const NONE: u32 = u32::MAX;

/// How large things get. Tests make them small to have deep trees of few players.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) leaf_bytes: usize,
    pub(super) leaf_rows: usize,
    pub(super) fanout: usize,
    /// Leaves from which on a tree has fingers.
    pub(super) fingers_from: usize,
}

impl Limits {
    pub(super) const REAL: Self =
        Self { leaf_bytes: 1536, leaf_rows: MAX_ROWS, fanout: FANOUT, fingers_from: 16_384 };
}

/// A player's place: leaf and row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) leaf: u32,
    pub(super) row: usize,
}

pub(super) struct Tree {
    pub(super) leaves: Paged<LeafRef, 18>,
    pub(super) nodes: Paged<Node, 11>,
    pub(super) blocks: Heap,
    free_leaf: u32,
    free_node: u32,
    /// A leaf where `height` is 0, else a node.
    pub(super) root: u32,
    pub(super) height: u16,
    pub(super) limits: Limits,
    /// Where the players with a score begin: the leaf in which they do, or at whose end.
    pub(super) starts: Fingers,
    /// Where a player with a score was inserted last.
    pub(super) ends: Fingers,
    pub(super) trust: Trust,
}

impl Tree {
    pub(super) const fn new(limits: Limits) -> Self {
        Self {
            leaves: Paged::new(),
            nodes: Paged::new(),
            blocks: Heap::new(),
            free_leaf: NONE,
            free_node: NONE,
            root: NONE,
            height: 0,
            limits,
            starts: Fingers::new(),
            ends: Fingers::new(),
            trust: Trust::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let fingers = self.starts.bytes() + self.ends.bytes();
        self.leaves.bytes() + self.nodes.bytes() + self.blocks.bytes() + fingers
    }

    #[inline]
    pub(super) fn block(&self, leaf: u32) -> &[u8] {
        self.blocks.block(self.leaves[leaf as usize].at)
    }

    #[inline]
    pub(super) fn leaf(&self, leaf: u32) -> Leaf<'_> {
        Leaf::new(self.block(leaf))
    }

    #[inline]
    pub(super) fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// Whether a player is where it was found some time ago.
    pub(super) fn holds(&self, Place { leaf, row }: Place, id: Packed<'_>) -> bool {
        let held = self.leaves.get(leaf as usize).filter(|held| held.at != Address::NONE);
        held.is_some_and(|held| Leaf::new(self.blocks.block(held.at)).holds(row, id))
    }

    /// The players before a place.
    #[inline]
    pub(super) fn position(&self, Place { leaf, row }: Place) -> Position {
        Position(self.before_leaf(leaf) + row as u64)
    }

    /// The players before a leaf's first: the climb.
    #[inline]
    pub(super) fn before_leaf(&self, leaf: u32) -> u64 {
        let mut link = self.leaves[leaf as usize].parent;
        let mut before = 0;
        while let Some((parent, index)) = link.get() {
            let node = self.node(parent);
            before += node.before(index);
            link = node.parent;
        }
        before
    }

    /// How many players have a smaller folded score.
    pub(super) fn before_score(&self, folded: i64) -> Position {
        let key = score_number(folded);
        let finger = self
            .starts
            .get(folded)
            .filter(|&leaf| self.bounds(leaf).is_some_and(|(from, to)| from < key && key <= to));
        let (leaf, before) = match finger {
            Some(leaf) => {
                self.prefetch_block(leaf);
                (leaf, self.before_leaf(leaf))
            }
            None if self.root == NONE => return Position(0),
            None => self.first_with(folded, key),
        };
        Position(before + self.leaf(leaf).before_score(folded) as u64)
    }

    /// The leaf in which the players of a score begin, or at whose end, and how many players come before that leaf.
    fn first_with(&self, folded: i64, key: u128) -> (u32, u64) {
        let (mut number, mut before) = (self.root, 0);
        for _ in 0..self.height {
            let node = self.node(number);
            let index = node.children_below(key) - 1;
            before += node.before(index);
            number = node.children[index];
            if node.level > 1 {
                self.node(number).prefetch_pilots();
            }
        }
        self.prefetch_block(number);
        self.starts.set(folded, number);
        (number, before)
    }

    /// The keys of the first player of a leaf that is in use, and of the first of the next leaf. Not known of the last leaf of a
    /// node.
    #[inline]
    fn bounds(&self, leaf: u32) -> Option<(u128, u128)> {
        let held = self.leaves.get(leaf as usize).filter(|held| held.at != Address::NONE)?;
        let (parent, index) = held.parent.get()?;
        let node = self.node(parent);
        (index + 1 < node.len()).then(|| (node.key(index), node.key(index + 1)))
    }

    /// A tree that has become large gets its fingers.
    pub(super) fn start_fingers(&mut self) {
        if self.leaves.len() >= self.limits.fingers_from {
            self.starts.start();
            self.ends.start();
        }
    }

    /// The leaf in which a player with this score was inserted last, if a player with this key belongs there as well.
    #[inline]
    pub(super) fn finger(&mut self, key: SortKey) -> Option<u32> {
        let leaf = self.ends.get(key.folded)?;
        let number = number_of(key);
        // Where the next leaf begins with the very key, ids decide: that one has to be greater.
        let found = self.bounds(leaf).is_some_and(|(from, to)| from < number && number < to);
        self.trust.note(found);
        found.then_some(leaf)
    }

    /// The leaf in which a player with this key and id is or would be, and how many players come before that leaf.
    pub(super) fn seek(&self, key: SortKey, id: Packed<'_>) -> Option<(u32, u64)> {
        let (mut number, mut before) = (self.root, 0);
        if number == NONE {
            return None;
        }
        for _ in 0..self.height {
            let index = self.child_for(number, key, id);
            let node = self.node(number);
            before += node.before(index);
            number = node.children[index];
        }
        Some((number, before))
    }

    /// The last child whose first player is not after (key, id).
    pub(super) fn child_for(&self, node: u32, key: SortKey, id: Packed<'_>) -> usize {
        let node = self.node(node);
        let number = number_of(key);
        let low = node.children_below(number);
        if low == node.len() || node.key(low) != number {
            return low - 1;
        }
        // Several children start with the very key: their first ids decide.
        let equal = node.children_up_to(number) - low;
        low - 1
            + partition(equal, |index| {
                let first = self.first_leaf(node.children[low + index], node.level - 1);
                self.leaf(first).id(0, &mut Buffer::new()).cmp_text(id).is_le()
            })
    }

    pub(super) fn first_leaf(&self, mut number: u32, level: u16) -> u32 {
        for _ in 0..level {
            number = self.node(number).children[0];
        }
        number
    }

    /// The place at a position.
    pub(super) fn at(&self, position: u64) -> Option<Place> {
        let (mut number, mut left) = (self.root, position);
        if number == NONE {
            return None;
        }
        for _ in 0..self.height {
            let node = self.node(number);
            let (index, before) = node.at(left)?;
            left -= before;
            number = node.children[index];
        }
        let row = usize::try_from(left).ok()?;
        (row < self.leaf(number).rows()).then_some(Place { leaf: number, row })
    }

    /// The leaf after this one.
    pub(super) fn next_leaf(&self, leaf: u32) -> Option<u32> {
        let mut link = self.leaves[leaf as usize].parent;
        while let Some((parent, index)) = link.get() {
            let node = self.node(parent);
            if index + 1 < node.len() {
                return Some(self.first_leaf(node.children[index + 1], node.level - 1));
            }
            link = node.parent;
        }
        None
    }

    /// A new leaf of some rows of a draft, which must fit, and room for `spare` bytes of rows more.
    pub(super) fn new_leaf(
        &mut self,
        draft: &Draft,
        from: usize,
        to: usize,
        spare: usize,
        parent: Link,
    ) -> u32 {
        let head = self.with_room(draft.head(from, to), spare);
        let number = match self.free_leaf {
            NONE => self.leaves.push(LeafRef { at: Address::default(), parent }),
            free => {
                self.free_leaf = next_free(self.leaves[free as usize].parent);
                free as usize
            }
        };
        assert!(number < MAX_LEAVES, "an index holds up to 16 million leaves");
        #[expect(clippy::cast_possible_truncation, reason = "below 2^24")]
        let leaf = number as u32;
        let at = self.blocks.allocate(head.size(), leaf);
        self.leaves[number] = LeafRef { at, parent };
        draft.encode(from, &head, self.blocks.block_mut(at));
        leaf
    }

    /// A head with room for more rows, as far as a leaf may have them.
    pub(super) fn with_room(&self, head: Head, spare: usize) -> Head {
        head.with_room(spare, self.limits.leaf_rows, self.limits.leaf_bytes)
    }

    pub(super) fn free_leaf(&mut self, leaf: u32) {
        let parent = free_link(self.free_leaf);
        self.leaves[leaf as usize] = LeafRef { at: Address::NONE, parent };
        self.free_leaf = leaf;
    }

    pub(super) fn new_node(&mut self, node: &Node) -> u32 {
        match self.free_node {
            NONE => u32::try_from(self.nodes.push(*node)).expect("fewer nodes than leaves"),
            free => {
                self.free_node = next_free(self.nodes[free as usize].parent);
                self.nodes[free as usize] = *node;
                free
            }
        }
    }

    pub(super) fn free_node(&mut self, node: u32) {
        self.nodes[node as usize] = Node::new(0, free_link(self.free_node));
        self.free_node = node;
    }
}

/// How a free number tells the next free one.
fn free_link(next: u32) -> Link {
    if next == NONE { Link::NONE } else { Link::new(next, 0) }
}

fn next_free(link: Link) -> u32 {
    link.get().map_or(NONE, |(next, _)| next)
}
