//! How many files the process may have open, and how many of them may be connections.
//!
//! A connection is an open file, and so is a segment of the log. Where the system permits fewer files than connections are
//! allowed, those would take the last one, and the next checkpoint would fail for want of it.

use rustix::process::{Resource, getrlimit, setrlimit};

/// What the data needs at most: tables of the history (it keeps 900 open), frozen standings (256), the log, and what is
/// being written.
const DATA_FILES: usize = 1250;

/// Raises the limit of open files as far as the system permits, and says how many of the wanted connections leave enough of
/// them for the data.
pub(crate) fn connections(wanted: usize) -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        limit.current = limit.maximum;
        // Refused, the limit is what it was.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let files = getrlimit(Resource::Nofile).current;
    let files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    let connections = wanted.min(room(files));
    if connections < wanted {
        tracing::warn!(
            files,
            connections,
            "this process may open too few files for max_connections = {wanted}; raise the limit (ulimit -n)"
        );
    }
    connections
}

/// Of few files the data gets half.
fn room(files: usize) -> usize {
    (files - DATA_FILES.min(files / 2)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_data() {
        assert_eq!(room(20_000), 18_750);
        assert_eq!(room(1024), 512);
        assert_eq!((room(1), room(0)), (1, 1));
        assert_eq!(connections(5), 5);
    }
}
