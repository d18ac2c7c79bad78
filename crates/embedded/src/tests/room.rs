//! Seasons that have as many players as they may have.

use standings_core::{
    Millis, Score,
    rule::{Rejection, Submission},
};

use crate::Options;
use crate::tests::kit::{InDirectory, board, definition, event, player, points, standing, submit};
use standings_engine::{
    EngineError, ScoreRow, SeasonRef, StandingRef,
    conformance::{Fixture as _, World, decided},
};

fn row(id: &str, score: i64) -> ScoreRow {
    let score = Score::new(score).unwrap();
    ScoreRow { player: player(id), score, at: None, user_name: None, official_rank: None }
}

/// Three players on a board that may have three.
async fn full() -> InDirectory {
    let home = InDirectory::new(World::start(), Options { max_players: 3, ..Options::default() });
    let json = r#"{"season":"daily","grace":"0 seconds"}"#;
    home.engine().put_board(&board("b"), definition(json)).await.unwrap();
    for id in ["a", "b", "c"] {
        submit(&*home.engine(), &board("b"), points(id, 1)).await.unwrap();
    }
    home
}

async fn decide(
    home: &InDirectory,
    submissions: Vec<Submission>,
) -> Vec<std::result::Result<i64, Rejection>> {
    let answers = home.engine().submit(&board("b"), submissions).await.unwrap();
    answers.into_iter().map(|answer| decided(answer).map(|receipt| receipt.score.get())).collect()
}

#[tokio::test]
async fn a_full_season_takes_no_new_players_and_lets_the_others_go_on() {
    let mut home = full().await;
    let refused = Err(Rejection::BoardFull);
    assert_eq!(decide(&home, vec![event("d", 5, "e-1")]).await, [refused]);
    let both = vec![points("a", 2), points("d", 5), points("b", 3)];
    assert_eq!(decide(&home, both).await, [Ok(3), refused, Ok(4)]);
    home.restart().await;
    assert_eq!(decide(&home, vec![points("d", 5)]).await, [refused], "after a restart as well");
    let rows = standing(&*home.engine(), &board("b"), StandingRef::default()).await;
    let rows: Vec<_> = rows.iter().map(|(id, _, score)| (id.as_str(), *score)).collect();
    assert_eq!(rows, [("b", 4), ("a", 3), ("c", 1)]);

    home.engine().remove_entry(&board("b"), &SeasonRef::Current, &player("c")).await.unwrap();
    // There is room for one of these two; the id of the first was not used up.
    let two = vec![event("d", 5, "e-1"), points("e", 5), points("d", 1)];
    assert_eq!(decide(&home, two).await, [Ok(5), refused, Ok(6)]);

    home.clock().advance(Millis(24 * 3_600_000));
    assert_eq!(decide(&home, vec![points("f", 1)]).await, [Ok(1)], "the next season is empty");
    home.stop().await;
}

#[tokio::test]
async fn an_import_that_does_not_fit_sets_nothing() {
    let mut home = full().await;
    let set = |rows| {
        let engine = home.engine();
        async move { engine.set_scores(&board("b"), None, rows).await.map(drop) }
    };
    set(vec![row("a", 7), row("b", 8), row("a", 9), row("c", 1)]).await.unwrap();
    let error = set(vec![row("a", 1), row("d", 1), row("b", 1)]).await.unwrap_err();
    assert!(matches!(error, EngineError::BadRow { row: 2, .. }), "{error}");
    let rows = standing(&*home.engine(), &board("b"), StandingRef::default()).await;
    let rows: Vec<_> = rows.iter().map(|(id, _, score)| (id.as_str(), *score)).collect();
    assert_eq!(rows, [("a", 9), ("b", 8), ("c", 1)]);
    home.stop().await;
}
