//! One bucket of the locator, a cache line of twelve slots, and how slots find room among the buckets of a shard.

use super::lanes;
use super::mem::LINE;

/// Slots in a bucket: 12 times 2 bits of hash for the next splits (in 4 bytes), 2 bytes of hash and 3 bytes of leaf.
pub(super) const SLOTS: usize = 12;
const HASHES: usize = 4;
const LEAVES: usize = HASHES + 2 * SLOTS;
/// Moves before a bucket is given up as full.
const KICKS: u32 = 200;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) tag: Tag,
    pub(super) leaf: u32,
}

/// What a slot holds of a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag {
    /// Decide the buckets.
    pub(super) bits: u16,
    /// Will decide the next shard, see [`first_spare`].
    pub(super) spare: u8,
}

impl Tag {
    /// Of a player in a shard that is named by so many bits.
    #[inline]
    pub(super) fn new(hash: u64, level: u32) -> Self {
        let spare = first_spare(level).map_or(0, |first| (hash >> first & 3) as u8);
        Self { bits: (hash >> 48) as u16, spare }
    }
}

/// The lower of the two bits of hash that a slot keeps for splits, in a shard that is named by the bits below `level`: splits from
/// level 3 and 4 use bits 3 and 4, those from 6 and 7 use 6 and 7, and those from 2, 5, 8 ask the leaves. A single shard keeps
/// none.
#[inline]
pub(super) fn first_spare(level: u32) -> Option<u32> {
    (level > 0).then_some(level / 3 * 3)
}

/// The two buckets of a slot.
#[inline]
pub(super) fn buckets_of(bits: u16, buckets: u32) -> [usize; 2] {
    let second = bits.wrapping_mul(0x9e3b).wrapping_add(0x7f4a);
    [bits, second].map(|bits| ((u32::from(bits) * buckets) >> 16) as usize)
}

/// Two bits a slot.
const EACH: u32 = 0x55_5555;

/// The slots with this tag, occupied or not: for each the lower one of two bits.
#[inline]
pub(super) fn matching(bucket: &[u8], Tag { bits, spare }: Tag) -> u32 {
    let differing = spares_in(bucket) ^ (EACH * u32::from(spare));
    lanes::equal_twelve(&bucket[HASHES..LEAVES], bits) & EACH & !(differing | differing >> 1)
}

/// The slots of such a mask.
#[inline]
pub(super) fn slots_in(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = (mask != 0).then(|| mask.trailing_zeros() as usize / 2);
        mask &= mask.wrapping_sub(1);
        slot
    })
}

#[inline]
fn spares_in(bucket: &[u8]) -> u32 {
    u32::from_le_bytes(*bucket.first_chunk().expect("a bucket is a line"))
}

#[inline]
pub(super) fn leaf_in(bucket: &[u8], slot: usize) -> Option<u32> {
    let at = LEAVES + 3 * slot;
    let leaf = u32::from_le_bytes([bucket[at], bucket[at + 1], bucket[at + 2], 0]);
    leaf.checked_sub(1)
}

pub(super) fn write(bucket: &mut [u8], slot: usize, content: Option<Slot>) {
    let empty = Slot { tag: Tag { bits: 0, spare: 0 }, leaf: u32::MAX };
    let Slot { tag, leaf } = content.unwrap_or(empty);
    let others = spares_in(bucket) & !(3 << (2 * slot));
    let spares = others | u32::from(tag.spare) << (2 * slot);
    bucket[..HASHES].copy_from_slice(&spares.to_le_bytes());
    bucket[HASHES + 2 * slot..][..2].copy_from_slice(&tag.bits.to_le_bytes());
    bucket[LEAVES + 3 * slot..][..3].copy_from_slice(&leaf.wrapping_add(1).to_le_bytes()[..3]);
}

pub(super) fn read(bucket: &[u8], slot: usize) -> Option<Slot> {
    let leaf = leaf_in(bucket, slot)?;
    let at = HASHES + 2 * slot;
    let bits = u16::from_le_bytes([bucket[at], bucket[at + 1]]);
    let spare = (spares_in(bucket) >> (2 * slot) & 3) as u8;
    Some(Slot { tag: Tag { bits, spare }, leaf })
}

/// An empty slot has no hash bits, and few others have none.
#[inline]
fn free_slot(bucket: &[u8]) -> Option<usize> {
    let blank = matching(bucket, Tag { bits: 0, spare: 0 });
    slots_in(blank).find(|&slot| leaf_in(bucket, slot).is_none())
}

/// Puts slots into empty buckets; returns those that found both of theirs full.
pub(super) fn pour(memory: &mut [u8], buckets: u32, slots: &[Slot]) -> Vec<Slot> {
    let mut used = vec![0_u8; buckets as usize];
    let mut full = Vec::new();
    for &slot in slots {
        let both = buckets_of(slot.tag.bits, buckets);
        match both.into_iter().find(|&bucket| usize::from(used[bucket]) < SLOTS) {
            Some(bucket) => {
                write(&mut memory[bucket * LINE..][..LINE], usize::from(used[bucket]), Some(slot));
                used[bucket] += 1;
            }
            None => full.push(slot),
        }
    }
    full
}

/// Puts a slot into one of its buckets, moving others if both are full; returns the slot that found no place in the end.
pub(super) fn place(memory: &mut [u8], buckets: u32, mut slot: Slot) -> Option<Slot> {
    let mut into = buckets_of(slot.tag.bits, buckets);
    for kick in 0..KICKS {
        for bucket in into {
            let bucket = &mut memory[bucket * LINE..][..LINE];
            if let Some(free) = free_slot(bucket) {
                write(bucket, free, Some(slot));
                return None;
            }
        }
        // Which slot has to go is decided by chance, or two could push each other out forever.
        let chance = (kick + 1).wrapping_mul(0x9e37_79b9) ^ u32::from(slot.tag.bits);
        let bucket = into[(chance >> 31) as usize];
        let held = &mut memory[bucket * LINE..][..LINE];
        let victim = (chance >> 8) as usize % SLOTS;
        let evicted = read(held, victim).expect("the bucket is full");
        write(held, victim, Some(slot));
        slot = evicted;
        // Its other bucket first: it was just told to leave this one.
        into = buckets_of(slot.tag.bits, buckets);
        if into[0] == bucket {
            into.swap(0, 1);
        }
    }
    Some(slot)
}
