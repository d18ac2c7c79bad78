//! The bytes of a segment: its header, its frames, and where its valid part ends.
//!
//! `docs/format.md` has the same as tables, for readers in other languages. All integers are
//! little-endian.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The version of everything in a data directory, not of the log alone: it is looked at before anything else is read.
pub(super) const VERSION: u16 = 3;
pub(super) const SEGMENT_HEADER: usize = 32;
pub(super) const FRAME_HEADER: usize = 28;

const MAGIC: [u8; 8] = *b"STANDLOG";

/// What a segment's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) version: u16,
    /// Seeds the checksum of every frame in the segment. Without it a player could send a name
    /// that, found in a torn payload, passes for a frame and keeps the server from starting.
    pub(super) salt: u32,
    pub(super) first_seq: u64,
}

impl SegmentHeader {
    pub(super) fn new(first_seq: u64) -> Self {
        let salt = RandomState::new().build_hasher().finish().to_le_bytes();
        Self { version: VERSION, salt: u32_at(&salt, 0), first_seq }
    }

    pub(super) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.salt.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_seq.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// `None` if these are not the bytes of a header. Every version keeps this layout of the first
    /// 32 bytes, so a damaged header is never mistaken for that of another version.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SEGMENT_HEADER)?;
        let intact = bytes[..8] == MAGIC && crc32fast::hash(&bytes[..28]) == u32_at(bytes, 28);
        intact.then(|| Self {
            version: u16::from_le_bytes([bytes[8], bytes[9]]),
            salt: u32_at(bytes, 12),
            first_seq: u64_at(bytes, 16),
        })
    }
}

/// One group of records, borrowed from the segment's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The sequence number of its first record; record `i` has `first_seq + i`.
    pub first_seq: u64,
    /// How many records it has.
    pub count: u32,
    /// Every record before this number was durable when the frame was written.
    pub durable_seq: u64,
    /// The records, as they were given to `append`.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The sequence number after its last record.
    pub fn next_seq(&self) -> u64 {
        self.first_seq + u64::from(self.count)
    }

    /// Its length in the file.
    pub(super) fn bytes(&self) -> usize {
        FRAME_HEADER + self.payload.len()
    }

    /// Appends its bytes to `buffer`. The payload must be shorter than 4 GiB.
    pub(super) fn encode(&self, salt: u32, buffer: &mut Vec<u8>) {
        let length = u32::try_from(self.payload.len()).expect("append bounds the payload");
        let start = buffer.len();
        buffer.extend_from_slice(&length.to_le_bytes());
        buffer.extend_from_slice(&[0; 4]);
        buffer.extend_from_slice(&self.first_seq.to_le_bytes());
        buffer.extend_from_slice(&self.durable_seq.to_le_bytes());
        buffer.extend_from_slice(&self.count.to_le_bytes());
        buffer.extend_from_slice(self.payload);
        let checksum = checksum(salt, &buffer[start..]);
        buffer[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// The frame at the start of `bytes`.
    pub(super) fn decode(salt: u32, bytes: &'a [u8]) -> Result<Self, &'static str> {
        if bytes.len() < FRAME_HEADER {
            return Err("the file ends within a frame's header");
        }
        let (first_seq, durable_seq) = (u64_at(bytes, 8), u64_at(bytes, 16));
        let count = u32_at(bytes, 24);
        if count == 0 || durable_seq > first_seq || first_seq.checked_add(count.into()).is_none() {
            return Err("not a frame's header");
        }
        let end = FRAME_HEADER.saturating_add(u32_at(bytes, 0) as usize);
        let Some(frame) = bytes.get(..end) else {
            return Err("the frame's length goes beyond the end of the file");
        };
        if checksum(salt, frame) != u32_at(frame, 4) {
            return Err("checksum mismatch");
        }
        Ok(Self::trusted(frame))
    }

    /// The frame in exactly these bytes, which have been checked.
    pub(super) fn trusted(bytes: &'a [u8]) -> Self {
        Self {
            first_seq: u64_at(bytes, 8),
            count: u32_at(bytes, 24),
            durable_seq: u64_at(bytes, 16),
            payload: &bytes[FRAME_HEADER..],
        }
    }
}

/// Covers everything in the frame but the checksum itself.
fn checksum(salt: u32, frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    hasher.update(&frame[..4]);
    hasher.update(&frame[8..]);
    hasher.finalize()
}

/// How far a segment's bytes are a sequence of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Valid {
    /// From here to `end` nothing is known to have been durable: the file may show bytes that are
    /// only in memory. A frame vouches for the header, and for the frames before its `durable_seq`.
    pub(super) unproven: usize,
    /// Where the last valid frame ends.
    pub(super) end: usize,
    /// The sequence number after the last valid frame.
    pub(super) next_seq: u64,
    /// Why there is no frame at `end`, if something else than zeros follows.
    pub(super) stop: Option<&'static str>,
}

/// Walks the frames of a segment.
pub(super) fn walk(header: &SegmentHeader, bytes: &[u8]) -> Valid {
    let (mut end, mut next_seq) = (SEGMENT_HEADER, header.first_seq);
    let mut durable_seq = header.first_seq;
    let stop = loop {
        match frame_at(header.salt, bytes, end, next_seq) {
            Ok(frame) => {
                end += frame.bytes();
                next_seq = frame.next_seq();
                durable_seq = frame.durable_seq;
            }
            Err(reason) => break (!is_zero(&bytes[end..])).then_some(reason),
        }
    };
    let mut unproven = if end == SEGMENT_HEADER { 0 } else { SEGMENT_HEADER };
    while (SEGMENT_HEADER..end).contains(&unproven) {
        match Frame::decode(header.salt, &bytes[unproven..end]) {
            Ok(frame) if frame.first_seq < durable_seq => unproven += frame.bytes(),
            _ => break,
        }
    }
    Valid { unproven, end, next_seq, stop }
}

/// The frame at an offset, if it is valid and continues the sequence.
pub(super) fn frame_at(
    salt: u32,
    bytes: &[u8],
    at: usize,
    expected_seq: u64,
) -> Result<Frame<'_>, &'static str> {
    let frame = Frame::decode(salt, &bytes[at..])?;
    if frame.first_seq == expected_seq {
        Ok(frame)
    } else {
        Err("a frame that does not continue the sequence")
    }
}

/// Looks from `valid.end` on for a frame that was written when the record missing there was already
/// durable, and returns its offset. If there is one, the bytes at `end` were lost after they
/// had been durable: no power cut does that.
pub(super) fn proof_of_damage(
    header: &SegmentHeader,
    bytes: &[u8],
    valid: &Valid,
) -> Option<usize> {
    let candidates = valid.end..bytes.len().saturating_sub(FRAME_HEADER - 1);
    candidates.into_iter().find(|&at| {
        // The cheap comparison comes first: nearly no offset passes it, so that few checksums are
        // computed.
        u64_at(bytes, at + 16) > valid.next_seq && Frame::decode(header.salt, &bytes[at..]).is_ok()
    })
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes everything");
            text
        })
    }

    /// The example of `docs/format.md`, computed by another program.
    #[test]
    fn version_three_is_these_bytes() {
        let header = SegmentHeader { version: 3, salt: 0x0102_0304, first_seq: 902 };
        assert_eq!(
            hex(&header.encode()),
            "5354414e444c4f4703000000040302018603000000000000000000005b9d0037"
        );
        let frame = Frame { first_seq: 902, count: 3, durable_seq: 900, payload: b"hello" };
        let mut bytes = Vec::new();
        frame.encode(header.salt, &mut bytes);
        assert_eq!(
            hex(&bytes),
            "05000000864a94e7860300000000000084030000000000000300000068656c6c6f"
        );
        assert_eq!(SegmentHeader::decode(&header.encode()), Some(header));
        assert_eq!(Frame::decode(header.salt, &bytes), Ok(frame));
    }
}
