//! `standings top`, `rank` and `submit`: the daily business of a board.

use clap::Args;
use serde_json::{Map, Value};

use super::{
    client::{Call, Path},
    failure::Result,
    output::{rows, text, thousands},
    rows::standing,
};

/// Which standing is read.
#[derive(Args, Debug)]
pub(super) struct Which {
    /// The board [default: the server's default board]
    #[arg(long)]
    pub(super) board: Option<String>,
    /// An id such as 2026-11, or `previous` [default: the current one]
    #[arg(long)]
    pub(super) season: Option<String>,
    /// The board as it was at a date such as 2026-02-21, or `latest`
    #[arg(long, value_name = "DATE", conflicts_with = "season")]
    pub(super) snapshot: Option<String>,
}

impl Which {
    /// Its scores, and further segments.
    pub(super) fn path(&self, further: &[&str]) -> Path {
        Path::scores(self.board.as_deref(), further)
            .with("season", self.season.as_deref())
            .with("snapshot", self.snapshot.as_deref())
    }
}

/// Show the best of a board.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  standings top
  standings top --board laps --season previous --limit 100
  standings top --min 50 --max 80
  standings top --board level --snapshot 2026-02-21 --min 50 --max 80")]
pub(crate) struct Top {
    #[command(flatten)]
    which: Which,
    /// How many rows, up to 1000
    #[arg(long, default_value_t = 10)]
    limit: u32,
    /// How many rows to skip
    #[arg(long)]
    offset: Option<u64>,
    /// Only scores from this one up
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    min: Option<i64>,
    /// Only scores up to this one
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    max: Option<i64>,
    #[command(flatten)]
    call: Call,
}

impl Top {
    pub(crate) fn run(self) -> Result<()> {
        let path = self
            .which
            .path(&[])
            .with("limit", Some(self.limit))
            .with("offset", self.offset)
            .with("min", self.min)
            .with("max", self.max);
        self.call.get(&path, |page| {
            let players = thousands(page["players"].as_u64().unwrap_or(0));
            let (board, season) = (text(page, "board"), text(page, "season"));
            let of = match text(page, "snapshot") {
                none if none.is_empty() => format!("season {season}"),
                date => format!("snapshot {date}"),
            };
            let rows = standing(page, rows(page, "data"));
            format!("{board}, {of}, players: {players}\n{rows}")
        })
    }
}

/// Show a player's rank.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  standings rank alice
  standings rank alice --board laps --around 4
  standings rank alice --friends")]
pub(crate) struct Rank {
    /// The player's id
    user: String,
    #[command(flatten)]
    which: Which,
    /// Show so many rows on each side, up to 100
    #[arg(long, value_name = "ROWS")]
    around: Option<u32>,
    /// Show the player among friends: RANK is the rank among them, ON BOARD that on the board
    #[arg(long, conflicts_with = "around")]
    friends: bool,
    #[command(flatten)]
    call: Call,
}

impl Rank {
    pub(crate) fn run(self) -> Result<()> {
        let path = self
            .which
            .path(&[&self.user])
            .with("around", self.around)
            .with("friends", self.friends.then_some(true));
        self.call.get(&path, |entry| {
            let player = &entry["user_info"];
            let shown = match (rows(entry, "around"), rows(entry, "friends")) {
                ([], []) if player.is_null() => return "no entry, and none of a friend".to_owned(),
                ([], []) => std::slice::from_ref(player),
                ([], friends) => friends,
                (around, _) => around,
            };
            if player.is_null() {
                return standing(entry, shown);
            }
            let percentile = player["percentile"].as_f64().unwrap_or_default();
            let updated = text(player, "updated_at");
            format!("{}percentile {percentile:.2}, updated {updated}", standing(entry, shown))
        })
    }
}

/// Submit a score.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  standings submit alice 3
  standings submit alice 61250 --board laps --event-id race-7-alice --name Alice")]
pub(crate) struct Submit {
    /// The player's id
    user: String,
    /// A whole number; what it does is the board's rule
    #[arg(allow_negative_numbers = true)]
    points: i64,
    /// The board [default: the server's default board]
    #[arg(long)]
    board: Option<String>,
    /// Makes it count once, however often it is sent
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
    /// When it happened: RFC 3339, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    at: Option<String>,
    /// Sets the player's display name in the same step
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    call: Call,
}

impl Submit {
    pub(crate) fn run(self) -> Result<()> {
        let mut body = Map::new();
        body.insert("user_id".to_owned(), self.user.into());
        body.insert("points".to_owned(), self.points.into());
        let at = self.at.map(|at| at.parse::<i64>().map_or_else(|_| at.into(), Value::from));
        let optional = [
            ("event_id", self.event_id.map(Value::from)),
            ("at", at),
            ("user_name", self.name.map(Value::from)),
        ];
        for (name, value) in optional {
            body.extend(value.map(|value| (name.to_owned(), value)));
        }
        let path = Path::scores(self.board.as_deref(), &[]);
        let reply = self.call.client()?.post(&path, &Value::Object(body))?;
        self.call.output.show(&reply, receipt)
    }
}

/// `alice: score 30, rank 1 (before: 27, rank 2), board main, season 2026-11`
fn receipt(receipt: &Value) -> String {
    let or_unknown = |member| match text(receipt, member) {
        empty if empty.is_empty() => "unknown".to_owned(),
        rank => rank,
    };
    let [user, score, board, season] =
        ["user_id", "score", "board", "season"].map(|member| text(receipt, member));
    let before = if receipt["duplicate"] == true {
        " (counted before)".to_owned()
    } else if receipt["previous_score"].is_null() {
        String::new()
    } else {
        let score = text(receipt, "previous_score");
        format!(" (before: {score}, rank {})", or_unknown("previous_rank"))
    };
    format!(
        "{user}: score {score}, rank {}{before}, board {board}, season {season}",
        or_unknown("rank")
    )
}
