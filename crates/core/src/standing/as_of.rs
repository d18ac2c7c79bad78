//! A standing as it was at one instant, while it goes on changing.
//!
//! From that instant on a view keeps what an entry was before its first change, which costs nothing until something changes. The
//! standing is then read in order, piece by piece: rows that changed in the meantime are left out, and what they were is put in.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Bound,
};

use compact_str::CompactString;

use super::IndexRecord;
use crate::{id::PlayerId, sort_key::SortKey};

/// A row of a view: who, and what.
pub type AsOfRow = (CompactString, IndexRecord);

/// A place in the order.
type Place = (SortKey, CompactString);

/// What entries were at an instant, where they changed since.
#[derive(Debug, Default)]
pub struct AsOfView {
    /// The number of players then.
    pub players: u64,
    changed: HashSet<PlayerId>,
    /// What those of them had that had an entry, in order.
    before: BTreeMap<Place, IndexRecord>,
}

/// How far a view has been read.
#[derive(Debug, Default)]
pub struct Cursor {
    after: Option<Place>,
    /// Whether all of it has been read.
    pub done: bool,
}

impl Cursor {
    /// After which place the standing is to be read; from the beginning where there is none.
    pub fn after(&self) -> Option<(SortKey, &str)> {
        self.after.as_ref().map(|(key, player)| (*key, player.as_str()))
    }
}

impl AsOfView {
    /// A view of a standing with so many players, from now on.
    pub fn new(players: u64) -> Self {
        Self { players, ..Self::default() }
    }

    /// Keeps what a player had before a change, unless it has changed already.
    pub fn keep(&mut self, player: &PlayerId, before: Option<IndexRecord>) {
        if self.changed.insert(player.clone())
            && let Some(before) = before
        {
            self.before.insert((before.key, player.as_str().into()), before);
        }
    }

    /// The next rows of the view, given the next rows of the standing as it is, in order, from [`Cursor::after`] on; an empty piece
    /// is the end.
    ///
    /// What changes after it was given was given as it was; what changes before that is kept, and found here.
    pub fn merge(&self, piece: Vec<AsOfRow>, full: bool, cursor: &mut Cursor) -> Vec<AsOfRow> {
        let after = cursor.after.take();
        if full {
            cursor.after = piece.last().map(|(player, record)| (record.key, player.clone()));
        }
        cursor.done = cursor.after.is_none();
        let mut rows = piece;
        rows.retain(|(player, _)| !self.changed.contains(player.as_str()));
        // What was before the end of this piece belongs to it; at the end of the standing, all that is left.
        let low = after.map_or(Bound::Unbounded, Bound::Excluded);
        let high = cursor.after.clone().map_or(Bound::Unbounded, Bound::Included);
        let unchanged = rows.len();
        let kept = self.before.range((low, high));
        rows.extend(kept.map(|((_, player), record)| (player.clone(), *record)));
        if rows.len() > unchanged {
            rows.sort_by(|a, b| (a.1.key, a.0.as_bytes()).cmp(&(b.1.key, b.0.as_bytes())));
        }
        rows
    }
}
