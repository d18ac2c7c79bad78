//! Standings that answer at once: in memory, or in a file.

use std::ops::ControlFlow;

use super::{Found, From, IndexRecord, Ranks, Rows, Size};
use crate::{board::Ties, id::PlayerId, rank::Position, sort_key::SortKey};

/// An ordered set of entries that is near.
pub trait Standing: Sync {
    /// What can go wrong when reading it.
    type Error: Send;

    /// How large it is.
    fn size(&self) -> Size;
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
    /// Visits entries in order from a position on, until it breaks. An erased player is an empty text.
    fn visit(
        &self,
        from: Position,
        visitor: &mut dyn FnMut(&str, IndexRecord) -> ControlFlow<()>,
    ) -> Result<(), Self::Error>;
}

/// A near standing under a tie rule.
pub struct Near<'a, S: ?Sized>(pub &'a S, pub Ties);

impl<S: Standing + ?Sized> Near<'_, S> {
    fn read(&self, from: From<'_>, limit: usize) -> Result<Rows, S::Error> {
        let start = match from {
            From::At(position) => position,
            From::After(key, player) => self.0.through(key, player)?,
        };
        let players = self.0.size().players;
        let left = usize::try_from(players.saturating_sub(start.0)).unwrap_or(usize::MAX);
        let limit = limit.min(left);
        let mut rows = Vec::with_capacity(limit);
        if limit == 0 {
            return Ok(Rows { start, first_of_score: start, rows });
        }
        self.0.visit(start, &mut |player, record| {
            rows.push((PlayerId::new(player).ok(), record));
            if rows.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let first_of_score = match (self.1, rows.first()) {
            (Ties::Share, Some((_, first))) => self.0.before_score(first.key.folded)?,
            _ => start,
        };
        Ok(Rows { start, first_of_score, rows })
    }
}

impl<S: Standing + ?Sized> Ranks for Near<'_, S> {
    type Error = S::Error;

    fn ties(&self) -> Ties {
        self.1
    }

    async fn size(&self) -> Result<Size, S::Error> {
        Ok(self.0.size())
    }

    async fn find(&self, players: &[&PlayerId]) -> Result<Vec<Option<Found>>, S::Error> {
        if let [player] = players {
            return Ok(vec![self.0.find(player)?]);
        }
        let ids: Vec<&str> = players.iter().map(|player| player.as_str()).collect();
        self.0.find_many(&ids)
    }

    async fn better(&self, folded: &[i64]) -> Result<Vec<Position>, S::Error> {
        folded.iter().map(|folded| self.0.before_score(*folded)).collect()
    }

    async fn through(&self, places: &[(SortKey, &PlayerId)]) -> Result<Vec<Position>, S::Error> {
        places.iter().map(|(key, player)| self.0.through(*key, player)).collect()
    }

    async fn rows(&self, spans: &[(From<'_>, usize)]) -> Result<Vec<Rows>, S::Error> {
        spans.iter().map(|(from, limit)| self.read(*from, *limit)).collect()
    }
}
