//! One row of a file, checked by the types that the server reads it with.

use std::{fmt, num::NonZeroU32};

use serde::{Deserialize, Deserializer, Serialize, de};
use standings_core::{Millis, Name, PlayerId, Score};

/// The columns of a row, in the order that a file without a header has them; the last is only for snapshots.
pub(super) const COLUMNS: [&str; 5] = ["user_id", "score", "at", "user_name", "official_rank"];

/// A row of a CSV file or a line of NDJSON, written as the server reads it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    #[serde(deserialize_with = "printable")]
    user_id: PlayerId,
    score: Score,
    #[serde(default, deserialize_with = "instant", skip_serializing_if = "Option::is_none")]
    at: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_name: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) official_rank: Option<NonZeroU32>,
}

fn printable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlayerId, D::Error> {
    PlayerId::deserialize(deserializer)?.printable().map_err(de::Error::custom)
}

fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Millis>, D::Error> {
    struct At;

    impl de::Visitor<'_> for At {
        type Value = Millis;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a time such as 2026-11-15T10:00:00Z, or whole milliseconds since 1970")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Millis, E> {
            let bad = || E::invalid_value(de::Unexpected::Str(text), &self);
            Millis::parse(text).ok_or_else(bad)
        }

        fn visit_i64<E: de::Error>(self, ms: i64) -> Result<Millis, E> {
            let bad = || E::invalid_value(de::Unexpected::Signed(ms), &self);
            Millis::new(ms).ok_or_else(bad)
        }

        fn visit_u64<E: de::Error>(self, ms: u64) -> Result<Millis, E> {
            self.visit_i64(i64::try_from(ms).unwrap_or(i64::MAX))
        }
    }

    struct Present(Millis);

    impl<'de> Deserialize<'de> for Present {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(At).map(Self)
        }
    }

    Ok(Option::<Present>::deserialize(deserializer)?.map(|Present(at)| at))
}
