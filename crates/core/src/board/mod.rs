//! A board: the definition of a competition, valid once constructed.
//!
//! A definition is read from JSON, where absent fields have their defaults and unknown ones are an error, and is written
//! back whole. The stored form is that JSON text ([`Board::to_json`]), also inside formats without field names, such as
//! postcard: it stays readable when fields are added.

mod wire;

use std::{fmt, sync::Arc};

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::{
    limits::{OFFICIAL_RANKS, PARTITIONS, TITLE_BYTES},
    score::Score,
    season::{Cron, InvalidCron},
    sort_key::Order,
    span::{Keep, Span},
    time::Millis,
};
pub use wire::Object;
use wire::Wire;

/// How points change the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// They are added.
    #[default]
    Sum,
    /// They are the score if they are better.
    Best,
    /// They are the score.
    Latest,
}

/// Which rank players with the same score have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// The same: 1, 2, 2, 4.
    #[default]
    Share,
    /// Who got there first is ahead: 1, 2, 3, 4.
    Earliest,
}

/// When a board starts anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// On the first of each month.
    #[default]
    Monthly,
    /// On the board's first day of the week.
    Weekly,
    /// At each midnight.
    Daily,
    /// On 1 January.
    Yearly,
    /// There is one season, `all`.
    Never,
    /// At each firing.
    Cron(Cron),
}

impl Schedule {
    const NAMED: [(&'static str, Self); 5] = [
        ("monthly", Self::Monthly),
        ("weekly", Self::Weekly),
        ("daily", Self::Daily),
        ("yearly", Self::Yearly),
        ("never", Self::Never),
    ];

    fn parse(text: &str) -> Result<Self, InvalidBoard> {
        if let Some((_, schedule)) = Self::NAMED.into_iter().find(|(name, _)| *name == text) {
            return Ok(schedule);
        }
        Cron::parse(text).map(Self::Cron).map_err(|invalid| match invalid {
            InvalidCron::Malformed => InvalidBoard::Season,
            InvalidCron::NeverFires => InvalidBoard::SeasonNeverStarts,
        })
    }
}

/// As it is written in a definition.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Monthly => "monthly",
            Self::Weekly => "weekly",
            Self::Daily => "daily",
            Self::Yearly => "yearly",
            Self::Never => "never",
            Self::Cron(cron) => cron.as_str(),
        })
    }
}

/// A day of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Weekday {
    #[default]
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl From<Weekday> for jiff::civil::Weekday {
    fn from(day: Weekday) -> Self {
        match day {
            Weekday::Monday => Self::Monday,
            Weekday::Tuesday => Self::Tuesday,
            Weekday::Wednesday => Self::Wednesday,
            Weekday::Thursday => Self::Thursday,
            Weekday::Friday => Self::Friday,
            Weekday::Saturday => Self::Saturday,
            Weekday::Sunday => Self::Sunday,
        }
    }
}

/// The period in which a player may submit once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum OncePer {
    /// A calendar day of the board's zone.
    Day,
    /// An hour of the board's zone.
    Hour,
}

/// That the board is frozen once a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// When, by the clock of the board's zone.
    pub at: TimeOfDay,
    /// Ranks from 1 to this one are official.
    pub official: u32,
    /// How long each stays readable; never a number of seasons.
    pub keep: Keep,
}

/// A local time to the minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    pub(crate) hour: i8,
    pub(crate) minute: i8,
}

impl TimeOfDay {
    /// Reads `HH:MM`, `00:00` to `23:59`.
    pub fn parse(text: &str) -> Option<Self> {
        let part = |text: &str, below: i8| {
            let digits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|value: &i8| digits && *value < below)
        };
        let (hour, minute) = text.split_once(':')?;
        Some(Self { hour: part(hour, 24)?, minute: part(minute, 60)? })
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour, self.minute)
    }
}

/// How a distributed engine spreads a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// By the hash of the player's id.
    Hash {
        /// Into how many partitions.
        count: u16,
    },
    /// By score: a partition below the first bound, one from each bound on.
    Score {
        /// Strictly increasing, at least one.
        bounds: Arc<[Score]>,
    },
}

/// Why a definition is not one. The message tells what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it all")]
pub enum InvalidBoard {
    #[error("the board's definition is not the JSON it should be: {0}")]
    Json(String),
    #[error("title must be at most {TITLE_BYTES} bytes")]
    Title,
    #[error(
        "season must be \"monthly\", \"weekly\", \"daily\", \"yearly\", \"never\" or five cron fields such as \
         \"0 9 * * mon\""
    )]
    Season,
    #[error(
        "season must be a cron that matches some date, such as \"0 0 28 2 *\"; no date matches this one"
    )]
    SeasonNeverStarts,
    #[error("time_zone must be \"UTC\" or an IANA name such as \"Asia/Seoul\"; {0:?} is not known")]
    TimeZone(String),
    #[error("grace must be a span such as \"5 minutes\", at most \"31 days\"")]
    Grace,
    #[error(
        "keep must be a span such as \"24 months\", a number of seasons such as \"8 seasons\", or \"forever\""
    )]
    Keep,
    #[error("min_points must not be greater than max_points")]
    Points,
    #[error("snapshots.at must be a time of day such as \"00:00\" or \"21:30\"")]
    SnapshotsAt,
    #[error("snapshots.official must be 1 to {OFFICIAL_RANKS}")]
    SnapshotsOfficial,
    #[error("snapshots.keep must be a span such as \"90 days\", or \"forever\"")]
    SnapshotsKeep,
    #[error("partitions by hash must have a count of 1 to {PARTITIONS}")]
    PartitionsCount,
    #[error("partitions by score must have 1 to {} bounds, each greater than the one before", PARTITIONS - 1)]
    PartitionsBounds,
}

/// A setting that cannot change once any season of the board has scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{field} cannot change once the board has scores; create another board for the new {field}"
)]
pub struct ImmutableSetting {
    /// Its name in the definition.
    pub field: &'static str,
}

/// The definition of a board. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Board(Arc<Definition>);

#[derive(PartialEq, Eq)]
struct Definition {
    title: String,
    rule: Rule,
    order: Order,
    ties: Ties,
    season: Schedule,
    week_starts: Weekday,
    time_zone: TimeZone,
    grace: Span,
    keep: Keep,
    goal: Option<Score>,
    once_per: Option<OncePer>,
    min_points: Option<Score>,
    max_points: Option<Score>,
    snapshots: Option<Snapshots>,
    partitions: Partitions,
}

impl Board {
    /// Reads a definition; absent fields have their defaults.
    pub fn from_json(text: &str) -> Result<Self, InvalidBoard> {
        let Object::<Wire>(wire) =
            serde_json::from_str(text).map_err(|error| InvalidBoard::Json(error.to_string()))?;
        wire.try_into()
    }

    /// The whole definition, and the form in which it is stored.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&Wire::from(self)).expect("texts and numbers are always JSON")
    }

    /// A name for people.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// How points change the score.
    pub fn rule(&self) -> Rule {
        self.0.rule
    }

    /// Whether high or low is better.
    pub fn order(&self) -> Order {
        self.0.order
    }

    /// Which rank players with the same score have.
    pub fn ties(&self) -> Ties {
        self.0.ties
    }

    /// When the board starts anew.
    pub fn season(&self) -> &Schedule {
        &self.0.season
    }

    /// The first day of a weekly season.
    pub fn week_starts(&self) -> Weekday {
        self.0.week_starts
    }

    /// The IANA name of the zone.
    pub fn time_zone(&self) -> &str {
        self.0.time_zone.iana_name().expect("only named zones are accepted")
    }

    /// The zone itself: where midnight is.
    pub fn zone(&self) -> &TimeZone {
        &self.0.time_zone
    }

    /// How long after its end a season still takes what happened in it.
    pub fn grace(&self) -> Millis {
        self.0.grace.exact().expect("a grace in months is not accepted")
    }

    /// How long closed seasons stay readable.
    pub fn keep(&self) -> Keep {
        self.0.keep
    }

    /// The score from which on an entry is a success.
    pub fn goal(&self) -> Option<Score> {
        self.0.goal
    }

    /// The period in which a player may submit once.
    pub fn once_per(&self) -> Option<OncePer> {
        self.0.once_per
    }

    /// The fewest points that a submission may have.
    pub fn min_points(&self) -> Option<Score> {
        self.0.min_points
    }

    /// The most points that a submission may have.
    pub fn max_points(&self) -> Option<Score> {
        self.0.max_points
    }

    /// The daily snapshot, if there is one.
    pub fn snapshots(&self) -> Option<Snapshots> {
        self.0.snapshots
    }

    /// How a distributed engine spreads the board.
    pub fn partitions(&self) -> &Partitions {
        &self.0.partitions
    }

    /// Whether the definition may become another. Settings that decide what stored scores mean, or where they are, stay
    /// as they are once there are any.
    pub fn change(&self, new: &Self, has_scores: bool) -> Result<(), ImmutableSetting> {
        if !has_scores {
            return Ok(());
        }
        let (old, new) = (&*self.0, &*new.0);
        let same = [
            ("order", old.order == new.order),
            ("rule", old.rule == new.rule),
            ("season", old.season == new.season),
            ("week_starts", old.week_starts == new.week_starts),
            // By name: two zones that agree today may part in a later database.
            ("time_zone", old.time_zone.iana_name() == new.time_zone.iana_name()),
            ("partitions", old.partitions == new.partitions),
        ];
        match same.into_iter().find(|(_, same)| !same) {
            Some((field, _)) => Err(ImmutableSetting { field }),
            None => Ok(()),
        }
    }
}

impl Default for Board {
    fn default() -> Self {
        Wire::default().try_into().expect("the defaults are valid")
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Board({})", self.to_json())
    }
}

#[cfg(test)]
mod tests;
