//! What points do to a score, and what a receipt says of it.

use standings_core::{
    Millis,
    limits::MAX_SCORE,
    rule::{Rejection, Submission},
};

use super::{
    World,
    world::{expect, ms, previous_rank, rank, row, score, submission, submission_at},
};

/// Points add up; the receipt tells what was and what is.
pub async fn a_sum_adds_points(world: &mut World) {
    let board = world.board("b", "{}").await;
    let first = world.submit(&board, "a", 10).await;
    assert_eq!((first.score, first.previous_score), (score(10), None));
    assert_eq!((rank(&first), previous_rank(&first)), (Some(1), None));
    assert_eq!((first.changed, first.duplicate, first.at), (true, false, world.now()));
    assert_eq!(first.season.as_str(), "2026-11");
    world.submit(&board, "b", 12).await;
    world.clock().advance(Millis(5));
    let second = world.submit(&board, "a", 5).await;
    assert_eq!((second.score, second.previous_score), (score(15), Some(score(10))));
    assert_eq!((rank(&second), previous_rank(&second)), (Some(1), Some(2)));
    assert_eq!((second.changed, second.at), (true, world.now()));
    let less = world.submit(&board, "a", -9).await;
    assert_eq!((less.score, rank(&less), previous_rank(&less)), (score(6), Some(2), Some(1)));
    let none = world.submit(&board, "a", 0).await;
    assert_eq!((none.score, none.changed, rank(&none)), (score(6), false, Some(2)));
    assert_eq!(world.top(&board).await, expect(&[("b", 1, 12), ("a", 2, 6)]));
}

/// A worse or equal run changes neither score nor time.
pub async fn a_best_score_is_kept_until_it_is_beaten(world: &mut World) {
    let board = world.board("b", r#"{"rule":"best"}"#).await;
    let reached = world.now();
    world.submit(&board, "a", 50).await;
    for (points, score_after, changed) in [(40, 50, false), (50, 50, false), (51, 51, true)] {
        world.clock().advance(Millis(1000));
        let receipt = world.submit(&board, "a", points).await;
        assert_eq!((receipt.score.get(), receipt.changed), (score_after, changed));
        assert_eq!(receipt.at, if changed { world.now() } else { reached });
        let entry = world.entry(&board, "a").await;
        assert_eq!((entry.row.at, entry.updated_at), (receipt.at, world.now()));
    }
}

/// Lap times: the lowest is first.
pub async fn a_low_score_is_better_where_the_board_says_so(world: &mut World) {
    let board = world.board("b", r#"{"rule":"best","order":"asc"}"#).await;
    world.play(&board, &[("a", 61_000), ("b", 59_500), ("c", 70_000)]).await;
    let worse = world.submit(&board, "b", 60_000).await;
    assert_eq!((worse.score, worse.changed, rank(&worse)), (score(59_500), false, Some(1)));
    let better = world.submit(&board, "c", -1).await;
    assert_eq!(
        (better.score, rank(&better), previous_rank(&better)),
        (score(-1), Some(1), Some(3))
    );
    let top = expect(&[("c", 1, -1), ("b", 2, 59_500), ("a", 3, 61_000)]);
    assert_eq!(world.top(&board).await, top);
}

/// An event that happened before the entry's does not replace it.
pub async fn the_latest_score_replaces(world: &mut World) {
    let board = world.board("b", r#"{"rule":"latest"}"#).await;
    world.submit(&board, "a", 50).await;
    let reached = world.now();
    world.clock().advance(Millis(1000));
    let older = submission_at("a", 99, Millis(reached.0 - 1));
    let older = world.decide(&board, older).await.unwrap();
    assert_eq!((older.score, older.changed, older.at), (score(50), false, reached));
    assert_eq!(world.entry(&board, "a").await.updated_at, world.now());
    let newer = world.submit(&board, "a", 7).await;
    assert_eq!((newer.score, newer.changed, newer.at), (score(7), true, world.now()));
    let before = world.now();
    world.clock().advance(Millis(1000));
    let same = world.submit(&board, "a", 7).await;
    assert_eq!((same.score, same.changed, same.at), (score(7), false, before));
}

/// Ranks 1, 2, 2, 4.
pub async fn a_tie_shares_the_rank(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("d", 1), ("c", 5), ("b", 5), ("a", 9)]).await;
    let top = expect(&[("a", 1, 9), ("c", 2, 5), ("b", 2, 5), ("d", 4, 1)]);
    assert_eq!(world.top(&board).await, top);
    let joins = world.submit(&board, "d", 4).await;
    assert_eq!((rank(&joins), previous_rank(&joins)), (Some(2), Some(4)));
    assert_eq!(world.entry(&board, "b").await.row.rank.get(), 2);
}

/// Ranks 1, 2, 3, 4 in order of time.
pub async fn the_earliest_leads_a_tie_where_the_board_says_so(world: &mut World) {
    let board = world.board("b", r#"{"ties":"earliest","season":"never"}"#).await;
    world.play(&board, &[("d", 1), ("c", 5), ("b", 5), ("a", 9)]).await;
    let top = expect(&[("a", 1, 9), ("c", 2, 5), ("b", 3, 5), ("d", 4, 1)]);
    assert_eq!(world.top(&board).await, top);
    // Sent last, but it happened first.
    let early = submission_at("e", 5, World::start());
    assert_eq!(rank(&world.decide(&board, early).await.unwrap()), Some(2));
    assert_eq!(world.entry(&board, "b").await.row.rank.get(), 4);
    world.board("b", r#"{"season":"never"}"#).await;
    assert_eq!(world.entry(&board, "b").await.row.rank.get(), 2);
}

/// Rows are in order of id where nothing else decides; ranks by `earliest` follow.
pub async fn a_tie_at_the_same_instant_is_in_order_of_id_bytes(world: &mut World) {
    let board = world.board("b", r#"{"ties":"earliest"}"#).await;
    for player in ["b", "a", "B", "é", "ab"] {
        world.submit(&board, player, 5).await;
    }
    let top = expect(&[("B", 1, 5), ("a", 2, 5), ("ab", 3, 5), ("b", 4, 5), ("é", 5, 5)]);
    assert_eq!(world.top(&board).await, top);
}

/// Events may arrive in any order.
pub async fn a_sum_was_reached_when_its_last_event_happened(world: &mut World) {
    let board = world.forever().await;
    let late = world.now();
    world.submit(&board, "a", 1).await;
    let early = submission_at("a", 1, Millis(late.0 - 60_000));
    let receipt = world.decide(&board, early).await.unwrap();
    assert_eq!((receipt.score, receipt.at), (score(2), late));
    let ahead = submission_at("a", 1, Millis(late.0 + 500));
    assert_eq!(world.decide(&board, ahead).await.unwrap().at, Millis(late.0 + 500));
}

/// Both limits are inclusive.
pub async fn points_outside_the_limits_are_rejected(world: &mut World) {
    let board = world.board("b", r#"{"min_points":-2,"max_points":10}"#).await;
    let refused = Rejection::PointsOutOfRange { min: Some(score(-2)), max: Some(score(10)) };
    for (points, accepted) in [(-3, false), (-2, true), (10, true), (11, false)] {
        let answer = world.decide(&board, submission("a", points)).await.map(|_| ());
        assert_eq!(answer, if accepted { Ok(()) } else { Err(refused) }, "{points}");
    }
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 8)]));
}

/// Clocks differ; plans are not scores.
pub async fn an_event_may_be_a_minute_ahead_and_no_more(world: &mut World) {
    let board = world.forever().await;
    let at = |ahead: i64| Millis(world.now().0 + ahead);
    let refused = world.decide(&board, submission_at("a", 1, at(60_001))).await;
    assert_eq!(refused, Err(Rejection::AtInFuture));
    let taken = world.decide(&board, submission_at("a", 1, at(60_000))).await.unwrap();
    assert_eq!(taken.at, at(60_000));
}

/// The entry stays as it was, its update time included.
pub async fn a_sum_out_of_range_changes_nothing(world: &mut World) {
    let board = world.forever().await;
    world.submit(&board, "a", MAX_SCORE).await;
    world.submit(&board, "b", -MAX_SCORE).await;
    let then = world.now();
    world.clock().advance(Millis(1000));
    for (player, points) in [("a", 1), ("b", -1), ("a", MAX_SCORE)] {
        let answer = world.decide(&board, submission(player, points)).await;
        assert_eq!(answer, Err(Rejection::ScoreOutOfRange));
    }
    assert_eq!(world.entry(&board, "a").await.updated_at, then);
    assert_eq!(world.top(&board).await, expect(&[("a", 1, MAX_SCORE), ("b", 2, -MAX_SCORE)]));
}

/// `expect.updated_before`.
pub async fn a_condition_on_the_last_update_holds_or_fails(world: &mut World) {
    let board = world.forever().await;
    let with = |points, updated_before| Submission {
        updated_before: Some(updated_before),
        ..submission("a", points)
    };
    let first = world.now();
    // Without an entry it holds, whatever it says.
    assert_eq!(world.decide(&board, with(1, Millis(0))).await.unwrap().score, score(1));
    world.clock().advance(Millis(1000));
    assert_eq!(world.decide(&board, with(1, first)).await, Err(Rejection::ConditionFailed));
    let after = Millis(first.0 + 1);
    assert_eq!(world.decide(&board, with(1, after)).await.unwrap().score, score(2));
    // The update has moved on with it.
    assert_eq!(world.decide(&board, with(1, after)).await, Err(Rejection::ConditionFailed));
}

/// By the server's clock, whatever the event's own time.
pub async fn once_per_day_is_a_calendar_day_of_the_zone(world: &mut World) {
    let board =
        world.board("b", r#"{"season":"never","once_per":"day","time_zone":"Asia/Seoul"}"#).await;
    // Midnight in Seoul is 15:00 UTC.
    world.submit(&board, "a", 1).await;
    world.turn_to("2026-11-15T14:59:59.999Z").await;
    let yesterday = submission_at("a", 1, ms("2026-11-14T00:00:00Z"));
    for again in [submission("a", 1), yesterday] {
        assert_eq!(world.decide(&board, again).await, Err(Rejection::TooSoon));
    }
    world.submit(&board, "b", 1).await;
    world.turn_to("2026-11-15T15:00:00Z").await;
    assert_eq!(world.submit(&board, "a", 1).await.score, score(2));
    assert_eq!(world.decide(&board, submission("a", 1)).await, Err(Rejection::TooSoon));
}

/// By the entry of the season: another season has its own, and what an import set was not submitted.
pub async fn once_per_day_is_judged_by_the_entry_and_counts_submissions_only(world: &mut World) {
    let definition = r#"{"season":"0 12 * * *","grace":"10 minutes","once_per":"day"}"#;
    let board = world.board("b", definition).await;
    let rows = vec![row("a", 7, None), row("c", 7, None)];
    world.engine().set_scores(&board, None, rows).await.unwrap();
    assert_eq!(world.submit(&board, "a", 1).await.score, score(8));
    // Corrected, it has been submitted today all the same.
    world.engine().set_scores(&board, None, vec![row("a", 3, None)]).await.unwrap();
    assert_eq!(world.decide(&board, submission("a", 1)).await, Err(Rejection::TooSoon));
    // 10 a.m. it was: the season ends at noon, the day does not.
    world.turn_to("2026-11-15T12:05:00Z").await;
    let late = |player| submission_at(player, 1, ms("2026-11-15T11:59:00Z"));
    assert_eq!(world.decide(&board, late("b")).await.unwrap().score, score(1));
    assert_eq!(world.decide(&board, late("a")).await, Err(Rejection::TooSoon));
    for player in ["a", "b"] {
        world.submit(&board, player, 1).await;
    }
    world.restart().await;
    world.turn_to("2026-11-15T23:59:59Z").await;
    for player in ["a", "b"] {
        assert_eq!(world.decide(&board, submission(player, 1)).await, Err(Rejection::TooSoon));
    }
    // Twice in one batch is twice in one day.
    let twice = vec![submission("c", 1), submission("c", 1)];
    let answers = world.batch(&board, twice).await;
    assert!(answers[0].is_ok());
    assert_eq!(answers[1], Err(Rejection::TooSoon));
    world.turn_to("2026-11-16T00:00:00Z").await;
    for player in ["a", "b", "c"] {
        world.submit(&board, player, 1).await;
        assert_eq!(world.decide(&board, submission(player, 1)).await, Err(Rejection::TooSoon));
    }
}

/// In a zone that is half an hour off, hours begin at half past.
pub async fn once_per_hour_is_a_calendar_hour_of_the_zone(world: &mut World) {
    let board = world
        .board("b", r#"{"season":"never","once_per":"hour","time_zone":"Asia/Kolkata"}"#)
        .await;
    world.submit(&board, "a", 1).await;
    world.turn_to("2026-11-15T10:29:59.999Z").await;
    assert_eq!(world.decide(&board, submission("a", 1)).await, Err(Rejection::TooSoon));
    world.turn_to("2026-11-15T10:30:00Z").await;
    assert_eq!(world.submit(&board, "a", 1).await.score, score(2));
}
