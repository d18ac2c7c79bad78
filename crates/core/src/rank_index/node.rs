//! Inner nodes: up to 56 children, each with how many players it holds and the key of its first.

use super::leaf::partition;
use super::mem::{prefetch, sum_before};
use crate::SortKey;

/// Children of a node: as many one-byte counts as fit a cache line beside the header.
pub(super) const FANOUT: usize = 56;
/// Every so many keys there is one to look at first.
const GROUP: usize = 8;

/// A sort key as one number, so that a comparison is one comparison.
#[inline]
pub(super) fn number_of(key: SortKey) -> u128 {
    let unsigned = |number: i64| u128::from(number.cast_unsigned() ^ 1 << 63);
    unsigned(key.folded) << 64 | unsigned(key.at.0)
}

/// The number before which all players with a better score are.
#[inline]
pub(super) fn score_number(folded: i64) -> u128 {
    u128::from(folded.cast_unsigned() ^ 1 << 63) << 64
}

/// Where a leaf or a node hangs: the number of its parent, and which child it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Link(u32);

impl Link {
    /// No parent, or the end of a list of free numbers.
    pub(super) const NONE: Self = Self(u32::MAX);
    const INDEX_BITS: u32 = FANOUT.next_power_of_two().trailing_zeros();

    #[inline]
    pub(super) fn new(node: u32, index: usize) -> Self {
        debug_assert!(index < FANOUT && node < u32::MAX >> Self::INDEX_BITS);
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        Self(node << Self::INDEX_BITS | index as u32)
    }

    #[inline]
    pub(super) fn get(self) -> Option<(u32, usize)> {
        let index = self.0 & ((1 << Self::INDEX_BITS) - 1);
        (self != Self::NONE).then_some((self.0 >> Self::INDEX_BITS, index as usize))
    }
}

/// A node. A climb from a leaf reads the first line of the node above and no more: what it needs is there.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) parent: Link,
    len: u16,
    /// 1 where the children are leaves.
    pub(super) level: u16,
    /// The players of each child where the children are leaves.
    few: [u8; FANOUT],
    pub(super) children: [u32; FANOUT],
    /// The players of each child where the children are nodes.
    many: [u32; FANOUT],
    /// Every eighth key again, side by side: a search reads these, then one group of keys.
    pilots: [u128; GROUP],
    /// The key of each child's first player: exact, but for the id that may decide among equal keys.
    keys: [u128; FANOUT],
}

const _: () = assert!(size_of::<Node>() == 24 * super::mem::LINE && FANOUT <= GROUP * GROUP);

/// One child with what its parent knows of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) number: u32,
    pub(super) count: u32,
    pub(super) key: u128,
}

impl Node {
    pub(super) fn new(level: u16, parent: Link) -> Self {
        Self {
            parent,
            len: 0,
            level,
            few: [0; FANOUT],
            children: [0; FANOUT],
            many: [0; FANOUT],
            pilots: [0; GROUP],
            keys: [0; FANOUT],
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    #[inline]
    pub(super) fn key(&self, index: usize) -> u128 {
        self.keys[index]
    }

    #[inline]
    pub(super) fn set_key(&mut self, index: usize, key: u128) {
        self.keys[index] = key;
        if index.is_multiple_of(GROUP) {
            self.pilots[index / GROUP] = key;
        }
    }

    /// How many players a child holds.
    #[inline]
    pub(super) fn count_of(&self, index: usize) -> u32 {
        if self.level == 1 { u32::from(self.few[index]) } else { self.many[index] }
    }

    pub(super) fn set_count(&mut self, index: usize, count: u32) {
        if self.level == 1 {
            self.few[index] = u8::try_from(count).expect("a leaf has fewer rows");
        } else {
            self.many[index] = count;
        }
    }

    /// One player more.
    #[inline]
    pub(super) fn count_up(&mut self, index: usize) {
        // A leaf with one row too many is split at once, and counted anew: it never has 256.
        if self.level == 1 {
            self.few[index] += 1;
        } else {
            self.many[index] += 1;
        }
    }

    /// One player less.
    #[inline]
    pub(super) fn count_down(&mut self, index: usize) {
        if self.level == 1 {
            self.few[index] -= 1;
        } else {
            self.many[index] -= 1;
        }
    }

    /// How many players come before a child.
    #[inline]
    pub(super) fn before(&self, index: usize) -> u64 {
        if self.level == 1 {
            sum_before(&self.few, index)
        } else {
            // All of them, without a branch; together they are no more than 32 bits.
            let counted = |(at, &count)| if at < index { count } else { 0 };
            u64::from(self.many.iter().enumerate().map(counted).fold(0, u32::wrapping_add))
        }
    }

    /// The child in which a position is, counted from this node's first player, and how many come before that child.
    pub(super) fn at(&self, position: u64) -> Option<(usize, u64)> {
        let mut before = 0;
        for index in 0..self.len() {
            let after = before + u64::from(self.count_of(index));
            if position < after {
                return Some((index, before));
            }
            before = after;
        }
        None
    }

    /// The players of the smaller of the two children beside one; many if there is none.
    pub(super) fn smaller_neighbour(&self, index: usize) -> u32 {
        let before = index.checked_sub(1).map_or(u32::MAX, |before| self.count_of(before));
        let after = if index + 1 < self.len() { self.count_of(index + 1) } else { u32::MAX };
        before.min(after)
    }

    pub(super) fn count(&self) -> u32 {
        (0..self.len()).map(|index| self.count_of(index)).sum()
    }

    /// The children after the first whose key is below, or not above, the given one.
    #[inline]
    pub(super) fn children_below(&self, key: u128) -> usize {
        self.children_where(|held| held < key)
    }

    #[inline]
    pub(super) fn children_up_to(&self, key: u128) -> usize {
        self.children_where(|held| held <= key)
    }

    /// One more than the children after the first for which this holds; it holds up to some child.
    #[inline]
    fn children_where(&self, before: impl Fn(u128) -> bool) -> usize {
        let first = self.group_where(&before);
        let in_group = self.len().min(first + GROUP) - first;
        first
            + 1
            + partition(in_group.saturating_sub(1), |index| before(self.keys[first + 1 + index]))
    }

    /// The first child of the group at which this holds last.
    #[inline]
    fn group_where(&self, before: impl Fn(u128) -> bool) -> usize {
        let groups = self.len().div_ceil(GROUP).max(1);
        GROUP * partition(groups - 1, |group| before(self.pilots[group + 1]))
    }

    /// Asks for the keys among which [`children_below`](Self::children_below) will search.
    #[inline]
    pub(super) fn prefetch_group(&self, key: u128) {
        let first = self.group_where(|held| held < key);
        prefetch(&self.keys[first]);
        prefetch(&self.keys[first + GROUP / 2]);
        prefetch(&self.children[first]);
    }

    pub(super) fn insert(&mut self, index: usize, child: Child) {
        let len = self.len();
        self.children.copy_within(index..len, index + 1);
        self.few.copy_within(index..len, index + 1);
        self.many.copy_within(index..len, index + 1);
        self.keys.copy_within(index..len, index + 1);
        self.len += 1;
        self.children[index] = child.number;
        self.set_count(index, child.count);
        self.keys[index] = child.key;
        self.set_pilots();
    }

    pub(super) fn remove(&mut self, index: usize) {
        let len = self.len();
        self.children.copy_within(index + 1..len, index);
        self.few.copy_within(index + 1..len, index);
        self.many.copy_within(index + 1..len, index);
        self.keys.copy_within(index + 1..len, index);
        self.len -= 1;
        self.set_pilots();
    }

    /// Moves the children from an index on to the end of another node.
    pub(super) fn move_to(&mut self, from: usize, other: &mut Self) {
        let (len, at) = (self.len(), other.len());
        let moved = len - from;
        other.children[at..at + moved].copy_from_slice(&self.children[from..len]);
        other.few[at..at + moved].copy_from_slice(&self.few[from..len]);
        other.many[at..at + moved].copy_from_slice(&self.many[from..len]);
        other.keys[at..at + moved].copy_from_slice(&self.keys[from..len]);
        let short = |number: usize| u16::try_from(number).expect("at most 56");
        other.len = short(at + moved);
        self.len = short(from);
        other.set_pilots();
    }

    fn set_pilots(&mut self) {
        for (pilot, key) in self.pilots.iter_mut().zip(self.keys.iter().step_by(GROUP)) {
            *pilot = *key;
        }
    }

    /// Asks for the beginning of a node above nodes, and for a child's count.
    #[inline]
    pub(super) fn prefetch_count(&self, index: usize) {
        prefetch(&self.parent);
        prefetch(&self.many[index]);
    }

    /// Asks for a child's count and key, and for the key of the next one.
    #[inline]
    pub(super) fn prefetch_child(&self, index: usize) {
        prefetch(&self.parent);
        prefetch(&self.keys[index]);
        prefetch(&self.keys[(index + 1).min(FANOUT - 1)]);
    }

    /// Asks for what a search for a key reads first.
    #[inline]
    pub(super) fn prefetch_pilots(&self) {
        prefetch(&self.parent);
        prefetch(&self.pilots[0]);
        prefetch(&self.pilots[GROUP / 2]);
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        for (index, key) in self.keys[..self.len()].iter().enumerate().step_by(GROUP) {
            assert_eq!(self.pilots[index / GROUP], *key, "pilots are every eighth key");
        }
    }
}
