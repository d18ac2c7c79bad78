//! Futures of standings that answer at once, and of those that are asked together.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

/// The outcome of a derivation on a standing that answers at once, in memory or from a file.
pub fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a near standing answers at once"),
    }
}

/// Waits for two answers at once: far away they go in one trip.
pub(super) async fn both<A, B, E>(
    a: impl Future<Output = Result<A, E>>,
    b: impl Future<Output = Result<B, E>>,
) -> Result<(A, B), E> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(move |context| {
        if first.is_none()
            && let Poll::Ready(answer) = a.as_mut().poll(context)
        {
            first = Some(answer?);
        }
        if second.is_none()
            && let Poll::Ready(answer) = b.as_mut().poll(context)
        {
            second = Some(answer?);
        }
        match (first.take(), second.take()) {
            (Some(a), Some(b)) => Poll::Ready(Ok((a, b))),
            (a, b) => {
                (first, second) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}
