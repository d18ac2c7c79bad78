//! How the scores of a standing are distributed, in a number of steps that does not grow with the players.

use super::{From, Gaps, Ranks, Rows};
use crate::{rank::Position, score::Score, sort_key::Order};

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

/// The mean of so many scores with this sum of folded scores.
#[expect(clippy::cast_precision_loss, reason = "a mean is an estimate of a sum beyond 2^53 anyway")]
pub fn mean(players: u64, total: i128, order: Order) -> Option<f64> {
    let sign = match order {
        Order::Desc => -1.0,
        Order::Asc => 1.0,
    };
    (players > 0).then(|| sign * total as f64 / players as f64 + 0.0)
}

/// The distribution of a standing, in three trips: its size, the scores at its ends and deciles, and how many have less than each bound
/// of the histogram.
pub async fn distribution<R: Ranks + ?Sized>(
    ranks: &R,
    gaps: &Gaps,
    order: Order,
) -> Result<Distribution, R::Error> {
    let size = ranks.size().await?;
    let players = gaps.shown(&(0..size.players));
    if players == 0 {
        return Ok(Distribution::default());
    }
    // A share is rounded up, so that it has at least one player and the last decile is not beyond the last.
    let share = |percent: u64| (players * percent).div_ceil(100).max(1) - 1;
    let tenths = (1..10).map(|tenth| share(10 * tenth));
    let places = [0].into_iter().chain(tenths).chain([players - 1]);
    let spans: Vec<_> = places.map(|place| (From::At(Position(gaps.after(0, place))), 1)).collect();
    let rows = ranks.rows(&spans).await?;
    let score = |rows: &Rows| Some(order.unfold(rows.rows.first()?.1.key.folded));
    let scores: Option<Vec<Score>> = rows.iter().map(score).collect();
    let Some([best, deciles @ .., worst]) = scores.as_deref() else {
        return Ok(Distribution::default());
    };
    let (min, max) = (*best.min(worst), *best.max(worst));
    let deciles = (10..).step_by(10).zip(deciles);
    Ok(Distribution {
        players,
        min: Some(min),
        max: Some(max),
        mean: mean(players, size.total - gaps.total(), order),
        deciles: deciles
            .map(|(top_percent, score)| Decile { top_percent, score: *score })
            .collect(),
        histogram: histogram(ranks, gaps, order, min, max).await?,
    })
}

async fn histogram<R: Ranks + ?Sized>(
    ranks: &R,
    gaps: &Gaps,
    order: Order,
    min: Score,
    max: Score,
) -> Result<Vec<Bin>, R::Error> {
    let width = (max.get() - min.get()) / BINS + 1;
    let mut bins = Vec::new();
    let mut bounds = Vec::new();
    let mut from = min.get();
    while from <= max.get() {
        let to = (from + width - 1).min(max.get());
        let (from_score, to_score) = (in_range(from), in_range(to));
        let (low, high) = (order.fold(from_score), order.fold(to_score));
        bounds.extend([low.min(high), low.max(high) + 1]);
        bins.push(Bin { from: from_score, to: to_score, players: 0 });
        from += width;
    }
    let better = ranks.better(&bounds).await?;
    for (bin, bounds) in bins.iter_mut().zip(better.chunks(2)) {
        bin.players = gaps.shown(&(bounds[0].0..bounds[1].0));
    }
    Ok(bins)
}

fn in_range(score: i64) -> Score {
    Score::new(score).expect("bins lie between two scores")
}
