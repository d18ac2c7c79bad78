//! Where the store takes the time from.

use std::sync::atomic::{AtomicI64, Ordering};

use standings_core::Millis;
use tokio::time::Instant;

use crate::traits::Shard;

/// The clocks of the store, one for each shard.
pub trait Clock: Send + Sync + 'static {
    /// What a shard's clock shows.
    fn of_shard(&self, shard: Shard) -> Millis;
}

/// A clock that stands still until it is set, the same on all shards.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows an instant.
    pub fn new(now: Millis) -> Self {
        Self(now.0.into())
    }

    /// Turns it to another.
    pub fn set(&self, now: Millis) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn of_shard(&self, _: Shard) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}

/// The runtime's time, which a simulation pauses and turns.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock {
    start: Millis,
    since: Instant,
}

impl VirtualClock {
    /// Shows an instant now.
    pub fn starting_at(start: Millis) -> Self {
        Self { start, since: Instant::now() }
    }

    /// The present.
    pub fn now(&self) -> Millis {
        let passed = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.start.plus(Millis(passed))
    }
}

impl Clock for VirtualClock {
    fn of_shard(&self, _: Shard) -> Millis {
        self.now()
    }
}
