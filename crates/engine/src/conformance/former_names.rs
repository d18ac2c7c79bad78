//! Names of their time: a standing that no longer changes keeps the names that its players had when it was written, which is some moments
//! after it closed or was taken.

use standings_core::{BoardId, Profile, player::AvatarUrl, rule::Submission};

use super::{
    World,
    recall::{LATEST, on},
    world::{by_id, id, name, row, submission},
};
use crate::{PageQuery, StandingRef};

const PLAYERS: [&str; 4] = ["a", "b", "c", "d"];

/// The names on a standing's rows, by player.
async fn names(world: &World, board: &BoardId, standing: StandingRef) -> Vec<String> {
    let query = PageQuery { standing, limit: 1000, ..PageQuery::default() };
    let mut rows = world.rows(board, query).await;
    rows.sort_by_key(|row| row.player.clone());
    let shown = rows.iter().map(|row| {
        let name = row.profile.as_ref().and_then(|profile| profile.name.clone());
        name.map_or_else(String::new, |name| name.to_string())
    });
    shown.collect()
}

/// Everyone has a name but `d`, and a score.
async fn named(world: &World) -> BoardId {
    let board = world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    for player in ["a", "b", "c"] {
        world.rename(player, Some(&format!("Old {player}"))).await;
    }
    world.play(&board, &PLAYERS.map(|player| (player, 1))).await;
    board
}

/// Renames each in another way: by profile, by submission, by losing the name, by getting one.
async fn rename_all(world: &World, board: &BoardId) {
    world.rename("a", Some("Between")).await;
    world.rename("a", Some("New a")).await;
    let renaming = Submission { user_name: Some(name("New b")), ..submission("b", 1) };
    world.decide(board, renaming).await.unwrap();
    world.rename("c", None).await;
    world.rename("d", Some("New d")).await;
}

const OLD: [&str; 4] = ["Old a", "Old b", "Old c", ""];
const NEW: [&str; 4] = ["New a", "New b", "", "New d"];

/// Once its rows are written.
pub async fn a_renaming_after_a_close_leaves_the_past_alone(world: &mut World) {
    let board = named(world).await;
    world.engine().close_season(&board, None).await.unwrap();
    world.quiesce().await;
    rename_all(world, &board).await;
    world.play(&board, &PLAYERS.map(|player| (player, 1))).await;
    for _ in 0..3 {
        assert_eq!(names(world, &board, StandingRef::PREVIOUS).await, OLD);
        assert_eq!(names(world, &board, by_id("2026-11-15")).await, OLD);
        assert_eq!(names(world, &board, StandingRef::CURRENT).await, NEW);
        world.restart().await;
    }
}

/// The answer comes when its rows are written.
pub async fn a_renaming_right_after_a_snapshot_leaves_the_past_alone(world: &mut World) {
    let board = named(world).await;
    world.take(&board).await;
    rename_all(world, &board).await;
    for _ in 0..3 {
        assert_eq!(names(world, &board, LATEST).await, OLD);
        assert_eq!(names(world, &board, StandingRef::CURRENT).await, NEW);
        assert_eq!(world.days_of("a", None).await, ["2026-11-15 b Old a 1 1 -"]);
        assert_eq!(world.days_of("d", None).await, ["2026-11-15 b - 1 1 -"]);
        world.restart().await;
    }
}

/// A season that the clock ends, and a snapshot that it brings.
pub async fn a_renaming_after_the_clock_has_turned_leaves_the_past_alone(world: &mut World) {
    let definition = r#"{"season":"daily","grace":"0 seconds","snapshots":{"at":"23:00"}}"#;
    let board = named(world).await;
    world.board("b", definition).await;
    world.turn_to_snapshot("2026-11-15T23:00:00Z", &board, "2026-11-15").await;
    world.rename("a", Some("Mid a")).await;
    world.turn_to("2026-11-16T00:00:00Z").await;
    world.quiesce().await;
    rename_all(world, &board).await;
    for _ in 0..3 {
        assert_eq!(names(world, &board, on("2026-11-15")).await, OLD);
        assert_eq!(names(world, &board, by_id("2026-11-15")).await[0], "Mid a");
        assert_eq!(names(world, &board, by_id("2026-11-15")).await[1..], OLD[1..]);
        world.restart().await;
    }
}

/// Each of them the name of its own time, with several in a row.
pub async fn every_season_and_snapshot_has_its_own_name(world: &mut World) {
    let board = world.board("b", "{}").await;
    for round in 1..=10 {
        world.rename("a", Some(&format!("Name {round}"))).await;
        world.play(&board, &[("a", round)]).await;
        if round == 5 {
            world.take(&board).await;
        }
        world.engine().close_season(&board, None).await.unwrap();
        world.quiesce().await;
    }
    world.rename("a", Some("Today")).await;
    for _ in 0..2 {
        assert_eq!(world.name_on(&board, &LATEST, "a").await.as_deref(), Some("Name 5"));
        for round in 1..=10 {
            let season = if round == 1 { "2026-11".to_owned() } else { format!("2026-11.{round}") };
            let shown = world.name_on(&board, &by_id(&season), "a").await;
            assert_eq!(shown, Some(format!("Name {round}")));
        }
        world.restart().await;
    }
}

/// A name that comes with an imported row is of that time and of no other.
pub async fn an_imported_name_is_of_its_time(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.rename("a", Some("Today")).await;
    world.submit(&board, "a", 1).await;
    let old = crate::ScoreRow { user_name: Some(name("Then")), ..row("a", 5, None) };
    world.import(&board, "2026-10", vec![old.clone()]).await.unwrap();
    world.import_snapshot(&board, "2026-10-05", vec![old]).await.unwrap();
    for _ in 0..2 {
        for past in [by_id("2026-10"), on("2026-10-05")] {
            assert_eq!(world.name_on(&board, &past, "a").await.as_deref(), Some("Then"));
        }
        let now = world.name_on(&board, &StandingRef::CURRENT, "a").await;
        assert_eq!(now.as_deref(), Some("Today"));
        world.restart().await;
    }
}

/// The picture is of today, everywhere.
pub async fn a_picture_is_of_today(world: &mut World) {
    let board = named(world).await;
    world.take(&board).await;
    world.engine().close_season(&board, None).await.unwrap();
    world.quiesce().await;
    let picture = AvatarUrl::new("https://example.com/a.png").unwrap();
    let profile =
        Profile { name: Some(name("New")), avatar_url: Some(picture.clone()), attributes: None };
    world.engine().put_player(&id("a"), profile).await.unwrap();
    for _ in 0..2 {
        for past in [StandingRef::PREVIOUS, LATEST] {
            let entry = world.engine().entry(&board, &past, &id("a"), None).await.unwrap();
            let profile = entry.row.profile.unwrap();
            assert_eq!(profile.name, Some(name("Old a")));
            assert_eq!(profile.avatar_url, Some(picture.clone()));
        }
        world.restart().await;
    }
}
