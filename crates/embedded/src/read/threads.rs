//! Which thread a read runs on.
//!
//! What is in memory is read where the request is served: that takes microseconds, and another thread would take longer to wake. What
//! may wait for the disk or take long goes to a thread that may block, and only so many at once: reads need no key, and those who
//! page through a million names must not hold up those who submit. This is the one place that decides which is which.

use std::{sync::Arc, time::Duration};

use standings_core::BoardId;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    Embedded, Shared, out_of_order,
    read::{
        board::{HasRows, unreadable},
        find::OpenStanding,
    },
    state::catalog::Rows,
};
use standings_engine::{EngineError, Result, StandingRef};

/// Rows, or players to find, that are few: their names are read at once even where they are not in memory. The rows around a player
/// and the first page are.
pub(crate) const FEW: usize = 10;
/// Reads of a lane that run on threads of their own at once. A disk has use for about twice so many, and the processor for fewer.
pub(crate) const RUNNING: usize = 8;
/// Reads that may wait for one of those. At a millisecond each the last of them waits for an eighth of a second.
const WAITING: usize = 1000;
/// How long one waits for its turn: reads of many files take long, and a client that has waited for this has given up or will.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// All of them.
pub(crate) const MOST: usize = RUNNING + WAITING;

/// Room for reads that may block.
#[derive(Default)]
pub(crate) struct Readers {
    /// Those of one standing: milliseconds.
    short: Lane,
    /// Those that go through all seasons, snapshots or events. They queue behind each other, and not before the others.
    long: Lane,
}

/// Reads of about the same length.
struct Lane {
    /// Those that run.
    running: Arc<Semaphore>,
    /// Those that run or wait.
    admitted: Arc<Semaphore>,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            running: Arc::new(Semaphore::new(RUNNING)),
            admitted: Arc::new(Semaphore::new(MOST)),
        }
    }
}

impl Lane {
    /// Room for one read, as soon as it is its turn.
    async fn turn(&self) -> Result<[OwnedSemaphorePermit; 2]> {
        let overloaded = || EngineError::Overloaded { retry_after: Duration::from_secs(1) };
        let admitted = Arc::clone(&self.admitted).try_acquire_owned();
        let admitted = admitted.map_err(|_| overloaded())?;
        let turn = timeout(PATIENCE, Arc::clone(&self.running).acquire_owned());
        let Ok(Ok(running)) = turn.await else { return Err(overloaded()) };
        Ok([admitted, running])
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
        self.read_soon(move |shared| {
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
        self.read_soon(move |shared| {
            let standing = shared.locate(&board, &which)?;
            let mut answer = read(&standing)?;
            shared.name(&standing, &mut answer, usize::MAX)?;
            Ok(answer)
        })
        .await
    }

    /// Reads what may have to come from disk, on a thread that may block.
    pub(crate) async fn read_soon<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read_in(&self.readers.short, read).await
    }

    /// The same where there may be much of it.
    pub(crate) async fn read_disk<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read_in(&self.readers.long, read).await
    }

    async fn read_in<T: Send + 'static>(
        &self,
        lane: &Lane,
        read: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let room = lane.turn().await?;
        let shared = Arc::clone(&self.shared);
        let read = tokio::task::spawn_blocking(move || {
            // Given back when the read has ended, even if its caller has gone by then.
            let _room = room;
            read(&shared)
        });
        read.await.unwrap_or_else(|_| Err(out_of_order("a read broke off")))
    }
}
