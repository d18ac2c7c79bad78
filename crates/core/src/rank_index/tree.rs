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
use super::heap::{Address, Heap};
use super::leaf::{Leaf, MAX_ROWS, partition};
use super::locator::MAX_LEAVES;
use super::node::{FANOUT, Node, number_of};
use super::packed::Packed;
use super::paged::Paged;
use crate::SortKey;

/// What the table of leaves knows of one. A free number has the next free one as its parent.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct LeafRef {
    pub(super) at: Address,
    pub(super) parent: u32,
}

/// No parent, or the end of a list of free numbers.
pub(super) const NONE: u32 = u32::MAX;

/// How large things get. Tests make them small to have deep trees of few players.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) leaf_bytes: usize,
    pub(super) leaf_rows: usize,
    pub(super) fanout: usize,
}

impl Limits {
    pub(super) const REAL: Self = Self { leaf_bytes: 1536, leaf_rows: MAX_ROWS, fanout: FANOUT };
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
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.leaves.bytes() + self.nodes.bytes() + self.blocks.bytes()
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

    /// The players before a leaf's first: the climb.
    #[inline]
    pub(super) fn before_leaf(&self, leaf: u32) -> u64 {
        let (mut child, mut parent) = (leaf, self.leaves[leaf as usize].parent);
        let mut before = 0;
        while parent != NONE {
            let node = self.node(parent);
            before += node.before(node.index_of(child));
            (child, parent) = (parent, node.parent);
        }
        before
    }

    /// How many players have a smaller folded score.
    pub(super) fn before_score(&self, folded: i64) -> Position {
        let key = u128::from(folded.cast_unsigned() ^ 1 << 63) << 64;
        let (mut number, mut before) = (self.root, 0);
        if number == NONE {
            return Position(0);
        }
        for _ in 0..self.height {
            let node = self.node(number);
            let index = node.children_below(key) - 1;
            before += node.before(index);
            number = node.children[index];
        }
        Position(before + self.leaf(number).before_score(folded) as u64)
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
        if low == node.len() || node.keys[low] != number {
            return low - 1;
        }
        // Several children start with the very key: their first ids decide.
        let equal = node.children_up_to(number) - low;
        low - 1
            + partition(equal, |index| {
                let first = self.first_leaf(node.children[low + index], node.level - 1);
                self.leaf(first).id(0).cmp_text(id).is_le()
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
            let mut index = 0;
            while left >= u64::from(node.counts[index]) {
                left -= u64::from(node.counts[index]);
                index += 1;
                if index == node.len() {
                    return None;
                }
            }
            number = node.children[index];
        }
        let row = usize::try_from(left).ok()?;
        (row < self.leaf(number).rows()).then_some(Place { leaf: number, row })
    }

    /// The leaf after this one.
    pub(super) fn next_leaf(&self, leaf: u32) -> Option<u32> {
        let (mut child, mut parent) = (leaf, self.leaves[leaf as usize].parent);
        while parent != NONE {
            let node = self.node(parent);
            let next = node.index_of(child) + 1;
            if next < node.len() {
                return Some(self.first_leaf(node.children[next], node.level - 1));
            }
            (child, parent) = (parent, node.parent);
        }
        None
    }

    /// A new leaf of some rows of a draft, which must fit.
    pub(super) fn new_leaf(&mut self, draft: &Draft, from: usize, to: usize, parent: u32) -> u32 {
        let head = draft.head(from, to);
        let number = match self.free_leaf {
            NONE => self.leaves.push(LeafRef { at: Address::default(), parent }),
            free => {
                self.free_leaf = self.leaves[free as usize].parent;
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

    pub(super) fn free_leaf(&mut self, leaf: u32) {
        self.leaves[leaf as usize] = LeafRef { at: Address::default(), parent: self.free_leaf };
        self.free_leaf = leaf;
    }

    pub(super) fn new_node(&mut self, node: &Node) -> u32 {
        match self.free_node {
            NONE => u32::try_from(self.nodes.push(*node)).expect("fewer nodes than leaves"),
            free => {
                self.free_node = self.nodes[free as usize].parent;
                self.nodes[free as usize] = *node;
                free
            }
        }
    }

    pub(super) fn free_node(&mut self, node: u32) {
        self.nodes[node as usize] = Node::new(0, self.free_node);
        self.free_node = node;
    }
}
