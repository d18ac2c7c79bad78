//! Searching short columns of small numbers, sixteen bytes at a time.
//!
//! A player's row is found by its slot and its seat by bits of its hash: a loop over bytes would take longer than the memory takes to
//! deliver them.

use super::mem::{WIDTH, equal_bytes, equal_pairs};

/// Where a byte is first.
#[inline]
pub(super) fn find(column: &[u8], sought: u8) -> Option<usize> {
    let (chunks, rest) = column.as_chunks::<WIDTH>();
    for (at, chunk) in chunks.iter().enumerate() {
        let mask = equal_bytes(chunk, sought);
        if mask != 0 {
            return Some(at * WIDTH + mask.trailing_zeros() as usize);
        }
    }
    let found = rest.iter().position(|&byte| byte == sought)?;
    Some(chunks.len() * WIDTH + found)
}

/// Which of eleven numbers of two bytes, the lower one first, are equal to the one sought: the lower of two bits for each.
#[inline]
pub(super) fn equal_eleven(column: &[u8], sought: u16) -> u32 {
    // Twice sixteen bytes of 22: those in the middle are compared twice.
    let at = |start: usize| column[start..].first_chunk().expect("22 bytes");
    (equal_pairs(at(0), sought) | equal_pairs(at(6), sought) << 6) & 0x0015_5555
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
    fn finds_what_a_plain_loop_finds_at_every_length() {
        for len in 0..150_usize {
            let column: Vec<u8> = (0..len).map(|at| (at * 37 % 101).to_le_bytes()[0]).collect();
            for sought in 0..=120 {
                assert_eq!(find(&column, sought), column.iter().position(|&byte| byte == sought));
            }
        }
    }

    #[test]
    fn says_which_of_eleven_are_equal() {
        for at in 0..11 {
            let mut column: Vec<u8> =
                (0..11_u16).flat_map(|n| (n * 257 + 3).to_le_bytes()).collect();
            let sought = u16::try_from(at).unwrap() * 257 + 3;
            assert_eq!(equal_eleven(&column, sought), 1 << (2 * at));
            assert_eq!(equal_eleven(&column, sought + 1), 0);
            column[..2].copy_from_slice(&sought.to_le_bytes());
            assert_eq!(equal_eleven(&column, sought), 1 | 1 << (2 * at));
        }
    }
}
