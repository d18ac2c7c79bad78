//! Questions to a standing, live or archived, and what it answers.

use serde::{Deserialize, Serialize};
use standings_core::{IndexRecord, Name, PlayerId, Position, SortKey, standing::Size};

use super::Version;

/// A question. They are the primitives of [`Ranks`](standings_core::standing::Ranks), as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Probe {
    /// How large it is, places without a player included.
    Size,
    /// Where a player is.
    Find(PlayerId),
    /// How many have a folded score strictly less than this.
    Better(i64),
    /// How many sort at or before this place, whether or not anyone is there.
    Through(SortKey, PlayerId),
    /// Rows in order, so many at most.
    Rows(Start, usize),
}

/// Where rows begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// At a position.
    At(Position),
    /// After a place, whether or not anyone is there.
    After(SortKey, PlayerId),
}

/// A row of a standing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Who; `None` in the place that an erased player left.
    pub player: Option<PlayerId>,
    /// Score and times.
    pub record: IndexRecord,
    /// The version of the entry: an erasure concerns only what is older than it.
    pub version: Version,
    /// The name when the row was written; an archive's rows alone have one.
    pub name: Option<Name>,
    /// The streak that the season led to; an archive's rows alone have one.
    pub streak: u32,
}

/// A row and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// How many come before it.
    pub position: Position,
    /// How many have a better score.
    pub first_of_score: Position,
    /// The row.
    pub row: Row,
}

/// The answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Probe::Size`].
    Size(Size),
    /// To [`Probe::Find`]; `None` where the player has no entry.
    Placed(Option<Placed>),
    /// To [`Probe::Better`] and [`Probe::Through`].
    Position(Position),
    /// To [`Probe::Rows`].
    Rows {
        /// Where the first row is, or would be.
        start: Position,
        /// How many have a better score than the first row.
        first_of_score: Position,
        /// The rows.
        rows: Vec<Row>,
    },
}

/// Answers to probes, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// One for each probe.
    pub replies: Vec<Reply>,
    /// By how much any number in them may be off; 0 where they are exact but for what changes while they are gathered.
    pub within: u64,
}
