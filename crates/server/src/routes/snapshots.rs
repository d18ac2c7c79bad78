//! Snapshots of a board.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, Uri},
};
use standings_core::limits::PAGE_ROWS;
use standings_engine::SnapshotsQuery;

use crate::{
    app::App,
    auth::{Admin, Reader},
    extract::{NoBody, NoParams, OnBoard, Params},
    wire::{SnapshotReply, SnapshotsReply, json, json_sized},
};

use super::Answer;

/// Snapshots of a page where the client does not say: what a board keeps of days by default, and a little more.
const DEFAULT_SNAPSHOTS: usize = 100;

/// List a board's snapshots, newest first.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/snapshots",
    operation_id = "snapshots",
    tag = "Snapshots",
    params(
        ("board" = String, Path),
        ("before" = Option<String>, Query, description = "`next` of the page before."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Snapshots in the page; 100 by default."),
    ),
    responses((status = 200, description = "The snapshots.", body = SnapshotsReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    _: Reader,
    OnBoard(board): OnBoard,
    uri: Uri,
) -> Answer {
    let mut params = Params::parse(uri.query())?;
    let query = SnapshotsQuery {
        before: params.date("before")?,
        limit: params.whole("limit", 1..=PAGE_ROWS)?.unwrap_or(DEFAULT_SNAPSHOTS),
    };
    params.finish("before and limit")?;
    let page = app.engine()?.snapshots(&board, &query).await?;
    let reply = SnapshotsReply {
        data: page.snapshots.iter().map(SnapshotReply::from).collect(),
        next: page.snapshots.last().filter(|_| page.more).map(|last| last.date),
    };
    Ok(json_sized(StatusCode::OK, 64 + page.snapshots.len() * 48, &reply))
}

/// Take a snapshot now.
///
/// It is named after today's date in the board's zone and replaces an earlier one of that date. It can be read when the
/// answer comes, which takes a while for a large board; submissions go on meanwhile.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/snapshots",
    operation_id = "take_snapshot",
    tag = "Snapshots",
    params(("board" = String, Path)),
    responses((status = 201, description = "It is taken.", body = SnapshotReply)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn take(
    State(app): State<Arc<App>>,
    _: Admin,
    OnBoard(board): OnBoard,
    _: NoParams,
    NoBody: NoBody,
) -> Answer {
    let taken = app.engine()?.take_snapshot(&board).await?;
    tracing::info!(%board, snapshot = %taken.date, players = taken.players, "snapshot taken");
    Ok(json(StatusCode::CREATED, &SnapshotReply::from(&taken)))
}
