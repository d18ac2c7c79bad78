//! Questions that any ordered set of entries answers the same way, whether it lives in memory, in a file or in a store far away.
//!
//! A standing gives five primitives ([`Ranks`]), each of which takes a batch; ranks, windows, pages, percentiles and distributions
//! are derived from them here, once. A derivation is straight async code: far away each `.await` is a round trip, and what does not
//! depend on each other goes in one. Memory and files answer at once, so that there a derivation is polled once ([`now`]).
//!
//! Positions count all places of a standing. Places that erased and removed players left are [`Gaps`], which the derivations take
//! into account and the primitives do not know.

pub mod as_of;
mod distribution;
mod gaps;
mod near;
mod page;
mod poll;

use serde::{Deserialize, Serialize};

use crate::{
    board::Ties,
    id::PlayerId,
    rank::{Position, Rank},
    sort_key::SortKey,
    time::Millis,
};

pub use distribution::{Bin, Decile, Distribution, distribution, mean};
pub use gaps::Gaps;
pub use near::{Near, Standing};
pub use page::{Entry, Filter, Page, Place, Selected, Start, among, entry, page, place, selected};
pub use poll::now;

/// What a standing holds of a player besides the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRecord {
    /// Where the player sorts.
    pub key: SortKey,
    /// When the entry last changed, which may be later than when its score was reached.
    pub updated_at: Millis,
}

/// A player and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of players before this one; ties are in order of time, then id.
    pub position: Position,
    /// The number of players with a better score: the place that ties share.
    pub first_of_score: Position,
    /// The player's record.
    pub record: IndexRecord,
}

/// How large a standing is, places without a player included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Players.
    pub players: u64,
    /// The sum of their folded scores.
    pub total: i128,
}

/// Where rows begin.
#[derive(Clone, Copy, Debug)]
pub enum From<'a> {
    /// At a position.
    At(Position),
    /// After this key and player, whether or not anyone is there.
    After(SortKey, &'a PlayerId),
}

/// Rows in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Where the first one is, or would be.
    pub start: Position,
    /// How many players have a better score than the first one; only where ties share a rank.
    pub first_of_score: Position,
    /// The rows; `None` in the place that an erased player left.
    pub rows: Vec<(Option<PlayerId>, IndexRecord)>,
}

/// What any standing can tell. The order of answers is that of the questions.
pub trait Ranks: Sync {
    /// What can go wrong.
    type Error: Send;

    /// Which rank players with the same score have.
    fn ties(&self) -> Ties;
    /// How large it is.
    fn size(&self) -> impl Future<Output = Result<Size, Self::Error>> + Send;
    /// Finds players.
    fn find(
        &self,
        players: &[&PlayerId],
    ) -> impl Future<Output = Result<Vec<Option<Found>>, Self::Error>> + Send;
    /// How many players have a score strictly better than these folded ones.
    fn better(
        &self,
        folded: &[i64],
    ) -> impl Future<Output = Result<Vec<Position>, Self::Error>> + Send;
    /// How many players sort at or before these places, whether or not anyone is there.
    fn through(
        &self,
        places: &[(SortKey, &PlayerId)],
    ) -> impl Future<Output = Result<Vec<Position>, Self::Error>> + Send;
    /// Up to so many rows each.
    fn rows(
        &self,
        spans: &[(From<'_>, usize)],
    ) -> impl Future<Output = Result<Vec<Rows>, Self::Error>> + Send;
}

/// A row with its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Who.
    pub player: PlayerId,
    /// Score and times.
    pub record: IndexRecord,
    /// By the standing's tie rule.
    pub rank: Rank,
    /// Where it is, gaps included.
    pub position: Position,
}

/// The rank at a position, by the board's tie rule.
pub fn rank(ties: Ties, position: Position, first_of_score: Position) -> Rank {
    match ties {
        Ties::Share => first_of_score.rank(),
        Ties::Earliest => position.rank(),
    }
}

/// 100 × (players − players strictly better) / players.
#[expect(clippy::cast_precision_loss, reason = "a percentage of fewer than 2^53 players")]
pub fn percentile(players: u64, first_of_score: Position) -> f64 {
    100.0 * (players - first_of_score.0) as f64 / players as f64
}

#[cfg(test)]
mod tests;
