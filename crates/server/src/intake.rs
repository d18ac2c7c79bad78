//! A request's body on its way to a handler that may not want it.
//!
//! An answer can be ready before the body has arrived: a missing key, an unknown address. hyper then closes the connection
//! without announcing it, and a client that keeps connections open runs into the closed one with its next request. So what
//! a handler leaves unread comes back here: the rest of a short body is read and thrown away, and of a long one the answer
//! announces that the connection ends.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use parking_lot::Mutex;

/// How much is read, and how long is waited, for the sake of a connection.
const SHORT_BYTES: u64 = 64 * 1024;
const SHORT_WAIT: Duration = Duration::from_millis(200);

/// Where a body that was not read to its end comes back to.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<Mutex<Option<Incoming>>>);

/// The body as a handler sees it, and where it comes back to.
pub(crate) fn intake(body: Incoming) -> (Body, Option<Unread>) {
    if body.is_end_stream() {
        return (Body::empty(), None);
    }
    let unread = Unread::default();
    (Body::new(Intake { body: Some(body), back: unread.clone() }), Some(unread))
}

impl Unread {
    /// Reads the rest of the body, if there is any and it is short. Whether the connection can be used again.
    pub(crate) async fn finish(self) -> bool {
        let Some(mut body) = self.0.lock().take() else { return true };
        if body.size_hint().lower() > SHORT_BYTES {
            return false;
        }
        let rest = async {
            let mut bytes = 0;
            while let Some(Ok(frame)) = body.frame().await {
                bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                if bytes > SHORT_BYTES {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(SHORT_WAIT, rest).await.unwrap_or(false)
    }
}

struct Intake {
    body: Option<Incoming>,
    back: Unread,
}

impl hyper::body::Body for Intake {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = frame {
            self.body = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.back.0.lock() = Some(body);
        }
    }
}
