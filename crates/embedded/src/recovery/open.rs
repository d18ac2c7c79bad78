//! Opening a data directory: what a crash at any moment leaves is brought back to what was acknowledged.
//!
//! 1. The lock, so that no other server is on it.
//! 2. The newest checkpoint: catalog and standings at its position.
//! 3. The history, at its own position.
//! 4. The log, its torn end cut off; it must reach at least as far as both positions.
//! 5. From the lower of the two positions on, every record goes to whichever view lacks it.
//! 6. Files that nothing names any more are removed.
//! 7. What was found is made durable: a run that was killed may not have come to it.
//!
//! Seasons that ended meanwhile are closed by the sequencer before it takes anything.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
    sync::{Arc, mpsc},
    time::Instant,
};

use parking_lot::{Mutex, RwLock};

use crate::{
    Embedded, Options, Shared, Threads,
    files::{
        archive,
        archive::FrozenFiles,
        disk::{Disk, RealDisk},
        writing as files,
    },
    history::{Group, History, HistoryError},
    log::{Log, LogError, LogOptions, Opened},
    metrics::Metrics,
    operations::{checkpoint, jobs::Jobs, keeper},
    record,
    state::catalog::{BoardState, Catalog},
    write::{Queue, Sequencer},
};
use standings_engine::Clock;

/// The number of the very first record.
pub(crate) const FIRST_SEQ: u64 = 1;
/// The name of the lock file.
const LOCK: &str = "lock";

/// Why a data directory cannot be used. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error(
        "the data directory {0} is in use by another server; stop that one, or give this one a directory of its own \
         with --data"
    )]
    Locked(String),
    /// Something else is there.
    #[error(
        "{0} is not empty and not a data directory of this server; name another one with --data, or empty it"
    )]
    NotData(String),
    /// The log is damaged.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The checkpoint is damaged. It holds nothing that the ledger does not.
    #[error("{0}. Run `standings rebuild` to compute the standings anew from the ledger")]
    Checkpoint(io::Error),
    /// The history is damaged.
    #[error("{0}. Restore from a backup, or run `standings check` to see what is damaged")]
    History(String),
    /// A record cannot be read although its frame is whole.
    #[error(
        "record {seq} of the log cannot be decoded: {why}. It was written by another version of this program; use that one"
    )]
    Record {
        /// Its number.
        seq: u64,
        /// What is wrong.
        why: String,
    },
    /// The operating system said no.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl From<HistoryError> for OpenError {
    fn from(error: HistoryError) -> Self {
        Self::History(error.to_string())
    }
}

/// A data directory that was recovered, with nothing running on it yet.
pub(crate) struct Recovered {
    pub(crate) lock: File,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) catalog: Catalog,
    pub(crate) history: History,
    pub(crate) log: Log,
    /// The position of the checkpoint that was read.
    pub(crate) checkpoint: u64,
    pub(crate) replayed_bytes: u64,
    pub(crate) repaired: bool,
}

pub(crate) fn lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.display().to_string();
    let io = |source| OpenError::Io { path: path.clone(), source };
    std::fs::create_dir_all(dir).map_err(io)?;
    // A mistyped directory must not become a new, empty server.
    let mut names =
        std::fs::read_dir(dir).map_err(io)?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let ours = dir.join(LOCK).exists() || dir.join(crate::log::DIR).is_dir();
    if !ours && names.any(|name| name != "lost+found") {
        return Err(OpenError::NotData(path));
    }
    take_lock(OpenOptions::new().create(true).append(true).open(dir.join(LOCK)), path)
}

/// Locks a directory without changing it. A backup that no server has run on has no lock, and gets none.
pub(crate) fn lock_existing(dir: &Path) -> Result<Option<File>, OpenError> {
    match File::open(dir.join(LOCK)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        file => take_lock(file, dir.display().to_string()).map(Some),
    }
}

fn take_lock(file: std::io::Result<File>, path: String) -> Result<File, OpenError> {
    let locked = file.map_err(TryLockError::Error).and_then(|file| file.try_lock().map(|()| file));
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::Locked(path),
        TryLockError::Error(source) => OpenError::Io { path, source },
    })
}

/// Brings a data directory back to what was acknowledged.
pub(crate) fn recover(options: &Options) -> Result<Recovered, OpenError> {
    let dir = options.dir.display().to_string();
    let io = |source| OpenError::Io { path: dir.clone(), source };
    let lock = lock(&options.dir)?;
    let disk = match &options.disk {
        Some(disk) => Arc::clone(disk),
        None => Arc::new(RealDisk::new(&options.dir).map_err(io)?),
    };
    Log::check_version(disk.as_ref())?;
    let started = Instant::now();
    disk.create_dir(checkpoint::DIR).map_err(io)?;
    files::remove_temporary(disk.as_ref(), checkpoint::DIR).map_err(io)?;
    let loaded = checkpoint::load(disk.as_ref()).map_err(OpenError::Checkpoint)?;
    let (checkpoint, catalog) = match loaded {
        Some(loaded) => (loaded.position, loaded.catalog),
        None => (FIRST_SEQ, Catalog::default()),
    };
    let seconds = started.elapsed().as_secs_f64();
    tracing::info!(position = checkpoint, seconds, "checkpoint loaded");
    let history = History::open(&options.dir.join("history"), options.event_id_window)?;
    let must_reach = checkpoint.max(history.position());
    let log_options = LogOptions {
        start_seq: FIRST_SEQ,
        must_reach,
        segment_bytes: options.segment_bytes,
        ..LogOptions::default()
    };
    let Opened { log, repaired, .. } = Log::open(Arc::clone(&disk), log_options)?;
    if let Some(repair) = &repaired {
        let (file, offset, bytes) = (&repair.file, repair.offset, repair.dropped_bytes);
        tracing::warn!(
            file,
            offset,
            bytes,
            "an unfinished write at the end of the log was cut off"
        );
    }
    let repaired = repaired.is_some();
    let mut recovered =
        Recovered { lock, disk, catalog, history, log, checkpoint, replayed_bytes: 0, repaired };
    let started = Instant::now();
    recovered.replay()?;
    let seconds = started.elapsed().as_secs_f64();
    let (next, bytes) = (recovered.log.next_seq(), recovered.replayed_bytes);
    tracing::info!(next, bytes, seconds, "log replayed");
    recovered.remove_orphans().map_err(io)?;
    // A run that was killed may have named a checkpoint, or made a directory, and left it to a power cut. The log drops
    // what the checkpoint has from here on, so both must be durable first.
    for dir in [checkpoint::DIR, ""] {
        recovered.disk.sync_dir(dir).map_err(io)?;
    }
    Ok(recovered)
}

impl Recovered {
    fn replay(&mut self) -> Result<(), OpenError> {
        let applied = self.history.position();
        let from = self.checkpoint.min(applied).max(FIRST_SEQ);
        let first = self.log.first_seq();
        if self.checkpoint < first {
            let why = format!("there is no checkpoint, and the log begins with record {first}");
            return Err(OpenError::Checkpoint(io::Error::new(io::ErrorKind::NotFound, why)));
        }
        let mut reader = self.log.read_from(from)?;
        while let Some(frame) = reader.next_frame()? {
            let records = record::decode(&frame).map_err(|error| OpenError::Record {
                seq: frame.first_seq,
                why: error.to_string(),
            })?;
            let first_seq = frame.first_seq;
            for (record, seq) in records.iter().zip(first_seq..) {
                if seq >= self.checkpoint {
                    self.catalog.apply(record);
                }
            }
            if first_seq >= self.checkpoint {
                self.replayed_bytes += frame.payload.len() as u64;
            }
            // Positions are ends of groups, and a group is a frame.
            if first_seq >= applied {
                self.history.push(Group::new(first_seq, records));
            }
        }
        self.history.release(self.log.next_seq());
        Ok(())
    }

    /// Removes frozen files that a crash left without a record, or with a record that took them out of use.
    fn remove_orphans(&self) -> io::Result<()> {
        self.disk.create_dir(archive::DIR)?;
        files::remove_temporary(self.disk.as_ref(), archive::DIR)?;
        let files = self.catalog.boards().flat_map(BoardState::files);
        let named: HashSet<&str> = files.map(|file| file.name.as_str()).collect();
        for file in self.disk.list(archive::DIR)? {
            if !named.contains(file.name.as_str()) {
                tracing::info!(file = file.name, "removing a frozen standing that is not in use");
                self.disk.remove(&format!("{}/{}", archive::DIR, file.name))?;
            }
        }
        Ok(())
    }
}

pub(crate) fn open(options: Options, clock: Arc<dyn Clock>) -> Result<Arc<Embedded>, OpenError> {
    let recovered = recover(&options)?;
    let Recovered { lock, disk, catalog, history, log, checkpoint, replayed_bytes, repaired } =
        recovered;
    let (commands, waiting) = mpsc::channel();
    let (jobs, waiting_jobs) = Jobs::new();
    let metrics = Metrics::default();
    if repaired {
        metrics.repairs.inc();
    }
    let shared = Arc::new(Shared {
        frozen: FrozenFiles::new(Arc::clone(&disk)),
        options,
        clock,
        disk,
        catalog: RwLock::new(catalog),
        history,
        queue: Queue::new(commands),
        metrics,
        broken: Mutex::new(None),
        backups: 0.into(),
        importing: Mutex::default(),
        unremoved: Mutex::default(),
        _lock: lock,
        stopping: false.into(),
    });
    let mut sequencer =
        Sequencer::new(Arc::clone(&shared), log, waiting, jobs.clone(), checkpoint, replayed_bytes);
    // Before the first reader: which season is current must be right from the first answer. A disk that does not take it
    // is no reason not to answer reads.
    let _ = sequencer.roll_all(shared.clock.now());
    let for_history = Arc::clone(&shared);
    let background = waiting_jobs.into_iter().map(|(name, waiting)| {
        let shared = Arc::clone(&shared);
        spawn(name, move || keeper::run(&shared, &waiting))
    });
    let threads = Threads {
        sequencer: spawn("sequencer", move || sequencer.run())?,
        historian: spawn("historian", move || for_history.history.feed())?,
        background: background.collect::<Result<_, _>>()?,
    };
    let threads = Mutex::new(Some(threads));
    Ok(Arc::new(Embedded {
        shared,
        jobs,
        threads,
        readers: crate::read::threads::Readers::default(),
    }))
}

fn spawn(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, OpenError> {
    let guarded = move || {
        let _guard = AbortOnPanic;
        run();
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(guarded);
    thread.map_err(|source| OpenError::Io { path: format!("the thread {name}"), source })
}

/// A thread of the engine that panics leaves a state that nobody should see: half a group applied, or a writer gone while
/// readers go on. Recovery from the log is exact, so the process ends and is started anew.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(
                "a thread of the engine panicked; ending the process, a restart recovers everything"
            );
            std::process::abort();
        }
    }
}
