//! What operators and timers ask.

use std::path::PathBuf;

use standings_core::{Board, BoardId, KeyName, Millis};

use super::KeyHash;

/// What a store is given at its first start.
#[derive(Clone, Debug)]
pub struct FirstStart {
    /// The first board.
    pub board: (BoardId, Board),
    /// The first key, with the role admin.
    pub admin: (KeyName, KeyHash),
}

/// What of it was put there. Of servers that start together one is told so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Initialised {
    /// The board, in a store that never had a board or a key: one that was deleted stays so.
    pub board: bool,
    /// The key, where none had the role admin.
    pub admin: bool,
}

/// How far background work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintained {
    /// Whether something due is left.
    pub more: bool,
    /// When something will be due next, as far as that is known.
    pub next: Option<Millis>,
}

/// A finished backup.
#[derive(Clone, Debug)]
pub struct BackupInfo {
    /// Where it is.
    pub path: PathBuf,
    /// Everything accepted up to this number of the ledger is in it.
    pub sequence: u64,
    /// Its size.
    pub bytes: u64,
}
