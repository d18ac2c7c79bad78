//! The HTTP contract over a real socket and the real embedded engine.

mod access;
mod bad_input;
mod boards;
mod connections;
mod documents;
mod erase;
mod friends;
mod history;
mod scores;
mod serve;
mod server;
mod snapshots;
