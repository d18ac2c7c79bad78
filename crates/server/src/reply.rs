//! Answers: what a handler gives, and the body in which it travels.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
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
    Full(Bytes),
    /// Piece by piece. It is idle, and its connection ends, where it gives nothing for as long as a connection may be idle.
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = BodyError> + Send>>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(mem::take(bytes))))),
            Self::Stream(body) => body.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
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
        let content = Content::Full(text.into());
        Self { status: StatusCode::OK, media: Some(media), extra: None, content }
    }

    /// Done, and nothing to say.
    pub(crate) fn nothing() -> Self {
        let content = Content::Full(Bytes::new());
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
    let mut body = Vec::with_capacity(bytes);
    serde_json::to_writer(&mut body, reply).map_err(|error| {
        Problem::new(Code::Internal, "the answer could not be written").caused_by(error)
    })?;
    Ok(Reply::text("application/json", body))
}

/// Writes what is new.
pub(crate) fn created(reply: &impl Serialize) -> Answer {
    json(reply).map(|reply| Reply { status: StatusCode::CREATED, ..reply })
}
