//! `standings player`: who plays, and what they did.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    client::{Call, Path},
    failure::Result,
    output::{Column, confirm, more, rows, table, text, yes_no},
    rows::rank,
};

/// Show, befriend and erase players.
#[derive(Debug, Subcommand)]
pub(crate) enum Player {
    /// Show a player's profile and current scores
    #[command(after_help = "Example:\n  standings player show alice")]
    Show(Show),
    /// List a player's accepted submissions, newest first
    #[command(after_help = "Examples:
  standings player history alice
  standings player history alice --board laps --limit 100")]
    History(History),
    /// List a player's seasons on a board, newest first, with the best score and the streaks
    #[command(after_help = "Examples:
  standings player seasons alice
  standings player seasons alice --board commits --from 2026-W01 --to 2026-06-30")]
    Seasons(Seasons),
    /// List a player's entries in snapshots, newest first
    #[command(after_help = "Examples:
  standings player snapshots alice
  standings player snapshots alice --board level --from 2026-02-01 --to 2026-02-21")]
    Snapshots(Snapshots),
    /// List a player's friends
    #[command(after_help = "Example:\n  standings player friends alice")]
    Friends(Show),
    /// Replace the list of a player's friends; it is one-way
    #[command(after_help = "Examples:
  standings player set-friends alice bob carol
  standings player set-friends alice --none")]
    SetFriends(SetFriends),
    /// Erase a player everywhere: profile, scores, history, closed seasons and snapshots
    #[command(after_help = "Example:\n  standings player erase alice --yes")]
    Erase(Erase),
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The player's id
    user: String,
    #[command(flatten)]
    call: Call,
}

/// What the lists have in common.
#[derive(Args, Debug)]
struct Page {
    /// How many, up to 1000
    #[arg(long, default_value_t = 10)]
    limit: u32,
    /// Go on where a list ended: what it gave as `next`
    #[arg(long, value_name = "NEXT")]
    before: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct History {
    /// The player's id
    user: String,
    /// Only those of one board
    #[arg(long)]
    board: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct Seasons {
    /// The player's id
    user: String,
    /// The board [default: the server's default board]
    #[arg(long)]
    board: Option<String>,
    /// From this season on, or from the one of this date
    #[arg(long, value_name = "SEASON|DATE")]
    from: Option<String>,
    /// Up to this season, or to the one of this date
    #[arg(long, value_name = "SEASON|DATE")]
    to: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct Snapshots {
    /// The player's id
    user: String,
    /// Only those of one board
    #[arg(long)]
    board: Option<String>,
    /// From this date on
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Up to this date
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct SetFriends {
    /// The player's id
    user: String,
    /// The friends' ids, up to 5,000
    #[arg(required_unless_present = "none")]
    friends: Vec<String>,
    /// Empty the list
    #[arg(long, conflicts_with = "friends")]
    none: bool,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct Erase {
    /// The player's id
    user: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    call: Call,
}

impl Page {
    /// A list of a player from where this says.
    fn of(self, user: &str, list: &str, board: Option<String>) -> Path {
        Path::v1(&["players", user, list])
            .with("board", board)
            .with("limit", Some(self.limit))
            .with("before", self.before)
    }
}

impl Player {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Show(Show { user, call }) => call.get(&Path::v1(&["players", &user]), shown),
            Self::History(History { user, board, page, call }) => {
                let path = page.of(&user, "scores", board);
                call.get(&path, history)
            }
            Self::Seasons(Seasons { user, board, from, to, page, call }) => {
                let path = page.of(&user, "seasons", board).with("from", from).with("to", to);
                call.get(&path, seasons)
            }
            Self::Snapshots(Snapshots { user, board, from, to, page, call }) => {
                let path = page.of(&user, "snapshots", board).with("from", from).with("to", to);
                call.get(&path, snapshots)
            }
            Self::Friends(Show { user, call }) => {
                call.get(&Path::v1(&["players", &user, "friends"]), friends)
            }
            Self::SetFriends(SetFriends { user, friends, none: _, call }) => {
                let path = Path::v1(&["players", &user, "friends"]);
                let list = json!({"user_ids": friends}).to_string();
                let reply = call.client()?.put(&path, &list)?;
                call.output.show(&reply, |list| {
                    format!("{user} has {} friends", rows(list, "user_ids").len())
                })
            }
            Self::Erase(Erase { user, yes, call }) => {
                let client = call.client()?;
                if !yes {
                    confirm(&format!("this erases player {user} everywhere, for good"), &user)?;
                }
                client.delete(&Path::v1(&["players", &user]))?;
                call.output.done(&format!("player {user} is erased"))
            }
        }
    }
}

/// A line for each member of the profile that is set, and the current scores.
fn shown(player: &Value) -> String {
    let members = ["user_id", "name", "avatar_url", "attributes"];
    let set = members.into_iter().filter(|member| !player[*member].is_null());
    let profile: Vec<_> = set.map(|member| vec![member.to_owned(), text(player, member)]).collect();
    let profile = table(&[Column::Left("PROFILE"), Column::Left("VALUE")], &profile);
    let columns = [
        Column::Left("BOARD"),
        Column::Left("SEASON"),
        Column::Right("RANK"),
        Column::Right("SCORE"),
    ];
    let row = |entry: &Value| {
        let [board, season, score] = ["board", "season", "score"].map(|m| text(entry, m));
        vec![board, season, rank(player, entry), score]
    };
    let entries: Vec<_> = rows(player, "boards").iter().map(row).collect();
    if entries.is_empty() { profile } else { format!("{profile}\n{}", table(&columns, &entries)) }
}

fn history(page: &Value) -> String {
    let columns = [
        Column::Left("AT"),
        Column::Left("BOARD"),
        Column::Left("SEASON"),
        Column::Right("POINTS"),
        Column::Right("SCORE"),
        Column::Left("EVENT"),
    ];
    let members = ["at", "board", "season", "points", "score", "event_id"];
    let row = |event: &Value| members.map(|member| text(event, member)).to_vec();
    let table = table(&columns, &rows(page, "data").iter().map(row).collect::<Vec<_>>());
    format!("{table}{}", more(page))
}

fn seasons(page: &Value) -> String {
    let columns = [
        Column::Left("SEASON"),
        Column::Left("STARTS"),
        Column::Left("ENDS"),
        Column::Right("RANK"),
        Column::Right("SCORE"),
        Column::Left("SUCCESS"),
        Column::Left("AT"),
        Column::Left("UPDATED"),
    ];
    let row = |season: &Value| {
        let [id, starts, ends, score, at, updated] =
            ["season", "starts_at", "ends_at", "score", "at", "updated_at"]
                .map(|member| text(season, member));
        vec![id, starts, ends, rank(page, season), score, yes_no(season, "success"), at, updated]
    };
    let table = table(&columns, &rows(page, "data").iter().map(row).collect::<Vec<_>>());
    let mut below = String::new();
    let best = &page["best"];
    // Writing into a String cannot fail.
    if !best.is_null() {
        let _ = writeln!(below, "best: {} in {}", text(best, "score"), text(best, "season"));
    }
    if !page["current_streak"].is_null() {
        let [current, longest] = ["current_streak", "longest_streak"].map(|m| text(page, m));
        let _ = writeln!(below, "streak: {current}, longest: {longest}");
    }
    format!("{table}{below}{}", more(page))
}

fn snapshots(page: &Value) -> String {
    let columns = [
        Column::Left("SNAPSHOT"),
        Column::Left("BOARD"),
        Column::Left("NAME"),
        Column::Right("RANK"),
        Column::Right("OFFICIAL"),
        Column::Right("SCORE"),
    ];
    let row = |entry: &Value| {
        let [date, board, name, official, score] =
            ["snapshot", "board", "user_name", "official_rank", "score"].map(|m| text(entry, m));
        vec![date, board, name, rank(page, entry), official, score]
    };
    let table = table(&columns, &rows(page, "data").iter().map(row).collect::<Vec<_>>());
    format!("{table}{}", more(page))
}

fn friends(list: &Value) -> String {
    let ids = rows(list, "user_ids").iter().filter_map(Value::as_str);
    table(&[Column::Left("FRIEND")], &ids.map(|id| vec![id.to_owned()]).collect::<Vec<_>>())
}
