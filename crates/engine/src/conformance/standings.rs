//! Larger standings, compared with a sorted list.

use std::collections::BTreeMap;

use standings_core::{Millis, limits::MAX_SCORE};

use super::{
    World,
    world::{id, lines, offset, row, score},
};
use crate::{Exactness, PlayerEntry, SeasonRef, StandingRef};

/// After joining, climbing, falling and leaving, position and rank agree for everyone.
pub async fn hundreds_of_players_are_in_order_after_every_kind_of_move(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","rule":"latest"}"#).await;
    let mut model: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut seed = 7u64;
    for round in 0..6 {
        let mut rows = Vec::new();
        for number in 0..400u64 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if round > 0 && !(seed >> 33).is_multiple_of(3) {
                continue;
            }
            let points = i64::try_from((seed >> 40) % 97).unwrap();
            let player = format!("{:024x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            rows.push(row(&player, points, None));
            model.insert(player, (points, world.now().0));
        }
        world.engine().set_scores(&board, None, rows).await.unwrap();
        let gone: Vec<_> = model.keys().step_by(41).cloned().collect();
        for player in gone {
            world.engine().remove_entry(&board, &SeasonRef::Current, &id(&player)).await.unwrap();
            model.remove(&player);
        }
        world.clock().advance(Millis(1));
    }
    let mut sorted: Vec<_> =
        model.iter().map(|(p, (score, at))| (-score, *at, p.clone())).collect();
    sorted.sort();
    let expected: Vec<_> = sorted
        .iter()
        .map(|(folded, _, player)| {
            let better = sorted.iter().filter(|other| other.0 < *folded).count() as u64;
            (player.clone(), better + 1, -folded)
        })
        .collect();
    for restarted in [false, true] {
        if restarted {
            world.restart().await;
        }
        assert_eq!(lines(&world.rows(&board, offset(0, 1000)).await), expected);
        for (player, rank, points) in expected.iter().step_by(13) {
            let entry = world.entry(&board, player).await;
            assert_eq!((entry.row.rank.get(), entry.row.score), (*rank, score(*points)));
        }
    }
}

/// Numbers as large as JSON readers take.
pub async fn scores_at_the_ends_of_the_range_are_ranked(world: &mut World) {
    for order in ["desc", "asc"] {
        let definition = format!(r#"{{"season":"never","order":"{order}"}}"#);
        let board = world.board(order, &definition).await;
        let points = [("low", -MAX_SCORE), ("zero", 0), ("high", MAX_SCORE)];
        world.play(&board, &points).await;
        let mut scores: Vec<_> = points.iter().map(|(_, points)| *points).collect();
        if order == "desc" {
            scores.reverse();
        }
        for (rank, points) in (1..).zip(&scores) {
            let place =
                world.engine().place_of(&board, &StandingRef::CURRENT, score(*points), 9).await;
            let place = place.unwrap();
            assert_eq!((place.rank.get(), place.around.len()), (rank, 3), "{order} {points}");
        }
        let top: Vec<_> = world.top(&board).await.into_iter().map(|line| line.2).collect();
        assert_eq!(top, scores);
        let spread = world.engine().distribution(&board, &StandingRef::CURRENT).await.unwrap();
        assert_eq!(spread.histogram.iter().map(|bin| bin.players).sum::<u64>(), 3);
    }
}

/// Long, short, hexadecimal, with spaces, in any script.
pub async fn ids_of_any_script_are_ranked_by_bytes(world: &mut World) {
    let board = world.forever().await;
    let long = "x".repeat(128);
    let mut ids = vec![
        "a",
        "A",
        "0",
        "00",
        "플레이어",
        "é",
        "e\u{301}",
        "...",
        "a b",
        "-1",
        "1",
        &long,
        "5f9d88b9c3b4e2a1d0f6a7b8",
        "5F9D88B9C3B4E2A1D0F6A7B8",
        "5f9d88b9c3b4e2a1d0f6a7b80",
        "550e8400-e29b-41d4-a716-446655440000",
        "550E8400-E29B-41D4-A716-446655440000",
        "🏆",
    ];
    for player in &ids {
        world.submit(&board, player, 1).await;
    }
    ids.sort_unstable();
    for _ in 0..2 {
        let top: Vec<_> = world.top(&board).await.into_iter().map(|line| line.0).collect();
        assert_eq!(top, ids);
        for player in &ids {
            assert_eq!(world.entry(&board, player).await.row.player.as_str(), *player);
        }
        world.restart().await;
    }
}

/// Every answer is the same after it.
pub async fn a_restart_changes_nothing(world: &mut World) {
    let board = world.board("b", r#"{"goal":30,"title":"The board"}"#).await;
    world.play(&board, &[("a", 10), ("b", 20), ("c", 30), ("b", 25), ("d", 20)]).await;
    let show = |entry: PlayerEntry| {
        let PlayerEntry { standing, exactness, row, percentile, updated_at, around } = entry;
        assert_eq!(exactness, Exactness::Exact);
        let line = lines(std::slice::from_ref(&row));
        (standing, line, row.at, row.success, percentile.to_bits(), updated_at, lines(&around))
    };
    let mut before = Vec::new();
    for _ in 0..3 {
        let engine = world.engine();
        let mut now = Vec::new();
        for player in ["a", "b", "c", "d"] {
            let entry = engine.entry(&board, &StandingRef::CURRENT, &id(player), Some(1)).await;
            now.push(show(entry.unwrap()));
        }
        let info = engine.board(&board).await.unwrap();
        assert_eq!((info.board.definition.title(), info.players), ("The board", 4));
        engine.ready().unwrap();
        drop(engine);
        if before.is_empty() {
            before = now;
        } else {
            assert_eq!(now, before);
        }
        world.restart().await;
    }
}
