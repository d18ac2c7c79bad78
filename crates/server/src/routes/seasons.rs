//! Seasons of a board.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, Uri},
};
use serde::Serialize;
use standings_core::SeasonId;
use standings_engine::SeasonsQuery;
use utoipa::ToSchema;

use crate::{
    app::App,
    auth::{Admin, Reader},
    extract::{NoBody, NoParams, OnBoard, Params, season_id},
    wire::{SeasonsReply, json, json_sized, rate},
};

use super::Answer;

/// Seasons of a page where the client does not say: two years of weeks.
const DEFAULT_SEASONS: usize = 104;

/// Seasons in one page.
const MAX_SEASONS: usize = 1000;

/// List a board's seasons, newest first.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/seasons",
    operation_id = "seasons",
    tag = "Seasons",
    params(
        ("board" = String, Path),
        ("year" = Option<i32>, Query, minimum = 0, maximum = 9999, description = "Only those with this year in the id."),
        ("before" = Option<String>, Query, description = "`next` of the page before."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Seasons in the page; 104 by default."),
    ),
    responses((status = 200, description = "The seasons.", body = SeasonsReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    _: Reader,
    OnBoard(board): OnBoard,
    uri: Uri,
) -> Answer {
    let mut params = Params::parse(uri.query())?;
    let query = SeasonsQuery {
        year: params.whole("year", 0..=9999)?,
        before: params.take("before").map(|id| season_id(&id)).transpose()?,
        limit: params.whole("limit", 1..=MAX_SEASONS)?.unwrap_or(DEFAULT_SEASONS),
    };
    params.finish("year, before and limit")?;
    let page = app.engine()?.seasons(&board, &query).await?;
    let last = page.seasons.last().filter(|_| page.more);
    let reply = SeasonsReply {
        data: page.seasons.iter().map(Into::into).collect(),
        mean_success_rate: page.mean_success_rate.map(rate),
        next: last.map(|season| season.span.id.to_string()),
    };
    Ok(json_sized(StatusCode::OK, 128 + page.seasons.len() * 192, &reply))
}

/// What was closed.
#[derive(Serialize, ToSchema)]
pub(crate) struct SeasonClosed<'a> {
    /// The season that ended.
    #[schema(value_type = String, example = "2026-11")]
    closed: &'a SeasonId,
    /// The season that is current now.
    #[schema(value_type = String, example = "2026-11.2")]
    current: &'a SeasonId,
}

/// End the current season now, without grace.
///
/// What is left of its time is a new season.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/seasons/close",
    operation_id = "close_season",
    tag = "Seasons",
    params(("board" = String, Path)),
    responses((status = 200, description = "It is closed.", body = SeasonClosed)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn close(
    State(app): State<Arc<App>>,
    _: Admin,
    OnBoard(board): OnBoard,
    _: NoParams,
    NoBody: NoBody,
) -> Answer {
    let (closed, current) = app.engine()?.close_season(&board).await?;
    tracing::info!(%board, %closed, %current, "season closed");
    Ok(json(StatusCode::OK, &SeasonClosed { closed: &closed, current: &current }))
}
