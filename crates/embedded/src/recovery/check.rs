//! Verifies a stopped server's files.

use std::{collections::BTreeSet, fs, io, os::unix::fs::symlink, path::Path, sync::Arc};

use standings_core::limits::EVENT_ID_WINDOW;

use crate::{
    files::{
        archive::Frozen,
        disk::{Disk, RealDisk},
    },
    history::History,
    log::{Log, LogOptions, LogReader},
    operations::checkpoint::{self, Loaded},
    record::{self, LogRecord},
    recovery::open::{FIRST_SEQ, OpenError, lock_existing},
    state::catalog::{BoardState, Catalog},
};

/// Why a tool could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The data directory cannot be opened at all.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is nothing here.
    #[error("{0} is not a data directory of this server: it has no log")]
    NotData(String),
    /// A new checkpoint would forget it.
    #[error(
        "a snapshot was taken that is not in a file yet, and would be lost; start the server, so that it writes the file, and \
         rebuild after that"
    )]
    SnapshotWaits,
}

/// What a check has found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Records in the log.
    pub log_records: u64,
    /// Players in the live standings, by checkpoint and log.
    pub checkpoint_players: u64,
    /// Frozen standings.
    pub frozen_files: u64,
    /// Events in the history.
    pub history_events: u64,
    /// What is wrong; empty where all is well.
    pub findings: Vec<String>,
}

/// Reads every byte of a data directory and verifies it. Changes nothing in it.
pub fn check(dir: &Path, progress: &mut dyn FnMut(&str)) -> Result<CheckReport, OfflineError> {
    must_have_log(dir)?;
    let _lock = lock_existing(dir)?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(dir)?);
    Log::check_version(disk.as_ref()).map_err(OpenError::from)?;
    let mut report = CheckReport::default();
    progress("log");
    let options = LogOptions { start_seq: FIRST_SEQ, ..LogOptions::default() };
    let mut log_end = FIRST_SEQ;
    let mut log_start = FIRST_SEQ;
    let mut log = Vec::new();
    match Log::check(disk.as_ref(), &options) {
        Ok((segments, repair)) => {
            log_start = segments.first().map_or(FIRST_SEQ, |segment| segment.first_seq);
            log_end = segments.last().map_or(FIRST_SEQ, |segment| segment.next_seq);
            report.log_records = log_end - log_start;
            if let Some(repair) = repair {
                report.findings.push(format!(
                    "{}: an unfinished write of {} bytes at offset {}; it was never acknowledged, and the next start cuts it off",
                    repair.file, repair.dropped_bytes, repair.offset
                ));
            }
            log = segments;
        }
        Err(error) => report.findings.push(error.to_string()),
    }
    progress("checkpoint and frozen standings");
    let mut views = vec![];
    match checkpoint::load(disk.as_ref()) {
        Ok(loaded) => {
            let loaded = loaded.unwrap_or_else(|| Loaded::empty(FIRST_SEQ));
            let Loaded { position, mut catalog } = loaded;
            views.push(("checkpoint", position));
            if (log_start..=log_end).contains(&position) {
                // Files may have been replaced since the checkpoint: the log names those that count.
                let mut reader = LogReader::new(Arc::clone(&disk), log, position);
                if let Err(error) = read_records(&mut reader, |seq, record| {
                    if seq >= position {
                        catalog.apply(&record);
                    }
                }) {
                    report.findings.push(error.to_string());
                }
            }
            check_standings(disk.as_ref(), &catalog, &mut report);
        }
        Err(error) => report.findings.push(error.to_string()),
    }
    progress("history");
    let view = tempfile::tempdir()?;
    view_of_store(&dir.join("history"), &view.path().join("history"))?;
    match History::open(&view.path().join("history"), EVENT_ID_WINDOW) {
        Ok(history) => {
            views.push(("history", history.position()));
            if let Err(error) = history.visit_events(|_, _, _, _| report.history_events += 1) {
                report.findings.push(error.to_string());
            }
            if let Err(error) = history.visit_catalog(|_, _| ()) {
                report.findings.push(error.to_string());
            }
        }
        Err(error) => report.findings.push(error.to_string()),
    }
    for (view, position) in views {
        let position = position.max(FIRST_SEQ);
        if position > log_end || position < log_start {
            report.findings.push(format!(
                "the {view} is at record {position}, and the log has records {log_start} to {log_end}"
            ));
        }
    }
    Ok(report)
}

/// Reads the records that a reader comes upon, each with its number.
pub(crate) fn read_records(
    reader: &mut LogReader,
    mut visitor: impl FnMut(u64, LogRecord),
) -> Result<(), OpenError> {
    while let Some(frame) = reader.next_frame()? {
        let records = record::decode(&frame)
            .map_err(|error| OpenError::Record { seq: frame.first_seq, why: error.to_string() })?;
        for (record, seq) in records.into_iter().zip(frame.first_seq..) {
            visitor(seq, record);
        }
    }
    Ok(())
}

fn check_standings(disk: &dyn Disk, catalog: &Catalog, report: &mut CheckReport) {
    let slots = catalog.boards().flat_map(|board| board.timeline.slots());
    for live in slots.filter_map(|slot| slot.data.live()) {
        report.checkpoint_players += live.read().index().len();
    }
    let mut seen = BTreeSet::new();
    for file in catalog.boards().flat_map(BoardState::files) {
        if file.name.is_empty() || !seen.insert(file.name.as_str()) {
            continue;
        }
        report.frozen_files += 1;
        if let Err(error) = Frozen::open(disk, file).and_then(|frozen| frozen.verify()) {
            report.findings.push(error.to_string());
        }
    }
}

/// Makes another directory that has what the store in `from` has. Opening a store writes to its journals and manifests, so those are copied.
/// Tables, which are nearly all of it, are never written to again: links to them do.
fn view_of_store(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let (from_entry, to_entry) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            view_of_store(&from_entry, &to_entry)?;
        } else if from.ends_with("tables") {
            symlink(from_entry.canonicalize()?, to_entry)?;
        } else {
            fs::copy(from_entry, to_entry)?;
        }
    }
    Ok(())
}

pub(crate) fn must_have_log(dir: &Path) -> Result<(), OfflineError> {
    if dir.join(crate::log::DIR).is_dir() {
        return Ok(());
    }
    Err(OfflineError::NotData(dir.display().to_string()))
}
