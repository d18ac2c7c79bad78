//! The handlers: each parses into domain types by its extractors, calls the engine once, and writes the answer.

pub(crate) mod boards;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod operations;
pub(crate) mod players;
pub(crate) mod read;
pub(crate) mod seasons;
pub(crate) mod submit;

use axum::response::Response;
use standings_engine::SeasonRef;

use crate::{
    extract::{Params, season_id},
    problem::Problem,
};

/// What a handler gives.
pub(crate) type Answer = Result<Response, Problem>;

/// The season that a query asks for.
pub(crate) fn season_param(params: &mut Params<'_>) -> Result<SeasonRef, Problem> {
    match params.take("season").as_deref() {
        None | Some("current") => Ok(SeasonRef::Current),
        Some("previous") => Ok(SeasonRef::Previous),
        Some(id) => season_id(id)
            .map(SeasonRef::Id)
            .map_err(|problem| problem.within("season is current, previous or an id")),
    }
}
