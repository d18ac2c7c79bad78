//! One row of a file, checked by the rules of the server and written as it reads them.

use std::{borrow::Cow, num::NonZeroU32, str};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use standings_core::{Millis, Name, PlayerId, Score, limits::MAX_SCORE};

use super::record::Record;

/// The columns of a row, in the order that a file without a header has them; the last is only for snapshots.
const COLUMNS: [&str; 5] = ["user_id", "score", "at", "user_name", "official_rank"];

/// What the rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A season.
    Scores,
    /// A snapshot, whose rows may have an official rank.
    Snapshot,
}

impl Kind {
    /// The names of its columns.
    pub(super) fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Scores => &COLUMNS[..4],
            Self::Snapshot => &COLUMNS,
        }
    }
}

/// Why a row is not one.
pub(super) type BadRow = String;

/// A row as the server reads it.
#[derive(Serialize)]
struct Row<'a> {
    user_id: &'a str,
    score: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    official_rank: Option<NonZeroU32>,
}

/// Checks what the types cannot hold by themselves, and writes the row as a line.
fn write(row: &Row<'_>, out: &mut Vec<u8>) -> Result<(), BadRow> {
    PlayerId::new(row.user_id)
        .and_then(PlayerId::printable)
        .map_err(|error| format!("{:?}: {error}", row.user_id))?;
    Score::new(row.score).ok_or_else(|| bad_score(row.score))?;
    if let Some(name) = row.user_name {
        Name::new(name).map_err(|error| format!("{name:?}: {error}"))?;
    }
    serde_json::to_writer(&mut *out, row).map_err(|error| error.to_string())?;
    out.push(b'\n');
    Ok(())
}

fn bad_score(text: impl std::fmt::Display) -> BadRow {
    format!("{text} is not a score: a whole number within ±{MAX_SCORE}")
}

/// A rank that someone else gave.
fn official(text: &str) -> Result<NonZeroU32, BadRow> {
    let bad = |_| format!("{text} is not a rank: a whole number from 1 to {}", u32::MAX);
    text.parse().map_err(bad)
}

/// An instant as milliseconds.
fn instant(text: &str) -> Result<i64, BadRow> {
    let instant = match text.parse() {
        Ok(ms) => Millis::new(ms),
        Err(_) => Millis::parse(text),
    };
    instant.map(|at| at.0).ok_or_else(|| {
        format!(
            "{text:?} is not a time such as 2026-11-15T10:00:00Z, or whole milliseconds since 1970"
        )
    })
}

/// Where the columns are in a CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    user_id: usize,
    score: usize,
    at: Option<usize>,
    user_name: Option<usize>,
    official_rank: Option<usize>,
    /// How many there are at most.
    count: usize,
}

impl Columns {
    /// Those of a file without a header.
    pub(super) fn default_of(kind: Kind) -> Self {
        let count = kind.columns().len();
        let official_rank = (count > 4).then_some(4);
        Self { user_id: 0, score: 1, at: Some(2), user_name: Some(3), official_rank, count }
    }

    /// Those that a first line names, if it names any. A header with other names is an error: a typo must not
    /// pass as a missing column.
    pub(super) fn of_header(kind: Kind, line: &Record) -> Result<Option<Self>, BadRow> {
        let names: Vec<_> =
            line.iter().map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
        let find = |name: &str| names.iter().position(|other| other == name.as_bytes());
        let (Some(user_id), Some(score)) = (find("user_id"), find("score")) else {
            return Ok(None);
        };
        for (index, name) in names.iter().enumerate() {
            let known = kind.columns().iter().any(|column| column.as_bytes() == name);
            if !known || names[..index].contains(name) {
                let name = String::from_utf8_lossy(name);
                let columns = kind.columns().join(", ");
                return Err(format!("column {name:?}: the columns are {columns}, each once"));
            }
        }
        let (at, user_name, official_rank) = (find("at"), find("user_name"), find("official_rank"));
        Ok(Some(Self { user_id, score, at, user_name, official_rank, count: names.len() }))
    }

    /// Writes the row of a CSV record.
    pub(super) fn write(self, record: &Record, out: &mut Vec<u8>) -> Result<(), BadRow> {
        if record.len() > self.count {
            return Err(format!("{} columns where there are {}", record.len(), self.count));
        }
        let text = |index: usize| {
            str::from_utf8(record.get(index)).map_err(|_| "a row must be UTF-8".to_owned())
        };
        let optional = |index: Option<usize>| {
            index.map_or(Ok(None), |index| {
                text(index).map(|text| Some(text).filter(|t| !t.is_empty()))
            })
        };
        let score = text(self.score)?.trim_ascii();
        let row = Row {
            user_id: text(self.user_id)?,
            score: score.parse().map_err(|_| bad_score(format_args!("{score:?}")))?,
            at: optional(self.at)?.map(|at| instant(at.trim_ascii())).transpose()?,
            user_name: optional(self.user_name)?,
            official_rank: optional(self.official_rank)?
                .map(|rank| official(rank.trim_ascii()))
                .transpose()?,
        };
        write(&row, out)
    }
}

/// A line of NDJSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    user_id: Cow<'a, str>,
    score: i64,
    #[serde(borrow)]
    at: Option<&'a RawValue>,
    user_name: Option<String>,
    #[serde(borrow)]
    official_rank: Option<&'a RawValue>,
}

/// Writes the row of a line of NDJSON.
pub(super) fn write_line(kind: Kind, line: &[u8], out: &mut Vec<u8>) -> Result<(), BadRow> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| {
        // It counts lines and columns of its own, which are not those of the file.
        let words = error.to_string();
        words.split(" at line ").next().unwrap_or_default().to_owned()
    })?;
    // A time in quotes is text, one without is a number.
    let at = line.at.map(|at| instant(at.get().trim_matches('"'))).transpose()?;
    if line.official_rank.is_some() && kind == Kind::Scores {
        return Err("only a row of a snapshot has an official_rank; name its date with --snapshot"
            .to_owned());
    }
    let official_rank = line.official_rank.map(|rank| official(rank.get())).transpose()?;
    let (user_id, user_name) = (&*line.user_id, line.user_name.as_deref());
    write(&Row { user_id, score: line.score, at, user_name, official_rank }, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(fields: &[&str]) -> Record {
        let quoted: Vec<_> =
            fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
        let mut record = Record::new();
        record.parse(format!("{}\n", quoted.join(",")).as_bytes()).unwrap();
        record
    }

    fn csv(columns: Columns, fields: &[&str]) -> Result<String, BadRow> {
        let mut out = Vec::new();
        columns.write(&record(fields), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn ndjson(line: &str) -> Result<String, BadRow> {
        let mut out = Vec::new();
        write_line(Kind::Scores, line.as_bytes(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn only_rows_of_a_snapshot_have_an_official_rank() {
        let columns = Columns::default_of(Kind::Snapshot);
        let ranked = "{\"user_id\":\"a\",\"score\":5,\"official_rank\":7}\n";
        assert_eq!(csv(columns, &["a", "5", "", "", "7"]).unwrap(), ranked);
        assert!(csv(columns, &["a", "5"]).unwrap().ends_with("5}\n"));
        for bad in ["0", "-1", "4294967296", "first"] {
            assert!(csv(columns, &["a", "5", "", "", bad]).is_err(), "{bad}");
        }
        let header = record(&["official_rank", "user_id", "score"]);
        let columns = Columns::of_header(Kind::Snapshot, &header).unwrap().unwrap();
        assert_eq!(csv(columns, &["7", "a", "5"]).unwrap(), ranked);
        assert!(Columns::of_header(Kind::Scores, &header).is_err());

        let mut out = Vec::new();
        write_line(Kind::Snapshot, ranked.as_bytes(), &mut out).unwrap();
        assert_eq!(out, ranked.as_bytes());
        assert!(ndjson(ranked).unwrap_err().contains("--snapshot"));
        let quoted = br#"{"user_id":"a","score":5,"official_rank":"7"}"#;
        assert!(write_line(Kind::Snapshot, quoted, &mut out).is_err());
    }

    #[test]
    fn a_csv_row_becomes_a_line_that_the_server_reads() {
        let row = |fields: &[&str]| csv(Columns::default_of(Kind::Scores), fields).unwrap();
        assert_eq!(row(&["a", "5"]), "{\"user_id\":\"a\",\"score\":5}\n");
        assert_eq!(
            row(&["a\"b\\", "-5", "2026-11-15T10:00:00.25Z", "Älice, \"A\""]),
            "{\"user_id\":\"a\\\"b\\\\\",\"score\":-5,\"at\":1794736800250,\"user_name\":\"Älice, \\\"A\\\"\"}\n"
        );
        assert_eq!(
            row(&["a", " 5 ", "1794736800250", ""]),
            "{\"user_id\":\"a\",\"score\":5,\"at\":1794736800250}\n"
        );
    }

    #[test]
    fn a_header_names_the_columns_in_any_order() {
        let header = |names: &[&str]| Columns::of_header(Kind::Scores, &record(names));
        let columns = header(&["score", "User_Id "]).unwrap().unwrap();
        assert_eq!(csv(columns, &["7", "a"]).unwrap(), "{\"user_id\":\"a\",\"score\":7}\n");
        assert!(csv(columns, &["7", "a", "x"]).is_err());
        assert_eq!(header(&["a", "5"]), Ok(None));
        assert!(header(&["user_id", "score", "username"]).is_err());
        assert!(header(&["user_id", "score", "score"]).is_err());
    }

    #[test]
    fn a_bad_row_is_refused_here_as_it_would_be_there() {
        for fields in [
            &["", "5"][..],
            &["a/b", "5"],
            &["a\u{200b}", "5"],
            &["a"],
            &["a", ""],
            &["a", "5.0"],
            &["a", "1e3"],
            &["a", "9007199254740992"],
            &["a", "5", "yesterday"],
            &["a", "5", "", "a\nb"],
            &["a", "5", "", "b", "c"],
        ] {
            assert!(csv(Columns::default_of(Kind::Scores), fields).is_err(), "{fields:?}");
        }
        for line in [
            "",
            "[]",
            "{}",
            "{\"user_id\":\"a\"}",
            "{\"user_id\":\"a\",\"score\":1.5}",
            "{\"user_id\":\"a\",\"score\":1,\"points\":2}",
            "{\"user_id\":1,\"score\":1}",
            "{\"user_id\":\"a\",\"score\":1,\"at\":true}",
        ] {
            assert!(ndjson(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_line_of_ndjson_keeps_its_meaning() {
        let full = "{\"user_name\":\"\\u00c4\",\"score\":3,\"at\":\"2026-11-15T10:00:00Z\",\"user_id\":\"a\\\"b\"}";
        assert_eq!(
            ndjson(full).unwrap(),
            "{\"user_id\":\"a\\\"b\",\"score\":3,\"at\":1794736800000,\"user_name\":\"Ä\"}\n"
        );
        let nulls = "{\"user_id\":\"a\",\"score\":3,\"at\":null,\"user_name\":null}";
        assert_eq!(ndjson(nulls).unwrap(), "{\"user_id\":\"a\",\"score\":3}\n");
    }
}
