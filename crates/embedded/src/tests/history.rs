//! What a crash leaves of the history: tables that are there, and a position that does not know of them.

use standings_core::{Millis, PlayerId};

use crate::tests::kit::{InDirectory, board, definition, event, player, points, submit};
use crate::{check, rebuild};
use standings_engine::{Engine, EventsQuery, conformance::Fixture as _};

/// A player's events: points and event id, newest first.
async fn events(engine: &dyn Engine, who: &PlayerId) -> Vec<(i64, String)> {
    let query = EventsQuery { board: None, before: None, limit: 1000 };
    let events = engine.player_events(who, &query).await.unwrap().events;
    let id = |id: Option<standings_core::EventId>| id.map(|id| id.to_string()).unwrap_or_default();
    events.into_iter().map(|event| (event.points.get(), id(event.event_id))).collect()
}

fn is_right(home: &InDirectory, stored: u64) {
    let report = rebuild(home.path(), false, &mut |_| {}).unwrap();
    assert_eq!(report.findings, [""; 0]);
    assert_eq!(report.events, 30, "each event counts once");
    let report = check(home.path(), &mut |_| {}).unwrap();
    assert_eq!(report.findings, [""; 0]);
    assert_eq!(report.history_events, stored);
}

/// Events are in tables, and the batch with the position was never written: they are in the log as well, and count once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_a_crash_left_ahead_of_the_position_count_once() {
    let mut home = InDirectory::usual();
    let id = board("b");
    let who = player("p1");
    let engine = home.embedded();
    engine.put_board(&id, definition(r#"{"season":"never"}"#)).await.unwrap();
    engine.shared.history.fail();
    for round in 0..10 {
        let batch = (0..3).map(|n| event(&format!("p{n}"), round, &format!("e{round}-{n}")));
        engine.submit(&id, batch.collect()).await.unwrap();
    }
    let before = events(&*engine, &who).await;
    assert_eq!(before.len(), 10);
    engine.shared.history.break_off().unwrap();
    assert_eq!(events(&*engine, &who).await, before);
    let position = engine.shared.history.position();
    drop(engine);
    home.stop().await;
    is_right(&home, 0);
    home.start();
    let engine = home.embedded();
    assert_eq!(engine.shared.history.position(), position, "nothing of it was noted");
    assert_eq!(events(&*engine, &who).await, before);
    for round in 0..10 {
        let repeated = event("p1", round, &format!("e{round}-1"));
        assert!(submit(&*engine, &id, repeated).await.unwrap().duplicate);
    }
    drop(engine);
    // The end feeds all that waits.
    home.restart().await;
    assert_eq!(events(&*home.engine(), &who).await, before);
    home.stop().await;
    is_right(&home, 30);
}

/// Someone who is erased after such a crash leaves nothing, and whoever comes back under the id has only what is new.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_erased_after_such_a_crash_leaves_nothing() {
    let mut home = InDirectory::usual();
    let id = board("b");
    let who = player("p1");
    let engine = home.embedded();
    engine.put_board(&id, definition(r#"{"season":"never"}"#)).await.unwrap();
    engine.shared.history.fail();
    for round in 0..10 {
        submit(&*engine, &id, event("p1", round, &format!("e{round}"))).await.unwrap();
    }
    engine.shared.history.break_off().unwrap();
    engine.erase_player(&who).await.unwrap();
    home.clock().advance(Millis(1));
    submit(&*engine, &id, points("p1", 7)).await.unwrap();
    drop(engine);
    for _ in 0..3 {
        assert_eq!(events(&*home.engine(), &who).await, [(7, String::new())]);
        home.restart().await;
    }
    let engine = home.embedded();
    assert!(!submit(&*engine, &id, event("p1", 1, "e1")).await.unwrap().duplicate);
    drop(engine);
    home.stop().await;
    assert_eq!(rebuild(home.path(), false, &mut |_| {}).unwrap().findings, [""; 0]);
}
