//! From a player's hash to the leaf that holds it, in 5 bytes and 2 bits.
//!
//! The leaf holds the id, so this table does not: a slot is 18 bits of the hash and the number of a leaf, and a lookup
//! yields candidates that the caller confirms in the leaf (one in twenty at most is a false one). Two consequences carry the design:
//! - Two ids with the same bits in the same shard have the same two buckets. If they are also in the same leaf their slots
//!   are equal, and it does not matter which of the two is changed. The table is a multiset of (hash bits, leaf).
//! - A slot knows both its buckets, so full buckets make room by moving slots (cuckoo hashing) without looking at any id.
//!   With 12 slots in a bucket, one cache line, shards run at up to 97 percent.
//!
//! The table grows without ever doubling at once. Shards are split one at a time as the table grows (linear hashing: the low
//! bits of the hash choose the shard), and each shard has just the buckets it needs. A split has to know one bit more of each
//! hash. What is left of a cache line holds two such bits a slot, so two splits of three need nothing else; the third asks the
//! leaves, some 3,000 of them.

use super::bucket::{
    SLOTS, Slot, Tag, buckets_of, first_spare, leaf_in, matching, place, pour, read, slots_in,
    write,
};
use super::heap::{Address, Heap, grow_gently};
use super::mem::{LINE, prefetch};

/// Players per shard on average; a shard that waits for its split has up to twice as many. More would make the 16 bits
/// of hash ambiguous too often, fewer would make the list of shards fall out of the cache.
const PER_SHARD: usize = 1536;
/// Buckets of a shard, at most: as many as a block of the heap holds.
const MAX_BUCKETS: usize = (Heap::MAX_BYTES - LINE) / LINE;
/// Leaf numbers have 24 bits, and 0 marks an empty slot.
pub(super) const MAX_LEAVES: usize = (1 << 24) - 1;

pub(super) struct Locator {
    shards: Vec<Shard>,
    buckets: Heap,
    len: usize,
    /// Slots for which there was no room in any reasonable number of buckets, which takes more than 24 ids with equal hash
    /// bits, or hundreds of thousands in one shard: none, unless someone crafts ids. Slow but right.
    strays: Vec<Stray>,
}

#[derive(Clone, Copy)]
struct Shard {
    at: Address,
    buckets: u32,
    len: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stray {
    shard: u32,
    slot: Slot,
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
            let empty = Shard { at: Address::default(), buckets: 0, len: 0 };
            new.shards = vec![empty; players.div_ceil(PER_SHARD)];
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
        let level = self.level_of(number);
        let slots = players.map(|(hash, leaf)| Slot { tag: Tag::new(hash, level), leaf });
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
            if self.shards[number].buckets == 0 {
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

    /// Calls `confirm` with each leaf that may hold the player until it returns something.
    #[inline]
    pub(super) fn find<R>(
        &self,
        hash: u64,
        mut confirm: impl FnMut(u32) -> Option<R>,
    ) -> Option<R> {
        let number = self.shard_of(hash)?;
        let shard = &self.shards[number];
        let tag = Tag::new(hash, self.level_of(number));
        let memory = &self.buckets.block(shard.at)[self.buckets_at()..];
        let both = buckets_of(tag.bits, shard.buckets);
        // Every third player is in the second: it comes at the same time as the first.
        prefetch(&memory[both[1] * LINE]);
        for bucket in both {
            let bucket = &memory[bucket * LINE..][..LINE];
            for slot in slots_in(matching(bucket, tag)) {
                let found = leaf_in(bucket, slot).and_then(&mut confirm);
                if found.is_some() {
                    return found;
                }
            }
        }
        let mut strays = self.strays.iter();
        strays.find_map(|stray| {
            (stray.shard as usize == number && stray.slot.tag == tag)
                .then(|| confirm(stray.slot.leaf))
                .flatten()
        })
    }

    /// Where both buckets begin that may hold the player.
    #[inline]
    pub(super) fn buckets_for(&self, hash: u64) -> Option<[&u8; 2]> {
        let shard = &self.shards[self.shard_of(hash)?];
        let memory = &self.buckets.block(shard.at)[self.buckets_at()..];
        let both = buckets_of(Tag::new(hash, 0).bits, shard.buckets);
        Some(both.map(|bucket| &memory[bucket * LINE]))
    }

    /// Makes sure that one more player finds its shard small enough. Called before the tree changes: a split asks the leaves, by
    /// `hashes_in`, for the hashes of their players, and these must be just the players in the table.
    pub(super) fn reserve(&mut self, hashes_in: impl Fn(&[u32], &mut Vec<(u64, u32)>)) {
        if self.shards.is_empty() {
            self.add_shard(1);
        } else if self.len >= self.shards.len() * PER_SHARD {
            self.split(hashes_in);
        }
    }

    pub(super) fn insert(&mut self, hash: u64, leaf: u32) {
        let number = self.shard_of(hash).expect("reserved before");
        self.len += 1;
        self.add(number, Slot { tag: Tag::new(hash, self.level_of(number)), leaf });
    }

    /// The player went from one leaf to another.
    pub(super) fn relocate(&mut self, hash: u64, from: u32, to: u32) {
        self.replace(hash, from, Some(to));
    }

    pub(super) fn remove(&mut self, hash: u64, leaf: u32) {
        let number = self.replace(hash, leaf, None);
        self.len -= 1;
        let shard = &self.shards[number];
        if shard.buckets > 2 && (shard.len as usize) * 2 < shard.buckets as usize * SLOTS {
            let slots = self.slots(number);
            self.refill(number, &slots);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.shards.capacity() * size_of::<Shard>()
            + self.strays.capacity() * size_of::<Stray>()
            + self.buckets.bytes()
    }

    /// Where the buckets begin in a shard's block, whose first four bytes are the number of the shard (see [`Heap`]). A line is not
    /// much for a shard but for a small board, and the number of a single shard is 0: there it is in nobody's way.
    #[inline]
    fn buckets_at(&self) -> usize {
        if self.shards.len() > 1 { LINE } else { 0 }
    }

    #[inline]
    fn shard_of(&self, hash: u64) -> Option<usize> {
        (!self.shards.is_empty()).then(|| shard_in(hash, self.shards.len()))
    }

    /// Changes one slot that is equal to this one and returns the shard's number.
    fn replace(&mut self, hash: u64, leaf: u32, to: Option<u32>) -> usize {
        let number = self.shard_of(hash).expect("the player is in the table");
        let tag = Tag::new(hash, self.level_of(number));
        let start = self.buckets_at();
        let shard = &mut self.shards[number];
        let memory = &mut self.buckets.block_mut(shard.at)[start..];
        for bucket in buckets_of(tag.bits, shard.buckets) {
            let bucket = &mut memory[bucket * LINE..][..LINE];
            for slot in slots_in(matching(bucket, tag)) {
                if leaf_in(bucket, slot) == Some(leaf) {
                    write(bucket, slot, to.map(|leaf| Slot { tag, leaf }));
                    shard.len -= u32::from(to.is_none());
                    return number;
                }
            }
        }
        let stray = Stray { shard: narrow(number), slot: Slot { tag, leaf } };
        let at = self.strays.iter().position(|held| *held == stray);
        let at = at.expect("the player is in the table");
        match to {
            Some(leaf) => self.strays[at].slot.leaf = leaf,
            None => drop(self.strays.swap_remove(at)),
        }
        number
    }

    fn add(&mut self, number: usize, slot: Slot) {
        let start = self.buckets_at();
        let shard = &mut self.shards[number];
        let largest = shard.buckets as usize == MAX_BUCKETS;
        if (shard.len as usize) < room_in(shard.buckets) || largest {
            let memory = &mut self.buckets.block_mut(shard.at)[start..];
            match place(memory, shard.buckets, slot) {
                None => shard.len += 1,
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
        let shard = &self.shards[number];
        let memory = &self.buckets.block(shard.at)[self.buckets_at()..];
        let mut slots = Vec::with_capacity(shard.len as usize + 1);
        for bucket in memory.chunks_exact(LINE).take(shard.buckets as usize) {
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
            let start = self.buckets_at();
            let memory = &mut self.buckets.block_mut(self.shards[number].at)[start..];
            let full = pour(memory, buckets, slots);
            let mut homeless = Vec::new();
            for slot in full {
                homeless.extend(place(memory, buckets, slot));
            }
            // More buckets cannot part slots with equal bits.
            let parting_fails = buckets as usize * SLOTS > 3 * slots.len() + 3 * SLOTS
                || buckets as usize == MAX_BUCKETS;
            if homeless.is_empty() || parting_fails {
                self.shards[number].len = narrow(slots.len() - homeless.len());
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
        self.shards.push(Shard { at: Address::default(), buckets: 0, len: 0 });
        self.allocate(number, buckets_for(players));
    }

    fn allocate(&mut self, number: usize, buckets: u32) {
        let bytes = self.buckets_at() + buckets as usize * LINE;
        let at = self.buckets.allocate(bytes, narrow(number));
        self.buckets.block_mut(at)[4..].fill(0);
        self.shards[number] = Shard { at, buckets, len: 0 };
    }

    fn free(&mut self, number: usize) {
        if let Some(moved) = self.buckets.free(self.shards[number].at) {
            self.shards[moved.owner as usize].at = moved.to;
        }
    }

    /// Splits the shard whose turn it is.
    fn split(&mut self, hashes_in: impl Fn(&[u32], &mut Vec<(u64, u32)>)) {
        let (new, level) = (self.shards.len(), self.shards.len().ilog2());
        let old = new - (1 << level);
        let mut slots = self.slots(old);
        let strays = self.strays.extract_if(.., |stray| stray.shard as usize == old);
        slots.extend(strays.map(|stray| stray.slot));
        let (stay, go) = match first_spare(level) {
            // The bit that decides is in the slots.
            Some(first) if level < first + 2 => {
                slots.into_iter().partition(|slot| slot.tag.spare >> (level - first) & 1 == 0)
            }
            _ => self.part_by_hash(old, level, &slots, hashes_in),
        };
        self.add_shard(1);
        self.refill(old, &stay);
        self.refill(new, &go);
    }

    /// Asks the leaves which players of a shard stay in it when it is split, and which go.
    fn part_by_hash(
        &self,
        shard: usize,
        level: u32,
        slots: &[Slot],
        hashes_in: impl Fn(&[u32], &mut Vec<(u64, u32)>),
    ) -> (Vec<Slot>, Vec<Slot>) {
        let mut leaves: Vec<u32> = slots.iter().map(|slot| slot.leaf).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let mut hashes = Vec::new();
        hashes_in(&leaves, &mut hashes);
        hashes.retain(|(hash, _)| self.shard_of(*hash) == Some(shard));
        assert_eq!(hashes.len(), slots.len(), "the leaves hold what the table says");
        let (mut stay, mut go) = (Vec::new(), Vec::new());
        for (hash, leaf) in hashes {
            let part = if hash >> level & 1 == 0 { &mut stay } else { &mut go };
            part.push(Slot { tag: Tag::new(hash, level + 1), leaf });
        }
        (stay, go)
    }

    /// Every slot is in one of its buckets, and the counts are right.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut len = self.strays.len();
        for (number, shard) in self.shards.iter().enumerate() {
            let block = self.buckets.block(shard.at);
            assert_eq!(block[..4], narrow(number).to_le_bytes(), "a shard owns its block");
            assert_eq!(self.slots(number).len(), shard.len as usize);
            len += shard.len as usize;
            for bucket in 0..shard.buckets as usize {
                let bucket_at = self.buckets_at() + bucket * LINE;
                for slot in (0..SLOTS).filter_map(|slot| read(&block[bucket_at..], slot)) {
                    assert!(buckets_of(slot.tag.bits, shard.buckets).contains(&bucket));
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
    use crate::rank_index::fill::Gathered;

    /// The table against a list of (hash, leaf), where leaf numbers stand for themselves.
    fn exercise(hash_of: impl Fn(u64) -> u64, players: usize) -> Locator {
        let mut locator = Locator::new();
        let mut leaf_of: Vec<u32> = Vec::new();
        let check_all = |locator: &Locator, leaf_of: &[u32], from: usize| {
            locator.check();
            for (player, leaf) in leaf_of.iter().enumerate().skip(from) {
                let hash = hash_of(player as u64);
                let found = locator.find(hash, |held| (held == *leaf).then_some(()));
                assert!(found.is_some(), "player {player} of {}", leaf_of.len());
            }
        };
        for player in 0..players {
            let leaf = u32::try_from(player / 40).unwrap();
            locator.reserve(|leaves, out| {
                for &leaf in leaves {
                    for player in (0..leaf_of.len()).filter(|&player| leaf_of[player] == leaf) {
                        out.push((hash_of(player as u64), leaf));
                    }
                }
            });
            locator.insert(hash_of(player as u64), leaf);
            leaf_of.push(leaf);
        }
        check_all(&locator, &leaf_of, 0);
        for player in (0..players).step_by(3) {
            locator.relocate(hash_of(player as u64), leaf_of[player], 9_999_999);
            leaf_of[player] = 9_999_999;
        }
        check_all(&locator, &leaf_of, 0);
        let kept = players * 9 / 10;
        for (player, leaf) in leaf_of.iter().enumerate().take(kept) {
            locator.remove(hash_of(player as u64), *leaf);
        }
        check_all(&locator, &leaf_of, kept);
        assert_eq!(locator.len(), leaf_of.len() - kept);
        locator
    }

    #[test]
    fn players_are_found_through_growth_splits_moves_and_removals() {
        let locator = exercise(|player| player.wrapping_mul(0x9e37_79b9_7f4a_7c15), 8_000);
        assert!(locator.shards.len() > 4);
        assert!(locator.strays.is_empty());
    }

    #[test]
    fn splits_ask_the_leaves_only_at_every_third_doubling() {
        let hash_of =
            |player: u32| u64::from(player).wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        let asked = std::cell::RefCell::new(Vec::new());
        let mut locator = Locator::new();
        for player in 0..40_000 {
            let shards = locator.shards();
            locator.reserve(|leaves, out| {
                asked.borrow_mut().push(shards);
                let players = leaves.iter().flat_map(|leaf| leaf * 50..leaf * 50 + 50);
                out.extend(players.filter(|p| *p < player).map(|p| (hash_of(p), p / 50)));
            });
            locator.insert(hash_of(player), player / 50);
        }
        locator.check();
        assert_eq!(locator.shards(), 27);
        assert_eq!(*asked.borrow(), [1, 4, 5, 6, 7]);
        for player in 0..40_000 {
            let found = locator.find(hash_of(player), |leaf| (leaf == player / 50).then_some(()));
            assert!(found.is_some(), "player {player}");
        }
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
        let mut locator = gathered.into_locator(|_, _| false).unwrap();
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
    fn a_full_table_takes_seven_bytes_a_player_at_most() {
        let mut gathered = Gathered::new(300_000);
        for player in 0..300_000_u64 {
            gathered.push(player.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes(), 7);
        }
        let locator = gathered.into_locator(|_, _| false).unwrap();
        locator.check();
        assert!(locator.bytes() < 300_000 * 7, "{}", locator.bytes());
    }
}
