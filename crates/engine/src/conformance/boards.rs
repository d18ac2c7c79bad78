//! Boards: created, changed, deleted.

use standings_core::BoardId;

use super::{
    World,
    recall::LATEST,
    world::{by_id, definition_of, event, expect, fails, id, row, score},
};
use crate::{BoardsQuery, EngineError, Put, SeasonRef};

/// In order of ids, from after any id on, there or not.
pub async fn boards_are_listed_by_page(world: &mut World) {
    for id in ["d", "a", "c-2", "c", "e"] {
        world.board(id, "{}").await;
    }
    for _ in 0..2 {
        let list = async |after: Option<&str>, limit| {
            let query = BoardsQuery { after: after.map(|id| BoardId::new(id).unwrap()), limit };
            let page = world.engine().boards(&query).await.unwrap();
            let ids: Vec<_> = page.boards.iter().map(|board| board.id.to_string()).collect();
            (ids.join(" "), page.more)
        };
        assert_eq!(list(None, 10).await, ("a c c-2 d e".into(), false));
        assert_eq!(list(None, 2).await, ("a c".into(), true));
        assert_eq!(list(Some("c"), 2).await, ("c-2 d".into(), true));
        assert_eq!(list(Some("d"), 1).await, ("e".into(), false));
        assert_eq!(list(Some("b"), 1).await, ("c".into(), true));
        assert_eq!(list(Some("e"), 10).await, (String::new(), false));
        world.restart().await;
    }
}

/// The definition is what was put, the list is in order of ids.
pub async fn a_board_is_created_changed_and_listed(world: &mut World) {
    let engine = world.engine();
    let put = async |board: &str, json: &str| {
        engine.put_board(&BoardId::new(board).unwrap(), definition_of(json)).await.unwrap()
    };
    assert!(world.boards().await.is_empty());
    assert_eq!(put("b", r#"{"title":"One"}"#).await, Put::Created);
    assert_eq!(put("a", r#"{"season":"weekly"}"#).await, Put::Created);
    assert_eq!(put("b", r#"{"title":"Two","goal":5}"#).await, Put::Changed);
    let boards = world.boards().await;
    let shown: Vec<_> = boards.iter().map(|b| (b.id.as_str(), b.season.id.as_str())).collect();
    assert_eq!(shown, [("a", "2026-W46"), ("b", "2026-11")]);
    let b = engine.board(&boards[1].id).await.unwrap().board;
    assert_eq!((b.definition.title(), b.definition.goal()), ("Two", Some(score(5))));
    assert_eq!(world.players(&b.id).await, 0);
    // Absent fields mean their defaults, not what was there.
    put("b", "{}").await;
    assert_eq!(engine.board(&b.id).await.unwrap().board.definition.goal(), None);
}

/// Title, goal, grace and so on may change at any time, the rest only while it means nothing.
pub async fn a_setting_that_decides_the_meaning_of_scores_is_immutable(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.submit(&board, "a", 1).await;
    let fixed = [
        ("order", r#"{"order":"asc"}"#),
        ("rule", r#"{"rule":"best"}"#),
        ("season", r#"{"season":"weekly"}"#),
        ("week_starts", r#"{"week_starts":"sunday"}"#),
        ("time_zone", r#"{"time_zone":"Asia/Seoul"}"#),
        ("partitions", r#"{"partitions":{"by":"hash","count":4}}"#),
    ];
    for closed in [false, true] {
        if closed {
            world.engine().close_season(&board, None).await.unwrap();
        }
        for (field, json) in fixed {
            let answer = world.engine().put_board(&board, definition_of(json)).await;
            fails!(answer, EngineError::ImmutableSetting(name) if name == field);
        }
    }
    let free = r#"{"title":"T","ties":"earliest","grace":"1 hour","keep":"forever","goal":1,
        "once_per":"day","min_points":0,"max_points":9}"#;
    world.board("b", free).await;
    assert_eq!(world.engine().board(&board).await.unwrap().board.definition.title(), "T");
}

/// A typo in a new board is no reason to delete it.
pub async fn any_setting_may_change_while_no_season_has_scores(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.board("b", r#"{"order":"asc","rule":"best","season":"weekly"}"#).await;
    assert_eq!(world.engine().board(&board).await.unwrap().board.season.id.as_str(), "2026-W46");
    world.play(&board, &[("a", 2), ("b", 1), ("a", 3)]).await;
    for _ in 0..2 {
        assert_eq!(world.top(&board).await, expect(&[("b", 1, 1), ("a", 2, 2)]));
        assert_eq!(world.season_ids(&board).await, ["2026-W46"]);
        world.restart().await;
    }
}

/// Though no season has them any more.
pub async fn a_setting_is_immutable_while_a_snapshot_has_scores(world: &mut World) {
    let taken = world.board("taken", "{}").await;
    world.submit(&taken, "a", 7).await;
    world.take(&taken).await;
    world.engine().remove_entry(&taken, &SeasonRef::Current, &id("a")).await.unwrap();
    let imported = world.board("imported", "{}").await;
    world.import_snapshot(&imported, "2026-02-21", vec![row("a", 7, None)]).await.unwrap();
    for _ in 0..2 {
        for board in [&taken, &imported] {
            let other = definition_of(r#"{"order":"asc"}"#);
            let answer = world.engine().put_board(board, other).await;
            fails!(answer, EngineError::ImmutableSetting("order"));
            assert_eq!(world.top_of(board, LATEST).await, expect(&[("a", 1, 7)]));
        }
        world.restart().await;
    }
    // One without players means nothing.
    let empty = world.board("empty", "{}").await;
    world.take(&empty).await;
    world.board("empty", r#"{"order":"asc"}"#).await;
}

/// The season of a schedule that is back again is a season like any other.
pub async fn a_board_may_change_its_schedule_back_and_forth(world: &mut World) {
    let board = world.board("b", "{}").await;
    for (season, id) in [("daily", "2026-11-15"), ("monthly", "2026-11"), ("never", "all")] {
        world.board("b", &format!(r#"{{"season":"{season}"}}"#)).await;
        assert_eq!(world.season_ids(&board).await, [id]);
        assert_eq!(world.engine().board(&board).await.unwrap().board.season.id.as_str(), id);
    }
    world.board("b", "{}").await;
    world.submit(&board, "a", 1).await;
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    world.turn_to("2026-12-01T00:00:00Z").await;
    world.submit(&board, "a", 1).await;
    assert_eq!(world.season_ids(&board).await, ["2026-12", "2026-11"]);
}

/// Nothing of it can be read.
pub async fn a_deleted_board_is_gone_with_its_seasons(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.submit(&board, "a", 1).await;
    world.engine().close_season(&board, None).await.unwrap();
    world.submit(&board, "a", 2).await;
    world.engine().delete_board(&board).await.unwrap();
    for _ in 0..2 {
        let engine = world.engine();
        fails!(engine.board(&board).await, EngineError::UnknownBoard(_));
        let season = by_id("2026-11");
        fails!(engine.entry(&board, &season, &id("a"), None).await, EngineError::UnknownBoard(_));
        fails!(engine.delete_board(&board).await, EngineError::UnknownBoard(_));
        assert!(world.boards().await.is_empty());
        if let Ok(player) = engine.player(&id("a"), 10).await {
            assert!(player.entries.is_empty());
        }
        drop(engine);
        world.restart().await;
    }
}

/// Neither scores nor seasons nor event ids.
pub async fn a_board_created_anew_inherits_nothing(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.decide(&board, event("a", 5, "e")).await.unwrap();
    world.engine().close_season(&board, None).await.unwrap();
    world.engine().delete_board(&board).await.unwrap();
    world.board("b", r#"{"order":"asc","season":"monthly"}"#).await;
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
    assert_eq!(world.top(&board).await, []);
    let first = world.decide(&board, event("a", 7, "e")).await.unwrap();
    assert_eq!((first.score, first.duplicate, first.previous_score), (score(7), false, None));
    world.restart().await;
    assert!(world.decide(&board, event("a", 7, "e")).await.unwrap().duplicate);
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 7)]));
}

/// The same players on each, with other scores.
pub async fn many_boards_do_not_mix(world: &mut World) {
    let mut boards = Vec::new();
    for number in 0..20 {
        let order = if number % 2 == 0 { "desc" } else { "asc" };
        let json = format!(r#"{{"order":"{order}","season":"never"}}"#);
        boards.push(world.board(&format!("b{number:02}"), &json).await);
    }
    for (number, board) in (0..).zip(&boards) {
        world.play(board, &[("a", number), ("b", 100 - number)]).await;
    }
    world.restart().await;
    for (number, board) in (0..).zip(&boards) {
        let ab = expect(&[("a", 1, number), ("b", 2, 100 - number)]);
        let ba = expect(&[("b", 1, 100 - number), ("a", 2, number)]);
        assert_eq!(world.top(board).await, if number % 2 == 0 { ba } else { ab });
    }
    let player = world.engine().player(&id("a"), 5).await.unwrap();
    let entries: Vec<_> =
        player.entries.iter().map(|e| (e.board.as_str(), e.score.get())).collect();
    assert_eq!(entries, [("b00", 0), ("b01", 1), ("b02", 2), ("b03", 3), ("b04", 4)]);
}
