//! Access keys, and an engine that has been shut down.

use standings_core::{KeyName, Millis, Profile};

use super::{
    World,
    world::{fails, id, is_unavailable, submission},
};
use crate::{EngineError, KeyHash, Role};

fn key(text: &str) -> KeyName {
    KeyName::new(text).unwrap()
}

fn hash(byte: u8) -> KeyHash {
    KeyHash([byte; 32])
}

/// By nothing else, and the list is in order of names.
pub async fn a_key_is_found_by_its_hash(world: &mut World) {
    let engine = world.engine();
    assert_eq!(engine.keys().await.unwrap(), []);
    engine.put_key(&key("game"), Role::Game, hash(2), false).await.unwrap();
    engine.put_key(&key("admin"), Role::Admin, hash(1), false).await.unwrap();
    let found = engine.key(&hash(2)).unwrap().unwrap();
    assert_eq!((found.name, found.role, found.created_at), (key("game"), Role::Game, world.now()));
    assert_eq!(engine.key(&hash(3)).unwrap(), None);
    let names: Vec<_> = engine.keys().await.unwrap().into_iter().map(|k| k.name).collect();
    assert_eq!(names, [key("admin"), key("game")]);
}

/// Nobody loses a key by accident.
pub async fn a_key_is_replaced_only_on_request(world: &mut World) {
    let engine = world.engine();
    engine.put_key(&key("k"), Role::Read, hash(1), false).await.unwrap();
    let again = engine.put_key(&key("k"), Role::Admin, hash(2), false).await;
    fails!(again, EngineError::KeyExists);
    assert_eq!(engine.key(&hash(2)).unwrap(), None);
    world.clock().advance(Millis(1000));
    engine.put_key(&key("k"), Role::Admin, hash(2), true).await.unwrap();
    assert_eq!(engine.key(&hash(1)).unwrap(), None);
    let now = engine.key(&hash(2)).unwrap().unwrap();
    assert_eq!((now.role, now.created_at), (Role::Admin, world.now()));
    assert_eq!(engine.keys().await.unwrap().len(), 1);
    // The same secret again, as at every start of a server.
    engine.put_key(&key("k"), Role::Admin, hash(2), true).await.unwrap();
    assert_eq!(engine.key(&hash(2)).unwrap().unwrap().name, key("k"));
}

/// At once, and only this one.
pub async fn a_deleted_key_stops_working(world: &mut World) {
    let engine = world.engine();
    engine.put_key(&key("k"), Role::Read, hash(1), false).await.unwrap();
    engine.put_key(&key("l"), Role::Read, hash(2), false).await.unwrap();
    engine.delete_key(&key("k")).await.unwrap();
    assert_eq!(engine.key(&hash(1)).unwrap(), None);
    assert!(engine.key(&hash(2)).unwrap().is_some());
    fails!(engine.delete_key(&key("k")).await, EngineError::UnknownKey);
    engine.put_key(&key("k"), Role::Game, hash(3), false).await.unwrap();
    assert_eq!(engine.key(&hash(3)).unwrap().unwrap().role, Role::Game);
}

/// What was deleted stays so.
pub async fn keys_survive_a_restart(world: &mut World) {
    let engine = world.engine();
    for (name, role, byte) in [("a", Role::Admin, 1), ("b", Role::Game, 2), ("c", Role::Read, 3)] {
        engine.put_key(&key(name), role, hash(byte), false).await.unwrap();
    }
    engine.delete_key(&key("b")).await.unwrap();
    let before = engine.keys().await.unwrap();
    drop(engine);
    world.restart().await;
    assert_eq!(world.engine().keys().await.unwrap(), before);
    assert_eq!(world.engine().key(&hash(2)).unwrap(), None);
    assert_eq!(world.engine().key(&hash(3)).unwrap().unwrap().role, Role::Read);
}

/// `Unavailable`, and nothing is applied.
pub async fn an_engine_that_was_shut_down_answers_so(world: &mut World) {
    let board = world.forever().await;
    let engine = world.engine();
    engine.ready().unwrap();
    engine.shutdown().await;
    assert!(is_unavailable(&engine.ready().unwrap_err()));
    let answer = engine.submit(&board, vec![submission("a", 1)]).await;
    assert!(is_unavailable(&answer.unwrap_err()));
    let answer = engine.put_player(&id("a"), Profile::default()).await;
    assert!(is_unavailable(&answer.unwrap_err()));
    // Twice does no harm.
    engine.shutdown().await;
    drop(engine);
    world.restart().await;
    assert_eq!(world.top(&board).await, []);
}
