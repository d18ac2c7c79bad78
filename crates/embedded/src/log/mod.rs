//! The log: what the embedded engine knows for certain, in the order in which it was decided.
//!
//! # Structure
//!
//! A log is a sequence of records numbered without gaps. The log does not know what a record is:
//! the sequencer hands it a group of them as one payload, and the group becomes one **frame**,
//! written with one call and made durable with one flush. The frame is the unit of atomicity: after
//! a crash a group is there whole or not at all.
//!
//! ```text
//! log/00000000000000000001.log    [segment header][frame 1..4][frame 5..5] ... [frame 880..901]
//! log/00000000000000000902.log    [segment header][frame 902..930][frame 931..931][zeros ahead]
//! ```
//!
//! Frames live in **segments**, files named by their first record, so that old records can be
//! dropped by removing files. Only the last segment is ever written to. `docs/format.md` has the
//! bytes.
//!
//! # Invariants
//!
//! 1. A segment begins only when all frames of the one before are durable, and gets its first frame
//!    only when its own header and name are. So damage in any but the last segment is never the
//!    trace of a crash, and a header that is damaged while no frame follows always may be. Once a
//!    successor was begun, even in vain, a segment takes no more frames.
//! 2. Every frame carries `durable_seq`: all records before it were durable when the frame was
//!    written.
//! 3. After the last frame come zeros or the end of the file. Whatever else a failed write or a
//!    crash leaves there is cut off, durably, before the next frame is written.
//! 4. Segments are removed oldest first, each removal durable before the next, so the ones that
//!    remain are always consecutive.
//! 5. What [`Log::open`] found is durable when it returns, even if the last run had not synced it:
//!    readers will be shown it (guarantee 2).
//!
//! # Torn tail or damage
//!
//! Bytes that are no valid frame in the last segment are either an unfinished write, to be cut off,
//! or acknowledged records that went bad, which must not be dropped in silence. "Nothing valid
//! follows" is not enough to tell them apart: with `durability = "interval"` many frames wait for
//! one flush, and the disk may have kept a later one without an earlier one. Invariant 2 decides it
//! for both modes: the bytes are damage **iff** some later valid frame has a `durable_seq` beyond
//! the record that is missing, because that frame says that the record was once durable. Otherwise
//! nothing says that it ever was, and everything from there on goes.
//!
//! What remains undecidable is damage to the very last flush, which no later frame vouches for.
//! Views that have durably passed a record do: their position goes into [`LogOptions::must_reach`],
//! and a log that ends before it is refused before anything is cut. (Feed views only what was
//! synced.)
//!
//! The search for a later frame looks at every byte, payloads included, and payloads contain what
//! players send. So that nobody can send a name that looks like a frame, checksums are seeded with
//! a random salt from the segment's header, which never leaves the machine.
//!
//! # Failing
//!
//! | what fails | answer | then |
//! |---|---|---|
//! | a write, e.g. no space | `NotApplied` | the segment is cut back, durably; appending goes on |
//! | making a new segment | `NotApplied` | the next append tries again |
//! | a sync, or cutting back | `Unknown` | poisoned: refuses to write until opened anew |
//!
//! Why a failed sync is not tried again: the kernel reports a lost page once, marks it clean and
//! forgets it. The second `fdatasync` succeeds without the data being anywhere but in memory
//! (`PostgreSQL` found this in 2018; it is known as fsyncgate). For the same reason opening does
//! not merely sync what an earlier run may have left unsynced but writes those same bytes again
//! first.
//!
//! # Costs
//!
//! An append is one copy into a reused buffer, one checksum and one `pwrite`; a sync is one
//! `fdatasync`. 28 bytes a group are overhead. Opening reads every segment once, one at a time in
//! memory; searching for a later frame happens only if there is an invalid one.
//!
//! The unusual part is **zeros ahead**: a write that does not fit into the file also writes
//! [`LogOptions::ahead_bytes`] of zeros behind the frame. Then the next few hundred appends
//! overwrite bytes that exist, the flush has no new length or block to put into the file system's
//! journal, and takes half the time. Measured on ext4 on a virtual disk, groups of 64 records of 60
//! bytes, 2,560 flushes each, taking turns every 128 so that noise hits all alike:
//!
//! | | groups a second | mean | median | p99 |
//! |---|---|---|---|---|
//! | plain append | 2,687 | 372 µs | 371 µs | 537 µs |
//! | zeros ahead, 256 KiB | 5,252 | 190 µs | 175 µs | 761 µs |
//! | zeros ahead, 1 MiB | 5,054 | 197 µs | 182 µs | 351 µs |
//! | zeros ahead, 4 MiB | 4,668 | 214 µs | 199 µs | 362 µs |
//!
//! Two more runs gave 2.0 and 1.9 times the groups a second for 1 MiB, the size taken for its p99.
//! It doubles the bytes written, which was not the limit. Extending the file without writing
//! (`fallocate`, `set_len`) gained less in a first, noisier run: the blocks are there, but the
//! journal still has to note that each is now in use.

mod error;
mod format;
mod open;
mod reader;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::files::disk::{Disk, DiskFile};
pub use error::{LogError, WriteError};
pub use format::Frame;
use format::{SEGMENT_HEADER, SegmentHeader};
use open::{Last, Survey, create_segment, segment_path};
pub use reader::LogReader;

/// The directory of the segments within the data directory.
pub const DIR: &str = "log";

/// The longest payload of one frame. Far above any group, far below the format's 4 GiB: a group
/// this long is a mistake of the caller, and replay must hold it in memory.
pub const MAX_PAYLOAD_BYTES: usize = 256 << 20;

/// How the log is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// A new segment begins when the next frame would make this one longer. Smaller segments give
    /// back space sooner and cost a few more file syncs; a frame longer than this gets its own.
    pub segment_bytes: u64,
    /// How many zeros to write ahead of the frames; 0 for none.
    pub ahead_bytes: u64,
    /// The first record's number, where there is no log yet.
    pub start_seq: u64,
    /// Everything before this record is known to have been durable (a view has durably passed it).
    /// A log that ends earlier is refused instead of repaired.
    pub must_reach: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, ahead_bytes: 1 << 20, start_seq: 1, must_reach: 0 }
    }
}

/// A log that was opened, and what was found.
pub struct Opened {
    /// The log, ready to append.
    pub log: Log,
    /// What had to be cut off, if anything: the trace of a crash.
    pub repaired: Option<Repair>,
    /// The oldest record in the log (or the next one, if it is empty).
    pub first_seq: u64,
    /// The number that the next record gets.
    pub next_seq: u64,
}

/// The unfinished write that a crash left at the end of the log: never acknowledged, now cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The segment.
    pub file: String,
    /// Where the unfinished write began.
    pub offset: u64,
    /// How many bytes of it there were.
    pub dropped_bytes: u64,
}

/// A segment, for copying and for counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its first record.
    pub first_seq: u64,
    /// The record after its last.
    pub next_seq: u64,
    /// Its length up to the end of its last frame. The file may have zeros beyond it.
    pub bytes: u64,
}

impl Segment {
    /// Its path within the data directory.
    pub fn path(&self) -> String {
        segment_path(self.first_seq)
    }
}

/// The log. It has one owner, who appends and syncs; readers are made from it and go their own way.
pub struct Log {
    disk: Arc<dyn Disk>,
    options: LogOptions,
    /// All segments but the active one, oldest first.
    sealed: Vec<Segment>,
    active: Active,
    next_seq: u64,
    durable_seq: u64,
    /// A new segment could not be made. The next append must make it even if its frame would fit
    /// into this one: what is left of the failed attempt may reappear after a crash, and must then
    /// still begin where this segment ends.
    must_roll: bool,
    /// Set once and for good by a failure that leaves the end of the log unknown.
    poisoned: bool,
    /// Reused by every append.
    buffer: Vec<u8>,
}

/// The segment that is written to.
struct Active {
    file: Box<dyn DiskFile>,
    header: SegmentHeader,
    /// Where the last frame ends and the next begins.
    end: u64,
    /// The length of the file: from `end` to here it is zeros.
    ahead: u64,
}

impl Log {
    /// Opens the log, creating it if there is none. A torn tail is cut off and reported; damage is
    /// refused with the file and the offset.
    pub fn open(disk: Arc<dyn Disk>, options: LogOptions) -> Result<Opened, LogError> {
        disk.create_dir(DIR).map_err(LogError::io(DIR, "create the directory"))?;
        let survey = Survey::new(disk.as_ref(), &options)?;
        let repaired = survey.repair();
        let (first_seq, next_seq) = (survey.first_seq, survey.next_seq);
        let active = match survey.last {
            Last::Missing { .. } => Active::create(disk.as_ref(), next_seq)
                .map_err(LogError::io(&segment_path(next_seq), "create it"))?,
            Last::Found { header, bytes, valid } => {
                let path = segment_path(header.first_seq);
                let file = open::make_ready(disk.as_ref(), &path, &bytes, &valid)
                    .map_err(LogError::io(&path, "make its end durable"))?;
                let end = valid.end as u64;
                Active { file, header, end, ahead: end }
            }
        };
        // The last run may have been killed between making a name and syncing it.
        disk.sync_dir(DIR).map_err(LogError::io(DIR, "sync the directory"))?;
        let (sealed, buffer) = (survey.sealed, Vec::new());
        let log = Self {
            disk,
            options,
            sealed,
            active,
            next_seq,
            durable_seq: next_seq,
            must_roll: false,
            poisoned: false,
            buffer,
        };
        Ok(Opened { log, repaired, first_seq, next_seq })
    }

    /// Makes an empty log on a disk that has none, whose first record will be `seq`: for a copy that begins where another
    /// log ended.
    pub(crate) fn begin(disk: &dyn Disk, seq: u64) -> std::io::Result<()> {
        disk.create_dir(DIR)?;
        Active::create(disk, seq).map(drop)
    }

    /// Refuses a data directory of another format. Its oldest segment tells, since nothing is ever converted.
    pub(crate) fn check_version(disk: &dyn Disk) -> Result<(), LogError> {
        disk.create_dir(DIR).map_err(LogError::io(DIR, "create the directory"))?;
        open::check_version(disk)
    }

    /// Looks at a log without changing it: the segments, and what opening would cut off.
    pub fn check(
        disk: &dyn Disk,
        options: &LogOptions,
    ) -> Result<(Vec<Segment>, Option<Repair>), LogError> {
        let survey = Survey::new(disk, options)?;
        let repair = survey.repair();
        let mut segments = survey.sealed;
        if let Last::Found { header, valid, .. } = survey.last {
            let (first_seq, next_seq) = (header.first_seq, valid.next_seq);
            segments.push(Segment { first_seq, next_seq, bytes: valid.end as u64 });
        }
        Ok((segments, repair))
    }

    /// Writes a group of `count` records (at least one) and returns their sequence numbers. They
    /// are durable after the next [`sync`](Self::sync). Fails with `Unknown` only if the log is
    /// poisoned by it.
    pub fn append(&mut self, count: u32, payload: &[u8]) -> Result<Range<u64>, WriteError> {
        assert!(count > 0, "a group has at least one record");
        if self.poisoned {
            return Err(WriteError::Poisoned);
        }
        if payload.len() > MAX_PAYLOAD_BYTES {
            let (bytes, limit) = (payload.len(), MAX_PAYLOAD_BYTES);
            return Err(WriteError::TooLarge { bytes, limit });
        }
        let (first_seq, durable_seq) = (self.next_seq, self.durable_seq);
        let frame = Frame { first_seq, count, durable_seq, payload };
        let full = self.active.end + frame.bytes() as u64 > self.options.segment_bytes;
        if full || self.must_roll {
            self.roll()?;
        }
        self.buffer.clear();
        frame.encode(self.active.header.salt, &mut self.buffer);
        let next_seq = frame.next_seq();
        self.active.write(&mut self.buffer, &self.options).map_err(|error| self.cut_back(error))?;
        let written = self.next_seq..next_seq;
        self.next_seq = next_seq;
        Ok(written)
    }

    /// Makes everything appended durable. After an error the log is poisoned: see the top of the
    /// file.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        if self.poisoned {
            return Err(WriteError::Poisoned);
        }
        if self.durable_seq < self.next_seq {
            self.active.file.sync().map_err(|error| self.poison(error))?;
            self.durable_seq = self.next_seq;
        }
        Ok(())
    }

    /// Begins a new segment, so that all records so far are in complete ones (which a backup can
    /// copy). Does nothing if the last segment is still empty.
    pub fn roll(&mut self) -> Result<(), WriteError> {
        self.sync()?;
        if self.active.end == SEGMENT_HEADER as u64 {
            return Ok(());
        }
        self.must_roll = true;
        let next = Active::create(self.disk.as_ref(), self.next_seq);
        let next = next.map_err(WriteError::NotApplied)?;
        self.must_roll = false;
        let full = std::mem::replace(&mut self.active, next);
        self.sealed.push(full.segment(self.next_seq));
        Ok(())
    }

    /// The frames from the one with record `seq` on, up to the last one appended by now.
    pub fn read_from(&self, seq: u64) -> Result<LogReader, LogError> {
        if seq < self.first_seq() {
            return Err(LogError::Dropped { asked: seq, first: self.first_seq() });
        }
        Ok(LogReader::new(Arc::clone(&self.disk), self.segments(), seq))
    }

    /// Removes the segments all of whose records are before `seq`, but never the active one;
    /// returns how many. After an error, some may be gone; trying again is safe.
    pub fn drop_before(&mut self, seq: u64) -> Result<usize, LogError> {
        let droppable = self.sealed.iter().take_while(|segment| segment.next_seq <= seq).count();
        for _ in 0..droppable {
            let path = self.sealed[0].path();
            match self.disk.remove(&path) {
                // Gone already: an earlier attempt removed it and then failed to sync.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result.map_err(LogError::io(&path, "remove it"))?,
            }
            // One at a time, or a crash could keep an older segment and lose a newer one.
            self.disk.sync_dir(DIR).map_err(LogError::io(DIR, "sync the directory"))?;
            self.sealed.remove(0);
        }
        Ok(droppable)
    }

    /// The number that the next record gets.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Everything before this record is durable.
    pub fn durable_seq(&self) -> u64 {
        self.durable_seq
    }

    /// The oldest record in the log (or the next one, if it is empty).
    pub fn first_seq(&self) -> u64 {
        self.sealed.first().map_or(self.active.header.first_seq, |segment| segment.first_seq)
    }

    /// The segments, oldest first. The last one is being written to; the others never change.
    pub fn segments(&self) -> Vec<Segment> {
        let mut segments = self.sealed.clone();
        segments.push(self.active.segment(self.next_seq));
        segments
    }

    /// The length of all segments, without the zeros ahead.
    pub fn bytes(&self) -> u64 {
        self.sealed.iter().map(|segment| segment.bytes).sum::<u64>() + self.active.end
    }

    /// Whether a failure forbids writing until the log is opened anew.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// After a failed write: makes sure that no crash can bring the frame back, for only then may
    /// the caller be told that it does not count.
    fn cut_back(&mut self, error: io::Error) -> WriteError {
        let active = &mut self.active;
        match active.file.set_len(active.end).and_then(|()| active.file.sync()) {
            Ok(()) => {
                active.ahead = active.end;
                self.durable_seq = self.next_seq;
                WriteError::NotApplied(error)
            }
            Err(_) => self.poison(error),
        }
    }

    fn poison(&mut self, error: io::Error) -> WriteError {
        self.poisoned = true;
        WriteError::Unknown(error)
    }
}

impl Active {
    fn create(disk: &dyn Disk, first_seq: u64) -> io::Result<Self> {
        let header = SegmentHeader::new(first_seq);
        let file = create_segment(disk, &header)?;
        let end = SEGMENT_HEADER as u64;
        Ok(Self { file, header, end, ahead: end })
    }

    /// Writes a frame at the end, with zeros behind it if it goes beyond those written before.
    fn write(&mut self, frame: &mut Vec<u8>, options: &LogOptions) -> io::Result<()> {
        let end = self.end + frame.len() as u64;
        let mut ahead = self.ahead;
        if end > ahead {
            ahead = (end + options.ahead_bytes).min(options.segment_bytes).max(end);
            let zeros = usize::try_from(ahead - end).expect("zeros ahead fit into memory");
            frame.resize(frame.len() + zeros, 0);
        }
        self.file.write_at(frame, self.end)?;
        (self.end, self.ahead) = (end, ahead);
        Ok(())
    }

    fn segment(&self, next_seq: u64) -> Segment {
        Segment { first_seq: self.header.first_seq, next_seq, bytes: self.end }
    }
}
