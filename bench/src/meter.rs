//! Time on the processor and memory, as the kernel counts them.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use crate::progress;

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn float(count: u64) -> f64 {
    count as f64
}

/// The one in the middle, of at least one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The time that this thread was on a processor: on a machine that does other things as well, what the others take does
/// not count. Waiting for memory does.
#[derive(Debug)]
pub struct Clock(u64);

impl Clock {
    /// Begins to count.
    pub fn start() -> Self {
        Self(Self::read())
    }

    /// In nanoseconds. What `/proc` says of a thread is up to a tick old, four milliseconds.
    fn read() -> u64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
    }

    /// Nanoseconds since the start.
    pub fn nanoseconds(&self) -> f64 {
        float(Self::read() - self.0)
    }

    /// Nanoseconds for each of so many.
    pub fn per(&self, count: u64) -> f64 {
        self.nanoseconds() / float(count)
    }
}

/// Memory of a process that is in RAM; `None` where the system does not tell.
pub fn resident_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Memory of this process that is in RAM; 0 where the system does not tell.
pub fn own_resident_bytes() -> u64 {
    resident_bytes(std::process::id()).unwrap_or(0)
}

/// The time that all threads of a process were on a processor, in steps of ten milliseconds.
pub fn processor_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain anything; after it, user and system time are the 12th and 13th field.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// How long to wait at most until a process has nothing to do.
pub const SETTLE_LIMIT: Duration = Duration::from_secs(180);

/// Waits until a process has done what it does in the background, so that the next figure is not about the last one.
pub fn settle(process: u32) {
    const LOOK: Duration = Duration::from_millis(500);
    let started = Instant::now();
    let mut quiet = 0;
    while quiet < 2 && started.elapsed() < SETTLE_LIMIT {
        let Some(before) = processor_time(process) else { return };
        sleep(LOOK);
        let used = processor_time(process).unwrap_or(before).saturating_sub(before);
        quiet = if used <= LOOK / 20 { quiet + 1 } else { 0 };
    }
    if started.elapsed() > Duration::from_secs(5) {
        progress::step(&format!("waited {:.0?} for work in the background", started.elapsed()));
    }
}
