//! Reading boards: find the standing, take the rows, add names.

use std::{collections::BTreeSet, io, sync::Arc};

use standings_core::{
    BoardId, Millis, PlayerId, Score, SortKey,
    standing::{self, now},
};

use crate::{
    Shared,
    history::HistoryError,
    out_of_order,
    read::find::{Found, OpenStanding, Source},
    state::catalog::{BoardState, Rows},
};
use standings_engine::{
    AmongFriends, CurrentEntry, Distribution, EngineError, Exactness, FriendRow, Page, PageQuery,
    Place, PlayerEntry, PlayerInfo, Result, Row, ScorePlace, Selected, StandingRef, Start,
};

/// How often to look for a file that is replaced meanwhile. Twice in a row is already unlikely.
const LOOKS: usize = 8;

impl Shared {
    pub(crate) fn find(&self, board: &BoardId, which: &StandingRef) -> Result<Found> {
        let now = self.clock.now();
        let catalog = self.catalog.read();
        let state = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        state.find(&catalog, which, now)
    }

    /// Finds a standing and its rows.
    pub(crate) fn locate(&self, board: &BoardId, which: &StandingRef) -> Result<OpenStanding> {
        look(|| Ok(self.open(self.find(board, which)?)))
    }

    pub(crate) fn open(&self, found: Found) -> io::Result<OpenStanding> {
        Ok(OpenStanding { source: self.source(&found.rows)?, found })
    }

    pub(crate) fn source(&self, rows: &Rows) -> io::Result<Source> {
        Ok(match rows {
            Rows::Live(live) => Source::Live(Arc::clone(live)),
            Rows::Frozen(file) => Source::Frozen(self.frozen.get(file)?),
        })
    }

    /// Adds what the history knows of the players in an answer; false where more profiles than that would have to come from disk.
    /// No lock on the standing is held by now.
    pub(crate) fn name(
        &self,
        standing: &OpenStanding,
        answer: &mut impl HasRows,
        most_from_disk: usize,
    ) -> Result<bool> {
        let mut unknown = Vec::new();
        for row in answer.rows() {
            match self.history.known_profile(&row.player) {
                Some(profile) => standing.add_profile(row, profile),
                None => unknown.push(row),
            }
        }
        if unknown.len() > most_from_disk {
            return Ok(false);
        }
        let players: Vec<&PlayerId> = unknown.iter().map(|row| &row.player).collect();
        let profiles = self.read_history(|history| history.profiles(&players))?;
        for (row, profile) in unknown.into_iter().zip(profiles) {
            standing.add_profile(row, profile);
        }
        Ok(true)
    }

    pub(crate) fn among_friends(
        &self,
        board: &BoardId,
        which: &StandingRef,
        player: &PlayerId,
    ) -> Result<AmongFriends> {
        let friends = self.friends(player)?;
        let standing = self.locate(board, which)?;
        let mut answer = standing.among_friends(player, &friends)?;
        self.name(&standing, &mut answer, usize::MAX)?;
        Ok(answer)
    }

    pub(crate) fn player(&self, player: &PlayerId, boards: usize) -> Result<PlayerInfo> {
        let profile = self.read_history(|history| history.profile(player))?;
        let events_on = self.read_history(|history| history.boards_of(player))?;
        let now = self.clock.now();
        let mut entries = Vec::new();
        {
            let catalog = self.catalog.read();
            // Players who were only imported have no events; such boards are asked one by one.
            let imported = catalog.boards().filter(|board| board.imported).map(|board| board.no);
            let nos: BTreeSet<_> = events_on.iter().copied().chain(imported).collect();
            let states = nos.into_iter().filter_map(|no| catalog.board_no(no));
            let mut states: Vec<_> = states.collect();
            states.sort_unstable_by(|a, b| a.id.cmp(&b.id));
            // In the order of the answer, so that no more are ranked than are shown.
            let found = states.into_iter().filter_map(|state| current_entry(state, player, now));
            entries.extend(found.take(boards));
        }
        if profile.is_none() && events_on.is_empty() && entries.is_empty() {
            return Err(EngineError::UnknownPlayer(player.clone()));
        }
        let profile = profile.unwrap_or_default();
        Ok(PlayerInfo { player: player.clone(), profile, entries, exactness: Exactness::Exact })
    }

    /// Reads the history, and turns what went wrong into an error for the client.
    pub(crate) fn read_history<T>(
        &self,
        read: impl FnOnce(&crate::history::History) -> std::result::Result<T, HistoryError>,
    ) -> Result<T> {
        read(&self.history).map_err(|error| {
            tracing::error!(%error, "the history cannot be read");
            out_of_order("the history cannot be read")
        })
    }
}

/// A player's entry in the current season of a board.
fn current_entry(state: &BoardState, player: &PlayerId, now: Millis) -> Option<CurrentEntry> {
    let season = state.current(now);
    let found = season.live()?.read().index().find(player)?;
    let rank = standing::rank(state.definition.ties(), found.position, found.first_of_score);
    Some(CurrentEntry {
        board: state.id.clone(),
        season: season.span.id,
        score: state.definition.order().unfold(found.record.key.folded),
        rank,
    })
}

/// What is asked of one standing. Names are added afterwards.
impl OpenStanding {
    pub(crate) fn page(&self, query: &PageQuery) -> Result<Page> {
        let Found { definition, goal, id, .. } = &self.found;
        let start = match &query.start {
            Start::Offset(offset) => standing::Start::Offset(*offset),
            Start::After(Place { score, at, player }) => {
                standing::Start::After(SortKey::new(definition.order(), *score, *at), player)
            }
        };
        // Where no score can pass, neither does one of an empty range.
        let passing = query.filter.folded(definition, *goal).unwrap_or((0, -1));
        let page =
            self.rank(|ranks, gaps| now(standing::page(ranks, gaps, passing, start, query.limit)))?;
        let rows = self.rows(page.rows)?;
        Ok(Page {
            standing: id.clone(),
            exactness: Exactness::Exact,
            rows,
            players: page.players,
            more: page.more,
        })
    }

    pub(crate) fn rows_of(&self, wanted: &[PlayerId]) -> Result<Selected> {
        let wanted: Vec<&PlayerId> = wanted.iter().collect();
        let selected = self.rank(|ranks, gaps| now(standing::selected(ranks, gaps, &wanted)))?;
        let rows = self.rows(selected.rows)?;
        let missing = selected.missing.into_iter().map(|number| wanted[number].clone()).collect();
        let standing = self.found.id.clone();
        Ok(Selected {
            standing,
            exactness: Exactness::Exact,
            rows,
            missing,
            players: selected.players,
        })
    }

    pub(crate) fn entry(&self, player: &PlayerId, around: Option<usize>) -> Result<PlayerEntry> {
        let entry = self.entry_of(player, around)?;
        let entry = entry.ok_or_else(|| EngineError::UnknownPlayer(player.clone()))?;
        let standing::Entry { row, percentile, around } = entry;
        Ok(PlayerEntry {
            standing: self.found.id.clone(),
            exactness: Exactness::Exact,
            updated_at: row.record.updated_at,
            row: self.row(row)?,
            percentile,
            around: self.rows(around)?,
        })
    }

    pub(crate) fn place(&self, score: Score, around: usize) -> Result<ScorePlace> {
        let folded = self.found.definition.order().fold(score);
        let place = self.rank(|ranks, gaps| now(standing::place(ranks, gaps, folded, around)))?;
        let standing::Place { rank, percentile, around } = place;
        let (standing, around) = (self.found.id.clone(), self.rows(around)?);
        Ok(ScorePlace { standing, exactness: Exactness::Exact, rank, percentile, around })
    }

    pub(crate) fn distribution(&self) -> Result<Distribution> {
        let order = self.found.definition.order();
        let scores = self.rank(|ranks, gaps| now(standing::distribution(ranks, gaps, order)))?;
        Ok(Distribution {
            standing: self.found.id.clone(),
            exactness: Exactness::Exact,
            players: scores.players,
            min: scores.min,
            max: scores.max,
            mean: scores.mean,
            deciles: scores.deciles,
            histogram: scores.histogram,
            computed_at: self.found.now,
        })
    }

    pub(crate) fn among_friends(
        &self,
        player: &PlayerId,
        friends: &[PlayerId],
    ) -> Result<AmongFriends> {
        let entry = match self.entry(player, None) {
            Err(EngineError::UnknownPlayer(_)) => None,
            entry => Some(entry?),
        };
        let everyone: BTreeSet<&PlayerId> = friends.iter().chain([player]).collect();
        let everyone: Vec<&PlayerId> = everyone.into_iter().collect();
        let selected = self.rank(|ranks, gaps| now(standing::selected(ranks, gaps, &everyone)))?;
        let ranks = standing::among(self.found.ties, &selected.rows);
        let rows = ranks.into_iter().zip(self.rows(selected.rows)?);
        let rows = rows.map(|(rank, row)| FriendRow { rank, row }).collect();
        let standing = self.found.id.clone();
        Ok(AmongFriends { standing, exactness: Exactness::Exact, entry, rows })
    }
}

/// An answer with rows that names are to be added to.
pub(crate) trait HasRows: Send + 'static {
    fn rows(&mut self) -> impl Iterator<Item = &mut Row>;
}

impl HasRows for Page {
    fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut()
    }
}

impl HasRows for Distribution {
    fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        [].into_iter()
    }
}

impl HasRows for Selected {
    fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut()
    }
}

impl HasRows for PlayerEntry {
    fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        self.around.iter_mut().chain([&mut self.row])
    }
}

impl HasRows for ScorePlace {
    fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        self.around.iter_mut()
    }
}

impl HasRows for AmongFriends {
    fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        let entry = self.entry.iter_mut().flat_map(HasRows::rows);
        entry.chain(self.rows.iter_mut().map(|friend| &mut friend.row))
    }
}

/// Reads files that the catalog names. One may be replaced between the look at the catalog and its opening; the next look finds
/// the new one.
pub(crate) fn look<T>(read: impl Fn() -> Result<io::Result<T>>) -> Result<T> {
    for _ in 0..LOOKS {
        match read()? {
            Ok(answer) => return Ok(answer),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&error)),
        }
    }
    Err(unreadable(&io::ErrorKind::NotFound.into()))
}

pub(crate) fn unreadable(error: &io::Error) -> EngineError {
    tracing::error!(%error, "a frozen standing cannot be read");
    out_of_order("a frozen standing cannot be read")
}

/// A file could not be written, and nothing was changed.
pub(crate) fn unwritable(error: &io::Error) -> EngineError {
    tracing::error!(%error, "a frozen standing cannot be written");
    out_of_order("the disk does not take the write")
}
