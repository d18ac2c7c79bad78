//! The lists of players' friends.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use standings_core::PlayerId;

use crate::{
    app::App,
    auth::{Game, Reader},
    extract::{Json, NoParams, OfPlayer, invalid},
    wire::{FriendsBody, FriendsListReply, json_sized},
};

use super::Answer;

fn reply(friends: &[PlayerId]) -> Response {
    let reply = FriendsListReply { user_ids: friends };
    json_sized(StatusCode::OK, 32 + friends.len() * 24, &reply)
}

/// Replace the list of a player's friends.
///
/// It is one-way: the friends' own lists stay as they are. Past seasons are read with today's list.
#[utoipa::path(
    put,
    path = "/v1/players/{user_id}/friends",
    operation_id = "put_friends",
    tag = "Players",
    params(("user_id" = String, Path)),
    request_body = FriendsBody,
    responses((status = 200, description = "The list as it is now: without repeated ids and the player itself.", body = FriendsListReply)),
    security(("key" = ["game"])),
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    _: Game,
    OfPlayer(player): OfPlayer,
    _: NoParams,
    Json(body): Json<FriendsBody>,
) -> Answer {
    let player = player.printable().map_err(invalid)?;
    let friends = body.of(&player)?;
    app.engine()?.put_friends(&player, friends.clone()).await?;
    Ok(reply(&friends))
}

/// Read the list of a player's friends.
#[utoipa::path(
    get,
    path = "/v1/players/{user_id}/friends",
    operation_id = "friends",
    tag = "Players",
    params(("user_id" = String, Path)),
    responses((status = 200, description = "The list, in the order given; empty where there is none.", body = FriendsListReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    _: Reader,
    OfPlayer(player): OfPlayer,
    _: NoParams,
) -> Answer {
    Ok(reply(&app.engine()?.friends(&player).await?))
}
