//! What an operator asks, and what answers where there is no route.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    auth::Admin,
    extract::{Json, NoParams},
    openapi,
    problem::{Code, Problem},
    wire::{BackupTo, json},
};

use super::Answer;

fn text(content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

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
pub(crate) async fn healthz() -> Response {
    json(StatusCode::OK, &Status { status: "ok" })
}

/// Whether it answers truthfully now: 503 until recovery is complete.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readyz",
    tag = "Operations",
    responses((status = 200, description = "It does.", body = Status)),
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Answer {
    app.engine()?.ready().await?;
    Ok(json(StatusCode::OK, &Status { status: "ready" }))
}

/// Counters and histograms for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "Operations",
    responses((status = 200, description = "All series.", body = String, content_type = "application/openmetrics-text")),
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>, _: NoParams) -> Response {
    text("application/openmetrics-text; version=1.0.0; charset=utf-8", app.metrics.text())
}

/// This document.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "Operations",
    responses((status = 200, description = "The API in OpenAPI 3.1.", body = Object)),
)]
pub(crate) async fn openapi(_: NoParams) -> Response {
    text("application/json", openapi::document())
}

/// This document, for people.
#[utoipa::path(
    get,
    path = "/docs",
    operation_id = "docs",
    tag = "Operations",
    responses((status = 200, description = "A page that needs nothing from elsewhere.", body = String, content_type = "text/html")),
)]
pub(crate) async fn docs(_: NoParams) -> Response {
    let mut page = text("text/html; charset=utf-8", include_str!("../docs.html"));
    // Nothing on the page comes from elsewhere or goes there.
    let policy = HeaderValue::from_static(
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'",
    );
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    page
}

/// What this is.
#[derive(Serialize)]
struct Index {
    name: &'static str,
    version: &'static str,
    docs: &'static str,
    openapi: &'static str,
}

pub(crate) async fn index(_: NoParams) -> Response {
    let version = env!("CARGO_PKG_VERSION");
    let reply = Index { name: "standings", version, docs: "/docs", openapi: "/openapi.json" };
    json(StatusCode::OK, &reply)
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
pub(crate) async fn backup(
    State(app): State<Arc<App>>,
    _: Admin,
    _: NoParams,
    Json(to): Json<BackupTo>,
) -> Answer {
    let made = app.engine()?.backup(&to.path).await?;
    let path = made.path.display().to_string();
    tracing::info!(path, sequence = made.sequence, bytes = made.bytes, "backup made");
    Ok(json(StatusCode::OK, &Backup { path, sequence: made.sequence, bytes: made.bytes }))
}

pub(crate) async fn not_found() -> Problem {
    Problem::new(Code::NotFound, "there is nothing at this address; GET /docs shows what there is")
}

pub(crate) async fn method_not_allowed() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "the Allow header lists what this address takes; see GET /docs",
    )
}
