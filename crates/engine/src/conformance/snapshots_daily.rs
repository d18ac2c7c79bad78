//! Snapshots that the engine takes by itself.

use standings_core::{BoardId, Millis};

use super::{
    World,
    recall::{LATEST, on},
    world::{expect, ms, submission},
};
use crate::{PageQuery, StandingRef};

/// The season of a snapshot and the scores in it.
async fn seen(world: &World, board: &BoardId, date: &str) -> (String, Vec<i64>) {
    let query = PageQuery { standing: on(date), limit: 1000, ..PageQuery::default() };
    let page = world.engine().page(board, &query).await.unwrap();
    let scores = page.rows.iter().map(|row| row.score.get()).collect();
    (page.standing.season.to_string(), scores)
}

/// By the clock on the wall of the board's zone, under the date there.
pub async fn a_snapshot_is_taken_at_the_local_time(world: &mut World) {
    let definition =
        r#"{"season":"never","time_zone":"Asia/Seoul","snapshots":{"at":"00:30","official":1}}"#;
    let board = world.board("b", definition).await;
    world.play(&board, &[("a", 2), ("b", 1)]).await;
    world.turn_to("2026-11-15T15:29:59.999Z").await;
    // A write makes an engine look at the clock.
    world.submit(&board, "b", 2).await;
    assert_eq!(world.dates(&board).await, [""; 0]);
    world.turn_to_snapshot("2026-11-15T15:30:00Z", &board, "2026-11-16").await;
    world.submit(&board, "a", 100).await;
    world.turn_to_snapshot("2026-11-16T15:30:00Z", &board, "2026-11-17").await;
    world.submit(&board, "c", 1000).await;
    for _ in 0..2 {
        assert_eq!(world.dates(&board).await, ["2026-11-17", "2026-11-16"]);
        let first = expect(&[("b", 1, 3), ("a", 2, 2)]);
        assert_eq!(world.top_of(&board, on("2026-11-16")).await, first);
        assert_eq!(world.top_of(&board, LATEST).await, expect(&[("a", 1, 102), ("b", 2, 3)]));
        let days = ["2026-11-17 b - 102 1 1", "2026-11-16 b - 2 2 -"];
        assert_eq!(world.days_of("a", None).await, days);
        world.restart().await;
    }
}

/// Nine in the morning is nine in the morning, in winter and in summer; what the clock skips comes right after.
pub async fn the_time_of_a_snapshot_follows_the_zone(world: &mut World) {
    world.turn_to("2027-03-13T05:00:00Z").await;
    let at = |time: &str| {
        format!(
            r#"{{"season":"never","time_zone":"America/New_York","snapshots":{{"at":"{time}"}}}}"#
        )
    };
    let nine = world.board("nine", &at("09:00")).await;
    let skipped = world.board("skipped", &at("02:30")).await;
    world.turn_to_snapshot("2027-03-13T07:30:00Z", &skipped, "2027-03-13").await;
    world.submit(&nine, "a", 1).await;
    world.turn_to("2027-03-13T13:59:59.999Z").await;
    world.submit(&nine, "a", 1).await;
    assert_eq!(world.dates(&nine).await, [""; 0]);
    world.turn_to_snapshot("2027-03-13T14:00:00Z", &nine, "2027-03-13").await;
    // In the night the clock goes from two to three.
    world.turn_to("2027-03-14T06:59:59.999Z").await;
    world.submit(&skipped, "a", 1).await;
    assert_eq!(world.dates(&skipped).await, ["2027-03-13"]);
    world.turn_to_snapshot("2027-03-14T07:00:00Z", &skipped, "2027-03-14").await;
    world.turn_to("2027-03-14T12:59:59.999Z").await;
    world.submit(&nine, "a", 1).await;
    assert_eq!(world.dates(&nine).await, ["2027-03-13"]);
    world.turn_to_snapshot("2027-03-14T13:00:00Z", &nine, "2027-03-14").await;
    let seen = [seen(world, &nine, "2027-03-13").await.1, seen(world, &nine, "2027-03-14").await.1];
    assert_eq!(seen, [[2], [3]]);
    assert_eq!(world.dates(&skipped).await, ["2027-03-14", "2027-03-13"]);
}

/// Even if it comes before the engine has had the time to look at the clock.
pub async fn what_comes_after_the_instant_is_not_in_the_snapshot(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","snapshots":{"at":"12:00"}}"#).await;
    world.submit(&board, "a", 1).await;
    for day in 15..20 {
        world.clock().set(ms(&format!("2026-11-{day}T12:00:00Z")));
        world.decide(&board, submission("a", 1)).await.unwrap();
        world.quiesce().await;
    }
    for (day, score) in (15..20).zip(1..) {
        assert_eq!(seen(world, &board, &format!("2026-11-{day}")).await.1, [score]);
    }
}

/// With the state of then, which later writes do not change.
pub async fn a_date_missed_while_stopped_is_made_up(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","snapshots":{"at":"06:00"}}"#).await;
    world.play(&board, &[("a", 2), ("b", 1)]).await;
    world.turn_to_snapshot("2026-11-16T06:00:00Z", &board, "2026-11-16").await;
    world.submit(&board, "b", 4).await;
    world.clock().set(ms("2026-11-20T05:59:59Z"));
    world.restart().await;
    world.submit(&board, "c", 100).await;
    world.quiesce().await;
    let dates = ["2026-11-19", "2026-11-18", "2026-11-17", "2026-11-16"];
    for _ in 0..2 {
        assert_eq!(world.dates(&board).await, dates);
        let then = expect(&[("b", 1, 5), ("a", 2, 2)]);
        for date in &dates[..3] {
            assert_eq!(world.top_of(&board, on(date)).await, then, "{date}");
        }
        assert_eq!(seen(world, &board, "2026-11-16").await.1, [2, 1]);
        let days = world.days_of("b", None).await;
        assert_eq!((days.len(), days[0].as_str()), (4, "2026-11-19 b - 5 1 1"));
        world.restart().await;
    }
    world.turn_to_snapshot("2026-11-20T06:00:00Z", &board, "2026-11-20").await;
    assert_eq!(seen(world, &board, "2026-11-20").await.1, [100, 5, 2]);
}

/// Not of the one that is current when it is made up.
pub async fn a_missed_date_is_of_the_season_of_its_instant(world: &mut World) {
    let definition = r#"{"season":"daily","grace":"0 seconds","snapshots":{"at":"23:00"}}"#;
    let board = world.board("b", definition).await;
    let midnight = r#"{"season":"daily","grace":"0 seconds","snapshots":{"at":"00:00"}}"#;
    let midnight = world.board("midnight", midnight).await;
    world.play(&board, &[("a", 1), ("b", 2)]).await;
    world.play(&midnight, &[("a", 1), ("b", 2)]).await;
    world.clock().set(ms("2026-11-18T12:00:00Z"));
    world.restart().await;
    world.quiesce().await;
    world.submit(&board, "a", 100).await;
    assert_eq!(world.dates(&board).await, ["2026-11-17", "2026-11-16", "2026-11-15"]);
    assert_eq!(world.dates(&midnight).await, ["2026-11-18", "2026-11-17", "2026-11-16"]);
    for _ in 0..2 {
        let first = seen(world, &board, "2026-11-15").await;
        assert_eq!(first, ("2026-11-15".to_owned(), vec![2, 1]));
        for date in ["2026-11-16", "2026-11-17"] {
            assert_eq!(seen(world, &board, date).await, (date.to_owned(), vec![]));
        }
        // At midnight the next season has begun.
        for date in ["2026-11-16", "2026-11-17", "2026-11-18"] {
            assert_eq!(seen(world, &midnight, date).await, (date.to_owned(), vec![]));
        }
        assert_eq!(world.dates(&board).await, ["2026-11-17", "2026-11-16", "2026-11-15"]);
        assert_eq!(world.dates(&midnight).await, ["2026-11-18", "2026-11-17", "2026-11-16"]);
        world.restart().await;
    }
}

/// Late submissions count for the season, and not for a snapshot of it that was taken.
pub async fn a_late_submission_does_not_change_a_snapshot(world: &mut World) {
    let definition = r#"{"season":"daily","grace":"2 hours","snapshots":{"at":"23:00"}}"#;
    let board = world.board("b", definition).await;
    world.submit(&board, "a", 1).await;
    world.turn_to_snapshot("2026-11-15T23:00:00Z", &board, "2026-11-15").await;
    world.turn_to("2026-11-16T01:00:00Z").await;
    let late = super::world::submission_at("a", 5, ms("2026-11-15T22:00:00Z"));
    world.decide(&board, late).await.unwrap();
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, expect(&[("a", 1, 6)]));
    assert_eq!(world.top_of(&board, LATEST).await, expect(&[("a", 1, 1)]));
}

/// Dates before someone asked for snapshots have none.
pub async fn a_schedule_counts_from_when_it_was_given(world: &mut World) {
    let board = world.board("b", r#"{"season":"never"}"#).await;
    world.submit(&board, "a", 1).await;
    world.turn_to("2026-11-18T10:00:00Z").await;
    assert_eq!(world.dates(&board).await, [""; 0]);
    world.board("b", r#"{"season":"never","snapshots":{"at":"09:00"}}"#).await;
    world.turn_to_snapshot("2026-11-19T09:00:00Z", &board, "2026-11-19").await;
    assert_eq!(world.dates(&board).await, ["2026-11-19"]);
    // What was taken stays when no more are.
    world.board("b", r#"{"season":"never"}"#).await;
    world.turn_to("2026-11-21T10:00:00Z").await;
    world.restart().await;
    assert_eq!(world.dates(&board).await, ["2026-11-19"]);
}

/// Of the two of one date the later one stays.
pub async fn a_snapshot_on_demand_replaces_the_daily_one(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","snapshots":{"at":"12:00"}}"#).await;
    world.submit(&board, "a", 1).await;
    world.turn_to_snapshot("2026-11-15T12:00:00Z", &board, "2026-11-15").await;
    world.pass(Millis(60_000)).await;
    world.submit(&board, "a", 1).await;
    assert_eq!(world.take(&board).await, ("2026-11-15".into(), 1));
    for _ in 0..2 {
        assert_eq!(seen(world, &board, "2026-11-15").await.1, [2]);
        world.restart().await;
    }
}
