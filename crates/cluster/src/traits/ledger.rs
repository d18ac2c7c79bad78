//! The ledger: facts for good.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use standings_core::{BoardId, EventId, Millis, Name, PlayerId};

use super::{
    BoardNo, Change, Commit, Defined, Epoch, Event, EventKey, Half, Item, ItemKey, List, Looked,
    Page, Record, RecordKey, Shard, StandingNo, Store, Stored, Stream, Token, Told, Used, Version,
};

/// What a decision has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Items, of players of the shard.
    pub items: Vec<ItemKey>,
    /// Event ids of the board.
    pub ids: Vec<EventId>,
    /// The oldest half of the window in which they count.
    pub since: Half,
}

/// The answers, in the order of the questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The epoch that the board's fence on the shard names; 0 where there is no fence yet.
    pub fence: Epoch,
    /// Items; one that is not there has version 0.
    pub items: Vec<Item>,
    /// What the event ids were used for.
    pub ids: Vec<Option<Used>>,
}

/// The outbox record of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRecord {
    /// The stream.
    pub stream: Stream,
    /// The number in it.
    pub n: u64,
    /// The attempt that was stored.
    pub token: Token,
    /// The epoch of the commit.
    pub epoch: Epoch,
    /// When it was stored, by the shard's clock.
    pub at: Millis,
    /// The entries that it replaced, with what they were; nothing else of the commit.
    pub entries: Vec<Store>,
}

/// Where a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    /// The stream.
    pub stream: Stream,
    /// The newest number that was stored in it; 0 if none.
    pub newest: u64,
    /// Up to which number the live view has taken in the stream, as the newest commit says.
    pub confirmed: u64,
    /// When the newest was stored.
    pub at: Millis,
    /// Whether it takes nothing any more.
    pub sealed: bool,
}

/// What nothing names any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dead {
    /// The entries of a standing, on all shards.
    Entries(StandingNo),
    /// The events of a standing, on all shards.
    Events(StandingNo),
    /// Items that still have exactly these versions: tombstones, rows of players that are not in use.
    Items(Vec<(ItemKey, Version)>),
    /// Of a player, the events with versions below this one, and the event ids that were used for them.
    PlayerEvents(PlayerId, Version),
    /// Event ids of a board that were recorded before a half, on all shards.
    Ids(BoardNo, Half),
    /// Outbox records of a stream up to a number, but for the newest, which tells the outcome of a lost answer.
    Outbox(Stream, u64),
    /// A stream that was sealed, with all of its records.
    Stream(Stream),
    /// Carries and event ids of a board, on all shards.
    Board(BoardNo),
}

/// A player found by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The name without letter case.
    pub folded: String,
    /// Who.
    pub player: PlayerId,
    /// The name.
    pub name: Name,
}

/// Facts for good. Linearisable, but where a method says otherwise.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// How many shards there are: at least 1, and always as many.
    fn shards(&self) -> u16;
    /// Where everything of a player lies: always the same shard.
    fn shard_of(&self, player: &PlayerId) -> Shard;
    /// How many stores, holds, ids and events a commit may have in all.
    fn most_items(&self) -> usize;

    /// Records, in the order asked; what a record says only where its version is not the one given. Each is as of one instant, no
    /// two need be of the same.
    async fn records(&self, wanted: &[(RecordKey, Version)]) -> Told<Vec<Looked>>;
    /// Records of boards, in the order of their ids.
    async fn boards(&self, page: &Page<BoardId>) -> Told<Vec<(BoardId, Record)>>;
    /// Rows of a list, in the order of their keys; the other way round from the last on where `backwards`.
    async fn rows(
        &self,
        of: List,
        page: &Page<Vec<u8>>,
        backwards: bool,
    ) -> Told<Vec<(Vec<u8>, String)>>;
    /// Replaces records and rows wholly or not at all, if each record has the version that the change names.
    async fn define(&self, change: &Change) -> Told<Defined>;
    /// Raises a board's fence on a shard to an epoch, never lowers it, and creates it where there is none. Tells the epoch that it then
    /// names. From the answer on no commit of an older epoch is stored there, however late it is delivered, and all that were
    /// stored are visible. A fence outlives its board.
    async fn fence(&self, board: BoardNo, shard: Shard, epoch: Epoch) -> Told<Epoch>;

    /// What a decision has to know. The fence is read first, or in one snapshot with the rest: all that was committed in older epochs
    /// than the one that it names is seen.
    async fn facts(&self, shard: Shard, board: BoardNo, needs: &Needs) -> Told<Facts>;
    /// Stores a commit and its outbox record, or nothing: if the stream is not sealed and has no such number yet, the fence names the
    /// commit's epoch, every item that it stores or holds has the version that it names, and no event id is recorded in its half.
    /// Before it refuses, it looks whether an earlier call with the same token was stored, in a way that waits for one that is under
    /// way.
    async fn commit(&self, to: &Stream, commit: &Commit) -> Told<Stored>;
    /// Seals a stream, which need not exist: it takes nothing any more, however late it is delivered. Its newest number and token stay,
    /// so that the outcome of its last commit can still be asked for. Tells the newest number.
    async fn seal(&self, stream: &Stream) -> Told<u64>;
    /// The streams of a board on a shard, in their order. All that have stored a commit are there.
    async fn streams(
        &self,
        board: BoardNo,
        shard: Shard,
        page: &Page<u64>,
    ) -> Told<Vec<StreamState>>;
    /// Up to `limit` outbox records of each of these streams of one shard after a number, in their order; records that were cleared are
    /// missing.
    async fn outbox(&self, after: &[(Stream, u64)], limit: usize) -> Told<Vec<Vec<OutboxRecord>>>;
    /// Entries of a standing on a shard, tombstones among them, in the order of the players' ids. Each is as of one instant
    /// between the call and the answer.
    async fn entries(
        &self,
        of: StandingNo,
        shard: Shard,
        page: &Page<PlayerId>,
    ) -> Told<Vec<(PlayerId, Item)>>;
    /// Events of a player, on one board or on all, from the greatest key down.
    async fn events(
        &self,
        player: &PlayerId,
        board: Option<BoardNo>,
        page: &Page<EventKey>,
    ) -> Told<Vec<Event>>;
    /// Players of all shards whose folded names begin so, in the order of names, then of ids. May lag.
    async fn names(&self, prefix: &str, page: &Page<(String, PlayerId)>) -> Told<Vec<Named>>;
    /// Removes a bounded piece of what nothing names any more. Tells whether something may be left.
    async fn clear(&self, dead: &Dead) -> Told<bool>;
}
