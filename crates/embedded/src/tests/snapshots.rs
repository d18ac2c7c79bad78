//! Snapshots and closed seasons that are marked now and written later: exact, whatever happens in between.

use std::{sync::Arc, time::Duration};

use standings_core::{LocalDate, Millis, Name, Profile};
use tempfile::TempDir;

use crate::tests::{
    kit::{InDirectory, NoRoom, board, definition, directory, player, points, standing, submit},
    retention::until,
    script::{everything, settled},
};
use crate::{
    Embedded, Options,
    files::{
        disk::Disk as _,
        sim_disk::{Failure, SimDisk, Survive},
    },
};
use standings_engine::{
    Engine, EngineError, ManualClock, PageQuery, PlayerSnapshotsQuery, SnapshotRef, SnapshotsQuery,
    StandingRef, conformance::World,
};

const DAY: i64 = 24 * 3_600_000;

struct Machine {
    disk: NoRoom<SimDisk>,
    dir: TempDir,
    clock: Arc<ManualClock>,
    engine: Arc<Embedded>,
    options: Options,
}

impl Machine {
    async fn new(json: &str, options: Options) -> Self {
        let (disk, dir) = (NoRoom::new(SimDisk::new()), directory());
        let clock = Arc::new(ManualClock::new(World::start()));
        let engine = open(&disk, &dir, &clock, &options);
        engine.put_board(&board("b"), definition(json)).await.unwrap();
        Self { disk, dir, clock, engine, options }
    }

    /// The power goes now, and comes back with only what was synced.
    async fn crash(self) -> Self {
        let Self { disk, dir, clock, engine, options } = self;
        disk.disk.fail_next(Failure::Crash);
        let _ = engine.put_board(&board("last"), definition("{}")).await;
        engine.shutdown().await;
        drop(engine);
        let disk = NoRoom::new(disk.disk.crash(Survive::Nothing));
        let engine = open(&disk, &dir, &clock, &options);
        Self { disk, dir, clock, engine, options }
    }

    async fn submit(&self, who: &str, value: i64) {
        submit(&*self.engine, &board("b"), points(who, value)).await.unwrap();
    }

    async fn name(&self, who: &str, name: &str) {
        let profile = Profile { name: Some(Name::new(name).unwrap()), ..Profile::default() };
        self.engine.put_player(&player(who), profile).await.unwrap();
    }

    /// Who, score and name.
    async fn rows(&self, standing: StandingRef) -> Vec<(String, i64, Option<String>)> {
        let query = PageQuery { standing, limit: 1000, ..PageQuery::default() };
        let rows = self.engine.page(&board("b"), &query).await.unwrap().rows;
        let name = |profile: &Profile| profile.name.as_ref().map(ToString::to_string);
        rows.iter()
            .map(|row| {
                let name = row.profile.as_ref().and_then(|profile| name(profile));
                (row.player.to_string(), row.score.get(), name)
            })
            .collect()
    }

    async fn dates(&self) -> Vec<LocalDate> {
        let query = SnapshotsQuery { before: None, limit: 10_000 };
        let page = self.engine.snapshots(&board("b"), &query).await.unwrap();
        let written = page.snapshots.iter().filter(|snapshot| snapshot.players.is_some());
        written.map(|snapshot| snapshot.date).collect()
    }

    fn files(&self) -> usize {
        self.disk.list("frozen").unwrap().len()
    }
}

fn open(
    disk: &NoRoom<SimDisk>,
    dir: &TempDir,
    clock: &Arc<ManualClock>,
    options: &Options,
) -> Arc<Embedded> {
    let disk = Some(Arc::new(disk.clone()) as Arc<dyn crate::files::disk::Disk>);
    let options = Options { dir: dir.path().to_owned(), disk, ..options.clone() };
    Embedded::open(options, clock.clone()).unwrap()
}

fn row(who: &str, score: i64, name: Option<&str>) -> (String, i64, Option<String>) {
    (who.to_owned(), score, name.map(ToOwned::to_owned))
}

const LATEST: StandingRef = StandingRef::Snapshot(SnapshotRef::Latest);

/// Marked, refused by the disk, written over, crashed once or not: the file is that of the mark.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_is_of_its_mark_however_late_it_is_written() {
    for crash in [false, true] {
        // A checkpoint is due all the time, and must not forget the mark.
        let options = Options { checkpoint_bytes: 300, segment_bytes: 500, ..Options::default() };
        let machine = Machine::new(r#"{"season":"never"}"#, options).await;
        machine.submit("a", 1).await;
        machine.submit("b", 2).await;
        machine.name("a", "Anna").await;
        machine.disk.fill();
        let taken = machine.engine.take_snapshot(&board("b")).await.unwrap();
        assert_eq!(taken.players, None, "it is taken and not yet written");
        assert_eq!(machine.dates().await, []);
        // Writes go on.
        for value in 1..20 {
            machine.submit("a", value).await;
            machine.submit("c", value).await;
        }
        machine.name("a", "Berta").await;
        machine.name("b", "Bert").await;
        machine.engine.erase_player(&player("c")).await.unwrap();
        machine.disk.refusal().await;
        let machine = if crash { machine.crash().await } else { machine };
        machine.disk.free();
        settled(&machine.engine).await;
        // Names are those of the moment of writing.
        let wanted = [row("b", 2, Some("Bert")), row("a", 1, Some("Berta"))];
        assert_eq!(machine.rows(LATEST).await, wanted, "crash: {crash}");
        let now = [row("a", 191, Some("Berta")), row("b", 2, Some("Bert"))];
        assert_eq!(machine.rows(StandingRef::CURRENT).await, now);
        machine.engine.shutdown().await;
    }
}

/// By which rule players share a rank is of the mark as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_has_the_tie_rule_of_its_mark() {
    for crash in [false, true] {
        let machine = Machine::new(r#"{"season":"never"}"#, Options::default()).await;
        machine.submit("a", 5).await;
        machine.submit("b", 5).await;
        machine.disk.fill();
        assert_eq!(machine.engine.take_snapshot(&board("b")).await.unwrap().players, None);
        let earliest = definition(r#"{"season":"never","ties":"earliest"}"#);
        machine.engine.put_board(&board("b"), earliest).await.unwrap();
        let machine = if crash { machine.crash().await } else { machine };
        machine.disk.free();
        settled(&machine.engine).await;
        let ranks = [("a".to_owned(), 1, 5), ("b".to_owned(), 1, 5)];
        assert_eq!(standing(&*machine.engine, &board("b"), LATEST).await, ranks, "crash: {crash}");
        machine.engine.shutdown().await;
    }
}

/// Until it is written it shows those of today, and from then on the same ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_season_has_the_names_of_when_it_was_written() {
    let options = Options { checkpoint_bytes: 300, segment_bytes: 500, ..Options::default() };
    let machine = Machine::new("{}", options).await;
    machine.submit("a", 1).await;
    machine.name("a", "Anna").await;
    machine.disk.fill();
    machine.engine.close_season(&board("b"), None).await.unwrap();
    assert_eq!(machine.rows(StandingRef::PREVIOUS).await, [row("a", 1, Some("Anna"))]);
    machine.name("a", "Berta").await;
    assert_eq!(machine.rows(StandingRef::PREVIOUS).await, [row("a", 1, Some("Berta"))]);
    let machine = machine.crash().await;
    settled(&machine.engine).await;
    machine.name("a", "Clara").await;
    assert_eq!(machine.rows(StandingRef::PREVIOUS).await, [row("a", 1, Some("Berta"))]);
    machine.engine.shutdown().await;
}

/// The board may have another by the time that it is written, and a checkpoint and a crash may come in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_season_has_the_tie_rule_of_its_end() {
    let options = Options { checkpoint_bytes: 300, segment_bytes: 500, ..Options::default() };
    let machine = Machine::new("{}", options).await;
    machine.submit("a", 5).await;
    machine.submit("b", 5).await;
    machine.disk.fill();
    machine.engine.close_season(&board("b"), None).await.unwrap();
    let earliest = definition(r#"{"ties":"earliest"}"#);
    machine.engine.put_board(&board("b"), earliest).await.unwrap();
    let checkpoints = || machine.disk.list("checkpoint").unwrap();
    let first = checkpoints();
    while checkpoints() == first {
        machine.submit("b", 1).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let machine = machine.crash().await;
    settled(&machine.engine).await;
    let ranks = [("a".to_owned(), 1, 5), ("b".to_owned(), 1, 5)];
    assert_eq!(standing(&*machine.engine, &board("b"), StandingRef::PREVIOUS).await, ranks);
    machine.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missed_dates_share_a_file_that_goes_with_the_last_of_them() {
    let json = r#"{"season":"never","snapshots":{"at":"06:00","keep":"10 days"}}"#;
    let machine = Machine::new(json, Options::default()).await;
    machine.submit("a", 1).await;
    machine.clock.advance(Millis(4 * DAY));
    let machine = machine.crash().await;
    settled(&machine.engine).await;
    assert_eq!((machine.dates().await.len(), machine.files()), (4, 1));
    // Each of them goes when its own time has come.
    for (days, left) in [(7, 10), (1, 9 + 1), (1, 9 + 1)] {
        machine.clock.advance(Millis(days * DAY));
        machine.submit("a", 1).await;
        settled(&machine.engine).await;
        assert_eq!(machine.dates().await.len(), left);
        for date in machine.dates().await {
            let which = StandingRef::Snapshot(SnapshotRef::Date(date));
            assert_eq!(machine.rows(which).await.len(), 1);
        }
    }
    machine.clock.advance(Millis(20 * DAY));
    machine.submit("a", 1).await;
    settled(&machine.engine).await;
    let machine = machine.crash().await;
    assert_eq!((machine.dates().await.len(), machine.files()), (10, 1));
    machine.engine.shutdown().await;
}

/// There are more seasons to open than go into one group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missed_dates_are_of_the_seasons_that_they_lie_in() {
    let json = r#"{"season":"0 * * * *","grace":"0 seconds",
        "snapshots":{"at":"06:00","keep":"forever"}}"#;
    let machine = Machine::new(json, Options::default()).await;
    machine.submit("a", 1).await;
    machine.clock.advance(Millis(500 * DAY));
    machine.submit("a", 2).await;
    settled(&machine.engine).await;
    assert_eq!(machine.dates().await.len(), 500);
    {
        let catalog = machine.engine.shared.catalog.read();
        let board = catalog.board(&board("b")).unwrap();
        assert_eq!(board.timeline.slots().len(), 2, "the others have no entries");
        for snapshot in &board.snapshots {
            let season = board.definition.season_at(snapshot.at).id;
            assert_eq!(*snapshot.season(), season, "{}", snapshot.date);
        }
    }
    machine.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_year_of_daily_snapshots_with_ninety_days_kept_leaves_ninety_files() {
    let json = r#"{"season":"never","snapshots":{"at":"00:00","keep":"90 days"}}"#;
    let machine = Machine::new(json, Options::default()).await;
    for day in 0..365 {
        machine.submit(["a", "b", "c"][day % 3], 1).await;
        machine.clock.advance(Millis(DAY));
        machine.submit("d", 1).await;
        settled(&machine.engine).await;
    }
    assert_eq!((machine.dates().await.len(), machine.files()), (90, 90));
    let shown = everything(&*machine.engine).await;
    let machine = machine.crash().await;
    assert_eq!((everything(&*machine.engine).await, machine.files()), (shown, 90));
    machine.engine.shutdown().await;
}

/// A later snapshot of a date may be written before an earlier one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_snapshots_of_a_date_the_later_counts_and_one_file_is_left() {
    for crash in [false, true] {
        let machine = Machine::new(r#"{"season":"never"}"#, Options::default()).await;
        machine.submit("a", 1).await;
        machine.disk.fill();
        assert_eq!(machine.engine.take_snapshot(&board("b")).await.unwrap().players, None);
        machine.disk.free();
        machine.submit("a", 1).await;
        machine.engine.take_snapshot(&board("b")).await.unwrap();
        assert_eq!(machine.rows(LATEST).await, [row("a", 2, None)]);
        let machine = if crash { machine.crash().await } else { machine };
        settled(&machine.engine).await;
        assert_eq!(machine.rows(LATEST).await, [row("a", 2, None)]);
        until("one file is left", || machine.files() == 1).await;
        machine.engine.shutdown().await;
    }
}

/// The list would end early, and nobody would know that there is more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_cannot_be_read_is_not_left_out() {
    let mut home = InDirectory::usual();
    let engine = home.embedded();
    engine.put_board(&board("b"), definition("{}")).await.unwrap();
    for date in ["2026-11-01", "2026-11-02", "2026-11-03"] {
        let date = LocalDate::parse(date).unwrap();
        let mut import = engine.import_snapshot(&board("b"), date).await.unwrap();
        import.rows(vec![crate::tests::script::row(&("a", 1))]).await.unwrap();
        import.finish().await.unwrap();
    }
    let newest = {
        let catalog = engine.shared.catalog.read();
        let snapshots = &catalog.board(&board("b")).unwrap().snapshots;
        snapshots.last().unwrap().file().unwrap().name.clone()
    };
    drop(engine);
    home.stop().await;
    std::fs::write(home.path().join("frozen").join(newest), b"damaged").unwrap();
    home.start();
    let engine = home.embedded();
    for limit in [1, 10] {
        let list = engine.snapshots(&board("b"), &SnapshotsQuery { before: None, limit }).await;
        assert!(matches!(list, Err(EngineError::Unavailable { .. })), "{list:?}");
        let query = PlayerSnapshotsQuery { limit, ..PlayerSnapshotsQuery::default() };
        let list = engine.player_snapshots(&player("a"), &query).await;
        assert!(matches!(list, Err(EngineError::Unavailable { .. })), "{list:?}");
    }
    drop(engine);
    home.stop().await;
}
