//! Snapshots of a board.

use serde::Deserialize;
use standings_core::LocalDate;
use standings_engine::SnapshotsQuery;
use utoipa::IntoParams;

use crate::{
    call::Call,
    query::whole,
    reply::{Answer, accepted, created, json_sized},
    wire::{SnapshotReply, SnapshotsReply},
};

/// Snapshots of a page where the client does not say: what a board keeps of days by default, and a little more.
const DEFAULT_SNAPSHOTS: usize = 100;

/// Which snapshots are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SnapshotsParams {
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    before: Option<LocalDate>,
    /// Snapshots in the page; 100 by default.
    #[serde(deserialize_with = "whole::<1, 1000, _, _>")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// List a board's snapshots, newest first.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/snapshots",
    operation_id = "snapshots",
    tag = "Snapshots",
    params(("board" = String, Path), SnapshotsParams),
    responses((status = 200, description = "The snapshots.", body = SnapshotsReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn list(call: Call<'_>) -> Answer {
    let board = call.board()?;
    let SnapshotsParams { before, limit } = call.query()?;
    let query = SnapshotsQuery { before, limit: limit.unwrap_or(DEFAULT_SNAPSHOTS) };
    let page = call.engine()?.snapshots(&board, &query).await?;
    let reply = SnapshotsReply {
        data: page.snapshots.iter().map(SnapshotReply::from).collect(),
        next: page.snapshots.last().filter(|_| page.more).map(|last| last.date),
    };
    json_sized(64 + page.snapshots.len() * 48, &reply)
}

/// Take a snapshot now.
///
/// It is named after today's date in the board's zone and replaces an earlier one of that date. That of a large board takes a while
/// to write, while submissions go on: then the answer is 202, and the list says when it can be read.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/snapshots",
    operation_id = "take_snapshot",
    tag = "Snapshots",
    params(("board" = String, Path)),
    responses(
        (status = 201, description = "It is taken and can be read.", body = SnapshotReply),
        (status = 202, description = "It is taken and is being written.", body = SnapshotReply),
    ),
    security(("key" = ["admin"])),
)]
pub(crate) async fn take(call: Call<'_>) -> Answer {
    let (board, engine) = (call.board()?, call.engine()?);
    call.no_query()?;
    call.no_body().await?;
    let taken = engine.take_snapshot(&board).await?;
    tracing::info!(%board, snapshot = %taken.date, players = taken.players, "snapshot taken");
    let reply = SnapshotReply::from(&taken);
    if taken.players.is_some() { created(&reply) } else { accepted(&reply) }
}
