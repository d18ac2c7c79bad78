//! Closing seasons, taking snapshots and letting go of both when their time comes.
//!
//! Which seasons there are is a matter of schedule and clock; see [`Timeline`](standings_core::timeline::Timeline). Only one with entries
//! has anything due: it closes when its grace is over, and goes when it is older than its board keeps. What is due is a record
//! in the log before anything else is decided on that board, so each event is in exactly one season and recovery finds the
//! same ones.
//!
//! At midnight much is due at once. A group of submissions waits for what is due on its own boards alone; the rest is done in portions
//! between groups.

use std::sync::Arc;

use standings_core::{BoardId, LocalDate, Millis, span::Keep};
use tokio::sync::oneshot;

use crate::write::Sequencer;
use crate::{
    operations::keeper::{Freeze, Frozen, Job},
    record::{BoardNo, FrozenFile, LogRecord, SeasonNo, Transition},
    state::{
        catalog::{BoardState, SeasonData},
        snapshots,
        snapshots::PendingSource,
    },
};
use standings_engine::Result;

/// Records in one portion: some milliseconds with its flush, and some hundred microseconds under the lock that readers need.
const PORTION: usize = 256;

/// When a board next needs attention.
fn deadline(board: &BoardState) -> Option<Millis> {
    let next = board.timeline.next_due(&board.definition, SeasonData::is_archived);
    [next, snapshot_expiry(board)].into_iter().flatten().min()
}

/// When the next snapshot is past its time.
fn snapshot_expiry(board: &BoardState) -> Option<Millis> {
    let oldest = board.snapshots.first().filter(|snapshot| snapshot.file().is_some())?;
    match board.definition.snapshots()?.keep {
        Keep::For(span) => Some(span.after(oldest.at, board.definition.zone())),
        Keep::Forever | Keep::Seasons(_) => None,
    }
}

/// Everything that is due on a board, about a portion at once.
fn due(board: &BoardState, now: Millis, records: &mut Vec<LogRecord>) {
    let no = board.no;
    let due = board.timeline.due(&board.definition, now, SeasonData::is_archived, PORTION);
    let old = snapshots::expired(board, now).into_iter().map(Transition::DropSnapshot);
    for transition in due.into_iter().chain(old) {
        let emptied = emptied(board, &transition);
        records.push(season(no, transition));
        records.extend(emptied);
    }
}

/// What closes or is taken without players needs no file: it is written at once.
pub(super) fn emptied(board: &BoardState, transition: &Transition) -> Option<LogRecord> {
    let is_empty =
        |season: SeasonNo| board.timeline.slot(season).is_none_or(|slot| slot.data.is_empty());
    let (board, file) = (board.no, Box::<FrozenFile>::default());
    match transition {
        Transition::Close(season, _) if is_empty(*season) => {
            Some(LogRecord::SeasonFrozen { board, season: *season, file })
        }
        Transition::AsOf(as_of) if as_of.of.is_none_or(is_empty) => {
            Some(LogRecord::SnapshotFrozen { board, snapshot: as_of.no, file })
        }
        _ => None,
    }
}

/// The record of a transition.
pub(super) fn season(board: BoardNo, transition: Transition) -> LogRecord {
    LogRecord::Season { board, transition: Box::new(transition) }
}

impl Sequencer {
    /// Does all that is due: before the first reader, since what is shown must be right from the first answer.
    pub(crate) fn roll_all(&mut self, now: Millis) -> Result<()> {
        while self.roll_portion(now)? {}
        Ok(())
    }

    /// Does some of what is due; whether anything was.
    pub(super) fn roll_portion(&mut self, now: Millis) -> Result<bool> {
        let due = self.deadlines.iter().take_while(|(due, _)| *due <= now).take(PORTION);
        let boards: Vec<BoardNo> = due.map(|(_, board)| *board).collect();
        self.roll(&boards, now)?;
        Ok(!boards.is_empty())
    }

    /// Does what is due on some boards. Until that has worked nothing can be decided there.
    pub(super) fn roll_boards(&mut self, boards: &[BoardNo], now: Millis) -> Result<()> {
        let is_due = |board: &&BoardNo| self.deadline_of.get(board).is_some_and(|due| *due <= now);
        let mut due: Vec<BoardNo> = boards.iter().filter(is_due).copied().collect();
        while !due.is_empty() {
            self.roll(&due, now)?;
            due.retain(|board| self.deadline_of.get(board).is_some_and(|due| *due <= now));
        }
        Ok(())
    }

    /// The time, with what is due by it on a board done. A change of the board must not come before that.
    pub(super) fn now_on(&mut self, id: &BoardId) -> Result<Millis> {
        let now = self.shared.clock.now();
        let board = self.shared.catalog.read().board(id).map(|board| board.no);
        self.roll_boards(board.as_slice(), now)?;
        Ok(now)
    }

    /// One group of records of what is due on some boards: a portion, or all of the first that has more.
    fn roll(&mut self, boards: &[BoardNo], now: Millis) -> Result<()> {
        let mut records = Vec::new();
        let mut rolled = 0;
        {
            let catalog = self.shared.catalog.read();
            for no in boards {
                if let Some(board) = catalog.board_no(*no) {
                    due(board, now, &mut records);
                }
                rolled += 1;
                if records.len() >= PORTION {
                    break;
                }
            }
        }
        self.commit_seasons(records)?;
        for no in &boards[..rolled] {
            self.schedule(*no);
        }
        Ok(())
    }

    /// Commits changes of seasons, and has done what they lead to.
    pub(super) fn commit_seasons(&mut self, records: Vec<LogRecord>) -> Result<()> {
        let follow = Following::of(&records);
        let files = self.files_of(&follow.dropped);
        self.commit(records)?;
        for (board, what) in follow.freeze {
            self.freeze(board, what, None);
        }
        if !follow.expired.is_empty() {
            let _ = self.jobs.send(Job::Retire(follow.expired));
        }
        self.discard(&files);
        Ok(())
    }

    /// The files of snapshots.
    fn files_of(&self, snapshots: &[(BoardNo, LocalDate)]) -> Vec<Arc<FrozenFile>> {
        let catalog = self.shared.catalog.read();
        let files = snapshots.iter().filter_map(|(board, date)| {
            let snapshots = &catalog.board_no(*board)?.snapshots;
            snapshots.iter().filter(|s| s.date == *date).find_map(|s| s.file().cloned())
        });
        files.collect()
    }

    /// Has a standing written to a file.
    pub(super) fn freeze(
        &mut self,
        board: BoardNo,
        what: Frozen,
        reply: Option<oneshot::Sender<u64>>,
    ) {
        let no = match what {
            Frozen::Season(no) | Frozen::Snapshot(no) => no,
        };
        let name = self.new_name(board, no);
        let rows = self.rows_of(board, what);
        let _ = self.jobs.send(Job::Freeze(Freeze { board, what, rows, name, reply }));
    }

    /// How many rows are to be written.
    fn rows_of(&self, board: BoardNo, what: Frozen) -> u64 {
        let catalog = self.shared.catalog.read();
        let Some(board) = catalog.board_no(board) else { return 0 };
        let live = match what {
            Frozen::Season(no) => board.timeline.slot(no).and_then(|slot| slot.data.live()),
            Frozen::Snapshot(no) => match board.pending_snapshot(no).map(|p| &p.source) {
                Some(PendingSource::File(file)) => return file.rows(),
                Some(PendingSource::View(live, _)) => Some(live),
                None => None,
            },
        };
        live.map_or(0, |live| live.read().index().len())
    }

    /// Notes when a board next needs attention, after anything about it changed.
    pub(super) fn schedule(&mut self, no: BoardNo) {
        if let Some(old) = self.deadline_of.remove(&no) {
            self.deadlines.remove(&(old, no));
        }
        let due = self.shared.catalog.read().board_no(no).and_then(deadline);
        // What is due at the end of time is never due, or it would be for ever once the clock is there.
        if let Some(due) = due.filter(|due| *due < Millis::MAX) {
            self.deadline_of.insert(no, due);
            self.deadlines.insert((due, no));
        }
    }

    /// Schedules every board, and what a crash left closed but not frozen, taken but not written, expired but not gone.
    pub(super) fn schedule_all(&mut self) {
        let boards: Vec<BoardNo> = self.shared.catalog.read().boards().map(|b| b.no).collect();
        for no in boards {
            self.schedule(no);
        }
        let (snapshots, unfinished, expired) = {
            let catalog = self.shared.catalog.read();
            let slots = || {
                let boards = catalog.boards();
                boards.flat_map(|b| b.timeline.slots().iter().map(|slot| (b.no, slot)))
            };
            let closed = slots().filter(|(_, s)| s.closed.is_some() && !s.data.is_archived());
            let closed: Vec<_> = closed.map(|(board, slot)| (board, slot.no)).collect();
            let expired = slots().filter(|(_, slot)| slot.expired);
            let expired: Vec<_> = expired.map(|(board, slot)| (board, slot.no)).collect();
            (catalog.pending_snapshots(), closed, expired)
        };
        for (board, snapshot) in snapshots {
            self.freeze(board, Frozen::Snapshot(snapshot), None);
        }
        for (board, season) in unfinished {
            self.freeze(board, Frozen::Season(season), None);
        }
        if !expired.is_empty() {
            let _ = self.jobs.send(Job::Retire(expired));
        }
    }
}

/// What records lead to once they are durable.
#[derive(Default)]
struct Following {
    /// Standings that are to be written.
    freeze: Vec<(BoardNo, Frozen)>,
    expired: Vec<(BoardNo, SeasonNo)>,
    dropped: Vec<(BoardNo, LocalDate)>,
}

impl Following {
    fn of(records: &[LogRecord]) -> Self {
        let mut follow = Self::default();
        for record in records {
            match record {
                LogRecord::Season { board, transition } => follow.note(*board, transition),
                // The record before said what; without players it needs no file, and what was imported has one.
                LogRecord::SeasonFrozen { .. } | LogRecord::SnapshotFrozen { .. } => {
                    follow.freeze.pop();
                }
                _ => {}
            }
        }
        follow
    }

    fn note(&mut self, board: BoardNo, transition: &Transition) {
        match transition {
            Transition::Close(no, _) => self.freeze.push((board, Frozen::Season(*no))),
            Transition::AsOf(as_of) => self.freeze.push((board, Frozen::Snapshot(as_of.no))),
            Transition::Expire(no) => self.expired.push((board, *no)),
            Transition::DropSnapshot(date) => self.dropped.push((board, *date)),
            Transition::Open(..)
            | Transition::Ends(..)
            | Transition::Drop(_)
            | Transition::Restart(_) => {}
        }
    }
}
