//! Where a player is, as the locator knows it: a leaf, and a slot in it.

use super::head::MAX_ROWS;

/// Leaf and slot in one number of 29 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat(u32);

/// Leaves there can be: their numbers have 22 bits, and one of them marks what is empty.
pub(super) const MAX_LEAVES: usize = (1 << Seat::LEAF_BITS) - 1;

impl Seat {
    const SLOT_BITS: u32 = MAX_ROWS.trailing_zeros();
    const LEAF_BITS: u32 = 22;
    pub(super) const BITS: u32 = Self::LEAF_BITS + Self::SLOT_BITS;

    #[inline]
    pub(super) fn new(leaf: u32, slot: usize) -> Self {
        debug_assert!((leaf as usize) < MAX_LEAVES && slot < MAX_ROWS);
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        Self(leaf << Self::SLOT_BITS | slot as u32)
    }

    #[inline]
    pub(super) fn leaf(self) -> u32 {
        self.0 >> Self::SLOT_BITS
    }

    #[inline]
    pub(super) fn slot(self) -> usize {
        self.0 as usize % MAX_ROWS
    }

    /// As a number that is not 0.
    #[inline]
    pub(super) fn code(self) -> u32 {
        self.0 + 1
    }

    /// The seat that such a number stands for; none for 0.
    #[inline]
    pub(super) fn from_code(code: u32) -> Option<Self> {
        code.checked_sub(1).map(Self)
    }
}
