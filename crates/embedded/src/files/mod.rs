//! Bytes: the disk as the engine uses it, and the formats of files. Everything here may block.

pub(crate) mod archive;
pub mod disk;
pub(crate) mod rows;
#[cfg(any(test, feature = "sim"))]
pub mod sim_disk;
pub(crate) mod writing;
