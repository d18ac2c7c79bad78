//! A player season by season, and the best of all time.

use standings_core::BoardId;

use super::{
    World,
    recall::{all_seasons, season_lines},
    world::{by_id, fails, id, ms, row, score, season_id},
};
use crate::{EngineError, PlayerSeasonsQuery, SeasonRef, SeasonState};

/// Days from the 15th on, with what each player scores on each.
async fn play_days(world: &World, board: &BoardId, days: &[&[(&str, i64)]]) {
    for (day, points) in (15..).zip(days) {
        world.turn_to(&format!("2026-11-{day}T12:00:00Z")).await;
        world.play(board, points).await;
    }
}

/// Those with an entry; the open one has the rank of the moment, a closed one the final rank.
pub async fn a_player_has_seasons_newest_first(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    let days: [&[_]; 4] =
        [&[("a", 1), ("b", 2)], &[("b", 1)], &[("b", 3), ("a", 3)], &[("a", 9), ("b", 20)]];
    play_days(world, &board, &days).await;
    for _ in 0..2 {
        let lines = ["2026-11-18 9 2", "2026-11-17 3 1", "2026-11-15 1 2"];
        assert_eq!(world.seasons_of(&board, "a").await, lines);
        let career = world.career(&board, "a").await;
        assert!(!career.more);
        assert_eq!(career.streak, None);
        let [open, closed, _] = &career.seasons[..] else { panic!("{career:?}") };
        assert_eq!((open.state, closed.state), (SeasonState::Open, SeasonState::Closed));
        assert_eq!((open.success, closed.success), (None, None));
        assert_eq!(closed.span.starts_at, ms("2026-11-17T00:00:00Z"));
        assert_eq!(closed.span.ends_at, ms("2026-11-18T00:00:00Z"));
        let reached = ms("2026-11-17T12:00:01Z");
        assert_eq!((closed.at, closed.updated_at), (reached, reached));
        let reached = ms("2026-11-18T12:00:00Z");
        assert_eq!((open.at, open.updated_at), (reached, reached));
        world.restart().await;
    }
    // The open season goes on.
    world.submit(&board, "a", 100).await;
    assert_eq!(world.seasons_of(&board, "a").await[0], "2026-11-18 109 1");
}

/// A late submission moves a season in its grace, and then its rank is final.
pub async fn a_season_in_its_grace_is_among_them(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"1 hour"}"#).await;
    world.play(&board, &[("a", 1), ("b", 2)]).await;
    world.turn_to("2026-11-16T00:30:00Z").await;
    let late = super::world::submission_at("a", 4, ms("2026-11-15T23:00:00Z"));
    world.decide(&board, late).await.unwrap();
    world.submit(&board, "a", 1).await;
    let lines = ["2026-11-16 1 1", "2026-11-15 5 1"];
    assert_eq!(world.seasons_of(&board, "a").await, lines);
    assert_eq!(world.career(&board, "a").await.seasons[1].state, SeasonState::Closing);
    world.turn_to("2026-11-16T01:00:00Z").await;
    assert_eq!(world.seasons_of(&board, "a").await, lines);
    assert_eq!(world.career(&board, "a").await.seasons[1].state, SeasonState::Closed);
}

/// Only the list: what is said of all time stays.
pub async fn seasons_of_a_player_are_narrowed_and_paged(world: &mut World) {
    let definition = r#"{"season":"daily","grace":"0 seconds","goal":1}"#;
    let board = world.board("b", definition).await;
    let days: [&[_]; 5] = [&[("a", 1)], &[("a", 7)], &[("a", 3)], &[("b", 4)], &[("a", 5)]];
    play_days(world, &board, &days).await;
    let ask = async |query: PlayerSeasonsQuery| {
        let career = world.engine().player_seasons(&id("a"), &board, &query).await.unwrap();
        let best = career.best.clone().unwrap();
        assert_eq!((best.score, best.season.as_str()), (score(7), "2026-11-16"));
        let streak = career.streak.unwrap();
        assert_eq!((streak.current, streak.longest), (1, 3));
        let days = career.seasons.iter().map(|s| s.span.id.as_str()[8..].to_owned());
        (days.collect::<Vec<_>>().join(" "), career.more)
    };
    let all = all_seasons();
    let text = |days: &str, more: bool| (days.to_owned(), more);
    assert_eq!(ask(all.clone()).await, text("19 17 16 15", false));
    assert_eq!(ask(PlayerSeasonsQuery { limit: 2, ..all.clone() }).await, text("19 17", true));
    assert!(!ask(PlayerSeasonsQuery { limit: 4, ..all.clone() }).await.1);
    let before = |day: &str| Some(season_id(&format!("2026-11-{day}")));
    let query = PlayerSeasonsQuery { before: before("17"), ..all.clone() };
    assert_eq!(ask(query).await, text("16 15", false));
    let query = PlayerSeasonsQuery { before: before("18"), limit: 2, ..all.clone() };
    assert_eq!(ask(query).await, text("17 16", true));
    // Those that end after the one and begin before the other.
    let between = |from: &str, to: &str| PlayerSeasonsQuery {
        from: ms(&format!("2026-11-{from}Z")),
        to: ms(&format!("2026-11-{to}Z")),
        ..all.clone()
    };
    let cases = [
        ("16T00:00:00", "17T00:00:00", "16"),
        ("15T23:59:59.999", "17T00:00:00.001", "17 16 15"),
        ("16T08:00:00", "16T09:00:00", "16"),
        ("18T00:00:00", "19T00:00:00", ""),
        ("01T00:00:00", "15T00:00:00", ""),
        ("17T12:00:00", "30T00:00:00", "19 17"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(ask(between(from, to)).await, text(expected, false), "{from} {to}");
    }
    let query = PlayerSeasonsQuery { limit: 1, ..between("16T00:00:00", "18T00:00:00") };
    assert_eq!(ask(query).await, text("17", true));
}

/// Closed one after the other faster than the clock goes on.
pub async fn seasons_that_begin_at_the_same_instant_are_paged_as_well(world: &mut World) {
    let board = world.board("b", "{}").await;
    for points in 1..=3 {
        world.submit(&board, "a", points).await;
        world.engine().close_season(&board, None).await.unwrap();
    }
    world.submit(&board, "a", 4).await;
    let mut query = PlayerSeasonsQuery { limit: 1, ..all_seasons() };
    for line in ["2026-11.4 4 1", "2026-11.3 3 1", "2026-11.2 2 1", "2026-11 1 1"] {
        let page = world.engine().player_seasons(&id("a"), &board, &query).await.unwrap();
        assert_eq!(
            (season_lines(&page), page.more),
            (vec![line.to_owned()], line != "2026-11 1 1")
        );
        query.before = page.seasons.first().map(|season| season.span.id.clone());
    }
    let page = world.engine().player_seasons(&id("a"), &board, &query).await.unwrap();
    assert!(page.seasons.is_empty() && !page.more);
}

/// The best is the lowest where low is better, and of equal ones the first.
pub async fn the_best_season_is_by_the_order_of_the_board(world: &mut World) {
    let mut boards = Vec::new();
    for (order, best) in [("desc", (9, "2026-11-17")), ("asc", (2, "2026-11-15"))] {
        let definition = format!(
            r#"{{"season":"daily","grace":"0 seconds","order":"{order}","rule":"latest"}}"#
        );
        boards.push((world.board(order, &definition).await, best));
    }
    for (day, points) in (15..).zip([2, 5, 9, 2, 9]) {
        world.turn_to(&format!("2026-11-{day}T12:00:00Z")).await;
        for (board, _) in &boards {
            world.submit(board, "a", points).await;
        }
    }
    for _ in 0..2 {
        for (board, (score, season)) in &boards {
            assert_eq!(world.best_of(board, "a").await, Some((*score, (*season).to_owned())));
        }
        world.restart().await;
    }
}

/// From the first score on, and on each board by itself.
pub async fn the_open_season_may_be_the_best(world: &mut World) {
    let (one, two) = (world.board("one", "{}").await, world.board("two", "{}").await);
    assert_eq!(world.best_of(&one, "a").await, None);
    world.submit(&one, "a", -5).await;
    assert_eq!(world.best_of(&one, "a").await, Some((-5, "2026-11".into())));
    assert_eq!(world.best_of(&two, "a").await, None);
    world.engine().close_season(&one, None).await.unwrap();
    world.submit(&one, "a", 3).await;
    assert_eq!(world.best_of(&one, "a").await, Some((3, "2026-11.2".into())));
    world.submit(&one, "a", 4).await;
    for _ in 0..2 {
        assert_eq!(world.best_of(&one, "a").await, Some((7, "2026-11.2".into())));
        assert_eq!(world.seasons_of(&one, "a").await, ["2026-11.2 7 1", "2026-11 -5 1"]);
        world.restart().await;
    }
}

/// What was set counts like what was played.
pub async fn imported_scores_are_among_the_seasons(world: &mut World) {
    let board = world.board("b", "{}").await;
    world
        .engine()
        .set_scores(&board, None, vec![row("a", 5, None), row("b", 8, None)])
        .await
        .unwrap();
    let rows = vec![row("a", 50, None), row("c", 60, None)];
    world.import(&board, "2026-09", rows).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.seasons_of(&board, "a").await, ["2026-11 5 2", "2026-09 50 2"]);
        assert_eq!(world.best_of(&board, "a").await, Some((50, "2026-09".into())));
        assert_eq!(world.seasons_of(&board, "c").await, ["2026-09 60 1"]);
        world.restart().await;
    }
    // Another import takes the place of the first.
    world.import(&board, "2026-09", vec![row("c", 1, None), row("a", 2, None)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.seasons_of(&board, "a").await, ["2026-11 5 2", "2026-09 2 1"]);
        assert_eq!(world.best_of(&board, "a").await, Some((5, "2026-11".into())));
        world.restart().await;
    }
}

/// A cheater's season is gone, also from the best; the others move up.
pub async fn a_season_that_one_was_taken_off_does_not_count(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.play(&board, &[("a", 900), ("b", 5)]).await;
    world.engine().close_season(&board, None).await.unwrap();
    world.play(&board, &[("a", 3), ("b", 2)]).await;
    world.engine().remove_entry(&board, &SeasonRef::Previous, &id("a")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.seasons_of(&board, "a").await, ["2026-11.2 3 1"]);
        assert_eq!(world.best_of(&board, "a").await, Some((3, "2026-11.2".into())));
        assert_eq!(world.seasons_of(&board, "b").await, ["2026-11.2 2 2", "2026-11 5 1"]);
        world.restart().await;
    }
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    for _ in 0..2 {
        let career = world.career(&board, "a").await;
        assert_eq!((season_lines(&career).len(), career.best), (0, None));
        world.restart().await;
    }
}

/// As for every other read; a player who never came has no seasons.
pub async fn seasons_of_nobody_are_none(world: &mut World) {
    let board = world.board("b", "{}").await;
    let career = world.career(&board, "nobody").await;
    assert!(career.seasons.is_empty() && !career.more);
    assert_eq!((career.best, career.streak), (None, None));
    let nowhere = BoardId::new("nowhere").unwrap();
    let answer = world.engine().player_seasons(&id("a"), &nowhere, &all_seasons()).await;
    fails!(answer, EngineError::UnknownBoard(_));
    // A season that begins within the minute is not there before its time.
    world.turn_to("2026-11-30T23:59:30Z").await;
    let ahead = super::world::submission_at("a", 4, ms("2026-12-01T00:00:10Z"));
    world.decide(&board, ahead).await.unwrap();
    assert_eq!(world.seasons_of(&board, "a").await, [""; 0]);
    assert_eq!(world.best_of(&board, "a").await, None);
    world.turn_to("2026-12-01T00:00:00Z").await;
    assert_eq!(world.seasons_of(&board, "a").await, ["2026-12 4 1"]);
    assert_eq!(world.top_of(&board, by_id("2026-12")).await.len(), 1);
}
