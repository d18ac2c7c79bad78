//! One player, a window, given players, a score's place, the distribution.

use standings_core::BoardId;

use super::{
    World,
    world::{by_id, expect, fails, id, lines, offset, score},
};
use crate::{EngineError, StandingRef};

const CURRENT: StandingRef = StandingRef::CURRENT;

/// `p1` is best, at 100 points for each behind.
async fn ladder(world: &World, players: i64) -> BoardId {
    let board = world.forever().await;
    for number in 1..=players {
        world.submit(&board, &format!("p{number:02}"), (players - number + 1) * 100).await;
    }
    board
}

/// No rows, no numbers, no errors.
pub async fn an_empty_board_is_read_as_such(world: &mut World) {
    let board = world.forever().await;
    let engine = world.engine();
    let page = engine.page(&board, &offset(0, 10)).await.unwrap();
    assert_eq!((page.rows.len(), page.players, page.more), (0, 0, false));
    let place = engine.place_of(&board, &CURRENT, score(5), 4).await.unwrap();
    assert_eq!((place.rank.get(), place.around.len()), (1, 0));
    assert!((place.percentile - 100.0).abs() < 1e-9);
    let spread = engine.distribution(&board, &CURRENT).await.unwrap();
    assert_eq!((spread.players, spread.min, spread.max, spread.mean), (0, None, None, None));
    assert_eq!((spread.deciles.len(), spread.histogram.len()), (0, 0));
    let chosen = engine.rows_of(&board, &CURRENT, &[id("a")]).await.unwrap();
    assert_eq!((chosen.rows.len(), chosen.missing, chosen.players), (0, vec![id("a")], 0));
}

/// 100 × (players − players strictly better) / players.
pub async fn an_entry_knows_its_rank_percentile_and_update(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 9), ("b", 5), ("c", 5), ("d", 1)]).await;
    for (player, rank, percentile) in
        [("a", 1, 100.0), ("b", 2, 75.0), ("c", 2, 75.0), ("d", 4, 25.0)]
    {
        let entry = world.entry(&board, player).await;
        assert_eq!((entry.row.rank.get(), entry.row.player.as_str()), (rank, player));
        assert!((entry.percentile - percentile).abs() < 1e-9, "{player}: {}", entry.percentile);
        assert_eq!((entry.standing.season.as_str(), entry.around.len()), ("all", 0));
        assert_eq!((entry.row.at, entry.row.success), (entry.updated_at, None));
    }
}

/// Always 2 × around + 1 rows while the board has as many.
pub async fn a_window_is_filled_up_at_both_edges(world: &mut World) {
    let board = ladder(world, 12).await;
    for (player, first) in [(1, 1), (2, 1), (5, 1), (6, 2), (8, 4), (9, 4), (11, 4), (12, 4)] {
        let who = format!("p{player:02}");
        let entry = world.engine().entry(&board, &CURRENT, &id(&who), Some(4)).await.unwrap();
        let around: Vec<_> = lines(&entry.around).into_iter().map(|line| line.1).collect();
        assert_eq!(around, (first..first + 9).collect::<Vec<_>>(), "{who}");
        assert!(entry.around.iter().any(|row| row.player == id(&who)));
        assert_eq!(entry.row.rank.get(), player);
    }
    let alone = world.engine().entry(&board, &CURRENT, &id("p07"), Some(0)).await.unwrap();
    assert_eq!(lines(&alone.around), expect(&[("p07", 7, 600)]));
}

/// No row twice, none missing.
pub async fn a_window_wider_than_the_board_is_the_board(world: &mut World) {
    let board = ladder(world, 3).await;
    let all = expect(&[("p01", 1, 300), ("p02", 2, 200), ("p03", 3, 100)]);
    for (player, around) in [("p01", 1), ("p02", 4), ("p03", 100)] {
        let entry = world.engine().entry(&board, &CURRENT, &id(player), Some(around)).await;
        assert_eq!(lines(&entry.unwrap().around), all);
    }
}

/// Best first, whatever the order of the question; nobody twice.
pub async fn given_players_come_in_order_and_the_others_are_missing(world: &mut World) {
    let board = ladder(world, 5).await;
    let asked = ["p04", "x", "p01", "p04", "y", "p02", "x"].map(id);
    let chosen = world.engine().rows_of(&board, &CURRENT, &asked).await.unwrap();
    let rows = expect(&[("p01", 1, 500), ("p02", 2, 400), ("p04", 4, 200)]);
    assert_eq!(lines(&chosen.rows), rows);
    let mut missing = chosen.missing;
    missing.dedup();
    assert!(missing.starts_with(&[id("x"), id("y")]), "{missing:?}");
    assert_eq!((chosen.players, chosen.standing.season.as_str()), (5, "all"));
    let none = world.engine().rows_of(&board, &CURRENT, &[]).await.unwrap();
    assert_eq!((none.rows.len(), none.missing.len()), (0, 0));
}

/// As if someone reached the score last.
pub async fn a_place_is_where_a_score_would_stand(world: &mut World) {
    let board = ladder(world, 4).await;
    let place = async |points| {
        let place = world.engine().place_of(&board, &CURRENT, score(points), 1).await.unwrap();
        let around: Vec<_> = lines(&place.around).into_iter().map(|line| line.0).collect();
        (place.rank.get(), place.percentile, around.join(" "))
    };
    assert_eq!(place(500).await, (1, 100.0, "p01 p02".into()));
    assert_eq!(place(400).await, (1, 100.0, "p01 p02".into()));
    assert_eq!(place(250).await, (3, 60.0, "p02 p03".into()));
    assert_eq!(place(200).await, (3, 60.0, "p03 p04".into()));
    assert_eq!(place(-9).await, (5, 20.0, "p03 p04".into()));
    world.board("forever", r#"{"season":"never","ties":"earliest"}"#).await;
    assert_eq!(place(400).await, (2, 100.0, "p01 p02".into()));
}

/// Deciles from the best down; the histogram counts everyone.
pub async fn a_distribution_adds_up(world: &mut World) {
    let board = ladder(world, 50).await;
    let spread = world.engine().distribution(&board, &CURRENT).await.unwrap();
    assert_eq!((spread.players, spread.computed_at), (50, world.now()));
    assert_eq!((spread.min, spread.max), (Some(score(100)), Some(score(5000))));
    assert!((spread.mean.unwrap() - 2550.0).abs() < 1e-6);
    let deciles: Vec<_> = spread.deciles.iter().map(|d| (d.top_percent, d.score.get())).collect();
    let expected: Vec<_> = (1..=9).map(|n| (n * 10, 5000 - (i64::from(n) * 5 - 1) * 100)).collect();
    assert_eq!(deciles, expected);
    let bins = &spread.histogram;
    assert_eq!(bins.iter().map(|bin| bin.players).sum::<u64>(), 50);
    assert_eq!((bins[0].from, bins[bins.len() - 1].to), (score(100), score(5000)));
    for pair in bins.windows(2) {
        assert_eq!(pair[0].to.get() + 1, pair[1].from.get());
    }
    for bin in bins {
        let range = bin.from.get()..=bin.to.get();
        let inside = (1..=50).filter(|n| range.contains(&(n * 100))).count();
        assert_eq!(bin.players, inside as u64, "{bin:?}");
    }
    let low = world.board("low", r#"{"order":"asc","season":"never"}"#).await;
    world.play(&low, &[("a", 1), ("b", 2), ("c", 30)]).await;
    let spread = world.engine().distribution(&low, &CURRENT).await.unwrap();
    assert_eq!((spread.min, spread.max), (Some(score(1)), Some(score(30))));
    assert_eq!((spread.deciles[0].score, spread.deciles[8].score), (score(1), score(30)));
    assert!((spread.mean.unwrap() - 11.0).abs() < 1e-9);
}

/// No division by a range of zero.
pub async fn a_distribution_of_equal_scores_is_one_bin(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", -7), ("b", -7), ("c", -7)]).await;
    let spread = world.engine().distribution(&board, &CURRENT).await.unwrap();
    assert_eq!(
        (spread.min, spread.max, spread.mean),
        (Some(score(-7)), Some(score(-7)), Some(-7.0))
    );
    let bins: Vec<_> =
        spread.histogram.iter().map(|b| (b.from.get(), b.to.get(), b.players)).collect();
    assert_eq!(bins, [(-7, -7, 3)]);
    assert_eq!(spread.deciles.len(), 9);
    assert!(spread.deciles.iter().all(|decile| decile.score == score(-7)));
}

/// Each unknown thing has its own error.
pub async fn what_is_unknown_is_an_error(world: &mut World) {
    let board = world.board("b", "{}").await;
    let nowhere = BoardId::new("nowhere").unwrap();
    let engine = world.engine();
    let player = id("a");
    fails!(engine.entry(&board, &CURRENT, &player, None).await, EngineError::UnknownPlayer(_));
    for season in [StandingRef::PREVIOUS, by_id("2026-12"), by_id("2026-W46"), by_id("2026-11.2")] {
        fails!(
            engine.entry(&board, &season, &player, None).await,
            EngineError::UnknownSeason { .. }
        );
        fails!(
            engine.place_of(&board, &season, score(1), 1).await,
            EngineError::UnknownSeason { .. }
        );
        fails!(engine.distribution(&board, &season).await, EngineError::UnknownSeason { .. });
        fails!(engine.rows_of(&board, &season, &[]).await, EngineError::UnknownSeason { .. });
    }
    fails!(engine.entry(&nowhere, &CURRENT, &player, None).await, EngineError::UnknownBoard(_));
    fails!(engine.page(&nowhere, &offset(0, 1)).await, EngineError::UnknownBoard(_));
    fails!(engine.board(&nowhere).await, EngineError::UnknownBoard(_));
    fails!(engine.delete_board(&nowhere).await, EngineError::UnknownBoard(_));
    fails!(engine.close_season(&nowhere, None).await, EngineError::UnknownBoard(_));
    fails!(engine.player(&player, 10).await, EngineError::UnknownPlayer(_));
}
