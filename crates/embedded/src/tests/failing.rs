//! Disks that are full, fail, or hang.

use std::{io::ErrorKind, sync::Arc, time::Duration};

use standings_core::Millis;

use crate::tests::kit::{board, definition, directory, event, player, points, standing, submit};
use crate::{
    Durability, Embedded, Options,
    files::sim_disk::{Failure, SimDisk, Survive},
};
use standings_engine::{
    BoardsQuery, Engine, EngineError, ManualClock, SeasonRef, StandingRef, conformance::World,
};

const CURRENT: StandingRef = StandingRef::CURRENT;

struct Rig {
    disk: SimDisk,
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    engine: Arc<Embedded>,
}

impl Rig {
    async fn new(json: &str) -> Self {
        let (disk, dir) = (SimDisk::new(), directory());
        let clock = Arc::new(ManualClock::new(World::start()));
        let engine = open(&disk, dir.path(), &clock);
        engine.put_board(&board("b"), definition(json)).await.unwrap();
        submit(&*engine, &board("b"), event("a", 5, "one")).await.unwrap();
        Self { disk, dir, clock, engine }
    }

    async fn top(&self) -> Vec<(String, u64, i64)> {
        standing(&*self.engine, &board("b"), CURRENT).await
    }

    async fn try_submit(&self, id: &str) -> Result<(), EngineError> {
        submit(&*self.engine, &board("b"), event("b", 7, id)).await.map(|_| ())
    }

    /// As if the machine had been switched off and on.
    async fn reopen(self, survive: Survive) -> Self {
        let Self { disk, dir, clock, engine } = self;
        engine.shutdown().await;
        drop(engine);
        let disk = disk.crash(survive);
        let engine = open(&disk, dir.path(), &clock);
        Self { disk, dir, clock, engine }
    }
}

fn open(disk: &SimDisk, dir: &std::path::Path, clock: &Arc<ManualClock>) -> Arc<Embedded> {
    let disk = Some(Arc::new(disk.clone()) as Arc<dyn crate::files::disk::Disk>);
    let options = Options { dir: dir.to_owned(), disk, ..Options::default() };
    Embedded::open(options, clock.clone()).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "it is what a call returned")]
fn unavailable(result: Result<(), EngineError>) {
    assert!(matches!(result, Err(EngineError::Unavailable { .. })), "{result:?}");
}

fn rows(rows: &[(&str, u64, i64)]) -> Vec<(String, u64, i64)> {
    rows.iter().map(|(who, rank, score)| ((*who).to_owned(), *rank, *score)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_writes_are_refused_and_go_on_when_there_is_space() {
    let rig = Rig::new(r#"{"season":"never"}"#).await;
    rig.disk.fail_next(Failure::Full);
    for _ in 0..3 {
        unavailable(rig.try_submit("two").await);
        unavailable(rig.engine.put_board(&board("c"), definition("{}")).await.map(|_| ()));
        assert_eq!(rig.top().await, rows(&[("a", 1, 5)]));
    }
    let boards = rig.engine.boards(&BoardsQuery { after: None, limit: 10 }).await.unwrap().boards;
    assert_eq!(boards.len(), 1);
    rig.disk.heal();
    rig.engine.ready().unwrap();
    rig.try_submit("two").await.unwrap();
    let rig = rig.reopen(Survive::Nothing).await;
    assert_eq!(rig.top().await, rows(&[("b", 1, 7), ("a", 2, 5)]));
    rig.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failed_flush_the_outcome_is_unknown_and_nothing_more_is_written() {
    for survive in [Survive::Nothing, Survive::Everything, Survive::Garbage(3)] {
        let rig = Rig::new(r#"{"season":"never"}"#).await;
        // The next operation writes the frame, the one after it syncs.
        rig.disk.fail_at(rig.disk.operations() + 1, Failure::Error(ErrorKind::Other));
        let answer = rig.try_submit("two").await;
        assert!(matches!(answer, Err(EngineError::OutcomeUnknown { .. })), "{answer:?}");
        unavailable(rig.try_submit("three").await);
        unavailable(rig.engine.ready());
        // Readers see what is certain.
        assert_eq!(rig.top().await, rows(&[("a", 1, 5)]));
        let rig = rig.reopen(survive).await;
        rig.engine.ready().unwrap();
        let top = rig.top().await;
        let counted = top == rows(&[("b", 1, 7), ("a", 2, 5)]);
        assert!(counted || top == rows(&[("a", 1, 5)]), "{top:?}");
        // Sent again with its id it counts once, whatever had become of it.
        let again = submit(&*rig.engine, &board("b"), event("b", 7, "two")).await.unwrap();
        assert_eq!(again.duplicate, counted);
        assert_eq!(rig.top().await, rows(&[("b", 1, 7), ("a", 2, 5)]));
        rig.engine.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reader_sees_a_score_before_it_is_durable() {
    let rig = Rig::new(r#"{"season":"never"}"#).await;
    rig.disk.hold();
    let engine = Arc::clone(&rig.engine);
    let mut named = event("b", 7, "two");
    named.user_name = Some(standings_core::Name::new("Bee").unwrap());
    let writer = tokio::spawn(async move { submit(&*engine, &board("b"), named).await });
    while rig.disk.hanging() == 0 {
        assert!(!writer.is_finished(), "acknowledged without a flush");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..20 {
        assert_eq!(rig.top().await, rows(&[("a", 1, 5)]));
        let engine = &rig.engine;
        assert_eq!(engine.board(&board("b")).await.unwrap().players, 1);
        let entry = engine.entry(&board("b"), &CURRENT, &player("b"), None).await;
        assert!(matches!(entry, Err(EngineError::UnknownPlayer(_))));
        assert!(engine.player(&player("b"), 10).await.is_err());
        let named = standings_engine::NameQuery::Is("bee".into());
        assert_eq!(engine.players_by_name(&named, 10).await.unwrap(), []);
        assert!(!writer.is_finished());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    rig.disk.release();
    assert_eq!(writer.await.unwrap().unwrap().rank.unwrap().get(), 1);
    assert_eq!(rig.top().await, rows(&[("b", 1, 7), ("a", 2, 5)]));
    rig.engine.shutdown().await;
}

/// While the next season cannot be opened, a score must not be refused for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_boundary_on_a_full_disk_rejects_nothing_for_good() {
    let rig = Rig::new(r#"{"season":"daily","grace":"1 hour"}"#).await;
    rig.disk.fail_next(Failure::Full);
    rig.clock.advance(Millis(3 * 24 * 3_600_000));
    for _ in 0..3 {
        unavailable(rig.try_submit("two").await);
        let set = rig.engine.set_scores(&board("b"), None, vec![]).await;
        unavailable(set.map(|_| ()));
    }
    rig.disk.heal();
    rig.try_submit("two").await.unwrap();
    assert_eq!(rig.top().await, rows(&[("b", 1, 7)]));
    let first = SeasonRef::Id("2026-11-15".parse().unwrap()).into();
    assert_eq!(standing(&*rig.engine, &board("b"), first).await, rows(&[("a", 1, 5)]));
    rig.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_season_is_frozen_once_the_disk_takes_it() {
    let rig = Rig::new("{}").await;
    submit(&*rig.engine, &board("b"), event("c", 6, "c")).await.unwrap();
    // Two writes and two syncs for the records, then the file fails.
    rig.disk.fail_at(rig.disk.operations() + 3, Failure::Full);
    let closed = rig.engine.close_season(&board("b"), None).await.unwrap().0;
    let season = SeasonRef::Id(closed);
    for _ in 0..2 {
        let found = standing(&*rig.engine, &board("b"), season.clone().into()).await;
        assert_eq!(found, rows(&[("c", 1, 6), ("a", 2, 5)]));
    }
    // Not that the player is unknown, and not that it waits for space.
    let remove = async || rig.engine.remove_entry(&board("b"), &season, &player("a")).await;
    unavailable(remove().await);
    rig.disk.heal();
    while let Err(error) = remove().await {
        unavailable(Err(error));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let rig = rig.reopen(Survive::Nothing).await;
    assert_eq!(standing(&*rig.engine, &board("b"), season.into()).await, rows(&[("c", 1, 6)]));
    rig.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_that_fails_is_made_later_and_costs_no_score() {
    let (disk, dir) = (SimDisk::new(), directory());
    let clock = Arc::new(ManualClock::new(World::start()));
    let options = || Options {
        dir: dir.path().to_owned(),
        disk: Some(Arc::new(disk.clone())),
        checkpoint_bytes: 500,
        ..Options::default()
    };
    let engine = Embedded::open(options(), clock.clone()).unwrap();
    engine.put_board(&board("b"), definition(r#"{"season":"never"}"#)).await.unwrap();
    let mut accepted = 0;
    for number in 0..300u64 {
        // Now and then a single operation fails, whichever it is.
        if number % 7 == 3 {
            disk.fail_at(disk.operations() + number % 5, Failure::Error(ErrorKind::StorageFull));
        }
        match submit(&*engine, &board("b"), points("a", 1)).await {
            Ok(_) => accepted += 1,
            Err(EngineError::Unavailable { .. }) if engine.ready().is_ok() => {}
            // A sync of the log failed: that is the end until it is opened anew.
            Err(_) => break,
        }
    }
    let top = standing(&*engine, &board("b"), CURRENT).await;
    assert_eq!(top, rows(&[("a", 1, accepted)]));
    engine.shutdown().await;
    drop(engine);
    disk.heal();
    let engine = Embedded::open(options(), clock).unwrap();
    let found = standing(&*engine, &board("b"), CURRENT).await[0].2;
    assert!((accepted..=accepted + 1).contains(&found), "{found} of {accepted}");
    engine.shutdown().await;
}

/// What waits is bounded by the memory that it takes, not by the number of records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_lags_takes_fewer_long_lists_than_short_ones() {
    let dir = directory();
    let clock = Arc::new(ManualClock::new(World::start()));
    let options = Options { dir: dir.path().to_owned(), lag_records: 1000, ..Options::default() };
    let engine = Embedded::open(options, clock).unwrap();
    engine.shared.history.fail();
    let friends: Vec<_> = (0..1600).map(|n| player(&format!("f{n}"))).collect();
    let mut taken = 0;
    let refused = loop {
        let owner = player(&format!("p{taken}"));
        match engine.put_friends(&owner, friends.clone()).await {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 1000, "the bound does not hold");
    };
    assert!(matches!(refused, EngineError::Overloaded { .. }), "{refused:?}");
    assert_eq!(taken, 10, "lists that weigh 101 each");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_lags_refuses_submissions_and_lets_imports_wait() {
    let dir = directory();
    let clock = Arc::new(ManualClock::new(World::start()));
    // Until the log is flushed nothing may go into the history.
    let options = Options {
        dir: dir.path().to_owned(),
        durability: Durability::Interval(Duration::from_secs(2)),
        lag_records: 100,
        ..Options::default()
    };
    let engine = Embedded::open(options, clock).unwrap();
    engine.put_board(&board("b"), definition(r#"{"season":"never"}"#)).await.unwrap();
    let mut accepted = 0;
    let refused = loop {
        match submit(&*engine, &board("b"), points("a", 1)).await {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
        assert!(accepted < 1000, "the bound does not hold");
    };
    assert!(matches!(refused, EngineError::Overloaded { .. }), "{refused:?}");
    let row = standings_engine::ScoreRow {
        player: player("i"),
        score: standings_core::Score::new(1).unwrap(),
        at: None,
        user_name: None,
        official_rank: None,
    };
    let import = {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move { engine.set_scores(&board("b"), None, vec![row]).await })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!import.is_finished());
    import.await.unwrap().unwrap();
    submit(&*engine, &board("b"), points("a", 1)).await.unwrap();
    let top = standing(&*engine, &board("b"), CURRENT).await;
    assert_eq!(top, rows(&[("a", 1, accepted + 1), ("i", 2, 1)]));
    engine.shutdown().await;
}

/// Whatever operation fails while a season is imported: after a restart it is there whole, or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_whose_outcome_is_unknown_does_not_lose_its_file() {
    let mut unknown = 0;
    for operation in 0..14 {
        let rig = Rig::new(r#"{"season":"daily"}"#).await;
        rig.disk.fail_at(rig.disk.operations() + operation, Failure::Error(ErrorKind::Other));
        let season = standings_core::SeasonId::parse("2026-10-01").unwrap();
        let mut import = rig.engine.import_season(&board("b"), &season).await.unwrap();
        import.rows(vec![crate::tests::script::row(&("i", 4))]).await.unwrap();
        let done = import.finish().await.map(|imported| imported.players);
        let rig = rig.reopen(Survive::Everything).await;
        let standing = StandingRef::from(SeasonRef::Id(season));
        let query = standings_engine::PageQuery {
            standing,
            limit: 10,
            ..standings_engine::PageQuery::default()
        };
        let found = rig.engine.page(&board("b"), &query).await;
        match (&done, &found) {
            (Ok(1) | Err(EngineError::OutcomeUnknown { .. }), Ok(page)) => {
                assert_eq!(page.rows.len(), 1, "{operation}");
            }
            (Err(_), Err(EngineError::UnknownSeason { .. })) => {}
            _ => panic!("{operation}: {done:?}, then {found:?}"),
        }
        unknown += u32::from(matches!(done, Err(EngineError::OutcomeUnknown { .. })));
        rig.engine.shutdown().await;
    }
    assert!(unknown > 0, "the flush never failed");
}

/// What cannot be done any more is not asked for again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_failed_is_not_asked_for_checkpoints() {
    let (disk, dir) = (SimDisk::new(), directory());
    let clock = Arc::new(ManualClock::new(World::start()));
    let options = Options {
        dir: dir.path().to_owned(),
        disk: Some(Arc::new(disk.clone())),
        checkpoint_bytes: 2000,
        ..Options::default()
    };
    let engine = Embedded::open(options, clock).unwrap();
    engine.put_board(&board("b"), definition(r#"{"season":"never"}"#)).await.unwrap();
    // The flush of more than a checkpoint is made for.
    disk.fail_at(disk.operations() + 1, Failure::Error(ErrorKind::Other));
    let batch = (0..500).map(|n| points(&format!("p{n}"), 1)).collect();
    let answer = engine.submit(&board("b"), batch).await;
    assert!(matches!(answer, Err(EngineError::OutcomeUnknown { .. })), "{answer:?}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let failed = engine.shared.metrics.failed_groups.get();
    assert!(failed <= 2, "{failed} groups have failed");
    engine.shutdown().await;
}
