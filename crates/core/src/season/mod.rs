//! When seasons begin and end.
//!
//! Every schedule is a set of local times at which a board starts anew: midnights, or the firings of a cron. A season runs
//! from the first instant at which the board's clock shows such a time (or a later one, where the clock skips it) to that
//! of the next. So each instant lies in exactly one season, whatever the zone does: a midnight that does not exist
//! starts the day at its first instant; a day of 25 hours is one season; a day that the zone skips has none; and once a
//! season has begun, a clock that is set back does not bring the one before it back.

mod clock;
mod cron;
mod date;
mod id;

use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

pub(crate) use clock::to_timestamp;
pub use cron::Cron;
pub(crate) use cron::InvalidCron;
pub use date::{InvalidDate, LocalDate};
use id::Base;
pub use id::{InvalidSeasonId, SeasonId};

use crate::{
    board::{Board, OncePer, Schedule, Weekday},
    time::Millis,
};

/// 2 January of year 1, UTC. The season that contains it reaches back to the beginning of time, so that no id needs
/// a year before 0 in any zone.
const EARLIEST: Millis = Millis(-62_135_510_400_000);

/// One season and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeasonSpan {
    /// Its name.
    pub id: SeasonId,
    /// The first instant of it.
    pub starts_at: Millis,
    /// The first instant after it; [`Millis::MAX`] where it has no end.
    pub ends_at: Millis,
}

impl SeasonSpan {
    /// Whether the instant lies in the season. One without an end contains the end of time too.
    pub fn contains(&self, instant: Millis) -> bool {
        self.starts_at <= instant && (instant < self.ends_at || self.ends_at == Millis::MAX)
    }

    /// Ends the season by hand: what was, and what is left of its time under the next part's id. A time outside of it
    /// counts as its nearer end.
    pub fn close_at(&self, now: Millis) -> (Self, Self) {
        let now = now.clamp(self.starts_at, self.ends_at);
        let closed = Self { ends_at: now, ..self.clone() };
        let rest = Self { id: self.id.next_part(), starts_at: now, ends_at: self.ends_at };
        (closed, rest)
    }
}

impl Board {
    /// The season in which an instant lies, by the schedule alone: it knows nothing of manual closes. The season after
    /// a span is `season_at(span.ends_at)`.
    pub fn season_at(&self, instant: Millis) -> SeasonSpan {
        if *self.season() == Schedule::Never {
            return SeasonSpan {
                id: Base::All.into(),
                starts_at: Millis::MIN,
                ends_at: Millis::MAX,
            };
        }
        let (start, ends_at) = start_of_span(self, self.season(), instant);
        let starts_at = match clock::first_instant(self.zone(), start) {
            Some(starts_at) if starts_at > EARLIEST => starts_at,
            _ => Millis::MIN,
        };
        let base = match self.season() {
            Schedule::Never => Base::All,
            Schedule::Yearly => Base::Year(start.year()),
            Schedule::Monthly => Base::Month(start.date()),
            Schedule::Weekly if self.week_starts() == Weekday::Monday => {
                Base::Week(start.date().iso_week_date())
            }
            Schedule::Weekly | Schedule::Daily => Base::Day(start.date()),
            Schedule::Cron(_) => Base::Instant(starts_at),
        };
        SeasonSpan { id: base.into(), starts_at, ends_at }
    }

    /// The span of a season by its id, if the schedule has it. Parts after a manual close are not the schedule's to know.
    pub fn season_named(&self, id: &SeasonId) -> Option<SeasonSpan> {
        let instant = match id.base() {
            Base::All => Millis(0),
            Base::Year(year) => clock::midnight(self.zone(), Date::new(year, 1, 1).ok()?)?,
            Base::Month(date) | Base::Day(date) => clock::midnight(self.zone(), date)?,
            Base::Week(week) => clock::midnight(self.zone(), week.date())?,
            Base::Instant(instant) => instant,
        };
        Some(self.season_at(instant)).filter(|span| span.id == *id)
    }

    /// From which instant to which a text reaches that names a season of the board, or a date in its zone; the second is the
    /// first one after it. Of a season that was ended by hand it is the time of all its parts: the schedule knows no other.
    ///
    /// Where seasons are named by dates themselves, a date is a day all the same. To ask for the seasons from a date on,
    /// or up to one, it makes no difference: a season begins on the date that is its name.
    pub fn instants_named(&self, text: &str) -> Option<(Millis, Millis)> {
        if let Ok(LocalDate(date)) = LocalDate::parse(text) {
            // What lies beyond the end of time ends there.
            let midnight = |date| clock::midnight(self.zone(), date).unwrap_or(Millis::MAX);
            return Some((midnight(date), date.tomorrow().map_or(Millis::MAX, midnight)));
        }
        let span = self.season_named(&SeasonId::parse(text).ok()?)?;
        Some((span.starts_at, span.ends_at))
    }

    /// The date of an instant in the board's zone; the same day that a daily season would be.
    pub fn local_date(&self, instant: Millis) -> LocalDate {
        LocalDate(start_of_span(self, &Schedule::Daily, instant).0.date())
    }

    /// Whether both instants lie in the same calendar day or hour of the board's zone. An hour that a change of the clock
    /// repeats is two hours; a day of 25 hours is one day.
    pub fn same_period(&self, once_per: OncePer, a: Millis, b: Millis) -> bool {
        match once_per {
            OncePer::Day => self.local_date(a) == self.local_date(b),
            OncePer::Hour => {
                let hour = |instant| {
                    let local = clock::local(self.zone(), instant);
                    (local.date(), local.hour(), clock::offset(self.zone(), instant))
                };
                hour(a) == hour(b)
            }
        }
    }

    /// The instant that a snapshot of a date is of: when one is due by the board's definition, or the beginning of the day.
    /// `None` for a date that the zone skips.
    pub fn snapshot_time(&self, date: LocalDate) -> Option<Millis> {
        let (midnight, next) = (
            clock::midnight(self.zone(), date.0)?,
            clock::midnight(self.zone(), date.0.tomorrow().ok()?)?,
        );
        let due = self.snapshot_due(Millis(midnight.0 - 1)).map(|(due, _)| due);
        (midnight < next).then(|| due.filter(|due| *due < next).unwrap_or(midnight))
    }

    /// The first instant strictly after the given one at which a snapshot is due, and its date; `None` for a board without
    /// snapshots. A time that does not exist on a date means the first instant after the gap, one that occurs twice the
    /// first; a date that the zone skips has no snapshot.
    pub fn snapshot_due(&self, after: Millis) -> Option<(Millis, LocalDate)> {
        let time = self.snapshots()?.at;
        // The clock has shown this date, so the times of all earlier ones are past.
        let mut date = clock::local(self.zone(), after.max(EARLIEST)).date();
        loop {
            let due = clock::first_instant(self.zone(), date.at(time.hour, time.minute, 0, 0))?;
            let next = date.tomorrow().ok()?;
            let exists = clock::midnight(self.zone(), date)? < clock::midnight(self.zone(), next)?;
            if due > after && exists {
                return Some((due, LocalDate(date)));
            }
            date = next;
        }
    }
}

/// The local time at which the season of an instant started, and the instant at which it ends.
fn start_of_span(board: &Board, schedule: &Schedule, instant: Millis) -> (DateTime, Millis) {
    let instant = instant.max(EARLIEST);
    let mut start = start_at_or_before(board, schedule, clock::local(board.zone(), instant));
    loop {
        let next = start_after(schedule, start)
            .and_then(|next| Some((next, clock::first_instant(board.zone(), next)?)))
            // A season of the last instant alone would be empty.
            .filter(|(_, begins)| *begins < Millis::MAX);
        match next {
            // The clock was set back across the start of a season, or it skipped a whole one.
            Some((next, begins)) if begins <= instant => start = next,
            Some((_, ends_at)) => return (start, ends_at),
            None => return (start, Millis::MAX),
        }
    }
}

/// The last start of a season up to a local time.
fn start_at_or_before(board: &Board, schedule: &Schedule, local: DateTime) -> DateTime {
    let date = local.date();
    let midnight = match schedule {
        Schedule::Cron(cron) => {
            return cron.at_or_before(local).expect("what fires at all fires within any 400 years");
        }
        Schedule::Yearly => date.first_of_year(),
        Schedule::Monthly => date.first_of_month(),
        Schedule::Weekly => {
            let days = date.weekday().since(board.week_starts().into());
            date.checked_sub(jiff::Span::new().days(days)).expect("years before 1 exist")
        }
        Schedule::Daily | Schedule::Never => date,
    };
    midnight.at(0, 0, 0, 0)
}

/// The first start of a season after another; `None` where it lies beyond the year 9999.
fn start_after(schedule: &Schedule, start: DateTime) -> Option<DateTime> {
    let span = jiff::Span::new();
    let span = match schedule {
        Schedule::Cron(cron) => return cron.after(start),
        Schedule::Yearly => span.years(1),
        Schedule::Monthly => span.months(1),
        Schedule::Weekly => span.weeks(1),
        Schedule::Daily => span.days(1),
        Schedule::Never => return None,
    };
    start.checked_add(span).ok()
}

#[cfg(test)]
mod tests;
