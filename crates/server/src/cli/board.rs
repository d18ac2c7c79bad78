//! `standings board`: definitions of competitions.

use std::{
    fs,
    io::{self, Read},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{
    client::{Call, Path},
    failure::{Failure, Result},
    output::{Column, confirm, print, rows, table, text},
};

/// List, create, show and delete boards.
#[derive(Debug, Subcommand)]
pub(crate) enum Board {
    /// List the boards
    #[command(after_help = "Example:\n  standings board list")]
    List(Call),
    /// Create a board from flags or from a file
    #[command(after_help = "Examples:
  standings board create laps --rule best --order asc --season weekly --time-zone Asia/Seoul
  standings board create daily --file daily.json")]
    Create(Box<Create>),
    /// Show a board's definition and its current season
    #[command(after_help = "Example:\n  standings board show main")]
    Show(Show),
    /// Delete a board with all its seasons
    #[command(after_help = "Example:\n  standings board delete laps --yes")]
    Delete(Delete),
}

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Its id: [a-z0-9][a-z0-9_-]{0,63}
    id: String,
    #[command(flatten)]
    definition: Definition,
    /// The whole definition as JSON; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "Definition")]
    file: Option<PathBuf>,
    /// Give a board that exists this definition: absent settings go back to their defaults
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    call: Call,
}

/// The settings of a definition that fit a flag. What is absent has the server's default.
#[derive(Args, Debug)]
#[command(next_help_heading = "Definition")]
struct Definition {
    /// A name for people
    #[arg(long)]
    title: Option<String>,
    /// How points change the score [default: sum]
    #[arg(long, value_parser = ["sum", "best", "latest"])]
    rule: Option<String>,
    /// Whether high or low is better [default: desc]
    #[arg(long, value_parser = ["desc", "asc"])]
    order: Option<String>,
    /// Ranks 1,2,2,4, or who got there first ahead [default: share]
    #[arg(long, value_parser = ["share", "earliest"])]
    ties: Option<String>,
    /// monthly, weekly, daily, yearly, never, or five cron fields [default: monthly]
    #[arg(long)]
    season: Option<String>,
    /// The first day of a weekly season [default: monday]
    #[arg(long, value_name = "DAY")]
    week_starts: Option<String>,
    /// Where midnight is: UTC or an IANA name [default: UTC]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// How long a season takes late submissions [default: 5 minutes]
    #[arg(long, value_name = "SPAN")]
    grace: Option<String>,
    /// How long closed seasons stay: a span, "8 seasons" or "forever" [default: 24 months]
    #[arg(long, value_name = "SPAN")]
    keep: Option<String>,
    /// A score at least this good is a success
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    goal: Option<i64>,
    /// One accepted submission per player and period
    #[arg(long, value_parser = ["day", "hour"])]
    once_per: Option<String>,
    /// Refuse submissions of fewer points
    #[arg(long, value_name = "POINTS", allow_negative_numbers = true)]
    min_points: Option<i64>,
    /// Refuse submissions of more points
    #[arg(long, value_name = "POINTS", allow_negative_numbers = true)]
    max_points: Option<i64>,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Its id
    id: String,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Its id
    id: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    call: Call,
}

impl Board {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::List(call) => list(&call),
            Self::Create(create) => create.run(),
            Self::Show(Show { id, call }) => call.get(&Path::v1(&["boards", &id]), shown),
            Self::Delete(Delete { id, yes, call }) => {
                let client = call.client()?;
                if !yes {
                    confirm(&format!("this deletes board {id} with all its seasons"), &id)?;
                }
                client.delete(&Path::v1(&["boards", &id]))?;
                call.output.done(&format!("board {id} is deleted"))
            }
        }
    }
}

impl Create {
    fn run(self) -> Result<()> {
        let path = Path::v1(&["boards", &self.id]);
        let definition = match &self.file {
            Some(file) => read(file)?,
            None => self.definition.to_json(),
        };
        let client = self.call.client()?;
        // The server's PUT is for both; here a name taken by accident must not change the board that has it.
        if !self.replace {
            match client.get(&path) {
                Err(failure) if failure.has_code("unknown_board") => {}
                Err(failure) => return Err(failure),
                Ok(_) => {
                    let id = &self.id;
                    let words = format!("there is a board {id} already; --replace changes it");
                    return Err(Failure::Other(words));
                }
            }
        }
        let reply = client.put(&path, &definition).map_err(|failure| match &self.file {
            Some(file) if failure.has_code("malformed") => failure.within(file.display()),
            _ => failure,
        })?;
        let done = if reply.status == 201 { "created" } else { "changed" };
        self.call
            .output
            .show(&reply, |board| format!("board {} is {done}\n{}", self.id, shown(board)))
    }
}

impl Definition {
    fn to_json(&self) -> String {
        let mut json = Map::new();
        let texts = [
            ("title", &self.title),
            ("rule", &self.rule),
            ("order", &self.order),
            ("ties", &self.ties),
            ("season", &self.season),
            ("week_starts", &self.week_starts),
            ("time_zone", &self.time_zone),
            ("grace", &self.grace),
            ("keep", &self.keep),
            ("once_per", &self.once_per),
        ];
        for (name, value) in texts {
            json.extend(value.clone().map(|value| (name.to_owned(), value.into())));
        }
        let numbers =
            [("goal", self.goal), ("min_points", self.min_points), ("max_points", self.max_points)];
        for (name, value) in numbers {
            json.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        Value::Object(json).to_string()
    }
}

fn read(file: &PathBuf) -> Result<String> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    read.map_err(|error| Failure::file("read", file, error))
}

/// All boards, page by page.
fn list(call: &Call) -> Result<()> {
    let client = call.client()?;
    let (mut all, mut next) = (Vec::new(), None::<String>);
    loop {
        let mut page: Value = client.get(&Path::v1(&["boards"]).with("after", next))?.json()?;
        all.extend(page["data"].as_array_mut().map(std::mem::take).into_iter().flatten());
        next = page["next"].as_str().map(str::to_owned);
        if next.is_none() {
            break;
        }
    }
    let all = json!({"data": all});
    print(if call.output.is_json() { all.to_string() } else { listed(&all) }.trim_end().as_bytes())
}

fn listed(reply: &Value) -> String {
    let columns = [
        Column::Left("BOARD"),
        Column::Left("TITLE"),
        Column::Left("RULE"),
        Column::Left("ORDER"),
        Column::Left("SEASONS"),
        Column::Left("CURRENT"),
    ];
    let row = |board: &Value| {
        let current = text(&board["current_season"], "id");
        let [id, title, rule, order, season] =
            ["id", "title", "rule", "order", "season"].map(|member| text(board, member));
        vec![id, title, rule, order, season, current]
    };
    table(&columns, &rows(reply, "data").iter().map(row).collect::<Vec<_>>())
}

/// A line for each setting, as it is written in a definition.
fn shown(board: &Value) -> String {
    let members = board.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let row = |(name, _): (&String, _)| {
        let value = match name.as_str() {
            "current_season" => span(&board["current_season"]),
            name => text(board, name),
        };
        vec![name.clone(), value]
    };
    let columns = [Column::Left("SETTING"), Column::Left("VALUE")];
    table(&columns, &members.map(row).collect::<Vec<_>>())
}

fn span(season: &Value) -> String {
    let [id, from, to] = ["id", "starts_at", "ends_at"].map(|member| text(season, member));
    if to.is_empty() { format!("{id}, from {from}") } else { format!("{id}, {from} to {to}") }
}
