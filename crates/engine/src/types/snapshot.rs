//! Snapshots of a board, and standings from elsewhere.

use standings_core::LocalDate;

/// A snapshot in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its date.
    pub date: LocalDate,
    /// Players with an entry; `None` while it is being written and cannot be read yet.
    pub players: Option<u64>,
}

/// Which snapshots of a board are wanted.
#[derive(Clone, Debug)]
pub struct SnapshotsQuery {
    /// Only those older than this one.
    pub before: Option<LocalDate>,
    /// At most so many.
    pub limit: usize,
}

/// Snapshots, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotsPage {
    /// The snapshots.
    pub snapshots: Vec<SnapshotInfo>,
    /// Whether there are older ones.
    pub more: bool,
}

/// A standing that was imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its players.
    pub players: u64,
    /// Whether it is in place and can be read. Otherwise that follows by itself, also after a crash.
    pub in_place: bool,
}
