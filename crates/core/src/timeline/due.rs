//! What is due on a board, and what ending a season or an import leads to.

use std::borrow::Cow;

use super::{
    AsOf, AsOfNo, Closing, Ended, NotEnded, NotPlaced, Placed, Season, SeasonNo, SeasonState,
    Timeline, Transition, close_at, find::older_are_over, is_over,
};
use crate::{
    board::Board,
    season::{LocalDate, SeasonId},
    span::Keep,
    time::Millis,
};

impl<T> Timeline<T> {
    /// When something is due next; `None` where nothing ever is. It may be earlier than the first transition.
    pub fn next_due(&self, board: &Board, archived: impl Fn(&T) -> bool) -> Option<Millis> {
        let open = self.slots.iter().rev().filter(|slot| slot.closed.is_none());
        let open = open.map(|slot| close_at(&slot.span, board)).min();
        let snapshot = board.snapshot_due(self.through).map(|(due, _)| due);
        let mut deletable = self.slots.iter().enumerate();
        let deletable = deletable.find(|(_, s)| s.closed.is_some() && !s.expired);
        let deletable = deletable.filter(|(_, slot)| archived(&slot.data));
        let expiry = deletable.and_then(|(index, slot)| match board.keep() {
            Keep::Forever => None,
            Keep::For(span) => Some(span.after(slot.span.ends_at, board.zone())),
            Keep::Seasons(count) => Some(self.closes_after(board, index, count)),
        });
        let expiry = expiry
            .zip(deletable)
            .map(|(due, (_, slot))| due.max(slot.span.starts_at.plus(board.grace())));
        // What is due at the end of time is never due.
        [open, snapshot, expiry].into_iter().flatten().min().filter(|due| *due < Millis::MAX)
    }

    /// When so many seasons after a slot will have closed.
    fn closes_after(&self, board: &Board, index: usize, count: u32) -> Millis {
        let (mut after, mut end) = (index + 1, self.slots[index].span.ends_at);
        let mut latest = Millis::MIN;
        for _ in 0..count {
            if end == Millis::MAX {
                return Millis::MAX;
            }
            let season = match self.slots.get(after).filter(|slot| slot.span.starts_at <= end) {
                Some(slot) => slot.into(),
                None => self.between(board, after, end.max(self.begins)),
            };
            after += usize::from(season.slot.is_some());
            end = season.span.ends_at;
            if season.slot.is_none_or(|slot| slot.closed.is_none()) {
                latest = latest.max(close_at(&season.span, board));
            }
        }
        latest
    }

    /// What is due on the board, about `most` transitions at once: the rest is due still once these are taken. A season does not expire
    /// before it is `archived`.
    pub fn due(
        &self,
        board: &Board,
        now: Millis,
        archived: impl Fn(&T) -> bool,
        most: usize,
    ) -> Vec<Transition> {
        let mut due = self.as_of_due(board, now, most);
        let open = self.slots.iter().filter(|slot| slot.closed.is_none());
        let over = open.filter(|slot| is_over(&slot.span, board, now)).take(most);
        due.extend(over.map(|slot| {
            let after = self.at(board, slot.span.ends_at);
            match after.slot.filter(|after| after.no == slot.no) {
                Some(_) => Transition::Ends(slot.no, after.span.ends_at),
                None => Transition::Close(slot.no, closing(board)),
            }
        }));
        let old = self.slots.iter().take_while(|slot| {
            let kept = || self.is_kept(board, &Season::from(*slot), now);
            slot.expired
                || slot.closed.is_some() && older_are_over(&slot.span, board, now) && !kept()
        });
        let old = old.filter(|slot| !slot.expired && archived(&slot.data)).take(most);
        due.extend(old.map(|slot| Transition::Expire(slot.no)));
        due
    }

    /// The snapshots that are due. Those that were missed are of the season that was current then, as it is now: nothing was
    /// accepted in between. Dates of one season belong together.
    fn as_of_due(&self, board: &Board, now: Millis, most: usize) -> Vec<Transition> {
        let Some(policy) = board.snapshots() else { return Vec::new() };
        let mut due: Vec<(LocalDate, Millis)> = Vec::new();
        let mut after = self.through;
        while let Some((at, date)) = board.snapshot_due(after).filter(|(at, _)| *at <= now) {
            if due.len() >= most {
                break;
            }
            after = at;
            due.push((date, at));
        }
        let old = |at: Millis| policy.keep.is_expired(at, now, 0, board.zone());
        let last = after;
        due.retain(|(_, at)| *at == last || !old(*at));
        let mut groups: Vec<AsOf> = Vec::new();
        for (date, at) in due {
            let season = self.current(board, at);
            let of = season.slot.map(|slot| slot.no);
            if let Some(group) = groups.last_mut().filter(|group| group.season == season.span.id) {
                group.dates.push((date, at));
            } else {
                let no = self.next_as_of + u32::try_from(groups.len()).unwrap_or(u32::MAX);
                groups.push(as_of(board, no, of, &season, (date, at)));
            }
        }
        groups.into_iter().map(Transition::AsOf).collect()
    }

    /// The current season as it is now, as the snapshot of today.
    pub fn as_of_now(&self, board: &Board, now: Millis) -> AsOf {
        let season = self.current(board, now);
        let of = season.slot.map(|slot| slot.no);
        as_of(board, self.next_as_of, of, &season, (board.local_date(now), now))
    }

    /// The same for a snapshot from elsewhere, of the season that was current at an instant.
    pub fn as_of_then(&self, board: &Board, date: LocalDate, at: Millis) -> AsOf {
        let season = self.at(board, at);
        as_of(board, self.next_as_of, None, &season, (date, at))
    }

    /// Ends a season now, without grace: the current one, or a given one. Asked again for a given one it answers the same and ends
    /// nothing.
    pub fn close_now(
        &self,
        board: &Board,
        which: Option<&SeasonId>,
        now: Millis,
    ) -> Result<Ended, NotEnded> {
        let current = self.current(board, now);
        let season = match which {
            None => current.clone(),
            Some(id) => self.named(board, id).ok_or(NotEnded::Unknown)?,
        };
        let id = season.span.id.clone();
        let is_current = id == current.span.id;
        if season.span.starts_at > now && !is_current {
            return Err(NotEnded::Unknown);
        }
        let state = season.state(board, now);
        if state == SeasonState::Closed {
            if which.is_none() {
                return Err(NotEnded::AlreadyClosed);
            }
            // Where it was ended by hand, what followed is its next part.
            let rest = self.slots.iter().find(|slot| slot.span.id == id.next_part());
            let current = rest.map_or(&current.span.id, |slot| &slot.span.id).clone();
            return Ok(Ended { transitions: Vec::new(), season: id, current });
        }
        let mut next = self.next;
        let mut transitions = Vec::new();
        let no = season.slot.map_or_else(
            || {
                transitions.push(Transition::Open(next, season.span.clone().into_owned()));
                next += 1;
                next - 1
            },
            |slot| slot.no,
        );
        let mut current = current.span.id.clone();
        if is_current {
            let (ended, rest) = season.span.close_at(now);
            current = rest.id.clone();
            transitions.push(Transition::Ends(no, ended.ends_at));
            transitions.push(Transition::Open(next, rest));
        }
        transitions.push(Transition::Close(no, closing(board)));
        Ok(Ended { transitions, season: id, current })
    }

    /// Where a season from elsewhere goes. It must be over, and nothing else may be in its time.
    pub fn place_import(
        &self,
        board: &Board,
        id: &SeasonId,
        now: Millis,
    ) -> Result<Placed, NotPlaced> {
        let season = self.named(board, id).or_else(|| self.older(board, id));
        let season = season.ok_or(NotPlaced::Unknown)?;
        if season.span.starts_at > now {
            return Err(NotPlaced::Unknown);
        }
        // One from before the board has taken nothing, so that it has no grace either.
        let older = season.span.ends_at <= self.begins;
        if !older && season.state(board, now) != SeasonState::Closed {
            return Err(NotPlaced::Open);
        }
        if !self.is_kept(board, &season, now) {
            return Err(NotPlaced::TooOld);
        }
        let span = season.span.clone().into_owned();
        Ok(if let Some(slot) = season.slot {
            Placed { no: slot.no, span, transitions: Vec::new() }
        } else {
            let open = Transition::Open(self.next, span.clone());
            let close = Transition::Close(self.next, closing(board));
            Placed { no: self.next, span, transitions: vec![open, close] }
        })
    }

    /// A season from before the board's beginning, known by the schedule alone, if nothing is in its time.
    fn older(&self, board: &Board, id: &SeasonId) -> Option<Season<'_, T>> {
        let span = board.season_named(id).filter(|span| span.ends_at <= self.begins)?;
        let mut slots = self.slots.iter().map(|slot| &slot.span);
        let taken = slots.any(|s| s.starts_at < span.ends_at && span.starts_at < s.ends_at);
        (!taken).then_some(Season { span: Cow::Owned(span), slot: None })
    }
}

/// What closes with a season.
fn closing(board: &Board) -> Closing {
    Closing { goal: board.goal(), ties: board.ties() }
}

fn as_of<T>(
    board: &Board,
    no: AsOfNo,
    of: Option<SeasonNo>,
    season: &Season<'_, T>,
    date: (LocalDate, Millis),
) -> AsOf {
    AsOf {
        no,
        of,
        season: season.span.id.clone(),
        dates: vec![date],
        goal: season.goal(board),
        ties: season.ties(board),
        official: board.snapshots().map_or(0, |policy| policy.official),
    }
}
