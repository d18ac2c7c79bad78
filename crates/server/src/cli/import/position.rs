//! How far an import has come, in a small file beside the one that is imported.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use crate::cli::{
    failure::{Failure, Result},
    output::thousands,
    progress::Progress,
};

/// What is imported where. A position is only good for the same file, unchanged, into the same board.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    server: String,
    board: String,
    pub(super) size: u64,
    modified_ms: u128,
}

/// How far an import has come: everything before it is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// In the file, in bytes.
    pub(super) offset: u64,
    /// Lines before it.
    pub(super) line: u64,
    /// Rows before it.
    pub(super) rows: u64,
    /// The season that took them.
    pub(super) season: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Stored<I, P> {
    of: I,
    at: P,
}

impl Identity {
    /// None for standard input and anything else that cannot be read from the middle.
    pub(super) fn of(file: &Path, server: &str, board: &str) -> Result<Option<Self>> {
        if file.as_os_str() == "-" {
            return Ok(None);
        }
        let unreadable = |error| Failure::file("read", file, error);
        let metadata = fs::metadata(file).map_err(unreadable)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let modified = metadata.modified().map_err(unreadable)?;
        let modified_ms = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let (server, board) = (server.to_owned(), board.to_owned());
        Ok(Some(Self { server, board, size: metadata.len(), modified_ms }))
    }
}

impl Position {
    /// Where an earlier import of the same came to; the beginning where there was none.
    pub(super) fn load(file: &Path, identity: &Identity) -> Self {
        let path = beside(file, "");
        let Ok(text) = fs::read(&path) else { return Self::default() };
        match serde_json::from_slice::<Stored<Identity, Self>>(&text) {
            Ok(stored) if stored.of == *identity => stored.at,
            _ => {
                // Beginning anew is always right, since rows set scores; it only takes longer.
                eprintln!(
                    "{} is of another file, board or server: beginning at the first row",
                    path.display()
                );
                Self::default()
            }
        }
    }

    /// Notes the position, so that a crash leaves this one or the one before.
    fn store(&self, file: &Path, identity: &Identity) -> Result<(), String> {
        let (path, new) = (beside(file, ""), beside(file, ".new"));
        let written = serde_json::to_vec(&Stored { of: identity, at: self })
            .map_err(io::Error::from)
            .and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| {
            // It may be there and be of no use; often it is not.
            let _ = fs::remove_file(&new);
            format!("cannot note the position in {}: {error}", path.display())
        })
    }

    /// Forgets the position.
    fn remove(file: &Path) -> Result<()> {
        let path = beside(file, "");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::file("delete", path, error))
            }
            _ => Ok(()),
        }
    }
}

/// What is noted beside the file of how far an import has come.
pub(super) struct Noted<'a> {
    file: &'a Path,
    /// None where nothing can be noted, or not any more.
    of: Option<&'a Identity>,
    /// Rows before the position that was noted last.
    rows: u64,
}

impl<'a> Noted<'a> {
    /// Begins where an earlier import came to.
    pub(super) fn new(file: &'a Path, of: Option<&'a Identity>, start: &Position) -> Self {
        Self { file, of, rows: start.rows }
    }

    /// Rows before the position that was noted last; 0 where none was.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Notes a position. Where that cannot be done the rows are set all the same, and the import goes on.
    pub(super) fn note(&mut self, at: &Position, progress: &Progress) {
        let Some(identity) = self.of else { return };
        match at.store(self.file, identity) {
            Ok(()) => self.rows = at.rows,
            Err(why) => {
                self.of = None;
                let from = match self.rows {
                    0 => "at the first row".to_owned(),
                    rows => format!("after row {}", thousands(rows)),
                };
                progress.say(&format!("{why}; once interrupted, this import begins {from}"));
            }
        }
    }

    /// Forgets what was noted, once all rows are set.
    pub(super) fn forget(&self) -> Result<()> {
        if self.rows == 0 { Ok(()) } else { Position::remove(self.file) }
    }
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut path = OsString::from(file);
    path.push(".standings-import");
    path.push(suffix);
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_only_good_for_the_same_file_and_board() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("players.csv");
        fs::write(&file, "a,1\nb,2\n").unwrap();
        let identity = |board| Identity::of(&file, "http://x", board).unwrap().unwrap();
        let here = Position { offset: 4, line: 1, rows: 1, season: Some("2026-11".to_owned()) };
        here.store(&file, &identity("main")).unwrap();
        assert_eq!(Position::load(&file, &identity("main")), here);
        assert_eq!(Position::load(&file, &identity("laps")), Position::default());
        fs::write(&file, "a,1\nb,2\nc,3\n").unwrap();
        assert_eq!(Position::load(&file, &identity("main")), Position::default());
        Position::remove(&file).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the file itself is left");
    }

    #[test]
    fn standard_input_has_no_position() {
        assert_eq!(Identity::of(Path::new("-"), "http://x", "main").unwrap(), None);
        assert!(Identity::of(Path::new("/nonexistent"), "http://x", "main").is_err());
    }
}
