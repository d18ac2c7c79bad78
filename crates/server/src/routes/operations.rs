//! What an operator asks.

use hyper::header::CONTENT_SECURITY_POLICY;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    call::Call,
    openapi,
    reply::{Answer, Reply, json},
    wire::BackupTo,
};

/// That the server is as asked.
#[derive(Serialize, ToSchema)]
pub(crate) struct Status {
    /// `ok` or `ready`.
    status: &'static str,
}

/// Whether the process is up.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "healthz",
    tag = "Operations",
    responses((status = 200, description = "It is.", body = Status)),
)]
pub(crate) async fn healthz(_: Call<'_>) -> Answer {
    json(&Status { status: "ok" })
}

/// Whether it answers truthfully now: 503 until recovery is complete.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readyz",
    tag = "Operations",
    responses((status = 200, description = "It does.", body = Status)),
)]
pub(crate) async fn readyz(call: Call<'_>) -> Answer {
    call.engine()?.ready()?;
    json(&Status { status: "ready" })
}

/// Counters and histograms for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "Operations",
    responses((status = 200, description = "All series.", body = String, content_type = "application/openmetrics-text")),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn metrics(call: Call<'_>) -> Answer {
    call.no_query()?;
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(Reply::text(media, call.app.metrics.text()))
}

/// This document.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "Operations",
    responses((status = 200, description = "The API in OpenAPI 3.1.", body = Object)),
)]
pub(crate) async fn openapi(call: Call<'_>) -> Answer {
    call.no_query()?;
    Ok(Reply::text("application/json", openapi::document()))
}

/// This document, for people.
#[utoipa::path(
    get,
    path = "/docs",
    operation_id = "docs",
    tag = "Operations",
    responses((status = 200, description = "A page that needs nothing from elsewhere.", body = String, content_type = "text/html")),
)]
pub(crate) async fn docs(call: Call<'_>) -> Answer {
    call.no_query()?;
    // Nothing on the page comes from elsewhere or goes there.
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";
    let page = Reply::text("text/html; charset=utf-8", include_str!("../docs.html"));
    Ok(page.with(CONTENT_SECURITY_POLICY, policy))
}

/// What this is.
#[derive(Serialize)]
struct Index {
    name: &'static str,
    version: &'static str,
    docs: &'static str,
    openapi: &'static str,
}

pub(crate) async fn index(call: Call<'_>) -> Answer {
    call.no_query()?;
    let version = env!("CARGO_PKG_VERSION");
    let reply = Index { name: "standings", version, docs: "/docs", openapi: "/openapi.json" };
    json(&reply)
}

/// A finished backup.
#[derive(Serialize, ToSchema)]
pub(crate) struct Backup {
    path: String,
    /// Everything accepted up to this number of the ledger is in it.
    sequence: u64,
    bytes: u64,
}

/// Copy the running server's data to a directory on its own disk.
#[utoipa::path(
    post,
    path = "/v1/backup",
    operation_id = "backup",
    tag = "Operations",
    request_body = BackupTo,
    responses((status = 200, description = "The copy is complete and consistent.", body = Backup)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn backup(call: Call<'_>) -> Answer {
    call.no_query()?;
    let engine = call.engine()?;
    let to: BackupTo = call.json().await?;
    let made = engine.backup(&to.path).await?;
    let path = made.path.display().to_string();
    tracing::info!(path, sequence = made.sequence, bytes = made.bytes, "backup made");
    json(&Backup { path, sequence: made.sequence, bytes: made.bytes })
}
