//! Snapshots on demand, and how they are read.

use standings_core::BoardId;

use super::{
    World,
    recall::{LATEST, day, on},
    seasons_closed::ask,
    world::{by_id, definition_of, expect, fails, id, row, score},
};
use crate::{EngineError, Filter, PageQuery, SeasonRef, SnapshotInfo, SnapshotsQuery, StandingRef};

/// Whatever happens to the board afterwards.
pub async fn a_snapshot_is_what_the_board_was(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.play(&board, &[("a", 3), ("b", 2), ("c", 2), ("d", 1)]).await;
    assert_eq!(world.take(&board).await, ("2026-11-15".into(), 4));
    let then = expect(&[("a", 1, 3), ("b", 2, 2), ("c", 2, 2), ("d", 4, 1)]);
    // It can be read when the call returns, and nothing that follows shows in it.
    assert_eq!(world.top_of(&board, on("2026-11-15")).await, then);
    world.play(&board, &[("d", 10), ("e", 7)]).await;
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    world.engine().set_scores(&board, None, vec![row("b", -9, None)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.top_of(&board, on("2026-11-15")).await, then);
        let query = PageQuery { standing: LATEST, limit: 2, ..PageQuery::default() };
        let page = world.engine().page(&board, &query).await.unwrap();
        assert_eq!((page.players, page.more, page.rows.len()), (4, true, 2));
        assert_eq!(page.standing.season.as_str(), "2026-11");
        assert_eq!(page.standing.snapshot, Some(day("2026-11-15")));
        let now = expect(&[("d", 1, 11), ("e", 2, 7), ("c", 3, 2), ("b", 4, -9)]);
        assert_eq!(world.top(&board).await, now);
        world.restart().await;
    }
}

/// The later one counts, wholly.
pub async fn a_snapshot_of_the_same_date_replaces_the_earlier(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.play(&board, &[("a", 3), ("b", 2)]).await;
    world.take(&board).await;
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    world.play(&board, &[("c", 9)]).await;
    assert_eq!(world.take(&board).await, ("2026-11-15".into(), 2));
    for _ in 0..2 {
        assert_eq!(world.dates(&board).await, ["2026-11-15"]);
        let rows = expect(&[("c", 1, 9), ("b", 2, 2)]);
        assert_eq!(world.top_of(&board, on("2026-11-15")).await, rows);
        assert_eq!(world.days_of("a", None).await, [""; 0]);
        assert_eq!(world.days_of("b", None).await, ["2026-11-15 b - 2 2 -"]);
        world.restart().await;
    }
}

/// Newest first, and the newest is `latest`.
pub async fn snapshots_are_listed_by_page(world: &mut World) {
    let board = world.board("b", "{}").await;
    let other = world.board("other", "{}").await;
    for date in 15..20 {
        world.turn_to(&format!("2026-11-{date}T09:00:00Z")).await;
        world.submit(&board, &format!("p{date}"), date).await;
        world.take(&board).await;
        assert_eq!(world.top_of(&board, LATEST).await[0].2, date);
    }
    world.take(&other).await;
    for _ in 0..2 {
        let list = async |before: Option<&str>, limit| {
            let query = SnapshotsQuery { before: before.map(day), limit };
            let page = world.engine().snapshots(&board, &query).await.unwrap();
            let shown = page.snapshots.iter().map(|SnapshotInfo { date, players }| {
                format!("{}:{}", &date.to_string()[8..], players.expect("it can be read"))
            });
            (shown.collect::<Vec<_>>().join(" "), page.more)
        };
        assert_eq!(list(None, 10).await, ("19:5 18:4 17:3 16:2 15:1".into(), false));
        assert!(!list(None, 5).await.1);
        assert_eq!(list(None, 2).await, ("19:5 18:4".into(), true));
        assert_eq!(list(Some("2026-11-18"), 2).await, ("17:3 16:2".into(), true));
        assert_eq!(list(Some("2026-11-16"), 2).await, ("15:1".into(), false));
        assert_eq!(list(Some("2026-11-15"), 2).await, (String::new(), false));
        assert_eq!(list(Some("2030-01-01"), 1).await, ("19:5".into(), true));
        assert_eq!(world.dates(&other).await, ["2026-11-19"]);
        world.restart().await;
    }
}

/// Pages, ranges, windows, given players, places, percentiles, deciles.
pub async fn a_snapshot_answers_every_question(world: &mut World) {
    for order in ["desc", "asc"] {
        let definition = format!(r#"{{"order":"{order}","goal":50,"rule":"latest"}}"#);
        let board = world.board(order, &definition).await;
        for number in 0..60 {
            world.submit(&board, &format!("p{number:02}"), number * 7 % 61).await;
        }
        let before = ask(world, &board, StandingRef::CURRENT).await;
        world.take(&board).await;
        assert_eq!(ask(world, &board, LATEST).await, before);
        world.clock().advance(standings_core::Millis(1000));
        for number in 0..60 {
            world.submit(&board, &format!("p{number:02}"), number).await;
        }
        assert_eq!(ask(world, &board, on("2026-11-15")).await, before);
        world.engine().close_season(&board, None).await.unwrap();
        world.restart().await;
        assert_eq!(ask(world, &board, on("2026-11-15")).await, before);
    }
}

/// Levels 50 to 80 on a date, whatever they are now.
pub async fn a_range_of_scores_is_found_on_a_date(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","ties":"earliest","rule":"latest"}"#).await;
    world.play(&board, &[("a", 90), ("b", 80), ("c", 65), ("d", 50), ("e", 49)]).await;
    world.take(&board).await;
    world.play(&board, &[("a", 60), ("c", 99), ("e", 70)]).await;
    let filter = Filter { min: Some(score(50)), max: Some(score(80)), success: None };
    for (standing, expected) in [
        (LATEST, expect(&[("b", 2, 80), ("c", 3, 65), ("d", 4, 50)])),
        (StandingRef::CURRENT, expect(&[("b", 2, 80), ("e", 3, 70), ("a", 4, 60), ("d", 5, 50)])),
    ] {
        let query = PageQuery { standing, filter, limit: 10, ..PageQuery::default() };
        assert_eq!(super::world::lines(&world.rows(&board, query).await), expected);
    }
}

/// What is past has percentiles and deciles like the present.
pub async fn what_is_past_has_percentiles_and_deciles(world: &mut World) {
    let board = world.board("b", "{}").await;
    for number in 1..=20 {
        world.submit(&board, &format!("p{number:02}"), number * 100).await;
    }
    world.take(&board).await;
    world.engine().close_season(&board, None).await.unwrap();
    world.submit(&board, "p20", 1).await;
    for _ in 0..2 {
        for past in [StandingRef::PREVIOUS, by_id("2026-11"), LATEST] {
            let spread = world.engine().distribution(&board, &past).await.unwrap();
            let deciles: Vec<_> =
                spread.deciles.iter().map(|d| (d.top_percent, d.score.get())).collect();
            let expected: Vec<_> = (1..10u8).map(|n| (n * 10, 2100 - 200 * i64::from(n))).collect();
            assert_eq!(deciles, expected, "{past:?}");
            assert_eq!((spread.players, spread.mean), (20, Some(1050.0)));
            assert_eq!((spread.min, spread.max), (Some(score(100)), Some(score(2000))));
            for (player, percentile) in [("p20", 100.0), ("p19", 95.0), ("p01", 5.0)] {
                let entry = world.engine().entry(&board, &past, &id(player), None).await.unwrap();
                assert!((entry.percentile - percentile).abs() < 1e-9, "{past:?} {player}");
            }
        }
        world.restart().await;
    }
}

/// Neither the wrong date nor the wrong board.
pub async fn an_unknown_snapshot_is_an_error(world: &mut World) {
    let board = world.board("b", "{}").await;
    let nowhere = BoardId::new("nowhere").unwrap();
    world.submit(&board, "a", 1).await;
    for taken in [false, true] {
        if taken {
            world.take(&board).await;
        }
        for standing in [on("2026-11-14"), on("2026-11-16"), LATEST] {
            if taken && standing == LATEST {
                continue;
            }
            let engine = world.engine();
            let (a, ids) = (id("a"), [id("a")]);
            let query = PageQuery { standing: standing.clone(), limit: 1, ..PageQuery::default() };
            fails!(engine.page(&board, &query).await, EngineError::UnknownSnapshot { .. });
            fails!(
                engine.entry(&board, &standing, &a, None).await,
                EngineError::UnknownSnapshot { .. }
            );
            fails!(
                engine.rows_of(&board, &standing, &ids).await,
                EngineError::UnknownSnapshot { .. }
            );
            fails!(
                engine.place_of(&board, &standing, score(1), 1).await,
                EngineError::UnknownSnapshot { .. }
            );
            fails!(
                engine.distribution(&board, &standing).await,
                EngineError::UnknownSnapshot { .. }
            );
        }
    }
    let engine = world.engine();
    let entry = engine.entry(&board, &LATEST, &id("nobody"), None).await;
    fails!(entry, EngineError::UnknownPlayer(_));
    fails!(engine.take_snapshot(&nowhere).await, EngineError::UnknownBoard(_));
    let query = SnapshotsQuery { before: None, limit: 1 };
    fails!(engine.snapshots(&nowhere, &query).await, EngineError::UnknownBoard(_));
}

/// Ranks 1 to N, where the board says so; those beyond are custom ones.
pub async fn the_first_ranks_of_a_snapshot_are_official(world: &mut World) {
    let official = async |world: &World, definition: &str| {
        let board = world.board("b", definition).await;
        world.play(&board, &[("a", 9), ("b", 5), ("c", 5), ("d", 4), ("e", 1)]).await;
        world.take(&board).await;
        let rows = world
            .rows(&board, PageQuery { standing: LATEST, limit: 10, ..PageQuery::default() })
            .await;
        let shown = rows.iter().map(|row| row.official_rank).collect::<Vec<_>>();
        world.engine().delete_board(&board).await.unwrap();
        shown
    };
    let three = r#"{"snapshots":{"official":3,"at":"23:59"}}"#;
    assert_eq!(official(world, three).await, [Some(1), Some(2), Some(2), None, None]);
    let two = r#"{"snapshots":{"official":2,"at":"23:59"},"ties":"earliest"}"#;
    assert_eq!(official(world, two).await, [Some(1), Some(2), None, None, None]);
    assert_eq!(official(world, "{}").await, [None; 5]);
    // The present has none.
    let board = world.board("b", three).await;
    world.submit(&board, "a", 1).await;
    assert_eq!(world.entry(&board, "a").await.row.official_rank, None);
}

/// It is of the season that was, and the next one is of the next.
pub async fn a_snapshot_outlives_its_season(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    world.play(&board, &[("a", 1)]).await;
    world.take(&board).await;
    world.play(&board, &[("a", 1)]).await;
    world.turn_to("2026-11-16T10:00:00Z").await;
    world.play(&board, &[("b", 5)]).await;
    world.take(&board).await;
    world.engine().close_season(&board, None).await.unwrap();
    for _ in 0..2 {
        let seen = async |date: &str| {
            let query = PageQuery { standing: on(date), limit: 10, ..PageQuery::default() };
            let page = world.engine().page(&board, &query).await.unwrap();
            (page.standing.season.to_string(), super::world::lines(&page.rows))
        };
        let first = ("2026-11-15".to_owned(), expect(&[("a", 1, 1)]));
        assert_eq!(seen("2026-11-15").await, first);
        assert_eq!(seen("2026-11-16").await, ("2026-11-16".to_owned(), expect(&[("b", 1, 5)])));
        world.restart().await;
    }
    // After a close on the same day the board is empty, and so is what is taken then.
    assert_eq!(world.take(&board).await, ("2026-11-16".into(), 0));
    assert_eq!(world.top_of(&board, LATEST).await, []);
    let spread = world.engine().distribution(&board, &LATEST).await.unwrap();
    assert_eq!((spread.players, spread.standing.season.as_str()), (0, "2026-11-16.2"));
}

/// Today is where the board is.
pub async fn the_date_of_a_snapshot_is_in_the_zone_of_the_board(world: &mut World) {
    let seoul = world.board("seoul", r#"{"time_zone":"Asia/Seoul"}"#).await;
    let honolulu = world.board("honolulu", r#"{"time_zone":"Pacific/Honolulu"}"#).await;
    world.turn_to("2026-11-15T14:59:59.999Z").await;
    assert_eq!(world.take(&seoul).await.0, "2026-11-15");
    world.turn_to("2026-11-15T15:00:00Z").await;
    assert_eq!(world.take(&seoul).await.0, "2026-11-16");
    world.turn_to("2026-11-16T09:59:59.999Z").await;
    assert_eq!(world.take(&honolulu).await.0, "2026-11-15");
}

/// A goal that is raised later takes back no success.
pub async fn a_snapshot_keeps_its_goal(world: &mut World) {
    let board = world.board("b", r#"{"goal":5}"#).await;
    world.play(&board, &[("a", 4), ("b", 5)]).await;
    world.take(&board).await;
    let definition = definition_of(r#"{"goal":100}"#);
    world.engine().put_board(&board, definition).await.unwrap();
    for _ in 0..2 {
        let filter = Filter { success: Some(true), ..Filter::default() };
        let query = PageQuery { standing: LATEST, filter, limit: 10, ..PageQuery::default() };
        let rows = world.rows(&board, query).await;
        assert_eq!(super::world::lines(&rows), expect(&[("b", 1, 5)]));
        assert_eq!(rows[0].success, Some(true));
        world.restart().await;
    }
}

/// And one of the same id has none.
pub async fn a_deleted_board_takes_its_snapshots_along(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.submit(&board, "a", 1).await;
    world.take(&board).await;
    world.engine().delete_board(&board).await.unwrap();
    let query = SnapshotsQuery { before: None, limit: 1 };
    fails!(world.engine().snapshots(&board, &query).await, EngineError::UnknownBoard(_));
    assert_eq!(world.days_of("a", None).await, [""; 0]);
    world.board("b", "{}").await;
    for _ in 0..2 {
        assert_eq!(world.dates(&board).await, [""; 0]);
        assert_eq!(world.days_of("a", None).await, [""; 0]);
        world.restart().await;
    }
}
