//! What can go wrong between a valid request and its answer.

use std::time::Duration;

use standings_core::{BoardId, LocalDate, PlayerId, SeasonId, rule::Rejection};

/// An engine's refusal or failure. A submission that breaks a rule of its board is not one of these: that is a
/// [`Rejection`] in its own place in the batch. How to go on is for whoever knows by which call the error came.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No such board.
    #[error("there is no board {:?}", .0.as_str())]
    UnknownBoard(BoardId),
    /// No such season on this board.
    #[error("board {board} has no season {season:?}")]
    UnknownSeason {
        /// The board asked.
        board: BoardId,
        /// What was asked for, as it was written.
        season: String,
    },
    /// No such snapshot of this board.
    #[error("board {board} has no snapshot {snapshot:?}")]
    UnknownSnapshot {
        /// The board asked.
        board: BoardId,
        /// What was asked for, as it was written.
        snapshot: String,
    },
    /// The player has no entry in the season, or no profile.
    #[error("there is no player {:?} here", .0.as_str())]
    UnknownPlayer(PlayerId),
    /// No key of that name.
    #[error("there is no key of that name")]
    UnknownKey,
    /// The name of a new key is taken.
    #[error("there is a key of that name already; delete it first or choose another name")]
    KeyExists,
    /// A board's setting that may not change once any season has scores.
    #[error("{0} cannot change once a season has scores; create another board instead")]
    ImmutableSetting(&'static str),
    /// An import was addressed to a season that still takes submissions.
    #[error("season {0} is not closed yet")]
    SeasonOpen(SeasonId),
    /// Scores were being set in a season that has ended meanwhile, or whose board has gone. Nothing of the call was applied.
    #[error("season {0} has ended meanwhile, and the other rows were not applied")]
    SeasonEnded(SeasonId),
    /// A standing from elsewhere that would be deleted at once.
    #[error(
        "{what} is older than board {board} keeps; change {setting} of the board first, then import it"
    )]
    PastRetention {
        /// The board.
        board: BoardId,
        /// The season or the snapshot.
        what: String,
        /// What decides how long it is kept.
        setting: &'static str,
    },
    /// A snapshot of a day that has not begun.
    #[error(
        "{0} has not begun in the board's time zone; a snapshot is of today or of a day before"
    )]
    SnapshotInFuture(LocalDate),
    /// A cursor that this engine has not given.
    #[error("the place to go on from is not one that was given; leave it out to start anew")]
    BadCursor,
    /// An offset beyond what this engine can page to.
    #[error("pages are found by offset up to {0} rows; beyond that go on from the page before")]
    TooDeep(u64),
    /// What the call goes by is no longer so, and sending it again changes nothing about that. Nothing of it was applied.
    #[error("{0}")]
    Conflict(String),
    /// A row that cannot be taken. Nothing of the call was applied; the number counts within it.
    #[error("row {row}: {why}")]
    BadRow {
        /// Counts from 1.
        row: u64,
        /// The rule that it breaks, where a submission could break it too.
        rule: Option<Rejection>,
        /// What is wrong with it.
        why: String,
    },
    /// This engine has no such operation.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The caller's path or argument cannot be used.
    #[error("{0}")]
    BadRequest(String),
    /// Not applied: the store cannot take it now.
    #[error("{why}; nothing was applied, try again later")]
    Unavailable {
        /// What is out of order.
        why: String,
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// Not applied: more is waiting than can be taken.
    #[error("more requests are waiting than can be taken; nothing was applied, try again later")]
    Overloaded {
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// Perhaps applied.
    #[error(
        "{why}; the write may or may not have been applied: send it again with the same event_id"
    )]
    OutcomeUnknown {
        /// What is out of order.
        why: String,
    },
}

impl EngineError {
    /// A row that breaks a rule.
    pub fn rejected_row(row: u64, rule: Rejection) -> Self {
        Self::BadRow { row, rule: Some(rule), why: rule.to_string() }
    }

    /// Whether what the call was to write may be there.
    pub fn may_have_applied(&self) -> bool {
        matches!(self, Self::OutcomeUnknown { .. })
    }

    /// The same failure for another of those whom it befell together.
    pub fn for_another(&self) -> Self {
        match self {
            Self::OutcomeUnknown { why } => Self::OutcomeUnknown { why: why.clone() },
            Self::Overloaded { retry_after } => Self::Overloaded { retry_after: *retry_after },
            Self::Unavailable { why, retry_after } => {
                Self::Unavailable { why: why.clone(), retry_after: *retry_after }
            }
            other => {
                Self::Unavailable { why: other.to_string(), retry_after: Duration::from_secs(5) }
            }
        }
    }
}

/// The result of an engine's call.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;
