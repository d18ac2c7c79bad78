//! Which season an instant lies in, which one is meant, and which can be read.

use std::borrow::Cow;

use super::{
    Accepting, Season, SeasonNo, SeasonRef, SeasonState, Slot, Timeline, Transition, is_over,
};
use crate::{
    board::Board,
    season::{SeasonId, SeasonSpan},
    span::Keep,
    time::Millis,
};

impl<T> Timeline<T> {
    /// The season of an instant, whether or not the board had it then.
    pub fn at(&self, board: &Board, instant: Millis) -> Season<'_, T> {
        let after = self.slots.partition_point(|slot| slot.span.starts_at <= instant);
        match after.checked_sub(1).map(|index| &self.slots[index]) {
            Some(slot) if slot.span.contains(instant) => slot.into(),
            _ => self.between(board, after, instant),
        }
    }

    /// The schedule's season of an instant that no slot covers, cut to what the slots around it leave.
    pub(super) fn between(&self, board: &Board, after: usize, instant: Millis) -> Season<'_, T> {
        let mut span = board.season_at(instant);
        if let Some(next) = self.slots.get(after) {
            span.ends_at = span.ends_at.min(next.span.starts_at);
        }
        let mut slot = None;
        if let Some(before) = after.checked_sub(1).map(|index| &self.slots[index]) {
            span.starts_at = span.starts_at.max(before.span.ends_at);
            // The rules of time zones change. A season that was opened by the old ones and goes on by the new ones is still that
            // season, or another part of it where it has closed.
            if before.span.id.shares_season(&span.id) {
                if before.closed.is_none() {
                    span = SeasonSpan { ends_at: span.ends_at, ..before.span.clone() };
                    slot = Some(before);
                } else {
                    span.id = before.span.id.next_part();
                }
            }
        }
        Season { span: Cow::Owned(span), slot }
    }

    /// The season that contains the present; were the clock before the board's beginning, the first.
    pub fn current(&self, board: &Board, now: Millis) -> Season<'_, T> {
        self.at(board, now.max(self.begins))
    }

    /// Where a submission of this time counts, if anywhere.
    pub fn accepting(&self, board: &Board, at: Millis, now: Millis) -> Option<Accepting<'_, T>> {
        let Season { span, slot } = self.at(board, at);
        match slot {
            Some(slot) if slot.closed.is_some() || is_over(&span, board, now) => None,
            Some(slot) if slot.span.contains(at) => Some(Accepting::Slot(slot)),
            Some(slot) => Some(Accepting::Once(slot.no, Transition::Ends(slot.no, span.ends_at))),
            None if at < self.begins || is_over(&span, board, now) => None,
            None => {
                let open = Transition::Open(self.next, span.into_owned());
                Some(Accepting::Once(self.next, open))
            }
        }
    }

    /// The season that is meant, if there is one to be read.
    pub fn resolve(&self, board: &Board, which: &SeasonRef, now: Millis) -> Option<Season<'_, T>> {
        match which {
            SeasonRef::Current => Some(self.current(board, now)),
            SeasonRef::Previous => self.begun(board, now).nth(1),
            SeasonRef::Id(id) => {
                let season = self.named(board, id)?;
                let begun = season.span.starts_at <= now.max(self.begins);
                (begun && self.is_kept(board, &season, now)).then_some(season)
            }
        }
    }

    /// The season of an id, begun or not, kept or not.
    pub(super) fn named(&self, board: &Board, id: &SeasonId) -> Option<Season<'_, T>> {
        if let Some(slot) = self.slots.iter().rfind(|slot| slot.span.id == *id) {
            return Some(slot.into());
        }
        let starts_at = board.season_named(&id.whole())?.starts_at;
        let exists = |season: &Season<'_, T>| {
            season.slot.is_none() && season.span.id == *id && season.span.starts_at >= self.begins
        };
        Some(self.at(board, starts_at.max(self.begins))).filter(exists)
    }

    /// The name of the season of an event. One that is not kept any more is named by its time.
    pub fn name_of(&self, board: &Board, no: SeasonNo, at: Millis) -> SeasonId {
        self.slot(no).map_or_else(|| board.season_at(at).id, |slot| slot.span.id.clone())
    }

    /// Seasons that can be read, newest first, from the current one on.
    pub fn begun<'t, 'b>(
        &'t self,
        board: &'b Board,
        now: Millis,
    ) -> impl Iterator<Item = Season<'t, T>> + use<'t, 'b, T> {
        self.kept(board, now, self.back(board, now), 0)
    }

    /// Seasons that can be read, newest first, from the one before an id on. One that is not there, or not any more, has its place by
    /// the schedule; `None` where it is not of the schedule.
    pub fn begun_before<'t, 'b>(
        &'t self,
        board: &'b Board,
        id: &SeasonId,
        now: Millis,
    ) -> Option<impl Iterator<Item = Season<'t, T>> + use<'t, 'b, T>> {
        let newest = self.back(board, now);
        let mut back = if let Some(older) = self.slots.iter().rposition(|slot| slot.span.id == *id)
        {
            Back { older, end: self.slots[older].span.starts_at, ..newest.clone() }
        } else {
            let starts_at = board.season_named(&id.whole())?.starts_at;
            let older = self.slots.partition_point(|Slot { span, .. }| {
                let earlier = span.id.shares_season(id) && span.id.part() < id.part();
                earlier || span.starts_at < starts_at
            });
            let end = older.checked_sub(1).map_or(starts_at, |i| self.slots[i].span.ends_at);
            Back { older, end: end.max(starts_at), ..newest.clone() }
        };
        if back.end > newest.end {
            back = newest.clone();
        }
        // Where the number of newer ones counts, they are counted.
        let first = back.clone().next().map(|season| season.span.into_owned().id);
        let newer = newest.take_while(|season| Some(&season.span.id) != first.as_ref());
        let closed = count_closed(newer, board, now);
        Some(self.kept(board, now, back, closed))
    }

    /// Of seasons newest first those that have begun and can be read, where so many newer ones have closed.
    fn kept<'t, 'b>(
        &self,
        board: &'b Board,
        now: Millis,
        back: Back<'t, 'b, T>,
        mut closed: u64,
    ) -> impl Iterator<Item = Season<'t, T>> + use<'t, 'b, T> {
        let latest = now.max(self.begins);
        let begun = back.skip_while(move |season| season.span.starts_at > latest);
        let kept = begun.map_while(move |season| {
            if season.state(board, now) != SeasonState::Closed {
                return Some(Some(season));
            }
            let expired = board.keep().is_expired(season.span.ends_at, now, closed, board.zone());
            closed += 1;
            if expired && older_are_over(&season.span, board, now) {
                return None;
            }
            let read = !expired && season.slot.is_none_or(|slot| !slot.expired);
            Some(read.then_some(season))
        });
        kept.flatten()
    }

    /// All seasons newest first, from the current one on.
    fn back<'t, 'b>(&'t self, board: &'b Board, now: Millis) -> Back<'t, 'b, T> {
        let end = self.current(board, now).span.ends_at;
        let older = self.slots.partition_point(|slot| slot.span.starts_at < end);
        Back { timeline: self, board, older, end }
    }

    /// Whether a season is within what the board keeps. One that is not shows no more, from that instant on.
    pub fn is_kept(&self, board: &Board, season: &Season<'_, T>, now: Millis) -> bool {
        if season.slot.is_some_and(|slot| slot.expired) {
            return false;
        }
        if season.state(board, now) != SeasonState::Closed {
            return true;
        }
        let newer = self.back(board, now).take_while(|newer| {
            newer.span.id != season.span.id && newer.span.starts_at >= season.span.ends_at
        });
        let closed = count_closed(newer, board, now);
        !board.keep().is_expired(season.span.ends_at, now, closed, board.zone())
    }

    /// The slot of the season right before that of a number: one that ends where it begins.
    pub fn slot_before(&self, no: SeasonNo) -> Option<&Slot<T>> {
        let index = self.slots.iter().rposition(|slot| slot.no == no)?;
        let before = self.slots.get(index.checked_sub(1)?)?;
        (before.span.ends_at == self.slots[index].span.starts_at).then_some(before)
    }
}

/// How many of some seasons have closed, as far as that matters for what the board keeps.
fn count_closed<'t, T: 't>(
    seasons: impl Iterator<Item = Season<'t, T>>,
    board: &Board,
    now: Millis,
) -> u64 {
    let most = match board.keep() {
        Keep::Seasons(count) => usize::try_from(count).unwrap_or(usize::MAX),
        Keep::Forever | Keep::For(_) => return 0,
    };
    let closed = seasons.filter(|season| season.state(board, now) == SeasonState::Closed);
    closed.take(most).count() as u64
}

/// Whether all seasons before one take no more submissions, by the clock: it may have been ended by hand while one was in its grace.
pub(super) fn older_are_over(span: &SeasonSpan, board: &Board, now: Millis) -> bool {
    now >= span.starts_at.plus(board.grace())
}

/// Seasons newest first: slots, and what the schedule has between them.
struct Back<'t, 'b, T> {
    timeline: &'t Timeline<T>,
    board: &'b Board,
    /// Slots before this index are older.
    older: usize,
    /// The next season ends here, or earlier.
    end: Millis,
}

impl<T> Clone for Back<'_, '_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'t, T> Iterator for Back<'t, '_, T> {
    type Item = Season<'t, T>;

    fn next(&mut self) -> Option<Season<'t, T>> {
        let slot = self.older.checked_sub(1).map(|index| &self.timeline.slots[index]);
        let meets = slot.is_some_and(|slot| slot.span.ends_at >= self.end);
        if !meets && self.end > self.timeline.begins {
            let instant = Millis(self.end.0 - 1);
            let season = self.timeline.between(self.board, self.older, instant);
            self.end = season.span.starts_at;
            self.older -= usize::from(season.slot.is_some());
            return Some(season);
        }
        let slot = slot?;
        self.older -= 1;
        self.end = slot.span.starts_at;
        Some(slot.into())
    }
}
