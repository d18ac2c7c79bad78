//! The HTTP contract over a real socket and the real embedded engine.

mod access;
mod bad_input;
mod boards;
mod connections;
mod documents;
mod scores;
mod serve;
mod server;
