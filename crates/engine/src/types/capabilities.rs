//! What engines may differ in.

use standings_core::Millis;

/// How exact the numbers of one answer are: ranks, players, percentiles, places and distributions. One for the whole answer, so that
/// no estimate in it goes unsaid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exactness {
    /// All of them are right.
    #[default]
    Exact,
    /// No rank and no number of players is further than this from the right one.
    Within(u64),
}

/// What an engine promises beyond what all of them do. Clients need not ask: an answer says itself how exact it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How many servers may run on one store.
    pub servers: usize,
    /// How exact ranks are on a board of any size.
    pub ranks: Exactness,
    /// Which ranks a receipt bears.
    pub receipts: ReceiptRanks,
    /// When a search by name finds what was written.
    pub names: Visibility,
    /// Within which time of its instant a snapshot is of, where submissions come at the same moment.
    pub as_of: Millis,
    /// Whether a page is of one instant. Where it is not, rows may shift by submissions that come while it is read.
    pub one_instant: bool,
    /// The largest offset of a page, where there is one. Pages that go on after a place have no such limit.
    pub max_offset: Option<u64>,
    /// What an event id counts once for.
    pub event_ids: EventIds,
    /// How long another server may go by what was deleted here: a key, a board, a player.
    pub elsewhere: Millis,
    /// Whether it makes backups itself.
    pub backup: bool,
}

/// Which ranks a receipt bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptRanks {
    /// Those right before and right after its own line of the batch.
    OfLine,
    /// Those after the whole batch, or none where the store could not tell in time.
    OfBatch,
}

/// When a read shows what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// In every read that begins after the write was answered.
    AtOnce,
    /// Once background work has caught up.
    Eventually,
}

/// What an event id counts once for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventIds {
    /// For its board: the same id of another player is refused.
    OfBoard,
    /// For its board and player.
    OfPlayer,
}
