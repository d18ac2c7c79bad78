//! Who was erased is nowhere: not in what is shown, and after a while not in any file.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use standings_core::{LocalDate, Millis, Name, Profile};

use crate::tests::{
    crash::copy,
    kit::{InDirectory, NoRoom, board, definition, directory, event, player, points, submit},
    retention::{eager, until},
    script::{everything, row, settled},
};
use crate::{Embedded, Options, check, files::disk::RealDisk, rebuild};
use standings_engine::{
    Engine, ManualClock, PageQuery, SeasonRef, SnapshotRef, StandingRef,
    conformance::{Fixture as _, World},
};

const DAY: i64 = 24 * 3_600_000;
const WHO: &str = "mallory-0815";
const NAME: &str = "Mallory Unforgettable";

fn all_is_well(dir: &Path) {
    assert_eq!(check(dir, &mut |_| {}).unwrap().findings, [""; 0]);
    assert_eq!(rebuild(dir, false, &mut |_| {}).unwrap().findings, [""; 0]);
}

fn named(name: &str) -> Profile {
    Profile { name: Some(Name::new(name).unwrap()), ..Profile::default() }
}

/// A player who is everywhere.
async fn fill(home: &InDirectory) {
    let engine = home.engine();
    let daily = r#"{"season":"daily","grace":"0 seconds","goal":1,"keep":"3 seasons"}"#;
    engine.put_board(&board("b"), definition(daily)).await.unwrap();
    let never = r#"{"season":"never","snapshots":{"at":"00:00"}}"#;
    engine.put_board(&board("n"), definition(never)).await.unwrap();
    engine.put_player(&player(WHO), named(NAME)).await.unwrap();
    engine.put_friends(&player(WHO), vec![player("a")]).await.unwrap();
    engine.put_friends(&player("c"), vec![player("b"), player(WHO)]).await.unwrap();
    for day in 0..5 {
        for id in ["b", "n"] {
            let ids = ["a", WHO, "c"].map(|who| event(who, 5, &format!("{id}-{day}-{who}")));
            engine.submit(&board(id), ids.to_vec()).await.unwrap();
            let rows = vec![row(&(WHO, 7)), row(&("d", 6))];
            engine.set_scores(&board(id), None, rows).await.unwrap();
        }
        engine.submit(&board("b"), vec![points("x", 1)]).await.unwrap();
        engine.put_player(&player(WHO), named(&format!("{NAME} {day}"))).await.unwrap();
        home.clock().advance(Millis(DAY));
        engine.submit(&board("none"), vec![]).await.unwrap_err();
        settled(&home.embedded()).await;
    }
    let mut import =
        engine.import_snapshot(&board("n"), LocalDate::parse("2026-10-01").unwrap()).await.unwrap();
    import.rows(vec![row(&("a", 1)), row(&(WHO, 7))]).await.unwrap();
    import.finish().await.unwrap();
}

/// The files below a directory that contain some bytes.
fn containing(dir: &Path, what: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(containing(&path, what));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(what.len()).any(|piece| piece == what.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

pub(super) fn purged(engine: &Embedded) -> bool {
    let catalog = engine.shared.catalog.read();
    catalog.erased().is_empty() && !catalog.traces
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_an_erased_player_is_left_in_any_file() {
    let mut home = InDirectory::usual();
    fill(&home).await;
    for dir in ["log", "frozen"] {
        assert!(!containing(&home.path().join(dir), WHO).is_empty(), "{dir}");
    }
    home.engine().erase_player(&player(WHO)).await.unwrap();
    let shown = everything(&*home.engine()).await;
    assert!(!shown.contains(WHO) && !shown.contains(NAME), "{shown}");
    home.stop().await;
    all_is_well(home.path());
    home.options = Options { dir: home.options.dir.clone(), ..eager() };
    home.start();
    let engine = home.embedded();
    until("it is purged", || purged(&engine)).await;
    assert_eq!(everything(&*engine).await, shown);
    // The log drops its segments between two groups.
    for dir in ["log", "checkpoint", "frozen"] {
        let dir = home.path().join(dir);
        until("no file has it", || containing(&dir, WHO).is_empty()).await;
        assert_eq!(containing(&dir, NAME), Vec::<PathBuf>::new());
    }
    assert_eq!(engine.friends(&player("c")).await.unwrap(), [player("b")]);
    for what in [WHO, NAME, "mallory unforgettable"] {
        assert_eq!(engine.shared.history.search(what.as_bytes()).unwrap(), [""; 0], "{what}");
    }
    drop(engine);
    home.stop().await;
    let tables: Vec<_> = containing(&home.path().join("history"), WHO);
    assert!(tables.iter().all(|path| path.extension().is_some_and(|e| e == "jnl")), "{tables:?}");
    all_is_well(home.path());
    // The number of the next erasure is above all that the files know, also in standings computed from the ledger.
    let checkpoint = std::fs::read_dir(home.path().join("checkpoint")).unwrap().next().unwrap();
    std::fs::remove_file(checkpoint.unwrap().path()).unwrap();
    assert!(rebuild(home.path(), true, &mut |_| {}).unwrap().written);
    home.start();
    assert_eq!(everything(&*home.engine()).await, shown);
    home.engine().erase_player(&player("a")).await.unwrap();
    let previous = PageQuery { standing: StandingRef::PREVIOUS, limit: 9, ..PageQuery::default() };
    let left = home.engine().page(&board("b"), &previous).await.unwrap().rows;
    assert!(left.iter().all(|row| row.player.as_str() != "a"), "{left:?}");
    home.stop().await;
}

/// Copies of the files at moments while it is purged: each recovers, and is purged in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_that_broke_off_is_done_again() {
    let mut home = InDirectory::usual();
    fill(&home).await;
    home.engine().erase_player(&player(WHO)).await.unwrap();
    let shown = everything(&*home.engine()).await;
    home.stop().await;
    for files in 0..6 {
        // It breaks off at every file that is written anew, and at the very end.
        let dir = directory();
        copy(home.path(), dir.path());
        let disk = NoRoom::new(RealDisk::new(dir.path()).unwrap());
        disk.leave(files);
        let options =
            Options { dir: dir.path().to_owned(), disk: Some(Arc::new(disk.clone())), ..eager() };
        let clock = home.clock();
        let engine = Embedded::open(options, clock.clone()).unwrap();
        disk.refusal().await;
        assert_eq!(everything(&*engine).await, shown, "{files}");
        engine.shutdown().await;
        drop((engine, disk));
        all_is_well(dir.path());
        let options = Options { dir: dir.path().to_owned(), ..eager() };
        let engine = Embedded::open(options, clock).unwrap();
        until("it is purged", || purged(&engine)).await;
        assert_eq!(everything(&*engine).await, shown, "{files}");
        engine.shutdown().await;
        drop(engine);
        assert_eq!(containing(&dir.path().join("frozen"), WHO), Vec::<PathBuf>::new());
        all_is_well(dir.path());
    }
}

/// Who was erased before a season or a snapshot was written does not come back with its file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_erased_while_something_was_written_is_not_in_it() {
    let dir = directory();
    let disk = NoRoom::new(RealDisk::new(dir.path()).unwrap());
    let (path, shared) = (dir.path().to_owned(), Arc::new(disk.clone()));
    let options = Options { dir: path, disk: Some(shared), ..eager() };
    let clock = Arc::new(ManualClock::new(World::start()));
    let engine = Embedded::open(options, clock).unwrap();
    let id = board("b");
    engine.put_board(&id, definition("{}")).await.unwrap();
    for (who, value) in [(WHO, 3), ("a", 2), ("early", 1)] {
        submit(&*engine, &id, points(who, value)).await.unwrap();
    }
    engine.erase_player(&player("early")).await.unwrap();
    disk.fill();
    assert_eq!(engine.take_snapshot(&id).await.unwrap().players, None);
    engine.close_season(&id, None).await.unwrap();
    engine.erase_player(&player(WHO)).await.unwrap();
    // Who is in nothing that waits is purged; the other must be remembered.
    let erased = |engine: &Embedded| engine.shared.catalog.read().erased().len();
    until("one is purged", || erased(&engine) == 1).await;
    disk.refusal().await;
    disk.free();
    until("both are", || erased(&engine) == 0).await;
    settled(&engine).await;
    for standing in [StandingRef::PREVIOUS, StandingRef::Snapshot(SnapshotRef::Latest)] {
        let query = PageQuery { standing, limit: 10, ..PageQuery::default() };
        let rows = engine.page(&id, &query).await.unwrap().rows;
        let rows: Vec<_> = rows.iter().map(|r| (r.player.as_str(), r.rank.get())).collect();
        assert_eq!(rows, [("a", 2)]);
    }
    engine.shutdown().await;
    drop(engine);
    assert_eq!(containing(&dir.path().join("frozen"), WHO), Vec::<PathBuf>::new());
    all_is_well(dir.path());
}

/// What was written after an erasure stays, also within the same millisecond.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_came_back_keeps_what_is_new() {
    let mut home = InDirectory::new(World::start(), eager());
    let engine = home.embedded();
    let id = board("b");
    engine.put_board(&id, definition("{}")).await.unwrap();
    engine.put_friends(&player("a"), vec![player(WHO), player("b")]).await.unwrap();
    engine.put_friends(&player("c"), vec![player(WHO)]).await.unwrap();
    engine.set_scores(&id, None, vec![row(&(WHO, 1))]).await.unwrap();
    submit(&*engine, &id, event(WHO, 1, "old")).await.unwrap();
    engine.erase_player(&player(WHO)).await.unwrap();
    engine.set_scores(&id, None, vec![row(&(WHO, 2))]).await.unwrap();
    engine.put_friends(&player("a"), vec![player("b"), player(WHO)]).await.unwrap();
    submit(&*engine, &id, event(WHO, 1, "new")).await.unwrap();
    engine.close_season(&id, None).await.unwrap();
    until("it is purged", || purged(&engine)).await;
    assert_eq!(engine.friends(&player("a")).await.unwrap(), [player("b"), player(WHO)]);
    assert_eq!(engine.friends(&player("c")).await.unwrap(), []);
    assert!(submit(&*engine, &id, event(WHO, 1, "new")).await.unwrap().duplicate);
    let season = StandingRef::Season(SeasonRef::Previous);
    let entry = engine.entry(&id, &season, &player(WHO), None).await.unwrap();
    assert_eq!(entry.row.score.get(), 3);
    drop(engine);
    home.stop().await;
    all_is_well(home.path());
}

/// Rows that came before the erasure are left out when the import finishes, however late that is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_under_way_brings_nobody_back() {
    let mut home = InDirectory::new(World::start(), eager());
    let engine = home.embedded();
    let id = board("b");
    engine.put_board(&id, definition("{}")).await.unwrap();
    let date = LocalDate::parse("2026-11-01").unwrap();
    let mut season = engine.import_season(&id, &"2026-10".parse().unwrap()).await.unwrap();
    let mut snapshot = engine.import_snapshot(&id, date).await.unwrap();
    for import in [&mut season, &mut snapshot] {
        let who = standings_engine::ScoreRow {
            user_name: Some(Name::new(NAME).unwrap()),
            ..row(&(WHO, 7))
        };
        import.rows(vec![row(&("a", 9)), who, row(&("b", 5))]).await.unwrap();
    }
    engine.erase_player(&player(WHO)).await.unwrap();
    // Time for some rounds of clearing: the erasure is remembered for as long as it lasts.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(engine.shared.catalog.read().erased().len(), 1);
    assert_eq!(season.finish().await.unwrap().players, 2);
    assert_eq!(snapshot.finish().await.unwrap().players, 2);
    for standing in [
        StandingRef::Season("2026-10".parse().map(SeasonRef::Id).unwrap()),
        StandingRef::Snapshot(SnapshotRef::Latest),
    ] {
        let query = PageQuery { standing, limit: 10, ..PageQuery::default() };
        let rows = engine.page(&id, &query).await.unwrap().rows;
        let rows: Vec<_> = rows.iter().map(|r| (r.player.as_str(), r.rank.get())).collect();
        assert_eq!(rows, [("a", 1), ("b", 2)]);
    }
    until("it is purged", || purged(&engine)).await;
    drop(engine);
    home.stop().await;
    for what in [WHO, NAME] {
        assert_eq!(containing(&home.path().join("frozen"), what), Vec::<PathBuf>::new());
    }
    all_is_well(home.path());
}
