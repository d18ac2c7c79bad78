//! Finding the standing that a reader means, and what of it can be seen.

use std::{collections::HashSet, io, sync::Arc};

use parking_lot::RwLock;
use standings_core::{
    Board, IndexRecord, Millis, PlayerId, Rank, Score,
    board::Ties,
    standing::{Gaps, Near, Ranks as _, Standing, now},
};

use super::{
    catalog::{BoardState, Catalog, Rows, Season},
    freeze,
    frozen::{Frozen, Text},
    live::Live,
    reads::unreadable,
    record::FrozenFile,
};
use standings_engine::{EngineError, Result, StandingId, StandingRef, StreakCount};

/// A standing that was found for a reader.
pub(crate) struct Found {
    pub(crate) definition: Arc<Board>,
    pub(crate) id: StandingId,
    pub(crate) goal: Option<Score>,
    /// The tie rule that holds: what is closed keeps the one that it closed with.
    pub(crate) ties: Ties,
    /// In a snapshot, up to which rank they are official.
    pub(super) official: Option<u32>,
    pub(super) rows: Rows,
    /// Players who were erased and may still be in its rows.
    pub(super) hidden: Option<Arc<HashSet<PlayerId>>>,
    pub(crate) now: Millis,
}

impl Found {
    pub(crate) fn hides(&self, player: &PlayerId) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.contains(player))
    }

    /// The places that show no player.
    pub(super) fn gaps(&self, standing: &dyn Standing<Error = io::Error>) -> io::Result<Gaps> {
        let mut erased = match &self.rows {
            Rows::Frozen(file) => file.holes.clone(),
            Rows::Live(_) => Vec::new(),
        };
        let mut total = 0;
        for player in self.hidden.iter().flat_map(|hidden| hidden.iter()) {
            if let Some(found) = standing.find(player)? {
                erased.push(found.position.0);
                total += i128::from(found.record.key.folded);
            }
        }
        Ok(Gaps::new(erased, Vec::new(), total))
    }

    /// What it amounts to, but for those who were erased.
    pub(crate) fn figures(&self, source: &Source) -> Result<Figures> {
        if let (Rows::Frozen(file), Source::Frozen(frozen)) = (&self.rows, source) {
            let mut figures = Figures::of(file);
            for player in self.hidden.iter().flat_map(|hidden| hidden.iter()) {
                let row = frozen.row_of(player).map_err(|error| unreadable(&error))?;
                if let Some((_, record, text)) = row {
                    figures.take(record, text.streak);
                }
            }
            return Ok(figures);
        }
        // All that are better than the next worse score met the goal.
        let goal = self.goal.map(|goal| self.definition.order().fold(goal) + 1);
        source.rank(self, |ranks, gaps| {
            let size = now(ranks.size())?;
            let better = now(ranks.better(goal.as_slice()))?;
            Ok(Figures {
                players: gaps.shown(&(0..size.players)),
                total: size.total - gaps.total(),
                successes: better.first().map_or(0, |met| gaps.shown(&(0..met.0))),
                streaks: None,
            })
        })
    }

    /// The official rank of a row, given by someone else or by its place.
    pub(crate) fn official_rank(&self, rank: Rank, text: &Text) -> Option<u32> {
        let given = matches!(&self.rows, Rows::Frozen(file) if file.official);
        let official = self.official?;
        if given {
            return text.official_rank;
        }
        u32::try_from(rank.get()).ok().filter(|rank| *rank <= official)
    }
}

/// What a standing amounts to.
pub(crate) struct Figures {
    pub(crate) players: u64,
    pub(super) total: i128,
    /// Players who met the goal, if there was one.
    pub(super) successes: u64,
    /// Once it is in a file.
    pub(super) streaks: Option<Vec<StreakCount>>,
}

impl Figures {
    /// What the catalog knows of a file, those included who were erased since.
    pub(super) fn of(file: &FrozenFile) -> Self {
        let FrozenFile { players, total, streaks, .. } = file;
        // Who met the goal had a streak.
        let successes = streaks.iter().map(|count| count.players).sum();
        Self { players: *players, total: *total, successes, streaks: Some(streaks.clone()) }
    }

    /// Takes one player out.
    fn take(&mut self, record: IndexRecord, streak: u32) {
        self.players -= 1;
        self.total -= i128::from(record.key.folded);
        self.successes -= u64::from(streak > 0);
        if let Some(streaks) = &mut self.streaks {
            for count in streaks.iter_mut().filter(|count| count.length == streak) {
                count.players -= 1;
            }
            streaks.retain(|count| count.players > 0);
        }
    }
}

/// A standing in memory or in a file, with its tie rule.
pub(crate) type NearRanks<'a> = Near<'a, dyn Standing<Error = io::Error> + 'a>;

/// A standing that can be read, wherever its rows are.
pub(crate) enum Source {
    Live(Arc<RwLock<Live>>),
    Frozen(Arc<Frozen>),
}

impl Source {
    /// Answers a question under one read lock, so that the answer is of one instant.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&dyn Standing<Error = io::Error>) -> io::Result<T>,
    ) -> Result<T> {
        let answer = match self {
            Self::Live(live) => question(&*live.read()),
            Self::Frozen(frozen) => question(frozen.as_ref()),
        };
        answer.map_err(|error| unreadable(&error))
    }

    /// Answers a question about ranks likewise.
    pub(crate) fn rank<T>(
        &self,
        found: &Found,
        question: impl FnOnce(&NearRanks<'_>, &Gaps) -> io::Result<T>,
    ) -> Result<T> {
        self.ask(|standing| question(&Near(standing, found.ties), &found.gaps(standing)?))
    }
}

impl BoardState {
    /// The standing that is meant, or what is unknown about it.
    pub(super) fn find(
        &self,
        catalog: &Catalog,
        which: &StandingRef,
        now: Millis,
    ) -> Result<Found> {
        let definition = Arc::clone(&self.definition);
        match which {
            StandingRef::Season(which) => {
                let season = self.resolve(which, now).ok_or_else(|| {
                    EngineError::UnknownSeason { board: self.id.clone(), season: which.to_string() }
                })?;
                Ok(self.found_season(catalog, season, now))
            }
            StandingRef::Snapshot(which) => {
                let found = self.snapshot(*which, now).and_then(|s| Some((s, s.file()?)));
                let (snapshot, file) = found.ok_or_else(|| EngineError::UnknownSnapshot {
                    board: self.id.clone(),
                    snapshot: which.to_string(),
                })?;
                let season = snapshot.season().clone();
                Ok(Found {
                    ties: file.ties,
                    definition,
                    id: StandingId { season, snapshot: Some(snapshot.date) },
                    goal: snapshot.goal(),
                    official: Some(snapshot.of.official),
                    rows: Rows::Frozen(Arc::clone(file)),
                    hidden: freeze::hidden(catalog, file.erasures),
                    now,
                })
            }
        }
    }

    pub(crate) fn found_season(&self, catalog: &Catalog, season: &Season, now: Millis) -> Found {
        let ties = match (&season.rows, season.closed) {
            (Rows::Frozen(file), _) => file.ties,
            (Rows::Live(_), Some(closed)) => closed.ties,
            (Rows::Live(_), None) => self.definition.ties(),
        };
        Found {
            definition: Arc::clone(&self.definition),
            id: StandingId { season: season.span.id.clone(), snapshot: None },
            goal: season.goal(&self.definition),
            ties,
            official: None,
            rows: season.rows.clone(),
            hidden: season.settled_erasures().and_then(|since| freeze::hidden(catalog, since)),
            now,
        }
    }
}
