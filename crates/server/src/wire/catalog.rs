//! What clients get of boards, seasons, players and keys.

use serde::Serialize;
use serde_json::value::RawValue;
use standings_core::{Board, LocalDate, Millis, SeasonId, SeasonSpan};
use standings_engine::{CurrentEntry, Role, SeasonInfo, SeasonState, SnapshotInfo, StreakCount};
use utoipa::ToSchema;

use super::{
    RoleName,
    reply::{ExactnessReply, Time},
};

/// When a season runs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SeasonSpan)]
pub(crate) struct SpanReply<'a> {
    #[schema(value_type = String, example = "2026-11")]
    pub(super) id: &'a SeasonId,
    pub(super) starts_at: Time,
    /// Null for a season without an end.
    #[schema(required)]
    pub(super) ends_at: Option<Time>,
}

impl<'a> From<&'a SeasonSpan> for SpanReply<'a> {
    fn from(span: &'a SeasonSpan) -> Self {
        Self {
            id: &span.id,
            starts_at: Time(span.starts_at),
            ends_at: (span.ends_at < Millis::MAX).then_some(Time(span.ends_at)),
        }
    }
}

/// A board: its definition, its id, and the season that is current.
#[derive(Debug, Serialize)]
pub(crate) struct BoardReply<'a> {
    pub(crate) id: &'a str,
    #[serde(flatten)]
    pub(crate) definition: &'a Board,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current_season: Option<SpanReply<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) players: Option<u64>,
    #[serde(flatten)]
    pub(crate) exactness: ExactnessReply,
}

/// Boards by id.
#[derive(Debug, Serialize)]
pub(crate) struct BoardsReply<'a> {
    pub(crate) data: Vec<BoardReply<'a>>,
    pub(crate) next: Option<&'a str>,
}

/// A list that is whole.
#[derive(Debug, Serialize)]
pub(crate) struct ListReply<T> {
    pub(crate) data: Vec<T>,
}

/// A season in a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Season)]
pub(crate) struct SeasonReply<'a> {
    #[serde(flatten)]
    span: SpanReply<'a>,
    #[schema(value_type = SeasonStateName)]
    state: SeasonState,
    /// False while ranks may still change by themselves.
    r#final: bool,
    players: u64,
    /// The mean score; null where there are no players.
    #[schema(required)]
    mean: Option<f64>,
    /// Players that met the goal; null where the season had none.
    #[schema(required)]
    successes: Option<u64>,
    /// Which part of the players that is, from 0 to 1, rounded to four decimals; null without a goal or players.
    #[schema(required, example = 0.6667)]
    success_rate: Option<f64>,
    /// How many players had a streak of which length that reached up to this season when it closed, shortest first; null where it
    /// had no goal, and until it is closed.
    #[schema(required, value_type = Option<Vec<StreakReply>>)]
    streaks: Option<&'a [StreakCount]>,
}

/// How many players have a streak of one length.
#[derive(ToSchema)]
#[schema(as = StreakCount)]
#[expect(dead_code, reason = "documents the engine's StreakCount, which knows nothing of OpenAPI")]
pub(crate) struct StreakReply {
    /// Consecutive seasons with success.
    #[schema(minimum = 1)]
    length: u32,
    players: u64,
}

impl<'a> From<&'a SeasonInfo> for SeasonReply<'a> {
    fn from(season: &'a SeasonInfo) -> Self {
        Self {
            span: (&season.span).into(),
            state: season.state,
            r#final: season.is_final,
            players: season.players,
            mean: season.mean,
            successes: season.successes,
            success_rate: success_rate(season),
            streaks: season.streaks.as_deref(),
        }
    }
}

/// The part of a season's players that met its goal.
fn success_rate(season: &SeasonInfo) -> Option<f64> {
    let successes = season.successes.filter(|_| season.players > 0)?;
    #[expect(clippy::cast_precision_loss, reason = "players are far fewer than 2^53")]
    Some(rate(successes as f64 / season.players as f64))
}

/// A rate as it is written: what people read as 66.67 %, without the digits that only division gave it.
pub(crate) fn rate(rate: f64) -> f64 {
    (rate * 10_000.0).round() / 10_000.0
}

/// Seasons, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Seasons)]
pub(crate) struct SeasonsReply<'a> {
    pub(crate) data: Vec<SeasonReply<'a>>,
    /// With `year`, the mean of the success rates of that year's seasons, on this page or not: of those that are over, had a goal
    /// and any players. From 0 to 1, rounded to four decimals; null where there are none.
    #[schema(required, example = 0.6667)]
    pub(crate) mean_success_rate: Option<f64>,
    #[serde(flatten)]
    pub(crate) exactness: ExactnessReply,
    /// What `before` takes for the next page.
    #[schema(required)]
    pub(crate) next: Option<String>,
}

/// A snapshot in a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Snapshot)]
pub(crate) struct SnapshotReply {
    /// Its date in the board's zone.
    #[schema(value_type = String, example = "2026-02-21")]
    pub(crate) snapshot: LocalDate,
    /// Players with an entry; not known yet while it is being written after it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) players: Option<u64>,
    /// Present while it is being written: until then what was there before is read, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "writing")]
    pub(crate) state: Option<&'static str>,
}

/// The state of what is taken and cannot be read yet.
pub(crate) const WRITING: &str = "writing";

impl From<&SnapshotInfo> for SnapshotReply {
    fn from(info: &SnapshotInfo) -> Self {
        let state = info.players.is_none().then_some(WRITING);
        Self { snapshot: info.date, players: info.players, state }
    }
}

/// Snapshots, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Snapshots)]
pub(crate) struct SnapshotsReply {
    pub(crate) data: Vec<SnapshotReply>,
    /// What `before` takes for the next page.
    #[schema(required, value_type = Option<String>)]
    pub(crate) next: Option<LocalDate>,
}

/// Whether a season takes submissions.
#[derive(ToSchema)]
#[schema(as = SeasonState, rename_all = "lowercase")]
#[expect(dead_code, reason = "documents the engine's SeasonState, which knows nothing of OpenAPI")]
pub(crate) enum SeasonStateName {
    /// It contains the present.
    Open,
    /// It is over, and takes late submissions for its grace.
    Closing,
    /// Its ranks are final.
    Closed,
}

/// A player, with current scores.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Player)]
pub(crate) struct PlayerReply<'a> {
    pub(crate) user_id: &'a str,
    #[schema(required)]
    pub(crate) name: Option<&'a str>,
    #[schema(required)]
    pub(crate) avatar_url: Option<&'a str>,
    #[schema(value_type = Option<Object>, required)]
    pub(crate) attributes: Option<&'a RawValue>,
    /// Entries in the current seasons of up to 100 boards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) boards: Option<Vec<CurrentReply<'a>>>,
    #[serde(flatten)]
    pub(crate) exactness: ExactnessReply,
}

/// A player's entry in a board's current season.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CurrentEntry)]
pub(crate) struct CurrentReply<'a> {
    board: &'a str,
    #[schema(value_type = String, example = "2026-11")]
    season: &'a SeasonId,
    score: i64,
    #[schema(minimum = 1)]
    rank: u64,
}

impl<'a> From<&'a CurrentEntry> for CurrentReply<'a> {
    fn from(entry: &'a CurrentEntry) -> Self {
        Self {
            board: &entry.board,
            season: &entry.season,
            score: entry.score.get(),
            rank: entry.rank.get(),
        }
    }
}

/// A player found by name.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NamedPlayer)]
pub(crate) struct NamedReply<'a> {
    pub(crate) user_id: &'a str,
    pub(crate) user_name: &'a str,
}

/// A key as it is listed, and, when it is made, the key itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyReply<'a> {
    pub(crate) name: &'a str,
    #[schema(value_type = RoleName)]
    pub(crate) role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) created_at: Option<Time>,
    /// Only in the answer that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) key: Option<&'a str>,
}
