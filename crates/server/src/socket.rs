//! A connection's stream that ends politely and does not wait forever for a reader that does not read.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use crate::listen::Idle;

/// How long, and for how many bytes, what a client still sends is read after the last answer.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// A stream with two manners that TCP lacks:
/// - Closing while the client still sends would make the kernel reset the connection, and the client may lose the answer
///   that tells it to stop (413). So the end is announced first, and what arrives is thrown away for a moment.
/// - A write that makes no progress for a time fails.
pub(crate) struct Socket<'a, S> {
    stream: S,
    /// Begins anew with what is written.
    idle: &'a Idle,
    stall: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// Runs from the end of the last answer on, with the bytes that may still be thrown away.
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<'a, S> Socket<'a, S> {
    pub(crate) fn new(stream: S, stall: Duration, idle: &'a Idle) -> Self {
        Self { stream, idle, stall, waiting: None, lingering: None }
    }

    fn progress<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.waiting = None;
            return poll;
        }
        let stall = self.stall;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<'_, S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        if poll.is_ready() {
            self.idle.written();
        }
        self.progress(context, poll)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(context);
        self.progress(context, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            let poll = Pin::new(&mut this.stream).poll_shutdown(context);
            ready!(this.progress(context, poll))?;
        }
        let (deadline, left) =
            this.lingering.get_or_insert_with(|| (Box::pin(sleep(LINGER)), LINGER_BYTES));
        let mut scratch = [0; 8 * 1024];
        while *left > 0 && deadline.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    *left = left.saturating_sub(buffer.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
