//! Standings from elsewhere, put in place whole.

use standings_core::{BoardId, LocalDate, Millis, SeasonId, SeasonSpan, board::Ties, span::Keep};

use super::{Sequencer, freezes::taken, seasons::opened};
use crate::{
    catalog::BoardState,
    import::{Begun, Importing, Target},
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

/// An error where a season is past what its board keeps: it would be gone at once.
fn kept(board: &BoardState, span: &SeasonSpan, now: Millis) -> Result<()> {
    let later =
        board.seasons.iter().filter(|s| s.closed.is_some() && s.span.starts_at >= span.ends_at);
    let (keep, zone) = (board.definition.keep(), board.definition.zone());
    if keep.is_expired(span.ends_at, now, later.count() as u64, zone) {
        let (board, what) = (board.id.clone(), format!("season {}", span.id));
        return Err(EngineError::PastRetention { board, what, setting: "keep" });
    }
    Ok(())
}

impl Sequencer {
    /// The place of a season to be imported: it must be over. One that the board has never had gets a number.
    pub(crate) fn place_import(
        &self,
        id: &BoardId,
        season: &SeasonId,
    ) -> Result<(BoardNo, SeasonNo, SeasonSpan, bool)> {
        let now = self.shared.clock.now();
        let catalog = self.shared.catalog.read();
        let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
        if let Some(found) = board.season_by_id(season) {
            if found.closed.is_none() {
                return Err(EngineError::SeasonOpen(season.clone()));
            }
            kept(board, &found.span, now)?;
            return Ok((board.no, found.no, found.span.clone(), true));
        }
        let span = board.definition.season_named(season);
        let free = |span: &SeasonSpan| {
            let mut seasons = board.seasons.iter().map(|season| &season.span);
            !seasons.any(|s| s.starts_at < span.ends_at && span.starts_at < s.ends_at)
        };
        match span.filter(|span| span.ends_at <= now && free(span)) {
            Some(span) => {
                kept(board, &span, now)?;
                Ok((board.no, board.next_season, span, false))
            }
            None => {
                Err(EngineError::UnknownSeason { board: id.clone(), season: season.to_string() })
            }
        }
    }

    /// What an import begins on, and when scores were reached that come without a time.
    pub(crate) fn begin_import(
        &self,
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
    fn import_time(&self, id: &BoardId, target: &Target) -> Result<Millis> {
        match target {
            Target::Season(season) => {
                let (_, _, span, _) = self.place_import(id, season)?;
                Ok(Millis(span.ends_at.0 - 1))
            }
            Target::Snapshot(date) => {
                let now = self.shared.clock.now();
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
                let (board, no, span, _) = self.place_import(id, season)?;
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
            let number = season.map_or_else(|| state.snapshots.next(), |(no, _)| no);
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
        let board = self.shared.catalog.read().board(id).map(|board| board.no);
        self.disturbed.extend(board.map(|board| (board, self.shared.clock.now())));
        // Again: writing the file took a while.
        let done = self.check_begun(id, begun).and_then(|()| match target {
            Target::Season(season) => self.import_season(id, season, file.clone()),
            Target::Snapshot(date) => self.import_snapshot(id, *date, file.clone()),
        });
        self.unless_done(&done, file);
        done
    }

    fn import_season(&mut self, id: &BoardId, season: &SeasonId, file: FrozenFile) -> Result<()> {
        let (board, no, span, exists) = self.place_import(id, season)?;
        if exists {
            return self.frozen(board, no, file, None);
        }
        let goal = self.shared.catalog.read().board_no(board).and_then(|b| b.definition.goal());
        self.commit(vec![
            opened(board, no, &span),
            LogRecord::SeasonClosed { board, season: no, goal },
            LogRecord::SeasonFrozen { board, season: no, file: Box::new(file) },
        ])?;
        self.schedule(board);
        Ok(())
    }

    fn import_snapshot(&mut self, id: &BoardId, date: LocalDate, file: FrozenFile) -> Result<()> {
        let at = self.import_time(id, &Target::Snapshot(date))?;
        let (taken, old) = {
            let catalog = self.shared.catalog.read();
            let board = catalog.board(id).ok_or_else(|| EngineError::UnknownBoard(id.clone()))?;
            let found = board.seasons.get(board.current(at)).filter(|s| s.span.contains(at));
            let (season, season_id) = match found {
                Some(season) => (season.no, season.span.id.clone()),
                // Before the board's first season: only the name counts.
                None => (SeasonNo::MAX, board.definition.season_at(at).id),
            };
            let old: Vec<_> = board.files().cloned().collect();
            (taken(board, season, season_id, date, at), old)
        };
        let board = taken.board;
        let (taken, file) = (Box::new(taken), Box::new(file));
        self.commit(vec![LogRecord::SnapshotImported { taken, file }])?;
        self.schedule(board);
        self.discard(&old);
        Ok(())
    }
}
