//! Writing scores.

use standings_core::{Millis, Name, PlayerId, Rank, Score, SeasonId, rule::Rejection};

use super::Exactness;
use crate::{Cursor, EngineError};

/// What became of a submission that was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It breaks a rule. Nothing was applied.
    #[error(transparent)]
    Rule(#[from] Rejection),
    /// The store could not take it. The error says whether it may have been applied.
    #[error(transparent)]
    Store(EngineError),
}

/// The answer to an accepted submission. When it is given, the score is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Who scored.
    pub player: PlayerId,
    /// The season that the event counts in.
    pub season: SeasonId,
    /// The score after it; for a duplicate, the one recorded then.
    pub score: Score,
    /// The rank after it; for a duplicate, the one now. `None` where the store could not tell in time, or the player has
    /// been taken off since.
    pub rank: Option<Rank>,
    /// `None` for a first score, and for a duplicate.
    pub previous_score: Option<Score>,
    /// Likewise, and where the store could not tell in time.
    pub previous_rank: Option<Rank>,
    /// How exact the ranks are.
    pub exactness: Exactness,
    /// Whether the score became another.
    pub changed: bool,
    /// When the score was reached.
    pub at: Millis,
    /// Whether the event id had been accepted before, and nothing was done.
    pub duplicate: bool,
}

/// A score that is set, not decided: a row of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreRow {
    /// Whose.
    pub player: PlayerId,
    /// The score.
    pub score: Score,
    /// When it was reached; when absent, now (or, in a closed season, its end).
    pub at: Option<Millis>,
    /// Sets the display name in the same step; in a closed season or a snapshot, the name of that time.
    pub user_name: Option<Name>,
    /// The rank that someone else gave, such as the game's own list. Only snapshots keep it.
    pub official_rank: Option<u32>,
}

/// Where scores were set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoresSet {
    /// The season.
    pub season: SeasonId,
    /// What tells it from one that is called the same, such as that of a board created anew.
    pub cursor: Cursor,
}
