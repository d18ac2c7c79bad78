//! Writes rows as CSV or NDJSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::cli::import::Format;

/// A row of a file.
pub(super) trait Record: Serialize {
    /// Its columns, in the order of its fields as CSV has them. NDJSON leaves out what is absent.
    fn csv<W: Write>(&self, writer: &mut csv::Writer<W>) -> csv::Result<()>;
}

/// Where rows go.
pub(super) enum Sink<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Ndjson(W),
}

impl<W: Write> Sink<W> {
    /// Begins a file; a CSV file with a line that names the columns.
    pub(super) fn new(format: Format, columns: &[&str], out: W) -> io::Result<Self> {
        match format {
            Format::Ndjson => Ok(Self::Ndjson(out)),
            Format::Csv => {
                let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
                writer.write_record(columns).map_err(io_error)?;
                Ok(Self::Csv(Box::new(writer)))
            }
        }
    }

    pub(super) fn write(&mut self, row: &impl Record) -> io::Result<()> {
        match self {
            Self::Csv(writer) => row.csv(writer).map_err(io_error),
            Self::Ndjson(out) => {
                serde_json::to_writer(&mut *out, row)?;
                out.write_all(b"\n")
            }
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
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
