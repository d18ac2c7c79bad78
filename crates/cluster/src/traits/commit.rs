//! Commits: what was decided, and what it was decided on.

use serde::{Deserialize, Serialize};
use standings_core::{EventId, IndexRecord, Millis, PlayerId, Profile, Score, timeline::SeasonNo};

use super::{BoardNo, Epoch, Half, StandingNo, Token, Version};

/// Something of a player that has a version. It lies on the player's shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ItemKey {
    /// The entry in a standing.
    Entry(StandingNo, PlayerId),
    /// What a board's seasons that are gone have left: the best of all time, a streak.
    Carry(BoardNo, PlayerId),
    /// The profile.
    Profile(PlayerId),
    /// The friends.
    Friends(PlayerId),
    /// The player's own row, which says nothing. An erasure gives it a new version, and a write that begins an entry
    /// names the version: so none that was begun before the erasure is stored after it.
    Player(PlayerId),
}

impl ItemKey {
    /// Whose it is.
    pub fn player(&self) -> &PlayerId {
        match self {
            Self::Entry(_, player)
            | Self::Carry(_, player)
            | Self::Profile(player)
            | Self::Friends(player)
            | Self::Player(player) => player,
        }
    }
}

/// What an item says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// Where an entry sorts, and when it last changed.
    Entry(IndexRecord),
    /// Text that the ledger does not read.
    Carry(String),
    /// A profile, with its name as it is searched for.
    Profile {
        /// The profile.
        profile: Profile,
        /// The name without letter case; where there is a name.
        folded: Option<String>,
    },
    /// In the order given.
    Friends(Vec<PlayerId>),
    /// Nothing.
    Player,
}

/// An item as it is stored. The default is one that is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its version.
    pub version: Version,
    /// The epoch of the commit that stored it.
    pub epoch: Epoch,
    /// What it says; `None` is a tombstone, or nothing.
    pub value: Option<Value>,
}

/// An item replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Store {
    /// Which.
    pub key: ItemKey,
    /// What it replaces, as the facts told it. The ledger compares the version; the rest is what the outbox passes on.
    pub was: Item,
    /// The version that it gets, greater than any that an item under this key ever had.
    pub version: Version,
    /// What it says from now on; `None` leaves a tombstone, which keeps the version.
    pub value: Option<Value>,
}

/// An item that must still have this version, and is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Which.
    pub key: ItemKey,
    /// The version that the decision rests on.
    pub version: Version,
}

/// What an event id was used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Whose event it was.
    pub player: PlayerId,
    /// What was submitted.
    pub points: Score,
    /// Where it counted.
    pub season: SeasonNo,
    /// The version of the event.
    pub version: Version,
}

/// An event id that is used up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewId {
    /// The id, which counts once for a board and shard.
    pub id: EventId,
    /// The half of the window in which it is recorded.
    pub half: Half,
    /// For what.
    pub used: Used,
}

/// Where an event is among those of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventKey {
    /// The board.
    pub board: BoardNo,
    /// The season.
    pub season: SeasonNo,
    /// The version of the entry that it led to. Several events of one commit have one each, the last of which the entry gets.
    pub version: Version,
}

/// An accepted submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Whose.
    pub player: PlayerId,
    /// Where it is among the player's.
    pub key: EventKey,
    /// What was submitted.
    pub points: Score,
    /// What it led to.
    pub score: Score,
    /// When it happened.
    pub at: Millis,
    /// When it was accepted.
    pub accepted_at: Millis,
    /// What made it count once.
    pub id: Option<EventId>,
}

/// What is stored together, or not at all. All of it lies on the shard of the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The number in the stream: one more than the last that was stored, 1 in a new one.
    pub n: u64,
    /// Tells this attempt from every other at the same number; the same when it is sent again.
    pub token: Token,
    /// The epoch in which it was decided.
    pub epoch: Epoch,
    /// Up to which number the live view has taken in the stream, as its writer knows.
    pub confirmed: u64,
    /// Items replaced.
    pub stores: Vec<Store>,
    /// Items that must be as they were.
    pub holds: Vec<Hold>,
    /// Event ids used up.
    pub ids: Vec<NewId>,
    /// Events for the players' histories.
    pub events: Vec<Event>,
}

/// What became of a commit. A refusal is final: what was refused is never stored later, however late the network delivers an earlier
/// call with the same token. In this order, the first that holds is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stored {
    /// All of it is stored.
    Stored,
    /// An earlier call with the same token has stored it.
    Already,
    /// The stream takes no commit of this number: it was sealed, or has another one there. Take a new stream, read the facts
    /// again, decide anew.
    Closed,
    /// The board's fence on this shard names this epoch, another than the commit's.
    Stale(Epoch),
    /// A version is not what it was, or an event id has been used. Read the facts again, decide anew.
    Conflict,
}
