//! Reads a file of rows in batches.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use clap::ValueEnum;
use csv::{ErrorKind, StringRecord};

use super::row::{COLUMNS, Row};
use crate::cli::failure::{Failure, Result};

/// How much is read at a time.
const BUFFER_BYTES: usize = 1024 * 1024;

/// The longest row, as the server has it: one has less than 1 KiB even with every character escaped.
const ROW_BYTES: usize = 64 * 1024;

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

/// Rows as the server reads them.
pub(super) struct Batch {
    pub(super) body: Vec<u8>,
    pub(super) rows: u64,
    /// Bytes of the file that have been read.
    pub(super) offset: u64,
}

/// A file of rows.
pub(super) struct Source {
    /// For messages.
    name: String,
    /// Whether rows may have an official rank.
    is_snapshot: bool,
    /// The number of the row read last, a header and empty lines of NDJSON counted.
    row: u64,
    rows: Rows,
}

type Input = BufReader<Box<dyn Read + Send>>;

enum Rows {
    Csv(Box<Csv>),
    Ndjson { input: Input, line: Vec<u8>, offset: u64 },
}

struct Csv {
    reader: csv::Reader<Input>,
    names: StringRecord,
    record: StringRecord,
    /// Whether the record is still to be taken for a row: the first one, where it is no header.
    pending: bool,
}

impl Source {
    /// Opens a file, or standard input as `-`.
    pub(super) fn open(file: &Path, format: Option<Format>, is_snapshot: bool) -> Result<Self> {
        let (name, input): (_, Box<dyn Read + Send>) = if file.as_os_str() == "-" {
            ("standard input".to_owned(), Box::new(io::stdin()))
        } else {
            let opened = File::open(file).map_err(|error| Failure::file("read", file, error))?;
            (file.display().to_string(), Box::new(opened))
        };
        Self::new(name, input, format.or_else(|| Format::of_name(file)), is_snapshot)
    }

    fn new(
        name: String,
        input: Box<dyn Read + Send>,
        format: Option<Format>,
        is_snapshot: bool,
    ) -> Result<Self> {
        let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
        let head = input.fill_buf().map_err(|error| Failure::file("read", &name, error))?;
        let mark: &[u8] = b"\xef\xbb\xbf";
        let start = if head.starts_with(mark) { mark.len() } else { 0 };
        let format = format.unwrap_or_else(|| Format::of_content(&head[start..]));
        input.consume(start);
        let rows = match format {
            Format::Csv => Rows::Csv(Box::new(Csv::new(input, is_snapshot))),
            Format::Ndjson => Rows::Ndjson { input, line: Vec::new(), offset: 0 },
        };
        Ok(Self { name, is_snapshot, row: 0, rows })
    }

    /// The next rows; none at the end.
    pub(super) fn next_batch(&mut self, rows: u64) -> Result<Option<Batch>> {
        let mut batch = Batch { body: Vec::new(), rows: 0, offset: 0 };
        while batch.rows < rows {
            let row = self.next_row().map_err(|words| self.bad(&words))?;
            let Some(row) = row else { break };
            if row.official_rank.is_some() && !self.is_snapshot {
                let words =
                    "only a row of a snapshot has an official_rank; name its date with --snapshot";
                return Err(self.bad(words));
            }
            serde_json::to_writer(&mut batch.body, &row).map_err(Failure::other)?;
            batch.body.push(b'\n');
            batch.rows += 1;
        }
        batch.offset = match &self.rows {
            Rows::Csv(csv) => csv.reader.position().byte(),
            Rows::Ndjson { offset, .. } => *offset,
        };
        Ok((batch.rows > 0).then_some(batch))
    }

    fn next_row(&mut self) -> Result<Option<Row>, String> {
        match &mut self.rows {
            Rows::Csv(csv) => {
                let row = csv.next_row();
                self.row = csv.record.position().map_or(self.row, |at| at.record() + 1);
                row
            }
            Rows::Ndjson { input, line, offset } => loop {
                line.clear();
                let mut limited = input.take(ROW_BYTES as u64);
                let read = limited.read_until(b'\n', line).map_err(|error| error.to_string())?;
                if read == 0 {
                    return Ok(None);
                }
                self.row += 1;
                *offset += read as u64;
                if read == ROW_BYTES {
                    return Err(format!("a line must be shorter than {ROW_BYTES} bytes"));
                }
                if !line.trim_ascii().is_empty() {
                    return serde_json::from_slice(line).map(Some).map_err(|error| json(&error));
                }
            },
        }
    }

    fn bad(&self, words: &str) -> Failure {
        Failure::Other(format!("{} row {}: {words}", self.name, self.row))
    }
}

/// What is wrong with a line, without the line and column that are counted within it.
fn json(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.split(" at line ").next().unwrap_or_default().to_owned()
}

impl Csv {
    fn new(input: Input, is_snapshot: bool) -> Self {
        let reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input);
        let count = if is_snapshot { COLUMNS.len() } else { COLUMNS.len() - 1 };
        let names = StringRecord::from(&COLUMNS[..count]);
        Self { reader, names, record: StringRecord::new(), pending: false }
    }

    fn next_row(&mut self) -> Result<Option<Row>, String> {
        if self.reader.position().line() == 1 && self.read()? {
            let names: StringRecord =
                self.record.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
            if names.iter().any(|name| name == COLUMNS[0]) {
                self.names = names;
            } else {
                self.pending = true;
            }
        }
        if !std::mem::take(&mut self.pending) && !self.read()? {
            return Ok(None);
        }
        let (count, columns) = (self.record.len(), self.names.len());
        if count > columns {
            return Err(format!("{count} columns where there are {columns}"));
        }
        // Columns that are left out at the end of a line are empty.
        (count..columns).for_each(|_| self.record.push_field(""));
        self.record.deserialize(Some(&self.names)).map(Some).map_err(|error| self.words(&error))
    }

    /// Reads the next record; false at the end.
    fn read(&mut self) -> Result<bool, String> {
        let read = self.reader.read_record(&mut self.record);
        let read = read.map_err(|error| self.words(&error))?;
        match self.record.as_slice().len() {
            ..=ROW_BYTES => Ok(read),
            _ => Err(format!("a row has up to {ROW_BYTES} bytes; is there a quote not closed?")),
        }
    }

    fn words(&self, error: &csv::Error) -> String {
        match error.kind() {
            ErrorKind::Utf8 { .. } => "a row must be UTF-8".to_owned(),
            ErrorKind::Deserialize { err, .. } => {
                let field = err.field().and_then(|field| usize::try_from(field).ok());
                let column = field.and_then(|at| self.names.get(at).zip(self.record.get(at)));
                match column {
                    Some((name, value)) => format!("{name} {value:?}: {}", err.kind()),
                    None => err.kind().to_string(),
                }
            }
            _ => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a text as the server reads them, or what is wrong with one.
    fn rows(text: &'static str, is_snapshot: bool) -> Result<String, String> {
        let input = Box::new(text.as_bytes());
        let mut source = Source::new("x".to_owned(), input, None, is_snapshot).unwrap();
        let mut all = Vec::new();
        loop {
            match source.next_batch(1) {
                Ok(Some(batch)) => all.extend(batch.body),
                Ok(None) => return Ok(String::from_utf8(all).unwrap()),
                Err(Failure::Other(words)) => return Err(words),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn format_and_header_are_found_in_the_content() {
        let wanted = "{\"user_id\":\"a\",\"score\":1}\n{\"user_id\":\"b\",\"score\":2}\n";
        for text in [
            "a,1\nb,2\n",
            "user_id,score\na,1\nb,2",
            "\u{feff}score, User_Id\r\n1,a\r\n\r\n2,b\r\n",
            "{\"user_id\":\"a\",\"score\":1}\n\n{\"score\":2,\"user_id\":\"b\",\"at\":null}",
        ] {
            assert_eq!(rows(text, false).unwrap(), wanted, "{text}");
        }
        assert_eq!(rows("", false).unwrap(), "");
        assert_eq!(rows("user_id,score\n", false).unwrap(), "");
    }

    #[test]
    fn a_row_keeps_its_meaning() {
        let csv =
            "1001,-5,2026-11-15T10:00:00.25Z,\"Älice, \"\"A\"\"\"\nb\\,7,1794736800250,\nc,1\n";
        let wanted = "{\"user_id\":\"1001\",\"score\":-5,\"at\":1794736800250,\"user_name\":\"Älice, \\\"A\\\"\"}\n\
                      {\"user_id\":\"b\\\\\",\"score\":7,\"at\":1794736800250}\n\
                      {\"user_id\":\"c\",\"score\":1}\n";
        assert_eq!(rows(csv, false).unwrap(), wanted);
        let ndjson =
            r#"{"user_name":"\u00c4","score":3,"at":"2026-11-15T10:00:00Z","user_id":"a\"b"}"#;
        let wanted =
            "{\"user_id\":\"a\\\"b\",\"score\":3,\"at\":1794736800000,\"user_name\":\"Ä\"}\n";
        assert_eq!(rows(ndjson, false).unwrap(), wanted);
    }

    #[test]
    fn only_rows_of_a_snapshot_have_an_official_rank() {
        let wanted = "{\"user_id\":\"a\",\"score\":5,\"official_rank\":7}\n";
        assert_eq!(rows("a,5,,,7\n", true).unwrap(), wanted);
        assert_eq!(rows("official_rank,user_id,score\n7,a,5\n", true).unwrap(), wanted);
        for bad in ["a,5,,,0\n", "a,5,,,-1\n", "a,5,,,first\n"] {
            assert!(rows(bad, true).unwrap_err().starts_with("x row 1: "), "{bad}");
        }
        assert!(
            rows("official_rank,user_id,score\n7,a,5\n", false).unwrap_err().contains("--snapshot")
        );
    }

    #[test]
    fn a_bad_row_is_named_by_its_number_and_what_is_wrong() {
        for (text, wanted) in [
            ("user_id,score\na,1\nb,x\n", "x row 3: score \"x\": invalid digit"),
            (
                "a,9007199254740992\n",
                "x row 1: invalid value: integer `9007199254740992`, expected a whole number",
            ),
            ("a,1\r\na,5.0\r\n", "x row 2: score \"5.0\""),
            ("a\n", "x row 1: score \"\""),
            (",5\n", "x row 1: a user_id is"),
            ("a/b,5\n", "x row 1: a user_id is"),
            ("a\u{200b},5\n", "x row 1: a user_id is"),
            ("a,5,yesterday\n", "x row 1: invalid value: string \"yesterday\", expected a time"),
            ("a,5,,\"a\nb\"\n", "x row 1: a name is"),
            ("a,5,,b,c\n", "x row 1: 5 columns where there are 4"),
            ("user_id,score,username\na,5,b\n", "x row 2: unknown field `username`"),
            ("user_id,score,score\na,5,6\n", "x row 2: duplicate field `score`"),
            ("user_id,points\na,5\n", "x row 2: unknown field `points`"),
            ("{\"user_id\":\"a\",\"score\":1}\n\n{}\n", "x row 3: missing field `user_id`"),
            ("{\"user_id\":1,\"score\":1}", "x row 1: invalid type: integer"),
            ("{\"user_id\":\"a\",\"score\":1.5}", "x row 1: invalid type: floating point"),
            ("{\"user_id\":\"a\",\"score\":1,\"at\":true}", "x row 1: invalid type: boolean"),
            ("{\"user_id\":\"a\",\"score\":1,\"points\":2}", "x row 1: unknown field `points`"),
        ] {
            let words = rows(text, false).unwrap_err();
            assert!(words.starts_with(wanted), "{text}: {words}");
        }
        let open: &str =
            Box::leak(format!("a,1\nb,2,,\"{}\n", "x".repeat(ROW_BYTES)).into_boxed_str());
        assert!(rows(open, false).unwrap_err().contains("row 2: a row has up to 65536 bytes"));
    }
}
