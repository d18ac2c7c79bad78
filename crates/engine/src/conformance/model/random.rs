//! Chance that can be repeated.

/// `SplitMix64`, from a seed.
pub struct Random(pub u64);

impl Random {
    /// A number of 64 bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A place in a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("below a length")
    }

    /// True once in so many times.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
