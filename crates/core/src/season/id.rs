//! The names of seasons.

use std::{cmp::Ordering, fmt, str::FromStr};

use compact_str::{CompactString, ToCompactString, format_compact};
use jiff::civil::{Date, ISOWeekDate, Time, Weekday};
use serde::{Deserialize, Serialize};

use super::date::{date, number};
use crate::time::Millis;

/// The name of a season, unique on its board:
///
/// | schedule | id |
/// |---|---|
/// | yearly | `2026` |
/// | monthly | `2026-11` |
/// | weekly | `2026-W46`, the ISO week; its first date, `2014-05-09`, where weeks do not start on Monday |
/// | daily | `2026-11-15` |
/// | cron | `2026-11-15T09:00:00Z`, when it starts: the text that replies give as `starts_at` |
/// | never | `all` |
///
/// After a manual close the rest of the time is `2026-11.2`, then `2026-11.3`.
///
/// The seasons of a board sort by time. This is not the order of the texts once there is a tenth part, which is why the
/// type does not borrow as `str`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct SeasonId(CompactString);

/// The text is not a season's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a season is written 2026, 2026-11, 2026-W46, 2026-11-15, 2026-11-15T09:00:00Z or all, with .2, .3 and so on \
     for what is left of it after a manual close"
)]
pub struct InvalidSeasonId;

impl SeasonId {
    /// Reads an id. Any board's ids are accepted; whether the season exists is for the board to say.
    pub fn parse(text: &str) -> Result<Self, InvalidSeasonId> {
        let (base, part) = match text.split_once('.') {
            Some((base, part)) => (base, Some(part)),
            None => (text, None),
        };
        // One way to write each part: `.1` and `.02` would be second names.
        let part_is_good = part.is_none_or(|part| {
            let digits = part.bytes().all(|b| b.is_ascii_digit()) && !part.starts_with('0');
            digits && part.parse::<u32>().is_ok_and(|part| part >= 2)
        });
        match Base::parse(base) {
            Some(_) if part_is_good => Ok(Self(text.into())),
            _ => Err(InvalidSeasonId),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The year in the id: the ISO year for weeks, none for `all`.
    pub fn year(&self) -> Option<i32> {
        number(self.0.get(..4)?, 4)
    }

    /// Which part of a manually closed season this is, counting from 1.
    pub fn part(&self) -> u32 {
        self.split().1
    }

    /// The id of what is left after a manual close.
    pub fn next_part(&self) -> Self {
        let (base, part) = self.split();
        Self(format_compact!("{base}.{}", part.saturating_add(1)))
    }

    /// The id of the season of which this is a part.
    pub fn whole(&self) -> Self {
        Self(self.split().0.into())
    }

    /// Whether both are of one season, or of parts of one.
    pub fn shares_season(&self, other: &Self) -> bool {
        self.split().0 == other.split().0
    }

    fn split(&self) -> (&str, u32) {
        match self.0.split_once('.') {
            Some((base, part)) => (base, part.parse().expect("checked when constructed")),
            None => (&self.0, 1),
        }
    }

    /// What the id says, without the part.
    pub(super) fn base(&self) -> Base {
        Base::parse(self.split().0).expect("checked when constructed")
    }
}

/// What an id tells about the time of its season.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    All,
    Year(i16),
    Month(Date),
    Week(ISOWeekDate),
    Day(Date),
    Instant(Millis),
}

impl Base {
    fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Self::All);
        }
        let year: i16 = number(text.get(..4)?, 4)?;
        let rest = &text[4..];
        if rest.is_empty() {
            return Some(Self::Year(year));
        }
        let after_year = rest.strip_prefix('-')?;
        if let Some(week) = after_year.strip_prefix('W') {
            return ISOWeekDate::new(year, number(week, 2)?, Weekday::Monday).ok().map(Self::Week);
        }
        match text.len() {
            7 => Date::new(year, number(after_year, 2)?, 1).ok().map(Self::Month),
            10 => date(text).map(Self::Day),
            20 => instant(text).map(Self::Instant),
            _ => None,
        }
    }
}

/// Reads exactly `2026-11-15T09:00:00Z`.
fn instant(text: &str) -> Option<Millis> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut parts = time.split(':').map(|part| number(part, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let time = Time::new(hour, minute, second, 0).ok()?;
    let utc = date(day)?.to_datetime(time).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Millis::from_timestamp(utc.timestamp()))
}

impl From<Base> for SeasonId {
    fn from(base: Base) -> Self {
        Self(match base {
            Base::All => CompactString::const_new("all"),
            Base::Year(year) => format_compact!("{year:04}"),
            Base::Month(date) => format_compact!("{:04}-{:02}", date.year(), date.month()),
            Base::Week(week) => format_compact!("{:04}-W{:02}", week.year(), week.week()),
            Base::Day(date) => super::LocalDate(date).to_compact_string(),
            Base::Instant(instant) => instant.to_compact_string(),
        })
    }
}

impl Ord for SeasonId {
    fn cmp(&self, other: &Self) -> Ordering {
        // All years have four digits, so the texts of one board's schedule sort by time.
        self.split().cmp(&other.split())
    }
}

impl PartialOrd for SeasonId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for SeasonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SeasonId {
    type Err = InvalidSeasonId;
    fn from_str(text: &str) -> Result<Self, InvalidSeasonId> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for SeasonId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = CompactString::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SeasonId {
        SeasonId::parse(text).unwrap()
    }

    #[test]
    fn only_well_formed_ids_are_read() {
        for good in [
            "2026",
            "2026-11",
            "2026-W46",
            "2026-W53",
            "2026-11-15",
            "all",
            "2026-11-15T09:00:00Z",
            "2026-11.2",
            "all.12",
            "2026-W46.3",
            "2026-11-15T09:00:00Z.2",
            "2024-02-29",
        ] {
            assert_eq!(id(good).as_str(), good);
            assert_eq!(SeasonId::from(id(good).base()).as_str(), good.split('.').next().unwrap());
        }
        for bad in [
            "",
            "26",
            "12026",
            "2026-",
            "2026-1",
            "2026-13",
            "2026-00",
            "2025-W53",
            "2026-W00",
            "2026-w46",
            "2026-W4",
            "2026-02-29",
            "2026-11-15T09:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T09:00:00z",
            "2026-11-15t09:00:00Z",
            "2026-11-15T09:00:00+1",
            "ALL",
            "all.",
            "all.0",
            "all.1",
            "all.02",
            "all.2.3",
            "all.99999999999",
            "all.-2",
            "current",
            "previous",
            "２026",
            "2026-11/..",
            "+026",
            "-026",
        ] {
            assert_eq!(SeasonId::parse(bad), Err(InvalidSeasonId), "{bad:?}");
        }
    }

    #[test]
    fn ids_of_a_board_sort_by_time() {
        let sorted =
            ["2026-09", "2026-11", "2026-11.2", "2026-11.9", "2026-11.10", "2026-12", "2027-01"];
        assert!(sorted.windows(2).all(|pair| id(pair[0]) < id(pair[1])));
    }

    #[test]
    fn the_year_is_the_one_in_the_id() {
        assert_eq!(id("2026-11.2").year(), Some(2026));
        assert_eq!(id("2020-W53").year(), Some(2020));
        assert_eq!(id("2026-11-15T09:00:00Z").year(), Some(2026));
        assert_eq!(id("all.2").year(), None);
    }

    #[test]
    fn an_id_is_its_text_in_json_and_checked_when_read() {
        assert_eq!(serde_json::to_string(&id("2026-11")).unwrap(), r#""2026-11""#);
        assert_eq!(serde_json::from_str::<SeasonId>(r#""2026-11.2""#).unwrap(), id("2026-11.2"));
        assert!(serde_json::from_str::<SeasonId>(r#""2026-11.1""#).is_err());
    }
}
