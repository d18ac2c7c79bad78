//! Servers that count while everything goes wrong.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use standings_core::PlayerId;
use tokio::time::sleep;

use super::{
    super::{Faults, Fencing, Memory, Options, Plan, Trouble, shrink, simulate},
    writers::{Broken, Server, Shared, settled},
};
use crate::{
    dice::Dice,
    suite::given::{BOARD, SEASON},
    traits::{Epoch, ItemKey, Ledger, Shard, Value, Version},
};

const SUBMISSIONS: u64 = 12;

/// A store of some form.
fn form(seed: u64) -> Options {
    let mut dice = Dice::of(seed, &[77]);
    let fencing = if dice.chance(0.5) { Fencing::Row } else { Fencing::Streams };
    let shards = u16::try_from(1 + dice.below(3)).expect("few");
    let partitions = u16::try_from(1 + dice.below(3)).expect("few");
    Options { shards, fencing, partitions, history: 8, ..Options::default() }
}

struct Outcome {
    wrong: Vec<String>,
    troubles: Vec<(u64, Trouble)>,
    trace: u64,
}

fn run(plan: &Plan, broken: Broken) -> Outcome {
    simulate(plan, form(plan.seed), async |store: Memory, faults: Arc<Faults>| {
        let shared = Arc::new(Shared::default());
        raise(&store, Epoch(1)).await;
        let mut tasks = tokio::task::JoinSet::new();
        for id in 0..3 {
            tasks.spawn(Server::new(&store, &shared, broken, id, plan.seed).run(SUBMISSIONS));
        }
        let raised = tokio::spawn(raise_often(store.clone()));
        while let Some(done) = tasks.join_next().await {
            done.expect("a server");
        }
        let stored = raised.await.expect("epochs");
        faults.stop();
        // What is still on its way arrives.
        sleep(Duration::from_secs(60)).await;
        let mut wrong = std::mem::take(&mut *shared.wrong.lock());
        for (epoch, then) in stored {
            let now = of_older(&store, epoch);
            if now != then {
                wrong.push(format!("{now} commits older than {epoch:?}, {then} at its fence"));
            }
        }
        let last = Server::new(&store, &shared, Broken::No, 99, 0);
        compare(&last, &shared, &mut wrong).await;
        Outcome { wrong, troubles: faults.troubles(), trace: faults.trace() }
    })
}

async fn raise(store: &Memory, epoch: Epoch) {
    for shard in (0..store.shards()).map(Shard) {
        settled(|| store.fence(BOARD, shard, epoch)).await;
    }
}

/// Raises the epoch now and then, and tells how many commits of older ones there were when each fence stood.
async fn raise_often(store: Memory) -> Vec<(Epoch, usize)> {
    let mut stored = Vec::new();
    for epoch in (2..6).map(Epoch) {
        sleep(Duration::from_millis(700)).await;
        raise(&store, epoch).await;
        stored.push((epoch, of_older(&store, epoch)));
    }
    stored
}

fn of_older(store: &Memory, epoch: Epoch) -> usize {
    store.inspect(|state| {
        let logs = state.shards.iter().flat_map(|shard| shard.streams.values());
        let records = logs.flat_map(|log| log.records.values());
        records.filter(|record| record.epoch < epoch).count()
    })
}

/// The ledger has what was acknowledged, each once, and once nothing goes wrong any more the view has what the ledger has.
async fn compare(server: &Server, shared: &Shared, wrong: &mut Vec<String>) {
    let store = &server.store;
    let ledger: BTreeMap<PlayerId, (Version, u64)> = store.inspect(|state| {
        let items = state.shards.iter().flat_map(|shard| &shard.items);
        let entries = items.filter_map(|(key, item)| match (key, &item.value) {
            (ItemKey::Entry(_, who), Some(Value::Entry(record))) => {
                Some((who.clone(), (item.version, record.key.folded.unsigned_abs())))
            }
            _ => None,
        });
        entries.collect()
    });
    let counted: BTreeMap<_, _> =
        ledger.iter().map(|(who, (_, count))| (who.clone(), *count)).collect();
    let acknowledged = shared.acknowledged.lock().clone();
    if counted != acknowledged {
        wrong.push(format!("counted {counted:?}, acknowledged {acknowledged:?}"));
    }
    let mut view = BTreeMap::new();
    for part in 0..store.options().partitions {
        let done = async { server.repair(part).await.and(server.catch_up(part).await) };
        if done.await.is_none() {
            wrong.push(format!("part {part} cannot be repaired"));
        }
        store.inspect(|state| {
            let build = state.view.ready(SEASON, part);
            let entries = build.into_iter().flat_map(|build| &build.entries);
            view.extend(entries.map(|(who, (version, _))| (who.clone(), *version)));
        });
    }
    let newest: BTreeMap<_, _> =
        ledger.into_iter().map(|(who, (version, _))| (who, version)).collect();
    if view != newest {
        wrong.push(format!("the view has {view:?}, the ledger {newest:?}"));
    }
}

#[test]
fn nothing_is_lost_or_counted_twice_whatever_goes_wrong() {
    let mut seen = BTreeMap::new();
    for seed in 0..60 {
        let outcome = run(&Plan::rough(seed), Broken::No);
        assert!(outcome.wrong.is_empty(), "seed {seed}: {:?}", outcome.wrong);
        for (_, trouble) in outcome.troubles {
            *seen.entry(trouble).or_insert(0) += 1;
        }
    }
    let never: Vec<_> = Trouble::ALL
        .iter()
        .filter(|trouble| **trouble != Trouble::Skewed && **trouble != Trouble::Unreadable)
        .filter(|trouble| !seen.contains_key(trouble))
        .collect();
    assert!(never.is_empty(), "never happened: {never:?} of {seen:?}");
}

#[test]
fn the_same_plan_is_the_same_run() {
    for seed in 0..5 {
        let (a, b) = (run(&Plan::rough(seed), Broken::No), run(&Plan::rough(seed), Broken::No));
        assert_eq!((a.trace, a.troubles), (b.trace, b.troubles));
    }
    let traces = [1, 2].map(|seed| run(&Plan::quiet(seed), Broken::No).trace);
    assert_ne!(traces[0], traces[1]);
}

/// The first seed of so many under which a broken rule shows.
fn first(broken: Broken, seeds: u64) -> (u64, Outcome) {
    let runs = (0..seeds).map(|seed| (seed, run(&Plan::rough(seed), broken)));
    runs.into_iter().find(|(_, outcome)| !outcome.wrong.is_empty()).expect("it shows")
}

#[test]
fn what_is_decided_anew_before_it_is_settled_is_counted_twice() {
    let (_, outcome) = first(Broken::Unsettled, 20);
    assert!(outcome.wrong[0].starts_with("counted"), "{:?}", outcome.wrong);
}

#[test]
fn a_feed_that_does_not_say_what_it_follows_leaves_holes() {
    let (_, outcome) = first(Broken::Previous, 20);
    assert!(outcome.wrong.iter().any(|wrong| wrong.starts_with("the view")), "{:?}", outcome.wrong);
}

#[test]
fn a_failing_plan_shrinks_to_what_it_needs() {
    let (seed, _) = first(Broken::Unsettled, 20);
    let fails = |plan: &Plan| {
        let outcome = run(plan, Broken::Unsettled);
        (!outcome.wrong.is_empty()).then_some(outcome.troubles)
    };
    let small = shrink(&Plan::rough(seed), fails);
    let kinds: Vec<_> = small.rates.keys().collect();
    assert!(
        matches!(kinds.as_slice(), [Trouble::Lost | Trouble::Late | Trouble::Delayed]),
        "{kinds:?}"
    );
    let troubles = fails(&small).expect("it still fails");
    assert_eq!(troubles.len(), 1, "{troubles:?}");
}
