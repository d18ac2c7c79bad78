//! Which thread a read runs on.
//!
//! What is in memory is read where the request is served: that takes microseconds, and another thread would take longer to wake. What
//! may wait for the disk or take long goes to a thread that may block, and only so many at once: reads need no key, and those who
//! page through a million names must not hold up those who submit. This is the one place that decides which is which.

use std::{sync::Arc, time::Duration};

use standings_core::BoardId;
use tokio::sync::Semaphore;

use super::{
    Embedded, Shared,
    catalog::Rows,
    found::OpenStanding,
    out_of_order,
    reads::{HasRows, unreadable},
};
use standings_engine::{EngineError, Result, StandingRef};

/// Rows, or players to find, that are few: their names are read at once even where they are not in memory. The rows around a player
/// and the first page are.
pub(crate) const FEW: usize = 10;
/// Reads that run on threads of their own at once. A disk has use for about so many, and the processor for fewer.
const RUNNING: usize = 16;
/// Reads that may wait for one of those. At a millisecond each the last of them waits for a sixteenth of a second.
const WAITING: usize = 1000;
/// All of them.
pub(crate) const MOST: usize = RUNNING + WAITING;

/// Room for reads that may block.
pub(crate) struct Readers {
    /// Those that run.
    running: Arc<Semaphore>,
    /// Those that run or wait.
    admitted: Arc<Semaphore>,
}

impl Default for Readers {
    fn default() -> Self {
        Self {
            running: Arc::new(Semaphore::new(RUNNING)),
            admitted: Arc::new(Semaphore::new(MOST)),
        }
    }
}

impl Embedded {
    /// Reads rows of a standing and names them: at once where all of it is in memory, but for a few names.
    pub(crate) async fn read<T: HasRows>(
        &self,
        board: &BoardId,
        which: &StandingRef,
        read: impl FnOnce(&OpenStanding) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let found = self.shared.find(board, which)?;
        if matches!(found.rows, Rows::Frozen(_)) {
            return self.read_slowly(board, which, read).await;
        }
        let standing = self.shared.open(found).map_err(|error| unreadable(&error))?;
        let mut answer = read(&standing)?;
        if self.shared.name(&standing, &mut answer, FEW)? {
            return Ok(answer);
        }
        self.read_disk(move |shared| {
            shared.name(&standing, &mut answer, usize::MAX)?;
            Ok(answer)
        })
        .await
    }

    /// The same where it takes long, wherever it is.
    pub(crate) async fn read_slowly<T: HasRows>(
        &self,
        board: &BoardId,
        which: &StandingRef,
        read: impl FnOnce(&OpenStanding) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (board, which) = (board.clone(), which.clone());
        self.read_disk(move |shared| {
            let standing = shared.locate(&board, &which)?;
            let mut answer = read(&standing)?;
            shared.name(&standing, &mut answer, usize::MAX)?;
            Ok(answer)
        })
        .await
    }

    /// Reads what may have to come from disk or take long, on a thread that may block.
    pub(crate) async fn read_disk<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let admitted = Arc::clone(&self.readers.admitted).try_acquire_owned();
        let retry_after = Duration::from_secs(1);
        let admitted = admitted.map_err(|_| EngineError::Overloaded { retry_after })?;
        let running = Arc::clone(&self.readers.running).acquire_owned().await;
        let shared = Arc::clone(&self.shared);
        let read = tokio::task::spawn_blocking(move || {
            // Given back when the read has ended, even if its caller has gone by then.
            let _room = (admitted, running);
            read(&shared)
        });
        read.await.unwrap_or_else(|_| Err(out_of_order("a read broke off")))
    }
}
