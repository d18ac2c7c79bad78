//! Seasons of a board.

use serde::{Deserialize, Serialize};
use standings_core::SeasonId;
use standings_engine::SeasonsQuery;
use utoipa::{IntoParams, ToSchema};

use crate::{
    call::Call,
    query::whole,
    reply::{Answer, json, json_sized},
    wire::{CloseBody, SeasonsReply, rate},
};

/// Seasons of a page where the client does not say: two years of weeks.
const DEFAULT_SEASONS: usize = 104;

/// Which seasons are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SeasonsParams {
    /// Only those with this year in the id.
    #[serde(deserialize_with = "whole::<0, 9999, _, _>")]
    #[param(minimum = 0, maximum = 9999)]
    year: Option<i32>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    before: Option<SeasonId>,
    /// Seasons in the page; 104 by default.
    #[serde(deserialize_with = "whole::<1, 1000, _, _>")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// List a board's seasons, newest first.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/seasons",
    operation_id = "seasons",
    tag = "Seasons",
    params(("board" = String, Path), SeasonsParams),
    responses((status = 200, description = "The seasons.", body = SeasonsReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn list(call: Call<'_>) -> Answer {
    let board = call.board()?;
    let SeasonsParams { year, before, limit } = call.query()?;
    let query = SeasonsQuery { year, before, limit: limit.unwrap_or(DEFAULT_SEASONS) };
    let page = call.engine()?.seasons(&board, &query).await?;
    let last = page.seasons.last().filter(|_| page.more);
    let reply = SeasonsReply {
        exactness: page.exactness.into(),
        data: page.seasons.iter().map(Into::into).collect(),
        mean_success_rate: page.mean_success_rate.map(rate),
        next: last.map(|season| season.span.id.to_string()),
    };
    json_sized(128 + page.seasons.len() * 192, &reply)
}

/// What was closed.
#[derive(Serialize, ToSchema)]
pub(crate) struct SeasonClosed<'a> {
    /// The season that ended.
    #[schema(value_type = String, example = "2026-11")]
    closed: &'a SeasonId,
    /// The season that followed it.
    #[schema(value_type = String, example = "2026-11.2")]
    current: &'a SeasonId,
}

/// End a season now, without grace.
///
/// What is left of the current season's time is a new one. A request that names the season can be sent again: it answers the same
/// and ends nothing else.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/seasons/close",
    operation_id = "close_season",
    tag = "Seasons",
    params(("board" = String, Path)),
    request_body = Option<CloseBody>,
    responses((status = 200, description = "It is closed.", body = SeasonClosed)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn close(call: Call<'_>) -> Answer {
    let (board, engine) = (call.board()?, call.engine()?);
    call.no_query()?;
    let CloseBody { season } = call.optional_json().await?.unwrap_or_default();
    let (closed, current) = engine.close_season(&board, season.as_ref()).await?;
    tracing::info!(%board, %closed, %current, "season closed");
    json(&SeasonClosed { closed: &closed, current: &current })
}
