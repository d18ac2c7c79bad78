//! Players and their profiles.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, Uri},
};
use serde_json::value::RawValue;
use standings_core::{Name, PlayerId, Profile, player::AvatarUrl};
use standings_engine::{CurrentEntry, NameQuery};

use crate::{
    app::App,
    auth::{Admin, Game, Reader},
    extract::{Json, NoParams, OfPlayer, Params, invalid},
    openapi::NamedList,
    problem::Problem,
    wire::{CurrentReply, ListReply, NamedReply, PlayerReply, ProfileBody, json, no_content},
};

use super::Answer;

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
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    _: Game,
    OfPlayer(player): OfPlayer,
    _: NoParams,
    Json(body): Json<ProfileBody>,
) -> Answer {
    let player = player.printable().map_err(invalid)?;
    let profile = Profile::try_from(body)?;
    app.engine()?.put_player(&player, profile.clone()).await?;
    Ok(json(StatusCode::OK, &reply(&player, &profile, None)))
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
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    _: Reader,
    OfPlayer(player): OfPlayer,
    _: NoParams,
) -> Answer {
    let info = app.engine()?.player(&player, BOARDS).await?;
    Ok(json(StatusCode::OK, &reply(&info.player, &info.profile, Some(&info.entries))))
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
pub(crate) async fn erase(
    State(app): State<Arc<App>>,
    _: Admin,
    OfPlayer(player): OfPlayer,
    _: NoParams,
) -> Answer {
    app.engine()?.erase_player(&player).await?;
    // Not whom: a log outlives what is erased.
    tracing::info!("a player was erased");
    Ok(no_content())
}

/// Find players by display name, in any letter case.
///
/// Up to 100 of one name, or the first 20 whose name begins so; the answer does not say whether there are more.
#[utoipa::path(
    get,
    path = "/v1/players",
    operation_id = "find_players",
    tag = "Players",
    params(
        ("name" = Option<String>, Query, description = "The whole name: up to 100 players."),
        ("prefix" = Option<String>, Query, description = "How the name begins: the first 20 players."),
    ),
    responses((status = 200, description = "Who is called so.", body = NamedList)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn find(State(app): State<Arc<App>>, _: Reader, uri: Uri) -> Answer {
    let mut params = Params::parse(uri.query())?;
    let (name, prefix) = (params.take("name"), params.take("prefix"));
    params.finish("name or prefix")?;
    let valid = |text: &str| Name::new(text).map(|name| name.to_string()).map_err(invalid);
    let (query, limit) = match (name, prefix) {
        (Some(name), None) => (NameQuery::Is(valid(&name)?), SAME_NAME),
        (None, Some(prefix)) => (NameQuery::StartsWith(valid(&prefix)?), SAME_PREFIX),
        _ => return Err(Problem::malformed("give either name or prefix")),
    };
    let players = app.engine()?.players_by_name(&query, limit).await?;
    let named = players
        .iter()
        .map(|player| NamedReply { user_id: &player.player, user_name: &player.name });
    Ok(json(StatusCode::OK, &ListReply { data: named.collect() }))
}
