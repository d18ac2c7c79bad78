//! What one client may take of the server. How many reads run at once is the engine's matter: it knows which of them take long, and of
//! what.

use std::time::Duration;

/// The largest body that is held in memory. Imports are streamed and have no limit.
pub(crate) const BODY_BYTES: usize = 4 * 1024 * 1024;

/// What a request's headers may have, all names and values together. Keys are short.
pub(crate) const HEADER_BYTES: usize = 16 * 1024;

/// What its address may have: a thousand ids of up to 60 bytes each. Four KiB more and hyper would not read it.
pub(crate) const ADDRESS_BYTES: usize = 60 * 1024;

/// The largest head that is read at all; what lies between this and the two limits above gets a problem document.
pub(crate) const HEAD_BYTES: usize = 128 * 1024;

/// The longest request id that is taken over.
pub(crate) const REQUEST_ID_BYTES: usize = 64;

/// What of an unread body is read for the sake of its connection, and how long it is waited for.
pub(crate) const UNREAD_BYTES: u64 = 64 * 1024;
pub(crate) const UNREAD_WAIT: Duration = Duration::from_millis(200);
