//! Errors as clients see them: `application/problem+json` with a stable code, and a private cause for the log.

use std::{borrow::Cow, fmt::Display, time::Duration};

use hyper::{
    HeaderMap, StatusCode,
    header::{self, HeaderValue},
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use standings_core::rule::Rejection;
use standings_engine::{EngineError, Refused};

/// The media type of a problem.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// Declares every code once, with its status and title: what a client may match on.
macro_rules! codes {
    ($($variant:ident = $code:literal, $status:ident, $title:literal;)*) => {
        /// What went wrong: one code per rule that was broken. Codes never change their meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Code {
            $(#[doc = $title] $variant,)*
        }

        impl Code {
            /// All of them, as documented.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// The status it is sent with.
            pub(crate) fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// What it means, in a few words.
            pub(crate) fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

codes! {
    Malformed = "malformed", BAD_REQUEST, "The request cannot be understood";
    BadCursor = "bad_cursor", BAD_REQUEST, "The cursor is not one of this list";
        Unauthorized = "unauthorized", UNAUTHORIZED, "A valid key is required";
    Forbidden = "forbidden", FORBIDDEN, "The key's role is too small";
    NotFound = "not_found", NOT_FOUND, "There is nothing at this address";
    UnknownBoard = "unknown_board", NOT_FOUND, "There is no such board";
    UnknownPlayer = "unknown_player", NOT_FOUND, "There is no such player";
    UnknownSeason = "unknown_season", NOT_FOUND, "There is no such season";
    UnknownSnapshot = "unknown_snapshot", NOT_FOUND, "There is no such snapshot";
    UnknownKey = "unknown_key", NOT_FOUND, "There is no such key";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "The address does not take this method";
    Timeout = "timeout", REQUEST_TIMEOUT, "The request did not arrive in time";
    TooSoon = "too_soon", CONFLICT, "One submission per period was accepted already";
    SeasonClosed = "season_closed", CONFLICT, "The season takes no submissions any more";
    ConditionFailed = "condition_failed", CONFLICT, "The expected state was not met";
    EventIdReused = "event_id_reused", CONFLICT, "The event id was used for another event";
    ImmutableSetting = "immutable_setting", CONFLICT, "The setting cannot change any more";
    SeasonOpen = "season_open", CONFLICT, "The season is not closed yet";
    KeyExists = "key_exists", CONFLICT, "The name of the key is taken";
    PastRetention = "past_retention", CONFLICT, "The board does not keep what is so old";
    Conflict = "conflict", CONFLICT, "What the request goes by is no longer so";
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    BatchTooLarge = "batch_too_large", PAYLOAD_TOO_LARGE, "The batch has too many submissions";
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body is of another type";
    PointsOutOfRange = "points_out_of_range", UNPROCESSABLE_ENTITY, "The points are outside the board's limits";
    AtInFuture = "at_in_future", UNPROCESSABLE_ENTITY, "The time lies in the future";
    ScoreOutOfRange = "score_out_of_range", UNPROCESSABLE_ENTITY, "The sum would leave the range of scores";
    BoardFull = "board_full", UNPROCESSABLE_ENTITY, "The season takes no new players";
    SnapshotInFuture = "snapshot_in_future", UNPROCESSABLE_ENTITY, "The date has not begun";
    OffsetTooDeep = "offset_too_deep", UNPROCESSABLE_ENTITY, "The offset is beyond what can be paged to";
    TooManyFriends = "too_many_friends", UNPROCESSABLE_ENTITY, "The list has too many friends";
    BadRow = "bad_row", UNPROCESSABLE_ENTITY, "A row cannot be imported";
    RateLimited = "rate_limited", TOO_MANY_REQUESTS, "The key sends too many requests";
    HeadersTooLarge = "headers_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large";
    Internal = "internal", INTERNAL_SERVER_ERROR, "The server made a mistake";
    Unsupported = "unsupported", NOT_IMPLEMENTED, "This server cannot do that";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Not applied: the store cannot take it now";
    Overloaded = "overloaded", SERVICE_UNAVAILABLE, "Not applied: more is waiting than can be taken";
    OutcomeUnknown = "outcome_unknown", SERVICE_UNAVAILABLE, "Perhaps applied";
}

/// A refusal or failure on its way to the client.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    code: Code,
    /// Tells a person what to do.
    detail: Cow<'static, str>,
    /// For the log only.
    cause: Option<String>,
    retry_after: Option<Duration>,
    /// Whether the connection is of no further use, such as after a body that was not read.
    close: bool,
}

impl Problem {
    /// A problem with what a person can do about it.
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), cause: None, retry_after: None, close: false }
    }

    /// A request that cannot be understood.
    pub(crate) fn malformed(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Malformed, detail)
    }

    /// Keeps what only the operator should see.
    pub(crate) fn caused_by(mut self, cause: impl Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Says when it is worth trying again.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Ends the connection after the answer.
    pub(crate) fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    /// Puts words before the detail, such as the number of a line.
    pub(crate) fn within(mut self, place: impl Display) -> Self {
        self.detail = format!("{place}: {}", self.detail).into();
        self
    }

    /// Whether the connection ends after the answer.
    pub(crate) fn closes(&self) -> bool {
        self.close
    }

    /// Its code.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// What is told to the client.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// What is sent.
    pub(crate) fn body(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Writes the headers that it is sent with.
    pub(crate) fn say(&self, headers: &mut HeaderMap) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(wait) = self.retry_after {
            // Rounded up: a client that comes back a little early would be refused again.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
    }

    /// What is only logged.
    pub(crate) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("type", &Type(self.code))?;
        map.serialize_entry("title", self.code.title())?;
        map.serialize_entry("status", &self.code.status().as_u16())?;
        map.serialize_entry("detail", &*self.detail)?;
        map.serialize_entry("code", self.code.name())?;
        map.end()
    }
}

/// The address of a code's description, on this server.
struct Type(Code);

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("/docs#{}", self.0.name()))
    }
}

impl From<Rejection> for Code {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::PointsOutOfRange { .. } => Self::PointsOutOfRange,
            Rejection::AtInFuture => Self::AtInFuture,
            Rejection::SeasonClosed => Self::SeasonClosed,
            Rejection::EventIdReused => Self::EventIdReused,
            Rejection::ConditionFailed => Self::ConditionFailed,
            Rejection::TooSoon => Self::TooSoon,
            Rejection::ScoreOutOfRange => Self::ScoreOutOfRange,
            Rejection::BoardFull => Self::BoardFull,
        }
    }
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        Self::new(rejection.into(), rejection.to_string())
    }
}

/// Which call helps, where the engine's words leave that open: it does not know by which one the error came.
struct Hint<'a>(&'a EngineError);

impl Display for Hint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            EngineError::UnknownBoard(_) => f.write_str("; GET /v1/boards lists them"),
            EngineError::UnknownSeason { board, .. } => {
                write!(f, "; GET /v1/boards/{board}/seasons lists them")
            }
            EngineError::UnknownSnapshot { board, .. } => {
                write!(f, "; GET /v1/boards/{board}/snapshots lists them")
            }
            EngineError::UnknownKey => f.write_str("; GET /v1/keys lists them"),
            EngineError::SeasonOpen(_) => f.write_str(
                "; close it first, or use PUT /v1/boards/{board}/scores for the open season",
            ),
            EngineError::SeasonEnded(season) => write!(
                f,
                "; PUT /v1/boards/{{board}}/seasons/{season} imports it whole once it is closed"
            ),
            EngineError::TooDeep(_) => f.write_str(": after takes its next"),
            _ => Ok(()),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Rule(rejection) => rejection.into(),
            Refused::Store(error) => error.into(),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let code = match &error {
            EngineError::UnknownBoard(_) => Code::UnknownBoard,
            EngineError::UnknownSeason { .. } => Code::UnknownSeason,
            EngineError::UnknownSnapshot { .. } => Code::UnknownSnapshot,
            EngineError::UnknownPlayer(_) => Code::UnknownPlayer,
            EngineError::UnknownKey => Code::UnknownKey,
            EngineError::KeyExists => Code::KeyExists,
            EngineError::ImmutableSetting(_) => Code::ImmutableSetting,
            EngineError::SeasonOpen(_) => Code::SeasonOpen,
            EngineError::SeasonEnded(_) => Code::SeasonClosed,
            EngineError::SnapshotInFuture(_) => Code::SnapshotInFuture,
            EngineError::PastRetention { .. } => Code::PastRetention,
            EngineError::BadCursor => Code::BadCursor,
            EngineError::TooDeep(_) => Code::OffsetTooDeep,
            EngineError::Conflict(_) => Code::Conflict,
            // A rule has one code, whichever way a score comes.
            EngineError::BadRow { rule, .. } => rule.map_or(Code::BadRow, Code::from),
            EngineError::Unsupported(_) => Code::Unsupported,
            EngineError::BadRequest(_) => Code::Malformed,
            EngineError::Unavailable { .. } => Code::Unavailable,
            EngineError::Overloaded { .. } => Code::Overloaded,
            EngineError::OutcomeUnknown { .. } => Code::OutcomeUnknown,
        };
        let problem = Self::new(code, format!("{error}{}", Hint(&error)));
        match error {
            EngineError::Unavailable { retry_after, .. }
            | EngineError::Overloaded { retry_after } => problem.retry_after(retry_after),
            EngineError::OutcomeUnknown { .. } => problem.retry_after(Duration::from_secs(1)),
            _ => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rejection_keeps_the_code_of_the_rule() {
        for rejection in [
            Rejection::PointsOutOfRange { min: None, max: None },
            Rejection::AtInFuture,
            Rejection::SeasonClosed,
            Rejection::EventIdReused,
            Rejection::ConditionFailed,
            Rejection::TooSoon,
            Rejection::ScoreOutOfRange,
            Rejection::BoardFull,
        ] {
            assert_eq!(Problem::from(rejection).code().name(), rejection.code());
        }
    }

    #[test]
    fn a_problem_is_written_with_its_five_members() {
        let problem = Problem::new(Code::TooSoon, "wait").caused_by("secret");
        assert_eq!(
            serde_json::to_string(&problem).unwrap(),
            r#"{"type":"/docs#too_soon","title":"One submission per period was accepted already","status":409,"detail":"wait","code":"too_soon"}"#
        );
    }

    #[test]
    fn what_the_engine_cannot_know_is_added_to_its_words() {
        let season = standings_core::SeasonId::parse("2026-11").unwrap();
        let problem = Problem::from(EngineError::SeasonEnded(season));
        let detail = "season 2026-11 has ended meanwhile, and the other rows were not applied; \
                      PUT /v1/boards/{board}/seasons/2026-11 imports it whole once it is closed";
        assert_eq!((problem.code(), problem.detail()), (Code::SeasonClosed, detail));
        let problem = Problem::from(EngineError::TooDeep(10_000));
        let detail = "pages are found by offset up to 10000 rows; beyond that go on from the page before: \
                      after takes its next";
        assert_eq!((problem.code(), problem.detail()), (Code::OffsetTooDeep, detail));
    }

    #[test]
    fn a_retry_is_never_advised_too_early() {
        let mut headers = HeaderMap::new();
        let later = Problem::new(Code::Overloaded, "later");
        later.retry_after(Duration::from_millis(1001)).say(&mut headers);
        assert_eq!(headers[header::RETRY_AFTER], "2");
    }
}
