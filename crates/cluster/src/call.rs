//! What is called, as a name.

use serde::{Deserialize, Serialize};

/// A call of the traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is named after its method")]
pub enum Call {
    Records,
    Boards,
    Rows,
    Define,
    Fence,
    Facts,
    Commit,
    Seal,
    Streams,
    Outbox,
    Entries,
    Events,
    Names,
    Clear,
    ArchiveWrite,
    ArchiveRead,
    OfPlayer,
    Blank,
    Remove,
    Apply,
    Read,
    Look,
    Replay,
    Confirm,
    Begin,
    Load,
    Flip,
    Tombstones,
    Prune,
    Refresh,
    Forget,
}

/// The store that a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Facts for good.
    Ledger,
    /// Standings that no longer change.
    Archive,
    /// The live view.
    Standings,
}

impl Call {
    /// The store that it is for.
    pub fn kind(self) -> Kind {
        match self {
            Self::ArchiveWrite
            | Self::ArchiveRead
            | Self::OfPlayer
            | Self::Blank
            | Self::Remove => Kind::Archive,
            Self::Apply
            | Self::Read
            | Self::Look
            | Self::Replay
            | Self::Confirm
            | Self::Begin
            | Self::Load
            | Self::Flip
            | Self::Tombstones
            | Self::Prune
            | Self::Refresh
            | Self::Forget => Kind::Standings,
            _ => Kind::Ledger,
        }
    }

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Boards => "boards",
            Self::Rows => "rows",
            Self::Define => "define",
            Self::Fence => "fence",
            Self::Facts => "facts",
            Self::Commit => "commit",
            Self::Seal => "seal",
            Self::Streams => "streams",
            Self::Outbox => "outbox",
            Self::Entries => "entries",
            Self::Events => "events",
            Self::Names => "names",
            Self::Clear => "clear",
            Self::ArchiveWrite => "archive_write",
            Self::ArchiveRead => "archive_read",
            Self::OfPlayer => "of_player",
            Self::Blank => "blank",
            Self::Remove => "remove",
            Self::Apply => "apply",
            Self::Read => "read",
            Self::Look => "look",
            Self::Replay => "replay",
            Self::Confirm => "confirm",
            Self::Begin => "begin",
            Self::Load => "load",
            Self::Flip => "flip",
            Self::Tombstones => "tombstones",
            Self::Prune => "prune",
            Self::Refresh => "refresh",
            Self::Forget => "forget",
        }
    }
}

impl Kind {
    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ledger => "ledger",
            Self::Archive => "archive",
            Self::Standings => "standings",
        }
    }
}
