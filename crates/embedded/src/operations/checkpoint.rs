//! Checkpoints: catalog and live standings as they were at one position of the log.
//!
//! A checkpoint is written in the background while writes go on. When it begins, the sequencer notes the position and
//! tells every live standing to keep what entries were ([`Live::begin_view`]). The writer then reads each standing as it was,
//! piece by piece under a short read lock, whatever goes on meanwhile.
//!
//! ```text
//! header     magic, position u64, crc
//! for each standing that has rows
//!   rows     blocks (see `rows`), in order
//! directory  postcard: catalog image, and where each standing lies
//! trailer    offset u64, length u32 and crc of the directory
//! ```
//!
//! It shows under its name only when it is whole. Older ones are removed after that, and the log may then drop what lies
//! before the position, as far as the history has it too.

use std::{
    io,
    sync::{Arc, mpsc},
    thread,
};

use compact_str::CompactString;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use standings_core::IndexRecord;
use standings_core::standing::as_of::Cursor;
use standings_index::RankIndex;

use crate::{
    files::{
        disk::{Disk, DiskFile},
        rows::{RowReader, RowWriter, invalid},
        writing::{NewFile, Writer},
    },
    record::{BoardNo, SeasonNo},
    state::{
        catalog::{Catalog, Image, Rows},
        live::{Live, ViewId},
    },
};

pub(crate) const DIR: &str = "checkpoint";
const ENDING: &str = ".ckpt";
const MAGIC: &[u8; 8] = b"STDGCKPT";
const HEADER: usize = 8 + 8 + 4;
const TRAILER: usize = 8 + 4 + 4;
/// Rows scanned under one read lock: some ten microseconds, so that this thread is seldom stopped while others wait for it.
const LOCKED_ROWS: usize = 512;
/// Rows that are decoded in one piece.
const SCAN_ROWS: usize = 2048;
/// Pieces of so many rows that are decoded before they go into the index.
const DECODED_AHEAD: usize = 8;

/// A checkpoint that has begun.
pub(crate) struct View {
    /// All records before this number are in it.
    pub(crate) position: u64,
    image: Image,
    standings: Vec<(BoardNo, SeasonNo, Arc<RwLock<Live>>, ViewId)>,
}

#[derive(Serialize, Deserialize)]
struct Directory {
    image: Image,
    standings: Vec<Place>,
}

#[derive(Serialize, Deserialize)]
struct Place {
    board: BoardNo,
    season: SeasonNo,
    rows: u64,
    rows_at: u64,
    end: u64,
}

impl View {
    /// Begins a checkpoint. Must be called by the one who writes, between two groups.
    pub(crate) fn begin(catalog: &Catalog, position: u64) -> Self {
        let mut standings = Vec::new();
        for board in catalog.boards() {
            for slot in board.timeline.slots() {
                if let Rows::Live(live) = &slot.data.rows {
                    let view = live.write().begin_view();
                    standings.push((board.no, slot.no, Arc::clone(live), view));
                }
            }
        }
        Self { position, image: catalog.image(), standings }
    }

    /// Standings stop keeping what entries were.
    pub(crate) fn end(&self) {
        for (_, _, live, view) in &self.standings {
            Live::end_view(live, *view);
        }
    }

    /// Writes the checkpoint and removes older ones. Returns its size.
    pub(crate) fn write(self, disk: &Arc<dyn Disk>) -> io::Result<u64> {
        let written = self.write_rows(disk);
        self.end();
        let (bytes, file) = written?;
        file.commit()?;
        remove_others(disk.as_ref(), self.position)?;
        Ok(bytes)
    }

    fn write_rows(&self, disk: &Arc<dyn Disk>) -> io::Result<(u64, NewFile)> {
        disk.create_dir(DIR)?;
        let file = NewFile::create(Arc::clone(disk), DIR, name(self.position))?;
        let mut header = Vec::new();
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&self.position.to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        let mut out = file.writer(0);
        out.write(&header)?;
        let mut places = Vec::new();
        for (board, season, live, view) in &self.standings {
            places.extend(write_standing(&mut out, *board, *season, live, *view)?);
        }
        let directory = DirectoryRef { image: &self.image, standings: &places };
        let directory = postcard::to_stdvec(&directory).map_err(|e| invalid(e.to_string()))?;
        let at = out.offset();
        out.write(&directory)?;
        out.write(&at.to_le_bytes())?;
        let length = u32::try_from(directory.len()).map_err(|_| invalid("too many boards"))?;
        out.write(&length.to_le_bytes())?;
        out.write(&crc32fast::hash(&directory).to_le_bytes())?;
        let bytes = out.offset();
        out.finish()?;
        Ok((bytes, file))
    }
}

#[derive(Serialize)]
struct DirectoryRef<'a> {
    image: &'a Image,
    standings: &'a [Place],
}

/// Writes one standing; nothing where it had no rows.
fn write_standing(
    out: &mut Writer<'_>,
    board: BoardNo,
    season: SeasonNo,
    live: &RwLock<Live>,
    view: ViewId,
) -> io::Result<Option<Place>> {
    let rows_at = out.offset();
    let mut writer = RowWriter::new();
    let mut cursor = Cursor::default();
    while !cursor.done {
        // Copied under the lock, written after it: the disk may make us wait, readers and writers must not.
        let rows = live.read().view_rows(view, &mut cursor, LOCKED_ROWS);
        for (player, record) in &rows {
            writer.push(out, player, *record)?;
        }
    }
    writer.flush(out)?;
    Live::end_view(live, view);
    let (rows, end) = (writer.rows, out.offset());
    Ok((rows > 0).then_some(Place { board, season, rows, rows_at, end }))
}

/// A checkpoint that was read.
pub(crate) struct Loaded {
    pub(crate) position: u64,
    pub(crate) catalog: Catalog,
}

impl Loaded {
    /// What there is before the first record.
    pub(crate) fn empty(position: u64) -> Self {
        Self { position, catalog: Catalog::default() }
    }
}

/// Loads the newest checkpoint, if there is any.
pub(crate) fn load(disk: &dyn Disk) -> io::Result<Option<Loaded>> {
    let Some(name) = newest(disk)? else { return Ok(None) };
    let file = disk.open(&format!("{DIR}/{name}"))?;
    load_file(file.as_ref())
        .map(Some)
        .map_err(|error| io::Error::new(error.kind(), format!("{DIR}/{name}: {error}")))
}

/// The name of the newest checkpoint.
pub(crate) fn newest(disk: &dyn Disk) -> io::Result<Option<String>> {
    let files = match disk.list(DIR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        files => files?,
    };
    let names = files.into_iter().map(|file| file.name);
    Ok(names.filter(|name| name.ends_with(ENDING)).max())
}

fn load_file(file: &dyn DiskFile) -> io::Result<Loaded> {
    let size = file.size()?;
    if size < (HEADER + TRAILER) as u64 {
        return Err(invalid("shorter than an empty checkpoint"));
    }
    let mut header = [0; HEADER];
    file.read_at(&mut header, 0)?;
    let (body, crc) = header.split_last_chunk::<4>().expect("the header is longer");
    if !body.starts_with(MAGIC) {
        return Err(invalid("not a checkpoint"));
    }
    if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
        return Err(invalid("the header's checksum does not match"));
    }
    let position = u64::from_le_bytes(*body.last_chunk::<8>().expect("the position is last"));
    let directory = read_directory(file, size)?;
    let catalog = load_standings(file, &directory)?;
    Ok(Loaded { position, catalog })
}

fn load_standings(file: &dyn DiskFile, directory: &[u8]) -> io::Result<Catalog> {
    let Directory { image, standings } =
        postcard::from_bytes(directory).map_err(|error| invalid(error.to_string()))?;
    let catalog = Catalog::from_image(image);
    for place in &standings {
        let index = load_standing(file, place)?;
        if let Some(live) = catalog.live(place.board, place.season) {
            *live.write() = Live::from_index(index);
        }
    }
    Ok(catalog)
}

fn read_directory(file: &dyn DiskFile, size: u64) -> io::Result<Vec<u8>> {
    let mut trailer = [0; TRAILER];
    file.read_at(&mut trailer, size - TRAILER as u64)?;
    let (at, rest) = trailer.split_first_chunk().expect("the trailer is longer");
    let (length, crc) = rest.split_first_chunk().expect("the trailer is longer");
    let (at, length) = (u64::from_le_bytes(*at), u32::from_le_bytes(*length));
    if at.checked_add(u64::from(length) + TRAILER as u64) != Some(size) {
        return Err(invalid("the directory is not where the trailer says"));
    }
    let mut bytes = vec![0; length as usize];
    file.read_at(&mut bytes, at)?;
    if crc32fast::hash(&bytes).to_le_bytes() != crc {
        return Err(invalid("the directory's checksum does not match"));
    }
    Ok(bytes)
}

fn load_standing(file: &dyn DiskFile, place: &Place) -> io::Result<RankIndex> {
    let mut reader = RowReader::new(file, place.rows_at, place.end);
    let expected = usize::try_from(place.rows).unwrap_or(0);
    let build = |rows: &mut dyn Iterator<Item = Vec<(CompactString, IndexRecord)>>| {
        RankIndex::from_sorted(rows.flatten(), expected)
            .map_err(|error| invalid(format!("rows are not in order: {error}")))
    };
    if expected <= SCAN_ROWS {
        let mut rows = Vec::new();
        while let Some(piece) = next_rows(&mut reader, expected)? {
            rows.push(piece);
        }
        return build(&mut rows.into_iter());
    }
    // Another thread reads, checks and decodes while this one builds the index: either keeps a core busy.
    let (send, rows) = mpsc::sync_channel(DECODED_AHEAD);
    thread::scope(|scope| {
        let decoded = scope.spawn(move || {
            while let Some(piece) = next_rows(&mut reader, SCAN_ROWS)? {
                if send.send(piece).is_err() {
                    // Whoever builds has met a row out of order, and says so.
                    break;
                }
            }
            Ok::<(), io::Error>(())
        });
        let index = build(&mut rows.into_iter());
        decoded.join().expect("decoding does not panic").and(index)
    })
}

/// The next rows, some thousand, with room for so many at first; none at the end.
fn next_rows(
    reader: &mut RowReader<'_>,
    room: usize,
) -> io::Result<Option<Vec<(CompactString, IndexRecord)>>> {
    let mut rows = Vec::with_capacity(room);
    while rows.len() < SCAN_ROWS
        && let Some((player, record)) = reader.next()?
    {
        rows.push((CompactString::from(player), record));
    }
    Ok((!rows.is_empty()).then_some(rows))
}

fn name(position: u64) -> String {
    format!("{position:020}{ENDING}")
}

fn remove_others(disk: &dyn Disk, position: u64) -> io::Result<()> {
    let keep = name(position);
    for file in disk.list(DIR)? {
        if file.name != keep {
            disk.remove(&format!("{DIR}/{}", file.name))?;
        }
    }
    disk.sync_dir(DIR)
}
