//! From what a zone's clock shows to instants and back.

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::{Offset, TimeZone},
};

use crate::time::Millis;

/// The instant for the library, which ends a day before the year 9999 does: the last day counts as its last instant.
pub(crate) fn to_timestamp(instant: Millis) -> Timestamp {
    let (min, max) = (Timestamp::MIN.as_second() * 1000, Timestamp::MAX.as_second() * 1000);
    Timestamp::from_millisecond(instant.0.clamp(min, max)).expect("clamped to its range")
}

/// How far the clock is from UTC.
pub(super) fn offset(zone: &TimeZone, instant: Millis) -> Offset {
    // Clocks change at whole seconds. Before 1970 the library rounds fractions up, and would see a change too early.
    zone.to_offset(to_timestamp(Millis(instant.0.div_euclid(1000).saturating_mul(1000))))
}

/// What the clock shows.
pub(super) fn local(zone: &TimeZone, instant: Millis) -> DateTime {
    offset(zone, instant).to_datetime(to_timestamp(instant))
}

/// The first instant at which the clock shows this time or a later one; `None` beyond the end of time.
///
/// That is the one rule for every change of the clock. A time that occurs twice means the first; one that is skipped means
/// the end of the gap, even where the gap is a whole day. A later local time never maps to an earlier instant, so
/// seasons that begin at ascending local times cannot overlap.
///
/// Found by walking along the changes of the clock. The library can also tell which offsets a local time may have, but
/// where a zone's listed changes end and its yearly rule begins (Nuuk, October 2023) it sees changes that never were.
pub(super) fn first_instant(zone: &TimeZone, time: DateTime) -> Option<Millis> {
    // No clock is further from UTC, so here it has not shown the time yet.
    let before = Offset::MAX.to_timestamp(time).ok()?;
    let (mut since, mut offset) = (before, zone.to_offset(before));
    for change in zone.following(before) {
        match offset.to_timestamp(time) {
            Ok(shown) if shown < change.timestamp() => return Some(max(since, shown)),
            _ => (since, offset) = (change.timestamp(), change.offset()),
        }
    }
    Some(max(since, offset.to_timestamp(time).ok()?))
}

/// The first instant of a date.
pub(super) fn midnight(zone: &TimeZone, date: Date) -> Option<Millis> {
    first_instant(zone, date.at(0, 0, 0, 0))
}

fn max(a: Timestamp, b: Timestamp) -> Millis {
    Millis::from_timestamp(a.max(b))
}
