//! A standing that takes submissions.

use std::{collections::HashMap, io, ops::ControlFlow};

use compact_str::CompactString;
use standings_core::{
    Found, Order, PlayerId, Position, RankIndex, Record, SortKey, rule::Entry, standing::Standing,
};

/// What entries were when a checkpoint began, for those that changed since; `None` where there was none.
pub(crate) type Undo = HashMap<PlayerId, Option<Record>>;

/// The rank index of an open or closing season.
///
/// A frozen view costs nothing until something changes: while one is being written, the first change to an entry keeps
/// what it was. The writer scans the index piece by piece, disregards the rows that changed in the meantime and puts
/// back what they were, which gives the standing exactly as it was when the view began.
#[derive(Default)]
pub(crate) struct Live {
    /// Nothing until the first entry: most boards of a large installation are idle.
    index: Option<Box<RankIndex>>,
    undo: Option<Box<Undo>>,
}

static EMPTY: RankIndex = RankIndex::new();

/// The index record of an entry.
pub(crate) fn record_of(order: Order, entry: Entry) -> Record {
    Record { key: SortKey::new(order, entry.score, entry.at), updated_at: entry.updated_at }
}

/// The entry of an index record.
pub(crate) fn entry_of(order: Order, record: Record) -> Entry {
    Entry {
        score: order.unfold(record.key.folded),
        at: record.key.at,
        updated_at: record.updated_at,
    }
}

impl Live {
    pub(crate) fn from_index(index: RankIndex) -> Self {
        Self { index: Some(Box::new(index)), undo: None }
    }

    pub(crate) fn index(&self) -> &RankIndex {
        self.index.as_deref().unwrap_or(&EMPTY)
    }

    /// Sets an entry, whatever it was.
    pub(crate) fn set(&mut self, player: &PlayerId, record: Record) {
        let before = self.index.get_or_insert_default().upsert(player, record);
        if let Some(undo) = &mut self.undo {
            undo.entry(player.clone()).or_insert(before);
        }
    }

    /// Takes an entry off; whether there was one.
    pub(crate) fn remove(&mut self, player: &PlayerId) -> bool {
        let before = self.index.as_mut().and_then(|index| index.remove(player));
        if let (Some(undo), Some(before)) = (&mut self.undo, before) {
            undo.entry(player.clone()).or_insert(Some(before));
        }
        before.is_some()
    }

    /// The next rows after one, or from the first on; at most so many.
    pub(crate) fn rows_after(
        &self,
        last: Option<&(CompactString, Record)>,
        most: usize,
    ) -> Vec<(CompactString, Record)> {
        let from = last.map_or(Position(0), |(player, row)| self.index().through(row.key, player));
        let mut rows = Vec::with_capacity(most);
        self.index().scan(from, |player: &str, record: Record| {
            rows.push((player.into(), record));
            if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        rows
    }

    /// From now on, keeps what entries were.
    pub(crate) fn begin_view(&mut self) {
        self.undo = Some(Box::default());
    }

    /// Ends the view and returns what entries were when it began.
    pub(crate) fn end_view(&mut self) -> Undo {
        self.undo.take().map(|undo| *undo).unwrap_or_default()
    }
}

/// Memory can always be read; the error is that of a standing in a file, so that both can be asked alike.
impl Standing for Live {
    type Error = io::Error;

    fn players(&self) -> u64 {
        self.index().len()
    }

    fn total(&self) -> i128 {
        self.index().total()
    }

    fn find(&self, player: &str) -> io::Result<Option<Found>> {
        Ok(self.index().find(player))
    }

    fn before_score(&self, folded: i64) -> io::Result<Position> {
        Ok(self.index().before_score(folded))
    }

    fn through(&self, key: SortKey, player: &str) -> io::Result<Position> {
        Ok(self.index().through(key, player))
    }

    fn visit(
        &self,
        from: Position,
        visitor: &mut dyn FnMut(&str, Record) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.index().scan(from, visitor);
        Ok(())
    }
}
