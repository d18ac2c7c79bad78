//! The archive.

use std::collections::BTreeMap;

use async_trait::async_trait;
use standings_core::{PlayerId, Position, SortKey, standing::Size};

use super::{Memory, Place, State};
use crate::call::Call;
use crate::traits::{Answers, Archive, ArchiveNo, Fault, Placed, Probe, Reply, Row, Shard, Start};

/// Rows that are removed at once.
const PIECE: usize = 100;

/// Standings that no longer change.
#[derive(Clone, Debug, Default)]
pub(super) struct Archived(BTreeMap<ArchiveNo, Rows>);

/// The rows of one.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// Rows by position.
    places: BTreeMap<u64, Row>,
    players: BTreeMap<PlayerId, u64>,
    total: i128,
}

impl Rows {
    fn write(&mut self, from: u64, rows: &[Row]) {
        for (position, row) in (from..).zip(rows) {
            if self.places.contains_key(&position) {
                continue;
            }
            self.total += i128::from(row.record.key.folded);
            if let Some(player) = &row.player {
                self.players.insert(player.clone(), position);
            }
            self.places.insert(position, row.clone());
        }
    }

    fn blank(&mut self, position: u64) {
        let Some(row) = self.places.get_mut(&position) else { return };
        row.name = None;
        if let Some(player) = row.player.take() {
            self.players.remove(&player);
        }
    }

    /// How many rows from the best on are so.
    fn count(&self, is_before: impl Fn(&Row) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.places.len() as u64);
        while low < high {
            let middle = u64::midpoint(low, high);
            match self.places.get(&middle) {
                Some(row) if is_before(row) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    fn better(&self, folded: i64) -> u64 {
        self.count(|row| row.record.key.folded < folded)
    }

    /// At or before a place. A gap has lost its player: one with the same key counts as before.
    fn through(&self, key: SortKey, player: &PlayerId) -> u64 {
        let place = (key, Some(player));
        let first = self.count(|row| row.record.key < key);
        let tied = self.places.range(first..).map(|(_, row)| row);
        let tied = tied.take_while(|row| row.record.key == key);
        first + tied.take_while(|row| (row.record.key, row.player.as_ref()) <= place).count() as u64
    }

    fn placed(&self, position: u64) -> Option<Placed> {
        let row = self.places.get(&position)?.clone();
        let first_of_score = Position(self.better(row.record.key.folded));
        Some(Placed { position: Position(position), first_of_score, row })
    }

    fn reply(&self, probe: &Probe) -> Reply {
        match probe {
            Probe::Size => {
                Reply::Size(Size { players: self.places.len() as u64, total: self.total })
            }
            Probe::Find(player) => {
                Reply::Placed(self.players.get(player).and_then(|position| self.placed(*position)))
            }
            Probe::Better(folded) => Reply::Position(Position(self.better(*folded))),
            Probe::Through(key, player) => Reply::Position(Position(self.through(*key, player))),
            Probe::Rows(start, limit) => {
                let start = match start {
                    Start::At(position) => position.0,
                    Start::After(key, player) => self.through(*key, player),
                };
                let rows = self.places.range(start..).map(|(_, row)| row.clone()).take(*limit);
                let rows: Vec<Row> = rows.collect();
                let first = rows.first().map_or(start, |row| self.better(row.record.key.folded));
                Reply::Rows { start: Position(start), first_of_score: Position(first), rows }
            }
        }
    }
}

impl Memory {
    async fn archived<T: Send + 'static>(
        &self,
        call: Call,
        archive: ArchiveNo,
        effect: impl FnOnce(&mut BTreeMap<ArchiveNo, Rows>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let shard = archive.no % u32::from(self.options().shards);
        let place = Place::Shard(Shard(u16::try_from(shard).unwrap_or(0)));
        self.step(call, place, move |state: &mut State| effect(&mut state.archived.0)).await
    }
}

#[async_trait]
impl Archive for Memory {
    async fn write(&self, archive: ArchiveNo, from: Position, rows: &[Row]) -> Result<(), Fault> {
        let rows = rows.to_vec();
        self.archived(Call::ArchiveWrite, archive, move |archives| {
            archives.entry(archive).or_default().write(from.0, &rows);
        })
        .await
    }

    async fn read(&self, archive: ArchiveNo, probes: &[Probe]) -> Result<Answers, Fault> {
        let probes = probes.to_vec();
        self.archived(Call::ArchiveRead, archive, move |archives| {
            let none = Rows::default();
            let rows = archives.get(&archive).unwrap_or(&none);
            Answers { replies: probes.iter().map(|probe| rows.reply(probe)).collect(), within: 0 }
        })
        .await
    }

    async fn of_player(
        &self,
        player: &PlayerId,
        archives: &[ArchiveNo],
    ) -> Result<Vec<Option<(Position, Row)>>, Fault> {
        let mut rows = Vec::with_capacity(archives.len());
        for archive in archives.iter().copied() {
            let player = player.clone();
            let row = self.archived(Call::OfPlayer, archive, move |archives| {
                let rows = archives.get(&archive)?;
                let position = *rows.players.get(&player)?;
                Some((Position(position), rows.places.get(&position)?.clone()))
            });
            rows.push(row.await?);
        }
        Ok(rows)
    }

    async fn blank(&self, archive: ArchiveNo, positions: &[Position]) -> Result<(), Fault> {
        let positions = positions.to_vec();
        self.archived(Call::Blank, archive, move |archives| {
            if let Some(rows) = archives.get_mut(&archive) {
                for position in positions {
                    rows.blank(position.0);
                }
            }
        })
        .await
    }

    async fn remove(&self, archive: ArchiveNo) -> Result<bool, Fault> {
        self.archived(Call::Remove, archive, move |archives| {
            let Some(rows) = archives.get_mut(&archive) else { return false };
            for _ in 0..PIECE {
                let Some((_, row)) = rows.places.pop_last() else { break };
                if let Some(player) = row.player {
                    rows.players.remove(&player);
                }
            }
            let more = !rows.places.is_empty();
            if !more {
                archives.remove(&archive);
            }
            more
        })
        .await
    }
}
