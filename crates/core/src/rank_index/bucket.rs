//! One bucket of the locator, a cache line of eleven slots, and how slots find room among the buckets of a shard.

use super::lanes;
use super::mem::LINE;
use super::seat::Seat;

/// A cache line of slots.
pub(super) type Bucket = [u8; LINE];

/// Slots in a bucket: 2 bytes of hash each, then the low 3 bytes of each seat, and in the last 8 bytes the rest, 5 bits each.
pub(super) const SLOTS: usize = 11;
const LOWS: usize = 2 * SLOTS;
const HIGHS: usize = LINE - 8;
const HIGH_BITS: usize = Seat::BITS as usize - 24;
const _: () = assert!(LOWS + 3 * SLOTS <= HIGHS && HIGH_BITS * SLOTS <= 64);
/// Buckets after the first one among which the second is.
const NEAR: u32 = 32;
/// Moves before a bucket is given up as full.
const KICKS: u32 = 200;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// What it holds of a hash: both its buckets follow from it.
    pub(super) bits: u16,
    pub(super) seat: Seat,
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
    let mut mask = lanes::equal_eleven(&bucket[..LOWS], bits);
    std::iter::from_fn(move || {
        let slot = (mask != 0).then(|| mask.trailing_zeros() as usize / 2);
        mask &= mask.wrapping_sub(1);
        slot
    })
}

#[inline]
fn highs(bucket: &Bucket) -> u64 {
    u64::from_le_bytes(*bucket.last_chunk().expect("a bucket is a line"))
}

#[inline]
pub(super) fn seat_in(bucket: &Bucket, slot: usize) -> Option<Seat> {
    // Four bytes, of which the first belongs to what is before.
    let low = bucket[LOWS - 1 + 3 * slot..].first_chunk().expect("within the line");
    let low = u32::from_le_bytes(*low) >> 8;
    #[expect(clippy::cast_possible_truncation, reason = "five bits")]
    let high = (highs(bucket) >> (HIGH_BITS * slot)) as u32 & ((1 << HIGH_BITS) - 1);
    Seat::from_code(high << 24 | low)
}

/// Puts a seat, or none, into a slot whose bits stay.
#[inline]
pub(super) fn set_seat(bucket: &mut Bucket, slot: usize, seat: Option<Seat>) {
    let code = seat.map_or(0, Seat::code);
    let others = highs(bucket) & !(((1 << HIGH_BITS) - 1) << (HIGH_BITS * slot));
    let all = others | u64::from(code >> 24) << (HIGH_BITS * slot);
    *bucket.last_chunk_mut().expect("a bucket is a line") = all.to_le_bytes();
    bucket[LOWS + 3 * slot..][..3].copy_from_slice(&code.to_le_bytes()[..3]);
}

pub(super) fn write(bucket: &mut Bucket, slot: usize, content: Option<Slot>) {
    let bits = content.map_or(0, |content| content.bits);
    bucket[2 * slot..][..2].copy_from_slice(&bits.to_le_bytes());
    set_seat(bucket, slot, content.map(|content| content.seat));
}

pub(super) fn read(bucket: &Bucket, slot: usize) -> Option<Slot> {
    let seat = seat_in(bucket, slot)?;
    Some(Slot { bits: u16::from_le_bytes([bucket[2 * slot], bucket[2 * slot + 1]]), seat })
}

/// An empty slot has no hash bits, and few others have none.
#[inline]
fn free_slot(bucket: &Bucket) -> Option<usize> {
    matching(bucket, 0).find(|&slot| seat_in(bucket, slot).is_none())
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
