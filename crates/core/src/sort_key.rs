//! The one total order of a standing.

use serde::{Deserialize, Serialize};

use crate::{score::Score, time::Millis};

/// Whether a high or a low score is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// High is better: points, wins.
    #[default]
    Desc,
    /// Low is better: lap times.
    Asc,
}

/// Where an entry sorts, smaller is better: first by score in the board's order, then by when it was reached. Entries
/// that are equal in both are ordered by the bytes of the player id, which the index compares.
///
/// The board's order is folded in here, once; nothing that handles keys knows of ascending and descending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SortKey {
    /// The score, negated where high is better, so that the best sorts first.
    pub folded: i64,
    /// When the score was reached.
    pub at: Millis,
}

impl SortKey {
    /// Folds the order into the key.
    pub fn new(order: Order, score: Score, at: Millis) -> Self {
        Self { folded: order.fold(score), at }
    }
}

impl Order {
    /// The score as a number of which the smaller is better.
    pub fn fold(self, score: Score) -> i64 {
        match self {
            Self::Desc => -score.get(),
            Self::Asc => score.get(),
        }
    }

    /// The score that was folded.
    pub fn unfold(self, folded: i64) -> Score {
        let value = match self {
            Self::Desc => -folded,
            Self::Asc => folded,
        };
        Score::new(value).expect("only scores are folded")
    }

    /// Whether `a` is strictly better than `b`.
    pub fn better(self, a: Score, b: Score) -> bool {
        self.fold(a) < self.fold(b)
    }
}
