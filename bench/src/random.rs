//! Random numbers that are the same in every run.

/// Splitmix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, near enough to uniform.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.bits()) * u128::from(bound)) >> 64).expect("below a u64")
    }
}
