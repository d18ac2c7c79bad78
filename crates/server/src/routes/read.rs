//! Reading a board.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, Uri},
};
use standings_core::{
    BoardId, PlayerId,
    limits::{AROUND_ROWS, IDS_PER_CALL, MAX_SCORE, PAGE_ROWS},
};
use standings_engine::{
    Filter, Page, PageQuery, Place, SeasonRef, SnapshotRef, StandingId, StandingRef, Start,
};

use crate::{
    app::App,
    auth::Reader,
    cursor::Cursor,
    extract::{OfPlayer, OfScore, OnBoard, Params, invalid},
    problem::{Code, Problem},
    wire::{
        DistributionReply, EntryReply, PageReply, PlaceReply, ROW_BYTES, RowsReply, json,
        json_body, json_sized, write_json,
    },
};

use super::{Answer, standing_param};

const PAGE_PARAMS: [&str; 6] = ["limit", "offset", "after", "min", "max", "success"];

/// Rows of a page where the client does not say.
const DEFAULT_ROWS: usize = 10;

/// Read a page of a board, or the rows of given players.
///
/// Rows are ordered best first, then by `at`, then by the bytes of `user_id`.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/scores",
    operation_id = "page",
    tag = "Scores",
    params(
        ("board" = String, Path),
        ("season" = Option<String>, Query, description = "`current` (the default), `previous`, or an id."),
        ("snapshot" = Option<String>, Query, example = "2026-02-21", description = "The board as it was at a date, or `latest`; instead of `season`."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Rows in the page; 10 by default."),
        ("offset" = Option<u64>, Query, description = "Rows to skip."),
        ("after" = Option<String>, Query, description = "`next` of the page before. It carries season or snapshot, and filters."),
        ("min" = Option<i64>, Query, description = "Scores from this number up."),
        ("max" = Option<i64>, Query, description = "Scores up to this number."),
        ("success" = Option<bool>, Query, description = "Only who met the board's goal, or only who did not."),
        ("ids" = Option<String>, Query, description = "Up to 1,000 players, separated by commas; alone but for `season` or `snapshot`."),
    ),
    responses((status = 200, description = "The rows.", body = PageReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    _: Reader,
    OnBoard(board): OnBoard,
    uri: Uri,
) -> Answer {
    let mut body = Vec::new();
    write_page(&app, &board, uri.query(), &mut body).await?;
    Ok(json_body(body))
}

/// Writes a page, or the rows of given players.
pub(crate) async fn write_page(
    app: &App,
    board: &BoardId,
    query: Option<&str>,
    body: &mut Vec<u8>,
) -> Result<(), Problem> {
    let mut params = Params::parse(query)?;
    if let Some(ids) = params.take("ids") {
        params.exclusive("ids", &PAGE_PARAMS)?;
        let standing = standing_param(&mut params)?.unwrap_or_default();
        params.finish("ids, and season or snapshot")?;
        return selected(app, board, &standing, &ids, body).await;
    }
    let query = page_query(board, &mut params)?;
    params.finish("season or snapshot, limit, offset, after, min, max, success or ids")?;
    let page = app.engine()?.page(board, &query).await?;
    let reply = PageReply {
        board,
        season: &page.standing.season,
        snapshot: page.standing.snapshot,
        data: RowsReply(&page.rows),
        total: page.rows.len(),
        players: page.players,
        next: next(board, &page, query.filter),
        missing: None,
    };
    body.reserve(256 + page.rows.len() * ROW_BYTES);
    write_json(body, &reply)
}

pub(crate) fn page_query(board: &BoardId, params: &mut Params<'_>) -> Result<PageQuery, Problem> {
    let standing = standing_param(params)?;
    let limit = params.whole("limit", 1..=PAGE_ROWS)?.unwrap_or(DEFAULT_ROWS);
    let filter = Filter {
        min: params.score("min")?,
        max: params.score("max")?,
        success: params.flag("success")?,
    };
    if let (Some(min), Some(max)) = (filter.min, filter.max)
        && min > max
    {
        return Err(Problem::malformed("min must not be greater than max"));
    }
    let Some(after) = params.take("after") else {
        let offset = params.whole("offset", 0..=MAX_SCORE.unsigned_abs())?.unwrap_or(0);
        return Ok(PageQuery {
            standing: standing.unwrap_or_default(),
            filter,
            start: Start::Offset(offset),
            limit,
        });
    };
    params.exclusive("after", &["offset"])?;
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

async fn selected(
    app: &App,
    board: &BoardId,
    standing: &StandingRef,
    ids: &str,
    body: &mut Vec<u8>,
) -> Result<(), Problem> {
    let players = ids.split(',').map(PlayerId::new).collect::<Result<Vec<_>, _>>();
    let mut players = players.map_err(|error| invalid(error).within("ids"))?;
    // Who is asked for twice is answered once.
    let mut seen = std::collections::HashSet::new();
    players.retain(|player| seen.insert(player.clone()));
    if players.len() > IDS_PER_CALL {
        return Err(Problem::malformed(format!("ids takes up to {IDS_PER_CALL} players")));
    }
    let selected = app.engine()?.rows_of(board, standing, &players).await?;
    let reply = PageReply {
        board,
        season: &selected.standing.season,
        snapshot: selected.standing.snapshot,
        data: RowsReply(&selected.rows),
        total: selected.rows.len(),
        players: selected.players,
        next: None,
        missing: Some(selected.missing.iter().map(PlayerId::as_str).collect()),
    };
    body.reserve(256 + players.len() * ROW_BYTES);
    write_json(body, &reply)
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
    params(
        ("board" = String, Path),
        ("user_id" = String, Path),
        ("season" = Option<String>, Query, description = "`current` (the default), `previous`, or an id."),
        ("snapshot" = Option<String>, Query, example = "2026-02-21", description = "The board as it was at a date, or `latest`; instead of `season`."),
        ("around" = Option<u32>, Query, minimum = 0, maximum = 100, description = "Rows on each side; not together with `friends`."),
        ("friends" = Option<bool>, Query, description = "The player among friends."),
    ),
    responses((status = 200, description = "The entry.", body = EntryReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn entry(
    State(app): State<Arc<App>>,
    _: Reader,
    OnBoard(board): OnBoard,
    OfPlayer(player): OfPlayer,
    uri: Uri,
) -> Answer {
    let mut body = Vec::new();
    write_entry(&app, &board, &player, uri.query(), &mut body).await?;
    Ok(json_body(body))
}

/// Writes one player's entry.
pub(crate) async fn write_entry(
    app: &App,
    board: &BoardId,
    player: &PlayerId,
    query: Option<&str>,
    body: &mut Vec<u8>,
) -> Result<(), Problem> {
    let mut params = Params::parse(query)?;
    let standing = standing_param(&mut params)?.unwrap_or_default();
    if params.flag("friends")? == Some(true) {
        params.exclusive("friends", &["around"])?;
        params.finish("season or snapshot, around or friends")?;
        let among = app.engine()?.among_friends(board, &standing, player).await?;
        body.reserve((2 + among.rows.len()) * ROW_BYTES);
        return write_json(body, &EntryReply::among_friends(&among));
    }
    let around = params.whole("around", 0..=AROUND_ROWS)?;
    params.finish("season or snapshot, around or friends")?;
    let entry = app.engine()?.entry(board, &standing, player, around).await?;
    body.reserve((2 + entry.around.len()) * ROW_BYTES);
    write_json(body, &EntryReply::new(&entry, around.is_some()))
}

/// Where a score would stand.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/scores/at/{score}",
    operation_id = "place",
    tag = "Scores",
    params(
        ("board" = String, Path),
        ("score" = i64, Path),
        ("season" = Option<String>, Query, description = "`current` (the default), `previous`, or an id."),
        ("snapshot" = Option<String>, Query, example = "2026-02-21", description = "The board as it was at a date, or `latest`; instead of `season`."),
        ("around" = Option<u32>, Query, minimum = 0, maximum = 100, description = "Rows on each side; none by default."),
    ),
    responses((status = 200, description = "The place.", body = PlaceReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn place(
    State(app): State<Arc<App>>,
    _: Reader,
    OnBoard(board): OnBoard,
    OfScore(score): OfScore,
    uri: Uri,
) -> Answer {
    let mut params = Params::parse(uri.query())?;
    let standing = standing_param(&mut params)?.unwrap_or_default();
    let around = params.whole("around", 0..=AROUND_ROWS)?.unwrap_or(0);
    params.finish("season or snapshot, and around")?;
    let place = app.engine()?.place_of(&board, &standing, score, around).await?;
    let size = (1 + place.around.len()) * ROW_BYTES;
    Ok(json_sized(StatusCode::OK, size, &PlaceReply::new(score, &place)))
}

/// How the scores of a season or a snapshot are distributed.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/distribution",
    operation_id = "distribution",
    tag = "Scores",
    params(
        ("board" = String, Path),
        ("season" = Option<String>, Query, description = "`current` (the default), `previous`, or an id."),
        ("snapshot" = Option<String>, Query, example = "2026-02-21", description = "The board as it was at a date, or `latest`; instead of `season`."),
    ),
    responses((status = 200, description = "The distribution.", body = DistributionReply)),
    security((), ("key" = ["read"])),
)]
pub(crate) async fn distribution(
    State(app): State<Arc<App>>,
    _: Reader,
    OnBoard(board): OnBoard,
    uri: Uri,
) -> Answer {
    let mut params = Params::parse(uri.query())?;
    let standing = standing_param(&mut params)?.unwrap_or_default();
    params.finish("season or snapshot")?;
    let distribution = app.engine()?.distribution(&board, &standing).await?;
    Ok(json(StatusCode::OK, &DistributionReply::from(&distribution)))
}
