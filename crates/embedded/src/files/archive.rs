//! Frozen standings: closed seasons and snapshots as immutable files that cost no memory.
//!
//! ```text
//! header   magic, rows u64, slots u64, text bytes u64, checksums of the three parts, crc
//! rows     32 bytes each in rank order: folded score i64, at i64, updated i64, text offset u64
//! slots    u32 each: a hash table from player to row + 1, 0 where empty, linear probing
//! text     for each row: id length u8, flags u8, name length u16, streak u32 (flag 1), official rank u32 (flag 2), id, name
//! ```
//!
//! A row without an id is of a player who was erased: the others keep their ranks. Of who was taken off since, the log says which
//! rows they are ([`FrozenFile::removed`]), and ranks close up over them. They also keep them when their board's tie rule
//! changes: what the log says of the file ([`FrozenFile`]) has the one that held.
//!
//! All numbers are little endian. A position is an address, a player is one or two probes, a score is a binary search. The
//! operating system's cache of pages is the only cache. A file is written whole under a name that was never used before and
//! shows only when a record in the log names it; changing one means writing another.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
    ops::ControlFlow,
    sync::Arc,
};

use parking_lot::Mutex;
use standings_core::{
    Found, IndexRecord, Millis, Name, Position, Score, SortKey,
    board::Ties,
    standing::{Size, Standing},
};

use crate::{
    files::{
        disk::{Disk, DiskFile},
        rows::invalid,
        writing::{NewFile, checksum},
    },
    record::{BoardNo, ErasureNo, FrozenFile, SeasonNo},
    state::erasures::Hidden,
};
use standings_engine::StreakCount;

pub(crate) const DIR: &str = "frozen";
const MAGIC: &[u8; 8] = b"STDGFRZN";
const HEADER: usize = 8 + 3 * 8 + 3 * 4 + 4;
const ROW: usize = 32;
const TEXT_HEADER: usize = 4;
const HAS_STREAK: u8 = 1;
const HAS_OFFICIAL: u8 = 2;
/// Rows read at once when scanning.
const SCAN_ROWS: u64 = 256;
/// Files kept open: whoever looks at last week's ranking looks at the same few.
const OPEN_FILES: usize = 256;

/// Writes a frozen standing row by row.
pub(crate) struct FrozenWriter<'a> {
    rows: crate::files::writing::Writer<'a>,
    text: crate::files::writing::Writer<'a>,
    slots: Vec<u32>,
    count: u32,
    expected: u64,
    text_at: u64,
    total: i128,
    holes: Vec<u64>,
    streaks: BTreeMap<u32, u64>,
    official: bool,
}

/// A row of a frozen standing.
#[derive(Clone, Copy)]
pub(crate) struct FrozenRow<'a> {
    /// Who; empty for a player who was erased.
    pub(crate) player: &'a str,
    /// The name of that time.
    pub(crate) name: Option<&'a str>,
    pub(crate) record: IndexRecord,
    /// Consecutive seasons with success up to this one.
    pub(crate) streak: u32,
    /// The rank that someone else gave.
    pub(crate) official_rank: Option<u32>,
}

/// Writes a frozen standing of exactly `players` rows, which `fill` pushes in order, with the tie rule that holds.
/// Returns what the record in the log says of it.
pub(crate) fn write(
    disk: &Arc<dyn Disk>,
    name: String,
    ties: Ties,
    players: u64,
    fill: impl FnOnce(&mut FrozenWriter<'_>) -> io::Result<()>,
) -> io::Result<FrozenFile> {
    if players == 0 {
        return Ok(FrozenFile::default());
    }
    disk.create_dir(DIR)?;
    // Two thirds full at most: a probe or two finds a player.
    let slots = players + players / 2 + 1;
    let rows_at = HEADER as u64;
    let slots_at = rows_at + players * ROW as u64;
    let text_at = slots_at + slots * 4;
    let new = NewFile::create(Arc::clone(disk), DIR, name.clone())?;
    let slot_count = usize::try_from(slots).map_err(|_| invalid("too many rows"))?;
    let mut writer = FrozenWriter {
        rows: new.writer(rows_at),
        text: new.writer(text_at),
        slots: vec![0; slot_count],
        count: 0,
        expected: players,
        text_at,
        total: 0,
        holes: Vec::new(),
        streaks: BTreeMap::new(),
        official: false,
    };
    fill(&mut writer)?;
    if u64::from(writer.count) != players {
        return Err(invalid(format!("{} rows came where {players} were announced", writer.count)));
    }
    let FrozenWriter { rows, text, slots: table, total, holes, streaks, official, .. } = writer;
    let text_bytes = text.offset() - text_at;
    let mut out = new.writer(slots_at);
    for slot in &table {
        out.write(&slot.to_le_bytes())?;
    }
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    for number in [players, slots, text_bytes] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    for crc in [rows.finish()?, out.finish()?, text.finish()?] {
        header.extend_from_slice(&crc.to_le_bytes());
    }
    header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    let mut out = new.writer(0);
    out.write(&header)?;
    out.finish()?;
    new.commit()?;
    let streaks = streaks.into_iter().map(|(length, players)| StreakCount { length, players });
    let streaks = streaks.collect();
    let players = players - holes.len() as u64;
    Ok(FrozenFile { name, players, total, ties, holes, official, streaks, ..FrozenFile::default() })
}

impl FrozenWriter<'_> {
    /// Adds the next row in order.
    pub(crate) fn push(&mut self, row: FrozenRow<'_>) -> io::Result<()> {
        if u64::from(self.count) == self.expected {
            return Err(invalid("more rows came than were announced"));
        }
        self.count += 1;
        if row.player.is_empty() {
            self.holes.push(u64::from(self.count) - 1);
        } else {
            self.place(row.player);
            self.total += i128::from(row.record.key.folded);
        }
        let offset = self.text.offset() - self.text_at;
        let IndexRecord { key, updated_at } = row.record;
        for number in [key.folded, key.at.0, updated_at.0, offset.cast_signed()] {
            self.rows.write(&number.to_le_bytes())?;
        }
        self.write_text(row)?;
        if row.streak > 0 {
            *self.streaks.entry(row.streak).or_default() += 1;
        }
        self.official |= row.official_rank.is_some();
        Ok(())
    }

    /// Enters the row that has just been counted into the table of players.
    #[expect(clippy::cast_possible_truncation, reason = "a slot is below the length of a vector")]
    fn place(&mut self, player: &str) {
        let slots = self.slots.len() as u64;
        let mut slot = hash(player) % slots;
        while self.slots[slot as usize] != 0 {
            slot = (slot + 1) % slots;
        }
        self.slots[slot as usize] = self.count;
    }

    fn write_text(&mut self, row: FrozenRow<'_>) -> io::Result<()> {
        let name = row.name.unwrap_or("");
        let id_bytes = u8::try_from(row.player.len()).map_err(|_| invalid("an id is too long"))?;
        let name_bytes = u16::try_from(name.len()).map_err(|_| invalid("a name is too long"))?;
        let streak = (row.streak > 0).then_some((HAS_STREAK, row.streak));
        let official = row.official_rank.map(|rank| (HAS_OFFICIAL, rank));
        let flags = [streak, official].iter().flatten().fold(0, |flags, (flag, _)| flags | flag);
        self.text.write(&[id_bytes, flags])?;
        self.text.write(&name_bytes.to_le_bytes())?;
        for (_, number) in [streak, official].into_iter().flatten() {
            self.text.write(&number.to_le_bytes())?;
        }
        self.text.write(row.player.as_bytes())?;
        self.text.write(name.as_bytes())
    }
}

/// FNV-1a with a final mix: part of the file format, so it is written out here.
fn hash(player: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in player.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^ (hash >> 32)
}

/// The name of a frozen file: the sequence number and the count of names given in this run make it one of its kind.
pub(crate) fn name(board: BoardNo, season: SeasonNo, seq: u64, count: u64) -> String {
    format!("{board}-{season}-{seq}-{count}.standing")
}

/// The number of the record that was next when a file was named; 0 where there is no file.
pub(crate) fn named_at(name: &str) -> u64 {
    name.split('-').nth(2).and_then(|seq| seq.parse().ok()).unwrap_or(0)
}

/// An open frozen standing.
pub(crate) struct Frozen {
    file: Option<Box<dyn DiskFile>>,
    players: u64,
    total: i128,
    /// The tie rule that holds in it.
    pub(crate) ties: Ties,
    /// The places of players who were taken off it: they show no player.
    removed: Vec<u64>,
    /// The rows of players who were erased since, as far as someone has asked, by the number of the erasure.
    erased: Mutex<BTreeMap<ErasureNo, Option<ErasedRow>>>,
    slots: u64,
    text_bytes: u64,
    checksums: [u32; 3],
}

/// A row of a player who was erased since the file was written.
#[derive(Clone, Copy)]
pub(crate) struct ErasedRow {
    pub(crate) position: Position,
    pub(crate) record: IndexRecord,
    pub(crate) streak: u32,
}

struct RawRow {
    record: IndexRecord,
    text: u64,
}

/// What a row says beside its record.
#[derive(Default)]
pub(crate) struct Text {
    /// Who; empty for a player who was erased.
    pub(crate) player: String,
    /// The name of that time.
    pub(crate) name: Option<Name>,
    pub(crate) streak: u32,
    pub(crate) official_rank: Option<u32>,
}

impl Text {
    /// The row as it is written.
    pub(crate) fn row(&self, record: IndexRecord) -> FrozenRow<'_> {
        FrozenRow {
            player: &self.player,
            name: self.name.as_deref(),
            record,
            streak: self.streak,
            official_rank: self.official_rank,
        }
    }
}

impl Frozen {
    pub(crate) fn open(disk: &dyn Disk, frozen: &FrozenFile) -> io::Result<Self> {
        let (FrozenFile { name, total, ties, .. }, players) = (frozen, frozen.rows());
        if name.is_empty() {
            return Ok(Self::without_rows(*ties));
        }
        let in_file =
            |error: io::Error| io::Error::new(error.kind(), format!("{DIR}/{name}: {error}"));
        let file = disk.open(&format!("{DIR}/{name}")).map_err(in_file)?;
        let mut header = [0; HEADER];
        file.read_at(&mut header, 0).map_err(in_file)?;
        let (body, crc) = header.split_last_chunk::<4>().expect("the header is longer");
        if !body.starts_with(MAGIC) || crc32fast::hash(body) != u32::from_le_bytes(*crc) {
            return Err(in_file(invalid("not a frozen standing, or its header is damaged")));
        }
        let number = |i: usize| long(&body[8 + 8 * i..]);
        let crc = |i: usize| {
            u32::from_le_bytes(*body[32 + 4 * i..].first_chunk().expect("three checksums"))
        };
        if number(0) != players {
            return Err(in_file(invalid("it does not have the rows that the ledger says")));
        }
        Ok(Self {
            file: Some(file),
            players,
            total: *total,
            ties: *ties,
            removed: frozen.removed.clone(),
            erased: Mutex::default(),
            slots: number(1),
            text_bytes: number(2),
            checksums: [crc(0), crc(1), crc(2)],
        })
    }

    fn without_rows(ties: Ties) -> Self {
        let (file, removed, erased, checksums) = (None, Vec::new(), Mutex::default(), [0; 3]);
        Self {
            file,
            players: 0,
            total: 0,
            ties,
            removed,
            erased,
            slots: 0,
            text_bytes: 0,
            checksums,
        }
    }

    fn file(&self) -> io::Result<&dyn DiskFile> {
        self.file.as_deref().ok_or_else(|| invalid("an empty standing has no rows to read"))
    }

    fn parts(&self) -> [u64; 4] {
        let rows = HEADER as u64;
        let slots = rows + self.players * ROW as u64;
        let text = slots + self.slots * 4;
        [rows, slots, text, text + self.text_bytes]
    }

    /// Reads every byte and compares the checksums.
    pub(crate) fn verify(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let parts = self.parts();
        for (part, expected) in self.checksums.iter().enumerate() {
            if checksum(file.as_ref(), parts[part], parts[part + 1])? != *expected {
                return Err(invalid(["rows", "slots", "text"][part].to_owned() + " are damaged"));
            }
        }
        Ok(())
    }

    fn raw(&self, position: u64) -> io::Result<RawRow> {
        let mut bytes = [0; ROW];
        self.file()?.read_at(&mut bytes, HEADER as u64 + position * ROW as u64)?;
        parse_row(&bytes)
    }

    /// The text of a row.
    fn text(&self, offset: u64) -> io::Result<Text> {
        // Most texts are short: one read takes header and text.
        let mut bytes = [0; 128];
        let rest = self.text_bytes.checked_sub(offset);
        let rest = rest.filter(|rest| *rest >= TEXT_HEADER as u64);
        let rest = rest.ok_or_else(|| invalid("a row points beyond the text"))?;
        let length = usize::try_from(rest).unwrap_or(128).min(128);
        let start = self.parts()[2] + offset;
        self.file()?.read_at(&mut bytes[..length], start)?;
        let (id, flags) = (usize::from(bytes[0]), bytes[1]);
        let name = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        let numbers = 4 * (flags & (HAS_STREAK | HAS_OFFICIAL)).count_ones() as usize;
        let mut text = bytes[TEXT_HEADER..].to_vec();
        if TEXT_HEADER + numbers + id + name > length {
            text.resize(numbers + id + name, 0);
            self.file()?.read_at(&mut text, start + TEXT_HEADER as u64)?;
        }
        text.truncate(numbers + id + name);
        let mut numbers = text.drain(..numbers).collect::<Vec<u8>>().into_iter();
        let mut number = |flag: u8| {
            let present = flags & flag != 0;
            present
                .then(|| u32::from_le_bytes(std::array::from_fn(|_| numbers.next().unwrap_or(0))))
        };
        let (streak, official_rank) = (number(HAS_STREAK).unwrap_or(0), number(HAS_OFFICIAL));
        // Where a file is damaged, the end of the id may be in the middle of a character.
        let name = text.split_off(id);
        let decoded = |bytes| String::from_utf8(bytes).map_err(|_| invalid("a text is damaged"));
        let (player, name) = (decoded(text)?, decoded(name)?);
        Ok(Text { player, name: Name::new(&name).ok(), streak, official_rank })
    }

    /// What a row says beside its record.
    pub(crate) fn text_at(&self, position: Position) -> io::Result<Text> {
        self.text(self.raw(position.0)?.text)
    }

    /// Whether the player of a place was taken off.
    pub(crate) fn is_removed(&self, position: u64) -> bool {
        !self.removed.is_empty() && self.removed.binary_search(&position).is_ok()
    }

    /// What a row says beside its record; nothing of who was taken off.
    fn shown(&self, position: u64, row: &RawRow) -> io::Result<Text> {
        if self.is_removed(position) {
            return Ok(Text::default());
        }
        self.text(row.text)
    }

    /// A player's row, without its place among equals.
    pub(crate) fn row_of(&self, player: &str) -> io::Result<Option<(Position, IndexRecord, Text)>> {
        if self.players == 0 {
            return Ok(None);
        }
        let slots_at = self.parts()[1];
        let mut slot = hash(player) % self.slots.max(1);
        // A table that is not damaged has an empty slot.
        for _ in 0..self.slots {
            let mut bytes = [0; 4];
            self.file()?.read_at(&mut bytes, slots_at + slot * 4)?;
            let Some(position) = u32::from_le_bytes(bytes).checked_sub(1) else { return Ok(None) };
            let position = u64::from(position);
            let row = self.raw(position)?;
            let text = self.text(row.text)?;
            if text.player == player {
                if self.is_removed(position) {
                    return Ok(None);
                }
                return Ok(Some((Position(position), row.record, text)));
            }
            slot = (slot + 1) % self.slots;
        }
        Err(invalid("the table of players has no end"))
    }

    /// The rows that it has of players who were erased. Each is looked up once, whatever number of readers ask.
    pub(crate) fn erased(&self, hidden: &Hidden) -> io::Result<Vec<ErasedRow>> {
        let mut known = self.erased.lock();
        let mut rows = Vec::new();
        for (number, player) in hidden.numbered() {
            let row = match known.entry(number) {
                Entry::Occupied(row) => *row.get(),
                Entry::Vacant(place) => {
                    let row = self.row_of(player)?;
                    let row = row.map(|(position, record, text)| {
                        let streak = text.streak;
                        ErasedRow { position, record, streak }
                    });
                    *place.insert(row)
                }
            };
            rows.extend(row);
        }
        Ok(rows)
    }

    /// Visits all rows in order, with everything that is known of them.
    pub(crate) fn rows(
        &self,
        mut visitor: impl FnMut(IndexRecord, Text) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut failed = Ok(());
        self.visit_raw(Position(0), &mut |position, row| {
            failed = self.shown(position, &row).and_then(|text| visitor(row.record, text));
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        failed
    }

    fn visit_raw(
        &self,
        from: Position,
        visitor: &mut dyn FnMut(u64, RawRow) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut position = from.0;
        while position < self.players {
            let rows = SCAN_ROWS.min(self.players - position);
            let mut bytes = vec![0; usize::try_from(rows).unwrap_or(0) * ROW];
            self.file()?.read_at(&mut bytes, HEADER as u64 + position * ROW as u64)?;
            for (row, position) in bytes.as_chunks::<ROW>().0.iter().zip(position..) {
                if visitor(position, parse_row(row)?).is_break() {
                    return Ok(());
                }
            }
            position += rows;
        }
        Ok(())
    }

    /// Whether a row of an equal key comes at or before a player. One without an id is where the next one of its key is that has one;
    /// after the last of those it comes after everyone, or rows that do not would be before it.
    fn is_through(&self, position: u64, key: SortKey, player: &str) -> io::Result<bool> {
        for position in position..self.players {
            let row = self.raw(position)?;
            if row.record.key != key {
                break;
            }
            let id = self.text(row.text)?.player;
            if !id.is_empty() {
                return Ok(id.as_bytes() <= player.as_bytes());
            }
        }
        Ok(false)
    }

    fn partition(
        &self,
        mut before: impl FnMut(u64, &RawRow) -> io::Result<bool>,
    ) -> io::Result<Position> {
        let (mut low, mut high) = (0, self.players);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle, &self.raw(middle)?)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(Position(low))
    }
}

fn long(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"))
}

fn parse_row(bytes: &[u8; ROW]) -> io::Result<RawRow> {
    let number = |i: usize| long(&bytes[8 * i..]).cast_signed();
    let time = |i: usize| Millis::new(number(i)).ok_or_else(|| invalid("a time is out of range"));
    let folded = number(0);
    Score::new(folded).ok_or_else(|| invalid("a score is out of range"))?;
    let key = SortKey { folded, at: time(1)? };
    let record = IndexRecord { key, updated_at: time(2)? };
    Ok(RawRow { record, text: number(3).cast_unsigned() })
}

impl Standing for Frozen {
    type Error = io::Error;

    fn size(&self) -> Size {
        Size { players: self.players, total: self.total }
    }

    fn find(&self, player: &str) -> io::Result<Option<Found>> {
        let Some((position, record, _)) = self.row_of(player)? else { return Ok(None) };
        let first_of_score = self.before_score(record.key.folded)?;
        Ok(Some(Found { position, first_of_score, record }))
    }

    fn before_score(&self, folded: i64) -> io::Result<Position> {
        self.partition(|_, row| Ok(row.record.key.folded < folded))
    }

    fn through(&self, key: SortKey, player: &str) -> io::Result<Position> {
        self.partition(|position, row| {
            Ok(match row.record.key.cmp(&key) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Greater => false,
                std::cmp::Ordering::Equal => self.is_through(position, key, player)?,
            })
        })
    }

    fn visit(
        &self,
        from: Position,
        visitor: &mut dyn FnMut(&str, IndexRecord) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut failed = Ok(());
        self.visit_raw(from, &mut |position, row| match self.shown(position, &row) {
            Ok(text) => visitor(&text.player, row.record),
            Err(error) => {
                failed = Err(error);
                ControlFlow::Break(())
            }
        })?;
        failed
    }
}

/// Frozen standings that were looked at lately, open.
pub(crate) struct FrozenFiles {
    disk: Arc<dyn Disk>,
    /// By name, and by how many players were taken off.
    open: quick_cache::sync::Cache<(String, usize), Arc<Frozen>>,
}

impl FrozenFiles {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, open: quick_cache::sync::Cache::new(OPEN_FILES) }
    }

    pub(crate) fn get(&self, file: &FrozenFile) -> io::Result<Arc<Frozen>> {
        let open = || Frozen::open(self.disk.as_ref(), file).map(Arc::new);
        self.open.get_or_insert_with(&key(file), open)
    }

    /// Closes a file of which other places count now, or which is removed: a reader that has it open goes on.
    pub(crate) fn close(&self, file: &FrozenFile) {
        self.open.remove(&key(file));
    }

    /// Removes a file that nothing names any more.
    pub(crate) fn remove(&self, file: &FrozenFile) -> io::Result<()> {
        if file.name.is_empty() {
            return Ok(());
        }
        // In this order: whoever opens it in between does not keep it, and its space, for the others.
        let removed = self.disk.remove(&format!("{DIR}/{}", file.name));
        self.close(file);
        removed
    }
}

fn key(file: &FrozenFile) -> (String, usize) {
    (file.name.clone(), file.removed.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        files::disk::RealDisk,
        state::erasures::{Erased, Erasures},
    };
    use standings_engine::conformance::model::Random;

    #[test]
    fn a_damaged_text_is_an_error_and_nothing_worse() {
        let dir = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(dir.path()).unwrap());
        let key = SortKey { folded: 1, at: Millis(5) };
        let record = IndexRecord { key, updated_at: key.at };
        let row = |player, name| FrozenRow { player, name, record, streak: 0, official_rank: None };
        let file = write(&disk, "f".to_owned(), Ties::Earliest, 2, |writer| {
            writer.push(row("ab", Some("é")))?;
            writer.push(row("c", None))
        });
        let file = file.unwrap();
        let frozen = Frozen::open(disk.as_ref(), &file).unwrap();
        assert_eq!((file.ties, frozen.ties), (Ties::Earliest, Ties::Earliest));
        let name = frozen.row_of("ab").unwrap().unwrap().2.name;
        assert_eq!(name.as_deref(), Some("é"));
        // The id gets one byte of the name, which is half of a character.
        let text_at = frozen.parts()[2];
        disk.open(&format!("{DIR}/f")).unwrap().write_at(&[3], text_at).unwrap();
        let invalid = |error: io::Error| error.kind() == io::ErrorKind::InvalidData;
        assert!(frozen.row_of("ab").is_err_and(invalid));
        assert!(frozen.rows(|_, _| Ok(())).is_err_and(invalid));
        assert!(frozen.verify().is_err_and(invalid));
    }

    #[test]
    fn the_row_of_an_erased_player_is_looked_up_once() {
        let dir = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(dir.path()).unwrap());
        let key = SortKey { folded: 7, at: Millis(5) };
        let record = IndexRecord { key, updated_at: key.at };
        let file = write(&disk, "f".to_owned(), Ties::Share, 2, |writer| {
            ["a", "b"].iter().try_for_each(|player| {
                let (name, streak, official_rank) = (None, 3, None);
                writer.push(FrozenRow { player, name, record, streak, official_rank })
            })
        });
        let frozen = Frozen::open(disk.as_ref(), &file.unwrap()).unwrap();
        let mut erasures = Erasures::default();
        for (player, number) in [("b", 4), ("elsewhere", 5), ("a", 6)] {
            let player = standings_core::PlayerId::new(player).unwrap();
            erasures.insert(&player, Erased { number, at: Millis(9) });
        }
        let hidden = Hidden::since(&Arc::new(erasures), 5).unwrap();
        for damaged in [false, true] {
            if damaged {
                // A later look into the table of players finds none.
                let slots_at = frozen.parts()[1];
                disk.open(&format!("{DIR}/f")).unwrap().write_at(&[0; 16], slots_at).unwrap();
                assert!(frozen.row_of("a").unwrap().is_none());
            }
            let rows = frozen.erased(&hidden).unwrap();
            let rows: Vec<_> =
                rows.iter().map(|r| (r.position.0, r.record.key.folded, r.streak)).collect();
            assert_eq!(rows, [(0, 7, 3)]);
        }
    }

    /// Rows of few keys, so that many are equal, and some of players who were erased.
    fn random_rows(random: &mut Random) -> Vec<(SortKey, String)> {
        let mut rows: Vec<(SortKey, String)> = (0..=random.below(30))
            .map(|n| {
                let at = Millis(random.below(2).cast_signed());
                (SortKey { folded: random.below(3).cast_signed(), at }, format!("p{n:02}"))
            })
            .collect();
        rows.sort();
        for (_, player) in &mut rows {
            if random.one_in(3) {
                player.clear();
            }
        }
        rows
    }

    #[test]
    fn a_page_goes_on_after_its_last_row_wherever_players_were_erased() {
        let dir = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(dir.path()).unwrap());
        let mut random = Random(1);
        for round in 0..200 {
            let rows = random_rows(&mut random);
            let file = write(&disk, round.to_string(), Ties::Share, rows.len() as u64, |writer| {
                rows.iter().try_for_each(|(key, player)| {
                    let record = IndexRecord { key: *key, updated_at: key.at };
                    let (name, streak, official_rank) = (None, 0, None);
                    writer.push(FrozenRow { player, name, record, streak, official_rank })
                })
            });
            let frozen = Frozen::open(disk.as_ref(), &file.unwrap()).unwrap();
            for (key, player) in &rows {
                for last in [player.as_str(), "p15", "p99"] {
                    let through = usize::try_from(frozen.through(*key, last).unwrap().0).unwrap();
                    let shown = |(k, p): &&(SortKey, String)| (*k, p.as_str()) <= (*key, last);
                    let seen = |(_, p): &&(SortKey, String)| !p.is_empty();
                    let (before, after) = rows.split_at(through);
                    assert!(before.iter().filter(seen).all(|row| shown(&row)), "{rows:?} {last}");
                    assert!(!after.iter().filter(seen).any(|row| shown(&row)), "{rows:?} {last}");
                }
            }
        }
    }
}
