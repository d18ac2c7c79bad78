//! Deciding a batch of submissions: gather, then fold.
//!
//! [`Rules::wanted`] says what has to be looked up, for all submissions at once: an engine far from its data asks for it in one
//! request. [`Rules::decide_batch`] then takes the [`Facts`] and decides one submission after the other, each against what those
//! before it have led to. That is kept in [`Pending`], until the group of batches is durable: several batches may go into one.
//!
//! ```text
//! wanted(submissions) ─► look up ─► decide_batch(submissions, facts) ─► make durable ─► show
//! ```

use std::sync::Arc;

use rapidhash::{RapidHashMap, RapidHashSet};
use serde::{Deserialize, Serialize};

use crate::{
    board::Board,
    id::{EventId, Name, PlayerId},
    limits::MAX_AHEAD,
    player::Profile,
    rule::{self, Entry, Rejection, Submission},
    score::Score,
    season::SeasonSpan,
    time::Millis,
    timeline::{Accepting, SeasonNo, Slot, Timeline, Transition},
};

/// What an event id was used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The season in which it counted.
    pub season: SeasonNo,
    /// Who scored.
    pub player: PlayerId,
    /// What came.
    pub points: Score,
    /// What it led to. Its `updated_at` is when it was accepted.
    pub entry: Entry,
}

/// Where a submission counts, as far as its time says. Wanted are the entry of its player there, what is recorded of its event id, and
/// the profile of a player who is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// When it counts.
    pub at: Millis,
    /// Which of the pending seasons it is, or why there is none.
    pub season: Result<usize, Rejection>,
}

/// What is stored that concerns a submission.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The player's entry in the wanted season.
    pub entry: Option<Entry>,
    /// The latest use of the event id on the board.
    pub recorded: Option<Box<Recorded>>,
    /// The player's profile; only where the submission has a name.
    pub profile: Option<Arc<Profile>>,
}

/// What became of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are accepted")]
pub enum Outcome {
    /// It counts.
    Accepted(Accepted),
    /// It counted before, as this.
    Duplicate(Recorded),
    /// A rule was broken; nothing changes.
    Rejected(Rejection),
}

/// A submission that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What has to be taken first.
    pub opens: Option<Transition>,
    /// Which of the pending seasons it counts in, and that season's number.
    pub season: (usize, SeasonNo),
    /// Who scored.
    pub player: PlayerId,
    /// What came.
    pub points: Score,
    /// Makes it count once.
    pub event_id: Option<EventId>,
    /// When it happened.
    pub at: Millis,
    /// The entry before.
    pub previous: Option<Entry>,
    /// The entry after.
    pub entry: Entry,
    /// The player's profile, where the name is another from now on.
    pub renamed: Option<Profile>,
}

/// A score that is set whatever the rule, by an import or a correction.
#[derive(Clone, Copy, Debug)]
pub struct SetRow<'a> {
    /// Whose.
    pub player: &'a PlayerId,
    /// The score.
    pub score: Score,
    /// When it was reached; when absent, now.
    pub at: Option<Millis>,
}

/// A season that takes submissions of a group.
#[derive(Debug)]
pub struct PendingSeason {
    /// Its name and its time.
    pub span: SeasonSpan,
    /// Its number; none before something counts in a season that has no slot yet. No entry can be stored there.
    pub no: Option<SeasonNo>,
    /// Whether it has another end than its slot says.
    moved: bool,
    /// New players that it still takes.
    room: u64,
    /// Entries that the group has changed.
    entries: RapidHashMap<PlayerId, Entry>,
}

/// What a group of batches has led to on a board, and is not durable yet.
#[derive(Debug, Default)]
pub struct Pending {
    seasons: Vec<PendingSeason>,
    ids: RapidHashMap<EventId, Recorded>,
    opened: SeasonNo,
}

/// What a group of batches has called players.
#[derive(Debug, Default)]
pub struct Names(RapidHashMap<PlayerId, Profile>);

/// What a batch is decided by.
#[derive(Debug)]
pub struct Rules<'a, T> {
    /// The board's definition.
    pub board: &'a Board,
    /// Its seasons.
    pub timeline: &'a Timeline<T>,
    /// How long an event id is remembered.
    pub id_window: Millis,
    /// The server's clock: one reading for the whole group.
    pub now: Millis,
}

impl Pending {
    /// The seasons that were wanted so far.
    pub fn seasons(&self) -> &[PendingSeason] {
        &self.seasons
    }

    /// The season of a number.
    pub fn season_no(&self, no: SeasonNo) -> Option<&PendingSeason> {
        self.seasons.iter().find(|season| season.no == Some(no))
    }

    /// Gives a season the number and the end that it is kept with from now on.
    fn open(&mut self, index: usize, next: SeasonNo) -> (SeasonNo, Option<Transition>) {
        let season = &mut self.seasons[index];
        if let Some(no) = season.no {
            let moved = std::mem::take(&mut season.moved);
            return (no, moved.then(|| Transition::Ends(no, season.span.ends_at)));
        }
        let no = next + self.opened;
        self.opened += 1;
        season.no = Some(no);
        (no, Some(Transition::Open(no, season.span.clone())))
    }
}

impl Names {
    /// Replaces what is known of a player.
    pub fn put(&mut self, player: &PlayerId, profile: &Profile) {
        self.0.insert(player.clone(), profile.clone());
    }

    /// The profile of a player with a name, where that is new. `known` is the profile of before the group.
    pub fn rename(
        &mut self,
        player: &PlayerId,
        name: Option<Name>,
        known: Option<&Profile>,
    ) -> Option<Profile> {
        let profile = self.0.get(player).or(known).cloned().unwrap_or_default();
        // Most servers send the name with every score; only a new one is worth a record.
        if name.is_none() || profile.name == name {
            return None;
        }
        let profile = Profile { name, ..profile };
        self.put(player, &profile);
        Some(profile)
    }
}

impl<T> Rules<'_, T> {
    /// What has to be looked up to decide these submissions. `room` is how many new players a season takes, asked once of each.
    pub fn wanted(
        &self,
        pending: &mut Pending,
        submissions: &[Submission],
        mut room: impl FnMut(Option<&Slot<T>>) -> u64,
    ) -> Vec<Wanted> {
        let wanted = submissions.iter().map(|submission| {
            let at = rule::event_time(submission, self.now);
            let season = at.and_then(|at| {
                self.season_at(pending, at, &mut room).ok_or(Rejection::SeasonClosed)
            });
            Wanted { at: at.unwrap_or(self.now), season }
        });
        wanted.collect()
    }

    /// Which of the pending seasons takes submissions of a time.
    pub fn season_at(
        &self,
        pending: &mut Pending,
        at: Millis,
        room: impl FnOnce(Option<&Slot<T>>) -> u64,
    ) -> Option<usize> {
        let known = pending.seasons.iter().position(|season| season.span.contains(at));
        if known.is_some() {
            return known;
        }
        let (no, span, moved) = match self.timeline.accepting(self.board, at, self.now)? {
            Accepting::Slot(slot) => (Some(slot.no), slot.span.clone(), false),
            Accepting::Once(_, Transition::Open(_, span)) => (None, span, false),
            Accepting::Once(no, _) => {
                (Some(no), self.timeline.at(self.board, at).span.into_owned(), true)
            }
        };
        let room = room(no.and_then(|no| self.timeline.slot(no)));
        let entries = RapidHashMap::default();
        pending.seasons.push(PendingSeason { span, no, moved, room, entries });
        Some(pending.seasons.len() - 1)
    }

    /// Decides submissions in order, each against what the ones before it have led to. Nothing can fail but a submission itself.
    pub fn decide_batch(
        &self,
        pending: &mut Pending,
        names: &mut Names,
        submissions: impl IntoIterator<Item = (Submission, Wanted, Facts)>,
    ) -> impl Iterator<Item = Outcome> {
        submissions.into_iter().map(|(submission, wanted, facts)| {
            self.decide(pending, names, submission, wanted, facts).unwrap_or_else(Outcome::Rejected)
        })
    }

    fn decide(
        &self,
        pending: &mut Pending,
        names: &mut Names,
        submission: Submission,
        wanted: Wanted,
        facts: Facts,
    ) -> Result<Outcome, Rejection> {
        // A repeat is recognised before any rule is applied.
        if let Some(recorded) = self.recorded(pending, &submission, facts.recorded) {
            if (&recorded.player, recorded.points) != (&submission.player, submission.points) {
                return Err(Rejection::EventIdReused);
            }
            return Ok(Outcome::Duplicate(recorded));
        }
        let (at, index) = (wanted.at, wanted.season?);
        let season = &mut pending.seasons[index];
        let previous = season.entries.get(&submission.player).copied().or(facts.entry);
        let entry = rule::decide(self.board, previous, &submission, at, self.now)?;
        if previous.is_none() {
            season.room = season.room.checked_sub(1).ok_or(Rejection::BoardFull)?;
        }
        season.entries.insert(submission.player.clone(), entry);
        let (no, opens) = pending.open(index, self.timeline.next_no());
        let Submission { player, points, event_id, user_name, .. } = submission;
        if let Some(id) = &event_id {
            let recorded = Recorded { season: no, player: player.clone(), points, entry };
            pending.ids.insert(id.clone(), recorded);
        }
        let renamed = names.rename(&player, user_name, facts.profile.as_deref());
        let season = (index, no);
        Ok(Outcome::Accepted(Accepted {
            opens,
            season,
            player,
            points,
            event_id,
            at,
            previous,
            entry,
            renamed,
        }))
    }

    /// What an event id was used for, in this group or before, as long as it is remembered.
    fn recorded(
        &self,
        pending: &Pending,
        submission: &Submission,
        before: Option<Box<Recorded>>,
    ) -> Option<Recorded> {
        let in_group = pending.ids.get(submission.event_id.as_ref()?).cloned();
        in_group.or_else(|| {
            let before = before.filter(|before| {
                let until = before.entry.updated_at.plus(self.id_window);
                before.season >= self.timeline.first_no() && self.now < until
            });
            before.map(|before| *before)
        })
    }

    /// Checks rows that are to be set in a season, all or none: the number of the first that cannot be, from 0. `stored` are the entries
    /// of their players.
    pub fn check_rows(
        &self,
        pending: &Pending,
        season: usize,
        rows: &[(SetRow<'_>, Option<Entry>)],
    ) -> Result<(), (usize, Rejection)> {
        let latest = self.now.plus(MAX_AHEAD);
        if let Some(row) = rows.iter().position(|(row, _)| row.at.is_some_and(|at| at > latest)) {
            return Err((row, Rejection::AtInFuture));
        }
        let PendingSeason { room, entries, .. } = &pending.seasons[season];
        let mut new = RapidHashSet::default();
        for (number, (row, stored)) in rows.iter().enumerate() {
            let is_new = stored.is_none() && !entries.contains_key(row.player);
            if is_new && new.insert(row.player) && new.len() as u64 > *room {
                return Err((number, Rejection::BoardFull));
            }
        }
        Ok(())
    }

    /// Sets a score of rows that were checked: what has to be taken first, the season's number, and the entry.
    pub fn set(
        &self,
        pending: &mut Pending,
        season: usize,
        row: SetRow<'_>,
        stored: Option<Entry>,
    ) -> (Option<Transition>, SeasonNo, Entry) {
        let (no, opens) = pending.open(season, self.timeline.next_no());
        let PendingSeason { room, entries, .. } = &mut pending.seasons[season];
        let previous = entries.get(row.player).copied().or(stored);
        let entry = rule::set(self.board, previous, row.score, row.at.unwrap_or(self.now));
        entries.insert(row.player.clone(), entry);
        if previous.is_none() {
            *room = room.saturating_sub(1);
        }
        (opens, no, entry)
    }
}

#[cfg(test)]
mod tests;
