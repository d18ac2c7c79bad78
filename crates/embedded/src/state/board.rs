//! A board and its seasons in memory.

use std::{collections::HashSet, sync::Arc};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use standings_core::{
    Board, BoardId, Millis, Score, SeasonId, SeasonSpan,
    board::Ties,
    span::Keep,
    timeline::{self, Slot, Timeline},
};

use crate::{
    operations::keeper::Frozen,
    record::{BoardNo, ErasureNo, FrozenFile, SeasonNo},
    state::{live::Live, snapshots::Snapshot},
};
use standings_engine::{
    BoardInfo, BoardStatus, EngineError, Exactness, Result, SeasonRef, SeasonState,
};

/// A board and its seasons.
pub(crate) struct BoardState {
    pub(crate) no: BoardNo,
    pub(crate) id: BoardId,
    pub(crate) definition: Arc<Board>,
    pub(crate) timeline: Timeline<SeasonData>,
    /// Oldest first.
    pub(crate) snapshots: Vec<Snapshot>,
    /// Whether scores were ever set here: such players are in no history.
    pub(crate) imported: bool,
}

/// What a slot of the timeline keeps.
#[derive(Clone, Default)]
pub(crate) struct SeasonData {
    pub(crate) rows: Rows,
    /// When it closed, as erasures count moments.
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

impl Default for Rows {
    fn default() -> Self {
        Self::Live(Arc::default())
    }
}

impl SeasonData {
    /// Whether it has no entries, and no file or need of one.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.rows {
            Rows::Live(live) => live.read().index().is_empty(),
            Rows::Frozen(file) => file.name.is_empty(),
        }
    }

    pub(crate) fn live(&self) -> Option<&Arc<RwLock<Live>>> {
        self.rows.live()
    }

    /// Whether nothing of it is yet to be written.
    pub(crate) fn is_archived(&self) -> bool {
        self.live().is_none()
    }
}

impl Rows {
    pub(crate) fn live(&self) -> Option<&Arc<RwLock<Live>>> {
        match self {
            Self::Live(live) => Some(live),
            Self::Frozen(_) => None,
        }
    }

    fn players(&self) -> u64 {
        match self {
            Self::Live(live) => live.read().index().len(),
            Self::Frozen(file) => file.players,
        }
    }
}

/// A season as it is read: what a slot keeps, or what the schedule knows of one without entries.
#[derive(Clone)]
pub(crate) struct Season {
    /// Its number, where it has a slot.
    pub(crate) no: Option<SeasonNo>,
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

impl Season {
    fn of(slot: &Slot<SeasonData>) -> Self {
        let SeasonData { rows, erasures } = slot.data.clone();
        let closed = slot.closed.map(|of| Closed { goal: of.goal, ties: of.ties, erasures });
        Self { no: Some(slot.no), span: slot.span.clone(), closed, expired: slot.expired, rows }
    }

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

    pub(crate) fn live(&self) -> Option<&Arc<RwLock<Live>>> {
        self.rows.live()
    }
}

impl BoardState {
    /// The board as it is shown.
    pub(crate) fn info(&self, now: Millis) -> BoardInfo {
        BoardInfo {
            id: self.id.clone(),
            definition: Arc::clone(&self.definition),
            season: self.current(now).span,
        }
    }

    /// The board with the players of its current season.
    pub(crate) fn status(&self, now: Millis) -> BoardStatus {
        let players = self.current(now).rows.players();
        BoardStatus { board: self.info(now), players, exactness: Exactness::Exact }
    }

    fn read(&self, season: timeline::Season<'_, SeasonData>, now: Millis) -> Season {
        if let Some(slot) = season.slot {
            return Season { span: season.span.into_owned(), ..Season::of(slot) };
        }
        let closed = season.state(&self.definition, now) == SeasonState::Closed;
        let (goal, ties) = (self.definition.goal(), self.definition.ties());
        // No one is in it, so no erasure concerns it.
        let closed = closed.then_some(Closed { goal, ties, erasures: ErasureNo::MAX });
        let span = season.span.into_owned();
        Season { no: None, span, closed, expired: false, rows: Rows::default() }
    }

    /// The season that contains the present.
    pub(crate) fn current(&self, now: Millis) -> Season {
        self.read(self.timeline.current(&self.definition, now), now)
    }

    /// The season that is meant, if there is one to be read.
    pub(crate) fn resolve(&self, which: &SeasonRef, now: Millis) -> Option<Season> {
        let season = self.timeline.resolve(&self.definition, which, now)?;
        Some(self.read(season, now))
    }

    /// The seasons that can be read, newest first; with an id those before it.
    pub(crate) fn begun(
        &self,
        before: Option<&SeasonId>,
        now: Millis,
    ) -> Result<Box<dyn Iterator<Item = Season> + '_>> {
        let read = move |season| self.read(season, now);
        let Some(id) = before else {
            return Ok(Box::new(self.timeline.begun(&self.definition, now).map(read)));
        };
        let older = self.timeline.begun_before(&self.definition, id, now);
        Ok(Box::new(older.ok_or_else(|| self.unknown_season(id))?.map(read)))
    }

    /// Whether a season is still within its time. One that is not shows no more, from that instant on.
    pub(crate) fn is_kept(&self, no: SeasonNo, now: Millis) -> bool {
        let slot = self.timeline.slot(no);
        slot.is_some_and(|slot| self.timeline.is_kept(&self.definition, &slot.into(), now))
    }

    /// The numbers of all slots that are.
    pub(crate) fn kept(&self, now: Millis) -> HashSet<SeasonNo> {
        let (timeline, board) = (&self.timeline, &self.definition);
        match board.keep() {
            // So many have closed since that each must be counted once only.
            Keep::Seasons(_) => {
                let begun = timeline.begun(board, now);
                begun.filter_map(|season| Some(season.slot?.no)).collect()
            }
            Keep::Forever | Keep::For(_) => {
                let slots = timeline.slots().iter();
                let kept = slots.filter(|slot| timeline.is_kept(board, &(*slot).into(), now));
                kept.map(|slot| slot.no).collect()
            }
        }
    }

    /// The files of all its closed seasons and snapshots, also of those that are yet to be written from a file.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<FrozenFile>> {
        let seasons = self.timeline.slots().iter().filter_map(|slot| match &slot.data.rows {
            Rows::Frozen(file) => Some(file),
            Rows::Live(_) => None,
        });
        seasons.chain(self.snapshots.iter().filter_map(Snapshot::needs))
    }

    /// How many slots come before the season that an id names; all of them without one. By their order and not by their time: two
    /// that were closed at once begin at the same instant. One that is not there has its place by the schedule.
    pub(crate) fn older_than(&self, id: Option<&SeasonId>) -> Result<usize> {
        let slots = self.timeline.slots();
        let Some(id) = id else { return Ok(slots.len()) };
        if let Some(index) = slots.iter().rposition(|slot| slot.span.id == *id) {
            return Ok(index);
        }
        let named = self.definition.season_named(&id.whole());
        let starts_at = named.ok_or_else(|| self.unknown_season(id))?.starts_at;
        Ok(slots.partition_point(|Slot { span, .. }| {
            let earlier_part = span.id.shares_season(id) && span.id.part() < id.part();
            earlier_part || span.starts_at < starts_at
        }))
    }

    fn unknown_season(&self, id: &SeasonId) -> EngineError {
        EngineError::UnknownSeason { board: self.id.clone(), season: id.to_string() }
    }

    /// The file of a closed season or a snapshot.
    pub(crate) fn file(&self, what: Frozen) -> Option<&Arc<FrozenFile>> {
        match what {
            Frozen::Season(no) => match &self.timeline.slot(no)?.data.rows {
                Rows::Frozen(file) => Some(file),
                Rows::Live(_) => None,
            },
            Frozen::Snapshot(no) => {
                self.snapshots.iter().find(|snapshot| snapshot.of.no == no)?.file()
            }
        }
    }

    /// The seasons before one that begins at an instant, up to the first without entries, newest first. It may be yet to get a slot.
    pub(crate) fn seasons_before(
        &self,
        no: SeasonNo,
        starts_at: Millis,
    ) -> impl Iterator<Item = Season> {
        let slots = self.timeline.slots();
        // By their order and not by their time: two that were closed at once begin at the same instant.
        let listed = slots.iter().rposition(|slot| slot.no == no);
        let index =
            listed.unwrap_or_else(|| slots.partition_point(|s| s.span.starts_at < starts_at));
        let mut next = starts_at;
        let chain = slots[..index].iter().rev().take_while(move |slot| {
            std::mem::replace(&mut next, slot.span.starts_at) == slot.span.ends_at
        });
        chain.map(Season::of)
    }

    /// Whether the season that ends at an instant can still get its first entry.
    pub(crate) fn may_open_before(&self, instant: Millis, now: Millis) -> bool {
        let last = Millis(instant.0.saturating_sub(1));
        self.timeline.accepting(&self.definition, last, now).is_some()
    }

    /// The seasons that have slots, oldest first.
    pub(crate) fn seasons(&self) -> impl DoubleEndedIterator<Item = Season> {
        self.timeline.slots().iter().map(Season::of)
    }

    pub(crate) fn season(&self, no: SeasonNo) -> Option<Season> {
        self.timeline.slot(no).map(Season::of)
    }

    /// Whether scores are kept of it, or were: what they mean must not change then. Of seasons that are past their time it is the bests,
    /// and whether a season had any is not known any more.
    pub(crate) fn has_scores(&self) -> bool {
        let mut slots = self.timeline.slots().iter();
        let mut snapshots = self.snapshots.iter();
        self.timeline.has_dropped()
            || slots.any(|slot| slot.data.rows.players() > 0)
            || snapshots.any(|snapshot| snapshot.file().is_none_or(|file| file.players > 0))
    }

    /// A season's rows are in a file from now on. The streaks that later ones carry went on from what it was before.
    pub(crate) fn freeze(&mut self, no: SeasonNo, file: &FrozenFile) {
        let Some(index) = self.timeline.slots().iter().rposition(|slot| slot.no == no) else {
            return;
        };
        let later = self.timeline.slots()[index + 1..].iter().filter(|_| !file.blanked);
        let later: Vec<SeasonNo> = later.map(|slot| slot.no).collect();
        if let Some(slot) = self.timeline.slot_mut(no) {
            slot.data.rows = Rows::Frozen(Arc::new(file.clone()));
        }
        for no in later {
            if let Some(slot) = self.timeline.slot_mut(no)
                && let Rows::Frozen(file) = &mut slot.data.rows
                && file.carries
            {
                Arc::make_mut(file).carries = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use standings_core::timeline::{Closing, Transition};

    use super::*;

    #[test]
    fn a_season_is_found_in_time_that_grows_with_their_number_and_not_its_square() {
        let definition = r#"{"season": "daily", "keep": "15000 seasons"}"#;
        let definition = Board::from_json(definition).unwrap();
        let closing = Closing { goal: None, ties: Ties::Share };
        let mut timeline = Timeline::new(&definition, Millis(0));
        for no in 0..20_000 {
            let span = definition.season_at(Millis(i64::from(no) * 86_400_000));
            timeline.take(&Transition::Open(no, span), SeasonData::default);
            timeline.take(&Transition::Close(no, closing), SeasonData::default);
        }
        let board = BoardState {
            no: 0,
            id: BoardId::new("b").unwrap(),
            definition: Arc::new(definition),
            timeline,
            snapshots: Vec::new(),
            imported: false,
        };
        let span = |number: usize| &board.timeline.slots()[number].span;
        let now = span(19_999).starts_at;
        let started = Instant::now();
        let named = |number: usize| SeasonRef::Id(span(number).id.clone());
        let found = |number| board.resolve(&named(number), now).and_then(|season| season.no);
        assert_eq!((found(19_999), found(5000), found(4999)), (Some(19_999), Some(5000), None));
        assert_eq!(board.begun(None, now).unwrap().count(), 15_000);
        assert_eq!(board.kept(now).len(), 15_000);
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }
}
