//! Scores and points: whole numbers that every JSON reader represents exactly.

use std::fmt;

use serde::{Deserialize, Serialize, de};

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
        deserializer.deserialize_i64(Whole)
    }
}

/// Reads a score. `5.0`, `"5"` and `1e3` are not written as one.
struct Whole;

impl de::Visitor<'_> for Whole {
    type Value = Score;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number within ±{MAX_SCORE}")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Score, E> {
        Score::new(value).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Score, E> {
        let score = i64::try_from(value).ok().and_then(Score::new);
        score.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
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
