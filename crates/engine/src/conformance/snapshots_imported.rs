//! Snapshots from elsewhere.

use standings_core::BoardId;

use super::{
    World,
    recall::{LATEST, day, on},
    world::{expect, fails, ms, name, row},
};
use crate::{EngineError, PageQuery, ScoreRow};

fn ranked(player: &str, points: i64, official_rank: u32) -> ScoreRow {
    ScoreRow { official_rank: Some(official_rank), ..row(player, points, None) }
}

/// What someone else says stays; the rank is computed beside it.
pub async fn an_imported_snapshot_keeps_official_ranks(world: &mut World) {
    let board = world.board("b", "{}").await;
    let named = ScoreRow { user_name: Some(name("Cee")), ..ranked("c", 70, 7) };
    let rows = vec![row("a", 50, None), ranked("b", 90, 3), named, ranked("d", 50, 1)];
    assert_eq!(world.import_snapshot(&board, "2026-02-21", rows).await.unwrap(), 4);
    for _ in 0..2 {
        let standing = on("2026-02-21");
        let top = expect(&[("b", 1, 90), ("c", 2, 70), ("a", 3, 50), ("d", 3, 50)]);
        assert_eq!(world.top_of(&board, standing.clone()).await, top);
        let query = PageQuery { standing: standing.clone(), limit: 10, ..PageQuery::default() };
        let rows = world.rows(&board, query).await;
        let official: Vec<_> = rows.iter().map(|row| row.official_rank).collect();
        assert_eq!(official, [Some(3), Some(7), None, Some(1)]);
        assert_eq!(world.name_on(&board, &standing, "c").await.as_deref(), Some("Cee"));
        assert_eq!(world.days_of("c", None).await, ["2026-02-21 b Cee 70 2 7"]);
        assert_eq!(world.days_of("a", None).await, ["2026-02-21 b - 50 3 -"]);
        assert_eq!(world.top(&board).await, []);
        world.restart().await;
    }
}

/// Wherever it belongs in time; the newest is still the newest.
pub async fn an_imported_snapshot_is_listed_by_its_date(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.submit(&board, "a", 1).await;
    world.take(&board).await;
    for date in ["2025-12-31", "2026-11-14", "2026-01-01"] {
        world.import_snapshot(&board, date, vec![row("a", 9, None)]).await.unwrap();
    }
    for _ in 0..2 {
        let dates = ["2026-11-15", "2026-11-14", "2026-01-01", "2025-12-31"];
        assert_eq!(world.dates(&board).await, dates);
        assert_eq!(world.top_of(&board, LATEST).await, expect(&[("a", 1, 1)]));
        world.restart().await;
    }
}

/// Wholly: nothing of the old rows stays, whether taken or imported.
pub async fn an_imported_snapshot_replaces_the_date_whole(world: &mut World) {
    let board = world.board("b", r#"{"order":"asc"}"#).await;
    world.play(&board, &[("a", 1), ("b", 2)]).await;
    world.take(&board).await;
    let rows = vec![row("b", 20, None), row("c", 10, None)];
    assert_eq!(world.import_snapshot(&board, "2026-11-15", rows).await.unwrap(), 2);
    for _ in 0..2 {
        assert_eq!(world.dates(&board).await, ["2026-11-15"]);
        let top = expect(&[("c", 1, 10), ("b", 2, 20)]);
        assert_eq!(world.top_of(&board, on("2026-11-15")).await, top);
        assert_eq!(world.days_of("a", None).await, [""; 0]);
        world.restart().await;
    }
    assert_eq!(world.import_snapshot(&board, "2026-11-15", vec![]).await.unwrap(), 0);
    assert_eq!(world.top_of(&board, on("2026-11-15")).await, []);
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 1), ("b", 2, 2)]));
}

/// Nor does one that was given up.
pub async fn a_snapshot_with_a_player_twice_changes_nothing(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.import_snapshot(&board, "2026-10-01", vec![row("a", 1, None)]).await.unwrap();
    let rows = vec![row("x", 1, None), row("y", 1, None), row("x", 2, None)];
    fails!(
        world.import_snapshot(&board, "2026-10-01", rows).await,
        EngineError::BadRow { row: 3, rule: None, why } if why.contains('x')
    );
    for date in ["2026-10-01", "2026-10-02"] {
        let mut import = world.engine().import_snapshot(&board, day(date)).await.unwrap();
        import.rows(vec![row("z", 1, None)]).await.unwrap();
        assert_eq!(world.dates(&board).await, ["2026-10-01"]);
    }
    for _ in 0..2 {
        assert_eq!(world.dates(&board).await, ["2026-10-01"]);
        assert_eq!(world.top_of(&board, LATEST).await, expect(&[("a", 1, 1)]));
        for player in ["x", "y", "z"] {
            assert_eq!(world.days_of(player, None).await, [""; 0]);
        }
        world.restart().await;
    }
}

/// Today in the board's zone is the last date.
pub async fn a_snapshot_of_the_future_cannot_be_imported(world: &mut World) {
    let board = world.board("b", r#"{"time_zone":"Asia/Seoul"}"#).await;
    let import = async |date: &str| world.import_snapshot(&board, date, vec![]).await;
    fails!(
        import("2026-11-16").await,
        EngineError::SnapshotInFuture(date) if date == day("2026-11-16")
    );
    assert_eq!(import("2026-11-15").await.unwrap(), 0);
    world.clock().set(ms("2026-11-15T15:00:00Z"));
    assert_eq!(import("2026-11-16").await.unwrap(), 0);
    fails!(import("2026-11-17").await, EngineError::SnapshotInFuture(_));
    let nowhere = BoardId::new("nowhere").unwrap();
    fails!(
        world.import_snapshot(&nowhere, "2026-11-01", vec![]).await,
        EngineError::UnknownBoard(_)
    );
}

/// East of Greenwich it begins before the first instant that can be written.
pub async fn a_snapshot_of_the_first_date_can_be_read(world: &mut World) {
    let board = world.board("b", r#"{"time_zone":"Asia/Seoul"}"#).await;
    world.import_snapshot(&board, "0000-01-01", vec![row("a", 1, None)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.top_of(&board, on("0000-01-01")).await, expect(&[("a", 1, 1)]));
        assert_eq!(world.dates(&board).await, ["0000-01-01"]);
        world.restart().await;
    }
}
