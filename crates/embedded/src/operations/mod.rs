//! What takes long, one operation a file: prepare, write a file, have its record committed.
//!
//! All of it runs on three threads of its own ([`jobs`]) and may block. None of them changes what is in memory: they hand records to the writing
//! thread and wait for it. An operation that a crash breaks off leaves work that is found and done again.

pub(crate) mod backup;
pub(crate) mod checkpoint;
pub(crate) mod clear;
pub(crate) mod freeze;
pub(crate) mod import;
pub(crate) mod jobs;
pub(crate) mod keeper;
pub(crate) mod remove;
