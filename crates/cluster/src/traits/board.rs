//! Board records: documents that are replaced by compare-and-set.

use serde::{Deserialize, Serialize};
use standings_core::BoardId;

use super::{BoardNo, Nonce, Version};

/// How many changes of a record are remembered by their nonces.
pub const NONCES: usize = 16;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RecordKey {
    /// Numbers that are given out, and which bucket of players lies on which shard.
    Cluster,
    /// Access keys.
    Keys,
    /// The version of the list of erasures.
    Erasures,
    /// A board.
    Board(BoardId),
}

/// A document, as the ledger keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its version.
    pub version: Version,
    /// The last changes of it, oldest first, each with the version that it made; [`NONCES`] of them at most.
    pub nonces: Vec<(Version, Nonce)>,
    /// What it says: text that the ledger does not read.
    pub body: String,
}

/// What a look at a record finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Looked {
    /// It has the version that the caller knows.
    Known,
    /// There is none.
    Absent,
    /// It has another.
    Is(Record),
}

/// A list whose rows change with records. Rows are in the order of their keys' bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum List {
    /// Players that are being erased.
    Erasures,
    /// Archived seasons of a board.
    Seasons(BoardNo),
    /// Snapshots of a board.
    Snapshots(BoardNo),
}

/// A record replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// Which.
    pub key: RecordKey,
    /// The version that it replaces; [`Version::ABSENT`] where there was none.
    pub was: Version,
    /// The version that it gets, greater than any that a record under this key ever had.
    pub version: Version,
    /// What it says from now on; `None` removes it.
    pub body: Option<String>,
}

/// A row set or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowPut {
    /// The list.
    pub list: List,
    /// The row.
    pub key: Vec<u8>,
    /// What it says; `None` removes it.
    pub body: Option<String>,
}

/// A change of records, with the rows that go with it. What two servers might change at once is guarded by a record: a list has no
/// versions of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Tells this change from every other; the same when it is sent again.
    pub nonce: Nonce,
    /// One record or a few.
    pub puts: Vec<Put>,
    /// Rows.
    pub rows: Vec<RowPut>,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Defined {
    /// All of it stands, now or since an earlier call with the same nonce.
    Done,
    /// Nothing of it stands, nor ever will. These are the records now, in the order of the change.
    Conflict(Vec<Option<Record>>),
    /// A record has gone further on than is remembered: whether an earlier call with the same nonce was carried out cannot be told.
    /// This call was not, nor will any other be.
    Forgotten(Vec<Option<Record>>),
}
