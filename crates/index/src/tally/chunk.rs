//! Up to 64 scores in order, with the players of each.

use super::sum_before;

/// Numbers that are added up at once.
pub(super) const WIDTH: usize = 16;
/// Scores of a chunk, at most: a new score moves half of them, a new chunk something of all chunks.
pub(super) const SCORES: usize = 4 * WIDTH;

/// The first `len` scores are in use. There are no players where there is no score.
pub(super) struct Chunk {
    scores: [i64; SCORES],
    players: [u32; SCORES],
    /// The players of every sixteen scores.
    blocks: [u32; SCORES / WIDTH],
    len: usize,
}

impl Chunk {
    pub(super) fn one(folded: i64, players: u32) -> Self {
        Self::of(&[folded], &[players])
    }

    fn of(scores: &[i64], players: &[u32]) -> Self {
        let empty = ([0; SCORES], [0; SCORES], [0; SCORES / WIDTH]);
        let mut chunk = Self { scores: empty.0, players: empty.1, blocks: empty.2, len: 0 };
        chunk.append(scores, players);
        chunk
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn first(&self) -> i64 {
        self.scores[0]
    }

    /// The players of all scores.
    pub(super) fn total(&self) -> u32 {
        self.blocks.iter().sum()
    }

    /// How many scores are smaller.
    #[inline]
    pub(super) fn place(&self, folded: i64) -> usize {
        // Most boards have somebody at every score: then it is how far this one is from the first.
        let distance = folded.wrapping_sub(self.scores[0]).cast_unsigned();
        match usize::try_from(distance) {
            Ok(place) if self.has(place, folded) => place,
            _ => self.scores[..self.len].partition_point(|&score| score < folded),
        }
    }

    #[inline]
    pub(super) fn has(&self, place: usize, folded: i64) -> bool {
        place < self.len && self.scores.get(place) == Some(&folded)
    }

    /// How many players have a smaller score.
    #[inline]
    pub(super) fn before(&self, folded: i64) -> u32 {
        let place = self.place(folded);
        let block = self.players.as_chunks::<WIDTH>().0.get(place / WIDTH);
        sum_before(&self.blocks, place / WIDTH)
            + block.map_or(0, |block| sum_before(block, place % WIDTH))
    }

    #[inline]
    pub(super) fn count_up(&mut self, place: usize, players: u32) {
        self.players[place] += players;
        self.blocks[place / WIDTH] += players;
    }

    /// One player less; whether that was the last one.
    #[inline]
    pub(super) fn count_down(&mut self, place: usize) -> bool {
        self.players[place] -= 1;
        self.blocks[place / WIDTH] -= 1;
        self.players[place] == 0
    }

    /// Counts a player at another score, if both are here and the one has others left. Otherwise changes nothing.
    #[inline]
    pub(super) fn shift(&mut self, from: i64, to: i64) -> bool {
        let (old, new) = (self.place(from), self.place(to));
        let counts = self.has(old, from) && self.has(new, to) && self.players[old] > 1;
        if counts {
            self.count_down(old);
            self.count_up(new, 1);
        }
        counts
    }

    pub(super) fn insert(&mut self, place: usize, folded: i64, players: u32) {
        self.scores.copy_within(place..self.len, place + 1);
        self.players.copy_within(place..self.len, place + 1);
        self.scores[place] = folded;
        self.players[place] = players;
        self.set_len(self.len + 1);
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.scores.copy_within(place + 1..self.len, place);
        self.players.copy_within(place + 1..self.len, place);
        self.set_len(self.len - 1);
    }

    /// Takes the upper half away.
    pub(super) fn split(&mut self) -> Self {
        let half = self.len / 2;
        let upper = Self::of(&self.scores[half..self.len], &self.players[half..self.len]);
        self.set_len(half);
        upper
    }

    pub(super) fn join(&mut self, upper: &Self) {
        self.append(&upper.scores[..upper.len], &upper.players[..upper.len]);
    }

    fn append(&mut self, scores: &[i64], players: &[u32]) {
        let all = self.len..self.len + scores.len();
        self.scores[all.clone()].copy_from_slice(scores);
        self.players[all.clone()].copy_from_slice(players);
        self.set_len(all.end);
    }

    fn set_len(&mut self, len: usize) {
        self.len = len;
        self.players[len..].fill(0);
        for (sum, block) in self.blocks.iter_mut().zip(self.players.as_chunks::<WIDTH>().0) {
            *sum = block.iter().sum();
        }
    }
}
