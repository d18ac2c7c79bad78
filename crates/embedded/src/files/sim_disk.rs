//! A disk in memory that loses power, fills up and fails where a test tells it to.
//!
//! For every file it keeps what a reader sees now, what a power cut would leave, and the changes
//! between the two; for names likewise. Every operation that changes something has a number, so
//! that a test can run a workload once, count, and then break it at each number in turn.
//!
//! It is as unkind as the contract of [`Disk`] permits: unsynced changes survive in any
//! combination, a torn write may leave garbage where bytes were to change, a failed write may have
//! written any prefix, and a failed sync makes an arbitrary part durable and *forgets* the rest, so
//! that the next sync reports success without it (what Linux does, known as fsyncgate).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::files::disk::{Disk, DiskFile, FileEntry};

const SECTOR: usize = 512;

/// What goes wrong at an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The power goes: this and every later operation fails. See [`SimDisk::crash`].
    Crash,
    /// This operation fails, later ones do not.
    Error(io::ErrorKind),
    /// From here on, until [`SimDisk::heal`], whatever needs space fails with `StorageFull`.
    Full,
    /// From here on, until [`SimDisk::heal`], every operation that changes something fails.
    Stuck(io::ErrorKind),
}

/// Which unsynced changes a power cut leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survive {
    /// Only what was synced.
    Nothing,
    /// All that was written.
    Everything,
    /// Of each file, this many unsynced bytes in the order of writing; of the names, all.
    Bytes(u64),
    /// Of each file, the first changes up to an arbitrary byte; of the names, any.
    Prefix(u64),
    /// Any sectors of any changes, any names; the seed decides.
    Sectors(u64),
    /// As `Sectors`, and bytes that were to change may hold anything.
    Garbage(u64),
}

/// The simulated disk: a handle, whose clones share one state.
#[derive(Clone, Default)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    released: Arc<Condvar>,
}

#[derive(Default)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    pending_names: Vec<NameChange>,
    dirs: BTreeSet<String>,
    operations: u64,
    failures: BTreeMap<u64, Failure>,
    standing: Option<Failure>,
    syncs: u64,
    /// While set, file syncs hang.
    held: bool,
    /// How many file syncs hang now.
    hanging: u64,
}

#[derive(Default, Clone)]
struct Inode {
    seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    SetLen(usize),
}

#[derive(Clone)]
enum NameChange {
    Link { name: String, inode: u64 },
    Unlink { name: String },
    Rename { from: String, to: String, inode: u64 },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Space,
    Nothing,
}

/// How an operation ends. One that loses power is under way: it may survive like any unsynced one.
enum Fate {
    Works,
    Fails(io::Error),
    LosesPower(io::Error),
}

impl Fate {
    fn takes_effect(&self) -> bool {
        !matches!(self, Self::Fails(_))
    }

    fn result(self) -> io::Result<()> {
        match self {
            Self::Works => Ok(()),
            Self::Fails(error) | Self::LosesPower(error) => Err(error),
        }
    }
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many changing operations were tried so far; the next one has this number.
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// How many file syncs succeeded so far.
    pub fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }

    /// Breaks the operation of this number.
    pub fn fail_at(&self, operation: u64, failure: Failure) {
        self.state.lock().failures.insert(operation, failure);
    }

    /// Breaks the next operation.
    pub fn fail_next(&self, failure: Failure) {
        self.fail_at(self.operations(), failure);
    }

    /// Lets every file sync hang from here on, until [`SimDisk::release`].
    pub fn hold(&self) {
        self.state.lock().held = true;
    }

    /// Lets hanging syncs go on.
    pub fn release(&self) {
        self.state.lock().held = false;
        self.released.notify_all();
    }

    /// How many file syncs hang now.
    pub fn hanging(&self) -> u64 {
        self.state.lock().hanging
    }

    /// Ends `Full` and `Stuck`, and forgets failures still to come. A crashed disk stays crashed.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        state.failures.clear();
        if state.standing != Some(Failure::Crash) {
            state.standing = None;
        }
    }

    /// The disk as the machine finds it when power returns. This one is left as it is.
    pub fn crash(&self, survive: Survive) -> Self {
        let state = self.state.lock();
        let mut random = Random(match survive {
            Survive::Prefix(seed) | Survive::Sectors(seed) | Survive::Garbage(seed) => seed,
            Survive::Nothing | Survive::Everything | Survive::Bytes(_) => 0,
        });
        let mut names = state.durable_names.clone();
        for change in &state.pending_names {
            let kept = match survive {
                Survive::Nothing => false,
                Survive::Everything | Survive::Bytes(_) => true,
                _ => random.coin(),
            };
            if kept {
                change.apply(&mut names);
            }
        }
        let mut inodes = BTreeMap::new();
        for &number in names.values() {
            let after = state.inodes[&number].after_crash(survive, &mut random);
            inodes.insert(number, Inode { seen: after.clone(), durable: after, pending: vec![] });
        }
        let dirs = state.dirs.clone();
        let state = State { inodes, durable_names: names.clone(), names, dirs, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)), released: Arc::default() }
    }

    /// Replaces a file's content, seen and durable alike: damage, for tests.
    pub fn overwrite(&self, path: &str, content: &[u8]) {
        let mut state = self.state.lock();
        let number = state.names[path];
        let (seen, durable) = (content.to_vec(), content.to_vec());
        state.inodes.insert(number, Inode { seen, durable, pending: vec![] });
    }

    fn inode(&self, path: &str) -> io::Result<(u64, MutexGuard<'_, State>)> {
        let state = self.state.lock();
        state.check_power()?;
        let number = *state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok((number, state))
    }
}

impl State {
    fn check_power(&self) -> io::Result<()> {
        match self.standing {
            Some(Failure::Crash) => Err(io::Error::other("the power is off")),
            _ => Ok(()),
        }
    }

    /// Counts an operation and decides how it ends. With the power already off it is refused.
    fn begin(&mut self, needs: Needs) -> io::Result<Fate> {
        self.check_power()?;
        let planned = self.failures.remove(&self.operations);
        self.operations += 1;
        if let Some(Failure::Error(kind)) = planned {
            return Ok(Fate::Fails(kind.into()));
        }
        self.standing = planned.or(self.standing);
        Ok(match self.standing {
            None | Some(Failure::Error(_)) => Fate::Works,
            Some(Failure::Full) if needs == Needs::Nothing => Fate::Works,
            Some(Failure::Full) => Fate::Fails(io::ErrorKind::StorageFull.into()),
            Some(Failure::Stuck(kind)) => Fate::Fails(kind.into()),
            Some(Failure::Crash) => Fate::LosesPower(io::Error::other("the power went off")),
        })
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }
}

impl Disk for SimDisk {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.dirs.contains(dir) {
            return state.check_power();
        }
        state.begin(Needs::Space)?.result()?;
        state.dirs.insert(dir.to_owned());
        Ok(())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<FileEntry>> {
        let state = self.state.lock();
        state.check_power()?;
        let prefix = format!("{dir}/");
        let files = state.names.iter().filter_map(|(path, number)| {
            let name = path.strip_prefix(&prefix)?;
            let bytes = state.inodes[number].seen.len() as u64;
            Some(FileEntry { name: name.to_owned(), bytes })
        });
        Ok(files.collect())
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let (number, state) = self.inode(path)?;
        Ok(state.inodes[&number].seen.clone())
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state.lock();
        let fate = state.begin(Needs::Space)?;
        if fate.takes_effect() {
            if let Some(&number) = state.names.get(path) {
                let inode = state.inodes.get_mut(&number).expect("a name has its inode");
                inode.change(Change::SetLen(0));
            } else {
                let inode = state.inodes.last_key_value().map_or(0, |(last, _)| last + 1);
                state.inodes.insert(inode, Inode::default());
                state.change_name(NameChange::Link { name: path.to_owned(), inode });
            }
        }
        fate.result()?;
        Ok(Box::new(SimFile { disk: self.clone(), inode: state.names[path] }))
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let (inode, _) = self.inode(path)?;
        Ok(Box::new(SimFile { disk: self.clone(), inode }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (inode, mut state) = self.inode(from)?;
        let fate = state.begin(Needs::Nothing)?;
        if fate.takes_effect() {
            let (from, to) = (from.to_owned(), to.to_owned());
            state.change_name(NameChange::Rename { from, to, inode });
        }
        fate.result()
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let (_, mut state) = self.inode(path)?;
        let fate = state.begin(Needs::Nothing)?;
        if fate.takes_effect() {
            state.change_name(NameChange::Unlink { name: path.to_owned() });
        }
        fate.result()
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.begin(Needs::Nothing)?.result()?;
        let state = &mut *state;
        state.pending_names.retain(|change| {
            let here = change.dir() == dir;
            if here {
                change.apply(&mut state.durable_names);
            }
            !here
        });
        Ok(())
    }
}

struct SimFile {
    disk: SimDisk,
    inode: u64,
}

impl SimFile {
    fn read_inode<T>(&self, read: impl FnOnce(&Inode) -> io::Result<T>) -> io::Result<T> {
        let state = self.disk.state.lock();
        state.check_power()?;
        read(&state.inodes[&self.inode])
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        self.read_inode(|inode| Ok(inode.seen.len() as u64))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_inode(|inode| {
            let rest = inode.seen.get(to_usize(offset)..).unwrap_or_default();
            let found = rest.get(..buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(found);
            Ok(())
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        let fate = state.begin(Needs::Space)?;
        let mut bytes = bytes.to_vec();
        if !fate.takes_effect() {
            let written = Random(state.operations).below(bytes.len() + 1);
            bytes.truncate(written);
        }
        let inode = state.inodes.get_mut(&self.inode).expect("an open file has its inode");
        inode.change(Change::Write { at: to_usize(offset), bytes });
        fate.result()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        let fate = state.begin(Needs::Nothing)?;
        if fate.takes_effect() {
            let inode = state.inodes.get_mut(&self.inode).expect("an open file has its inode");
            inode.change(Change::SetLen(to_usize(bytes)));
        }
        fate.result()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        while state.held {
            state.hanging += 1;
            self.disk.released.wait(&mut state);
            state.hanging -= 1;
        }
        let fate = state.begin(Needs::Nothing)?;
        if let Fate::LosesPower(error) = fate {
            return Err(error);
        }
        let mut random = Random(state.operations);
        let works = fate.takes_effect();
        state.syncs += u64::from(works);
        let inode = state.inodes.get_mut(&self.inode).expect("an open file has its inode");
        for change in std::mem::take(&mut inode.pending) {
            if works || random.coin() {
                change.apply(&mut inode.durable);
            }
        }
        fate.result()
    }
}

impl Inode {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.pending.push(change);
    }

    fn after_crash(&self, survive: Survive, random: &mut Random) -> Vec<u8> {
        let mut content = self.durable.clone();
        let total = self.pending.iter().map(Change::weight).sum::<usize>();
        match survive {
            Survive::Nothing => {}
            Survive::Everything => self.keep_first(total, &mut content),
            Survive::Bytes(bytes) => self.keep_first(to_usize(bytes), &mut content),
            Survive::Prefix(_) => self.keep_first(random.below(total + 1), &mut content),
            Survive::Sectors(_) => self.keep_sectors(false, &mut content, random),
            Survive::Garbage(_) => self.keep_sectors(true, &mut content, random),
        }
        content
    }

    fn keep_first(&self, mut bytes: usize, content: &mut Vec<u8>) {
        for change in &self.pending {
            match change {
                Change::Write { at, bytes: new } => {
                    let kept = new.len().min(bytes);
                    bytes -= kept;
                    if kept > 0 {
                        write(content, *at, &new[..kept]);
                    }
                    if kept < new.len() {
                        return;
                    }
                }
                Change::SetLen(_) => change.apply(content),
            }
        }
    }

    fn keep_sectors(&self, garbage: bool, content: &mut Vec<u8>, random: &mut Random) {
        for change in &self.pending {
            let Change::Write { at, bytes } = change else {
                if random.coin() {
                    change.apply(content);
                }
                continue;
            };
            let mut from = 0;
            while from < bytes.len() {
                let to = (((at + from) / SECTOR + 1) * SECTOR - at).min(bytes.len());
                match random.below(if garbage { 3 } else { 2 }) {
                    0 => {}
                    1 => write(content, at + from, &bytes[from..to]),
                    _ => {
                        // The length is metadata: the sector lies within the file, torn or not.
                        content.resize(content.len().max(at + to), 0);
                        for i in from..to {
                            if content[at + i] != bytes[i] {
                                content[at + i] = random.next().to_le_bytes()[0];
                            }
                        }
                    }
                }
                from = to;
            }
        }
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => write(content, *at, bytes),
            Self::SetLen(len) => content.resize(*len, 0),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Write { bytes, .. } => bytes.len(),
            Self::SetLen(_) => 0,
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Link { name, inode } => {
                names.insert(name.clone(), *inode);
            }
            Self::Unlink { name } => {
                names.remove(name);
            }
            Self::Rename { from, to, inode } => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
        }
    }

    fn dir(&self) -> &str {
        let (Self::Link { name, .. } | Self::Unlink { name } | Self::Rename { to: name, .. }) =
            self;
        name.rsplit_once('/').map_or("", |(dir, _)| dir)
    }
}

fn write(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    content.resize(content.len().max(at + bytes.len()), 0);
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a simulated file fits into memory")
}

/// `SplitMix64`: what a test does is decided by its seed alone.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        to_usize(self.next() % bound as u64)
    }

    fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

#[cfg(test)]
mod tests;
