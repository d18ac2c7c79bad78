//! Random operations, each compared with a simple model.
//!
//! What a run does is decided by its seed alone. A difference panics with the seed and the step, so that it can be run
//! again and cut short.

mod frozen;
mod past;
mod past_reads;
mod random;
mod reads;
mod reference;
mod writes;

use standings_core::{BoardId, EventId, Millis, Name, PlayerId, Score, rule::Submission};

use super::{World, world::id};
use crate::{EventIds, ScoreRow, SeasonRef};
pub use random::Random;
use reference::Model;

/// Steps of one run.
const STEPS: u32 = 10_000;

/// Boards that differ in everything that matters here.
const BOARDS: [&str; 6] = [
    r#"{"snapshots":{"at":"12:00","official":3,"keep":"forever"},"season":"daily","grace":"5 minutes","goal":20}"#,
    r#"{"season":"never","rule":"best","order":"asc","ties":"earliest"}"#,
    r#"{"season":"0 * * * *","rule":"latest","grace":"0 seconds","goal":-5,"order":"asc"}"#,
    r#"{"snapshots":{"keep":"forever"},"season":"weekly","rule":"best","once_per":"hour","time_zone":"Asia/Kolkata"}"#,
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
        self.follow().await;
        self.compare_everything().await;
        println!("\ntried: {steps} random operations against the model, no difference");
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
            661..673 => self.put_friends().await,
            673..681 => self.take_snapshot().await,
            681..686 => self.erase().await,
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
        let of_player = self.world.capabilities().event_ids == EventIds::OfPlayer;
        let event_id = event_id.map(|id| if of_player { format!("{player}/{id}") } else { id });
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

    fn row(&mut self, now: Millis) -> ScoreRow {
        let user_name = self.random.one_in(6).then(|| self.name());
        ScoreRow {
            player: self.player(),
            score: self.points(),
            at: self.time(now),
            user_name,
            official_rank: None,
        }
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
