//! The rules of a leaderboard, and nothing else.
//!
//! Everything that can be wrong about ranking is in this crate and can be tested in microseconds: types that are
//! valid once constructed, [`decide`](rule::decide), seasons and time zones, and the total order as one [`SortKey`]. There is no I/O, no async and no clock here; the time is always an argument.

pub mod best;
pub mod board;
pub mod decide;
pub mod id;
pub mod limits;
pub mod name;
pub mod official;
pub mod player;
pub mod rank;
pub mod rule;
pub mod score;
pub mod season;
pub mod sort_key;
pub mod span;
pub mod standing;
pub mod streak;
pub mod time;
pub mod timeline;

pub use board::Board;
pub use id::{BoardId, EventId, KeyName, Name, PlayerId};
pub use player::Profile;
pub use rank::{Position, Rank};
pub use score::Score;
pub use season::{LocalDate, SeasonId, SeasonSpan};
pub use sort_key::{Order, SortKey};
pub use standing::{Found, IndexRecord};
pub use time::Millis;
