//! The embedded engine: one process, one data directory, nothing else to run.
//!
//! The log comes first ([`log`]); everything else is a view of it with a position: the standings in memory with their checkpoint, and the
//! history in fjall. What may be called from where is said at the top of each folder: `write` is the one thread that changes anything,
//! `state` what is in memory, `read` the questions, `operations` what takes long on threads of its own, `files`, `log` and `history` the
//! bytes, `recovery` what reads a directory that no server runs on.
//!
//! ```text
//! data directory
//!   lock          held by the server that runs on it
//!   log/          segments of the log
//!   checkpoint/   the newest checkpoint
//!   frozen/       closed seasons and snapshots
//!   history/      fjall
//! ```

mod engine;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod history;
pub mod log;
mod metrics;
mod operations;
mod read;
mod record;
mod recovery;
mod state;
#[cfg(test)]
mod tests;
mod write;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use standings_core::{Millis, limits::EVENT_ID_WINDOW};

use files::archive::FrozenFiles;
pub use files::disk;
use files::disk::Disk;
#[cfg(any(test, feature = "sim"))]
pub use files::sim_disk;
use history::History;
use log::LogOptions;
use metrics::Metrics;
use operations::jobs::Jobs;
use read::threads::Readers;
use record::{BoardNo, ErasureNo, FrozenFile, LogRecord};
pub use recovery::check::{CheckReport, OfflineError, check};
pub use recovery::open::OpenError;
pub use recovery::rebuild::{RebuildReport, rebuild};
use state::catalog::Catalog;
pub use write::mailbox::open_mailbox;
use write::{Command, Queue};

use standings_engine::{Clock, EngineError, Result};

/// Submissions that may wait for the sequencer. At 100,000 a second this is a second's worth.
const QUEUE_SUBMISSIONS: usize = 100_000;

/// When a receipt is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once the score has been flushed to disk. Neither a killed process nor a power cut takes back an acknowledged score.
    Always,
    /// Once the score has been written, to be flushed after at most this time. A killed process takes back nothing: the
    /// operating system has the bytes. A power cut or a crash of the machine takes back the acknowledged scores of up to
    /// this time, the latest ones, never some out of the middle.
    Interval(Duration),
}

/// How an engine is opened.
#[derive(Clone)]
pub struct Options {
    /// The data directory.
    pub dir: PathBuf,
    /// When a receipt is given.
    pub durability: Durability,
    /// How long an event id is remembered.
    pub event_id_window: Millis,
    /// How much the log may grow before the next checkpoint. More means fewer checkpoints and a longer restart.
    pub checkpoint_bytes: u64,
    /// How large a segment of the log becomes. Smaller ones give back space sooner.
    pub segment_bytes: u64,
    /// Records that may wait for the history. Beyond it memory would grow without bound, so writers are refused; from a
    /// fifth of it on imports wait, so that live submissions are not the ones refused.
    pub lag_records: usize,
    /// How often what is past its time is cleared away for good: event ids, events of dropped seasons, erased players.
    pub purge_every: Duration,
    /// Players that a season may have at most. Whoever makes up ids would otherwise fill the memory.
    pub max_players: u64,
    /// Where log, checkpoints and frozen standings are; the data directory, unless a test says otherwise.
    pub disk: Option<Arc<dyn Disk>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dir: "standings-data".into(),
            durability: Durability::Always,
            event_id_window: EVENT_ID_WINDOW,
            checkpoint_bytes: 256 << 20,
            segment_bytes: LogOptions::default().segment_bytes,
            lag_records: 1_000_000,
            purge_every: Duration::from_secs(3600),
            max_players: u64::MAX,
            disk: None,
        }
    }
}

/// What the threads of an engine share.
pub(crate) struct Shared {
    options: Options,
    clock: Arc<dyn Clock>,
    disk: Arc<dyn Disk>,
    catalog: RwLock<Catalog>,
    history: History,
    frozen: FrozenFiles,
    queue: Queue,
    metrics: Metrics,
    /// Why nothing can be written any more, once that is so.
    broken: Mutex<Option<String>>,
    /// Backups under way: while there are any, the log keeps its segments, and no frozen file goes.
    backups: AtomicUsize,
    /// Since which erasure each import that is under way has gathered rows.
    importing: Mutex<Vec<ErasureNo>>,
    /// Files that nothing names any more and that are yet to be removed.
    unremoved: Mutex<Vec<FrozenFile>>,
    stopping: AtomicBool,
    /// Held until the last thread has ended: another server on the same directory would ruin both.
    _lock: std::fs::File,
}

impl Shared {
    /// Applies durable records to what is in memory, all at once: no reader sees a board that has no season yet.
    fn apply<'a>(&self, records: impl IntoIterator<Item = &'a LogRecord>) {
        let mut catalog = self.catalog.write();
        for record in records {
            catalog.apply(record);
        }
    }

    /// Notes that scores are set on a board.
    fn note_import(&self, board: BoardNo) {
        let noted = self.catalog.read().board_no(board).is_none_or(|board| board.imported);
        if !noted {
            self.catalog.write().note_import(board);
        }
    }

    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Removes a frozen file that no record names any more. One that stays is tried again, and removed at the next start.
    fn discard(&self, file: &FrozenFile) {
        // A backup may be about to copy it.
        let backup = self.backups.load(Ordering::Acquire) > 0;
        let removed = if backup { Ok(()) } else { self.frozen.remove(file) };
        if let Err(error) = &removed {
            tracing::warn!(%error, file = file.name, "a frozen standing cannot be removed yet");
        }
        if backup || removed.is_err() {
            self.unremoved.lock().push(file.clone());
        }
    }

    /// Removes what could not be removed when it came about.
    fn discard_again(&self) {
        let files = std::mem::take(&mut *self.unremoved.lock());
        for file in &files {
            self.discard(file);
        }
    }
}

/// A store that is out of order, with nothing applied.
fn out_of_order(why: &str) -> EngineError {
    EngineError::Unavailable { why: why.to_owned(), retry_after: Duration::from_secs(5) }
}

/// The embedded engine.
pub struct Embedded {
    shared: Arc<Shared>,
    jobs: Jobs,
    threads: Mutex<Option<Threads>>,
    readers: Readers,
}

struct Threads {
    sequencer: JoinHandle<()>,
    historian: JoinHandle<()>,
    background: Vec<JoinHandle<()>>,
}

impl Embedded {
    /// Opens a data directory, creating it if there is none, and recovers what it holds. When this returns, ranks are
    /// right.
    pub fn open(options: Options, clock: Arc<dyn Clock>) -> Result<Arc<Self>, OpenError> {
        recovery::open::open(options, clock)
    }

    fn refuse_if_overloaded(&self, submissions: usize) -> Result<()> {
        let Shared { queue, history, options, .. } = &*self.shared;
        let behind = history.lag() > options.lag_records;
        if behind {
            history.hurry();
        }
        if behind || queue.waiting() + submissions > QUEUE_SUBMISSIONS {
            return Err(EngineError::Overloaded { retry_after: Duration::from_secs(1) });
        }
        Ok(())
    }
}

impl Drop for Embedded {
    /// An engine that is dropped without a [`shutdown`](standings_engine::Engine::shutdown) stops on its own time.
    fn drop(&mut self) {
        if self.threads.lock().take().is_some() {
            self.shared.stopping.store(true, Ordering::Release);
            let _ = self.shared.queue.send(Command::Stop);
            self.jobs.stop();
            self.shared.history.close();
        }
    }
}
