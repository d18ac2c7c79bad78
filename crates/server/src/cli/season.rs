//! `standings season`: what a board has been through.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use standings_server::DEFAULT_BOARD;

use super::{
    client::{Call, Path},
    failure::Result,
    output::{Column, more, percent, rows, table, text},
};

/// List and close seasons.
#[derive(Debug, Subcommand)]
pub(crate) enum Season {
    /// List a board's seasons, newest first, with their statistics
    #[command(after_help = "Examples:
  standings season list
  standings season list --board commits --year 2025")]
    List(List),
    /// End a season now, without grace; what is left of its time is a new season
    #[command(after_help = "Examples:
  standings season close main
  standings season close main --season 2026-11")]
    Close(Close),
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// The board
    #[arg(long, default_value = DEFAULT_BOARD)]
    board: String,
    /// Only those with this year in their id
    #[arg(long)]
    year: Option<u16>,
    /// How many, up to 1000 [default: 104]
    #[arg(long)]
    limit: Option<u32>,
    /// Only those older than this one
    #[arg(long, value_name = "SEASON")]
    before: Option<String>,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct Close {
    /// The board
    board: String,
    /// The season; sent again, the call then closes no other [default: the current one]
    #[arg(long, value_name = "ID")]
    season: Option<String>,
    #[command(flatten)]
    call: Call,
}

impl Season {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::List(List { board, year, limit, before, call }) => {
                let path = Path::v1(&["boards", &board, "seasons"])
                    .with("year", year)
                    .with("limit", limit)
                    .with("before", before);
                call.get(&path, listed)
            }
            Self::Close(Close { board, season, call }) => {
                let path = Path::v1(&["boards", &board, "seasons", "close"]);
                let which = season.map_or_else(|| json!({}), |season| json!({"season": season}));
                let reply = call.client()?.post(&path, &which)?;
                call.output.show(&reply, |done| {
                    let (closed, current) = (text(done, "closed"), text(done, "current"));
                    format!("season {closed} of {board} is closed; {current} is current")
                })
            }
        }
    }
}

fn listed(page: &Value) -> String {
    let columns = [
        Column::Left("SEASON"),
        Column::Left("STATE"),
        Column::Left("STARTS"),
        Column::Left("ENDS"),
        Column::Right("PLAYERS"),
        Column::Right("MEAN"),
        Column::Right("SUCCESSES"),
        Column::Right("RATE"),
        Column::Left("STREAKS"),
    ];
    let row = |season: &Value| {
        let [id, mut state, starts, ends, players, successes] =
            ["id", "state", "starts_at", "ends_at", "players", "successes"]
                .map(|member| text(season, member));
        if state == "closed" && season["final"] == false {
            state.push_str(", writing");
        }
        let mean = season["mean"].as_f64().map_or_else(String::new, |mean| format!("{mean:.2}"));
        let rate = percent(season, "success_rate");
        vec![id, state, starts, ends, players, mean, successes, rate, streaks(season)]
    };
    let table = table(&columns, &rows(page, "data").iter().map(row).collect::<Vec<_>>());
    let mean = match percent(page, "mean_success_rate") {
        none if none.is_empty() => none,
        mean => format!("mean success rate of the seasons that are over: {mean}\n"),
    };
    format!("{table}{mean}{}", more(page))
}

/// Players by the length of their streak: `1: 20, 2: 7`.
fn streaks(season: &Value) -> String {
    let streaks = rows(season, "streaks").iter();
    let each = streaks.map(|s| format!("{}: {}", text(s, "length"), text(s, "players")));
    each.collect::<Vec<_>>().join(", ")
}
