//! Snapshots in the catalog: a board as it was at a date.
//!
//! Taking one is a record in the log, a mark: from there on the standing keeps what its entries were, live and in recovery
//! alike, until the file is written. Until then no checkpoint is written either, so that a crash leaves the mark in the part
//! of the log that is replayed.

use std::sync::Arc;

use parking_lot::RwLock;
use standings_core::{LocalDate, Millis, Score, SeasonId, board::Ties, span::Keep};

use crate::{
    record::{AsOf, AsOfNo, BoardNo, ErasureNo, FrozenFile},
    state::{
        catalog::{BoardState, Catalog, Rows},
        live::{Live, ViewId},
    },
};
use standings_engine::SnapshotRef;

/// A board as it was at a date.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) date: LocalDate,
    /// The instant that it is of.
    pub(crate) at: Millis,
    /// Shared with other dates where nothing had changed between them.
    pub(crate) of: Arc<AsOf>,
    pub(crate) rows: SnapshotRows,
}

/// Where the entries of a snapshot are.
#[derive(Clone)]
pub(crate) enum SnapshotRows {
    /// Still in the standing that it is of.
    Pending(Pending),
    /// In an immutable file.
    Frozen(Arc<FrozenFile>),
}

/// A snapshot that is to be written.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) source: PendingSource,
    /// The tie rule of that moment.
    pub(crate) ties: Ties,
    /// The moment, as erasures count them.
    pub(crate) erasures: ErasureNo,
}

/// Where a snapshot is written from.
#[derive(Clone)]
pub(crate) enum PendingSource {
    /// A standing in memory, as it was.
    View(Arc<RwLock<Live>>, ViewId),
    /// A season that had been frozen by then.
    File(Arc<FrozenFile>),
}

impl Pending {
    fn end(&self) {
        if let PendingSource::View(live, view) = &self.source {
            Live::end_view(live, *view);
        }
    }
}

impl Snapshot {
    pub(crate) fn season(&self) -> &SeasonId {
        &self.of.season
    }

    pub(crate) fn goal(&self) -> Option<Score> {
        self.of.goal
    }

    /// The file, once it is written.
    pub(crate) fn file(&self) -> Option<&Arc<FrozenFile>> {
        match &self.rows {
            SnapshotRows::Frozen(file) => Some(file),
            SnapshotRows::Pending(_) => None,
        }
    }

    /// The file that must stay: its own, or the one that it is to be written from.
    pub(crate) fn needs(&self) -> Option<&Arc<FrozenFile>> {
        match &self.rows {
            SnapshotRows::Frozen(file)
            | SnapshotRows::Pending(Pending { source: PendingSource::File(file), .. }) => {
                Some(file)
            }
            SnapshotRows::Pending(_) => None,
        }
    }

    /// Where it is yet to be written: who was erased from this number on may be in it.
    pub(crate) fn pending_erasures(&self) -> Option<ErasureNo> {
        match &self.rows {
            SnapshotRows::Pending(pending) => Some(pending.erasures),
            SnapshotRows::Frozen(_) => None,
        }
    }
}

impl BoardState {
    /// The snapshot that is meant.
    pub(crate) fn snapshot(&self, which: SnapshotRef, now: Millis) -> Option<&Snapshot> {
        match which {
            SnapshotRef::Latest => self.readable(now).next(),
            SnapshotRef::Date(date) => self.readable(now).find(|snapshot| snapshot.date == date),
        }
    }

    /// The snapshots that can be read, newest first. One that is not yet written is not yet there, and one that is past its
    /// time shows no more, from that instant on.
    pub(crate) fn readable(&self, now: Millis) -> impl Iterator<Item = &Snapshot> {
        let keep = self.definition.snapshots().map_or(Keep::Forever, |policy| policy.keep);
        let written = self.snapshots.iter().rev().filter(|snapshot| snapshot.file().is_some());
        written.take_while(move |snapshot| {
            !keep.is_expired(snapshot.at, now, 0, self.definition.zone())
        })
    }

    /// The dates that have a snapshot, newest first, each with whether one of it is yet to be written.
    pub(crate) fn snapshot_dates(&self, now: Millis) -> Vec<(LocalDate, bool)> {
        let keep = self.definition.snapshots().map_or(Keep::Forever, |policy| policy.keep);
        let newest_first = self.snapshots.iter().rev();
        let kept = newest_first
            .take_while(|taken| !keep.is_expired(taken.at, now, 0, self.definition.zone()));
        let mut dates: Vec<(LocalDate, bool)> = Vec::new();
        for taken in kept {
            let writing = taken.file().is_none();
            match dates.last_mut() {
                Some((date, other)) if *date == taken.date => *other |= writing,
                _ => dates.push((taken.date, writing)),
            }
        }
        dates
    }

    /// A freeze that is to be written.
    pub(crate) fn pending_snapshot(&self, no: AsOfNo) -> Option<&Pending> {
        self.snapshots.iter().find_map(|snapshot| match &snapshot.rows {
            SnapshotRows::Pending(pending) if snapshot.of.no == no => Some(pending),
            _ => None,
        })
    }

    /// All freezes that are to be written.
    pub(crate) fn pending_snapshots(&self) -> Vec<AsOfNo> {
        let pending = self.snapshots.iter().filter(|snapshot| snapshot.file().is_none());
        let mut numbers: Vec<_> = pending.map(|snapshot| snapshot.of.no).collect();
        numbers.dedup();
        numbers
    }

    fn put_snapshot(&mut self, of: &Arc<AsOf>, rows: &SnapshotRows) {
        for (date, at) in of.dates.iter().copied() {
            let snapshot = Snapshot { date, at, of: Arc::clone(of), rows: rows.clone() };
            // One of the same date stays until the new one can be read.
            let pending = snapshot.file().is_none();
            let place = self.snapshots.partition_point(|kept| kept.date <= date);
            self.snapshots.insert(place, snapshot);
            if !pending {
                self.replace_older(date);
            }
        }
    }

    /// Of several snapshots of a date, only the last one taken counts, and those that are being written.
    fn replace_older(&mut self, date: LocalDate) {
        let of_date = self.snapshots.iter().filter(|s| s.date == date && s.file().is_some());
        let last = of_date.map(|snapshot| snapshot.of.no).max();
        self.snapshots
            .retain(|kept| kept.date != date || kept.file().is_none() || Some(kept.of.no) == last);
    }

    /// Puts a snapshot from elsewhere in place of what there was.
    pub(crate) fn import_snapshot(&mut self, as_of: &AsOf, file: &FrozenFile) {
        let rows = SnapshotRows::Frozen(Arc::new(file.clone()));
        self.timeline.used_as_of(as_of.no);
        self.put_snapshot(&Arc::new(as_of.clone()), &rows);
    }

    /// Takes a date out.
    pub(crate) fn drop_snapshot(&mut self, date: LocalDate) {
        self.snapshots.retain(|snapshot| snapshot.date != date || snapshot.file().is_none());
    }
}

impl Catalog {
    pub(crate) fn take_snapshot(&mut self, board: BoardNo, as_of: &AsOf) {
        let erasures = self.next_erasure();
        let Some(board) = self.board_mut(board) else { return };
        let slot = as_of.of.and_then(|no| board.timeline.slot(no));
        let source = match slot.map(|slot| slot.data.rows.clone()).unwrap_or_default() {
            Rows::Live(live) => {
                let view = live.write().begin_view();
                PendingSource::View(live, view)
            }
            Rows::Frozen(file) => PendingSource::File(file),
        };
        let ties = as_of.ties;
        let pending = SnapshotRows::Pending(Pending { source, ties, erasures });
        board.put_snapshot(&Arc::new(as_of.clone()), &pending);
    }

    pub(crate) fn freeze_snapshot(&mut self, board: BoardNo, no: AsOfNo, file: &FrozenFile) {
        let Some(board) = self.board_mut(board) else { return };
        let file = Arc::new(file.clone());
        let mut dates = Vec::new();
        let mut pending = None;
        for snapshot in board.snapshots.iter_mut().filter(|s| s.of.no == no) {
            let frozen = SnapshotRows::Frozen(Arc::clone(&file));
            if let SnapshotRows::Pending(ended) = std::mem::replace(&mut snapshot.rows, frozen) {
                pending = Some(ended);
            }
            dates.push(snapshot.date);
        }
        for date in dates {
            board.replace_older(date);
        }
        if let Some(pending) = pending {
            pending.end();
        }
    }

    /// Snapshots of all boards that are to be written.
    pub(crate) fn pending_snapshots(&self) -> Vec<(BoardNo, AsOfNo)> {
        let boards = self.boards().filter(|board| !board.snapshots.is_empty());
        boards.flat_map(|b| b.pending_snapshots().into_iter().map(|no| (b.no, no))).collect()
    }
}

/// What is past its time.
pub(crate) fn expired(board: &BoardState, now: Millis) -> Vec<LocalDate> {
    let Some(policy) = board.definition.snapshots() else { return Vec::new() };
    let zone = board.definition.zone();
    let old = board.snapshots.iter().take_while(|snapshot| {
        snapshot.file().is_some() && policy.keep.is_expired(snapshot.at, now, 0, zone)
    });
    old.map(|snapshot| snapshot.date).collect()
}
