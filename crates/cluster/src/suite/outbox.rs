//! Streams and their records.

use super::{
    cut::Cut,
    given::{
        BOARD, EPOCH, after, answer, commit, committed, fenced, named, new_entry, players, stored,
        stream,
    },
};
use crate::traits::{
    BoardNo, Commit, Dead, Item, Ledger, OutboxRecord, Page, Shard, Store, Stored, Stream,
    StreamState, Token,
};

const HERE: Shard = Shard(0);

async fn records<S: Ledger>(store: &Cut<S>, of: &Stream, after: u64) -> Vec<OutboxRecord> {
    answer(store.outbox(&[(*of, after)], 100).await).remove(0)
}

async fn numbers<S: Ledger>(store: &Cut<S>, of: &Stream) -> Vec<u64> {
    records(store, of, 0).await.into_iter().map(|record| record.n).collect()
}

/// So many commits to a stream, each of one new entry.
async fn write<S: Ledger>(store: &Cut<S>, to: &Stream, count: u64) {
    let from = u32::try_from(to.id * 100).expect("few");
    let who = (from..).map(super::given::player).filter(|who| store.shard_of(who) == to.shard);
    for (n, who) in (1..=count).zip(who) {
        let confirmed = n - 1;
        stored(store, to, &Commit { confirmed, ..commit(n, n, vec![new_entry(&who, 10, 5)]) })
            .await;
    }
}

/// With the epoch of what they were; of entries alone.
pub async fn records_tell_what_entries_were_and_became<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let (to, first) = (stream(HERE, 1), new_entry(&who, 10, 5));
    let removed = after(&first, None);
    stored(store, &to, &commit(1, 41, vec![named(&who, 10, "Ann"), first.clone()])).await;
    stored(store, &to, &commit(2, 42, vec![removed.clone()])).await;
    let told = records(store, &to, 0).await;
    let entries: Vec<&[Store]> = told.iter().map(|record| record.entries.as_slice()).collect();
    assert_eq!(entries, [[first], [removed]]);
    let was: Vec<_> = told.iter().map(|record| record.entries[0].was.epoch.0).collect();
    assert_eq!(was, [Item::default().epoch.0, EPOCH.0]);
    let tokens: Vec<_> = told.iter().map(|record| (record.n, record.token, record.epoch)).collect();
    assert_eq!(tokens, [(1, Token(41), EPOCH), (2, Token(42), EPOCH)]);
}

/// After a number, so many of each.
pub async fn records_come_by_stream_in_order<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let (a, b, none) = (stream(HERE, 1), stream(HERE, 2), stream(HERE, 3));
    write(store, &a, 4).await;
    write(store, &b, 2).await;
    let told = answer(store.outbox(&[(b, 0), (none, 0), (a, 1)], 2).await);
    let told: Vec<Vec<_>> = told
        .iter()
        .map(|some| some.iter().map(|record| (record.stream, record.n)).collect())
        .collect();
    assert_eq!(told, [vec![(b, 1), (b, 2)], vec![], vec![(a, 2), (a, 3)]]);
}

/// Of one board and shard.
pub async fn streams_come_in_pages_with_what_their_newest_says<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    fenced(store, BoardNo(8), EPOCH).await;
    for (id, count) in [(3, 1), (1, 3), (2, 2)] {
        write(store, &stream(HERE, id), count).await;
    }
    write(store, &Stream { board: BoardNo(8), ..stream(HERE, 9) }, 1).await;
    let streams = answer(store.streams(BOARD, HERE, &Page::first(2)).await);
    let said = |state: &StreamState| (state.stream.id, state.newest, state.confirmed, state.sealed);
    assert_eq!(streams.iter().map(said).collect::<Vec<_>>(), [(1, 3, 2, false), (2, 2, 1, false)]);
    let streams = answer(store.streams(BOARD, HERE, &Page::after(2, 9)).await);
    assert_eq!(streams.iter().map(said).collect::<Vec<_>>(), [(3, 1, 0, false)]);
}

/// And tells its newest number, as often as it is asked.
pub async fn a_sealed_stream_takes_nothing<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let to = stream(HERE, 1);
    write(store, &to, 2).await;
    for _ in 0..2 {
        assert_eq!(answer(store.seal(&to).await), 2);
    }
    assert_eq!(committed(store, &to, &commit(3, 4, Vec::new())).await, Stored::Closed);
    assert_eq!(numbers(store, &to).await, [1, 2]);
    let streams = answer(store.streams(BOARD, HERE, &Page::first(9)).await);
    assert!(streams[0].sealed && streams[0].newest == 2, "{streams:?}");
}

/// One that has not reached the store yet.
pub async fn a_stream_is_sealed_before_it_begins<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let to = stream(HERE, 1);
    assert_eq!(answer(store.seal(&to).await), 0);
    assert_eq!(committed(store, &to, &commit(1, 1, Vec::new())).await, Stored::Closed);
}

/// It tells what became of the last commit.
pub async fn the_newest_record_is_never_cleared<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let to = stream(HERE, 1);
    write(store, &to, 5).await;
    while answer(store.clear(&Dead::Outbox(to, 3)).await) {}
    assert_eq!(numbers(store, &to).await, [4, 5]);
    while answer(store.clear(&Dead::Outbox(to, 9)).await) {}
    assert_eq!(numbers(store, &to).await, [5]);
    let who = players(store, HERE, 1).remove(0);
    let newest = commit(5, 5, vec![new_entry(&who, 10, 5)]);
    assert_eq!(committed(store, &to, &newest).await, Stored::Already);
    let older = commit(2, 77, Vec::new());
    assert_eq!(committed(store, &to, &older).await, Stored::Closed);
}

/// Not before.
pub async fn a_stream_goes_when_it_is_sealed<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let to = stream(HERE, 1);
    write(store, &to, 2).await;
    while answer(store.clear(&Dead::Stream(to)).await) {}
    assert_eq!(numbers(store, &to).await, [1, 2]);
    answer(store.seal(&to).await);
    while answer(store.clear(&Dead::Stream(to)).await) {}
    assert!(numbers(store, &to).await.is_empty());
    assert_eq!(answer(store.streams(BOARD, HERE, &Page::first(9)).await), []);
}
