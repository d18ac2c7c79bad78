//! Random operations on boards, seasons and scores.

use standings_core::{Millis, Profile, limits::EVENT_ID_WINDOW};

use super::{
    Run, SPANS,
    reference::{self, Expected, ModelBoard},
};
use crate::{
    EngineError, PlayerEvent, ReceiptRanks, SeasonRef,
    conformance::world::{decided, definition_of, previous_rank, rank},
};

impl Run<'_> {
    pub(super) async fn submit(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        // The last one is more than is looked up at once.
        let size = [1, 1, 2, 10, 40, 1, 2, 10, 40, 150][self.random.index(10)];
        let batch: Vec<_> = (0..size).map(|_| self.submission(now)).collect();
        let answers = self.world.engine().submit(&board, batch.clone()).await;
        let Some(model) = self.model.boards.get_mut(&board) else {
            assert!(matches!(answers, Err(EngineError::UnknownBoard(_))), "{answers:?}");
            return;
        };
        let answers = answers.unwrap();
        assert_eq!(answers.len(), batch.len());
        let mut duplicates = Vec::new();
        let of_line = self.world.capabilities().receipts == ReceiptRanks::OfLine;
        let ranked = of_line || batch.len() == 1;
        for (submission, answer) in batch.iter().zip(answers) {
            let mut expected = model.submit(submission, now, EVENT_ID_WINDOW);
            if let Ok(Expected { duplicate: false, season, score, .. }) = &expected {
                self.model.seen.insert(submission.player.clone());
                let events = self.model.events.entry(submission.player.clone()).or_default();
                events.push(PlayerEvent {
                    board: board.clone(),
                    season: season.clone(),
                    points: submission.points,
                    score: *score,
                    at: submission.at.unwrap_or(now),
                    event_id: submission.event_id.clone(),
                });
                if let Some(name) = &submission.user_name {
                    self.model.names.insert(submission.player.clone(), name.clone());
                }
            }
            let answer = decided(answer).map(|receipt| {
                assert_eq!(receipt.player, submission.player);
                let (before, shown) = (previous_rank(&receipt), rank(&receipt));
                if receipt.duplicate {
                    duplicates.push((submission.player.clone(), receipt.season.clone(), shown));
                }
                Expected {
                    season: receipt.season,
                    score: receipt.score,
                    at: receipt.at,
                    previous: receipt.previous_score.zip(before),
                    changed: receipt.changed,
                    rank: shown.filter(|_| !receipt.duplicate),
                    duplicate: receipt.duplicate,
                }
            });
            let answer = match (answer, &mut expected) {
                (Ok(answer), Ok(expected)) if !ranked => {
                    // The ranks are of another moment.
                    expected.rank = answer.rank;
                    expected.previous =
                        answer.previous.zip(expected.previous).map(|(a, e)| (e.0, a.1));
                    Ok(answer)
                }
                (answer, _) => answer,
            };
            assert_eq!(answer, expected, "{board} at {now}: {submission:?}");
        }
        let definition = model.definition.clone();
        for (player, season, rank) in duplicates {
            let season = model.season_named(&season).expect("it is known");
            assert_eq!(rank, season.rank(&definition, &player), "{board}: duplicate of {player}");
        }
    }

    pub(super) async fn set_scores(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let rows: Vec<_> = (0..self.random.below(20)).map(|_| self.row(now)).collect();
        let answer = self.world.engine().set_scores(&board, None, rows.clone()).await;
        let Some(model) = self.model.boards.get_mut(&board) else {
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        if rows.iter().any(|row| row.at.is_some_and(|at| at > now.plus(Millis(60_000)))) {
            assert!(matches!(answer, Err(EngineError::BadRow { .. })), "{answer:?}");
            return;
        }
        assert_eq!(answer.unwrap().season, model.seasons[model.current(now)].span.id);
        for row in rows {
            model.set(&row.player, row.score, row.at, now);
            self.model.seen.insert(row.player.clone());
            if let Some(name) = row.user_name {
                self.model.names.insert(row.player, name);
            }
        }
    }

    pub(super) async fn remove(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let (which, player) = (self.season(&board), self.player());
        let model = self.model.boards.get_mut(&board);
        let season = model.and_then(|model| resolve(model, &which, now));
        if season.is_some_and(|season| !season.ghosts.is_empty()) {
            // Whether ranks close up over those who were erased is not said.
            return;
        }
        let answer = self.world.engine().remove_entry(&board, &which, &player).await;
        let Some(model) = self.model.boards.get_mut(&board) else {
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        let Some(season) = resolve(model, &which, now) else {
            assert!(matches!(answer, Err(EngineError::UnknownSeason { .. })), "{answer:?}");
            return;
        };
        season.streaks.remove(&player);
        match season.entries.remove(&player) {
            Some(_) => answer.unwrap(),
            None => assert!(matches!(answer, Err(EngineError::UnknownPlayer(_))), "{answer:?}"),
        }
    }

    pub(super) async fn advance(&mut self) {
        let most = SPANS[self.random.index(SPANS.len())];
        let span = 1 + self.random.below(most.unsigned_abs());
        self.world.clock().advance(Millis(span.cast_signed()));
        self.follow().await;
    }

    /// Lets engine and model follow the clock.
    pub(super) async fn follow(&mut self) {
        let now = self.world.now();
        for model in self.model.boards.values_mut() {
            model.roll(now);
            model.take_due(now, &self.model.names);
        }
        self.world.quiesce().await;
    }

    pub(super) async fn close(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let answer = self.world.engine().close_season(&board, None).await;
        match self.model.boards.get_mut(&board) {
            Some(model) => assert_eq!(answer.unwrap(), model.close(now)),
            None => assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}"),
        }
    }

    pub(super) async fn put_board(&mut self) {
        let now = self.world.now();
        let (board, json) = self.board();
        // What may change does: the goal.
        let goal = self.random.below(30);
        let other = without_goal(json, goal);
        let definition = definition_of(if self.random.one_in(2) { json } else { &other });
        self.world.engine().put_board(&board, definition.clone()).await.unwrap();
        match self.model.boards.get_mut(&board) {
            Some(model) => {
                assert!(model.definition.change(&definition, model.has_scores()).is_ok());
                model.had_goal |= definition.goal().is_some();
                model.definition = definition;
            }
            None => drop(self.model.boards.insert(board, ModelBoard::new(definition, now))),
        }
        self.follow().await;
    }

    pub(super) async fn delete_board(&mut self) {
        let (board, _) = self.board();
        let answer = self.world.engine().delete_board(&board).await;
        match self.model.boards.remove(&board) {
            Some(_) => answer.unwrap(),
            None => assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}"),
        }
        for events in self.model.events.values_mut() {
            events.retain(|event| event.board != board);
        }
    }

    pub(super) async fn put_player(&mut self) {
        let player = self.player();
        let name = self.random.one_in(4).then(|| self.name());
        let profile = Profile { name: name.clone(), ..Profile::default() };
        self.world.engine().put_player(&player, profile).await.unwrap();
        self.model.seen.insert(player.clone());
        match name {
            Some(name) => drop(self.model.names.insert(player, name)),
            None => drop(self.model.names.remove(&player)),
        }
    }

    pub(super) async fn import(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let Some(model) = self.model.boards.get(&board) else { return };
        let index = self.random.index(model.begun(now).count().min(4));
        let season = model.begun(now).nth(index).expect("it was counted");
        let (season_id, closed) = (season.span.id.clone(), season.closed);
        let last = Millis(season.span.ends_at.0 - 1);
        let count = self.random.below(15);
        let mut rows: Vec<_> = (0..count).map(|_| self.row(last)).collect();
        for row in &mut rows {
            row.at = row.at.map(|at| at.min(last));
        }
        let answer = self.world.import(&board, season_id.as_str(), rows.clone()).await;
        let mut players: Vec<_> = rows.iter().map(|row| row.player.clone()).collect();
        players.sort();
        players.dedup();
        let model = self.model.boards.get_mut(&board).expect("it was there");
        let index = model.seasons.iter().position(|season| season.span.id == season_id);
        let index = index.expect("it was there");
        let season = &mut model.seasons[index];
        if !closed {
            assert!(matches!(answer, Err(EngineError::SeasonOpen(_))), "{answer:?}");
        } else if players.len() < rows.len() {
            assert!(matches!(answer, Err(EngineError::BadRow { .. })), "{answer:?}");
        } else {
            assert_eq!(answer.unwrap(), rows.len() as u64);
            season.entries.clear();
            season.ghosts.clear();
            if !season.kept {
                // It closes with what the board says now.
                (season.kept, season.goal) = (true, model.definition.goal());
            }
            for row in rows {
                let at = row.at.unwrap_or(last);
                let entry = standings_core::rule::Entry { score: row.score, at, updated_at: at };
                season.entries.insert(row.player, entry);
            }
            model.count_streaks(index);
        }
    }

    pub(super) async fn restart(&mut self) {
        // Sometimes the clock goes on while the engine is down.
        if self.random.one_in(2) {
            let span = 1 + self.random.below(100_000_000);
            self.world.clock().advance(Millis(span.cast_signed()));
        }
        self.world.restart().await;
        self.follow().await;
    }
}

fn without_goal(json: &str, goal: u64) -> String {
    let start = json.trim_end_matches('}');
    match start.split_once(r#","goal":"#) {
        Some((before, after)) => {
            let after = after.split_once(',').map_or(String::new(), |(_, rest)| format!(",{rest}"));
            format!("{before}{after}}}")
        }
        None => format!(r#"{start},"goal":{goal}}}"#),
    }
}

pub(super) fn resolve<'a>(
    model: &'a mut ModelBoard,
    which: &SeasonRef,
    now: Millis,
) -> Option<&'a mut reference::ModelSeason> {
    let current = model.current(now);
    match which {
        SeasonRef::Current => model.seasons.get_mut(current),
        SeasonRef::Previous => model.seasons.get_mut(current.checked_sub(1)?),
        SeasonRef::Id(id) => model.season_named(id),
    }
}
