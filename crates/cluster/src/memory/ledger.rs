//! The ledger.

use std::{collections::BTreeMap, ops::Bound};

use async_trait::async_trait;
use standings_core::{BoardId, PlayerId};

use super::{Memory, Place};
use crate::call::Call;
use crate::traits::{
    BoardNo, Change, Commit, Dead, Defined, Epoch, Event, EventKey, Facts, Item, Ledger, List,
    Looked, Named, Needs, OutboxRecord, Page, Record, RecordKey, Shard, StandingNo, Stored, Stream,
    StreamState, Told, Version,
};

/// Records lie here.
const FIRST: Shard = Shard(0);

impl Memory {
    #[expect(clippy::unnecessary_wraps, reason = "it is what every method ends with")]
    fn told<T>(&self, answer: T, shard: Shard) -> Told<T> {
        Ok((answer, self.time(shard)))
    }

    fn all(&self) -> impl Iterator<Item = Shard> + use<> {
        (0..self.options().shards).map(Shard)
    }
}

#[async_trait]
impl Ledger for Memory {
    fn shards(&self) -> u16 {
        self.options().shards
    }

    fn shard_of(&self, player: &PlayerId) -> Shard {
        self.home(player)
    }

    fn most_items(&self) -> usize {
        1000
    }

    async fn records(&self, wanted: &[(RecordKey, Version)]) -> Told<Vec<Looked>> {
        let wanted = wanted.to_vec();
        let looked = self.step(Call::Records, Place::Shard(FIRST), move |state| {
            wanted.iter().map(|(key, known)| state.records.look(key, *known)).collect()
        });
        self.told(looked.await?, FIRST)
    }

    async fn boards(&self, page: &Page<BoardId>) -> Told<Vec<(BoardId, Record)>> {
        let Page { after, limit } = page.clone();
        let boards = self.step(Call::Boards, Place::Shard(FIRST), move |state| {
            let after = after.map(RecordKey::Board);
            let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let records = state.records.records.range((from, Bound::Unbounded));
            let board = |(key, record): (&RecordKey, &Record)| match key {
                RecordKey::Board(id) => Some((id.clone(), record.clone())),
                _ => None,
            };
            records.filter_map(board).take(limit).collect()
        });
        self.told(boards.await?, FIRST)
    }

    async fn rows(
        &self,
        of: List,
        page: &Page<Vec<u8>>,
        backwards: bool,
    ) -> Told<Vec<(Vec<u8>, String)>> {
        let Page { after, limit } = page.clone();
        let rows = self.step(Call::Rows, Place::Shard(FIRST), move |state| {
            let rows = state.records.rows.iter().filter(|((list, _), _)| *list == of);
            let rows = rows.map(|((_, key), body)| (key.clone(), body.clone()));
            let beyond = |key: &Vec<u8>| {
                let after = after.as_ref();
                after.is_none_or(|after| if backwards { key < after } else { key > after })
            };
            let rows: Vec<_> = rows.filter(|(key, _)| beyond(key)).collect();
            if backwards {
                rows.into_iter().rev().take(limit).collect()
            } else {
                rows.into_iter().take(limit).collect()
            }
        });
        self.told(rows.await?, FIRST)
    }

    async fn define(&self, change: &Change) -> Told<Defined> {
        let change = change.clone();
        let defined = self
            .step(Call::Define, Place::Shard(FIRST), move |state| state.records.define(&change));
        self.told(defined.await?, FIRST)
    }

    async fn fence(&self, board: BoardNo, shard: Shard, epoch: Epoch) -> Told<Epoch> {
        self.told(self.raise(board, shard, epoch).await?, shard)
    }

    async fn facts(&self, shard: Shard, board: BoardNo, needs: &Needs) -> Told<Facts> {
        self.told(self.read_facts(shard, board, needs).await?, shard)
    }

    async fn commit(&self, to: &Stream, commit: &Commit) -> Told<Stored> {
        let keys = commit.stores.iter().map(|store| &store.key);
        let keys = keys.chain(commit.holds.iter().map(|hold| &hold.key));
        for key in keys {
            assert_eq!(self.home(key.player()), to.shard, "a commit is of one shard");
        }
        self.told(self.try_commit(*to, commit).await?, to.shard)
    }

    async fn seal(&self, stream: &Stream) -> Told<u64> {
        let stream = *stream;
        let sealed = self.on(Call::Seal, stream.shard, move |state| state.seal(stream));
        self.told(sealed.await?, stream.shard)
    }

    async fn streams(
        &self,
        board: BoardNo,
        shard: Shard,
        page: &Page<u64>,
    ) -> Told<Vec<StreamState>> {
        let (page, first) = (page.clone(), Stream { board, shard, id: 0 });
        let streams = self.on(Call::Streams, shard, move |state| state.streams(first, &page));
        self.told(streams.await?, shard)
    }

    async fn outbox(&self, after: &[(Stream, u64)], limit: usize) -> Told<Vec<Vec<OutboxRecord>>> {
        let Some((first, _)) = after.first() else { return self.told(Vec::new(), FIRST) };
        let (shard, after) = (first.shard, after.to_vec());
        let records = self.on(Call::Outbox, shard, move |state| {
            after.iter().map(|(stream, n)| state.outbox(stream, *n, limit)).collect()
        });
        self.told(records.await?, shard)
    }

    async fn entries(
        &self,
        of: StandingNo,
        shard: Shard,
        page: &Page<PlayerId>,
    ) -> Told<Vec<(PlayerId, Item)>> {
        let Page { after, limit } = page.clone();
        let entries = self.on(Call::Entries, shard, move |state| {
            let entries = state.entries(of, after.as_ref());
            entries.map(|(player, item)| (player.clone(), item.clone())).take(limit).collect()
        });
        self.told(entries.await?, shard)
    }

    async fn events(
        &self,
        player: &PlayerId,
        board: Option<BoardNo>,
        page: &Page<EventKey>,
    ) -> Told<Vec<Event>> {
        let (shard, player, page) = (self.home(player), player.clone(), page.clone());
        let events = self.on(Call::Events, shard, move |state| state.events(&player, board, &page));
        self.told(events.await?, shard)
    }

    async fn names(&self, prefix: &str, page: &Page<(String, PlayerId)>) -> Told<Vec<Named>> {
        let mut names = BTreeMap::new();
        for shard in self.all() {
            let (prefix, page) = (prefix.to_owned(), page.clone());
            let part = self.on(Call::Names, shard, move |state| state.named(&prefix, &page));
            for player in part.await? {
                names.insert((player.folded.clone(), player.player.clone()), player);
            }
        }
        self.told(names.into_values().take(page.limit).collect(), FIRST)
    }

    async fn clear(&self, dead: &Dead) -> Told<bool> {
        let mut more = false;
        for shard in self.all() {
            let part = self.part_of_dead(dead, shard);
            let Some(part) = part else { continue };
            more |= self.on(Call::Clear, shard, move |state| state.clear(&part)).await?;
        }
        self.told(more, FIRST)
    }
}

impl Memory {
    /// What of it lies on a shard.
    fn part_of_dead(&self, dead: &Dead, shard: Shard) -> Option<Dead> {
        let here = match dead {
            Dead::Items(items) => {
                let items = items.iter().filter(|(key, _)| self.home(key.player()) == shard);
                let items: Vec<_> = items.cloned().collect();
                return (!items.is_empty()).then_some(Dead::Items(items));
            }
            Dead::PlayerEvents(player, _) => self.home(player) == shard,
            Dead::Outbox(stream, _) | Dead::Stream(stream) => stream.shard == shard,
            Dead::Entries(_) | Dead::Events(_) | Dead::Ids(..) | Dead::Board(_) => true,
        };
        here.then(|| dead.clone())
    }
}
