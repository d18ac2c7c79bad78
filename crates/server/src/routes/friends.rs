//! The lists of players' friends.

use standings_core::PlayerId;

use crate::{
    call::{Call, invalid},
    reply::{Answer, json_sized},
    wire::{FriendsBody, FriendsListReply},
};

fn reply(friends: &[PlayerId]) -> Answer {
    json_sized(32 + friends.len() * 24, &FriendsListReply { user_ids: friends })
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
pub(crate) async fn put(call: Call<'_>) -> Answer {
    let player = call.player()?.printable().map_err(invalid)?;
    call.no_query()?;
    let engine = call.engine()?;
    let friends = call.json::<FriendsBody>().await?.of(&player)?;
    engine.put_friends(&player, friends.clone()).await?;
    reply(&friends)
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
pub(crate) async fn get(call: Call<'_>) -> Answer {
    let player = call.player()?;
    call.no_query()?;
    reply(&call.engine()?.friends(&player).await?)
}
