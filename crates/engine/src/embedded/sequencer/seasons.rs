//! Opening and closing seasons when their time comes.
//!
//! A season is opened a little before it begins, by as much as an event may be ahead of the clock, so that the season of
//! every acceptable event exists. Which one is current is a matter of the clock alone. A season closes when its grace is
//! over; until then it takes events whose own time lies in it. Both are records in the log, written before anything is
//! decided at that time, so each event is in exactly one season and recovery finds the same seasons.

use std::sync::Arc;

use standings_core::{Millis, SeasonSpan, limits::MAX_AHEAD};

use super::Sequencer;
use crate::{
    embedded::{
        catalog::{BoardState, Season},
        keeper::{Freeze, Job},
        record::{BoardNo, FrozenFile, Record},
    },
    error::Result,
};

/// Records in one group when many seasons are due at once.
const ROLL_RECORDS: usize = 10_000;

/// When a board next needs attention.
fn deadline(board: &BoardState) -> Millis {
    let open = board.seasons.last().map_or(Millis::MIN, |last| open_at(&last.span));
    let close = board.seasons.iter().rev().filter(|season| season.closed.is_none());
    close.map(|season| close_at(board, season)).fold(open, Millis::min)
}

/// When the season after a span is to be opened.
fn open_at(span: &SeasonSpan) -> Millis {
    if span.ends_at == Millis::MAX { Millis::MAX } else { span.ends_at.plus(Millis(-MAX_AHEAD.0)) }
}

fn close_at(board: &BoardState, season: &Season) -> Millis {
    season.span.ends_at.plus(board.definition.grace())
}

/// Everything that is due on a board: seasons to open, up to the one that may already get events, and seasons to close.
fn due(board: &BoardState, now: Millis, records: &mut Vec<Record>) {
    let mut next_no = board.next_season;
    let mut spans: Vec<(u32, SeasonSpan)> = Vec::new();
    let last = |spans: &[(u32, SeasonSpan)]| {
        spans.last().map(|(_, span)| span).or(board.seasons.last().map(|s| &s.span)).cloned()
    };
    while records.len() < ROLL_RECORDS {
        let span = match last(&spans) {
            None => board.definition.season_at(now),
            Some(span) if now < open_at(&span) || span.ends_at == Millis::MAX => break,
            Some(span) => board.definition.season_at(span.ends_at),
        };
        records.push(opened(board.no, next_no, &span));
        spans.push((next_no, span));
        next_no += 1;
    }
    let existing = board.seasons.iter().filter(|season| season.closed.is_none());
    let existing = existing.map(|season| {
        let empty = season.live().is_some_and(|live| live.read().index().is_empty());
        (season.no, season.span.ends_at, empty)
    });
    let new = spans.iter().map(|(no, span)| (*no, span.ends_at, true));
    for (season, ends_at, empty) in existing.chain(new) {
        if now < ends_at.plus(board.definition.grace()) || ends_at == Millis::MAX {
            continue;
        }
        records.push(Record::SeasonClosed {
            board: board.no,
            season,
            goal: board.definition.goal(),
        });
        if empty {
            // Nothing to write: it is frozen at once.
            let file = FrozenFile::empty();
            records.push(Record::SeasonFrozen { board: board.no, season, file });
        }
    }
}

/// The record that opens a season.
pub(super) fn opened(board: BoardNo, season: u32, span: &SeasonSpan) -> Record {
    let SeasonSpan { id, starts_at, ends_at } = span.clone();
    Record::SeasonOpened { board, season, id, starts_at, ends_at }
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
            let closed = closed_seasons(&records);
            self.commit(records)?;
            for no in boards {
                self.schedule(no);
            }
            for (board, season) in closed {
                self.freeze(board, season);
            }
        }
        Ok(())
    }

    /// Has a closed season written to a file.
    pub(super) fn freeze(&mut self, board: BoardNo, season: u32) {
        let live = self.shared.catalog.read().live(board, season).map(Arc::clone);
        let Some(live) = live else { return };
        let name = self.new_name(board, season);
        let season = Freeze { board, season, live, name };
        let _ = self.jobs.send(Job::Freeze(season));
    }

    /// Notes when a board next needs attention, after anything about it changed.
    pub(super) fn schedule(&mut self, no: BoardNo) {
        if let Some(old) = self.deadline_of.remove(&no) {
            self.deadlines.remove(&(old, no));
        }
        let deadline = self.shared.catalog.read().board_no(no).map(deadline);
        if let Some(deadline) = deadline {
            self.deadline_of.insert(no, deadline);
            self.deadlines.insert((deadline, no));
        }
    }

    /// Schedules every board, and what a crash left closed but not frozen.
    pub(super) fn schedule_all(&mut self) {
        let boards: Vec<BoardNo> = self.shared.catalog.read().boards().map(|b| b.no).collect();
        for no in boards {
            self.schedule(no);
        }
        let unfinished: Vec<_> = {
            let catalog = self.shared.catalog.read();
            let seasons = catalog.boards().flat_map(|b| b.seasons.iter().map(|s| (b.no, s)));
            let closed = seasons.filter(|(_, s)| s.closed.is_some() && s.live().is_some());
            closed.map(|(board, season)| (board, season.no)).collect()
        };
        for (board, season) in unfinished {
            self.freeze(board, season);
        }
    }
}

/// The seasons that records close and do not freeze as well.
fn closed_seasons(records: &[Record]) -> Vec<(BoardNo, u32)> {
    let mut closed = Vec::new();
    for record in records {
        match record {
            Record::SeasonClosed { board, season, .. } => closed.push((*board, *season)),
            Record::SeasonFrozen { board, season, .. } => {
                closed.retain(|place| *place != (*board, *season));
            }
            _ => {}
        }
    }
    closed
}
