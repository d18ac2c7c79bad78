//! Profiles and names.

use standings_core::{
    Profile,
    player::{Attributes, AvatarUrl},
    rule::Submission,
};

use super::{
    World,
    world::{fails, id, name, offset, submission},
};
use crate::{EngineError, NameQuery};

fn named(text: &str) -> Profile {
    Profile { name: Some(name(text)), ..Profile::default() }
}

async fn found(world: &World, query: NameQuery, limit: usize) -> Vec<String> {
    let players = world.by_name(&query, limit).await;
    players.iter().map(|found| format!("{}={}", found.player, found.name)).collect()
}

async fn is(world: &World, text: &str) -> Vec<String> {
    found(world, NameQuery::Is(text.into()), 100).await
}

async fn starts(world: &World, text: &str, limit: usize) -> Vec<String> {
    found(world, NameQuery::StartsWith(text.into()), limit).await
}

/// Whole, not merged.
pub async fn a_profile_is_what_was_put_last(world: &mut World) {
    let full = Profile {
        name: Some(name("Ann")),
        avatar_url: Some(AvatarUrl::new("https://example.com/a.png").unwrap()),
        attributes: Some(Attributes::new(r#"{"level":3}"#.into()).unwrap()),
    };
    let engine = world.engine();
    engine.put_player(&id("a"), named("First")).await.unwrap();
    engine.put_player(&id("a"), full.clone()).await.unwrap();
    let info = engine.player(&id("a"), 10).await.unwrap();
    assert_eq!((*info.profile).clone(), full);
    assert!(info.entries.is_empty());
    drop(engine);
    world.restart().await;
    assert_eq!(*world.engine().player(&id("a"), 10).await.unwrap().profile, full);
    world.engine().put_player(&id("a"), Profile::default()).await.unwrap();
    let info = world.engine().player(&id("a"), 10).await.unwrap();
    assert!(info.profile.is_empty());
}

/// A player exists from the first score on.
pub async fn a_player_is_known_by_scores_alone(world: &mut World) {
    let board = world.forever().await;
    fails!(world.engine().player(&id("a"), 10).await, EngineError::UnknownPlayer(_));
    world.submit(&board, "a", 1).await;
    for _ in 0..2 {
        let info = world.engine().player(&id("a"), 10).await.unwrap();
        assert!(info.profile.is_empty());
        assert_eq!(info.entries.len(), 1);
        world.restart().await;
    }
}

/// By board id, up to the limit, of the seasons that are current.
pub async fn a_player_has_entries_on_current_seasons(world: &mut World) {
    let daily = world.board("daily", r#"{"season":"daily"}"#).await;
    let forever = world.forever().await;
    let other = world.board("other", "{}").await;
    for board in [&daily, &forever, &other] {
        world.play(board, &[("b", 9), ("a", 5)]).await;
    }
    let entries = async |limit| {
        let info = world.engine().player(&id("a"), limit).await.unwrap();
        let shown = info.entries.iter().map(|entry| {
            format!("{} {} {} {}", entry.board, entry.season, entry.score, entry.rank)
        });
        shown.collect::<Vec<_>>()
    };
    let all = ["daily 2026-11-15 5 2", "forever all 5 2", "other 2026-11 5 2"];
    assert_eq!(entries(100).await, all);
    assert_eq!(entries(2).await, all[..2]);
    world.turn_to("2026-11-16T00:00:00Z").await;
    assert_eq!(entries(100).await, all[1..]);
    // A board left behind does not use up the limit.
    assert_eq!(entries(1).await, all[1..2]);
}

/// By the rules of Unicode.
pub async fn a_name_is_found_in_any_letter_case(world: &mut World) {
    let names =
        [("a", "Hello"), ("b", "HELLO"), ("c", "hello2"), ("d", "Straße"), ("e", "Σίσυφος")];
    for (player, name) in names {
        world.engine().put_player(&id(player), named(name)).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(is(world, "hELLo").await, ["a=Hello", "b=HELLO"]);
        assert_eq!(is(world, "STRASSE").await, ["d=Straße"]);
        assert_eq!(is(world, "ΣΊΣΥΦΟΣ").await, ["e=Σίσυφος"]);
        assert_eq!(is(world, "hell").await, [""; 0]);
        world.restart().await;
    }
    assert_eq!(found(world, NameQuery::Is("hello".into()), 1).await, ["a=Hello"]);
}

/// In order of names, then of ids.
pub async fn a_name_is_found_by_its_beginning_up_to_a_limit(world: &mut World) {
    for number in (0..30).rev() {
        let player = id(&format!("p{number:02}"));
        world.engine().put_player(&player, named(&format!("Hero {number:02}"))).await.unwrap();
    }
    world.engine().put_player(&id("z"), named("hern")).await.unwrap();
    for _ in 0..2 {
        let twenty: Vec<_> = (0..20).map(|n| format!("p{n:02}=Hero {n:02}")).collect();
        assert_eq!(starts(world, "HERO", 20).await, twenty);
        assert_eq!(starts(world, "he", 1).await, ["z=hern"]);
        assert_eq!(starts(world, "hero 2", 3).await, twenty_to(3));
        assert_eq!(starts(world, "x", 3).await, [""; 0]);
        world.restart().await;
    }
}

fn twenty_to(count: usize) -> Vec<String> {
    (20..20 + count).map(|n| format!("p{n:02}=Hero {n:02}")).collect()
}

/// The old one finds nobody.
pub async fn a_new_name_replaces_the_old_one(world: &mut World) {
    for text in ["One", "Two", "two", "Three"] {
        world.engine().put_player(&id("a"), named(text)).await.unwrap();
    }
    world.engine().put_player(&id("b"), named("One")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(is(world, "one").await, ["b=One"]);
        assert_eq!(is(world, "two").await, [""; 0]);
        assert_eq!(is(world, "three").await, ["a=Three"]);
        world.restart().await;
    }
    world.engine().put_player(&id("a"), named("Two")).await.unwrap();
    assert_eq!(is(world, "three").await, [""; 0]);
    assert_eq!(starts(world, "t", 10).await, ["a=Two"]);
    world.engine().put_player(&id("a"), Profile::default()).await.unwrap();
    assert_eq!(starts(world, "", 10).await, ["b=One"]);
    world.restart().await;
    assert_eq!(starts(world, "", 10).await, ["b=One"]);
}

/// It changes the name and nothing else of the profile.
pub async fn a_name_comes_with_a_submission(world: &mut World) {
    let board = world.forever().await;
    let avatar_url = Some(AvatarUrl::new("https://example.com/a.png").unwrap());
    let profile = Profile { avatar_url: avatar_url.clone(), ..named("Old") };
    world.engine().put_player(&id("a"), profile).await.unwrap();
    let with = |player, text| Submission { user_name: Some(name(text)), ..submission(player, 1) };
    let batch = vec![with("a", "New"), with("b", "Bee"), with("b", "Bea"), with("a", "New")];
    world.batch(&board, batch).await;
    for _ in 0..2 {
        let a = world.engine().player(&id("a"), 1).await.unwrap().profile;
        assert_eq!((a.name.clone(), a.avatar_url.clone()), (Some(name("New")), avatar_url.clone()));
        assert_eq!(is(world, "bea").await, ["b=Bea"]);
        assert_eq!(is(world, "bee").await, [""; 0]);
        assert_eq!(is(world, "old").await, [""; 0]);
        world.restart().await;
    }
}

/// Nothing changes with it.
pub async fn a_rejected_submission_sets_no_name(world: &mut World) {
    let board = world.board("b", r#"{"max_points":1}"#).await;
    let bad = Submission { user_name: Some(name("Bad")), ..submission("a", 2) };
    assert!(world.decide(&board, bad).await.is_err());
    assert_eq!(is(world, "bad").await, [""; 0]);
    fails!(world.engine().player(&id("a"), 10).await, EngineError::UnknownPlayer(_));
}

/// The name as it is now, wherever the row is shown.
pub async fn names_are_on_the_rows_of_a_board(world: &mut World) {
    let board = world.forever().await;
    world.play(&board, &[("a", 2), ("b", 1)]).await;
    let shown = async || {
        let rows = world.rows(&board, offset(0, 10)).await;
        let names = rows.iter().map(|row| {
            let name = row.profile.as_ref().and_then(|profile| profile.name.clone());
            name.map_or_else(String::new, |name| name.to_string())
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(shown().await, ["", ""]);
    world.engine().put_player(&id("a"), named("Ann")).await.unwrap();
    assert_eq!(shown().await, ["Ann", ""]);
    world.engine().put_player(&id("a"), named("Anna")).await.unwrap();
    assert_eq!(shown().await, ["Anna", ""]);
}
