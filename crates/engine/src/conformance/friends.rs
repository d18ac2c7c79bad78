//! Friends: lists, and rankings among them.

use standings_core::BoardId;

use super::{
    World,
    recall::{LATEST, friend_lines, on},
    world::{by_id, fails, id, row},
};
use crate::{EngineError, StandingRef};

/// Whole, in the order given; nobody has friends unless someone says so.
pub async fn a_list_of_friends_is_what_was_put_last(world: &mut World) {
    assert_eq!(world.friends_of("a").await, [""; 0]);
    world.befriend("a", &["x", "y"]).await;
    world.befriend("a", &["c", "b", "플레이어", "d"]).await;
    world.befriend("b", &["z"]).await;
    for _ in 0..2 {
        assert_eq!(world.friends_of("a").await, ["c", "b", "플레이어", "d"]);
        assert_eq!(world.friends_of("b").await, ["z"]);
        assert_eq!(world.friends_of("c").await, [""; 0]);
        world.restart().await;
    }
    world.befriend("a", &[]).await;
    for _ in 0..2 {
        assert_eq!(world.friends_of("a").await, [""; 0]);
        world.restart().await;
    }
}

/// By the board's own tie rule, with the rank on the board beside; who has no entry is left out.
pub async fn friends_are_ranked_among_each_other(world: &mut World) {
    let share = friend_lines(&[("a", 1, 2, 5), ("me", 1, 2, 5), ("b", 3, 5, 1)]);
    let earliest = friend_lines(&[("a", 1, 2, 5), ("me", 2, 4, 5), ("b", 3, 5, 1)]);
    world.befriend("me", &["b", "nobody", "a"]).await;
    for (ties, expected) in [("share", share), ("earliest", earliest)] {
        let definition = format!(r#"{{"season":"never","ties":"{ties}"}}"#);
        let board = world.board(ties, &definition).await;
        world.play(&board, &[("x", 9), ("a", 5), ("y", 5), ("me", 5), ("b", 1)]).await;
        for _ in 0..2 {
            assert_eq!(world.among(&board, &StandingRef::CURRENT, "me").await, expected);
            world.restart().await;
        }
        let answer = world.engine().among_friends(&board, &StandingRef::CURRENT, &id("me")).await;
        let answer = answer.unwrap();
        let alone = world.entry(&board, "me").await;
        let mine = answer.entry.unwrap();
        assert_eq!(mine.row.rank, alone.row.rank);
        assert_eq!((mine.row.score, mine.row.at), (alone.row.score, alone.row.at));
        assert_eq!(mine.updated_at, alone.updated_at);
        assert!((mine.percentile - alone.percentile).abs() < 1e-9);
        assert_eq!((answer.standing.season.as_str(), answer.standing.snapshot), ("all", None));
    }
}

/// Low is better among friends where it is on the board.
pub async fn friends_are_ranked_in_the_order_of_the_board(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","order":"asc"}"#).await;
    world.play(&board, &[("a", 30), ("b", 20), ("c", 10), ("d", 5)]).await;
    world.befriend("a", &["c", "b"]).await;
    let expected = friend_lines(&[("c", 1, 2, 10), ("b", 2, 3, 20), ("a", 3, 4, 30)]);
    assert_eq!(world.among(&board, &StandingRef::CURRENT, "a").await, expected);
}

/// Friends can be watched without playing, and without friends one is alone.
pub async fn a_player_without_an_entry_sees_the_friends(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 3), ("b", 2), ("c", 1)]).await;
    world.befriend("me", &["c", "a"]).await;
    let current = StandingRef::CURRENT;
    let answer = world.engine().among_friends(&board, &current, &id("me")).await.unwrap();
    assert!(answer.entry.is_none());
    let friends = friend_lines(&[("a", 1, 1, 3), ("c", 2, 3, 1)]);
    assert_eq!(world.among(&board, &current, "me").await, friends);
    // Nobody's friend, nobody's list.
    let answer = world.engine().among_friends(&board, &current, &id("nobody")).await.unwrap();
    assert!(answer.entry.is_none() && answer.rows.is_empty());
    assert_eq!(world.among(&board, &current, "b").await, friend_lines(&[("b", 1, 2, 2)]));
}

/// Being on someone's list puts nobody on one's own.
pub async fn friendship_is_one_way(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 2), ("b", 1)]).await;
    world.befriend("a", &["b"]).await;
    let both = friend_lines(&[("a", 1, 1, 2), ("b", 2, 2, 1)]);
    assert_eq!(world.among(&board, &StandingRef::CURRENT, "a").await, both);
    let alone = friend_lines(&[("b", 1, 2, 1)]);
    assert_eq!(world.among(&board, &StandingRef::CURRENT, "b").await, alone);
}

/// A list may name someone twice, or its owner; a ranking does not.
pub async fn a_friend_named_twice_is_ranked_once(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 3), ("b", 2), ("c", 1)]).await;
    world.befriend("b", &["a", "b", "a", "c"]).await;
    let expected = friend_lines(&[("a", 1, 1, 3), ("b", 2, 2, 2), ("c", 3, 3, 1)]);
    assert_eq!(world.among(&board, &StandingRef::CURRENT, "b").await, expected);
}

/// Whoever is a friend now was there then.
pub async fn the_past_is_read_with_the_friends_of_today(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.befriend("a", &["x"]).await;
    world.play(&board, &[("a", 3), ("b", 2), ("c", 1), ("x", 9)]).await;
    world.take(&board).await;
    world.engine().close_season(&board, None).await.unwrap();
    world.befriend("a", &["c", "b"]).await;
    let then = friend_lines(&[("a", 1, 2, 3), ("b", 2, 3, 2), ("c", 3, 4, 1)]);
    for _ in 0..2 {
        for past in [StandingRef::PREVIOUS, by_id("2026-11"), on("2026-11-15"), LATEST] {
            assert_eq!(world.among(&board, &past, "a").await, then, "{past:?}");
        }
        assert_eq!(world.among(&board, &StandingRef::CURRENT, "a").await, []);
        world.restart().await;
    }
}

/// As many as a list may have.
pub async fn five_thousand_friends_are_ranked(world: &mut World) {
    let board = world.forever().await;
    let player = |number: i64| format!("p{number:04}");
    let rows = (0..10_002).map(|n| row(&player(n), 20_000 - n, None)).collect();
    world.engine().set_scores(&board, None, rows).await.unwrap();
    // Every other player, the last one first; the owner of the list is in their midst.
    let friends = (0..5000).rev().map(|n| id(&player(2 * n + 1))).collect::<Vec<_>>();
    world.engine().put_friends(&id("p4000"), friends.clone()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.engine().friends(&id("p4000")).await.unwrap(), friends);
        let rows = world.among(&board, &StandingRef::CURRENT, "p4000").await;
        assert_eq!(rows.len(), 5001);
        for (rank, (who, among, on_board, points)) in (1..).zip(rows) {
            assert_eq!(among, rank);
            let number = i64::try_from(on_board).unwrap() - 1;
            assert_eq!((who, points), (player(number), 20_000 - number));
            assert!(number % 2 == 1 || number == 4000);
        }
        world.restart().await;
    }
}

/// As for every other read.
pub async fn friends_on_an_unknown_standing_are_an_error(world: &mut World) {
    let board = world.forever().await;
    world.befriend("a", &["b"]).await;
    let among = async |board: &BoardId, standing: &StandingRef| {
        world.engine().among_friends(board, standing, &id("a")).await
    };
    let nowhere = BoardId::new("nowhere").unwrap();
    fails!(among(&nowhere, &StandingRef::CURRENT).await, EngineError::UnknownBoard(_));
    fails!(among(&board, &by_id("2026-11")).await, EngineError::UnknownSeason { .. });
    fails!(among(&board, &on("2026-11-15")).await, EngineError::UnknownSnapshot { .. });
    fails!(among(&board, &LATEST).await, EngineError::UnknownSnapshot { .. });
}
