//! Several servers on one store, or several callers of one server: what one of them does, the others go by.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use standings_core::{Board, BoardId, KeyName, Millis, Score, SeasonId};
use tokio::task::JoinSet;

use super::{
    World, decided,
    recall::LATEST,
    world::{by_id, event, fails, id, submission},
};
use crate::{Engine, EngineError, FirstStart, Initialised, KeyHash, Receipt, Role, StandingRef};

/// Callers at once, spread over the servers.
const CALLERS: usize = 8;

/// What callers do at once, each on one of the servers.
async fn at_once<T, F>(world: &World, call: impl Fn(usize, Arc<dyn Engine>) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut calls = JoinSet::new();
    for caller in 0..CALLERS {
        calls.spawn(call(caller, world.engine()));
    }
    calls.join_all().await
}

/// Whoever is asked, and at the same moment.
pub async fn an_event_id_counts_once_on_all_servers(world: &mut World) {
    let board = world.forever().await;
    for round in 1..=10 {
        let receipts = at_once(world, |_, server| {
            let (board, event) = (board.clone(), event("a", 5, &format!("event-{round}")));
            async move { decided(server.submit(&board, vec![event]).await.unwrap().remove(0)) }
        });
        let receipts: Vec<Receipt> = receipts.await.into_iter().map(Result::unwrap).collect();
        assert!(receipts.iter().all(|receipt| receipt.score.get() == round * 5), "{receipts:?}");
        assert_eq!(receipts.iter().filter(|receipt| !receipt.duplicate).count(), 1);
    }
    world.quiesce().await;
    assert_eq!(world.entry(&board, "a").await.row.score.get(), 50);
}

/// Each submission finds what all before it have led to.
pub async fn a_player_on_all_servers_loses_nothing(world: &mut World) {
    const EACH: usize = 25;
    let board = world.forever().await;
    let scores = at_once(world, |_, server| {
        let board = board.clone();
        async move {
            let mut scores = Vec::new();
            for _ in 0..EACH {
                let answer = server.submit(&board, vec![submission("a", 1)]).await.unwrap();
                let receipt = decided(answer.into_iter().next().unwrap()).unwrap();
                let before = receipt.previous_score.map_or(0, Score::get);
                assert_eq!(receipt.score.get(), before + 1);
                scores.push(receipt.score.get());
            }
            scores
        }
    });
    let mut scores: Vec<i64> = scores.await.into_iter().flatten().collect();
    scores.sort_unstable();
    let all = i64::try_from(CALLERS * EACH).unwrap();
    assert_eq!(scores, (1..=all).collect::<Vec<_>>());
    world.quiesce().await;
    assert_eq!(world.entry(&board, "a").await.row.score.get(), all);
}

/// Though seasons are closed while it is decided.
pub async fn a_score_is_in_the_season_that_its_receipt_names(world: &mut World) {
    const EACH: usize = 20;
    let board = world.board("b", "{}").await;
    let found = at_once(world, |caller, server| {
        let board = board.clone();
        async move {
            let mut seasons = Vec::new();
            for number in 0..EACH {
                if caller == 0 {
                    server.close_season(&board, None).await.unwrap();
                    continue;
                }
                let player = format!("p{caller}-{number}");
                let answer = server.submit(&board, vec![submission(&player, 1)]).await.unwrap();
                let receipt = decided(answer.into_iter().next().unwrap()).unwrap();
                seasons.push((receipt.season, player));
            }
            seasons
        }
    });
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (season, player) in found.await.into_iter().flatten() {
        expected.entry(season.to_string()).or_default().insert(player);
    }
    world.quiesce().await;
    assert_eq!(world.seasons(&board).await.len(), EACH + 1);
    for season in world.season_ids(&board).await {
        let top = world.top_of(&board, by_id(&season)).await;
        let shown: BTreeSet<String> = top.into_iter().map(|(player, ..)| player).collect();
        assert_eq!(shown, expected.remove(&season).unwrap_or_default(), "{season}");
    }
    assert!(expected.is_empty(), "{expected:?}");
}

/// What was answered before is in it, what is sent after is not.
pub async fn a_snapshot_is_of_an_instant_while_scores_come(world: &mut World) {
    const EACH: u64 = 60;
    let board = world.forever().await;
    let apart = world.capabilities().as_of;
    let moment = Arc::new(AtomicU64::new(0));
    let calls = at_once(world, |caller, server| {
        let (board, moment) = (board.clone(), Arc::clone(&moment));
        async move {
            let now = || moment.fetch_add(1, Ordering::SeqCst);
            let mut calls = Vec::new();
            for number in 0..EACH {
                let (player, sent) = (format!("p{caller}-{number}"), now());
                if caller == 0 && number == EACH / 2 {
                    server.take_snapshot(&board).await.unwrap();
                    calls.push((None, sent, now()));
                }
                let answer = server.submit(&board, vec![submission(&player, 1)]).await.unwrap();
                decided(answer.into_iter().next().unwrap()).unwrap();
                calls.push((Some(player), sent, now()));
            }
            calls
        }
    });
    let calls: Vec<(Option<String>, u64, u64)> = calls.await.into_iter().flatten().collect();
    world.quiesce().await;
    let (_, begun, done) = calls.iter().find(|call| call.0.is_none()).unwrap().clone();
    let top = world.top_of(&board, LATEST).await;
    let shown: BTreeSet<String> = top.into_iter().map(|(player, ..)| player).collect();
    // Where instants are not exact, all of this was at one.
    for (player, sent, answered) in calls.iter().filter(|_| apart == Millis(0)) {
        let Some(player) = player else { continue };
        assert!(*answered > begun || shown.contains(player), "{player} was answered before");
        assert!(*sent < done || !shown.contains(player), "{player} was sent after");
    }
    // A while before and after there is no doubt.
    world.pass(Millis(apart.0 + 1)).await;
    world.submit(&board, "before", 1).await;
    world.pass(Millis(apart.0 + 1)).await;
    world.take(&board).await;
    world.pass(Millis(apart.0 + 1)).await;
    world.submit(&board, "after", 1).await;
    world.quiesce().await;
    let top = world.top_of(&board, LATEST).await;
    let is_shown = |player: &str| top.iter().any(|line| line.0 == player);
    assert_eq!((is_shown("before"), is_shown("after")), (true, false));
}

/// At once where it was deleted.
pub async fn a_key_deleted_on_one_server_stops_working_on_all(world: &mut World) {
    let (name, hash) = (KeyName::new("k").unwrap(), KeyHash([1; 32]));
    world.engine().put_key(&name, Role::Game, hash, false).await.unwrap();
    world.elsewhere().await;
    for server in world.servers() {
        assert_eq!(server.key(&hash).unwrap().map(|key| key.role), Some(Role::Game));
    }
    let server = world.engine();
    server.delete_key(&name).await.unwrap();
    assert_eq!(server.key(&hash).unwrap(), None);
    world.elsewhere().await;
    for server in world.servers() {
        assert_eq!(server.key(&hash).unwrap(), None);
    }
}

/// With all that was on it; one that is made anew has nothing of it.
pub async fn a_board_deleted_on_one_server_is_gone_on_all(world: &mut World) {
    let board = world.forever().await;
    world.submit(&board, "a", 7).await;
    let server = world.engine();
    server.delete_board(&board).await.unwrap();
    fails!(server.board(&board).await, EngineError::UnknownBoard(_));
    world.elsewhere().await;
    for server in world.servers() {
        fails!(server.board(&board).await, EngineError::UnknownBoard(_));
        let answer = server.submit(&board, vec![submission("a", 1)]).await;
        fails!(answer, EngineError::UnknownBoard(_));
    }
    world.forever().await;
    world.elsewhere().await;
    for server in world.servers() {
        assert_eq!(server.board(&board).await.unwrap().players, 0);
        let entry = server.entry(&board, &StandingRef::CURRENT, &id("a"), None).await;
        fails!(entry, EngineError::UnknownPlayer(_));
    }
}

fn first_start(caller: u8) -> FirstStart {
    FirstStart {
        board: (BoardId::new("main").unwrap(), Board::default()),
        admin: (KeyName::new("admin").unwrap(), KeyHash([caller; 32])),
    }
}

/// One of those that start together has made the key, and may show it.
pub async fn of_servers_that_start_together_one_makes_the_key(world: &mut World) {
    let done = at_once(world, |caller, server| async move {
        let caller = u8::try_from(caller).unwrap();
        (caller, server.initialise(first_start(caller)).await.unwrap())
    });
    let done = done.await;
    let made: Vec<_> = done.iter().filter(|(_, made)| *made != Initialised::default()).collect();
    let [(caller, made)] = made[..] else { panic!("{made:?}") };
    assert_eq!(*made, Initialised { board: true, admin: true });
    world.elsewhere().await;
    for server in world.servers() {
        let key = server.key(&KeyHash([*caller; 32])).unwrap().unwrap();
        assert_eq!((key.name.as_str(), key.role), ("admin", Role::Admin));
        assert_eq!(server.keys().await.unwrap(), [key]);
        assert_eq!(server.board(&first_start(0).board.0).await.unwrap().players, 0);
    }
}

/// What is there stays, and what was deleted is not made again; but there is always an admin key.
pub async fn a_later_start_makes_only_a_key_that_is_missing(world: &mut World) {
    let (main, admin) = (first_start(1).board.0, first_start(1).admin.0);
    let start = async |caller| world.engine().initialise(first_start(caller)).await.unwrap();
    assert_eq!(start(1).await, Initialised { board: true, admin: true });
    assert_eq!(start(2).await, Initialised { board: false, admin: false });
    world.engine().delete_board(&main).await.unwrap();
    world.restart().await;
    let start = async |caller| world.engine().initialise(first_start(caller)).await.unwrap();
    assert_eq!(start(3).await, Initialised { board: false, admin: false });
    world.engine().delete_key(&admin).await.unwrap();
    let game = KeyName::new("game").unwrap();
    world.engine().put_key(&game, Role::Game, KeyHash([9; 32]), false).await.unwrap();
    assert_eq!(start(4).await, Initialised { board: false, admin: true });
    world.elsewhere().await;
    let key = world.engine().key(&KeyHash([4; 32])).unwrap().unwrap();
    assert_eq!((key.name, key.role), (admin, Role::Admin));
    assert_eq!(world.boards().await.len(), 0);
}

/// What is due is done by whoever asks, and by many at once.
pub async fn maintenance_may_be_asked_for_by_many_at_once(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    for day in 15..18 {
        world.submit(&board, "a", day).await;
        world.clock().advance(Millis(24 * 3_600_000));
        let budget = std::time::Duration::from_secs(60);
        let done =
            at_once(world, |_, server| async move { server.maintain(budget).await.unwrap() });
        let now = world.now();
        for done in done.await {
            assert!(done.next.is_none_or(|next| next > now), "{done:?} at {now}");
        }
        world.quiesce().await;
        let seasons = world.seasons(&board).await;
        let closed = &seasons[1];
        assert_eq!(closed.span.id, SeasonId::parse(&format!("2026-11-{day}")).unwrap());
        assert!(closed.is_final && !seasons[0].is_final);
        assert_eq!(closed.players, 1);
    }
}
