//! What happens to every request on its way in and out: its id, its limits, who may make it, CORS, and the one line in the log.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
    time::Instant,
};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::Body,
    header::{self, HeaderName, HeaderValue},
    http::request::Parts,
};

use crate::{
    app::App,
    auth::authorise,
    call::{Call, Incoming},
    config::Cors,
    limits::{ADDRESS_BYTES, HEADER_BYTES, REQUEST_ID_BYTES, UNREAD_BYTES, UNREAD_WAIT},
    problem::{Code, Problem},
    reply::{Answer, BodyError, Content, Piece, Reply},
    table::Found,
};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers one request, whatever brought it.
pub async fn answer<B>(app: &App, request: Request<B>) -> Response<Content>
where
    B: Body<Data = Bytes, Error: Into<BodyError>> + Send,
{
    let started = Instant::now();
    let (mut parts, body) = request.into_parts();
    let mut body = pin!(body.map_err(Into::into));
    let id = request_id(&parts.headers);
    let (answer, allow) = respond(app, &parts, body.as_mut(), started).await;
    let stays = match &answer {
        Err(problem) if problem.closes() => false,
        _ if body.is_end_stream() => true,
        // Looking at the body would ask a client for it that waits to be asked.
        _ if parts.headers.contains_key(header::EXPECT) => false,
        // Apart, because it is rare, and a future is as large as the largest that it waits for.
        _ => Box::pin(read_rest(body)).await,
    };
    log(app, &parts, &id, &answer, started);

    // The map of the request's headers becomes that of the answer.
    let origin = parts.headers.remove(header::ORIGIN);
    let mut headers = std::mem::take(&mut parts.headers);
    headers.clear();
    let (status, content) = match answer {
        Ok(reply) => {
            reply.say(&mut headers);
            (reply.status, reply.content)
        }
        Err(problem) => {
            problem.say(&mut headers);
            (problem.code().status(), Content::Full(Piece::Bytes(problem.body().into())))
        }
    };
    if let Some(allow) = allow {
        headers.insert(header::ALLOW, allow);
    }
    if parts.method == Method::OPTIONS {
        preflight(&mut headers);
    }
    // Pages may read, not write: a key in a page is a key that everyone has.
    if matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS) {
        let_pages_read(&app.options.cors, origin, &mut headers);
    }
    if !stays {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(&REQUEST_ID, id);
    let mut response = Response::new(content);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Runs what answers a request, and counts it. Where only other methods have a route, also says which.
async fn respond<'a>(
    app: &'a App,
    parts: &'a Parts,
    body: Incoming<'a>,
    started: Instant,
) -> (Answer, Option<HeaderValue>) {
    if let Some(detail) = too_large(&parts.uri, &parts.headers) {
        return (Err(Problem::new(Code::HeadersTooLarge, detail).closing()), None);
    }
    if parts.method == Method::OPTIONS {
        return (Ok(Reply::nothing()), None);
    }
    let (series, answer, allow) = match app.table.find(&parts.method, parts.uri.path()) {
        Found::Route(route, params) => {
            let run = async {
                authorise(app, &parts.headers, route.access).await?;
                let (query, headers) = (parts.uri.query(), &parts.headers);
                (route.run)(Call { app, params, query, headers, body }).await
            };
            (&route.series, unwinding(run).await, None)
        }
        Found::Other(methods) => {
            let detail = "the Allow header lists what this address takes; see GET /docs";
            let refused = Problem::new(Code::MethodNotAllowed, detail);
            (&app.table.unmatched, Err(refused), Some(methods))
        }
        Found::Nothing => {
            let detail = "there is nothing at this address; GET /docs shows what there is";
            (&app.table.unmatched, Err(Problem::new(Code::NotFound, detail)), None)
        }
    };
    series.answered(status(&answer), started.elapsed());
    (answer, allow)
}

fn status(answer: &Answer) -> StatusCode {
    match answer {
        Ok(reply) => reply.status,
        Err(problem) => problem.code().status(),
    }
}

/// A handler that panics costs its request, not the connection, and is a mistake of ours.
async fn unwinding(answer: impl Future<Output = Answer>) -> Answer {
    let mut answer = pin!(answer);
    let caught = std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    });
    caught.await.unwrap_or_else(|| {
        let detail = "this is a mistake of the server; its log says more";
        Err(Problem::new(Code::Internal, detail).caused_by("a handler panicked").closing())
    })
}

/// Reads what a handler left of the body, if that is little. Whether the connection can be used again.
///
/// An answer can be ready before the body has arrived: a missing key, an unknown address. hyper then closes the connection
/// without announcing it, and a client that keeps connections open runs into the closed one with its next request.
async fn read_rest(mut body: Incoming<'_>) -> bool {
    if body.size_hint().lower() > UNREAD_BYTES {
        return false;
    }
    let rest = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if bytes > UNREAD_BYTES {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(UNREAD_WAIT, rest).await.unwrap_or(false)
}

/// The one line that a request leaves. A problem is logged here and nowhere else.
fn log(app: &App, parts: &Parts, id: &HeaderValue, answer: &Answer, started: Instant) {
    // An id is ASCII, whoever gave it.
    let request_id = || id.to_str().unwrap_or_default();
    let (method, path) = (parts.method.as_str(), parts.uri.path());
    let status = status(answer).as_u16();
    let Err(problem) = answer else {
        if tracing::enabled!(tracing::Level::DEBUG) {
            let (request_id, took) = (request_id(), started.elapsed());
            tracing::debug!(request_id, method, path, status, ?took, "answered");
        }
        return;
    };
    app.metrics.refused(problem.code());
    let (code, detail, cause) = (problem.code().name(), problem.detail(), problem.cause());
    if problem.code().status().is_server_error() {
        let request_id = request_id();
        tracing::warn!(request_id, method, path, status, code, detail, cause, "failed");
    } else if tracing::enabled!(tracing::Level::DEBUG) {
        let request_id = request_id();
        tracing::debug!(request_id, method, path, status, code, detail, cause, "refused");
    }
}

/// The client's own id if it is harmless in a log, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(&REQUEST_ID).filter(|value| is_harmless(value.as_bytes()));
    given.cloned().unwrap_or_else(|| {
        HeaderValue::from_bytes(&new_request_id()).unwrap_or(HeaderValue::from_static("0"))
    })
}

fn is_harmless(id: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES).contains(&id.len())
        && id.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(b))
}

/// Counted up by each thread, from where no other begins.
fn new_request_id() -> [u8; 16] {
    thread_local! {
        static NEXT: Cell<u64> = {
            let mut seed = [0; 8];
            // Without random numbers ids still differ within the thread.
            let _ = getrandom::fill(&mut seed);
            Cell::new(u64::from_le_bytes(seed))
        };
    }
    let number = NEXT.replace(NEXT.get().wrapping_add(1));
    let mut text = [0; 16];
    for (at, digit) in text.iter_mut().enumerate() {
        let nibble = (number >> (60 - 4 * at)) & 15;
        *digit = b"0123456789abcdef"[usize::try_from(nibble).unwrap_or(0)];
    }
    text
}

/// What of a request's head is too large, if anything is.
fn too_large(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let address = uri.path().len() + uri.query().map_or(0, str::len);
    let fields = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    if address > ADDRESS_BYTES {
        Some(format!("an address may have up to {ADDRESS_BYTES} bytes; ask for fewer ids at once"))
    } else if fields.sum::<usize>() > HEADER_BYTES {
        Some(format!("headers may have up to {HEADER_BYTES} bytes, names and values together"))
    } else {
        None
    }
}

/// Says in an answer which page may read it.
fn let_pages_read(cors: &Cors, origin: Option<HeaderValue>, answer: &mut HeaderMap) {
    let from_page = origin.is_some();
    let allowed = match cors {
        Cors::Any => Some(HeaderValue::from_static("*")),
        Cors::None => None,
        Cors::Origins(origins) => {
            // Also where no page asks, or one that may not: a cache must not give that answer to a page that may.
            answer.append(header::VARY, HeaderValue::from_static("Origin"));
            origin.filter(|origin| origins.contains(origin))
        }
    };
    let Some(allowed) = allowed else { return };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    if from_page {
        let exposed = HeaderValue::from_static("x-request-id, retry-after");
        answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

/// Answers a browser that asks what a page may do.
fn preflight(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, x-request-id, last-event-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Empty, Full};

    use super::*;
    use crate::config::HttpOptions;

    #[test]
    fn a_sane_request_id_is_kept_and_any_other_replaced() {
        let id = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID.clone(), value.parse().unwrap());
            request_id(&headers).to_str().unwrap().to_owned()
        };
        assert_eq!(id("abc-1:2_3.4"), "abc-1:2_3.4");
        for bad in ["a b", "", "{}", &"x".repeat(65)] {
            assert_eq!(id(bad).len(), 16, "{bad:?}");
        }
        assert_ne!(id(""), id(""));
    }

    #[tokio::test]
    async fn a_request_needs_no_connection() {
        let app = App::new(HttpOptions::default());
        let health = Request::get("/healthz").body(Empty::new()).unwrap();
        let answered = answer(&app, health).await;
        assert_eq!(answered.status(), StatusCode::OK);
        assert_eq!(answered.headers()[header::CONTENT_TYPE], "application/json");
        let body = answered.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, r#"{"status":"ok"}"#);
        let body = Full::new(Bytes::from_static(b"{}"));
        let answered = answer(&app, Request::post("/v1/scores").body(body).unwrap()).await;
        assert_eq!(answered.status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn a_handler_that_panics_costs_its_request() {
        let refused = unwinding(async { panic!("a mistake") }).await.map(drop).unwrap_err();
        assert_eq!((refused.code(), refused.closes()), (Code::Internal, true));
    }
}
