//! What the log holds: decided, absolute results, never requests.
//!
//! Replaying a record needs neither rules nor a clock, and applying one twice is harmless. Boards and seasons go by
//! numbers that are never used again, so that a board created under an old id inherits nothing.
//!
//! Records are encoded with postcard. New kinds are added at the end; a change to an existing one is a new format version.

use serde::{Deserialize, Serialize};
pub(crate) use standings_core::timeline::{AsOf, AsOfNo, SeasonNo, Transition};
use standings_core::{
    BoardId, EventId, KeyName, Millis, PlayerId, Position, Profile, Score, board::Ties, rule::Entry,
};

use crate::log::Frame;
use standings_engine::{KeyHash, Role, StreakCount};

/// The number of a board, given once.
pub(crate) type BoardNo = u32;
/// The number of an erasure, given once.
pub(crate) type ErasureNo = u64;

/// One fact. What is large and rare is boxed: most are events, and all take as much memory as the largest kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum LogRecord {
    /// A submission was accepted.
    Event(Event),
    /// Scores were set by an import or a correction, whatever the rule: one record for many, because nobody asks for
    /// them one by one.
    Scores { board: BoardNo, season: SeasonNo, rows: Vec<SetScore> },
    /// A player was taken off a season.
    EntryRemoved { board: BoardNo, season: SeasonNo, player: PlayerId, at: Millis },
    /// A board is defined so from now on. The definition is JSON: it is read by people as often as by this program.
    BoardPut { board: BoardNo, id: BoardId, definition: String, at: Millis },
    /// A board is gone with all its seasons.
    BoardDeleted { board: BoardNo },
    /// The seasons of a board change, or what is kept of them.
    Season { board: BoardNo, transition: Box<Transition> },
    /// A closed season is in this file from now on.
    SeasonFrozen { board: BoardNo, season: SeasonNo, file: Box<FrozenFile> },
    /// A player's profile is this from now on. A name that comes with a score is one, in the same frame as its event.
    PlayerPut { player: PlayerId, profile: Profile },
    /// An access key exists.
    KeyPut { name: KeyName, role: Role, hash: KeyHash, at: Millis },
    /// An access key is gone.
    KeyDeleted { name: KeyName },
    /// A player's friends are these from now on.
    FriendsPut { player: PlayerId, friends: Vec<PlayerId> },
    /// A snapshot that was taken is in this file from now on.
    SnapshotFrozen { board: BoardNo, snapshot: AsOfNo, file: Box<FrozenFile> },
    /// A snapshot came from elsewhere, in place of what there was of its date.
    SnapshotImported { board: BoardNo, as_of: Box<AsOf>, file: Box<FrozenFile> },
    /// A player is erased: entries of open seasons are gone, and everything older shows no more.
    PlayerErased { player: PlayerId, erasure: ErasureNo, at: Millis },
    /// Nothing of the players erased before this number is left anywhere.
    ErasuresPurged { before: ErasureNo },
}

/// Hundreds of thousands wait for the history.
const _: () = assert!(size_of::<LogRecord>() <= 112, "box what is large and rare");

/// An accepted submission: what came, and what it led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "an event id is what clients call it")]
pub(crate) struct Event {
    pub(crate) board: BoardNo,
    pub(crate) season: SeasonNo,
    pub(crate) player: PlayerId,
    pub(crate) points: Score,
    pub(crate) event_id: Option<EventId>,
    /// When it happened.
    pub(crate) at: Millis,
    /// The entry after it. Its `updated_at` is when the event was accepted.
    pub(crate) entry: Entry,
}

/// A score that was set, and what it led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetScore {
    pub(crate) player: PlayerId,
    pub(crate) entry: Entry,
}

/// A frozen standing on disk.
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrozenFile {
    /// Its name below `frozen/`; empty where the standing had no players and has no file.
    pub(crate) name: String,
    /// Its players.
    pub(crate) players: u64,
    /// The sum of their folded scores.
    pub(crate) total: i128,
    /// The tie rule that holds in it.
    pub(crate) ties: Ties,
    /// The places that erased players have left, in order: the others keep their ranks.
    pub(crate) holes: Vec<u64>,
    /// The places of players who were taken off it since it was written, in order: ranks close up over them.
    pub(crate) removed: Vec<u64>,
    /// Whether it came from elsewhere: the ledger has no events from which it could be recomputed.
    pub(crate) imported: bool,
    /// Whether it has official ranks that someone else gave.
    pub(crate) official: bool,
    /// How long the streaks were that reached up to it when it was written.
    pub(crate) streaks: Vec<StreakCount>,
    /// Whether its rows carry the streaks that reach up to it: no season that they go on from has changed since they were counted.
    pub(crate) carries: bool,
    /// Whether it has the rows of the file before it, but for players who were erased: later seasons' streaks are as they were.
    pub(crate) blanked: bool,
    /// Erasures before this number are not its concern: whoever was erased then is not in it, or came back since.
    pub(crate) erasures: ErasureNo,
}

impl FrozenFile {
    /// Its rows.
    pub(crate) fn rows(&self) -> u64 {
        self.players + (self.holes.len() + self.removed.len()) as u64
    }

    /// The same without one of its rows.
    pub(crate) fn without(&self, position: Position, folded: i64, streak: u32) -> Self {
        let mut file = Self { blanked: false, ..self.clone() };
        file.players -= 1;
        file.total -= i128::from(folded);
        let place = file.removed.partition_point(|removed| *removed < position.0);
        file.removed.insert(place, position.0);
        for count in file.streaks.iter_mut().filter(|count| count.length == streak) {
            count.players -= 1;
        }
        file.streaks.retain(|count| count.players > 0);
        file
    }
}

/// Encodes records as the payload of one frame.
pub(crate) fn encode(records: &[LogRecord], out: &mut Vec<u8>) {
    out.clear();
    for record in records {
        // A vector takes all that fits in memory, and no record holds what postcard refuses (a map of unknown length).
        *out = postcard::to_extend(record, std::mem::take(out)).expect("records encode");
    }
}

/// Records for which room is made before any was read: what a frame says of their number is not to be believed.
const ROOM: usize = 4096;

/// Decodes the records of a frame.
pub(crate) fn decode(frame: &Frame<'_>) -> Result<Vec<LogRecord>, postcard::Error> {
    let mut records = Vec::with_capacity(ROOM.min(frame.count as usize));
    let mut rest = frame.payload;
    for _ in 0..frame.count {
        let (record, tail) = postcard::take_from_bytes(rest)?;
        records.push(record);
        rest = tail;
    }
    if rest.is_empty() { Ok(records) } else { Err(postcard::Error::DeserializeBadEncoding) }
}
