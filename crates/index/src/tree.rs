//! The order: leaves of players under nodes that count them.
//!
//! Parents are known from below, so a player's position is a climb from its leaf. Leaves and nodes have numbers that never
//! change while they live; a freed number is used again. What must hold, and [`check`](super::check) verifies:
//! - players ascend by (key, id bytes) within a leaf and from leaf to leaf;
//! - a node knows each child's number of players and first key exactly, and each child its parent;
//! - no leaf is empty, but for none at all; the root node has at least two children;
//! - the locator holds each player's leaf.

use super::Position;
use super::bucket::MAX_LEAVES;
use super::draft::Draft;
use super::fingers::{Finger, Fingers, Trust};
use super::head::{Head, MAX_ROWS};
use super::heap::{Address, Heap};
use super::leaf::{Leaf, partition, tag_of};
use super::leaves::Leaves;
use super::moves::Moves;
use super::node::{FANOUT, Link, Node, NodeRef, Nodes, number_of, score_number};
use super::packed::Packed;
use standings_core::SortKey;

/// No leaf and no node.
pub(super) const NONE: u32 = u32::MAX;

/// How large things get. Tests make them small to have deep trees of few players.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) leaf_bytes: usize,
    pub(super) leaf_rows: usize,
    pub(super) fanout: usize,
    /// Leaves there can be.
    pub(super) leaves: usize,
    /// Leaves from which on a tree has fingers.
    pub(super) fingers_from: usize,
    /// Leaves from which on an index has a tally, if so many scores are worth it.
    pub(super) tally_from: usize,
}

impl Limits {
    pub(super) const REAL: Self = Self {
        // A look-up fetches all of a leaf: with 2 KiB a rank takes some 5 percent longer, with 1 KiB a player takes a byte and a half more.
        leaf_bytes: 1408,
        leaf_rows: MAX_ROWS,
        fanout: FANOUT,
        leaves: MAX_LEAVES,
        fingers_from: 16_384,
        tally_from: 1_024,
    };
}

/// A player's place: leaf, and slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeSlot {
    pub(super) leaf: u32,
    pub(super) slot: usize,
}

pub(super) struct Tree {
    pub(super) leaves: Leaves,
    pub(super) nodes: Nodes,
    pub(super) blocks: Heap,
    free_leaf: u32,
    /// Numbers of leaves that are not free.
    in_use: usize,
    free_node: u32,
    /// A leaf where `height` is 0, else a node.
    pub(super) root: u32,
    pub(super) height: u16,
    pub(super) limits: &'static Limits,
    /// Where a player with a score was inserted last.
    pub(super) ends: Fingers,
    pub(super) trust: Trust,
}

impl Tree {
    pub(super) const fn new(limits: &'static Limits) -> Self {
        Self {
            leaves: Leaves::new(),
            nodes: Nodes::new(),
            blocks: Heap::new(),
            free_leaf: NONE,
            in_use: 0,
            free_node: NONE,
            root: NONE,
            height: 0,
            limits,
            ends: Fingers::new(),
            trust: Trust::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.leaves.bytes() + self.nodes.bytes() + self.blocks.bytes() + self.ends.bytes()
    }

    #[inline]
    pub(super) fn block(&self, leaf: u32) -> &[u8] {
        self.blocks.block(self.leaves.at(leaf))
    }

    #[inline]
    pub(super) fn leaf(&self, leaf: u32) -> Leaf<'_> {
        Leaf::new(self.block(leaf))
    }

    #[inline]
    pub(super) fn node(&self, node: u32) -> NodeRef<'_> {
        self.nodes.get(node)
    }

    /// The place of a player who was found at one some time ago, if it still is in that leaf.
    #[inline]
    pub(super) fn still_at(&self, place: NodeSlot, id: Packed<'_>, hash: u64) -> Option<NodeSlot> {
        let leaf = self.leaf_in_use(place.leaf)?;
        if leaf.is_in(place.slot, id) {
            return Some(place);
        }
        Some(NodeSlot { slot: leaf.find(id, tag_of(hash))?, ..place })
    }

    /// The place of a player in a leaf, if it is there.
    #[inline]
    pub(super) fn find_in(&self, leaf: u32, id: Packed<'_>, hash: u64) -> Option<NodeSlot> {
        Some(NodeSlot { leaf, slot: self.leaf(leaf).find(id, tag_of(hash))? })
    }

    /// A leaf, if the number is that of one.
    #[inline]
    pub(super) fn leaf_in_use(&self, leaf: u32) -> Option<Leaf<'_>> {
        Some(Leaf::new(self.blocks.block(self.leaves.in_use(leaf)?)))
    }

    /// The players before a place.
    #[inline]
    pub(super) fn position(&self, NodeSlot { leaf, slot }: NodeSlot) -> Position {
        Position(self.before_leaf(leaf) + self.leaf(leaf).row_at(slot) as u64)
    }

    /// The players before a leaf's first: the climb.
    #[inline]
    pub(super) fn before_leaf(&self, leaf: u32) -> u64 {
        let mut link = self.leaves.parent(leaf);
        let mut before = 0;
        while let Some((parent, index)) = link.get() {
            let node = self.node(parent);
            before += node.before(index);
            link = node.counts.parent;
        }
        before
    }

    /// How many players have a smaller folded score: down from the root, to where they end.
    pub(super) fn before_score(&self, folded: i64) -> Position {
        let (mut number, mut before) = (self.root, 0);
        if number == NONE {
            return Position(0);
        }
        let key = score_number(folded);
        for _ in 0..self.height {
            let node = self.node(number);
            let index = node.children_below(key) - 1;
            before += node.before(index);
            number = node.child(index);
            if node.level() > 1 {
                self.nodes.prefetch_pilots(number);
            }
        }
        self.prefetch_block(number);
        Position(before + self.leaf(number).before_score(folded) as u64)
    }

    /// The keys of the first player of a leaf that is in use, and of the first of the next leaf; no smaller than any key, if there is none.
    #[inline]
    fn bounds(&self, leaf: u32) -> Option<(u128, u128)> {
        self.leaves.in_use(leaf)?;
        let mut link = self.leaves.parent(leaf);
        let (parent, index) = link.get()?;
        let from = self.node(parent).key(index);
        while let Some((parent, index)) = link.get() {
            let node = self.node(parent);
            if index + 1 < node.len() {
                return Some((from, node.key(index + 1)));
            }
            link = node.counts.parent;
        }
        Some((from, u128::MAX))
    }

    /// A tree that has become large gets its fingers.
    pub(super) fn start_fingers(&mut self) {
        if self.leaves.len() >= self.limits.fingers_from {
            self.ends.start();
        }
    }

    /// The leaf to which a player with this key will probably go.
    #[inline]
    pub(super) fn expected(&self, key: SortKey) -> Option<Finger> {
        if self.trust.pays() { self.ends.get(key.folded) } else { None }
    }

    /// The leaf in which a player with this score was inserted last, if a player with this key belongs there as well.
    #[inline]
    pub(super) fn finger(&mut self, key: SortKey) -> Option<u32> {
        let leaf = self.ends.get(key.folded)?.leaf;
        let found = self.leaf_in_use(leaf).is_some_and(|view| view.ends_before(key))
            || self.is_between(leaf, key);
        self.trust.note(found);
        found.then_some(leaf)
    }

    /// Whether a key is in a leaf by the first keys of it and of the next one.
    fn is_between(&mut self, leaf: u32, key: SortKey) -> bool {
        let Some((from, to)) = self.bounds(leaf) else { return false };
        let at = self.leaves.at(leaf);
        // The next key need not be looked up here until another score comes in between.
        let next = self.leaf(leaf).last_folded().checked_add(1);
        if next.is_some_and(|next| to >= score_number(next)) {
            Head::write_closed(self.blocks.block_mut(at), true);
        }
        // Where the next leaf begins with the very key, ids decide: that one has to be greater.
        (from..to).contains(&number_of(key)) && from < number_of(key)
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
            number = node.child(index);
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
                let first = self.first_leaf(node.child(low + index), node.level() - 1);
                let leaf = self.leaf(first);
                leaf.id_in(leaf.first()).cmp_text(id).is_le()
            })
    }

    /// The first leaf of all, of which there must be one.
    pub(super) fn first(&self) -> u32 {
        self.first_leaf(self.root, self.height)
    }

    pub(super) fn first_leaf(&self, mut number: u32, level: u16) -> u32 {
        for _ in 0..level {
            number = self.node(number).child(0);
        }
        number
    }

    /// The place at a position.
    pub(super) fn at(&self, position: u64) -> Option<NodeSlot> {
        let (mut number, mut left) = (self.root, position);
        if number == NONE {
            return None;
        }
        for _ in 0..self.height {
            let node = self.node(number);
            let (index, before) = node.at(left)?;
            left -= before;
            number = node.child(index);
        }
        let (row, leaf) = (usize::try_from(left).ok()?, self.leaf(number));
        (row < leaf.rows()).then(|| NodeSlot { leaf: number, slot: leaf.slot_of(row) })
    }

    /// The leaf after this one.
    pub(super) fn next_leaf(&self, leaf: u32) -> Option<u32> {
        let mut link = self.leaves.parent(leaf);
        while let Some((parent, index)) = link.get() {
            let node = self.node(parent);
            if index + 1 < node.len() {
                return Some(self.first_leaf(node.child(index + 1), node.level() - 1));
            }
            link = node.counts.parent;
        }
        None
    }

    /// A new leaf of some rows of a draft, which must fit, and room for `spare` bytes of rows more. With it the place of the row that
    /// is new.
    pub(super) fn new_leaf(
        &mut self,
        draft: &Draft,
        from: usize,
        to: usize,
        spare: usize,
        moves: &mut Moves,
    ) -> (u32, Option<NodeSlot>) {
        let (head, bytes) = self.with_room(draft.head(from, to), spare);
        let leaf = self.new_number();
        let at = self.blocks.allocate(bytes, leaf);
        self.leaves.set_at(leaf, at);
        let new = draft.encode(from, head, (leaf, self.blocks.block_mut(at)), moves);
        (leaf, new.map(|slot| NodeSlot { leaf, slot }))
    }

    /// How many players may still come, at least. Whoever comes begins two leaves at most; a quarter of all leaves is for those who are
    /// there, whose leaves become more as they move about.
    pub(super) fn room(&self) -> u64 {
        ((self.limits.leaves / 4 * 3).saturating_sub(self.in_use) / 2) as u64
    }

    /// A number for a new leaf.
    pub(super) fn new_number(&mut self) -> u32 {
        self.in_use += 1;
        if self.free_leaf != NONE {
            let free = self.free_leaf;
            self.free_leaf = next_free(self.leaves.parent(free));
            self.leaves.set_parent(free, Link::NONE);
            return free;
        }
        let number = self.leaves.push();
        assert!(number < MAX_LEAVES, "an index holds up to 4 million leaves");
        #[expect(clippy::cast_possible_truncation, reason = "below 2^22")]
        let number = number as u32;
        number
    }

    /// A head with room for more rows, as far as a leaf may have them.
    pub(super) fn with_room(&self, head: Head, spare: usize) -> (Head, usize) {
        head.with_room(spare, self.limits.leaf_rows, self.limits.leaf_bytes)
    }

    pub(super) fn free_leaf(&mut self, leaf: u32) {
        self.in_use -= 1;
        self.leaves.set_at(leaf, Address::NONE);
        self.leaves.set_parent(leaf, free_link(self.free_leaf));
        self.free_leaf = leaf;
    }

    pub(super) fn new_node(&mut self, node: &Node) -> u32 {
        match self.free_node {
            NONE => self.nodes.push(node),
            free => {
                self.free_node = next_free(self.nodes.counts(free).parent);
                self.nodes.set(free, node);
                free
            }
        }
    }

    pub(super) fn free_node(&mut self, node: u32) {
        self.nodes.free(node);
        self.nodes.counts_mut(node).parent = free_link(self.free_node);
        self.free_node = node;
    }
}

/// How a free number tells the next free one.
fn free_link(next: u32) -> Link {
    if next == NONE { Link::NONE } else { Link::from_code(next) }
}

fn next_free(link: Link) -> u32 {
    if link == Link::NONE { NONE } else { link.code() }
}
