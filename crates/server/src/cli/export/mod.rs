//! `standings export`: a whole board, or a year of it.

mod sink;
mod standing;
mod year;

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use clap::Args;

use super::{
    client::{Client, Connection},
    failure::{Failure, Result},
    import::Format,
    output::thousands,
    scores::Which,
};
use sink::Sink;

/// Write a whole board to a CSV or NDJSON file.
///
/// Rows are `user_id,score,at,user_name`, best first, as `import` takes them; those of a snapshot have `official_rank` too. With
/// `--year` they are `season,user_id,user_name,score,rank,at,success`, for every player and every season of the year, the
/// oldest first. A score that changes while the board is read may be missed or seen at its new place; a closed season and a
/// snapshot are always whole.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  standings export -o players.csv
  standings export --board laps --season previous --format ndjson | gzip > laps.ndjson.gz
  standings export --board level --snapshot 2026-02-21 -o level.csv
  standings export --board commits --year 2025 -o commits-2025.csv")]
pub(crate) struct Export {
    #[command(flatten)]
    which: Which,
    /// All seasons with this year in their id, the open one as it is now
    #[arg(long, conflicts_with_all = ["season", "snapshot"])]
    year: Option<u16>,
    /// What to write [default: by the name of the file, else csv]
    #[arg(long)]
    format: Option<Format>,
    /// The file; it appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

/// A file that is about to be written, and what to say when that fails.
struct File<'a, W> {
    format: Format,
    out: W,
    unwritable: &'a dyn Fn(io::Error) -> Failure,
}

impl<W: Write> File<'_, W> {
    fn begin(self, columns: &[&str]) -> Result<Sink<W>> {
        Sink::new(self.format, columns, self.out).map_err(self.unwritable)
    }
}

impl Export {
    pub(crate) fn run(self) -> Result<()> {
        let client = self.connection.client()?;
        let Some(file) = &self.output else {
            let out = BufWriter::new(io::stdout().lock());
            return self.write(&client, out, &|error| Failure::output(&error)).map(|_| ());
        };
        let unwritable = |error| Failure::file("write", file, error);
        // Half an export must not pass for a whole one.
        let mut part = file.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let out = BufWriter::new(fs::File::create(&part).map_err(unwritable)?);
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

    /// Writes all rows. Returns what to say about it.
    fn write(
        &self,
        client: &Client,
        out: impl Write,
        unwritable: &dyn Fn(io::Error) -> Failure,
    ) -> Result<String> {
        let named = self.output.as_deref().and_then(Format::of_name);
        let format = self.format.or(named).unwrap_or(Format::Csv);
        let file = File { format, out, unwritable };
        let (rows, speed) = match self.year {
            Some(year) => year::write(client, &self.which, year, file)?,
            None => standing::write(client, &self.which, file)?,
        };
        Ok(format!("{} rows, {speed}", thousands(rows)))
    }
}
