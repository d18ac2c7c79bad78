//! Questions and answers of the [`Engine`](crate::Engine) contract.

mod board;
mod capabilities;
mod key;
mod operation;
mod player;
mod score;
mod season;
mod snapshot;
mod standing;

pub use board::*;
pub use capabilities::*;
pub use key::*;
pub use operation::*;
pub use player::*;
pub use score::*;
pub use season::*;
pub use snapshot::*;
pub use standing::*;
pub use standings_core::{
    standing::{Bin, Decile, Filter},
    streak::Streak,
    timeline::{SeasonRef, SeasonState},
};
