//! Opening embedded engines for tests.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use standings_core::{
    Board, BoardId, EventId, Millis, PlayerId, Score,
    rule::{Rejection, Submission},
};
use tempfile::TempDir;

use crate::{
    Engine, ManualClock, PageQuery, Receipt, Result, SeasonRef,
    conformance::{Fixture, World},
    embedded::{Embedded, Options},
};

/// A directory in memory where there is one: what these tests are about is not how fast the disk is.
pub(super) fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(super) fn board(id: &str) -> BoardId {
    BoardId::new(id).unwrap()
}

pub(super) fn player(id: &str) -> PlayerId {
    PlayerId::new(id).unwrap()
}

pub(super) fn definition(json: &str) -> Board {
    Board::from_json(json).unwrap()
}

pub(super) fn points(id: &str, points: i64) -> Submission {
    Submission {
        player: player(id),
        points: Score::new(points).unwrap(),
        event_id: None,
        at: None,
        user_name: None,
        updated_before: None,
    }
}

pub(super) fn event(id: &str, value: i64, event: &str) -> Submission {
    Submission { event_id: Some(EventId::new(event).unwrap()), ..points(id, value) }
}

/// Submits one, which must not be rejected.
pub(super) async fn submit(
    engine: &dyn Engine,
    board: &BoardId,
    submission: Submission,
) -> Result<Receipt> {
    let answer: Result<Receipt, Rejection> =
        engine.submit(board, vec![submission]).await?.remove(0);
    Ok(answer.unwrap())
}

/// The whole of a season: who, rank and score.
pub(super) async fn standing(
    engine: &dyn Engine,
    board: &BoardId,
    season: SeasonRef,
) -> Vec<(String, u64, i64)> {
    let query = PageQuery { season, limit: 1_000_000, ..PageQuery::default() };
    let rows = engine.page(board, &query).await.unwrap().rows;
    rows.iter().map(|r| (r.player.to_string(), r.rank.rank.get(), r.score.get())).collect()
}

/// An engine in a directory of its own.
pub(super) struct InDirectory {
    /// `None` only while it restarts.
    engine: Option<Arc<Embedded>>,
    clock: Arc<ManualClock>,
    pub(super) options: Options,
    _dir: TempDir,
}

impl InDirectory {
    pub(super) fn new(now: Millis, options: Options) -> Self {
        let dir = directory();
        let clock = Arc::new(ManualClock::new(now));
        let options = Options { dir: dir.path().join("data"), ..options };
        let engine = Embedded::open(options.clone(), clock.clone()).unwrap();
        Self { engine: Some(engine), clock, options, _dir: dir }
    }

    /// At the usual time, with the usual options.
    pub(super) fn usual() -> Self {
        Self::new(World::start(), Options::default())
    }

    pub(super) fn embedded(&self) -> Arc<Embedded> {
        Arc::clone(self.engine.as_ref().expect("it has been started"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.options.dir
    }

    /// Stops the engine and leaves its files alone.
    pub(super) async fn stop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.shutdown().await;
            assert_eq!(
                Arc::strong_count(&engine),
                1,
                "the lock is held while anyone has the engine"
            );
        }
    }

    pub(super) fn start(&mut self) {
        self.engine = Some(Embedded::open(self.options.clone(), self.clock.clone()).unwrap());
    }
}

#[async_trait]
impl Fixture for InDirectory {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(self.engine.as_ref().expect("it has been started")) as Arc<dyn Engine>
    }

    fn clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.clock)
    }

    async fn restart(&mut self) {
        self.stop().await;
        self.start();
    }
}
