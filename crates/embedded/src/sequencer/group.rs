//! Deciding a group of submissions, and publishing what was decided.

use std::sync::Arc;

use parking_lot::RwLock;
use rapidhash::{HashMapExt as _, RapidHashMap, RapidHashSet};
use standings_core::{
    Board, BoardId, EventId, IndexRecord as Held, Millis, Name, PlayerId, Profile, Rank, SeasonId,
    board::OncePer,
    limits::MAX_AHEAD,
    rule::{Entry, Rejection, Submission, decide, event_time},
};
use standings_index::{Spot, WARM};
use tokio::sync::oneshot;

use super::{Command, Sequencer};
use crate::{
    catalog::{BoardState, Rows, Season},
    history::StoredId,
    live::{Live, entry_of},
    mailbox::Reply,
    record::{BoardNo, Event, LogRecord, SeasonNo, SetScore},
};
use standings_engine::{Cursor, EngineError, Result, ScoreRow, ScoresSet};

/// A group that has been decided and is not yet durable. Dropping it leaves no trace.
pub(super) struct Draft {
    pub(super) records: Vec<LogRecord>,
    /// Where each accepted event goes and how it changes the entry, in order.
    pub(super) events: Vec<DraftEvent>,
    pub(super) targets: Vec<Target>,
    pub(super) answers: Vec<Answer>,
    /// What this group has decided so far and the standings do not show yet.
    entries: RapidHashMap<(usize, PlayerId), Entry>,
    ids: RapidHashMap<(BoardNo, EventId), StoredId>,
    /// Whom boards have accepted that take one submission per period.
    accepted: RapidHashSet<(BoardNo, PlayerId)>,
    profiles: RapidHashMap<PlayerId, Profile>,
    /// Players that a season may have.
    max_players: u64,
}

/// A season that takes events of this group.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) board: BoardNo,
    pub(super) season: SeasonNo,
    pub(super) season_id: SeasonId,
    pub(super) definition: Arc<Board>,
    pub(super) live: Arc<RwLock<Live>>,
    /// New players that it still takes.
    room: u64,
}

pub(super) struct DraftEvent {
    pub(super) target: usize,
    pub(super) player: PlayerId,
    pub(super) previous: Option<Entry>,
    pub(super) spot: Option<Spot>,
    pub(super) entry: Entry,
    /// Whether anyone will be told the ranks.
    pub(super) ranked: bool,
    /// Filled in when it is published; what it was before, and what it is after.
    pub(super) ranks: [Option<Rank>; 2],
}

pub(super) enum Answer {
    Receipts { outcomes: Vec<Outcome>, reply: Reply },
    Done { reply: oneshot::Sender<Result<()>> },
    Set { set: ScoresSet, reply: oneshot::Sender<Result<ScoresSet>> },
}

pub(super) enum Outcome {
    Rejected(Rejection),
    /// The number of its event.
    Accepted(usize),
    /// Accepted before, in this season if it still takes submissions.
    Duplicate(StoredId, SeasonId, Option<usize>),
}

impl Draft {
    pub(super) fn records(&mut self) -> Vec<LogRecord> {
        std::mem::take(&mut self.records)
    }

    /// Tells everyone that nothing was done, or that it is not known.
    pub(super) fn refuse(self, error: &EngineError) {
        for answer in self.answers {
            match answer {
                Answer::Receipts { reply, .. } => reply.send(Err(error.for_another())),
                Answer::Set { reply, .. } => drop(reply.send(Err(error.for_another()))),
                Answer::Done { reply } => drop(reply.send(Err(error.for_another()))),
            }
        }
    }

    fn target(&mut self, board: &BoardState, index: usize) -> Option<usize> {
        let season = &board.seasons[index];
        let live = season.live().filter(|_| season.closed.is_none())?;
        let found = self
            .targets
            .iter()
            .position(|target| target.board == board.no && target.season == season.no);
        Some(found.unwrap_or_else(|| {
            let room = {
                let live = live.read();
                let players = live.index().len();
                self.max_players.saturating_sub(players).min(live.index().room())
            };
            self.targets.push(Target {
                board: board.no,
                season: season.no,
                season_id: season.span.id.clone(),
                definition: Arc::clone(&board.definition),
                live: Arc::clone(live),
                room,
            });
            self.targets.len() - 1
        }))
    }

    /// The player's entry as this group has it, and where the standing has it, which may have been looked up.
    fn entry(
        &self,
        target: usize,
        player: &PlayerId,
        ahead: Option<Ahead>,
    ) -> (Option<Entry>, Option<Spot>) {
        if let Some(entry) = self.entries.get(&(target, player.clone())) {
            return (Some(*entry), None);
        }
        let Target { live, definition, season, .. } = &self.targets[target];
        let found = match ahead {
            Some(ahead) if ahead.season == *season => ahead.found,
            _ => live.read().index().look_up(player),
        };
        found.map(|(record, spot)| (entry_of(definition.order(), record), spot)).unzip()
    }

    /// Takes room for a new player.
    fn admit(&mut self, target: usize) -> Result<(), Rejection> {
        let room = &mut self.targets[target].room;
        *room = room.checked_sub(1).ok_or(Rejection::BoardFull)?;
        Ok(())
    }

    /// Takes room for those of an import who are new; for all of them where there is plenty, because looking everyone up would take
    /// longer than the rest.
    fn admit_rows(&mut self, target: usize, rows: &[ScoreRow]) -> Result<()> {
        const PLENTY: u64 = 1 << 20;
        let Target { room, live, .. } = &mut self.targets[target];
        if *room >= PLENTY {
            *room = room.saturating_sub(rows.len() as u64);
            return Ok(());
        }
        let live = live.read();
        let mut new = RapidHashSet::default();
        for (row, number) in rows.iter().zip(1..) {
            let player = &row.player;
            let is_new = !self.entries.contains_key(&(target, player.clone()))
                && live.index().get(player).is_none()
                && new.insert(player);
            if is_new && new.len() as u64 > *room {
                return Err(EngineError::rejected_row(number, Rejection::BoardFull));
            }
        }
        *room -= new.len() as u64;
        Ok(())
    }

    /// What an event id was used for, in this group or before.
    fn recorded(
        &self,
        board: BoardNo,
        id: Option<&EventId>,
        before: Option<Box<StoredId>>,
    ) -> Option<StoredId> {
        let in_group = self.ids.get(&(board, id?.clone())).cloned();
        in_group.or_else(|| before.map(|stored| *stored))
    }

    fn accept(
        &mut self,
        target: usize,
        player: PlayerId,
        (previous, spot): (Option<Entry>, Option<Spot>),
        entry: Entry,
        ranked: bool,
    ) {
        self.entries.insert((target, player.clone()), entry);
        let ranks = [None; 2];
        self.events.push(DraftEvent { target, player, previous, spot, entry, ranked, ranks });
    }

    fn rename(&mut self, player: &PlayerId, name: Option<Name>, known: Option<Arc<Profile>>) {
        let Some(name) = name else { return };
        let profile = match self.profiles.get(player) {
            Some(profile) => profile.clone(),
            None => known.map(|profile| Profile::clone(&profile)).unwrap_or_default(),
        };
        // Most servers send the name with every score; only a new one is worth a record.
        if profile.name.as_ref() != Some(&name) {
            let profile = Profile { name: Some(name), ..profile };
            self.profiles.insert(player.clone(), profile.clone());
            self.records.push(LogRecord::PlayerPut { player: player.clone(), profile });
        }
    }
}

impl Sequencer {
    /// Decides every submission of the group in order, each against what the ones before it have led to.
    pub(super) fn decide(&self, commands: Vec<Command>, now: Millis) -> Draft {
        let scores = commands.iter().map(Command::weight).sum();
        let mut draft = Draft {
            records: Vec::new(),
            events: Vec::with_capacity(scores),
            targets: Vec::new(),
            answers: Vec::new(),
            entries: RapidHashMap::with_capacity(scores),
            ids: RapidHashMap::default(),
            accepted: RapidHashSet::default(),
            profiles: RapidHashMap::default(),
            max_players: self.shared.options.max_players,
        };
        for command in commands {
            match command {
                Command::Submit { board, submissions, reply } => {
                    match self.decide_submissions(&mut draft, &board, submissions, now) {
                        Ok(outcomes) => draft.answers.push(Answer::Receipts { outcomes, reply }),
                        Err(error) => reply.send(Err(error)),
                    }
                }
                Command::Set { board, begun, rows, reply } => {
                    match self.decide_rows(&mut draft, &board, begun, rows, now) {
                        Ok(set) => draft.answers.push(Answer::Set { set, reply }),
                        Err(error) => drop(reply.send(Err(error))),
                    }
                }
                Command::Player { record, reply } => {
                    if let LogRecord::PlayerPut { player, profile } = &record {
                        draft.profiles.insert(player.clone(), profile.clone());
                    }
                    draft.records.push(record);
                    draft.answers.push(Answer::Done { reply });
                }
                Command::Change(_) | Command::Stop => {
                    unreachable!("a group has only writes of scores")
                }
            }
        }
        draft
    }

    fn decide_submissions(
        &self,
        draft: &mut Draft,
        board: &BoardId,
        submissions: Vec<Submission>,
        now: Millis,
    ) -> Result<Vec<Outcome>> {
        let catalog = self.shared.catalog.read();
        let board = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        // Everything that can fail comes first: a batch is refused before any of it is decided.
        let since = catalog.restarted(board.no);
        let known = submissions
            .iter()
            .map(|submission| self.look_up(board, since, submission, now))
            .collect::<Result<Vec<_>>>()?;
        let mut outcomes = Vec::with_capacity(submissions.len());
        draft.records.reserve(submissions.len());
        let mut rest = submissions.into_iter();
        let mut ahead = Vec::new().into_iter();
        for (number, known) in known.into_iter().enumerate() {
            if number % WARM == 0 {
                let players = rest.as_slice().iter().map(|submission| &submission.player);
                ahead = look_ahead(board, players, now).into_iter();
            }
            let Some(submission) = rest.next() else { break };
            let outcome = decide_one(draft, board, submission, known, ahead.next(), now);
            outcomes.push(outcome.unwrap_or_else(Outcome::Rejected));
        }
        Ok(outcomes)
    }

    /// A player's profile as the last group left it. The readers' cache will not do: it may be a moment behind, and what
    /// is decided here is kept.
    fn known_profile(&self, player: &PlayerId) -> Result<Option<Arc<Profile>>> {
        if let Some(known) = self.profiles.get(player) {
            return Ok(known);
        }
        let loaded = self.shared.read_history(|history| history.profile_uncached(player))?;
        self.profiles.insert(player.clone(), loaded.clone());
        Ok(loaded)
    }

    /// Whether a board may have accepted a submission of a player in this period. It has left an entry of this period then,
    /// in a season that was not closed before it; unless that was taken off, its season was deleted, or its grace was cut short,
    /// which is known of this run alone. An import leaves such entries as well, so this is no proof. The ledger has it, and reading that takes
    /// much longer.
    fn may_have_accepted(
        &self,
        board: &BoardState,
        period: OncePer,
        player: &PlayerId,
        now: Millis,
    ) -> bool {
        let is_now = |at: Millis| board.definition.same_period(period, at, now);
        let disturbed = self.disturbed.get(&board.no).is_some_and(|at| is_now(*at));
        if disturbed || is_now(self.opened_at) {
            return true;
        }
        for season in board.seasons.iter().rev() {
            // Seasons are closed some moments after their time.
            let over = season.span.ends_at.plus(board.definition.grace()).plus(MAX_AHEAD);
            if season.closed.is_some() && over < now && !is_now(over) {
                return false;
            }
            let found = match &season.rows {
                Rows::Live(live) => live.read().index().get(player).map(|held| held.updated_at),
                Rows::Frozen(file) => {
                    let row = self.shared.frozen.get(file).and_then(|rows| rows.row_of(player));
                    // What cannot be read may hold anything.
                    let Ok(row) = row else { return true };
                    row.map(|(_, record, _)| record.updated_at)
                }
            };
            if found.is_some_and(is_now) {
                return true;
            }
        }
        false
    }

    /// What the history knows that deciding a submission needs.
    fn look_up(
        &self,
        board: &BoardState,
        since: SeasonNo,
        submission: &Submission,
        now: Millis,
    ) -> Result<Known> {
        let window = self.shared.options.event_id_window;
        let recorded = match &submission.event_id {
            Some(id) => self.shared.read_history(|history| history.event_id(board.no, id))?,
            None => None,
        };
        let recorded = recorded
            .filter(|stored| stored.season >= since && now < stored.entry.updated_at.plus(window));
        let profile = match &submission.user_name {
            Some(_) => self.known_profile(&submission.player)?,
            None => None,
        };
        let player = &submission.player;
        let last = match board.definition.once_per() {
            Some(period) if self.may_have_accepted(board, period, player, now) => self
                .shared
                .read_history(|history| history.last_accepted(player, board.no, since))?,
            _ => None,
        };
        Ok(Known { recorded: recorded.map(Box::new), profile, last })
    }

    fn decide_rows(
        &self,
        draft: &mut Draft,
        board: &BoardId,
        begun: Option<ScoresSet>,
        rows: Vec<ScoreRow>,
        now: Millis,
    ) -> Result<ScoresSet> {
        let catalog = self.shared.catalog.read();
        let board = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        let season = board.current(now);
        let set = scores_set(board, &board.seasons[season]);
        if let Some(begun) = begun.filter(|begun| *begun != set) {
            return Err(EngineError::SeasonEnded(begun.season));
        }
        let mut profiles = Vec::with_capacity(rows.len());
        for (row, number) in rows.iter().zip(1..) {
            if row.at.is_some_and(|at| at > now.plus(MAX_AHEAD)) {
                return Err(EngineError::rejected_row(number, Rejection::AtInFuture));
            }
            profiles.push(match &row.user_name {
                Some(_) => self.known_profile(&row.player)?,
                None => None,
            });
        }
        let target = draft.target(board, season).ok_or_else(|| {
            let why = "the current season is being closed".into();
            EngineError::Unavailable { why, retry_after: super::RETRY_AFTER }
        })?;
        draft.admit_rows(target, &rows)?;
        let mut scores = Vec::with_capacity(rows.len());
        for (row, profile) in rows.into_iter().zip(profiles) {
            draft.rename(&row.player, row.user_name, profile);
            let score =
                SetScore { player: row.player, score: row.score, at: row.at.unwrap_or(now) };
            // What the player had does not matter, and nobody is told.
            draft.accept(target, score.player.clone(), (None, None), score.entry(now), false);
            scores.push(score);
        }
        if !scores.is_empty() {
            let Target { board, season, .. } = draft.targets[target];
            draft.records.push(LogRecord::Scores { board, season, at: now, rows: scores });
        }
        Ok(set)
    }
}

/// A season in which scores are set. Numbers are never used twice.
fn scores_set(board: &BoardState, season: &Season) -> ScoresSet {
    let cursor = Cursor::of(&[&board.no, &season.no]);
    ScoresSet { season: season.span.id.clone(), cursor }
}

/// What the standing of a season has of a player.
struct Ahead {
    season: SeasonNo,
    found: Option<(Held, Spot)>,
}

/// Looks the next few players up in the current season, all at once: one by one they would wait for memory. Until the group is
/// published nothing there changes.
fn look_ahead<'a>(
    board: &BoardState,
    players: impl Iterator<Item = &'a PlayerId>,
    now: Millis,
) -> Vec<Ahead> {
    let mut ahead = Vec::new();
    if let Some(season) = board.seasons.get(board.current(now))
        && let Some(live) = season.live()
    {
        let players: Vec<&str> = players.take(WARM).map(PlayerId::as_str).collect();
        ahead.reserve(players.len());
        let found = |found| ahead.push(Ahead { season: season.no, found });
        live.read().index().look_up_many(&players, found);
    }
    ahead
}

/// What the history knows of a submission. There is one of each of a group, and nearly all are empty: it is small.
struct Known {
    recorded: Option<Box<StoredId>>,
    profile: Option<Arc<Profile>>,
    /// When the board last accepted a submission of the player, where it matters.
    last: Option<Millis>,
}

/// Decides one submission. From here on nothing can fail but the submission itself.
fn decide_one(
    draft: &mut Draft,
    board: &BoardState,
    submission: Submission,
    known: Known,
    ahead: Option<Ahead>,
    now: Millis,
) -> Result<Outcome, Rejection> {
    if let Some(stored) = draft.recorded(board.no, submission.event_id.as_ref(), known.recorded) {
        if stored.player != submission.player || stored.points != submission.points {
            return Err(Rejection::EventIdReused);
        }
        if let Some(index) = board.seasons.iter().rposition(|season| season.no == stored.season) {
            let season_id = board.seasons[index].span.id.clone();
            return Ok(Outcome::Duplicate(stored, season_id, draft.target(board, index)));
        }
        // It counted in a season that is past its time, and must not count in another.
        let season_id = board.definition.season_at(stored.entry.at).id;
        return Ok(Outcome::Duplicate(stored, season_id, None));
    }
    let at = event_time(&submission, now)?;
    let target = board
        .season_at(at)
        .and_then(|index| draft.target(board, index))
        .ok_or(Rejection::SeasonClosed)?;
    let (previous, spot) = draft.entry(target, &submission.player, ahead);
    let once = board.definition.once_per().is_some();
    let in_group = once && draft.accepted.contains(&(board.no, submission.player.clone()));
    let last = if in_group { Some(now) } else { known.last };
    let entry = decide(&board.definition, previous, last, &submission, at, now)?;
    if previous.is_none() {
        draft.admit(target)?;
    }
    let Submission { player, points, event_id, user_name, .. } = submission;
    draft.rename(&player, user_name, known.profile);
    let season = draft.targets[target].season;
    let event = Event { board: board.no, season, player, points, event_id, at, entry };
    if let Some(id) = &event.event_id {
        draft.ids.insert((board.no, id.clone()), StoredId::of(&event));
    }
    if once {
        draft.accepted.insert((board.no, event.player.clone()));
    }
    draft.accept(target, event.player.clone(), (previous, spot), entry, true);
    draft.records.push(LogRecord::Event(event));
    Ok(Outcome::Accepted(draft.events.len() - 1))
}
