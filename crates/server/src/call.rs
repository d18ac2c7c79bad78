//! A request as a handler sees it: what the path names, the query and the body become domain types here, or a problem that says
//! what to send instead.

use std::{
    borrow::Cow,
    fmt::Display,
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap,
    body::{Body, SizeHint},
    header::{CONTENT_TYPE, HeaderValue},
};
use matchit::Params;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, de::DeserializeOwned};
use standings_core::{BoardId, KeyName, LocalDate, PlayerId, Score, SeasonId, limits::MAX_SCORE};
use standings_engine::Engine;

use crate::{
    app::App,
    json::{Object, parse_json},
    limits::BODY_BYTES,
    problem::{Code, Problem},
    query,
    reply::BodyError,
};

/// A request's body, whatever brings it.
pub(crate) type Incoming<'a> = Pin<&'a mut (dyn Body<Data = Bytes, Error = BodyError> + Send + 'a)>;

/// A request whose sender may make it.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a App,
    /// What of the path is variable, as it was sent.
    pub(crate) params: Params<'a, 'a>,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Incoming<'a>,
}

impl<'a> Call<'a> {
    /// The engine, or why there is none.
    pub(crate) fn engine(&self) -> Result<&'a dyn Engine, Problem> {
        self.app.engine()
    }

    /// The board in the path, or the default board where the path names none.
    pub(crate) fn board(&self) -> Result<Cow<'a, BoardId>, Problem> {
        match self.params.get("board") {
            Some(_) => self.in_path("board", BoardId::new).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&self.app.default_board)),
        }
    }

    /// The player in the path.
    pub(crate) fn player(&self) -> Result<PlayerId, Problem> {
        self.in_path("user_id", PlayerId::new)
    }

    /// The season in the path.
    pub(crate) fn season(&self) -> Result<SeasonId, Problem> {
        self.in_path("season", SeasonId::parse)
    }

    /// The date in the path.
    pub(crate) fn date(&self) -> Result<LocalDate, Problem> {
        self.in_path("date", LocalDate::parse)
    }

    /// The name of a key in the path.
    pub(crate) fn key_name(&self) -> Result<KeyName, Problem> {
        self.in_path("name", KeyName::new)
    }

    /// The score in the path.
    pub(crate) fn score(&self) -> Result<Score, Problem> {
        self.in_path("score", |text| {
            text.parse().ok().and_then(Score::new).ok_or_else(|| {
                format!("the score in the path must be a whole number within ±{MAX_SCORE}")
            })
        })
    }

    fn in_path<T, E: Display>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Problem> {
        let sent = self.params.get(name).unwrap_or_default();
        let text = percent_decode_str(sent).decode_utf8().map_err(|_| {
            Problem::malformed("the path is not UTF-8 once its %-escapes are decoded")
        })?;
        parse(&text).map_err(invalid)
    }

    /// The query.
    pub(crate) fn query<T: Deserialize<'a>>(&self) -> Result<T, Problem> {
        query::parse(self.query)
    }

    /// Refuses any parameter.
    pub(crate) fn no_query(&self) -> Result<(), Problem> {
        self.query().map(|query::Nothing {}| ())
    }

    /// A JSON body.
    pub(crate) async fn json<T: DeserializeOwned>(self) -> Result<T, Problem> {
        Media::of(self.headers, Media::Json, &[Media::Json])?;
        let bytes = self.bytes().await?;
        parse_json(&bytes).map(|Object(body)| body)
    }

    /// No body, or an object without members: a call that takes nothing must not seem to take something.
    pub(crate) async fn no_body(self) -> Result<(), Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}

        let nothing = self.optional_json::<Nothing>().await;
        nothing.map(drop).map_err(|problem| match problem.code() {
            Code::Malformed => problem.within("this call takes no body"),
            _ => problem,
        })
    }

    /// A JSON body, or none. Its type need not be said: it is often sent by hand, and empty.
    pub(crate) async fn optional_json<T: DeserializeOwned>(self) -> Result<Option<T>, Problem> {
        let bytes = self.bytes().await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        parse_json(&bytes).map(|Object(body)| Some(body))
    }

    /// A body of bounded size, in bounded time.
    pub(crate) async fn bytes(self) -> Result<Bytes, Problem> {
        let Self { app, mut body, .. } = self;
        let too_large = || {
            let detail = format!("a body may have up to {BODY_BYTES} bytes; send several requests");
            Problem::new(Code::BodyTooLarge, detail).closing()
        };
        if SizeHint::lower(&body.size_hint()) > BODY_BYTES as u64 {
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
        in_time(app.options.body_timeout, collect).await
    }
}

/// Waits for a body, or a piece of one.
pub(crate) async fn in_time<T>(
    patience: Duration,
    read: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let mut read = pin!(read);
    // hyper gives what it has read when it was asked, with the second look. Only what is not here then is worth a timer.
    let mut asked = false;
    let at_once = poll_fn(|context| match read.as_mut().poll(context) {
        Poll::Ready(read) => Poll::Ready(Some(read)),
        Poll::Pending if asked => Poll::Ready(None),
        Poll::Pending => {
            asked = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    if let Some(read) = at_once.await {
        return read;
    }
    Box::pin(tokio::time::timeout(patience, read)).await.unwrap_or_else(|_| {
        let detail = "the body did not arrive in time; send it again";
        Err(Problem::new(Code::Timeout, detail).closing())
    })
}

/// The next piece of a body.
pub(crate) async fn next_data(body: &mut Incoming<'_>) -> Result<Option<Bytes>, Problem> {
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

pub(crate) fn invalid(error: impl Display) -> Problem {
    Problem::malformed(error.to_string())
}

/// What a body says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// One JSON text.
    Json,
    /// One JSON text a line.
    Ndjson,
}

impl Media {
    /// What the headers say, if the call takes it.
    pub(crate) fn of(
        headers: &HeaderMap,
        default: Self,
        accepted: &[Self],
    ) -> Result<Self, Problem> {
        let media = match headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes) {
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
