//! A player day by day.

use standings_core::BoardId;

use super::{
    World,
    recall::day,
    world::{fails, id, row},
};
use crate::{EngineError, PlayerSnapshotsQuery};

const OFFICIAL: &str = r#"{"season":"never","snapshots":{"at":"23:59","official":1}}"#;

/// Two boards on three days, with another name each day.
async fn three_days(world: &World) -> (BoardId, BoardId) {
    let level = world.board("level", OFFICIAL).await;
    let power = world.board("power", r#"{"season":"never"}"#).await;
    for date in 15..18 {
        world.turn_to(&format!("2026-11-{date}T09:00:00Z")).await;
        world.quiesce().await;
        world.rename("a", Some(&format!("Name{date}"))).await;
        world.play(&level, &[("a", 10), ("b", 11)]).await;
        world.play(&power, &[("a", 3)]).await;
        if date == 17 {
            world.submit(&level, "a", 50).await;
        }
        for board in [&power, &level] {
            world.take(board).await;
        }
    }
    (level, power)
}

/// Newest first, then by board, with the name of that date.
pub async fn a_player_is_seen_day_by_day(world: &mut World) {
    let (level, power) = three_days(world).await;
    let on_level = [
        "2026-11-17 level Name17 80 1 1",
        "2026-11-16 level Name16 20 2 -",
        "2026-11-15 level Name15 10 2 -",
    ];
    let on_power = [
        "2026-11-17 power Name17 9 1 -",
        "2026-11-16 power Name16 6 1 -",
        "2026-11-15 power Name15 3 1 -",
    ];
    for _ in 0..2 {
        assert_eq!(world.days_of("a", Some(&level)).await, on_level);
        assert_eq!(world.days_of("a", Some(&power)).await, on_power);
        let all: Vec<_> = on_level.into_iter().zip(on_power).flat_map(<[_; 2]>::from).collect();
        assert_eq!(world.days_of("a", None).await, all);
        assert_eq!(world.days_of("b", Some(&power)).await, [""; 0]);
        assert_eq!(world.days_of("nobody", None).await, [""; 0]);
        world.restart().await;
    }
    let nowhere = Some(BoardId::new("nowhere").unwrap());
    let query =
        PlayerSnapshotsQuery { board: nowhere, limit: 1, ..PlayerSnapshotsQuery::default() };
    fails!(world.engine().player_snapshots(&id("a"), &query).await, EngineError::UnknownBoard(_));
}

/// Both ends are inclusive.
pub async fn days_of_a_player_are_narrowed_by_dates(world: &mut World) {
    let (level, _) = three_days(world).await;
    let cases = [
        (Some("2026-11-16"), None, "17 16"),
        (None, Some("2026-11-16"), "16 15"),
        (Some("2026-11-16"), Some("2026-11-16"), "16"),
        (Some("2026-11-17"), Some("2026-11-16"), ""),
        (Some("2026-01-01"), Some("2026-12-31"), "17 16 15"),
        (Some("2026-11-18"), None, ""),
    ];
    for (from, to, expected) in cases {
        for (board, times) in [(Some(level.clone()), 1), (None, 2)] {
            let (from, to) = (from.map(day), to.map(day));
            let query = PlayerSnapshotsQuery { board, from, to, before: None, limit: 100 };
            let days = world.days_by("a", &query).await;
            let dates: Vec<_> = days.iter().step_by(times).map(|line| &line[8..10]).collect();
            assert_eq!(dates.join(" "), expected, "{query:?}");
            assert_eq!(days.len(), dates.len() * times);
        }
    }
}

/// While new snapshots are taken between any two pages.
pub async fn days_of_a_player_are_paged_without_gap_or_duplicate(world: &mut World) {
    let (level, _) = three_days(world).await;
    for board in [None, Some(level.clone())] {
        let before_that = world.days_of("a", board.as_ref()).await;
        for limit in [1, 2, 3] {
            let (mut seen, mut before) = (Vec::new(), None);
            loop {
                let query = PlayerSnapshotsQuery {
                    board: board.clone(),
                    before,
                    limit,
                    ..PlayerSnapshotsQuery::default()
                };
                seen.extend(world.days_by("a", &query).await);
                let page = world.engine().player_snapshots(&id("a"), &query).await.unwrap();
                assert_eq!(page.next.is_some(), seen.len() < before_that.len());
                before = page.next;
                if before.is_none() {
                    break;
                }
            }
            assert_eq!(seen, before_that);
        }
    }
    // A day that comes does not move those that were.
    let query = PlayerSnapshotsQuery {
        board: Some(level.clone()),
        limit: 1,
        ..PlayerSnapshotsQuery::default()
    };
    let first = world.engine().player_snapshots(&id("a"), &query).await.unwrap();
    world.turn_to("2026-11-18T09:00:00Z").await;
    world.take(&level).await;
    world.import_snapshot(&level, "2026-11-10", vec![row("a", 1, None)]).await.unwrap();
    let rest = PlayerSnapshotsQuery { before: first.next, limit: 10, ..query };
    let days = world.days_by("a", &rest).await;
    let dates: Vec<_> = days.iter().map(|line| &line[8..10]).collect();
    assert_eq!(dates, ["16", "15", "10"]);
}
