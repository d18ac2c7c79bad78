//! Commits.

use super::{
    cut::{Cut, How},
    given::{
        BOARD, EPOCH, SEASON, after, answer, commit, committed, entry, event, event_id, facts,
        fenced, hold, item, items, named, new, new_entry, players, record, stored, stream, used_id,
    },
};
use crate::{
    call::Call,
    traits::{
        BoardNo, Commit, Epoch, Fault, Half, Item, ItemKey, Ledger, Needs, Page, Shard, Stored,
        Stream, Value, Version,
    },
};

const HERE: Shard = Shard(0);

/// All kinds of things of one player.
fn everything(store: &impl Ledger) -> Commit {
    let who = players(store, HERE, 2);
    let carry = ItemKey::Carry(BOARD, who[0].clone());
    let stores = vec![
        new_entry(&who[0], 10, 5),
        new(carry, 10, Value::Carry("best: 5".into())),
        named(&who[0], 10, "Ann"),
        new(ItemKey::Friends(who[0].clone()), 10, Value::Friends(vec![who[1].clone()])),
        new(ItemKey::Player(who[0].clone()), 10, Value::Player),
    ];
    Commit {
        holds: vec![hold(entry(&who[1]), 0)],
        ids: vec![used_id("e1", 4, &who[0], 10)],
        events: vec![event(&who[0], SEASON, 10)],
        ..commit(1, 1, stores)
    }
}

/// What is there of it: items, ids, events, outbox records.
async fn there<S: Ledger>(store: &Cut<S>, of: &Commit) -> (Vec<Option<Value>>, [usize; 3]) {
    let keys: Vec<_> = of.stores.iter().map(|store| store.key.clone()).collect();
    let needs = Needs { items: keys, ids: vec![event_id("e1")], since: Half(0) };
    let facts = facts(store, HERE, &needs).await;
    let values = facts.items.into_iter().map(|item| item.value).collect();
    let ids = facts.ids.iter().flatten().count();
    let player = of.stores[0].key.player();
    let events = answer(store.events(player, None, &Page::first(9)).await).len();
    let records = answer(store.outbox(&[(stream(HERE, 1), 0)], 9).await);
    (values, [ids, events, records[0].len()])
}

/// Items, event ids, events, and one outbox record.
pub async fn a_commit_stores_all_of_it<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let all = everything(store);
    stored(store, &stream(HERE, 1), &all).await;
    let values = all.stores.iter().map(|store| store.value.clone()).collect();
    assert_eq!(there(store, &all).await, (values, [1, 1, 1]));
}

/// Not even a part of it.
pub async fn a_commit_that_is_refused_stores_nothing<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let mut all = everything(store);
    all.holds[0].version = Version(1);
    assert_eq!(committed(store, &stream(HERE, 1), &all).await, Stored::Conflict);
    assert_eq!(there(store, &all).await, (vec![None; 5], [0, 0, 0]));
}

/// Of what is stored as of what is held, of what is there as of what is not.
pub async fn a_version_that_is_not_what_it_was_is_a_conflict<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let (to, first) = (stream(HERE, 1), new_entry(&who[0], 10, 5));
    stored(store, &to, &commit(1, 1, vec![first.clone()])).await;
    let other = new_entry(&who[1], 10, 5);
    let gone = Item { version: Version(9), ..Item::default() };
    let wrong = [
        commit(2, 2, vec![first.clone()]),
        commit(2, 3, vec![after(&after(&first, None), None)]),
        commit(2, 4, vec![crate::traits::Store { was: gone, ..other.clone() }]),
        Commit { holds: vec![hold(entry(&who[0]), 0)], ..commit(2, 5, vec![other.clone()]) },
        Commit { holds: vec![hold(entry(&who[0]), 11)], ..commit(2, 6, vec![other.clone()]) },
    ];
    for wrong in &wrong {
        assert_eq!(committed(store, &to, wrong).await, Stored::Conflict, "{wrong:?}");
    }
    let right = Commit { holds: vec![hold(entry(&who[0]), 10)], ..commit(2, 7, vec![other]) };
    stored(store, &to, &right).await;
}

/// On its board; another half, and another board, have it too.
pub async fn an_event_id_is_used_once_in_its_half<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let other = BoardNo(8);
    fenced(store, other, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let using = |n, token, half| {
        let ids = vec![used_id("e1", half, &who, 10)];
        Commit { ids, ..commit(n, token, Vec::new()) }
    };
    let to = stream(HERE, 1);
    stored(store, &to, &using(1, 1, 4)).await;
    assert_eq!(committed(store, &to, &using(2, 2, 4)).await, Stored::Conflict);
    stored(store, &to, &using(2, 3, 5)).await;
    stored(store, &Stream { board: other, ..to }, &using(1, 4, 4)).await;
}

/// An older one is as if it were not there.
pub async fn ids_count_from_the_half_that_is_asked_for<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let ids = vec![used_id("e1", 4, &who, 10), used_id("e2", 5, &who, 11)];
    let used: Vec<_> = ids.iter().map(|new| new.used.clone()).collect();
    stored(store, &stream(HERE, 1), &Commit { ids, ..commit(1, 1, Vec::new()) }).await;
    let ids = ["e2", "never", "e1"].map(event_id).to_vec();
    for (since, first) in [(4, Some(used[0].clone())), (5, None)] {
        let needs = Needs { ids: ids.clone(), since: Half(since), ..Needs::default() };
        let told = facts(store, HERE, &needs).await.ids;
        assert_eq!(told, [Some(used[1].clone()), None, first]);
    }
}

/// And changes nothing.
pub async fn the_same_token_again_is_already_stored<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let all = everything(store);
    store.around.next(Call::Commit, How::Twice);
    stored(store, &stream(HERE, 1), &all).await;
    assert_eq!(committed(store, &stream(HERE, 1), &all).await, Stored::Already);
    assert_eq!(there(store, &all).await.1, [1, 1, 1]);
}

/// Whether it was carried out or not.
pub async fn an_answer_that_was_lost_is_asked_for_again<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let (to, first) = (stream(HERE, 1), commit(1, 1, vec![new_entry(&who[0], 10, 5)]));
    store.around.next(Call::Commit, How::Lost);
    assert!(matches!(store.commit(&to, &first).await, Err(Fault::Unknown(_))));
    assert_eq!(committed(store, &to, &first).await, Stored::Already);
    let second = commit(2, 2, vec![new_entry(&who[1], 10, 5)]);
    store.around.next(Call::Commit, How::Refused);
    assert!(matches!(store.commit(&to, &second).await, Err(Fault::NotApplied(_))));
    assert_eq!(item(store, &entry(&who[1])).await, Item::default());
    stored(store, &to, &second).await;
}

/// A higher fence, newer versions, a seal.
pub async fn what_was_stored_stays_so_whatever_came_after<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let (to, first) = (stream(HERE, 1), new_entry(&who, 10, 5));
    let commit = |n, store| commit(n, n, vec![store]);
    stored(store, &to, &commit(1, first.clone())).await;
    let other = stream(HERE, 2);
    stored(store, &other, &commit(1, after(&first, None))).await;
    assert_eq!(committed(store, &to, &commit(1, first.clone())).await, Stored::Already);
    answer(store.fence(BOARD, HERE, Epoch(2)).await);
    assert_eq!(committed(store, &to, &commit(1, first.clone())).await, Stored::Already);
    answer(store.seal(&to).await);
    assert_eq!(committed(store, &to, &commit(1, first)).await, Stored::Already);
}

/// The stream is another's, or was given up.
pub async fn another_token_at_the_number_is_closed<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let to = stream(HERE, 1);
    stored(store, &to, &commit(1, 1, vec![new_entry(&who[0], 10, 5)])).await;
    let other = commit(1, 2, vec![new_entry(&who[1], 10, 5)]);
    assert_eq!(committed(store, &to, &other).await, Stored::Closed);
    assert_eq!(item(store, &entry(&who[1])).await, Item::default());
}

/// By what is decided anew; the refused attempt then finds it taken.
pub async fn a_refused_number_is_used_again<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let (to, first) = (stream(HERE, 1), new_entry(&who, 10, 5));
    stored(store, &to, &commit(1, 1, vec![first.clone()])).await;
    let refused = commit(2, 2, vec![new_entry(&who, 20, 1)]);
    assert_eq!(committed(store, &to, &refused).await, Stored::Conflict);
    stored(store, &to, &commit(2, 3, vec![after(&first, None)])).await;
    assert_eq!(committed(store, &to, &refused).await, Stored::Closed);
    assert_eq!(item(store, &entry(&who)).await.version, Version(11));
}

/// So that an older one is never taken for newer; what is stored over it names it.
pub async fn a_tombstone_keeps_its_version<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let (to, first) = (stream(HERE, 1), new_entry(&who, 10, 5));
    let removed = after(&first, None);
    stored(store, &to, &commit(1, 1, vec![first])).await;
    stored(store, &to, &commit(2, 2, vec![removed.clone()])).await;
    let tombstone = Item { version: Version(11), epoch: EPOCH, value: None };
    assert_eq!(item(store, &entry(&who)).await, tombstone);
    let anew = commit(3, 3, vec![new_entry(&who, 20, 5)]);
    assert_eq!(committed(store, &to, &anew).await, Stored::Conflict);
    let back = after(&removed, Some(Value::Entry(record(4))));
    stored(store, &to, &commit(3, 4, vec![back])).await;
    let Item { version, value, .. } = item(store, &entry(&who)).await;
    assert_eq!((version, value), (Version(12), Some(Value::Entry(record(4)))));
}

/// The others are in conflict with it.
pub async fn of_commits_at_once_on_the_same_facts_one_is_stored<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let one = |id: u64| {
        let commit = commit(1, id, vec![new_entry(&who, 10 + id, 5)]);
        async move { committed(store, &stream(HERE, id), &commit).await }
    };
    let (a, b, c) = tokio::join!(one(1), one(2), one(3));
    let outcomes = [a, b, c];
    let stored: Vec<_> =
        (1..).zip(outcomes).filter(|(_, outcome)| *outcome == Stored::Stored).collect();
    assert_eq!(stored.len(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Stored::Conflict).count(), 2);
    assert_eq!(item(store, &entry(&who)).await.version, Version(10 + stored[0].0));
}

/// It holds the player's row, which the erasure replaces, or creates it, where the erasure has done so.
pub async fn an_entry_that_begins_misses_no_erasure<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let row = |player: usize| ItemKey::Player(who[player].clone());
    let (to, erasing) = (stream(HERE, 1), Stream { board: BoardNo::PLAYERS, ..stream(HERE, 2) });
    let known = new(row(0), 10, Value::Player);
    stored(store, &to, &commit(1, 1, vec![known.clone()])).await;
    let with_row =
        Commit { holds: vec![hold(row(0), 10)], ..commit(2, 2, vec![new_entry(&who[0], 20, 5)]) };
    let without = commit(2, 3, vec![new_entry(&who[1], 20, 5), new(row(1), 20, Value::Player)]);

    let bumps = vec![after(&known, Some(Value::Player)), new(row(1), 15, Value::Player)];
    let bump = Commit { epoch: Epoch(0), ..commit(1, 4, bumps) };
    stored(store, &erasing, &bump).await;
    assert_eq!(committed(store, &to, &with_row).await, Stored::Conflict);
    assert_eq!(committed(store, &to, &without).await, Stored::Conflict);
    let entries = items(store, HERE, &[entry(&who[0]), entry(&who[1])]).await;
    assert_eq!(entries, [Item::default(), Item::default()]);
}
