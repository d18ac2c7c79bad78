//! An event id counts once.

use standings_core::{Millis, limits::EVENT_ID_WINDOW, rule::Rejection};

use super::{
    World,
    world::{event, expect, id, rank, score},
};
use crate::{EventIds, Receipt, SeasonRef};

fn is_duplicate(receipt: &Receipt, recorded: i64) {
    assert!(receipt.duplicate, "{receipt:?}");
    assert!(!receipt.changed);
    assert_eq!(receipt.score, score(recorded));
    assert_eq!((receipt.previous_score, receipt.previous_rank), (None, None));
}

/// Sent twice, counted once.
pub async fn an_event_id_counts_once(world: &mut World) {
    let board = world.forever().await;
    let first = world.decide(&board, event("a", 5, "e")).await.unwrap();
    assert!(!first.duplicate);
    for _ in 0..3 {
        is_duplicate(&world.decide(&board, event("a", 5, "e")).await.unwrap(), 5);
    }
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 5)]));
}

/// The score as it was answered then, the rank as it is now.
pub async fn a_duplicate_answers_the_recorded_score_and_the_current_rank(world: &mut World) {
    let board = world.forever().await;
    let at = world.now();
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    world.play(&board, &[("a", 3), ("b", 50), ("c", 60)]).await;
    let again = world.decide(&board, event("a", 5, "e")).await.unwrap();
    is_duplicate(&again, 5);
    assert_eq!((rank(&again), again.at, again.season.as_str()), (Some(3), at, "all"));
    // It is no update of the entry.
    assert_eq!(world.entry(&board, "a").await.updated_at, at);
}

/// The same id means the same event; of another player, where the engine can see that.
pub async fn an_event_id_with_other_points_or_player_is_refused(world: &mut World) {
    let board = world.forever().await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    let other_points = world.decide(&board, event("a", 6, "e")).await;
    assert_eq!(other_points, Err(Rejection::EventIdReused));
    let other_player = world.decide(&board, event("b", 5, "e")).await;
    match world.capabilities().event_ids {
        EventIds::OfBoard => {
            assert_eq!(other_player, Err(Rejection::EventIdReused));
            assert_eq!(world.top(&board).await, expect(&[("a", 1, 5)]));
        }
        EventIds::OfPlayer => {
            assert!(!other_player.unwrap().duplicate);
            assert_eq!(world.top(&board).await, expect(&[("a", 1, 5), ("b", 1, 5)]));
        }
    }
}

/// After the sender has mended the submission, the id is still free.
pub async fn a_rejected_submission_uses_up_no_event_id(world: &mut World) {
    let board = world.board("b", r#"{"max_points":10}"#).await;
    assert!(world.decide(&board, event("a", 11, "e")).await.is_err());
    let accepted = world.decide(&board, event("a", 10, "e")).await.unwrap();
    assert_eq!((accepted.score, accepted.duplicate), (score(10), false));
}

/// A batch may hold both copies.
pub async fn an_event_id_counts_once_within_a_batch(world: &mut World) {
    let board = world.forever().await;
    let batch = vec![
        event("a", 5, "e"),
        event("a", 5, "e"),
        event("b", 5, "e"),
        event("b", 7, "f"),
        event("a", 1, "g"),
    ];
    let mut answers = world.batch(&board, batch).await;
    assert_eq!(answers.remove(2), Err(Rejection::EventIdReused));
    let again = answers.remove(1).unwrap();
    is_duplicate(&again, 5);
    // Now, that is after the batch.
    assert_eq!(rank(&again), Some(2));
    assert_eq!(world.top(&board).await, expect(&[("b", 1, 7), ("a", 2, 6)]));
}

/// Durable like the score.
pub async fn an_event_id_counts_once_across_a_restart(world: &mut World) {
    let board = world.forever().await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    world.restart().await;
    is_duplicate(&world.decide(&board, event("a", 5, "e")).await.unwrap(), 5);
    world.restart().await;
    assert_eq!(world.decide(&board, event("a", 4, "e")).await, Err(Rejection::EventIdReused));
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 5)]));
}

/// The window counts from acceptance, to the millisecond.
pub async fn an_event_id_is_forgotten_after_its_window(world: &mut World) {
    let board = world.forever().await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    world.pass(Millis(EVENT_ID_WINDOW.0 - 1)).await;
    is_duplicate(&world.decide(&board, event("a", 5, "e")).await.unwrap(), 5);
    world.pass(Millis(1)).await;
    let new = world.decide(&board, event("a", 5, "e")).await.unwrap();
    assert_eq!((new.score, new.duplicate), (score(10), false));
}

/// The second use has a window of its own, whatever became of the first.
pub async fn an_event_id_is_remembered_again_after_its_window(world: &mut World) {
    let board = world.forever().await;
    for round in 1..=5 {
        for number in 0..20 {
            let event = event("a", 1, &format!("e{number}"));
            let first = world.decide(&board, event.clone()).await.unwrap();
            assert_eq!(
                (first.score, first.duplicate),
                (score((round - 1) * 20 + number + 1), false)
            );
            is_duplicate(
                &world.decide(&board, event).await.unwrap(),
                (round - 1) * 20 + number + 1,
            );
        }
        world.clock().advance(EVENT_ID_WINDOW);
    }
    world.restart().await;
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 100)]));
}

/// Two boards may count the same event.
pub async fn an_event_id_belongs_to_its_board(world: &mut World) {
    let one = world.board("one", "{}").await;
    let two = world.board("two", "{}").await;
    world.decide(&one, event("a", 5, "e")).await.unwrap();
    let other = world.decide(&two, event("b", 6, "e")).await.unwrap();
    assert_eq!((other.score, other.duplicate), (score(6), false));
}

/// The season has been frozen since; its ranks can still be told.
pub async fn a_duplicate_in_a_closed_season_has_its_final_rank(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    world.submit(&board, "b", 6).await;
    world.engine().close_season(&board, None).await.unwrap();
    for _ in 0..2 {
        let again = world.decide(&board, event("a", 5, "e")).await.unwrap();
        is_duplicate(&again, 5);
        assert_eq!((rank(&again), again.season.as_str()), (Some(2), "2026-11"));
        world.restart().await;
    }
    assert_eq!(world.top(&board).await, []);
}

/// It counted once, and its effect was taken back.
pub async fn a_duplicate_of_a_removed_player_has_no_rank(world: &mut World) {
    let board = world.forever().await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    let again = world.decide(&board, event("a", 5, "e")).await.unwrap();
    is_duplicate(&again, 5);
    assert_eq!(rank(&again), None);
    assert_eq!(world.top(&board).await, []);
}

/// A repeat is recognised before any rule is applied.
pub async fn a_duplicate_is_one_whatever_else_has_changed(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","once_per":"day"}"#).await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    is_duplicate(&world.decide(&board, event("a", 5, "e")).await.unwrap(), 5);
    world.board("b", r#"{"season":"never","max_points":1}"#).await;
    let mut repeat = event("a", 5, "e");
    repeat.at = Some(Millis(world.now().0 + 3_600_000));
    repeat.updated_before = Some(Millis(0));
    is_duplicate(&world.decide(&board, repeat).await.unwrap(), 5);
}
