//! Places without a player in a standing that no longer changes.
//!
//! Three ways to count meet here. A *position* counts all places. A *rank* counts those that were not removed: an erased player
//! leaves a gap in the ranks, so that the others keep theirs, while after a cheater they close up. What is *shown* counts neither.

use std::ops::Range;

use super::{percentile, rank};
use crate::{
    board::Ties,
    rank::{Position, Rank},
};

/// The places of a standing that show no player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// In order.
    all: Vec<u64>,
    /// Those that ranks close up over.
    removed: Vec<u64>,
    /// The sum of folded scores that the standing still counts of them.
    total: i128,
}

impl Gaps {
    /// Gaps that erased and removed players left, and what the standing still counts of their folded scores.
    pub fn new(erased: Vec<u64>, mut removed: Vec<u64>, total: i128) -> Self {
        let mut all = erased;
        all.extend_from_slice(&removed);
        for positions in [&mut all, &mut removed] {
            positions.sort_unstable();
            positions.dedup();
        }
        Self { all, removed, total }
    }

    /// What the standing still counts of their folded scores.
    pub fn total(&self) -> i128 {
        self.total
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// Whether a place shows no player.
    pub fn has(&self, position: Position) -> bool {
        self.all.binary_search(&position.0).is_ok()
    }

    /// How many places before a position show a player.
    pub fn shown_before(&self, position: Position) -> Position {
        Position(position.0 - before(&self.all, position.0))
    }

    /// How many places of a range show a player.
    pub fn shown(&self, positions: &Range<u64>) -> u64 {
        if positions.is_empty() {
            return 0;
        }
        let end = self.shown_before(Position(positions.end)).0;
        end - self.shown_before(Position(positions.start)).0
    }

    /// The position so many shown rows after another.
    pub fn after(&self, start: u64, shown: u64) -> u64 {
        let first = usize::try_from(before(&self.all, start)).unwrap_or(usize::MAX);
        let mut position = start.saturating_add(shown);
        for gap in self.all.iter().skip(first) {
            if *gap > position {
                break;
            }
            position += 1;
        }
        position
    }

    /// The rank at a position.
    pub fn rank(&self, ties: Ties, position: Position, first_of_score: Position) -> Rank {
        rank(ties, self.closed_up(position), self.closed_up(first_of_score))
    }

    /// The percentile of a score among so many places.
    pub fn percentile(&self, players: u64, first_of_score: Position) -> f64 {
        percentile(players - self.removed.len() as u64, self.closed_up(first_of_score))
    }

    fn closed_up(&self, position: Position) -> Position {
        Position(position.0 - before(&self.removed, position.0))
    }
}

fn before(gaps: &[u64], position: u64) -> u64 {
    if gaps.is_empty() { 0 } else { gaps.partition_point(|gap| *gap < position) as u64 }
}
