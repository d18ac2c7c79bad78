//! What clients send. Constructing is validating: a parsed body is a valid one.

use std::{collections::HashSet, fmt, num::NonZeroU32};

use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, value::RawValue};
use standings_core::{
    EventId, KeyName, Millis, Name, PlayerId, Profile, Score, SeasonId,
    limits::FRIENDS,
    player::{Attributes, AvatarUrl},
    rule::Submission,
};
use standings_engine::{Role, ScoreRow};
use utoipa::ToSchema;

use crate::{
    call::invalid,
    json::{Object, parse_item},
    problem::{Code, Problem},
};

/// One score.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Submission)]
pub(crate) struct SubmissionBody {
    /// 1 to 128 bytes of printable UTF-8, compared bytewise; no `/`, `,`, control or invisible characters (joiners and variation
    /// selectors are taken), not `.`, `..` or only spaces.
    #[serde(deserialize_with = "printable")]
    #[schema(value_type = String, min_length = 1, max_length = 128, example = "1001")]
    user_id: PlayerId,
    /// What it does is the board's rule: added (`sum`), kept if better (`best`), replaces (`latest`).
    #[schema(value_type = i64, minimum = -9_007_199_254_740_991_i64, maximum = 9_007_199_254_740_991_i64, example = 3)]
    points: Score,
    /// The same id on the same board counts once.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128)]
    event_id: Option<EventId>,
    /// When it happened; default: when it is decided. RFC 3339, or milliseconds since 1970.
    #[schema(value_type = Option<Instant>)]
    at: Option<Instant>,
    /// Sets the player's display name in the same step.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256)]
    user_name: Option<Name>,
    /// Apply only if this holds.
    #[schema(value_type = Option<Expect>)]
    expect: Option<Object<Expect>>,
}

/// A condition on the player's entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// The player has no entry, or one updated before this instant.
    updated_before: Instant,
}

impl From<SubmissionBody> for Submission {
    fn from(body: SubmissionBody) -> Self {
        Self {
            player: body.user_id,
            points: body.points,
            event_id: body.event_id,
            at: body.at.map(|at| at.0),
            user_name: body.user_name,
            updated_before: body.expect.map(|expect| expect.0.updated_before.0),
        }
    }
}

/// A player who may be new.
fn printable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlayerId, D::Error> {
    PlayerId::deserialize(deserializer)?.printable().map_err(de::Error::custom)
}

/// A row of an import.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ImportRow)]
pub(crate) struct RowBody {
    /// Whose score.
    #[serde(deserialize_with = "printable")]
    #[schema(value_type = String, min_length = 1, max_length = 128)]
    user_id: PlayerId,
    /// The score to set.
    #[schema(value_type = i64, minimum = -9_007_199_254_740_991_i64, maximum = 9_007_199_254_740_991_i64)]
    score: Score,
    /// When it was reached; default: now, or the end of a closed season.
    at: Option<Instant>,
    /// Sets the player's display name in the same step.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256)]
    user_name: Option<Name>,
}

impl From<RowBody> for ScoreRow {
    fn from(body: RowBody) -> Self {
        Self {
            player: body.user_id,
            score: body.score,
            at: body.at.map(|at| at.0),
            user_name: body.user_name,
            official_rank: None,
        }
    }
}

/// A row of an imported snapshot.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SnapshotRow)]
pub(crate) struct SnapshotRowBody {
    /// Whose score.
    #[serde(deserialize_with = "printable")]
    #[schema(value_type = String, min_length = 1, max_length = 128)]
    user_id: PlayerId,
    /// The score of that date.
    #[schema(value_type = i64, minimum = -9_007_199_254_740_991_i64, maximum = 9_007_199_254_740_991_i64)]
    score: Score,
    /// When it was reached; default: the time of that date's snapshot by the board's definition, or now if that is earlier.
    at: Option<Instant>,
    /// The display name of that date.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256)]
    user_name: Option<Name>,
    /// The rank that someone else gave, such as the game's own list.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 4_294_967_295_i64)]
    official_rank: Option<GivenRank>,
}

impl From<SnapshotRowBody> for ScoreRow {
    fn from(body: SnapshotRowBody) -> Self {
        Self {
            player: body.user_id,
            score: body.score,
            at: body.at.map(|at| at.0),
            user_name: body.user_name,
            official_rank: body.official_rank.map(|rank| rank.0.get()),
        }
    }
}

/// A rank that someone else gave.
#[derive(Clone, Copy, Debug)]
struct GivenRank(NonZeroU32);

impl<'de> Deserialize<'de> for GivenRank {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rank = u32::deserialize(deserializer).ok().and_then(NonZeroU32::new);
        rank.map(Self).ok_or_else(|| {
            de::Error::custom(format_args!("a rank is a whole number from 1 to {}", u32::MAX))
        })
    }
}

/// A player's friends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Friends)]
pub(crate) struct FriendsBody {
    /// Up to 5,000 ids. They need not be known yet; the player itself and repeated ids are dropped.
    #[schema(value_type = Vec<String>)]
    user_ids: Vec<PlayerId>,
}

impl FriendsBody {
    /// The list as it is stored: each friend once, in the order given, and never the player itself.
    pub(crate) fn of(self, player: &PlayerId) -> Result<Vec<PlayerId>, Problem> {
        let printable = self.user_ids.into_iter().map(PlayerId::printable);
        let mut friends: Vec<_> = printable
            .collect::<Result<_, _>>()
            .map_err(|error| invalid(error).within("user_ids"))?;
        let mut seen = HashSet::new();
        friends.retain(|friend| friend != player && seen.insert(friend.clone()));
        if friends.len() > FRIENDS {
            let detail =
                format!("a list has up to {FRIENDS} friends, and this one {}", friends.len());
            return Err(Problem::new(Code::TooManyFriends, detail));
        }
        Ok(friends)
    }
}

/// A player's profile. It is replaced whole: what is absent is removed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Profile)]
pub(crate) struct ProfileBody {
    /// The display name.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256)]
    name: Option<Name>,
    /// The address of a picture, http or https.
    #[schema(max_length = 2048)]
    avatar_url: Option<String>,
    /// Whatever else the game wants to keep: an object of up to 4 KiB.
    #[schema(value_type = Option<Object>)]
    attributes: Option<Box<RawValue>>,
}

impl TryFrom<ProfileBody> for Profile {
    type Error = Problem;
    fn try_from(body: ProfileBody) -> Result<Self, Problem> {
        let avatar_url = body.avatar_url.as_deref().map(AvatarUrl::new).transpose();
        let attributes = body.attributes.map(|raw| attributes(raw.get()));
        Ok(Self {
            name: body.name,
            avatar_url: avatar_url.map_err(invalid)?,
            attributes: attributes.transpose()?,
        })
    }
}

/// Takes the text of an object that is going to be sent as it came: a reader must not fail on it.
fn attributes(text: &str) -> Result<Attributes, Problem> {
    let attributes = Attributes::new(text.to_owned()).map_err(invalid)?;
    // Its numbers, texts and depth must be those that readers can represent: in brackets, because in an answer it lies one
    // level deeper too.
    parse_item::<Value>(format!("[{text}]").as_bytes())
        .map_err(|problem| problem.within("attributes"))?;
    Ok(attributes)
}

/// A key to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// Under which it is listed and deleted: `[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`.
    #[schema(value_type = String, example = "game-eu-1")]
    pub(crate) name: KeyName,
    /// What it may do.
    #[schema(value_type = RoleName)]
    pub(crate) role: Role,
}

/// Which season is to end.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseBody {
    /// The current one where it is left out.
    #[schema(nullable = false, value_type = Option<String>, example = "2026-11")]
    #[serde(default)]
    pub(crate) season: Option<SeasonId>,
}

/// Where a backup goes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackupTo {
    /// A directory on the server's own disk that does not exist yet.
    #[schema(value_type = String)]
    pub(crate) path: std::path::PathBuf,
}

/// What a key may do. A role includes the ones after it.
#[derive(ToSchema)]
#[schema(as = Role, rename_all = "lowercase")]
#[expect(dead_code, reason = "documents the engine's Role, which knows nothing of OpenAPI")]
pub(crate) enum RoleName {
    /// Everything.
    Admin,
    /// A game server: submits scores, writes players.
    Game,
    /// Reads.
    Read,
}

/// An instant: RFC 3339, or whole milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instant(pub(crate) Millis);

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InstantVisitor).map(Self)
    }
}

struct InstantVisitor;

impl de::Visitor<'_> for InstantVisitor {
    type Value = Millis;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"2026-11-15T10:00:00Z\", or whole milliseconds since 1970")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Millis, E> {
        Millis::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Millis, E> {
        Millis::new(value).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Millis, E> {
        let instant = i64::try_from(value).ok().and_then(Millis::new);
        instant.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }
}

impl utoipa::PartialSchema for Instant {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::{
            KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, schema::Type,
        };
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
        OneOfBuilder::new()
            .item(text)
            .item(number)
            .description(Some("RFC 3339, or whole milliseconds since 1970."))
            .into()
    }
}

impl ToSchema for Instant {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse_json;

    #[test]
    fn points_are_whole_numbers_in_range_and_nothing_else() {
        let parse = |points: &str| {
            let body = format!(r#"{{"user_id":"a","points":{points}}}"#);
            parse_json::<Object<SubmissionBody>>(body.as_bytes()).map(|body| body.0.points.get())
        };
        assert_eq!(parse("-9007199254740991").unwrap(), -9_007_199_254_740_991);
        for bad in [
            "9007199254740992",
            "5.0",
            "1.5",
            "1e3",
            "1e400",
            "NaN",
            "\"5\"",
            "null",
            "true",
            "[]",
            "",
            "99999999999999999999999",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let error = parse("1.5").unwrap_err();
        assert!(error.detail().starts_with("points: "), "{}", error.detail());
        assert!(error.detail().contains("whole number within"), "{}", error.detail());
    }

    #[test]
    fn only_a_row_of_a_snapshot_has_an_official_rank() {
        let row = |rank: &str| format!(r#"{{"user_id":"a","score":1,"official_rank":{rank}}}"#);
        let parse = |rank: &str| {
            parse_json::<Object<SnapshotRowBody>>(row(rank).as_bytes())
                .map(|body| ScoreRow::from(body.0).official_rank)
        };
        assert_eq!(parse("1").unwrap(), Some(1));
        assert_eq!(parse("4294967295").unwrap(), Some(u32::MAX));
        assert_eq!(parse("null").unwrap(), None);
        for bad in ["0", "-1", "4294967296", "1.0", "\"1\"", "true"] {
            let error = parse(bad).unwrap_err();
            assert!(error.detail().starts_with("official_rank: a rank is"), "{}", error.detail());
        }
        let error = parse_json::<Object<RowBody>>(row("1").as_bytes()).unwrap_err();
        assert!(error.detail().contains("unknown field `official_rank`"), "{}", error.detail());
    }

    #[test]
    fn a_list_of_friends_has_each_once_and_not_the_player() {
        let id = |text: &str| PlayerId::new(text).unwrap();
        let body = FriendsBody { user_ids: ["b", "a", "c", "b"].map(id).to_vec() };
        assert_eq!(body.of(&id("a")).unwrap(), ["b", "c"].map(id));
        let many = |count: usize| (0..count).map(|i| id(&i.to_string())).collect();
        assert_eq!(FriendsBody { user_ids: many(5001) }.of(&id("0")).unwrap().len(), 5000);
        let error = FriendsBody { user_ids: many(5001) }.of(&id("a")).unwrap_err();
        assert_eq!(error.code(), Code::TooManyFriends);
    }

    #[test]
    fn a_time_is_text_or_milliseconds() {
        let at = |text: &str| serde_json::from_str::<Instant>(text).ok().map(|at| at.0);
        assert_eq!(at("\"2026-11-15T10:00:00Z\""), Some(Millis(1_794_736_800_000)));
        assert_eq!(at("1794736800000"), Some(Millis(1_794_736_800_000)));
        for bad in ["1.5", "\"2026-11-15\"", "true", "99999999999999999", "\"\""] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_unknown_field_and_one_given_twice_are_refused() {
        let parse = |body: &str| parse_json::<Object<SubmissionBody>>(body.as_bytes());
        let error = parse(r#"{"user_id":"a","points":1,"poins":2}"#).unwrap_err();
        assert!(error.detail().contains("poins"), "{}", error.detail());
        assert!(parse(r#"{"user_id":"a","points":1,"points":2}"#).is_err());
        assert!(parse(r#"{"user_id":"a"}"#).unwrap_err().detail().contains("points"));
        assert!(parse(r#"{"user_id":"a/b","points":1}"#).is_err());
        assert!(parse(r#"["a",1,null,null,null,null]"#).unwrap_err().detail().contains("object"));
    }
}
