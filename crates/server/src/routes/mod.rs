//! The handlers: each parses into domain types by its extractors, calls the engine once, and writes the answer.

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

use axum::response::Response;
use standings_core::LocalDate;
use standings_engine::{SeasonRef, SnapshotRef, StandingRef};

use crate::{
    extract::{Params, invalid, season_id},
    problem::Problem,
};

/// What a handler gives.
pub(crate) type Answer = Result<Response, Problem>;

/// The season that a query asks for.
pub(crate) fn season_param(params: &mut Params<'_>) -> Result<Option<SeasonRef>, Problem> {
    let season = match params.take("season").as_deref() {
        None => return Ok(None),
        Some("current") => SeasonRef::Current,
        Some("previous") => SeasonRef::Previous,
        Some(id) => season_id(id)
            .map(SeasonRef::Id)
            .map_err(|problem| problem.within("season is current, previous or an id"))?,
    };
    Ok(Some(season))
}

/// The season or the snapshot that a query asks for.
pub(crate) fn standing_param(params: &mut Params<'_>) -> Result<Option<StandingRef>, Problem> {
    let snapshot = match params.take("snapshot").as_deref() {
        None => return Ok(season_param(params)?.map(StandingRef::Season)),
        Some("latest") => SnapshotRef::Latest,
        Some(date) => LocalDate::parse(date)
            .map(SnapshotRef::Date)
            .map_err(|error| invalid(error).within("snapshot is latest or a date"))?,
    };
    params.exclusive("snapshot", &["season"])?;
    Ok(Some(StandingRef::Snapshot(snapshot)))
}
