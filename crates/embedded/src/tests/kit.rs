//! Opening embedded engines for tests.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use standings_core::{Board, BoardId, EventId, Millis, PlayerId, Score, rule::Submission};
use tempfile::TempDir;

use crate::{
    Embedded, Options,
    files::disk::{Disk, DiskFile, FileEntry},
};
use standings_engine::{
    Engine, ManualClock, PageQuery, Receipt, Result, StandingRef,
    conformance::{Fixture, World, decided},
};

/// A directory in memory where there is one: what these tests are about is not how fast the disk is.
pub(super) fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// How often something is tried: what a variable of the environment says, else the short form.
pub(super) fn times(variable: &str, short: usize) -> usize {
    std::env::var(variable).map_or(short, |times| times.parse().unwrap())
}

/// Says what was tried, for the summary of `make test-faults`.
pub(super) fn tried(what: &str) {
    println!("\ntried: {what}");
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
    let answer = engine.submit(board, vec![submission]).await?.remove(0);
    Ok(decided(answer).unwrap())
}

/// The whole of a season: who, rank and score.
pub(super) async fn standing(
    engine: &dyn Engine,
    board: &BoardId,
    season: StandingRef,
) -> Vec<(String, u64, i64)> {
    let query = PageQuery { standing: season, limit: 1_000_000, ..PageQuery::default() };
    let rows = engine.page(board, &query).await.unwrap().rows;
    rows.iter().map(|r| (r.player.to_string(), r.rank.get(), r.score.get())).collect()
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

    pub(super) fn engine(&self) -> Arc<dyn Engine> {
        self.embedded()
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
    fn server(&self, _: usize) -> Arc<dyn Engine> {
        self.engine()
    }

    fn clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.clock)
    }

    async fn restart(&mut self) {
        self.stop().await;
        self.start();
    }
}

/// A disk with no room for frozen standings while it is told so, and room for everything else.
#[derive(Clone)]
pub(super) struct NoRoom<D> {
    pub(super) disk: D,
    /// For how many of them there is still room.
    room: Arc<AtomicU64>,
    /// How often there was no room.
    refused: Arc<AtomicU64>,
}

impl<D> NoRoom<D> {
    pub(super) fn new(disk: D) -> Self {
        Self { disk, room: Arc::new(AtomicU64::new(u64::MAX)), refused: Arc::default() }
    }

    /// Leaves room for so many.
    pub(super) fn leave(&self, files: u64) {
        self.room.store(files, Ordering::SeqCst);
    }

    pub(super) fn fill(&self) {
        self.leave(0);
    }

    pub(super) fn free(&self) {
        self.leave(u64::MAX);
    }

    /// Waits until there was no room once more.
    pub(super) async fn refusal(&self) {
        let before = self.refused.load(Ordering::SeqCst);
        while self.refused.load(Ordering::SeqCst) == before {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

impl<D: Disk> Disk for NoRoom<D> {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<FileEntry>> {
        self.disk.list(dir)
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.disk.read(path)
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        if path.starts_with("frozen/") {
            let take = |room: u64| room.checked_sub(1);
            if self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err() {
                self.refused.fetch_add(1, Ordering::SeqCst);
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        self.disk.create(path)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.open(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
}
