//! Many players at once: their cache misses side by side instead of one after another.
//!
//! What a player needs is known step by step: the buckets from the id, the leaf's address and parent from a bucket, the
//! beginning of the leaf from that, and from there the one line of each column. Each step is taken for everyone before the next,
//! so that the memory has delivered by the time it is read.

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
        self.visit_many(ids, |_, place| {
            found(place.map(|place| (self.tree.leaf(place.leaf).record(place.row), Spot(place))));
        });
    }

    /// [`position`](Self::position) or [`shared_position`](Self::shared_position) for up to [`WARM`] players at once,
    /// in their order.
    pub fn positions(
        &self,
        ids: &[&str],
        ties: Ties,
        mut found: impl FnMut(Option<(Position, Record)>),
    ) {
        let mut places = [None; WARM];
        let mut scores = [0; WARM];
        self.visit_many(ids, |at, place| {
            places[at] = place;
            scores[at] = place.map_or(0, |place| self.tree.leaf(place.leaf).folded(place.row));
        });
        if ties == Ties::Share {
            let keys = scores.map(|score| (score_number(score), self.tree.starts.get(score)));
            self.tree.descend(&keys[..ids.len().min(WARM)]);
        }
        for (place, score) in places.into_iter().zip(scores).take(ids.len()) {
            found(place.map(|place| {
                let position = match ties {
                    Ties::Earliest => self.tree.position(place),
                    Ties::Share => self.before_score(score),
                };
                (position, self.tree.leaf(place.leaf).record(place.row))
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
        self.tree.descend(&ways[..keys.len()]);
    }

    fn visit_many(&self, ids: &[&str], mut visit: impl FnMut(usize, Option<Place>)) {
        let mut buffers = [const { Buffer::new() }; WARM];
        let sought = self.fetch(ids, &mut buffers);
        for (at, Sought { id, hash, leaf }) in sought.into_iter().enumerate() {
            let row = if leaf == NONE { None } else { self.tree.leaf(leaf).row_of(id) };
            let place = match row {
                Some(row) => Some(Place { leaf, row }),
                None if self.is_empty() => None,
                None => locate(&self.tree, &self.locator, hash, id, true),
            };
            visit(at, place);
        }
    }

    fn fetch<'a>(&self, ids: &[&'a str], buffers: &'a mut [Buffer; WARM]) -> Vec<Sought<'a>> {
        let mut sought: Vec<Sought<'a>> = Vec::with_capacity(WARM);
        for (id, buffer) in ids.iter().zip(buffers) {
            let id = Packed::new(id, buffer);
            let hash = id.hash();
            self.locator.prefetch(hash);
            sought.push(Sought { id, hash, leaf: NONE });
        }
        // Which of the candidates is the right one would need the leaf; the first nearly always is.
        for Sought { hash, leaf, .. } in &mut sought {
            *leaf = self.locator.find(*hash, Some).unwrap_or(NONE);
            if *leaf != NONE {
                prefetch(&self.tree.leaves[*leaf as usize]);
            }
        }
        for &Sought { leaf, .. } in sought.iter().filter(|sought| sought.leaf != NONE) {
            self.tree.prefetch_start(leaf, START);
            self.tree.prefetch_parent(leaf);
        }
        for &Sought { leaf, id, .. } in sought.iter().filter(|sought| sought.leaf != NONE) {
            self.tree.leaf(leaf).prefetch_row(id);
        }
        sought
    }
}

/// A player of a group, and the leaf in which it seems to be.
struct Sought<'a> {
    id: Packed<'a>,
    hash: u64,
    leaf: u32,
}

impl Tree {
    /// Fetches the way to the places of these keys: by the leaf where that probably is, or down from the root.
    fn descend(&self, ways: &[(u128, Option<u32>)]) {
        if self.root == NONE {
            return;
        }
        let mut leaves = [NONE; WARM];
        let mut down = [(0, NONE); WARM];
        let mut going_down = 0;
        for (leaf, (key, finger)) in leaves.iter_mut().zip(ways) {
            match finger {
                Some(number) if (*number as usize) < self.leaves.len() => {
                    *leaf = *number;
                    prefetch(&self.leaves[*number as usize]);
                }
                _ => {
                    down[going_down] = (*key, self.root);
                    going_down += 1;
                }
            }
        }
        let down = &mut down[..going_down];
        for _ in 0..self.height {
            for (key, number) in &*down {
                self.node(*number).prefetch_group(*key);
            }
            for (key, number) in &mut *down {
                let node = self.node(*number);
                *number = node.children[node.children_below(*key) - 1];
                if node.level > 1 {
                    self.node(*number).prefetch_pilots();
                } else {
                    prefetch(&self.leaves[*number as usize]);
                }
            }
        }
        let down = down.iter().map(|(_, leaf)| *leaf);
        let all = || leaves.into_iter().filter(|&leaf| leaf != NONE).chain(down.clone());
        let live = |leaf: &u32| self.leaves[*leaf as usize].at != Address::NONE;
        for leaf in all().filter(live) {
            self.prefetch_start(leaf, 2);
            self.prefetch_separators(leaf);
        }
        for leaf in all().filter(live) {
            Leaf::new(self.block(leaf)).prefetch_numbers();
        }
    }

    /// Asks for what tells whether a key is in a leaf, and for the leaf's count.
    fn prefetch_separators(&self, leaf: u32) {
        if let Some((parent, index)) = self.leaves[leaf as usize].parent.get() {
            self.node(parent).prefetch_child(index);
        }
    }

    /// Asks for what a climb reads of a leaf's parent.
    #[inline]
    pub(super) fn prefetch_parent(&self, leaf: u32) {
        if let Some((parent, _)) = self.leaves[leaf as usize].parent.get() {
            prefetch(self.node(parent));
        }
    }

    /// Asks for the first lines of a leaf.
    #[inline]
    fn prefetch_start(&self, leaf: u32, lines: usize) {
        for line in self.block(leaf).chunks(LINE).take(lines) {
            prefetch(&line[0]);
        }
    }

    /// Asks for a leaf's block.
    #[inline]
    pub(super) fn prefetch_block(&self, leaf: u32) {
        self.blocks.prefetch(self.leaves[leaf as usize].at);
    }
}
