//! Entries, pages, windows and places.

use std::ops::Range;

use super::{Found, From, Gaps, Ranked, Ranks, Rows, poll::both};
use crate::{
    board::{Board, Ties},
    id::PlayerId,
    rank::{Position, Rank},
    score::Score,
    sort_key::{Order, SortKey},
};

/// A player's entry, with the rows around it where they are asked for.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The entry.
    pub row: Ranked,
    /// 100 × (players − players strictly better) / players.
    pub percentile: f64,
    /// The rows on each side, and the entry among them.
    pub around: Vec<Ranked>,
}

/// A page of a standing.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rows, best first.
    pub rows: Vec<Ranked>,
    /// Players of the whole standing.
    pub players: u64,
    /// Whether more rows follow.
    pub more: bool,
}

/// Rows of given players.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The rows, best first, each once.
    pub rows: Vec<Ranked>,
    /// The numbers of those that have no entry, in the order asked.
    pub missing: Vec<usize>,
    /// Players of the whole standing.
    pub players: u64,
}

/// Where a score would stand, had it been reached last.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its rank.
    pub rank: Rank,
    /// Its percentile, as one more player's.
    pub percentile: f64,
    /// The rows on each side.
    pub around: Vec<Ranked>,
}

/// Where a page starts.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// So many rows that pass the filter are skipped.
    Offset(u64),
    /// Right after a place, whether or not anyone is there.
    After(SortKey, &'a PlayerId),
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
    /// The range of folded scores that pass, first and last; `None` where none can. Without a goal no one has met it.
    pub fn folded(&self, board: &Board, goal: Option<Score>) -> Option<(i64, i64)> {
        let order = board.order();
        let (mut first, mut last) = (i64::MIN, i64::MAX);
        for (bound, is_min) in [(self.min, true), (self.max, false)] {
            let Some(folded) = bound.map(|score| order.fold(score)) else { continue };
            // Where high is better the lowest wanted score is the last in order.
            if is_min == (order == Order::Desc) {
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
}

/// A player's entry: one trip, with the rows around it two.
pub async fn entry<R: Ranks + ?Sized>(
    ranks: &R,
    gaps: &Gaps,
    player: &PlayerId,
    around: Option<usize>,
) -> Result<Option<Entry>, R::Error> {
    let (found, size) = both(ranks.find(&[player]), ranks.size()).await?;
    let found = found.into_iter().next().flatten().filter(|found| !gaps.has(found.position));
    let Some(found) = found else { return Ok(None) };
    let around = match around {
        Some(around) => {
            let middle = gaps.shown_before(found.position);
            let window = window(middle, around as u64, gaps.shown(&(0..size.players)));
            window_rows(ranks, gaps, window).await?
        }
        None => Vec::new(),
    };
    let percentile = gaps.percentile(size.players, found.first_of_score);
    Ok(Some(Entry { row: ranked(ranks.ties(), gaps, player, &found), percentile, around }))
}

/// A page of the scores in a range of folded ones, first and last; one trip, where the range is not open two.
pub async fn page<R: Ranks + ?Sized>(
    ranks: &R,
    gaps: &Gaps,
    (first, last): (i64, i64),
    start: Start<'_>,
    limit: usize,
) -> Result<Page, R::Error> {
    let (from, size, mut passing) = if (first, last) == (i64::MIN, i64::MAX) {
        let from = match start {
            Start::Offset(offset) => From::At(Position(gaps.after(0, offset))),
            Start::After(key, player) => From::After(key, player),
        };
        (from, None, 0..u64::MAX)
    } else {
        let places: Vec<_> = match start {
            Start::Offset(_) => Vec::new(),
            Start::After(key, player) => vec![(key, player)],
        };
        let bounds = [first, last.saturating_add(1)];
        let positions = both(ranks.better(&bounds), ranks.through(&places));
        let ((bounds, places), size) = both(positions, ranks.size()).await?;
        let end = if last == i64::MAX { size.players } else { bounds[1].0 };
        let start = match (start, places.first()) {
            (Start::Offset(offset), _) => gaps.after(bounds[0].0, offset),
            (Start::After(..), place) => place.map_or(0, |place| place.0).max(bounds[0].0),
        };
        (From::At(Position(start)), Some(size), bounds[0].0..end)
    };
    // Some of those that follow may be gaps.
    let wanted = match from {
        From::At(start) => {
            gaps.after(start.0, limit as u64).min(passing.end).saturating_sub(start.0)
        }
        From::After(..) => limit as u64 + gaps.count(),
    };
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let (rows, size) = match size {
        Some(size) => (ranks.rows(&[(from, wanted)]).await?, size),
        None => both(ranks.rows(&[(from, wanted)]), ranks.size()).await?,
    };
    passing.end = passing.end.min(size.players);
    let rows = rows.into_iter().next().unwrap_or_default();
    let start = rows.start.0;
    let mut rows = numbered(ranks.ties(), gaps, rows);
    rows.truncate(limit);
    let end = gaps.after(start, limit as u64).min(passing.end);
    let more = gaps.shown(&(end..passing.end)) > 0;
    Ok(Page { rows, players: gaps.shown(&(0..size.players)), more })
}

/// Given players, best first: one trip.
pub async fn selected<R: Ranks + ?Sized>(
    ranks: &R,
    gaps: &Gaps,
    players: &[&PlayerId],
) -> Result<Selected, R::Error> {
    let (found, size) = both(ranks.find(players), ranks.size()).await?;
    let (mut rows, mut missing) = (Vec::with_capacity(players.len()), Vec::new());
    for (number, (player, found)) in players.iter().zip(found).enumerate() {
        match found.filter(|found| !gaps.has(found.position)) {
            Some(found) => rows.push(ranked(ranks.ties(), gaps, player, &found)),
            None => missing.push(number),
        }
    }
    rows.sort_by_key(|row| row.position);
    rows.dedup_by_key(|row| row.position);
    Ok(Selected { rows, missing, players: gaps.shown(&(0..size.players)) })
}

/// Ranks of rows in order among each other, by the tie rule.
pub fn among(ties: Ties, rows: &[Ranked]) -> Vec<Rank> {
    let mut first = 0;
    let mut ranks = Vec::with_capacity(rows.len());
    let mut before: Option<&Ranked> = None;
    for (position, row) in (0..).zip(rows) {
        if before.is_none_or(|before| before.record.key.folded != row.record.key.folded) {
            first = position;
        }
        ranks.push(super::rank(ties, Position(position), Position(first)));
        before = Some(row);
    }
    ranks
}

/// Where a folded score would stand: one trip, with the rows around it two.
pub async fn place<R: Ranks + ?Sized>(
    ranks: &R,
    gaps: &Gaps,
    folded: i64,
    around: usize,
) -> Result<Place, R::Error> {
    // Reached only now, it would come after all who have it.
    let scores = [folded, folded + 1];
    let (positions, size) = both(ranks.better(&scores), ranks.size()).await?;
    let (first_of_score, position) = (positions[0], positions[1]);
    let middle = gaps.shown_before(position);
    let window = window_between(middle, around as u64, gaps.shown(&(0..size.players)));
    Ok(Place {
        rank: gaps.rank(ranks.ties(), position, first_of_score),
        percentile: gaps.percentile(size.players + 1, first_of_score),
        around: window_rows(ranks, gaps, window).await?,
    })
}

/// The numbers of `2 × around + 1` rows with one in the middle, filled up from the other side at an edge.
fn window(middle: Position, around: u64, players: u64) -> Range<u64> {
    let size = (2 * around + 1).min(players);
    let start = middle.0.saturating_sub(around).min(players - size);
    start..start + size
}

/// The numbers of `2 × around` rows about a place between two rows, filled up likewise.
fn window_between(place: Position, around: u64, players: u64) -> Range<u64> {
    let size = (2 * around).min(players);
    let start = place.0.saturating_sub(around).min(players - size);
    start..start + size
}

/// The rows of which these are the numbers among all that are shown.
async fn window_rows<R: Ranks + ?Sized>(
    ranks: &R,
    gaps: &Gaps,
    shown: Range<u64>,
) -> Result<Vec<Ranked>, R::Error> {
    if shown.is_empty() {
        return Ok(Vec::new());
    }
    let (start, end) = (gaps.after(0, shown.start), gaps.after(0, shown.end));
    let limit = usize::try_from(end - start).unwrap_or(usize::MAX);
    let rows = ranks.rows(&[(From::At(Position(start)), limit)]).await?;
    let rows = rows.into_iter().next().unwrap_or_default();
    Ok(numbered(ranks.ties(), gaps, rows))
}

/// Rows with their ranks. The first one's score may have begun before it; from then on a new score shows where it begins.
fn numbered(ties: Ties, gaps: &Gaps, rows: Rows) -> Vec<Ranked> {
    let mut ranked = Vec::with_capacity(rows.rows.len());
    let mut score: Option<(i64, Position)> = None;
    for (number, (player, record)) in rows.rows.into_iter().enumerate() {
        let position = Position(rows.start.0 + number as u64);
        let folded = record.key.folded;
        let first = match score {
            Some((current, first)) if current == folded => first,
            Some(_) => position,
            None => rows.first_of_score,
        };
        score = Some((folded, first));
        if let Some(player) = player.filter(|_| !gaps.has(position)) {
            let rank = gaps.rank(ties, position, first);
            ranked.push(Ranked { player, record, rank, position });
        }
    }
    ranked
}

fn ranked(ties: Ties, gaps: &Gaps, player: &PlayerId, found: &Found) -> Ranked {
    Ranked {
        player: player.clone(),
        record: found.record,
        rank: gaps.rank(ties, found.position, found.first_of_score),
        position: found.position,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
