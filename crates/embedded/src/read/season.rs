//! Reading the seasons of a board and what they amount to.

use std::io;

use standings_core::{BoardId, Millis, standing};

use crate::{
    Shared,
    read::{
        board::look,
        find::{Figures, Found},
    },
    state::catalog::{Rows, Season},
};
use standings_engine::{EngineError, Exactness, Result, SeasonInfo, SeasonsPage, SeasonsQuery};

impl Shared {
    pub(crate) fn seasons(&self, board: &BoardId, query: &SeasonsQuery) -> Result<SeasonsPage> {
        look(|| self.look_at_seasons(board, query))
    }

    fn look_at_seasons(
        &self,
        board: &BoardId,
        query: &SeasonsQuery,
    ) -> Result<io::Result<SeasonsPage>> {
        let now = self.clock.now();
        let (seasons, newer): (Vec<_>, usize) = {
            let catalog = self.catalog.read();
            let state =
                catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
            let found = |season: Season| {
                let found = state.found_season(&catalog, &season, now);
                (season, found)
            };
            let listed = state.begun(query.before.as_ref(), now)?;
            if query.year.is_none() {
                (listed.take(query.limit.saturating_add(1)).map(found).collect(), 0)
            } else {
                // A year has a rate, which all of its seasons are needed for.
                let year = |season: &Season| season.span.id.year();
                let first = { listed }.find(|season| year(season) <= query.year);
                let all = state.begun(None, now)?;
                let all = all.skip_while(|season| year(season) > query.year);
                let all: Vec<Season> = all.take_while(|s| year(s) == query.year).collect();
                let first = first.map(|season| season.span.id);
                let newer = all.iter().position(|s| Some(&s.span.id) == first.as_ref());
                let newer = newer.unwrap_or(all.len());
                (all.into_iter().map(found).collect(), newer)
            }
        };
        let mut listed = Vec::with_capacity(seasons.len());
        for (season, found) in seasons {
            match self.season_info(season, found)? {
                Ok(season) => listed.push(season),
                Err(error) => return Ok(Err(error)),
            }
        }
        let mean_success_rate = query.year.and_then(|_| mean_success_rate(&listed, now));
        listed.drain(..newer);
        let more = listed.len() > query.limit;
        listed.truncate(query.limit);
        Ok(Ok(SeasonsPage {
            seasons: listed,
            more,
            mean_success_rate,
            exactness: Exactness::Exact,
        }))
    }

    fn season_info(&self, season: Season, found: Found) -> Result<io::Result<SeasonInfo>> {
        let (goal, order, now) = (found.goal, found.definition.order(), found.now);
        let figures = match &season.rows {
            // Where no one is hidden, the catalog knows all about a file.
            Rows::Frozen(file) if found.hidden.is_none() => Figures::of(file),
            _ => match self.open(found) {
                Ok(standing) => standing.figures()?,
                Err(error) => return Ok(Err(error)),
            },
        };
        Ok(Ok(SeasonInfo {
            state: season.state(now),
            is_final: season.closed.is_some(),
            span: season.span,
            players: figures.players,
            mean: standing::mean(figures.players, figures.total, order),
            successes: goal.map(|_| figures.successes),
            streaks: figures.streaks.filter(|_| goal.is_some()),
        }))
    }
}

/// The mean of the success rates of seasons that are over, had a goal and any players.
#[expect(clippy::cast_precision_loss, reason = "a rate is not exact")]
fn mean_success_rate(seasons: &[SeasonInfo], now: Millis) -> Option<f64> {
    let over = seasons.iter().filter(|season| season.span.ends_at <= now && season.players > 0);
    let rates = over.filter_map(|season| Some(season.successes? as f64 / season.players as f64));
    let (sum, count) = rates.fold((0.0, 0), |(sum, count), rate| (sum + rate, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
