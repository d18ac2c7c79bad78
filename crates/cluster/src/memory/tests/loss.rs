//! What the view loses, and what an index does not show yet.

use std::sync::Arc;

use standings_core::Millis;

use super::{
    super::{ManualClock, Memory, Options, ViewFault},
    open,
};
use crate::{
    suite::{
        Cut, Cuts,
        given::{BOARD, EPOCH, SEASON, commit, fenced, new_entry, player, stored, stream},
        view::{all, built, entry, fed, feed, node, part, source, standing},
    },
    traits::{Fed, Generation, Probe, Shard, Standings, Target},
};

/// A view with two entries, of which the second was fed last.
async fn with_two() -> Cut<Memory> {
    let store = Cuts::around(open(Options { history: 8, ..Options::default() }));
    built(&store).await;
    fed(&store, 0, 1, &[entry(1, 10, 5)]).await;
    fed(&store, 1, 2, &[entry(2, 10, 6)]).await;
    store
}

async fn is_ready(store: &Cut<Memory>) -> bool {
    let ready = store.look(part(0)).await.expect("an answer").is_ready();
    assert_eq!(all(store).await.is_some(), ready);
    ready
}

#[tokio::test]
async fn a_replica_that_takes_over_is_not_ready_until_what_it_lacks_was_replayed() {
    let store = with_two().await;
    store.store.harm(0, ViewFault::Promote { lose: 1, back: false });
    assert!(!is_ready(&store).await);
    let third = feed(0, 2, 3, vec![entry(3, 10, 7)]);
    let applied = store.apply(SEASON, std::slice::from_ref(&third), &[]).await.expect("an answer");
    assert_eq!(applied.fed, [Fed::NotReady]);

    let node = node(&store, part(0)).await;
    let target = Target::Current(node.clone());
    assert_eq!(store.replay(part(0), &target, &third).await, Ok(Fed::Gap(1)));
    let second = feed(0, 1, 2, vec![entry(2, 10, 6)]);
    assert_eq!(store.replay(part(0), &target, &second).await, Ok(Fed::Taken));
    assert_eq!(store.confirm(part(0), Generation(1), &node).await, Ok(true));
    assert_eq!(standing(&store).await.len(), 2);
    fed(&store, 2, 3, &[entry(3, 10, 7)]).await;
}

#[tokio::test]
async fn a_node_that_was_replaced_and_came_back_is_not_ready() {
    let store = with_two().await;
    let before = node(&store, part(0)).await;
    store.store.harm(0, ViewFault::Promote { lose: 1, back: true });
    assert_ne!(node(&store, part(0)).await, before);
    assert!(!is_ready(&store).await);
}

#[tokio::test]
async fn a_view_that_has_made_room_is_not_ready_and_is_not_confirmed() {
    let store = with_two().await;
    store.store.harm(0, ViewFault::Evict);
    assert!(!is_ready(&store).await);
    let node = node(&store, part(0)).await;
    assert_eq!(store.confirm(part(0), Generation(1), &node).await, Ok(false));
    let again = feed(0, 0, 3, vec![entry(1, 11, 5)]);
    assert_eq!(store.replay(part(0), &Target::Current(node), &again).await, Ok(Fed::NotReady));
}

#[tokio::test]
async fn a_view_that_was_flushed_is_built_anew() {
    for restart in [false, true] {
        let store = with_two().await;
        store.store.harm(0, ViewFault::Flush { restart });
        assert!(!is_ready(&store).await);
        let node = node(&store, part(0)).await;
        let begun = store.begin(part(0), Generation(2), &node, &[(source(), 2)]).await;
        assert_eq!(begun, Ok(true));
        let entries = [entry(1, 10, 5), entry(2, 10, 6)];
        assert_eq!(store.load(part(0), Generation(2), &node, &entries).await, Ok(true));
        store.flip(part(0), Generation(2), &node).await.expect("an answer");
        assert_eq!(standing(&store).await.len(), 2);
    }
}

#[tokio::test]
async fn an_index_that_lags_shows_a_commit_by_itself_later() {
    let clock = Arc::new(ManualClock::new(Millis(1_790_000_000_000)));
    let lag = Some(Millis(3000));
    let options = Options { index_lag: lag, partitions: 2, ..Options::default() };
    let store = Cuts::around(Memory::new(options, clock.clone()));
    fenced(&store, BOARD, EPOCH).await;
    let entries = (0..20).map(|number| new_entry(&player(number), 10, 5)).collect();
    stored(&store, &stream(Shard(0), 1), &commit(1, 1, entries)).await;
    assert!(!store.is_fed());
    let mut counts = Vec::new();
    for passed in [0, 1500, 3000] {
        clock.set(Millis(1_790_000_000_000 + passed));
        counts.push(standing(&store).await.len());
    }
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
    assert_eq!(counts[2], 20);
    let feed = feed(0, 9, 10, vec![entry(1, 99, 1)]);
    let applied = store.apply(SEASON, &[feed], &[Probe::Size]).await.expect("an answer");
    assert_eq!(applied.fed, [Fed::Taken]);
    assert!(standing(&store).await.iter().all(|(_, version)| *version == 10));
}
