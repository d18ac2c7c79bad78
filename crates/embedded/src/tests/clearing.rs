//! Clearing away costs what goes, and no caller waits for it.

use std::{
    io,
    path::Path,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use crate::tests::{
    erasure::purged,
    kit::{InDirectory, board, definition, directory, event, player, points, standing, submit},
    retention::{eager, until},
    script::{row, settled},
};
use crate::{
    Embedded, Options, check,
    files::disk::{Disk, DiskFile, FileEntry, RealDisk},
    rebuild,
};
use standings_core::Millis;
use standings_engine::{
    Engine, EngineError, ManualClock, SeasonRef, StandingRef,
    conformance::{Fixture as _, World},
};

const HOUR: i64 = 3_600_000;

fn all_is_well(dir: &Path) {
    assert_eq!(check(dir, &mut |_| {}).unwrap().findings, [""; 0]);
    assert_eq!(rebuild(dir, false, &mut |_| {}).unwrap().findings, [""; 0]);
}

fn events(engine: &Embedded) -> usize {
    let mut count = 0;
    engine.shared.history.visit_events(|_, _, _, _| count += 1).unwrap();
    count
}

/// With everything else that the history has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_season_that_goes_costs_what_it_had() {
    let mut home = InDirectory::usual();
    let engine = home.embedded();
    engine.put_board(&board("large"), definition(r#"{"season":"never"}"#)).await.unwrap();
    let hourly = r#"{"season":"0 * * * *","grace":"0 seconds","keep":"1 season"}"#;
    engine.put_board(&board("hours"), definition(hourly)).await.unwrap();
    for round in 0..20 {
        let batch = (0..100).map(|n| points(&format!("p{n}"), round)).collect();
        engine.submit(&board("large"), batch).await.unwrap();
    }
    for who in ["p1", "p2", "p3", "cheater"] {
        submit(&*engine, &board("hours"), event(who, 1, who)).await.unwrap();
    }
    // Whoever is taken off has events all the same.
    let current = SeasonRef::Current;
    engine.remove_entry(&board("hours"), &current, &player("cheater")).await.unwrap();
    engine.set_scores(&board("hours"), None, vec![row(&("set", 5))]).await.unwrap();
    until("the history has it", || {
        engine.shared.history.hurry();
        engine.shared.history.lag() == 0
    })
    .await;
    assert_eq!(events(&engine), 2005);
    home.clock().advance(Millis(2 * HOUR));
    let seasons = || {
        let catalog = engine.shared.catalog.read();
        catalog.board(&board("hours")).unwrap().timeline.slots().len()
    };
    until("its season goes", || seasons() == 0).await;
    assert_eq!(events(&engine), 2000);
    // Three events of players in its file, and two of who is not.
    assert_eq!(engine.shared.history.looks(), 5);
    let left = engine.shared.history.search(b"cheater").unwrap();
    assert!(left.iter().all(|keyspace| keyspace.starts_with("ids-")), "{left:?}");
    assert_eq!(engine.shared.history.search(b"set").unwrap(), ["bests"]);
    drop(engine);
    home.stop().await;
    all_is_well(home.path());
}

/// A disk on which one thread of the engine gets no further for a while.
#[derive(Clone)]
struct Held {
    disk: RealDisk,
    /// The name of the thread.
    thread: &'static str,
    /// Whether it is held, and whether it waits.
    state: Arc<(Mutex<(bool, bool)>, Condvar)>,
}

impl Held {
    fn new(dir: &Path, thread: &'static str) -> Self {
        let disk = RealDisk::new(dir).unwrap();
        Self { disk, thread, state: Arc::new((Mutex::new((true, false)), Condvar::new())) }
    }

    fn waits(&self) -> bool {
        self.state.0.lock().unwrap().1
    }

    fn release(&self) {
        self.state.0.lock().unwrap().0 = false;
        self.state.1.notify_all();
    }
}

impl Disk for Held {
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
        if std::thread::current().name() == Some(self.thread) {
            let mut state = self.state.0.lock().unwrap();
            state.1 = true;
            drop(self.state.1.wait_while(state, |state| state.0).unwrap());
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

fn open(dir: &Path, disk: &Held, options: &Options) -> Arc<Embedded> {
    let disk = Some(Arc::new(disk.clone()) as Arc<dyn Disk>);
    let options = Options { dir: dir.to_owned(), disk, ..options.clone() };
    Embedded::open(options, Arc::new(ManualClock::new(World::start()))).unwrap()
}

/// What must not wait for ever.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it waits")
}

async fn rows(engine: &Embedded, which: StandingRef) -> Vec<(String, u64, i64)> {
    standing(engine, &board("b"), which).await
}

fn expect(rows: &[(&str, u64, i64)]) -> Vec<(String, u64, i64)> {
    rows.iter().map(|(who, rank, score)| ((*who).to_owned(), *rank, *score)).collect()
}

/// A clearing that takes as long as it likes: here one that never gets on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_and_no_caller_waits_for_clearing() {
    let dir = directory();
    let disk = Held::new(dir.path(), "clearing");
    let engine = open(dir.path(), &disk, &Options { checkpoint_bytes: 2000, ..eager() });
    let id = board("b");
    engine.put_board(&id, definition("{}")).await.unwrap();
    for (who, value) in [("a", 4), ("erased", 3), ("cheater", 2), ("d", 1)] {
        submit(&*engine, &id, points(who, value)).await.unwrap();
    }
    engine.close_season(&id, None).await.unwrap();
    settled(&engine).await;
    engine.erase_player(&player("erased")).await.unwrap();
    until("the clearing waits", || disk.waits()).await;
    submit(&*engine, &id, points("a", 1)).await.unwrap();
    assert_eq!(soon(engine.take_snapshot(&id)).await.unwrap().players, Some(1));
    soon(engine.remove_entry(&id, &SeasonRef::Previous, &player("cheater"))).await.unwrap();
    let without = expect(&[("a", 1, 4), ("d", 3, 1)]);
    assert_eq!(rows(&engine, StandingRef::PREVIOUS).await, without);
    let mut import = engine.import_season(&id, &"2026-09".parse().unwrap()).await.unwrap();
    import.rows(vec![row(&("i", 1))]).await.unwrap();
    soon(import.finish()).await.unwrap();
    let checkpoints = || disk.list("checkpoint").unwrap().len();
    soon(async {
        while checkpoints() == 0 {
            submit(&*engine, &id, points("a", 1)).await.unwrap();
        }
    })
    .await;
    engine.close_season(&id, None).await.unwrap();
    settled(&engine).await;
    assert!(disk.waits(), "it waits still");
    disk.release();
    until("it is done", || purged(&engine)).await;
    // The removal came while the file was being rewritten, and is not undone by that.
    let which = StandingRef::Season("2026-11".parse().map(SeasonRef::Id).unwrap());
    assert_eq!(rows(&engine, which).await, without);
    engine.shutdown().await;
    drop((engine, disk));
    all_is_well(dir.path());
}

/// Neither a small standing nor a removal waits for a large file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_small_waits_for_a_large_file() {
    let dir = directory();
    let disk = Held::new(dir.path(), "keeper-large");
    let engine = open(dir.path(), &disk, &Options::default());
    let id = board("b");
    engine.put_board(&id, definition("{}")).await.unwrap();
    engine.put_board(&board("small"), definition("{}")).await.unwrap();
    let batch = (0..200).map(|n| points(&format!("p{n:03}"), 1000 - n)).collect();
    engine.submit(&id, batch).await.unwrap();
    submit(&*engine, &board("small"), points("a", 1)).await.unwrap();
    engine.close_season(&id, None).await.unwrap();
    until("the large file waits", || disk.waits()).await;
    assert_eq!(soon(engine.take_snapshot(&board("small"))).await.unwrap().players, Some(1));
    soon(engine.remove_entry(&id, &SeasonRef::Previous, &player("p000"))).await.unwrap();
    let again = engine.remove_entry(&id, &SeasonRef::Previous, &player("p000")).await;
    assert!(matches!(again, Err(EngineError::UnknownPlayer(_))), "{again:?}");
    assert_eq!(rows(&engine, StandingRef::PREVIOUS).await[0], ("p001".to_owned(), 1, 999));
    disk.release();
    settled(&engine).await;
    let found = rows(&engine, StandingRef::PREVIOUS).await;
    assert_eq!((found.len(), &found[0]), (199, &("p001".to_owned(), 1, 999)));
    engine.shutdown().await;
    drop((engine, disk));
    all_is_well(dir.path());
}

/// However large it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_leaves_the_file_of_a_season_alone() {
    let mut home = InDirectory::new(World::start(), eager());
    let id = board("b");
    home.engine().put_board(&id, definition(r#"{"goal":2}"#)).await.unwrap();
    let scores = [("a", 5), ("b", 4), ("c", 4), ("d", 3), ("e", 1)];
    for (who, value) in scores {
        submit(&*home.engine(), &id, points(who, value)).await.unwrap();
    }
    home.engine().close_season(&id, None).await.unwrap();
    settled(&home.embedded()).await;
    let name = |home: &InDirectory| {
        let engine = home.embedded();
        let catalog = engine.shared.catalog.read();
        let board = catalog.board(&board("b")).unwrap();
        let file = board.files().find(|file| !file.name.is_empty()).unwrap();
        file.name.clone()
    };
    let before = name(&home);
    for who in ["b", "d"] {
        home.engine().remove_entry(&id, &SeasonRef::Previous, &player(who)).await.unwrap();
    }
    let left = expect(&[("a", 1, 5), ("c", 2, 4), ("e", 3, 1)]);
    for _ in 0..2 {
        assert_eq!(name(&home), before);
        assert_eq!(rows(&home.embedded(), StandingRef::PREVIOUS).await, left);
        let (engine, who) = (home.engine(), player("c"));
        let entry = engine.entry(&id, &StandingRef::PREVIOUS, &who, None).await.unwrap();
        assert_eq!(entry.row.rank.get(), 2);
        drop(engine);
        let distribution = home.engine().distribution(&id, &StandingRef::PREVIOUS).await.unwrap();
        assert_eq!((distribution.players, distribution.mean), (3, Some(10.0 / 3.0)));
        let query = standings_engine::SeasonsQuery { year: None, before: None, limit: 9 };
        let season = home.engine().seasons(&id, &query).await.unwrap().seasons.pop().unwrap();
        assert_eq!((season.players, season.successes), (3, Some(2)));
        home.restart().await;
    }
    // A file that is written anew for another reason has their rows no more.
    home.engine().erase_player(&player("c")).await.unwrap();
    let engine = home.embedded();
    until("it is purged", || purged(&engine)).await;
    drop(engine);
    assert_ne!(name(&home), before);
    let left = expect(&[("a", 1, 5), ("e", 3, 1)]);
    assert_eq!(rows(&home.embedded(), StandingRef::PREVIOUS).await, left);
    home.stop().await;
    all_is_well(home.path());
}
