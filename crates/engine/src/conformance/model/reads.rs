//! Reads of every kind, compared with the model.

use standings_core::{Board, BoardId, PlayerId, Score};

use super::{Run, reference::ModelRow, writes::resolve};
use crate::{EngineError, Filter, NameQuery, PageQuery, Place, Row, SeasonRef, StandingRef, Start};

/// A standing as it should be.
pub(super) struct Standing {
    pub(super) board: BoardId,
    pub(super) which: StandingRef,
    pub(super) rows: Vec<ModelRow>,
    pub(super) definition: Board,
    pub(super) goal: Option<Score>,
    /// Whether ranks follow from the rows: not where someone was erased.
    pub(super) exact: bool,
    pub(super) what: String,
}

pub(super) fn shown(rows: &[Row]) -> Vec<ModelRow> {
    rows.iter().map(|row| (row.player.clone(), row.rank.get(), row.score, row.at)).collect()
}

fn passes(filter: &Filter, definition: &Board, goal: Option<Score>, score: Score) -> bool {
    let met = goal.is_some_and(|goal| !definition.order().better(goal, score));
    filter.min.is_none_or(|min| score >= min)
        && filter.max.is_none_or(|max| score <= max)
        && filter.success.is_none_or(|wanted| wanted == met)
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn percentile(players: usize, better: usize) -> f64 {
    100.0 * (players - better) as f64 / players as f64
}

impl Run<'_> {
    /// One random read.
    pub(super) async fn read(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let which = self.season(&board);
        let kind = self.random.below(16);
        match kind {
            0 => return self.read_seasons(&board).await,
            1 => return self.read_player().await,
            2 => return self.read_names().await,
            10 | 11 => return self.read_events(&board).await,
            12 | 13 => return self.read_career(&board).await,
            14 => return self.read_days(&board).await,
            _ => {}
        }
        if self.random.one_in(4) {
            return self.read_snapshot(&board, kind).await;
        }
        let Some(model) = self.model.boards.get_mut(&board) else {
            let answer = self.world.engine().distribution(&board, &which.clone().into()).await;
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        let definition = model.definition.clone();
        let Some(season) = resolve(model, &which, now) else {
            let answer = self.world.engine().distribution(&board, &which.clone().into()).await;
            assert!(matches!(answer, Err(EngineError::UnknownSeason { .. })), "{answer:?}");
            return;
        };
        let rows = season.rows(&definition);
        let goal = season.goal(&definition);
        let exact = season.ghosts.is_empty();
        let what = format!("{board} {which} at {now}");
        let standing = Standing { board, which: which.into(), rows, definition, goal, exact, what };
        self.read_standing(&standing, kind).await;
    }

    /// One random read of a standing that is known.
    pub(super) async fn read_standing(&mut self, standing: &Standing, kind: u64) {
        match kind {
            3..6 => self.read_page(standing).await,
            6 | 7 => self.read_entry(standing).await,
            8 if standing.exact => self.read_place(standing).await,
            15 => self.read_friends(standing).await,
            _ => self.read_rows_of(standing).await,
        }
    }

    async fn read_page(&mut self, standing: &Standing) {
        let Standing { board, which, rows, definition, goal, .. } = standing;
        let goal = *goal;
        let bound = |run: &mut Self| run.random.one_in(3).then(|| run.points());
        let (min, max) = (bound(self), bound(self));
        let success = self.random.one_in(4).then(|| self.random.one_in(2));
        let filter = Filter { min, max, success };
        let passing: Vec<_> =
            rows.iter().filter(|row| passes(&filter, definition, goal, row.2)).cloned().collect();
        let limit = 1 + self.random.index(30);
        let order = definition.order();
        let (start, skipped) = if self.random.one_in(2) {
            let offset = self.random.below(40);
            (Start::Offset(offset), usize::try_from(offset).expect("it is small"))
        } else {
            let (player, score) = (self.player(), self.points());
            let at =
                rows.get(self.random.index(rows.len().max(1))).map_or(self.world.now(), |r| r.3);
            let key = (order.fold(score), at, player.clone());
            let before = |row: &&ModelRow| (order.fold(row.2), row.3, row.0.clone()) <= key;
            let skipped = passing.iter().filter(before).count();
            (Start::After(Place { score, at, player }), skipped)
        };
        let query = PageQuery { standing: which.clone(), filter, start, limit };
        let page = self.world.engine().page(board, &query).await.unwrap();
        let expected: Vec<_> = passing.iter().skip(skipped).take(limit).cloned().collect();
        assert_eq!(shown(&page.rows), expected, "{board} {query:?}");
        assert_eq!(page.players, rows.len() as u64);
        assert_eq!(page.more, passing.len() > skipped + limit, "{board} {query:?}");
        for row in &page.rows {
            let met = goal.map(|goal| !order.better(goal, row.score));
            assert_eq!(row.success, met);
        }
    }

    async fn read_entry(&mut self, standing: &Standing) {
        let Standing { board, which, rows, exact, what, .. } = standing;
        let player = self.player();
        let around = self.random.one_in(2).then(|| self.random.index(8));
        let answer = self.world.engine().entry(board, which, &player, around).await;
        let Some(position) = rows.iter().position(|row| row.0 == player) else {
            assert!(matches!(answer, Err(EngineError::UnknownPlayer(_))), "{what}: {answer:?}");
            return;
        };
        let entry = answer.unwrap();
        assert_eq!(shown(&[entry.row])[0], rows[position], "{what}");
        let score = rows[position].2;
        let better = rows.iter().position(|row| row.2 == score).expect("it is there");
        let off = (entry.percentile - percentile(rows.len(), better)).abs();
        assert!(!exact || off < 1e-9, "{what}");
        let window = around.map_or(&rows[..0], |around| {
            let size = (2 * around + 1).min(rows.len());
            let start = position.saturating_sub(around).min(rows.len() - size);
            &rows[start..start + size]
        });
        assert_eq!(shown(&entry.around), window, "{what} around {player}");
    }

    async fn read_place(&mut self, standing: &Standing) {
        let Standing { board, which, rows, definition, what, .. } = standing;
        let score = self.points();
        let order = definition.order();
        let place = self.world.engine().place_of(board, which, score, 2).await.unwrap();
        let better = rows.iter().filter(|row| order.better(row.2, score)).count();
        let through = rows.iter().filter(|row| !order.better(score, row.2)).count();
        let ahead = match definition.ties() {
            standings_core::board::Ties::Share => better,
            standings_core::board::Ties::Earliest => through,
        };
        assert_eq!(place.rank.get(), ahead as u64 + 1, "{what}: {score}");
        assert!((place.percentile - percentile(rows.len() + 1, better)).abs() < 1e-9, "{what}");
        let size = rows.len().min(4);
        let start = through.saturating_sub(2).min(rows.len() - size);
        assert_eq!(shown(&place.around), rows[start..start + size], "{what}: {score}");
        let spread = self.world.engine().distribution(board, which).await.unwrap();
        let scores = || rows.iter().map(|row| row.2);
        assert_eq!((spread.min, spread.max), (scores().min(), scores().max()), "{what}");
        assert_eq!(spread.histogram.iter().map(|b| b.players).sum::<u64>(), rows.len() as u64);
        for bin in &spread.histogram {
            let inside = scores().filter(|score| (bin.from..=bin.to).contains(score)).count();
            assert_eq!(bin.players, inside as u64, "{what}: {bin:?}");
        }
        for decile in &spread.deciles {
            let last = (rows.len() * usize::from(decile.top_percent)).div_ceil(100) - 1;
            assert_eq!(decile.score, rows[last].2, "{what}: {decile:?}");
        }
    }

    async fn read_rows_of(&mut self, standing: &Standing) {
        let Standing { board, which, rows, what, .. } = standing;
        let asked: Vec<PlayerId> = (0..10).map(|_| self.player()).collect();
        let chosen = self.world.engine().rows_of(board, which, &asked).await.unwrap();
        let expected: Vec<_> = rows.iter().filter(|row| asked.contains(&row.0)).cloned().collect();
        assert_eq!(shown(&chosen.rows), expected, "{what}");
        for player in &asked {
            let there = rows.iter().any(|row| row.0 == *player);
            assert_eq!(chosen.missing.contains(player), !there, "{what}: {player}");
        }
    }

    async fn read_player(&mut self) {
        let now = self.world.now();
        let player = self.player();
        let answer = self.world.engine().player(&player, 100).await;
        let mut expected = Vec::new();
        for (board, model) in &self.model.boards {
            let season = &model.seasons[model.current(now)];
            if let Some(rank) = season.rank(&model.definition, &player) {
                let score = season.entries[&player].score;
                expected.push((board.clone(), season.span.id.clone(), score, rank));
            }
        }
        let name = self.model.names.get(&player);
        let Ok(info) = answer else {
            assert!(matches!(answer, Err(EngineError::UnknownPlayer(_))), "{answer:?}");
            assert!(expected.is_empty() && name.is_none(), "{player}: {expected:?} {name:?}");
            return;
        };
        let entries = info.entries.into_iter();
        let entries = entries.map(|e| (e.board, e.season, e.score, e.rank.get()));
        assert_eq!(entries.collect::<Vec<_>>(), expected, "{player} at {now}");
        assert_eq!(info.profile.name.as_ref(), name, "{player}");
    }

    async fn read_names(&mut self) {
        let name = self.name();
        let query = NameQuery::Is(name.to_string());
        let found = self.world.by_name(&query, 1000).await;
        let found = found.into_iter().map(|found| (found.player, found.name));
        let same = |other: &str| other.to_lowercase() == name.to_lowercase();
        let expected = self.model.names.iter().filter(|(_, name)| same(name));
        let expected: Vec<_> = expected.map(|(p, name)| (p.clone(), name.clone())).collect();
        assert_eq!(found.collect::<Vec<_>>(), expected, "{name}");
    }

    /// Every row of every season.
    pub(super) async fn compare_everything(&mut self) {
        let now = self.world.now();
        let engine = self.world.engine();
        let boards: Vec<_> = self.world.boards().await.into_iter().map(|b| b.id).collect();
        assert_eq!(boards, self.model.boards.keys().cloned().collect::<Vec<_>>());
        for (board, model) in &self.model.boards {
            for season in model.begun(now) {
                let which = SeasonRef::Id(season.span.id.clone());
                let query =
                    PageQuery { standing: which.into(), limit: 1000, ..PageQuery::default() };
                let page = engine.page(board, &query).await.unwrap();
                let what = format!("{board} {} at {now}", season.span.id);
                assert_eq!(shown(&page.rows), season.rows(&model.definition), "{what}");
            }
        }
        self.compare_the_past().await;
    }
}
