//! The model of what is past: snapshots, seasons of a player, streaks, erasure.

use std::collections::BTreeMap;

use standings_core::{LocalDate, Millis, Name, PlayerId, Score, SeasonId, streak::Streak};

use super::reference::{Model, ModelBoard, ModelRow, ModelSeason};
use crate::{SeasonBest, SeasonState, StreakCount};

/// A board as it was.
pub(super) struct ModelSnapshot {
    pub(super) season: SeasonId,
    pub(super) goal: Option<Score>,
    pub(super) rows: Vec<ModelRow>,
    pub(super) names: BTreeMap<PlayerId, Name>,
    official: u64,
    /// Whether someone is missing from it.
    pub(super) erased: bool,
}

impl ModelSnapshot {
    pub(super) fn official_rank(&self, rank: u64) -> Option<u32> {
        (rank <= self.official).then(|| u32::try_from(rank).expect("it is small"))
    }
}

impl Model {
    /// Nothing is left of the player but the gaps in ranks that were final.
    pub(super) fn erase(&mut self, player: &PlayerId) {
        self.names.remove(player);
        self.friends.remove(player);
        for friends in self.friends.values_mut() {
            friends.retain(|friend| friend != player);
        }
        self.events.remove(player);
        self.seen.remove(player);
        for board in self.boards.values_mut() {
            board.ids.retain(|_, remembered| remembered.player != *player);
            for season in &mut board.seasons {
                let entry = season.entries.remove(player);
                season.streaks.remove(player);
                season.ghosts.extend(entry.filter(|_| season.closed).map(|e| (player.clone(), e)));
            }
            for snapshot in board.snapshots.values_mut() {
                let before = snapshot.rows.len();
                snapshot.rows.retain(|row| row.0 != *player);
                snapshot.names.remove(player);
                snapshot.erased |= snapshot.rows.len() < before;
            }
        }
    }
}

impl ModelSeason {
    /// How many players had a streak of which length, shortest first.
    pub(super) fn streak_counts(&self) -> Vec<StreakCount> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for length in self.streaks.values().filter(|length| **length > 0) {
            *counts.entry(*length).or_default() += 1;
        }
        counts.into_iter().map(|(length, players)| StreakCount { length, players }).collect()
    }
}

impl ModelBoard {
    /// Freezes the season of an instant.
    pub(super) fn take(&mut self, date: LocalDate, at: Millis, names: &BTreeMap<PlayerId, Name>) {
        let season = &self.seasons[self.current(at)];
        let rows = season.rows(&self.definition);
        let names = names.iter().filter(|(player, _)| season.entries.contains_key(*player));
        let snapshot = ModelSnapshot {
            season: season.span.id.clone(),
            goal: self.definition.goal(),
            names: names.map(|(player, name)| (player.clone(), name.clone())).collect(),
            rows,
            official: self.definition.snapshots().map_or(0, |s| s.official.into()),
            erased: false,
        };
        self.snapshots.insert(date, snapshot);
    }

    /// Takes the daily snapshots that are due.
    pub(super) fn take_due(&mut self, now: Millis, names: &BTreeMap<PlayerId, Name>) {
        while let Some((due, date)) = self.definition.snapshot_due(self.snapshots_through)
            && due <= now
        {
            self.take(date, due, names);
            self.snapshots_through = due;
        }
    }

    fn met(&self, season: &ModelSeason, player: &PlayerId) -> Option<bool> {
        let goal = season.goal(&self.definition)?;
        let entry = season.entries.get(player)?;
        Some(!self.order().better(goal, entry.score))
    }

    /// Players who met the goal.
    pub(super) fn successes(&self, season: &ModelSeason) -> Option<u64> {
        season.goal(&self.definition)?;
        let met = season.entries.keys().filter(|player| self.met(season, player) == Some(true));
        Some(met.count() as u64)
    }

    pub(super) fn streak(&self, player: &PlayerId, now: Millis) -> Streak {
        let (mut current, mut longest) = (0, 0);
        for season in self.seasons.iter().filter(|season| season.span.starts_at <= now) {
            if self.met(season, player) == Some(true) {
                current += 1;
                longest = current.max(longest);
            } else if season.state(now) != SeasonState::Open {
                current = 0;
            }
        }
        Streak { current, longest }
    }

    /// Counts the streaks that reach up to a closed season.
    pub(super) fn count_streaks(&mut self, index: usize) {
        let (before, up_to) = (&self.seasons[..index], &self.seasons[..=index]);
        let length = |player: &PlayerId| {
            let back = up_to.iter().rev();
            back.take_while(|season| self.met(season, player) == Some(true)).count()
        };
        let streaks = up_to[index].entries.keys().map(|player| (player.clone(), length(player)));
        let streaks = streaks.map(|(player, length)| (player, length.try_into().expect("few")));
        let (streaks, are_final) = (streaks.collect(), before.iter().all(|season| season.closed));
        let season = &mut self.seasons[index];
        (season.streaks, season.streaks_are_final) = (streaks, are_final);
    }

    /// The first of a player's best seasons, as they stand.
    pub(super) fn best(&self, player: &PlayerId, now: Millis) -> Option<SeasonBest> {
        let mut best: Option<SeasonBest> = None;
        for season in self.seasons.iter().filter(|season| season.span.starts_at <= now) {
            if let Some(entry) = season.entries.get(player)
                && best.as_ref().is_none_or(|best| self.order().better(entry.score, best.score))
            {
                best = Some(SeasonBest { score: entry.score, season: season.span.id.clone() });
            }
        }
        best
    }
}
