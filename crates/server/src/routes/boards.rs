//! Boards, and taking a player off one.

use serde::Deserialize;
use standings_core::Board;
use standings_engine::{BoardInfo, Put, SeasonRef};
use utoipa::IntoParams;

use crate::{
    call::Call,
    openapi::{BoardList, BoardSchema},
    reply::{Answer, Reply, created, json},
    wire::{BoardReply, ListReply},
};

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
pub(crate) async fn list(call: Call<'_>) -> Answer {
    call.no_query()?;
    let boards = call.engine()?.boards().await?;
    json(&ListReply { data: boards.iter().map(reply).collect() })
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
pub(crate) async fn get(call: Call<'_>) -> Answer {
    let board = call.board()?;
    call.no_query()?;
    json(&reply(&call.engine()?.board(&board).await?))
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
    request_body = Board,
    responses(
        (status = 200, description = "It is as given now.", body = BoardSchema),
        (status = 201, description = "It is new.", body = BoardSchema),
    ),
    security(("key" = ["admin"])),
)]
pub(crate) async fn put(call: Call<'_>) -> Answer {
    let (board, engine) = (call.board()?, call.engine()?);
    call.no_query()?;
    let definition: Board = call.json().await?;
    let put = engine.put_board(&board, definition.clone()).await?;
    tracing::info!(%board, ?put, "board put");
    let reply =
        BoardReply { id: &board, definition: &definition, current_season: None, players: None };
    match put {
        Put::Created => created(&reply),
        Put::Changed => json(&reply),
    }
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
pub(crate) async fn delete(call: Call<'_>) -> Answer {
    let board = call.board()?;
    call.no_query()?;
    call.engine()?.delete_board(&board).await?;
    tracing::info!(%board, "board deleted");
    Ok(Reply::nothing())
}

/// Of which season a player is taken off.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SeasonParam {
    /// `current` (the default), `previous`, or an id.
    #[serde(deserialize_with = "super::season")]
    #[param(value_type = Option<String>)]
    season: Option<SeasonRef>,
}

/// Take one player off a season, open or closed.
#[utoipa::path(
    delete,
    path = "/v1/boards/{board}/scores/{user_id}",
    operation_id = "remove_entry",
    tag = "Scores",
    params(("board" = String, Path), ("user_id" = String, Path), SeasonParam),
    responses((status = 204, description = "The player is off; ranks have closed up.")),
    security(("key" = ["admin"])),
)]
pub(crate) async fn remove_entry(call: Call<'_>) -> Answer {
    let (board, player) = (call.board()?, call.player()?);
    let season = call.query::<SeasonParam>()?.season.unwrap_or_default();
    call.engine()?.remove_entry(&board, &season, &player).await?;
    tracing::info!(%board, %season, %player, "entry removed");
    Ok(Reply::nothing())
}
