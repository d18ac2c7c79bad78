//! A board and its seasons in memory.

use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use standings_core::{
    Board, BoardId, Millis, Score, SeasonId, SeasonSpan, board::Ties, span::Keep,
};

use super::{
    keeper::Frozen,
    live::Live,
    record::{BoardNo, ErasureNo, FrozenFile, SeasonNo},
    snapshot::{Snapshot, Snapshots},
};
use standings_engine::{
    BoardInfo, BoardStatus, EngineError, Exactness, Result, SeasonRef, SeasonState,
};

/// A board and its seasons.
pub(crate) struct BoardState {
    pub(crate) no: BoardNo,
    pub(crate) id: BoardId,
    pub(crate) definition: Arc<Board>,
    /// Oldest first, without gaps from the board's creation on; older ones may have been imported.
    pub(crate) seasons: Vec<Season>,
    pub(crate) next_season: SeasonNo,
    pub(crate) snapshots: Snapshots,
    /// Whether scores were ever set here: such players are in no history.
    pub(crate) imported: bool,
}

/// One run of a board.
#[derive(Clone)]
pub(crate) struct Season {
    pub(crate) no: SeasonNo,
    pub(crate) span: SeasonSpan,
    /// Set once it takes no more submissions.
    pub(crate) closed: Option<Closed>,
    /// Past its time: it is read no more, and will be dropped.
    pub(crate) expired: bool,
    pub(crate) rows: Rows,
}

/// What is fixed when a season closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub(crate) goal: Option<Score>,
    /// The tie rule, until a file says it.
    pub(crate) ties: Ties,
    /// The moment, as erasures count them.
    pub(crate) erasures: ErasureNo,
}

/// Where a season's entries are.
#[derive(Clone)]
pub(crate) enum Rows {
    /// In memory: it takes submissions, or has just closed and is being written.
    Live(Arc<RwLock<Live>>),
    /// In an immutable file.
    Frozen(Arc<FrozenFile>),
}

impl Season {
    pub(crate) fn state(&self, now: Millis) -> SeasonState {
        match self.closed {
            Some(_) => SeasonState::Closed,
            None if now >= self.span.ends_at => SeasonState::Closing,
            None => SeasonState::Open,
        }
    }

    /// The goal that counts: a closed season keeps its own.
    pub(crate) fn goal(&self, board: &Board) -> Option<Score> {
        self.closed.map_or(board.goal(), |closed| closed.goal)
    }

    /// Whether another begins where this one ends.
    pub(crate) fn meets(&self, next: &Self) -> bool {
        self.span.ends_at == next.span.starts_at
    }

    /// Whether its rows carry the streaks that reach up to it, given the season right before it. Where there is none, all that is known
    /// of those before is what they carry.
    pub(crate) fn carries(&self, before: Option<&Self>) -> bool {
        matches!(&self.rows, Rows::Frozen(file) if file.carries || before.is_none())
    }

    /// Since which erasure players may still be in its rows who are gone; nothing where they are taken off at once.
    pub(crate) fn settled_erasures(&self) -> Option<ErasureNo> {
        match &self.rows {
            Rows::Frozen(file) => Some(file.erasures),
            Rows::Live(_) => self.closed.map(|closed| closed.erasures),
        }
    }

    /// Whether it has no entries, and no file or need of one.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.rows {
            Rows::Live(live) => live.read().index().is_empty(),
            Rows::Frozen(file) => file.name.is_empty(),
        }
    }

    pub(crate) fn live(&self) -> Option<&Arc<RwLock<Live>>> {
        match &self.rows {
            Rows::Live(live) => Some(live),
            Rows::Frozen(_) => None,
        }
    }
}

impl BoardState {
    /// The board as it is shown.
    pub(crate) fn info(&self, now: Millis) -> BoardInfo {
        BoardInfo {
            id: self.id.clone(),
            definition: Arc::clone(&self.definition),
            season: self.seasons[self.current(now)].span.clone(),
        }
    }

    /// The board with the players of its current season.
    pub(crate) fn status(&self, now: Millis) -> BoardStatus {
        let players = match &self.seasons[self.current(now)].rows {
            Rows::Live(live) => live.read().index().len(),
            Rows::Frozen(file) => file.players,
        };
        BoardStatus { board: self.info(now), players, exactness: Exactness::Exact }
    }

    /// Where the season that contains an instant is in the list.
    pub(crate) fn season_at(&self, instant: Millis) -> Option<usize> {
        let after = self.seasons.partition_point(|season| season.span.starts_at <= instant);
        let index = after.checked_sub(1)?;
        self.seasons[index].span.contains(instant).then_some(index)
    }

    /// The season that contains the present; were the clock before or after all of them, the nearest.
    pub(crate) fn current(&self, now: Millis) -> usize {
        let after = self.seasons.partition_point(|season| season.span.starts_at <= now);
        after.saturating_sub(1)
    }

    pub(crate) fn resolve(&self, which: &SeasonRef, now: Millis) -> Option<&Season> {
        match which {
            SeasonRef::Current => self.seasons.get(self.current(now)),
            SeasonRef::Previous => self.seasons.get(self.current(now).checked_sub(1)?),
            SeasonRef::Id(id) => {
                let begun = |season: &&Season| season.span.starts_at <= now;
                self.seasons.iter().rev().filter(begun).find(|season| season.span.id == *id)
            }
        }
        .filter(|season| self.is_kept(season, now))
    }

    /// The seasons that can be read, newest first. Not yet begun is not yet there, though it is opened a minute ahead.
    pub(crate) fn begun(&self, now: Millis) -> impl Iterator<Item = &Season> {
        self.begun_of(&self.seasons, now)
    }

    /// Of the newest seasons those that can be read, newest first.
    pub(crate) fn begun_of<'a>(
        &'a self,
        seasons: &'a [Season],
        now: Millis,
    ) -> impl Iterator<Item = &'a Season> {
        let mut closed = 0;
        seasons.iter().rev().filter(move |season| {
            let since = closed;
            closed += u64::from(season.closed.is_some());
            season.span.starts_at <= now && self.is_kept_before(since, season, now)
        })
    }

    /// How many seasons come before the one that an id names; all of them without one. By their order and not by their time: two
    /// that were closed at once begin at the same instant. One that is not there, or not any more, has its place by the schedule.
    pub(crate) fn older_than(&self, id: Option<&SeasonId>) -> Result<usize> {
        let Some(id) = id else { return Ok(self.seasons.len()) };
        if let Some(index) = self.seasons.iter().rposition(|season| season.span.id == *id) {
            return Ok(index);
        }
        let named = self.definition.season_named(&id.whole());
        let SeasonSpan { starts_at, .. } = named.ok_or_else(|| EngineError::UnknownSeason {
            board: self.id.clone(),
            season: id.to_string(),
        })?;
        Ok(self.seasons.partition_point(|Season { span, .. }| {
            let earlier_part = span.id.shares_season(id) && span.id.part() < id.part();
            earlier_part || span.starts_at < starts_at
        }))
    }

    /// Whether a season is still within its time. One that is not shows no more, from that instant on.
    pub(crate) fn is_kept(&self, season: &Season, now: Millis) -> bool {
        let since = match self.definition.keep() {
            Keep::Seasons(_) => {
                let later = self.seasons.iter().rev().take_while(|later| later.no != season.no);
                later.filter(|later| later.closed.is_some()).count() as u64
            }
            Keep::Forever | Keep::For(_) => 0,
        };
        self.is_kept_before(since, season, now)
    }

    /// The same where so many later ones have closed.
    fn is_kept_before(&self, since: u64, season: &Season, now: Millis) -> bool {
        if season.closed.is_none() || season.expired {
            return !season.expired;
        }
        let (keep, zone) = (self.definition.keep(), self.definition.zone());
        !keep.is_expired(season.span.ends_at, now, since, zone)
    }

    /// The files of all its closed seasons and snapshots, also of those that are yet to be written from a file.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<FrozenFile>> {
        let seasons = self.seasons.iter().filter_map(|season| match &season.rows {
            Rows::Frozen(file) => Some(file),
            Rows::Live(_) => None,
        });
        seasons.chain(self.snapshots.list().iter().filter_map(Snapshot::needs))
    }

    /// The file of a closed season or a snapshot.
    pub(crate) fn file(&self, what: Frozen) -> Option<&Arc<FrozenFile>> {
        match what {
            Frozen::Season(no) => match &self.season(no)?.rows {
                Rows::Frozen(file) => Some(file),
                Rows::Live(_) => None,
            },
            Frozen::Snapshot(no) => {
                let mut snapshots = self.snapshots.list().iter();
                snapshots.find(|snapshot| snapshot.of.snapshot == no)?.file()
            }
        }
    }

    /// The seasons before one that begins at an instant, up to the first gap, newest first. It may be yet to come into the list.
    pub(crate) fn seasons_before(
        &self,
        no: SeasonNo,
        starts_at: Millis,
    ) -> impl Iterator<Item = &Season> {
        // By their order and not by their time: two that were closed at once begin at the same instant.
        let listed = self.seasons.iter().rposition(|season| season.no == no);
        let index = listed
            .unwrap_or_else(|| self.seasons.partition_point(|s| s.span.starts_at < starts_at));
        let mut next = starts_at;
        self.seasons[..index].iter().rev().take_while(move |season| {
            std::mem::replace(&mut next, season.span.starts_at) == season.span.ends_at
        })
    }

    pub(crate) fn season_by_id(&self, id: &SeasonId) -> Option<&Season> {
        self.seasons.iter().rfind(|season| season.span.id == *id)
    }

    pub(crate) fn season(&self, no: SeasonNo) -> Option<&Season> {
        self.seasons.iter().rfind(|season| season.no == no)
    }

    pub(super) fn season_mut(&mut self, no: SeasonNo) -> Option<&mut Season> {
        self.seasons.iter_mut().rfind(|season| season.no == no)
    }

    /// A season's rows are in a file from now on. The streaks that later ones carry went on from what it was before.
    pub(super) fn freeze(&mut self, no: SeasonNo, file: &FrozenFile) {
        let Some(index) = self.seasons.iter().rposition(|season| season.no == no) else { return };
        self.seasons[index].rows = Rows::Frozen(Arc::new(file.clone()));
        if file.blanked {
            return;
        }
        for later in &mut self.seasons[index + 1..] {
            if let Rows::Frozen(file) = &mut later.rows
                && file.carries
            {
                Arc::make_mut(file).carries = false;
            }
        }
    }

    /// Whether any season or snapshot has a score.
    pub(super) fn shows_scores(&self) -> bool {
        let mut snapshots = self.snapshots.list().iter();
        self.seasons.iter().any(|season| match &season.rows {
            Rows::Live(live) => !live.read().index().is_empty(),
            Rows::Frozen(file) => file.players > 0,
        }) || snapshots.any(|snapshot| snapshot.file().is_none_or(|file| file.players > 0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_season_is_found_in_time_that_grows_with_their_number_and_not_its_square() {
        let definition = r#"{"season": "daily", "keep": "15000 seasons"}"#;
        let definition = Board::from_json(definition).unwrap();
        let closed = Some(Closed { goal: None, ties: Ties::Share, erasures: 0 });
        let season = |no: u32| Season {
            no,
            span: definition.season_at(Millis(i64::from(no) * 86_400_000)),
            closed,
            expired: false,
            rows: Rows::Frozen(Arc::default()),
        };
        let board = BoardState {
            no: 0,
            id: BoardId::new("b").unwrap(),
            seasons: (0..20_000).map(season).collect(),
            definition: Arc::new(definition.clone()),
            next_season: 20_000,
            snapshots: Snapshots::default(),
            imported: false,
        };
        let now = board.seasons[19_999].span.starts_at;
        let started = Instant::now();
        let named = |number: usize| SeasonRef::Id(board.seasons[number].span.id.clone());
        let found = |number| board.resolve(&named(number), now).map(|season| season.no);
        assert_eq!((found(19_999), found(5000), found(4999)), (Some(19_999), Some(5000), None));
        assert_eq!(board.begun(now).count(), 15_000);
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }
}
