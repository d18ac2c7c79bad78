//! Requests that hyper refuses before any handler sees them.
//!
//! hyper answers what it cannot read by itself, with a status and no body, and offers no hook for it. Reading every head
//! first would mean to parse HTTP twice and to know all that hyper refuses. But its answers are easily told from ours, which
//! all name their request; and such an answer is the last thing that it writes. So it is replaced on its way out.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{
    app::App,
    edge::{Asked, head_limits, log, new_request_id},
    hot::reply::{self, Manner, Pages},
    problem::{Code, Problem},
};

/// More than an answer of hyper's own ever has.
const OWN_BYTES: usize = 256;

/// A stream on which hyper's own refusals become problem documents.
pub(crate) struct Refusals<'a, S> {
    app: &'a App,
    stream: S,
    /// The last that is written, with the problem at its end; `sent` bytes of it are.
    last: Vec<u8>,
    sent: usize,
}

impl<'a, S: AsyncWrite + Unpin> Refusals<'a, S> {
    pub(crate) fn new(app: &'a App, stream: S) -> Self {
        Self { app, stream, last: Vec::new(), sent: 0 }
    }

    /// Takes what hyper writes if it ends with a refusal, and says how many bytes that were.
    fn take(&mut self, slices: &[IoSlice<'_>]) -> Option<usize> {
        let (end, before) = slices.split_last()?;
        let (start, problem) = refusal(end)?;
        for slice in before {
            self.last.extend_from_slice(slice);
        }
        self.last.extend_from_slice(&end[..start]);
        let request_id = &new_request_id();
        let asked = Asked { id: request_id, method: "", path: "" };
        log(self.app, &asked, problem.code().status(), Some(&problem), Instant::now());
        let manner = Manner { request_id, pages: Pages::Unsaid, close: true };
        reply::problem(&mut self.last, &problem, manner);
        Some(before.iter().map(|slice| slice.len()).sum::<usize>() + end.len())
    }

    fn poll_last(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.last.len() {
            let left = &self.last[self.sent..];
            match ready!(Pin::new(&mut self.stream).poll_write(context, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.sent += sent,
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Where hyper's own refusal begins, if one is the end of what was written, and what is said instead.
fn refusal(written: &[u8]) -> Option<(usize, Problem)> {
    if !written.ends_with(b"\r\n\r\n") {
        return None;
    }
    let from = written.len().saturating_sub(OWN_BYTES);
    let start = from + written[from..].windows(7).rposition(|bytes| bytes == b"HTTP/1.")?;
    let head = &written[start..];
    let says = |line: &[u8]| head.windows(line.len()).any(|bytes| bytes == line);
    // The length too: a text in the body of an answer may look like a status, but has no line ends as a head has.
    if says(b"\r\nx-request-id: ") || !says(b"\r\ncontent-length: 0\r\n") {
        return None;
    }
    let problem = match head.get(9..12)? {
        b"400" => Problem::malformed(
            "this is not HTTP/1.1: look for a space or another character in the address that has to be %-escaped, a control \
             character in a header, or a Content-Length that is not one whole number",
        ),
        b"414" | b"431" => Problem::new(Code::HeadersTooLarge, head_limits()),
        // Not a refusal, such as 100 Continue.
        _ => return None,
    };
    Some((start, problem.closing()))
}

impl<S: AsyncRead + Unpin> AsyncRead for Refusals<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Refusals<'_, S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_last(context))?;
        match self.take(slices) {
            Some(bytes) => Poll::Ready(Ok(bytes)),
            None => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_last(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_last(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_names_no_request_is_replaced() {
        let own = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(refusal(own).unwrap().0, 0);
        let behind = [b"[1]".as_slice(), own].concat();
        let (start, problem) = refusal(&behind).unwrap();
        assert_eq!((start, problem.code()), (3, Code::Malformed));
        for other in [
            "HTTP/1.1 400 Bad Request\r\nx-request-id: 1\r\ncontent-length: 99\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "{\"user_name\":\"HTTP/1.1 400 \"}\r\n0\r\n\r\n",
            "0\r\n\r\n",
            "\r\n\r\n",
            "",
        ] {
            assert!(refusal(other.as_bytes()).is_none(), "{other}");
        }
    }
}
