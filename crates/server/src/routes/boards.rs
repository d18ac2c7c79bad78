//! Boards, and taking a player off one.

use serde::Deserialize;
use standings_core::Board;
use standings_core::BoardId;
use standings_engine::{BoardInfo, BoardStatus, BoardsQuery, Exactness, Put, SeasonRef};
use utoipa::IntoParams;

use crate::{
    call::Call,
    openapi::{BoardList, BoardSchema},
    query::whole,
    reply::{Answer, Reply, created, json, json_sized},
    wire::{BoardReply, BoardsReply},
};

/// Boards of a page where the client does not say.
const DEFAULT_BOARDS: usize = 100;

fn reply(board: &BoardInfo) -> BoardReply<'_> {
    BoardReply {
        id: &board.id,
        definition: &board.definition,
        current_season: Some((&board.season).into()),
        players: None,
        exactness: Exactness::Exact.into(),
    }
}

/// Which boards are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct BoardsParams {
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    after: Option<BoardId>,
    /// Boards in the page; 100 by default.
    #[serde(deserialize_with = "whole::<1, 1000, _, _>")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// List the boards by id.
#[utoipa::path(
    get,
    path = "/v1/boards",
    operation_id = "boards",
    tag = "Boards",
    params(BoardsParams),
    responses((status = 200, description = "The boards.", body = BoardList)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn list(call: Call<'_>) -> Answer {
    let BoardsParams { after, limit } = call.query()?;
    let query = BoardsQuery { after, limit: limit.unwrap_or(DEFAULT_BOARDS) };
    let page = call.engine()?.boards(&query).await?;
    let next = page.boards.last().filter(|_| page.more).map(|last| last.id.as_str());
    let data = page.boards.iter().map(reply).collect();
    json_sized(64 + page.boards.len() * 512, &BoardsReply { data, next })
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
    let BoardStatus { board, players, exactness } = call.engine()?.board(&board).await?;
    json(&BoardReply { players: Some(players), exactness: exactness.into(), ..reply(&board) })
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
    let reply = BoardReply {
        id: &board,
        definition: &definition,
        current_season: None,
        players: None,
        exactness: Exactness::Exact.into(),
    };
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
