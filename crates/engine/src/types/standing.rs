//! Reading a standing.

use std::sync::Arc;

use standings_core::{LocalDate, Millis, PlayerId, Profile, Rank, Score, SeasonId};

use super::{Bin, Decile, Exactness, Filter, SeasonRef};

/// Which snapshot is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnapshotRef {
    /// The newest one.
    Latest,
    /// That of a date in the board's zone.
    Date(LocalDate),
}

impl std::fmt::Display for SnapshotRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Date(date) => date.fmt(f),
        }
    }
}

/// Which standing is meant: a season as it is, or a board as it was at a date.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StandingRef {
    /// A season.
    Season(SeasonRef),
    /// A snapshot.
    Snapshot(SnapshotRef),
}

impl StandingRef {
    /// The current season.
    pub const CURRENT: Self = Self::Season(SeasonRef::Current);
    /// The season before it.
    pub const PREVIOUS: Self = Self::Season(SeasonRef::Previous);
}

impl Default for StandingRef {
    fn default() -> Self {
        Self::CURRENT
    }
}

impl From<SeasonRef> for StandingRef {
    fn from(season: SeasonRef) -> Self {
        Self::Season(season)
    }
}

impl From<SnapshotRef> for StandingRef {
    fn from(snapshot: SnapshotRef) -> Self {
        Self::Snapshot(snapshot)
    }
}

/// The standing that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingId {
    /// The season; of a snapshot, the one that was current when it was taken.
    pub season: SeasonId,
    /// The date, where it is a snapshot.
    pub snapshot: Option<LocalDate>,
}

/// A row of a standing.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who.
    pub player: PlayerId,
    /// Name and picture, where there are any.
    pub profile: Option<Arc<Profile>>,
    /// The rank on the board.
    pub rank: Rank,
    /// The score.
    pub score: Score,
    /// When it was reached.
    pub at: Millis,
    /// Whether the goal was met, on boards that have one.
    pub success: Option<bool>,
    /// In a snapshot, the official rank of those who have one.
    pub official_rank: Option<u32>,
}

/// Which rows are wanted.
#[derive(Clone, Debug, Default)]
pub struct PageQuery {
    /// Of which standing.
    pub standing: StandingRef,
    /// Of which players.
    pub filter: Filter,
    /// From where.
    pub start: Start,
    /// At most so many.
    pub limit: usize,
}

/// Where a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// So many filtered rows are skipped.
    Offset(u64),
    /// Right after the place of a row that was shown, wherever that player is now.
    After(Place),
}

impl Default for Start {
    fn default() -> Self {
        Self::Offset(0)
    }
}

/// A place in a standing's total order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// By score,
    pub score: Score,
    /// then by when it was reached,
    pub at: Millis,
    /// then by the bytes of the id.
    pub player: PlayerId,
}

/// A page of a standing.
#[derive(Clone, Debug)]
pub struct Page {
    /// The standing that was read.
    pub standing: StandingId,
    /// How exact its numbers are.
    pub exactness: Exactness,
    /// The rows, best first.
    pub rows: Vec<Row>,
    /// Players on the board, whatever the filter.
    pub players: u64,
    /// Whether more rows follow.
    pub more: bool,
}

/// Rows of given players.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The standing that was read.
    pub standing: StandingId,
    /// How exact its numbers are.
    pub exactness: Exactness,
    /// The rows, best first.
    pub rows: Vec<Row>,
    /// Who has no entry, in the order asked.
    pub missing: Vec<PlayerId>,
    /// Players on the board.
    pub players: u64,
}

/// One player's entry.
#[derive(Clone, Debug)]
pub struct PlayerEntry {
    /// The standing that was read.
    pub standing: StandingId,
    /// How exact its numbers are.
    pub exactness: Exactness,
    /// The entry.
    pub row: Row,
    /// 100 × (players − players strictly better) / players.
    pub percentile: f64,
    /// When a submission was last accepted.
    pub updated_at: Millis,
    /// The rows on each side with the player among them, where they were asked for.
    pub around: Vec<Row>,
}

/// A player among friends.
#[derive(Clone, Debug)]
pub struct AmongFriends {
    /// The standing that was read.
    pub standing: StandingId,
    /// How exact its numbers are.
    pub exactness: Exactness,
    /// The player's own entry, if there is one.
    pub entry: Option<PlayerEntry>,
    /// The player and the friends that have an entry, best first.
    pub rows: Vec<FriendRow>,
}

/// A row among friends.
#[derive(Clone, Debug)]
pub struct FriendRow {
    /// The rank among them, by the board's own tie rule.
    pub rank: Rank,
    /// The row with the rank on the board.
    pub row: Row,
}

/// Where a score would stand.
#[derive(Clone, Debug)]
pub struct ScorePlace {
    /// The standing that was read.
    pub standing: StandingId,
    /// How exact its numbers are.
    pub exactness: Exactness,
    /// The rank that the score would have.
    pub rank: Rank,
    /// Its percentile, the new entry counted.
    pub percentile: f64,
    /// The rows on each side of the place.
    pub around: Vec<Row>,
}

/// How the scores of a season are distributed.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The standing that was read.
    pub standing: StandingId,
    /// How exact its numbers are.
    pub exactness: Exactness,
    /// Players with an entry; the rest is empty where there are none.
    pub players: u64,
    /// The lowest score.
    pub min: Option<Score>,
    /// The highest score.
    pub max: Option<Score>,
    /// The mean score.
    pub mean: Option<f64>,
    /// The score at which the best 10, 20 … 90 percent begin.
    pub deciles: Vec<Decile>,
    /// Players by score, in equal steps.
    pub histogram: Vec<Bin>,
    /// When it was computed.
    pub computed_at: Millis,
}
