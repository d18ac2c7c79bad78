//! What can go wrong, and what to do then.

use std::io;

/// Why the log cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Bytes that were durable are not what was written.
    #[error(
        "{file}: damaged at offset {offset}: {reason}. Restore from a backup or run `standings \
         check`"
    )]
    Damaged {
        /// The segment.
        file: String,
        /// Where in it the first damaged frame begins.
        offset: u64,
        /// What is wrong there, and why it is not the torn end of an unfinished write.
        reason: String,
    },
    /// Records are missing between two segments.
    #[error(
        "{file}: begins with record {found}, but the segment before it ends at offset {offset}, \
         before record {expected}: records are missing. Restore from a backup or run `standings \
         check`"
    )]
    Gap {
        /// The segment after the gap.
        file: String,
        /// Where the segment before it ends.
        offset: u64,
        /// The record that should come next.
        expected: u64,
        /// The record that does.
        found: u64,
    },
    /// The log ends before records that are known to have been durable.
    #[error(
        "the log ends before record {next_seq}, but everything before record {must_reach} was \
         durable: the end of the log is lost. Restore from a backup or run `standings check`"
    )]
    Short {
        /// The first record that the log does not have.
        next_seq: u64,
        /// As in [`LogOptions`](crate::log::LogOptions).
        must_reach: u64,
    },
    /// The records asked for have been dropped.
    #[error("record {asked} was asked for, but the log begins with record {first}")]
    Dropped {
        /// The record asked for.
        asked: u64,
        /// The oldest record in the log.
        first: u64,
    },
    /// Written by another build.
    #[error(
        "{file}: has format version {version}, and this build reads version {} only. Export the \
         boards with the build that wrote them, and import them anew into an empty data directory",
        crate::log::format::VERSION
    )]
    OtherVersion {
        /// The segment.
        file: String,
        /// The version that it has.
        version: u16,
    },
    /// The operating system refused.
    #[error(
        "{file}: cannot {action}: {source}. Check the disk and the permissions, then try again"
    )]
    Io {
        /// The file or directory.
        file: String,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl LogError {
    pub(super) fn io(file: &str, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::Io { file, action, source }
    }
}

/// Why a group was not made durable. The variants answer one question: may it have counted?
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It was not, and no crash can bring it back; trying again may work (when there is space).
    #[error("not written: {0}. Nothing was changed; free some disk space, then try again")]
    NotApplied(#[source] io::Error),
    /// It is not known: after a restart the groups since the last good sync may be there or not.
    #[error(
        "it is not known what was made durable: {0}. Check the disk, then restart the server to \
         find out what was kept"
    )]
    Unknown(#[source] io::Error),
    /// It was not: an earlier `Unknown` forbids writing until the log is opened anew.
    #[error(
        "not written: an earlier write failed in a way that leaves the end of the log unknown. \
         Check the disk, then restart the server"
    )]
    Poisoned,
    /// It was not and never will: the payload is too long for one frame.
    #[error(
        "not written: a group of {bytes} bytes is over the limit of {limit}. Send fewer at once"
    )]
    TooLarge {
        /// The length of the payload.
        bytes: usize,
        /// The greatest length allowed.
        limit: usize,
    },
}
