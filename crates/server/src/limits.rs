//! What one client, and all of them together, may take of the server.

use std::{num::NonZero, thread::available_parallelism, time::Duration};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::problem::{Code, Problem};

/// The largest body that is held in memory. Imports are streamed and have no limit.
pub(crate) const BODY_BYTES: usize = 4 * 1024 * 1024;

/// What a request's headers may have, all names and values together. Keys are short.
pub(crate) const HEADER_BYTES: usize = 16 * 1024;

/// What its address may have: a thousand ids of up to 60 bytes each. Four KiB more and hyper would not read it.
pub(crate) const ADDRESS_BYTES: usize = 60 * 1024;

/// The largest head that is read at all; what lies between this and the two limits above gets a problem document.
pub(crate) const HEAD_BYTES: usize = 128 * 1024;

/// The longest request id that is taken over.
pub(crate) const REQUEST_ID_BYTES: usize = 64;

/// What of an unread body is read for the sake of its connection, and how long it is waited for.
pub(crate) const UNREAD_BYTES: u64 = 64 * 1024;
pub(crate) const UNREAD_WAIT: Duration = Duration::from_millis(200);

/// Reads that may take long run a few at a time: they share the machine with submissions, which come first.
#[derive(Debug)]
pub(crate) struct LongReads {
    permits: Semaphore,
    patience: Duration,
}

/// How long a read waits for its turn.
const PATIENCE: Duration = Duration::from_secs(2);

impl Default for LongReads {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self { permits: Semaphore::new((cores / 2).max(1)), patience: PATIENCE }
    }
}

impl LongReads {
    /// Waits for a turn where a read takes one. It ends when what is returned is dropped.
    pub(crate) async fn turn_if(&self, long: bool) -> Result<Option<SemaphorePermit<'_>>, Problem> {
        if !long {
            return Ok(None);
        }
        // The semaphore is never closed.
        if let Ok(Ok(permit)) = timeout(self.patience, self.permits.acquire()).await {
            return Ok(Some(permit));
        }
        let detail =
            "too many long reads are under way; try again shortly, or ask for less at once";
        Err(Problem::new(Code::Overloaded, detail).retry_after(Duration::from_secs(1)))
    }
}

/// Rows, ids and names that are read at once; more of them take a turn.
pub(crate) const SHORT_ROWS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_read_waits_for_its_turn_and_not_forever() {
        let reads = LongReads { permits: Semaphore::new(1), patience: Duration::from_millis(20) };
        let first = reads.turn_if(true).await.unwrap();
        assert_eq!(reads.turn_if(true).await.unwrap_err().code(), Code::Overloaded);
        assert!(reads.turn_if(false).await.unwrap().is_none());
        let (second, ()) = tokio::join!(reads.turn_if(true), async { drop(first) });
        assert!(second.unwrap().is_some());
    }
}
