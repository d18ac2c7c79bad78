//! Questions: find the standing, take rows, add names.
//!
//! What is in memory is answered on the caller's thread, the event loop of a connection. What may wait for the disk goes to threads that may
//! block, and only so many at once: [`threads`] alone decides which is which.

pub(crate) mod board;
pub(crate) mod find;
pub(crate) mod player;
pub(crate) mod season;
pub(crate) mod threads;
