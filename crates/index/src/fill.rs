//! Filling the locator for a whole standing at once.
//!
//! A player's slot is anywhere in a table that is larger than any cache, so telling the locator of players one by one waits
//! for memory 25 million times. Here they are gathered first, 8 bytes each, in parts that fit a cache, and each part is put in
//! order: then every shard's players are side by side, and the shard is filled in one go.

use super::bucket::{LEAF_BITS, MAX_LEAVES};
use super::head::MAX_ROWS;
use super::locator::{Locator, PER_SHARD, shard_in};

/// Players of a part, so that it and its shards fit a cache together.
const PER_PART: usize = 1 << 16;
/// Parts that are written to at the same time: few enough for the ends of all to stay in the nearest cache.
const MAX_PARTS: usize = 256;
/// Bits of an entry that are from the low end of the hash, and those from its high end.
const LOW_BITS: u32 = 26;
const HIGH_BITS: u32 = 16;

const _: () = assert!(LEAF_BITS + LOW_BITS + HIGH_BITS == u64::BITS);
// The low bits name the shard, whichever of all players that leaves can hold are there.
const _: () = assert!(MAX_LEAVES * MAX_ROWS / PER_SHARD < 1 << LOW_BITS);

/// A player who waits for its slot: of the hash what the locator uses, and the leaf.
///
/// The low bits of the hash come first and reversed. A shard is named by its lowest bits, so entries in order are in the
/// order of shards, of which one may be split already and another not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u64);

impl Entry {
    fn new(hash: u64, leaf: u32) -> Self {
        let low = hash.reverse_bits() >> (u64::BITS - LOW_BITS);
        let high = hash >> (u64::BITS - HIGH_BITS);
        Self((low << HIGH_BITS | high) << LEAF_BITS | u64::from(leaf))
    }

    fn part(self, part_bits: u32) -> usize {
        usize::try_from(self.0.rotate_left(part_bits) & ((1 << part_bits) - 1)).unwrap_or(0)
    }

    /// A hash with the same bits at both ends.
    fn hash(self) -> u64 {
        let low = (self.0 >> (u64::BITS - LOW_BITS)).reverse_bits() >> (u64::BITS - LOW_BITS);
        (self.0 >> LEAF_BITS) << (u64::BITS - HIGH_BITS) | low
    }

    fn leaf(self) -> u32 {
        u32::try_from(self.0 & ((1 << LEAF_BITS) - 1)).expect("22 bits")
    }

    fn same_hash(self, other: Self) -> bool {
        self.0 >> LEAF_BITS == other.0 >> LEAF_BITS
    }
}

/// What is known of a hash: the bits at both ends.
#[derive(Clone, Copy)]
pub(super) struct Bits(u64);

impl Bits {
    const MASK: u64 = ((1 << LOW_BITS) - 1) | !(u64::MAX >> HIGH_BITS);

    /// A hash with these bits.
    pub(super) fn example(self) -> u64 {
        self.0
    }

    /// Whether a hash has them.
    pub(super) fn fit(self, hash: u64) -> bool {
        hash & Self::MASK == self.0
    }
}

/// The players of a load.
pub(super) struct Gathered {
    parts: Vec<Vec<Entry>>,
    part_bits: u32,
    len: usize,
}

impl Gathered {
    /// Ready for so many players; more or fewer may come.
    pub(super) fn new(expected: usize) -> Self {
        let parts = (expected / PER_PART).clamp(1, MAX_PARTS).next_power_of_two();
        let room = expected / parts + expected / parts / 16;
        let parts: Vec<_> = (0..parts).map(|_| Vec::with_capacity(room)).collect();
        Self { part_bits: parts.len().ilog2(), parts, len: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, hash: u64, leaf: u32) {
        let entry = Entry::new(hash, leaf);
        self.parts[entry.part(self.part_bits)].push(entry);
        self.len += 1;
    }

    /// A locator of all players, or none where a player came twice. Entries are alike for few players: whether all in some leaves
    /// whose hashes have the bits of one are different players is then for `differ` to say.
    pub(super) fn into_locator(self, differ: impl Fn(Bits, &[u32]) -> bool) -> Option<Locator> {
        let mut locator = Locator::with_shards_for(self.len);
        // Where far fewer came than were expected, a shard may reach over parts.
        let whole = self.len > 0 && locator.shards().ilog2() >= self.part_bits;
        let parts = if whole { self.parts } else { vec![self.parts.concat()] };
        for mut part in parts {
            part.sort_unstable();
            for alike in part.chunk_by(|a, b| a.same_hash(*b)).filter(|alike| alike.len() > 1) {
                let leaves: Vec<u32> = alike.iter().map(|entry| entry.leaf()).collect();
                if !differ(Bits(alike[0].hash()), &leaves) {
                    return None;
                }
            }
            let shards = locator.shards();
            let shard = |entry: &Entry| shard_in(entry.hash(), shards);
            for players in part.chunk_by(|a, b| shard(a) == shard(b)) {
                let slots = players.iter().map(|entry| (entry.hash(), entry.leaf()));
                locator.fill_shard(self.len, shard(&players[0]), slots);
            }
        }
        locator.fill_others();
        Some(locator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_the_leaf_and_both_ends_of_the_hash() {
        for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 0x8000_0000_0000_0001] {
            let leaf = 0x2b_cdef;
            let entry = Entry::new(hash, leaf);
            assert_eq!(entry.hash(), hash & 0xffff_0000_03ff_ffff, "{hash:x}");
            assert!(Bits(entry.hash()).fit(hash) && !Bits(entry.hash()).fit(hash ^ 1));
            assert_eq!(entry.leaf(), leaf);
            assert_eq!(entry.part(0), 0);
            assert_eq!(entry.part(1), usize::from(hash & 1 == 1));
        }
    }

    fn leaf(player: u64) -> u32 {
        u32::try_from(player / 40).unwrap()
    }

    #[test]
    fn everyone_who_was_gathered_is_found_whatever_the_hashes() {
        let mixed = |player: u64| player.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        for (players, expected, hash_of) in [
            (0, 0, &mixed as &dyn Fn(u64) -> u64),
            (1, 1, &mixed),
            (5_000, 0, &mixed),
            (5_000, 5_000_000, &mixed),
            (300_000, 300_000, &mixed),
            (2_000, 2_000, &|player| player % 3),
            (300, 0, &|_| u64::MAX),
        ] {
            let mut gathered = Gathered::new(expected);
            for player in 0..players as u64 {
                gathered.push(hash_of(player), leaf(player));
            }
            let locator = gathered.into_locator(|_, _| true).unwrap();
            locator.check();
            assert_eq!(locator.len(), players);
            for player in 0..players as u64 {
                let is_its = |held| (held == leaf(player)).then_some(());
                let found = locator.find(hash_of(player), is_its);
                assert!(found.is_some(), "player {player} of {players}");
            }
        }
    }

    #[test]
    fn alike_entries_are_looked_at_together() {
        let mut gathered = Gathered::new(5);
        for (hash, leaf) in [(7, 2), (8, 3), (7, 0), (7, 0), (9, 1)] {
            gathered.push(hash, leaf);
        }
        let differ = |bits: Bits, leaves: &[u32]| {
            assert_eq!((bits.example(), leaves), (7, &[0, 0, 2][..]));
            false
        };
        assert!(gathered.into_locator(differ).is_none());
    }
}
