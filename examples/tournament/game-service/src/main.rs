//! The service between players and Standings. Players' clients report wins here; what they say is checked against what the
//! service saw of the match, and only then does Standings hear of it. No client ever has a key, and none says how many points
//! a win is worth.
//!
//! A repeated report is harmless without any state here: the match is the event id, so that Standings counts it once, even
//! when this service was restarted in between.

mod matches;
mod standings;

use std::{io::Write as _, path::PathBuf, sync::Arc};

use anyhow::Context;
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use clap::Parser;
use serde::{Deserialize, Serialize};

use matches::Matches;
use standings::{Standings, Win};

/// What a win is worth.
const POINTS_PER_WIN: i64 = 1;

/// Validate wins and report them to Standings.
#[derive(Parser)]
struct Settings {
    /// Where players' clients call
    #[arg(long, default_value = "127.0.0.1:7900")]
    listen: String,
    /// What was played: CSV of `match_id,player_a,moves_a,player_b,moves_b`
    #[arg(long)]
    matches: PathBuf,
    /// The Standings server
    #[arg(long, env = "STANDINGS_SERVER", default_value = "http://127.0.0.1:7878")]
    server: String,
    /// A key with the role `game`
    #[arg(long, env = "STANDINGS_KEY", hide_env_values = true)]
    key: String,
}

struct Service {
    matches: Matches,
    standings: Standings,
}

/// What a client says. Anything else in it, such as points, is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    match_id: String,
    user_id: String,
}

/// Why a report does not count.
#[derive(Serialize)]
struct Refusal {
    code: &'static str,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::parse();
    let service = Arc::new(Service {
        matches: Matches::read(&settings.matches)?,
        standings: Standings::new(&settings.server, &settings.key),
    });
    let listener = tokio::net::TcpListener::bind(&settings.listen)
        .await
        .with_context(|| format!("cannot listen on {}", settings.listen))?;
    let mut out = std::io::stdout();
    writeln!(out, "The game service is ready at http://{}", listener.local_addr()?)?;
    out.flush()?;
    let router = Router::new().route("/wins", post(win)).with_state(service);
    axum::serve(listener, router).await.context("the service broke off")
}

/// A player reports a win.
async fn win(State(service): State<Arc<Service>>, Json(report): Json<Report>) -> Response {
    if let Err(foul) = service.matches.check_win(&report.match_id, &report.user_id) {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return (status, Json(Refusal { code: foul.code() })).into_response();
    }
    let win = Win { user_id: report.user_id, points: POINTS_PER_WIN, event_id: report.match_id };
    // The call blocks; a thread for it keeps the others going.
    let told = tokio::task::spawn_blocking(move || service.standings.submit(&win)).await;
    match told.map_err(anyhow::Error::from).flatten() {
        Ok(receipt) => Json(receipt).into_response(),
        // Perhaps it counted, perhaps not. To report it again is right in both cases.
        Err(error) => {
            eprintln!("a win was not passed on: {error:#}");
            let refusal = Json(Refusal { code: "try_again" });
            (StatusCode::SERVICE_UNAVAILABLE, refusal).into_response()
        }
    }
}
