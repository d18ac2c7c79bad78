//! Reads a file of rows in batches.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use clap::ValueEnum;

use super::{
    position::Position,
    record::Record,
    row::{BadRow, Columns, Kind, write_line},
};
use crate::cli::failure::{Failure, Result};

/// How much is read at a time.
const BUFFER_BYTES: usize = 1024 * 1024;

/// The longest line, as the server has it: a row has less than 1 KiB even with every character escaped.
const LINE_BYTES: usize = 64 * 1024;

/// About what a row takes in a request.
const ROW_BYTES: usize = 64;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Fields separated by commas
    Csv,
    /// A JSON object on each line
    Ndjson,
}

impl Format {
    /// What the name of a file says.
    pub(crate) fn of_name(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            _ => None,
        }
    }

    fn of_content(head: &[u8]) -> Self {
        if head.trim_ascii_start().starts_with(b"{") { Self::Ndjson } else { Self::Csv }
    }
}

/// Rows as the server reads them, and how far in the file that is.
pub(super) struct Batch {
    pub(super) body: Vec<u8>,
    pub(super) rows: u64,
    /// In bytes from the beginning of the file, after the batch.
    pub(super) offset: u64,
    /// Lines before that.
    pub(super) line: u64,
}

/// A file of rows.
pub(super) struct Source {
    /// For messages.
    name: String,
    input: BufReader<Box<dyn Read + Send>>,
    /// The line read last, with its end.
    text: Vec<u8>,
    /// Whether that line is still to be taken for a row: the first one, where it is no header.
    pending: bool,
    /// Bytes from the beginning of the file to the end of that line.
    offset: u64,
    /// Its number.
    line: u64,
    kind: Kind,
    rows: Rows,
}

/// How a line is read.
enum Rows {
    Csv { record: Box<Record>, columns: Columns },
    Ndjson,
}

impl Source {
    /// Opens a file, or standard input as `-`, at a position of it.
    pub(super) fn open(
        file: &Path,
        format: Option<Format>,
        kind: Kind,
        at: &Position,
    ) -> Result<Self> {
        if file.as_os_str() == "-" {
            return Self::new("standard input".to_owned(), Box::new(io::stdin()), format, kind);
        }
        let unreadable = |error| Failure::file("read", file, error);
        let open = || File::open(file).map_err(unreadable);
        let format = format.or_else(|| Format::of_name(file));
        // The header is read from the beginning, wherever the rows begin.
        let mut source = Self::new(file.display().to_string(), Box::new(open()?), format, kind)?;
        if at.offset > 0 {
            let mut input = open()?;
            input.seek(SeekFrom::Start(at.offset)).map_err(unreadable)?;
            source.input = BufReader::with_capacity(BUFFER_BYTES, Box::new(input));
            (source.offset, source.line, source.pending) = (at.offset, at.line, false);
        }
        Ok(source)
    }

    /// Begins to read an input, up to the header if it has one.
    fn new(
        name: String,
        input: Box<dyn Read + Send>,
        format: Option<Format>,
        kind: Kind,
    ) -> Result<Self> {
        let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
        let head = input.fill_buf().map_err(|error| Failure::file("read", &name, error))?;
        let mark: &[u8] = b"\xef\xbb\xbf";
        let start = if head.starts_with(mark) { mark.len() } else { 0 };
        let rows = match format.unwrap_or_else(|| Format::of_content(&head[start..])) {
            Format::Csv => {
                let columns = Columns::default_of(kind);
                Rows::Csv { record: Box::new(Record::new()), columns }
            }
            Format::Ndjson => Rows::Ndjson,
        };
        input.consume(start);
        let (text, offset) = (Vec::new(), start as u64);
        let mut source = Self { name, input, text, pending: false, offset, line: 0, kind, rows };
        source.read_header().map_err(|words| source.bad(&words))?;
        Ok(source)
    }

    fn read_header(&mut self) -> Result<(), BadRow> {
        if matches!(self.rows, Rows::Ndjson) {
            return Ok(());
        }
        self.pending = self.next_line()?;
        if let Rows::Csv { record, columns } = &mut self.rows
            && self.pending
        {
            record.parse(&self.text)?;
            if let Some(named) = Columns::of_header(self.kind, record)? {
                *columns = named;
                self.pending = false;
            }
        }
        Ok(())
    }

    /// The next rows; none at the end.
    pub(super) fn next_batch(&mut self, rows: u64) -> Result<Option<Batch>> {
        let capacity = usize::try_from(rows).unwrap_or(usize::MAX).min(100_000) * ROW_BYTES;
        let mut body = Vec::with_capacity(capacity);
        let mut count = 0;
        while count < rows && self.next_row(&mut body).map_err(|words| self.bad(&words))? {
            count += 1;
        }
        let (offset, line) = (self.offset, self.line);
        Ok((count > 0).then_some(Batch { body, rows: count, offset, line }))
    }

    /// Writes the next row; false at the end.
    fn next_row(&mut self, out: &mut Vec<u8>) -> Result<bool, BadRow> {
        if !std::mem::take(&mut self.pending) && !self.next_line()? {
            return Ok(false);
        }
        match &mut self.rows {
            Rows::Csv { record, columns } => {
                record.parse(&self.text)?;
                columns.write(record, out)?;
            }
            Rows::Ndjson => write_line(self.kind, &self.text, out)?,
        }
        Ok(true)
    }

    /// Reads the next line that is not blank; false at the end.
    fn next_line(&mut self) -> Result<bool, BadRow> {
        loop {
            self.text.clear();
            let mut input = self.input.by_ref().take(LINE_BYTES as u64);
            let read =
                input.read_until(b'\n', &mut self.text).map_err(|error| error.to_string())?;
            self.offset += read as u64;
            self.line += u64::from(read > 0);
            if read == LINE_BYTES {
                return Err(format!("a line must be shorter than {LINE_BYTES} bytes"));
            }
            if read > 0 && !self.text.ends_with(b"\n") {
                self.text.push(b'\n');
            }
            if read == 0 || !self.text.trim_ascii().is_empty() {
                return Ok(read > 0);
            }
        }
    }

    fn bad(&self, words: &str) -> Failure {
        let hint = match (&self.rows, self.line) {
            (Rows::Csv { .. }, 1) => {
                format!(
                    "; if this line is a header, its names are {}",
                    self.kind.columns().join(", ")
                )
            }
            _ => String::new(),
        };
        Failure::Other(format!("{} line {}: {words}{hint}", self.name, self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &'static str) -> Source {
        Source::new("x".to_owned(), Box::new(text.as_bytes()), None, Kind::Scores).unwrap()
    }

    fn ids(batch: &Batch) -> Vec<String> {
        let id = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            row["user_id"].as_str().unwrap().to_owned()
        };
        str::from_utf8(&batch.body).unwrap().lines().map(id).collect()
    }

    #[test]
    fn format_and_header_are_told_by_the_content() {
        for text in [
            "a,1\nb,2\n",
            "user_id,score\na,1\nb,2",
            "\u{feff}score,user_id\r\n1,a\r\n\r\n2,b\r\n",
            "{\"user_id\":\"a\",\"score\":1}\n\n{\"user_id\":\"b\",\"score\":2}",
        ] {
            let batch = source(text).next_batch(10).unwrap().unwrap();
            assert_eq!(ids(&batch), ["a", "b"], "{text}");
            assert_eq!(batch.offset, text.len() as u64, "{text}");
        }
        assert!(source("").next_batch(10).unwrap().is_none());
        assert!(source("user_id,score\n").next_batch(10).unwrap().is_none());
    }

    #[test]
    fn every_batch_ends_where_the_next_one_can_begin() {
        let rows = (0..100).map(|i| format!("p{i},{i}\n")).collect::<Vec<_>>().concat();
        let lines = (0..100)
            .map(|i| format!("{{\"user_id\":\"p{i}\",\"score\":{i}}}\n"))
            .collect::<Vec<_>>()
            .concat();
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in
            [("a.csv", format!("user_id,score\n{rows}")), ("b.csv", rows), ("c.ndjson", lines)]
        {
            let file = dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            let (mut all, mut at) = (Vec::new(), Position::default());
            while let Some(batch) =
                Source::open(&file, None, Kind::Scores, &at).unwrap().next_batch(7).unwrap()
            {
                all.extend(ids(&batch));
                at = Position { offset: batch.offset, line: batch.line, ..at };
            }
            assert_eq!(all, (0..100).map(|i| format!("p{i}")).collect::<Vec<_>>(), "{name}");
        }
    }

    #[test]
    fn a_bad_row_is_named_by_its_line() {
        let failure = |text| match source(text).next_batch(10) {
            Err(Failure::Other(words)) => words,
            _ => panic!("it should have failed"),
        };
        assert!(failure("user_id,score\na,1\nb,x\n").starts_with("x line 3: \"x\" is not a score"));
        assert!(
            failure("{\"user_id\":\"a\",\"score\":1}\n\n{}\n").starts_with("x line 3: missing")
        );
        assert!(failure("player,points\n").contains("if this line is a header"));
    }
}
