//! From the parts of a request to domain types, or to a problem that says what to send instead.

use std::{borrow::Cow, fmt::Display, ops::RangeInclusive, str::FromStr, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use bytes::BytesMut;
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, de::DeserializeOwned};
use serde_path_to_error::Segment;
use standings_core::{BoardId, KeyName, LocalDate, PlayerId, Score, SeasonId, limits::MAX_SCORE};

use crate::{
    app::App,
    problem::{Code, Problem},
    wire::Object,
};

/// The largest body that is held in memory. Imports are streamed and have no limit.
pub(crate) const BODY_BYTES: usize = 4 * 1024 * 1024;

/// The board in the path, or the default board where the path names none.
#[derive(Debug)]
pub(crate) struct OnBoard(pub(crate) BoardId);

/// The player in the path.
#[derive(Debug)]
pub(crate) struct OfPlayer(pub(crate) PlayerId);

/// The season in the path.
#[derive(Debug)]
pub(crate) struct OfSeason(pub(crate) SeasonId);

/// The date in the path.
#[derive(Debug)]
pub(crate) struct OfDate(pub(crate) LocalDate);

/// The name of a key in the path.
#[derive(Debug)]
pub(crate) struct OfKey(pub(crate) KeyName);

/// The score in the path.
#[derive(Debug)]
pub(crate) struct OfScore(pub(crate) Score);

async fn in_path<T>(
    parts: &mut Parts,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, Problem>,
) -> Result<Option<T>, Problem> {
    match RawPathParams::from_request_parts(parts, &()).await {
        Ok(params) => {
            params.iter().find(|(key, _)| *key == name).map(|(_, value)| parse(value)).transpose()
        }
        Err(rejection) if rejection.status().is_client_error() => {
            Err(Problem::malformed("the path is not UTF-8 once its %-escapes are decoded"))
        }
        // A route without parameters.
        Err(_) => Ok(None),
    }
}

fn missing(name: &str) -> Problem {
    Problem::new(Code::Internal, "the server lost its way").caused_by(format!("no {name} in path"))
}

pub(crate) fn invalid(error: impl Display) -> Problem {
    Problem::malformed(error.to_string())
}

impl FromRequestParts<Arc<App>> for OnBoard {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let given = in_path(parts, "board", |text| BoardId::new(text).map_err(invalid)).await?;
        Ok(Self(given.unwrap_or_else(|| app.default_board.clone())))
    }
}

macro_rules! from_path {
    ($type:ident, $name:literal, $parse:expr) => {
        impl FromRequestParts<Arc<App>> for $type {
            type Rejection = Problem;
            async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Problem> {
                let parse: fn(&str) -> Result<_, Problem> = $parse;
                let given = in_path(parts, $name, parse).await?;
                given.map(Self).ok_or_else(|| missing($name))
            }
        }
    };
}

from_path!(OfPlayer, "user_id", |text| PlayerId::new(text).map_err(invalid));
from_path!(OfSeason, "season", season_id);
from_path!(OfDate, "date", |text| LocalDate::parse(text).map_err(invalid));
from_path!(OfKey, "name", |text| KeyName::new(text).map_err(invalid));
from_path!(OfScore, "score", |text| score(text, "the score in the path"));

pub(crate) fn season_id(text: &str) -> Result<SeasonId, Problem> {
    SeasonId::parse(text).map_err(invalid)
}

fn score(text: &str, name: &str) -> Result<Score, Problem> {
    text.parse().ok().and_then(Score::new).ok_or_else(|| {
        Problem::malformed(format!("{name} must be a whole number within ±{MAX_SCORE}"))
    })
}

/// The query of a request. Each parameter is taken by name; what is left over is unknown and an error.
#[derive(Debug)]
pub(crate) struct Params<'q> {
    left: Vec<(Cow<'q, str>, Cow<'q, str>)>,
}

impl<'q> Params<'q> {
    /// Splits and decodes a query.
    pub(crate) fn parse(query: Option<&'q str>) -> Result<Self, Problem> {
        let mut left: Vec<(Cow<'q, str>, Cow<'q, str>)> = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if left.iter().any(|(other, _)| *other == name) {
                return Err(Problem::malformed(format!("{name} is given twice")));
            }
            left.push((name, value));
        }
        Ok(Self { left })
    }

    /// The text of a parameter.
    pub(crate) fn take(&mut self, name: &str) -> Option<Cow<'q, str>> {
        let at = self.left.iter().position(|(other, _)| other == name)?;
        Some(self.left.swap_remove(at).1)
    }

    /// A whole number within limits.
    pub(crate) fn whole<T>(
        &mut self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, Problem>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.take(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(Problem::malformed(format!(
                "{name} must be a whole number from {} to {}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// A score.
    pub(crate) fn score(&mut self, name: &str) -> Result<Option<Score>, Problem> {
        self.take(name).map(|text| score(&text, name)).transpose()
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, Problem> {
        match self.take(name).as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Problem::malformed(format!("{name} must be true or false"))),
        }
    }

    /// A date.
    pub(crate) fn date(&mut self, name: &str) -> Result<Option<LocalDate>, Problem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        LocalDate::parse(&text).map(Some).map_err(|error| invalid(error).within(name))
    }

    /// A board.
    pub(crate) fn board(&mut self, name: &str) -> Result<Option<BoardId>, Problem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        BoardId::new(&text).map(Some).map_err(|error| invalid(error).within(name))
    }

    /// Refuses parameters that make no sense beside one that was taken.
    pub(crate) fn exclusive(&self, taken: &str, others: &[&str]) -> Result<(), Problem> {
        match self.left.iter().find(|(name, _)| others.contains(&&**name)) {
            Some((name, _)) => {
                Err(Problem::malformed(format!("{taken} and {name} cannot be combined")))
            }
            None => Ok(()),
        }
    }

    /// Refuses what nothing has taken.
    pub(crate) fn finish(self, known: &str) -> Result<(), Problem> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(Problem::malformed(format!(
                "there is no parameter {name:?} here; this call takes {known}"
            ))),
        }
    }
}

/// A query without parameters: a call that takes none must not seem to take one, and do something else than was meant.
#[derive(Debug)]
pub(crate) struct NoParams;

impl NoParams {
    /// The same from the query alone.
    pub(crate) fn of(query: Option<&str>) -> Result<Self, Problem> {
        Params::parse(query)?.finish("none").map(|()| Self)
    }
}

impl FromRequestParts<Arc<App>> for NoParams {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Problem> {
        Self::of(parts.uri.query())
    }
}

fn decode(text: &str) -> Result<Cow<'_, str>, Problem> {
    let not_utf8 = |_| Problem::malformed("the query is not UTF-8 once its %-escapes are decoded");
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8().map_err(not_utf8)?;
        return Ok(Cow::Owned(decoded.into_owned()));
    }
    percent_decode_str(text).decode_utf8().map_err(not_utf8)
}

/// What the body says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// One JSON text.
    Json,
    /// One JSON text a line.
    Ndjson,
}

impl Media {
    /// Reads `Content-Type`. Where it is absent, `default` is meant.
    pub(crate) fn of(
        headers: &HeaderMap,
        default: Self,
        accepted: &[Self],
    ) -> Result<Self, Problem> {
        let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        Self::named(given, default, accepted)
    }

    /// The same from the header's value.
    pub(crate) fn named(
        given: Option<&[u8]>,
        default: Self,
        accepted: &[Self],
    ) -> Result<Self, Problem> {
        let media = match given {
            None => Some(default),
            Some(value) => {
                let essence = value.split(|&b| b == b';').next().unwrap_or_default();
                let is = |name: &str| essence.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
                if is("application/json") {
                    Some(Self::Json)
                } else if is("application/x-ndjson") || is("application/ndjson") {
                    Some(Self::Ndjson)
                } else {
                    None
                }
            }
        };
        media.filter(|media| accepted.contains(media)).ok_or_else(|| {
            let names = accepted.iter().map(|media| match media {
                Self::Json => "application/json",
                Self::Ndjson => "application/x-ndjson",
            });
            let names: Vec<_> = names.collect();
            let detail = format!("send the body with Content-Type: {}", names.join(" or "));
            Problem::new(Code::UnsupportedMediaType, detail)
        })
    }
}

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        Media::of(request.headers(), Media::Json, &[Media::Json])?;
        let bytes = read_body(request.into_body(), app).await?;
        parse_json(&bytes).map(|Object(body)| Self(body))
    }
}

/// No body, or an object without members: a call that takes nothing must not seem to take something.
#[derive(Debug)]
pub(crate) struct NoBody;

impl FromRequest<Arc<App>> for NoBody {
    type Rejection = Problem;
    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}

        let bytes = read_body(request.into_body(), app).await?;
        if !bytes.trim_ascii().is_empty() {
            let nothing: Result<Object<Nothing>, _> = parse_json(&bytes);
            nothing.map_err(|problem| problem.within("this call takes no body"))?;
        }
        Ok(Self)
    }
}

/// Reads a body of bounded size in bounded time.
pub(crate) async fn read_body(mut body: Body, app: &App) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("a body may have up to {BODY_BYTES} bytes; send several requests");
        Problem::new(Code::BodyTooLarge, detail).closing()
    };
    let announced = axum::body::HttpBody::size_hint(&body).lower();
    if announced > BODY_BYTES as u64 {
        return Err(too_large());
    }
    let collect = async {
        let mut first = Bytes::new();
        let mut more = BytesMut::new();
        while let Some(data) = next_data(&mut body).await? {
            if first.len().max(more.len()) + data.len() > BODY_BYTES {
                return Err(too_large());
            }
            // Nearly every body comes in one piece, which is then not copied.
            if first.is_empty() {
                first = data;
            } else {
                if more.is_empty() {
                    more.extend_from_slice(&first);
                }
                more.extend_from_slice(&data);
            }
        }
        Ok(if more.is_empty() { first } else { more.freeze() })
    };
    tokio::time::timeout(app.options.body_timeout, collect).await.map_err(|_| slow_body())?
}

/// The next piece of a body.
pub(crate) async fn next_data(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Problem::malformed("the body broke off").caused_by(error).closing())?;
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

pub(crate) fn slow_body() -> Problem {
    Problem::new(Code::Timeout, "the body did not arrive in time; send it again").closing()
}

/// What some editors put before UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// NDJSON without the byte order mark that a file may begin with.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// Parses JSON. Only when that fails is it parsed again, by a slower reader that knows where it is.
pub(crate) fn parse_json<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        if bytes.trim_ascii().is_empty() {
            return Problem::malformed("the body is empty; send JSON");
        }
        if bytes.starts_with(MARK) {
            return Problem::malformed("JSON does not begin with a byte order mark; leave it out");
        }
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let slower = serde_path_to_error::deserialize::<_, T>(&mut reader);
        match slower.map_err(|error| (place(error.path()), error.into_inner())) {
            Err((Some(place), error)) => invalid(error).within(place),
            _ => invalid(error),
        }
    })
}

/// Where in a JSON text something is, as far as its members have names.
fn place(path: &serde_path_to_error::Path) -> Option<String> {
    let known = |part: &&Segment| !matches!(part, Segment::Unknown);
    path.iter().next().filter(known)?;
    let text = path.to_string();
    let named = match path.iter().next_back() {
        Some(Segment::Unknown) => text.trim_end_matches(".?").to_owned(),
        _ => text,
    };
    Some(named)
}

/// Parses one line of NDJSON, or one item of an array: its place is told by its number, not by a line within it.
pub(crate) fn parse_item<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Problem> {
    parse_json(bytes).map_err(|problem| {
        Problem::malformed(problem.detail().replace(" at line 1 column ", " at column "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SubmissionBody;

    #[test]
    fn a_parameter_that_nothing_takes_is_named() {
        let mut params = Params::parse(Some("limit=5&lmit=3")).unwrap();
        assert_eq!(params.whole("limit", 1..=10).unwrap(), Some(5));
        let error = params.finish("limit").unwrap_err();
        assert!(error.detail().contains("\"lmit\""), "{}", error.detail());
    }

    #[test]
    fn what_is_given_twice_or_is_not_utf8_is_refused() {
        assert!(Params::parse(Some("a=1&a=2")).is_err());
        assert!(Params::parse(Some("a=%ff")).is_err());
        let mut params = Params::parse(Some("name=a+b%2Bc&&x")).unwrap();
        assert_eq!(params.take("name").as_deref(), Some("a b+c"));
        assert_eq!(params.take("x").as_deref(), Some(""));
    }

    #[test]
    fn a_place_that_is_not_known_is_not_named() {
        use serde_json::Value;
        use std::collections::HashMap;
        for body in
            ["{", "{\"a\"", "{\"a\":1,}", "{1:2}", "{\"expect\":{1:2}}", "[1}", "x", "{\"a\":1 2}"]
        {
            for error in [
                parse_json::<HashMap<String, i64>>(body.as_bytes()).map(|_| ()),
                parse_json::<Object<SubmissionBody>>(body.as_bytes()).map(|_| ()),
                parse_json::<Value>(body.as_bytes()).map(|_| ()),
            ] {
                let error = error.unwrap_err();
                assert!(!error.detail().contains('?'), "{body}: {}", error.detail());
            }
        }
    }

    #[test]
    fn a_wrong_type_is_reported_with_its_field() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only parsed")]
        struct Body {
            points: i64,
        }
        let error = parse_json::<Body>(br#"{"points":"5"}"#).unwrap_err();
        assert!(error.detail().starts_with("points: invalid type: string"), "{}", error.detail());
        let error = parse_json::<Body>(br#"{"points":1e400}"#).unwrap_err();
        assert!(error.detail().starts_with("points: number out of range"), "{}", error.detail());
        assert!(parse_json::<Body>(b"").unwrap_err().detail().contains("empty"));
        assert!(
            parse_json::<Body>(br#"{"points":5} x"#).unwrap_err().detail().contains("trailing")
        );
    }
}
