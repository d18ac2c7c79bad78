//! Which seasons a board has, and what is due on it.
//!
//! A [`Timeline`] is sparse: it keeps a slot for a season that has entries, was ended by hand or came from elsewhere. All others exist by
//! schedule and clock alone: they need no record when they begin or end, so that a hundred thousand idle boards cost nothing at
//! midnight. A slot goes before the schedule: what it covers is its own, and the schedule's season next to it is cut to what is left.
//!
//! The timeline decides nothing by itself. [`due`](Timeline::due), [`close_now`](Timeline::close_now) and
//! [`place_import`](Timeline::place_import) say which [`Transition`]s lead on; an engine makes them durable, and then
//! [`take`](Timeline::take)s them, live and in recovery alike.

mod due;
mod find;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    board::{Board, Ties},
    score::Score,
    season::{LocalDate, SeasonId, SeasonSpan},
    time::Millis,
};

/// The number of a season within its board, given once.
pub type SeasonNo = u32;
/// The number of an as-of instant of a board, given once.
pub type AsOfNo = u32;

/// Which season is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SeasonRef {
    /// The one that contains the present.
    #[default]
    Current,
    /// The one before it.
    Previous,
    /// A given one.
    Id(SeasonId),
}

impl std::fmt::Display for SeasonRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Current => f.write_str("current"),
            Self::Previous => f.write_str("previous"),
            Self::Id(id) => id.fmt(f),
        }
    }
}

/// Whether a season takes submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeasonState {
    /// It contains the present.
    Open,
    /// It is over and takes what happened in it, until its grace ends.
    Closing,
    /// Its ranks are final.
    Closed,
}

/// What is fixed when a season closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The score from which on an entry is a success.
    pub goal: Option<Score>,
    /// The tie rule.
    pub ties: Ties,
}

/// A season that is kept, with what the engine keeps of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot<T> {
    /// Its number.
    pub no: SeasonNo,
    /// Its name and its time.
    pub span: SeasonSpan,
    /// Set once it takes no more submissions.
    pub closed: Option<Closing>,
    /// Older than what the board keeps: it is read no more, and will be dropped.
    pub expired: bool,
    /// The engine's own.
    pub data: T,
}

/// A season: in a slot, or by schedule alone, without entries.
#[derive(Debug)]
pub struct Season<'t, T> {
    /// Its name and its time.
    pub span: Cow<'t, SeasonSpan>,
    /// `None` where it has no entries.
    pub slot: Option<&'t Slot<T>>,
}

impl<T> Clone for Season<'_, T> {
    fn clone(&self) -> Self {
        Self { span: self.span.clone(), slot: self.slot }
    }
}

impl<'t, T> From<&'t Slot<T>> for Season<'t, T> {
    fn from(slot: &'t Slot<T>) -> Self {
        Self { span: Cow::Borrowed(&slot.span), slot: Some(slot) }
    }
}

impl<T> Season<'_, T> {
    /// Whether it takes submissions. That is a matter of the clock, unless it was ended by hand: what is due is due whether or not
    /// someone has seen to it.
    pub fn state(&self, board: &Board, now: Millis) -> SeasonState {
        let ended = self.slot.is_some_and(|slot| slot.closed.is_some());
        match ended || is_over(&self.span, board, now) {
            true => SeasonState::Closed,
            false if now >= self.span.ends_at && self.span.ends_at != Millis::MAX => {
                SeasonState::Closing
            }
            false => SeasonState::Open,
        }
    }

    /// The goal that counts: a closed season with entries keeps its own.
    pub fn goal(&self, board: &Board) -> Option<Score> {
        self.closing().map_or(board.goal(), |closing| closing.goal)
    }

    /// The tie rule that counts, likewise.
    pub fn ties(&self, board: &Board) -> Ties {
        self.closing().map_or(board.ties(), |closing| closing.ties)
    }

    fn closing(&self) -> Option<Closing> {
        self.slot.and_then(|slot| slot.closed)
    }
}

/// Where a submission of some time counts.
#[derive(Debug)]
pub enum Accepting<'t, T> {
    /// In a season that has a slot.
    Slot(&'t Slot<T>),
    /// In the season of this number, once the transition is taken: it has no slot yet, or another end by now.
    Once(SeasonNo, Transition),
}

/// A change of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transition {
    /// A season has a slot from now on.
    Open(SeasonNo, SeasonSpan),
    /// A season ends at another time than it was opened with.
    Ends(SeasonNo, Millis),
    /// A season takes no more submissions.
    Close(SeasonNo, Closing),
    /// A closed season is older than what the board keeps.
    Expire(SeasonNo),
    /// What was kept of a season is gone.
    Drop(SeasonNo),
    /// A board without scores starts anew, with the schedule's season that begins then.
    Restart(Millis),
    /// The board as it is now is to be written as its snapshots of these dates.
    AsOf(AsOf),
    /// A snapshot is gone.
    DropSnapshot(LocalDate),
}

/// A board at one instant, to be written as snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsOf {
    /// Its number.
    pub no: AsOfNo,
    /// The season that is current then; `None` where it has no entries, or is older than the board.
    pub of: Option<SeasonNo>,
    /// The name of that season.
    pub season: SeasonId,
    /// The dates, each with the instant at which it was due. Several where the server was down.
    pub dates: Vec<(LocalDate, Millis)>,
    /// The goal of then.
    pub goal: Option<Score>,
    /// The tie rule of then.
    pub ties: Ties,
    /// Ranks from 1 to this one are official.
    pub official: u32,
}

/// What ending a season by hand leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// In this order; none where it had ended already.
    pub transitions: Vec<Transition>,
    /// The season that ended.
    pub season: SeasonId,
    /// The one that is current then.
    pub current: SeasonId,
}

/// Why a season cannot be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotEnded {
    /// The board has no such season, or it has not begun.
    Unknown,
    /// The clock was set back into a season that has been closed.
    AlreadyClosed,
}

/// Where a season from elsewhere goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its number.
    pub no: SeasonNo,
    /// Its name and its time.
    pub span: SeasonSpan,
    /// What makes room for it; none where there is a closed season to replace.
    pub transitions: Vec<Transition>,
}

/// Why a season cannot come from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPlaced {
    /// It still takes submissions.
    Open,
    /// The board's schedule has no such season, or its time is taken.
    Unknown,
    /// The board's `keep` would delete it at once.
    TooOld,
}

/// The seasons of a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline<T> {
    /// Oldest first. Their times do not overlap.
    slots: Vec<Slot<T>>,
    next: SeasonNo,
    /// Seasons before this number were of the board before it started anew: their events count for nothing.
    first: SeasonNo,
    /// Where the first season by schedule begins that may be kept. Older ones exist only where they were imported.
    begins: Millis,
    next_as_of: AsOfNo,
    /// Snapshots that were due up to this instant are taken.
    through: Millis,
}

impl<T> Timeline<T> {
    /// The timeline of a board that is created now.
    pub fn new(board: &Board, now: Millis) -> Self {
        Self {
            slots: Vec::new(),
            next: 0,
            first: 0,
            begins: board.season_at(now).starts_at,
            next_as_of: 0,
            through: now,
        }
    }

    /// The same timeline with other data in its slots.
    pub fn map<U>(self, mut data: impl FnMut(SeasonNo, T) -> U) -> Timeline<U> {
        let slots = self.slots.into_iter().map(|Slot { no, span, closed, expired, data: old }| {
            Slot { no, span, closed, expired, data: data(no, old) }
        });
        Timeline {
            slots: slots.collect(),
            next: self.next,
            first: self.first,
            begins: self.begins,
            next_as_of: self.next_as_of,
            through: self.through,
        }
    }

    /// The slots, oldest first.
    pub fn slots(&self) -> &[Slot<T>] {
        &self.slots
    }

    /// The slot of a number.
    pub fn slot(&self, no: SeasonNo) -> Option<&Slot<T>> {
        self.slots.iter().rfind(|slot| slot.no == no)
    }

    /// The slot of a number, to change its data.
    pub fn slot_mut(&mut self, no: SeasonNo) -> Option<&mut Slot<T>> {
        self.slots.iter_mut().rfind(|slot| slot.no == no)
    }

    /// The number of the next slot.
    pub fn next_no(&self) -> SeasonNo {
        self.next
    }

    /// Events of seasons before this number count for nothing, and neither do their ids.
    pub fn first_no(&self) -> SeasonNo {
        self.first
    }

    /// The number of the next as-of instant.
    pub fn next_as_of(&self) -> AsOfNo {
        self.next_as_of
    }

    /// Whether slots were dropped since the board started: there may have been scores that are not kept any more.
    pub fn has_dropped(&self) -> bool {
        (self.next - self.first) as usize > self.slots.len()
    }

    /// Takes a transition that is durable; again, it changes nothing. `new` is what a new slot begins with.
    pub fn take(&mut self, transition: &Transition, new: impl FnOnce() -> T) {
        match transition {
            Transition::Open(no, span) => self.open(*no, span, new),
            Transition::Ends(no, ends_at) => self.on(*no, |slot| slot.span.ends_at = *ends_at),
            Transition::Close(no, closing) => self.on(*no, |slot| slot.closed = Some(*closing)),
            Transition::Expire(no) => self.on(*no, |slot| slot.expired = true),
            Transition::Drop(no) => self.drop(*no),
            Transition::Restart(begins) => {
                self.slots.clear();
                (self.first, self.begins) = (self.next, *begins);
            }
            Transition::AsOf(as_of) => {
                self.used_as_of(as_of.no);
                let last = as_of.dates.iter().map(|(_, at)| *at).max();
                self.taken_through(last.unwrap_or(Millis::MIN));
            }
            Transition::DropSnapshot(_) => {}
        }
    }

    /// The number of an as-of instant is given: of a snapshot from elsewhere.
    pub fn used_as_of(&mut self, no: AsOfNo) {
        self.next_as_of = self.next_as_of.max(no + 1);
    }

    /// Snapshots that were due up to this instant are not due any more.
    pub fn taken_through(&mut self, at: Millis) {
        self.through = self.through.max(at);
    }

    /// What is left in the time of a slot that goes is not the schedule's again, nor is what is older: it is not kept either.
    fn drop(&mut self, no: SeasonNo) {
        if let Some(index) = self.slots.iter().rposition(|slot| slot.no == no) {
            let gone = self.slots.remove(index);
            self.begins = self.begins.max(gone.span.ends_at);
        }
    }

    fn on(&mut self, no: SeasonNo, change: impl FnOnce(&mut Slot<T>)) {
        if let Some(slot) = self.slot_mut(no) {
            change(slot);
        }
    }

    fn open(&mut self, no: SeasonNo, span: &SeasonSpan, new: impl FnOnce() -> T) {
        if no < self.next && self.slot(no).is_some() {
            return;
        }
        self.next = self.next.max(no + 1);
        // After one that began at the same instant: that one was closed before any time had passed.
        let place = self.slots.partition_point(|slot| slot.span.starts_at <= span.starts_at);
        // One at a time: most boards have few.
        self.slots.reserve_exact(1);
        let slot = Slot { no, span: span.clone(), closed: None, expired: false, data: new() };
        self.slots.insert(place, slot);
    }
}

/// When a season takes no more submissions.
fn close_at(span: &SeasonSpan, board: &Board) -> Millis {
    if span.ends_at == Millis::MAX { Millis::MAX } else { span.ends_at.plus(board.grace()) }
}

/// Whether a season takes no more submissions, by the clock.
fn is_over(span: &SeasonSpan, board: &Board, now: Millis) -> bool {
    span.ends_at != Millis::MAX && now >= close_at(span, board)
}

#[cfg(test)]
mod tests;
