//! What a player did: submissions, seasons, snapshots.

use serde::Deserialize;
use standings_core::{Board, BoardId, LocalDate, Millis, SeasonId};
use standings_engine::{
    Engine, EngineError, EventsQuery, PlayerSeasonsQuery, PlayerSnapshotsQuery, SeasonsQuery,
};
use utoipa::IntoParams;

use crate::{
    call::Call,
    cursor::PlayerList,
    problem::Problem,
    query::whole,
    reply::{Answer, json_sized},
    wire::{EventsReply, PlayerSeasonsReply, PlayerSnapshotsReply},
};

/// Rows of a page where the client does not say.
const DEFAULT_ROWS: usize = 10;

/// About what one row takes in a reply.
const ROW_BYTES: usize = 160;

/// Which submissions of a player are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsParams {
    /// Only those of one board.
    #[param(value_type = Option<String>)]
    board: Option<BoardId>,
    /// Submissions in the page; 10 by default.
    #[serde(deserialize_with = "whole::<1, 1000, _, _>")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the page before, with the same `board`.
    before: Option<String>,
}

/// List a player's accepted submissions, newest first.
///
/// In the order in which they were accepted, as far as their seasons are kept.
#[utoipa::path(
    get,
    path = "/v1/players/{user_id}/scores",
    operation_id = "player_scores",
    tag = "Players",
    params(("user_id" = String, Path), EventsParams),
    responses((status = 200, description = "The submissions.", body = EventsReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn scores(call: Call<'_>) -> Answer {
    let player = call.player()?;
    let EventsParams { board, limit, before } = call.query()?;
    let list = PlayerList { of: "scores", player: &player, board: board.as_ref() };
    let before = before.map(|text| list.decode(&text)).transpose()?;
    let limit = limit.unwrap_or(DEFAULT_ROWS);
    let query = EventsQuery { board: board.clone(), before, limit };
    let page = call.engine()?.player_events(&player, &query).await?;
    let reply = EventsReply {
        data: page.events.iter().map(Into::into).collect(),
        next: page.next.map(|mark| list.encode(mark)),
    };
    json_sized(64 + reply.data.len() * ROW_BYTES, &reply)
}

/// Which seasons of a player are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct PlayerSeasonsParams {
    /// The board; the default board by default.
    #[param(value_type = Option<String>)]
    board: Option<BoardId>,
    /// From this season on, or from the one of this date in the board's zone.
    #[param(example = "2026-W40")]
    from: Option<String>,
    /// Up to this season, or to the one of this date. A season that was ended by hand means all its parts, `2026-11.2` one.
    #[param(example = "2026-11-15")]
    to: Option<String>,
    /// Seasons in the page; 10 by default.
    #[serde(deserialize_with = "whole::<1, 1000, _, _>")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    before: Option<SeasonId>,
}

/// List a player's seasons on a board, newest first.
///
/// The open one is among them; seasons without an entry are not. A streak is consecutive seasons with success: a season
/// without an entry breaks it, and the open season can extend it but not yet break it. `best` is of all time. A streak counts
/// from its first season on, kept or not; one that had ended when the oldest season that is kept began is forgotten. `from` and
/// `to` narrow `data` only.
#[utoipa::path(
    get,
    path = "/v1/players/{user_id}/seasons",
    operation_id = "player_seasons",
    tag = "Players",
    params(("user_id" = String, Path), PlayerSeasonsParams),
    responses((status = 200, description = "The seasons.", body = PlayerSeasonsReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn seasons(call: Call<'_>) -> Answer {
    let player = call.player()?;
    let PlayerSeasonsParams { board, from, to, limit, before } = call.query()?;
    let board = board.as_ref().unwrap_or(&call.app.default_board);
    let engine = call.engine()?;
    let (from, to) = between(engine, board, from.as_deref(), to.as_deref()).await?;
    let limit = limit.unwrap_or(DEFAULT_ROWS);
    let query = PlayerSeasonsQuery { from, to, before, limit };
    let seasons = engine.player_seasons(&player, board, &query).await?;
    let size = 128 + seasons.seasons.len() * ROW_BYTES;
    json_sized(size, &PlayerSeasonsReply::from(&seasons))
}

/// The first instant of what `from` names, and the first one after what `to` names.
async fn between(
    engine: &dyn Engine,
    board: &BoardId,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<(Millis, Millis), Problem> {
    let (mut first, mut last, mut end) = (Millis::MIN, Millis::MIN, Millis::MAX);
    if from.is_none() && to.is_none() {
        return Ok((first, end));
    }
    let definition = engine.board(board).await?.board.definition;
    if let Some(from) = from {
        first = instants(engine, board, &definition, from).await.map_err(|p| p.within("from"))?.0;
    }
    if let Some(to) = to {
        (last, end) = instants(engine, board, &definition, to).await.map_err(|p| p.within("to"))?;
    }
    // A season that was ended as soon as it began has no instant, and is not after itself.
    if first >= end && first > last {
        return Err(Problem::malformed("from must not be after to"));
    }
    Ok((first, end))
}

/// From which instant to which a text reaches that names a season of the board or a date.
async fn instants(
    engine: &dyn Engine,
    board: &BoardId,
    definition: &Board,
    text: &str,
) -> Result<(Millis, Millis), Problem> {
    if let Some(instants) = definition.instants_named(text) {
        return Ok(instants);
    }
    let id = SeasonId::parse(text).map_err(|_| {
        Problem::malformed("give a season of the board, or a date such as 2026-02-21")
    })?;
    // When a season was ended by hand, only the engine knows.
    if let Some(instants) = part(engine, board, &id).await? {
        return Ok(instants);
    }
    Err(EngineError::UnknownSeason { board: board.clone(), season: id.to_string() }.into())
}

async fn part(
    engine: &dyn Engine,
    board: &BoardId,
    id: &SeasonId,
) -> Result<Option<(Millis, Millis)>, Problem> {
    if id.part() == 1 {
        return Ok(None);
    }
    // The newest before the next part is this one, if it is there.
    let query = SeasonsQuery { year: id.year(), before: Some(id.next_part()), limit: 1 };
    let seasons = match engine.seasons(board, &query).await {
        Err(EngineError::UnknownSeason { .. }) => return Ok(None),
        seasons => seasons?.seasons,
    };
    let part = seasons.into_iter().map(|season| season.span).find(|span| span.id == *id);
    Ok(part.map(|span| (span.starts_at, span.ends_at)))
}

/// Which entries of a player in snapshots are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct PlayerSnapshotsParams {
    /// Only those of one board.
    #[param(value_type = Option<String>)]
    board: Option<BoardId>,
    /// From this date on.
    #[param(value_type = Option<String>, example = "2026-02-01")]
    from: Option<LocalDate>,
    /// Up to this date.
    #[param(value_type = Option<String>, example = "2026-02-21")]
    to: Option<LocalDate>,
    /// Entries in the page; 10 by default.
    #[serde(deserialize_with = "whole::<1, 1000, _, _>")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the page before, with the same `board`.
    before: Option<String>,
}

/// List a player's entries in snapshots, newest first.
///
/// Of the same date, by board id. Names are those of the date.
#[utoipa::path(
    get,
    path = "/v1/players/{user_id}/snapshots",
    operation_id = "player_snapshots",
    tag = "Players",
    params(("user_id" = String, Path), PlayerSnapshotsParams),
    responses((status = 200, description = "The entries.", body = PlayerSnapshotsReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn snapshots(call: Call<'_>) -> Answer {
    let player = call.player()?;
    let PlayerSnapshotsParams { board, from, to, limit, before } = call.query()?;
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(Problem::malformed("from must not be after to"));
    }
    let list = PlayerList { of: "snapshots", player: &player, board: board.as_ref() };
    let before = before.map(|text| list.decode(&text)).transpose()?;
    let limit = limit.unwrap_or(DEFAULT_ROWS);
    let query = PlayerSnapshotsQuery { board: board.clone(), from, to, before, limit };
    let page = call.engine()?.player_snapshots(&player, &query).await?;
    let reply = PlayerSnapshotsReply {
        data: page.snapshots.iter().map(Into::into).collect(),
        next: page.next.map(|mark| list.encode(mark)),
    };
    json_sized(64 + reply.data.len() * ROW_BYTES, &reply)
}
