//! What lies in a data directory: locked, checked, rebuilt, copied.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use standings_core::{BoardId, Millis};

use crate::tests::{
    crash::copy,
    kit::{InDirectory, board, definition, directory, event, player, points, standing, submit},
    retention::until,
    script::{Keep, everything, script, settled},
};
use crate::{Embedded, OpenError, Options, RebuildReport, check, rebuild};
use standings_engine::{
    Clock as _, Engine, EngineError, ManualClock, PageQuery, SeasonRef, SeasonsQuery, StandingRef,
    conformance::{Fixture as _, World},
};

fn rebuilt(dir: &Path, write: bool) -> RebuildReport {
    rebuild(dir, write, &mut |_| {}).unwrap()
}

fn findings(dir: &Path) -> Vec<String> {
    check(dir, &mut |_| {}).unwrap().findings
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
}

/// A stopped server that has seen everything.
async fn full() -> (InDirectory, String) {
    let options = Options { checkpoint_bytes: 3000, segment_bytes: 2000, ..Options::default() };
    let mut home = InDirectory::new(World::start(), options);
    for step in script(4, Keep::One) {
        home.clock().advance(step.pass);
        step.write.apply(&*home.engine(), home.clock().now()).await.unwrap();
    }
    let id = board("kept");
    home.engine().put_board(&id, definition("{}")).await.unwrap();
    let scores = vec![points("a", 2), points("b", 1), points("c", 9)];
    home.engine().submit(&id, scores).await.unwrap();
    home.engine().close_season(&id, None).await.unwrap();
    home.restart().await;
    home.engine().remove_entry(&id, &SeasonRef::Previous, &player("c")).await.unwrap();
    settled(&home.embedded()).await;
    let shown = everything(&*home.engine()).await;
    home.stop().await;
    (home, shown)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_has_one_server() {
    let mut home = InDirectory::usual();
    let options = home.options.clone();
    let second = || Embedded::open(options.clone(), Arc::new(ManualClock::default()));
    let Err(refused) = second() else { panic!("two servers on one directory") };
    assert!(matches!(refused, OpenError::Locked(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(
        text.contains(home.path().to_str().unwrap()) && text.contains("another server"),
        "{text}"
    );
    assert!(check(home.path(), &mut |_| {}).is_err());
    home.stop().await;
    second().unwrap().shutdown().await;
}

#[test]
fn a_directory_with_other_things_in_it_is_not_taken() {
    let dir = directory();
    std::fs::write(dir.path().join("holiday.jpg"), "not ours").unwrap();
    let options = Options { dir: dir.path().to_owned(), ..Options::default() };
    let opened = Embedded::open(options, Arc::new(ManualClock::default()));
    assert!(matches!(opened.err(), Some(OpenError::NotData(_))));
    assert_eq!(files(dir.path()).len(), 1);
}

/// Neither converted nor half read: not one file of it changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_of_an_earlier_build_is_refused() {
    let mut home = InDirectory::usual();
    home.stop().await;
    let segment = files(&home.path().join("log")).remove(0);
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[8] -= 1;
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&segment, &bytes).unwrap();
    let opened = Embedded::open(home.options.clone(), home.clock()).err().unwrap().to_string();
    let checked = check(home.path(), &mut |_| {}).unwrap_err().to_string();
    let rebuilt = rebuild(home.path(), true, &mut |_| {}).unwrap_err().to_string();
    for refused in [opened, checked, rebuilt] {
        assert!(refused.contains("import them anew into an empty data directory"), "{refused}");
    }
    assert_eq!(std::fs::read(&segment).unwrap(), bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_goes_to_a_new_directory_outside_the_data() {
    let mut home = InDirectory::usual();
    let elsewhere = directory();
    let missing = elsewhere.path().join("missing/copy");
    for path in [Path::new("relative/copy"), &home.path().join("copy"), &missing] {
        let refused = home.engine().backup(path).await;
        assert!(matches!(refused, Err(EngineError::BadRequest(_))), "{refused:?}");
    }
    assert!(!missing.parent().unwrap().exists());
    home.engine().backup(&elsewhere.path().join("copy")).await.unwrap();
    home.stop().await;
}

/// Not from a copy that was broken off, with what has been deleted since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_begins_anew_after_one_that_was_killed() {
    let mut home = InDirectory::usual();
    let id = board("b");
    home.engine().put_board(&id, definition("{}")).await.unwrap();
    submit(&*home.engine(), &id, event("erased", 1, "their-event")).await.unwrap();
    until_in_history(&home).await;
    let copies = directory();
    let (to, partial) = (copies.path().join("copy"), copies.path().join("copy.partial"));
    home.engine().backup(&to).await.unwrap();
    // All but the last two steps.
    std::fs::rename(&to, &partial).unwrap();
    std::fs::write(partial.join("unfinished"), "").unwrap();
    home.engine().erase_player(&player("erased")).await.unwrap();
    submit(&*home.engine(), &id, event("a", 2, "two")).await.unwrap();
    until_in_history(&home).await;
    home.engine().backup(&to).await.unwrap();
    assert_eq!(files(copies.path()), std::slice::from_ref(&to));
    home.stop().await;
    assert_eq!(findings(&to), [""; 0]);
    assert_eq!(rebuilt(&to, false).findings, [""; 0]);
    let options = Options { dir: to, ..Options::default() };
    let copy = Embedded::open(options, home.clock()).unwrap();
    assert_eq!(standing(&*copy, &id, StandingRef::CURRENT).await, [("a".to_owned(), 1, 2)]);
    assert_eq!(copy.shared.history.search(b"their-event").unwrap(), [""; 0]);
    copy.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_removes_nothing_that_is_not_its_own() {
    let mut home = InDirectory::usual();
    let copies = directory();
    let (to, partial) = (copies.path().join("copy"), copies.path().join("copy.partial"));
    // Somebody's whole copy, under a name that is unlucky.
    home.engine().backup(&to).await.unwrap();
    std::fs::rename(&to, &partial).unwrap();
    let refused = home.engine().backup(&to).await;
    assert!(matches!(refused, Err(EngineError::BadRequest(_))), "{refused:?}");
    assert_eq!(findings(&partial), [""; 0]);
    assert_eq!(files(copies.path()), std::slice::from_ref(&partial));
    home.stop().await;
}

async fn until_in_history(home: &InDirectory) {
    let engine = home.embedded();
    until("the history has it", || engine.shared.history.lag() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_server_checks_out_and_equals_its_ledger() {
    let (mut home, shown) = full().await;
    assert_eq!(findings(home.path()), [""; 0]);
    let report = rebuilt(home.path(), false);
    assert_eq!((report.differences, report.findings.len(), report.written), (0, 0, false));
    assert!(report.events > 30, "{report:?}");
    home.start();
    assert_eq!(everything(&*home.engine()).await, shown);
    home.stop().await;
}

/// The path and the content of every file under a directory.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        if path.is_dir() {
            return contents(&path);
        }
        let bytes = std::fs::read(&path).unwrap();
        vec![(path, bytes)]
    };
    files(dir).into_iter().flat_map(read).collect()
}

/// Not even what a start would finish or remove, and a lock of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_changes_no_byte() {
    let (mut home, _) = full().await;
    home.start();
    let backup = directory();
    home.engine().backup(&backup.path().join("copy")).await.unwrap();
    home.stop().await;
    std::fs::write(home.path().join("frozen/1-2-3.standing"), b"nobody names it").unwrap();
    std::fs::write(home.path().join("checkpoint/00000000000000000009.ckpt.tmp"), b"half").unwrap();
    let segment = files(&home.path().join("log")).pop().unwrap();
    let mut torn = std::fs::read(&segment).unwrap();
    let end = torn.iter().rposition(|byte| *byte != 0).unwrap();
    torn[end] ^= 1;
    std::fs::write(&segment, torn).unwrap();
    for dir in [home.path(), &backup.path().join("copy")] {
        let before = contents(dir);
        let report = check(dir, &mut |_| {}).unwrap();
        assert!(report.history_events > 0, "{report:?}");
        let after = contents(dir);
        let paths = |files: &[(PathBuf, _)]| files.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&before), paths(&after));
        for (before, after) in before.into_iter().zip(after) {
            assert!(before == after, "{:?} has changed", before.0);
        }
    }
}

/// A player removed from a closed season replaces its file after the last checkpoint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_replaced_since_the_checkpoint_is_no_finding() {
    let (mut home, _) = full().await;
    home.options.checkpoint_bytes = 1 << 30;
    home.start();
    let id = board("kept");
    home.engine().remove_entry(&id, &SeasonRef::Previous, &player("a")).await.unwrap();
    home.stop().await;
    assert_eq!(findings(home.path()), [""; 0]);
    assert_eq!(rebuilt(home.path(), false).findings, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_or_lost_checkpoint_is_rebuilt_from_the_ledger() {
    for damage in ["byte", "cut", "lost"] {
        let (mut home, shown) = full().await;
        let checkpoint = files(&home.path().join("checkpoint")).pop().unwrap();
        let mut bytes = std::fs::read(&checkpoint).unwrap();
        match damage {
            "byte" => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x40;
                std::fs::write(&checkpoint, bytes).unwrap();
            }
            "cut" => std::fs::write(&checkpoint, &bytes[..bytes.len() - 9]).unwrap(),
            _ => std::fs::remove_file(&checkpoint).unwrap(),
        }
        let clock = Arc::new(ManualClock::new(home.clock().now()));
        let Err(refused) = Embedded::open(home.options.clone(), clock) else {
            panic!("{damage}: it opened all the same")
        };
        assert!(refused.to_string().contains("standings rebuild"), "{damage}: {refused}");
        assert!(!findings(home.path()).is_empty(), "{damage}");
        let report = rebuilt(home.path(), true);
        assert!(report.differences > 0 && report.written, "{damage}: {report:?}");
        assert_eq!(rebuilt(home.path(), false).findings, [""; 0], "{damage}");
        home.start();
        assert_eq!(everything(&*home.engine()).await, shown, "{damage}");
        home.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_or_lost_frozen_season_is_rebuilt_from_the_ledger() {
    for damage in ["rows", "text", "lost"] {
        let (mut home, shown) = full().await;
        // Of the board that was made last: no player has a name there, which would be that of today.
        let board = |path: &PathBuf| -> u32 {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.split('-').next().unwrap().parse().unwrap()
        };
        let file = files(&home.path().join("frozen")).into_iter().max_by_key(board).unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        let last = bytes.len() - 1;
        match damage {
            "rows" => bytes[60] ^= 1,
            _ => bytes[last] ^= 1,
        }
        if damage == "lost" {
            std::fs::remove_file(&file).unwrap();
        } else {
            std::fs::write(&file, bytes).unwrap();
        }
        assert_eq!(findings(home.path()).len(), 1, "{damage}");
        let report = rebuilt(home.path(), true);
        assert!(report.differences > 0 && report.written, "{damage}: {report:?}");
        assert_eq!(rebuilt(home.path(), false).findings, [""; 0], "{damage}");
        home.start();
        assert_eq!(everything(&*home.engine()).await, shown, "{damage}");
        home.stop().await;
        assert_eq!(findings(home.path()), [""; 0], "{damage}");
    }
}

/// Every frozen file is read by a check, those of snapshots too, though no ledger has what they show.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_to_any_frozen_file_is_found() {
    let (home, _) = full().await;
    let report = check(home.path(), &mut |_| {}).unwrap();
    let frozen = files(&home.path().join("frozen"));
    assert_eq!(report.frozen_files, frozen.len() as u64);
    assert!(frozen.len() > 3, "{frozen:?}");
    for file in frozen {
        let bytes = std::fs::read(&file).unwrap();
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(findings(home.path()).len(), 1, "{file:?}");
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(findings(home.path()), [""; 0]);
}

/// Rules may change while nobody has a score, also after someone had one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_changed_after_everyone_left_does_not_trouble_the_ledger() {
    let mut home = InDirectory::usual();
    let id = board("b");
    let engine = home.engine();
    engine.put_board(&id, definition("{}")).await.unwrap();
    engine.submit(&id, vec![points("a", 5), points("a", 6)]).await.unwrap();
    engine.remove_entry(&id, &SeasonRef::Current, &player("a")).await.unwrap();
    engine.put_board(&id, definition(r#"{"rule":"best","order":"asc"}"#)).await.unwrap();
    engine.submit(&id, vec![points("a", 5), points("a", 4), points("a", 7)]).await.unwrap();
    drop(engine);
    home.restart().await;
    let found = standing(&*home.engine(), &id, StandingRef::CURRENT).await;
    assert_eq!(found, [("a".to_owned(), 1, 4)]);
    home.stop().await;
    assert_eq!(rebuilt(home.path(), false).findings, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_under_load_has_everything_acknowledged_before_it() {
    let options = Options { checkpoint_bytes: 20_000, segment_bytes: 30_000, ..Options::default() };
    let mut home = InDirectory::new(World::start(), options);
    let engine = home.embedded();
    let id = board("b");
    engine.put_board(&id, definition(r#"{"season":"daily"}"#)).await.unwrap();
    let target = directory();
    let writers: Vec<_> = (0..4)
        .map(|task| {
            let (engine, id) = (Arc::clone(&engine), id.clone());
            tokio::spawn(async move {
                for round in 0..150 {
                    let event = event(&format!("p{task}"), 1, &format!("{task}-{round}"));
                    submit(&*engine, &id, event).await.unwrap();
                    if task == 0 && round % 40 == 20 {
                        engine.close_season(&id, None).await.unwrap();
                    }
                }
            })
        })
        .collect();
    let mut copies = Vec::new();
    for number in 0..3 {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        let before = total(&*engine, &id).await;
        let to = target.path().join(format!("copy-{number}"));
        let info = engine.backup(&to).await.unwrap();
        assert!(info.path == to && info.sequence > 1 && info.bytes > 100, "{info:?}");
        copies.push((to, before, total(&*engine, &id).await));
    }
    let again = engine.backup(&copies[0].0).await;
    assert!(matches!(again, Err(EngineError::BadRequest(_))), "{again:?}");
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(total(&*engine, &id).await, 600);
    drop(engine);
    for (dir, before, after) in copies {
        assert_eq!(findings(&dir), [""; 0]);
        assert_eq!(rebuilt(&dir, false).findings, [""; 0]);
        let options = Options { dir, ..Options::default() };
        let copy = Embedded::open(options, Arc::new(ManualClock::new(World::start()))).unwrap();
        let found = total(&*copy, &id).await;
        assert!((before..=after).contains(&found), "{found} not in {before}..={after}");
        // It goes on by itself.
        assert!(!submit(&*copy, &id, event("new", 1, "new")).await.unwrap().duplicate);
        copy.shutdown().await;
    }
    home.stop().await;
    assert_eq!(rebuilt(home.path(), false).findings, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_backup_of_a_quiet_server_can_be_used() {
    // With a checkpoint at the very end of the log nothing of the log is needed any more.
    let (mut home, shown) = full().await;
    home.start();
    let copies = directory();
    let paths = ["first", "second", "third"].map(|name| copies.path().join(name));
    for path in &paths {
        home.engine().backup(path).await.unwrap();
        // Let the log drop what it may.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    let again = home.engine().backup(&paths[0]).await;
    assert!(matches!(again, Err(EngineError::BadRequest(_))), "{again:?}");
    for path in &paths {
        assert_eq!(findings(path), [] as [String; 0]);
        assert_eq!(rebuilt(path, false).differences, 0);
        let options = Options { dir: path.clone(), ..Options::default() };
        let copy = Embedded::open(options, home.clock()).unwrap();
        assert_eq!(everything(&*copy).await, shown);
        copy.shutdown().await;
    }
}

/// The sum of all scores of all seasons, which may change meanwhile.
async fn total(engine: &dyn Engine, id: &BoardId) -> i64 {
    let mut sum = 0;
    let query = SeasonsQuery { year: None, before: None, limit: 1000 };
    for season in engine.seasons(id, &query).await.unwrap().seasons {
        let standing = StandingRef::from(SeasonRef::Id(season.span.id));
        let query = PageQuery { standing, limit: 1000, ..PageQuery::default() };
        let page = engine.page(id, &query).await.unwrap();
        sum += page.rows.iter().map(|row| row.score.get()).sum::<i64>();
    }
    sum
}

/// What a process leaves that was killed: all that it had written, and files that it had begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_the_files_under_a_running_server_recovers() {
    let home = InDirectory::usual();
    let id = board("b");
    let engine = home.embedded();
    engine.put_board(&id, definition(r#"{"season":"never"}"#)).await.unwrap();
    for number in 0..50 {
        submit(&*engine, &id, event("a", 1, &format!("e{number}"))).await.unwrap();
    }
    let killed = directory();
    let dir = killed.path().join("data");
    copy(&home.path().join("log"), &dir.join("log"));
    std::fs::create_dir_all(dir.join("frozen")).unwrap();
    std::fs::write(dir.join("frozen/1-2-3.standing"), b"nobody names it").unwrap();
    std::fs::create_dir_all(dir.join("checkpoint")).unwrap();
    std::fs::write(dir.join("checkpoint/00000000000000000009.ckpt.tmp"), b"half").unwrap();
    let options = Options { dir: dir.clone(), ..Options::default() };
    let clock = Arc::new(ManualClock::new(home.clock().now().plus(Millis(1))));
    let recovered = Embedded::open(options, clock).unwrap();
    let found = standing(&*recovered, &id, StandingRef::CURRENT).await;
    assert_eq!(found, [("a".to_owned(), 1, 50)]);
    assert!(submit(&*recovered, &id, event("a", 1, "e49")).await.unwrap().duplicate);
    recovered.shutdown().await;
    for cleared in ["frozen", "checkpoint"] {
        assert_eq!(files(&dir.join(cleared)), Vec::<PathBuf>::new());
    }
    engine.shutdown().await;
}
