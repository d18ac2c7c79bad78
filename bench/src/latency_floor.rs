//! What the machine allows a latency to be: how late a sleeping thread wakes up, and how long a flush takes, with nothing else to
//! do.
//!
//! A submission is six wake-ups in a row, from the generator to the server, its sequencer, the disk and back. On a virtual machine whose
//! host is busy each may be late by milliseconds, and the sum is the tail of every latency measured here.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::{
    histogram::Histogram,
    progress,
    report::{Report, Row},
};

/// How long each is measured.
const TIME: Duration = Duration::from_secs(10);
/// How long a thread sleeps.
const SLEEP: Duration = Duration::from_millis(2);
/// What a flush writes, and the file within which it does.
const WRITTEN: usize = 512;
const FILE: u64 = 16 << 20;

/// Measures both in a directory, and reports them.
pub fn measure(report: &mut Report, dir: &Path) -> io::Result<()> {
    progress::step("the machine: late wake-ups and flushes, nothing else running");
    push(report, "how late a thread wakes up that slept for 2 ms", &wake_ups());
    push(report, "a flush of 512 bytes that were there before", &flushes(dir)?);
    Ok(())
}

fn push(report: &mut Report, what: &str, seen: &Histogram) {
    let row = Row::new(format!("the machine: {what}, p99.9"), "ms", seen.millis(0.999));
    report.push(row.note(format!("{}; longest {:.1} ms", seen.text(), seen.longest_millis())));
}

fn wake_ups() -> Histogram {
    let mut seen = Histogram::default();
    let end = Instant::now() + TIME;
    while Instant::now() < end {
        let due = Instant::now() + SLEEP;
        thread::sleep(SLEEP);
        seen.record(due.elapsed());
    }
    seen
}

fn flushes(dir: &Path) -> io::Result<Histogram> {
    let path = dir.join("flushes");
    let file = File::create(&path)?;
    file.write_all_at(&vec![0; usize::try_from(FILE).unwrap_or(0)], 0)?;
    file.sync_all()?;
    let mut seen = Histogram::default();
    let (end, mut at) = (Instant::now() + TIME, 0);
    while Instant::now() < end {
        let start = Instant::now();
        file.write_all_at(&[1; WRITTEN], at)?;
        file.sync_data()?;
        seen.record(start.elapsed());
        at = (at + WRITTEN as u64) % FILE;
        thread::sleep(SLEEP / 4);
    }
    std::fs::remove_file(path)?;
    Ok(seen)
}
