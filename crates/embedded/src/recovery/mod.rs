//! What reads a data directory that no server runs on: opening, checking, recomputing.

pub(crate) mod check;
pub(crate) mod open;
pub(crate) mod rebuild;
