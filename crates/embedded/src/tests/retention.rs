//! What is past its time leaves no file, no event and no id behind, and takes nothing else with it.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use standings_core::Millis;

use crate::tests::{
    kit::{InDirectory, board, definition, event, player, points, submit},
    script::settled,
};
use crate::{
    Durability, Embedded, Options, check, operations::import::Target, rebuild, record::FrozenFile,
    write::Sequencer,
};
use standings_engine::{
    Engine, EngineError, PageQuery, PlayerSeasonsQuery, StandingRef,
    conformance::{Fixture as _, World},
};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// Clears away all the time.
pub(super) fn eager() -> Options {
    Options { purge_every: Duration::from_millis(20), ..Options::default() }
}

/// Waits for what happens in the background.
pub(super) async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed().as_secs() < 30, "not so: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many events the store has.
fn events(engine: &Embedded) -> usize {
    let mut count = 0;
    engine.shared.history.visit_events(|_, _, _, _| count += 1).unwrap();
    count
}

fn files(home: &InDirectory) -> usize {
    std::fs::read_dir(home.path().join("frozen")).unwrap().count()
}

fn all_is_well(dir: &Path) {
    assert_eq!(check(dir, &mut |_| {}).unwrap().findings, [""; 0]);
    assert_eq!(rebuild(dir, false, &mut |_| {}).unwrap().findings, [""; 0]);
}

async fn advance(home: &InDirectory, time: i64) {
    home.clock().advance(Millis(time));
    home.engine().submit(&board("none"), vec![]).await.unwrap_err();
}

async fn pass(home: &InDirectory, time: i64) {
    advance(home, time).await;
    settled(&home.embedded()).await;
}

async fn best(engine: &dyn Engine, who: &str) -> Option<i64> {
    let query =
        PlayerSeasonsQuery { from: Millis::MIN, to: Millis::MAX, before: None, limit: 1000 };
    let seasons = engine.player_seasons(&player(who), &board("b"), &query).await.unwrap();
    seasons.best.map(|best| best.score.get())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_seasons_and_deleted_boards_give_back_their_space_and_leave_the_bests() {
    let mut home = InDirectory::new(World::start(), eager());
    let json = r#"{"season":"daily","grace":"0 seconds","keep":"2 seasons"}"#;
    home.engine().put_board(&board("b"), definition(json)).await.unwrap();
    home.engine().put_board(&board("gone"), definition(json)).await.unwrap();
    for day in 0..6 {
        for id in ["b", "gone"] {
            // The first day is the best.
            let batch = (0..50).map(|n| points(&format!("p{n}"), 100 - day)).collect();
            home.engine().submit(&board(id), batch).await.unwrap();
        }
        let set = vec![crate::tests::script::row(&("set", 5))];
        home.engine().set_scores(&board("b"), None, set).await.unwrap();
        pass(&home, DAY).await;
    }
    home.engine().delete_board(&board("gone")).await.unwrap();
    let engine = home.embedded();
    until("only two seasons have events", || events(&engine) == 100).await;
    let imports = || {
        let mut count = 0;
        engine.shared.history.visit_imports(|_, _| count += 1).unwrap();
        count
    };
    until("only two seasons have imports", || imports() == 2).await;
    assert_eq!(files(&home), 2);
    assert_eq!(best(&*engine, "p7").await, Some(100));
    assert_eq!(best(&*engine, "set").await, Some(5));
    // Nothing is left of the other board.
    let bests = || engine.shared.history.bests().unwrap();
    until("there are bests of one board", || bests() == 51).await;
    drop(engine);
    home.restart().await;
    assert_eq!(best(&*home.engine(), "p7").await, Some(100));
    home.stop().await;
    all_is_well(home.path());
}

/// The history may not have seen the erasure yet when the season goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_erased_and_came_back_keeps_the_best_of_a_season_that_is_gone() {
    // Until the log is flushed nothing may go into the history.
    let durability = Durability::Interval(Duration::from_secs(3600));
    let home = InDirectory::new(World::start(), Options { durability, ..Options::default() });
    let engine = home.embedded();
    let json = r#"{"season":"daily","grace":"0 seconds","keep":"1 season"}"#;
    engine.put_board(&board("b"), definition(json)).await.unwrap();
    submit(&*engine, &board("b"), points("a", 9)).await.unwrap();
    engine.erase_player(&player("a")).await.unwrap();
    submit(&*engine, &board("b"), points("a", 7)).await.unwrap();
    pass(&home, DAY).await;
    pass(&home, DAY).await;
    until("the history has it", || engine.shared.history.lag() == 0).await;
    assert_eq!(best(&*engine, "a").await, Some(7));
    engine.shutdown().await;
}

/// A best of a season that is gone is by the order that the board had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_cannot_change_while_there_may_be_bests_of_seasons_that_are_gone() {
    let mut home = InDirectory::usual();
    let json = r#"{"season":"daily","grace":"0 seconds","keep":"1 season"}"#;
    home.engine().put_board(&board("b"), definition(json)).await.unwrap();
    // A board that starts anew leaves seasons behind too, but no bests.
    let asc = r#"{"season":"daily","grace":"0 seconds","keep":"1 season","order":"asc"}"#;
    home.engine().put_board(&board("b"), definition(asc)).await.unwrap();
    home.engine().put_board(&board("b"), definition(json)).await.unwrap();
    submit(&*home.engine(), &board("b"), points("a", 7)).await.unwrap();
    pass(&home, DAY).await;
    pass(&home, DAY).await;
    for _ in 0..2 {
        let refused = home.engine().put_board(&board("b"), definition(asc)).await;
        assert!(matches!(refused, Err(EngineError::ImmutableSetting("order"))), "{refused:?}");
        assert_eq!(best(&*home.engine(), "a").await, Some(7));
        home.restart().await;
    }
    home.stop().await;
}

/// A write that meets a full disk would leave the history out of order until a restart, so none is tried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bests_of_an_expired_season_wait_for_room_on_the_disk() {
    let home = InDirectory::new(World::start(), eager());
    let engine = home.embedded();
    let json = r#"{"season":"daily","grace":"0 seconds","keep":"1 season"}"#;
    engine.put_board(&board("b"), definition(json)).await.unwrap();
    submit(&*engine, &board("b"), points("a", 7)).await.unwrap();
    pass(&home, DAY).await;
    until("the history has it", || engine.shared.history.lag() == 0).await;
    engine.shared.history.leave_room(1 << 20);
    home.clock().advance(Millis(DAY));
    let expired = || {
        let catalog = engine.shared.catalog.read();
        let board = catalog.board(&board("b")).unwrap();
        board.timeline.slots().iter().filter(|slot| slot.expired).count()
    };
    until("it is expired", || expired() == 1).await;
    // It is tried with every purge.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((expired(), engine.shared.history.bests().unwrap()), (1, 0));
    engine.ready().unwrap();
    engine.shared.history.leave_room(u64::MAX);
    until("it is gone", || expired() == 0).await;
    assert_eq!(best(&*engine, "a").await, Some(7));
    engine.shutdown().await;
}

/// Events that were still on their way when their season went are cleared away as well; and with `interval` nothing is
/// cleared away of what a power cut could bring back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_come_late_into_the_history_are_cleared_away_too() {
    let durability = Durability::Interval(Duration::from_secs(3600));
    let home = InDirectory::new(World::start(), Options { durability, ..eager() });
    let engine = home.embedded();
    engine.put_board(&board("b"), definition("{}")).await.unwrap();
    submit(&*engine, &board("b"), points("a", 1)).await.unwrap();
    engine.delete_board(&board("b")).await.unwrap();
    let history = || &engine.shared.history;
    until("it was cleared", || history().cleared().unwrap() == 1).await;
    assert!(history().position() > 3, "the log was made durable first");
    assert_eq!(events(&engine), 0);
    engine.shutdown().await;
}

/// An id counts once within its window, though its season is gone; after the window its space comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_ids_outlive_their_season_and_not_their_window() {
    let window = Millis(4 * DAY);
    let options = Options { event_id_window: window, ..eager() };
    let mut home = InDirectory::new(World::start(), options);
    let json = r#"{"season":"daily","grace":"0 seconds","keep":"1 season"}"#;
    home.engine().put_board(&board("b"), definition(json)).await.unwrap();
    for day in 0..12 {
        let id = |day: i64| event("a", 1, &format!("id-{day}"));
        assert!(!submit(&*home.engine(), &board("b"), id(day)).await.unwrap().duplicate);
        for sent in (day - 3).max(0)..=day {
            let again = submit(&*home.engine(), &board("b"), id(sent)).await.unwrap();
            assert!(again.duplicate, "{sent} on {day}");
            assert_eq!(again.season.to_string(), format!("2026-11-{:02}", 15 + sent));
        }
        if day % 3 == 1 {
            home.restart().await;
        }
        pass(&home, DAY).await;
        let engine = home.embedded();
        until("old ids go", || engine.shared.history.id_buckets() <= 4).await;
    }
    // Another length of the window forgets nothing that is within it.
    home.stop().await;
    home.options.event_id_window = Millis(3 * DAY);
    home.start();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let again = submit(&*home.engine(), &board("b"), event("a", 1, "id-10")).await.unwrap();
    assert!(again.duplicate);
    pass(&home, 10 * DAY).await;
    let engine = home.embedded();
    until("no ids are left", || engine.shared.history.id_buckets() == 0).await;
    drop(engine);
    assert!(!submit(&*home.engine(), &board("b"), event("a", 1, "id-10")).await.unwrap().duplicate);
    home.stop().await;
    all_is_well(home.path());
}

/// A board that starts anew forgets its ids with its seasons.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_that_starts_anew_counts_an_id_again() {
    let mut home = InDirectory::usual();
    let engine = home.engine();
    engine.put_board(&board("b"), definition("{}")).await.unwrap();
    submit(&*engine, &board("b"), event("a", 1, "one")).await.unwrap();
    engine
        .remove_entry(&board("b"), &standings_engine::SeasonRef::Current, &player("a"))
        .await
        .unwrap();
    engine.put_board(&board("b"), definition(r#"{"rule":"best"}"#)).await.unwrap();
    drop(engine);
    home.restart().await;
    let again = submit(&*home.engine(), &board("b"), event("a", 1, "one")).await.unwrap();
    assert!(!again.duplicate);
    home.stop().await;
}

/// A file that could not go while a backup was made goes later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_left_behind_is_swept_up() {
    let home = InDirectory::new(World::start(), eager());
    let engine = home.embedded();
    engine.put_board(&board("b"), definition("{}")).await.unwrap();
    submit(&*engine, &board("b"), points("a", 1)).await.unwrap();
    engine.close_season(&board("b"), None).await.unwrap();
    settled(&engine).await;
    let shared = Arc::clone(&engine.shared);
    shared.backups.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    engine.delete_board(&board("b")).await.unwrap();
    assert_eq!(files(&home), 1);
    shared.backups.fetch_sub(1, std::sync::atomic::Ordering::AcqRel);
    until("it is gone", || files(&home) == 0).await;
    engine.shutdown().await;
}

/// The file of an import is named by its board, and whether it is in use is asked of that board.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_created_anew_while_an_import_is_written_does_not_get_its_file() {
    let home = InDirectory::new(World::start(), eager());
    let engine = home.embedded();
    let id = board("b");
    engine.put_board(&id, definition("{}")).await.unwrap();
    let queue = &engine.shared.queue;
    let (at, target) = (id.clone(), Target::Season("2026-10".parse().unwrap()));
    let wanted = target.clone();
    let prepared = queue.change(move |s| {
        let (begun, ..) = s.begin_import(&at, &wanted)?;
        Ok((begun, s.prepare_import(&at, begun, &wanted)?.name))
    });
    let (begun, name) = prepared.await.unwrap();
    std::fs::write(home.path().join("frozen").join(&name), b"written meanwhile").unwrap();
    engine.delete_board(&id).await.unwrap();
    engine.put_board(&id, definition("{}")).await.unwrap();
    let file = FrozenFile { name, players: 1, ..FrozenFile::default() };
    let finished = queue.change(move |s| s.finish_import(&id, begun, &target, &file)).await;
    assert!(matches!(finished, Err(EngineError::Conflict(_))), "{finished:?}");
    assert!(engine.shared.catalog.read().board(&board("b")).unwrap().timeline.slots().is_empty());
    assert_eq!(files(&home), 0);
    engine.shutdown().await;
}

/// What fails for want of space does not keep the files that would give some back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_swept_up_though_the_disk_is_nearly_full() {
    let home = InDirectory::new(World::start(), eager());
    let engine = home.embedded();
    engine.put_board(&board("b"), definition("{}")).await.unwrap();
    submit(&*engine, &board("b"), points("a", 1)).await.unwrap();
    engine.close_season(&board("b"), None).await.unwrap();
    settled(&engine).await;
    let shared = Arc::clone(&engine.shared);
    shared.backups.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    engine.shared.history.leave_room(1 << 20);
    engine.delete_board(&board("b")).await.unwrap();
    assert_eq!(files(&home), 1);
    shared.backups.fetch_sub(1, std::sync::atomic::Ordering::AcqRel);
    until("it is gone", || files(&home) == 0).await;
    assert_eq!(engine.shared.history.cleared().unwrap(), 0, "there is no room for the rest");
    engine.shutdown().await;
}

/// A season that cannot be read cannot be dropped, and what has nothing to do with it goes all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_does_not_keep_everything_else() {
    const WHO: &str = "mallory-0815";
    let options = Options { event_id_window: Millis(DAY), ..eager() };
    let mut home = InDirectory::new(World::start(), options);
    let json = r#"{"season":"daily","grace":"0 seconds","keep":"1 season"}"#;
    for id in ["b", "gone"] {
        home.engine().put_board(&board(id), definition(json)).await.unwrap();
        for who in ["a", WHO] {
            submit(&*home.engine(), &board(id), event(who, 1, &format!("{id}-{who}")))
                .await
                .unwrap();
        }
    }
    home.engine().put_friends(&player("a"), vec![player(WHO)]).await.unwrap();
    pass(&home, DAY).await;
    home.engine().delete_board(&board("gone")).await.unwrap();
    let left = std::fs::read_dir(home.path().join("frozen")).unwrap().next().unwrap();
    let file = left.unwrap().path();
    home.stop().await;
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, b"damaged").unwrap();
    home.start();
    let engine = home.embedded();
    home.clock().advance(Millis(3 * DAY));
    engine.erase_player(&player(WHO)).await.unwrap();
    let history = || &engine.shared.history;
    until("old ids go", || history().id_buckets() == 0).await;
    until("events of the other board go", || events(&engine) == 1).await;
    // But for the record of the erasure: the file may still name the player.
    let found = || history().search(WHO.as_bytes()).unwrap();
    until("it is in no list", || found() == ["erasures"]).await;
    assert_eq!((files(&home), engine.shared.catalog.read().erased().len()), (1, 1));
    std::fs::write(&file, whole).unwrap();
    until("the season goes", || files(&home) == 0).await;
    until("nothing is left", || found().is_empty()).await;
    assert_eq!(best(&*engine, "a").await, Some(1));
    drop(engine);
    home.stop().await;
    all_is_well(home.path());
}

/// The log was flushed for the sake of the files, and what it holds is the history's from then on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_deletion_makes_durable_reaches_the_history() {
    let durability = Durability::Interval(Duration::from_secs(3600));
    let mut home = InDirectory::new(World::start(), Options { durability, ..Options::default() });
    let engine = home.embedded();
    let id = board("b");
    engine.put_board(&id, definition(r#"{"season":"daily","grace":"0 seconds"}"#)).await.unwrap();
    submit(&*engine, &id, points("a", 1)).await.unwrap();
    engine.close_season(&id, None).await.unwrap();
    settled(&engine).await;
    engine.delete_board(&id).await.unwrap();
    until("the history has it", || engine.shared.history.lag() == 0).await;
    drop(engine);
    home.stop().await;
}

/// By a longer window an id goes into a span of time that ends later than those of a shorter one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_id_counts_once_after_its_window_was_made_shorter() {
    let options = Options { event_id_window: Millis(40 * DAY), ..Options::default() };
    let mut home = InDirectory::new(World::start(), options);
    let id = board("b");
    home.engine().put_board(&id, definition(r#"{"season":"never"}"#)).await.unwrap();
    submit(&*home.engine(), &id, event("a", 1, "one")).await.unwrap();
    home.stop().await;
    home.options.event_id_window = Millis(DAY);
    home.start();
    home.clock().advance(Millis(2 * DAY));
    // The window is over, and another begins.
    assert!(!submit(&*home.engine(), &id, event("a", 1, "one")).await.unwrap().duplicate);
    for _ in 0..2 {
        let again = submit(&*home.engine(), &id, event("a", 1, "one")).await.unwrap();
        assert!(again.duplicate);
        assert_eq!(again.score.get(), 2);
        home.restart().await;
    }
    home.stop().await;
}

/// It would be gone at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_board_would_delete_at_once_is_not_imported() {
    let home = InDirectory::usual();
    let (engine, id) = (home.engine(), board("b"));
    let json = r#"{"season":"daily","keep":"10 days","snapshots":{"keep":"5 days"}}"#;
    engine.put_board(&id, definition(json)).await.unwrap();
    for (season, kept) in [("2026-11-14", true), ("2026-11-06", true), ("2026-11-03", false)] {
        let import = engine.import_season(&id, &season.parse().unwrap()).await;
        let refused = matches!(import, Err(EngineError::PastRetention { setting: "keep", .. }));
        assert_eq!((import.is_ok(), refused), (kept, !kept), "{season}");
    }
    for (date, kept) in [("2026-11-15", true), ("2026-11-11", true), ("2026-11-09", false)] {
        let import = engine.import_snapshot(&id, date.parse().unwrap()).await;
        let refused = matches!(import, Err(EngineError::PastRetention { .. }));
        assert_eq!((import.is_ok(), refused), (kept, !kept), "{date}");
    }
    engine.shutdown().await;
}

/// Their seasons are known by schedule and clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_boards_write_nothing_at_midnight() {
    let home = InDirectory::usual();
    let engine = home.embedded();
    for number in 0..100 {
        let json = r#"{"season":"daily","grace":"0 seconds"}"#;
        engine.put_board(&board(&format!("b{number}")), definition(json)).await.unwrap();
    }
    submit(&*engine, &board("b7"), points("a", 1)).await.unwrap();
    let log = async || engine.shared.queue.change(Sequencer::seal).await.unwrap().1;
    let before = log().await;
    home.clock().advance(Millis(DAY));
    // The one with a player closes its season, and is done when this is answered.
    submit(&*engine, &board("b7"), points("a", 1)).await.unwrap();
    settled(&engine).await;
    // Closed, in a file, opened, and an event.
    assert_eq!(log().await - before, 4);
    let (all, previous) = (StandingRef::CURRENT, StandingRef::PREVIOUS);
    for (id, which, players) in [("b7", previous.clone(), 1), ("b8", previous, 0), ("b8", all, 0)] {
        let query = PageQuery { standing: which, limit: 10, ..PageQuery::default() };
        assert_eq!(engine.page(&board(id), &query).await.unwrap().players, players, "{id}");
    }
    engine.shutdown().await;
}
