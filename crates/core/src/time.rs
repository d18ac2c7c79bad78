//! Instants as whole milliseconds since 1970, UTC.

use std::{borrow::Cow, fmt};

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
        // The library reads other forms of ISO 8601 as well, and names of zones.
        if !is_rfc3339(text.as_bytes()) {
            return None;
        }
        let instant: Timestamp = nanoseconds(text).parse().ok()?;
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

/// Whether the text has the form of an RFC 3339 instant, such as `2026-11-15T19:00:00.25+09:00`. Its numbers may still be out
/// of range, except for the offset's hours, of which the library takes more.
fn is_rfc3339(text: &[u8]) -> bool {
    let Some((head, rest)) = text.split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let fraction = match rest.strip_prefix(b".") {
        Some(rest) => 1 + rest.iter().take_while(|b| b.is_ascii_digit()).count(),
        None => 0,
    };
    like(head, b"0000-00-00T00:00:00")
        && fraction != 1
        && match &rest[fraction..] {
            [b'Z' | b'z'] => true,
            [b'+' | b'-', offset @ ..] => like(offset, b"00:00") && offset[..2] <= b"23"[..],
            _ => false,
        }
}

/// An RFC 3339 instant with up to nine digits of its fraction, which may have any number of them: the library takes no more.
fn nanoseconds(text: &str) -> Cow<'_, str> {
    const POINT: usize = "0000-00-00T00:00:00".len();
    let Some((kept, rest)) = text.split_at_checked(POINT + 1 + 9) else { return text.into() };
    let digit = |c: char| c.is_ascii_digit();
    if !kept[POINT + 1..].chars().all(digit) {
        return text.into();
    }
    format!("{kept}{}", rest.trim_start_matches(digit)).into()
}

/// Whether the text is the form with other digits. A `T` may be small, or a space.
fn like(text: &[u8], form: &[u8]) -> bool {
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        form => byte == form,
    };
    text.len() == form.len() && text.iter().zip(form).all(fits)
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
    fn only_rfc_3339_is_read() {
        let second = Some(Millis(1_794_959_999_000));
        for (good, instant) in [
            ("2026-11-17T23:59:59Z", second),
            ("2026-11-17t23:59:59z", second),
            ("2026-11-17 23:59:59Z", second),
            ("2026-11-18T08:59:59+09:00", second),
            ("2026-11-17T23:59:59-00:00", second),
            ("2026-11-17T23:59:59.123456789Z", Some(Millis(1_794_959_999_123))),
        ] {
            assert_eq!(Millis::parse(good), instant, "{good}");
        }
        for bad in [
            "20261117T235959Z",
            "2026-11-17T23:59Z",
            "2026-11-17T235959Z",
            "2026-11-17T23:59:59",
            "2026-11-17T23:59:59Z[UTC]",
            "2026-11-17T23:59:59+09:00[Asia/Tokyo]",
            "2026-11-17T23:59:59,5Z",
            "2026-11-17T23:59:59.Z",
            "+002026-11-17T23:59:59Z",
            "-002026-11-17T23:59:59Z",
            "2026-11-17T23:59:59+09",
            "2026-11-17T23:59:59+0900",
            "2026-11-17T23:59:59+09:00:30",
            "2026-11-17T23:59:59+24:00",
            "2026-11-17_23:59:59Z",
            "2026-11-17T23:59:59Z ",
            "2026-11-17T25:00:00Z",
            "2026-02-30T00:00:00Z",
        ] {
            assert_eq!(Millis::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_fraction_may_have_any_number_of_digits() {
        let instant = Some(Millis(1_794_959_999_123));
        for good in [
            "2026-11-17T23:59:59.123Z",
            "2026-11-18T08:59:59.12399+09:00",
            "2026-11-17T23:59:59.1239999999Z",
            "2026-11-17T23:59:59.123000000000000000000+00:00",
            "2026-11-18T08:59:59.1234567891234+09:00",
        ] {
            assert_eq!(Millis::parse(good), instant, "{good}");
        }
        for bad in ["2026-11-17T23:59:59.1234567891", "2026-11-17T23:59:59.123456789x1Z"] {
            assert_eq!(Millis::parse(bad), None, "{bad}");
        }
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
