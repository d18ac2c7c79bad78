//! `standings check`, `rebuild` and `restore`: the files of a stopped server.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use standings_embedded as embedded;

use super::{
    failure::{Failure, Result},
    output::{print, thousands},
};

/// Check a stopped server's data.
///
/// Reads every byte and verifies it. Changes nothing. The exit code is 1 where anything is wrong.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  standings check --data /var/lib/standings")]
pub(crate) struct Check {
    /// The data directory
    #[arg(long, env = "STANDINGS_DATA", value_name = "DIR")]
    data: PathBuf,
}

impl Check {
    pub(crate) fn run(self) -> Result<()> {
        verify(&self.data)
    }
}

/// Prints what a check counts and finds; findings are a failure.
fn verify(dir: &Path) -> Result<()> {
    let report = embedded::check(dir, &mut |step| {
        eprintln!("checking the {step}");
    });
    let report = report.map_err(Failure::other)?;
    let counts = format!(
        "records in the log: {}\nplayers in the checkpoint: {}\nfrozen standings: {}\nevents in the history: {}",
        thousands(report.log_records),
        thousands(report.checkpoint_players),
        thousands(report.frozen_files),
        thousands(report.history_events),
    );
    print(counts.as_bytes())?;
    for finding in &report.findings {
        print(finding.as_bytes())?;
    }
    match report.findings.len() {
        0 => print(format!("{}: all is well", dir.display()).as_bytes()),
        count => Err(Failure::Other(format!("{}: findings: {count}", dir.display()))),
    }
}

/// Recompute a stopped server's standings from its ledger.
///
/// Compares the result with what the server had, and puts it in its place.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  standings rebuild --data /var/lib/standings --dry-run
  standings rebuild --data /var/lib/standings")]
pub(crate) struct Rebuild {
    /// The data directory
    #[arg(long, env = "STANDINGS_DATA", value_name = "DIR")]
    data: PathBuf,
    /// Only compare; the exit code is 1 where anything differs
    #[arg(long)]
    dry_run: bool,
}

impl Rebuild {
    pub(crate) fn run(self) -> Result<()> {
        let report = embedded::rebuild(&self.data, !self.dry_run, &mut |step| eprintln!("{step}"));
        let report = report.map_err(Failure::other)?;
        for finding in &report.findings {
            print(finding.as_bytes())?;
        }
        let counts = format!(
            "accepted submissions: {}\nstandings: {}\nentries: {}\nentries that differed: {}",
            thousands(report.events),
            thousands(report.standings),
            thousands(report.entries),
            thousands(report.differences),
        );
        print(counts.as_bytes())?;
        let words = match (report.differences, report.written) {
            (_, true) => "the recomputed standings are in place",
            (0, false) => "the standings are what the ledger says",
            (_, false) => {
                let words = "the standings differ from the ledger; run it without --dry-run";
                return Err(Failure::Other(words.to_owned()));
            }
        };
        print(words.as_bytes())
    }
}

/// Make a data directory from a backup.
///
/// The backup is checked first and stays as it is.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  standings restore /var/backups/standings-2026-11-15 --data /var/lib/standings")]
pub(crate) struct Restore {
    /// What `standings backup` made
    backup: PathBuf,
    /// The new data directory; it must not exist, or be empty
    #[arg(long, env = "STANDINGS_DATA", value_name = "DIR")]
    data: PathBuf,
}

impl Restore {
    pub(crate) fn run(self) -> Result<()> {
        let to = &self.data;
        let is_free = match fs::read_dir(to) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(Failure::file("read", to, error)),
        };
        if !is_free {
            let words = format!("{} is not empty; name a new directory with --data", to.display());
            return Err(Failure::Other(words));
        }
        verify(&self.backup)?;
        // It gets its name when it is complete, so that no server ever starts on half of it.
        let mut part = to.clone().into_os_string();
        part.push(".restoring");
        let part = PathBuf::from(part);
        let copied = copy(&self.backup, &part)
            .and_then(|bytes| fs::rename(&part, to).map(|()| bytes))
            .and_then(|bytes| sync_parent(to).map(|()| bytes));
        let bytes = copied.map_err(|error| Failure::file("restore into", to, error))?;
        print(format!("{}: {} bytes restored", to.display(), thousands(bytes)).as_bytes())
    }
}

/// Copies a directory onto the disk, and returns the bytes in it.
fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    fs::create_dir_all(to)?;
    let mut bytes = 0;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        bytes += if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?
        } else {
            let bytes = fs::copy(entry.path(), &target)?;
            File::open(&target)?.sync_all()?;
            bytes
        };
    }
    File::open(to)?.sync_all()?;
    Ok(bytes)
}

/// Makes the new name of a directory durable.
fn sync_parent(dir: &Path) -> io::Result<()> {
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
