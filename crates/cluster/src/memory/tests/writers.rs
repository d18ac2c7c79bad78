//! A few servers that count, each as the protocol says: the smallest engine that the store's faults can be tried on.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use standings_core::{IndexRecord, Millis, PlayerId, Score, SortKey};
use tokio::time::sleep;

use super::super::Memory;
use crate::{
    dice::Dice,
    suite::given::{BOARD, SEASON, player},
    traits::{
        Commit, Epoch, Event, EventKey, Facts, Fault, Fed, Feed, Flipped, Generation, Half, Hold,
        Item, ItemKey, Ledger, Needs, NewId, Page, Partition, Probe, Reply, Shard, Standings,
        Store, Stored, Stream, Target, Token, Used, Value, Version, ViewChange,
    },
};

/// A rule that a server breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// None.
    No,
    /// What has no answer is decided anew, on another stream.
    Unsettled,
    /// A feed does not say what it follows.
    Previous,
}

/// What servers share only for the checks.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) acknowledged: Mutex<BTreeMap<PlayerId, u64>>,
    /// Versions that a receipt with ranks has shown.
    pub(super) shown: Mutex<BTreeMap<PlayerId, Version>>,
    pub(super) wrong: Mutex<Vec<String>>,
    generations: AtomicU64,
}

/// A server.
pub(super) struct Server {
    pub(super) store: Memory,
    shared: Arc<Shared>,
    broken: Broken,
    id: u64,
    dice: Dice,
    streams: BTreeMap<Shard, Writer>,
}

struct Writer {
    stream: Stream,
    n: u64,
    /// The last number that concerned each part.
    previous: BTreeMap<u16, u64>,
}

/// Asks until there is an answer.
pub(super) async fn settled<T, F: Future<Output = Result<T, Fault>>>(ask: impl Fn() -> F) -> T {
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

impl Server {
    pub(super) fn new(
        store: &Memory,
        shared: &Arc<Shared>,
        broken: Broken,
        id: u64,
        seed: u64,
    ) -> Self {
        Self {
            store: store.clone(),
            shared: shared.clone(),
            broken,
            id,
            dice: Dice::of(seed, &[id]),
            streams: BTreeMap::new(),
        }
    }

    /// Submits so many times for a few players.
    pub(super) async fn run(mut self, submissions: u64) {
        for _ in 0..submissions {
            let who = player(u32::try_from(self.dice.below(4)).expect("few"));
            self.submit(&who).await;
            *self.shared.acknowledged.lock().entry(who).or_default() += 1;
            self.read().await;
        }
    }

    fn writer(&mut self, shard: Shard) -> &mut Writer {
        let id = self.id << 32 | self.dice.below(1 << 32);
        let stream = Stream { board: BOARD, shard, id };
        let new = || Writer { stream, n: 1, previous: BTreeMap::new() };
        self.streams.entry(shard).or_insert_with(new)
    }

    /// Adds one to what a player has.
    async fn submit(&mut self, who: &PlayerId) {
        let shard = self.store.shard_of(who);
        let key = ItemKey::Entry(SEASON, who.clone());
        let needs = Needs { items: vec![key.clone()], ..Needs::default() };
        let store = self.store.clone();
        loop {
            let (facts, at) = settled(|| store.facts(shard, BOARD, &needs)).await;
            let mut commit = self.decide(&key, facts, at);
            commit.n = self.writer(shard).n;
            let to = self.writer(shard).stream;
            let outcome = loop {
                match store.commit(&to, &commit).await {
                    Ok((outcome, _)) => break outcome,
                    Err(Fault::Unknown(_)) if self.broken == Broken::Unsettled => {
                        break Stored::Closed;
                    }
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            };
            match outcome {
                Stored::Stored | Stored::Already => return self.feed(to, &commit).await,
                Stored::Closed => drop(self.streams.remove(&shard)),
                Stored::Stale(_) | Stored::Conflict => {}
            }
        }
    }

    fn decide(&mut self, key: &ItemKey, facts: Facts, at: Millis) -> Commit {
        let Facts { fence: epoch, mut items, .. } = facts;
        let was = items.remove(0);
        let folded = match &was.value {
            Some(Value::Entry(record)) => record.key.folded,
            _ => 0,
        };
        let new = was.version == Version::ABSENT;
        let version = if new { Version::beginning(at) } else { was.version.next() };
        let key_then = SortKey { folded: folded - 1, at: Millis(0) };
        let record = IndexRecord { key: key_then, updated_at: Millis(0) };
        let value = Some(Value::Entry(record));
        Commit {
            n: 0,
            token: Token(self.dice.roll()),
            epoch,
            confirmed: 0,
            holds: vec![Hold { key: ItemKey::Player(key.player().clone()), version: Version(0) }],
            ids: vec![self.new_id(key, version)],
            events: vec![event(key, version)],
            stores: vec![Store { key: key.clone(), was, version, value }],
        }
    }

    fn new_id(&mut self, key: &ItemKey, version: Version) -> NewId {
        let id = format!("{}-{}", self.id, self.dice.roll());
        let points = Score::new(1).expect("a score");
        let season = SEASON.season;
        let used = Used { player: key.player().clone(), points, season, version };
        NewId { id: id.parse().expect("an event id"), half: Half(1), used }
    }

    /// Feeds the view; fills the gap that it finds, or builds the part anew.
    async fn feed(&mut self, stream: Stream, commit: &Commit) {
        let change = change(&commit.stores[0]);
        let (part, n) = (self.store.part_of(&change.player), commit.n);
        let broken = self.broken;
        let writer = self.writer(stream.shard);
        writer.n = n + 1;
        let previous = writer.previous.insert(part, n).unwrap_or(0);
        let previous = if broken == Broken::Previous { 0 } else { previous };
        let feed = Feed { part, stream, previous, n, changes: vec![change.clone()] };
        let Ok(applied) = self.store.apply(SEASON, std::slice::from_ref(&feed), &[]).await else {
            return;
        };
        match applied.fed[0] {
            Fed::Taken => {
                let mut shown = self.shared.shown.lock();
                let version = shown.entry(change.player).or_default();
                *version = change.version.max(*version);
            }
            Fed::Gap(_) => drop(self.catch_up(part).await),
            Fed::NotReady => drop(self.repair(part).await),
        }
    }

    /// Each player that was shown is there, if it answers.
    async fn read(&self) {
        let shown = self.shared.shown.lock().clone();
        let probes: Vec<_> = shown.keys().cloned().map(Probe::Find).collect();
        let Ok(Some(answers)) = self.store.read(SEASON, &probes).await else { return };
        for ((who, version), reply) in shown.iter().zip(answers.replies) {
            let Reply::Placed(placed) = reply else { unreachable!("it answers what was asked") };
            let found = placed.map(|placed| placed.row.version);
            if found < Some(*version) {
                self.shared.wrong.lock().push(format!("{who}: {found:?} after {version:?}"));
            }
        }
    }

    /// Feeds a part all that it lacks; `None` where it is not ready or there is a fault.
    pub(super) async fn catch_up(&self, part: u16) -> Option<()> {
        for shard in (0..self.store.shards()).map(Shard) {
            let streams = self.store.streams(BOARD, shard, &Page::first(1000)).await.ok()?.0;
            for stream in streams {
                let of = Partition { standing: SEASON, part };
                let state = self.store.look(of).await.ok()?;
                let current = state.current?;
                let offset = current.offsets.iter().find(|(id, _)| *id == stream.stream);
                let offset = offset.map_or(0, |(_, n)| *n);
                self.replay(of, stream.stream, offset, None).await?;
            }
        }
        Some(())
    }

    /// All records of a stream after a number, one feed each: to the current build, or to one that is being built.
    async fn replay(
        &self,
        of: Partition,
        stream: Stream,
        mut offset: u64,
        target: Option<&Target>,
    ) -> Option<()> {
        let records = self.store.outbox(&[(stream, offset)], 1000).await.ok()?.0;
        for record in records.into_iter().flatten() {
            let changes = record.entries.iter().map(change);
            let changes = changes.filter(|change| self.store.part_of(&change.player) == of.part);
            let (changes, n) = (changes.collect(), record.n);
            let feed = Feed { part: of.part, stream, previous: offset, n, changes };
            let taken = match target {
                Some(target) => self.store.replay(of, target, &feed).await.ok()?,
                None => self.store.apply(SEASON, &[feed], &[]).await.ok()?.fed[0],
            };
            if taken != Fed::Taken {
                return None;
            }
            offset = n;
        }
        Some(())
    }

    /// Builds a part anew; `None` where it has to be tried again.
    pub(super) async fn repair(&self, part: u16) -> Option<()> {
        let of = Partition { standing: SEASON, part };
        let state = self.store.look(of).await.ok()?;
        if state.is_ready() {
            return Some(());
        }
        let node = state.node;
        let current = state.current.map_or(0, |current| current.generation.0);
        let generation = self.shared.generations.fetch_add(1, Ordering::SeqCst) + 1;
        let generation = Generation(generation.max(current + 1));
        let mut ends = Vec::new();
        for shard in (0..self.store.shards()).map(Shard) {
            let streams = self.store.streams(BOARD, shard, &Page::first(1000)).await.ok()?.0;
            ends.extend(streams.into_iter().map(|state| (state.stream, state.newest)));
        }
        if !self.store.begin(of, generation, &node, &ends).await.ok()? {
            return None;
        }
        for shard in (0..self.store.shards()).map(Shard) {
            let entries = self.store.entries(SEASON, shard, &Page::first(1000)).await.ok()?.0;
            let entries = entries.into_iter().filter(|(who, _)| self.store.part_of(who) == part);
            let entries: Vec<_> = entries.map(|(who, item)| loaded(who, &item)).collect();
            if !self.store.load(of, generation, &node, &entries).await.ok()? {
                return None;
            }
        }
        let target = Target::Building(generation, node.clone());
        let mut has: BTreeMap<_, _> = ends.into_iter().collect();
        loop {
            match self.store.flip(of, generation, &node).await.ok()? {
                Flipped::Done => return Some(()),
                Flipped::NotReady => return None,
                Flipped::Behind(ahead) => {
                    for (stream, n) in ahead {
                        let offset = has.insert(stream, n).unwrap_or(0);
                        self.replay(of, stream, offset, Some(&target)).await?;
                    }
                }
            }
        }
    }
}

fn change(store: &Store) -> ViewChange {
    let item = Item { version: store.version, epoch: Epoch(0), value: store.value.clone() };
    loaded(store.key.player().clone(), &item)
}

fn loaded(player: PlayerId, item: &Item) -> ViewChange {
    let record = match &item.value {
        Some(Value::Entry(record)) => Some(*record),
        _ => None,
    };
    ViewChange { player, version: item.version, record }
}

fn event(key: &ItemKey, version: Version) -> Event {
    let score = Score::new(1).expect("a score");
    let key_of = EventKey { board: BOARD, season: SEASON.season, version };
    let player = key.player().clone();
    let (at, accepted_at) = (Millis(0), Millis(0));
    Event { player, key: key_of, points: score, score, at, accepted_at, id: None }
}
