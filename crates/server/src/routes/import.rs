//! Imports: NDJSON of any length, read as it comes.

use serde::{Serialize, de::DeserializeOwned};
use standings_core::SeasonId;
use standings_engine::{EngineError, Imported, ScoreRow, StandingImport};
use utoipa::ToSchema;

use crate::{
    call::Call,
    ndjson::Rows,
    problem::{Code, Problem},
    reply::{Answer, accepted, json},
    wire::{RowBody, SnapshotReply, SnapshotRowBody, WRITING},
};

/// What was set.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScoresSet<'a> {
    board: &'a str,
    #[schema(value_type = String)]
    season: &'a SeasonId,
    /// How many rows.
    rows: u64,
}

/// Set scores of the current season.
///
/// Whatever the board's rule, for imports and corrections. The rows before one that cannot be read are applied. All rows go to one
/// season: when it ends before the last of them has come, the others are refused with `season_closed`.
#[utoipa::path(
    put,
    path = "/v1/boards/{board}/scores",
    operation_id = "set_scores",
    tag = "Scores",
    params(("board" = String, Path)),
    request_body(content = RowBody, content_type = "application/x-ndjson"),
    responses((status = 200, description = "All rows are set.", body = ScoresSet)),
    security(("key" = ["admin"])),
)]
pub(crate) async fn scores(call: Call<'_>) -> Answer {
    let (board, engine) = (call.board()?, call.engine()?);
    call.no_query()?;
    let mut rows = Rows::of(call)?;
    let mut applied = 0;
    let (mut chunk, mut bad) = rows.chunk::<RowBody>().await;
    let mut begun = None;
    let season = loop {
        let count = chunk.len() as u64;
        let set = engine.set_scores(&board, begun.as_ref(), chunk);
        // The next rows are read while these become durable.
        let (set, next) = match bad {
            None => tokio::join!(set, rows.chunk::<RowBody>()),
            Some(_) => (set.await, (Vec::new(), None)),
        };
        let set = set.map_err(|error| after(applied, refused(applied, error)))?;
        applied += count;
        if let Some(problem) = bad {
            return Err(after(applied, problem));
        }
        (chunk, bad) = next;
        if chunk.is_empty() && bad.is_none() {
            break set.season;
        }
        begun = Some(set);
    };
    tracing::info!(%board, %season, rows = applied, "scores set");
    json(&ScoresSet { board: &board, season: &season, rows: applied })
}

/// Why rows were not taken, after so many that were. The engine counts the rows of one call, and its "nothing was applied" is
/// about that call alone.
fn refused(applied: u64, error: EngineError) -> Problem {
    match error {
        EngineError::BadRow { row, rule, why } => {
            EngineError::BadRow { row: applied + row, rule, why }.into()
        }
        EngineError::Unavailable { retry_after, .. } | EngineError::Overloaded { retry_after }
            if applied > 0 =>
        {
            let detail = "the server cannot take the others now; send all rows again, which sets the first anew";
            Problem::new(Code::OutcomeUnknown, detail).caused_by(error).retry_after(retry_after)
        }
        error => error.into(),
    }
}

fn after(applied: u64, problem: Problem) -> Problem {
    match applied {
        0 => problem.within("no row was applied"),
        1 => problem.within("the first row was applied"),
        rows => problem.within(format_args!("the first {rows} rows were applied")),
    }
}

/// What was imported.
#[derive(Serialize, ToSchema)]
pub(crate) struct SeasonImported<'a> {
    #[schema(value_type = String)]
    season: &'a SeasonId,
    players: u64,
    /// Present while it is not in place yet. Nothing more is to be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "writing")]
    state: Option<&'static str>,
}

/// Import a closed season whole.
///
/// Ranks are computed here. It replaces what was there, wholly or not at all. A season that the board's `keep` does not reach is
/// refused with `past_retention`: change `keep` first.
#[utoipa::path(
    put,
    path = "/v1/boards/{board}/seasons/{season}",
    operation_id = "import_season",
    tag = "Seasons",
    params(("board" = String, Path), ("season" = String, Path, example = "2026-10")),
    request_body(content = RowBody, content_type = "application/x-ndjson"),
    responses(
        (status = 200, description = "The season is as given.", body = SeasonImported),
        (status = 202, description = "All rows are taken, and the season will be as given.", body = SeasonImported),
    ),
    security(("key" = ["admin"])),
)]
pub(crate) async fn season(call: Call<'_>) -> Answer {
    let (board, season, engine) = (call.board()?, call.season()?, call.engine()?);
    call.no_query()?;
    let rows = Rows::of(call)?;
    let import = engine.import_season(&board, &season).await?;
    let Imported { players, in_place } = whole::<RowBody>(import, rows).await?;
    tracing::info!(%board, %season, players, "season imported");
    let reply = SeasonImported { season: &season, players, state: (!in_place).then_some(WRITING) };
    if in_place { json(&reply) } else { accepted(&reply) }
}

/// Import a snapshot whole.
///
/// Ranks are computed here; rows may carry the `official_rank` that someone else gave. It replaces what was there, wholly or
/// not at all.
#[utoipa::path(
    put,
    path = "/v1/boards/{board}/snapshots/{date}",
    operation_id = "import_snapshot",
    tag = "Snapshots",
    params(("board" = String, Path), ("date" = String, Path, example = "2026-02-21")),
    request_body(content = SnapshotRowBody, content_type = "application/x-ndjson"),
    responses(
        (status = 200, description = "The snapshot is as given.", body = SnapshotReply),
        (status = 202, description = "All rows are taken, and the snapshot will be as given.", body = SnapshotReply),
    ),
    security(("key" = ["admin"])),
)]
pub(crate) async fn snapshot(call: Call<'_>) -> Answer {
    let (board, snapshot, engine) = (call.board()?, call.date()?, call.engine()?);
    call.no_query()?;
    let rows = Rows::of(call)?;
    let import = engine.import_snapshot(&board, snapshot).await?;
    let Imported { players, in_place } = whole::<SnapshotRowBody>(import, rows).await?;
    tracing::info!(%board, %snapshot, players, "snapshot imported");
    let state = (!in_place).then_some(WRITING);
    let reply = SnapshotReply { snapshot, players: Some(players), state };
    if in_place { json(&reply) } else { accepted(&reply) }
}

/// Puts all rows in place of what was there, or none.
async fn whole<T>(
    mut import: Box<dyn StandingImport>,
    mut rows: Rows<'_>,
) -> Result<Imported, Problem>
where
    T: DeserializeOwned + Into<ScoreRow>,
{
    let nothing = |problem: Problem| problem.within("nothing was imported");
    let (mut chunk, mut bad) = rows.chunk::<T>().await;
    if chunk.is_empty() && bad.is_none() {
        // More likely a pipe that broke than a standing to be emptied.
        bad = Some(Problem::new(Code::Malformed, "the body has no rows"));
    }
    while bad.is_none() && !chunk.is_empty() {
        let (taken, next) = tokio::join!(import.rows(chunk), rows.chunk::<T>());
        (chunk, bad) = next;
        bad = taken.err().map(Problem::from).or(bad);
    }
    match bad {
        Some(problem) => {
            import.abort().await;
            Err(nothing(problem))
        }
        None => Ok(import.finish().await?),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper::HeaderMap;

    use super::*;

    #[test]
    fn nothing_was_applied_is_said_only_where_nothing_was() {
        let overloaded = || EngineError::Overloaded { retry_after: Duration::from_secs(3) };
        assert_eq!(refused(0, overloaded()).code(), Code::Overloaded);
        let problem = after(4096, refused(4096, overloaded()));
        assert_eq!(problem.code(), Code::OutcomeUnknown);
        assert!(problem.detail().starts_with("the first 4096 rows were applied: "));
        assert!(!problem.detail().contains("nothing was applied"));
        assert!(
            problem.cause().is_some_and(|cause| cause.contains("are waiting than can be taken"))
        );
        let mut headers = HeaderMap::new();
        problem.say(&mut headers);
        assert_eq!(headers["retry-after"], "3");
        let retry_after = Duration::from_secs(1);
        let unavailable = EngineError::Unavailable { why: "no room".into(), retry_after };
        assert_eq!(refused(1, unavailable).code(), Code::OutcomeUnknown);
    }

    #[test]
    fn a_bad_row_is_counted_from_the_first_of_the_body() {
        let bad = EngineError::BadRow { row: 2, rule: None, why: "no such time".into() };
        let detail = refused(4096, bad).detail().to_owned();
        assert!(detail.contains("4098"), "{detail}");
    }
}
