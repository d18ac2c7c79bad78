//! Erasing a player: nothing remains, and the others stay where they are.

use standings_core::BoardId;

use super::{
    World,
    recall::{LATEST, all_seasons, day, friend_lines, on},
    world::{by_id, event, expect, fails, id, name, row, score, season_id, submission},
};
use crate::{EngineError, NameQuery, PageQuery, ScoreRow, StandingRef};

const DAILY: &str = r#"{"season":"daily","grace":"0 seconds","goal":5}"#;

/// A closed season, a snapshot of it and an open season in which `a` stands between the others.
async fn past_and_present(world: &World) -> BoardId {
    let board = world.board("b", DAILY).await;
    world.rename("a", Some("Ann")).await;
    world.befriend("a", &["b", "c"]).await;
    world.befriend("c", &["a", "b"]).await;
    for day in 15..17 {
        world.turn_to(&format!("2026-11-{day}T12:00:00Z")).await;
        world.play(&board, &[("b", 9), ("a", 7), ("c", 7), ("d", 1)]).await;
        if day == 15 {
            world.take(&board).await;
        }
    }
    board
}

async fn erase(world: &World, player: &str) {
    world.engine().erase_player(&id(player)).await.unwrap();
}

/// In none of the reads, from the moment the call returns; on other servers, soon after.
pub async fn nothing_of_an_erased_player_can_be_read(world: &mut World) {
    let board = past_and_present(world).await;
    erase(world, "a").await;
    world.elsewhere().await;
    for _ in 0..3 {
        let engine = world.engine();
        let a = id("a");
        fails!(engine.player(&a, 10).await, EngineError::UnknownPlayer(_));
        for query in [NameQuery::Is("ann".into()), NameQuery::StartsWith("a".into())] {
            assert_eq!(world.by_name(&query, 10).await, []);
        }
        let standings = [StandingRef::CURRENT, StandingRef::PREVIOUS, by_id("2026-11-15"), LATEST];
        for standing in &standings {
            let query =
                PageQuery { standing: standing.clone(), limit: 100, ..PageQuery::default() };
            let page = engine.page(&board, &query).await.unwrap();
            assert_eq!((page.rows.len(), page.players), (3, 3), "{standing:?}");
            assert!(page.rows.iter().all(|row| row.player != a), "{standing:?}");
            let entry = engine.entry(&board, standing, &a, Some(3)).await;
            fails!(entry, EngineError::UnknownPlayer(_));
            let chosen = engine.rows_of(&board, standing, &[a.clone(), id("b")]).await.unwrap();
            assert_eq!((chosen.rows.len(), chosen.missing), (1, vec![a.clone()]));
            let around = engine.entry(&board, standing, &id("c"), Some(3)).await.unwrap().around;
            assert!(around.len() == 3 && around.iter().all(|row| row.player != a));
            let mine = engine.among_friends(&board, standing, &a).await.unwrap();
            assert!(mine.entry.is_none() && mine.rows.is_empty(), "{standing:?}");
            let others = engine.among_friends(&board, standing, &id("c")).await.unwrap();
            assert!(others.rows.len() == 2 && others.rows.iter().all(|row| row.row.player != a));
            let scores = engine.distribution(&board, standing).await.unwrap();
            let in_bins: u64 = scores.histogram.iter().map(|bin| bin.players).sum();
            assert_eq!((scores.players, in_bins, scores.mean), (3, 3, Some(17.0 / 3.0)));
        }
        assert_eq!(world.friends_of("a").await, [""; 0]);
        assert_eq!(world.friends_of("c").await, ["b"]);
        assert_eq!(world.events("a", None).await, [""; 0]);
        assert_eq!(world.days_of("a", None).await, [""; 0]);
        let career = engine.player_seasons(&a, &board, &all_seasons()).await.unwrap();
        assert!(career.seasons.is_empty() && career.best.is_none());
        let streak = career.streak.unwrap();
        assert_eq!((streak.current, streak.longest), (0, 0));
        drop(engine);
        world.restart().await;
    }
}

/// What was final stays final, with a gap where someone was.
pub async fn others_keep_their_frozen_ranks(world: &mut World) {
    let board = past_and_present(world).await;
    world.turn_to("2026-11-17T12:00:00Z").await;
    erase(world, "b").await;
    erase(world, "a").await;
    world.elsewhere().await;
    for _ in 0..3 {
        let then = expect(&[("c", 2, 7), ("d", 4, 1)]);
        for past in [by_id("2026-11-15"), by_id("2026-11-16"), on("2026-11-15")] {
            assert_eq!(world.top_of(&board, past.clone()).await, then, "{past:?}");
            let entry = world.engine().entry(&board, &past, &id("d"), Some(1)).await.unwrap();
            assert_eq!(entry.row.rank.get(), 4);
            assert_eq!(super::world::lines(&entry.around), then);
            let among = friend_lines(&[("c", 1, 2, 7)]);
            assert_eq!(world.among(&board, &past, "c").await, among);
        }
        assert_eq!(world.seasons_of(&board, "d").await, ["2026-11-16 1 4", "2026-11-15 1 4"]);
        assert_eq!(world.days_of("d", None).await, ["2026-11-15 b - 1 4 -"]);
        let seasons = world.seasons(&board).await;
        let figures: Vec<_> = seasons.iter().map(|s| (s.players, s.successes)).collect();
        assert_eq!(figures, [(0, Some(0)), (2, Some(1)), (2, Some(1))]);
        let scores = world.engine().distribution(&board, &by_id("2026-11-15")).await.unwrap();
        assert_eq!((scores.min, scores.max), (Some(score(1)), Some(score(7))));
        assert_eq!((scores.players, scores.mean), (2, Some(4.0)));
        assert_eq!(scores.deciles.first().map(|decile| decile.score), Some(score(7)));
        world.restart().await;
    }
}

/// As if the player had never come.
pub async fn ranks_of_the_open_season_close_up(world: &mut World) {
    let board = past_and_present(world).await;
    let other = world.board("other", r#"{"season":"never","ties":"earliest"}"#).await;
    world.play(&other, &[("b", 3), ("a", 2), ("c", 1)]).await;
    erase(world, "a").await;
    for _ in 0..2 {
        let left = expect(&[("b", 1, 9), ("c", 2, 7), ("d", 3, 1)]);
        assert_eq!(world.top(&board).await, left);
        assert_eq!(world.top(&other).await, expect(&[("b", 1, 3), ("c", 2, 1)]));
        world.restart().await;
    }
    erase(world, "b").await;
    assert_eq!(world.top(&board).await, expect(&[("c", 1, 7), ("d", 2, 1)]));
    assert_eq!(world.top(&other).await, expect(&[("c", 1, 1)]));
}

/// Under the same id: only what is new shows.
pub async fn who_comes_back_starts_anew(world: &mut World) {
    let board = past_and_present(world).await;
    erase(world, "a").await;
    let back = world.submit(&board, "a", 2).await;
    assert_eq!((back.score, back.previous_score), (score(2), None));
    world.turn_to("2026-11-17T12:00:00Z").await;
    world.submit(&board, "a", 6).await;
    assert_eq!(world.take(&board).await.1, 1);
    for _ in 0..3 {
        assert_eq!(world.events("a", None).await, ["b 2026-11-17 6 6", "b 2026-11-16 2 2"]);
        assert_eq!(world.seasons_of(&board, "a").await, ["2026-11-17 6 1", "2026-11-16 2 3"]);
        assert_eq!(world.best_of(&board, "a").await, Some((6, "2026-11-17".into())));
        assert_eq!(world.streak_of(&board, "a").await, Some((1, 1)));
        assert_eq!(world.days_of("a", None).await, ["2026-11-17 b - 6 1 -"]);
        assert_eq!(world.friends_of("a").await, [""; 0]);
        let info = world.engine().player(&id("a"), 10).await.unwrap();
        assert!(info.profile.is_empty());
        assert_eq!(info.entries.len(), 1);
        for past in [by_id("2026-11-15"), on("2026-11-15")] {
            let entry = world.engine().entry(&board, &past, &id("a"), None).await;
            fails!(entry, EngineError::UnknownPlayer(_));
        }
        world.restart().await;
    }
    // And may be erased again.
    erase(world, "a").await;
    for _ in 0..2 {
        assert_eq!(world.events("a", None).await, [""; 0]);
        assert_eq!(world.seasons_of(&board, "a").await, [""; 0]);
        assert_eq!(world.best_of(&board, "a").await, None);
        assert_eq!(world.top_of(&board, LATEST).await, []);
        fails!(world.engine().player(&id("a"), 10).await, EngineError::UnknownPlayer(_));
        world.restart().await;
    }
}

/// It was part of what was erased; others, and the player who comes back, may use it.
pub async fn an_event_id_of_an_erased_player_is_free(world: &mut World) {
    let board = world.forever().await;
    for number in 1..=3 {
        world.decide(&board, event("a", 5, &format!("e{number}"))).await.unwrap();
    }
    world.decide(&board, event("b", 5, "mine")).await.unwrap();
    erase(world, "a").await;
    let other = world.decide(&board, event("c", 7, "e1")).await.unwrap();
    assert_eq!((other.score, other.duplicate), (score(7), false));
    world.restart().await;
    let back = world.decide(&board, event("a", 5, "e2")).await.unwrap();
    assert_eq!((back.score, back.duplicate, back.previous_score), (score(5), false, None));
    // Each counts once from then on, and those of others as before.
    for _ in 0..2 {
        for again in [event("c", 7, "e1"), event("a", 5, "e2"), event("b", 5, "mine")] {
            assert!(world.decide(&board, again).await.unwrap().duplicate);
        }
        world.restart().await;
    }
}

/// Who never had a score can be erased too, and the others are as they were.
pub async fn a_profile_and_a_list_alone_can_be_erased(world: &mut World) {
    world.rename("a", Some("Ann")).await;
    world.rename("b", Some("Anna")).await;
    world.befriend("a", &["b"]).await;
    world.befriend("b", &["c"]).await;
    erase(world, "a").await;
    for _ in 0..2 {
        fails!(world.engine().player(&id("a"), 10).await, EngineError::UnknownPlayer(_));
        assert_eq!(world.friends_of("a").await, [""; 0]);
        assert_eq!(world.friends_of("b").await, ["c"]);
        let query = NameQuery::StartsWith("ann".into());
        let found = world.by_name(&query, 10).await;
        assert_eq!(found.iter().map(|f| f.player.as_str()).collect::<Vec<_>>(), ["b"]);
        world.restart().await;
    }
    // The name is free for whoever takes it.
    world.rename("c", Some("Ann")).await;
    let board = world.forever().await;
    let named = standings_core::rule::Submission {
        user_name: Some(name("Ann the Second")),
        ..submission("a", 1)
    };
    world.decide(&board, named).await.unwrap();
    for _ in 0..2 {
        let query = NameQuery::StartsWith("ann".into());
        let found = world.by_name(&query, 10).await;
        let found: Vec<_> = found.iter().map(|f| f.player.as_str()).collect();
        assert_eq!(found, ["c", "a", "b"]);
        world.restart().await;
    }
}

/// The best that outlived its season as well.
pub async fn a_best_that_outlived_its_season_is_erased(world: &mut World) {
    let definition = r#"{"season":"daily","grace":"0 seconds","keep":"1 season"}"#;
    let board = world.board("b", definition).await;
    world.play(&board, &[("a", 50), ("b", 40)]).await;
    world.turn_to("2026-11-18T12:00:00Z").await;
    assert_eq!(world.best_of(&board, "a").await, Some((50, "2026-11-15".into())));
    erase(world, "a").await;
    for _ in 0..2 {
        assert_eq!(world.best_of(&board, "a").await, None);
        assert_eq!(world.best_of(&board, "b").await, Some((40, "2026-11-15".into())));
        world.restart().await;
    }
    world.submit(&board, "a", 1).await;
    assert_eq!(world.best_of(&board, "a").await, Some((1, "2026-11-18".into())));
}

/// Rows that came before it are left out, however late the import finishes; those that come after it are of one who came back.
pub async fn who_is_erased_during_an_import_stays_away(world: &mut World) {
    let board = world.board("b", DAILY).await;
    let named = |who, score, called: &str| ScoreRow {
        user_name: Some(name(called)),
        ..row(who, score, None)
    };
    let rows = vec![named("a", 7, "Ann"), named("b", 5, "Bee")];
    let mut import = world.engine().import_season(&board, &season_id("2026-11-14")).await.unwrap();
    import.rows(rows.clone()).await.unwrap();
    let mut snapshot = world.engine().import_snapshot(&board, day("2026-11-14")).await.unwrap();
    snapshot.rows(rows).await.unwrap();
    erase(world, "a").await;
    world.elsewhere().await;
    for import in [import, snapshot] {
        assert_eq!(import.finish().await.unwrap().players, 1);
    }
    world.quiesce().await;
    for _ in 0..2 {
        for standing in [by_id("2026-11-14"), LATEST] {
            let shown = world.top_of(&board, standing.clone()).await;
            assert_eq!(shown.iter().map(|line| line.0.as_str()).collect::<Vec<_>>(), ["b"]);
            let entry = world.engine().entry(&board, &standing, &id("a"), None).await;
            fails!(entry, EngineError::UnknownPlayer(_));
        }
        assert_eq!(world.days_of("a", None).await, [""; 0]);
        assert_eq!(world.seasons_of(&board, "a").await, [""; 0]);
        world.restart().await;
    }
    // Who comes back may be imported like anyone.
    let back = vec![row("a", 9, None), row("b", 5, None)];
    assert_eq!(world.import(&board, "2026-11-14", back).await.unwrap(), 2);
    assert_eq!(world.best_of(&board, "a").await, Some((9, "2026-11-14".into())));
}
