//! Writing a file that shows only when it is whole.

use std::{io, sync::Arc};

use crate::files::disk::{Disk, DiskFile, cut_off};

/// How much is gathered before it is written.
const BUFFER: usize = 256 << 10;
/// How much may be written before it is flushed. The flushes of the log, on which everyone waits, queue up behind what others
/// have written: `docs/performance.md` has what pieces of 8 MiB and of 1 MiB do to them.
const FLUSH_BYTES: u64 = 1 << 20;

/// A file under a temporary name. [`commit`](Self::commit) makes it durable and gives it its real one; dropped before, it
/// is removed, so that what filled the disk does not keep it full. One that a crash leaves the next start removes.
pub(crate) struct NewFile {
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    dir: &'static str,
    name: String,
    committed: bool,
}

/// The ending of names of files that are not whole.
pub(crate) const TEMPORARY: &str = ".tmp";

impl NewFile {
    pub(crate) fn create(disk: Arc<dyn Disk>, dir: &'static str, name: String) -> io::Result<Self> {
        let file = disk.create(&format!("{dir}/{name}{TEMPORARY}"))?;
        Ok(Self { disk, file, dir, name, committed: false })
    }

    /// A place to write sequentially from an offset on.
    pub(crate) fn writer(&self, offset: u64) -> Writer<'_> {
        Writer {
            file: self.file.as_ref(),
            offset,
            buffer: Vec::with_capacity(BUFFER),
            unflushed: 0,
            crc: crc32fast::Hasher::new(),
        }
    }

    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.file.sync()?;
        self.disk.rename(&self.temporary(), &format!("{}/{}", self.dir, self.name))?;
        self.committed = true;
        self.disk.sync_dir(self.dir)
    }

    fn temporary(&self) -> String {
        format!("{}/{}{TEMPORARY}", self.dir, self.name)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        // At once and not when its turn comes, in pieces because others flush meanwhile.
        cut_off(self.file.size().unwrap_or(0), |len| self.file.set_len(len).is_ok());
        if let Err(error) = self.disk.remove(&self.temporary()) {
            tracing::warn!(%error, file = self.name, "an unfinished file cannot be removed");
        }
    }
}

/// Writes sequentially into a part of a file and keeps the checksum of what it wrote.
pub(crate) struct Writer<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
    buffer: Vec<u8>,
    unflushed: u64,
    crc: crc32fast::Hasher,
}

impl Writer<'_> {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Where the next byte goes.
    pub(crate) fn offset(&self) -> u64 {
        self.offset + self.buffer.len() as u64
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_at(&self.buffer, self.offset)?;
        self.crc.update(&self.buffer);
        self.offset += self.buffer.len() as u64;
        self.unflushed += self.buffer.len() as u64;
        self.buffer.clear();
        if self.unflushed >= FLUSH_BYTES {
            self.file.sync()?;
            self.unflushed = 0;
        }
        Ok(())
    }

    /// Writes what is left and returns the checksum of everything written.
    pub(crate) fn finish(mut self) -> io::Result<u32> {
        self.flush()?;
        Ok(self.crc.finalize())
    }
}

/// Removes what a crash left unfinished in a directory.
pub(crate) fn remove_temporary(disk: &dyn Disk, dir: &str) -> io::Result<()> {
    for file in disk.list(dir)? {
        if file.name.ends_with(TEMPORARY) {
            disk.remove(&format!("{dir}/{}", file.name))?;
        }
    }
    Ok(())
}

/// The checksum of a part of a file, read piece by piece.
pub(crate) fn checksum(file: &dyn DiskFile, mut from: u64, to: u64) -> io::Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; BUFFER];
    while from < to {
        let piece = usize::try_from(to - from).unwrap_or(BUFFER).min(BUFFER);
        file.read_at(&mut buffer[..piece], from)?;
        crc.update(&buffer[..piece]);
        from += piece as u64;
    }
    Ok(crc.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::disk::RealDisk;

    #[test]
    fn what_was_not_finished_gives_its_space_back_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(dir.path()).unwrap());
        disk.create_dir("some").unwrap();
        let new = NewFile::create(Arc::clone(&disk), "some", "file".to_owned()).unwrap();
        new.file.set_len(64 << 20).unwrap();
        let plain = std::fs::File::open(dir.path().join("some/file.tmp")).unwrap();
        drop(new);
        assert!(plain.metadata().unwrap().len() <= 4 << 20);
        assert!(disk.list("some").unwrap().is_empty());
    }
}
