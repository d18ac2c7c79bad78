//! Many submissions at once, scores that are set, and players that are taken off.

use standings_core::{BoardId, Millis, Score, rule::Rejection};

use super::{
    World,
    world::{expect, fails, id, ms, name, rank, row, score, submission, submission_at},
};
use crate::{EngineError, ReceiptRanks, ScoreRow, ScoresSet, SeasonRef};

/// One bad line does not fail the others.
pub async fn each_line_of_a_batch_stands_alone(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","max_points":100}"#).await;
    let future = Millis(world.now().0 + 3_600_000);
    let batch = vec![
        submission("a", 5),
        submission("a", 101),
        submission_at("b", 5, future),
        submission("c", 7),
        submission("a", 1),
    ];
    let answers = world.batch(&board, batch).await;
    let scores: Vec<_> = answers.iter().map(|a| a.as_ref().map(|r| r.score.get())).collect();
    let limits = Rejection::PointsOutOfRange { min: None, max: Some(score(100)) };
    let expected = [Ok(5), Err(&limits), Err(&Rejection::AtInFuture), Ok(7), Ok(6)];
    assert_eq!(scores, expected);
    assert_eq!(world.top(&board).await, expect(&[("c", 1, 7), ("a", 2, 6)]));
}

/// Each line sees what the ones before it have led to, ranks included where the engine tells them by line.
pub async fn a_batch_is_decided_in_order(world: &mut World) {
    let board = world.forever().await;
    let of_line = world.capabilities().receipts == ReceiptRanks::OfLine;
    let batch = [("a", 5), ("b", 6), ("a", 5), ("b", 6), ("c", 20)];
    let batch = batch.map(|(player, points)| submission(player, points)).to_vec();
    let answers = world.batch(&board, batch).await;
    let answers: Vec<_> = answers
        .into_iter()
        .map(|answer| {
            let answer = answer.unwrap();
            let rank = rank(&answer).filter(|_| of_line);
            (answer.previous_score.map(Score::get), answer.score.get(), rank)
        })
        .collect();
    let expected = [
        (None, 5, Some(1)),
        (None, 6, Some(1)),
        (Some(5), 10, Some(1)),
        (Some(6), 12, Some(1)),
        (None, 20, Some(1)),
    ]
    .map(|(before, after, rank)| (before, after, rank.filter(|_| of_line)));
    assert_eq!(answers, expected);
    assert_eq!(world.top(&board).await, expect(&[("c", 1, 20), ("b", 2, 12), ("a", 3, 10)]));
}

/// Nothing asked, nothing answered.
pub async fn an_empty_batch_is_answered(world: &mut World) {
    let board = world.forever().await;
    assert_eq!(world.batch(&board, vec![]).await, []);
    world.engine().set_scores(&board, None, vec![]).await.unwrap();
    assert_eq!(world.engine().board(&board).await.unwrap().players, 0);
}

/// The error names the board.
pub async fn a_submission_to_an_unknown_board_is_an_error(world: &mut World) {
    let unknown = BoardId::new("nowhere").unwrap();
    let engine = world.engine();
    let answer = engine.submit(&unknown, vec![submission("a", 1)]).await;
    fails!(answer, EngineError::UnknownBoard(board) if board == unknown);
    fails!(engine.set_scores(&unknown, None, vec![]).await, EngineError::UnknownBoard(_));
}

/// Import and correction.
pub async fn set_scores_overrules_the_rule(world: &mut World) {
    let board = world.board("b", r#"{"rule":"best","max_points":10}"#).await;
    world.submit(&board, "a", 9).await;
    let submitted = world.now();
    let at = ms("2026-11-03T00:00:00Z");
    world.clock().advance(Millis(1000));
    let named = ScoreRow { user_name: Some(name("Bee")), ..row("b", 500, None) };
    let season = world.engine().set_scores(&board, None, vec![row("a", 3, Some(at)), named]).await;
    assert_eq!(season.unwrap().season.as_str(), "2026-11");
    let a = world.entry(&board, "a").await;
    // A correction is no submission.
    assert_eq!((a.row.score, a.row.at, a.updated_at), (score(3), at, submitted));
    let b = world.entry(&board, "b").await;
    assert_eq!((b.row.at, b.row.rank.get()), (world.now(), 1));
    assert_eq!(b.row.profile.unwrap().name, Some(name("Bee")));
    // From then on the rule goes by what was set.
    let next = world.submit(&board, "a", 4).await;
    assert_eq!((next.score, next.previous_score), (score(4), Some(score(3))));
}

/// Nothing of a refused call is applied.
pub async fn set_scores_refuses_a_row_from_the_future_and_all_others_with_it(world: &mut World) {
    let board = world.forever().await;
    let future = Millis(world.now().0 + 60_001);
    let rows = vec![row("a", 1, None), row("b", 1, Some(future))];
    fails!(
        world.engine().set_scores(&board, None, rows).await,
        EngineError::BadRow { row: 2, rule: Some(Rejection::AtInFuture), .. }
    );
    assert_eq!(world.top(&board).await, []);
}

/// Rows are taken in order.
pub async fn set_scores_takes_the_last_row_of_a_player(world: &mut World) {
    let board = world.forever().await;
    let rows = vec![row("a", 1, None), row("b", 2, None), row("a", 3, None)];
    world.engine().set_scores(&board, None, rows).await.unwrap();
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 3), ("b", 2, 2)]));
}

/// After a failure, or an answer that was lost, all rows are sent again.
pub async fn scores_that_are_set_again_are_the_same(world: &mut World) {
    let board = world.forever().await;
    world.submit(&board, "a", 9).await;
    let at = Some(ms("2026-11-03T00:00:00Z"));
    let rows = || vec![row("a", 1, at), row("b", 2, at), row("a", 3, at)];
    let mut begun = None;
    for _ in 0..3 {
        begun = Some(world.engine().set_scores(&board, begun.as_ref(), rows()).await.unwrap());
        assert_eq!(world.top(&board).await, expect(&[("a", 1, 3), ("b", 2, 2)]));
    }
}

/// A cheater leaves no gap.
pub async fn a_removed_player_is_gone_and_ranks_close_up(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 3), ("b", 2), ("c", 1)]).await;
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    assert_eq!(world.top(&board).await, expect(&[("b", 1, 2), ("c", 2, 1)]));
    assert_eq!(world.engine().board(&board).await.unwrap().players, 2);
    world.restart().await;
    assert_eq!(world.top(&board).await, expect(&[("b", 1, 2), ("c", 2, 1)]));
}

/// What was removed does not come back with the next score.
pub async fn a_removed_player_starts_anew(world: &mut World) {
    let board = world.forever().await;
    world.submit(&board, "a", 100).await;
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    let receipt = world.submit(&board, "a", 1).await;
    assert_eq!((receipt.score, receipt.previous_score), (score(1), None));
    world.restart().await;
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 1)]));
}

/// Board, season and player must be there.
pub async fn removing_someone_without_an_entry_is_an_error(world: &mut World) {
    let board = world.board("b", "{}").await;
    let engine = world.engine();
    let current = SeasonRef::Current;
    fails!(
        engine.remove_entry(&board, &current, &id("a")).await,
        EngineError::UnknownPlayer(player) if player == id("a")
    );
    fails!(
        engine.remove_entry(&board, &SeasonRef::Previous, &id("a")).await,
        EngineError::UnknownSeason { .. }
    );
    let unknown = BoardId::new("nowhere").unwrap();
    fails!(engine.remove_entry(&unknown, &current, &id("a")).await, EngineError::UnknownBoard(_));
}

/// An import comes in many calls, and the current season may be another before the last of them.
pub async fn more_scores_are_set_in_the_season_of_the_first_or_not_at_all(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"1 hour"}"#).await;
    let first =
        async || world.engine().set_scores(&board, None, vec![row("a", 1, None)]).await.unwrap();
    let more = async |begun: &ScoresSet| {
        world.engine().set_scores(&board, Some(begun), vec![row("b", 2, None)]).await
    };
    let begun = first().await;
    assert_eq!(begun.season.as_str(), "2026-11-15");
    more(&begun).await.unwrap();
    assert_eq!(world.top(&board).await, expect(&[("b", 1, 2), ("a", 2, 1)]));
    world.turn_to("2026-11-16T00:00:00Z").await;
    fails!(more(&begun).await, EngineError::SeasonEnded(season) if season == begun.season);
    let begun = first().await;
    world.engine().close_season(&board, None).await.unwrap();
    fails!(more(&begun).await, EngineError::SeasonEnded(season) if season == begun.season);
    let begun = first().await;
    world.engine().delete_board(&board).await.unwrap();
    fails!(more(&begun).await, EngineError::UnknownBoard(_));
    world.board("b", r#"{"season":"daily"}"#).await;
    fails!(more(&begun).await, EngineError::SeasonEnded(season) if season == begun.season);
    assert_eq!(world.top(&board).await, []);
}
