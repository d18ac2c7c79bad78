//! A player's accepted submissions.

use standings_core::{BoardId, Millis};

use super::{
    World,
    recall::day,
    world::{event, fails, id, ms, row, score, submission, submission_at},
};
use crate::{Cursor, EngineError, EventsPage, EventsQuery, PlayerSnapshotsQuery, SeasonRef};

async fn page(world: &World, before: Option<Cursor>, limit: usize) -> EventsPage {
    let query = EventsQuery { board: None, before, limit };
    world.engine().player_events(&id("a"), &query).await.unwrap()
}

/// By acceptance, not by the time at which they happened.
pub async fn submissions_are_listed_the_last_accepted_first(world: &mut World) {
    let one = world.board("one", r#"{"season":"daily","grace":"1 day"}"#).await;
    let two = world.board("two", r#"{"season":"never","rule":"best"}"#).await;
    world.turn_to("2026-11-16T08:00:00Z").await;
    world.decide(&one, submission("a", 5)).await.unwrap();
    world.decide(&two, event("a", 7, "e-1")).await.unwrap();
    let yesterday = ms("2026-11-15T12:00:00Z");
    world.decide(&one, submission_at("a", 2, yesterday)).await.unwrap();
    world.submit(&one, "b", 100).await;
    world.decide(&one, submission("a", -1)).await.unwrap();
    for _ in 0..2 {
        let on_one = ["one 2026-11-16 -1 4", "one 2026-11-15 2 2", "one 2026-11-16 5 5"];
        assert_eq!(world.events("a", Some(&one)).await, on_one);
        assert_eq!(world.events("a", Some(&two)).await, ["two all 7 7"]);
        let all = [on_one[0], on_one[1], "two all 7 7", on_one[2]];
        assert_eq!(world.events("a", None).await, all);
        let events = page(world, None, 10).await.events;
        assert_eq!((events[1].at, events[0].at), (yesterday, world.now()));
        let given = events[2].event_id.as_ref().map(ToString::to_string);
        assert_eq!((given.as_deref(), &events[1].event_id), (Some("e-1"), &None));
        world.restart().await;
    }
}

/// It was accepted; the score that it led to is the one that stood.
pub async fn a_submission_that_changed_nothing_is_in_the_history(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","rule":"best"}"#).await;
    world.play(&board, &[("a", 5), ("a", 3), ("a", 5), ("a", 8)]).await;
    let all = ["b all 8 8", "b all 5 5", "b all 3 5", "b all 5 5"];
    assert_eq!(world.events("a", None).await, all);
    // It tells when each happened, not when the score was reached.
    let events = page(world, None, 10).await.events;
    let times: Vec<_> = events.iter().map(|event| event.at.0 - World::start().0).collect();
    assert_eq!(times, [3000, 2000, 1000, 0]);
}

/// While new ones arrive between any two pages.
pub async fn the_history_is_paged_without_gap_or_duplicate(world: &mut World) {
    let one = world.forever().await;
    let two = world.board("two", "{}").await;
    for points in 0..20 {
        world.submit(if points % 3 == 0 { &two } else { &one }, "a", points).await;
        world.submit(&one, "b", points).await;
    }
    for board in [None, Some(one.clone()), Some(two.clone())] {
        let all = world.events("a", board.as_ref()).await.len();
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let query = EventsQuery { board: board.clone(), before, limit: 3 };
            let page = world.engine().player_events(&id("a"), &query).await.unwrap();
            seen.extend(page.events.iter().map(|event| event.points.get()));
            assert!(page.events.len() == 3 || page.next.is_none());
            assert_eq!(page.next.is_some(), seen.len() < all);
            before = page.next;
            world.decide(&one, submission("a", 1000)).await.unwrap();
            world.decide(&two, submission("a", 1000)).await.unwrap();
            if before.is_none() {
                break;
            }
        }
        let on = |points: &i64| match &board {
            None => true,
            Some(board) => (points % 3 == 0) == (*board == two),
        };
        let old: Vec<_> = seen.iter().copied().filter(|points| *points < 1000).collect();
        let expected: Vec<_> = (0..20).rev().filter(on).collect();
        assert_eq!((seen.len(), old), (all, expected), "{board:?}");
    }
}

/// The last page says that it is the last, also when it is full.
pub async fn a_full_last_page_has_no_next(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 1), ("a", 2), ("a", 3), ("a", 4)]).await;
    let first = page(world, None, 2).await;
    assert_eq!((first.events.len(), first.next.is_some()), (2, true));
    let last = page(world, first.next.clone(), 2).await;
    assert_eq!((last.events.len(), &last.next), (2, &None));
    assert_eq!(last.events[1].points, score(1));
    assert_eq!(page(world, None, 4).await.next, None);
    // A mark is still good after a restart.
    world.restart().await;
    assert_eq!(page(world, first.next, 2).await, last);
}

/// No wait between the receipt and the read.
pub async fn what_a_receipt_was_given_for_is_in_the_history(world: &mut World) {
    let board = world.forever().await;
    for number in 1..=100 {
        let receipt = world.submit(&board, "a", 1).await;
        let events = page(world, None, 1000).await.events;
        assert_eq!(events.len(), number);
        assert_eq!(events[0].score, receipt.score);
        world.submit(&board, "b", 1).await;
    }
}

/// Neither what broke a rule nor a repeat nor an import.
pub async fn what_was_not_accepted_is_not_in_the_history(world: &mut World) {
    let board = world.board("b", r#"{"max_points":10}"#).await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    assert!(world.decide(&board, event("a", 11, "f")).await.is_err());
    assert!(world.decide(&board, event("a", 6, "e")).await.is_err());
    assert!(world.decide(&board, event("a", 5, "e")).await.unwrap().duplicate);
    let old = submission_at("a", 1, ms("2026-09-01T00:00:00Z"));
    assert!(world.decide(&board, old).await.is_err());
    world.engine().set_scores(&board, None, vec![row("a", 70, None)]).await.unwrap();
    world.import(&board, "2026-10", vec![row("a", 80, None)]).await.unwrap();
    world.import_snapshot(&board, "2026-11-01", vec![row("a", 90, None)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.events("a", None).await, ["b 2026-11 5 5"]);
        world.restart().await;
    }
    world.submit(&board, "a", 1).await;
    assert_eq!(world.events("a", None).await, ["b 2026-11 1 71", "b 2026-11 5 5"]);
}

/// And one of the same id begins without any.
pub async fn a_deleted_board_takes_its_history_along(world: &mut World) {
    let (one, two) = (world.board("one", "{}").await, world.board("two", "{}").await);
    for board in [&one, &two, &one] {
        world.submit(board, "a", 1).await;
    }
    world.engine().delete_board(&one).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.events("a", None).await, ["two 2026-11 1 1"]);
        let query = EventsQuery { board: Some(one.clone()), before: None, limit: 10 };
        fails!(
            world.engine().player_events(&id("a"), &query).await,
            EngineError::UnknownBoard(board) if board == one
        );
        world.restart().await;
    }
    world.board("one", "{}").await;
    assert_eq!(world.events("a", Some(&one)).await, [""; 0]);
    assert_eq!(world.seasons_of(&one, "a").await, [""; 0]);
    assert_eq!(world.best_of(&one, "a").await, None);
    world.submit(&one, "a", 7).await;
    for _ in 0..2 {
        assert_eq!(world.events("a", None).await, ["one 2026-11 7 7", "two 2026-11 1 1"]);
        world.restart().await;
    }
}

/// Not even where one id is the beginning of another.
pub async fn histories_of_players_do_not_mix(world: &mut World) {
    let board = world.forever().await;
    let players = ["a", "aa", "ab", "a b", "b", "a ", "1", "10", "é"];
    for round in 1..=3 {
        for (points, player) in (1..).zip(players) {
            world.submit(&board, player, points).await;
        }
        for (points, player) in (1..).zip(players) {
            let expected =
                (1..=round).rev().map(|round| format!("forever all {points} {}", points * round));
            assert_eq!(world.events(player, None).await, expected.collect::<Vec<_>>());
        }
        world.restart().await;
    }
    assert_eq!(world.events("nobody", None).await, [""; 0]);
}

/// The submissions stay what they were when the entry is taken off the open season.
pub async fn a_correction_leaves_later_history_right(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 5), ("a", 6)]).await;
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    world.submit(&board, "a", 2).await;
    let events = page(world, None, 1).await.events;
    assert_eq!((events[0].points, events[0].score), (score(2), score(2)));
    assert_eq!(events[0].at, Millis(World::start().0 + 2000));
}

/// A mark comes from a page, not from a guess.
pub async fn a_mark_that_was_not_given_is_refused(world: &mut World) {
    let board = world.forever().await;
    world.submit(&board, "a", 1).await;
    let engine = world.engine();
    for text in ["nonsense", "-1", "é!", "{}", "99999999999999999999999999"] {
        let before = Some(Cursor(text.to_owned()));
        let query = EventsQuery { board: None, before: before.clone(), limit: 10 };
        fails!(engine.player_events(&id("a"), &query).await, EngineError::BadCursor);
        let query = PlayerSnapshotsQuery {
            before,
            from: Some(day("2026-01-01")),
            limit: 10,
            ..PlayerSnapshotsQuery::default()
        };
        fails!(engine.player_snapshots(&id("a"), &query).await, EngineError::BadCursor);
    }
    let query =
        EventsQuery { board: Some(BoardId::new("nowhere").unwrap()), before: None, limit: 1 };
    fails!(engine.player_events(&id("a"), &query).await, EngineError::UnknownBoard(_));
}
