//! The model: every rule of the contract in the plainest way, on vectors and maps.
//!
//! Deciding is taken from `standings-core` where it is pure ([`decide`]), so that what is compared is what an engine adds:
//! order, ranks, seasons, event ids, durability.

use std::collections::{BTreeMap, HashMap};

use standings_core::{
    Board, BoardId, EventId, LocalDate, Millis, Name, Order, PlayerId, Score, SeasonId, SeasonSpan,
    board::Ties,
    limits::MAX_AHEAD,
    rule::{Entry, Rejection, Submission, decide},
};

use super::frozen::ModelSnapshot;
use crate::{PlayerEvent, SeasonState};

/// All that an engine should know.
#[derive(Default)]
pub(super) struct Model {
    pub(super) boards: BTreeMap<BoardId, ModelBoard>,
    pub(super) names: BTreeMap<PlayerId, Name>,
    pub(super) friends: BTreeMap<PlayerId, Vec<PlayerId>>,
    /// What was accepted of each, oldest first.
    pub(super) events: BTreeMap<PlayerId, Vec<PlayerEvent>>,
    /// Who has ever had a score or a name.
    pub(super) seen: std::collections::BTreeSet<PlayerId>,
}

pub(super) struct ModelBoard {
    pub(super) definition: Board,
    /// Oldest first.
    pub(super) seasons: Vec<ModelSeason>,
    pub(super) snapshots: BTreeMap<LocalDate, ModelSnapshot>,
    /// Snapshots due up to this instant have been taken.
    pub(super) snapshots_through: Millis,
    /// Whether it ever had a goal.
    pub(super) had_goal: bool,
    pub(super) ids: HashMap<EventId, Remembered>,
}

pub(super) struct ModelSeason {
    pub(super) span: SeasonSpan,
    pub(super) closed: bool,
    pub(super) goal: Option<Score>,
    /// Whether anything of it is kept: it ever had an entry, was ended by hand or came from elsewhere. Otherwise it exists by schedule
    /// and clock alone, and has no goal of its own.
    pub(super) kept: bool,
    pub(super) entries: BTreeMap<PlayerId, Entry>,
    /// Who was erased after it had closed: shown no more, and still in the ranks of the others.
    pub(super) ghosts: BTreeMap<PlayerId, Entry>,
    /// The streaks that reached up to it when it closed, and whether every season before it had closed by then.
    pub(super) streaks: BTreeMap<PlayerId, u32>,
    pub(super) streaks_are_final: bool,
}

pub(super) struct Remembered {
    pub(super) player: PlayerId,
    points: Score,
    season: SeasonId,
    entry: Entry,
}

/// What a receipt must say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) season: SeasonId,
    pub(super) score: Score,
    pub(super) at: Millis,
    pub(super) previous: Option<(Score, u64)>,
    pub(super) changed: bool,
    /// `None` for a duplicate: its rank is told after the whole batch.
    pub(super) rank: Option<u64>,
    pub(super) duplicate: bool,
}

/// A row of a standing: who, rank, score, when.
pub(super) type ModelRow = (PlayerId, u64, Score, Millis);

impl ModelSeason {
    fn new(span: SeasonSpan) -> Self {
        Self {
            span,
            closed: false,
            goal: None,
            kept: false,
            entries: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            streaks: BTreeMap::new(),
            streaks_are_final: false,
        }
    }

    pub(super) fn state(&self, now: Millis) -> SeasonState {
        if self.closed {
            SeasonState::Closed
        } else if now >= self.span.ends_at {
            SeasonState::Closing
        } else {
            SeasonState::Open
        }
    }

    /// Best first.
    pub(super) fn rows(&self, definition: &Board) -> Vec<ModelRow> {
        let order = definition.order();
        let mut rows: Vec<_> = self.entries.iter().chain(&self.ghosts).collect();
        rows.sort_by_key(|(player, entry)| (order.fold(entry.score), entry.at, *player));
        let mut ranked: Vec<ModelRow> = Vec::with_capacity(rows.len());
        for (position, (player, entry)) in (1..).zip(rows) {
            let rank = match ranked.last() {
                Some((_, rank, score, _))
                    if definition.ties() == Ties::Share && *score == entry.score =>
                {
                    *rank
                }
                _ => position,
            };
            ranked.push((player.clone(), rank, entry.score, entry.at));
        }
        ranked.retain(|row| !self.ghosts.contains_key(&row.0));
        ranked
    }

    pub(super) fn rank(&self, definition: &Board, player: &PlayerId) -> Option<u64> {
        let entry = self.entries.get(player)?;
        let order = definition.order();
        let key = |player: &PlayerId, entry: &Entry| {
            (order.fold(entry.score), entry.at, player.as_str().to_owned())
        };
        let mine = key(player, entry);
        let all = self.entries.iter().chain(&self.ghosts);
        let ahead = all.filter(|(other, entry)| match definition.ties() {
            Ties::Share => order.better(entry.score, self.entries[player].score),
            Ties::Earliest => key(other, entry) < mine,
        });
        Some(ahead.count() as u64 + 1)
    }

    /// The goal that counts.
    pub(super) fn goal(&self, definition: &Board) -> Option<Score> {
        if self.closed && self.kept { self.goal } else { definition.goal() }
    }
}

impl ModelBoard {
    pub(super) fn new(definition: Board, now: Millis) -> Self {
        let seasons = vec![ModelSeason::new(definition.season_at(now))];
        Self {
            had_goal: definition.goal().is_some(),
            definition,
            seasons,
            snapshots: BTreeMap::new(),
            snapshots_through: now,
            ids: HashMap::new(),
        }
    }

    pub(super) fn order(&self) -> Order {
        self.definition.order()
    }

    pub(super) fn has_scores(&self) -> bool {
        self.seasons.iter().any(|season| !season.entries.is_empty())
    }

    /// Opens what may get events and closes what is over.
    pub(super) fn roll(&mut self, now: Millis) {
        loop {
            let last = &self.seasons.last().expect("a board has a season").span;
            if last.ends_at == Millis::MAX || now < last.ends_at.plus(Millis(-MAX_AHEAD.0)) {
                break;
            }
            let next = self.definition.season_at(last.ends_at);
            self.seasons.push(ModelSeason::new(next));
        }
        let grace = self.definition.grace();
        for index in 0..self.seasons.len() {
            let season = &self.seasons[index];
            let ends_at = season.span.ends_at;
            if !season.closed && ends_at != Millis::MAX && now >= ends_at.plus(grace) {
                self.close_season(index);
            }
        }
    }

    pub(super) fn current(&self, now: Millis) -> usize {
        self.seasons.iter().rposition(|season| season.span.starts_at <= now).unwrap_or(0)
    }

    /// Seasons that have begun, newest first.
    pub(super) fn begun(&self, now: Millis) -> impl Iterator<Item = &ModelSeason> {
        self.seasons.iter().rev().filter(move |season| season.span.starts_at <= now)
    }

    fn open_at(&self, at: Millis) -> Option<usize> {
        let index = self.seasons.iter().rposition(|season| season.span.contains(at))?;
        (!self.seasons[index].closed).then_some(index)
    }

    pub(super) fn close(&mut self, now: Millis) -> (SeasonId, SeasonId) {
        let index = self.current(now);
        let (closed, rest) = self.seasons[index].span.close_at(now);
        let ids = (closed.id.clone(), rest.id.clone());
        (self.seasons[index].span, self.seasons[index].kept) = (closed, true);
        self.close_season(index);
        let rest = ModelSeason { kept: true, ..ModelSeason::new(rest) };
        self.seasons.insert(index + 1, rest);
        ids
    }

    fn close_season(&mut self, index: usize) {
        let goal = self.definition.goal();
        let season = &mut self.seasons[index];
        (season.closed, season.goal) = (true, goal);
        self.count_streaks(index);
    }

    pub(super) fn submit(
        &mut self,
        submission: &Submission,
        now: Millis,
        window: Millis,
    ) -> Result<Expected, Rejection> {
        if let Some(id) = &submission.event_id
            && let Some(known) = self.ids.get(id)
            && now < known.entry.updated_at.plus(window)
        {
            if (&known.player, known.points) != (&submission.player, submission.points) {
                return Err(Rejection::EventIdReused);
            }
            return Ok(Expected {
                season: known.season.clone(),
                score: known.entry.score,
                at: known.entry.at,
                previous: None,
                changed: false,
                rank: None,
                duplicate: true,
            });
        }
        let at = submission.at.unwrap_or(now);
        if at > now.plus(MAX_AHEAD) {
            return Err(Rejection::AtInFuture);
        }
        let index = self.open_at(at).ok_or(Rejection::SeasonClosed)?;
        let definition = self.definition.clone();
        let season = &mut self.seasons[index];
        let player = &submission.player;
        let before = season.entries.get(player).copied();
        let entry = decide(&definition, before, submission, at, now)?;
        let previous = before
            .map(|entry| (entry.score, season.rank(&definition, player).expect("it is there")));
        season.entries.insert(player.clone(), entry);
        season.kept = true;
        let expected = Expected {
            season: season.span.id.clone(),
            score: entry.score,
            at: entry.at,
            changed: before.map(|before| before.score) != Some(entry.score),
            previous,
            rank: season.rank(&definition, player),
            duplicate: false,
        };
        if let Some(id) = &submission.event_id {
            let remembered = Remembered {
                player: player.clone(),
                points: submission.points,
                season: season.span.id.clone(),
                entry,
            };
            self.ids.insert(id.clone(), remembered);
        }
        Ok(expected)
    }

    pub(super) fn set(&mut self, player: &PlayerId, score: Score, at: Option<Millis>, now: Millis) {
        let index = self.current(now);
        let at = at.unwrap_or(now);
        let once = self.definition.once_per().is_some();
        self.seasons[index].kept = true;
        let entries = &mut self.seasons[index].entries;
        let never = if once { Millis::MIN } else { at };
        let updated_at = entries.get(player).map_or(never, |entry| entry.updated_at);
        entries.insert(player.clone(), Entry { score, at, updated_at });
    }

    pub(super) fn season_named(&mut self, id: &SeasonId) -> Option<&mut ModelSeason> {
        self.seasons.iter_mut().find(|season| season.span.id == *id)
    }
}
