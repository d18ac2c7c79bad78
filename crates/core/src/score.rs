//! Scores and points: whole numbers that every JSON reader represents exactly.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_SCORE;

/// A whole number within ±(2^53 − 1). Both the points of a submission and the score of an entry are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Score(i64);

impl Score {
    /// The score, if it is in range.
    pub fn new(value: i64) -> Option<Self> {
        (-MAX_SCORE..=MAX_SCORE).contains(&value).then_some(Self(value))
    }

    /// The plain number.
    pub fn get(self) -> i64 {
        self.0
    }

    /// The sum, unless it leaves the range.
    pub fn checked_add(self, points: Self) -> Option<Self> {
        // Two numbers below 2^53 cannot overflow an i64.
        Self::new(self.0 + points.0)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = i64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| {
            serde::de::Error::custom(format_args!("must be a whole number within ±{MAX_SCORE}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_leaves_the_range_is_refused_not_wrapped() {
        let max = Score::new(MAX_SCORE).unwrap();
        let one = Score::new(1).unwrap();
        assert_eq!(max.checked_add(one), None);
        assert_eq!(max.checked_add(Score::new(-1).unwrap()), Score::new(MAX_SCORE - 1));
        assert_eq!(Score::new(-MAX_SCORE).unwrap().checked_add(Score::new(-1).unwrap()), None);
        assert_eq!(Score::new(MAX_SCORE + 1), None);
    }
}
