//! Searching short columns of small numbers, sixteen bytes at a time.
//!
//! A leaf is found by its players' last bytes and a player's row by its slot: a loop over bytes would take longer than
//! the memory takes to deliver them.

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

/// Which of twelve numbers of two bytes, the lower one first, are equal to the one sought: two bits for each.
#[inline]
pub(super) fn equal_twelve(column: &[u8], sought: u16) -> u32 {
    // Twice sixteen bytes of 24: those in the middle are compared twice.
    let at = |start: usize| column[start..].first_chunk().expect("24 bytes");
    equal_pairs(at(0), sought) | equal_pairs(at(8), sought) << 8
}

/// Calls `confirm` with the index of each number that is equal to the one sought, until it returns something. Numbers
/// are two bytes, the lower one first.
#[inline]
pub(super) fn find_pair<R>(
    column: &[u8],
    sought: u16,
    mut confirm: impl FnMut(usize) -> Option<R>,
) -> Option<R> {
    let (chunks, rest) = column.as_chunks::<WIDTH>();
    for (at, chunk) in chunks.iter().enumerate() {
        let mut mask = equal_pairs(chunk, sought);
        while mask != 0 {
            let lane = mask.trailing_zeros() as usize / 2;
            let found = confirm(at * WIDTH / 2 + lane);
            if found.is_some() {
                return found;
            }
            mask &= !(3 << (2 * lane));
        }
    }
    let start = chunks.len() * WIDTH / 2;
    let pairs = rest.as_chunks::<2>().0.iter().enumerate();
    pairs
        .filter(|(_, pair)| u16::from_le_bytes(**pair) == sought)
        .find_map(|(at, _)| confirm(start + at))
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
    fn offers_every_equal_pair_in_order_until_one_is_taken() {
        for len in 0..80_usize {
            let numbers: Vec<u16> =
                (0..len).map(|at| u16::try_from(at % 7 * 300).unwrap()).collect();
            let column: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            for sought in [0, 300, 1_800, 7] {
                let mut offered = Vec::new();
                let all: Option<()> = find_pair(&column, sought, |at| {
                    offered.push(at);
                    None
                });
                assert_eq!(all, None);
                let equal = (0..len).filter(|&at| numbers[at] == sought);
                assert_eq!(offered, equal.clone().collect::<Vec<_>>());
                assert_eq!(find_pair(&column, sought, Some), equal.min());
            }
        }
    }
}
