//! Closed seasons from elsewhere.

use standings_core::{BoardId, Millis, rule::Rejection};

use super::{
    World,
    world::{by_id, expect, fails, id, ms, name, row, score, season_id},
};
use crate::{EngineError, IMPORT_EXPIRY, ScoreRow, SeasonState, StandingRef};

/// A past that the board never had, with rows in any order.
pub async fn an_imported_season_is_ranked(world: &mut World) {
    let board = world.board("b", r#"{"goal":5}"#).await;
    let at = |day| Some(ms(&format!("2025-03-{day:02}T00:00:00Z")));
    let named = ScoreRow { user_name: Some(name("Cee")), ..row("c", 9, at(3)) };
    let rows = vec![row("a", 5, at(2)), named, row("b", 5, at(1)), row("d", -1, at(4))];
    assert_eq!(world.import(&board, "2025-03", rows).await.unwrap(), 4);
    let season = by_id("2025-03");
    let top = expect(&[("c", 1, 9), ("b", 2, 5), ("a", 2, 5), ("d", 4, -1)]);
    assert_eq!(world.top_of(&board, season.clone()).await, top);
    let entry = world.engine().entry(&board, &season, &id("c"), None).await.unwrap();
    assert_eq!((entry.row.at, entry.row.success), (at(3).unwrap(), Some(true)));
    assert_eq!(entry.row.profile.unwrap().name, Some(name("Cee")));
    let seasons = world.seasons(&board).await;
    let shown: Vec<_> = seasons.iter().map(|s| (s.span.id.as_str(), s.state, s.players)).collect();
    let expected = [("2026-11", SeasonState::Open, 0), ("2025-03", SeasonState::Closed, 4)];
    assert_eq!(shown, expected);
    assert_eq!(world.top(&board).await, []);
    // The present goes on.
    assert_eq!(world.submit(&board, "a", 1).await.season.as_str(), "2026-11");
}

/// Wholly: nothing of the old rows stays.
pub async fn an_import_replaces_the_season_whole(world: &mut World) {
    let board = world.board("b", r#"{"order":"asc"}"#).await;
    world.play(&board, &[("a", 1), ("b", 2)]).await;
    world.engine().close_season(&board, None).await.unwrap();
    world.submit(&board, "a", 70).await;
    let rows = vec![row("b", 20, None), row("c", 10, None)];
    assert_eq!(world.import(&board, "2026-11", rows).await.unwrap(), 2);
    assert_eq!(world.top_of(&board, by_id("2026-11")).await, expect(&[("c", 1, 10), ("b", 2, 20)]));
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 70)]));
    assert_eq!(world.import(&board, "2026-11", vec![]).await.unwrap(), 0);
    assert_eq!(world.top_of(&board, by_id("2026-11")).await, []);
}

/// The error names the player; what was there stays.
pub async fn an_import_with_a_player_twice_changes_nothing(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.import(&board, "2026-10", vec![row("a", 1, None)]).await.unwrap();
    let rows = vec![row("x", 1, None), row("y", 1, None), row("x", 2, None)];
    fails!(
        world.import(&board, "2026-10", rows).await,
        EngineError::BadRow { row: 3, rule: None, why } if why.contains('x')
    );
    // Also when it goes on after the error.
    let mut import = world.engine().import_season(&board, &season_id("2026-10")).await.unwrap();
    let mut failed = false;
    for rows in [vec![row("x", 1, None)], vec![row("x", 2, None)]] {
        failed |= import.rows(rows).await.is_err();
    }
    failed |= import.finish().await.is_err();
    assert!(failed);
    assert_eq!(world.top_of(&board, by_id("2026-10")).await, expect(&[("a", 1, 1)]));
}

/// No further ahead than a submission may be.
pub async fn an_import_refuses_a_row_from_the_future(world: &mut World) {
    let board = world.board("b", "{}").await;
    let ahead = |ms: i64| Some(Millis(world.now().0 + ms));
    let (near, far) = (row("a", 1, ahead(60_000)), row("b", 1, ahead(60_001)));
    world.import(&board, "2026-10", vec![near.clone()]).await.unwrap();
    fails!(
        world.import(&board, "2026-10", vec![near, far]).await,
        EngineError::BadRow { row: 2, rule: Some(Rejection::AtInFuture), .. }
    );
    assert_eq!(world.top_of(&board, by_id("2026-10")).await, expect(&[("a", 1, 1)]));
}

/// Nothing shows before the end.
pub async fn an_abandoned_import_changes_nothing(world: &mut World) {
    let board = world.board("b", "{}").await;
    let mut import = world.engine().import_season(&board, &season_id("2026-10")).await.unwrap();
    import.rows(vec![row("a", 1, None)]).await.unwrap();
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
    drop(import);
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
    world.restart().await;
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
}

/// At once, and what it was to replace stays.
pub async fn an_import_that_is_given_up_changes_nothing(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.import(&board, "2026-10", vec![row("a", 1, None)]).await.unwrap();
    let mut import = world.engine().import_season(&board, &season_id("2026-10")).await.unwrap();
    import.rows(vec![row("b", 2, None)]).await.unwrap();
    import.abort().await;
    for _ in 0..2 {
        assert_eq!(world.top_of(&board, by_id("2026-10")).await, expect(&[("a", 1, 1)]));
        world.restart().await;
    }
}

/// The store need not keep what it has taken for one who does not come back.
pub async fn an_import_left_alone_expires(world: &mut World) {
    let board = world.board("b", "{}").await;
    let begun = async || world.engine().import_season(&board, &season_id("2026-10")).await.unwrap();
    let (mut import, mut other) = (begun().await, begun().await);
    for _ in 0..3 {
        import.rows(vec![]).await.unwrap();
        world.pass(Millis(IMPORT_EXPIRY.0 - 1)).await;
    }
    import.rows(vec![row("a", 1, None)]).await.unwrap();
    fails!(other.rows(vec![row("b", 1, None)]).await, EngineError::Conflict(_));
    world.pass(IMPORT_EXPIRY).await;
    fails!(import.finish().await, EngineError::Conflict(_));
    fails!(other.finish().await, EngineError::Conflict(_));
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
}

/// It would be gone at once. The error says which setting to change.
pub async fn what_a_board_does_not_keep_is_not_imported(world: &mut World) {
    let definition = |keep: &str| {
        format!(r#"{{"season":"daily","keep":"{keep}","snapshots":{{"keep":"10 days"}}}}"#)
    };
    let board = world.board("b", &definition("3 days")).await;
    let import = async |season: &str| world.import(&board, season, vec![row("a", 1, None)]).await;
    fails!(import("2026-11-11").await, EngineError::PastRetention { setting: "keep", .. });
    import("2026-11-12").await.unwrap();
    world.board("b", &definition("2 seasons")).await;
    import("2026-11-13").await.unwrap();
    import("2026-11-14").await.unwrap();
    fails!(import("2026-11-12").await, EngineError::PastRetention { setting: "keep", .. });
    world.quiesce().await;
    assert_eq!(world.season_ids(&board).await, ["2026-11-15", "2026-11-14", "2026-11-13"]);
    world.board("b", &definition("forever")).await;
    import("2020-01-01").await.unwrap();
    let day = async |date: &str| world.import_snapshot(&board, date, vec![row("a", 1, None)]).await;
    let setting = "snapshots.keep";
    fails!(day("2026-11-04").await, EngineError::PastRetention { setting: s, .. } if s == setting);
    day("2026-11-06").await.unwrap();
    assert_eq!(world.dates(&board).await, ["2026-11-06"]);
}

/// Its scores were put in order for the board as it was.
pub async fn an_import_that_began_on_another_board_changes_nothing(world: &mut World) {
    let board = world.board("b", "{}").await;
    let began = async || {
        let mut import = world.engine().import_season(&board, &season_id("2026-10")).await.unwrap();
        import.rows(vec![row("a", 1, None), row("b", 2, None)]).await.unwrap();
        import
    };
    let import = began().await;
    world.board("b", r#"{"order":"asc"}"#).await;
    fails!(import.finish().await, EngineError::Conflict(_));
    let import = began().await;
    world.engine().delete_board(&board).await.unwrap();
    world.board("b", r#"{"order":"asc"}"#).await;
    fails!(import.finish().await, EngineError::Conflict(_));
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
    // What gives scores no other meaning does no harm.
    let import = began().await;
    world.board("b", r#"{"order":"asc","title":"T"}"#).await;
    assert_eq!(import.finish().await.unwrap().players, 2);
    assert_eq!(world.top_of(&board, by_id("2026-10")).await, expect(&[("a", 1, 1), ("b", 2, 2)]));
}

/// Neither the current one nor one in its grace.
pub async fn an_open_season_cannot_be_imported(world: &mut World) {
    let board = world.board("b", r#"{"grace":"1 hour"}"#).await;
    let refused = async |season: &str| world.import(&board, season, vec![]).await;
    fails!(refused("2026-11").await, EngineError::SeasonOpen(season) if season == season_id("2026-11"));
    world.turn_to("2026-12-01T00:59:59Z").await;
    fails!(refused("2026-11").await, EngineError::SeasonOpen(_));
    fails!(refused("2026-12").await, EngineError::SeasonOpen(_));
    world.turn_to("2026-12-01T01:00:00Z").await;
    assert_eq!(refused("2026-11").await.unwrap(), 0);
}

/// Of another schedule, of the future, of another board.
pub async fn an_unknown_season_cannot_be_imported(world: &mut World) {
    let board = world.board("b", "{}").await;
    for season in ["2026-12", "2026-W40", "2025", "all", "2025-10.2", "2026-11.2"] {
        fails!(world.import(&board, season, vec![]).await, EngineError::UnknownSeason { .. });
    }
    let unknown = BoardId::new("nowhere").unwrap();
    fails!(world.import(&unknown, "2025-10", vec![]).await, EngineError::UnknownBoard(_));
}

/// At its end, as far as anyone knows.
pub async fn an_imported_row_without_a_time_was_reached_within_the_season(world: &mut World) {
    let board = world.board("b", "{}").await;
    let early = Some(ms("2025-03-05T00:00:00Z"));
    world.import(&board, "2025-03", vec![row("a", 1, None), row("b", 1, early)]).await.unwrap();
    let entry = world.engine().entry(&board, &by_id("2025-03"), &id("a"), Some(1)).await.unwrap();
    let span = &world.seasons(&board).await[1].span;
    assert!(span.contains(entry.row.at), "{:?}", entry.row.at);
    assert!(entry.row.at >= Millis(span.ends_at.0 - 1000));
    assert_eq!(entry.around[0].player, id("b"));
}

/// With names, and beside the seasons that were played.
pub async fn an_import_survives_a_restart(world: &mut World) {
    let board = world.board("b", "{}").await;
    for number in 1..=10 {
        let rows = (0..number)
            .map(|n| ScoreRow {
                user_name: Some(name(&format!("Player {n}"))),
                ..row(&format!("p{n}"), n, None)
            })
            .collect();
        world.import(&board, &format!("2026-{number:02}"), rows).await.unwrap();
    }
    world.submit(&board, "a", 1).await;
    for _ in 0..2 {
        world.restart().await;
        let sizes: Vec<_> = world.seasons(&board).await.iter().map(|s| s.players).collect();
        assert_eq!(sizes, [1, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        let season = StandingRef::PREVIOUS;
        let best = world.engine().entry(&board, &season, &id("p9"), None).await.unwrap();
        assert_eq!((best.row.score, best.row.rank.get()), (score(9), 1));
        assert_eq!(best.row.profile.unwrap().name, Some(name("Player 9")));
    }
}
