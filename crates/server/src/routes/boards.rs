//! Boards, and taking a player off one.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, Uri},
};
use standings_core::Board;
use standings_engine::{BoardInfo, Put};

use crate::{
    app::App,
    auth::{Admin, Reader},
    extract::{Json, NoParams, OfPlayer, OnBoard, Params},
    openapi::{BoardList, BoardSchema, DefinitionSchema},
    wire::{BoardReply, ListReply, json, no_content},
};

use super::{Answer, season_param};

fn reply(board: &BoardInfo) -> BoardReply<'_> {
    BoardReply {
        id: &board.id,
        definition: &board.definition,
        current_season: Some((&board.season).into()),
        players: Some(board.players),
    }
}

/// List the boards.
#[utoipa::path(
    get,
    path = "/v1/boards",
    operation_id = "boards",
    tag = "Boards",
    responses((status = 200, description = "All boards by id.", body = BoardList)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn list(State(app): State<Arc<App>>, _: Reader, _: NoParams) -> Answer {
    let boards = app.engine()?.boards().await?;
    Ok(json(StatusCode::OK, &ListReply { data: boards.iter().map(reply).collect() }))
}

/// Read a board's definition, with the current season.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}",
    operation_id = "board",
    tag = "Boards",
    params(("board" = String, Path)),
    responses((status = 200, description = "The board.", body = BoardSchema)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    _: Reader,
    OnBoard(board): OnBoard,
    _: NoParams,
) -> Answer {
    let board = app.engine()?.board(&board).await?;
    Ok(json(StatusCode::OK, &reply(&board)))
}

/// Create a board, or change what may change.
///
/// The whole definition: absent fields mean their defaults.
#[utoipa::path(
    put,
    path = "/v1/boards/{board}",
    operation_id = "put_board",
    tag = "Boards",
    params(("board" = String, Path)),
    request_body = DefinitionSchema,
    responses(
        (status = 200, description = "It is as given now.", body = BoardSchema),
        (status = 201, description = "It is new.", body = BoardSchema),
    ),
    security(("key" = ["admin"])),
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    _: Admin,
    OnBoard(board): OnBoard,
    _: NoParams,
    Json(definition): Json<Board>,
) -> Answer {
    let put = app.engine()?.put_board(&board, definition.clone()).await?;
    tracing::info!(%board, ?put, "board put");
    let status = match put {
        Put::Created => StatusCode::CREATED,
        Put::Changed => StatusCode::OK,
    };
    let reply =
        BoardReply { id: &board, definition: &definition, current_season: None, players: None };
    Ok(json(status, &reply))
}

/// Delete a board with all its seasons.
#[utoipa::path(
    delete,
    path = "/v1/boards/{board}",
    operation_id = "delete_board",
    tag = "Boards",
    params(("board" = String, Path)),
    responses((status = 204, description = "It is gone.")),
    security(("key" = ["admin"])),
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    _: Admin,
    OnBoard(board): OnBoard,
    _: NoParams,
) -> Answer {
    app.engine()?.delete_board(&board).await?;
    tracing::info!(%board, "board deleted");
    Ok(no_content())
}

/// Take one player off a season, open or closed.
#[utoipa::path(
    delete,
    path = "/v1/boards/{board}/scores/{user_id}",
    operation_id = "remove_entry",
    tag = "Scores",
    params(
        ("board" = String, Path),
        ("user_id" = String, Path),
        ("season" = Option<String>, Query, description = "`current` (the default), `previous`, or an id."),
    ),
    responses((status = 204, description = "The player is off; ranks have closed up.")),
    security(("key" = ["admin"])),
)]
pub(crate) async fn remove_entry(
    State(app): State<Arc<App>>,
    _: Admin,
    OnBoard(board): OnBoard,
    OfPlayer(player): OfPlayer,
    uri: Uri,
) -> Answer {
    let mut params = Params::parse(uri.query())?;
    let season = season_param(&mut params)?.unwrap_or_default();
    params.finish("season")?;
    app.engine()?.remove_entry(&board, &season, &player).await?;
    tracing::info!(%board, %season, %player, "entry removed");
    Ok(no_content())
}
