//! Format version 1, for reading only.
//!
//! A data directory of version 1 is read as it is, file by file, and whatever is written from then on is of the present
//! version. So there is no moment at which a crash could do harm: old files stay until newer ones have taken their place, as
//! they always do.
//!
//! | file | in version 1 |
//! |---|---|
//! | log | a record that names a frozen standing says less about it |
//! | checkpoint | entries that changed while it was written follow the rows, and count instead of them |
//! | frozen standing | no flags in the text: neither streaks nor official ranks |
//! | history | event ids in one keyspace; see `history/upgrade.rs` |
//!
//! Streaks are counted when the server has started: a file that says it continues [`UNCOUNTED`] is written anew.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use compact_str::CompactString;
use serde::Deserialize;
use standings_core::PlayerId;
use standings_index::RankIndex;

use super::{
    catalog::Image,
    disk::DiskFile,
    record::{BoardNo, FrozenFile, LogRecord, SeasonNo},
    rows::{RowReader, invalid},
};

pub(crate) const VERSION: u16 = 1;

/// The file that the streaks of a file of version 1 continue: none has this name.
pub(crate) const UNCOUNTED: &str = "version 1";

/// The place of [`LogRecord::SeasonFrozen`] among the kinds of records.
const SEASON_FROZEN: u8 = 8;

#[derive(Deserialize)]
struct SeasonFrozen {
    _kind: u32,
    board: BoardNo,
    season: SeasonNo,
    file: NamedFile,
}

/// A frozen standing as records named it.
#[derive(Deserialize)]
struct NamedFile {
    name: String,
    players: u64,
    total: i128,
    imported: bool,
}

impl From<NamedFile> for FrozenFile {
    fn from(NamedFile { name, players, total, imported }: NamedFile) -> Self {
        let after = if name.is_empty() { "" } else { UNCOUNTED }.to_owned();
        Self { name, players, total, imported, after, ..Self::default() }
    }
}

/// The record at the start of bytes, and what follows it.
pub(crate) fn take_record(bytes: &[u8]) -> postcard::Result<(LogRecord, &[u8])> {
    if bytes.first() != Some(&SEASON_FROZEN) {
        return postcard::take_from_bytes(bytes);
    }
    let (SeasonFrozen { board, season, file, .. }, rest) = postcard::take_from_bytes(bytes)?;
    Ok((LogRecord::SeasonFrozen { board, season, file: Box::new(file.into()) }, rest))
}

/// Where a standing lies in a checkpoint.
#[derive(Deserialize)]
pub(crate) struct Place {
    pub(crate) board: BoardNo,
    pub(crate) season: SeasonNo,
    rows: u64,
    rows_at: u64,
    /// Entries as they were, of players whose rows do not count,
    undo_at: u64,
    /// and players who had none.
    absent_at: u64,
    end: u64,
    absent_crc: u32,
}

/// The directory of a checkpoint.
pub(crate) fn directory(bytes: &[u8]) -> postcard::Result<(Image, Vec<Place>)> {
    let (count, mut rest) = postcard::take_from_bytes::<u64>(bytes)?;
    let mut records = Vec::new();
    for _ in 0..count {
        let (record, tail) = take_record(rest)?;
        records.push(record);
        rest = tail;
    }
    let (next_board, next_seasons, imported, places) = postcard::from_bytes(rest)?;
    let mut image = Image::default();
    (image.records, image.next_board) = (records, next_board);
    (image.next_seasons, image.imported) = (next_seasons, imported);
    Ok((image, places))
}

/// A standing of a checkpoint.
pub(crate) fn standing(file: &dyn DiskFile, place: &Place) -> io::Result<RankIndex> {
    let mut kept = HashMap::new();
    let mut reader = RowReader::new(file, place.undo_at, place.absent_at);
    while let Some((player, record)) = reader.next()? {
        kept.insert(CompactString::from(player), record);
    }
    let absent = absent(file, place)?;
    let changed = |player: &str| absent.contains(player) || kept.contains_key(player);
    let mut reader = RowReader::new(file, place.rows_at, place.undo_at);
    let mut failed = Ok(());
    let rows = std::iter::from_fn(|| {
        loop {
            match reader.next() {
                Ok(Some((player, _))) if changed(player) => {}
                Ok(row) => return row.map(|(player, at)| (CompactString::from(player), at)),
                Err(error) => {
                    failed = Err(error);
                    return None;
                }
            }
        }
    });
    let expected = usize::try_from(place.rows).unwrap_or(0);
    let mut index = RankIndex::from_sorted(rows, expected)
        .map_err(|error| invalid(format!("rows are not in order: {error}")))?;
    failed?;
    for (player, record) in kept {
        index.upsert(&player, record);
    }
    Ok(index)
}

/// The players who had no entry.
fn absent(file: &dyn DiskFile, place: &Place) -> io::Result<HashSet<PlayerId>> {
    let bytes =
        place.end.checked_sub(place.absent_at).and_then(|bytes| usize::try_from(bytes).ok());
    let mut absent = vec![0; bytes.ok_or_else(|| invalid("a standing ends before it begins"))?];
    file.read_at(&mut absent, place.absent_at)?;
    if crc32fast::hash(&absent) != place.absent_crc {
        return Err(invalid("the list of absent players does not match its checksum"));
    }
    postcard::from_bytes(&absent).map_err(|error| invalid(error.to_string()))
}
