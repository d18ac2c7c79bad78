//! Answers: what a handler gives, and the body in which it travels.

use std::{
    cell::RefCell,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use hyper::{
    HeaderMap, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde::Serialize;

use crate::problem::{Code, Problem};

/// Why a body broke off.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer.
pub enum Content {
    /// All of it; empty once it was given out.
    Full(Piece),
    /// Bit by bit. Its connection ends where it gives nothing for as long as a connection may be idle.
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = BodyError> + Send>>),
}

/// A piece of a body.
#[derive(Debug)]
pub enum Piece {
    /// What is there anyway.
    Bytes(Bytes),
    /// What was written for this answer.
    Buffer(Buffer),
}

/// A buffer of this thread: once it was sent, another answer is written into it.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// So much of it was sent.
    sent: usize,
}

/// What a thread keeps: as many buffers as answers under way at a time need, and none of an answer that is unusually large.
const KEPT_BUFFERS: usize = 16;
const KEPT_BYTES: usize = 64 * 1024;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl Buffer {
    fn new(bytes: usize) -> Self {
        let mut kept = KEPT.with_borrow_mut(Vec::pop).unwrap_or_default();
        kept.reserve(bytes);
        Self { bytes: kept, sent: 0 }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut bytes = mem::take(&mut self.bytes);
        if !(1..=KEPT_BYTES).contains(&bytes.capacity()) {
            return;
        }
        bytes.clear();
        // A thread that is ending keeps nothing.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < KEPT_BUFFERS {
                kept.push(bytes);
            }
        });
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.chunk().len()
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Buffer(buffer) => &buffer.bytes[buffer.sent..],
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Bytes(bytes) => bytes.advance(count),
            Self::Buffer(buffer) => buffer.sent += count,
        }
    }
}

impl Body for Content {
    type Data = Piece;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, BodyError>>> {
        match self.get_mut() {
            Self::Full(piece) if !piece.has_remaining() => Poll::Ready(None),
            Self::Full(piece) => {
                let piece = mem::replace(piece, Piece::Bytes(Bytes::new()));
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Self::Stream(body) => {
                let frame = body.as_mut().poll_frame(context);
                frame.map_ok(|frame| frame.map_data(Piece::Bytes))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(piece) => !piece.has_remaining(),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(piece) => SizeHint::with_exact(piece.remaining() as u64),
            Self::Stream(body) => body.size_hint(),
        }
    }
}

/// What a handler gives.
pub(crate) type Answer = Result<Reply, Problem>;

/// An answer that is not a problem.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    /// What the body is, where there is one.
    media: Option<&'static str>,
    /// A header that only this answer has.
    extra: Option<(HeaderName, &'static str)>,
    pub(crate) content: Content,
}

impl Reply {
    /// A text of some type.
    pub(crate) fn text(media: &'static str, text: impl Into<Bytes>) -> Self {
        Self::of(media, Piece::Bytes(text.into()))
    }

    fn of(media: &'static str, piece: Piece) -> Self {
        let content = Content::Full(piece);
        Self { status: StatusCode::OK, media: Some(media), extra: None, content }
    }

    /// Done, and nothing to say.
    pub(crate) fn nothing() -> Self {
        let content = Content::Full(Piece::Bytes(Bytes::new()));
        Self { status: StatusCode::NO_CONTENT, media: None, extra: None, content }
    }

    /// The same with a further header.
    pub(crate) fn with(self, name: HeaderName, value: &'static str) -> Self {
        Self { extra: Some((name, value)), ..self }
    }

    /// Writes its headers.
    pub(crate) fn say(&self, headers: &mut HeaderMap) {
        if let Some(media) = self.media {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
        }
        if let Some((name, value)) = &self.extra {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// Writes a reply.
pub(crate) fn json(reply: &impl Serialize) -> Answer {
    json_sized(512, reply)
}

/// Writes a reply of about a known size.
pub(crate) fn json_sized(bytes: usize, reply: &impl Serialize) -> Answer {
    let mut buffer = Buffer::new(bytes);
    serde_json::to_writer(&mut buffer.bytes, reply).map_err(|error| {
        Problem::new(Code::Internal, "the answer could not be written").caused_by(error)
    })?;
    Ok(Reply::of("application/json", Piece::Buffer(buffer)))
}

/// Writes what is taken and not there yet.
pub(crate) fn accepted(reply: &impl Serialize) -> Answer {
    json(reply).map(|reply| Reply { status: StatusCode::ACCEPTED, ..reply })
}

/// Writes what is new.
pub(crate) fn created(reply: &impl Serialize) -> Answer {
    json(reply).map(|reply| Reply { status: StatusCode::CREATED, ..reply })
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn sent(content: Content) -> Bytes {
        content.collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn a_buffer_is_used_again_and_shows_nothing_of_before() {
        let first = json(&"something long").unwrap().content;
        assert_eq!(first.size_hint().exact(), Some(16));
        assert_eq!(sent(first).await, "\"something long\"");
        let kept = || KEPT.with_borrow(Vec::len);
        assert_eq!(kept(), 1);
        let second = json(&1).unwrap().content;
        assert_eq!(kept(), 0);
        assert_eq!(sent(second).await, "1");
        drop(json_sized(2 * KEPT_BYTES, &"large").unwrap());
        assert_eq!(kept(), 0, "what is large is not kept");
        drop((0..2 * KEPT_BUFFERS).map(|number| json(&number)).collect::<Vec<_>>());
        assert_eq!(kept(), KEPT_BUFFERS);
    }

    #[tokio::test]
    async fn a_stream_is_sent_bit_by_bit() {
        let body = http_body_util::Full::new(Bytes::from_static(b"bit")).map_err(Into::into);
        let mut content = Content::Stream(Box::pin(body));
        let frame = content.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap().chunk(), b"bit");
        assert!(content.frame().await.is_none());
    }
}
