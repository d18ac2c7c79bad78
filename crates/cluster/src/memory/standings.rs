//! The live view.

use async_trait::async_trait;
use standings_core::{PlayerId, Position, SortKey, standing::Size};

use super::{
    Memory, Place, State,
    view::{Build, View},
};
use crate::call::Call;
use crate::traits::{
    Answers, Applied, Fault, Fed, Feed, Flipped, Generation, Node, Partition, PartitionState,
    Placed, Probe, Reply, Row, Shard, StandingNo, Standings, Start, Stream, Target, Version,
    ViewChange,
};

/// What one part finds for a probe.
enum Part {
    Size(Size),
    Row(Option<Row>),
    Count(u64),
    Rows(u64, Vec<Row>),
}

impl Memory {
    async fn at<T: Send + 'static>(
        &self,
        call: Call,
        part: u16,
        effect: impl FnOnce(&mut View) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        self.step(call, Place::View(part), move |state: &mut State| effect(&mut state.view)).await
    }

    /// Reads a part, if it is ready; an index shows what is due by now.
    async fn build<T: Send + 'static>(
        &self,
        of: StandingNo,
        part: u16,
        read: impl FnOnce(&Build) -> T + Send + 'static,
    ) -> Result<Option<T>, Fault> {
        let store = self.clone();
        self.at(Call::Read, part, move |view| {
            if store.options().index_lag.is_none() {
                return view.ready(of, part).map(read);
            }
            view.show(store.time(Shard(0)));
            let none = Build::new(Node(String::new()), &[]);
            Some(read(view.ready(of, part).unwrap_or(&none)))
        })
        .await
    }

    /// Asks all parts, one after the other, then counts in all parts what comes before the rows that were found.
    async fn gather(&self, of: StandingNo, probes: &[Probe]) -> Result<Option<Answers>, Fault> {
        let parts = self.options().partitions;
        let mut found = Vec::new();
        for part in 0..parts {
            let probes = probes.to_vec();
            let read = self.build(of, part, move |build| {
                probes.iter().map(|probe| look(build, probe, parts)).collect::<Vec<_>>()
            });
            match read.await? {
                Some(read) => found.push(read),
                None => return Ok(None),
            }
        }
        let found = merge(probes, found);
        let places: Vec<(SortKey, PlayerId)> = found.iter().filter_map(first_place).collect();
        let mut counts = vec![(0, 0); places.len()];
        for part in 0..if places.is_empty() { 0 } else { parts } {
            let places = places.clone();
            let read = self.build(of, part, move |build| {
                let ordered = build.ordered();
                let count = |(key, player): &(SortKey, PlayerId)| {
                    (ordered.before(*key, player), ordered.better(key.folded))
                };
                places.iter().map(count).collect::<Vec<_>>()
            });
            let Some(read) = read.await? else { return Ok(None) };
            for (count, more) in counts.iter_mut().zip(read) {
                *count = (count.0 + more.0, count.1 + more.1);
            }
        }
        let mut counts = counts.into_iter();
        let replies = found.into_iter().map(|part| {
            let counted = first_place(&part).is_some();
            reply(part, counted.then(|| counts.next()).flatten())
        });
        Ok(Some(Answers { replies: replies.collect(), within: 0 }))
    }
}

/// What a part finds; of rows at a position, all that might be among them.
fn look(build: &Build, probe: &Probe, parts: u16) -> Part {
    let ordered = build.ordered();
    match probe {
        Probe::Size => Part::Size(Size { players: ordered.len(), total: ordered.total() }),
        Probe::Find(player) => Part::Row(build.row(player)),
        Probe::Better(folded) => Part::Count(ordered.better(*folded)),
        Probe::Through(key, player) => Part::Count(ordered.through(*key, player)),
        Probe::Rows(Start::After(key, player), limit) => {
            let start = ordered.through(*key, player);
            Part::Rows(start, ordered.rows(start, *limit))
        }
        Probe::Rows(Start::At(at), limit) if parts == 1 => {
            Part::Rows(at.0, ordered.rows(at.0, *limit))
        }
        Probe::Rows(Start::At(at), limit) => {
            let through = usize::try_from(at.0).unwrap_or(usize::MAX).saturating_add(*limit);
            Part::Rows(0, ordered.rows(0, through))
        }
    }
}

/// What all parts found together.
fn merge(probes: &[Probe], parts: Vec<Vec<Part>>) -> Vec<Part> {
    let single = parts.len() == 1;
    let merged = parts
        .into_iter()
        .reduce(|all, part| all.into_iter().zip(part).map(|(a, b)| join(a, b)).collect());
    let cut = |(probe, part): (&Probe, Part)| match (probe, part) {
        (Probe::Rows(start, limit), Part::Rows(count, mut rows)) => {
            let place = |row: &Row| (row.record.key, row.player.clone());
            rows.sort_by_key(place);
            let first = match start {
                Start::At(at) if !single => {
                    let first = usize::try_from(at.0).unwrap_or(usize::MAX).min(rows.len());
                    rows.drain(..first);
                    at.0
                }
                _ => count,
            };
            rows.truncate(*limit);
            Part::Rows(first, rows)
        }
        (_, part) => part,
    };
    probes.iter().zip(merged.unwrap_or_default()).map(cut).collect()
}

fn join(a: Part, b: Part) -> Part {
    match (a, b) {
        (Part::Size(a), Part::Size(b)) => {
            Part::Size(Size { players: a.players + b.players, total: a.total + b.total })
        }
        (Part::Row(a), Part::Row(b)) => Part::Row(a.or(b)),
        (Part::Count(a), Part::Count(b)) => Part::Count(a + b),
        (Part::Rows(a, mut rows), Part::Rows(b, more)) => {
            rows.extend(more);
            Part::Rows(a + b, rows)
        }
        _ => unreachable!("parts answer the same probes"),
    }
}

/// The row of which the place is to be counted.
fn first_place(part: &Part) -> Option<(SortKey, PlayerId)> {
    let row = match part {
        Part::Row(row) => row.as_ref(),
        Part::Rows(_, rows) => rows.first(),
        _ => None,
    };
    row.and_then(|row| Some((row.record.key, row.player.clone()?)))
}

fn reply(part: Part, counted: Option<(u64, u64)>) -> Reply {
    match part {
        Part::Size(size) => Reply::Size(size),
        Part::Count(count) => Reply::Position(Position(count)),
        Part::Row(row) => Reply::Placed(row.zip(counted).map(|(row, (before, better))| Placed {
            position: Position(before),
            first_of_score: Position(better),
            row,
        })),
        Part::Rows(start, rows) => {
            let first_of_score = Position(counted.map_or(start, |(_, better)| better));
            Reply::Rows { start: Position(start), first_of_score, rows }
        }
    }
}

#[async_trait]
impl Standings for Memory {
    fn is_fed(&self) -> bool {
        self.options().index_lag.is_none()
    }

    fn partitions(&self) -> u16 {
        self.options().partitions
    }

    fn part_of(&self, player: &PlayerId) -> u16 {
        super::view::part_of(player, self.options().partitions)
    }

    async fn apply(
        &self,
        of: StandingNo,
        feeds: &[Feed],
        probes: &[Probe],
    ) -> Result<Applied, Fault> {
        let mut taken = Vec::with_capacity(feeds.len());
        for feed in feeds {
            if !self.is_fed() {
                taken.push(Fed::Taken);
                continue;
            }
            let feed = feed.clone();
            taken.push(self.at(Call::Apply, feed.part, move |view| view.feed(of, &feed)).await?);
        }
        let all = taken.iter().all(|fed| *fed == Fed::Taken);
        let answers = if all { self.gather(of, probes).await? } else { None };
        Ok(Applied { fed: taken, answers })
    }

    async fn read(&self, of: StandingNo, probes: &[Probe]) -> Result<Option<Answers>, Fault> {
        self.gather(of, probes).await
    }

    async fn look(&self, of: Partition) -> Result<PartitionState, Fault> {
        self.at(Call::Look, of.part, move |view| view.look(of.standing, of.part)).await
    }

    async fn replay(&self, of: Partition, target: &Target, feed: &Feed) -> Result<Fed, Fault> {
        let (target, feed) = (target.clone(), Feed { part: of.part, ..feed.clone() });
        self.at(Call::Replay, of.part, move |view| view.replay(of.standing, &target, &feed)).await
    }

    async fn confirm(
        &self,
        of: Partition,
        current: Generation,
        node: &Node,
    ) -> Result<bool, Fault> {
        let node = node.clone();
        self.at(Call::Confirm, of.part, move |view| {
            view.confirm(of.standing, of.part, current, &node)
        })
        .await
    }

    async fn begin(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
        offsets: &[(Stream, u64)],
    ) -> Result<bool, Fault> {
        let (node, offsets) = (node.clone(), offsets.to_vec());
        self.at(Call::Begin, of.part, move |view| {
            view.begin(of.standing, of.part, generation, &node, &offsets)
        })
        .await
    }

    async fn load(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
        entries: &[ViewChange],
    ) -> Result<bool, Fault> {
        let (node, entries) = (node.clone(), entries.to_vec());
        self.at(Call::Load, of.part, move |view| {
            view.load(of.standing, of.part, generation, &node, &entries)
        })
        .await
    }

    async fn flip(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
    ) -> Result<Flipped, Fault> {
        let node = node.clone();
        self.at(Call::Flip, of.part, move |view| view.flip(of.standing, of.part, generation, &node))
            .await
    }

    async fn tombstones(
        &self,
        of: Partition,
        after: Option<&PlayerId>,
        limit: usize,
    ) -> Result<Vec<(PlayerId, Version)>, Fault> {
        let after = after.cloned();
        self.at(Call::Tombstones, of.part, move |view| {
            let build = view.ready(of.standing, of.part);
            let entries = build.into_iter().flat_map(|build| &build.entries);
            let beyond = entries.filter(|(player, _)| Some(*player) > after.as_ref());
            let gone = beyond.filter(|(_, (_, record))| record.is_none());
            gone.map(|(player, (version, _))| (player.clone(), *version)).take(limit).collect()
        })
        .await
    }

    async fn prune(
        &self,
        of: Partition,
        tombstones: &[(PlayerId, Version)],
    ) -> Result<bool, Fault> {
        let tombstones = tombstones.to_vec();
        self.at(Call::Prune, of.part, move |view| view.prune(of.standing, of.part, &tombstones))
            .await
    }

    async fn refresh(&self, _: StandingNo) -> Result<(), Fault> {
        Ok(())
    }

    async fn forget(&self, of: StandingNo) -> Result<bool, Fault> {
        for part in 0..self.options().partitions {
            self.at(Call::Forget, part, move |view| view.forget(of, part)).await?;
        }
        Ok(false)
    }
}
