//! Reading boards: find the standing, take the rows, add names.

use std::{collections::BTreeSet, io, ops::Range, sync::Arc};

use parking_lot::RwLock;
use standings_core::{
    Board, BoardId, Millis, PlayerId, Position, Profile, Rank, Record, Score, SortKey,
    distribution,
    standing::{self, Standing},
};

use super::{
    Shared,
    catalog::{Rows, Season},
    frozen::Frozen,
    history::HistoryError,
    live::Live,
    out_of_order,
};
use crate::{
    error::{EngineError, Result},
    types::{
        CurrentEntry, Distribution, Page, PageQuery, Place, PlayerEntry, PlayerInfo, RankAnswer,
        Row, ScorePlace, SeasonInfo, SeasonRef, SeasonsPage, SeasonsQuery, Selected, Start,
    },
};

/// How often to look for a file that is replaced meanwhile. Twice in a row is already unlikely.
const LOOKS: usize = 8;

/// A season that was found for a reader.
pub(crate) struct Found {
    pub(crate) definition: Arc<Board>,
    pub(crate) season: Season,
    pub(crate) now: Millis,
}

/// A standing that can be read, wherever its rows are.
enum Source {
    Live(Arc<RwLock<Live>>),
    Frozen(Arc<Frozen>),
}

impl Source {
    /// Answers a question under one read lock, so that the answer is of one instant.
    fn ask<T>(
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

/// A row before it has a name.
struct Bare {
    player: PlayerId,
    record: Record,
    rank: Rank,
    position: Position,
}

impl Shared {
    pub(crate) fn find_season(&self, board: &BoardId, which: &SeasonRef) -> Result<Found> {
        let now = self.clock.now();
        let catalog = self.catalog.read();
        let state = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        let season = state.resolve(which, now).ok_or_else(|| EngineError::UnknownSeason {
            board: board.clone(),
            season: which.to_string(),
        })?;
        Ok(Found { definition: Arc::clone(&state.definition), season: season.clone(), now })
    }

    /// Finds a season and its standing. A file may be replaced between the look at the catalog and its opening; the next
    /// look finds the new one.
    fn locate(&self, board: &BoardId, which: &SeasonRef) -> Result<(Found, Source)> {
        for _ in 0..LOOKS {
            let found = self.find_season(board, which)?;
            match self.source(&found.season) {
                Ok(source) => return Ok((found, source)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(&error)),
            }
        }
        Err(unreadable(&io::ErrorKind::NotFound.into()))
    }

    /// Whether a season can be read without the disk. One that does not exist is known not to without it.
    pub(crate) fn is_in_memory(&self, board: &BoardId, which: &SeasonRef) -> bool {
        let catalog = self.catalog.read();
        let season = catalog.board(board).and_then(|b| b.resolve(which, self.clock.now()));
        season.is_none_or(|season| season.live().is_some())
    }

    fn source(&self, season: &Season) -> io::Result<Source> {
        Ok(match &season.rows {
            Rows::Live(live) => Source::Live(Arc::clone(live)),
            Rows::Frozen(file) => Source::Frozen(self.frozen.get(file)?),
        })
    }

    /// Adds names and what depends on the board. The lock on the standing is released by now: names may come from disk.
    fn dress(&self, found: &Found, source: &Source, rows: Vec<Bare>) -> Result<Vec<Row>> {
        let goal = found.season.goal(&found.definition);
        let order = found.definition.order();
        rows.into_iter()
            .map(|row| {
                let mut profile = self.read_history(|history| history.profile(&row.player))?;
                if let Source::Frozen(frozen) = source {
                    // A frozen season shows the name of its time.
                    let name = frozen.name_at(row.position);
                    let name = name.map_err(|error| unreadable(&error))?;
                    let avatar_url = profile.as_ref().and_then(|p| p.avatar_url.clone());
                    profile = Some(Arc::new(Profile { name, avatar_url, attributes: None }));
                }
                let score = order.unfold(row.record.key.folded);
                Ok(Row {
                    player: row.player,
                    profile,
                    rank: RankAnswer::exact(row.rank),
                    score,
                    at: row.record.key.at,
                    success: goal.map(|goal| !order.better(goal, score)),
                })
            })
            .collect()
    }

    pub(crate) fn page(&self, board: &BoardId, query: &PageQuery) -> Result<Page> {
        let (found, source) = self.locate(board, &query.season)?;
        let Found { definition, season, .. } = &found;
        let goal = season.goal(definition);
        let (rows, players, more) = source.ask(|standing| {
            let passing = query.filter.positions(standing, definition, goal)?;
            let start = match &query.start {
                Start::Offset(offset) => passing.start.saturating_add(*offset),
                Start::After(Place { score, at, player }) => {
                    let key = SortKey::new(definition.order(), *score, *at);
                    standing.through(key, player)?.0.max(passing.start)
                }
            };
            let end = start.saturating_add(query.limit as u64).min(passing.end);
            let rows = bare_rows(standing, definition, start.min(end)..end)?;
            Ok((rows, standing.players(), end < passing.end))
        })?;
        let rows = self.dress(&found, &source, rows)?;
        Ok(Page { season: found.season.span.id, rows, players, more })
    }

    pub(crate) fn rows_of(
        &self,
        board: &BoardId,
        which: &SeasonRef,
        wanted: &[PlayerId],
    ) -> Result<Selected> {
        let (found, source) = self.locate(board, which)?;
        let ties = found.definition.ties();
        let (mut rows, missing, players) = source.ask(|standing| {
            let (mut rows, mut missing) = (Vec::with_capacity(wanted.len()), Vec::new());
            for player in wanted {
                match standing.find(player)? {
                    Some(found) => rows.push(bare(player, ties, &found)),
                    None => missing.push(player.clone()),
                }
            }
            Ok((rows, missing, standing.players()))
        })?;
        rows.sort_by_key(|row| row.position);
        // Someone asked for twice is there once.
        rows.dedup_by_key(|row| row.position);
        let rows = self.dress(&found, &source, rows)?;
        Ok(Selected { season: found.season.span.id, rows, missing, players })
    }

    pub(crate) fn entry(
        &self,
        board: &BoardId,
        which: &SeasonRef,
        player: &PlayerId,
        around: Option<usize>,
    ) -> Result<PlayerEntry> {
        let (found, source) = self.locate(board, which)?;
        let ties = found.definition.ties();
        let answer = source.ask(|standing| {
            let Some(place) = standing.find(player)? else { return Ok(None) };
            let players = standing.players();
            let percentile = standing::percentile(players, place.first_of_score);
            let rows = match around {
                Some(around) => {
                    let window = standing::window(place.position, around as u64, players);
                    bare_rows(standing, &found.definition, window)?
                }
                None => Vec::new(),
            };
            Ok(Some((bare(player, ties, &place), percentile, place.record.updated_at, rows)))
        })?;
        let Some((row, percentile, updated_at, around)) = answer else {
            return Err(EngineError::UnknownPlayer(player.clone()));
        };
        let row = self.dress(&found, &source, vec![row])?.remove(0);
        let around = self.dress(&found, &source, around)?;
        Ok(PlayerEntry { season: found.season.span.id, row, percentile, updated_at, around })
    }

    pub(crate) fn place_of(
        &self,
        board: &BoardId,
        which: &SeasonRef,
        score: Score,
        around: usize,
    ) -> Result<ScorePlace> {
        let (found, source) = self.locate(board, which)?;
        let folded = found.definition.order().fold(score);
        let (rank, percentile, rows) = source.ask(|standing| {
            let first_of_score = standing.before_score(folded)?;
            // Reached only now, it would come after everyone who has it.
            let position = standing.before_score(folded + 1)?;
            let rank = standing::rank(found.definition.ties(), position, first_of_score);
            let percentile = standing::percentile(standing.players() + 1, first_of_score);
            let window = standing::window_between(position, around as u64, standing.players());
            Ok((rank, percentile, bare_rows(standing, &found.definition, window)?))
        })?;
        let around = self.dress(&found, &source, rows)?;
        let rank = RankAnswer::exact(rank);
        Ok(ScorePlace { season: found.season.span.id, rank, percentile, around })
    }

    pub(crate) fn distribution(&self, board: &BoardId, which: &SeasonRef) -> Result<Distribution> {
        let (found, source) = self.locate(board, which)?;
        let order = found.definition.order();
        let scores = source.ask(|standing| distribution::distribution(standing, order))?;
        Ok(Distribution {
            season: found.season.span.id,
            players: scores.players,
            min: scores.min,
            max: scores.max,
            mean: scores.mean,
            deciles: scores.deciles,
            histogram: scores.histogram,
            computed_at: found.now,
        })
    }

    pub(crate) fn seasons(&self, board: &BoardId, query: &SeasonsQuery) -> Result<SeasonsPage> {
        let now = self.clock.now();
        let (definition, mut seasons) = {
            let catalog = self.catalog.read();
            let state =
                catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
            let begun = state.seasons.iter().rev().filter(|s| s.span.starts_at <= now);
            let skip = query.before.as_ref().map_or(0, |before| {
                begun.clone().position(|s| s.span.id == *before).map_or(usize::MAX, |i| i + 1)
            });
            let wanted = begun
                .skip(skip)
                .filter(|season| query.year.is_none() || season.span.id.year() == query.year);
            let seasons: Vec<Season> = wanted.take(query.limit + 1).cloned().collect();
            (Arc::clone(&state.definition), seasons)
        };
        let more = seasons.len() > query.limit;
        seasons.truncate(query.limit);
        let seasons = seasons
            .into_iter()
            .map(|season| self.season_info(board, &definition, season, now))
            .collect::<Result<_>>()?;
        Ok(SeasonsPage { seasons, more })
    }

    fn season_info(
        &self,
        board: &BoardId,
        definition: &Board,
        season: Season,
        now: Millis,
    ) -> Result<SeasonInfo> {
        let source = match self.source(&season) {
            Ok(source) => source,
            Err(_) => self.locate(board, &SeasonRef::Id(season.span.id.clone()))?.1,
        };
        let order = definition.order();
        let goal = season.goal(definition);
        let (players, mean, successes) = source.ask(|standing| {
            let successes = match goal {
                Some(goal) => Some(standing.before_score(order.fold(goal) + 1)?.0),
                None => None,
            };
            Ok((standing.players(), distribution::mean(standing, order), successes))
        })?;
        let state = season.state(now);
        Ok(SeasonInfo { span: season.span, state, players, mean, successes })
    }

    pub(crate) fn player(&self, player: &PlayerId, boards: usize) -> Result<PlayerInfo> {
        let profile = self.read_history(|history| history.profile(player))?;
        let events_on = self.read_history(|history| history.boards_of(player))?;
        let now = self.clock.now();
        let mut entries = Vec::new();
        {
            let catalog = self.catalog.read();
            // Whoever was only imported has no events; such boards are asked one by one.
            let imported = catalog.boards().filter(|board| board.imported).map(|board| board.no);
            let nos: BTreeSet<_> = events_on.iter().copied().chain(imported).collect();
            for state in nos.into_iter().filter_map(|no| catalog.board_no(no)) {
                let season = &state.seasons[state.current(now)];
                let Some(found) = season.live().and_then(|live| live.read().index().find(player))
                else {
                    continue;
                };
                let ties = state.definition.ties();
                let rank = standing::rank(ties, found.position, found.first_of_score);
                entries.push(CurrentEntry {
                    board: state.id.clone(),
                    season: season.span.id.clone(),
                    score: state.definition.order().unfold(found.record.key.folded),
                    rank: RankAnswer::exact(rank),
                });
            }
        }
        if profile.is_none() && events_on.is_empty() && entries.is_empty() {
            return Err(EngineError::UnknownPlayer(player.clone()));
        }
        entries.sort_by(|a, b| a.board.cmp(&b.board));
        entries.truncate(boards);
        Ok(PlayerInfo { player: player.clone(), profile: profile.unwrap_or_default(), entries })
    }

    /// Reads the history, and turns what went wrong into what a client is told.
    pub(crate) fn read_history<T>(
        &self,
        read: impl FnOnce(&super::history::History) -> std::result::Result<T, HistoryError>,
    ) -> Result<T> {
        read(&self.history).map_err(|error| {
            tracing::error!(%error, "the history cannot be read");
            out_of_order("the history cannot be read")
        })
    }
}

fn unreadable(error: &io::Error) -> EngineError {
    tracing::error!(%error, "a frozen standing cannot be read");
    out_of_order("a frozen standing cannot be read")
}

/// A file could not be written, and nothing was changed.
pub(crate) fn unwritable(error: &io::Error) -> EngineError {
    tracing::error!(%error, "a frozen standing cannot be written");
    out_of_order("the disk does not take the write")
}

fn bare(
    player: &PlayerId,
    ties: standings_core::board::Ties,
    found: &standings_core::Found,
) -> Bare {
    Bare {
        player: player.clone(),
        record: found.record,
        rank: standing::rank(ties, found.position, found.first_of_score),
        position: found.position,
    }
}

fn bare_rows(
    standing: &dyn Standing<Error = io::Error>,
    definition: &Board,
    positions: Range<u64>,
) -> io::Result<Vec<Bare>> {
    let mut rows =
        Vec::with_capacity(usize::try_from(positions.end - positions.start).unwrap_or(0));
    let mut position = positions.start;
    let mut invalid = Ok(());
    standing::rows(standing, definition.ties(), positions, |player, record, rank| {
        match PlayerId::new(player) {
            Ok(player) => rows.push(Bare { player, record, rank, position: Position(position) }),
            Err(error) => invalid = Err(super::rows::invalid(error.to_string())),
        }
        position += 1;
    })?;
    invalid.map(|()| rows)
}
