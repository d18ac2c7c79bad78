//! What is past its time is gone.

use standings_core::{BoardId, Millis};

use super::{
    World,
    recall::{LATEST, on},
    world::{by_id, expect, fails, id, ms, season_id},
};
use crate::{EngineError, SeasonRef, StandingRef};

/// A daily board on which `a` scores from the 15th on, on the first day the most.
async fn daily(world: &World, keep: &str, days: std::ops::Range<i64>) -> BoardId {
    let definition =
        format!(r#"{{"season":"daily","grace":"0 seconds","keep":"{keep}","goal":1}}"#);
    let board = world.board("b", &definition).await;
    for day in days {
        world.turn_to(&format!("2026-11-{day}T12:00:00Z")).await;
        world.play(&board, &[("a", 115 - day), ("b", 1)]).await;
    }
    board
}

/// No read knows the season.
async fn is_gone(world: &World, board: &BoardId, season: &str) {
    let (engine, standing) = (world.engine(), by_id(season));
    let unknown = engine.entry(board, &standing, &id("a"), None).await;
    fails!(unknown, EngineError::UnknownSeason { .. });
    fails!(engine.distribution(board, &standing).await, EngineError::UnknownSeason { .. });
    fails!(
        engine.among_friends(board, &standing, &id("a")).await,
        EngineError::UnknownSeason { .. }
    );
    let season = SeasonRef::Id(season_id(season));
    let removed = engine.remove_entry(board, &season, &id("a")).await;
    fails!(removed, EngineError::UnknownSeason { .. });
}

/// The newest closed ones stay, and the open one beside them.
pub async fn seasons_past_their_number_are_gone(world: &mut World) {
    let board = daily(world, "2 seasons", 15..20).await;
    for _ in 0..2 {
        let left = ["2026-11-19", "2026-11-18", "2026-11-17"];
        assert_eq!(world.season_ids(&board).await, left);
        for season in ["2026-11-15", "2026-11-16"] {
            is_gone(world, &board, season).await;
        }
        for season in left {
            assert_eq!(world.top_of(&board, by_id(season)).await.len(), 2);
        }
        let seasons = world.seasons_of(&board, "a").await;
        assert_eq!(seasons, ["2026-11-19 96 1", "2026-11-18 97 1", "2026-11-17 98 1"]);
        let events = ["b 2026-11-19 96 96", "b 2026-11-18 97 97", "b 2026-11-17 98 98"];
        assert_eq!(world.events("a", None).await, events);
        assert_eq!(world.events("a", Some(&board)).await, events);
        world.restart().await;
    }
    // A close by hand makes one season more.
    world.engine().close_season(&board, None).await.unwrap();
    let left = ["2026-11-19.2", "2026-11-19", "2026-11-18"];
    assert_eq!(world.season_ids(&board).await, left);
    is_gone(world, &board, "2026-11-17").await;
}

/// Counted from their end, by the calendar, to the millisecond.
pub async fn seasons_past_their_time_are_gone(world: &mut World) {
    let board = daily(world, "3 days", 15..17).await;
    let monthly = r#"{"keep":"1 month","grace":"0 seconds","time_zone":"Asia/Seoul"}"#;
    let monthly = world.board("monthly", monthly).await;
    world.submit(&monthly, "a", 1).await;
    world.turn_to("2026-11-18T23:59:59.999Z").await;
    let all = ["2026-11-18", "2026-11-17", "2026-11-16", "2026-11-15"];
    assert_eq!(world.season_ids(&board).await, all);
    assert_eq!(world.events("a", Some(&board)).await.len(), 2);
    world.turn_to("2026-11-19T00:00:00Z").await;
    for _ in 0..2 {
        let left = ["2026-11-19", "2026-11-18", "2026-11-17", "2026-11-16"];
        assert_eq!(world.season_ids(&board).await, left);
        is_gone(world, &board, "2026-11-15").await;
        assert_eq!(world.events("a", Some(&board)).await, ["b 2026-11-16 99 99"]);
        assert_eq!(world.seasons_of(&board, "a").await, ["2026-11-16 99 1"]);
        world.restart().await;
    }
    // November ends in Seoul while it is still November in Greenwich.
    world.turn_to("2026-12-31T14:59:59.999Z").await;
    assert_eq!(world.season_ids(&monthly).await, ["2026-12", "2026-11"]);
    world.turn_to("2026-12-31T15:00:00Z").await;
    assert_eq!(world.season_ids(&monthly).await, ["2027-01", "2026-12"]);
    is_gone(world, &monthly, "2026-11").await;
    assert_eq!(world.events("a", None).await, [""; 0]);
}

/// While the engine was stopped the time went on.
pub async fn what_is_past_its_time_after_a_downtime_is_gone_from_the_first_answer(
    world: &mut World,
) {
    let board = daily(world, "3 days", 15..18).await;
    world.clock().set(ms("2026-11-25T12:00:00Z"));
    world.restart().await;
    world.quiesce().await;
    for season in ["2026-11-15", "2026-11-16", "2026-11-17"] {
        is_gone(world, &board, season).await;
    }
    let left = ["2026-11-25", "2026-11-24", "2026-11-23", "2026-11-22"];
    assert_eq!(world.season_ids(&board).await, left);
    assert_eq!(world.events("a", None).await, [""; 0]);
    assert_eq!(world.best_of(&board, "a").await, Some((100, "2026-11-15".into())));
}

/// It is the one thing that stays.
pub async fn the_best_of_all_time_survives_its_season(world: &mut World) {
    let board = daily(world, "1 season", 15..19).await;
    let first = Some((100, "2026-11-15".to_owned()));
    for _ in 0..2 {
        assert_eq!(world.best_of(&board, "a").await, first);
        world.restart().await;
    }
    // An equal score came later; a better one is the best.
    world.submit(&board, "a", 3).await;
    assert_eq!(world.best_of(&board, "a").await, first);
    world.submit(&board, "a", 1).await;
    assert_eq!(world.best_of(&board, "a").await, Some((101, "2026-11-18".into())));
    for day in 19..22 {
        world.turn_to(&format!("2026-11-{day}T12:00:00Z")).await;
    }
    for _ in 0..2 {
        assert_eq!(world.seasons_of(&board, "a").await, [""; 0]);
        assert_eq!(world.best_of(&board, "a").await, Some((101, "2026-11-18".into())));
        assert_eq!(world.best_of(&board, "b").await, Some((1, "2026-11-15".into())));
        world.restart().await;
    }
}

/// However long it lasts.
pub async fn the_open_season_is_never_too_old(world: &mut World) {
    let board = world.board("b", r#"{"season":"never","keep":"1 day"}"#).await;
    let yearly = world.board("yearly", r#"{"season":"yearly","keep":"1 second"}"#).await;
    world.submit(&board, "a", 1).await;
    world.submit(&yearly, "a", 1).await;
    world.turn_to("2026-12-31T23:00:00Z").await;
    assert_eq!(world.top(&yearly).await, expect(&[("a", 1, 1)]));
    world.turn_to("2031-01-01T00:00:00Z").await;
    for _ in 0..2 {
        assert_eq!(world.top(&board).await, expect(&[("a", 1, 1)]));
        assert_eq!(world.events("a", Some(&board)).await, ["b all 1 1"]);
        assert_eq!(world.events("a", Some(&yearly)).await, [""; 0]);
        assert_eq!(world.season_ids(&board).await, ["all"]);
        world.restart().await;
    }
}

/// Snapshots have a time of their own, whatever becomes of their seasons.
pub async fn snapshots_past_their_time_are_gone(world: &mut World) {
    let definition = r#"{"season":"daily","grace":"0 seconds","keep":"1 season",
        "snapshots":{"at":"12:00","keep":"3 days"}}"#;
    let board = world.board("b", definition).await;
    for day in 15..19 {
        world.turn_to(&format!("2026-11-{day}T11:00:00Z")).await;
        world.submit(&board, "a", day).await;
        let (noon, date) = (format!("2026-11-{day}T12:00:00Z"), format!("2026-11-{day}"));
        world.turn_to_snapshot(&noon, &board, &date).await;
    }
    world.turn_to("2026-11-21T11:00:00Z").await;
    for _ in 0..2 {
        let dates = world.dates(&board).await;
        assert_eq!(dates, ["2026-11-20", "2026-11-19", "2026-11-18"]);
        for date in ["2026-11-15", "2026-11-16", "2026-11-17"] {
            let gone = world.engine().distribution(&board, &on(date)).await;
            fails!(gone, EngineError::UnknownSnapshot { .. });
        }
        // The season of this one is gone, the snapshot is not.
        assert_eq!(world.top_of(&board, on("2026-11-18")).await, expect(&[("a", 1, 18)]));
        assert_eq!(world.days_of("a", None).await, ["2026-11-18 b - 18 1 1"]);
        assert_eq!(world.top_of(&board, LATEST).await, []);
        world.restart().await;
    }
}

/// Nothing is deleted where everything is kept.
pub async fn what_is_kept_forever_stays(world: &mut World) {
    let board = daily(world, "forever", 15..17).await;
    world.turn_to("2026-12-20T00:00:00Z").await;
    for _ in 0..2 {
        assert_eq!(world.season_ids(&board).await.len(), 36);
        assert_eq!(world.top_of(&board, by_id("2026-11-15")).await.len(), 2);
        assert_eq!(world.events("a", None).await.len(), 2);
        world.restart().await;
    }
}

/// Keeping less deletes what is too old by now; keeping more brings nothing back.
pub async fn a_shorter_time_counts_for_what_is_there(world: &mut World) {
    let board = daily(world, "forever", 15..20).await;
    let definition = |keep: &str| {
        format!(r#"{{"season":"daily","grace":"0 seconds","keep":"{keep}","goal":1}}"#)
    };
    world.board("b", &definition("1 season")).await;
    world.quiesce().await;
    assert_eq!(world.season_ids(&board).await, ["2026-11-19", "2026-11-18"]);
    is_gone(world, &board, "2026-11-17").await;
    world.board("b", &definition("forever")).await;
    world.pass(Millis(1000)).await;
    for _ in 0..2 {
        assert_eq!(world.season_ids(&board).await, ["2026-11-19", "2026-11-18"]);
        assert_eq!(world.events("a", None).await.len(), 2);
        assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await.len(), 2);
        world.restart().await;
    }
}
