//! Inner nodes: up to 64 children, each with how many players it holds and the key of its first.

use super::leaf::partition;
use crate::SortKey;

/// Children of a node.
pub(super) const FANOUT: usize = 64;

/// A sort key as one number, so that a comparison is one comparison.
#[inline]
pub(super) fn number_of(key: SortKey) -> u128 {
    let unsigned = |number: i64| u128::from(number.cast_unsigned() ^ 1 << 63);
    unsigned(key.folded) << 64 | unsigned(key.at.0)
}

/// A node. The three columns are apart because a climb from leaf to root reads children and counts, never keys.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) parent: u32,
    pub(super) len: u16,
    /// 1 where the children are leaves.
    pub(super) level: u16,
    pub(super) children: [u32; FANOUT],
    pub(super) counts: [u32; FANOUT],
    /// The key of each child's first player: exact, but for the id that may decide among equal keys.
    pub(super) keys: [u128; FANOUT],
}

/// One child with what its parent knows of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) number: u32,
    pub(super) count: u32,
    pub(super) key: u128,
}

impl Node {
    pub(super) fn new(level: u16, parent: u32) -> Self {
        Self {
            parent,
            len: 0,
            level,
            children: [0; FANOUT],
            counts: [0; FANOUT],
            keys: [0; FANOUT],
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    #[inline]
    pub(super) fn children(&self) -> &[u32] {
        &self.children[..self.len()]
    }

    /// Which child has this number.
    #[inline]
    pub(super) fn index_of(&self, number: u32) -> usize {
        // In blocks that the compiler compares at once, over the whole column: stale numbers lie after the live ones.
        for (block, children) in self.children.as_chunks::<16>().0.iter().enumerate() {
            let mask = children
                .iter()
                .enumerate()
                .fold(0_u32, |mask, (at, &child)| mask | (u32::from(child == number) << at));
            if mask != 0 {
                return block * 16 + mask.trailing_zeros() as usize;
            }
        }
        panic!("a child knows its parent");
    }

    /// How many players come before a child.
    #[inline]
    pub(super) fn before(&self, index: usize) -> u64 {
        self.counts[..index].iter().map(|&count| u64::from(count)).sum()
    }

    /// The players of the smaller of the two children beside one; many if there is none.
    pub(super) fn smaller_neighbour(&self, index: usize) -> u32 {
        let before = index.checked_sub(1).map_or(u32::MAX, |before| self.counts[before]);
        let after = if index + 1 < self.len() { self.counts[index + 1] } else { u32::MAX };
        before.min(after)
    }

    pub(super) fn count(&self) -> u32 {
        self.counts[..self.len()].iter().sum()
    }

    /// The children after the first whose key is below, or not above, the given one.
    pub(super) fn children_below(&self, key: u128) -> usize {
        1 + partition(self.len() - 1, |index| self.keys[index + 1] < key)
    }

    pub(super) fn children_up_to(&self, key: u128) -> usize {
        1 + partition(self.len() - 1, |index| self.keys[index + 1] <= key)
    }

    pub(super) fn insert(&mut self, index: usize, child: Child) {
        let len = self.len();
        self.children.copy_within(index..len, index + 1);
        self.counts.copy_within(index..len, index + 1);
        self.keys.copy_within(index..len, index + 1);
        self.children[index] = child.number;
        self.counts[index] = child.count;
        self.keys[index] = child.key;
        self.len += 1;
    }

    pub(super) fn remove(&mut self, index: usize) {
        let len = self.len();
        self.children.copy_within(index + 1..len, index);
        self.counts.copy_within(index + 1..len, index);
        self.keys.copy_within(index + 1..len, index);
        self.len -= 1;
    }

    /// Moves the children from an index on to the end of another node.
    pub(super) fn move_to(&mut self, from: usize, other: &mut Self) {
        let (len, at) = (self.len(), other.len());
        let moved = len - from;
        other.children[at..at + moved].copy_from_slice(&self.children[from..len]);
        other.counts[at..at + moved].copy_from_slice(&self.counts[from..len]);
        other.keys[at..at + moved].copy_from_slice(&self.keys[from..len]);
        let short = |number: usize| u16::try_from(number).expect("at most 64");
        other.len = short(at + moved);
        self.len = short(from);
    }
}
