//! The few file operations on which durability rests, behind a trait.
//!
//! Log and checkpoint reach their files only through [`Disk`], so that a test can put a disk under
//! them that loses power at every operation and tears every write (`sim_disk`). The trait promises
//! what POSIX promises and no more; whoever uses it must write as if on the simulated disk:
//!
//! - Written bytes survive a power cut only after [`DiskFile::sync`] of that file.
//! - A created, renamed or removed name survives only after [`Disk::sync_dir`] of its directory.
//!   Until then each of them may be kept or lost independently of the others.
//! - An unsynced write may survive in any part, not only as a prefix. The one assumption: bytes
//!   which a write leaves as they were are not harmed when it tears. (`SQLite` calls it powersafe
//!   overwrite; appending next to durable bytes in one sector is impossible without it.)
//! - After an error of `sync` nothing is known about what was written since the last good one.
//!
//! Paths are relative to the data directory, with `/` between their parts.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

/// A data directory.
pub trait Disk: Send + Sync + 'static {
    /// Creates a directory and its parents, durably. One that exists is left as it is.
    fn create_dir(&self, dir: &str) -> io::Result<()>;

    /// The files of a directory (not its subdirectories), ordered by name.
    fn list(&self, dir: &str) -> io::Result<Vec<FileEntry>>;

    /// The whole content of a file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Creates an empty file, replacing any content it had.
    fn create(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Opens an existing file to read and write.
    fn open(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Renames a file, replacing `to` if it exists; a crash leaves one or the other, whole.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a directory durable (`""` is the data directory itself).
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
}

/// An open file of a [`Disk`]. Offsets are explicit: there is no cursor to be left in the wrong
/// place by a failed write.
pub trait DiskFile: Send + Sync {
    /// The length in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`, or fails with `UnexpectedEof`.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, extending the file as needed. After an error any part
    /// of it may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes content and length durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
}

/// A file as [`Disk::list`] names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The name within its directory.
    pub name: String,
    /// The length in bytes.
    pub bytes: u64,
}

/// A directory of the operating system.
#[derive(Debug, Clone)]
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    /// The data directory at `root`, which is created if it does not exist.
    pub fn new(root: impl Into<PathBuf>) -> io::Result<Self> {
        let disk = Self { root: root.into() };
        disk.create_dir("")?;
        // Absolute from here on: the process may change its directory.
        Ok(Self { root: disk.root.canonicalize()? })
    }
}

impl Disk for RealDisk {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        let path = self.root.join(dir);
        if path.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&path)?;
        // Any of the ancestors may be new, and which is not told: syncing each is cheap and rare.
        // One outside our reach (no permission to open it) is not ours to have created.
        for ancestor in path.canonicalize()?.ancestors().skip(1) {
            match File::open(ancestor).and_then(|parent| parent.sync_all()) {
                Err(error) if ancestor.starts_with(&self.root) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<FileEntry>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.root.join(dir))? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            // Every name that we write is text; another kind is not ours.
            if let (true, Ok(name)) = (metadata.is_file(), entry.file_name().into_string()) {
                files.push(FileEntry { name, bytes: metadata.len() });
            }
        }
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(self.root.join(path))
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        Ok(Box::new(RealFile(options.open(self.root.join(path))?)))
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        Ok(Box::new(RealFile(options.open(self.root.join(path))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        // Giving back the space of a large file takes the system as long as a hundred flushes, and whoever closes it last
        // waits for it: measured 38 ms for 256 MB. That is to be nobody on whom others wait.
        let path = self.root.join(path);
        let large = File::open(&path).ok().filter(|f| f.metadata().is_ok_and(|m| m.len() >= LARGE));
        fs::remove_file(path)?;
        if let Some(file) = large {
            let close = move || {
                std::thread::sleep(LAST_TO_CLOSE);
                drop(file);
            };
            // Without a thread it is closed here.
            let _ = std::thread::Builder::new().name("remover".to_owned()).spawn(close);
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        File::open(self.root.join(dir))?.sync_all()
    }
}

/// A file whose removal is worth a thread.
const LARGE: u64 = 16 << 20;
/// Long enough that others who have it open have closed it.
const LAST_TO_CLOSE: Duration = Duration::from_secs(1);

struct RealFile(File);

impl DiskFile for RealFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_disk_keeps_what_was_written_under_the_last_name() {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(dir.path().join("new/data")).unwrap();
        disk.create_dir("log").unwrap();
        let file = disk.create("log/b.tmp").unwrap();
        file.write_at(b"hello world", 0).unwrap();
        file.write_at(b"W", 6).unwrap();
        file.set_len(8).unwrap();
        file.sync().unwrap();
        disk.rename("log/b.tmp", "log/b").unwrap();
        disk.create("log/a").unwrap();
        disk.create_dir("log/sub").unwrap();
        disk.sync_dir("log").unwrap();

        assert_eq!(disk.read("log/b").unwrap(), b"hello Wo");
        let names = [("a", 0), ("b", 8)];
        let names = names.map(|(name, bytes)| FileEntry { name: name.into(), bytes });
        assert_eq!(disk.list("log").unwrap(), names);
        let mut two = [0; 2];
        let file = disk.open("log/b").unwrap();
        file.read_at(&mut two, 6).unwrap();
        assert_eq!((&two, file.size().unwrap()), (b"Wo", 8));
        let beyond = file.read_at(&mut two, 7).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
        disk.remove("log/a").unwrap();
        assert_eq!(disk.open("log/a").err().unwrap().kind(), io::ErrorKind::NotFound);
    }
}
