//! Numbers, each with a type of its own.

use serde::{Deserialize, Serialize};
use standings_core::{Millis, timeline::SeasonNo};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);
    };
}

number!(
    /// A shard of the ledger, from 0.
    Shard(u16)
);
number!(
    /// The number of a board, given once: a board that is created anew under an old id has another.
    BoardNo(u32)
);
number!(
    /// The epoch of a board. Whatever decides where a submission lands changes only with it.
    Epoch(u64)
);
number!(
    /// The version of something that changes; 0 is the version of what is not there.
    Version(u64)
);
number!(
    /// Tells one attempt at a commit from every other.
    Token(u64)
);
number!(
    /// Tells one change of records from every other.
    Nonce(u64)
);
number!(
    /// A half of the window in which an event id counts once. Part of what an epoch decides, so that no two servers disagree on it.
    Half(i64)
);
number!(
    /// One build of a partition of the live view. A later build has a greater number.
    Generation(u64)
);

impl BoardNo {
    /// What belongs to no board: commits to profiles, friends and players' rows. Its epoch never changes.
    pub const PLAYERS: Self = Self(0);
}

impl Version {
    /// Nothing is there.
    pub const ABSENT: Self = Self(0);

    /// The version of what begins at an instant: greater than those of what was there before, as long as that changed less than
    /// a thousand times in each millisecond that it was there.
    pub fn beginning(at: Millis) -> Self {
        Self(u64::try_from(at.0).unwrap_or(0) * 1000)
    }

    /// The one after it.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A standing that takes writes: a season of a board, or what an import gathers under a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StandingNo {
    /// The board.
    pub board: BoardNo,
    /// The number within it.
    pub season: SeasonNo,
}

/// A standing that no longer changes. Each attempt to write one has a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArchiveNo {
    /// The board.
    pub board: BoardNo,
    /// The number within it.
    pub no: u32,
}

/// An unbroken sequence of commits of one writer to one board on one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stream {
    /// The board.
    pub board: BoardNo,
    /// Where it lies.
    pub shard: Shard,
    /// Drawn at random by the writer.
    pub id: u64,
}
