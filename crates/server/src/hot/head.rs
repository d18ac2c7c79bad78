//! Which requests are answered without the router: few kinds, in their plainest form.
//!
//! Whatever is unusual about a request (an escape in its address, a header that changes how it is framed, a page's
//! `Origin`) makes it one for hyper and the router, which know all of HTTP. So nothing here has to be lenient.

use httparse::{EMPTY_HEADER, Request, Status};

/// Headers of a request that is answered here.
const HEADERS: usize = 24;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What<'a> {
    /// `GET …/scores`
    Page,
    /// `GET …/scores/{user_id}`
    Entry(&'a str),
    /// `POST …/scores`
    Submit,
}

/// The head of a request that is answered here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) what: What<'a>,
    pub(crate) path: &'a str,
    /// None for the default board.
    pub(crate) board: Option<&'a str>,
    pub(crate) query: Option<&'a str>,
    pub(crate) authorization: Option<&'a [u8]>,
    pub(crate) content_type: Option<&'a [u8]>,
    pub(crate) request_id: Option<&'a [u8]>,
    /// Bytes of the head and of the body after it.
    pub(crate) bytes: usize,
    pub(crate) body_bytes: usize,
}

impl<'a> Head<'a> {
    /// Reads a head that is complete, and of a kind that is answered here.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut headers = [EMPTY_HEADER; HEADERS];
        let mut request = Request::new(&mut headers);
        let Ok(Status::Complete(length)) = request.parse(bytes) else { return None };
        if request.version != Some(1) {
            return None;
        }
        let target = request.path?;
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~:@=&".contains(&b);
        if !target.bytes().filter(|b| *b != b'?').all(plain)
            || query.is_some_and(|q| q.contains('?'))
        {
            return None;
        }
        let (board, player) = split(path)?;
        let what = match (request.method?, player) {
            ("GET", None) => What::Page,
            ("GET", Some(player)) => What::Entry(player),
            ("POST", None) => What::Submit,
            _ => return None,
        };
        let mut head = Self {
            what,
            path,
            board,
            query,
            authorization: None,
            content_type: None,
            request_id: None,
            bytes: length,
            body_bytes: 0,
        };
        let mut framed = false;
        for header in request.headers.iter() {
            head.note(header.name, header.value, &mut framed)?;
        }
        // A submission has a length, and nothing else has a body.
        ((what == What::Submit) == (head.body_bytes > 0)).then_some(head)
    }

    /// Takes what matters from a header; none where the request is not for here.
    fn note(&mut self, name: &str, value: &'a [u8], framed: &mut bool) -> Option<()> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.len() {
            6 if is("expect") || is("origin") => return None,
            7 if is("upgrade") => return None,
            10 if is("connection") && !value.eq_ignore_ascii_case(b"keep-alive") => return None,
            12 if is("content-type") => {
                self.content_type.get_or_insert(value);
            }
            12 if is("x-request-id") => {
                self.request_id.get_or_insert(value);
            }
            13 if is("authorization") => {
                self.authorization.get_or_insert(value);
            }
            14 if is("content-length") => {
                if std::mem::replace(framed, true) || value.len() > 6 {
                    return None;
                }
                self.body_bytes = digits(value)?;
            }
            17 if is("transfer-encoding") => return None,
            _ => {}
        }
        Some(())
    }
}

fn digits(text: &[u8]) -> Option<usize> {
    let digit = |sum: usize, b: &u8| b.is_ascii_digit().then(|| sum * 10 + usize::from(b - b'0'));
    if text.is_empty() { None } else { text.iter().try_fold(0, digit) }
}

/// Board and player of an address of scores.
fn split(path: &str) -> Option<(Option<&str>, Option<&str>)> {
    let rest = path.strip_prefix("/v1/")?;
    let (board, rest) = match rest.strip_prefix("boards/") {
        Some(rest) => {
            let (board, rest) = rest.split_once('/')?;
            (Some(board), rest)
        }
        None => (None, rest),
    };
    let player = match rest.strip_prefix("scores")? {
        "" => None,
        rest => Some(rest.strip_prefix('/')?),
    };
    let one = |part: &str| !part.is_empty() && !part.contains('/');
    (board.is_none_or(one) && player.is_none_or(one)).then_some((board, player))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_requests_for_scores_are_answered_here() {
        let page = Head::read(b"GET /v1/scores?limit=5 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!((page.what, page.board, page.query), (What::Page, None, Some("limit=5")));
        let entry = b"GET /v1/boards/b/scores/a1 HTTP/1.1\r\nHost: x\r\nx-request-id: 7\r\n\r\nGET";
        let entry = Head::read(entry).unwrap();
        assert_eq!((entry.what, entry.board), (What::Entry("a1"), Some("b")));
        assert_eq!((entry.request_id, entry.body_bytes), (Some(&b"7"[..]), 0));
        let post = b"POST /v1/scores HTTP/1.1\r\nAuthorization: Bearer k\r\ncontent-length: 12\r\nConnection: Keep-Alive\r\n\r\n{";
        let length = post.len() - 1;
        let post = Head::read(post).unwrap();
        assert_eq!((post.what, post.body_bytes), (What::Submit, 12));
        assert_eq!(post.authorization, Some(&b"Bearer k"[..]));
        assert_eq!(post.bytes, length, "without what follows it");
    }

    #[test]
    fn anything_else_is_left_to_the_router() {
        for (line, headers) in [
            ("GET /healthz", ""),
            ("GET /v1/scores/", ""),
            ("GET /v1/scores/at/5", ""),
            ("GET /v1/scores/a%20b", ""),
            ("GET /v1/scores?a=+", ""),
            ("GET /v1/boards//scores", ""),
            ("HEAD /v1/scores", ""),
            ("PUT /v1/boards/b/scores", "Content-Length: 5\r\n"),
            ("POST /v1/boards/b/scores/batch", "Content-Length: 5\r\n"),
            ("POST /v1/scores", ""),
            ("POST /v1/scores", "Transfer-Encoding: chunked\r\n"),
            ("POST /v1/scores", "Content-Length: 5\r\nContent-Length: 5\r\n"),
            ("POST /v1/scores", "Content-Length: +5\r\n"),
            ("POST /v1/scores", "Content-Length: 5\r\nExpect: 100-continue\r\n"),
            ("GET /v1/scores", "Connection: close\r\n"),
            ("GET /v1/scores", "Origin: http://x\r\n"),
            ("GET /v1/scores", "Content-Length: 5\r\n"),
        ] {
            let text = format!("{line} HTTP/1.1\r\n{headers}\r\n");
            assert_eq!(Head::read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Head::read(b"GET /v1/scores HTTP/1.0\r\n\r\n"), None);
        assert_eq!(Head::read(b"GET /v1/scores HTTP/1.1\r\nHost"), None);
    }
}
