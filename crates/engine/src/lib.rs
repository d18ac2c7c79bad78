//! The engine contract, and the embedded engine.

pub mod embedded;
