//! What a store has to do. Three narrow traits that know no rule: they store what was decided, if what it was decided on still
//! holds.
//!
//! Everything that goes in and comes out is plain data, so that it can be sent, kept and simulated. No call is a conversation:
//! what belongs together is one call, and nothing is held between two.
//!
//! **Every call may be repeated with the same arguments**, after any fault and at any time, and the repetition changes nothing that
//! the first has changed. A caller whose answer was lost asks again and learns the outcome.

mod archive;
mod board;
mod commit;
mod ledger;
mod numbers;
mod probe;
mod view;

use serde::{Deserialize, Serialize};
use standings_core::Millis;

pub use archive::Archive;
pub use board::{Change, Defined, List, Looked, NONCES, Put, Record, RecordKey, RowPut};
pub use commit::{Commit, Event, EventKey, Hold, Item, ItemKey, NewId, Store, Stored, Used, Value};
pub use ledger::{Dead, Facts, Ledger, Named, Needs, OutboxRecord, StreamState};
pub use numbers::{
    ArchiveNo, BoardNo, Epoch, Generation, Half, Nonce, Shard, StandingNo, Stream, Token, Version,
};
pub use probe::{Answers, Placed, Probe, Reply, Row, Start};
pub use view::{
    Applied, Fed, Feed, Flipped, GenerationState, Node, Partition, PartitionState, Standings,
    Target, ViewChange,
};

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Fault {
    /// This call has not changed anything and never will. It says nothing of a call before it whose answer was lost.
    #[error("not applied: {0}")]
    NotApplied(String),
    /// The call may have been carried out, may yet be, or may never.
    #[error("outcome unknown: {0}")]
    Unknown(String),
    /// As [`NotApplied`](Self::NotApplied); the store has too much to do, and asks to be left alone for so many milliseconds.
    #[error("busy, ask again in {} ms", .0.0)]
    Busy(Millis),
    /// Rows begin further down than the store can page to. Asking again does not help.
    #[error("rows begin too far down for this store")]
    TooDeep,
}

impl Fault {
    /// Whether the call certainly has changed nothing.
    pub fn is_harmless(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

/// An answer of the ledger, and the time on the clock of the shard that gave it (of shard 0, where it concerns no shard).
pub type Told<T> = Result<(T, Millis), Fault>;

/// A piece of something ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<K> {
    /// The key after which it begins, whether or not that is there.
    pub after: Option<K>,
    /// How many there are at most. Fewer are the end, and nothing else is.
    pub limit: usize,
}

impl<K> Page<K> {
    /// From the beginning.
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }

    /// From after a key.
    pub fn after(key: K, limit: usize) -> Self {
        Self { after: Some(key), limit }
    }
}
