//! Access keys.

use crate::{
    auth::{hash, new_key},
    call::Call,
    openapi::KeyList,
    problem::{Code, Problem},
    reply::{Answer, Reply, created, json},
    wire::{KeyReply, ListReply, NewKey, Time},
};

/// List the keys by name. The keys themselves are stored nowhere.
#[utoipa::path(
    get,
    path = "/v1/keys",
    operation_id = "keys",
    tag = "Keys",
    responses((status = 200, description = "All keys.", body = KeyList)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn list(call: Call<'_>) -> Answer {
    call.no_query()?;
    let keys = call.engine()?.keys().await?;
    let listed = keys.iter().map(|key| KeyReply {
        name: &key.name,
        role: key.role,
        created_at: Some(Time(key.created_at)),
        key: None,
    });
    json(&ListReply { data: listed.collect() })
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
pub(crate) async fn create(call: Call<'_>) -> Answer {
    call.no_query()?;
    let engine = call.engine()?;
    let new: NewKey = call.json().await?;
    let key = new_key().map_err(|error| {
        Problem::new(Code::Internal, "no random numbers are to be had").caused_by(error)
    })?;
    engine.put_key(&new.name, new.role, hash(key.as_bytes()), false).await?;
    tracing::info!(name = %new.name, role = ?new.role, "key made");
    let reply = KeyReply { name: &new.name, role: new.role, created_at: None, key: Some(&key) };
    created(&reply)
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
pub(crate) async fn delete(call: Call<'_>) -> Answer {
    let name = call.key_name()?;
    call.no_query()?;
    call.engine()?.delete_key(&name).await?;
    tracing::info!(%name, "key deleted");
    Ok(Reply::nothing())
}
