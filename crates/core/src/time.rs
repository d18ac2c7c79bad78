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

    #[cfg(test)]
    fn to_timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0.clamp(Self::MIN.0, Self::MAX.0))
            .expect("jiff's range contains ours")
    }
}

/// RFC 3339 in UTC; the fraction appears only where there is one.
///
/// Written by hand: every row of an answer has such a time, and a general formatter takes longer than all the rest of a row.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let ms = self.0.clamp(Self::MIN.0, Self::MAX.0);
        let (year, month, day) = date(ms.div_euclid(DAY));
        let ms = ms.rem_euclid(DAY);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        for (at, width, number) in [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, ms / 3_600_000),
            (14, 2, ms / 60_000 % 60),
            (17, 2, ms / 1000 % 60),
            (20, 3, ms % 1000),
        ] {
            let mut rest = number;
            for digit in text[at..at + width].iter_mut().rev() {
                *digit += u8::try_from(rest % 10).unwrap_or(0);
                rest /= 10;
            }
        }
        let mut end = text.len() - 1;
        while matches!(text[end - 1], b'0') && end > 20 {
            end -= 1;
        }
        if end == 20 {
            end = 19;
        }
        text[end] = b'Z';
        f.write_str(str::from_utf8(&text[..=end]).unwrap_or_default())
    }
}

/// Year, month and day of a count of days since 1970. Years begin in March here, so that a leap day is the last of its
/// year, and 400 of them have always the same number of days.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
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
    fn times_are_written_as_the_library_writes_them() {
        let mut ms = Millis::MIN.0;
        let mut step = 1;
        while ms <= Millis::MAX.0 {
            let instant = Millis(ms);
            assert_eq!(instant.to_string(), instant.to_timestamp().to_string());
            step = step % 40_000_000_007 * 31 + 7_919;
            ms += step;
        }
        for ms in [-1, 0, 1, 10, 100, 951_782_399_999, 951_782_400_000, 951_868_799_990] {
            assert_eq!(Millis(ms).to_string(), Millis(ms).to_timestamp().to_string());
        }
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
