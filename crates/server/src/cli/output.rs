//! What people and scripts read on standard output.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{
    client::Reply,
    failure::{Failure, Result},
};

/// The form of the output.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Print the server's JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Output {
    /// Whether it is JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints the answer itself for a script, or what `human` makes of it.
    pub(crate) fn show(self, reply: &Reply, human: impl FnOnce(&Value) -> String) -> Result<()> {
        if self.json {
            return print(&reply.body);
        }
        print(human(&reply.json()?).trim_end().as_bytes())
    }

    /// Prints that something without an answer is done: a line for a person, an empty object for a script.
    pub(crate) fn done(self, human: &str) -> Result<()> {
        print(if self.json { b"{}" } else { human.as_bytes() })
    }
}

/// Writes a text and a line end to standard output.
pub(crate) fn print(text: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text).and_then(|()| out.write_all(b"\n"));
    written.and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// A member of an object as text; empty where there is none.
pub(crate) fn text(object: &Value, member: &str) -> String {
    match &object[member] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A member that is true or false, for people; empty where it is neither.
pub(crate) fn yes_no(object: &Value, member: &str) -> String {
    let word = match object[member].as_bool() {
        None => "",
        Some(true) => "yes",
        Some(false) => "no",
    };
    word.to_owned()
}

/// A member from 0 to 1 as a percentage; empty where there is none.
pub(crate) fn percent(object: &Value, member: &str) -> String {
    object[member].as_f64().map_or_else(String::new, |rate| format!("{:.2} %", rate * 100.0))
}

/// How large a standing is that was taken or imported, once the server has written it.
pub(crate) fn written(done: &Value) -> String {
    if done["state"] == "writing" {
        return "being written".to_owned();
    }
    format!("{} players", thousands(done["players"].as_u64().unwrap_or(0)))
}

/// How to see what follows a page; nothing where it is the last one.
pub(crate) fn more(page: &Value) -> String {
    match page["next"].as_str() {
        Some(next) => format!("older ones: --before {next}\n"),
        None => String::new(),
    }
}

/// Asks before something that cannot be undone: a person types the name, a script has to say `--yes`.
pub(crate) fn confirm(what: &str, name: &str) -> Result<()> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(format!("{what}; repeat it with --yes")));
    }
    eprint!("{what}; type {name} to do it: ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::Other(format!("cannot read the answer: {error}")))?;
    if answer.trim() == name { Ok(()) } else { Err(Failure::Other("nothing was done".to_owned())) }
}

/// The list in an answer.
pub(crate) fn rows<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    object[member].as_array().map_or(&[], Vec::as_slice)
}

/// A column of a table.
pub(crate) enum Column {
    /// Text, with its heading.
    Left(&'static str),
    /// Numbers, with their heading.
    Right(&'static str),
}

/// Rows under headings, in columns as wide as they need to be. A column without any content is left out.
pub(crate) fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    let width = |index: usize, heading: &str| {
        let widest = rows.iter().map(|row| row[index].width()).max().unwrap_or(0);
        let empty = widest == 0 && !rows.is_empty();
        (!empty).then(|| widest.max(heading.len()))
    };
    let headings: Vec<String> = columns
        .iter()
        .map(|(Column::Left(heading) | Column::Right(heading))| (*heading).to_owned())
        .collect();
    let widths: Vec<_> = headings.iter().enumerate().map(|(i, h)| width(i, h)).collect();
    let mut out = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        let start = out.len();
        for ((column, cell), width) in columns.iter().zip(row).zip(&widths) {
            let Some(width) = width else { continue };
            if out.len() > start {
                out.push_str("  ");
            }
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            match column {
                Column::Left(_) => out.extend([cell.as_str(), &padding]),
                Column::Right(_) => out.extend([padding.as_str(), cell]),
            }
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

/// A number with its thousands apart, for sentences.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_content_and_empty_ones_are_left_out() {
        let columns = [Column::Right("RANK"), Column::Left("USER"), Column::Left("NAME")];
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["1", "플레이어", ""]), row(["100000", "b", ""])];
        assert_eq!(table(&columns, &rows), "  RANK  USER\n     1  플레이어\n100000  b\n");
        assert_eq!(table(&columns, &[]), "RANK  USER  NAME\n");
    }

    #[test]
    fn a_standing_that_is_not_written_yet_has_no_size() {
        let done = |json| written(&serde_json::from_str(json).unwrap());
        assert_eq!(done(r#"{"snapshot":"2026-02-21","players":1234}"#), "1,234 players");
        assert_eq!(done(r#"{"snapshot":"2026-02-21","state":"writing"}"#), "being written");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(25_000_000), "25,000,000");
    }
}
