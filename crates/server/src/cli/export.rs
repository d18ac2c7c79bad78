//! `standings export`: a whole board, in the columns that `import` takes.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use clap::Args;
use serde::{Deserialize, Serialize};
use standings_core::limits::PAGE_ROWS;

use super::{
    client::{Client, Connection, Path},
    failure::{Failure, Result},
    import::Format,
    output::thousands,
    progress::{Progress, Unit},
};

/// Write a whole board to a CSV or NDJSON file.
///
/// Rows are `user_id,score,at,user_name`, best first, as `import` takes them. A score that changes while the board is read
/// may be missed or seen at its new place; a closed season is always whole.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  standings export -o players.csv
  standings export --board laps --season previous --format ndjson | gzip > laps.ndjson.gz")]
pub(crate) struct Export {
    /// The board [default: the server's default board]
    #[arg(long)]
    board: Option<String>,
    /// An id such as 2026-11, or `previous` [default: the current one]
    #[arg(long)]
    season: Option<String>,
    /// What to write [default: by the name of the file, else csv]
    #[arg(long)]
    format: Option<Format>,
    /// The file; it appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Row>,
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
}

impl Export {
    pub(crate) fn run(self) -> Result<()> {
        let client = self.connection.clone().client()?;
        let Some(file) = &self.output else {
            let out = BufWriter::new(io::stdout().lock());
            return self.write(&client, out, &|error| Failure::output(&error)).map(|_| ());
        };
        let unwritable = |error| Failure::file("write", file, error);
        // Half an export must not pass for a whole one.
        let mut part = file.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let out = BufWriter::new(File::create(&part).map_err(unwritable)?);
        let written = self.write(&client, out, &unwritable);
        if written.is_err() {
            // The failure itself is what the person should hear of.
            let _ = fs::remove_file(&part);
        }
        let words = written?;
        fs::rename(&part, file).map_err(unwritable)?;
        eprintln!("{}: {words}", file.display());
        Ok(())
    }

    /// Writes all pages. Returns what to say about it.
    fn write(
        &self,
        client: &Client,
        out: impl Write,
        unwritable: &dyn Fn(io::Error) -> Failure,
    ) -> Result<String> {
        let start = || Path::scores(self.board.as_deref(), &[]);
        let mut page: Page = client
            .get(&start().with("season", self.season.as_deref()).with("limit", Some(PAGE_ROWS)))?
            .json()?;
        let named = self.output.as_deref().and_then(Format::of_name);
        let mut rows = Rows::new(self.format.or(named).unwrap_or(Format::Csv), out, unwritable)?;
        let mut progress = Progress::start(Unit::Rows, Some(page.players), 0, 0);
        let mut count = 0;
        loop {
            for row in &page.data {
                rows.write(row).map_err(unwritable)?;
            }
            count += page.data.len() as u64;
            progress.at(count, count);
            // The cursor carries the season: a board that starts anew meanwhile is still read to its end.
            let Some(next) = page.next else { break };
            let path = start().with("after", Some(next)).with("limit", Some(PAGE_ROWS));
            page = client.get(&path)?.json()?;
        }
        rows.finish().map_err(unwritable)?;
        Ok(format!("{} rows, {}", thousands(count), progress.finish(count)))
    }
}

enum Rows<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Ndjson(W),
}

impl<W: Write> Rows<W> {
    fn new(format: Format, out: W, unwritable: &dyn Fn(io::Error) -> Failure) -> Result<Self> {
        match format {
            Format::Ndjson => Ok(Self::Ndjson(out)),
            Format::Csv => {
                let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
                let header = writer.write_record(["user_id", "score", "at", "user_name"]);
                header.map_err(|error| unwritable(io_error(error)))?;
                Ok(Self::Csv(Box::new(writer)))
            }
        }
    }

    fn write(&mut self, row: &Row) -> io::Result<()> {
        match self {
            Self::Csv(writer) => {
                let name = row.user_name.as_deref().unwrap_or_default();
                let score = row.score.to_string();
                writer.write_record([&row.user_id, &score, &row.at, name]).map_err(io_error)
            }
            Self::Ndjson(out) => {
                serde_json::to_writer(&mut *out, row)?;
                out.write_all(b"\n")
            }
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Ndjson(mut out) => out.flush(),
        }
    }
}

/// The error below. The conversion in the library hides its kind, and with it a closed pipe.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
