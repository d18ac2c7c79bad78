//! The parts of the benchmark: each measures one thing and writes one report.

pub mod history;
pub mod http;
pub mod index;
pub mod midnight;
pub mod named;
pub mod report;
pub mod restart;
pub mod scale;
pub mod soak;
pub mod sql;
