//! Every limit that a client can meet, in one place, with its reason.

use crate::time::Millis;

/// Longest player id in bytes: fits a UUID, an e-mail address or a platform id, and bounds the memory a player can cost.
pub const PLAYER_ID_BYTES: usize = 128;
/// Longest event id in bytes, for the same reason.
pub const EVENT_ID_BYTES: usize = 128;
/// Longest board id: it becomes part of keys and of addresses.
pub const BOARD_ID_BYTES: usize = 64;
/// Scores and points lie within ±(2^53 − 1), the integers that every JSON reader represents exactly.
pub const MAX_SCORE: i64 = 9_007_199_254_740_991;
/// How far ahead of the server's clock an event may claim to be: a game server's clock error, not a plan.
pub const MAX_AHEAD: Millis = Millis(60_000);
/// How long an event id is remembered, unless configured otherwise: a game server retries for minutes, a weekend's
/// outage takes two days.
pub const EVENT_ID_WINDOW: Millis = Millis(48 * 3_600_000);
/// Longest display name in bytes.
pub const NAME_BYTES: usize = 256;
/// Longest avatar address in bytes, as browsers have it.
pub const AVATAR_URL_BYTES: usize = 2048;
/// A player's attributes as JSON text.
pub const ATTRIBUTES_BYTES: usize = 4096;
/// Longest title of a board in bytes.
pub const TITLE_BYTES: usize = 256;
/// Rows in one page.
pub const PAGE_ROWS: usize = 1000;
/// Players on each side of a window.
pub const AROUND_ROWS: usize = 100;
/// Submissions in one batch.
pub const BATCH_ROWS: usize = 10_000;
/// Players asked for by id in one call.
pub const IDS_PER_CALL: usize = 1000;
/// Friends of one player: as many as the large platforms allow, and a list that is ranked in one call.
pub const FRIENDS: usize = 5000;
/// The longest grace a board may give.
pub const MAX_GRACE: Millis = Millis(31 * 24 * 3_600_000);
/// Partitions of one board: more would make a scatter-gather read slower than the load it spreads.
pub const PARTITIONS: usize = 1024;
/// Official ranks of a snapshot, one page of rows.
pub const OFFICIAL_RANKS: u32 = 1000;
