//! What happens to every request on its way in and out: its id, its limits, CORS, and the one line in the log.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Instant,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use hyper::{body::Incoming, service::Service as _};
use hyper_util::service::TowerToHyperService;

use crate::{
    app::App,
    config::Cors,
    intake::intake,
    problem::{Code, Problem},
};

/// What a request's headers may have, all names and values together. Keys are short.
const HEADER_BYTES: usize = 16 * 1024;
/// What its address may have: a thousand ids of up to 60 bytes each. Four KiB more and hyper would not read it.
const ADDRESS_BYTES: usize = 60 * 1024;

/// The longest request id that is taken over.
const REQUEST_ID_BYTES: usize = 64;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The router as hyper calls it.
pub(crate) type Routes = TowerToHyperService<Router>;

/// Answers one request.
pub(crate) async fn answer(app: &App, routes: &Routes, request: Request<Incoming>) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = if let Some(detail) = too_large(&uri, request.headers()) {
        Problem::new(Code::HeadersTooLarge, detail).closing().into_response()
    } else if method == Method::OPTIONS {
        preflight()
    } else {
        let (parts, body) = request.into_parts();
        let (body, unread) = intake(body);
        let call = routes.call(Request::from_parts(parts, body));
        let mut response = match unwinding(call).await {
            Ok(Ok(response)) => response,
            Err(problem) => problem.into_response(),
        };
        if let Some(unread) = unread
            && !unread.finish().await
        {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        response
    };
    // Pages may read, not write: a key in a page is a key that everyone has.
    if matches!(method, Method::GET | Method::HEAD | Method::OPTIONS) {
        let_pages_read(&app.options.cors, origin, response.headers_mut());
    }
    let problem = response.extensions().get::<Arc<Problem>>().map(AsRef::as_ref);
    let asked = Asked { id: id.as_bytes(), method: method.as_str(), path: uri.path() };
    log(app, &asked, response.status(), problem, started);
    response.headers_mut().insert(REQUEST_ID.clone(), id);
    response
}

/// A handler that panics costs its request, not the connection, and is a mistake of ours.
pub(crate) async fn unwinding<T>(answer: impl Future<Output = T>) -> Result<T, Problem> {
    let mut answer = pin!(answer);
    let caught = std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    });
    caught.await.ok_or_else(|| {
        Problem::new(Code::Internal, "this is a mistake of the server; its log says more")
            .caused_by("a handler panicked")
            .closing()
    })
}

/// What is logged of a request.
pub(crate) struct Asked<'a> {
    pub(crate) id: &'a [u8],
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
}

/// The one line that a request leaves. A problem is logged here and nowhere else.
pub(crate) fn log(
    app: &App,
    asked: &Asked<'_>,
    status: StatusCode,
    problem: Option<&Problem>,
    start: Instant,
) {
    let status = status.as_u16();
    let &Asked { method, path, .. } = asked;
    // An id is ASCII, whoever gave it.
    let id = || str::from_utf8(asked.id).unwrap_or_default();
    if let Some(problem) = problem {
        app.metrics.refused(problem.code());
        let (code, detail, cause) = (problem.code().name(), problem.detail(), problem.cause());
        if problem.code().status().is_server_error() {
            tracing::warn!(request_id = id(), method, path, status, code, detail, cause, "failed");
        } else {
            tracing::debug!(
                request_id = id(),
                method,
                path,
                status,
                code,
                detail,
                cause,
                "refused"
            );
        }
    } else if tracing::enabled!(tracing::Level::DEBUG) {
        let took = start.elapsed();
        tracing::debug!(request_id = id(), method, path, status, ?took, "answered");
    }
}

/// The client's own id if it is harmless in a log, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(&REQUEST_ID).filter(|value| is_harmless(value.as_bytes()));
    given.cloned().unwrap_or_else(|| {
        HeaderValue::from_bytes(&new_request_id()).unwrap_or(HeaderValue::from_static("0"))
    })
}

/// Whether an id may be taken over.
pub(crate) fn is_harmless(id: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES).contains(&id.len())
        && id.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(b))
}

/// Unlike that of any other process, and counted up within this one.
pub(crate) fn new_request_id() -> [u8; 16] {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| {
        let mut seed = [0; 8];
        // Without random numbers ids still differ within the process, which is what a log needs.
        let _ = getrandom::fill(&mut seed);
        AtomicU64::new(u64::from_le_bytes(seed))
    });
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
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

/// What a head may be, for whoever sent one so large that it was not read. hyper reads no more than 100 headers.
pub(crate) fn head_limits() -> String {
    format!(
        "an address may have up to {ADDRESS_BYTES} bytes; a request may have up to 100 headers of {HEADER_BYTES} bytes, names \
         and values together"
    )
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

fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, x-request-id, last-event-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
