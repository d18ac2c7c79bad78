//! Random operations, each compared with a simple model.
//!
//! What a run does is decided by its seed alone. A difference panics with the seed and the step, so that it can be run
//! again and cut short.

mod reads;
mod reference;

use standings_core::{
    BoardId, EventId, Millis, Name, PlayerId, Profile, Score, limits::EVENT_ID_WINDOW,
    rule::Submission,
};

use super::{
    World,
    world::{definition_of, id, rank},
};
use crate::{EngineError, ScoreRow, SeasonRef};
use reference::{Expected, Model, ModelBoard};

/// Steps of one run.
const STEPS: u32 = 10_000;

/// Boards that differ in everything that matters here.
const BOARDS: [&str; 6] = [
    r#"{"season":"daily","grace":"5 minutes","goal":20}"#,
    r#"{"season":"never","rule":"best","order":"asc","ties":"earliest"}"#,
    r#"{"season":"0 * * * *","rule":"latest","grace":"0 seconds","goal":-5,"order":"asc"}"#,
    r#"{"season":"weekly","rule":"best","once_per":"hour","time_zone":"Asia/Kolkata"}"#,
    r#"{"season":"daily","grace":"3 hours","ties":"earliest","min_points":-10,"max_points":40}"#,
    r#"{"season":"monthly","rule":"latest","ties":"earliest"}"#,
];

/// The longest jump of the clock, some two days, and how many instants are equally likely.
const SPANS: [i64; 8] = [1, 900, 59_000, 60_000, 240_000, 3_600_000, 40_000_000, 180_000_000];

/// On one seed.
pub async fn random_operations_agree_with_the_model(world: &mut World) {
    Run::new(world, 0x5eed_0001).run(STEPS).await;
}

/// On another.
pub async fn random_operations_agree_with_the_model_on_another_path(world: &mut World) {
    Run::new(world, 0x5eed_0002).run(STEPS).await;
}

/// One run: the engine, the model, and the source of chance.
pub(crate) struct Run<'a> {
    world: &'a mut World,
    model: Model,
    random: Random,
    events: u32,
}

impl<'a> Run<'a> {
    pub(crate) fn new(world: &'a mut World, seed: u64) -> Self {
        Self { world, model: Model::default(), random: Random(seed), events: 0 }
    }

    /// Does so many random things.
    pub(crate) async fn run(mut self, steps: u32) {
        let seed = self.random.0;
        for step in 0..steps {
            let context = Context { seed, step };
            self.step().await;
            std::mem::forget(context);
        }
        self.compare_everything().await;
        self.world.restart().await;
        self.settle().await;
        self.compare_everything().await;
    }

    async fn step(&mut self) {
        match self.random.below(1000) {
            0..450 => self.submit().await,
            450..490 => self.set_scores().await,
            490..530 => self.remove().await,
            530..580 => self.advance().await,
            580..595 => self.close().await,
            595..620 => self.put_board().await,
            620..624 => self.delete_board().await,
            624..640 => self.put_player().await,
            640..655 => self.import().await,
            655..661 => self.restart().await,
            _ => self.read().await,
        }
    }

    fn player(&mut self) -> PlayerId {
        // Some of them are the favourites, so that their entries change often.
        let spread = [8, 40, 200][self.random.index(3)];
        let number = self.random.below(spread);
        id(&format!("player-{number:03}"))
    }

    fn points(&mut self) -> Score {
        let spread = if self.random.one_in(3) { 5 } else { 60 };
        let value = i64::try_from(self.random.below(spread)).expect("it is small") - 12;
        Score::new(value).expect("it is in range")
    }

    /// One of the boards, which may not exist.
    fn board(&mut self) -> (BoardId, &'static str) {
        let index = self.random.index(BOARDS.len());
        let board = BoardId::new(&format!("board-{index}")).expect("a valid id");
        (board, BOARDS[index])
    }

    /// A time around now: mostly none, some in earlier seasons, some ahead, a few too far.
    fn time(&mut self, now: Millis) -> Option<Millis> {
        let back = SPANS[self.random.index(SPANS.len())];
        match self.random.below(8) {
            0 => Some(Millis(now.0 - back)),
            1 => Some(Millis(now.0 + [1, 30_000, 60_000, 60_001][self.random.index(4)])),
            2 => Some(now),
            _ => None,
        }
    }

    fn submission(&mut self, now: Millis) -> Submission {
        let (player, points) = (self.player(), self.points());
        let event_id = match self.random.below(4) {
            0 => {
                self.events += 1;
                Some(format!("event-{}", self.events))
            }
            // One that was used, perhaps, for something else, perhaps.
            1 => Some(format!("event-{}", self.random.below(u64::from(self.events) + 1))),
            2 => Some(format!("{player}/{points}")),
            _ => None,
        };
        Submission {
            player,
            points,
            event_id: event_id.map(|id| EventId::new(&id).expect("a valid id")),
            at: self.time(now),
            user_name: self.random.one_in(6).then(|| self.name()),
            updated_before: self.random.one_in(20).then(|| Millis(now.0 - 600_000)),
        }
    }

    fn name(&mut self) -> Name {
        let number = self.random.below(30);
        let name = if self.random.one_in(2) { "Ärger" } else { "ÄRGER" };
        Name::new(&format!("{name} {number}")).expect("a valid name")
    }

    async fn submit(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let size = [1, 1, 2, 10, 40][self.random.index(5)];
        let batch: Vec<_> = (0..size).map(|_| self.submission(now)).collect();
        let answers = self.world.engine().submit(&board, batch.clone()).await;
        let Some(model) = self.model.boards.get_mut(&board) else {
            assert!(matches!(answers, Err(EngineError::UnknownBoard(_))), "{answers:?}");
            return;
        };
        let answers = answers.unwrap();
        assert_eq!(answers.len(), batch.len());
        let mut duplicates = Vec::new();
        for (submission, answer) in batch.iter().zip(answers) {
            let expected = model.submit(submission, now, EVENT_ID_WINDOW);
            if expected.as_ref().is_ok_and(|expected| !expected.duplicate) {
                self.model.seen.insert(submission.player.clone());
                if let Some(name) = &submission.user_name {
                    self.model.names.insert(submission.player.clone(), name.clone());
                }
            }
            let answer = answer.map(|receipt| {
                assert_eq!(receipt.player, submission.player);
                let shown = rank(&receipt);
                if receipt.duplicate {
                    duplicates.push((submission.player.clone(), receipt.season.clone(), shown));
                }
                Expected {
                    season: receipt.season,
                    score: receipt.score,
                    at: receipt.at,
                    previous: receipt
                        .previous_score
                        .zip(receipt.previous_rank.map(|r| r.rank.get())),
                    changed: receipt.changed,
                    rank: shown.filter(|_| !receipt.duplicate),
                    duplicate: receipt.duplicate,
                }
            });
            assert_eq!(answer, expected, "{board} at {now}: {submission:?}");
        }
        let definition = model.definition.clone();
        for (player, season, rank) in duplicates {
            let season = model.season_named(&season).expect("it is known");
            assert_eq!(rank, season.rank(&definition, &player), "{board}: duplicate of {player}");
        }
    }

    async fn set_scores(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let rows: Vec<_> = (0..self.random.below(20)).map(|_| self.row(now)).collect();
        let answer = self.world.engine().set_scores(&board, rows.clone()).await;
        let Some(model) = self.model.boards.get_mut(&board) else {
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        if rows.iter().any(|row| row.at.is_some_and(|at| at > now.plus(Millis(60_000)))) {
            assert!(matches!(answer, Err(EngineError::BadRow { .. })), "{answer:?}");
            return;
        }
        assert_eq!(answer.unwrap(), model.seasons[model.current(now)].span.id);
        for row in rows {
            model.set(&row.player, row.score, row.at, now);
            self.model.seen.insert(row.player.clone());
            if let Some(name) = row.user_name {
                self.model.names.insert(row.player, name);
            }
        }
    }

    fn row(&mut self, now: Millis) -> ScoreRow {
        let user_name = self.random.one_in(6).then(|| self.name());
        ScoreRow { player: self.player(), score: self.points(), at: self.time(now), user_name }
    }

    /// A season of a board, by one of the ways to name it.
    fn season(&mut self, board: &BoardId) -> SeasonRef {
        let now = self.world.now();
        let begun = self.model.boards.get(board).map_or(0, |model| model.begun(now).count());
        match self.random.below(4) {
            0 | 1 => SeasonRef::Current,
            2 => SeasonRef::Previous,
            _ if begun == 0 => SeasonRef::Current,
            _ => {
                let newest = begun.min(6);
                let index = self.random.index(newest);
                let season = self.model.boards[board].begun(now).nth(index);
                SeasonRef::Id(season.expect("it was counted").span.id.clone())
            }
        }
    }

    async fn remove(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let (which, player) = (self.season(&board), self.player());
        let answer = self.world.engine().remove_entry(&board, &which, &player).await;
        let Some(model) = self.model.boards.get_mut(&board) else {
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        let Some(season) = resolve(model, &which, now) else {
            assert!(matches!(answer, Err(EngineError::UnknownSeason { .. })), "{answer:?}");
            return;
        };
        match season.entries.remove(&player) {
            Some(_) => answer.unwrap(),
            None => assert!(matches!(answer, Err(EngineError::UnknownPlayer(_))), "{answer:?}"),
        }
    }

    async fn advance(&mut self) {
        let most = SPANS[self.random.index(SPANS.len())];
        let span = 1 + self.random.below(most.unsigned_abs());
        self.world.clock().advance(Millis(span.cast_signed()));
        self.settle().await;
    }

    /// Waits until the engine has followed the clock, and lets the model follow.
    async fn settle(&mut self) {
        let now = self.world.now();
        for board in self.model.boards.values_mut() {
            board.roll(now);
        }
        // A write makes an engine look at the clock at once; by itself it would within a moment.
        if let Some(board) = self.model.boards.keys().next() {
            self.world.engine().submit(board, vec![]).await.unwrap();
        }
        self.world.settle().await;
    }

    async fn close(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let answer = self.world.engine().close_season(&board).await;
        match self.model.boards.get_mut(&board) {
            Some(model) => assert_eq!(answer.unwrap(), model.close(now)),
            None => assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}"),
        }
    }

    async fn put_board(&mut self) {
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
                model.definition = definition;
            }
            None => drop(self.model.boards.insert(board, ModelBoard::new(definition, now))),
        }
        self.settle().await;
    }

    async fn delete_board(&mut self) {
        let (board, _) = self.board();
        let answer = self.world.engine().delete_board(&board).await;
        match self.model.boards.remove(&board) {
            Some(_) => answer.unwrap(),
            None => assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}"),
        }
    }

    async fn put_player(&mut self) {
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

    async fn import(&mut self) {
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
        let season = model.season_named(&season_id).expect("it was there");
        if !closed {
            assert!(matches!(answer, Err(EngineError::SeasonOpen(_))), "{answer:?}");
        } else if players.len() < rows.len() {
            assert!(matches!(answer, Err(EngineError::BadRow { .. })), "{answer:?}");
        } else {
            assert_eq!(answer.unwrap(), rows.len() as u64);
            season.entries.clear();
            for row in rows {
                let at = row.at.unwrap_or(last);
                let entry = standings_core::rule::Entry { score: row.score, at, updated_at: at };
                season.entries.insert(row.player, entry);
            }
        }
    }

    async fn restart(&mut self) {
        // Sometimes the clock goes on while the engine is down.
        if self.random.one_in(2) {
            let span = 1 + self.random.below(100_000_000);
            self.world.clock().advance(Millis(span.cast_signed()));
        }
        self.world.restart().await;
        self.settle().await;
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

fn resolve<'a>(
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

/// Says where it was when something panics.
struct Context {
    seed: u64,
    step: u32,
}

impl Drop for Context {
    fn drop(&mut self) {
        let Self { seed, step } = self;
        eprintln!("the engine differs from the model with seed {seed:#x} at step {step}");
    }
}

/// `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("below a length")
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
