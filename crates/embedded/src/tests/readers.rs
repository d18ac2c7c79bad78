//! Reads that wait for the disk hold up nothing else.

use std::{sync::Arc, time::Duration};

use standings_core::{Name, rule::Submission};
use tokio::{task::JoinHandle, time::timeout};

use crate::tests::kit::{InDirectory, board, definition, player, points, submit};
use crate::{Embedded, read::threads};
use standings_engine::{Engine, EngineError, Page, PageQuery, Receipt, Result, Row, StandingRef};

/// Far more than anything in memory takes, and less than the store is held up for.
const SOON: Duration = Duration::from_secs(5);

/// A board with so many named players.
async fn named(players: i64) -> InDirectory {
    let home = InDirectory::usual();
    let engine = home.embedded();
    engine.put_board(&board("b"), definition("{}")).await.unwrap();
    for number in 0..players {
        let name = Name::new(&format!("Player {number}")).unwrap();
        let submission = points(&format!("p{number:03}"), number);
        let submission = Submission { user_name: Some(name), ..submission };
        submit(&*engine, &board("b"), submission).await.unwrap();
    }
    home
}

fn page(engine: &Arc<Embedded>, limit: usize) -> JoinHandle<Result<Page>> {
    let engine = Arc::clone(engine);
    tokio::spawn(async move {
        engine.page(&board("b"), &PageQuery { limit, ..PageQuery::default() }).await
    })
}

/// A submission to the first rank, answered soon.
async fn submitted(engine: &Embedded) -> Receipt {
    let board = board("b");
    let receipt = timeout(SOON, submit(engine, &board, points("p007", 100))).await;
    let receipt = receipt.unwrap().unwrap();
    assert_eq!(receipt.rank.unwrap().get(), 1);
    receipt
}

fn names(page: &Page) -> usize {
    let named = |row: &&Row| row.profile.as_ref().is_some_and(|p| p.name.is_some());
    page.rows.iter().filter(named).count()
}

#[tokio::test]
#[expect(clippy::await_holding_lock, reason = "that is what is tried")]
async fn pages_that_wait_for_names_hold_up_neither_submissions_nor_ranks() {
    let mut home = named(40).await;
    let engine = home.embedded();
    // The name of one is known.
    engine.entry(&board("b"), &StandingRef::default(), &player("p007"), None).await.unwrap();
    let gate = engine.shared.history.gate.write();
    let pages: Vec<_> = (0..4).map(|_| page(&engine, 40)).collect();
    tokio::task::yield_now().await;
    for _ in 0..3 {
        let receipt = submitted(&engine).await;
        let (board, which, who) = (board("b"), StandingRef::default(), player("p007"));
        let entry = timeout(SOON, engine.entry(&board, &which, &who, None)).await.unwrap().unwrap();
        assert_eq!(entry.row.score, receipt.score);
    }
    assert!(pages.iter().all(|page| !page.is_finished()), "they wait for the store");
    drop(gate);
    for page in pages {
        assert_eq!(names(&page.await.unwrap().unwrap()), 40);
    }
    drop(engine);
    home.stop().await;
}

#[tokio::test]
#[expect(clippy::await_holding_lock, reason = "that is what is tried")]
async fn more_slow_reads_than_may_wait_are_refused_and_others_are_not() {
    let mut home = named(40).await;
    let engine = home.embedded();
    let gate = engine.shared.history.gate.write();
    let pages: Vec<_> = (0..threads::MOST).map(|_| page(&engine, 40)).collect();
    tokio::task::yield_now().await;
    let refused = page(&engine, 40).await.unwrap();
    assert!(matches!(refused, Err(EngineError::Overloaded { .. })), "{refused:?}");
    submitted(&engine).await;
    drop(gate);
    for page in pages {
        assert_eq!(names(&page.await.unwrap().unwrap()), 40);
    }
    assert_eq!(names(&page(&engine, 40).await.unwrap().unwrap()), 40, "there is room again");
    drop(engine);
    home.stop().await;
}

#[tokio::test]
#[expect(clippy::await_holding_lock, reason = "that is what is tried")]
async fn a_slow_read_waits_a_bounded_time_for_its_turn() {
    let mut home = named(40).await;
    let engine = home.embedded();
    let gate = engine.shared.history.gate.write();
    let running: Vec<_> = (0..threads::RUNNING).map(|_| page(&engine, 40)).collect();
    tokio::task::yield_now().await;
    let waiting = page(&engine, 40);
    tokio::task::yield_now().await;
    tokio::time::pause();
    // And what timers are late by.
    tokio::time::advance(threads::PATIENCE + Duration::from_secs(1)).await;
    let refused = waiting.await.unwrap();
    tokio::time::resume();
    assert!(matches!(refused, Err(EngineError::Overloaded { .. })), "{refused:?}");
    drop(gate);
    for page in running {
        assert_eq!(names(&page.await.unwrap().unwrap()), 40, "one that runs is not broken off");
    }
    drop(engine);
    home.stop().await;
}

#[tokio::test]
#[expect(clippy::await_holding_lock, reason = "that is what is tried")]
async fn reads_that_take_long_do_not_hold_up_those_of_one_standing() {
    let mut home = named(40).await;
    let engine = home.embedded();
    let gate = engine.shared.history.gate.write();
    let long: Vec<_> = (0..2 * threads::RUNNING)
        .map(|_| {
            let engine = Arc::clone(&engine);
            tokio::spawn(async move { engine.player(&player("p030"), 10).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let (board, which) = (board("b"), StandingRef::default());
    timeout(SOON, engine.distribution(&board, &which)).await.unwrap().unwrap();
    assert!(long.iter().all(|read| !read.is_finished()), "they wait for the store");
    drop(gate);
    for read in long {
        assert_eq!(read.await.unwrap().unwrap().entries.len(), 1);
    }
    drop(engine);
    home.stop().await;
}

#[tokio::test]
async fn a_long_page_leaves_the_cache_to_others() {
    let mut home = named(150).await;
    let engine = home.embedded();
    let known = |id: &str| engine.shared.history.known_profile(&player(id)).is_some();
    assert_eq!(names(&page(&engine, 150).await.unwrap().unwrap()), 150);
    assert!(!known("p149"));
    assert_eq!(names(&page(&engine, 100).await.unwrap().unwrap()), 100);
    assert!(known("p149") && known("p050") && !known("p049"));
    drop(engine);
    home.stop().await;
}
