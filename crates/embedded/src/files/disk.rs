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

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

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
    opened: Opened,
    /// The way to the thread that gives back the space of large files.
    remover: Arc<OnceLock<mpsc::SyncSender<Removed>>>,
}

/// A large file that was removed, and the directory in which it was.
type Removed = (File, PathBuf);

/// How often each file is open here, by the number of its inode.
type Opened = Arc<Mutex<HashMap<u64, usize>>>;

impl RealDisk {
    /// The data directory at `root`, which is created if it does not exist.
    pub fn new(root: impl Into<PathBuf>) -> io::Result<Self> {
        let (opened, remover) = (Opened::default(), Arc::default());
        let disk = Self { root: root.into(), opened, remover };
        disk.create_dir("")?;
        // Absolute from here on: the process may change its directory.
        Ok(Self { root: disk.root.canonicalize()?, ..disk })
    }

    fn opened(&self, path: &str, options: &OpenOptions) -> io::Result<Box<dyn DiskFile>> {
        // Whoever finds a file without a name and not in this list may rely on it.
        let mut opened = self.opened.lock();
        let file = options.open(self.root.join(path))?;
        let inode = file.metadata()?.ino();
        *opened.entry(inode).or_default() += 1;
        Ok(Box::new(RealFile { file, inode, opened: Arc::clone(&self.opened) }))
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
        let file = self.opened(path, OpenOptions::new().read(true))?;
        let size = usize::try_from(file.size()?).map_err(io::Error::other)?;
        let mut bytes = vec![0; size];
        file.read_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = self.opened(path, &options)?;
        file.set_len(0)?;
        Ok(file)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        self.opened(path, &options)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        // Giving back the space of a large file takes the system as long as a hundred flushes, and flushes meanwhile wait:
        // measured 50 ms for 1 GiB on ext4. So it is given back little by little.
        let path = self.root.join(path);
        let file = OpenOptions::new().write(true).open(&path);
        let large = file.ok().filter(|file| file.metadata().is_ok_and(|m| m.len() >= LARGE));
        fs::remove_file(&path)?;
        if let (Some(file), Some(dir)) = (large, path.parent()) {
            let remover = self.remover.get_or_init(|| start_remover(Arc::clone(&self.opened)));
            // Without a thread, or with too many waiting for it, it is closed here.
            let _ = remover.try_send((file, dir.to_owned()));
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        File::open(self.root.join(dir))?.sync_all()
    }
}

/// A file whose removal is worth a thread.
const LARGE: u64 = 16 << 20;
/// How much of it is given back at once, and how long to wait after that: the flushes of a whole gigabyte then wait 5 to 11 ms.
const PIECE: u64 = 4 << 20;
const PAUSE: Duration = Duration::from_millis(5);
/// How long to wait for others to close it before looking again, and how often.
const CLOSING: Duration = Duration::from_secs(1);
const LOOKS: usize = 60;
/// Removed files that are kept open at once.
const REMOVED: usize = 64;

/// Starts the thread that gives back the space of one removed file after the other.
fn start_remover(opened: Opened) -> mpsc::SyncSender<Removed> {
    let (sender, files) = mpsc::sync_channel::<Removed>(REMOVED);
    let run = move || files.iter().for_each(|(file, dir)| give_back(&file, &dir, &opened));
    let _ = thread::Builder::new().name("remover".to_owned()).spawn(run);
    sender
}

/// Gives back the space of a file that was removed, once nobody here has it open: whoever reads it goes on until then.
fn give_back(file: &File, dir: &Path, opened: &Opened) {
    let Ok(metadata) = file.metadata() else { return };
    let in_use = || {
        thread::sleep(CLOSING);
        opened.lock().contains_key(&metadata.ino())
    };
    // Whoever reads it for longer than that is the last to close it, and waits for the system.
    if (0..LOOKS).all(|_| in_use()) {
        return;
    }
    // A power cut must not bring the name back with half of the content.
    if File::open(dir).and_then(|dir| dir.sync_all()).is_err() {
        return;
    }
    // Someone may have kept the file under another name, by a hard link.
    let is_nameless = || file.metadata().is_ok_and(|metadata| metadata.nlink() == 0);
    cut_off(metadata.len(), |len| is_nameless() && file.set_len(len).is_ok());
}

/// Makes a file shorter, piece by piece, for as long as that can be done.
pub(crate) fn cut_off(mut len: u64, set_len: impl Fn(u64) -> bool) {
    while len > PIECE && set_len(len - PIECE) {
        len -= PIECE;
        thread::sleep(PAUSE);
    }
}

struct RealFile {
    file: File,
    inode: u64,
    opened: Opened,
}

impl Drop for RealFile {
    fn drop(&mut self) {
        let mut opened = self.opened.lock();
        if let Some(times) = opened.get_mut(&self.inode) {
            *times -= 1;
            if *times == 0 {
                opened.remove(&self.inode);
            }
        }
    }
}

impl DiskFile for RealFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_that_is_removed_stays_whole_for_whoever_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(dir.path()).unwrap();
        let file = disk.create("large").unwrap();
        file.set_len(LARGE + 1).unwrap();
        file.write_at(b"end", LARGE - 2).unwrap();
        let plain = File::open(dir.path().join("large")).unwrap();
        let reader = disk.open("large").unwrap();
        drop(file);
        disk.remove("large").unwrap();
        thread::sleep(CLOSING + Duration::from_millis(500));
        let mut end = [0; 3];
        reader.read_at(&mut end, LARGE - 2).unwrap();
        assert_eq!(&end, b"end");
        drop(reader);
        assert!(disk.opened.lock().is_empty());
        let given_back = || plain.metadata().unwrap().len() <= PIECE;
        assert!((0..100).any(|_| {
            thread::sleep(Duration::from_millis(100));
            given_back()
        }));
    }

    #[test]
    fn a_large_file_that_has_another_name_keeps_its_content_there() {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(dir.path()).unwrap();
        let (linked, later) = (dir.path().join("linked"), dir.path().join("later"));
        for name in ["first", "second"] {
            disk.create(name).unwrap().set_len(LARGE).unwrap();
        }
        fs::hard_link(dir.path().join("first"), &linked).unwrap();
        let second = File::open(dir.path().join("second")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("second"), &later).unwrap();
        disk.remove("first").unwrap();
        disk.remove("later").unwrap();
        thread::sleep(3 * CLOSING);
        assert_eq!(fs::metadata(&linked).unwrap().len(), LARGE);
        assert_eq!(second.metadata().unwrap().len(), LARGE);
    }

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
