//! Answers as bytes.

use std::{
    cell::Cell,
    io::Write as _,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{config::Cors, problem::Problem};

/// What every answer's head says besides its content.
#[derive(Clone, Copy)]
pub(crate) struct Manner<'a> {
    pub(crate) request_id: &'a [u8],
    /// Which pages may read it.
    pub(crate) pages: Pages,
    /// Whether the connection ends with it.
    pub(crate) close: bool,
}

/// What an answer says of the pages that may read it. A request with an `Origin` is not answered here.
#[derive(Clone, Copy)]
pub(crate) enum Pages {
    /// Nothing.
    Unsaid,
    /// Those of any origin may.
    Any,
    /// It depends on the origin: a cache must not give an answer without one to a page.
    Listed,
}

impl Pages {
    /// What an answer to a read says.
    pub(crate) fn of(cors: &Cors) -> Self {
        match cors {
            Cors::Any => Self::Any,
            Cors::None => Self::Unsaid,
            Cors::Origins(_) => Self::Listed,
        }
    }

    fn header(self) -> &'static [u8] {
        match self {
            Self::Unsaid => b"",
            Self::Any => b"access-control-allow-origin: *\r\n",
            Self::Listed => b"vary: Origin\r\n",
        }
    }
}

/// Writes an answer with a body of JSON.
pub(crate) fn ok(out: &mut Vec<u8>, body: &[u8], manner: Manner<'_>) {
    out.reserve(256 + body.len());
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n");
    finish(out, body, manner);
}

/// Writes a problem, with the headers that the router would give it.
pub(crate) fn problem(out: &mut Vec<u8>, problem: &Problem, manner: Manner<'_>) {
    let (status, headers) = (problem.code().status(), problem.headers());
    let reason = status.canonical_reason().unwrap_or("Problem");
    // Writing into a vector cannot fail.
    let _ = write!(out, "HTTP/1.1 {} {reason}\r\n", status.as_u16());
    let named = headers.iter().filter(|(name, _)| !manner.close || *name != "connection");
    for (name, value) in named {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    finish(out, &problem.body(), manner);
}

fn finish(out: &mut Vec<u8>, body: &[u8], manner: Manner<'_>) {
    out.extend_from_slice(manner.pages.header());
    if manner.close {
        out.extend_from_slice(b"connection: close\r\n");
    }
    out.extend_from_slice(b"x-request-id: ");
    out.extend_from_slice(manner.request_id);
    // Writing into a vector cannot fail.
    let _ = write!(out, "\r\ncontent-length: {}\r\ndate: ", body.len());
    out.extend_from_slice(&date());
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
}

/// The time as HTTP writes it, written once a second by each thread.
fn date() -> [u8; 29] {
    thread_local! {
        static WRITTEN: Cell<(u64, [u8; 29])> = const { Cell::new((0, [0; 29])) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    WRITTEN.with(|written| {
        let (of, text) = written.get();
        if of == second && second > 0 {
            return text;
        }
        let mut text = [b' '; 29];
        let _ = write!(&mut text[..], "{}", httpdate::HttpDate::from(now));
        written.set((second, text));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;

    #[test]
    fn an_answer_is_framed_and_names_its_request() {
        let manner = Manner { request_id: b"abc", pages: Pages::Any, close: false };
        let mut out = Vec::new();
        ok(&mut out, b"{}", manner);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"),
            "{text}"
        );
        assert!(text.contains("x-request-id: abc\r\ncontent-length: 2\r\ndate: "), "{text}");
        assert!(text.ends_with(" GMT\r\n\r\n{}") && !text.contains("connection"), "{text}");
        let mut out = Vec::new();
        let slow = Problem::new(Code::Timeout, "slow").closing();
        problem(&mut out, &slow, Manner { close: true, pages: Pages::Unsaid, ..manner });
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{text}");
        assert_eq!(text.matches("connection: close").count(), 1, "{text}");
    }
}
