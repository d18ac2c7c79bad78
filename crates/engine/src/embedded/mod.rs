//! The embedded engine: one process, one data directory, nothing else to run.

pub mod disk;
pub mod log;
#[cfg(any(test, feature = "sim"))]
pub mod sim_disk;
