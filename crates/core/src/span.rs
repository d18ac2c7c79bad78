//! Lengths of time as people write them: `5 minutes`, `24 months`.

use std::fmt;

use jiff::{Span as CalendarSpan, tz::TimeZone};

use crate::{season::to_timestamp, time::Millis};

/// What a length of time is counted in. Days and longer follow the calendar of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Second, "second"),
        (Self::Minute, "minute"),
        (Self::Hour, "hour"),
        (Self::Day, "day"),
        (Self::Week, "week"),
        (Self::Month, "month"),
        (Self::Year, "year"),
    ];

    fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A length of time, kept as it was written, since a month has no fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// How many.
    pub count: u32,
    /// Of what.
    pub unit: Unit,
}

impl Span {
    /// Reads `5 minutes` or `1 day`.
    pub fn parse(text: &str) -> Option<Self> {
        let (count, word) = counted(text)?;
        let name = word.strip_suffix('s').unwrap_or(word);
        let (unit, _) = Unit::ALL.into_iter().find(|(_, known)| *known == name)?;
        Some(Self { count, unit })
    }

    /// The length where it is the same at any time: days count as 24 hours, months and years are `None`.
    pub fn exact(self) -> Option<Millis> {
        let seconds = match self.unit {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 3600,
            Unit::Day => 86_400,
            Unit::Week => 7 * 86_400,
            Unit::Month | Unit::Year => return None,
        };
        // At most 2^32 × 604,800,000, which is below 2^62.
        Some(Millis(i64::from(self.count) * seconds * 1000))
    }

    /// The instant this long after another, by the calendar of the zone for days and longer. What lies beyond the end
    /// of time is its end.
    pub fn after(self, start: Millis, zone: &TimeZone) -> Millis {
        let span = CalendarSpan::new();
        let span = match self.unit {
            Unit::Second | Unit::Minute | Unit::Hour => {
                return start.plus(self.exact().expect("hours have a fixed length"));
            }
            Unit::Day => span.try_days(self.count),
            Unit::Week => span.try_weeks(self.count),
            Unit::Month => span.try_months(self.count),
            Unit::Year => span.try_years(self.count),
        };
        let start = to_timestamp(start).to_zoned(zone.clone());
        span.and_then(|span| start.checked_add(span))
            .map_or(Millis::MAX, |end| Millis::from_timestamp(end.timestamp()))
    }
}

/// `1 day`, `5 minutes`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.count, self.unit.name())
    }
}

/// How long what is over stays readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// Nothing is deleted.
    Forever,
    /// The newest so many closed seasons stay.
    Seasons(u32),
    /// Each stays this long after its end.
    For(Span),
}

impl Keep {
    /// Reads `forever`, `8 seasons` or `24 months`. Keeping nothing at all is refused: it is what a mistake looks like.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "forever" {
            return Some(Self::Forever);
        }
        let keep = match counted(text)? {
            (count, "season" | "seasons") => (count, Self::Seasons(count)),
            (count, _) => (count, Self::For(Span::parse(text)?)),
        };
        (keep.0 > 0).then_some(keep.1)
    }

    /// Whether what ended at `ended_at` is to be deleted. `seasons_since` counts the seasons of the board that closed
    /// after it; months and days are those of the board's zone.
    pub fn is_expired(
        self,
        ended_at: Millis,
        now: Millis,
        seasons_since: u64,
        zone: &TimeZone,
    ) -> bool {
        match self {
            Self::Forever => false,
            Self::Seasons(count) => seasons_since >= u64::from(count),
            Self::For(span) => now >= span.after(ended_at, zone),
        }
    }
}

/// As it is written in a board's definition.
impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forever => f.write_str("forever"),
            Self::Seasons(1) => f.write_str("1 season"),
            Self::Seasons(count) => write!(f, "{count} seasons"),
            Self::For(span) => span.fmt(f),
        }
    }
}

/// A number and a word.
fn counted(text: &str) -> Option<(u32, &str)> {
    let mut words = text.split_whitespace();
    let (count, word) = (words.next()?, words.next()?);
    // `parse` alone would take "+5".
    let digits = count.bytes().all(|b| b.is_ascii_digit());
    (digits && words.next().is_none()).then_some((count.parse().ok()?, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Millis {
        Millis::parse(text).unwrap()
    }

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, normal) in [
            ("5 minutes", "5 minutes"),
            ("1 minutes", "1 minute"),
            ("  2   week ", "2 weeks"),
            ("0 seconds", "0 seconds"),
            ("24 months", "24 months"),
            ("1 year", "1 year"),
            ("36 hours", "36 hours"),
        ] {
            assert_eq!(Span::parse(text).unwrap().to_string(), normal);
        }
        for bad in [
            "",
            "5",
            "minutes",
            "5 minutess",
            "-5 minutes",
            "+5 minutes",
            "5 Minutes",
            "5 minutes ago",
            "5000000000 days",
            "1.5 days",
            "5m",
        ] {
            assert_eq!(Span::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_day_follows_the_calendar_and_an_hour_does_not() {
        let zone = TimeZone::get("America/New_York").unwrap();
        let noon = ms("2026-03-07T17:00:00Z");
        assert_eq!(Span::parse("1 day").unwrap().after(noon, &zone), ms("2026-03-08T16:00:00Z"));
        assert_eq!(Span::parse("24 hours").unwrap().after(noon, &zone), ms("2026-03-08T17:00:00Z"));
        assert_eq!(
            Span::parse("1 month").unwrap().after(ms("2026-01-31T17:00:00Z"), &zone),
            ms("2026-02-28T17:00:00Z")
        );
        assert_eq!(Span::parse("4000000000 years").unwrap().after(noon, &zone), Millis::MAX);
        assert_eq!(Span::parse("9999 years").unwrap().after(noon, &zone), Millis::MAX);
        assert_eq!(
            Span::parse("4000000000 weeks").unwrap().exact(),
            Some(Millis(2_419_200_000_000_000_000))
        );
    }

    #[test]
    fn what_is_kept_for_months_expires_by_the_calendar_of_the_zone() {
        let zone = TimeZone::get("Asia/Seoul").unwrap();
        let keep = Keep::parse("24 months").unwrap();
        let ended = ms("2024-10-31T15:00:00Z");
        assert!(!keep.is_expired(ended, ms("2026-10-31T14:59:59.999Z"), 99, &zone));
        assert!(keep.is_expired(ended, ms("2026-10-31T15:00:00Z"), 0, &zone));
    }

    #[test]
    fn eight_seasons_keep_the_newest_eight() {
        let keep = Keep::parse("8 seasons").unwrap();
        let (old, now) = (Millis(0), ms("2026-11-15T00:00:00Z"));
        assert!(!keep.is_expired(old, now, 7, &TimeZone::UTC));
        assert!(keep.is_expired(now, now, 8, &TimeZone::UTC));
        assert!(!Keep::Forever.is_expired(old, now, u64::MAX, &TimeZone::UTC));
    }

    #[test]
    fn keeping_is_written_as_it_is_read() {
        for text in ["forever", "8 seasons", "1 season", "24 months", "90 days", "1 year"] {
            assert_eq!(Keep::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "never", "0 seasons", "0 days", "seasons", "8", "8 games"] {
            assert_eq!(Keep::parse(bad), None, "{bad:?}");
        }
    }
}
