//! Inner nodes: up to 56 children, each with how many players it holds and the key of its first.

use super::lanes::sum_before;
use super::leaf::partition;
use super::mem::{prefetch, sum_of_first};
use super::paged::Paged;
use super::table::Table;
use standings_core::SortKey;

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
    /// A number of so many bits says it.
    pub(super) const BITS: u32 = 27;
    /// No parent, or the end of a list of free numbers.
    pub(super) const NONE: Self = Self((1 << Self::BITS) - 1);
    const INDEX_BITS: u32 = FANOUT.next_power_of_two().trailing_zeros();
    /// Nodes there can be.
    pub(super) const MAX_NODES: usize = (1 << (Self::BITS - Self::INDEX_BITS)) - 1;

    #[inline]
    pub(super) fn new(node: u32, index: usize) -> Self {
        debug_assert!(index < FANOUT && (node as usize) < Self::MAX_NODES);
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        Self(node << Self::INDEX_BITS | index as u32)
    }

    #[inline]
    pub(super) fn get(self) -> Option<(u32, usize)> {
        let index = self.0 & ((1 << Self::INDEX_BITS) - 1);
        (self != Self::NONE).then_some((self.0 >> Self::INDEX_BITS, index as usize))
    }

    /// As a number.
    #[inline]
    pub(super) fn code(self) -> u32 {
        self.0
    }

    /// The link that such a number stands for.
    #[inline]
    pub(super) fn from_code(code: u32) -> Self {
        Self(code)
    }
}

/// The part of a node that a climb from a leaf reads: a line. These are apart from the children, so that all of them together are
/// small enough for the nearer caches, and so are the addresses of their pages.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Counts {
    pub(super) parent: Link,
    len: u16,
    /// 1 where the children are leaves.
    pub(super) level: u16,
    /// The players of each child where the children are leaves; else the first four say which [`Sums`] are the node's.
    few: [u8; FANOUT],
}

impl Counts {
    /// Which sums are the node's, if its children are nodes.
    #[inline]
    fn sums(&self) -> Option<u32> {
        let number = u32::from_le_bytes(*self.few.first_chunk().expect("56 bytes"));
        (self.level > 1).then_some(number)
    }

    fn set_sums(&mut self, number: u32) {
        self.few[..4].copy_from_slice(&number.to_le_bytes());
    }

    /// The players of the smaller of the two leaves beside one, if there are any.
    #[inline]
    pub(super) fn smaller_neighbour(&self, index: usize) -> Option<usize> {
        debug_assert_eq!(self.level, 1, "the children are leaves");
        let few = &self.few[..usize::from(self.len)];
        let beside = [index.wrapping_sub(1), index + 1];
        beside.into_iter().filter_map(|index| few.get(index)).min().map(|&count| usize::from(count))
    }
}

/// The rest of a node.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Children {
    numbers: [u32; FANOUT],
    /// Every eighth key again, side by side: a search reads these, then one group of keys.
    pilots: [u128; GROUP],
    /// The key of each child's first player: exact, but for the id that may decide among equal keys.
    keys: [u128; FANOUT],
}

/// The players of each child where the children are nodes, and of every eight children. Few nodes are that high up, and every update
/// counts in some of them: side by side they stay in the nearer caches.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Sums {
    many: [u32; FANOUT],
    groups: [u32; GROUP],
}

/// The number of sums that are no node's.
const NO_SUMS: u32 = 0;

impl Sums {
    const NONE: Self = Self { many: [0; FANOUT], groups: [0; GROUP] };
}

const _: () = assert!(size_of::<Counts>() == super::mem::LINE && FANOUT <= GROUP * GROUP);

/// A node that is in no tree yet, or taken out of one.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) counts: Counts,
    sums: Sums,
    pub(super) children: Children,
}

/// A node to read.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'a> {
    pub(super) counts: &'a Counts,
    sums: &'a Sums,
    pub(super) children: &'a Children,
}

/// A node to change.
pub(super) struct NodeMut<'a> {
    pub(super) counts: &'a mut Counts,
    /// None where the children are leaves.
    sums: Option<&'a mut Sums>,
    pub(super) children: &'a mut Children,
}

/// Nodes by number.
pub(super) struct Nodes {
    counts: Table<Counts>,
    /// Those that are no node's are a list: the first number of each is the next one. It begins in number 0, which never is a node's.
    sums: Table<Sums>,
    children: Paged<Children, 11>,
}

impl Nodes {
    pub(super) const fn new() -> Self {
        Self { counts: Table::new(), sums: Table::new(), children: Paged::new() }
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> NodeRef<'_> {
        let counts = &self.counts[number as usize];
        let sums = counts.sums().map_or(&Sums::NONE, |sums| &self.sums[sums as usize]);
        NodeRef { counts, sums, children: &self.children[number as usize] }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> NodeMut<'_> {
        let counts = &mut self.counts[number as usize];
        let sums = counts.sums().map(|sums| &mut self.sums[sums as usize]);
        NodeMut { counts, sums, children: &mut self.children[number as usize] }
    }

    /// Just what a climb reads.
    #[inline]
    pub(super) fn counts(&self, number: u32) -> &Counts {
        &self.counts[number as usize]
    }

    /// The same for fetching ahead, if there is such a number.
    #[inline]
    pub(super) fn counts_entry(&self, number: u32) -> Option<&Counts> {
        self.counts.get(number as usize)
    }

    /// Asks for a child's count and key, and for the key of the next one. Nothing of the node is read for it, which would be waited for.
    #[inline]
    pub(super) fn prefetch_child(&self, number: u32, index: usize) {
        let (counts, children) = (&self.counts[number as usize], &self.children[number as usize]);
        prefetch(counts);
        prefetch(&children.keys[index]);
        prefetch(&children.keys[(index + 1).min(FANOUT - 1)]);
    }

    /// Asks for what a search for a key reads first, likewise.
    #[inline]
    pub(super) fn prefetch_pilots(&self, number: u32) {
        let (counts, children) = (&self.counts[number as usize], &self.children[number as usize]);
        prefetch(counts);
        prefetch(&children.pilots[0]);
        prefetch(&children.pilots[GROUP / 2]);
    }

    #[inline]
    pub(super) fn counts_mut(&mut self, number: u32) -> &mut Counts {
        &mut self.counts[number as usize]
    }

    /// One player more in a child. Returns where the node hangs.
    #[inline]
    pub(super) fn count_up(&mut self, number: u32, index: usize) -> Link {
        self.count(number, index, |count| *count += 1, |count| *count += 1)
    }

    /// One player less.
    #[inline]
    pub(super) fn count_down(&mut self, number: u32, index: usize) -> Link {
        self.count(number, index, |count| *count -= 1, |count| *count -= 1)
    }

    #[inline]
    fn count(
        &mut self,
        number: u32,
        index: usize,
        few: impl Fn(&mut u8),
        many: impl Fn(&mut u32),
    ) -> Link {
        let counts = &mut self.counts[number as usize];
        if let Some(sums) = counts.sums() {
            let sums = &mut self.sums[sums as usize];
            many(&mut sums.many[index]);
            many(&mut sums.groups[index / GROUP]);
        } else {
            // A leaf with one row too many is split at once, and counted anew: it never has 256.
            few(&mut counts.few[index]);
        }
        counts.parent
    }

    /// Appends a node and returns its number.
    pub(super) fn push(&mut self, node: &Node) -> u32 {
        let number = self.counts.push(node.counts);
        self.children.put(number, node.children);
        self.set_sums(number, node);
        assert!(number < Link::MAX_NODES, "an index holds up to 2 million nodes");
        #[expect(clippy::cast_possible_truncation, reason = "below 2^21")]
        let number = number as u32;
        number
    }

    pub(super) fn set(&mut self, number: u32, node: &Node) {
        self.counts[number as usize] = node.counts;
        self.children[number as usize] = node.children;
        self.set_sums(number as usize, node);
    }

    /// A node that is new gets sums of its own, where it needs them.
    fn set_sums(&mut self, number: usize, node: &Node) {
        let sums = match node.counts.sums() {
            None => return,
            Some(NO_SUMS) => self.free_sums(),
            Some(sums) => sums,
        };
        self.counts[number].set_sums(sums);
        self.sums[sums as usize] = node.sums;
    }

    /// Sums that are no node's, and will be one's.
    fn free_sums(&mut self) -> u32 {
        if self.sums.is_empty() {
            self.sums.push(Sums::NONE);
        }
        let free = self.sums[0].many[0];
        if free == NO_SUMS {
            return u32::try_from(self.sums.push(Sums::NONE)).expect("fewer than nodes");
        }
        self.sums[0].many[0] = self.sums[free as usize].many[0];
        free
    }

    /// The node is in no tree any more.
    pub(super) fn free(&mut self, number: u32) {
        if let Some(sums) = self.counts[number as usize].sums() {
            let next = std::mem::replace(&mut self.sums[0].many[0], sums);
            self.sums[sums as usize].many[0] = next;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.counts.bytes() + self.sums.bytes() + self.children.bytes()
    }
}

/// One child with what its parent knows of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) number: u32,
    pub(super) count: u32,
    pub(super) key: u128,
}

impl Node {
    pub(super) fn new(level: u16, parent: Link) -> Self {
        let mut counts = Counts { parent, len: 0, level, few: [0; FANOUT] };
        if level > 1 {
            counts.set_sums(NO_SUMS);
        }
        Self {
            counts,
            sums: Sums::NONE,
            children: Children { numbers: [0; FANOUT], pilots: [0; GROUP], keys: [0; FANOUT] },
        }
    }

    pub(super) fn get(&self) -> NodeRef<'_> {
        NodeRef { counts: &self.counts, sums: &self.sums, children: &self.children }
    }

    pub(super) fn get_mut(&mut self) -> NodeMut<'_> {
        let sums = (self.counts.level > 1).then_some(&mut self.sums);
        NodeMut { counts: &mut self.counts, sums, children: &mut self.children }
    }
}

impl NodeRef<'_> {
    pub(super) fn copied(self) -> Node {
        Node { counts: *self.counts, sums: *self.sums, children: *self.children }
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        usize::from(self.counts.len)
    }

    #[inline]
    pub(super) fn level(self) -> u16 {
        self.counts.level
    }

    #[inline]
    pub(super) fn child(self, index: usize) -> u32 {
        self.children.numbers[index]
    }

    #[inline]
    pub(super) fn key(self, index: usize) -> u128 {
        self.children.keys[index]
    }

    /// How many players a child holds.
    #[inline]
    pub(super) fn count_of(self, index: usize) -> u32 {
        if self.counts.level == 1 {
            u32::from(self.counts.few[index])
        } else {
            self.sums.many[index]
        }
    }

    /// How many players come before a child.
    #[inline]
    pub(super) fn before(self, index: usize) -> u64 {
        if self.counts.level == 1 {
            sum_of_first(&self.counts.few, index)
        } else {
            // Together they are no more than 32 bits.
            let (groups, _) = self.sums.many.as_chunks::<GROUP>();
            let in_group = sum_before(&groups[index / GROUP], index % GROUP);
            u64::from(sum_before(&self.sums.groups, index / GROUP) + in_group)
        }
    }

    /// The child in which a position is, counted from this node's first player, and how many come before that child.
    pub(super) fn at(self, position: u64) -> Option<(usize, u64)> {
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

    pub(super) fn count(self) -> u32 {
        (0..self.len()).map(|index| self.count_of(index)).sum()
    }

    /// The children after the first whose key is below, or not above, the given one.
    #[inline]
    pub(super) fn children_below(self, key: u128) -> usize {
        self.children_where(|held| held < key)
    }

    #[inline]
    pub(super) fn children_up_to(self, key: u128) -> usize {
        self.children_where(|held| held <= key)
    }

    /// One more than the children after the first for which this holds; it holds up to some child.
    #[inline]
    fn children_where(self, before: impl Fn(u128) -> bool) -> usize {
        let first = self.group_where(&before);
        let in_group = self.len().min(first + GROUP) - first;
        first
            + 1
            + partition(in_group.saturating_sub(1), |index| before(self.key(first + 1 + index)))
    }

    /// The first child of the group at which this holds last.
    #[inline]
    fn group_where(self, before: impl Fn(u128) -> bool) -> usize {
        let groups = self.len().div_ceil(GROUP).max(1);
        GROUP * partition(groups - 1, |group| before(self.children.pilots[group + 1]))
    }

    /// Asks for the keys among which [`children_below`](Self::children_below) will search.
    #[inline]
    pub(super) fn prefetch_group(self, key: u128) {
        let first = self.group_where(|held| held < key);
        prefetch(&self.children.keys[first]);
        prefetch(&self.children.keys[first + GROUP / 2]);
        prefetch(&self.children.numbers[first]);
    }

    #[cfg(test)]
    pub(super) fn check(self) {
        let before =
            |index: usize| -> u64 { (0..index).map(|i| u64::from(self.count_of(i))).sum() };
        assert!((0..self.len()).all(|index| self.before(index) == before(index)), "sums are right");
        for (index, key) in self.children.keys[..self.len()].iter().enumerate().step_by(GROUP) {
            assert_eq!(self.children.pilots[index / GROUP], *key, "pilots are every eighth key");
        }
    }
}

#[cfg(test)]
impl Nodes {
    /// Sums are those of so many nodes, or wait to be one's.
    pub(super) fn check_sums(&self, in_use: usize) {
        let next =
            |number: u32| self.sums.get(number as usize).map_or(NO_SUMS, |sums| sums.many[0]);
        let free = std::iter::successors(Some(next(NO_SUMS)), |number| Some(next(*number)));
        let free = free.take_while(|number| *number != NO_SUMS).count();
        let all = self.sums.len().saturating_sub(1);
        assert_eq!(all, in_use + free, "sums that are no node's are used again");
    }
}

impl NodeMut<'_> {
    pub(super) fn get(&self) -> NodeRef<'_> {
        let sums = self.sums.as_deref().unwrap_or(&Sums::NONE);
        NodeRef { counts: self.counts, sums, children: self.children }
    }

    #[inline]
    pub(super) fn set_key(&mut self, index: usize, key: u128) {
        self.children.keys[index] = key;
        if index.is_multiple_of(GROUP) {
            self.children.pilots[index / GROUP] = key;
        }
    }

    pub(super) fn set_count(&mut self, index: usize, count: u32) {
        if let Some(sums) = &mut self.sums {
            sums.many[index] = count;
            self.set_sums();
        } else {
            self.counts.few[index] = u8::try_from(count).expect("a leaf has fewer rows");
        }
    }

    fn set_sums(&mut self) {
        let len = self.get().len();
        let Some(sums) = &mut self.sums else { return };
        sums.many[len..].fill(0);
        let (groups, _) = sums.many.as_chunks::<GROUP>();
        for (sum, group) in sums.groups.iter_mut().zip(groups) {
            *sum = group.iter().sum();
        }
    }

    pub(super) fn insert(&mut self, index: usize, child: Child) {
        let len = self.get().len();
        self.children.numbers.copy_within(index..len, index + 1);
        match &mut self.sums {
            Some(sums) => sums.many.copy_within(index..len, index + 1),
            None => self.counts.few.copy_within(index..len, index + 1),
        }
        self.children.keys.copy_within(index..len, index + 1);
        self.counts.len += 1;
        self.children.numbers[index] = child.number;
        self.set_count(index, child.count);
        self.children.keys[index] = child.key;
        self.set_pilots();
    }

    pub(super) fn remove(&mut self, index: usize) {
        let len = self.get().len();
        self.children.numbers.copy_within(index + 1..len, index);
        match &mut self.sums {
            Some(sums) => sums.many.copy_within(index + 1..len, index),
            None => self.counts.few.copy_within(index + 1..len, index),
        }
        self.children.keys.copy_within(index + 1..len, index);
        self.counts.len -= 1;
        self.set_sums();
        self.set_pilots();
    }

    /// Moves the children from an index on to the end of another node.
    pub(super) fn move_to(&mut self, from: usize, other: &mut Node) {
        let (len, at) = (self.get().len(), other.get().len());
        let moved = at..at + len - from;
        other.children.numbers[moved.clone()].copy_from_slice(&self.children.numbers[from..len]);
        match &self.sums {
            Some(sums) => other.sums.many[moved.clone()].copy_from_slice(&sums.many[from..len]),
            None => other.counts.few[moved.clone()].copy_from_slice(&self.counts.few[from..len]),
        }
        other.children.keys[moved.clone()].copy_from_slice(&self.children.keys[from..len]);
        let short = |number: usize| u16::try_from(number).expect("at most 56");
        other.counts.len = short(moved.end);
        self.counts.len = short(from);
        self.set_sums();
        other.get_mut().set_sums();
        other.get_mut().set_pilots();
    }

    fn set_pilots(&mut self) {
        let keys = self.children.keys.iter().step_by(GROUP);
        for (pilot, key) in self.children.pilots.iter_mut().zip(keys) {
            *pilot = *key;
        }
    }
}
