//! The definition as JSON has it, and the checks that turn it into a board.

use std::{fmt, marker::PhantomData, sync::Arc};

use jiff::tz::TimeZone;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{
    Board, Definition, InvalidBoard, OncePer, Partitions, Rule, Schedule, Snapshots, Ties,
    TimeOfDay, Weekday,
};
use crate::{
    limits::{MAX_GRACE, OFFICIAL_RANKS, PARTITIONS, TITLE_BYTES},
    score::Score,
    sort_key::Order,
    span::{Keep, Span},
};

/// How a board ranks and when it starts anew. Absent fields mean their defaults.
// All fields are always written, and in this order.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub(super) struct Wire {
    /// A name for people.
    #[cfg_attr(feature = "openapi", schema(max_length = 256))]
    title: String,
    /// How points change the score.
    #[cfg_attr(feature = "openapi", schema(inline))]
    #[serde(deserialize_with = "word")]
    rule: Rule,
    /// Whether high or low is better.
    #[cfg_attr(feature = "openapi", schema(inline))]
    #[serde(deserialize_with = "word")]
    order: Order,
    /// Ranks 1, 2, 2, 4, or 1, 2, 3, 4 with the earlier one ahead.
    #[cfg_attr(feature = "openapi", schema(inline))]
    #[serde(deserialize_with = "word")]
    ties: Ties,
    /// When the board starts anew: `monthly`, `weekly`, `daily`, `yearly`, `never`, or a five-field cron.
    season: String,
    /// For `weekly`.
    #[cfg_attr(feature = "openapi", schema(inline))]
    #[serde(deserialize_with = "word")]
    week_starts: Weekday,
    /// Where midnight is: any IANA name.
    time_zone: String,
    /// How long a season takes late submissions after its end; up to `31 days`.
    grace: String,
    /// How long closed seasons stay readable: `24 months`, `8 seasons`, `forever`.
    keep: String,
    /// A score at least this good is a success.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    goal: Option<Score>,
    /// One accepted submission per player and calendar day or hour.
    #[cfg_attr(feature = "openapi", schema(inline))]
    #[serde(deserialize_with = "optional_word")]
    once_per: Option<OncePer>,
    /// The fewest points of a submission.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    min_points: Option<Score>,
    /// The most points of a submission.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    max_points: Option<Score>,
    /// Freezes the whole board every day.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<WireSnapshots>, inline))]
    snapshots: Option<Object<WireSnapshots>>,
    /// How a distributed engine spreads the board: `{"by":"hash","count":1}` or `{"by":"score","bounds":[100,200]}`.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    partitions: Object<WirePartitions>,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Board {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{RefOr, Schema};

        let mut schema = Wire::schema();
        // An answer has more members beside those of the definition.
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.additional_properties = None;
        }
        schema
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Board {
    fn name() -> std::borrow::Cow<'static, str> {
        "BoardDefinition".into()
    }
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            title: String::new(),
            rule: Rule::default(),
            order: Order::default(),
            ties: Ties::default(),
            season: "monthly".into(),
            week_starts: Weekday::default(),
            time_zone: "UTC".into(),
            grace: "5 minutes".into(),
            keep: "24 months".into(),
            goal: None,
            once_per: None,
            min_points: None,
            max_points: None,
            snapshots: None,
            partitions: Object(WirePartitions::Hash { count: 1 }),
        }
    }
}

/// When a board is frozen.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
struct WireSnapshots {
    #[cfg_attr(feature = "openapi", schema(inline))]
    #[serde(deserialize_with = "word")]
    every: Every,
    /// The local time.
    at: String,
    /// Ranks 1 to this are the official ones.
    official: u32,
    /// How long they stay readable.
    keep: String,
}

#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum Every {
    #[default]
    Day,
}

impl Default for WireSnapshots {
    fn default() -> Self {
        Self { every: Every::Day, at: "00:00".into(), official: 100, keep: "90 days".into() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase", deny_unknown_fields)]
enum WirePartitions {
    Hash {
        #[serde(default = "one")]
        count: u32,
    },
    Score {
        bounds: Vec<Score>,
    },
}

fn one() -> u32 {
    1
}

/// What is written as a JSON object and nothing else. Without it an array would do too, its elements taken as the fields
/// in their order, and `[]` would be a definition.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// Reads a setting that is one of several words, and nothing but a text.
fn word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(String::deserialize(deserializer)?.into_deserializer())
}

/// The same where there may be none.
fn optional_word<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| T::deserialize(text.into_deserializer())).transpose()
}

impl TryFrom<Wire> for Board {
    type Error = InvalidBoard;

    fn try_from(wire: Wire) -> Result<Self, InvalidBoard> {
        if wire.title.len() > TITLE_BYTES {
            return Err(InvalidBoard::Title);
        }
        if let (Some(min), Some(max)) = (wire.min_points, wire.max_points)
            && min > max
        {
            return Err(InvalidBoard::Points);
        }
        Ok(Self(Arc::new(Definition {
            title: wire.title,
            rule: wire.rule,
            order: wire.order,
            ties: wire.ties,
            season: Schedule::parse(&wire.season)?,
            week_starts: wire.week_starts,
            time_zone: zone(&wire.time_zone)?,
            grace: grace(&wire.grace)?,
            keep: Keep::parse(&wire.keep).ok_or(InvalidBoard::Keep)?,
            goal: wire.goal,
            once_per: wire.once_per,
            min_points: wire.min_points,
            max_points: wire.max_points,
            snapshots: wire.snapshots.map(|Object(wire)| wire.try_into()).transpose()?,
            partitions: wire.partitions.0.try_into()?,
        })))
    }
}

fn zone(name: &str) -> Result<TimeZone, InvalidBoard> {
    let unknown = || InvalidBoard::TimeZone(name.to_owned());
    let zone = TimeZone::get(name).map_err(|_| unknown())?;
    // `Etc/Unknown` is a name that stands for having none.
    if zone.is_unknown() || zone.iana_name().is_none() {
        return Err(unknown());
    }
    Ok(zone)
}

fn grace(text: &str) -> Result<Span, InvalidBoard> {
    let span = Span::parse(text).ok_or(InvalidBoard::Grace)?;
    let fits = span.exact().is_some_and(|length| length <= MAX_GRACE);
    if fits { Ok(span) } else { Err(InvalidBoard::Grace) }
}

impl TryFrom<WireSnapshots> for Snapshots {
    type Error = InvalidBoard;

    fn try_from(wire: WireSnapshots) -> Result<Self, InvalidBoard> {
        let WireSnapshots { every: Every::Day, at, official, keep } = wire;
        if !(1..=OFFICIAL_RANKS).contains(&official) {
            return Err(InvalidBoard::SnapshotsOfficial);
        }
        Ok(Self {
            at: TimeOfDay::parse(&at).ok_or(InvalidBoard::SnapshotsAt)?,
            official,
            keep: match Keep::parse(&keep) {
                Some(keep @ (Keep::Forever | Keep::For(_))) => keep,
                Some(Keep::Seasons(_)) | None => return Err(InvalidBoard::SnapshotsKeep),
            },
        })
    }
}

impl TryFrom<WirePartitions> for Partitions {
    type Error = InvalidBoard;

    fn try_from(wire: WirePartitions) -> Result<Self, InvalidBoard> {
        match wire {
            WirePartitions::Hash { count } => match u16::try_from(count) {
                Ok(count) if (1..=PARTITIONS).contains(&count.into()) => Ok(Self::Hash { count }),
                _ => Err(InvalidBoard::PartitionsCount),
            },
            WirePartitions::Score { bounds } => {
                let increasing = bounds.is_sorted_by(|a, b| a < b);
                if increasing && (1..PARTITIONS).contains(&bounds.len()) {
                    Ok(Self::Score { bounds: bounds.into() })
                } else {
                    Err(InvalidBoard::PartitionsBounds)
                }
            }
        }
    }
}

impl From<&Board> for Wire {
    fn from(board: &Board) -> Self {
        let definition = &*board.0;
        Self {
            title: definition.title.clone(),
            rule: definition.rule,
            order: definition.order,
            ties: definition.ties,
            season: definition.season.to_string(),
            week_starts: definition.week_starts,
            time_zone: board.time_zone().to_owned(),
            grace: definition.grace.to_string(),
            keep: definition.keep.to_string(),
            goal: definition.goal,
            once_per: definition.once_per,
            min_points: definition.min_points,
            max_points: definition.max_points,
            snapshots: definition.snapshots.map(|snapshots| {
                Object(WireSnapshots {
                    every: Every::Day,
                    at: snapshots.at.to_string(),
                    official: snapshots.official,
                    keep: snapshots.keep.to_string(),
                })
            }),
            partitions: Object(match &definition.partitions {
                Partitions::Hash { count } => WirePartitions::Hash { count: (*count).into() },
                Partitions::Score { bounds } => WirePartitions::Score { bounds: bounds.to_vec() },
            }),
        }
    }
}

impl Serialize for Board {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            Wire::from(self).serialize(serializer)
        } else {
            serializer.serialize_str(&self.to_json())
        }
    }
}

impl<'de> Deserialize<'de> for Board {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let board = if deserializer.is_human_readable() {
            Object::<Wire>::deserialize(deserializer)?.0.try_into()
        } else {
            Self::from_json(&String::deserialize(deserializer)?)
        };
        board.map_err(serde::de::Error::custom)
    }
}
