//! Filling the locator for a whole standing at once.
//!
//! A player's slot is anywhere in a table that is larger than any cache, so telling the locator of players one by one waits
//! for memory 25 million times. Here they are gathered first, 8 bytes each, in parts that fit a cache, and each part is put in
//! order: then every shard's players are side by side, and the shard is filled in one go.

use super::head::MAX_ROWS;
use super::locator::{Locator, PER_SHARD, shard_in};
use super::seat::{MAX_LEAVES, Seat};

/// Players of a part, so that it and its shards fit a cache together.
const PER_PART: usize = 1 << 16;
/// Parts that are written to at the same time: few enough for the ends of all to stay in the nearest cache.
const MAX_PARTS: usize = 256;
/// Bits of an entry that are from the low end of the hash, and those from its high end.
const LOW_BITS: u32 = 19;
const HIGH_BITS: u32 = 16;

const _: () = assert!(Seat::BITS + LOW_BITS + HIGH_BITS == u64::BITS);
// The low bits name the shard, whichever of all players that leaves can hold are there.
const _: () = assert!(MAX_LEAVES * MAX_ROWS / PER_SHARD < 1 << LOW_BITS);

/// A player who waits for its slot: of the hash what the locator uses, and the seat.
///
/// The low bits of the hash come first and reversed. A shard is named by its lowest bits, so entries in order are in the
/// order of shards, of which one may be split already and another not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u64);

impl Entry {
    fn new(hash: u64, seat: Seat) -> Self {
        let low = hash.reverse_bits() >> (u64::BITS - LOW_BITS);
        let high = hash >> (u64::BITS - HIGH_BITS);
        Self((low << HIGH_BITS | high) << Seat::BITS | u64::from(seat.code()))
    }

    fn part(self, part_bits: u32) -> usize {
        usize::try_from(self.0.rotate_left(part_bits) & ((1 << part_bits) - 1)).unwrap_or(0)
    }

    /// A hash with the same bits at both ends.
    fn hash(self) -> u64 {
        let low = (self.0 >> (u64::BITS - LOW_BITS)).reverse_bits() >> (u64::BITS - LOW_BITS);
        (self.0 >> Seat::BITS) << (u64::BITS - HIGH_BITS) | low
    }

    fn seat(self) -> Seat {
        let code = self.0 & ((1 << Seat::BITS) - 1);
        u32::try_from(code).ok().and_then(Seat::from_code).expect("every entry has a seat")
    }

    fn same_hash(self, other: Self) -> bool {
        self.0 >> Seat::BITS == other.0 >> Seat::BITS
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
    pub(super) fn push(&mut self, hash: u64, seat: Seat) {
        let entry = Entry::new(hash, seat);
        self.parts[entry.part(self.part_bits)].push(entry);
        self.len += 1;
    }

    /// A locator of all players, or none where a player came twice. Entries are alike for one in a thousand
    /// players: whether both are the same player is then for `same` to say.
    pub(super) fn into_locator(self, same: impl Fn(Seat, Seat) -> bool) -> Option<Locator> {
        let mut locator = Locator::with_shards_for(self.len);
        // Where far fewer came than were expected, a shard may reach over parts.
        let whole = self.len > 0 && locator.shards().ilog2() >= self.part_bits;
        let parts = if whole { self.parts } else { vec![self.parts.concat()] };
        for mut part in parts {
            part.sort_unstable();
            for alike in part.chunk_by(|a, b| a.same_hash(*b)).filter(|alike| alike.len() > 1) {
                for (at, a) in alike.iter().enumerate() {
                    if alike[..at].iter().any(|b| same(a.seat(), b.seat())) {
                        return None;
                    }
                }
            }
            let shards = locator.shards();
            let shard = |entry: &Entry| shard_in(entry.hash(), shards);
            for players in part.chunk_by(|a, b| shard(a) == shard(b)) {
                let slots = players.iter().map(|entry| (entry.hash(), entry.seat()));
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
    fn an_entry_keeps_the_seat_and_both_ends_of_the_hash() {
        for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 0x8000_0000_0000_0001] {
            let seat = Seat::new(0x2b_cdef, 101);
            let entry = Entry::new(hash, seat);
            assert_eq!(entry.hash(), hash & 0xffff_0000_0007_ffff, "{hash:x}");
            assert_eq!(entry.seat(), seat);
            assert_eq!(entry.part(0), 0);
            assert_eq!(entry.part(1), usize::from(hash & 1 == 1));
        }
    }

    fn seat(player: u64) -> Seat {
        Seat::new(u32::try_from(player / 40).unwrap(), usize::try_from(player % 40).unwrap())
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
                gathered.push(hash_of(player), seat(player));
            }
            let locator = gathered.into_locator(|_, _| false).unwrap();
            locator.check();
            assert_eq!(locator.len(), players);
            for player in 0..players as u64 {
                let is_its = |held| (held == seat(player)).then_some(());
                let found = locator.find(hash_of(player), is_its);
                assert!(found.is_some(), "player {player} of {players}");
            }
        }
    }

    #[test]
    fn alike_entries_are_compared_each_with_each() {
        let mut gathered = Gathered::new(3);
        let seats = [0, 1, 2].map(|leaf| Seat::new(leaf, 5));
        for seat in seats {
            gathered.push(7, seat);
        }
        let [first, _, last] = seats;
        let same = |a, b| (a, b) == (last, first) || (a, b) == (first, last);
        assert!(gathered.into_locator(same).is_none());
    }
}
