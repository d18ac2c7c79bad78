//! Five cron fields: minute, hour, day of month, month, day of week.
//!
//! Written here rather than taken from a crate because seasons need the firings as local times in both directions, so
//! that one rule (see the [parent module](super)) maps them to instants: a library that answers in instants has its own
//! rules for clock changes, which differ between forwards and backwards.

use std::sync::Arc;

use jiff::civil::{Date, DateTime};

/// When a board with a cron season starts anew. Fires at least once, or it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: Arc<str>,
    /// A bit per value that matches.
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    /// Sunday is bit 0.
    weekdays: u64,
    /// Where both days of month and of week are restricted, either is enough, as everywhere in cron.
    either_day: bool,
}

/// Why a text is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidCron {
    Malformed,
    NeverFires,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidCron> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cron = Self::read(&text).ok_or(InvalidCron::Malformed)?;
        // The calendar repeats after 400 years: what does not fire within them never does.
        let cycle = Date::constant(2000, 1, 1);
        match cron.first_from(cycle.at(0, 0, 0, 0)) {
            Some(first) if first.year() < 2400 => Ok(cron),
            _ => Err(InvalidCron::NeverFires),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let fields: [&str; 5] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let [minute, hour, day, month, weekday] = fields;
        let weekdays = field(weekday, 0, 7, &WEEKDAYS)?;
        Some(Self {
            minutes: field(minute, 0, 59, &[])?,
            hours: field(hour, 0, 23, &[])?,
            days: field(day, 1, 31, &[])?,
            months: field(month, 1, 12, &MONTHS)?,
            // Sunday is 0 or 7.
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
            text: text.into(),
        })
    }

    /// The five fields.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first local time after the given one at which it fires, unless that is after the year 9999.
    pub(super) fn after(&self, local: DateTime) -> Option<DateTime> {
        let minute = jiff::Span::new().minutes(1);
        self.first_from(whole_minute(local).checked_add(minute).ok()?)
    }

    /// The last local time up to the given one at which it fires.
    pub(super) fn at_or_before(&self, local: DateTime) -> Option<DateTime> {
        let (mut date, mut until) = (local.date(), (local.hour(), local.minute()));
        loop {
            if !has(self.months, date.month()) {
                date = date.first_of_month().yesterday().ok()?;
            } else if let Some((hour, minute)) = self.last_until(date, until) {
                return Some(date.at(hour, minute, 0, 0));
            } else {
                date = date.yesterday().ok()?;
            }
            until = (23, 59);
        }
    }

    /// The first firing at or after a whole minute. Months that do not match are skipped whole, so that the worst case,
    /// a 29 February on a given day of the week, costs some 1,200 steps.
    fn first_from(&self, local: DateTime) -> Option<DateTime> {
        let (mut date, mut from) = (local.date(), (local.hour(), local.minute()));
        loop {
            if !has(self.months, date.month()) {
                date = date.last_of_month().tomorrow().ok()?;
            } else if let Some((hour, minute)) = self.first_since(date, from) {
                return Some(date.at(hour, minute, 0, 0));
            } else {
                date = date.tomorrow().ok()?;
            }
            from = (0, 0);
        }
    }

    fn first_since(&self, date: Date, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        if !self.on(date) {
            return None;
        }
        let in_this_hour = has(self.hours, hour).then(|| at_or_after(self.minutes, minute));
        match in_this_hour.flatten() {
            Some(minute) => Some((hour, minute)),
            None => Some((at_or_after(self.hours, hour + 1)?, at_or_after(self.minutes, 0)?)),
        }
    }

    fn last_until(&self, date: Date, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        if !self.on(date) {
            return None;
        }
        let in_this_hour = has(self.hours, hour).then(|| at_or_before(self.minutes, minute));
        match in_this_hour.flatten() {
            Some(minute) => Some((hour, minute)),
            None => Some((at_or_before(self.hours, hour - 1)?, at_or_before(self.minutes, 59)?)),
        }
    }

    /// Whether it fires on a day of a matching month.
    fn on(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        if self.either_day { day || weekday } else { day && weekday }
    }
}

fn whole_minute(local: DateTime) -> DateTime {
    local.date().at(local.hour(), local.minute(), 0, 0)
}

fn has(bits: u64, value: i8) -> bool {
    bits >> value & 1 == 1
}

/// The lowest value in the set that is at least `from`.
fn at_or_after(bits: u64, from: i8) -> Option<i8> {
    (from..60).find(|value| has(bits, *value))
}

/// The highest value in the set that is at most `until`, which may be −1.
fn at_or_before(bits: u64, until: i8) -> Option<i8> {
    (0..=until).rev().find(|value| has(bits, *value))
}

/// One field as a set of bits: a list of `*`, `5`, `1-5`, `*/15` or `8-18/2`, with names where the field has them.
fn field(text: &str, min: u32, max: u32, names: &[&str]) -> Option<u64> {
    let value = |text: &str| {
        if let Some(index) = names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            return Some(min + u32::try_from(index).ok()?);
        }
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let value = if digits { text.parse().ok()? } else { return None };
        (min..=max).contains(&value).then_some(value)
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (min, max),
            Some((first, last)) => (value(first)?, value(last)?),
            // "5/10" means different things in different crons.
            None if step.is_some() => return None,
            None => (value(range)?, value(range)?),
        };
        let step: usize = match step {
            Some(step) if step.bytes().all(|b| b.is_ascii_digit()) => step.parse().ok()?,
            Some(_) => return None,
            None => 1,
        };
        if first > last || step == 0 {
            return None;
        }
        bits |= (first..=last).step_by(step).fold(0, |bits, value| bits | 1 << value);
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime {
        text.parse().unwrap()
    }

    #[test]
    fn it_fires_where_all_fields_match() {
        for (cron, from, next) in [
            ("0 9 * * *", "2026-11-15T09:00", "2026-11-16T09:00"),
            ("0 9 * * *", "2026-11-15T08:59:59.999", "2026-11-15T09:00"),
            ("*/15 * * * *", "2026-11-15T23:50", "2026-11-16T00:00"),
            ("30 8-18/5 * * *", "2026-11-15T08:30", "2026-11-15T13:30"),
            ("0 0 1 * *", "2026-12-15T00:00", "2027-01-01T00:00"),
            ("0 0 1 1,7 *", "2026-11-15T00:00", "2027-01-01T00:00"),
            ("0 0 * * mon", "2026-11-15T00:00", "2026-11-16T00:00"),
            ("0 0 * * 7", "2026-11-15T00:00", "2026-11-22T00:00"),
            ("0 0 * * Fri-7", "2026-11-15T00:00", "2026-11-20T00:00"),
            ("0 0 29 2 *", "2026-11-15T00:00", "2028-02-29T00:00"),
            ("0 0 29 2 *", "2096-02-29T00:00", "2104-02-29T00:00"),
            ("0 0 29 FEB */7", "1880-02-29T00:00", "1920-02-29T00:00"),
        ] {
            let parsed = Cron::parse(cron).unwrap();
            assert_eq!(parsed.after(at(from)), Some(at(next)), "{cron} after {from}");
            assert_eq!(parsed.at_or_before(at(next)), Some(at(next)), "{cron}");
        }
    }

    #[test]
    fn with_both_days_given_either_is_enough() {
        let cron = Cron::parse("0 0 13 * fri").unwrap();
        assert_eq!(cron.after(at("2026-11-07T00:00")), Some(at("2026-11-13T00:00")));
        assert_eq!(cron.after(at("2026-11-13T00:00")), Some(at("2026-11-20T00:00")));
        assert_eq!(cron.after(at("2026-12-12T00:00")), Some(at("2026-12-13T00:00")));
    }

    #[test]
    fn what_is_not_five_fields_is_refused() {
        for bad in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5/10 * * * *",
            "*/0 * * * *",
            "9-8 * * * *",
            "a * * * *",
            "+1 * * * *",
            "1, * * * *",
            "- * * * *",
            "* * * * fri-mon",
            "@daily",
            "*/+5 * * * *",
            "*/ * * * *",
            "* * L * *",
        ] {
            assert_eq!(Cron::parse(bad), Err(InvalidCron::Malformed), "{bad:?}");
        }
    }

    #[test]
    fn what_never_fires_is_refused() {
        for bad in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 */2"] {
            assert_eq!(Cron::parse(bad), Err(InvalidCron::NeverFires), "{bad:?}");
        }
        assert!(Cron::parse("0 0 30 2 mon").is_ok(), "Mondays of February are enough");
        assert_eq!(Cron::parse(" 0  0 1 * * ").unwrap().as_str(), "0 0 1 * *");
    }
}
