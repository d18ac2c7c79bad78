//! Opening and closing seasons when their time comes.
//!
//! A season is opened a little before it begins, by as much as an event may be ahead of the clock, so that the season of
//! every acceptable event exists. Which one is current is a matter of the clock alone. A season closes when its grace is
//! over; until then it takes events whose own time lies in it. Both are records in the log, written before anything is
//! decided at that time, so each event is in exactly one season and recovery finds the same seasons.

use std::sync::Arc;

use standings_core::{LocalDate, Millis, SeasonId, SeasonSpan, limits::MAX_AHEAD, span::Keep};
use tokio::sync::oneshot;

use super::Sequencer;
use crate::{
    catalog::{BoardState, Season},
    keeper::{Freeze, Frozen, Job},
    record::{BoardNo, FrozenFile, LogRecord, Taken},
    snapshot::{self, PendingSource},
};
use standings_engine::Result;

/// Records in one group when many seasons are due at once.
const ROLL_RECORDS: usize = 10_000;

/// When a board next needs attention.
fn deadline(board: &BoardState) -> Millis {
    let open = board.seasons.last().map_or(Millis::MIN, |last| open_at(&last.span));
    let close = board.seasons.iter().rev().filter(|season| season.closed.is_none());
    let close = close.map(|season| close_at(board, season));
    let snapshot = board.definition.snapshot_due(board.snapshots.through()).map(|(due, _)| due);
    let expiry = [season_expiry(board), snapshot_expiry(board)].into_iter().flatten();
    close.chain(snapshot).chain(expiry).fold(open, Millis::min)
}

/// Closed seasons that could be deleted, oldest first, each with the number of seasons that closed after it.
fn deletable(board: &BoardState) -> impl Iterator<Item = (&Season, u64)> {
    let closed = board.seasons.iter().filter(|season| season.closed.is_some()).count() as u64;
    let seasons = board.seasons.iter().filter(|season| season.closed.is_some());
    let numbered = seasons.zip(1..).map(move |(season, number)| (season, closed - number));
    numbered.filter(|(season, _)| !season.expired && season.live().is_none())
}

/// When the next closed season is past its time.
fn season_expiry(board: &BoardState) -> Option<Millis> {
    let (season, since) = deletable(board).next()?;
    match board.definition.keep() {
        Keep::Forever => None,
        Keep::Seasons(count) => (since >= u64::from(count)).then_some(Millis::MIN),
        Keep::For(span) => Some(span.after(season.span.ends_at, board.definition.zone())),
    }
}

/// When the next snapshot is past its time.
fn snapshot_expiry(board: &BoardState) -> Option<Millis> {
    let oldest = board.snapshots.list().first().filter(|snapshot| snapshot.file().is_some())?;
    match board.definition.snapshots()?.keep {
        Keep::For(span) => Some(span.after(oldest.at, board.definition.zone())),
        Keep::Forever | Keep::Seasons(_) => None,
    }
}

/// When the season after a span is to be opened.
fn open_at(span: &SeasonSpan) -> Millis {
    if span.ends_at == Millis::MAX { Millis::MAX } else { span.ends_at.plus(Millis(-MAX_AHEAD.0)) }
}

fn close_at(board: &BoardState, season: &Season) -> Millis {
    season.span.ends_at.plus(board.definition.grace())
}

/// The end of the newest season, where it is another by now. The rules of time zones change, and a season may have been
/// opened by the old ones: if by the new ones it goes on after its end, it must not be opened a second time.
fn moved_end(board: &BoardState, now: Millis) -> Option<LogRecord> {
    let Season { no, span, .. } = board.seasons.last().filter(|last| last.closed.is_none())?;
    if now < open_at(span) || span.ends_at == Millis::MAX {
        return None;
    }
    let SeasonSpan { id, ends_at, .. } = board.definition.season_at(span.ends_at);
    let moved = LogRecord::SeasonEnds { board: board.no, season: *no, ends_at };
    id.shares_season(&span.id).then_some(moved)
}

/// Everything that is due on a board: seasons to open, up to the one that may already get events, and seasons to close.
fn due(board: &BoardState, now: Millis, records: &mut Vec<LogRecord>) {
    if let Some(moved) = moved_end(board, now) {
        // Alone: what else is due goes by the new end, and comes with the next group.
        return records.push(moved);
    }
    let mut next_no = board.next_season;
    let mut spans: Vec<(u32, SeasonSpan)> = Vec::new();
    let last = |spans: &[(u32, SeasonSpan)]| {
        spans.last().map(|(_, span)| span).or(board.seasons.last().map(|s| &s.span)).cloned()
    };
    let mut all_opened = false;
    while records.len() < ROLL_RECORDS {
        let span = match last(&spans) {
            None => board.definition.season_at(now),
            Some(span) if now < open_at(&span) || span.ends_at == Millis::MAX => {
                all_opened = true;
                break;
            }
            // Where it should have begun earlier by now, the season before had that time.
            Some(span) => {
                SeasonSpan { starts_at: span.ends_at, ..board.definition.season_at(span.ends_at) }
            }
        };
        records.push(opened(board.no, next_no, &span));
        spans.push((next_no, span));
        next_no += 1;
    }
    // Not before the season of every date is there: the rest comes with the next group.
    if all_opened {
        snapshots_due(board, &spans, now, records);
    }
    let existing = board.seasons.iter().filter(|season| season.closed.is_none());
    let existing = existing.map(|season| (season.no, season.span.ends_at, season.is_empty()));
    let new = spans.iter().map(|(no, span)| (*no, span.ends_at, true));
    for (season, ends_at, empty) in existing.chain(new) {
        if now < ends_at.plus(board.definition.grace()) || ends_at == Millis::MAX {
            continue;
        }
        records.push(LogRecord::SeasonClosed {
            board: board.no,
            season,
            goal: board.definition.goal(),
        });
        if empty {
            // Nothing to write: it is frozen at once.
            let file = Box::default();
            records.push(LogRecord::SeasonFrozen { board: board.no, season, file });
        }
    }
    let (keep, zone) = (board.definition.keep(), board.definition.zone());
    for (season, since) in deletable(board) {
        if keep.is_expired(season.span.ends_at, now, since, zone) {
            records.push(LogRecord::SeasonExpired { board: board.no, season: season.no });
        }
    }
    let old = snapshot::expired(board, now).into_iter();
    records.extend(old.map(|date| LogRecord::SnapshotDropped { board: board.no, date }));
}

/// The snapshots that are due. Those that were missed are of the season that was current then, as it is now: nothing was
/// accepted in between. Dates of one season share a file.
fn snapshots_due(
    board: &BoardState,
    opened: &[(u32, SeasonSpan)],
    now: Millis,
    records: &mut Vec<LogRecord>,
) {
    let Some(policy) = board.definition.snapshots() else { return };
    let mut due: Vec<(LocalDate, Millis)> = Vec::new();
    let mut after = board.snapshots.through();
    while let Some((at, date)) = board.definition.snapshot_due(after) {
        if at > now || due.len() >= ROLL_RECORDS {
            break;
        }
        after = at;
        due.push((date, at));
    }
    let old = |at: Millis| policy.keep.is_expired(at, now, 0, board.definition.zone());
    let last = due.len().saturating_sub(1);
    let mut kept = due.into_iter().enumerate().filter(|(i, (_, at))| *i == last || !old(*at));
    let mut group: Option<(u32, SeasonId, bool)> = None;
    let mut dates = Vec::new();
    let mut next = board.snapshots.next();
    let mut finish = |of: Option<(u32, SeasonId, bool)>, dates: Vec<_>| {
        let Some((season, season_id, empty)) = of else { return };
        let (goal, official) = (board.definition.goal(), policy.official);
        let (board, snapshot) = (board.no, next);
        next += 1;
        let taken = Taken { board, snapshot, season, season_id, dates, goal, official };
        records.push(LogRecord::SnapshotTaken(taken));
        if empty {
            let file = Box::default();
            records.push(LogRecord::SnapshotFrozen { board, snapshot, file });
        }
    };
    for (_, (date, at)) in kept.by_ref() {
        let of = current_at(board, opened, at);
        if of != group {
            finish(group.take(), std::mem::take(&mut dates));
            group = of;
        }
        dates.push((date, at));
    }
    finish(group, dates);
}

/// The season that is or was current at an instant, and whether it is empty.
fn current_at(
    board: &BoardState,
    opened: &[(u32, SeasonSpan)],
    at: Millis,
) -> Option<(u32, SeasonId, bool)> {
    if let Some((no, span)) = opened.iter().rev().find(|(_, span)| span.starts_at <= at) {
        return Some((*no, span.id.clone(), true));
    }
    let season = board.seasons.get(board.current(at))?;
    Some((season.no, season.span.id.clone(), season.is_empty()))
}

/// The record that opens a season.
pub(super) fn opened(board: BoardNo, season: u32, span: &SeasonSpan) -> LogRecord {
    let SeasonSpan { id, starts_at, ends_at } = span.clone();
    LogRecord::SeasonOpened { board, season, id, starts_at, ends_at }
}

impl Sequencer {
    /// Opens and closes what is due. Until that has worked nothing can be decided.
    pub(crate) fn roll_seasons(&mut self, now: Millis) -> Result<()> {
        while self.deadlines.first().is_some_and(|(due, _)| *due <= now) {
            let mut records = Vec::new();
            let mut boards = Vec::new();
            {
                let catalog = self.shared.catalog.read();
                for (_, no) in self.deadlines.iter().take_while(|(due, _)| *due <= now) {
                    if let Some(board) = catalog.board_no(*no) {
                        due(board, now, &mut records);
                    }
                    boards.push(*no);
                    if records.len() >= ROLL_RECORDS {
                        break;
                    }
                }
            }
            let follow = Following::of(&records);
            let files = self.files_of(&follow.dropped);
            self.commit(records)?;
            for no in boards {
                self.schedule(no);
            }
            for (board, what) in follow.freeze {
                self.freeze(board, what, None);
            }
            if !follow.expired.is_empty() {
                let _ = self.jobs.send(Job::Retire(follow.expired));
            }
            self.discard(&files);
        }
        Ok(())
    }

    /// The files of snapshots.
    fn files_of(&self, snapshots: &[(BoardNo, LocalDate)]) -> Vec<Arc<FrozenFile>> {
        let catalog = self.shared.catalog.read();
        let files = snapshots.iter().filter_map(|(board, date)| {
            let snapshots = catalog.board_no(*board)?.snapshots.list();
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
            Frozen::Season(no) => board.season(no).and_then(Season::live),
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
        let deadline = self.shared.catalog.read().board_no(no).map(deadline);
        // What is due at the end of time is never due, or it would be for ever once the clock is there.
        if let Some(deadline) = deadline.filter(|deadline| *deadline < Millis::MAX) {
            self.deadline_of.insert(no, deadline);
            self.deadlines.insert((deadline, no));
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
            let seasons = || catalog.boards().flat_map(|b| b.seasons.iter().map(|s| (b.no, s)));
            let closed = seasons().filter(|(_, s)| s.closed.is_some() && s.live().is_some());
            let expired = seasons().filter(|(_, s)| s.expired);
            let numbers = |(board, season): (BoardNo, &Season)| (board, season.no);
            let closed: Vec<_> = closed.map(numbers).collect();
            let expired: Vec<_> = expired.map(numbers).collect();
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
    expired: Vec<(BoardNo, u32)>,
    dropped: Vec<(BoardNo, LocalDate)>,
}

impl Following {
    fn of(records: &[LogRecord]) -> Self {
        let mut follow = Self::default();
        for record in records {
            match record {
                LogRecord::SeasonClosed { board, season, .. } => {
                    follow.freeze.push((*board, Frozen::Season(*season)));
                }
                LogRecord::SnapshotTaken(taken) => {
                    follow.freeze.push((taken.board, Frozen::Snapshot(taken.snapshot)));
                }
                // The record before said what; without players it needs no file.
                LogRecord::SeasonFrozen { .. } | LogRecord::SnapshotFrozen { .. } => {
                    follow.freeze.pop();
                }
                LogRecord::SeasonExpired { board, season } => {
                    follow.expired.push((*board, *season));
                }
                LogRecord::SnapshotDropped { board, date } => follow.dropped.push((*board, *date)),
                _ => {}
            }
        }
        follow
    }
}
