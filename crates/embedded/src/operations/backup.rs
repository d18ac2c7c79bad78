//! A consistent copy of a running server's data.
//!
//! Everything but the log is a view with a position, and replaying is harmless, so the copy is consistent if the log is
//! copied last and reaches back to every view's position: history, checkpoint, then the log and the frozen standings that are in use where
//! it ends. The log keeps its segments meanwhile, and frozen standings stay that go out of use. The copy has its name only when it is whole.

use std::{
    collections::HashSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

use crate::{
    Shared,
    files::{archive, disk::RealDisk},
    log::Log,
    operations::checkpoint,
    out_of_order,
    state::catalog::BoardState,
};
use standings_engine::{BackupInfo, EngineError, Result};

/// Where the history is in a copy, as it is in a data directory.
const HISTORY: &str = "history";
/// A file that a copy has until it is whole, so that nothing else is ever taken for half of one.
const UNFINISHED: &str = "unfinished";

/// Copies everything into a directory that must not exist.
pub(crate) fn backup(shared: &Arc<Shared>, to: &Path) -> Result<BackupInfo> {
    if shared.options.disk.is_some() {
        return Err(EngineError::Unsupported("only a real disk can be backed up"));
    }
    if to.exists() {
        let path = to.display();
        return Err(EngineError::BadRequest(format!(
            "{path} exists already; name a new directory"
        )));
    }
    let data = shared.options.dir.canonicalize().unwrap_or_else(|_| shared.options.dir.clone());
    let parent = to.parent().and_then(|parent| parent.canonicalize().ok());
    let why = match parent {
        _ if !to.is_absolute() => "give an absolute path: it is on the server's disk",
        None => "the directory that it is to be in does not exist on the server",
        Some(parent) if parent.starts_with(&data) => "a backup cannot be inside the data directory",
        Some(_) => "",
    };
    if !why.is_empty() {
        return Err(EngineError::BadRequest(format!("{}: {why}", to.display())));
    }
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    clear_partial(&partial)?;
    shared.backups.fetch_add(1, Ordering::AcqRel);
    let copied = copy(shared, &partial, to);
    shared.backups.fetch_sub(1, Ordering::AcqRel);
    shared.discard_again();
    if copied.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    copied
}

/// Removes what a backup left that was killed: a copy that went on from there would have rows that were deleted since, and
/// half a segment. What does not say that it is unfinished is not ours to remove, though it look like a copy.
fn clear_partial(partial: &Path) -> Result<()> {
    let path = partial.display();
    if !partial.exists() {
        return Ok(());
    }
    if !partial.join(UNFINISHED).exists() {
        let why = "exists already and is no unfinished backup; name another directory, or move that one away";
        return Err(EngineError::BadRequest(format!("{path} {why}")));
    }
    fs::remove_dir_all(partial).map_err(|error| EngineError::BadRequest(format!("{path}: {error}")))
}

fn copy(shared: &Arc<Shared>, partial: &Path, to: &Path) -> Result<BackupInfo> {
    let refused = |error: io::Error| {
        tracing::error!(%error, "a backup could not be written");
        match error.kind() {
            io::ErrorKind::StorageFull => out_of_order("there is no space for the backup"),
            _ => EngineError::BadRequest(format!("{}: {error}", to.display())),
        }
    };
    fs::create_dir(partial).map_err(refused)?;
    File::create(partial.join(UNFINISHED)).map_err(refused)?;
    for dir in [checkpoint::DIR, archive::DIR, crate::log::DIR] {
        fs::create_dir(partial.join(dir)).map_err(refused)?;
    }
    let mut bytes = 0;
    shared.read_history(|history| history.copy_to(&partial.join(HISTORY)))?;
    let from = &shared.options.dir;
    let copy = |path: &str| {
        // A file that is removed meanwhile stays whole while it is open.
        let _open = shared.disk.open(path)?;
        copy_file(&from.join(path), &partial.join(path))
    };
    while let Some(name) = checkpoint::newest(shared.disk.as_ref()).map_err(refused)? {
        match copy(&format!("{}/{name}", checkpoint::DIR)) {
            // A newer one has taken its place.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => {
                bytes += copied.map_err(refused)?;
                break;
            }
        }
    }
    let of = Arc::clone(shared);
    let sealed = shared.queue.change_blocking(move |s| Ok((s.seal()?, files_in_use(&of))))?;
    let ((segments, sequence), files) = sealed;
    for name in files {
        bytes += copy(&format!("{}/{name}", archive::DIR)).map_err(refused)?;
    }
    // The copy's own last segment: there may be no other, and the log must reach as far as what was copied before.
    RealDisk::new(partial).and_then(|disk| Log::begin(&disk, sequence)).map_err(refused)?;
    for path in segments {
        bytes += copy(&path).map_err(refused)?;
    }
    bytes += tree_bytes(&partial.join(HISTORY)).map_err(refused)?;
    for dir in [checkpoint::DIR, archive::DIR, crate::log::DIR] {
        sync(&partial.join(dir)).map_err(refused)?;
    }
    fs::remove_file(partial.join(UNFINISHED)).map_err(refused)?;
    sync(partial).map_err(refused)?;
    fs::rename(partial, to).map_err(refused)?;
    sync(to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
        .map_err(refused)?;
    Ok(BackupInfo { path: to.to_owned(), sequence, bytes })
}

/// The names of all frozen standings.
fn files_in_use(shared: &Shared) -> HashSet<String> {
    let catalog = shared.catalog.read();
    let files = catalog.boards().flat_map(BoardState::files);
    files.filter(|file| !file.name.is_empty()).map(|file| file.name.clone()).collect()
}

fn copy_file(from: &Path, to: &Path) -> io::Result<u64> {
    let bytes = fs::copy(from, to)?;
    File::open(to)?.sync_all()?;
    Ok(bytes)
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn tree_bytes(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { tree_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
