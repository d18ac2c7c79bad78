//! `standings snapshot`: boards as they were at a date.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use standings_server::DEFAULT_BOARD;

use super::{
    client::{Call, Path},
    failure::Result,
    output::{Column, more, rows, table, text, written},
};

/// List and take snapshots.
///
/// A snapshot is read with `--snapshot` of `top`, `rank` and `export`, and imported with that of `import`.
#[derive(Debug, Subcommand)]
pub(crate) enum Snapshot {
    /// List a board's snapshots, newest first
    #[command(after_help = "Example:\n  standings snapshot list --board level")]
    List(List),
    /// Freeze a board as it is now, under today's date in its time zone; one of that date is replaced
    #[command(after_help = "Example:\n  standings snapshot take --board level")]
    Take(Take),
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// The board
    #[arg(long, default_value = DEFAULT_BOARD)]
    board: String,
    /// How many, up to 1000 [default: 100]
    #[arg(long)]
    limit: Option<u32>,
    /// Only those older than this date
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct Take {
    /// The board
    #[arg(long)]
    board: String,
    #[command(flatten)]
    call: Call,
}

impl Snapshot {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::List(List { board, limit, before, call }) => {
                let path = Path::v1(&["boards", &board, "snapshots"])
                    .with("limit", limit)
                    .with("before", before);
                call.get(&path, listed)
            }
            Self::Take(Take { board, call }) => {
                let path = Path::v1(&["boards", &board, "snapshots"]);
                let reply = call.client()?.post(&path, &json!({}))?;
                call.output.show(&reply, |taken| {
                    format!("{board}, snapshot {}: {}", text(taken, "snapshot"), written(taken))
                })
            }
        }
    }
}

fn listed(page: &Value) -> String {
    let columns = [Column::Left("SNAPSHOT"), Column::Right("PLAYERS"), Column::Left("STATE")];
    let row = |snapshot: &Value| {
        let writing = if snapshot["state"] == "writing" { "writing" } else { "" };
        vec![text(snapshot, "snapshot"), text(snapshot, "players"), writing.to_owned()]
    };
    let table = table(&columns, &rows(page, "data").iter().map(row).collect::<Vec<_>>());
    format!("{table}{}", more(page))
}
