//! Reading records back, a segment at a time.

use std::sync::Arc;

use crate::files::disk::Disk;
use crate::log::Segment;
use crate::log::error::LogError;
use crate::log::format::{self, Frame, SEGMENT_HEADER, SegmentHeader};
use crate::log::open::{read_header, segment_path};

/// The frames from some record on, up to where the log ended when the reader was made. It is
/// independent of the log: another thread may go on appending.
pub struct LogReader {
    disk: Arc<dyn Disk>,
    /// Segments still to be read, the next one last.
    segments: Vec<Segment>,
    from: u64,
    current: Option<Current>,
}

struct Current {
    file: String,
    bytes: Vec<u8>,
    salt: u32,
    offset: usize,
    next_seq: u64,
    end_seq: u64,
}

impl LogReader {
    pub(crate) fn new(disk: Arc<dyn Disk>, mut segments: Vec<Segment>, from: u64) -> Self {
        segments.retain(|segment| segment.next_seq > from.max(segment.first_seq));
        segments.reverse();
        Self { disk, segments, from, current: None }
    }

    /// The next frame, `None` after the last. The first one contains the record asked for, perhaps
    /// after others in the same frame.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, LogError> {
        loop {
            if self.current.as_ref().is_none_or(|current| current.next_seq >= current.end_seq) {
                // The old buffer goes before the new one comes: one segment in memory, not two.
                self.current = None;
                let Some(segment) = self.segments.pop() else { return Ok(None) };
                self.current = Some(Current::load(self.disk.as_ref(), &segment)?);
            }
            let current = self.current.as_mut().expect("just loaded");
            let (offset, next_seq) = current.step()?;
            if next_seq > self.from {
                let current = self.current.as_ref().expect("just loaded");
                return Ok(Some(current.frame(offset)));
            }
        }
    }
}

impl Current {
    fn load(disk: &dyn Disk, segment: &Segment) -> Result<Self, LogError> {
        let file = segment_path(segment.first_seq);
        let bytes = disk.read(&file).map_err(LogError::io(&file, "read it"))?;
        let Some(header) = read_header(&file, segment.first_seq, &bytes)? else {
            let reason = "the header is not that of a log segment".into();
            return Err(LogError::Damaged { file, offset: 0, reason });
        };
        let (next_seq, end_seq) = (segment.first_seq, segment.next_seq);
        let (SegmentHeader { salt, .. }, offset) = (header, SEGMENT_HEADER);
        Ok(Self { file, bytes, salt, offset, next_seq, end_seq })
    }

    /// Checks the next frame and passes it; returns where it begins and the record after it.
    fn step(&mut self) -> Result<(usize, u64), LogError> {
        let offset = self.offset;
        match format::frame_at(self.salt, &self.bytes, offset, self.next_seq) {
            Ok(frame) => {
                let (bytes, next_seq) = (frame.bytes(), frame.next_seq());
                self.offset += bytes;
                self.next_seq = next_seq;
                Ok((offset, next_seq))
            }
            Err(reason) => Err(LogError::Damaged {
                file: self.file.clone(),
                offset: offset as u64,
                reason: format!("{reason}; the frame was intact before"),
            }),
        }
    }

    /// The frame that `step` checked.
    fn frame(&self, offset: usize) -> Frame<'_> {
        Frame::trusted(&self.bytes[offset..self.offset])
    }
}
