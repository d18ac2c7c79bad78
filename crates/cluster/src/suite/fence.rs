//! Epochs.

use super::{
    cut::{Cut, How},
    given::{
        BOARD, EPOCH, SEASON, answer, commit, committed, entry, facts, fenced, item, new_entry,
        players, stored, stream,
    },
};
use crate::{
    call::Call,
    traits::{BoardNo, Commit, Epoch, Fault, Ledger, Needs, Page, Shard, Stored},
};

const HERE: Shard = Shard(0);

async fn fence<S: Ledger>(store: &Cut<S>) -> Epoch {
    facts(store, HERE, &Needs::default()).await.fence
}

/// Where there was none it names 0.
pub async fn a_fence_rises_and_never_falls<S: Ledger>(store: &Cut<S>) {
    assert_eq!(fence(store).await, Epoch(0));
    for (to, now) in [(3, 3), (2, 3), (3, 3), (5, 5)] {
        assert_eq!(answer(store.fence(BOARD, HERE, Epoch(to)).await), Epoch(now));
        assert_eq!(fence(store).await, Epoch(now));
    }
    store.around.next(Call::Fence, How::Lost);
    assert!(matches!(store.fence(BOARD, HERE, Epoch(6)).await, Err(Fault::Unknown(_))));
    assert_eq!(answer(store.fence(BOARD, HERE, Epoch(6)).await), Epoch(6));
}

/// Another board's, or another shard's, is where it was.
pub async fn a_fence_is_of_one_board_and_one_shard<S: Ledger>(store: &Cut<S>) {
    answer(store.fence(BoardNo(99), HERE, Epoch(4)).await);
    assert_eq!(fence(store).await, Epoch(0));
    answer(store.fence(BOARD, HERE, Epoch(4)).await);
    for shard in 1..store.shards() {
        assert_eq!(facts(store, Shard(shard), &Needs::default()).await.fence, Epoch(0));
    }
}

/// An older one is not, and neither is one that the fence has not reached.
pub async fn a_commit_is_stored_in_the_epoch_of_the_fence_alone<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, Epoch(2)).await;
    let who = players(store, HERE, 1).remove(0);
    for epoch in [Epoch(1), Epoch(3)] {
        let commit = Commit { epoch, ..commit(1, 1, vec![new_entry(&who, 10, 5)]) };
        let to = stream(HERE, epoch.0);
        assert_eq!(committed(store, &to, &commit).await, Stored::Stale(Epoch(2)));
        assert_eq!(item(store, &entry(&who)).await.version.0, 0);
    }
    let commit = Commit { epoch: Epoch(2), ..commit(1, 1, vec![new_entry(&who, 10, 5)]) };
    stored(store, &stream(HERE, 9), &commit).await;
    assert_eq!(item(store, &entry(&who)).await.epoch, Epoch(2));
}

/// Commits race the fence: what was stored is seen once it stands, and nothing joins it.
pub async fn nothing_of_an_older_epoch_lands_after_the_fence<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 8);
    let writers = async {
        let mut count = 0;
        for round in 0..4_u64 {
            let commits = (0..2_u64).map(|writer| {
                let player = &who[usize::try_from(round * 2 + writer).expect("few")];
                let commit = commit(round + 1, 1, vec![new_entry(player, 10, 5)]);
                async move { committed(store, &stream(HERE, writer), &commit).await }
            });
            let mut stored = 0;
            for commit in commits.collect::<Vec<_>>() {
                stored += usize::from(commit.await == Stored::Stored);
                tokio::task::yield_now().await;
            }
            count += stored;
            if stored < 2 {
                break;
            }
        }
        count
    };
    let raise = async {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        answer(store.fence(BOARD, HERE, Epoch(2)).await);
        answer(store.entries(SEASON, HERE, &Page::first(100)).await).len()
    };
    let (stored, seen) = tokio::join!(writers, raise);
    assert_eq!(stored, seen);
    assert_eq!(answer(store.entries(SEASON, HERE, &Page::first(100)).await).len(), seen);
}

/// However late it is delivered.
pub async fn a_refused_epoch_stays_refused_when_it_is_sent_again<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let (to, first) = (stream(HERE, 1), commit(1, 1, vec![new_entry(&who[0], 10, 5)]));
    stored(store, &to, &first).await;
    let late = commit(2, 2, vec![new_entry(&who[1], 10, 5)]);
    for epoch in 2..4 {
        answer(store.fence(BOARD, HERE, Epoch(epoch)).await);
        let answer = committed(store, &to, &late).await;
        assert!(matches!(answer, Stored::Stale(_) | Stored::Closed), "{answer:?}");
    }
    assert_eq!(item(store, &entry(&who[1])).await.version.0, 0);
}
