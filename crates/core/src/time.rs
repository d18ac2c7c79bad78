//! Instants as whole milliseconds since 1970, UTC.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An instant, or a span, in milliseconds. Submissions are ordered at this precision.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The first instant that can be written as RFC 3339: year 0.
    pub const MIN: Self = Self(-62_167_219_200_000);
    /// The last one that can be written in every zone: the end of year 9999, but for the widest offset.
    pub const MAX: Self = Self(253_402_207_200_000);

    /// The instant, if RFC 3339 can write it.
    pub fn new(ms: i64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&ms).then_some(Self(ms))
    }

    /// This instant plus a span, held within what can be written.
    pub fn plus(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0).clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Reads an RFC 3339 instant; fractions below a millisecond are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        let instant: Timestamp = text.parse().ok()?;
        // Rounding down, also before 1970, keeps the order of any two instants.
        Self::new(instant.as_nanosecond().div_euclid(1_000_000).try_into().ok()?)
    }

    pub(crate) fn from_timestamp(instant: Timestamp) -> Self {
        Self(instant.as_millisecond())
    }

    pub(crate) fn to_timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0.clamp(Self::MIN.0, Self::MAX.0))
            .expect("jiff's range contains ours")
    }
}

/// RFC 3339 in UTC; the fraction appears only where there is one.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_timestamp().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_number_name_the_same_instant() {
        assert_eq!(Millis::parse("2026-11-15T10:00:00Z"), Some(Millis(1_794_736_800_000)));
        assert_eq!(Millis::parse("2026-11-15T19:00:00.25+09:00"), Some(Millis(1_794_736_800_250)));
        assert_eq!(Millis(1_794_736_800_250).to_string(), "2026-11-15T10:00:00.25Z");
        assert_eq!(Millis(1_794_736_800_000).to_string(), "2026-11-15T10:00:00Z");
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        assert_eq!(Millis::parse("2026-11-15"), None);
        assert_eq!(Millis::parse("yesterday"), None);
        assert_eq!(Millis::new(i64::MAX), None);
        assert_eq!(Millis::MAX.to_string(), "9999-12-30T22:00:00Z");
        assert_eq!(Millis::MIN.to_string(), "0000-01-01T00:00:00Z");
    }
}
