//! Numbers that look random and are the same for the same seed.

/// A sequence of numbers from a seed: `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// From a seed and whatever tells this sequence from others of the same seed.
    pub fn of(seed: u64, of: &[u64]) -> Self {
        let mut state = mix(seed);
        for part in of {
            state = mix(state ^ part.wrapping_mul(STEP));
        }
        Self(state)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below a bound; 0 where that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.roll().checked_rem(bound).unwrap_or(0)
    }

    /// Whether something of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number from 0 up to, not including, 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
