//! What goes on around every call to a store: counting, losing answers, waiting no longer than so long. It is said once for all calls
//! ([`Around`]), and [`Wrapped`] is the store with it.

use async_trait::async_trait;
use standings_core::{BoardId, PlayerId, Position};

use crate::{
    call::Call,
    traits::{
        Answers, Applied, Archive, ArchiveNo, BoardNo, Change, Commit, Dead, Defined, Epoch, Event,
        EventKey, Facts, Fault, Fed, Feed, Flipped, Generation, Item, Ledger, List, Looked, Named,
        Needs, Node, OutboxRecord, Page, Partition, PartitionState, Probe, Record, RecordKey, Row,
        Shard, StandingNo, Standings, Stored, Stream, StreamState, Target, Told, Version,
        ViewChange,
    },
};

/// What goes on around a call.
pub trait Around: Send + Sync + 'static {
    /// Carries a call out: once, several times, or not at all. Every call may be repeated.
    fn around<T: Send, F: Future<Output = Result<T, Fault>> + Send>(
        &self,
        call: Call,
        run: impl Fn() -> F + Send + Sync,
    ) -> impl Future<Output = Result<T, Fault>> + Send;
}

/// A store with something around every call.
#[derive(Clone, Debug)]
pub struct Wrapped<S, A> {
    /// The store.
    pub store: S,
    /// What goes on around.
    pub around: A,
}

#[async_trait]
impl<S: Ledger, A: Around> Ledger for Wrapped<S, A> {
    fn shards(&self) -> u16 {
        self.store.shards()
    }

    fn shard_of(&self, player: &PlayerId) -> Shard {
        self.store.shard_of(player)
    }

    fn most_items(&self) -> usize {
        self.store.most_items()
    }

    async fn records(&self, wanted: &[(RecordKey, Version)]) -> Told<Vec<Looked>> {
        self.around.around(Call::Records, move || self.store.records(wanted)).await
    }

    async fn boards(&self, page: &Page<BoardId>) -> Told<Vec<(BoardId, Record)>> {
        self.around.around(Call::Boards, move || self.store.boards(page)).await
    }

    async fn rows(
        &self,
        of: List,
        page: &Page<Vec<u8>>,
        backwards: bool,
    ) -> Told<Vec<(Vec<u8>, String)>> {
        self.around.around(Call::Rows, move || self.store.rows(of, page, backwards)).await
    }

    async fn define(&self, change: &Change) -> Told<Defined> {
        self.around.around(Call::Define, move || self.store.define(change)).await
    }

    async fn fence(&self, board: BoardNo, shard: Shard, epoch: Epoch) -> Told<Epoch> {
        self.around.around(Call::Fence, move || self.store.fence(board, shard, epoch)).await
    }

    async fn facts(&self, shard: Shard, board: BoardNo, needs: &Needs) -> Told<Facts> {
        self.around.around(Call::Facts, move || self.store.facts(shard, board, needs)).await
    }

    async fn commit(&self, to: &Stream, commit: &Commit) -> Told<Stored> {
        self.around.around(Call::Commit, move || self.store.commit(to, commit)).await
    }

    async fn seal(&self, stream: &Stream) -> Told<u64> {
        self.around.around(Call::Seal, move || self.store.seal(stream)).await
    }

    async fn streams(
        &self,
        board: BoardNo,
        shard: Shard,
        page: &Page<u64>,
    ) -> Told<Vec<StreamState>> {
        self.around.around(Call::Streams, move || self.store.streams(board, shard, page)).await
    }

    async fn outbox(&self, after: &[(Stream, u64)], limit: usize) -> Told<Vec<Vec<OutboxRecord>>> {
        self.around.around(Call::Outbox, move || self.store.outbox(after, limit)).await
    }

    async fn entries(
        &self,
        of: StandingNo,
        shard: Shard,
        page: &Page<PlayerId>,
    ) -> Told<Vec<(PlayerId, Item)>> {
        self.around.around(Call::Entries, move || self.store.entries(of, shard, page)).await
    }

    async fn events(
        &self,
        player: &PlayerId,
        board: Option<BoardNo>,
        page: &Page<EventKey>,
    ) -> Told<Vec<Event>> {
        self.around.around(Call::Events, move || self.store.events(player, board, page)).await
    }

    async fn names(&self, prefix: &str, page: &Page<(String, PlayerId)>) -> Told<Vec<Named>> {
        self.around.around(Call::Names, move || self.store.names(prefix, page)).await
    }

    async fn clear(&self, dead: &Dead) -> Told<bool> {
        self.around.around(Call::Clear, move || self.store.clear(dead)).await
    }
}

#[async_trait]
impl<S: Archive, A: Around> Archive for Wrapped<S, A> {
    async fn write(&self, archive: ArchiveNo, from: Position, rows: &[Row]) -> Result<(), Fault> {
        self.around.around(Call::ArchiveWrite, move || self.store.write(archive, from, rows)).await
    }

    async fn read(&self, archive: ArchiveNo, probes: &[Probe]) -> Result<Answers, Fault> {
        self.around.around(Call::ArchiveRead, move || self.store.read(archive, probes)).await
    }

    async fn of_player(
        &self,
        player: &PlayerId,
        archives: &[ArchiveNo],
    ) -> Result<Vec<Option<(Position, Row)>>, Fault> {
        self.around.around(Call::OfPlayer, move || self.store.of_player(player, archives)).await
    }

    async fn blank(&self, archive: ArchiveNo, positions: &[Position]) -> Result<(), Fault> {
        self.around.around(Call::Blank, move || self.store.blank(archive, positions)).await
    }

    async fn remove(&self, archive: ArchiveNo) -> Result<bool, Fault> {
        self.around.around(Call::Remove, move || self.store.remove(archive)).await
    }
}

#[async_trait]
impl<S: Standings, A: Around> Standings for Wrapped<S, A> {
    fn is_fed(&self) -> bool {
        self.store.is_fed()
    }

    fn partitions(&self) -> u16 {
        self.store.partitions()
    }

    fn part_of(&self, player: &PlayerId) -> u16 {
        self.store.part_of(player)
    }

    async fn apply(
        &self,
        of: StandingNo,
        feeds: &[Feed],
        probes: &[Probe],
    ) -> Result<Applied, Fault> {
        self.around.around(Call::Apply, move || self.store.apply(of, feeds, probes)).await
    }

    async fn read(&self, of: StandingNo, probes: &[Probe]) -> Result<Option<Answers>, Fault> {
        self.around.around(Call::Read, move || self.store.read(of, probes)).await
    }

    async fn look(&self, of: Partition) -> Result<PartitionState, Fault> {
        self.around.around(Call::Look, move || self.store.look(of)).await
    }

    async fn replay(&self, of: Partition, target: &Target, feed: &Feed) -> Result<Fed, Fault> {
        self.around.around(Call::Replay, move || self.store.replay(of, target, feed)).await
    }

    async fn confirm(
        &self,
        of: Partition,
        current: Generation,
        node: &Node,
    ) -> Result<bool, Fault> {
        self.around.around(Call::Confirm, move || self.store.confirm(of, current, node)).await
    }

    async fn begin(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
        offsets: &[(Stream, u64)],
    ) -> Result<bool, Fault> {
        self.around
            .around(Call::Begin, move || self.store.begin(of, generation, node, offsets))
            .await
    }

    async fn load(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
        entries: &[ViewChange],
    ) -> Result<bool, Fault> {
        self.around.around(Call::Load, move || self.store.load(of, generation, node, entries)).await
    }

    async fn flip(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
    ) -> Result<Flipped, Fault> {
        self.around.around(Call::Flip, move || self.store.flip(of, generation, node)).await
    }

    async fn tombstones(
        &self,
        of: Partition,
        after: Option<&PlayerId>,
        limit: usize,
    ) -> Result<Vec<(PlayerId, Version)>, Fault> {
        self.around.around(Call::Tombstones, move || self.store.tombstones(of, after, limit)).await
    }

    async fn prune(
        &self,
        of: Partition,
        tombstones: &[(PlayerId, Version)],
    ) -> Result<bool, Fault> {
        self.around.around(Call::Prune, move || self.store.prune(of, tombstones)).await
    }

    async fn refresh(&self, of: StandingNo) -> Result<(), Fault> {
        self.around.around(Call::Refresh, move || self.store.refresh(of)).await
    }

    async fn forget(&self, of: StandingNo) -> Result<bool, Fault> {
        self.around.around(Call::Forget, move || self.store.forget(of)).await
    }
}
