//! The best score that a player ever had in a season, and where.

use serde::{Deserialize, Serialize};

use crate::{season::SeasonId, time::Millis};

/// A player's score in a season.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Best {
    /// Folded: the lowest is the best.
    pub folded: i64,
    /// When the season began.
    pub starts_at: Millis,
    /// The season.
    pub season: SeasonId,
}

impl Best {
    /// The better of two; of equals the one of the earlier season, and of two that began at once this one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if (other.folded, other.starts_at) < (self.folded, self.starts_at) { other } else { self }
    }

    /// The best of seasons in order, oldest first.
    pub fn of(seasons: impl IntoIterator<Item = Self>) -> Option<Self> {
        seasons.into_iter().reduce(Self::or)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn best(folded: i64, month: i64) -> Best {
        let season = format!("2026-{month:02}").parse().unwrap();
        Best { folded, starts_at: Millis(month), season }
    }

    #[test]
    fn of_equals_the_first_stays() {
        assert_eq!(best(1, 2).or(best(1, 3)), best(1, 2));
        assert_eq!(best(1, 3).or(best(1, 2)), best(1, 2));
        assert_eq!(best(2, 2).or(best(1, 3)), best(1, 3));
        // Of a season that was closed at once and the one that went on from there.
        let part = Best { season: "2026-02.2".parse().unwrap(), ..best(1, 2) };
        assert_eq!(best(1, 2).or(part.clone()), best(1, 2));
        assert_eq!(part.clone().or(best(1, 2)), part);
    }

    proptest! {
        /// What was kept of seasons that are gone stands for them.
        #[test]
        fn the_best_of_parts_is_the_best_of_all(scores in proptest::collection::vec(0..4i64, 1..12), kept in 0..12usize) {
            let seasons: Vec<Best> = scores.iter().zip(1..).map(|(score, month)| best(*score, month)).collect();
            let (gone, kept) = seasons.split_at(kept.min(seasons.len()));
            let parts = [Best::of(gone.iter().cloned()), Best::of(kept.iter().cloned())];
            let first = seasons.iter().min_by_key(|best| best.folded).cloned();
            prop_assert_eq!(Best::of(parts.into_iter().flatten()), first);
        }
    }
}
