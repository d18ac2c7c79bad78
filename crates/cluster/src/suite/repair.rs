//! Live standings: building a part anew.

use super::{
    cut::{Cut, How},
    given::{SEASON, player},
    view::{all, built, entry, fed, feed, node, part, source, standing, tombstone},
};
use crate::{
    call::Call,
    traits::{
        Fault, Fed, Flipped, Generation, Node, Partition, Standings, Target, Version, ViewChange,
    },
};

/// The part that has the player of most cases.
fn home<S: Standings>(store: &Cut<S>) -> Partition {
    part(store.part_of(&player(1)))
}

/// A generation begun, with these entries.
async fn begun<S: Standings>(
    store: &Cut<S>,
    number: u64,
    offset: u64,
    entries: &[ViewChange],
) -> Node {
    let of = home(store);
    let (node, generation) = (node(store, of).await, Generation(number));
    let begun = store.begin(of, generation, &node, &[(source(), offset)]).await;
    assert_eq!(begun, Ok(true));
    assert_eq!(store.load(of, generation, &node, entries).await, Ok(true));
    node
}

/// The one before it is gone with all that it had.
pub async fn a_new_generation_answers_once_it_is_current<S: Standings>(store: &Cut<S>) {
    built(store).await;
    fed(store, 0, 1, &[entry(1, 10, 5)]).await;
    let entries = [entry(1, 12, 4), entry(1, 11, 3), tombstone(1, 9)];
    let node = begun(store, 2, 1, &entries).await;
    assert_eq!(standing(store).await[0].1, 10);
    store.around.next(Call::Flip, How::Lost);
    let lost = store.flip(home(store), Generation(2), &node).await;
    assert!(matches!(lost, Err(Fault::Unknown(_))));
    assert_eq!(store.flip(home(store), Generation(2), &node).await, Ok(Flipped::Done));
    assert_eq!(standing(store).await[0].1, 12);
    let state = store.look(home(store)).await.expect("an answer");
    let current = state.current.clone().expect("one is current");
    assert!(state.is_ready() && current.whole, "{state:?}");
    assert_eq!((current.generation, current.offsets), (Generation(2), vec![(source(), 1)]));
}

/// It is neither begun nor made current.
pub async fn an_older_generation_is_refused<S: Standings>(store: &Cut<S>) {
    built(store).await;
    let node = begun(store, 5, 0, &[]).await;
    let of = home(store);
    let older = begun(store, 7, 0, &[]).await;
    assert_eq!(store.flip(of, Generation(7), &older).await, Ok(Flipped::Done));
    assert_eq!(store.flip(of, Generation(5), &node).await, Ok(Flipped::NotReady));
    assert_eq!(store.begin(of, Generation(6), &node, &[]).await, Ok(false));
    assert_eq!(store.begin(of, Generation(7), &node, &[]).await, Ok(false));
    assert_eq!(store.load(of, Generation(7), &node, &[entry(1, 99, 1)]).await, Ok(false));
    assert_eq!(all(store).await, Some(Vec::new()));
}

/// Until what it lacks was replayed.
pub async fn a_generation_that_has_less_is_behind<S: Standings>(store: &Cut<S>) {
    built(store).await;
    let node = begun(store, 2, 0, &[]).await;
    let of = home(store);
    fed(store, 0, 1, &[entry(1, 10, 5)]).await;
    fed(store, 1, 2, &[tombstone(1, 11)]).await;
    let behind = store.flip(of, Generation(2), &node).await;
    assert_eq!(behind, Ok(Flipped::Behind(vec![(source(), 2)])));
    let target = Target::Building(Generation(2), node.clone());
    let second = feed(of.part, 1, 2, vec![tombstone(1, 11)]);
    assert_eq!(store.replay(of, &target, &second).await, Ok(Fed::Gap(0)));
    let first = feed(of.part, 0, 1, vec![entry(1, 10, 5)]);
    for feed in [first, second] {
        assert_eq!(store.replay(of, &target, &feed).await, Ok(Fed::Taken));
    }
    assert_eq!(store.flip(of, Generation(2), &node).await, Ok(Flipped::Done));
    assert_eq!(store.tombstones(of, None, 9).await, Ok(vec![(player(1), Version(11))]));
}

/// Feeds go to the one that answers, replays to the one that they name.
pub async fn what_is_being_built_is_not_what_answers<S: Standings>(store: &Cut<S>) {
    built(store).await;
    let node = begun(store, 2, 0, &[entry(1, 50, 5)]).await;
    let of = home(store);
    assert_eq!(all(store).await, Some(Vec::new()));
    let next = feed(of.part, 0, 1, vec![entry(1, 60, 5)]);
    let target = Target::Building(Generation(2), node.clone());
    assert_eq!(store.replay(of, &target, &next).await, Ok(Fed::Taken));
    assert_eq!(all(store).await, Some(Vec::new()));
    let never = Target::Building(Generation(3), node.clone());
    assert_eq!(store.replay(of, &never, &next).await, Ok(Fed::NotReady));
    assert_eq!(store.flip(of, Generation(3), &node).await, Ok(Flipped::NotReady));
    assert_eq!(store.confirm(of, Generation(2), &node).await, Ok(false));
    assert_eq!(store.confirm(of, Generation(1), &node).await, Ok(true));
}

/// Each step names the node on which the repair began.
pub async fn nothing_is_done_on_another_node<S: Standings>(store: &Cut<S>) {
    built(store).await;
    begun(store, 2, 0, &[]).await;
    let (of, other) = (home(store), Node("another".into()));
    let next = feed(of.part, 0, 1, vec![entry(1, 10, 5)]);
    assert_eq!(store.begin(of, Generation(3), &other, &[]).await, Ok(false));
    assert_eq!(store.load(of, Generation(2), &other, &[entry(1, 9, 5)]).await, Ok(false));
    for target in [Target::Current(other.clone()), Target::Building(Generation(2), other.clone())] {
        assert_eq!(store.replay(of, &target, &next).await, Ok(Fed::NotReady));
    }
    assert_eq!(store.confirm(of, Generation(1), &other).await, Ok(false));
    assert_eq!(store.flip(of, Generation(2), &other).await, Ok(Flipped::NotReady));
    assert_eq!(all(store).await, Some(Vec::new()));
    let here = Target::Current(node(store, of).await);
    assert_eq!(store.replay(of, &here, &next).await, Ok(Fed::Taken));
    assert_eq!(standing(store).await.len(), 1);
}

/// It may not have seen the tombstones that the other one has.
pub async fn nothing_is_pruned_while_another_is_built<S: Standings>(store: &Cut<S>) {
    built(store).await;
    fed(store, 0, 1, &[tombstone(1, 11)]).await;
    let (of, gone) = (home(store), [(player(1), Version(11))]);
    let node = begun(store, 2, 1, &[]).await;
    assert_eq!(store.prune(of, &gone).await, Ok(false));
    assert_eq!(store.tombstones(of, None, 9).await, Ok(gone.to_vec()));
    assert_eq!(store.flip(of, Generation(2), &node).await, Ok(Flipped::Done));
    assert_eq!(store.prune(of, &gone).await, Ok(true));
    let never = Partition { standing: crate::traits::StandingNo { season: 99, ..SEASON }, ..of };
    assert_eq!(store.prune(never, &gone).await, Ok(false));
}
