//! Rows of a standing as bytes: blocks of rows in order, each with its checksum.
//!
//! Neighbours in a standing are alike, so a row is written as the difference to the one before it, in as few bytes as the
//! difference needs. A block stands alone: the first row of each is written in full.

use std::io;

use standings_core::{IndexRecord, Millis, SortKey};

use crate::files::{disk::DiskFile, writing::Writer};

/// Rows of a block are gathered up to this size.
const BLOCK: usize = 64 << 10;
/// Length and checksum.
const BLOCK_HEADER: usize = 8;

/// Writes rows into blocks.
pub(crate) struct RowWriter {
    block: Vec<u8>,
    previous: [i64; 2],
    pub(crate) rows: u64,
}

impl RowWriter {
    pub(crate) fn new() -> Self {
        Self { block: Vec::with_capacity(BLOCK + 256), previous: [0; 2], rows: 0 }
    }

    pub(crate) fn push(
        &mut self,
        out: &mut Writer<'_>,
        player: &str,
        record: IndexRecord,
    ) -> io::Result<()> {
        let IndexRecord { key: SortKey { folded, at }, updated_at } = record;
        put(&mut self.block, folded - self.previous[0]);
        put(&mut self.block, at.0 - self.previous[1]);
        put(&mut self.block, updated_at.0 - at.0);
        let length = u8::try_from(player.len()).expect("a player id has at most 128 bytes");
        self.block.push(length);
        self.block.extend_from_slice(player.as_bytes());
        self.previous = [folded, at.0];
        self.rows += 1;
        if self.block.len() >= BLOCK { self.flush(out) } else { Ok(()) }
    }

    /// Ends the block that has been begun.
    pub(crate) fn flush(&mut self, out: &mut Writer<'_>) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.block.len()).expect("a block is small");
        out.write(&length.to_le_bytes())?;
        out.write(&crc32fast::hash(&self.block).to_le_bytes())?;
        out.write(&self.block)?;
        self.block.clear();
        self.previous = [0; 2];
        Ok(())
    }
}

/// Reads the rows that lie between two offsets.
pub(crate) struct RowReader<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
    end: u64,
    block: Vec<u8>,
    at: usize,
    previous: [i64; 2],
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(file: &'a dyn DiskFile, from: u64, to: u64) -> Self {
        Self { file, offset: from, end: to, block: Vec::new(), at: 0, previous: [0; 2] }
    }

    /// The next row. The id is borrowed until the one after.
    pub(crate) fn next(&mut self) -> io::Result<Option<(&str, IndexRecord)>> {
        if self.at == self.block.len() && !self.next_block()? {
            return Ok(None);
        }
        let damaged = || invalid("a row ends too early");
        let mut rest = &self.block[self.at..];
        let folded = self.previous[0].wrapping_add(take(&mut rest).ok_or_else(damaged)?);
        let at = self.previous[1].wrapping_add(take(&mut rest).ok_or_else(damaged)?);
        let updated_at = at.wrapping_add(take(&mut rest).ok_or_else(damaged)?);
        let (&length, rest) = rest.split_first().ok_or_else(damaged)?;
        let id = rest.get(..usize::from(length)).ok_or_else(damaged)?;
        self.at = self.block.len() - rest.len() + id.len();
        self.previous = [folded, at];
        let id = std::str::from_utf8(id).map_err(|_| invalid("an id is not text"))?;
        let key = SortKey { folded, at: Millis(at) };
        Ok(Some((id, IndexRecord { key, updated_at: Millis(updated_at) })))
    }

    fn next_block(&mut self) -> io::Result<bool> {
        if self.offset >= self.end {
            return Ok(false);
        }
        let mut header = [0; BLOCK_HEADER];
        self.file.read_at(&mut header, self.offset)?;
        let word =
            |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let (length, crc) = (word(0), word(4));
        if u64::from(length) > self.end - self.offset || length == 0 {
            return Err(invalid("a block is longer than the file"));
        }
        self.block.resize(length as usize, 0);
        self.file.read_at(&mut self.block, self.offset + BLOCK_HEADER as u64)?;
        if crc32fast::hash(&self.block) != crc {
            return Err(invalid("a block's checksum does not match"));
        }
        self.offset += BLOCK_HEADER as u64 + u64::from(length);
        self.at = 0;
        self.previous = [0; 2];
        Ok(true)
    }
}

pub(crate) fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Small numbers of either sign in few bytes: seven bits each, the sign lowest.
fn put(out: &mut Vec<u8>, value: i64) {
    let mut rest = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
    while rest >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "the low seven bits are meant")]
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 0x80")]
    out.push(rest as u8);
}

fn take(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written() {
        for value in [0, 1, -1, 63, -64, 64, 1 << 53, -(1 << 53), i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            let mut rest = &bytes[..];
            assert_eq!((take(&mut rest), rest.len()), (Some(value), 0));
        }
        assert_eq!(take(&mut &[0x80u8][..]), None);
    }
}
