//! Official ranks: those of a snapshot that count, whatever other rows it has.

use crate::rank::Rank;

/// Which ranks of a snapshot are official.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Official {
    /// The first so many.
    First(u32),
    /// Those that someone else gave, row by row.
    Given,
}

impl Official {
    /// The official rank of a row, given its own and the one that came with it.
    pub fn rank(self, rank: Rank, given: Option<u32>) -> Option<u32> {
        match self {
            Self::First(most) => u32::try_from(rank.get()).ok().filter(|rank| *rank <= most),
            Self::Given => given,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Position;

    #[test]
    fn the_first_ranks_are_official_unless_others_were_given() {
        let rank = |number: u64| Position(number - 1).rank();
        let of = |official: Official| {
            [1, 3, 4, u64::MAX].map(|number| official.rank(rank(number), Some(7)))
        };
        assert_eq!(of(Official::First(3)), [Some(1), Some(3), None, None]);
        assert_eq!(of(Official::First(0)), [None; 4]);
        assert_eq!(of(Official::Given), [Some(7); 4]);
        assert_eq!(Official::Given.rank(rank(1), None), None, "one without is not official");
    }
}
