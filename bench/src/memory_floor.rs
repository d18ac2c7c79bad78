//! What the machine's memory allows: nanoseconds for one random cache line.
//!
//! A rank at 25 million players is a chain of three dependent reads of memory that no cache holds, and a batch overlaps them. No
//! program is faster than that on the same machine, so the two figures stand beside those of the index. The pages are huge, as
//! those of the index are: with small ones every read would also be a miss in the address translation.
//!
//! Huge pages and prefetching need unsafe code, which is all behind [`Lines`].
#![allow(unsafe_code)]

use std::hint::black_box;

use crate::{meter::Clock, random::Random};

/// Far more than any cache.
const BYTES: usize = 512 << 20;
const HUGE: usize = 2 << 20;
/// A cache line, in words.
const LINE: usize = 8;
const READS: u64 = 2_000_000;
/// Reads under way at once, as many as the index fetches ahead.
const AHEAD: usize = 64;

/// Nanoseconds for one random read.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Where the address comes from the read before it.
    pub dependent: f64,
    /// Where 64 are fetched ahead.
    pub fetched_ahead: f64,
}

/// Measures it.
pub fn measure() -> Floor {
    let lines = Lines::filled();
    Floor { dependent: dependent(&lines), fetched_ahead: fetched_ahead(&lines) }
}

fn dependent(lines: &Lines) -> f64 {
    let mut value = 1;
    let clock = Clock::start();
    for _ in 0..READS {
        let at = Random(value).below(lines.count());
        value ^= lines.read(at);
    }
    black_box(value);
    clock.per(READS)
}

fn fetched_ahead(lines: &Lines) -> f64 {
    let (mut random, mut sum) = (Random(7), 0_u64);
    let mut wanted = [0; AHEAD];
    let clock = Clock::start();
    for _ in 0..READS / AHEAD as u64 {
        for at in &mut wanted {
            *at = random.below(lines.count());
            lines.prefetch(*at);
        }
        for at in &wanted {
            sum = sum.wrapping_add(lines.read(*at));
        }
    }
    black_box(sum);
    clock.per(READS)
}

/// Cache lines in huge pages, with a random word in each.
struct Lines {
    memory: Vec<u64>,
    /// Where the first huge page begins.
    start: usize,
}

impl Lines {
    fn filled() -> Self {
        let mut memory: Vec<u64> = Vec::with_capacity((BYTES + HUGE) / 8);
        let start = memory.as_ptr().align_offset(HUGE);
        advise(memory.as_mut_ptr().wrapping_add(start));
        memory.resize(start + BYTES / 8, 0);
        let mut random = Random(1);
        for line in memory[start..].chunks_mut(LINE) {
            line[0] = random.bits();
        }
        Self { memory, start }
    }

    fn count(&self) -> u64 {
        ((self.memory.len() - self.start) / LINE) as u64
    }

    fn word(&self, line: u64) -> &u64 {
        let line = usize::try_from(line).expect("it is in memory");
        &self.memory[self.start + line * LINE]
    }

    fn read(&self, line: u64) -> u64 {
        *self.word(line)
    }

    fn prefetch(&self, line: u64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing and cannot fail; the address is that of a reference.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(self.word(line)).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

/// Asks for huge pages, before the memory is touched.
fn advise(start: *mut u64) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is within an allocation of ours. The advice changes no content, and its failure is harmless.
    unsafe {
        libc::madvise(start.cast(), BYTES, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = start;
}
