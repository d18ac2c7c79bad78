//! The list of routes, and their handlers: each reads domain types from its call, calls the engine once, and writes the answer.

pub(crate) mod boards;
pub(crate) mod friends;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod operations;
pub(crate) mod players;
pub(crate) mod read;
pub(crate) mod seasons;
pub(crate) mod snapshots;
pub(crate) mod submit;

use hyper::Method;
use serde::{Deserialize, Deserializer, de};
use standings_core::{LocalDate, SeasonId};
use standings_engine::{SeasonRef, SnapshotRef, StandingRef};

use crate::{auth::Access, problem::Problem, query, table::Line};

/// Writes lines of the list: who may call what, and what answers.
macro_rules! routes {
    ($($access:ident $method:ident $path:literal $handler:path;)*) => {
        &[$((Method::$method, $path, Access::$access, |call| Box::pin($handler(call))),)*]
    };
}

/// Every route of the server.
pub(crate) const ROUTES: &[Line] = routes! {
    // Submitting and reading; `/v1/scores` is the default board.
    Read  GET    "/v1/scores" read::page;
    Game  POST   "/v1/scores" submit::one;
    Read  GET    "/v1/scores/{user_id}" read::entry;
    Read  GET    "/v1/scores/at/{score}" read::place;
    Read  GET    "/v1/distribution" read::distribution;
    Read  GET    "/v1/boards/{board}/scores" read::page;
    Game  POST   "/v1/boards/{board}/scores" submit::one;
    Admin PUT    "/v1/boards/{board}/scores" import::scores;
    Game  POST   "/v1/boards/{board}/scores/batch" submit::batch;
    Read  GET    "/v1/boards/{board}/scores/{user_id}" read::entry;
    Admin DELETE "/v1/boards/{board}/scores/{user_id}" boards::remove_entry;
    Read  GET    "/v1/boards/{board}/scores/at/{score}" read::place;
    Read  GET    "/v1/boards/{board}/distribution" read::distribution;
    // Boards, seasons and snapshots.
    Read  GET    "/v1/boards" boards::list;
    Read  GET    "/v1/boards/{board}" boards::get;
    Admin PUT    "/v1/boards/{board}" boards::put;
    Admin DELETE "/v1/boards/{board}" boards::delete;
    Read  GET    "/v1/boards/{board}/seasons" seasons::list;
    Admin POST   "/v1/boards/{board}/seasons/close" seasons::close;
    Admin PUT    "/v1/boards/{board}/seasons/{season}" import::season;
    Read  GET    "/v1/boards/{board}/snapshots" snapshots::list;
    Admin POST   "/v1/boards/{board}/snapshots" snapshots::take;
    Admin PUT    "/v1/boards/{board}/snapshots/{date}" import::snapshot;
    // Players.
    Read  GET    "/v1/players" players::find;
    Read  GET    "/v1/players/{user_id}" players::get;
    Game  PUT    "/v1/players/{user_id}" players::put;
    Admin DELETE "/v1/players/{user_id}" players::erase;
    Read  GET    "/v1/players/{user_id}/friends" friends::get;
    Game  PUT    "/v1/players/{user_id}/friends" friends::put;
    Read  GET    "/v1/players/{user_id}/scores" history::scores;
    Read  GET    "/v1/players/{user_id}/seasons" history::seasons;
    Read  GET    "/v1/players/{user_id}/snapshots" history::snapshots;
    // Keys and operations.
    Admin GET    "/v1/keys" keys::list;
    Admin POST   "/v1/keys" keys::create;
    Admin DELETE "/v1/keys/{name}" keys::delete;
    Admin POST   "/v1/backup" operations::backup;
    Open  GET    "/healthz" operations::healthz;
    Open  GET    "/readyz" operations::readyz;
    Read  GET    "/metrics" operations::metrics;
    Open  GET    "/openapi.json" operations::openapi;
    Open  GET    "/docs" operations::docs;
    Open  GET    "/" operations::index;
};

/// Reads which season a query asks for.
fn season<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SeasonRef>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Some(match &*text {
        "current" => SeasonRef::Current,
        "previous" => SeasonRef::Previous,
        id => SeasonId::parse(id).map(SeasonRef::Id).map_err(|error| {
            de::Error::custom(format_args!("it is current, previous or an id: {error}"))
        })?,
    }))
}

/// Reads which snapshot a query asks for.
fn snapshot<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SnapshotRef>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Some(match &*text {
        "latest" => SnapshotRef::Latest,
        date => LocalDate::parse(date)
            .map(SnapshotRef::Date)
            .map_err(|error| de::Error::custom(format_args!("it is latest or a date: {error}")))?,
    }))
}

/// The season or the snapshot that a query asks for.
fn standing(
    season: Option<SeasonRef>,
    snapshot: Option<SnapshotRef>,
) -> Result<Option<StandingRef>, Problem> {
    let Some(snapshot) = snapshot else { return Ok(season.map(Into::into)) };
    query::alone("snapshot", &[("season", season.is_some())])?;
    Ok(Some(snapshot.into()))
}
