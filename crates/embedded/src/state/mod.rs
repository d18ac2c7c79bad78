//! What is in memory: boards, their seasons and snapshots, keys, erasures.
//!
//! The writing thread alone changes it, by applying records that are durable; recovery does the same before anything is served. Readers take
//! the catalog's lock, then one standing's, each for microseconds, and never the other way round.

pub(crate) mod board;
pub(crate) mod catalog;
pub(crate) mod erasures;
pub(crate) mod live;
pub(crate) mod snapshots;
