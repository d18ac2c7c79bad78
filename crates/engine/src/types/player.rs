//! Players and what they have done.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use standings_core::{
    BoardId, EventId, LocalDate, Millis, Name, PlayerId, Profile, Rank, Score, SeasonId, SeasonSpan,
};

use super::{Exactness, SeasonState, Streak};
use crate::Cursor;

/// A player.
#[derive(Clone, Debug)]
pub struct PlayerInfo {
    /// Who.
    pub player: PlayerId,
    /// The profile; empty where only scores are known.
    pub profile: Arc<Profile>,
    /// Current entries, by board id.
    pub entries: Vec<CurrentEntry>,
    /// How exact its numbers are.
    pub exactness: Exactness,
}

/// A player's entry in a board's current season.
#[derive(Clone, Debug)]
pub struct CurrentEntry {
    /// The board.
    pub board: BoardId,
    /// Its current season.
    pub season: SeasonId,
    /// The score.
    pub score: Score,
    /// The rank.
    pub rank: Rank,
}

/// Which accepted submissions of a player are wanted.
#[derive(Clone, Debug, Default)]
pub struct EventsQuery {
    /// Only those of one board.
    pub board: Option<BoardId>,
    /// Only those before this place in the list.
    pub before: Option<Cursor>,
    /// At most so many.
    pub limit: usize,
}

/// Accepted submissions, the last accepted first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsPage {
    /// The events.
    pub events: Vec<PlayerEvent>,
    /// Where the older ones begin, if there are any.
    pub next: Option<Cursor>,
}

/// An accepted submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerEvent {
    /// Where it counts,
    pub board: BoardId,
    /// and when.
    pub season: SeasonId,
    /// What was sent.
    pub points: Score,
    /// The score that it led to.
    pub score: Score,
    /// When it happened.
    pub at: Millis,
    /// The id that came with it.
    pub event_id: Option<EventId>,
}

/// Which seasons of a player are wanted.
#[derive(Clone, Debug)]
pub struct PlayerSeasonsQuery {
    /// Only those that end after this instant,
    pub from: Millis,
    /// and begin before this one.
    pub to: Millis,
    /// Only those older than this one.
    pub before: Option<SeasonId>,
    /// At most so many.
    pub limit: usize,
}

/// A player's seasons on a board, newest first.
#[derive(Clone, Debug)]
pub struct PlayerSeasons {
    /// Those in which the player has an entry.
    pub seasons: Vec<PlayerSeason>,
    /// Whether there are older ones.
    pub more: bool,
    /// The best score that the player ever had in a season, kept or not.
    pub best: Option<SeasonBest>,
    /// The streaks, on boards that have a goal or had one.
    pub streak: Option<Streak>,
    /// How exact its numbers are.
    pub exactness: Exactness,
}

/// A player's entry in a season.
#[derive(Clone, Debug)]
pub struct PlayerSeason {
    /// The season.
    pub span: SeasonSpan,
    /// Whether it takes submissions.
    pub state: SeasonState,
    /// The score.
    pub score: Score,
    /// The rank, final where the season is closed.
    pub rank: Rank,
    /// Whether the goal was met, where the season had one.
    pub success: Option<bool>,
    /// When the score was reached.
    pub at: Millis,
    /// When a submission was last accepted.
    pub updated_at: Millis,
}

/// A player's best season on a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeasonBest {
    /// The score.
    pub score: Score,
    /// The season in which it was first reached.
    pub season: SeasonId,
}

/// Which snapshots of a player are wanted.
#[derive(Clone, Debug, Default)]
pub struct PlayerSnapshotsQuery {
    /// Only those of one board.
    pub board: Option<BoardId>,
    /// From this date on.
    pub from: Option<LocalDate>,
    /// Up to this date.
    pub to: Option<LocalDate>,
    /// Only those before this place in the list.
    pub before: Option<Cursor>,
    /// At most so many.
    pub limit: usize,
}

/// A player day by day, newest first, then by board id.
#[derive(Clone, Debug)]
pub struct PlayerSnapshotsPage {
    /// The snapshots in which the player has an entry.
    pub snapshots: Vec<PlayerSnapshot>,
    /// Where the older ones begin, if there are any.
    pub next: Option<Cursor>,
}

/// A player's entry in a snapshot.
#[derive(Clone, Debug)]
pub struct PlayerSnapshot {
    /// The date.
    pub date: LocalDate,
    /// The board.
    pub board: BoardId,
    /// The name of that time.
    pub name: Option<Name>,
    /// The score.
    pub score: Score,
    /// The rank.
    pub rank: Rank,
    /// The official rank of those who have one.
    pub official_rank: Option<u32>,
}

/// A question for players by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameQuery {
    /// The whole name.
    Is(String),
    /// How it begins.
    StartsWith(String),
}

/// A player found by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPlayer {
    /// Who.
    pub player: PlayerId,
    /// The name as it is written.
    pub name: Name,
}
