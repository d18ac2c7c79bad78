//! Records and lists.

use standings_core::BoardId;

use super::{
    cut::{Cut, How},
    given::answer,
};
use crate::{
    call::Call,
    traits::{
        BoardNo, Change, Defined, Fault, Ledger, List, Looked, NONCES, Nonce, Page, Put, Record,
        RecordKey, RowPut, Version,
    },
};

fn board(id: &str) -> RecordKey {
    RecordKey::Board(BoardId::new(id).expect("a board id"))
}

fn put(key: RecordKey, was: u64, version: u64, body: &str) -> Put {
    let body = Some(body.to_owned());
    Put { key, was: Version(was), version: Version(version), body }
}

fn change(nonce: u64, puts: Vec<Put>) -> Change {
    Change { nonce: Nonce(nonce), puts, rows: Vec::new() }
}

fn row(key: u8, body: Option<&str>) -> RowPut {
    let list = List::Seasons(BoardNo(1));
    RowPut { list, key: vec![key], body: body.map(str::to_owned) }
}

async fn define<S: Ledger>(store: &Cut<S>, change: &Change) -> Defined {
    answer(store.define(change).await)
}

async fn look<S: Ledger>(store: &Cut<S>, key: RecordKey) -> Option<Record> {
    match answer(store.records(&[(key, Version::ABSENT)]).await).remove(0) {
        Looked::Is(record) => Some(record),
        Looked::Absent => None,
        Looked::Known => panic!("it is known that there is none"),
    }
}

async fn body<S: Ledger>(store: &Cut<S>, key: RecordKey) -> Option<String> {
    look(store, key).await.map(|record| record.body)
}

async fn rows<S: Ledger>(store: &Cut<S>, page: &Page<Vec<u8>>, backwards: bool) -> Vec<u8> {
    let rows = answer(store.rows(List::Seasons(BoardNo(1)), page, backwards).await);
    rows.into_iter().map(|(key, _)| key[0]).collect()
}

/// Records and rows stand together, or none of them does.
pub async fn a_change_replaces_records_and_rows_wholly_or_not_at_all<S: Ledger>(store: &Cut<S>) {
    let puts = vec![put(board("a"), 0, 5, "a5"), put(RecordKey::Cluster, 0, 1, "c1")];
    let first = Change { rows: vec![row(1, Some("one"))], ..change(1, puts) };
    assert_eq!(define(store, &first).await, Defined::Done);
    let puts = vec![put(board("a"), 5, 6, "a6"), put(RecordKey::Cluster, 9, 10, "c10")];
    let rows_too = vec![row(1, None), row(2, Some("two"))];
    let half = Change { rows: rows_too, ..change(2, puts) };
    let Defined::Conflict(now) = define(store, &half).await else { panic!("a conflict") };
    let told: Vec<_> = now.into_iter().flatten().map(|record| record.body).collect();
    assert_eq!(told, ["a5", "c1"]);
    assert_eq!(body(store, board("a")).await.as_deref(), Some("a5"));
    assert_eq!(rows(store, &Page::first(9), false).await, [1]);
}

/// A caller names the version that it has.
pub async fn what_a_record_says_comes_where_its_version_is_not_known<S: Ledger>(store: &Cut<S>) {
    define(store, &change(1, vec![put(board("a"), 0, 5, "text")])).await;
    let wanted = [(board("a"), Version(5)), (board("b"), Version(5)), (board("a"), Version(4))];
    let looked = answer(store.records(&wanted).await);
    let nonces = vec![(Version(5), Nonce(1))];
    let record = Record { version: Version(5), nonces, body: "text".into() };
    assert_eq!(looked, [Looked::Known, Looked::Absent, Looked::Is(record)]);
}

/// The nonce tells that it was carried out, even where others came after it.
pub async fn a_change_sent_again_is_done_once<S: Ledger>(store: &Cut<S>) {
    let first = change(1, vec![put(board("a"), 0, 1, "first")]);
    store.around.next(Call::Define, How::Lost);
    assert!(matches!(store.define(&first).await, Err(Fault::Unknown(_))));
    assert_eq!(define(store, &first).await, Defined::Done);
    assert_eq!(
        define(store, &change(2, vec![put(board("a"), 1, 2, "second")])).await,
        Defined::Done
    );
    assert_eq!(define(store, &first).await, Defined::Done);
    assert_eq!(body(store, board("a")).await.as_deref(), Some("second"));
}

/// Nothing brings the version back.
pub async fn a_conflict_is_final<S: Ledger>(store: &Cut<S>) {
    define(store, &change(1, vec![put(board("a"), 0, 1, "first")])).await;
    let late = change(2, vec![put(board("a"), 0, 9, "late")]);
    assert!(matches!(define(store, &late).await, Defined::Conflict(_)));
    define(store, &change(3, vec![put(board("a"), 1, 2, "second")])).await;
    assert!(matches!(define(store, &late).await, Defined::Conflict(_)));
    assert_eq!(body(store, board("a")).await.as_deref(), Some("second"));
}

/// Whichever comes first; the others are told of it.
pub async fn of_changes_at_once_one_stands<S: Ledger>(store: &Cut<S>) {
    let changes: Vec<_> = (1..=3)
        .map(|nonce| change(nonce, vec![put(board("a"), 0, nonce, &nonce.to_string())]))
        .collect();
    let (a, b, c) = tokio::join!(
        define(store, &changes[0]),
        define(store, &changes[1]),
        define(store, &changes[2])
    );
    let done: Vec<_> = (1..).zip([a, b, c]).filter(|(_, was)| *was == Defined::Done).collect();
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(body(store, board("a")).await, Some(done[0].0.to_string()));
}

/// Then nothing can be told of an earlier one, and that is said.
pub async fn sixteen_changes_are_remembered_and_no_more<S: Ledger>(store: &Cut<S>) {
    let first = change(100, vec![put(board("a"), 0, 1, "first")]);
    let never = change(101, vec![put(board("a"), 1, 2, "never")]);
    define(store, &first).await;
    let last = 1 + NONCES as u64;
    for version in 2..=last {
        assert!(!matches!(define(store, &first).await, Defined::Forgotten(_)), "{version}");
        let next = change(version, vec![put(board("a"), version - 1, version, "next")]);
        assert_eq!(define(store, &next).await, Defined::Done);
    }
    assert!(matches!(define(store, &first).await, Defined::Forgotten(_)));
    assert!(matches!(define(store, &never).await, Defined::Forgotten(_)));
    let record = look(store, board("a")).await.expect("it is there");
    assert_eq!((record.version, record.nonces.len()), (Version(last), NONCES));
}

/// And may be created anew.
pub async fn a_record_that_is_removed_is_absent<S: Ledger>(store: &Cut<S>) {
    define(store, &change(1, vec![put(board("a"), 0, 1, "first")])).await;
    let gone = Put { body: None, ..put(board("a"), 1, 2, "") };
    assert_eq!(define(store, &change(2, vec![gone])).await, Defined::Done);
    assert_eq!(body(store, board("a")).await, None);
    assert_eq!(define(store, &change(3, vec![put(board("a"), 0, 10, "new")])).await, Defined::Done);
    let late = change(4, vec![put(board("a"), 1, 3, "late")]);
    assert!(!matches!(define(store, &late).await, Defined::Done));
    assert_eq!(body(store, board("a")).await.as_deref(), Some("new"));
}

/// Other records are not among them.
pub async fn boards_come_in_pages_in_the_order_of_their_ids<S: Ledger>(store: &Cut<S>) {
    define(store, &change(1, vec![put(RecordKey::Keys, 0, 1, "keys")])).await;
    for (nonce, id) in (2..).zip(["c", "a", "b_", "b-"]) {
        define(store, &change(nonce, vec![put(board(id), 0, 1, id)])).await;
    }
    let ids = |page: Page<BoardId>| async move {
        let boards = answer(store.boards(&page).await);
        boards.into_iter().map(|(id, record)| (id.to_string(), record.body)).collect::<Vec<_>>()
    };
    let pairs = |ids: &[&str]| -> Vec<_> {
        ids.iter().map(|id| ((*id).to_owned(), (*id).to_owned())).collect()
    };
    assert_eq!(ids(Page::first(3)).await, pairs(&["a", "b-", "b_"]));
    let after = BoardId::new("b").expect("a board id");
    assert_eq!(ids(Page::after(after, 9)).await, pairs(&["b-", "b_", "c"]));
}

/// By the bytes of their keys; another list has others.
pub async fn rows_come_in_pages_both_ways<S: Ledger>(store: &Cut<S>) {
    let mut all: Vec<_> = [9, 1, 5, 7].map(|key| row(key, Some("row"))).into();
    all.push(RowPut { list: List::Erasures, key: vec![6], body: Some("other".into()) });
    let puts = vec![put(RecordKey::Cluster, 0, 1, "cluster")];
    define(store, &Change { rows: all, ..change(1, puts) }).await;
    assert_eq!(rows(store, &Page::first(9), false).await, [1, 5, 7, 9]);
    assert_eq!(rows(store, &Page::first(2), true).await, [9, 7]);
    assert_eq!(rows(store, &Page::after(vec![5], 9), false).await, [7, 9]);
    assert_eq!(rows(store, &Page::after(vec![6], 9), true).await, [5, 1]);
    let puts = vec![put(RecordKey::Cluster, 1, 2, "cluster")];
    define(store, &Change { rows: vec![row(5, None)], ..change(2, puts) }).await;
    assert_eq!(rows(store, &Page::first(9), false).await, [1, 7, 9]);
}
