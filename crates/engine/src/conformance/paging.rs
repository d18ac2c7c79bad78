//! Pages of a standing.

use std::collections::HashMap;

use standings_core::{BoardId, Millis};

use super::{
    World,
    world::{expect, fails, id, lines, offset, row, score},
};
use crate::{EngineError, Filter, PageQuery, Place, Row, SeasonRef, Start};

fn after(row: &Row) -> Start {
    Start::After(Place { score: row.score, at: row.at, player: row.player.clone() })
}

async fn filtered(world: &World, board: &BoardId, filter: Filter) -> String {
    let query = PageQuery { filter, limit: 100, ..PageQuery::default() };
    let page = world.engine().page(board, &query).await.unwrap();
    assert!(!page.more);
    assert_eq!(page.players, 6);
    let rows: Vec<_> = page.rows.iter().map(|r| format!("{}{}", r.player, r.rank)).collect();
    rows.concat()
}

/// However far, or up to the largest offset that there is.
pub async fn an_offset_is_paged_to_or_refused(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 3), ("b", 2), ("c", 1)]).await;
    assert_eq!(lines(&world.rows(&board, offset(2, 10)).await), expect(&[("c", 3, 1)]));
    let most = world.capabilities().max_offset;
    assert_eq!(world.rows(&board, offset(most.unwrap_or(u64::MAX), 10)).await.len(), 0);
    if let Some(most) = most {
        let beyond = world.engine().page(&board, &offset(most + 1, 10)).await;
        fails!(beyond, EngineError::TooDeep(told) if told == most);
    }
}

/// `total`, `players` and `more` as a client needs them.
pub async fn pages_by_offset_cover_the_board(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 5), ("b", 4), ("c", 4), ("d", 4), ("e", 1)]).await;
    let page = async |start, limit| {
        let page = world.engine().page(&board, &offset(start, limit)).await.unwrap();
        assert_eq!((page.players, page.standing.season.as_str()), (5, "all"));
        (lines(&page.rows), page.more)
    };
    assert_eq!(page(0, 2).await, (expect(&[("a", 1, 5), ("b", 2, 4)]), true));
    // A page that begins within a tie knows where the tie begins.
    assert_eq!(page(2, 2).await, (expect(&[("c", 2, 4), ("d", 2, 4)]), true));
    assert_eq!(page(4, 2).await, (expect(&[("e", 5, 1)]), false));
    assert_eq!(page(3, 2).await, (expect(&[("d", 2, 4), ("e", 5, 1)]), false));
    assert_eq!(page(5, 2).await, (vec![], false));
    assert_eq!(page(u64::MAX, 1000).await, (vec![], false));
}

/// From page to page by place, every row once.
pub async fn a_page_after_a_place_goes_on_there(world: &mut World) {
    let board = world.forever().await;
    for number in 0..25 {
        world.submit(&board, &format!("p{number:02}"), number % 4).await;
    }
    let all = world.top(&board).await;
    let mut seen = Vec::new();
    let mut start = Start::Offset(0);
    loop {
        let query = PageQuery { start, limit: 3, ..PageQuery::default() };
        let page = world.engine().page(&board, &query).await.unwrap();
        seen.extend(lines(&page.rows));
        assert_eq!(page.more, seen.len() < 25);
        let Some(last) = page.rows.last().filter(|_| page.more) else { break };
        start = after(last);
    }
    assert_eq!(seen, all);
}

/// Half of the players move up and down between any two pages.
pub async fn a_row_that_does_not_move_appears_once_while_others_move(world: &mut World) {
    let board = world.board("b", r#"{"rule":"latest","season":"never"}"#).await;
    for number in 0..40 {
        world.submit(&board, &format!("p{number:02}"), number * 10 % 130).await;
    }
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut start = Start::Offset(0);
    let mut turn = 0;
    loop {
        let query = PageQuery { start, limit: 3, ..PageQuery::default() };
        let page = world.engine().page(&board, &query).await.unwrap();
        for row in &page.rows {
            *seen.entry(row.player.to_string()).or_default() += 1;
        }
        let Some(last) = page.rows.last() else { break };
        start = after(last);
        world.clock().advance(Millis(1));
        turn += 1;
        for number in (1..40).step_by(2) {
            world.submit(&board, &format!("p{number:02}"), (number * 17 + turn * 41) % 130).await;
        }
        if !page.more {
            break;
        }
    }
    for number in (0..40).step_by(2) {
        assert_eq!(seen.get(&format!("p{number:02}")), Some(&1), "p{number:02}");
    }
}

/// A cursor is a place, not a player.
pub async fn a_page_goes_on_after_a_player_who_left(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 4), ("b", 3), ("c", 2), ("d", 1)]).await;
    let first = world.rows(&board, offset(0, 2)).await;
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("b")).await.unwrap();
    let query = PageQuery { start: after(&first[1]), limit: 2, ..PageQuery::default() };
    assert_eq!(lines(&world.rows(&board, query).await), expect(&[("c", 2, 2), ("d", 3, 1)]));
}

/// Both ends are inclusive, and ranks are those of the whole board.
pub async fn a_range_of_scores_is_found_in_either_order(world: &mut World) {
    let points = [("a", 90), ("b", 80), ("c", 65), ("d", 50), ("e", 50), ("f", 49)];
    let range = |min: Option<i64>, max: Option<i64>| Filter {
        min: min.map(score),
        max: max.map(score),
        success: None,
    };
    let ranges = [
        range(Some(50), Some(80)),
        range(Some(50), None),
        range(None, Some(50)),
        range(Some(81), Some(89)),
        range(Some(80), Some(50)),
        range(None, None),
    ];
    let expected = [
        ("desc", ["b2c3d4e4", "a1b2c3d4e4", "d4e4f6", "", "", "a1b2c3d4e4f6"]),
        ("asc", ["d2e2c4b5", "d2e2c4b5a6", "f1d2e2", "", "", "f1d2e2c4b5a6"]),
    ];
    for (order, expected) in expected {
        let definition = format!(r#"{{"season":"never","order":"{order}"}}"#);
        let board = world.board(order, &definition).await;
        world.play(&board, &points).await;
        for (filter, expected) in ranges.iter().zip(expected) {
            assert_eq!(filtered(world, &board, *filter).await, expected, "{order} {filter:?}");
        }
    }
}

/// At least this good is a success, in either order.
pub async fn success_is_a_filter(world: &mut World) {
    let points = [("a", 5), ("b", 4), ("c", 3), ("d", 2), ("e", 1), ("f", 0)];
    let success = |success| Filter { success: Some(success), ..Filter::default() };
    for (order, met, missed) in [("desc", "a1b2c3", "d4e5f6"), ("asc", "f1e2d3c4", "b5a6")] {
        let definition = format!(r#"{{"season":"never","order":"{order}","goal":3}}"#);
        let board = world.board(order, &definition).await;
        world.play(&board, &points).await;
        assert_eq!(filtered(world, &board, success(true)).await, met);
        assert_eq!(filtered(world, &board, success(false)).await, missed);
        for row in world.rows(&board, offset(0, 10)).await {
            assert_eq!(row.success, Some(met.contains(row.player.as_str())));
        }
        // Without a goal nobody has met it.
        world.board(order, &format!(r#"{{"season":"never","order":"{order}"}}"#)).await;
        assert_eq!(filtered(world, &board, success(true)).await, "");
        assert_eq!(filtered(world, &board, success(false)).await.len(), 12);
    }
}

/// A filtered list is paged like any other.
pub async fn filters_and_cursors_combine(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","goal":20}"#).await;
    let rows = (0..40).map(|n| row(&format!("p{n:02}"), n, None)).collect();
    world.engine().set_scores(&board, None, rows).await.unwrap();
    let filter = Filter { min: Some(score(10)), max: Some(score(30)), success: Some(true) };
    let page = async |start| {
        let query = PageQuery { filter, start, limit: 4, ..PageQuery::default() };
        let page = world.engine().page(&board, &query).await.unwrap();
        let scores: Vec<_> = page.rows.iter().map(|row| row.score.get()).collect();
        (scores, page.more, page.rows.last().map(after))
    };
    let (scores, more, next) = page(Start::Offset(0)).await;
    assert_eq!((scores, more), (vec![30, 29, 28, 27], true));
    let (scores, more, next) = page(next.unwrap()).await;
    assert_eq!((scores, more), (vec![26, 25, 24, 23], true));
    let (scores, more, _) = page(next.unwrap()).await;
    assert_eq!((scores, more), (vec![22, 21, 20], false));
    assert_eq!(page(Start::Offset(9)).await.0, [21, 20]);
    // A place before and one after all that pass.
    let place = |value, player| {
        let place = Place { score: score(value), at: Millis(0), player: id(player) };
        Start::After(place)
    };
    assert_eq!(page(place(100, "x")).await.0, [30, 29, 28, 27]);
    assert_eq!(page(place(5, "x")).await.0, [0i64; 0]);
}
