//! Many players at once: their cache misses side by side instead of one after another.
//!
//! What a player needs is known step by step: the buckets from the id, the leaf from a bucket, its address and parent from
//! the table of leaves, from there the tags and the node above, and from the tags the row. Players take these steps in turns, a few at a time,
//! so that the memory has delivered by the time it is read, and are looked at while others are still on their way.
//!
//! What a step asks for is gathered first and then asked for in one go. On a processor that has to look up the address of a line
//! (memory this large is more than it remembers addresses of), a request holds up the instructions after it, but not the requests
//! right after it.

use std::ops::Range;

use super::bucket::{Bucket, Slot};
use super::fingers::Finger;
use super::head::{HEADER, Header, MAX_ROWS};
use super::heap::Address;
use super::leaf::{Leaf, tag_of, tag_of_bits};
use super::locator::{Known, candidates};
use super::mem::{LINE, prefetch, prefetch_all};
use super::node::number_of;
use super::packed::{Buffer, Packed};
use super::shrink::is_due;
use super::tree::{NONE, NodeSlot, Tree};
use super::{Found, IndexRecord, RankIndex, Spot, locate};
use standings_core::SortKey;

/// Players to fetch ahead in one go. More would push each other out of the cache before they are used.
pub const WARM: usize = 64;

/// Players who take a step together. The processor has the addresses of some seventy pages at hand, and a player needs six; with groups of
/// 24, those who were fetched first had been forgotten again by the time that they were looked at, and a look-up took half as long again.
const GROUP: usize = 3;

/// Bytes of a leaf in which all tags are.
const START: usize = HEADER + MAX_ROWS;

impl RankIndex {
    /// Fetches what finding, ranking and updating these players will need, up to [`WARM`] of them. Work on a large batch
    /// goes in groups of so many: warm a group, then use it.
    pub fn warm(&self, ids: &[&str]) {
        let ids = &ids[..ids.len().min(WARM)];
        self.fetch(ids, |_| {});
    }

    /// [`look_up`](Self::look_up) for up to [`WARM`] players at once, in their order.
    pub fn look_up_many(&self, ids: &[&str], mut found: impl FnMut(Option<(IndexRecord, Spot)>)) {
        self.visit_many(ids, |seen| {
            found(seen.map(|(spot, leaf)| {
                self.tree.prefetch_to_shrink(spot.place.leaf);
                (leaf.record_in(spot.place.slot), spot)
            }));
        });
    }

    /// The same as [`warm`](Self::warm) for players who were looked up.
    pub fn warm_spots(&self, spots: &[Spot]) {
        let spots = &spots[..spots.len().min(WARM)];
        for (step, range) in turns(spots.len(), 3) {
            // Someone may have left in the meantime, and the leaf with it.
            let held = |spot: &Spot| self.tree.leaves.in_use(spot.place.leaf).map(|_| spot.place);
            let group = &spots[range];
            match step {
                0 => {
                    for spot in group {
                        self.tree.prefetch_known(spot.place.leaf);
                        let buckets = self.locator.buckets_for(spot.hash);
                        buckets.into_iter().flatten().for_each(prefetch);
                    }
                }
                1 => {
                    for NodeSlot { leaf, .. } in group.iter().filter_map(held) {
                        self.tree.leaf(leaf).prefetch_start();
                        self.tree.prefetch_parent(leaf);
                    }
                }
                _ => {
                    for NodeSlot { leaf, slot } in group.iter().filter_map(held) {
                        self.tree.leaf(leaf).prefetch_row(slot);
                    }
                }
            }
        }
    }

    /// [`find`](Self::find) for many players, in their order.
    pub fn find_many(&self, ids: &[&str]) -> Vec<Option<Found>> {
        let mut all = Vec::with_capacity(ids.len());
        for ids in ids.chunks(WARM) {
            self.visit_many(ids, |seen| {
                all.push(seen.map(|(Spot { place, .. }, leaf)| {
                    self.found(self.tree.before_leaf(place.leaf), leaf, place.slot)
                }));
            });
        }
        all
    }

    /// Fetches the places that these keys will have, up to [`WARM`] of them: the other half of what an update needs.
    pub fn warm_keys(&self, keys: &[SortKey]) {
        let keys = &keys[..keys.len().min(WARM)];
        let mut ways = [(0, None); WARM];
        for (way, key) in ways.iter_mut().zip(keys) {
            *way = (number_of(*key), self.tree.expected(*key));
        }
        self.tree.descend(&ways[..keys.len()]);
    }

    /// Calls `visit` with the spot and the leaf of each player, in their order.
    fn visit_many(&self, ids: &[&str], mut visit: impl FnMut(Option<(Spot, Leaf<'_>)>)) {
        assert!(ids.len() <= WARM, "up to {WARM} players at once");
        self.fetch(ids, |sought| {
            let (id, hash) = (sought.id, sought.hash);
            let here = sought.seen.and_then(|(number, leaf, slot)| {
                let is_it = leaf.has_id(slot, id);
                let slot = if is_it { slot } else { leaf.find(id, tag_of(hash))? };
                Some((NodeSlot { leaf: number, slot }, leaf))
            });
            let here = here.or_else(|| {
                let place = locate(&self.tree, &self.locator, hash, id)?;
                Some((place, self.tree.leaf(place.leaf)))
            });
            visit(here.map(|(place, leaf)| (Spot { place, hash }, leaf)));
        });
    }

    /// Calls `visit` with players whose leaves are in the cache by then. Which of the candidates is the right one would need the leaf, and
    /// of those with its tag the row; the first nearly always is.
    fn fetch(&self, ids: &[&str], mut visit: impl FnMut(&Sought<'_>)) {
        let mut buffers = [const { Buffer::new() }; WARM];
        let mut sought = [const { None::<Sought<'_>> }; WARM];
        for ((id, buffer), sought) in ids.iter().zip(&mut buffers).zip(&mut sought) {
            *sought = Some(Sought {
                id: Packed::new(id, buffer),
                hash: 0,
                buckets: None,
                leaf: NONE,
                seen: None,
            });
        }
        // Not right after packing: bytes that were just written in two pieces cannot be read in others at once.
        for sought in sought.iter_mut().flatten() {
            sought.hash = sought.id.hash();
            sought.buckets = self.locator.buckets_for(sought.hash);
        }
        for (step, range) in turns(ids.len(), 7) {
            let group = sought[range].iter_mut().flatten();
            match step {
                // One line of a page first, and the others when its address is known: each of them would look it up.
                0 => {
                    group
                        .filter_map(|sought| sought.buckets)
                        .for_each(|[first, _]| prefetch(first));
                }
                1 | 2 => {
                    for sought in group.filter(|sought| sought.leaf == NONE) {
                        let Some([first, second]) = sought.buckets else { continue };
                        let bucket = if step == 1 { first } else { second };
                        if let Some(leaf) = candidates(bucket, sought.hash).next() {
                            self.tree.prefetch_where(leaf);
                            sought.leaf = leaf;
                        } else if step == 1 {
                            // Every third player is in the second one.
                            prefetch(second);
                        }
                    }
                }
                3 => {
                    for sought in group.filter(|sought| sought.leaf != NONE) {
                        let leaf = self.tree.leaf(sought.leaf);
                        prefetch(&leaf.block[0]);
                        self.tree.leaves.parent_entry(sought.leaf).into_iter().for_each(prefetch);
                        sought.seen = Some((sought.leaf, leaf, 0));
                    }
                }
                4 => {
                    for (number, leaf, _) in group.filter_map(|sought| sought.seen) {
                        leaf.prefetch_start();
                        self.tree.prefetch_parent(number);
                    }
                }
                5 => {
                    for sought in group {
                        let tag = tag_of(sought.hash);
                        sought.seen = sought.seen.and_then(|(number, leaf, _)| {
                            let slot = leaf.tagged(tag).next()?;
                            leaf.prefetch_row(slot);
                            Some((number, leaf, slot))
                        });
                    }
                }
                _ => group.for_each(|sought| visit(sought)),
            }
        }
    }
}

/// The hashes of the players who have some slots of the locator's, in their order. Slots that are alike are side by side, and are as many
/// players of their leaf.
pub(super) fn hashes_of(tree: &Tree, slots: &[Slot], known: Known, out: &mut Vec<u64>) {
    let mut alike = 0;
    for (step, range) in turns(slots.len(), 4) {
        let start = range.start;
        for (at, slot) in slots[range].iter().enumerate() {
            let leaf = || tree.leaf(slot.leaf);
            match step {
                0 => tree.prefetch_where(slot.leaf),
                1 => leaf().prefetch_start(),
                2 => {
                    let leaf = leaf();
                    leaf.tagged(tag_of_bits(slot.bits)).for_each(|slot| leaf.prefetch_row(slot));
                }
                _ => {
                    let before = (start + at).checked_sub(1).map(|before| slots[before]);
                    alike = if before == Some(*slot) { alike + 1 } else { 0 };
                    let leaf = leaf();
                    let tagged = leaf.tagged(tag_of_bits(slot.bits));
                    let hashes = tagged.map(|slot| leaf.id_in(slot).hash());
                    out.extend(hashes.filter(|hash| known.fits(*slot, *hash)).nth(alike));
                }
            }
        }
    }
}

/// The steps that so many players take, a few players at a time and in turns: while the memory delivers what the next step of some
/// needs, others take theirs.
fn turns(players: usize, steps: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let groups = players.div_ceil(GROUP);
    (0..groups + steps - 1).flat_map(move |turn| {
        (0..steps).filter_map(move |step| {
            let from = turn.checked_sub(step).filter(|group| *group < groups)? * GROUP;
            Some((step, from..players.min(from + GROUP)))
        })
    })
}

/// A player of a group, and where it seems to be.
struct Sought<'a> {
    id: Packed<'a>,
    hash: u64,
    buckets: Option<[&'a Bucket; 2]>,
    leaf: u32,
    /// The leaf, and the slot once it was looked for.
    seen: Option<(u32, Leaf<'a>, usize)>,
}

impl Tree {
    /// Fetches the way to the places of these keys: by the leaf where that probably is, or down from the root.
    fn descend(&self, ways: &[(u128, Option<Finger>)]) {
        if self.root == NONE {
            return;
        }
        let mut leaves = [(NONE, Address::NONE); WARM];
        let mut down = [(0, 0, NONE); WARM];
        let mut going_down = 0;
        for (at, (key, finger)) in ways.iter().enumerate() {
            if let Some(finger) = finger {
                leaves[at] = (finger.leaf, finger.block);
            } else {
                down[going_down] = (at, *key, self.root);
                going_down += 1;
            }
        }
        let down = &mut down[..going_down];
        for _ in 0..self.height {
            for (_, key, number) in &*down {
                self.node(*number).prefetch_group(*key);
            }
            for (_, key, number) in &mut *down {
                let node = self.node(*number);
                *number = node.child(node.children_below(*key) - 1);
                if node.level() > 1 {
                    self.nodes.prefetch_pilots(*number);
                }
            }
        }
        for (_, _, leaf) in &*down {
            self.prefetch_where(*leaf);
        }
        for (at, _, leaf) in down {
            leaves[*at] = (*leaf, self.leaves.at(*leaf));
        }
        let leaves = &leaves[..ways.len()];
        for (step, range) in turns(leaves.len(), 3) {
            for (leaf, block) in &leaves[range] {
                match step {
                    0 => self.prefetch_first(*leaf, *block),
                    1 => {
                        prefetch_all(self.blocks.start(*block, START));
                        self.prefetch_parent(*leaf);
                    }
                    _ => self.prefetch_end(*leaf),
                }
            }
        }
    }

    /// Asks for the last row of a leaf, the place of the next one, and the next leaf's first key where that matters and their parent
    /// has it.
    fn prefetch_end(&self, number: u32) {
        let Some(leaf) = self.leaf_in_use(number) else { return };
        if !leaf.header.closed() {
            self.prefetch_separators(number);
        }
        leaf.prefetch_row(leaf.last());
        leaf.prefetch_row(leaf.slots());
    }

    /// Asks where a leaf is.
    #[inline]
    pub(super) fn prefetch_where(&self, leaf: u32) {
        self.leaves.entry(leaf).into_iter().for_each(prefetch);
    }

    /// Asks for all that is known of a leaf by its number, and for the first line of its block, which was there the last time.
    #[inline]
    fn prefetch_first(&self, leaf: u32, block: Address) {
        prefetch_all(self.blocks.start(block, 1));
        self.prefetch_known(leaf);
    }

    /// Asks for all that is known of a leaf by its number.
    #[inline]
    fn prefetch_known(&self, leaf: u32) {
        self.prefetch_where(leaf);
        self.leaves.parent_entry(leaf).into_iter().for_each(prefetch);
    }

    /// Asks for the leaf to which a player will probably go.
    #[inline]
    pub(super) fn prefetch_expected(&self, expected: Option<Finger>) {
        if let Some(Finger { leaf, block, end, .. }) = expected {
            self.prefetch_known(leaf);
            prefetch_all(self.blocks.start(block, START));
            prefetch_all(self.blocks.start(end, 2 * LINE));
        }
    }

    /// Asks for the node above that leaf, once it is known which one that is.
    #[inline]
    pub(super) fn prefetch_parent_of(&self, expected: Option<Finger>) {
        if let Some(finger) = expected {
            self.prefetch_parent(finger.leaf);
        }
    }

    /// Asks for what tells whether a key is in a leaf, and for the leaf's count.
    fn prefetch_separators(&self, leaf: u32) {
        if let Some((parent, index)) = self.leaves.parent(leaf).get() {
            self.nodes.prefetch_child(parent, index);
        }
    }

    /// Asks for what a climb reads of a leaf's parent.
    #[inline]
    pub(super) fn prefetch_parent(&self, leaf: u32) {
        // What a free number has instead of a parent may be the number of no node.
        let parent = self.leaves.parent_entry(leaf).and_then(|link| link.get());
        let counts = parent.and_then(|(parent, _)| self.nodes.counts_entry(parent));
        counts.into_iter().for_each(prefetch);
    }

    /// Asks for all of a leaf that will get a smaller block when one more player leaves it: all of it will be copied. Of ids of many
    /// forms that is not known from the header.
    #[inline]
    fn prefetch_to_shrink(&self, leaf: u32) {
        let block = self.blocks.whole(self.leaves.at(leaf));
        let header = Header::of(block);
        if header.form().is_some() && is_due(header.exact(1), block.len()) {
            prefetch_all(&block[START.min(block.len())..]);
        }
    }

    /// Asks for a leaf's block.
    #[inline]
    pub(super) fn prefetch_block(&self, leaf: u32) {
        prefetch_all(self.blocks.whole(self.leaves.at(leaf)));
    }
}

impl Leaf<'_> {
    /// Asks for the header and the tags.
    #[inline]
    pub(super) fn prefetch_start(&self) {
        prefetch_all(&self.block[..self.block.len().min(START)]);
    }

    /// Asks for the row in a slot, the header being there.
    #[inline]
    fn prefetch_row(&self, slot: usize) {
        let (from, to) = (self.header.at(slot), self.header.at(slot + 1));
        let last = self.block.len() - 1;
        prefetch(&self.block[from.min(last)]);
        prefetch(&self.block[(to - 1).min(last)]);
    }
}
