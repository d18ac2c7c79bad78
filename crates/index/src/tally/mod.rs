//! How many players have each score.
//!
//! A shared rank is the number of players with a smaller folded score. The tree can tell, for some cache misses. But 25 million
//! players have some five thousand different scores, and a count of each is some 90 KiB, which stay in the near caches.
//!
//! # Structure
//! The scores are in order, in chunks of up to 64. What is read of all chunks lies side by side, apart from them.
//! ```text
//!   floors   -5000   -4936   -4872   …     from which score on
//!   totals     81k     79k     80k   …     how many players; and in `sums` those of every 16 chunks
//!               │       │       │
//!   chunks    64 scores and the players of each; and in `blocks` those of every 16 scores
//! ```
//! Sums are of sixteen numbers, of which those that do not count are masked: four at once, and no branch to guess wrong.
//!
//! # Invariants
//! - A chunk has a score, and a score has a player.
//! - Two chunks side by side have more than 32 scores together, so there are less than 64 bytes for each score.
//! - A chunk's scores are from its floor on and below the next chunk's. Nobody need have the floor itself.
//!
//! # Cost
//! A new chunk moves something of all chunks. That is nothing with thousands of scores and still little with a hundred
//! thousand; with many millions it would be too much.

mod chunk;
#[cfg(test)]
mod tests;

use super::lanes::sum_before;
use chunk::{Chunk, SCORES, WIDTH};

/// Two neighbours with so few scores become one chunk, which is half full then and far from being split again.
const JOINED: usize = SCORES / 2;

/// The players of each score, at most 2^32 − 1 together.
pub(super) struct Tally {
    scores: usize,
    players: u32,
    floors: Vec<i64>,
    /// Filled up with zeros to whole sixteens, as are `sums`.
    totals: Vec<u32>,
    sums: Vec<u32>,
    #[expect(
        clippy::vec_box,
        reason = "a new chunk is to move pointers and not 800 bytes for each"
    )]
    chunks: Vec<Box<Chunk>>,
}

impl Tally {
    /// Holds no memory of its own.
    pub(super) const fn new() -> Self {
        Self {
            scores: 0,
            players: 0,
            floors: Vec::new(),
            totals: Vec::new(),
            sums: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// So many players more with this score.
    #[inline]
    pub(super) fn add(&mut self, folded: i64, players: u32) {
        let all = self.players.checked_add(players);
        self.players = all.expect("a tally counts players in 32 bits");
        let at = self.chunk_of(folded);
        let place = self.chunks.get(at).map_or(0, |chunk| chunk.place(folded));
        match self.chunks.get_mut(at) {
            Some(chunk) if chunk.has(place, folded) => {
                chunk.count_up(place, players);
                self.totals[at] += players;
                self.sums[at / WIDTH] += players;
            }
            _ if players > 0 => self.add_score(at, place, folded, players),
            _ => {}
        }
    }

    /// One player less with this score, which is forgotten with its last player.
    #[inline]
    pub(super) fn remove(&mut self, folded: i64) {
        let at = self.chunk_of(folded);
        let place = self.chunks.get(at).map_or(0, |chunk| chunk.place(folded));
        let held = self.chunks.get_mut(at).filter(|chunk| chunk.has(place, folded));
        let last = held.expect("a player who leaves a score has had it").count_down(place);
        self.totals[at] -= 1;
        self.sums[at / WIDTH] -= 1;
        self.players -= 1;
        if last {
            self.remove_score(at, place);
        }
    }

    /// A player who had one score has another.
    #[inline]
    pub(super) fn shift(&mut self, from: i64, to: i64) {
        let at = self.chunk_of(from);
        let next = self.floors.get(at + 1);
        // Most go to a score of the same chunk that others have as well.
        let near = self.floors[at] <= to && next.is_none_or(|&next| to < next);
        if !(near && self.chunks[at].shift(from, to)) {
            self.remove(from);
            self.add(to, 1);
        }
    }

    /// How many players have a smaller score, whether or not anybody has this one.
    #[inline]
    pub(super) fn before(&self, folded: i64) -> u64 {
        let at = self.chunk_of(folded);
        let Some(chunk) = self.chunks.get(at) else { return 0 };
        let group = at / WIDTH;
        let sixteen = group / WIDTH;
        // None with less than some ten thousand scores.
        let far: u32 = self.sums[..sixteen * WIDTH].iter().sum();
        let groups = sum_before(&self.sums.as_chunks::<WIDTH>().0[sixteen], group % WIDTH);
        let chunks = sum_before(&self.totals.as_chunks::<WIDTH>().0[group], at % WIDTH);
        u64::from(far + groups + chunks + chunk.before(folded))
    }

    /// How many different scores there are.
    pub(super) fn scores(&self) -> usize {
        self.scores
    }

    /// Memory held outside of the struct.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * size_of::<Chunk>()
            + self.chunks.capacity() * size_of::<Box<Chunk>>()
            + self.floors.capacity() * size_of::<i64>()
            + (self.totals.capacity() + self.sums.capacity()) * size_of::<u32>()
    }

    /// The chunk that has the score if any has.
    #[inline]
    fn chunk_of(&self, folded: i64) -> usize {
        self.floors.partition_point(|&floor| floor <= folded).saturating_sub(1)
    }

    #[cold]
    fn add_score(&mut self, at: usize, place: usize, folded: i64, players: u32) {
        self.scores += 1;
        let Some(chunk) = self.chunks.get_mut(at) else {
            return self.insert_chunk(at, folded, Chunk::one(folded, players));
        };
        self.floors[at] = self.floors[at].min(folded);
        if chunk.len() < SCORES {
            chunk.insert(place, folded, players);
            self.totals[at] += players;
            self.sums[at / WIDTH] += players;
            return;
        }
        match place {
            // Scores that come one after the other, upwards or downwards, leave full chunks behind.
            SCORES if at + 1 == self.floors.len() => {
                self.insert_chunk(at + 1, folded, Chunk::one(folded, players));
            }
            0 if at == 0 => {
                self.floors[at] = chunk.first();
                self.insert_chunk(at, folded, Chunk::one(folded, players));
            }
            _ => {
                let mut upper = chunk.split();
                match place.checked_sub(chunk.len()) {
                    Some(place) => upper.insert(place, folded, players),
                    None => chunk.insert(place, folded, players),
                }
                self.totals[at] = chunk.total();
                self.insert_chunk(at + 1, upper.first(), upper);
            }
        }
    }

    #[cold]
    fn remove_score(&mut self, at: usize, place: usize) {
        self.scores -= 1;
        self.chunks[at].remove(place);
        let len = |at: usize| self.chunks.get(at).map_or(SCORES, |chunk| chunk.len());
        if len(at) == 0 {
            self.remove_chunk(at);
        } else if len(at) + len(at + 1) <= JOINED {
            self.join(at);
        } else if at > 0 && len(at - 1) + len(at) <= JOINED {
            self.join(at - 1);
        }
    }

    /// Makes one chunk of this and the next.
    fn join(&mut self, at: usize) {
        self.totals[at] += self.totals[at + 1];
        let upper = self.remove_chunk(at + 1);
        self.chunks[at].join(&upper);
    }

    fn insert_chunk(&mut self, at: usize, floor: i64, chunk: Chunk) {
        self.floors.insert(at, floor);
        self.totals.insert(at, chunk.total());
        self.chunks.insert(at, Box::new(chunk));
        self.chunks_changed();
    }

    fn remove_chunk(&mut self, at: usize) -> Box<Chunk> {
        self.floors.remove(at);
        self.totals.remove(at);
        let chunk = self.chunks.remove(at);
        self.chunks_changed();
        if self.chunks.len() * 4 < self.chunks.capacity() {
            self.floors.shrink_to_fit();
            self.totals.shrink_to_fit();
            self.sums.shrink_to_fit();
            self.chunks.shrink_to_fit();
        }
        chunk
    }

    fn chunks_changed(&mut self) {
        self.totals.resize(self.chunks.len().next_multiple_of(WIDTH), 0);
        let groups = self.totals.as_chunks::<WIDTH>().0;
        self.sums.clear();
        self.sums.extend(groups.iter().map(|group| group.iter().sum::<u32>()));
        self.sums.resize(groups.len().next_multiple_of(WIDTH), 0);
    }
}
