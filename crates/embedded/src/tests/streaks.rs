//! Streaks whose first seasons have changed or gone.

use standings_core::Millis;

use crate::tests::{
    kit::{InDirectory, board, definition, player, points, submit},
    retention::{eager, until},
    script::settled,
};
use crate::{Embedded, state::catalog::Rows};
use standings_engine::{
    Engine, PlayerSeasonsQuery, SeasonRef,
    conformance::{Fixture as _, World},
};

const DAY: i64 = 24 * 3_600_000;

async fn home(keep: &str) -> InDirectory {
    let home = InDirectory::new(World::start(), eager());
    let json = r#"{"season":"daily","grace":"0 seconds","goal":1,"keep":"KEEP"}"#;
    let json = json.replace("KEEP", keep);
    home.engine().put_board(&board("b"), definition(&json)).await.unwrap();
    home
}

/// Everyone meets the goal, and the day passes.
async fn play(home: &InDirectory, players: &[&str]) {
    for id in players {
        submit(&*home.engine(), &board("b"), points(id, 1)).await.unwrap();
    }
    home.clock().advance(Millis(DAY));
    home.engine().submit(&board("none"), vec![]).await.unwrap_err();
    settled(&home.embedded()).await;
}

async fn current(engine: &dyn Engine, who: &str) -> u32 {
    let (from, to) = (Millis::MIN, Millis::MAX);
    let query = PlayerSeasonsQuery { from, to, before: None, limit: 10 };
    let seasons = engine.player_seasons(&player(who), &board("b"), &query).await.unwrap();
    seasons.streak.unwrap().current
}

/// For each file, oldest first, whether it carries streaks.
fn carries(engine: &Embedded) -> Vec<bool> {
    let catalog = engine.shared.catalog.read();
    let seasons = catalog.board(&board("b")).unwrap().seasons();
    let files = seasons.filter_map(|season| match &season.rows {
        Rows::Frozen(file) => Some(file.carries),
        Rows::Live(_) => None,
    });
    files.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_counts_after_the_season_that_it_was_in_has_gone() {
    let mut home = home("2 seasons").await;
    play(&home, &["a", "b"]).await;
    play(&home, &["a", "b"]).await;
    let first = SeasonRef::Id("2026-11-15".parse().unwrap());
    home.engine().remove_entry(&board("b"), &first, &player("a")).await.unwrap();
    assert_eq!(carries(&home.embedded()), [true, false]);
    assert_eq!((current(&*home.engine(), "a").await, current(&*home.engine(), "b").await), (1, 2));
    home.restart().await;
    assert_eq!(carries(&home.embedded()), [true, false], "after a restart as well");
    play(&home, &["a", "b"]).await;
    play(&home, &["a", "b"]).await;
    let engine = home.embedded();
    until("only two days are kept", || carries(&engine) == [true, true]).await;
    assert_eq!((current(&*engine, "a").await, current(&*engine, "b").await), (3, 4));
    drop(engine);
    home.stop().await;
}

/// A file is written anew without the player; the streaks of the others are what they were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_leaves_what_later_seasons_carry() {
    let mut home = home("forever").await;
    play(&home, &["a", "b"]).await;
    play(&home, &["a"]).await;
    home.engine().erase_player(&player("b")).await.unwrap();
    let engine = home.embedded();
    until("the erasure is settled", || engine.shared.catalog.read().erased().is_empty()).await;
    assert_eq!(carries(&engine), [true, true]);
    assert_eq!(current(&*engine, "a").await, 2);
    drop(engine);
    home.stop().await;
}
