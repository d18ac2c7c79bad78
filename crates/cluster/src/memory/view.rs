//! Live standings, node by node. Each node holds one part of every standing.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use standings_core::{IndexRecord, Millis, PlayerId};

use super::{Options, ViewFault, hash, ordered::Ordered};
use crate::traits::{
    Fed, Feed, Flipped, Generation, GenerationState, Node, PartitionState, Row, StandingNo, Stream,
    Target, Version, ViewChange,
};

/// Live standings.
#[derive(Clone, Debug)]
pub struct View {
    nodes: Vec<Holder>,
    history: usize,
    lag: Option<Millis>,
    /// What the index does not show yet, with the time when it does.
    pending: Vec<(Millis, StandingNo, ViewChange)>,
}

/// A node, with a replica that may take over.
#[derive(Clone, Debug, Default)]
struct Holder {
    on_replica: bool,
    runs: [u64; 2],
    replication: u64,
    parts: Parts,
    /// States before, oldest first.
    before: VecDeque<Parts>,
}

type Parts = BTreeMap<StandingNo, Arc<Part>>;

/// A part of a standing: the builds of it, and which one answers.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The build that answers.
    pub current: Option<Generation>,
    /// All of them.
    pub builds: BTreeMap<Generation, Build>,
}

/// One build of a part.
#[derive(Clone, Debug)]
pub struct Build {
    /// Where it was last complete, or was begun.
    pub node: Node,
    /// How many entries were put in.
    pub kept: usize,
    /// How far it has taken in each stream.
    pub offsets: BTreeMap<Stream, u64>,
    /// Entries and tombstones.
    pub entries: BTreeMap<PlayerId, (Version, Option<IndexRecord>)>,
    ordered: Ordered,
}

impl Build {
    pub(super) fn ordered(&self) -> &Ordered {
        &self.ordered
    }

    /// A player's row.
    pub(super) fn row(&self, player: &PlayerId) -> Option<Row> {
        let (version, record) = self.entries.get(player)?;
        let (player, record) = (Some(player.clone()), (*record)?);
        Some(Row { player, record, version: *version, name: None, streak: 0 })
    }

    pub(super) fn new(node: Node, offsets: &[(Stream, u64)]) -> Self {
        Self {
            node,
            kept: 0,
            offsets: offsets.iter().copied().collect(),
            entries: BTreeMap::new(),
            ordered: Ordered::default(),
        }
    }

    /// Whether it has as many entries as were put in.
    pub fn is_whole(&self) -> bool {
        self.kept == self.entries.len()
    }

    fn put(&mut self, change: &ViewChange) {
        let ViewChange { player, version, record } = change;
        match self.entries.get(player) {
            Some((there, _)) if there >= version => return,
            Some((_, Some(old))) => self.ordered.remove(player, old.key),
            Some((_, None)) => {}
            None => self.kept += 1,
        }
        if let Some(record) = record {
            self.ordered.insert(player.clone(), *record, *version);
        }
        self.entries.insert(player.clone(), (*version, *record));
    }

    fn remove(&mut self, player: &PlayerId) {
        if let Some((_, Some(old))) = self.entries.remove(player) {
            self.ordered.remove(player, old.key);
        }
    }

    fn take(&mut self, feed: &Feed) -> Fed {
        let offset = self.offsets.get(&feed.stream).copied().unwrap_or(0);
        if feed.n <= offset {
            return Fed::Taken;
        }
        if feed.previous > offset {
            return Fed::Gap(offset);
        }
        for change in &feed.changes {
            self.put(change);
        }
        self.offsets.insert(feed.stream, feed.n);
        Fed::Taken
    }
}

impl Part {
    fn build(&self) -> Option<&Build> {
        self.builds.get(&self.current?)
    }
}

impl Holder {
    /// What names it: node, run and replication history.
    fn node(&self) -> Node {
        let run = self.runs[usize::from(self.on_replica)];
        Node(format!("{}/{run}/{}", u8::from(self.on_replica), self.replication))
    }
}

impl View {
    pub(super) fn new(options: &Options) -> Self {
        let nodes = (0..options.partitions).map(|_| Holder::default()).collect();
        Self { nodes, history: options.history, lag: options.index_lag, pending: Vec::new() }
    }

    fn node(&self, part: u16) -> Node {
        self.nodes[usize::from(part)].node()
    }

    /// A part as it is stored.
    pub fn part(&self, of: StandingNo, part: u16) -> Option<&Part> {
        self.nodes[usize::from(part)].parts.get(&of).map(Arc::as_ref)
    }

    /// The build of a part that answers, if it is ready.
    pub fn ready(&self, of: StandingNo, part: u16) -> Option<&Build> {
        let build = self.part(of, part)?.build()?;
        (build.is_whole() && build.node == self.node(part)).then_some(build)
    }

    /// Changes a node, which keeps what it was before.
    fn change(&mut self, part: u16) -> &mut Parts {
        let holder = &mut self.nodes[usize::from(part)];
        if self.history > 0 {
            holder.before.push_back(holder.parts.clone());
            if holder.before.len() > self.history {
                holder.before.pop_front();
            }
        }
        &mut holder.parts
    }

    fn change_part(&mut self, of: StandingNo, part: u16) -> &mut Part {
        Arc::make_mut(self.change(part).entry(of).or_default())
    }

    fn build_mut(&mut self, of: StandingNo, part: u16, build: Generation) -> &mut Build {
        self.change_part(of, part).builds.get_mut(&build).expect("it was just found")
    }

    pub(super) fn feed(&mut self, of: StandingNo, feed: &Feed) -> Fed {
        if self.ready(of, feed.part).is_none() {
            return Fed::NotReady;
        }
        let current = self.part(of, feed.part).and_then(|part| part.current);
        self.build_mut(of, feed.part, current.expect("it is ready")).take(feed)
    }

    pub(super) fn look(&self, of: StandingNo, part: u16) -> PartitionState {
        let current = self.part(of, part).and_then(|part| Some((part.current?, part.build()?)));
        let state = |(generation, build): (Generation, &Build)| GenerationState {
            generation,
            node: build.node.clone(),
            whole: build.is_whole(),
            offsets: build.offsets.iter().map(|(stream, n)| (*stream, *n)).collect(),
        };
        PartitionState { node: self.node(part), current: current.map(state) }
    }

    pub(super) fn replay(&mut self, of: StandingNo, target: &Target, feed: &Feed) -> Fed {
        let generation = match target {
            Target::Current(node) if *node == self.node(feed.part) => {
                self.part(of, feed.part).and_then(|part| part.current)
            }
            Target::Building(generation, node) => {
                self.building(of, feed.part, *generation, node).then_some(*generation)
            }
            Target::Current(_) => None,
        };
        let whole = |generation: &Generation| {
            let part = self.part(of, feed.part);
            part.is_some_and(|part| part.builds.get(generation).is_some_and(Build::is_whole))
        };
        match generation.filter(whole) {
            Some(generation) => self.build_mut(of, feed.part, generation).take(feed),
            None => Fed::NotReady,
        }
    }

    /// Whether a generation is being built here, where it was begun.
    fn building(&self, of: StandingNo, part: u16, generation: Generation, node: &Node) -> bool {
        let Some(state) = self.part(of, part) else { return false };
        let begun = state.builds.get(&generation).is_some_and(|build| build.node == *node);
        *node == self.node(part) && begun && state.current != Some(generation)
    }

    pub(super) fn confirm(
        &mut self,
        of: StandingNo,
        part: u16,
        current: Generation,
        node: &Node,
    ) -> bool {
        let state = self.part(of, part).filter(|part| part.current == Some(current));
        let whole = state.and_then(Part::build).is_some_and(Build::is_whole);
        if !whole || *node != self.node(part) {
            return false;
        }
        self.build_mut(of, part, current).node = node.clone();
        true
    }

    pub(super) fn begin(
        &mut self,
        of: StandingNo,
        part: u16,
        generation: Generation,
        node: &Node,
        offsets: &[(Stream, u64)],
    ) -> bool {
        if *node != self.node(part) {
            return false;
        }
        let newest = self.part(of, part).and_then(|part| part.builds.keys().next_back().copied());
        if newest.is_some_and(|newest| newest >= generation) {
            return self.building(of, part, generation, node);
        }
        let build = Build::new(node.clone(), offsets);
        self.change_part(of, part).builds.insert(generation, build);
        true
    }

    pub(super) fn load(
        &mut self,
        of: StandingNo,
        part: u16,
        generation: Generation,
        node: &Node,
        entries: &[ViewChange],
    ) -> bool {
        if !self.building(of, part, generation, node) {
            return false;
        }
        let build = self.build_mut(of, part, generation);
        let whole = build.is_whole();
        if whole {
            for entry in entries {
                build.put(entry);
            }
        }
        whole
    }

    pub(super) fn flip(
        &mut self,
        of: StandingNo,
        part: u16,
        generation: Generation,
        node: &Node,
    ) -> Flipped {
        let Some(state) = self.part(of, part) else { return Flipped::NotReady };
        let Some(new) = state.builds.get(&generation) else { return Flipped::NotReady };
        let here = new.is_whole() && new.node == *node && *node == self.node(part);
        if !here || state.current.is_some_and(|current| current > generation) {
            return Flipped::NotReady;
        }
        let has = |stream: &Stream| new.offsets.get(stream).copied().unwrap_or(0);
        let current = state.build().into_iter().flat_map(|build| &build.offsets);
        let ahead: Vec<_> = current.filter(|(stream, n)| **n > has(stream)).collect();
        if !ahead.is_empty() {
            return Flipped::Behind(ahead.into_iter().map(|(stream, n)| (*stream, *n)).collect());
        }
        let state = self.change_part(of, part);
        state.current = Some(generation);
        state.builds = state.builds.split_off(&generation);
        Flipped::Done
    }

    pub(super) fn prune(
        &mut self,
        of: StandingNo,
        part: u16,
        tombstones: &[(PlayerId, Version)],
    ) -> bool {
        let builds = self.part(of, part).map_or(0, |part| part.builds.len());
        if self.ready(of, part).is_none() || builds > 1 {
            return false;
        }
        let current = self.part(of, part).and_then(|part| part.current).expect("it is ready");
        let build = self.build_mut(of, part, current);
        for (player, version) in tombstones {
            if build.entries.get(player) == Some(&(*version, None)) {
                build.entries.remove(player);
                build.kept -= 1;
            }
        }
        true
    }

    pub(super) fn forget(&mut self, of: StandingNo, part: u16) {
        self.change(part).remove(&of);
    }

    /// Does to a node what may happen to it.
    pub(super) fn harm(&mut self, part: u16, fault: ViewFault) {
        let holder = &mut self.nodes[usize::from(part)];
        match fault {
            ViewFault::Promote { lose, back } => {
                let lose = lose.min(holder.before.len());
                if let Some(before) = holder.before.drain(holder.before.len() - lose..).next() {
                    holder.parts = before;
                }
                holder.before.clear();
                holder.on_replica = holder.on_replica == back;
                holder.replication += if back { 2 } else { 1 };
            }
            ViewFault::Evict => {
                for part in holder.parts.values_mut() {
                    for build in Arc::make_mut(part).builds.values_mut() {
                        if let Some(first) = build.entries.keys().next().cloned() {
                            build.remove(&first);
                        }
                    }
                }
            }
            ViewFault::Flush { restart } => {
                holder.parts.clear();
                holder.before.clear();
                if restart {
                    holder.runs[usize::from(holder.on_replica)] += 1;
                    holder.replication += 1;
                }
            }
        }
    }

    /// The index has seen a commit, and will show it.
    pub(super) fn follow(&mut self, changes: &[(StandingNo, ViewChange)], now: Millis) {
        let Some(lag) = self.lag else { return };
        for (standing, change) in changes {
            let late = hash(&change.player).wrapping_add(change.version.0).rotate_right(7);
            let late = i64::try_from(late % (lag.0.unsigned_abs() + 1)).unwrap_or(0);
            self.pending.push((now.plus(Millis(late)), *standing, change.clone()));
        }
    }

    /// Shows what is due by now.
    pub(super) fn show(&mut self, now: Millis) {
        let due = |(at, _, _): &mut (Millis, StandingNo, ViewChange)| *at <= now;
        let due: Vec<_> = self.pending.extract_if(.., due).collect();
        for (_, standing, change) in due {
            let part = part_of(&change.player, u16::try_from(self.nodes.len()).unwrap_or(1));
            let node = self.node(part);
            let state = self.change_part(standing, part);
            let current = *state.current.get_or_insert_default();
            let build = state.builds.entry(current).or_insert_with(|| Build::new(node, &[]));
            build.put(&change);
        }
    }
}

/// The part that has a player, by other bits than those that choose the shard.
pub(super) fn part_of(player: &PlayerId, parts: u16) -> u16 {
    u16::try_from((hash(player) >> 20) % u64::from(parts)).unwrap_or(0)
}
