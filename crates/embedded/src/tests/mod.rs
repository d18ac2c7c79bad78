//! The embedded engine as a whole: the conformance suite, crashes, failing disks, concurrency, files.

mod boards;
mod checkpoints;
mod clearing;
mod clock;
mod conformance;
mod crash;
mod erasure;
mod failing;
mod files;
mod history;
mod kit;
mod load;
mod readers;
mod retention;
mod room;
mod script;
mod snapshots;
mod streaks;
