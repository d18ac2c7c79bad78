//! A calendar date in the board's zone: what a snapshot is named after.

use std::{fmt, str::FromStr};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A date, written `2026-02-21`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDate(pub(super) Date);

/// The text is not a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a date is written 2026-02-21")]
pub struct InvalidDate;

impl LocalDate {
    /// Reads `2026-02-21` and nothing else.
    pub fn parse(text: &str) -> Result<Self, InvalidDate> {
        date(text).map(Self).ok_or(InvalidDate)
    }
}

impl fmt::Display for LocalDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year(), self.0.month(), self.0.day())
    }
}

impl FromStr for LocalDate {
    type Err = InvalidDate;
    fn from_str(text: &str) -> Result<Self, InvalidDate> {
        Self::parse(text)
    }
}

impl Serialize for LocalDate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LocalDate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = compact_str::CompactString::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// A date of exactly ten characters. The library's own parser takes many more shapes, each of which would be another
/// name for the same thing.
pub(super) fn date(text: &str) -> Option<Date> {
    let (year, rest) = (text.get(..4)?, text.get(4..)?);
    let (month, day) = rest.strip_prefix('-')?.split_once('-')?;
    Date::new(number(year, 4)?, number(month, 2)?, number(day, 2)?).ok()
}

/// A number of exactly so many digits.
pub(super) fn number<T: FromStr>(text: &str, digits: usize) -> Option<T> {
    let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_one_way_to_be_written() {
        for good in ["2026-02-21", "2024-02-29", "0001-01-01", "9999-12-31"] {
            assert_eq!(LocalDate::parse(good).map(|date| date.to_string()), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "2026-2-21",
            "20260221",
            "2026-02-30",
            "2026-13-01",
            "-026-01-01",
            "2026-02-21T00:00",
            "２026-02-21",
        ] {
            assert_eq!(LocalDate::parse(bad), Err(InvalidDate), "{bad:?}");
        }
        assert!(LocalDate::parse("2026-02-21").unwrap() < LocalDate::parse("2026-11-01").unwrap());
    }
}
