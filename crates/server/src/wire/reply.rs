//! What clients get when they submit and read scores. Replies borrow from the engine's answers and are written straight into the body.

use serde::{Serialize, Serializer};
use standings_core::{BoardId, LocalDate, Millis, Rank, SeasonId};
use standings_engine::{
    AmongFriends, Bin, Decile, Exactness, FriendRow, PlayerEntry, Receipt, Row,
};
use utoipa::ToSchema;

use crate::problem::Problem;

/// About what one row takes in a reply.
pub(crate) const ROW_BYTES: usize = 192;

/// An instant as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) Millis);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl utoipa::PartialSchema for Time {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("RFC 3339 in UTC."))
            .into()
    }
}

impl ToSchema for Time {}

/// Whether anything in an answer is only estimated, as two members that exact answers do not have.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Exactness)]
pub(crate) struct ExactnessReply {
    /// Present where anything in the answer is only estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    estimated: Option<bool>,
    /// Beside it: how far, in ranks, any number of the answer may be from the right one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error_bound: Option<u64>,
}

impl From<Exactness> for ExactnessReply {
    fn from(exactness: Exactness) -> Self {
        let error_bound = match exactness {
            Exactness::Exact => None,
            Exactness::Within(bound) => Some(bound),
        };
        Self { estimated: error_bound.map(|_| true), error_bound }
    }
}

/// The answer to an accepted submission. When it is sent, the score is durable.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Receipt)]
pub(crate) struct ReceiptReply<'a> {
    user_id: &'a str,
    board: &'a str,
    /// The season that the event counts in.
    #[schema(value_type = String, example = "2026-11")]
    season: &'a SeasonId,
    /// The score after it; for a duplicate, the one recorded then.
    score: i64,
    /// The rank after it; null where the store could not tell in time.
    #[schema(required)]
    rank: Option<u64>,
    /// Null for a first score.
    #[schema(required)]
    previous_score: Option<i64>,
    /// Null for a first score.
    #[schema(required)]
    previous_rank: Option<u64>,
    /// Whether the score became another.
    changed: bool,
    /// When the score was reached.
    at: Time,
    /// Present where the event id had been accepted before, and nothing was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    duplicate: bool,
    #[serde(flatten)]
    exactness: ExactnessReply,
}

impl<'a> ReceiptReply<'a> {
    /// A receipt of a board.
    pub(crate) fn new(board: &'a BoardId, receipt: &'a Receipt) -> Self {
        Self {
            user_id: &receipt.player,
            board,
            season: &receipt.season,
            score: receipt.score.get(),
            rank: receipt.rank.map(Rank::get),
            previous_score: receipt.previous_score.map(standings_core::Score::get),
            previous_rank: receipt.previous_rank.map(Rank::get),
            changed: receipt.changed,
            at: Time(receipt.at),
            duplicate: receipt.duplicate,
            exactness: receipt.exactness.into(),
        }
    }
}

/// One item of a batch's answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = BatchItem)]
pub(crate) enum ItemReply<'a> {
    /// It was accepted.
    Receipt(ReceiptReply<'a>),
    /// It was not.
    Problem(Problem),
}

/// The answer to a batch: in the order of the items, a receipt or a problem for each.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchResult)]
pub(crate) struct BatchReply<'a> {
    /// A receipt, or a problem, for each item.
    pub(crate) results: Vec<ItemReply<'a>>,
    /// How many were accepted, duplicates included.
    pub(crate) accepted: usize,
    /// How many were not.
    pub(crate) rejected: usize,
}

/// A row of a standing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Row)]
pub(crate) struct RowReply<'a> {
    user_id: &'a str,
    #[schema(required)]
    user_name: Option<&'a str>,
    #[schema(required)]
    avatar_url: Option<&'a str>,
    /// Counts from 1.
    #[schema(minimum = 1)]
    rank: u64,
    score: i64,
    /// When the score was reached.
    at: Time,
    /// Whether the goal was met, on boards that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    success: Option<bool>,
    /// In a snapshot, the official rank of those who have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, nullable = false)]
    official_rank: Option<u32>,
    /// Among friends: the rank on the board, `rank` being that among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, nullable = false)]
    board_rank: Option<u64>,
    /// Of one player's own row: 100 × (players − players strictly better) / players.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    percentile: Option<f64>,
    /// Of one player's own row: when a submission was last accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    updated_at: Option<Time>,
}

impl<'a> From<&'a Row> for RowReply<'a> {
    fn from(row: &'a Row) -> Self {
        let profile = row.profile.as_deref();
        Self {
            user_id: &row.player,
            user_name: profile.and_then(|profile| profile.name.as_deref()),
            avatar_url: profile.and_then(|profile| Some(profile.avatar_url.as_ref()?.as_str())),
            rank: row.rank.get(),
            score: row.score.get(),
            at: Time(row.at),
            success: row.success,
            official_rank: row.official_rank,
            board_rank: None,
            percentile: None,
            updated_at: None,
        }
    }
}

impl<'a> From<&'a FriendRow> for RowReply<'a> {
    fn from(friend: &'a FriendRow) -> Self {
        let row = Self::from(&friend.row);
        Self { rank: friend.rank.get(), board_rank: Some(row.rank), ..row }
    }
}

impl<'a> From<&'a PlayerEntry> for RowReply<'a> {
    fn from(entry: &'a PlayerEntry) -> Self {
        Self {
            percentile: Some(entry.percentile),
            updated_at: Some(Time(entry.updated_at)),
            ..Self::from(&entry.row)
        }
    }
}

/// Rows of a standing, written without being collected first.
#[derive(Debug)]
pub(crate) struct RowsReply<'a>(pub(crate) &'a [Row]);

impl Serialize for RowsReply<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(RowReply::from))
    }
}

/// Rows among friends, written likewise.
#[derive(Debug)]
pub(crate) struct FriendsReply<'a>(&'a [FriendRow]);

impl Serialize for FriendsReply<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(RowReply::from))
    }
}

/// A page of a board, best first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Page)]
pub(crate) struct PageReply<'a> {
    pub(crate) board: &'a str,
    #[schema(value_type = String, example = "2026-11")]
    pub(crate) season: &'a SeasonId,
    /// The date, where a snapshot was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false, example = "2026-02-21")]
    pub(crate) snapshot: Option<LocalDate>,
    #[schema(value_type = Vec<RowReply>)]
    pub(crate) data: RowsReply<'a>,
    /// Rows in `data`.
    pub(crate) total: usize,
    /// Players on the board.
    pub(crate) players: u64,
    /// What `after` takes for the next page.
    #[schema(required)]
    pub(crate) next: Option<String>,
    /// Of the players asked for by `ids`, those without an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) missing: Option<Vec<&'a str>>,
    #[serde(flatten)]
    pub(crate) exactness: ExactnessReply,
}

/// One player's entry.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Entry)]
pub(crate) struct EntryReply<'a> {
    /// Null only with `friends`, for a player without an entry.
    #[schema(required)]
    user_info: Option<RowReply<'a>>,
    /// With `around`: the rows on each side with the player among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<RowReply>, required = false)]
    around: Option<RowsReply<'a>>,
    /// With `friends`: the player and the friends that have an entry, best first, each with `rank` among them and
    /// `board_rank`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<RowReply>, required = false)]
    friends: Option<FriendsReply<'a>>,
    #[serde(flatten)]
    exactness: ExactnessReply,
    /// The date, where a snapshot was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false, example = "2026-02-21")]
    snapshot: Option<LocalDate>,
}

impl<'a> EntryReply<'a> {
    /// The entry, with its surroundings where they were asked for.
    pub(crate) fn new(entry: &'a PlayerEntry, around: bool) -> Self {
        Self {
            user_info: Some(entry.into()),
            around: around.then_some(RowsReply(&entry.around)),
            friends: None,
            snapshot: entry.standing.snapshot,
            exactness: entry.exactness.into(),
        }
    }

    /// The entry, if there is one, among those of friends.
    pub(crate) fn among_friends(among: &'a AmongFriends) -> Self {
        Self {
            user_info: among.entry.as_ref().map(RowReply::from),
            around: None,
            friends: Some(FriendsReply(&among.rows)),
            snapshot: among.standing.snapshot,
            exactness: among.exactness.into(),
        }
    }
}

/// Where a score would stand.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScorePlace)]
pub(crate) struct PlaceReply<'a> {
    score: i64,
    #[schema(minimum = 1)]
    rank: u64,
    percentile: f64,
    #[schema(value_type = Vec<RowReply>)]
    around: RowsReply<'a>,
    /// The date, where a snapshot was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false, example = "2026-02-21")]
    snapshot: Option<LocalDate>,
    #[serde(flatten)]
    exactness: ExactnessReply,
}

impl<'a> PlaceReply<'a> {
    /// The place of a score.
    pub(crate) fn new(
        score: standings_core::Score,
        place: &'a standings_engine::ScorePlace,
    ) -> Self {
        Self {
            score: score.get(),
            rank: place.rank.get(),
            percentile: place.percentile,
            around: RowsReply(&place.around),
            snapshot: place.standing.snapshot,
            exactness: place.exactness.into(),
        }
    }
}

/// How the scores of a season or a snapshot are distributed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Distribution)]
pub(crate) struct DistributionReply {
    players: u64,
    #[schema(required)]
    min: Option<i64>,
    #[schema(required)]
    max: Option<i64>,
    #[schema(required)]
    mean: Option<f64>,
    /// The score at which the best 10, 20 … 90 percent begin.
    deciles: Vec<DecileReply>,
    /// Players by score, in equal steps.
    histogram: Vec<BinReply>,
    computed_at: Time,
    #[serde(flatten)]
    exactness: ExactnessReply,
    /// The date, where a snapshot was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false, example = "2026-02-21")]
    snapshot: Option<LocalDate>,
}

/// The score at which a share of the players begins.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Decile)]
pub(crate) struct DecileReply {
    top_percent: u8,
    score: i64,
}

/// A bar of the histogram.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Bin)]
pub(crate) struct BinReply {
    /// The lowest score in it.
    from: i64,
    /// The highest score in it.
    to: i64,
    players: u64,
}

impl From<&standings_engine::Distribution> for DistributionReply {
    fn from(of: &standings_engine::Distribution) -> Self {
        let decile = |decile: &Decile| DecileReply {
            top_percent: decile.top_percent,
            score: decile.score.get(),
        };
        let bin =
            |bin: &Bin| BinReply { from: bin.from.get(), to: bin.to.get(), players: bin.players };
        Self {
            players: of.players,
            min: of.min.map(standings_core::Score::get),
            max: of.max.map(standings_core::Score::get),
            mean: of.mean,
            deciles: of.deciles.iter().map(decile).collect(),
            histogram: of.histogram.iter().map(bin).collect(),
            computed_at: Time(of.computed_at),
            snapshot: of.standing.snapshot,
            exactness: of.exactness.into(),
        }
    }
}
