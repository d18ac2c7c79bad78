//! Many players at once: their cache misses side by side instead of one after another.
//!
//! What a player needs is known step by step: the buckets from the id, the seat from a bucket, the leaf's address and parent from
//! the table of leaves, and from there the row, the order and the node above. Players take these steps in turns, a few at a time,
//! so that the memory has delivered by the time it is read, and are looked at while others are still on their way.
//!
//! What a step asks for is gathered first and then asked for in one go. On a processor that has to look up the address of a line
//! (memory this large is more than it remembers addresses of), a request holds up the instructions after it, but not the requests
//! right after it.

use std::ops::Range;

use super::bucket::Bucket;
use super::heap::Address;
use super::leaf::Leaf;
use super::locator::candidates;
use super::mem::{LINE, prefetch, prefetch_all};
use super::node::{number_of, score_number};
use super::packed::{Buffer, Packed};
use super::seat::Seat;
use super::tree::{NONE, Parts, Place, Tree, row_in};
use super::{Found, RankIndex, Record, Spot, locate};
use crate::{Position, SortKey, board::Ties};

/// Players to fetch ahead in one go. More would push each other out of the cache before they are used.
pub const WARM: usize = 64;

/// Players who take a step together. The processor has the addresses of some seventy pages at hand, and a player needs six; with groups of
/// 24, those who were fetched first had been forgotten again by the time that they were looked at, and a look-up took half as long again.
const GROUP: usize = 3;

impl RankIndex {
    /// Fetches what finding, ranking and updating these players will need, up to [`WARM`] of them. Work on a large batch
    /// goes in groups of so many: warm a group, then use it.
    pub fn warm(&self, ids: &[&str]) {
        let ids = &ids[..ids.len().min(WARM)];
        self.fetch(ids, |_| {});
    }

    /// [`look_up`](Self::look_up) for up to [`WARM`] players at once, in their order.
    pub fn look_up_many(&self, ids: &[&str], mut found: impl FnMut(Option<(Record, Spot)>)) {
        self.visit_many(ids, |seen| {
            found(seen.map(|(spot, leaf)| (leaf.record_in(spot.seat.slot()), spot)));
        });
    }

    /// The same as [`warm`](Self::warm) for players who were looked up.
    pub fn warm_spots(&self, spots: &[Spot]) {
        let spots = &spots[..spots.len().min(WARM)];
        for (step, range) in turns(spots.len(), 2) {
            let group = &spots[range];
            if step > 0 {
                // Someone may have left in the meantime, and the leaf with it.
                let held = |spot: &Spot| self.tree.in_use(spot.seat.leaf()).map(|_| spot.seat);
                self.tree.fetch_seats(group.iter().map(held));
                continue;
            }
            for spot in group {
                self.tree.leaves.get(spot.seat.leaf() as usize).into_iter().for_each(prefetch);
                self.locator.buckets_for(spot.hash).into_iter().flatten().for_each(prefetch);
            }
        }
    }

    /// [`find`](Self::find) for many players, in their order.
    pub fn find_many(&self, ids: &[&str]) -> Vec<Option<Found>> {
        let mut all = Vec::with_capacity(ids.len());
        for ids in ids.chunks(WARM) {
            self.visit_many(ids, |seen| {
                all.push(seen.map(|(Spot { seat, .. }, leaf)| {
                    let before = self.tree.before_leaf(seat.leaf());
                    self.found(before, leaf, seat.slot())
                }));
            });
        }
        all
    }

    /// [`position`](Self::position) or [`shared_position`](Self::shared_position) for up to [`WARM`] players at once,
    /// in their order.
    pub fn positions(
        &self,
        ids: &[&str],
        ties: Ties,
        mut found: impl FnMut(Option<(Position, Record)>),
    ) {
        if ties == Ties::Earliest {
            self.visit_many(ids, |seen| {
                found(seen.map(|(Spot { seat, .. }, leaf)| {
                    let place = Place { leaf: seat.leaf(), row: row_in(leaf, seat.slot()) };
                    (self.tree.position(place), leaf.record_in(seat.slot()))
                }));
            });
            return;
        }
        let mut records = [None; WARM];
        let mut at = 0;
        self.visit_many(ids, |seen| {
            records[at] = seen.map(|(spot, leaf)| leaf.record_in(spot.seat.slot()));
            at += 1;
        });
        let records = &records[..ids.len()];
        if self.tally.is_none() {
            let mut ways = [(0, None); WARM];
            for (way, record) in ways.iter_mut().zip(records) {
                way.0 = score_number(record.map_or(0, |record| record.key.folded));
            }
            self.tree.descend(&ways[..records.len()]);
        }
        for record in records {
            found(record.map(|record| (self.before_score(record.key.folded), record)));
        }
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
        self.fetch(ids, |Sought { id, hash, seat, .. }| {
            let seen = |seat: Seat| (Spot { seat, hash: *hash }, self.tree.leaf(seat.leaf()));
            let here = seat.map(seen).filter(|(spot, leaf)| leaf.is_in(spot.seat.slot(), *id));
            visit(here.or_else(|| locate(&self.tree, &self.locator, *hash, *id).map(seen)));
        });
    }

    /// Calls `visit` with players whose leaves are in the cache by then. Which of the candidates is the right one would need the leaf;
    /// the first nearly always is.
    fn fetch(&self, ids: &[&str], mut visit: impl FnMut(&Sought<'_>)) {
        let mut buffers = vec![Buffer::new(); ids.len()];
        let pack = |(id, buffer)| Sought {
            id: Packed::new(id, buffer),
            hash: 0,
            buckets: None,
            seat: None,
        };
        let mut sought: Vec<Sought<'_>> = ids.iter().copied().zip(&mut buffers).map(pack).collect();
        // Not right after packing: bytes that were just written in two pieces cannot be read in others at once.
        for sought in &mut sought {
            sought.hash = sought.id.hash();
            sought.buckets = self.locator.buckets_for(sought.hash);
        }
        for (step, range) in turns(sought.len(), 4) {
            let group = &mut sought[range];
            match step {
                0 => {
                    for bucket in group.iter().filter_map(|sought| sought.buckets).flatten() {
                        prefetch(bucket);
                    }
                }
                1 => {
                    for sought in group.iter_mut() {
                        sought.seat = sought.buckets.and_then(|[first, second]| {
                            let candidate = |bucket| candidates(bucket, sought.hash).next();
                            candidate(first).or_else(|| candidate(second))
                        });
                    }
                    for seat in group.iter().filter_map(|sought| sought.seat) {
                        prefetch(&self.tree.leaves[seat.leaf() as usize]);
                    }
                }
                2 => self.tree.fetch_seats(group.iter().map(|sought| sought.seat)),
                _ => group.iter().for_each(&mut visit),
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

/// A player of a group, and the seat in which it seems to be.
struct Sought<'a> {
    id: Packed<'a>,
    hash: u64,
    buckets: Option<[&'a Bucket; 2]>,
    seat: Option<Seat>,
}

impl Tree {
    /// Fetches the way to the places of these keys: by the leaf where that probably is, or down from the root.
    fn descend(&self, ways: &[(u128, Option<u32>)]) {
        if self.root == NONE {
            return;
        }
        let mut leaves = [NONE; WARM];
        let mut down = [(0, 0, NONE); WARM];
        let mut going_down = 0;
        for (at, (key, finger)) in ways.iter().enumerate() {
            if let Some(number) = finger {
                leaves[at] = *number;
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
                    self.node(*number).prefetch_pilots();
                }
            }
        }
        for (at, _, number) in down {
            leaves[*at] = *number;
        }
        let leaves = &leaves[..ways.len()];
        let live = |leaf: &u32| self.leaves[*leaf as usize].at() != Address::NONE;
        for (step, range) in turns(leaves.len(), 3) {
            let group = &leaves[range];
            let live = || group.iter().copied().filter(live);
            match step {
                0 => group.iter().for_each(|leaf| prefetch(&self.leaves[*leaf as usize])),
                1 => live().for_each(|leaf| {
                    self.prefetch_parent(leaf);
                    self.prefetch_start(leaf);
                }),
                _ => live().for_each(|leaf| self.prefetch_end(leaf)),
            }
        }
    }

    /// Asks for what some players, up to [`GROUP`] of them, have in their leaves, and for what a climb reads of the parents.
    fn fetch_seats(&self, seats: impl Iterator<Item = Option<Seat>>) {
        let mut all = [None; GROUP];
        for (parts, seat) in all.iter_mut().zip(seats) {
            *parts = seat.map(|seat| {
                let parent = self.leaves[seat.leaf() as usize].parent().get();
                (self.parts_at(seat), parent.map(|(parent, _)| self.nodes.counts(parent)))
            });
        }
        for (parts, parent) in all.iter().flatten() {
            prefetch(parts.row[0]);
            if let Some(parent) = parent {
                prefetch(*parent);
            }
        }
        for (parts, _) in all.iter().flatten() {
            prefetch_all(parts.start);
            prefetch(parts.row[1]);
        }
    }

    /// Asks for the header and the order of a leaf.
    fn prefetch_start(&self, leaf: u32) {
        prefetch_all(self.parts_at(Seat::new(leaf, 0)).start);
    }

    /// Asks for the last row of a leaf, the slot of the next one, and the next leaf's first key where that matters.
    fn prefetch_end(&self, number: u32) {
        let leaf = self.leaf(number);
        if !leaf.header.closed() {
            self.prefetch_separators(number);
        }
        for row in [leaf.rows() - 1, leaf.rows().min(leaf.header.cap() - 1)] {
            prefetch(&leaf.block[leaf.header.at(leaf.slot(row))]);
        }
    }

    /// Asks where the leaf is to which a player will probably go.
    #[inline]
    pub(super) fn prefetch_where(&self, expected: Option<u32>) {
        if let Some(leaf) = expected {
            prefetch(&self.leaves[leaf as usize]);
        }
    }

    /// Asks for the beginning of that leaf, once it is known where it is.
    #[inline]
    pub(super) fn prefetch_expected(&self, expected: Option<u32>) {
        if let Some(held) = expected.and_then(|leaf| self.in_use(leaf)) {
            if let Some((parent, _)) = held.parent().get() {
                prefetch(self.nodes.counts(parent));
            }
            for line in self.blocks.block(held.at()).chunks(LINE).take(3) {
                prefetch(&line[0]);
            }
        }
    }

    /// Asks for what tells whether a key is in a leaf, and for the leaf's count.
    fn prefetch_separators(&self, leaf: u32) {
        if let Some((parent, index)) = self.leaves[leaf as usize].parent().get() {
            self.node(parent).prefetch_child(index);
        }
    }

    /// Asks for what a climb reads of a leaf's parent.
    #[inline]
    pub(super) fn prefetch_parent(&self, leaf: u32) {
        if let Some((parent, _)) = self.leaves[leaf as usize].parent().get() {
            prefetch(self.nodes.counts(parent));
        }
    }

    /// Asks for a leaf's block.
    #[inline]
    pub(super) fn prefetch_block(&self, leaf: u32) {
        prefetch_all(self.blocks.whole(self.leaves[leaf as usize].at()));
    }
}

impl Parts<'_> {
    /// Asks for all of it.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch_all(self.start);
        for part in self.row {
            prefetch(part);
        }
    }
}
