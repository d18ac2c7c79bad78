//! From a player's hash to the leaf it is in, in 4 bytes and 6 bits.
//!
//! The leaf holds the id, so this table does not: a slot is 16 bits of the hash and the number of a leaf, and a lookup
//! yields candidates that the caller confirms in the leaf (one in twenty is a false one). Two consequences carry the design:
//! - Two ids with the same bits in the same shard have the same two buckets, and it does not matter which slot is whose: the
//!   table is a multiset of (hash bits, leaf).
//! - A slot knows both its buckets, so full buckets make room by moving slots (cuckoo hashing) without looking at any id.
//!   With 13 slots in a bucket, one cache line, shards run at up to 97 percent.
//!
//! The table grows without ever doubling at once. Shards are split one at a time as the table grows (linear hashing: the low
//! bits of the hash choose the shard), and each shard has just the buckets it needs. A split has to know one bit more of each
//! hash, and asks for the hashes of those who are there: some 3,000 reads of memory that do not wait for each other.

use std::ops::Range;

use super::bucket::{
    Bucket, SLOTS, Slot, bits_of, buckets_of, leaf_in, matching, place, pour, read, set_leaf, write,
};
use super::heap::{Address, Heap, grow_gently};
use super::mem::{LINE, prefetch};

/// Players per shard on average; a shard that waits for its split has up to twice as many. More would make the 16 bits
/// of hash ambiguous too often, fewer would make the list of shards fall out of the cache.
pub(super) const PER_SHARD: usize = 1536;
/// Where the first line of a shard's block says how many slots are in use.
const LEN: Range<usize> = 4..8;
/// Buckets of a shard, at most: as many as a block of the heap holds.
const MAX_BUCKETS: usize = (Heap::MAX_BYTES - LINE) / LINE;

pub(super) struct Locator {
    /// Where the block of each shard is, and nothing else: every operation reads one of these, at a place that is anywhere, and then
    /// waits for what is there. How many buckets there are says the size of the block, how many slots are in use its first line.
    shards: Vec<Address>,
    buckets: Heap,
    len: usize,
    /// Slots for which there was no room in any reasonable number of buckets, which takes more ids with equal hash
    /// bits, or hundreds of thousands in one shard: none, unless someone crafts ids. Slow but right.
    strays: Vec<Stray>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stray {
    shard: u32,
    slot: Slot,
}

/// What a shard tells of the hashes of its players: the lowest bits.
#[derive(Clone, Copy)]
pub(super) struct Known {
    shard: u64,
    level: u32,
}

impl Known {
    /// Whether a hash is one of a player who has this slot in the shard.
    #[inline]
    pub(super) fn fits(self, slot: Slot, hash: u64) -> bool {
        bits_of(hash) == slot.bits && hash & ((1 << self.level) - 1) == self.shard
    }
}

/// The leaves in a bucket that may be the player's.
#[inline]
pub(super) fn candidates(bucket: &Bucket, hash: u64) -> impl Iterator<Item = u32> {
    matching(bucket, bits_of(hash)).filter_map(|slot| leaf_in(bucket, slot))
}

/// Which of so many shards a player is in.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
pub(super) fn shard_in(hash: u64, shards: usize) -> usize {
    let level = shards.ilog2();
    let number = hash as usize & ((2 << level) - 1);
    if number < shards { number } else { number & ((1 << level) - 1) }
}

impl Locator {
    pub(super) const fn new() -> Self {
        Self { shards: Vec::new(), buckets: Heap::new(), len: 0, strays: Vec::new() }
    }

    /// With as many shards as so many players need, all still without buckets: see [`Self::fill_shard`].
    pub(super) fn with_shards_for(players: usize) -> Self {
        let mut new = Self::new();
        if players > 0 {
            new.shards = vec![Address::NONE; players.div_ceil(PER_SHARD)];
        }
        new
    }

    pub(super) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Puts all its players, of so many in the whole table, into a shard that has no buckets yet.
    pub(super) fn fill_shard(
        &mut self,
        all: usize,
        number: usize,
        players: impl Iterator<Item = (u64, u32)>,
    ) {
        let slots = players.map(|(hash, leaf)| Slot { bits: bits_of(hash), leaf });
        let slots: Vec<Slot> = slots.collect();
        self.len += slots.len();
        // Shards of one size share their pages: as many buckets as the average needs, unless that is too tight.
        let average = buckets_for(self.usual_len(all, number));
        let enough = slots.len() <= room_in(average);
        let buckets = if enough { average } else { buckets_for(slots.len()) };
        self.fill(number, buckets, &slots);
    }

    /// Gives buckets to the shards that nobody is in.
    pub(super) fn fill_others(&mut self) {
        for number in 0..self.shards.len() {
            if self.shards[number] == Address::NONE {
                self.allocate(number, 1);
            }
        }
    }

    /// The usual number of players in a shard: twice as many where it was not split yet.
    fn usual_len(&self, all: usize, number: usize) -> usize {
        all >> self.level_of(number)
    }

    /// How many bits of a hash name a shard.
    #[inline]
    fn level_of(&self, number: usize) -> u32 {
        let shards = self.shards.len();
        let level = shards.ilog2();
        let split = number >= 1 << level || number < shards - (1 << level);
        level + u32::from(split)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Calls `confirm` with each leaf that may be the player's until it returns something.
    #[inline]
    pub(super) fn find<R>(
        &self,
        hash: u64,
        mut confirm: impl FnMut(u32) -> Option<R>,
    ) -> Option<R> {
        let number = self.shard_of(hash)?;
        let bits = bits_of(hash);
        let both = self.both(number, bits);
        // Every third player is in the second: it comes at the same time as the first.
        prefetch(both[1]);
        for bucket in both {
            for leaf in candidates(bucket, hash) {
                let found = confirm(leaf);
                if found.is_some() {
                    return found;
                }
            }
        }
        let mut strays = self.strays.iter();
        strays.find_map(|stray| {
            (stray.shard as usize == number && stray.slot.bits == bits)
                .then(|| confirm(stray.slot.leaf))
                .flatten()
        })
    }

    /// Both buckets that may hold the player.
    #[inline]
    pub(super) fn buckets_for(&self, hash: u64) -> Option<[&Bucket; 2]> {
        Some(self.both(self.shard_of(hash)?, bits_of(hash)))
    }

    /// Both buckets of these bits.
    #[inline]
    fn both(&self, number: usize, bits: u16) -> [&Bucket; 2] {
        let memory = self.memory(number);
        buckets_of(bits, narrow(memory.len())).map(|bucket| &memory[bucket])
    }

    /// The buckets of a shard.
    #[inline]
    fn memory(&self, number: usize) -> &[Bucket] {
        &self.buckets.whole(self.shards[number]).as_chunks().0[self.buckets_at()..]
    }

    #[inline]
    fn memory_mut(&mut self, number: usize) -> &mut [Bucket] {
        let start = self.buckets_at();
        &mut self.buckets.block_mut(self.shards[number]).as_chunks_mut().0[start..]
    }

    /// How many slots of a shard are in use.
    fn len_of(&self, number: usize) -> usize {
        if self.shards.len() == 1 {
            return self.len - self.strays.len();
        }
        let block = self.buckets.block(self.shards[number]);
        u32::from_le_bytes(*block[LEN].first_chunk().expect("four bytes")) as usize
    }

    /// Says how many are, but for a single shard, which has all players but the strays.
    fn set_len(&mut self, number: usize, len: usize) {
        if self.shards.len() > 1 {
            let block = self.buckets.block_mut(self.shards[number]);
            block[LEN].copy_from_slice(&narrow(len).to_le_bytes());
        }
    }

    /// Makes sure that one more player finds its shard small enough. Called before the tree changes: a split asks, by `hashes_of`,
    /// for the hashes of those who are somewhere, see [`Self::split`].
    pub(super) fn reserve(&mut self, hashes_of: impl Fn(&[Slot], Known, &mut Vec<u64>)) {
        if self.shards.is_empty() {
            self.add_shard(1);
        } else if self.len >= self.shards.len() * PER_SHARD {
            self.split(hashes_of);
        }
    }

    pub(super) fn insert(&mut self, hash: u64, leaf: u32) {
        let number = self.shard_of(hash).expect("reserved before");
        self.add(number, Slot { bits: bits_of(hash), leaf });
        self.len += 1;
    }

    /// The player went from one leaf to another.
    #[inline]
    pub(super) fn relocate(&mut self, hash: u64, from: u32, to: u32) {
        self.replace(hash, from, Some(to));
    }

    pub(super) fn remove(&mut self, hash: u64, leaf: u32) {
        let number = self.replace(hash, leaf, None);
        self.len -= 1;
        let buckets = self.memory(number).len();
        if buckets > 2 && self.len_of(number) * 2 < buckets * SLOTS {
            let slots = self.slots(number);
            self.refill(number, &slots);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.shards.capacity() * size_of::<Address>()
            + self.strays.capacity() * size_of::<Stray>()
            + self.buckets.bytes()
    }

    /// Where the buckets begin in a shard's block, whose first line has the number of the shard (see [`Heap`]) and how many slots are
    /// in use. A line is not much for a shard but for a small board: a single block never moves, so nobody asks whose it is.
    #[inline]
    fn buckets_at(&self) -> usize {
        usize::from(self.shards.len() > 1)
    }

    #[inline]
    fn shard_of(&self, hash: u64) -> Option<usize> {
        (!self.shards.is_empty()).then(|| shard_in(hash, self.shards.len()))
    }

    /// Changes one slot that is equal to this one and returns the shard's number.
    fn replace(&mut self, hash: u64, leaf: u32, to: Option<u32>) -> usize {
        let number = self.shard_of(hash).expect("the player is in the table");
        let bits = bits_of(hash);
        let memory = self.memory_mut(number);
        let both = buckets_of(bits, narrow(memory.len()));
        let in_bucket = |bucket: usize| {
            let held = &memory[bucket];
            let slot = matching(held, bits).find(|slot| leaf_in(held, *slot) == Some(leaf))?;
            Some((bucket, slot))
        };
        if let Some((bucket, slot)) = in_bucket(both[0]).or_else(|| in_bucket(both[1])) {
            if to.is_some() {
                set_leaf(&mut memory[bucket], slot, to);
            } else {
                write(&mut memory[bucket], slot, None);
                self.set_len(number, self.len_of(number) - 1);
            }
            return number;
        }
        let stray = Stray { shard: narrow(number), slot: Slot { bits, leaf } };
        let at = self.strays.iter().position(|held| *held == stray);
        let at = at.expect("the player is in the table");
        match to {
            Some(leaf) => self.strays[at].slot.leaf = leaf,
            None => drop(self.strays.swap_remove(at)),
        }
        number
    }

    fn add(&mut self, number: usize, slot: Slot) {
        let (len, memory) = (self.len_of(number), self.memory_mut(number));
        let buckets = narrow(memory.len());
        let largest = memory.len() == MAX_BUCKETS;
        if len < room_in(buckets) || largest {
            match place(memory, buckets, slot) {
                None => self.set_len(number, len + 1),
                Some(slot) if largest => {
                    let shard = narrow(number);
                    self.strays.push(Stray { shard, slot });
                }
                Some(homeless) => {
                    let mut slots = self.slots(number);
                    slots.push(homeless);
                    self.refill(number, &slots);
                }
            }
        } else {
            let mut slots = self.slots(number);
            slots.push(slot);
            self.refill(number, &slots);
        }
    }

    /// All slots of a shard but the strays.
    fn slots(&self, number: usize) -> Vec<Slot> {
        let mut slots = Vec::with_capacity(self.len_of(number) + 1);
        for bucket in self.memory(number) {
            slots.extend((0..SLOTS).filter_map(|slot| read(bucket, slot)));
        }
        slots
    }

    /// Gives a shard the buckets that these slots need instead of those it has, and puts them there.
    fn refill(&mut self, number: usize, slots: &[Slot]) {
        self.free(number);
        self.fill(number, round(buckets_for(slots.len())), slots);
    }

    /// Gives a shard without buckets so many, or more if these slots find no place in them, and puts them there.
    fn fill(&mut self, number: usize, mut buckets: u32, slots: &[Slot]) {
        loop {
            self.allocate(number, buckets);
            let memory = self.memory_mut(number);
            let full = pour(memory, buckets, slots);
            let mut homeless = Vec::new();
            for slot in full {
                homeless.extend(place(memory, buckets, slot));
            }
            // More buckets cannot part slots with equal bits.
            let parting_fails = buckets as usize * SLOTS > 3 * slots.len() + 3 * SLOTS
                || buckets as usize == MAX_BUCKETS;
            if homeless.is_empty() || parting_fails {
                self.set_len(number, slots.len() - homeless.len());
                let shard = narrow(number);
                self.strays.extend(homeless.into_iter().map(|slot| Stray { shard, slot }));
                return;
            }
            self.free(number);
            buckets = round(buckets + buckets.div_ceil(16));
        }
    }

    fn add_shard(&mut self, players: usize) {
        let number = self.shards.len();
        grow_gently(&mut self.shards);
        self.shards.push(Address::NONE);
        self.allocate(number, buckets_for(players));
    }

    fn allocate(&mut self, number: usize, buckets: u32) {
        let bytes = (self.buckets_at() + buckets as usize) * LINE;
        let at = self.buckets.allocate(bytes, narrow(number));
        self.buckets.block_mut(at)[4..].fill(0);
        self.shards[number] = at;
    }

    fn free(&mut self, number: usize) {
        if let Some(moved) = self.buckets.free(self.shards[number]) {
            self.shards[moved.owner as usize] = moved.to;
        }
    }

    /// Splits the shard whose turn it is. `hashes_of` is given its slots in order, and pushes a hash for each of them: that of a
    /// player of the slot's leaf of whom that much is known. Slots that are alike are as many players.
    fn split(&mut self, hashes_of: impl Fn(&[Slot], Known, &mut Vec<u64>)) {
        let (new, level) = (self.shards.len(), self.shards.len().ilog2());
        let old = new - (1 << level);
        let mut slots = self.slots(old);
        let strays = self.strays.extract_if(.., |stray| stray.shard as usize == old);
        slots.extend(strays.map(|stray| stray.slot));
        slots.sort_unstable();
        let mut hashes = Vec::with_capacity(slots.len());
        hashes_of(&slots, Known { shard: old as u64, level }, &mut hashes);
        assert_eq!(slots.len(), hashes.len(), "the table knows who is where");
        let (mut stay, mut go) = (Vec::new(), Vec::new());
        for (slot, hash) in slots.into_iter().zip(hashes) {
            let part = if hash >> level & 1 == 0 { &mut stay } else { &mut go };
            part.push(slot);
        }
        self.add_shard(1);
        self.refill(old, &stay);
        self.refill(new, &go);
    }

    /// Every slot is in one of its buckets, and the counts are right.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut len = self.strays.len();
        for (number, at) in self.shards.iter().enumerate() {
            let block = self.buckets.block(*at);
            let owned = block[..4] == narrow(number).to_le_bytes();
            assert!(owned || self.shards.len() == 1, "a shard owns its block");
            assert_eq!(self.slots(number).len(), self.len_of(number));
            len += self.len_of(number);
            let buckets = self.memory(number);
            for (bucket, held) in buckets.iter().enumerate() {
                for slot in (0..SLOTS).filter_map(|slot| read(held, slot)) {
                    assert!(buckets_of(slot.bits, narrow(buckets.len())).contains(&bucket));
                }
            }
        }
        assert_eq!(len, self.len);
    }
}

/// Buckets for so many slots at 91 percent.
fn buckets_for(slots: usize) -> u32 {
    narrow(if slots <= SLOTS { 1 } else { (slots * 100).div_ceil(SLOTS * 91).min(MAX_BUCKETS) })
}

/// A number of buckets that many shards have, so that they share pages: shards that grow would otherwise be of two hundred sizes,
/// each with a page that is not full.
fn round(buckets: u32) -> u32 {
    if buckets < 64 { buckets } else { buckets.next_multiple_of(8).min(narrow(MAX_BUCKETS)) }
}

/// The most slots for so many buckets. Beyond 97 percent the moves to make room get long. A single bucket may fill up: there are
/// none to make.
fn room_in(buckets: u32) -> usize {
    let slots = buckets as usize * SLOTS;
    if buckets == 1 { slots } else { slots * 97 / 100 }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("shards and slots are numbered in 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::Gathered;

    /// The table against a list of leaves, of which everyone has one.
    fn exercise(hash_of: impl Fn(u64) -> u64, players: usize) -> Locator {
        let mut locator = Locator::new();
        let mut leaves: Vec<u32> = Vec::new();
        let check_all = |locator: &Locator, leaves: &[u32], from: usize| {
            locator.check();
            for (player, leaf) in leaves.iter().enumerate().skip(from) {
                let hash = hash_of(player as u64);
                let found = locator.find(hash, |held| (held == *leaf).then_some(()));
                assert!(found.is_some(), "player {player} of {}", leaves.len());
            }
        };
        for player in 0..players {
            locator.reserve(|slots, known, out| {
                for slot in slots {
                    let hash = hash_of(u64::from(slot.leaf));
                    assert!(known.fits(*slot, hash));
                    out.push(hash);
                }
            });
            let leaf = u32::try_from(player).unwrap();
            locator.insert(hash_of(player as u64), leaf);
            leaves.push(leaf);
        }
        check_all(&locator, &leaves, 0);
        for player in (0..players).step_by(3) {
            let other = 4_000_000 + u32::try_from(player % 128).unwrap();
            locator.relocate(hash_of(player as u64), leaves[player], other);
            leaves[player] = other;
        }
        check_all(&locator, &leaves, 0);
        let kept = players * 9 / 10;
        for (player, leaf) in leaves.iter().enumerate().take(kept) {
            locator.remove(hash_of(player as u64), *leaf);
        }
        check_all(&locator, &leaves, kept);
        assert_eq!(locator.len(), leaves.len() - kept);
        locator
    }

    #[test]
    fn players_are_found_through_growth_splits_moves_and_removals() {
        let locator = exercise(|player| player.wrapping_mul(0x9e37_79b9_7f4a_7c15), 8_000);
        assert!(locator.shards.len() > 4);
        assert!(locator.strays.is_empty());
    }

    #[test]
    fn equal_hashes_cost_time_and_nothing_else() {
        exercise(|player| player % 3, 2_000);
        exercise(|_| u64::MAX, 300);
    }

    #[test]
    fn players_that_no_split_parts_are_found_beyond_the_largest_shard() {
        // All of them in shard 0, and more than one block holds.
        let hash_of = |player: u64| {
            let mixed = player.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) & !0xffff_ffff
        };
        let (slots, more) = (MAX_BUCKETS as u64 * SLOTS as u64, 300);
        let mut gathered = Gathered::new(usize::try_from(slots).unwrap());
        for player in 0..slots - more {
            gathered.push(hash_of(player), 7);
        }
        let mut locator = gathered.into_locator(|_, _| true).unwrap();
        for player in slots - more..slots + more {
            locator.insert(hash_of(player), 7);
        }
        locator.check();
        assert_eq!(locator.len() as u64, slots + more);
        assert!(!locator.strays.is_empty());
        for player in (0..slots).step_by(1000).chain(slots..slots + more) {
            assert!(locator.find(hash_of(player), Some).is_some(), "player {player}");
        }
        for player in slots - more..slots + more {
            locator.remove(hash_of(player), 7);
        }
        locator.check();
    }

    #[test]
    fn a_full_table_takes_six_and_a_half_bytes_a_player_at_most() {
        let mut gathered = Gathered::new(300_000);
        for player in 0..300_000_u64 {
            gathered.push(player.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes(), 7);
        }
        let locator = gathered.into_locator(|_, _| true).unwrap();
        locator.check();
        assert!(locator.bytes() < 300_000 * 13 / 2, "{}", locator.bytes());
    }
}
