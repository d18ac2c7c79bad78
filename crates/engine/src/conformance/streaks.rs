//! Goals and streaks.

use standings_core::BoardId;

use super::{
    World,
    world::{id, ms, row, season_id, submission_at},
};
use crate::{SeasonRef, SeasonsQuery};

const DAILY: &str = r#"{"season":"daily","grace":"0 seconds","goal":5}"#;

/// Turns to a day of November and lets players score.
async fn play_on(world: &World, board: &BoardId, day: u32, points: &[(&str, i64)]) {
    world.turn_to(&format!("2026-11-{day}T12:00:00Z")).await;
    world.play(board, points).await;
}

/// A board on which the goal is met on the first four days.
async fn four_days(world: &World) -> BoardId {
    let board = world.board("b", DAILY).await;
    for day in 15..19 {
        play_on(world, &board, day, &[("a", 5)]).await;
    }
    board
}

/// The current one ends where a season has no success, the longest stays.
pub async fn a_streak_is_consecutive_seasons_with_success(world: &mut World) {
    let board = world.board("b", DAILY).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((0, 0)));
    let days = [(5, (1, 1)), (6, (2, 2)), (7, (3, 3)), (4, (3, 3)), (5, (1, 3)), (9, (2, 3))];
    for (day, (points, streak)) in (15..).zip(days) {
        play_on(world, &board, day, &[("a", points)]).await;
        assert_eq!(world.streak_of(&board, "a").await, Some(streak), "day {day}");
    }
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((2, 3)));
        let career = world.career(&board, "a").await;
        let successes: Vec<_> = career.seasons.iter().map(|season| season.success).collect();
        let expected = [true, true, false, true, true, true].map(Some);
        assert_eq!(successes, expected);
        world.restart().await;
    }
}

/// Not coming is not succeeding.
pub async fn a_season_without_an_entry_breaks_a_streak(world: &mut World) {
    let board = world.board("b", DAILY).await;
    for day in [15, 16, 18] {
        play_on(world, &board, day, &[("a", 5)]).await;
    }
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((1, 2)));
        world.restart().await;
    }
}

/// Until it is over.
pub async fn an_open_season_extends_a_streak_and_does_not_yet_break_it(world: &mut World) {
    let board = world.board("b", DAILY).await;
    for day in [15, 16] {
        play_on(world, &board, day, &[("a", 5)]).await;
    }
    world.turn_to("2026-11-17T12:00:00Z").await;
    assert_eq!(world.streak_of(&board, "a").await, Some((2, 2)));
    world.submit(&board, "a", 4).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((2, 2)));
    world.submit(&board, "a", 1).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((3, 3)));
    world.submit(&board, "a", -1).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((2, 2)));
    world.turn_to("2026-11-18T00:00:00Z").await;
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((0, 2)));
        world.restart().await;
    }
}

/// Where low is better the goal is met from below.
pub async fn a_goal_is_met_in_the_order_of_the_board(world: &mut World) {
    let definition =
        r#"{"season":"daily","grace":"0 seconds","goal":60,"order":"asc","rule":"best"}"#;
    let board = world.board("b", definition).await;
    for (day, points) in (15..).zip([60, 59, 61, 60]) {
        play_on(world, &board, day, &[("a", points)]).await;
    }
    assert_eq!(world.streak_of(&board, "a").await, Some((1, 2)));
}

/// A closed season keeps the goal that it closed with.
pub async fn a_new_goal_counts_from_the_open_season_on(world: &mut World) {
    let board = four_days(world).await;
    // The open season, 18 November, now asks for more.
    world.board("b", &DAILY.replace(":5", ":6")).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((3, 3)));
    world.submit(&board, "a", 1).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((4, 4)));
    play_on(world, &board, 19, &[("a", 5)]).await;
    world.turn_to("2026-11-20T12:00:00Z").await;
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((0, 4)));
        world.restart().await;
    }
    // A goal that is taken back does not make up for it, nor does it undo what was.
    world.board("b", &DAILY.replace(":5", ":1")).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((0, 4)));
    world.submit(&board, "a", 1).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((1, 4)));
}

/// A past from elsewhere makes a streak longer, or breaks it.
pub async fn an_imported_season_counts_for_streaks(world: &mut World) {
    let board = world.board("b", DAILY).await;
    for day in 15..18 {
        play_on(world, &board, day, &[("a", 5), ("b", 5)]).await;
    }
    world.import(&board, "2026-11-14", vec![row("a", 5, None), row("b", 4, None)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((4, 4)));
        assert_eq!(world.streak_of(&board, "b").await, Some((3, 3)));
        world.restart().await;
    }
    world.import(&board, "2026-11-13", vec![row("b", 5, None), row("a", 9, None)]).await.unwrap();
    assert_eq!(world.streak_of(&board, "a").await, Some((5, 5)));
    assert_eq!(world.streak_of(&board, "b").await, Some((3, 3)));
    // One in the middle is replaced, without the one and with the other.
    world.import(&board, "2026-11-15", vec![row("b", 5, None)]).await.unwrap();
    world.import(&board, "2026-11-14", vec![row("b", 5, None), row("a", 5, None)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((2, 2)));
        assert_eq!(world.streak_of(&board, "b").await, Some((5, 5)));
        world.restart().await;
    }
}

/// Seasons from before the board was created are there only where they were imported.
pub async fn a_gap_between_imported_seasons_breaks_a_streak(world: &mut World) {
    let board = world.board("b", DAILY).await;
    play_on(world, &board, 15, &[("a", 5)]).await;
    play_on(world, &board, 16, &[("a", 5)]).await;
    for day in ["2026-11-10", "2026-11-11", "2026-11-13"] {
        world.import(&board, day, vec![row("a", 5, None)]).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((2, 2)));
        world.restart().await;
    }
    // What closes the gap joins what it was between.
    world.import(&board, "2026-11-12", vec![row("a", 5, None)]).await.unwrap();
    assert_eq!(world.streak_of(&board, "a").await, Some((2, 4)));
    world.import(&board, "2026-11-14", vec![row("a", 5, None)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((7, 7)));
        world.restart().await;
    }
}

/// A cheater's success was none.
pub async fn an_entry_that_is_taken_off_breaks_a_streak(world: &mut World) {
    let board = four_days(world).await;
    let season = SeasonRef::Id(season_id("2026-11-16"));
    world.engine().remove_entry(&board, &season, &id("a")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.streak_of(&board, "a").await, Some((2, 2)));
        // Those of later seasons are as of their close.
        assert_eq!(closed_streaks(world, &board, 3).await, ["3×1", "", "1×1"]);
        world.restart().await;
    }
    world.engine().remove_entry(&board, &SeasonRef::Current, &id("a")).await.unwrap();
    assert_eq!(world.streak_of(&board, "a").await, Some((1, 1)));
}

/// There is nothing to succeed in; where there once was, the longest is remembered.
pub async fn a_board_without_a_goal_has_no_streaks(world: &mut World) {
    let plain = world.board("plain", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    let board = world.board("b", DAILY).await;
    for day in 15..18 {
        play_on(world, &board, day, &[("a", 5)]).await;
        world.submit(&plain, "a", 5).await;
    }
    assert_eq!(world.streak_of(&plain, "a").await, None);
    assert_eq!(world.seasons(&plain).await[1].streaks, None);
    world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    let longest = world.streak_of(&board, "a").await.map(|(_, longest)| longest);
    assert_eq!(longest, Some(2));
    let seasons = world.seasons(&board).await;
    assert_eq!((seasons[0].successes, &seasons[0].streaks), (None, &None));
    assert_eq!(seasons[1].successes, Some(1));
}

/// The streaks of the oldest seasons, newest first, as length and players, once they are written.
async fn closed_streaks(world: &World, board: &BoardId, oldest: usize) -> Vec<String> {
    world.quiesce().await;
    let seasons = world.seasons(board).await;
    let shown = seasons[seasons.len() - oldest..].iter().map(|season| {
        let counts = season.streaks.iter().flatten();
        let counts = counts.map(|count| format!("{}×{}", count.length, count.players));
        counts.collect::<Vec<_>>().join(" ")
    });
    shown.collect()
}

/// Those that reach up to it, shortest first, by players.
pub async fn a_season_counts_its_successes_and_streaks(world: &mut World) {
    let board = world.board("b", DAILY).await;
    let days: [&[_]; 4] = [
        &[("a", 5), ("b", 5), ("c", 1), ("d", 5)],
        &[("a", 5), ("b", 4), ("c", 5)],
        &[("a", 9), ("b", 5), ("c", 5), ("d", 7), ("e", 6)],
        &[("a", 5), ("b", 1), ("c", 1)],
    ];
    for (day, points) in (15..).zip(days) {
        play_on(world, &board, day, points).await;
    }
    world.turn_to("2026-11-19T00:00:00Z").await;
    for _ in 0..2 {
        let seasons = world.seasons(&board).await;
        let successes: Vec<_> = seasons[1..].iter().map(|season| season.successes).collect();
        assert_eq!(successes, [1, 5, 2, 3].map(Some));
        let expected = ["4×1", "1×3 2×1 3×1", "1×1 2×1", "1×3"];
        assert_eq!(closed_streaks(world, &board, 4).await, expected);
        world.restart().await;
    }
}

/// They are as of its close.
pub async fn an_open_season_counts_successes_and_no_streaks(world: &mut World) {
    let board = world.board("b", DAILY).await;
    for day in 15..17 {
        play_on(world, &board, day, &[("a", 5)]).await;
    }
    play_on(world, &board, 17, &[("a", 5), ("b", 5), ("c", 1)]).await;
    let open = world.seasons(&board).await.remove(0);
    assert_eq!((open.successes, open.streaks), (Some(2), None));
    world.turn_to("2026-11-18T00:00:00Z").await;
    assert_eq!(closed_streaks(world, &board, 3).await[0], "1×1 3×1");
}

/// Of its seasons that are over and had players, on the page or not.
pub async fn a_year_has_a_mean_success_rate(world: &mut World) {
    let board = world.board("b", r#"{"goal":5,"grace":"0 seconds"}"#).await;
    let rate = async |world: &World, year, before: Option<&str>, limit| {
        let query = SeasonsQuery { year, before: before.map(season_id), limit };
        world.engine().seasons(&board, &query).await.unwrap().mean_success_rate
    };
    let close = |found: Option<f64>, expected: f64| {
        assert!(found.is_some_and(|rate| (rate - expected).abs() < 1e-9), "{found:?} {expected}");
    };
    assert_eq!(rate(world, Some(2026), None, 10).await, None);
    world.play(&board, &[("a", 5), ("b", 4)]).await;
    assert_eq!(rate(world, Some(2026), None, 10).await, None, "the open season does not count");
    world.turn_to("2026-12-10T00:00:00Z").await;
    close(rate(world, Some(2026), None, 10).await, 0.5);
    world.play(&board, &[("a", 5), ("b", 5), ("c", 5), ("d", 1)]).await;
    // January has no players; February is of another year.
    world.turn_to("2027-02-10T00:00:00Z").await;
    world.play(&board, &[("a", 5), ("b", 5)]).await;
    world.turn_to("2027-03-10T00:00:00Z").await;
    world.play(&board, &[("a", 1)]).await;
    for _ in 0..2 {
        close(rate(world, Some(2026), None, 10).await, f64::midpoint(0.5, 0.75));
        close(rate(world, Some(2026), None, 1).await, f64::midpoint(0.5, 0.75));
        close(rate(world, Some(2026), Some("2026-12"), 1).await, f64::midpoint(0.5, 0.75));
        close(rate(world, Some(2027), None, 10).await, 1.0);
        assert_eq!(rate(world, Some(2025), None, 10).await, None);
        assert_eq!(rate(world, None, None, 10).await, None, "without a year");
        world.restart().await;
    }
}

const LATE: &str = r#"{"season":"daily","grace":"1 day","goal":10,"rule":"best"}"#;

/// Closes the 16 November by hand so many times while the day before is in its grace. The player met the goal in every part, and
/// on the day before too late to be known then.
async fn late_for_closed_parts(world: &World, board: &BoardId, closes: usize) {
    world.turn_to("2026-11-16T12:00:00Z").await;
    for _ in 0..closes {
        world.play(board, &[("a", 10), ("b", 10)]).await;
        close_for_good(world, board).await;
    }
    assert_eq!(closed_streaks(world, board, 2).await[0], "1×2");
    let late = submission_at("a", 10, ms("2026-11-15T11:00:00Z"));
    world.decide(board, late).await.unwrap();
    world.submit(board, "a", 10).await;
}

/// Closes the current season by hand, takes someone off it once it is written, and waits for that.
async fn close_for_good(world: &World, board: &BoardId) {
    world.submit(board, "x", 1).await;
    let (closed, _) = world.engine().close_season(board, None).await.unwrap();
    world.quiesce().await;
    world.engine().remove_entry(board, &SeasonRef::Id(closed), &id("x")).await.unwrap();
}

/// While a season is in its grace it can still come to count for those after it, closed by hand or not.
pub async fn a_late_success_counts_for_parts_that_were_closed_meanwhile(world: &mut World) {
    let board = world.board("b", LATE).await;
    late_for_closed_parts(world, &board, 2).await;
    for time in ["2026-11-16T13:00:00Z", "2026-11-17T00:00:00Z", "2026-11-17T12:00:00Z"] {
        world.turn_to(time).await;
        assert_eq!(world.streak_of(&board, "a").await, Some((4, 4)), "{time}");
        assert_eq!(world.streak_of(&board, "b").await.map(|(_, longest)| longest), Some(2));
        world.restart().await;
    }
    // What closed before it knew nothing of it, what closes after it does.
    world.turn_to("2026-11-18T00:00:00Z").await;
    let expected = ["4×1", "2×2", "1×2", "1×1"];
    assert_eq!(closed_streaks(world, &board, 4).await, expected);
}

/// What counted while a season was in its grace does not when its players were taken off, though no one is left in it.
pub async fn a_season_that_closes_empty_breaks_the_streaks_of_closed_parts(world: &mut World) {
    let board = world.board("b", LATE).await;
    world.turn_to("2026-11-16T12:00:00Z").await;
    let late = submission_at("a", 10, ms("2026-11-15T11:00:00Z"));
    world.decide(&board, late).await.unwrap();
    for _ in 0..2 {
        world.submit(&board, "a", 10).await;
        close_for_good(world, &board).await;
    }
    world.submit(&board, "a", 10).await;
    assert_eq!(world.streak_of(&board, "a").await, Some((4, 4)));
    let day = SeasonRef::Id(season_id("2026-11-15"));
    world.engine().remove_entry(&board, &day, &id("a")).await.unwrap();
    for time in ["2026-11-16T13:00:00Z", "2026-11-17T12:00:00Z", "2026-11-18T12:00:00Z"] {
        world.turn_to(time).await;
        let streak = world.streak_of(&board, "a").await;
        assert_eq!(streak.map(|(_, longest)| longest), Some(3), "{time}");
        world.restart().await;
    }
    assert_eq!(closed_streaks(world, &board, 4).await, ["3×1", "3×1", "2×1", ""]);
}
