//! Many tasks at once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use standings_core::{BoardId, Millis};

use crate::tests::kit::{InDirectory, board, definition, event, player, points, standing, submit};
use crate::{Options, rebuild};
use standings_engine::{
    BoardsQuery, Engine, EngineError, SeasonRef, SeasonsQuery, StandingRef,
    conformance::{Fixture as _, World},
};

const CURRENT: StandingRef = StandingRef::CURRENT;

async fn forever(engine: &dyn Engine) -> BoardId {
    let id = board("b");
    engine.put_board(&id, definition(r#"{"season":"never"}"#)).await.unwrap();
    id
}

/// Nothing differs between the ledger and what the server had.
fn is_right(dir: &std::path::Path) {
    let report = rebuild(dir, false, &mut |_| {}).unwrap();
    assert_eq!((report.differences, report.findings.len()), (0, 0), "{:?}", report.findings);
    let report = crate::check(dir, &mut |_| {}).unwrap();
    assert_eq!(report.findings, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sums_of_many_tasks_add_up() {
    let mut home = InDirectory::usual();
    let engine = home.embedded();
    let id = forever(&*engine).await;
    let tasks: Vec<_> = (0..16i64)
        .map(|task| {
            let (engine, id) = (Arc::clone(&engine), id.clone());
            tokio::spawn(async move {
                let mut last = BTreeMap::new();
                for round in 0..60 {
                    let who = format!("p{}", (task + round) % 7);
                    let receipt = submit(&*engine, &id, points(&who, 1)).await.unwrap();
                    // A player's score only grows, and every receipt is another score.
                    let before = last.insert(who, receipt.score);
                    assert!(before.is_none_or(|before| before < receipt.score));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let top = standing(&*engine, &id, CURRENT).await;
    assert_eq!(top.iter().map(|row| row.2).sum::<i64>(), 16 * 60);
    drop(engine);
    home.restart().await;
    assert_eq!(standing(&*home.engine(), &id, CURRENT).await, top);
    home.stop().await;
    is_right(home.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_copies_of_an_event_one_counts() {
    let home = InDirectory::usual();
    let engine = home.embedded();
    let id = forever(&*engine).await;
    for round in 0..40 {
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let (engine, id) = (Arc::clone(&engine), id.clone());
                let event = event("a", 1, &format!("e{round}"));
                tokio::spawn(async move { submit(&*engine, &id, event).await.unwrap() })
            })
            .collect();
        let mut counted = 0;
        for task in tasks {
            let receipt = task.await.unwrap();
            counted += i64::from(!receipt.duplicate);
            assert_eq!(receipt.score.get(), round + 1);
        }
        assert_eq!(counted, 1);
    }
    engine.shutdown().await;
}

/// Checkpoints under way all the time, then a restart from the last one and the tail.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_checkpoint_written_under_load_is_exact() {
    let options =
        Options { checkpoint_bytes: 20_000, segment_bytes: 100_000, ..Options::default() };
    let mut home = InDirectory::new(World::start(), options);
    let engine = home.embedded();
    let id = forever(&*engine).await;
    // Enough rows that a scan takes a while, spread over several locks.
    let rows = (0..9000).map(|n| standings_engine::ScoreRow {
        player: player(&format!("p{n:05}")),
        score: standings_core::Score::new(n % 1000).unwrap(),
        at: None,
        user_name: None,
        official_rank: None,
    });
    engine.set_scores(&id, None, rows.collect()).await.unwrap();
    let writers: Vec<_> = (0..4u64)
        .map(|task| {
            let (engine, id) = (Arc::clone(&engine), id.clone());
            tokio::spawn(async move {
                let mut random = standings_engine::conformance::model::Random(task);
                for round in 0..60 {
                    let batch = (0..40).map(|_| {
                        let who = format!("p{:05}", random.below(9200));
                        let value = i64::try_from(random.below(2001)).unwrap() - 1000;
                        points(&who, value)
                    });
                    engine.submit(&id, batch.collect()).await.unwrap();
                    if round % 3 == 0 {
                        let who = player(&format!("p{:05}", random.below(9200)));
                        match engine.remove_entry(&id, &SeasonRef::Current, &who).await {
                            Ok(()) | Err(EngineError::UnknownPlayer(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let before = standing(&*engine, &id, CURRENT).await;
    assert!(before.len() > 8000);
    drop(engine);
    home.restart().await;
    assert_eq!(standing(&*home.engine(), &id, CURRENT).await, before);
    home.stop().await;
    assert!(std::fs::read_dir(home.path().join("checkpoint")).unwrap().count() == 1);
    is_right(home.path());
}

/// Readers come at every moment of a change; none meets a board without a season or a file that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_meet_nothing_half_done() {
    let home = InDirectory::usual();
    let engine = home.embedded();
    let id = board("b");
    engine.put_board(&id, definition("{}")).await.unwrap();
    let rows: Vec<_> = (0..60).map(|n| points(&format!("p{n:02}"), n)).collect();
    engine.submit(&id, rows).await.unwrap();
    engine.close_season(&id, None).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (engine, id, done) = (Arc::clone(&engine), id.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut fewest = u64::MAX;
                while !done.load(Ordering::Acquire) {
                    engine.boards(&BoardsQuery { after: None, limit: 10 }).await.unwrap();
                    let query = SeasonsQuery { year: None, before: None, limit: 10 };
                    let seasons = engine.seasons(&id, &query).await.unwrap().seasons;
                    let players = seasons.last().unwrap().players;
                    assert!(players <= fewest, "{players} after {fewest}");
                    fewest = players;
                    let rows = standing(&*engine, &id, StandingRef::PREVIOUS).await;
                    let ranks: Vec<_> = rows.iter().map(|row| row.1).collect();
                    assert_eq!(ranks, (1..=rows.len() as u64).collect::<Vec<_>>());
                    match engine.board(&board("c")).await {
                        Ok(_) | Err(EngineError::UnknownBoard(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for number in 0..50 {
        let who = player(&format!("p{number:02}"));
        engine.remove_entry(&id, &SeasonRef::Previous, &who).await.unwrap();
        engine.put_board(&board("c"), definition("{}")).await.unwrap();
        engine.put_board(&board("c"), definition(r#"{"season":"daily"}"#)).await.unwrap();
        engine.delete_board(&board("c")).await.unwrap();
    }
    done.store(true, Ordering::Release);
    for reader in readers {
        reader.await.unwrap();
    }
    assert_eq!(standing(&*engine, &id, StandingRef::PREVIOUS).await.len(), 10);
    engine.shutdown().await;
}

/// Each submission around the end of a season is in exactly one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_score_is_lost_or_doubled_where_seasons_meet() {
    let options = Options { checkpoint_bytes: 5_000, ..Options::default() };
    let mut home = InDirectory::new(World::start(), options);
    let engine = home.embedded();
    let id = board("b");
    let json = r#"{"season":"*/10 * * * *","grace":"0 seconds"}"#;
    engine.put_board(&id, definition(json)).await.unwrap();
    let accepted = Arc::new(AtomicI64::new(0));
    let writers: Vec<_> = (0..6)
        .map(|task| {
            let (engine, id, accepted) = (Arc::clone(&engine), id.clone(), Arc::clone(&accepted));
            tokio::spawn(async move {
                for _ in 0..80 {
                    submit(&*engine, &id, points(&format!("p{task}"), 1)).await.unwrap();
                    accepted.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut closes = 0;
    while writers.iter().any(|writer| !writer.is_finished()) {
        home.clock().advance(Millis(150_000));
        if closes < 20 {
            engine.close_season(&id, None).await.unwrap();
            closes += 1;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    drop(engine);
    for _ in 0..2 {
        let engine = home.embedded();
        let query = SeasonsQuery { year: None, before: None, limit: 10_000 };
        let mut total = 0;
        for season in engine.seasons(&id, &query).await.unwrap().seasons {
            let rows = standing(&*engine, &id, SeasonRef::Id(season.span.id).into()).await;
            total += rows.iter().map(|row| row.2).sum::<i64>();
        }
        assert_eq!(total, accepted.load(Ordering::Relaxed));
        drop(engine);
        home.restart().await;
    }
    home.stop().await;
    is_right(home.path());
}
