//! One season or one snapshot, in the columns that `import` takes.

use std::io::Write;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use standings_core::limits::PAGE_ROWS;

use super::{File, Which, sink::Record};
use crate::cli::{
    client::{Client, Path},
    failure::Result,
    progress::{Progress, Unit},
};

/// The columns of an import, and the one that only snapshots have.
const COLUMNS: [&str; 5] = ["user_id", "score", "at", "user_name", "official_rank"];

/// A page of a standing, its rows read as far as they are wanted.
#[derive(Deserialize)]
struct Page<R> {
    data: Vec<R>,
    players: u64,
    next: Option<String>,
}

/// Its fields are the columns of an import, in their order.
#[derive(Deserialize, Serialize)]
struct Row {
    user_id: String,
    score: i64,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    official_rank: Option<u32>,
}

/// A row of a season has no column for an official rank.
struct Columns<'a>(&'a Row, usize);

impl Serialize for Columns<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Record for Columns<'_> {
    fn csv<W: Write>(&self, writer: &mut csv::Writer<W>) -> csv::Result<()> {
        let row = self.0;
        let score = row.score.to_string();
        let name = row.user_name.as_deref().unwrap_or_default();
        let official = row.official_rank.map_or_else(String::new, |rank| rank.to_string());
        writer.write_record(&[&row.user_id, &score, &row.at, name, &official][..self.1])
    }
}

/// Writes a standing. Returns how many rows that were, and how fast.
pub(super) fn write<W: Write>(
    client: &Client,
    which: &Which,
    file: File<'_, W>,
) -> Result<(u64, String)> {
    let mut pages = Pages::<Row>::start(client, which, which.path(&[]))?;
    let unwritable = file.unwritable;
    let count = if which.snapshot.is_some() { 5 } else { 4 };
    let mut sink = file.begin(&COLUMNS[..count])?;
    let mut progress = Progress::start(Unit::Rows, Some(pages.players));
    let mut rows = 0;
    while let Some(page) = pages.next()? {
        for row in &page {
            sink.write(&Columns(row, count)).map_err(unwritable)?;
        }
        rows += page.len() as u64;
        progress.at(rows, rows);
    }
    sink.finish().map_err(unwritable)?;
    Ok((rows, progress.finish(rows)))
}

/// The pages of a standing.
pub(super) struct Pages<'a, R> {
    client: &'a Client,
    which: &'a Which,
    /// The rows of the first page, until they are taken.
    first: Option<Vec<R>>,
    next: Option<String>,
    /// Players on the board when the first page was read.
    players: u64,
}

impl<'a, R: DeserializeOwned> Pages<'a, R> {
    /// Reads the first page, so that a refusal comes before anything is written.
    pub(super) fn start(client: &'a Client, which: &'a Which, first: Path) -> Result<Self> {
        let Page { data, players, next } = read(client, first)?;
        Ok(Self { client, which, first: Some(data), next, players })
    }

    /// The rows of the next page; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<R>>> {
        if let Some(rows) = self.first.take() {
            return Ok(Some(rows));
        }
        let Some(next) = self.next.take() else { return Ok(None) };
        // The cursor carries what is read: a board that starts anew meanwhile is still read to its end.
        let path = Path::scores(self.which.board.as_deref(), &[]).with("after", Some(next));
        let page: Page<R> = read(self.client, path)?;
        self.next = page.next;
        Ok(Some(page.data))
    }
}

fn read<R: DeserializeOwned>(client: &Client, path: Path) -> Result<Page<R>> {
    client.get(&path.with("limit", Some(PAGE_ROWS)))?.json()
}
