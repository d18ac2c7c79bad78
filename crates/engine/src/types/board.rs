//! Boards.

use std::sync::Arc;

use standings_core::{Board, BoardId, SeasonSpan};

use super::Exactness;

/// Which boards are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardsQuery {
    /// Only those after this one, by the bytes of the id.
    pub after: Option<BoardId>,
    /// At most so many.
    pub limit: usize,
}

/// Boards by id.
#[derive(Clone, Debug)]
pub struct BoardsPage {
    /// The boards.
    pub boards: Vec<BoardInfo>,
    /// Whether there are more.
    pub more: bool,
}

/// A board as it is now.
#[derive(Clone, Debug)]
pub struct BoardInfo {
    /// Its id.
    pub id: BoardId,
    /// Its definition.
    pub definition: Arc<Board>,
    /// The current season.
    pub season: SeasonSpan,
}

/// A board as it is now, and how many play on it. Counting them for a list would cost a question a board.
#[derive(Clone, Debug)]
pub struct BoardStatus {
    /// The board.
    pub board: BoardInfo,
    /// Players in the current season.
    pub players: u64,
    /// How exact that number is.
    pub exactness: Exactness,
}

/// What a PUT did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Created,
    /// It was there and is as given now.
    Changed,
}
