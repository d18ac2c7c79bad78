//! Finding the standing that a reader means, and what of it can be seen.

use std::{
    collections::HashSet,
    io,
    ops::{ControlFlow, Range},
    sync::Arc,
};

use parking_lot::RwLock;
use standings_core::{
    Board, IndexRecord, Millis, PlayerId, Position, Rank, Score, SortKey, board::Ties,
    standing::Standing,
};

use super::{
    catalog::{BoardState, Catalog, Rows, Season},
    freeze,
    frozen::{Frozen, Text},
    live::Live,
    reads::unreadable,
};
use standings_engine::{EngineError, Result, StandingId, StandingRef, StreakCount};

/// A standing that was found for a reader.
pub(crate) struct Found {
    pub(crate) definition: Arc<Board>,
    pub(crate) id: StandingId,
    pub(crate) goal: Option<Score>,
    /// The tie rule of a standing that does not say its own.
    ties: Ties,
    /// In a snapshot, up to which rank they are official.
    pub(super) official: Option<u32>,
    pub(super) rows: Rows,
    /// Players who were erased and may still be in its rows.
    pub(super) hidden: Option<Arc<HashSet<PlayerId>>>,
    /// Of a closed season that is still in memory, when it closed, as former names count it.
    pub(super) epoch: Option<u64>,
    pub(crate) now: Millis,
}

/// Places in the order that erased players have left, or will leave.
pub(crate) struct Holes(Vec<u64>);

impl Holes {
    pub(super) fn before(&self, position: u64) -> u64 {
        self.0.partition_point(|hole| *hole < position) as u64
    }

    /// How many rows between two positions can be seen.
    pub(super) fn seen(&self, positions: &Range<u64>) -> u64 {
        let holes = self.before(positions.end) - self.before(positions.start);
        positions.end.saturating_sub(positions.start) - holes.min(positions.end - positions.start)
    }

    /// The position so many rows that can be seen after another.
    pub(super) fn after(&self, start: u64, seen: u64) -> u64 {
        let first = usize::try_from(self.before(start)).unwrap_or(usize::MAX);
        let mut position = start.saturating_add(seen);
        for hole in self.0.iter().skip(first) {
            if *hole > position {
                break;
            }
            position += 1;
        }
        position
    }
}

impl Found {
    /// The tie rule that holds: what is closed keeps the one that it closed with.
    pub(crate) fn ties(&self, source: &Source) -> Ties {
        match source {
            Source::Frozen(frozen) => frozen.ties.unwrap_or(self.ties),
            Source::Live(_) => self.ties,
        }
    }

    pub(crate) fn hides(&self, player: &PlayerId) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.contains(player))
    }

    /// The places that nobody sees.
    pub(super) fn holes(&self, standing: &dyn Standing<Error = io::Error>) -> io::Result<Holes> {
        let mut holes = match &self.rows {
            Rows::Frozen(file) => file.holes.clone(),
            Rows::Live(_) => Vec::new(),
        };
        for player in self.hidden.iter().flat_map(|hidden| hidden.iter()) {
            holes.extend(standing.find(player)?.map(|found| found.position.0));
        }
        holes.sort_unstable();
        Ok(Holes(holes))
    }

    /// The standing as if those who were erased had never been there, but for the ranks: nobody can tell those from it.
    pub(super) fn seen<'a>(
        &self,
        standing: &'a dyn Standing<Error = io::Error>,
    ) -> io::Result<Seen<'a>> {
        let mut total = standing.total();
        for player in self.hidden.iter().flat_map(|hidden| hidden.iter()) {
            let found = standing.find(player)?;
            total -= found.map_or(0, |found| i128::from(found.record.key.folded));
        }
        Ok(Seen { standing, holes: self.holes(standing)?, total })
    }

    /// Players, sum of folded scores, and streaks, but for those who were erased.
    pub(crate) fn figures(&self, source: &Source) -> Result<Figures> {
        let mut figures = match &self.rows {
            Rows::Frozen(file) => {
                Figures { players: file.players, total: file.total, streaks: file.streaks.clone() }
            }
            Rows::Live(live) => {
                let live = live.read();
                Figures { players: live.players(), total: live.total(), streaks: Vec::new() }
            }
        };
        for player in self.hidden.iter().flat_map(|hidden| hidden.iter()) {
            if let Source::Frozen(frozen) = source
                && let Some((_, record, text)) =
                    frozen.row_of(player).map_err(|error| unreadable(&error))?
            {
                figures.take(record, text.streak);
            } else if let Source::Live(live) = source
                && let Some(record) = live.read().index().get(player)
            {
                figures.take(record, 0);
            }
        }
        Ok(figures)
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

/// A standing without those who were erased.
pub(super) struct Seen<'a> {
    standing: &'a dyn Standing<Error = io::Error>,
    holes: Holes,
    total: i128,
}

impl Seen<'_> {
    fn without_holes(&self, position: Position) -> Position {
        Position(position.0 - self.holes.before(position.0))
    }
}

impl Standing for Seen<'_> {
    type Error = io::Error;

    fn players(&self) -> u64 {
        self.holes.seen(&(0..self.standing.players()))
    }

    fn total(&self) -> i128 {
        self.total
    }

    fn find(&self, player: &str) -> io::Result<Option<standings_core::Found>> {
        let found = self.standing.find(player)?;
        let seen = found.filter(|found| self.holes.0.binary_search(&found.position.0).is_err());
        Ok(seen.map(|found| standings_core::Found {
            position: self.without_holes(found.position),
            first_of_score: self.without_holes(found.first_of_score),
            ..found
        }))
    }

    fn before_score(&self, folded: i64) -> io::Result<Position> {
        Ok(self.without_holes(self.standing.before_score(folded)?))
    }

    fn through(&self, key: SortKey, player: &str) -> io::Result<Position> {
        Ok(self.without_holes(self.standing.through(key, player)?))
    }

    fn visit(
        &self,
        from: Position,
        visitor: &mut dyn FnMut(&str, IndexRecord) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut position = self.holes.after(0, from.0);
        self.standing.visit(Position(position), &mut |player, record| {
            position += 1;
            match self.holes.0.binary_search(&(position - 1)) {
                Ok(_) => ControlFlow::Continue(()),
                Err(_) => visitor(player, record),
            }
        })
    }
}

/// What a standing amounts to.
pub(crate) struct Figures {
    pub(crate) players: u64,
    pub(super) total: i128,
    pub(super) streaks: Vec<StreakCount>,
}

impl Figures {
    /// Takes one player out.
    fn take(&mut self, record: IndexRecord, streak: u32) {
        self.players -= 1;
        self.total -= i128::from(record.key.folded);
        for count in self.streaks.iter_mut().filter(|count| count.length == streak) {
            count.players -= 1;
        }
        self.streaks.retain(|count| count.players > 0);
    }
}

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
                    ties: definition.ties(),
                    definition,
                    id: StandingId { season, snapshot: Some(snapshot.date) },
                    goal: snapshot.goal(),
                    official: Some(snapshot.of.official),
                    rows: Rows::Frozen(Arc::clone(file)),
                    hidden: freeze::hidden(catalog, file.erasures),
                    epoch: None,
                    now,
                })
            }
        }
    }

    pub(crate) fn found_season(&self, catalog: &Catalog, season: &Season, now: Millis) -> Found {
        let since = match (&season.rows, season.closed) {
            (Rows::Frozen(file), _) => Some(file.erasures),
            (Rows::Live(_), closed) => closed.map(|closed| closed.erasures),
        };
        Found {
            definition: Arc::clone(&self.definition),
            id: StandingId { season: season.span.id.clone(), snapshot: None },
            goal: season.goal(&self.definition),
            ties: season.closed.map_or(self.definition.ties(), |closed| closed.ties),
            official: None,
            rows: season.rows.clone(),
            hidden: since.and_then(|since| freeze::hidden(catalog, since)),
            epoch: season.live().and(season.closed).map(|closed| closed.epoch),
            now,
        }
    }
}
