//! Questions and answers of the [`Engine`](crate::Engine) contract.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use standings_core::{
    Board, BoardId, EventId, KeyName, LocalDate, Millis, Name, PlayerId, Profile, Rank, Score,
    SeasonId, SeasonSpan,
};
pub use standings_core::{
    standing::{Bin, Decile, Filter},
    streak::Streak,
};

/// A rank as an engine can give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankAnswer {
    /// Counts from 1.
    pub rank: Rank,
    /// `None` where the rank is exact; otherwise how far the true rank may be from it.
    pub error_bound: Option<u64>,
}

impl RankAnswer {
    /// A rank that is right.
    pub fn exact(rank: Rank) -> Self {
        Self { rank, error_bound: None }
    }
}

/// Which season is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SeasonRef {
    /// The one that contains the server's present.
    #[default]
    Current,
    /// The one before it.
    Previous,
    /// A given one.
    Id(SeasonId),
}

impl std::fmt::Display for SeasonRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Current => f.write_str("current"),
            Self::Previous => f.write_str("previous"),
            Self::Id(id) => id.fmt(f),
        }
    }
}

/// Which snapshot is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnapshotRef {
    /// The newest one.
    Latest,
    /// That of a date in the board's zone.
    Date(LocalDate),
}

impl std::fmt::Display for SnapshotRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Date(date) => date.fmt(f),
        }
    }
}

/// Which standing is meant: a season as it is, or a board as it was at a date.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StandingRef {
    /// A season.
    Season(SeasonRef),
    /// A snapshot.
    Snapshot(SnapshotRef),
}

impl StandingRef {
    /// The current season.
    pub const CURRENT: Self = Self::Season(SeasonRef::Current);
    /// The season before it.
    pub const PREVIOUS: Self = Self::Season(SeasonRef::Previous);
}

impl Default for StandingRef {
    fn default() -> Self {
        Self::CURRENT
    }
}

impl From<SeasonRef> for StandingRef {
    fn from(season: SeasonRef) -> Self {
        Self::Season(season)
    }
}

impl From<SnapshotRef> for StandingRef {
    fn from(snapshot: SnapshotRef) -> Self {
        Self::Snapshot(snapshot)
    }
}

/// The standing that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingId {
    /// The season; of a snapshot, the one that was current when it was taken.
    pub season: SeasonId,
    /// The date, where it is a snapshot.
    pub snapshot: Option<LocalDate>,
}

/// Where the next page of a list begins, in the engine's own terms. To everyone else it is opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark(pub String);

/// A board as it is now.
#[derive(Clone, Debug)]
pub struct BoardInfo {
    /// Its id.
    pub id: BoardId,
    /// Its definition.
    pub definition: Arc<Board>,
    /// The current season.
    pub season: SeasonSpan,
    /// Players in the current season.
    pub players: u64,
}

/// What a PUT did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Created,
    /// It was there and is as given now.
    Changed,
}

/// The answer to an accepted submission. When it is given, the score is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Who scored.
    pub player: PlayerId,
    /// The season that the event counts in.
    pub season: SeasonId,
    /// The score after it; for a duplicate, the one recorded then.
    pub score: Score,
    /// The rank after it; for a duplicate, the one now. `None` where the store could not tell in time, or the player has
    /// been taken off since.
    pub rank: Option<RankAnswer>,
    /// `None` for a first score, and for a duplicate.
    pub previous_score: Option<Score>,
    /// Likewise.
    pub previous_rank: Option<RankAnswer>,
    /// Whether the score became another.
    pub changed: bool,
    /// When the score was reached.
    pub at: Millis,
    /// Whether the event id had been accepted before, and nothing was done.
    pub duplicate: bool,
}

/// A score that is set, not decided: a row of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreRow {
    /// Whose.
    pub player: PlayerId,
    /// The score.
    pub score: Score,
    /// When it was reached; when absent, now (or, in a closed season, its end).
    pub at: Option<Millis>,
    /// Sets the display name in the same step; in a closed season or a snapshot, the name of that time.
    pub user_name: Option<Name>,
    /// The rank that someone else gave, such as the game's own list. Only snapshots keep it.
    pub official_rank: Option<u32>,
}

/// Where scores were set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoresSet {
    /// The season.
    pub season: SeasonId,
    /// What tells it from one that is called the same, such as that of a board created anew.
    pub mark: Mark,
}

/// Which seasons are wanted.
#[derive(Clone, Debug)]
pub struct SeasonsQuery {
    /// Only those with this year in the id.
    pub year: Option<i32>,
    /// Only those older than this one.
    pub before: Option<SeasonId>,
    /// At most so many.
    pub limit: usize,
}

/// Seasons, newest first.
#[derive(Clone, Debug)]
pub struct SeasonsPage {
    /// The seasons.
    pub seasons: Vec<SeasonInfo>,
    /// Whether there are older ones.
    pub more: bool,
    /// The mean of the success rates of all seasons of the year, on this page or not: of those that are over, had a goal and
    /// any players. `None` where there are none, or no year was asked for.
    pub mean_success_rate: Option<f64>,
}

/// Whether a season takes submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeasonState {
    /// It contains the present.
    Open,
    /// It is over, and takes late submissions for its grace.
    Closing,
    /// Its ranks are final.
    Closed,
}

/// A season in a list.
#[derive(Clone, Debug)]
pub struct SeasonInfo {
    /// Its id and when it runs.
    pub span: SeasonSpan,
    /// Whether it takes submissions.
    pub state: SeasonState,
    /// Players with an entry.
    pub players: u64,
    /// The mean score; `None` where there are no players.
    pub mean: Option<f64>,
    /// Players that met the goal; `None` where the season had none.
    pub successes: Option<u64>,
    /// How long the streaks were that reached up to this season when it closed, by players, shortest first; `None` where the season
    /// had no goal, and until it is closed and written.
    pub streaks: Option<Vec<StreakCount>>,
}

/// How many players have a streak of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreakCount {
    /// Consecutive seasons with success.
    pub length: u32,
    /// Players.
    pub players: u64,
}

/// A row of a standing.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who.
    pub player: PlayerId,
    /// Name and picture, where there are any.
    pub profile: Option<Arc<Profile>>,
    /// The rank on the board.
    pub rank: RankAnswer,
    /// The score.
    pub score: Score,
    /// When it was reached.
    pub at: Millis,
    /// Whether the goal was met, on boards that have one.
    pub success: Option<bool>,
    /// In a snapshot, the official rank of those who have one.
    pub official_rank: Option<u32>,
}

/// Which rows are wanted.
#[derive(Clone, Debug, Default)]
pub struct PageQuery {
    /// Of which standing.
    pub standing: StandingRef,
    /// Of which players.
    pub filter: Filter,
    /// From where.
    pub start: Start,
    /// At most so many.
    pub limit: usize,
}

/// Where a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// So many filtered rows are skipped.
    Offset(u64),
    /// Right after the place of a row that was shown, wherever that player is now.
    After(Place),
}

impl Default for Start {
    fn default() -> Self {
        Self::Offset(0)
    }
}

/// A place in a standing's total order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// By score,
    pub score: Score,
    /// then by when it was reached,
    pub at: Millis,
    /// then by the bytes of the id.
    pub player: PlayerId,
}

/// A page of a standing.
#[derive(Clone, Debug)]
pub struct Page {
    /// The standing that was read.
    pub standing: StandingId,
    /// The rows, best first.
    pub rows: Vec<Row>,
    /// Players on the board, whatever the filter.
    pub players: u64,
    /// Whether more rows follow.
    pub more: bool,
}

/// Rows of given players.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The standing that was read.
    pub standing: StandingId,
    /// The rows, best first.
    pub rows: Vec<Row>,
    /// Who has no entry, in the order asked.
    pub missing: Vec<PlayerId>,
    /// Players on the board.
    pub players: u64,
}

/// One player's entry.
#[derive(Clone, Debug)]
pub struct PlayerEntry {
    /// The standing that was read.
    pub standing: StandingId,
    /// The entry.
    pub row: Row,
    /// 100 × (players − players strictly better) / players.
    pub percentile: f64,
    /// When a submission was last accepted.
    pub updated_at: Millis,
    /// The rows on each side with the player among them, where they were asked for.
    pub around: Vec<Row>,
}

/// A player among friends.
#[derive(Clone, Debug)]
pub struct AmongFriends {
    /// The standing that was read.
    pub standing: StandingId,
    /// The player's own entry, if there is one.
    pub entry: Option<PlayerEntry>,
    /// The player and the friends that have an entry, best first.
    pub rows: Vec<FriendRow>,
}

/// A row among friends.
#[derive(Clone, Debug)]
pub struct FriendRow {
    /// The rank among them, by the board's own tie rule.
    pub rank: Rank,
    /// The row with the rank on the board.
    pub row: Row,
}

/// Where a score would stand.
#[derive(Clone, Debug)]
pub struct ScorePlace {
    /// The standing that was read.
    pub standing: StandingId,
    /// The rank that the score would have.
    pub rank: RankAnswer,
    /// Its percentile, the new entry counted.
    pub percentile: f64,
    /// The rows on each side of the place.
    pub around: Vec<Row>,
}

/// How the scores of a season are distributed.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The standing that was read.
    pub standing: StandingId,
    /// Players with an entry; the rest is empty where there are none.
    pub players: u64,
    /// The lowest score.
    pub min: Option<Score>,
    /// The highest score.
    pub max: Option<Score>,
    /// The mean score.
    pub mean: Option<f64>,
    /// The score at which the best 10, 20 … 90 percent begin.
    pub deciles: Vec<Decile>,
    /// Players by score, in equal steps.
    pub histogram: Vec<Bin>,
    /// When it was computed.
    pub computed_at: Millis,
}

/// A player.
#[derive(Clone, Debug)]
pub struct PlayerInfo {
    /// Who.
    pub player: PlayerId,
    /// The profile; empty where only scores are known.
    pub profile: Arc<Profile>,
    /// Current entries, by board id.
    pub entries: Vec<CurrentEntry>,
}

/// A player's entry in a board's current season.
#[derive(Clone, Debug)]
pub struct CurrentEntry {
    /// The board.
    pub board: BoardId,
    /// Its current season.
    pub season: SeasonId,
    /// The score.
    pub score: Score,
    /// The rank.
    pub rank: RankAnswer,
}

/// Which accepted submissions of a player are wanted.
#[derive(Clone, Debug, Default)]
pub struct EventsQuery {
    /// Only those of one board.
    pub board: Option<BoardId>,
    /// Only those before this place in the list.
    pub before: Option<Mark>,
    /// At most so many.
    pub limit: usize,
}

/// Accepted submissions, the last accepted first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsPage {
    /// The events.
    pub events: Vec<PlayerEvent>,
    /// Where the older ones begin, if there are any.
    pub next: Option<Mark>,
}

/// An accepted submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerEvent {
    /// Where it counts,
    pub board: BoardId,
    /// and when.
    pub season: SeasonId,
    /// What was sent.
    pub points: Score,
    /// The score that it led to.
    pub score: Score,
    /// When it happened.
    pub at: Millis,
    /// The id that came with it.
    pub event_id: Option<EventId>,
}

/// Which seasons of a player are wanted.
#[derive(Clone, Debug)]
pub struct PlayerSeasonsQuery {
    /// Only those that end after this instant,
    pub from: Millis,
    /// and begin before this one.
    pub to: Millis,
    /// Only those older than this one.
    pub before: Option<SeasonId>,
    /// At most so many.
    pub limit: usize,
}

/// A player's seasons on a board, newest first.
#[derive(Clone, Debug)]
pub struct PlayerSeasons {
    /// Those in which the player has an entry.
    pub seasons: Vec<PlayerSeason>,
    /// Whether there are older ones.
    pub more: bool,
    /// The best score that the player ever had in a season, kept or not.
    pub best: Option<SeasonBest>,
    /// The streaks, on boards that have a goal or had one.
    pub streak: Option<Streak>,
}

/// A player's entry in a season.
#[derive(Clone, Debug)]
pub struct PlayerSeason {
    /// The season.
    pub span: SeasonSpan,
    /// Whether it takes submissions.
    pub state: SeasonState,
    /// The score.
    pub score: Score,
    /// The rank, final where the season is closed.
    pub rank: RankAnswer,
    /// Whether the goal was met, where the season had one.
    pub success: Option<bool>,
    /// When the score was reached.
    pub at: Millis,
    /// When a submission was last accepted.
    pub updated_at: Millis,
}

/// A player's best season on a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeasonBest {
    /// The score.
    pub score: Score,
    /// The season in which it was first reached.
    pub season: SeasonId,
}

/// Which snapshots of a player are wanted.
#[derive(Clone, Debug, Default)]
pub struct PlayerSnapshotsQuery {
    /// Only those of one board.
    pub board: Option<BoardId>,
    /// From this date on.
    pub from: Option<LocalDate>,
    /// Up to this date.
    pub to: Option<LocalDate>,
    /// Only those before this place in the list.
    pub before: Option<Mark>,
    /// At most so many.
    pub limit: usize,
}

/// A player day by day, newest first, then by board id.
#[derive(Clone, Debug)]
pub struct PlayerSnapshotsPage {
    /// The snapshots in which the player has an entry.
    pub snapshots: Vec<PlayerSnapshot>,
    /// Where the older ones begin, if there are any.
    pub next: Option<Mark>,
}

/// A player's entry in a snapshot.
#[derive(Clone, Debug)]
pub struct PlayerSnapshot {
    /// The date.
    pub date: LocalDate,
    /// The board.
    pub board: BoardId,
    /// The name of that time.
    pub name: Option<Name>,
    /// The score.
    pub score: Score,
    /// The rank.
    pub rank: RankAnswer,
    /// The official rank of those who have one.
    pub official_rank: Option<u32>,
}

/// A snapshot in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its date.
    pub date: LocalDate,
    /// Players with an entry.
    pub players: u64,
}

/// Which snapshots of a board are wanted.
#[derive(Clone, Debug)]
pub struct SnapshotsQuery {
    /// Only those older than this one.
    pub before: Option<LocalDate>,
    /// At most so many.
    pub limit: usize,
}

/// Snapshots, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotsPage {
    /// The snapshots.
    pub snapshots: Vec<SnapshotInfo>,
    /// Whether there are older ones.
    pub more: bool,
}

/// A question for players by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameQuery {
    /// The whole name.
    Is(String),
    /// How it begins.
    StartsWith(String),
}

/// A player found by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPlayer {
    /// Who.
    pub player: PlayerId,
    /// The name as it is written.
    pub name: Name,
}

/// What a key may do. A role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read.
    Read,
    /// A game server: submits scores, writes players.
    Game,
    /// Everything.
    Admin,
}

/// The SHA-256 of a key. The key itself is stored nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyHash(pub [u8; 32]);

/// A key as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyInfo {
    /// Its name.
    pub name: KeyName,
    /// What it may do.
    pub role: Role,
    /// When it was made.
    pub created_at: Millis,
}

/// A finished backup.
#[derive(Clone, Debug)]
pub struct BackupInfo {
    /// Where it is.
    pub path: PathBuf,
    /// Everything accepted up to this number of the ledger is in it.
    pub sequence: u64,
    /// Its size.
    pub bytes: u64,
}
