//! Seasons of a board.

use serde::{Deserialize, Serialize};
use standings_core::{SeasonId, SeasonSpan};

use super::{Exactness, SeasonState};

/// Which seasons are wanted.
#[derive(Clone, Debug)]
pub struct SeasonsQuery {
    /// Only those with this year in the id.
    pub year: Option<i32>,
    /// Only those older than this one.
    pub before: Option<SeasonId>,
    /// At most so many.
    pub limit: usize,
}

/// Seasons, newest first.
#[derive(Clone, Debug)]
pub struct SeasonsPage {
    /// The seasons.
    pub seasons: Vec<SeasonInfo>,
    /// Whether there are older ones.
    pub more: bool,
    /// The mean of the success rates of a year's seasons, on this page or not: of those that are over, had a goal and any
    /// players. `None` where there are none, and where no year was asked for.
    pub mean_success_rate: Option<f64>,
    /// How exact its numbers are.
    pub exactness: Exactness,
}

/// A season in a list.
#[derive(Clone, Debug)]
pub struct SeasonInfo {
    /// Its id and when it runs.
    pub span: SeasonSpan,
    /// Whether it takes submissions.
    pub state: SeasonState,
    /// Whether ranks will not change by themselves any more. A closed season that many servers write to may take a while.
    pub is_final: bool,
    /// Players with an entry.
    pub players: u64,
    /// The mean score; `None` where there are no players.
    pub mean: Option<f64>,
    /// Players that met the goal; `None` where the season had none.
    pub successes: Option<u64>,
    /// How long the streaks were that reached up to this season when it closed, by players, shortest first; `None` where the season
    /// had no goal, and until it is closed and written.
    pub streaks: Option<Vec<StreakCount>>,
}

/// How many players have a streak of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreakCount {
    /// Consecutive seasons with success.
    pub length: u32,
    /// Players.
    pub players: u64,
}
