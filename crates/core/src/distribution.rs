//! How the scores of a standing are distributed, in a number of steps that does not grow with the players.

use std::ops::ControlFlow;

use crate::{rank::Position, score::Score, sort_key::Order, standing::Standing};

/// Bars in a histogram: enough to see a shape, few enough to draw.
const BINS: i64 = 20;

/// How scores are distributed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Players with an entry; the rest is empty where there are none.
    pub players: u64,
    /// The lowest score.
    pub min: Option<Score>,
    /// The highest score.
    pub max: Option<Score>,
    /// The mean score.
    pub mean: Option<f64>,
    /// The scores at which the best 10, 20 … 90 percent end.
    pub deciles: Vec<Decile>,
    /// Players by score, in equal steps from the lowest to the highest.
    pub histogram: Vec<Bin>,
}

/// A tenth of the players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decile {
    /// 10, 20 … 90.
    pub top_percent: u8,
    /// The score of the last player within that share.
    pub score: Score,
}

/// A bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The lowest score in it.
    pub from: Score,
    /// The highest score in it.
    pub to: Score,
    /// Players in it.
    pub players: u64,
}

/// The mean of a standing's scores.
pub fn mean<S: Standing + ?Sized>(standing: &S, order: Order) -> Option<f64> {
    mean_of(standing.players(), standing.total(), order)
}

/// The mean of so many scores with this sum of folded scores.
#[expect(clippy::cast_precision_loss, reason = "a mean is an estimate of a sum beyond 2^53 anyway")]
pub fn mean_of(players: u64, total: i128, order: Order) -> Option<f64> {
    let sign = match order {
        Order::Desc => -1.0,
        Order::Asc => 1.0,
    };
    (players > 0).then(|| sign * total as f64 / players as f64 + 0.0)
}

/// The distribution of a standing: exact, by some fifty look-ups.
pub fn distribution<S: Standing + ?Sized>(
    standing: &S,
    order: Order,
) -> Result<Distribution, S::Error> {
    let players = standing.players();
    if players == 0 {
        return Ok(Distribution::default());
    }
    let ends = [score_at(standing, order, 0)?, score_at(standing, order, players - 1)?];
    let [Some(best), Some(worst)] = ends else { return Ok(Distribution::default()) };
    let (min, max) = (best.min(worst), best.max(worst));
    let mut deciles = Vec::with_capacity(9);
    for top_percent in (10..100u8).step_by(10) {
        // The share is rounded up, so that it has at least one player and the last decile is not beyond the last.
        let last = (players * u64::from(top_percent)).div_ceil(100).max(1) - 1;
        if let Some(score) = score_at(standing, order, last)? {
            deciles.push(Decile { top_percent, score });
        }
    }
    Ok(Distribution {
        players,
        min: Some(min),
        max: Some(max),
        mean: mean(standing, order),
        deciles,
        histogram: histogram(standing, order, min, max)?,
    })
}

fn histogram<S: Standing + ?Sized>(
    standing: &S,
    order: Order,
    min: Score,
    max: Score,
) -> Result<Vec<Bin>, S::Error> {
    let width = (max.get() - min.get()) / BINS + 1;
    let mut bins = Vec::new();
    let mut from = min.get();
    while from <= max.get() {
        let to = (from + width - 1).min(max.get());
        let (low, high) = (order.fold(in_range(from)), order.fold(in_range(to)));
        let first = standing.before_score(low.min(high))?;
        let beyond = standing.before_score(low.max(high) + 1)?;
        bins.push(Bin { from: in_range(from), to: in_range(to), players: beyond.0 - first.0 });
        from += width;
    }
    Ok(bins)
}

fn in_range(score: i64) -> Score {
    Score::new(score).expect("bins lie between two scores")
}

fn score_at<S: Standing + ?Sized>(
    standing: &S,
    order: Order,
    position: u64,
) -> Result<Option<Score>, S::Error> {
    let mut score = None;
    standing.visit(Position(position), &mut |_, record| {
        score = Some(order.unfold(record.key.folded));
        ControlFlow::Break(())
    })?;
    Ok(score)
}
