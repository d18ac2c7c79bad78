//! What clients get of a player's history and friends.

use serde::Serialize;
use standings_core::{LocalDate, PlayerId, SeasonId};
use standings_engine::{PlayerEvent, PlayerSeason, PlayerSeasons, PlayerSnapshot, SeasonBest};
use utoipa::ToSchema;

use super::{
    catalog::SpanReply,
    reply::{ExactnessReply, Time},
};

/// The list of a player's friends.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FriendsList)]
pub(crate) struct FriendsListReply<'a> {
    /// In the order given.
    #[schema(value_type = Vec<String>)]
    pub(crate) user_ids: &'a [PlayerId],
}

/// Accepted submissions, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerScores)]
pub(crate) struct EventsReply<'a> {
    pub(crate) data: Vec<EventReply<'a>>,
    /// What `before` takes for the next page.
    #[schema(required)]
    pub(crate) next: Option<String>,
}

/// An accepted submission.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerScore)]
pub(crate) struct EventReply<'a> {
    board: &'a str,
    /// The season that it counts in.
    #[schema(value_type = String, example = "2026-11")]
    season: &'a SeasonId,
    /// What was sent.
    points: i64,
    /// The score that it led to.
    score: i64,
    /// When it happened.
    at: Time,
    /// Null where it came without one.
    #[schema(required)]
    event_id: Option<&'a str>,
}

impl<'a> From<&'a PlayerEvent> for EventReply<'a> {
    fn from(event: &'a PlayerEvent) -> Self {
        Self {
            board: &event.board,
            season: &event.season,
            points: event.points.get(),
            score: event.score.get(),
            at: Time(event.at),
            event_id: event.event_id.as_deref(),
        }
    }
}

/// A player's seasons on a board, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerSeasons)]
pub(crate) struct PlayerSeasonsReply<'a> {
    data: Vec<PlayerSeasonReply<'a>>,
    /// The best of all time, even where that season is no longer kept; null for a player who never had an entry.
    #[schema(required)]
    best: Option<BestReply<'a>>,
    /// The streak that goes on; null where the board has and had no goal.
    #[schema(required)]
    current_streak: Option<u32>,
    /// The longest streak of those that reach into a season that is kept; likewise.
    #[schema(required)]
    longest_streak: Option<u32>,
    #[serde(flatten)]
    exactness: ExactnessReply,
    /// What `before` takes for the next page.
    #[schema(required, value_type = Option<String>)]
    next: Option<&'a SeasonId>,
}

impl<'a> From<&'a PlayerSeasons> for PlayerSeasonsReply<'a> {
    fn from(of: &'a PlayerSeasons) -> Self {
        Self {
            data: of.seasons.iter().map(Into::into).collect(),
            best: of.best.as_ref().map(Into::into),
            current_streak: of.streak.map(|streak| streak.current),
            longest_streak: of.streak.map(|streak| streak.longest),
            exactness: of.exactness.into(),
            next: of.seasons.last().filter(|_| of.more).map(|last| &last.span.id),
        }
    }
}

/// A player's entry in a season.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerSeason)]
pub(crate) struct PlayerSeasonReply<'a> {
    #[schema(value_type = String, example = "2026-11")]
    season: &'a SeasonId,
    starts_at: Time,
    /// Null for a season without an end.
    #[schema(required)]
    ends_at: Option<Time>,
    score: i64,
    /// Final where the season is closed.
    #[schema(minimum = 1)]
    rank: u64,
    /// Whether the goal was met; null where the season had none.
    #[schema(required)]
    success: Option<bool>,
    /// When the score was reached.
    at: Time,
    /// When a submission was last accepted.
    updated_at: Time,
}

impl<'a> From<&'a PlayerSeason> for PlayerSeasonReply<'a> {
    fn from(of: &'a PlayerSeason) -> Self {
        let SpanReply { id, starts_at, ends_at } = (&of.span).into();
        Self {
            season: id,
            starts_at,
            ends_at,
            score: of.score.get(),
            rank: of.rank.get(),
            success: of.success,
            at: Time(of.at),
            updated_at: Time(of.updated_at),
        }
    }
}

/// A player's best season on a board.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerBest)]
pub(crate) struct BestReply<'a> {
    score: i64,
    /// The season in which it was first reached.
    #[schema(value_type = String, example = "2026-11")]
    season: &'a SeasonId,
}

impl<'a> From<&'a SeasonBest> for BestReply<'a> {
    fn from(best: &'a SeasonBest) -> Self {
        Self { score: best.score.get(), season: &best.season }
    }
}

/// A player's entries in snapshots, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerSnapshots)]
pub(crate) struct PlayerSnapshotsReply<'a> {
    pub(crate) data: Vec<PlayerSnapshotReply<'a>>,
    /// What `before` takes for the next page.
    #[schema(required)]
    pub(crate) next: Option<String>,
}

/// A player's entry in a snapshot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerSnapshot)]
pub(crate) struct PlayerSnapshotReply<'a> {
    /// The date.
    #[schema(value_type = String, example = "2026-02-21")]
    snapshot: LocalDate,
    board: &'a str,
    /// The name of that date.
    #[schema(required)]
    user_name: Option<&'a str>,
    score: i64,
    #[schema(minimum = 1)]
    rank: u64,
    /// Whether the player has an official rank.
    official: bool,
    /// The official rank; null where there is none.
    #[schema(value_type = Option<i64>, required, minimum = 1)]
    official_rank: Option<u32>,
}

impl<'a> From<&'a PlayerSnapshot> for PlayerSnapshotReply<'a> {
    fn from(of: &'a PlayerSnapshot) -> Self {
        Self {
            snapshot: of.date,
            board: &of.board,
            user_name: of.name.as_deref(),
            score: of.score.get(),
            rank: of.rank.get(),
            official: of.official_rank.is_some(),
            official_rank: of.official_rank,
        }
    }
}
