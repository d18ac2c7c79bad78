//! Access keys.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};

use crate::{
    app::App,
    auth::{Admin, hash, new_key},
    extract::{Json, NoParams, OfKey},
    openapi::KeyList,
    problem::{Code, Problem},
    wire::{KeyReply, ListReply, NewKey, Time, json, no_content},
};

use super::Answer;

/// List the keys by name. The keys themselves are stored nowhere.
#[utoipa::path(
    get,
    path = "/v1/keys",
    operation_id = "keys",
    tag = "Keys",
    responses((status = 200, description = "All keys.", body = KeyList)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn list(State(app): State<Arc<App>>, _: Admin, _: NoParams) -> Answer {
    let keys = app.engine()?.keys().await?;
    let listed = keys.iter().map(|key| KeyReply {
        name: &key.name,
        role: key.role,
        created_at: Some(Time(key.created_at)),
        key: None,
    });
    Ok(json(StatusCode::OK, &ListReply { data: listed.collect() }))
}

/// Make a key.
///
/// The only answer that ever shows it.
#[utoipa::path(
    post,
    path = "/v1/keys",
    operation_id = "create_key",
    tag = "Keys",
    request_body = NewKey,
    responses((status = 201, description = "The key.", body = KeyReply)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    _: Admin,
    _: NoParams,
    Json(new): Json<NewKey>,
) -> Answer {
    let key = new_key().map_err(|error| {
        Problem::new(Code::Internal, "no random numbers are to be had").caused_by(error)
    })?;
    app.engine()?.put_key(&new.name, new.role, hash(key.as_bytes()), false).await?;
    tracing::info!(name = %new.name, role = ?new.role, "key made");
    let reply = KeyReply { name: &new.name, role: new.role, created_at: None, key: Some(&key) };
    Ok(json(StatusCode::CREATED, &reply))
}

/// Delete a key. It stops working at once.
#[utoipa::path(
    delete,
    path = "/v1/keys/{name}",
    operation_id = "delete_key",
    tag = "Keys",
    params(("name" = String, Path)),
    responses((status = 204, description = "It is gone.")),
    security(("key" = ["admin"])),
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    _: Admin,
    OfKey(name): OfKey,
    _: NoParams,
) -> Answer {
    app.engine()?.delete_key(&name).await?;
    tracing::info!(%name, "key deleted");
    Ok(no_content())
}
