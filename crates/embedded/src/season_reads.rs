//! Reading the seasons of a board and what they amount to.

use std::sync::Arc;

use standings_core::{BoardId, PlayerId, standing};

use super::{
    Shared,
    catalog::{Rows, Season},
    found::{Figures, Found, Source},
    freeze::Before,
    player_reads::count_streaks,
    reads::unreadable,
    record::BoardNo,
};
use standings_engine::{EngineError, Result, SeasonInfo, SeasonsPage, SeasonsQuery};

impl Shared {
    pub(crate) fn seasons(&self, board: &BoardId, query: &SeasonsQuery) -> Result<SeasonsPage> {
        let now = self.clock.now();
        let (no, mut seasons, over) = {
            let catalog = self.catalog.read();
            let state =
                catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
            let older = state.older_than(query.before.as_ref())?;
            let asked =
                |season: &&Season| query.year.is_none() || season.span.id.year() == query.year;
            let found = |s: &Season| (s.clone(), state.found_season(&catalog, s, now));
            let over = state.begun(now).filter(asked).filter(|s| s.span.ends_at <= now);
            let over: Vec<_> = over.map(found).collect();
            let wanted = state.begun_of(&state.seasons[..older], now);
            let wanted = wanted.filter(asked).take(query.limit + 1);
            (state.no, wanted.map(found).collect::<Vec<_>>(), over)
        };
        let more = seasons.len() > query.limit;
        seasons.truncate(query.limit);
        let mut rates = Vec::new();
        for (season, found) in &over {
            let (figures, successes) = self.season_figures(no, season, found)?;
            if let Some(successes) = successes.filter(|_| figures.players > 0) {
                #[expect(clippy::cast_precision_loss, reason = "a rate is not exact")]
                rates.push(successes as f64 / figures.players as f64);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a mean is not exact")]
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let mean_success_rate = (!rates.is_empty()).then_some(mean);
        let seasons = seasons
            .into_iter()
            .map(|(season, found)| self.season_info(no, season, &found))
            .collect::<Result<_>>()?;
        Ok(SeasonsPage { seasons, more, mean_success_rate })
    }

    /// What a season amounts to, and how many met its goal.
    fn season_figures(
        &self,
        board: BoardNo,
        season: &Season,
        found: &Found,
    ) -> Result<(Figures, Option<u64>)> {
        let settled = season.is_settled();
        // Where no one is hidden, the catalog knows all about a file that is settled.
        let source = match &season.rows {
            Rows::Frozen(_) if settled && found.hidden.is_none() => Source::Live(Arc::default()),
            Rows::Frozen(file) => {
                Source::Frozen(self.frozen.get(file).map_err(|error| unreadable(&error))?)
            }
            Rows::Live(live) => Source::Live(Arc::clone(live)),
        };
        let mut figures = found.figures(&source)?;
        let goal = found.goal.map(|goal| found.definition.order().fold(goal));
        if let Some(goal) = goal.filter(|_| !settled) {
            figures.streaks = self.live_streaks.get(board, season, || {
                let before = Before::of(self, board, season.no);
                let before = before.map_err(|error| unreadable(&error))?;
                count_streaks(&source, goal, &before, |player| found.hides(player))
            })?;
        }
        if let (Rows::Live(live), Some(goal)) = (&season.rows, goal) {
            // Of the others the count may be a few moments old.
            let successes = source.ask(|standing| standing.before_score(goal + 1))?.0;
            let hidden = found.hidden.iter().flat_map(|hidden| hidden.iter());
            let met = |player: &&PlayerId| {
                live.read().index().get(player).is_some_and(|r| r.key.folded <= goal)
            };
            return Ok((figures, Some(successes - hidden.filter(met).count() as u64)));
        }
        // Who met the goal has a streak.
        let successes = figures.streaks.iter().map(|count| count.players).sum();
        Ok((figures, found.goal.map(|_| successes)))
    }

    fn season_info(&self, board: BoardNo, season: Season, found: &Found) -> Result<SeasonInfo> {
        let (figures, successes) = self.season_figures(board, &season, found)?;
        let Figures { players, total, streaks } = figures;
        Ok(SeasonInfo {
            state: season.state(found.now),
            players,
            mean: standing::mean(players, total, found.definition.order()),
            successes,
            streaks: found.goal.map(|_| streaks),
            span: season.span,
        })
    }
}
