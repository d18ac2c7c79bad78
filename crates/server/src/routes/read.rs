//! Reading a board.

use std::collections::HashSet;

use serde::Deserialize;
use standings_core::{BoardId, PlayerId, Score, limits::IDS_PER_CALL};
use standings_engine::{
    Filter, Page, PageQuery, Place, SeasonRef, SnapshotRef, StandingId, StandingRef, Start,
};
use utoipa::IntoParams;

use crate::{
    call::{Call, invalid},
    cursor::Cursor,
    problem::{Code, Problem},
    query::{self, whole},
    reply::{Answer, json, json_sized},
    wire::{DistributionReply, EntryReply, PageReply, PlaceReply, ROW_BYTES, RowsReply},
};

use super::standing;

/// Rows of a page where the client does not say.
const DEFAULT_ROWS: usize = 10;

/// Which rows of a board are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageParams {
    /// `current` (the default), `previous`, or an id.
    #[serde(deserialize_with = "super::season")]
    #[param(value_type = Option<String>)]
    season: Option<SeasonRef>,
    /// The board as it was at a date, or `latest`; instead of `season`.
    #[serde(deserialize_with = "super::snapshot")]
    #[param(value_type = Option<String>, example = "2026-02-21")]
    snapshot: Option<SnapshotRef>,
    /// Rows in the page; 10 by default.
    #[serde(deserialize_with = "whole::<1, 1000, _, _>")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Rows to skip.
    #[serde(deserialize_with = "whole::<0, 9_007_199_254_740_991, _, _>")]
    offset: Option<u64>,
    /// `next` of the page before. It carries season or snapshot, and filters.
    after: Option<String>,
    /// Scores from this number up.
    #[param(value_type = Option<i64>)]
    min: Option<Score>,
    /// Scores up to this number.
    #[param(value_type = Option<i64>)]
    max: Option<Score>,
    /// Only who met the board's goal, or only who did not.
    success: Option<bool>,
    /// Up to 1,000 players, separated by commas; alone but for `season` or `snapshot`.
    ids: Option<String>,
}

/// Read a page of a board, or the rows of given players.
///
/// Rows are ordered best first, then by `at`, then by the bytes of `user_id`.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/scores",
    operation_id = "page",
    tag = "Scores",
    params(("board" = String, Path), PageParams),
    responses((status = 200, description = "The rows.", body = PageReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn page(call: Call<'_>) -> Answer {
    let board = call.board()?;
    let mut asked: PageParams = call.query()?;
    if let Some(ids) = asked.ids.take() {
        return selected(call, &board, &ids, asked).await;
    }
    let query = page_query(&board, asked)?;
    let page = call.engine()?.page(&board, &query).await?;
    let reply = PageReply {
        board: &board,
        season: &page.standing.season,
        snapshot: page.standing.snapshot,
        data: RowsReply(&page.rows),
        total: page.rows.len(),
        players: page.players,
        next: next(&board, &page, query.filter),
        missing: None,
        exactness: page.exactness.into(),
    };
    json_sized(256 + page.rows.len() * ROW_BYTES, &reply)
}

fn page_query(board: &BoardId, asked: PageParams) -> Result<PageQuery, Problem> {
    let PageParams { season, snapshot, offset, after, min, max, success, .. } = asked;
    let standing = standing(season, snapshot)?;
    let limit = asked.limit.unwrap_or(DEFAULT_ROWS);
    let filter = Filter { min, max, success };
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        return Err(Problem::malformed("min must not be greater than max"));
    }
    let Some(after) = after else {
        let (standing, start) =
            (standing.unwrap_or_default(), Start::Offset(offset.unwrap_or_default()));
        return Ok(PageQuery { standing, filter, start, limit });
    };
    query::alone("after", &[("offset", offset.is_some())])?;
    let cursor = Cursor::decode(board, &after)?;
    // A client may repeat the parameters of the first page, but not change them halfway.
    let repeats = (filter == Filter::default() || filter == cursor.filter)
        && standing.is_none_or(|standing| may_be(&standing, &cursor.standing));
    if !repeats {
        let detail = "after continues another list: season, snapshot, min, max and success must be those of the first page, or absent";
        return Err(Problem::new(Code::BadCursor, detail));
    }
    Ok(PageQuery {
        standing: match cursor.standing.snapshot {
            Some(date) => SnapshotRef::Date(date).into(),
            None => SeasonRef::Id(cursor.standing.season).into(),
        },
        filter: cursor.filter,
        start: Start::After(cursor.place),
        limit,
    })
}

/// Whether a standing may have been asked for in these words. What was current or the latest need not be so any more.
fn may_be(asked: &StandingRef, read: &StandingId) -> bool {
    match asked {
        StandingRef::Season(SeasonRef::Id(id)) => read.snapshot.is_none() && *id == read.season,
        StandingRef::Season(_) => read.snapshot.is_none(),
        StandingRef::Snapshot(SnapshotRef::Date(date)) => read.snapshot == Some(*date),
        StandingRef::Snapshot(SnapshotRef::Latest) => read.snapshot.is_some(),
    }
}

fn next(board: &BoardId, page: &Page, filter: Filter) -> Option<String> {
    let last = page.rows.last().filter(|_| page.more)?;
    let place = Place { score: last.score, at: last.at, player: last.player.clone() };
    Some(Cursor { standing: page.standing.clone(), filter, place }.encode(board))
}

async fn selected(call: Call<'_>, board: &BoardId, ids: &str, asked: PageParams) -> Answer {
    let PageParams { season, snapshot, limit, offset, after, min, max, success, ids: _ } = asked;
    let others = [
        ("limit", limit.is_some()),
        ("offset", offset.is_some()),
        ("after", after.is_some()),
        ("min", min.is_some()),
        ("max", max.is_some()),
        ("success", success.is_some()),
    ];
    query::alone("ids", &others)?;
    let standing = standing(season, snapshot)?.unwrap_or_default();
    let players = ids.split(',').map(PlayerId::new).collect::<Result<Vec<_>, _>>();
    let mut players = players.map_err(|error| invalid(error).within("ids"))?;
    // Who is asked for twice is answered once.
    let mut seen = HashSet::new();
    players.retain(|player| seen.insert(player.clone()));
    if players.len() > IDS_PER_CALL {
        return Err(Problem::malformed(format!("ids takes up to {IDS_PER_CALL} players")));
    }
    let selected = call.engine()?.rows_of(board, &standing, &players).await?;
    let reply = PageReply {
        board,
        season: &selected.standing.season,
        snapshot: selected.standing.snapshot,
        data: RowsReply(&selected.rows),
        total: selected.rows.len(),
        players: selected.players,
        next: None,
        missing: Some(selected.missing.iter().map(PlayerId::as_str).collect()),
        exactness: selected.exactness.into(),
    };
    json_sized(256 + players.len() * ROW_BYTES, &reply)
}

/// What is wanted of one player's entry.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EntryParams {
    /// `current` (the default), `previous`, or an id.
    #[serde(deserialize_with = "super::season")]
    #[param(value_type = Option<String>)]
    season: Option<SeasonRef>,
    /// The board as it was at a date, or `latest`; instead of `season`.
    #[serde(deserialize_with = "super::snapshot")]
    #[param(value_type = Option<String>, example = "2026-02-21")]
    snapshot: Option<SnapshotRef>,
    /// Rows on each side; not together with `friends`.
    #[serde(deserialize_with = "whole::<0, 100, _, _>")]
    #[param(value_type = Option<u32>, minimum = 0, maximum = 100)]
    around: Option<usize>,
    /// The player among friends.
    friends: Option<bool>,
}

/// Read one player's entry.
///
/// With `around`, also the rows on each side, filled up from the other side at an edge. With `friends`, instead, the
/// player and the friends on the player's list, ranked among each other; `user_info` is then null for a player without an
/// entry, which is otherwise 404.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/scores/{user_id}",
    operation_id = "entry",
    tag = "Scores",
    params(("board" = String, Path), ("user_id" = String, Path), EntryParams),
    responses((status = 200, description = "The entry.", body = EntryReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn entry(call: Call<'_>) -> Answer {
    let (board, player) = (call.board()?, call.player()?);
    let EntryParams { season, snapshot, around, friends } = call.query()?;
    let standing = standing(season, snapshot)?.unwrap_or_default();
    let engine = call.engine()?;
    if friends == Some(true) {
        query::alone("friends", &[("around", around.is_some())])?;
        let among = engine.among_friends(&board, &standing, &player).await?;
        return json_sized((2 + among.rows.len()) * ROW_BYTES, &EntryReply::among_friends(&among));
    }
    let entry = engine.entry(&board, &standing, &player, around).await?;
    let size = (2 + entry.around.len()) * ROW_BYTES;
    json_sized(size, &EntryReply::new(&entry, around.is_some()))
}

/// What is wanted of the place of a score.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct PlaceParams {
    /// `current` (the default), `previous`, or an id.
    #[serde(deserialize_with = "super::season")]
    #[param(value_type = Option<String>)]
    season: Option<SeasonRef>,
    /// The board as it was at a date, or `latest`; instead of `season`.
    #[serde(deserialize_with = "super::snapshot")]
    #[param(value_type = Option<String>, example = "2026-02-21")]
    snapshot: Option<SnapshotRef>,
    /// Rows on each side; none by default.
    #[serde(deserialize_with = "whole::<0, 100, _, _>")]
    #[param(value_type = Option<u32>, minimum = 0, maximum = 100)]
    around: Option<usize>,
}

/// Where a score would stand.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/scores/at/{score}",
    operation_id = "place",
    tag = "Scores",
    params(("board" = String, Path), ("score" = i64, Path), PlaceParams),
    responses((status = 200, description = "The place.", body = PlaceReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn place(call: Call<'_>) -> Answer {
    let (board, score) = (call.board()?, call.score()?);
    let PlaceParams { season, snapshot, around } = call.query()?;
    let standing = standing(season, snapshot)?.unwrap_or_default();
    let around = around.unwrap_or(0);
    let place = call.engine()?.place_of(&board, &standing, score, around).await?;
    let size = (1 + place.around.len()) * ROW_BYTES;
    json_sized(size, &PlaceReply::new(score, &place))
}

/// Of which standing the distribution is wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct StandingParams {
    /// `current` (the default), `previous`, or an id.
    #[serde(deserialize_with = "super::season")]
    #[param(value_type = Option<String>)]
    season: Option<SeasonRef>,
    /// The board as it was at a date, or `latest`; instead of `season`.
    #[serde(deserialize_with = "super::snapshot")]
    #[param(value_type = Option<String>, example = "2026-02-21")]
    snapshot: Option<SnapshotRef>,
}

/// How the scores of a season or a snapshot are distributed.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/distribution",
    operation_id = "distribution",
    tag = "Scores",
    params(("board" = String, Path), StandingParams),
    responses((status = 200, description = "The distribution.", body = DistributionReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn distribution(call: Call<'_>) -> Answer {
    let board = call.board()?;
    let StandingParams { season, snapshot } = call.query()?;
    let standing = standing(season, snapshot)?.unwrap_or_default();
    let distribution = call.engine()?.distribution(&board, &standing).await?;
    json(&DistributionReply::from(&distribution))
}
