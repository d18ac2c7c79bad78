//! Every player's row in every season of a year.

use std::io::Write;

use serde::{Deserialize, Serialize};
use standings_core::limits::PAGE_ROWS;
use standings_server::DEFAULT_BOARD;

use super::{File, Which, sink::Record, standing::Pages};
use crate::cli::{
    client::{Client, Path},
    failure::{Failure, Result},
    progress::{Progress, Unit},
};

const COLUMNS: [&str; 7] = ["season", "user_id", "user_name", "score", "rank", "at", "success"];

#[derive(Deserialize)]
struct Seasons {
    data: Vec<Season>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Season {
    id: String,
    players: u64,
}

#[derive(Deserialize, Serialize)]
struct Row {
    user_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_name: Option<String>,
    score: i64,
    rank: u64,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
}

/// A row with the season that it is of.
#[derive(Serialize)]
struct Line<'a> {
    season: &'a str,
    #[serde(flatten)]
    row: &'a Row,
}

impl Record for Line<'_> {
    fn csv<W: Write>(&self, writer: &mut csv::Writer<W>) -> csv::Result<()> {
        let Row { user_id, user_name, score, rank, at, success } = self.row;
        let (score, rank) = (score.to_string(), rank.to_string());
        let name = user_name.as_deref().unwrap_or_default();
        let success = success.map_or("", |success| if success { "true" } else { "false" });
        writer.write_record([self.season, user_id, name, &score, &rank, at, success])
    }
}

/// Writes a year. Returns how many rows that were, and how fast.
pub(super) fn write<W: Write>(
    client: &Client,
    which: &Which,
    year: u16,
    file: File<'_, W>,
) -> Result<(u64, String)> {
    let seasons = seasons(client, which, year)?;
    let unwritable = file.unwritable;
    let mut sink = file.begin(&COLUMNS)?;
    let total = seasons.iter().map(|season| season.players).sum();
    let mut progress = Progress::start(Unit::Rows, Some(total));
    let mut rows = 0;
    for season in &seasons {
        let first = Path::scores(which.board.as_deref(), &[]).with("season", Some(&season.id));
        let mut pages = Pages::<Row>::start(client, which, first)?;
        while let Some(page) = pages.next()? {
            for row in &page {
                sink.write(&Line { season: &season.id, row }).map_err(unwritable)?;
            }
            rows += page.len() as u64;
            progress.at(rows, rows);
        }
    }
    sink.finish().map_err(unwritable)?;
    Ok((rows, progress.finish(rows)))
}

/// The seasons of a year, the oldest first.
fn seasons(client: &Client, which: &Which, year: u16) -> Result<Vec<Season>> {
    let board = which.board.as_deref().unwrap_or(DEFAULT_BOARD);
    let (mut seasons, mut before) = (Vec::new(), None);
    loop {
        let path = Path::v1(&["boards", board, "seasons"])
            .with("year", Some(year))
            .with("limit", Some(PAGE_ROWS))
            .with("before", before);
        let page: Seasons = client.get(&path)?.json()?;
        seasons.extend(page.data);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    if seasons.is_empty() {
        let words = format!(
            "board {board} has no season of {year}; `standings season list --board {board}` shows those it has"
        );
        return Err(Failure::Other(words));
    }
    seasons.reverse();
    Ok(seasons)
}
