//! Searching short columns of small numbers, sixteen bytes at a time.
//!
//! A player's slot is found by a byte of its hash and its leaf by two: a loop over bytes would take longer than the memory takes to
//! deliver them.

use super::mem::{WIDTH, equal_bytes, equal_pairs};

/// Bytes that [`equal`] looks at, at most.
pub(super) const MOST: usize = 128;

/// A bit for each of the first `count` bytes, at least one and up to [`MOST`], that is equal to the one sought. What follows
/// those bytes is read as well, as far as there is anything: how many count is anyone's guess.
#[inline]
pub(super) fn equal(bytes: &[u8], count: usize, sought: u8) -> u128 {
    let among = match bytes.first_chunk::<MOST>() {
        Some(all) => equal_in_all(all, sought),
        None => equal_in_few(bytes, sought),
    };
    among & (u128::MAX >> (MOST - count))
}

#[inline]
fn equal_in_all(bytes: &[u8; MOST], sought: u8) -> u128 {
    let (chunks, _) = bytes.as_chunks::<WIDTH>();
    let four = |from: usize| {
        let two = |at: usize| {
            equal_bytes(&chunks[at], sought) | equal_bytes(&chunks[at + 1], sought) << WIDTH
        };
        u64::from(two(from)) | u64::from(two(from + 2)) << (2 * WIDTH)
    };
    u128::from(four(0)) | u128::from(four(4)) << (4 * WIDTH)
}

/// The same at the end of a page, or in a small leaf.
#[cold]
fn equal_in_few(bytes: &[u8], sought: u8) -> u128 {
    let mut all = [0; MOST];
    all[..bytes.len()].copy_from_slice(bytes);
    equal_in_all(&all, sought)
}

/// Which of thirteen numbers of two bytes, the lower one first, are equal to the one sought: the lower of two bits for each.
#[inline]
pub(super) fn equal_thirteen(column: &[u8; 26], sought: u16) -> u32 {
    // Twice sixteen bytes of 26: those in the middle are compared twice.
    let at = |start: usize| column[start..].first_chunk().expect("26 bytes");
    (equal_pairs(at(0), sought) | equal_pairs(at(10), sought) << 10) & 0x0155_5555
}

/// Numbers that are added up at once, at most.
const SUMMED: usize = 16;

/// Sixteen masks that keep a number, then sixteen that do not. Comparing instead, the compiler makes a branch for each number.
static MASKS: [[u32; SUMMED]; 2] = [[u32::MAX; SUMMED], [0; SUMMED]];

/// The sum of the first `count` of up to sixteen numbers. It reads all of them: how many is anyone's guess.
#[inline]
pub(super) fn sum_before<const N: usize>(numbers: &[u32; N], count: usize) -> u32 {
    let masks = &MASKS.as_flattened()[SUMMED - count..][..N];
    numbers.iter().zip(masks).map(|(number, mask)| number & mask).fold(0, u32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_bytes_are_equal_at_every_length() {
        for len in 1..150_usize {
            let column: Vec<u8> = (0..len).map(|at| (at * 37 % 101).to_le_bytes()[0]).collect();
            for count in [1, len / 2, len].map(|count| count.clamp(1, MOST)) {
                for sought in 0..=120 {
                    let plain = column[..count].iter().enumerate();
                    let plain = plain.filter(|(_, byte)| **byte == sought);
                    let plain = plain.fold(0_u128, |mask, (at, _)| mask | 1 << at);
                    assert_eq!(equal(&column, count, sought), plain, "{sought} in {count}");
                }
            }
        }
    }

    #[test]
    fn says_which_of_thirteen_are_equal() {
        for at in 0..13 {
            let mut column = [0; 26];
            for (pair, number) in column.as_chunks_mut::<2>().0.iter_mut().zip(0_u16..) {
                *pair = (number * 257 + 3).to_le_bytes();
            }
            let sought = u16::try_from(at).unwrap() * 257 + 3;
            assert_eq!(equal_thirteen(&column, sought), 1 << (2 * at));
            assert_eq!(equal_thirteen(&column, sought + 1), 0);
            column[..2].copy_from_slice(&sought.to_le_bytes());
            assert_eq!(equal_thirteen(&column, sought), 1 | 1 << (2 * at));
        }
    }
}
