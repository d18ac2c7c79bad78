//! A standing that takes submissions.

use std::{
    io,
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use compact_str::CompactString;
use parking_lot::RwLock;
use standings_core::{
    Found, IndexRecord, Order, PlayerId, Position, SortKey,
    board::Ties,
    rule::Entry,
    standing::{
        Size, Standing,
        as_of::{AsOfRow, AsOfView, Cursor},
    },
};
use standings_index::RankIndex;
use standings_index::{Change, Spot};

/// The rank index of an open or closing season.
///
/// A frozen view costs nothing until something changes: while there is one, the first change to an entry keeps what it
/// was. Whoever writes the view scans the index piece by piece, leaves out the rows that changed in the meantime and puts
/// in what they were, which gives the standing exactly as it was when the view began.
#[derive(Default)]
pub(crate) struct Live {
    /// Nothing until the first entry: most boards of a large installation are idle.
    index: Option<Box<RankIndex>>,
    /// Views that are being written: the next checkpoint, and snapshots.
    views: Option<Box<Views>>,
}

/// Behind one pointer: most standings have none.
#[derive(Default)]
struct Views(Vec<View>);

/// The standing as it was at one instant.
struct View {
    id: ViewId,
    rows: AsOfView,
}

/// The name of a view, never given twice: a checkpoint ends its views when it is done with a standing and again when it is
/// done with all, and must not end that of a snapshot which began in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewId(u64);

static NEXT_VIEW: AtomicU64 = AtomicU64::new(0);

static EMPTY: RankIndex = RankIndex::new();

/// The index record of an entry.
pub(crate) fn record_of(order: Order, entry: Entry) -> IndexRecord {
    IndexRecord { key: SortKey::new(order, entry.score, entry.at), updated_at: entry.updated_at }
}

/// The entry of an index record.
pub(crate) fn entry_of(order: Order, record: IndexRecord) -> Entry {
    Entry {
        score: order.unfold(record.key.folded),
        at: record.key.at,
        updated_at: record.updated_at,
    }
}

/// Giving back the memory of 25 million players takes the system as long as a hundred flushes, and the last to hold a
/// standing may be the one on whom all submissions wait.
impl Drop for Live {
    fn drop(&mut self) {
        let index = self.index.take_if(|index| index.memory_bytes() >= LARGE);
        if index.is_some() {
            // Without a thread it is dropped here.
            let _ = thread::Builder::new().name("remover".to_owned()).spawn(move || drop(index));
        }
    }
}

/// An index whose end is worth a thread.
const LARGE: usize = 16 << 20;

impl Live {
    pub(crate) fn from_index(index: RankIndex) -> Self {
        Self { index: Some(Box::new(index)), views: None }
    }

    pub(crate) fn index(&self) -> &RankIndex {
        self.index.as_deref().unwrap_or(&EMPTY)
    }

    /// Sets an entry, whatever it was.
    pub(crate) fn set(&mut self, player: &PlayerId, record: IndexRecord) {
        self.change(player, None, record, None);
    }

    /// The same where the entry may have been looked up; tells the places before and after by one of the tie rules.
    pub(crate) fn change(
        &mut self,
        player: &PlayerId,
        spot: Option<Spot>,
        record: IndexRecord,
        ties: Option<Ties>,
    ) -> Change {
        let change = self.index.get_or_insert_default().change(player, spot, record, ties);
        for view in self.views.iter_mut().flat_map(|views| &mut views.0) {
            view.rows.keep(player, change.previous);
        }
        change
    }

    /// Takes an entry off; whether there was one.
    pub(crate) fn remove(&mut self, player: &PlayerId) -> bool {
        let before = self.index.as_mut().and_then(|index| index.remove(player));
        if before.is_some() {
            for view in self.views.iter_mut().flat_map(|views| &mut views.0) {
                view.rows.keep(player, before);
            }
        }
        before.is_some()
    }

    /// From now on, keeps what entries were.
    pub(crate) fn begin_view(&mut self) -> ViewId {
        let players = self.index().len();
        let id = ViewId(NEXT_VIEW.fetch_add(1, Ordering::Relaxed));
        let views = &mut self.views.get_or_insert_default().0;
        views.push(View { id, rows: AsOfView::new(players) });
        id
    }

    /// Ends a view. What it kept is given back after the lock: it may be a lot.
    pub(crate) fn end_view(live: &RwLock<Self>, id: ViewId) {
        let ended = {
            let views = &mut live.write().views;
            let ended: Vec<_> =
                views.iter_mut().flat_map(|views| views.0.extract_if(.., |v| v.id == id)).collect();
            views.take_if(|views| views.0.is_empty());
            ended
        };
        drop(ended);
    }

    #[cfg(test)]
    pub(crate) fn has_views(&self) -> bool {
        self.views.is_some()
    }

    fn view(&self, id: ViewId) -> Option<&View> {
        self.views.as_ref()?.0.iter().find(|view| view.id == id)
    }

    /// The number of players when a view began.
    pub(crate) fn view_players(&self, id: ViewId) -> u64 {
        self.view(id).map_or(0, |view| view.rows.players)
    }

    /// The next rows of a view in order, about so many.
    pub(crate) fn view_rows(&self, id: ViewId, cursor: &mut Cursor, most: usize) -> Vec<AsOfRow> {
        let Some(view) = self.view(id) else {
            cursor.done = true;
            return Vec::new();
        };
        let from = cursor.after();
        let from = from.map_or(Position(0), |(key, player)| self.index().through(key, player));
        let mut piece = Vec::with_capacity(most);
        self.index().scan(from, |player: &str, record: IndexRecord| {
            piece.push((CompactString::from(player), record));
            if piece.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let full = piece.len() == most;
        view.rows.merge(piece, full, cursor)
    }
}

/// Memory can always be read; the error is that of a standing in a file, so that both can be asked alike.
impl Standing for Live {
    type Error = io::Error;

    fn size(&self) -> Size {
        Size { players: self.index().len(), total: self.index().total() }
    }

    fn find(&self, player: &str) -> io::Result<Option<Found>> {
        Ok(self.index().find(player))
    }

    fn find_many(&self, players: &[&str]) -> io::Result<Vec<Option<Found>>> {
        Ok(self.index().find_many(players))
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
        visitor: &mut dyn FnMut(&str, IndexRecord) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.index().scan(from, visitor);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use standings_core::{Millis, Score};

    fn set(live: &mut Live, player: &str, score: i64) {
        let entry =
            Entry { score: Score::new(score).unwrap(), at: Millis(0), updated_at: Millis(0) };
        live.set(&PlayerId::new(player).unwrap(), record_of(Order::Desc, entry));
    }

    #[test]
    fn a_view_that_is_ended_twice_does_not_end_another() {
        let live = RwLock::new(Live::default());
        set(&mut live.write(), "a", 1);
        let checkpoint = live.write().begin_view();
        Live::end_view(&live, checkpoint);
        let snapshot = live.write().begin_view();
        Live::end_view(&live, checkpoint);
        let mut live = live.write();
        set(&mut live, "b", 2);
        let rows = live.view_rows(snapshot, &mut Cursor::default(), 10);
        let players: Vec<_> = rows.iter().map(|(player, _)| player.as_str()).collect();
        assert_eq!((live.view_players(snapshot), players), (1, vec!["a"]));
    }
}
