//! Players and their profiles.

use serde::Deserialize;
use serde_json::value::RawValue;
use standings_core::{Name, PlayerId, Profile, player::AvatarUrl};
use standings_engine::{CurrentEntry, Exactness, NameQuery};
use utoipa::IntoParams;

use crate::{
    call::{Call, invalid},
    openapi::NamedList,
    problem::Problem,
    reply::{Answer, Reply, json},
    wire::{CurrentReply, ListReply, NamedReply, PlayerReply, ProfileBody},
};

/// Boards in a player's answer.
const BOARDS: usize = 100;

/// Players with one name in an answer.
const SAME_NAME: usize = 100;

/// Players whose name begins alike in an answer.
const SAME_PREFIX: usize = 20;

fn reply<'a>(
    player: &'a PlayerId,
    profile: &'a Profile,
    entries: Option<&'a [CurrentEntry]>,
    exactness: Exactness,
) -> PlayerReply<'a> {
    PlayerReply {
        user_id: player,
        name: profile.name.as_deref(),
        avatar_url: profile.avatar_url.as_ref().map(AvatarUrl::as_str),
        // Stored only after it was parsed as an object.
        attributes: profile
            .attributes
            .as_ref()
            .and_then(|text| serde_json::from_str::<&RawValue>(text.as_str()).ok()),
        boards: entries.map(|entries| entries.iter().map(CurrentReply::from).collect()),
        exactness: exactness.into(),
    }
}

/// Replace a player's profile.
#[utoipa::path(
    put,
    path = "/v1/players/{user_id}",
    operation_id = "put_player",
    tag = "Players",
    params(("user_id" = String, Path)),
    request_body = ProfileBody,
    responses((status = 200, description = "The profile is as given now.", body = PlayerReply)),
    security(("key" = ["game"])),
)]
pub(crate) async fn put(call: Call<'_>) -> Answer {
    let player = call.player()?.printable().map_err(invalid)?;
    call.no_query()?;
    let engine = call.engine()?;
    let profile = Profile::try_from(call.json::<ProfileBody>().await?)?;
    engine.put_player(&player, profile.clone()).await?;
    json(&reply(&player, &profile, None, Exactness::Exact))
}

/// Read a player's profile, with current scores and ranks.
#[utoipa::path(
    get,
    path = "/v1/players/{user_id}",
    operation_id = "player",
    tag = "Players",
    params(("user_id" = String, Path)),
    responses((status = 200, description = "The player.", body = PlayerReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn get(call: Call<'_>) -> Answer {
    let player = call.player()?;
    call.no_query()?;
    let info = call.engine()?.player(&player, BOARDS).await?;
    json(&reply(&info.player, &info.profile, Some(&info.entries), info.exactness))
}

/// Erase a player everywhere.
///
/// Profile, friends, boards, history, closed seasons and snapshots; the others keep their frozen ranks. No read shows the
/// player from now on, and the bytes are gone from the disk within 24 hours.
#[utoipa::path(
    delete,
    path = "/v1/players/{user_id}",
    operation_id = "erase_player",
    tag = "Players",
    params(("user_id" = String, Path)),
    responses((status = 204, description = "The player is erased.")),
    security(("key" = ["admin"])),
)]
pub(crate) async fn erase(call: Call<'_>) -> Answer {
    let player = call.player()?;
    call.no_query()?;
    call.engine()?.erase_player(&player).await?;
    // Not whom: a log outlives what is erased.
    tracing::info!("a player was erased");
    Ok(Reply::nothing())
}

/// What players are found by.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct NameParams {
    /// The whole name: up to 100 players.
    #[param(value_type = Option<String>)]
    name: Option<Name>,
    /// How the name begins: the first 20 players.
    #[param(value_type = Option<String>)]
    prefix: Option<Name>,
}

/// Find players by display name, in any letter case.
///
/// Up to 100 of one name, or the first 20 whose name begins so; the answer does not say whether there are more.
#[utoipa::path(
    get,
    path = "/v1/players",
    operation_id = "find_players",
    tag = "Players",
    params(NameParams),
    responses((status = 200, description = "Who is called so.", body = NamedList)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn find(call: Call<'_>) -> Answer {
    let (query, limit) = match call.query()? {
        NameParams { name: Some(name), prefix: None } => {
            (NameQuery::Is(name.to_string()), SAME_NAME)
        }
        NameParams { name: None, prefix: Some(prefix) } => {
            (NameQuery::StartsWith(prefix.to_string()), SAME_PREFIX)
        }
        _ => return Err(Problem::malformed("give either name or prefix")),
    };
    let players = call.engine()?.players_by_name(&query, limit).await?;
    let named = players
        .iter()
        .map(|player| NamedReply { user_id: &player.player, user_name: &player.name });
    json(&ListReply { data: named.collect() })
}
