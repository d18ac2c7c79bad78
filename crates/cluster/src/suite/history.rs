//! What is listed of players, and what is removed.

use std::collections::BTreeSet;

use standings_core::PlayerId;

use super::{
    cut::Cut,
    given::{
        BOARD, EPOCH, SEASON, after, answer, commit, entry, event, event_id, facts, fenced, hold,
        item, named, new, new_entry, player, players, stored, stream, used_id,
    },
};
use crate::traits::{
    BoardNo, Commit, Dead, EventKey, Half, ItemKey, Ledger, Needs, Page, Shard, StandingNo, Value,
    Version,
};

const HERE: Shard = Shard(0);
const LATER: StandingNo = StandingNo { board: BOARD, season: 4 };

async fn clear<S: Ledger>(store: &Cut<S>, dead: Dead) {
    let mut pieces = 0;
    while answer(store.clear(&dead).await) {
        pieces += 1;
        assert!(pieces < 1000, "clearing comes to an end");
    }
    assert!(!answer(store.clear(&dead).await), "nothing is left");
}

async fn entries<S: Ledger>(store: &Cut<S>, of: StandingNo, shard: Shard) -> Vec<PlayerId> {
    let entries = answer(store.entries(of, shard, &Page::first(1000)).await);
    entries.into_iter().map(|(player, _)| player).collect()
}

/// Tombstones among them, another standing's not.
pub async fn entries_come_in_pages_shard_by_shard<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    for shard in (0..store.shards()).map(Shard) {
        let who = players(store, shard, 5);
        let mut stores: Vec<_> = who.iter().rev().map(|who| new_entry(who, 10, 5)).collect();
        stores.push(new(
            ItemKey::Entry(LATER, who[0].clone()),
            10,
            Value::Entry(super::given::record(1)),
        ));
        stored(store, &stream(shard, 1), &commit(1, 1, stores)).await;
        let gone = after(&new_entry(&who[3], 10, 5), None);
        stored(store, &stream(shard, 1), &commit(2, 2, vec![gone])).await;
        let page = answer(store.entries(SEASON, shard, &Page::first(2)).await);
        assert_eq!(page.iter().map(|(who, _)| who).collect::<Vec<_>>(), [&who[0], &who[1]]);
        let page = answer(store.entries(SEASON, shard, &Page::after(who[1].clone(), 9)).await);
        let page: Vec<_> = page.iter().map(|(who, item)| (who, item.value.is_some())).collect();
        assert_eq!(page, [(&who[2], true), (&who[3], false), (&who[4], true)]);
    }
}

/// On one board or on all.
pub async fn events_come_from_the_newest_down<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let other = StandingNo { board: BoardNo(8), season: 1 };
    let events = [(SEASON, 12), (LATER, 2), (SEASON, 10), (other, 1), (SEASON, 11)];
    let mut events: Vec<_> = events.map(|(of, version)| event(&who[0], of, version)).to_vec();
    events.push(event(&who[1], SEASON, 50));
    stored(store, &stream(HERE, 1), &Commit { events, ..commit(1, 1, Vec::new()) }).await;
    let told = |board, page: Page<EventKey>| {
        let who = &who[0];
        async move {
            let events = answer(store.events(who, board, &page).await);
            let key = |key: EventKey| (key.board.0, key.season, key.version.0);
            events.into_iter().map(|event| key(event.key)).collect::<Vec<_>>()
        }
    };
    let here = Some(BOARD);
    assert_eq!(told(None, Page::first(2)).await, [(8, 1, 1), (7, 4, 2)]);
    assert_eq!(told(here, Page::first(3)).await, [(7, 4, 2), (7, 3, 12), (7, 3, 11)]);
    let after = EventKey { board: BOARD, season: 3, version: Version(12) };
    assert_eq!(told(here, Page::after(after, 9)).await, [(7, 3, 11), (7, 3, 10)]);
}

/// On all shards together, in order of name, then of id.
pub async fn names_are_found_by_how_they_begin<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who: Vec<_> = (0..6).map(player).collect();
    let names = ["Bo", "ann", "Anna", "ann", "An", "annb"];
    for shard in (0..store.shards()).map(Shard) {
        let here = who.iter().zip(names).filter(|(who, _)| store.shard_of(who) == shard);
        let stores = here.map(|(who, name)| named(who, 10, name)).collect();
        stored(store, &stream(shard, 1), &commit(1, 1, stores)).await;
    }
    let told = |prefix: &'static str, page: Page<(String, PlayerId)>| async move {
        let names = answer(store.names(prefix, &page).await);
        names.into_iter().map(|named| (named.name.to_string(), named.player)).collect::<Vec<_>>()
    };
    let all = [("ann", 1), ("ann", 3), ("Anna", 2), ("annb", 5)];
    let all = all.map(|(name, number)| (name.to_owned(), player(number)));
    assert_eq!(told("ann", Page::first(9)).await, all);
    assert_eq!(told("ann", Page::first(2)).await, all[..2]);
    let after = ("ann".to_owned(), player(1));
    assert_eq!(told("ann", Page::after(after, 9)).await, all[1..]);
    assert_eq!(told("c", Page::first(9)).await, []);
}

/// The last that was given; none after it was removed.
pub async fn a_player_has_one_name<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let (to, first) = (stream(HERE, 1), named(&who, 10, "Ann"));
    let second = after(&first, named(&who, 11, "Bo").value);
    let count = |prefix: &'static str| async move {
        answer(store.names(prefix, &Page::first(9)).await).len()
    };
    stored(store, &to, &commit(1, 1, vec![first])).await;
    stored(store, &to, &commit(2, 2, vec![second.clone()])).await;
    assert_eq!((count("ann").await, count("bo").await), (0, 1));
    stored(store, &to, &commit(3, 3, vec![after(&second, None)])).await;
    assert_eq!(count("").await, 0);
}

/// On all shards; another standing's stay.
pub async fn entries_of_a_standing_are_cleared_to_the_last<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    for shard in (0..store.shards()).map(Shard) {
        let who = players(store, shard, 250);
        for (n, some) in (1..).zip(who.chunks(25)) {
            let mut stores: Vec<_> = some.iter().map(|who| new_entry(who, 10, 5)).collect();
            let key = ItemKey::Entry(LATER, some[0].clone());
            stores.push(new(key, 10, Value::Entry(super::given::record(1))));
            stored(store, &stream(shard, 1), &commit(n, n, stores)).await;
        }
    }
    clear(store, Dead::Entries(SEASON)).await;
    for shard in (0..store.shards()).map(Shard) {
        assert_eq!(entries(store, SEASON, shard).await, []);
        assert_eq!(entries(store, LATER, shard).await.len(), 10);
    }
}

/// Another standing's stay.
pub async fn events_of_a_standing_are_cleared_to_the_last<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    for n in 1..=6 {
        let versions = n * 40..n * 40 + 40;
        let mut events: Vec<_> = versions.map(|version| event(&who, SEASON, version)).collect();
        events.push(event(&who, LATER, n));
        stored(store, &stream(HERE, 1), &Commit { events, ..commit(n, n, Vec::new()) }).await;
    }
    clear(store, Dead::Events(SEASON)).await;
    let left = answer(store.events(&who, None, &Page::first(99)).await);
    let seasons: BTreeSet<_> = left.iter().map(|event| event.key.season).collect();
    assert_eq!((left.len(), seasons), (6, BTreeSet::from([LATER.season])));
}

/// One that has changed since is in use again.
pub async fn items_are_cleared_at_exactly_their_versions<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let (to, first) = (stream(HERE, 1), new_entry(&who[0], 10, 5));
    let gone = after(&first, None);
    stored(store, &to, &commit(1, 1, vec![first, new_entry(&who[1], 10, 5)])).await;
    stored(store, &to, &commit(2, 2, vec![gone])).await;
    let items =
        |a, b| Dead::Items(vec![(entry(&who[0]), Version(a)), (entry(&who[1]), Version(b))]);
    clear(store, items(10, 11)).await;
    assert_eq!(item(store, &entry(&who[0])).await.version, Version(11));
    clear(store, items(11, 9)).await;
    assert_eq!(item(store, &entry(&who[0])).await.version, Version::ABSENT);
    assert_eq!(item(store, &entry(&who[1])).await.version, Version(10));
    let holds = vec![hold(entry(&who[0]), 0)];
    stored(store, &to, &Commit { holds, ..commit(3, 3, Vec::new()) }).await;
}

/// Events, and the ids that were used for them; another player's stay.
pub async fn of_a_player_what_is_older_is_cleared<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 2);
    let versions = [(0, 10), (0, 20), (1, 10)];
    let ids = versions.map(|(n, version)| used_id(&format!("e{n}-{version}"), 4, &who[n], version));
    let events = versions.map(|(n, version)| event(&who[n], SEASON, version));
    let commit = Commit { ids: ids.into(), events: events.into(), ..commit(1, 1, Vec::new()) };
    stored(store, &stream(HERE, 1), &commit).await;
    clear(store, Dead::PlayerEvents(who[0].clone(), Version(20))).await;
    let ids = ["e0-10", "e0-20", "e1-10"].map(event_id).to_vec();
    let used = facts(store, HERE, &Needs { ids, ..Needs::default() }).await.ids;
    assert_eq!(used.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true]);
    for who in &who {
        assert_eq!(answer(store.events(who, None, &Page::first(9)).await).len(), 1);
    }
}

/// Of one board.
pub async fn ids_before_a_half_are_cleared<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let ids = vec![used_id("old", 4, &who, 10), used_id("new", 5, &who, 11)];
    stored(store, &stream(HERE, 1), &Commit { ids, ..commit(1, 1, Vec::new()) }).await;
    clear(store, Dead::Ids(BoardNo(8), Half(9))).await;
    clear(store, Dead::Ids(BOARD, Half(5))).await;
    let ids = ["old", "new"].map(event_id).to_vec();
    let used = facts(store, HERE, &Needs { ids, ..Needs::default() }).await.ids;
    assert_eq!(used.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
}

/// Its fence stays.
pub async fn of_a_board_carries_and_ids_are_cleared<S: Ledger>(store: &Cut<S>) {
    fenced(store, BOARD, EPOCH).await;
    let who = players(store, HERE, 1).remove(0);
    let carries = [BOARD, BoardNo(8)].map(|board| ItemKey::Carry(board, who.clone()));
    let stores = carries.clone().map(|key| new(key, 10, Value::Carry("best".into()))).to_vec();
    let ids = vec![used_id("e1", 4, &who, 10)];
    stored(store, &stream(HERE, 1), &Commit { ids, ..commit(1, 1, stores) }).await;
    clear(store, Dead::Board(BOARD)).await;
    let needs = Needs { items: carries.to_vec(), ids: vec![event_id("e1")], since: Half(0) };
    let facts = facts(store, HERE, &needs).await;
    let versions: Vec<_> = facts.items.iter().map(|item| item.version.0).collect();
    assert_eq!((versions, facts.ids, facts.fence), (vec![0, 10], vec![None], EPOCH));
}
