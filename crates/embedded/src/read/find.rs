//! Finding the standing that a reader means, and what of it can be seen.

use std::{io, sync::Arc};

use parking_lot::RwLock;
use standings_core::{
    Board, IndexRecord, Millis, PlayerId, Position, Profile, Score,
    board::Ties,
    official::Official,
    standing::{self, Gaps, Near, Ranked, Ranks as _, Standing, now},
};

use crate::{
    files::archive::Frozen,
    read::board::unreadable,
    record::FrozenFile,
    state::{
        catalog::{BoardState, Catalog, Rows, Season},
        erasures::Hidden,
        live::Live,
    },
};
use standings_engine::{EngineError, Result, Row, StandingId, StandingRef, StreakCount};

/// A standing that was found for a reader.
pub(crate) struct Found {
    pub(crate) definition: Arc<Board>,
    pub(crate) id: StandingId,
    pub(crate) goal: Option<Score>,
    /// The tie rule that holds: what is closed keeps the one that it closed with.
    pub(crate) ties: Ties,
    /// In a snapshot, which ranks are official.
    official: Option<Official>,
    pub(crate) rows: Rows,
    /// Players who were erased and may still be in its rows.
    pub(crate) hidden: Option<Hidden>,
    pub(crate) now: Millis,
}

impl Found {
    pub(crate) fn hides(&self, player: &PlayerId) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.contains(player))
    }

    /// The places over which ranks close up.
    fn removed(&self) -> Vec<u64> {
        match &self.rows {
            Rows::Frozen(file) => file.removed.clone(),
            Rows::Live(_) => Vec::new(),
        }
    }

    /// The places that show no player.
    fn gaps(
        &self,
        source: &Source,
        standing: &dyn Standing<Error = io::Error>,
    ) -> io::Result<Gaps> {
        let mut erased = match &self.rows {
            Rows::Frozen(file) => file.holes.clone(),
            Rows::Live(_) => Vec::new(),
        };
        let mut total = 0;
        let mut hide = |position: Position, record: IndexRecord| {
            erased.push(position.0);
            total += i128::from(record.key.folded);
        };
        match (&self.hidden, source) {
            (Some(hidden), Source::Frozen(frozen)) => {
                for row in frozen.erased(hidden)? {
                    hide(row.position, row.record);
                }
            }
            (Some(hidden), Source::Live(_)) => {
                for player in hidden.iter() {
                    if let Some(found) = standing.find(player)? {
                        hide(found.position, found.record);
                    }
                }
            }
            (None, _) => {}
        }
        Ok(Gaps::new(erased, self.removed(), total))
    }
}

/// What a standing amounts to.
pub(crate) struct Figures {
    pub(crate) players: u64,
    pub(crate) total: i128,
    /// Players who met the goal, if there was one.
    pub(crate) successes: u64,
    /// Once it is in a file.
    pub(crate) streaks: Option<Vec<StreakCount>>,
}

impl Figures {
    /// What the catalog knows of a file, those included who were erased since.
    pub(crate) fn of(file: &FrozenFile) -> Self {
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
}

/// A standing that was found, with its rows at hand: all that a read needs to know of it.
pub(crate) struct OpenStanding {
    pub(crate) found: Found,
    pub(crate) source: Source,
}

impl OpenStanding {
    /// Answers a question about ranks under one read lock.
    pub(crate) fn rank<T>(
        &self,
        question: impl FnOnce(&NearRanks<'_>, &Gaps) -> io::Result<T>,
    ) -> Result<T> {
        let Self { found, source } = self;
        source.ask(|standing| question(&Near(standing, found.ties), &found.gaps(source, standing)?))
    }

    /// A player's entry, if there is one. Who else was erased makes a difference only to the rows around it.
    pub(crate) fn entry_of(
        &self,
        player: &PlayerId,
        around: Option<usize>,
    ) -> Result<Option<standing::Entry>> {
        let Self { found, source } = self;
        if found.hides(player) {
            return Ok(None);
        }
        source.ask(|standing| {
            let gaps = match around {
                Some(_) => found.gaps(source, standing)?,
                None => Gaps::new(Vec::new(), found.removed(), 0),
            };
            now(standing::entry(&Near(standing, found.ties), &gaps, player, around))
        })
    }

    /// Rows as they are shown, but for what the history knows of the players. What a file says of them is of its time.
    pub(crate) fn rows(&self, ranked: Vec<Ranked>) -> Result<Vec<Row>> {
        ranked.into_iter().map(|row| self.row(row)).collect()
    }

    pub(crate) fn row(&self, row: Ranked) -> Result<Row> {
        let Found { definition, goal, official, .. } = &self.found;
        let order = definition.order();
        let score = order.unfold(row.record.key.folded);
        let (mut profile, mut official_rank) = (None, None);
        if let Source::Frozen(frozen) = &self.source {
            let text = frozen.text_at(row.position).map_err(|error| unreadable(&error))?;
            official_rank = official.and_then(|o| o.rank(row.rank, text.official_rank));
            profile = Some(Arc::new(Profile { name: text.name, ..Profile::default() }));
        }
        Ok(Row {
            player: row.player,
            profile,
            rank: row.rank,
            score,
            at: row.record.key.at,
            success: goal.map(|goal| !order.better(goal, score)),
            official_rank,
        })
    }

    /// Adds what the history knows of a row's player. A frozen standing shows the name of its time.
    pub(crate) fn add_profile(&self, row: &mut Row, profile: Option<Arc<Profile>>) {
        if matches!(self.source, Source::Live(_)) {
            row.profile = profile;
        } else if let Some(url) = profile.and_then(|profile| profile.avatar_url.clone()) {
            Arc::make_mut(row.profile.get_or_insert_default()).avatar_url = Some(url);
        }
    }

    /// What it amounts to, but for those who were erased.
    pub(crate) fn figures(&self) -> Result<Figures> {
        let Self { found, source } = self;
        if let (Rows::Frozen(file), Source::Frozen(frozen)) = (&found.rows, source) {
            let mut figures = Figures::of(file);
            if let Some(hidden) = &found.hidden {
                let erased = frozen.erased(hidden).map_err(|error| unreadable(&error))?;
                for row in erased {
                    figures.take(row.record, row.streak);
                }
            }
            return Ok(figures);
        }
        // All that are better than the next worse score met the goal.
        let goal = found.goal.map(|goal| found.definition.order().fold(goal) + 1);
        self.rank(|ranks, gaps| {
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
}

impl BoardState {
    /// The standing that is meant, or what is unknown about it.
    pub(crate) fn find(
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
                Ok(self.found_season(catalog, &season, now))
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
                    official: Some(if file.official {
                        Official::Given
                    } else {
                        Official::First(snapshot.of.official)
                    }),
                    rows: Rows::Frozen(Arc::clone(file)),
                    hidden: Hidden::since(catalog.erased(), file.erasures),
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
            hidden: season
                .settled_erasures()
                .and_then(|since| Hidden::since(catalog.erased(), since)),
            now,
        }
    }
}
