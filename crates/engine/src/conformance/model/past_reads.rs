//! Reads of friends, history, seasons and snapshots, compared with the model.

use standings_core::{BoardId, Millis, PlayerId, board::Ties};

use super::{
    Run,
    reads::{Standing, shown},
};
use crate::{
    EngineError, EventsQuery, FriendRow, PlayerSeasonsQuery, PlayerSnapshotsQuery, SeasonState,
    SeasonsQuery,
};

impl Run<'_> {
    /// One board or all, whether it exists or not.
    fn board_or_all(&mut self, board: &BoardId) -> Option<BoardId> {
        (!self.random.one_in(2)).then(|| board.clone())
    }

    pub(super) async fn read_friends(&mut self, standing: &Standing) {
        let Standing { board, which, rows, definition, what, .. } = standing;
        let player = self.player();
        let list = self.model.friends.get(&player).cloned().unwrap_or_default();
        let engine = self.world.engine();
        assert_eq!(engine.friends(&player).await.unwrap(), list, "{player}");
        let answer = engine.among_friends(board, which, &player).await.unwrap();
        let among: Vec<_> =
            rows.iter().filter(|row| row.0 == player || list.contains(&row.0)).cloned().collect();
        let ranks: Vec<_> = (0..among.len())
            .map(|index| match definition.ties() {
                Ties::Earliest => index + 1,
                Ties::Share => among.iter().take_while(|row| row.2 != among[index].2).count() + 1,
            })
            .map(|rank| rank as u64)
            .collect();
        let got: Vec<_> = answer.rows.iter().map(|friend: &FriendRow| friend.rank.get()).collect();
        let friends: Vec<_> = answer.rows.into_iter().map(|friend| friend.row).collect();
        assert_eq!((shown(&friends), got), (among, ranks), "{what}: friends of {player}");
        let mine = rows.iter().find(|row| row.0 == player).cloned();
        let entry = answer.entry.map(|entry| shown(&[entry.row]).remove(0));
        assert_eq!(entry, mine, "{what}: {player}");
    }

    pub(super) async fn read_events(&mut self, board: &BoardId) {
        let player = self.player();
        let board = self.board_or_all(board);
        let limit = 1 + self.random.index(12);
        self.compare_events(&player, board, limit, 3).await;
    }

    /// Some pages of a player's history.
    pub(super) async fn compare_events(
        &mut self,
        player: &PlayerId,
        board: Option<BoardId>,
        limit: usize,
        pages: usize,
    ) {
        let events = self.model.events.get(player).map_or(&[][..], Vec::as_slice).iter().rev();
        let on = |on: &BoardId| board.as_ref().is_none_or(|board| board == on);
        let expected: Vec<_> = events.filter(|event| on(&event.board)).cloned().collect();
        let mut query = EventsQuery { board: board.clone(), before: None, limit };
        let mut seen = 0;
        for _ in 0..pages {
            let answer = self.world.engine().player_events(player, &query).await;
            if board.as_ref().is_some_and(|board| !self.model.boards.contains_key(board)) {
                assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
                return;
            }
            let page = answer.unwrap();
            let end = expected.len().min(seen + limit);
            assert_eq!(page.events, expected[seen..end], "{player} on {board:?}");
            seen = end;
            assert_eq!(page.next.is_some(), seen < expected.len(), "{player} on {board:?}");
            if page.next.is_none() {
                break;
            }
            query.before = page.next;
        }
    }

    pub(super) async fn read_career(&mut self, board: &BoardId) {
        let (now, player) = (self.world.now(), self.player());
        let limit = 1 + self.random.index(8);
        let (from, to) = if self.random.one_in(2) {
            (Millis::MIN, Millis::MAX)
        } else {
            let back = |run: &mut Self| Millis(now.0 - run.random.below(400_000_000).cast_signed());
            (back(self), back(self))
        };
        let index = self.random.index(10);
        let before = self
            .model
            .boards
            .get(board)
            .and_then(|model| model.begun(now).nth(index).map(|season| season.span.id.clone()));
        let before = before.filter(|_| self.random.one_in(3));
        let query = PlayerSeasonsQuery { from, to, before, limit };
        let answer = self.world.engine().player_seasons(&player, board, &query).await;
        let Some(model) = self.model.boards.get(board) else {
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        let career = answer.unwrap();
        let what = format!("{player} on {board} at {now}: {query:?}");
        let mut older = query.before.is_none();
        let mut expected = Vec::new();
        for season in model.begun(now) {
            let inside = season.span.ends_at > from && season.span.starts_at < to;
            if let Some(entry) = season.entries.get(&player).filter(|_| older && inside) {
                let rank = season.rank(&model.definition, &player).expect("it is there");
                let goal = season.goal(&model.definition);
                let met = goal.map(|goal| !model.order().better(goal, entry.score));
                let reached = (entry.score, entry.at, rank, met);
                expected.push((season.span.clone(), season.state(now), reached));
            }
            older |= query.before.as_ref() == Some(&season.span.id);
        }
        assert_eq!(career.more, expected.len() > limit, "{what}");
        expected.truncate(limit);
        let seasons = career.seasons.into_iter();
        let seasons = seasons.map(|s| (s.span, s.state, (s.score, s.at, s.rank.get(), s.success)));
        assert_eq!(seasons.collect::<Vec<_>>(), expected, "{what}");
        assert_eq!(career.best, model.best(&player, now), "{what}");
        let has_goal = model.definition.goal().is_some()
            || model.begun(now).any(|season| season.goal(&model.definition).is_some());
        if has_goal {
            assert_eq!(career.streak, Some(model.streak(&player, now)), "{what}");
        } else if !model.had_goal {
            assert_eq!(career.streak, None, "{what}");
        }
    }

    pub(super) async fn read_days(&mut self, board: &BoardId) {
        let player = self.player();
        let board = self.board_or_all(board);
        let date = |run: &mut Self| {
            let back = run.random.below(3_000_000_000).cast_signed();
            let then = Millis(run.world.now().0 - back);
            let bound = run.model.boards.values().next()?.definition.local_date(then);
            run.random.one_in(3).then_some(bound)
        };
        let (from, to) = (date(self), date(self));
        let limit = 1 + self.random.index(6);
        let mut expected = Vec::new();
        for (id, model) in self
            .model
            .boards
            .iter()
            .filter(|(id, _)| board.as_ref().is_none_or(|board| board == *id))
        {
            for (date, snapshot) in &model.snapshots {
                let inside =
                    from.is_none_or(|from| *date >= from) && to.is_none_or(|to| *date <= to);
                if let Some(row) = snapshot.rows.iter().find(|row| row.0 == player && inside) {
                    let name = snapshot.names.get(&player).cloned();
                    let official = snapshot.official_rank(row.1);
                    expected.push((*date, id.clone(), name, row.2, row.1, official));
                }
            }
        }
        expected.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut query =
            PlayerSnapshotsQuery { board: board.clone(), from, to, before: None, limit };
        let mut seen = 0;
        for _ in 0..3 {
            let answer = self.world.engine().player_snapshots(&player, &query).await;
            if board.as_ref().is_some_and(|board| !self.model.boards.contains_key(board)) {
                assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
                return;
            }
            let page = answer.unwrap();
            let end = expected.len().min(seen + limit);
            let days = page.snapshots.into_iter();
            let days =
                days.map(|d| (d.date, d.board, d.name, d.score, d.rank.get(), d.official_rank));
            assert_eq!(days.collect::<Vec<_>>(), expected[seen..end], "{player}: {query:?}");
            seen = end;
            assert_eq!(page.next.is_some(), seen < expected.len(), "{player}: {query:?}");
            if page.next.is_none() {
                break;
            }
            query.before = page.next;
        }
    }

    pub(super) async fn read_seasons(&mut self, board: &BoardId) {
        let now = self.world.now();
        let year = self.random.one_in(2).then_some(2026);
        let query = SeasonsQuery { year, before: None, limit: 1 + self.random.index(20) };
        let answer = self.world.engine().seasons(board, &query).await;
        let Some(model) = self.model.boards.get(board) else {
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        let page = answer.unwrap();
        let asked = || model.begun(now).filter(|s| year.is_none() || s.span.id.year() == year);
        let expected: Vec<_> = asked()
            .take(query.limit)
            .map(|s| (s.span.clone(), s.state(now), s.entries.len() as u64, model.successes(s)))
            .collect();
        let shown: Vec<_> = page
            .seasons
            .iter()
            .map(|s| (s.span.clone(), s.state, s.players, s.successes))
            .collect();
        assert_eq!(shown, expected, "{board} at {now}");
        assert_eq!(page.more, asked().count() > query.limit);
        for (season, expected) in page.seasons.iter().zip(asked()) {
            // Those of a season that is still being written are not there yet.
            let Some(streaks) = &season.streaks else { continue };
            let what = format!("{board} {} at {now}", season.span.id);
            assert_eq!(season.state, SeasonState::Closed, "{what}");
            let players = streaks.iter().map(|count| count.players).sum();
            assert_eq!(season.successes, Some(players), "{what}");
            if expected.streaks_are_final {
                assert_eq!(*streaks, expected.streak_counts(), "{what}");
            }
        }
        let rates: Vec<_> = asked()
            .filter(|season| season.state(now) != SeasonState::Open && !season.entries.is_empty())
            .filter_map(|season| Some(share(model.successes(season)?, season.entries.len())))
            .collect();
        let mean = rates.iter().sum::<f64>() / share(rates.len() as u64, 1);
        let found = page.mean_success_rate;
        assert_eq!(found.is_some(), year.is_some() && !rates.is_empty(), "{board} at {now}");
        assert!(found.is_none_or(|found| (found - mean).abs() < 1e-9), "{board}: {found:?} {mean}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn share(part: u64, whole: usize) -> f64 {
    part as f64 / whole as f64
}
