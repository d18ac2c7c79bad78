//! Questions that any ordered set of entries answers the same way, whether it lives in memory or in a frozen file.
//!
//! A [`Standing`] gives five primitives; ranks, windows, pages, percentiles and distributions are derived from them here,
//! once.

use std::ops::{ControlFlow, Range};

use crate::{
    board::{Board, Ties},
    rank::{Position, Rank},
    score::Score,
    sort_key::SortKey,
    time::Millis,
};

/// What a standing holds of a player besides the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRecord {
    /// Where the player sorts.
    pub key: SortKey,
    /// When the entry last changed, which may be later than when its score was reached.
    pub updated_at: Millis,
}

/// A player and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of players before this one; ties are in order of time, then id.
    pub position: Position,
    /// The number of players with a better score: the place that ties share.
    pub first_of_score: Position,
    /// The player's record.
    pub record: IndexRecord,
}

/// An ordered set of entries.
pub trait Standing {
    /// What can go wrong when reading it.
    type Error;

    /// How many entries there are.
    fn players(&self) -> u64;
    /// The sum of all folded scores.
    fn total(&self) -> i128;
    /// Finds a player.
    fn find(&self, player: &str) -> Result<Option<Found>, Self::Error>;
    /// Finds players, in their order: one by one, unless the standing knows a faster way.
    fn find_many(&self, players: &[&str]) -> Result<Vec<Option<Found>>, Self::Error> {
        players.iter().map(|player| self.find(player)).collect()
    }
    /// How many entries have a score that is strictly better than this folded one.
    fn before_score(&self, folded: i64) -> Result<Position, Self::Error>;
    /// How many entries sort at or before a place, whether or not anyone is there.
    fn through(&self, key: SortKey, player: &str) -> Result<Position, Self::Error>;
    /// Visits entries in order from a position on, until told to stop.
    fn visit(
        &self,
        from: Position,
        visitor: &mut dyn FnMut(&str, IndexRecord) -> ControlFlow<()>,
    ) -> Result<(), Self::Error>;
}

/// The rank at a position, by the board's tie rule.
pub fn rank(ties: Ties, position: Position, first_of_score: Position) -> Rank {
    match ties {
        Ties::Share => first_of_score.rank(),
        Ties::Earliest => position.rank(),
    }
}

/// 100 × (players − players strictly better) / players.
#[expect(clippy::cast_precision_loss, reason = "a percentage of fewer than 2^53 players")]
pub fn percentile(players: u64, first_of_score: Position) -> f64 {
    100.0 * (players - first_of_score.0) as f64 / players as f64
}

/// The positions of `2 × around + 1` rows with one in the middle, filled up from the other side at an edge.
pub fn window(middle: Position, around: u64, players: u64) -> Range<u64> {
    let size = (2 * around + 1).min(players);
    let start = middle.0.saturating_sub(around).min(players - size);
    start..start + size
}

/// The positions of `2 × around` rows about a place between two rows, filled up likewise.
pub fn window_between(place: Position, around: u64, players: u64) -> Range<u64> {
    let size = (2 * around).min(players);
    let start = place.0.saturating_sub(around).min(players - size);
    start..start + size
}

/// Visits the rows at the given positions with their ranks.
pub fn rows<S: Standing + ?Sized>(
    standing: &S,
    ties: Ties,
    positions: Range<u64>,
    mut visitor: impl FnMut(&str, IndexRecord, Rank),
) -> Result<(), S::Error> {
    if positions.is_empty() {
        return Ok(());
    }
    let mut position = positions.start;
    // The first row's score may have begun before the range; from then on a new score shows where it begins.
    let mut score: Option<(i64, Position)> = None;
    let mut failed = None;
    standing.visit(Position(position), &mut |player, record| {
        let folded = record.key.folded;
        let first = match score {
            Some((current, first)) if current == folded => first,
            Some(_) => Position(position),
            None if ties == Ties::Earliest => Position(position),
            None => match standing.before_score(folded) {
                Ok(first) => first,
                Err(error) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            },
        };
        score = Some((folded, first));
        visitor(player, record, rank(ties, Position(position), first));
        position += 1;
        if position < positions.end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    failed.map_or(Ok(()), Err)
}

/// Which scores are wanted; all of it is optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Scores from this number up.
    pub min: Option<Score>,
    /// Scores up to this number.
    pub max: Option<Score>,
    /// Only those that met the goal, or only those that did not.
    pub success: Option<bool>,
}

impl Filter {
    /// The range of folded scores that pass, first and last; `None` where none can. Without a goal nobody has met it.
    pub fn folded(&self, board: &Board, goal: Option<Score>) -> Option<(i64, i64)> {
        let order = board.order();
        let (mut first, mut last) = (i64::MIN, i64::MAX);
        for (bound, is_min) in [(self.min, true), (self.max, false)] {
            let Some(folded) = bound.map(|score| order.fold(score)) else { continue };
            // Where high is better the lowest wanted score is the last in order.
            if is_min == (order == crate::sort_key::Order::Desc) {
                last = last.min(folded);
            } else {
                first = first.max(folded);
            }
        }
        match (self.success, goal.map(|goal| order.fold(goal))) {
            (None, _) | (Some(false), None) => {}
            (Some(true), None) => return None,
            (Some(true), Some(goal)) => last = last.min(goal),
            (Some(false), Some(goal)) => first = first.max(goal + 1),
        }
        (first <= last).then_some((first, last))
    }

    /// The positions that pass.
    pub fn positions<S: Standing + ?Sized>(
        &self,
        standing: &S,
        board: &Board,
        goal: Option<Score>,
    ) -> Result<Range<u64>, S::Error> {
        let Some((first, last)) = self.folded(board, goal) else { return Ok(0..0) };
        let start = if first == i64::MIN { 0 } else { standing.before_score(first)?.0 };
        let end = match last.checked_add(1) {
            Some(beyond) => standing.before_score(beyond)?.0,
            None => standing.players(),
        };
        Ok(start..end)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::{distribution::distribution, sort_key::Order, time::Millis};

    /// The simplest standing there is: a sorted vector.
    struct Model(Vec<(SortKey, String)>);

    impl Model {
        fn new(order: Order, rows: &[(i64, i64)]) -> Self {
            let key = |(score, at): &(i64, i64)| {
                SortKey::new(order, Score::new(*score).unwrap(), Millis(*at))
            };
            let rows = rows.iter().enumerate();
            let mut rows: Vec<_> = rows.map(|(id, row)| (key(row), format!("p{id}"))).collect();
            rows.sort();
            Self(rows)
        }
    }

    impl Standing for Model {
        type Error = Infallible;
        fn players(&self) -> u64 {
            self.0.len() as u64
        }
        fn total(&self) -> i128 {
            self.0.iter().map(|(key, _)| i128::from(key.folded)).sum()
        }
        fn find(&self, player: &str) -> Result<Option<Found>, Infallible> {
            let Some(position) = self.0.iter().position(|(_, id)| id == player) else {
                return Ok(None);
            };
            let key = self.0[position].0;
            Ok(Some(Found {
                position: Position(position as u64),
                first_of_score: self.before_score(key.folded)?,
                record: IndexRecord { key, updated_at: key.at },
            }))
        }
        fn before_score(&self, folded: i64) -> Result<Position, Infallible> {
            Ok(Position(self.0.iter().filter(|(key, _)| key.folded < folded).count() as u64))
        }
        fn through(&self, key: SortKey, player: &str) -> Result<Position, Infallible> {
            let place = (key, player.to_owned());
            Ok(Position(self.0.iter().filter(|row| **row <= place).count() as u64))
        }
        fn visit(
            &self,
            from: Position,
            visitor: &mut dyn FnMut(&str, IndexRecord) -> ControlFlow<()>,
        ) -> Result<(), Infallible> {
            for (key, id) in self.0.iter().skip(usize::try_from(from.0).unwrap()) {
                if visitor(id, IndexRecord { key: *key, updated_at: key.at }).is_break() {
                    break;
                }
            }
            Ok(())
        }
    }

    fn ranks(ties: Ties, scores: &[i64], positions: Range<u64>) -> Vec<u64> {
        let rows: Vec<_> = scores.iter().zip(0..).map(|(score, at)| (*score, at)).collect();
        let mut ranks = Vec::new();
        let model = Model::new(Order::Desc, &rows);
        rows_of(&model, ties, positions, &mut ranks);
        ranks
    }

    fn rows_of(model: &Model, ties: Ties, positions: Range<u64>, out: &mut Vec<u64>) {
        let Ok(()) = rows(model, ties, positions, |_, _, rank| out.push(rank.get()));
    }

    #[test]
    fn a_tie_shares_the_rank_or_goes_to_the_earliest() {
        let scores = [50, 40, 40, 30];
        assert_eq!(ranks(Ties::Share, &scores, 0..4), [1, 2, 2, 4]);
        assert_eq!(ranks(Ties::Earliest, &scores, 0..4), [1, 2, 3, 4]);
        // A page that begins in the middle of a tie knows where the tie began.
        assert_eq!(ranks(Ties::Share, &scores, 2..4), [2, 4]);
        assert_eq!(ranks(Ties::Share, &scores, 4..4), [] as [u64; 0]);
    }

    #[test]
    fn a_window_is_filled_up_from_the_other_side_at_an_edge() {
        assert_eq!(window(Position(360), 4, 1000), 356..365);
        assert_eq!(window(Position(0), 4, 1000), 0..9);
        assert_eq!(window(Position(999), 4, 1000), 991..1000);
        assert_eq!(window(Position(1), 4, 3), 0..3);
        assert_eq!(window(Position(5), 0, 10), 5..6);
        assert_eq!(window_between(Position(5), 2, 10), 3..7);
        assert_eq!(window_between(Position(10), 2, 10), 6..10);
        assert_eq!(window_between(Position(0), 2, 0), 0..0);
    }

    #[test]
    fn the_best_is_in_the_hundredth_percentile() {
        let percentiles = [percentile(4, Position(0)), percentile(4, Position(3))];
        assert!((percentiles[0] - 100.0).abs() < 1e-9 && (percentiles[1] - 25.0).abs() < 1e-9);
    }

    #[test]
    fn deciles_end_at_the_last_player_within_the_share() {
        let rows: Vec<_> = (1..=20).map(|score| (score * 10, 0)).collect();
        let Ok(scores) = distribution(&Model::new(Order::Desc, &rows), Order::Desc);
        let deciles: Vec<_> =
            scores.deciles.iter().map(|d| (d.top_percent, d.score.get())).collect();
        assert_eq!(deciles[0], (10, 190));
        assert_eq!(deciles[8], (90, 30));
        assert_eq!((scores.min, scores.max), (Score::new(10), Score::new(200)));
        assert_eq!(scores.mean, Some(105.0));
        let Ok(scores) = distribution(&Model::new(Order::Asc, &rows), Order::Asc);
        assert_eq!(scores.deciles[0].score.get(), 20);
    }

    proptest! {
        #[test]
        fn a_filter_passes_exactly_the_scores_it_names(
            rows in prop::collection::vec((-20i64..20, 0i64..5), 0..60),
            asc: bool,
            min in prop::option::of(-25i64..25),
            max in prop::option::of(-25i64..25),
            success: Option<bool>,
            goal in prop::option::of(-25i64..25),
        ) {
            let order = if asc { Order::Asc } else { Order::Desc };
            let board = Board::from_json(&format!(r#"{{"order":"{}"}}"#, if asc { "asc" } else { "desc" })).unwrap();
            let model = Model::new(order, &rows);
            let score = |value: Option<i64>| value.and_then(Score::new);
            let filter = Filter { min: score(min), max: score(max), success };
            let Ok(positions) = filter.positions(&model, &board, score(goal));
            let met = |value: i64| goal.is_some_and(|goal| if asc { value <= goal } else { value >= goal });
            let wanted: Vec<&String> = model
                .0
                .iter()
                .filter(|(key, _)| {
                    let value = order.unfold(key.folded).get();
                    min.is_none_or(|min| value >= min)
                        && max.is_none_or(|max| value <= max)
                        && success.is_none_or(|wanted| met(value) == wanted)
                })
                .map(|(_, id)| id)
                .collect();
            let got: Vec<&String> = model.0.iter().map(|(_, id)| id)
                .skip(usize::try_from(positions.start).unwrap())
                .take(usize::try_from(positions.end.saturating_sub(positions.start)).unwrap())
                .collect();
            prop_assert_eq!(got, wanted);
        }

        #[test]
        fn a_distribution_counts_every_player_once(
            rows in prop::collection::vec((-1000i64..1000, 0i64..5), 1..200),
            asc: bool,
        ) {
            let order = if asc { Order::Asc } else { Order::Desc };
            let Ok(scores) = distribution(&Model::new(order, &rows), order);
            prop_assert_eq!(scores.histogram.iter().map(|bin| bin.players).sum::<u64>(), rows.len() as u64);
            for bin in &scores.histogram {
                let inside = rows.iter().filter(|(s, _)| (bin.from.get()..=bin.to.get()).contains(s));
                prop_assert_eq!(bin.players, inside.count() as u64);
            }
            let values = rows.iter().map(|(score, _)| *score);
            prop_assert_eq!(scores.min.map(Score::get), values.clone().min());
            prop_assert_eq!(scores.max.map(Score::get), values.max());
        }
    }
}
