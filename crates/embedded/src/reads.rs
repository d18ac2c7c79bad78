//! Reading boards: find the standing, take the rows, add names.

use std::{collections::BTreeSet, io, ops::Range, sync::Arc};

use standings_core::{
    BoardId, IndexRecord, PlayerId, Position, Profile, Rank, Score, SortKey,
    board::Ties,
    distribution,
    standing::{self, Standing},
};

use super::{
    Shared,
    catalog::Rows,
    found::{Found, Source},
    history::HistoryError,
    out_of_order,
};
use standings_engine::{
    CurrentEntry, Distribution, EngineError, Page, PageQuery, Place, PlayerEntry, PlayerInfo,
    RankAnswer, Result, Row, ScorePlace, Selected, StandingRef, Start,
};

/// How often to look for a file that is replaced meanwhile. Twice in a row is already unlikely.
const LOOKS: usize = 8;

/// A row before it has a name.
pub(crate) struct Bare {
    pub(crate) player: PlayerId,
    pub(crate) record: IndexRecord,
    pub(crate) rank: Rank,
    pub(crate) position: Position,
}

impl Shared {
    pub(crate) fn find(&self, board: &BoardId, which: &StandingRef) -> Result<Found> {
        let now = self.clock.now();
        let catalog = self.catalog.read();
        let state = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        state.find(&catalog, which, now)
    }

    /// Finds a standing and its rows. A file may be replaced between the look at the catalog and its opening; the next
    /// look finds the new one.
    pub(crate) fn locate(&self, board: &BoardId, which: &StandingRef) -> Result<(Found, Source)> {
        for _ in 0..LOOKS {
            let found = self.find(board, which)?;
            match self.source(&found.rows) {
                Ok(source) => return Ok((found, source)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(&error)),
            }
        }
        Err(unreadable(&io::ErrorKind::NotFound.into()))
    }

    /// Whether a standing can be read without the disk. One that does not exist is known not to without it.
    pub(crate) fn is_in_memory(&self, board: &BoardId, which: &StandingRef) -> bool {
        let StandingRef::Season(which) = which else { return false };
        let catalog = self.catalog.read();
        let season = catalog.board(board).and_then(|b| b.resolve(which, self.clock.now()));
        season.is_none_or(|season| season.live().is_some())
    }

    pub(crate) fn source(&self, rows: &Rows) -> io::Result<Source> {
        Ok(match rows {
            Rows::Live(live) => Source::Live(Arc::clone(live)),
            Rows::Frozen(file) => Source::Frozen(self.frozen.get(file)?),
        })
    }

    /// Adds names and what depends on the board, and leaves out who was erased. The lock on the standing is released by
    /// now: names may come from disk.
    pub(crate) fn dress(
        &self,
        found: &Found,
        source: &Source,
        rows: Vec<Bare>,
    ) -> Result<Vec<Row>> {
        let order = found.definition.order();
        let seen = rows.into_iter().filter(|row| !found.hides(&row.player));
        seen.map(|row| {
            let mut profile = self.read_history(|history| history.profile(&row.player))?;
            let mut official_rank = None;
            if let Some(epoch) = found.epoch {
                // It is on its way into a file with the names that it closed with.
                let mut then = profile.as_deref().cloned().unwrap_or_default();
                let catalog = self.catalog.read();
                catalog.former_names.restore(&row.player, epoch, &mut then.name);
                profile = Some(Arc::new(then));
            }
            if let Source::Frozen(frozen) = source {
                // A frozen standing shows the name of its time.
                let text = frozen.text_at(row.position).map_err(|error| unreadable(&error))?;
                official_rank = found.official_rank(row.rank, &text);
                let avatar_url = profile.as_ref().and_then(|p| p.avatar_url.clone());
                let name = text.name;
                profile = Some(Arc::new(Profile { name, avatar_url, attributes: None }));
            }
            let score = order.unfold(row.record.key.folded);
            Ok(Row {
                player: row.player,
                profile,
                rank: RankAnswer::exact(row.rank),
                score,
                at: row.record.key.at,
                success: found.goal.map(|goal| !order.better(goal, score)),
                official_rank,
            })
        })
        .collect()
    }

    pub(crate) fn page(&self, board: &BoardId, query: &PageQuery) -> Result<Page> {
        let (found, source) = self.locate(board, &query.standing)?;
        let Found { definition, goal, .. } = &found;
        let (rows, more) = source.ask(|standing| {
            let holes = found.holes(standing)?;
            let passing = query.filter.positions(standing, definition, *goal)?;
            let start = match &query.start {
                Start::Offset(offset) => holes.after(passing.start, *offset),
                Start::After(Place { score, at, player }) => {
                    let key = SortKey::new(definition.order(), *score, *at);
                    standing.through(key, player)?.0.max(passing.start)
                }
            };
            let end = holes.after(start, query.limit as u64).min(passing.end);
            let rows = bare_rows(standing, found.ties(&source), start.min(end)..end)?;
            Ok((rows, holes.seen(&(end..passing.end)) > 0))
        })?;
        let rows = self.dress(&found, &source, rows)?;
        let players = found.figures(&source)?.players;
        Ok(Page { standing: found.id, rows, players, more })
    }

    pub(crate) fn rows_of(
        &self,
        board: &BoardId,
        which: &StandingRef,
        wanted: &[PlayerId],
    ) -> Result<Selected> {
        let (found, source) = self.locate(board, which)?;
        let ties = found.ties(&source);
        let (mut rows, missing) = source.ask(|standing| {
            let (mut rows, mut missing) = (Vec::with_capacity(wanted.len()), Vec::new());
            let ids: Vec<&str> = wanted.iter().map(PlayerId::as_str).collect();
            for (player, place) in wanted.iter().zip(standing.find_many(&ids)?) {
                match place.filter(|_| !found.hides(player)) {
                    Some(place) => rows.push(bare(player, ties, &place)),
                    None => missing.push(player.clone()),
                }
            }
            Ok((rows, missing))
        })?;
        rows.sort_by_key(|row| row.position);
        // Someone asked for twice is there once.
        rows.dedup_by_key(|row| row.position);
        let rows = self.dress(&found, &source, rows)?;
        let players = found.figures(&source)?.players;
        Ok(Selected { standing: found.id, rows, missing, players })
    }

    pub(crate) fn entry(
        &self,
        board: &BoardId,
        which: &StandingRef,
        player: &PlayerId,
        around: Option<usize>,
    ) -> Result<PlayerEntry> {
        let (found, source) = self.locate(board, which)?;
        self.entry_of(&found, &source, player, around)?
            .ok_or_else(|| EngineError::UnknownPlayer(player.clone()))
    }

    /// A player's entry in a standing, if there is one.
    pub(crate) fn entry_of(
        &self,
        found: &Found,
        source: &Source,
        player: &PlayerId,
        around: Option<usize>,
    ) -> Result<Option<PlayerEntry>> {
        if found.hides(player) {
            return Ok(None);
        }
        let ties = found.ties(source);
        let answer = source.ask(|standing| {
            let Some(place) = standing.find(player)? else { return Ok(None) };
            let players = standing.players();
            let percentile = standing::percentile(players, place.first_of_score);
            let rows = match around {
                Some(around) => {
                    let holes = found.holes(standing)?;
                    let middle = Position(place.position.0 - holes.before(place.position.0));
                    let seen = holes.seen(&(0..players));
                    let window = standing::window(middle, around as u64, seen);
                    let window = holes.after(0, window.start)..holes.after(0, window.end);
                    bare_rows(standing, ties, window)?
                }
                None => Vec::new(),
            };
            Ok(Some((bare(player, ties, &place), percentile, place.record.updated_at, rows)))
        })?;
        let Some((row, percentile, updated_at, around)) = answer else { return Ok(None) };
        let Some(row) = self.dress(found, source, vec![row])?.pop() else { return Ok(None) };
        let around = self.dress(found, source, around)?;
        let standing = found.id.clone();
        Ok(Some(PlayerEntry { standing, row, percentile, updated_at, around }))
    }

    pub(crate) fn place_of(
        &self,
        board: &BoardId,
        which: &StandingRef,
        score: Score,
        around: usize,
    ) -> Result<ScorePlace> {
        let (found, source) = self.locate(board, which)?;
        let folded = found.definition.order().fold(score);
        let ties = found.ties(&source);
        let (rank, percentile, rows) = source.ask(|standing| {
            let first_of_score = standing.before_score(folded)?;
            // Reached only now, it would come after everyone who has it.
            let position = standing.before_score(folded + 1)?;
            let rank = standing::rank(ties, position, first_of_score);
            let percentile = standing::percentile(standing.players() + 1, first_of_score);
            let holes = found.holes(standing)?;
            let middle = Position(position.0 - holes.before(position.0));
            let seen = holes.seen(&(0..standing.players()));
            let window = standing::window_between(middle, around as u64, seen);
            let window = holes.after(0, window.start)..holes.after(0, window.end);
            Ok((rank, percentile, bare_rows(standing, ties, window)?))
        })?;
        let around = self.dress(&found, &source, rows)?;
        let rank = RankAnswer::exact(rank);
        Ok(ScorePlace { standing: found.id, rank, percentile, around })
    }

    pub(crate) fn distribution(
        &self,
        board: &BoardId,
        which: &StandingRef,
    ) -> Result<Distribution> {
        let (found, source) = self.locate(board, which)?;
        let order = found.definition.order();
        let scores =
            source.ask(|standing| distribution::distribution(&found.seen(standing)?, order))?;
        Ok(Distribution {
            standing: found.id,
            players: scores.players,
            min: scores.min,
            max: scores.max,
            mean: scores.mean,
            deciles: scores.deciles,
            histogram: scores.histogram,
            computed_at: found.now,
        })
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

pub(crate) fn unreadable(error: &io::Error) -> EngineError {
    tracing::error!(%error, "a frozen standing cannot be read");
    out_of_order("a frozen standing cannot be read")
}

/// A file could not be written, and nothing was changed.
pub(crate) fn unwritable(error: &io::Error) -> EngineError {
    tracing::error!(%error, "a frozen standing cannot be written");
    out_of_order("the disk does not take the write")
}

pub(crate) fn bare(player: &PlayerId, ties: Ties, found: &standings_core::Found) -> Bare {
    Bare {
        player: player.clone(),
        record: found.record,
        rank: standing::rank(ties, found.position, found.first_of_score),
        position: found.position,
    }
}

fn bare_rows(
    standing: &dyn Standing<Error = io::Error>,
    ties: Ties,
    positions: Range<u64>,
) -> io::Result<Vec<Bare>> {
    let mut rows =
        Vec::with_capacity(usize::try_from(positions.end - positions.start).unwrap_or(0));
    let mut position = positions.start;
    let mut invalid = Ok(());
    standing::rows(standing, ties, positions, |player, record, rank| {
        match PlayerId::new(player) {
            Ok(player) => rows.push(Bare { player, record, rank, position: Position(position) }),
            // A place that an erased player left.
            Err(_) if player.is_empty() => {}
            Err(error) => invalid = Err(super::rows::invalid(error.to_string())),
        }
        position += 1;
    })?;
    invalid.map(|()| rows)
}
