//! The three threads that work in the background, and which job goes to which.
//!
//! The caller of a small file waits for its thread, so nothing long is ever in front of it. What is long but must not wait
//! either, a checkpoint or a large season, is apart from what may take as long as it likes: clearing away, and copies of everything. Each
//! thread takes its jobs in order.

use std::sync::mpsc::{self, Receiver, Sender};

use standings_engine::Result;
use tokio::sync::oneshot;

use crate::{
    operations::keeper::{CaughtUp, Job},
    write,
};

/// A standing of more rows than this is a long job: some tenths of a second.
const SHORT_ROWS: u64 = if cfg!(test) { 100 } else { 100_000 };

/// The ways to the threads.
#[derive(Clone)]
pub(crate) struct Jobs {
    short: Sender<Job>,
    long: Sender<Job>,
    clearing: Sender<Job>,
}

/// What the threads take their jobs from, each with the thread's name.
pub(crate) type Waiting = [(&'static str, Receiver<Job>); 3];

impl Jobs {
    pub(crate) fn new() -> (Self, Waiting) {
        let [(short, a), (long, b), (clearing, c)] = std::array::from_fn(|_| mpsc::channel());
        (Self { short, long, clearing }, [("keeper", a), ("keeper-large", b), ("clearing", c)])
    }

    /// Hands a job to its thread. That fails once the engine is stopping.
    pub(crate) fn send(&self, job: Job) -> Result<()> {
        let thread = match &job {
            Job::Freeze(freeze) => self.of(freeze.rows),
            Job::Import(import) => self.of(import.rows.len()),
            Job::Checkpoint(_) | Job::Stop => &self.long,
            Job::Retire(_) | Job::Purge | Job::Backup { .. } | Job::CatchUp(_) => &self.clearing,
        };
        thread.send(job).map_err(|_| write::stopped())
    }

    fn of(&self, rows: u64) -> &Sender<Job> {
        if rows > SHORT_ROWS { &self.long } else { &self.short }
    }

    /// Waits until all threads have done what they have.
    pub(crate) async fn caught_up(&self) -> Result<CaughtUp> {
        let threads = [&self.short, &self.long, &self.clearing].map(|thread| {
            let (reply, caught_up) = oneshot::channel();
            let _ = thread.send(Job::CatchUp(reply));
            caught_up
        });
        let mut all = CaughtUp { done: 0, refused: false };
        for thread in threads {
            let CaughtUp { done, refused } = thread.await.map_err(|_| write::stopped())?;
            all.done += done;
            all.refused |= refused;
        }
        Ok(all)
    }

    /// Ends all threads once they have done what they have.
    pub(crate) fn stop(&self) {
        for thread in [&self.short, &self.long, &self.clearing] {
            let _ = thread.send(Job::Stop);
        }
    }
}
