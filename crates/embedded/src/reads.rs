//! Reading boards: find the standing, take the rows, add names.

use std::{collections::BTreeSet, io, sync::Arc};

use standings_core::{
    BoardId, PlayerId, Profile, Score, SortKey,
    standing::{self, Ranked, now},
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

impl Shared {
    pub(crate) fn find(&self, board: &BoardId, which: &StandingRef) -> Result<Found> {
        let now = self.clock.now();
        let catalog = self.catalog.read();
        let state = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        state.find(&catalog, which, now)
    }

    /// Finds a standing and its rows.
    pub(crate) fn locate(&self, board: &BoardId, which: &StandingRef) -> Result<(Found, Source)> {
        look(|| {
            let found = self.find(board, which)?;
            Ok(self.source(&found.rows).map(|source| (found, source)))
        })
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
        rows: Vec<Ranked>,
    ) -> Result<Vec<Row>> {
        let order = found.definition.order();
        let seen = rows.into_iter().filter(|row| !found.hides(&row.player));
        seen.map(|row| {
            let mut profile = self.read_history(|history| history.profile(&row.player))?;
            let mut official_rank = None;
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
        let start = match &query.start {
            Start::Offset(offset) => standing::Start::Offset(*offset),
            Start::After(Place { score, at, player }) => {
                standing::Start::After(SortKey::new(definition.order(), *score, *at), player)
            }
        };
        // Where no score can pass, neither does one of an empty range.
        let passing = query.filter.folded(definition, *goal).unwrap_or((0, -1));
        let page = source.rank(&found, |ranks, gaps| {
            now(standing::page(ranks, gaps, passing, start, query.limit))
        })?;
        let rows = self.dress(&found, &source, page.rows)?;
        Ok(Page { standing: found.id, rows, players: page.players, more: page.more })
    }

    pub(crate) fn rows_of(
        &self,
        board: &BoardId,
        which: &StandingRef,
        wanted: &[PlayerId],
    ) -> Result<Selected> {
        let (found, source) = self.locate(board, which)?;
        let wanted: Vec<&PlayerId> = wanted.iter().collect();
        let selected =
            source.rank(&found, |ranks, gaps| now(standing::selected(ranks, gaps, &wanted)))?;
        let rows = self.dress(&found, &source, selected.rows)?;
        let missing = selected.missing.into_iter().map(|number| wanted[number].clone()).collect();
        Ok(Selected { standing: found.id, rows, missing, players: selected.players })
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
        let entry =
            source.rank(found, |ranks, gaps| now(standing::entry(ranks, gaps, player, around)))?;
        let Some(standing::Entry { row, percentile, around }) = entry else { return Ok(None) };
        let updated_at = row.record.updated_at;
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
        let standing::Place { rank, percentile, around } =
            source.rank(&found, |ranks, gaps| now(standing::place(ranks, gaps, folded, around)))?;
        let around = self.dress(&found, &source, around)?;
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
            source.rank(&found, |ranks, gaps| now(standing::distribution(ranks, gaps, order)))?;
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

/// Reads files that the catalog names. One may be replaced between the look at the catalog and its opening; the next look finds
/// the new one.
pub(crate) fn look<T>(read: impl Fn() -> Result<io::Result<T>>) -> Result<T> {
    for _ in 0..LOOKS {
        match read()? {
            Ok(answer) => return Ok(answer),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&error)),
        }
    }
    Err(unreadable(&io::ErrorKind::NotFound.into()))
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
