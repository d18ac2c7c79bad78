//! Many players at once: their cache misses side by side instead of one after another.
//!
//! What a player needs is known step by step: the buckets from the id, the leaf's address and parent from a bucket, the
//! beginning of the leaf from that, and from there the one line of each column. Players take these steps in turns, a few at a
//! time, so that the memory has delivered by the time it is read.
//!
//! What a step asks for is gathered first and then asked for in one go. On a processor that has to look up the address of a line
//! (memory this large is more than it remembers addresses of), a request holds up the instructions after it, but not the requests
//! right after it.

use std::ops::Range;

use super::heap::Address;
use super::leaf::Leaf;
use super::mem::{LINE, prefetch};
use super::node::{number_of, score_number};
use super::packed::{Buffer, Packed};
use super::tree::{NONE, Place, Tree};
use super::{RankIndex, Record, Spot, locate};
use crate::{Position, SortKey, board::Ties};

/// Players to fetch ahead in one go. More would push each other out of the cache before they are used.
pub const WARM: usize = 64;

/// Players whose lines are asked for at once: about as many as a core waits for at the same time.
const GROUP: usize = 12;

/// The lines at the beginning of a leaf in which an id is searched: header, order, and the last bytes of ids.
const START: usize = 4;

impl RankIndex {
    /// Fetches what finding, ranking and updating these players will need, up to [`WARM`] of them. Work on a large batch
    /// goes in groups of so many: warm a group, then use it.
    pub fn warm(&self, ids: &[&str]) {
        let mut buffers = [const { Buffer::new() }; WARM];
        self.fetch(ids, &mut buffers);
    }

    /// [`look_up`](Self::look_up) for up to [`WARM`] players at once, in their order.
    pub fn look_up_many(&self, ids: &[&str], mut found: impl FnMut(Option<(Record, Spot)>)) {
        let mut spots = [None; WARM];
        self.visit_many(ids, |at, place, leaf| {
            spots[at] = Some((leaf.record(place.row), Spot(place)));
        });
        spots.into_iter().take(ids.len()).for_each(&mut found);
    }

    /// [`position`](Self::position) or [`shared_position`](Self::shared_position) for up to [`WARM`] players at once,
    /// in their order.
    pub fn positions(
        &self,
        ids: &[&str],
        ties: Ties,
        mut found: impl FnMut(Option<(Position, Record)>),
    ) {
        let mut places: [Option<(Place, Record)>; WARM] = [None; WARM];
        self.visit_many(ids, |at, place, leaf| places[at] = Some((place, leaf.record(place.row))));
        if ties == Ties::Share {
            let score =
                |place: Option<(Place, Record)>| place.map_or(0, |(_, held)| held.key.folded);
            let way = |score| (score_number(score), self.tree.starts.get(score));
            let keys = places.map(|place| way(score(place)));
            self.tree.descend(&keys[..ids.len()], |leaf| leaf.prefetch_numbers());
        }
        for place in places.into_iter().take(ids.len()) {
            found(place.map(|(place, record)| {
                let position = match ties {
                    Ties::Earliest => self.tree.position(place),
                    Ties::Share => self.before_score(record.key.folded),
                };
                (position, record)
            }));
        }
    }

    /// Fetches the places that these keys will have, up to [`WARM`] of them: the other half of what an update needs.
    pub fn warm_keys(&self, keys: &[SortKey]) {
        let keys = &keys[..keys.len().min(WARM)];
        let mut ways = [(0, None); WARM];
        for (way, key) in ways.iter_mut().zip(keys) {
            let finger = if self.tree.trust.pays() { self.tree.ends.get(key.folded) } else { None };
            *way = (number_of(*key), finger);
        }
        self.tree.descend(&ways[..keys.len()], |leaf| leaf.prefetch_insertion());
    }

    /// Calls `visit` with the number, the place and the leaf of each player who is here.
    fn visit_many(&self, ids: &[&str], mut visit: impl FnMut(usize, Place, Leaf<'_>)) {
        assert!(ids.len() <= WARM, "up to {WARM} players at once");
        let mut buffers = [const { Buffer::new() }; WARM];
        let sought = self.fetch(ids, &mut buffers);
        for (at, Sought { id, hash, leaf, slot }) in sought.into_iter().enumerate() {
            if leaf != NONE {
                let view = self.tree.leaf(leaf);
                let row = slot.and_then(|slot| view.row_in(slot, id)).or_else(|| view.row_of(id));
                if let Some(row) = row {
                    visit(at, Place { leaf, row }, view);
                    continue;
                }
            }
            if !self.is_empty()
                && let Some(place) = locate(&self.tree, &self.locator, hash, id, true)
            {
                visit(at, place, self.tree.leaf(place.leaf));
            }
        }
    }

    fn fetch<'a>(&self, ids: &[&'a str], buffers: &'a mut [Buffer; WARM]) -> Vec<Sought<'a>> {
        let pack = |(id, buffer): (&&'a str, &'a mut Buffer)| {
            let id = Packed::new(id, buffer);
            Sought { id, hash: id.hash(), leaf: NONE, slot: None }
        };
        let mut sought: Vec<Sought<'a>> = ids.iter().zip(buffers).map(pack).collect();
        for (step, range) in turns(sought.len(), 4) {
            let group = &mut sought[range];
            match step {
                0 => self.fetch_buckets(group),
                1 => self.find_leaves(group),
                2 => self.tree.prefetch_starts(leaves(group), START),
                _ => {
                    for sought in group.iter_mut().filter(|sought| sought.leaf != NONE) {
                        sought.slot = self.tree.leaf(sought.leaf).prefetch_row(sought.id);
                        self.tree.prefetch_above_parent(sought.leaf);
                    }
                }
            }
        }
        sought
    }

    fn fetch_buckets(&self, group: &[Sought<'_>]) {
        let mut buckets = [None; GROUP];
        for (both, sought) in buckets.iter_mut().zip(group) {
            *both = self.locator.buckets_for(sought.hash);
        }
        for bucket in buckets.into_iter().flatten().flatten() {
            prefetch(bucket);
        }
    }

    /// Which of the candidates is the right one would need the leaf; the first nearly always is.
    fn find_leaves(&self, group: &mut [Sought<'_>]) {
        for sought in &mut *group {
            sought.leaf = self.locator.find(sought.hash, Some).unwrap_or(NONE);
        }
        for leaf in leaves(group) {
            prefetch(&self.tree.leaves[leaf as usize]);
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

/// The leaves in which players seem to be.
fn leaves(group: &[Sought<'_>]) -> impl Iterator<Item = u32> {
    group.iter().map(|sought| sought.leaf).filter(|&leaf| leaf != NONE)
}

/// A player of a group, and the leaf in which it seems to be.
struct Sought<'a> {
    id: Packed<'a>,
    hash: u64,
    leaf: u32,
    /// Where in the leaf it seems to be.
    slot: Option<usize>,
}

impl Tree {
    /// Fetches the way to the places of these keys: by the leaf where that probably is, or down from the root. Then `more` of
    /// each leaf.
    fn descend(&self, ways: &[(u128, Option<u32>)], more: impl Fn(Leaf<'_>)) {
        if self.root == NONE {
            return;
        }
        let mut leaves = [NONE; WARM];
        let mut down = [(0, 0, NONE); WARM];
        let mut going_down = 0;
        for (at, (key, finger)) in ways.iter().enumerate() {
            match finger {
                Some(number) if (*number as usize) < self.leaves.len() => leaves[at] = *number,
                _ => {
                    down[going_down] = (at, *key, self.root);
                    going_down += 1;
                }
            }
        }
        let down = &mut down[..going_down];
        for _ in 0..self.height {
            for (_, key, number) in &*down {
                self.node(*number).prefetch_group(*key);
            }
            for (_, key, number) in &mut *down {
                let node = self.node(*number);
                *number = node.children[node.children_below(*key) - 1];
                if node.level > 1 {
                    self.node(*number).prefetch_pilots();
                }
            }
        }
        for (at, _, number) in down {
            leaves[*at] = *number;
        }
        let leaves = &leaves[..ways.len()];
        let live = |leaf: &u32| self.leaves[*leaf as usize].at != Address::NONE;
        for (step, range) in turns(leaves.len(), 3) {
            let group = &leaves[range];
            let live = || group.iter().copied().filter(live);
            match step {
                0 => group.iter().for_each(|leaf| prefetch(&self.leaves[*leaf as usize])),
                1 => {
                    self.prefetch_starts(live(), 2);
                    live().for_each(|leaf| self.prefetch_separators(leaf));
                }
                _ => live().for_each(|leaf| more(self.leaf(leaf))),
            }
        }
    }

    /// Asks for the first lines of some leaves, up to [`GROUP`] of them, and for what a climb reads of their parents.
    fn prefetch_starts(&self, leaves: impl Iterator<Item = u32>, lines: usize) {
        let mut starts = [(&[][..], None); GROUP];
        let mut count = 0;
        for (start, leaf) in starts.iter_mut().zip(leaves) {
            let parent = self.leaves[leaf as usize].parent.get();
            *start = (self.block(leaf), parent.map(|(parent, _)| self.node(parent)));
            count += 1;
        }
        for (block, parent) in &starts[..count] {
            prefetch(&block[0]);
            if let Some(parent) = parent {
                prefetch(*parent);
            }
        }
        for (block, _) in &starts[..count] {
            for line in block.chunks(LINE).take(lines).skip(1) {
                prefetch(&line[0]);
            }
        }
    }

    /// Asks where the leaf is to which a player with this key will probably go.
    #[inline]
    pub(super) fn prefetch_where(&self, key: SortKey) {
        if let Some(leaf) = self.expected(key) {
            prefetch(&self.leaves[leaf as usize]);
        }
    }

    /// Asks for the beginning of that leaf, once it is known where it is.
    #[inline]
    pub(super) fn prefetch_expected(&self, key: SortKey) {
        if let Some(leaf) = self.expected(key)
            && self.leaves[leaf as usize].at != Address::NONE
        {
            self.prefetch_separators(leaf);
            for line in self.block(leaf).chunks(LINE).take(2) {
                prefetch(&line[0]);
            }
        }
    }

    #[inline]
    fn expected(&self, key: SortKey) -> Option<u32> {
        let leaf = if self.trust.pays() { self.ends.get(key.folded)? } else { return None };
        ((leaf as usize) < self.leaves.len()).then_some(leaf)
    }

    /// Asks for what tells whether a key is in a leaf, and for the leaf's count.
    fn prefetch_separators(&self, leaf: u32) {
        if let Some((parent, index)) = self.leaves[leaf as usize].parent.get() {
            self.node(parent).prefetch_child(index);
        }
    }

    /// Asks for what a climb reads of the node above a leaf's parent.
    #[inline]
    fn prefetch_above_parent(&self, leaf: u32) {
        if let Some((parent, _)) = self.leaves[leaf as usize].parent.get()
            && let Some((above, index)) = self.node(parent).parent.get()
        {
            self.node(above).prefetch_count(index);
        }
    }

    /// Asks for what a climb reads of a leaf's parent.
    #[inline]
    pub(super) fn prefetch_parent(&self, leaf: u32) {
        if let Some((parent, _)) = self.leaves[leaf as usize].parent.get() {
            prefetch(self.node(parent));
        }
    }

    /// Asks for a leaf's block.
    #[inline]
    pub(super) fn prefetch_block(&self, leaf: u32) {
        self.blocks.prefetch(self.leaves[leaf as usize].at);
    }
}
