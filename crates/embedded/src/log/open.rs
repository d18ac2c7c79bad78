//! Looking at a log as it was found, without changing it, and then making it ready to write.

use std::io;

use crate::files::disk::{Disk, DiskFile};
use crate::log::error::LogError;
use crate::log::format::{self, SEGMENT_HEADER, SegmentHeader, VERSION, Valid};
use crate::log::{DIR, LogOptions, Repair, Segment};

/// A log as it was found. Everything that can be refused has been when this exists.
pub(super) struct Survey {
    /// All segments but the last.
    pub(super) sealed: Vec<Segment>,
    pub(super) last: Last,
    pub(super) first_seq: u64,
    pub(super) next_seq: u64,
}

/// The segment that will be written to.
pub(super) enum Last {
    /// To be created, over a half-made one (of so many bytes) if there is one.
    Missing { half_made: Option<u64> },
    /// Found, with its content.
    Found { header: SegmentHeader, bytes: Vec<u8>, valid: Valid },
}

impl Survey {
    pub(super) fn new(disk: &dyn Disk, options: &LogOptions) -> Result<Self, LogError> {
        let mut first_seqs = Vec::new();
        for file in disk.list(DIR).map_err(LogError::io(DIR, "list the segments"))? {
            first_seqs.extend(parse_name(&file.name));
        }
        let first_seq = first_seqs.first().copied().unwrap_or(options.start_seq);
        let mut survey = Self {
            sealed: Vec::new(),
            last: Last::Missing { half_made: None },
            first_seq,
            next_seq: first_seq,
        };
        for (i, &first_seq) in first_seqs.iter().enumerate() {
            survey.visit(disk, first_seq, i + 1 == first_seqs.len())?;
        }
        if survey.next_seq < options.must_reach {
            let (next_seq, must_reach) = (survey.next_seq, options.must_reach);
            return Err(LogError::Short { next_seq, must_reach });
        }
        Ok(survey)
    }

    fn visit(&mut self, disk: &dyn Disk, first_seq: u64, is_last: bool) -> Result<(), LogError> {
        let file = segment_path(first_seq);
        if first_seq != self.next_seq {
            let offset = self.sealed.last().map_or(0, |before| before.bytes);
            return Err(LogError::Gap { file, offset, expected: self.next_seq, found: first_seq });
        }
        let bytes = disk.read(&file).map_err(LogError::io(&file, "read it"))?;
        let Some(header) = read_header(&file, first_seq, &bytes)? else {
            // A crash while the segment was being made. The name has all that the header had, and
            // frames come only after a header that is durable.
            if is_last && format::is_zero(bytes.get(SEGMENT_HEADER..).unwrap_or_default()) {
                self.last = Last::Missing { half_made: Some(bytes.len() as u64) };
                return Ok(());
            }
            let reason = "the header is not that of a log segment".into();
            return Err(LogError::Damaged { file, offset: 0, reason });
        };
        let valid = format::walk(&header, &bytes);
        if let Some(reason) = valid.stop {
            let offset = valid.end as u64;
            let proof = format::proof_of_damage(&header, &bytes, &valid);
            let why = match proof {
                _ if !is_last => "the segment was complete before the next one was begun".into(),
                Some(at) => format!("frames after it are intact (one at offset {at})"),
                None => String::new(),
            };
            if !why.is_empty() {
                let reason = format!("{reason}; {why}, so this is not a torn tail");
                return Err(LogError::Damaged { file, offset, reason });
            }
        }
        self.next_seq = valid.next_seq;
        if is_last {
            self.last = Last::Found { header, bytes, valid };
        } else {
            let bytes = valid.end as u64;
            self.sealed.push(Segment { first_seq, next_seq: valid.next_seq, bytes });
        }
        Ok(())
    }

    /// What opening would drop, if anything.
    pub(super) fn repair(&self) -> Option<Repair> {
        match &self.last {
            Last::Missing { half_made } => half_made.map(|dropped_bytes| Repair {
                file: segment_path(self.next_seq),
                offset: 0,
                dropped_bytes,
            }),
            Last::Found { header, bytes, valid } => valid.stop.map(|_| {
                // Zeros at the end were prepared, not written: they are no loss to report.
                let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                Repair {
                    file: segment_path(header.first_seq),
                    offset: valid.end as u64,
                    dropped_bytes: (used - valid.end) as u64,
                }
            }),
        }
    }
}

/// Refuses a log that was written by a build of another format.
pub(super) fn check_version(disk: &dyn Disk) -> Result<(), LogError> {
    let files = disk.list(DIR).map_err(LogError::io(DIR, "list the segments"))?;
    let Some(oldest) = files.iter().find_map(|file| parse_name(&file.name)) else { return Ok(()) };
    let path = segment_path(oldest);
    let file = disk.open(&path).map_err(LogError::io(&path, "open it"))?;
    let mut bytes = [0; SEGMENT_HEADER];
    // One that is too short was never finished.
    if file.read_at(&mut bytes, 0).is_err() {
        return Ok(());
    }
    read_header(&path, oldest, &bytes).map(drop)
}

/// The header of a segment, `None` if the bytes are not one.
pub(super) fn read_header(
    file: &str,
    first_seq: u64,
    bytes: &[u8],
) -> Result<Option<SegmentHeader>, LogError> {
    let Some(header) = SegmentHeader::decode(bytes) else { return Ok(None) };
    if header.version != VERSION {
        return Err(LogError::OtherVersion { file: file.into(), version: header.version });
    }
    if header.first_seq != first_seq {
        let reason = format!("the header is that of the segment of record {}", header.first_seq);
        return Err(LogError::Damaged { file: file.into(), offset: 0, reason });
    }
    Ok(Some(header))
}

/// Makes a segment that was found ready to append to: all that follows the valid frames is cut off,
/// and all that was read is durable.
pub(super) fn make_ready(
    disk: &dyn Disk,
    path: &str,
    bytes: &[u8],
    valid: &Valid,
) -> io::Result<Box<dyn DiskFile>> {
    let file = disk.open(path)?;
    // Zeros ahead go as well. They may be what the last run left of a write that failed and whose
    // removal failed too: seen as zeros, but on disk still the frame that it was.
    file.set_len(valid.end as u64)?;
    // What the last run wrote but did not sync is about to be replayed and shown, so it must be
    // durable first. A sync alone would not do: if one failed in the last run, the kernel holds
    // those pages as clean and would not write them again. Writing the same bytes dirties them.
    if valid.unproven < valid.end {
        file.write_at(&bytes[valid.unproven..valid.end], valid.unproven as u64)?;
    }
    file.sync()?;
    Ok(file)
}

/// Creates a segment durably. If that fails, what is left is a file with at most its header, or a
/// removal that is not durable: harmless as long as the segment before it does not grow.
pub(super) fn create_segment(
    disk: &dyn Disk,
    header: &SegmentHeader,
) -> io::Result<Box<dyn DiskFile>> {
    let path = segment_path(header.first_seq);
    let create = || {
        let file = disk.create(&path)?;
        file.write_at(&header.encode(), 0)?;
        file.sync()?;
        disk.sync_dir(DIR)?;
        Ok(file)
    };
    create().inspect_err(|_| {
        let _ = disk.remove(&path);
    })
}

pub(super) fn segment_path(first_seq: u64) -> String {
    format!("{DIR}/{first_seq:020}.log")
}

fn parse_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    let proper = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if proper { digits.parse().ok() } else { None }
}
