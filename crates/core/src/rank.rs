//! Places in a standing: a rank counts from 1, a position from 0, and they are different types.

use std::{fmt, num::NonZero};

use serde::{Deserialize, Serialize};

/// A place as people say it: the best is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rank(NonZero<u64>);

impl Rank {
    /// The rank, unless the number is 0.
    pub fn new(rank: u64) -> Option<Self> {
        NonZero::new(rank).map(Self)
    }

    /// The plain number, from 1.
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The same place counted from 0.
    pub fn position(self) -> Position {
        Position(self.get() - 1)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of entries that come before: the best is at 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Position(pub u64);

impl Position {
    /// The same place counted from 1.
    pub fn rank(self) -> Rank {
        Rank(NonZero::<u64>::MIN.saturating_add(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_counts_from_one_and_a_position_from_zero() {
        assert_eq!(Position(0).rank().get(), 1);
        assert_eq!(Rank::new(10).unwrap().position(), Position(9));
        assert_eq!(Rank::new(0), None);
        assert_eq!(serde_json::to_string(&Position(6).rank()).unwrap(), "7");
        assert!(serde_json::from_str::<Rank>("0").is_err());
    }
}
