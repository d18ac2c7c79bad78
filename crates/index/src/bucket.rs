//! One bucket of the locator, a cache line of thirteen slots, and how slots find room among the buckets of a shard.

use super::lanes;
use super::mem::LINE;

/// A cache line of slots.
pub(super) type Bucket = [u8; LINE];

/// Leaves there can be: their numbers have 22 bits, and one of them marks what is empty.
pub(super) const MAX_LEAVES: usize = (1 << LEAF_BITS) - 1;
/// Bits of a leaf's number in a slot, which is one more than the number: 0 is nobody's.
pub(super) const LEAF_BITS: u32 = 22;

/// Slots in a bucket: 2 bytes of hash each, then the low 2 bytes of each leaf's number, then the rest of it, 6 bits each.
pub(super) const SLOTS: usize = 13;
const LOWS: usize = 2 * SLOTS;
const HIGHS: usize = 2 * LOWS;
const HIGH_BITS: usize = LEAF_BITS as usize - 16;
// The last six bits are read with the byte after them.
const _: () = assert!(HIGHS + (HIGH_BITS * (SLOTS - 1)) / 8 + 2 <= LINE);
/// Buckets after the first one among which the second is.
const NEAR: u32 = 32;
/// Moves before a bucket is given up as full.
const KICKS: u32 = 200;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot {
    /// What it holds of a hash: both its buckets follow from it.
    pub(super) bits: u16,
    pub(super) leaf: u32,
}

/// The bits of a hash that a slot holds.
#[inline]
pub(super) fn bits_of(hash: u64) -> u16 {
    (hash >> 48) as u16
}

/// The two buckets of a slot. The second is one of the [`NEAR`] ones after the first: mostly in the same page of memory, whose address
/// has to be looked up then only once.
#[inline]
pub(super) fn buckets_of(bits: u16, buckets: u32) -> [usize; 2] {
    let first = (u32::from(bits) * buckets) >> 16;
    let further = u32::from(bits.wrapping_mul(0x9e3b) >> 11);
    let second = first + 1 + if buckets > NEAR { further } else { further % (buckets - 1).max(1) };
    let second = if second < buckets { second } else { second - buckets };
    [first as usize, second as usize]
}

/// The slots with these bits, occupied or not.
#[inline]
pub(super) fn matching(bucket: &Bucket, bits: u16) -> impl Iterator<Item = usize> + use<> {
    let column = bucket.first_chunk().expect("a bucket is a line");
    let mut mask = lanes::equal_thirteen(column, bits);
    std::iter::from_fn(move || {
        let slot = (mask != 0).then(|| mask.trailing_zeros() as usize / 2);
        mask &= mask.wrapping_sub(1);
        slot
    })
}

/// Where the high bits of a slot's leaf are: in two bytes from here on, so many bits further.
#[inline]
fn high_at(slot: usize) -> (usize, usize) {
    (HIGHS + HIGH_BITS * slot / 8, HIGH_BITS * slot % 8)
}

#[inline]
fn pair(bucket: &Bucket, at: usize) -> u16 {
    u16::from_le_bytes(*bucket[at..].first_chunk().expect("within the line"))
}

#[inline]
pub(super) fn leaf_in(bucket: &Bucket, slot: usize) -> Option<u32> {
    let low = pair(bucket, LOWS + 2 * slot);
    let (at, shift) = high_at(slot);
    let high = pair(bucket, at) >> shift & ((1 << HIGH_BITS) - 1);
    (u32::from(high) << 16 | u32::from(low)).checked_sub(1)
}

/// Puts a leaf, or none, into a slot whose bits stay.
#[inline]
pub(super) fn set_leaf(bucket: &mut Bucket, slot: usize, leaf: Option<u32>) {
    let code = leaf.map_or(0, |leaf| leaf + 1);
    debug_assert!(code >> LEAF_BITS == 0);
    let [low, next, high, _] = code.to_le_bytes();
    bucket[LOWS + 2 * slot..][..2].copy_from_slice(&[low, next]);
    let (at, shift) = high_at(slot);
    let others = pair(bucket, at) & !(((1 << HIGH_BITS) - 1) << shift);
    let all = others | u16::from(high) << shift;
    bucket[at..][..2].copy_from_slice(&all.to_le_bytes());
}

pub(super) fn write(bucket: &mut Bucket, slot: usize, content: Option<Slot>) {
    let bits = content.map_or(0, |content| content.bits);
    bucket[2 * slot..][..2].copy_from_slice(&bits.to_le_bytes());
    set_leaf(bucket, slot, content.map(|content| content.leaf));
}

pub(super) fn read(bucket: &Bucket, slot: usize) -> Option<Slot> {
    let leaf = leaf_in(bucket, slot)?;
    Some(Slot { bits: pair(bucket, 2 * slot), leaf })
}

/// An empty slot has no hash bits, and few others have none.
#[inline]
fn free_slot(bucket: &Bucket) -> Option<usize> {
    matching(bucket, 0).find(|&slot| leaf_in(bucket, slot).is_none())
}

/// Puts slots into empty buckets; returns those that found both of theirs full.
pub(super) fn pour(memory: &mut [Bucket], buckets: u32, slots: &[Slot]) -> Vec<Slot> {
    let mut used = vec![0_u8; buckets as usize];
    let mut full = Vec::new();
    for &slot in slots {
        let both = buckets_of(slot.bits, buckets);
        match both.into_iter().find(|&bucket| usize::from(used[bucket]) < SLOTS) {
            Some(bucket) => {
                write(&mut memory[bucket], usize::from(used[bucket]), Some(slot));
                used[bucket] += 1;
            }
            None => full.push(slot),
        }
    }
    full
}

/// Puts a slot into one of its buckets, moving others if both are full; returns the slot that found no place in the end.
pub(super) fn place(memory: &mut [Bucket], buckets: u32, mut slot: Slot) -> Option<Slot> {
    let mut into = buckets_of(slot.bits, buckets);
    for kick in 0..KICKS {
        for bucket in into {
            let bucket = &mut memory[bucket];
            if let Some(free) = free_slot(bucket) {
                write(bucket, free, Some(slot));
                return None;
            }
        }
        // Which slot has to go is decided by chance, or two could push each other out forever.
        let chance = (kick + 1).wrapping_mul(0x9e37_79b9) ^ u32::from(slot.bits);
        let bucket = into[(chance >> 31) as usize];
        let held = &mut memory[bucket];
        let victim = (chance >> 8) as usize % SLOTS;
        let evicted = read(held, victim).expect("the bucket is full");
        write(held, victim, Some(slot));
        slot = evicted;
        // Its other bucket first: it was just told to leave this one.
        into = buckets_of(slot.bits, buckets);
        if into[0] == bucket {
            into.swap(0, 1);
        }
    }
    Some(slot)
}
