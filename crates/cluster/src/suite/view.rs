//! Live standings: feeds and probes.

use super::{
    archive::{expected, probes, rows},
    cut::{Cut, How},
    given::{SEASON, player, record, stream},
};
use crate::{
    call::Call,
    traits::{
        Fault, Fed, Feed, Flipped, Generation, Node, Partition, Probe, Reply, Row, Shard,
        Standings, Start, Stream, Version, ViewChange,
    },
};

/// A partition of the season.
pub(crate) fn part(part: u16) -> Partition {
    Partition { standing: SEASON, part }
}

/// The stream of most cases.
pub(crate) fn source() -> Stream {
    stream(Shard(0), 1)
}

/// An entry of a player.
pub(crate) fn entry(number: u32, version: u64, folded: i64) -> ViewChange {
    let record = Some(record(folded));
    ViewChange { player: player(number), version: Version(version), record }
}

/// A player's tombstone.
pub(crate) fn tombstone(number: u32, version: u64) -> ViewChange {
    ViewChange { player: player(number), version: Version(version), record: None }
}

/// A feed of changes that are all of one part.
pub(crate) fn feed(part: u16, previous: u64, n: u64, changes: Vec<ViewChange>) -> Feed {
    Feed { part, stream: source(), previous, n, changes }
}

pub(crate) async fn node<S: Standings>(store: &Cut<S>, of: Partition) -> Node {
    store.look(of).await.expect("an answer").node
}

/// Each part has its first generation, and is ready.
pub(crate) async fn built<S: Standings>(store: &Cut<S>) {
    for of in (0..store.partitions()).map(part) {
        let node = node(store, of).await;
        assert_eq!(store.begin(of, Generation(1), &node, &[]).await, Ok(true));
        assert_eq!(store.flip(of, Generation(1), &node).await, Ok(Flipped::Done));
    }
}

/// Feeds each part with what is its own.
pub(crate) async fn fed<S: Standings>(
    store: &Cut<S>,
    previous: u64,
    n: u64,
    changes: &[ViewChange],
) {
    let of = |part| {
        let own = changes.iter().filter(|change| store.part_of(&change.player) == part);
        feed(part, previous, n, own.cloned().collect())
    };
    let feeds: Vec<_> = (0..store.partitions()).map(of).collect();
    let applied = store.apply(SEASON, &feeds, &[]).await.expect("an answer");
    assert!(applied.fed.iter().all(|fed| *fed == Fed::Taken), "{applied:?}");
}

/// All rows.
pub(crate) async fn all<S: Standings>(store: &Cut<S>) -> Option<Vec<Row>> {
    let from_the_first = Probe::Rows(Start::At(standings_core::Position(0)), 1000);
    let answers = store.read(SEASON, &[from_the_first]).await.expect("an answer")?;
    match answers.replies.into_iter().next() {
        Some(Reply::Rows { rows, .. }) => Some(rows),
        other => panic!("{other:?}"),
    }
}

/// Players and versions, in order.
pub(crate) async fn standing<S: Standings>(store: &Cut<S>) -> Vec<(String, u64)> {
    let rows = all(store).await.expect("it is ready");
    let who = |row: Row| row.player.expect("no gaps here").to_string();
    rows.into_iter().map(|row| (who(row.clone()), row.version.0)).collect()
}

fn is(number: u32, version: u64) -> (String, u64) {
    (player(number).to_string(), version)
}

/// With ties, at every place, whatever part they are in.
pub async fn answers_are_those_of_a_sorted_list<S: Standings>(store: &Cut<S>) {
    built(store).await;
    let rows = rows(23);
    let change = |row: &Row| ViewChange {
        player: row.player.clone().expect("no gaps here"),
        version: row.version,
        record: Some(row.record),
    };
    fed(store, 0, 1, &rows.iter().rev().map(change).collect::<Vec<_>>()).await;
    let probes = probes(&rows);
    let answers = store.read(SEASON, &probes).await.expect("an answer").expect("it is ready");
    for (probe, (reply, wanted)) in
        probes.iter().zip(answers.replies.iter().zip(expected(&rows, &probes).replies))
    {
        assert_eq!(*reply, wanted, "{probe:?}");
    }
    assert_eq!(answers.within, 0);
}

/// A tombstone is a version too.
pub async fn the_newest_version_stands_in_whatever_order_they_come<S: Standings>(store: &Cut<S>) {
    built(store).await;
    let versions = [entry(1, 10, 5), tombstone(1, 11), entry(1, 12, 3)];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (stream, order) in (10..).zip(orders) {
        let standing = crate::traits::StandingNo { season: stream, ..SEASON };
        let who = store.part_of(&player(1));
        let of = Partition { standing, part: who };
        for of in (0..store.partitions()).map(|part| Partition { part, ..of }) {
            let node = node(store, of).await;
            assert_eq!(store.begin(of, Generation(1), &node, &[]).await, Ok(true));
            assert_eq!(store.flip(of, Generation(1), &node).await, Ok(Flipped::Done));
        }
        for (id, version) in (1..).zip(order) {
            let change = versions[version].clone();
            // Each from a stream of its own: they may come in any order.
            let stream = Stream { id, ..source() };
            let feed = Feed { stream, ..feed(who, 0, 1, vec![change]) };
            let applied = store.apply(standing, &[feed], &[]).await.expect("an answer");
            assert_eq!(applied.fed, [Fed::Taken]);
        }
        let found = store.read(standing, &[Probe::Find(player(1))]).await.expect("an answer");
        let Some(Reply::Placed(Some(placed))) = found.map(|found| found.replies[0].clone()) else {
            panic!("the newest is an entry, in order {order:?}");
        };
        assert_eq!((placed.row.version, placed.row.record), (Version(12), record(3)), "{order:?}");
    }
}

/// Nor does one that came late.
pub async fn a_feed_that_was_taken_changes_nothing_again<S: Standings>(store: &Cut<S>) {
    built(store).await;
    let who = store.part_of(&player(1));
    let first = feed(who, 0, 1, vec![entry(1, 10, 5)]);
    store.around.next(Call::Apply, How::Lost);
    let lost = store.apply(SEASON, std::slice::from_ref(&first), &[]).await;
    assert!(matches!(lost, Err(Fault::Unknown(_))));
    let second = feed(who, 1, 2, vec![tombstone(1, 11)]);
    for feed in [&first, &second, &first, &second] {
        let applied = store.apply(SEASON, std::slice::from_ref(feed), &[]).await;
        assert_eq!(applied.expect("an answer").fed, [Fed::Taken]);
    }
    assert_eq!(standing(store).await, []);
}

/// What was missing is fed, and then the rest.
pub async fn a_gap_changes_nothing_and_says_where_it_begins<S: Standings>(store: &Cut<S>) {
    built(store).await;
    let who = store.part_of(&player(1));
    let versions = [(0, 2, 10), (2, 5, 11), (5, 6, 12)];
    let feeds = versions.map(|(previous, n, version)| {
        let folded = i64::try_from(version).expect("small");
        feed(who, previous, n, vec![entry(1, version, folded)])
    });
    let give = |feed: &Feed| {
        let feed = feed.clone();
        async move { store.apply(SEASON, &[feed], &[]).await.expect("an answer") }
    };
    assert_eq!(give(&feeds[0]).await.fed, [Fed::Taken]);
    let gap = give(&feeds[2]).await;
    assert_eq!((gap.fed, gap.answers), (vec![Fed::Gap(2)], None));
    assert_eq!(standing(store).await, [is(1, 10)]);
    for feed in &feeds[1..] {
        assert_eq!(give(feed).await.fed, [Fed::Taken]);
    }
    assert_eq!(standing(store).await, [is(1, 12)]);
}

/// In one call.
pub async fn probes_are_answered_after_the_feeds<S: Standings>(store: &Cut<S>) {
    built(store).await;
    fed(store, 0, 1, &[entry(1, 10, 5), entry(2, 10, 6)]).await;
    let feed = feed(store.part_of(&player(2)), 1, 2, vec![entry(2, 11, 1)]);
    let applied = store.apply(SEASON, &[feed], &[Probe::Find(player(2))]).await;
    let answers = applied.expect("an answer").answers.expect("it is ready");
    let Reply::Placed(Some(placed)) = &answers.replies[0] else { panic!("{answers:?}") };
    assert_eq!((placed.position.0, placed.row.version), (0, Version(11)));
}

/// It neither answers nor takes anything.
pub async fn what_was_never_built_is_not_ready<S: Standings>(store: &Cut<S>) {
    let feed = feed(store.part_of(&player(1)), 0, 1, vec![entry(1, 10, 5)]);
    let applied = store.apply(SEASON, &[feed], &[Probe::Size]).await.expect("an answer");
    assert_eq!((applied.fed, applied.answers), (vec![Fed::NotReady], None));
    assert_eq!(all(store).await, None);
    let state = store.look(part(0)).await.expect("an answer");
    assert!(!state.is_ready() && state.current.is_none(), "{state:?}");
}

/// A player who has returned stays.
pub async fn tombstones_are_listed_and_pruned_at_exactly_their_versions<S: Standings>(
    store: &Cut<S>,
) {
    built(store).await;
    fed(store, 0, 1, &[tombstone(3, 11), tombstone(1, 11), tombstone(2, 11), entry(4, 10, 5)])
        .await;
    let mut listed = Vec::new();
    for of in (0..store.partitions()).map(part) {
        let some = store.tombstones(of, None, 9).await.expect("an answer");
        assert!(some.is_sorted() && some.iter().all(|(who, _)| store.part_of(who) == of.part));
        if let [first, rest @ ..] = some.as_slice() {
            let after = store.tombstones(of, Some(&first.0), 9).await;
            assert_eq!(after.as_deref(), Ok(rest));
        }
        listed.extend(some);
    }
    listed.sort();
    let all: Vec<_> = (1..4).map(|number| (player(number), Version(11))).collect();
    assert_eq!(listed, all);

    fed(store, 1, 2, &[entry(2, 12, 5)]).await;
    for (who, version) in [(1, 11), (2, 11), (3, 10), (4, 10)] {
        let of = part(store.part_of(&player(who)));
        assert_eq!(store.prune(of, &[(player(who), Version(version))]).await, Ok(true));
    }
    assert_eq!(standing(store).await, [is(2, 12), is(4, 10)]);
    let of = part(store.part_of(&player(3)));
    let left = store.tombstones(of, None, 9).await;
    assert_eq!(left, Ok(vec![(player(3), Version(11))]));
    assert!(store.look(of).await.expect("an answer").is_ready());
}

/// Another standing stays.
pub async fn what_is_forgotten_is_not_ready<S: Standings>(store: &Cut<S>) {
    built(store).await;
    fed(store, 0, 1, &[entry(1, 10, 5)]).await;
    let other = crate::traits::StandingNo { season: 99, ..SEASON };
    while store.forget(other).await.expect("an answer") {}
    assert_eq!(standing(store).await, [is(1, 10)]);
    while store.forget(SEASON).await.expect("an answer") {}
    assert_eq!(all(store).await, None);
    let late = feed(store.part_of(&player(1)), 1, 2, vec![entry(1, 11, 5)]);
    let applied = store.apply(SEASON, &[late], &[]).await.expect("an answer");
    assert_eq!(applied.fed, [Fed::NotReady]);
}
