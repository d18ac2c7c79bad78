//! Standings from elsewhere, put in place whole.

use standings_core::{
    BoardId, LocalDate, Millis, SeasonId,
    board::Ties,
    span::Keep,
    timeline::{NotPlaced, Placed},
};

use crate::write::{Sequencer, seasons::season as season_record};
use crate::{
    operations::import::{Begun, Importing, Target},
    record::{BoardNo, FrozenFile, LogRecord, SeasonNo},
};
use standings_engine::{EngineError, Result};

/// Where an import goes and what it is written with.
pub(crate) struct Prepared {
    pub(crate) board: BoardNo,
    /// The season and when it begins, if it is one.
    pub(crate) season: Option<(SeasonNo, Millis)>,
    /// Of the file.
    pub(crate) name: String,
    /// Folded, of a season.
    pub(crate) goal: Option<i64>,
    pub(crate) ties: Ties,
}

impl Sequencer {
    /// The place of a season to be imported: it must be over. One that has no entries yet gets a number.
    pub(crate) fn place_import(
        &mut self,
        id: &BoardId,
        season: &SeasonId,
    ) -> Result<(BoardNo, Placed)> {
        let now = self.now_on(id)?;
        let catalog = self.shared.catalog.read();
        let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
        let placed = board.timeline.place_import(&board.definition, season, now);
        let placed = placed.map_err(|why| match why {
            NotPlaced::Open => EngineError::SeasonOpen(season.clone()),
            NotPlaced::Unknown => {
                EngineError::UnknownSeason { board: id.clone(), season: season.to_string() }
            }
            NotPlaced::TooOld => EngineError::PastRetention {
                board: id.clone(),
                what: format!("season {season}"),
                setting: "keep",
            },
        })?;
        Ok((board.no, placed))
    }

    /// What an import begins on, and when scores were reached that come without a time.
    pub(crate) fn begin_import(
        &mut self,
        id: &BoardId,
        target: &Target,
    ) -> Result<(Begun, Millis, Importing)> {
        let (begun, at) = (self.begun(id)?, self.import_time(id, target)?);
        Ok((begun, at, Importing::begin(&self.shared)))
    }

    fn begun(&self, id: &BoardId) -> Result<Begun> {
        let catalog = self.shared.catalog.read();
        let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
        Ok(Begun { board: board.no, order: board.definition.order() })
    }

    /// An error where the board is another than the one that an import began on, or means something else by a score.
    fn check_begun(&self, id: &BoardId, begun: Begun) -> Result<()> {
        if self.begun(id)? == begun {
            return Ok(());
        }
        let why = "the board has changed since the import began; begin anew";
        Err(EngineError::Conflict(why.to_owned()))
    }

    /// When scores of an import were reached that come without a time; an error where the target cannot be imported.
    fn import_time(&mut self, id: &BoardId, target: &Target) -> Result<Millis> {
        match target {
            Target::Season(season) => {
                let (_, placed) = self.place_import(id, season)?;
                Ok(Millis(placed.span.ends_at.0 - 1))
            }
            Target::Snapshot(date) => {
                let now = self.now_on(id)?;
                let catalog = self.shared.catalog.read();
                let board =
                    catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
                if *date > board.definition.local_date(now) {
                    return Err(EngineError::SnapshotInFuture(*date));
                }
                // East of Greenwich the first date begins before the first instant that can be written.
                let at = board.definition.snapshot_time(*date);
                let at = at.map(|at| at.min(now).max(Millis::MIN));
                let at = at.ok_or_else(|| EngineError::UnknownSnapshot {
                    board: id.clone(),
                    snapshot: date.to_string(),
                })?;
                let keep = board.definition.snapshots().map_or(Keep::Forever, |of| of.keep);
                if keep.is_expired(at, now, 0, board.definition.zone()) {
                    return Err(EngineError::PastRetention {
                        board: id.clone(),
                        what: format!("snapshot {date}"),
                        setting: "snapshots.keep",
                    });
                }
                Ok(at)
            }
        }
    }

    /// Where an import goes.
    pub(crate) fn prepare_import(
        &mut self,
        id: &BoardId,
        begun: Begun,
        target: &Target,
    ) -> Result<Prepared> {
        self.check_begun(id, begun)?;
        let unknown = || EngineError::UnknownBoard(id.clone());
        let (board, season) = match target {
            Target::Season(season) => {
                let (board, Placed { no, span, .. }) = self.place_import(id, season)?;
                (board, Some((no, span.starts_at)))
            }
            Target::Snapshot(_) => {
                self.import_time(id, target)?;
                (self.shared.catalog.read().board(id).ok_or_else(unknown)?.no, None)
            }
        };
        let (number, goal, ties) = {
            let catalog = self.shared.catalog.read();
            let state = catalog.board_no(board).ok_or_else(unknown)?;
            let closed =
                season.and_then(|(no, _)| state.season(no)).and_then(|season| season.closed);
            let goal = closed.map_or(state.definition.goal(), |closed| closed.goal);
            let goal = goal.filter(|_| season.is_some());
            let goal = goal.map(|goal| state.definition.order().fold(goal));
            let number = season.map_or_else(|| state.timeline.next_as_of(), |(no, _)| no);
            (number, goal, state.definition.ties())
        };
        Ok(Prepared { board, season, name: self.new_name(board, number), goal, ties })
    }

    /// Puts an imported standing in place of what was there, wholly.
    pub(crate) fn finish_import(
        &mut self,
        id: &BoardId,
        begun: Begun,
        target: &Target,
        file: &FrozenFile,
    ) -> Result<()> {
        // Again: writing the file took a while.
        let done = self.check_begun(id, begun).and_then(|()| match target {
            Target::Season(season) => self.import_season(id, season, file.clone()),
            Target::Snapshot(date) => self.import_snapshot(id, *date, file.clone()),
        });
        self.unless_done(&done, file);
        done
    }

    fn import_season(&mut self, id: &BoardId, season: &SeasonId, file: FrozenFile) -> Result<()> {
        let (board, Placed { no, transitions, .. }) = self.place_import(id, season)?;
        if transitions.is_empty() {
            return self.frozen(board, no, file, None);
        }
        let mut records: Vec<LogRecord> =
            transitions.into_iter().map(|transition| season_record(board, transition)).collect();
        records.push(LogRecord::SeasonFrozen { board, season: no, file: Box::new(file) });
        self.commit(records)?;
        self.schedule(board);
        Ok(())
    }

    fn import_snapshot(&mut self, id: &BoardId, date: LocalDate, file: FrozenFile) -> Result<()> {
        let at = self.import_time(id, &Target::Snapshot(date))?;
        let (board, as_of, old) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let old: Vec<_> = board.files().cloned().collect();
            (board.no, board.timeline.as_of_then(&board.definition, date, at), old)
        };
        let (as_of, file) = (Box::new(as_of), Box::new(file));
        self.commit(vec![LogRecord::SnapshotImported { board, as_of, file }])?;
        self.schedule(board);
        self.discard(&old);
        Ok(())
    }
}
