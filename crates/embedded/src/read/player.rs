//! Reading what is known of a player: friends, events, seasons, snapshots.

use std::{collections::HashMap, io, sync::Arc};

use standings_core::{
    BoardId, LocalDate, Millis, PlayerId,
    best::Best,
    standing::Ranked,
    streak::{Outcome, StreakFold},
};

use crate::{
    Shared,
    history::StoredEvent,
    read::{
        board::{look, unreadable},
        find::{Found, OpenStanding, Source},
    },
    record::{BoardNo, SeasonNo},
    state::catalog::Season,
};
use standings_engine::{
    Cursor, EngineError, EventsPage, EventsQuery, Exactness, PlayerEvent, PlayerSeason,
    PlayerSeasons, PlayerSeasonsQuery, PlayerSnapshot, PlayerSnapshotsPage, PlayerSnapshotsQuery,
    Result, SeasonBest, SeasonState, SnapshotInfo, SnapshotRef, SnapshotsPage, SnapshotsQuery,
};

impl Shared {
    /// A player's friends, but for those who were erased since the list was set.
    pub(crate) fn friends(&self, player: &PlayerId) -> Result<Arc<Vec<PlayerId>>> {
        let (seq, friends) = self.read_history(|history| history.friends(player))?;
        let suspected = {
            let catalog = self.catalog.read();
            let erased = catalog.erased();
            !erased.is_empty() && friends.iter().any(|friend| erased.get(friend).is_some())
        };
        if !suspected {
            return Ok(friends);
        }
        let erased = self.read_history(|history| history.erased_after(seq))?;
        let left = friends.iter().filter(|friend| !erased.contains(*friend));
        Ok(Arc::new(left.cloned().collect()))
    }

    pub(crate) fn player_events(
        &self,
        player: &PlayerId,
        query: &EventsQuery,
    ) -> Result<EventsPage> {
        let before = match &query.before {
            Some(cursor) => cursor.parse()?,
            None => u64::MAX,
        };
        let board = match &query.board {
            Some(id) => {
                let catalog = self.catalog.read();
                let board = catalog.board(id).map(|board| board.no);
                Some(board.ok_or_else(|| EngineError::UnknownBoard(id.clone()))?)
            }
            None => None,
        };
        let mut names = Names::default();
        let mut events: Vec<(u64, PlayerEvent)> = Vec::new();
        self.read_history(|history| {
            history.visit_player_events(player, board, before, |(board, seq, event)| {
                let StoredEvent::Accepted { season, points, event_id, at, entry } = event else {
                    return true;
                };
                // Those of boards and seasons that are gone are no longer shown.
                if let Some((board, season)) = names.of(self, board, season) {
                    let score = entry.score;
                    let event = PlayerEvent { board, season, points, score, at, event_id };
                    events.push((seq, event));
                }
                events.len() <= query.limit
            })
        })?;
        let more = events.len() > query.limit;
        events.truncate(query.limit);
        let next = events.last().filter(|_| more).map(|(seq, _)| Cursor::of(&[seq]));
        Ok(EventsPage { events: events.into_iter().map(|(_, event)| event).collect(), next })
    }

    pub(crate) fn player_seasons(
        &self,
        player: &PlayerId,
        board: &BoardId,
        query: &PlayerSeasonsQuery,
    ) -> Result<PlayerSeasons> {
        look(|| self.look_at_player_seasons(player, board, query))
    }

    fn look_at_player_seasons(
        &self,
        player: &PlayerId,
        board: &BoardId,
        query: &PlayerSeasonsQuery,
    ) -> Result<io::Result<PlayerSeasons>> {
        let now = self.clock.now();
        let (no, definition, seasons) = {
            let catalog = self.catalog.read();
            let state =
                catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
            let older = state.older_than(query.before.as_ref())?;
            let kept = state.kept(now);
            let mut seasons = Vec::new();
            let mut before: Option<Season> = None;
            for (number, season) in state.seasons().enumerate() {
                if season.span.starts_at > now {
                    break;
                }
                let before = before.replace(season.clone()).filter(|before| before.meets(&season));
                seasons.push(Visited {
                    found: state.found_season(&catalog, &season, now),
                    shown: number < older && season.no.is_some_and(|no| kept.contains(&no)),
                    carries: season.carries(before.as_ref()),
                    season,
                });
            }
            let current = state.current(now);
            if current.no.is_none() {
                // No player has an entry, but a season between it and the one before breaks streaks.
                let found = state.found_season(&catalog, &current, now);
                seasons.push(Visited { found, shown: false, carries: false, season: current });
            }
            (state.no, Arc::clone(&state.definition), seasons)
        };
        let mut best: Option<Best> = None;
        let mut entries = Vec::new();
        let mut streak = StreakFold::default();
        let mut goals = definition.goal().is_some();
        let mut next: Option<Millis> = None;
        for Visited { season, found, shown, carries } in seasons.into_iter().rev() {
            let standing = match self.open(found) {
                Ok(standing) => standing,
                Err(error) => return Ok(Err(error)),
            };
            goals |= standing.found.goal.is_some();
            let row = standing.entry_of(player, None)?.map(|entry| entry.row);
            let entry = row.as_ref().map(|row| season_entry(&standing, &season, row));
            let success = entry.as_ref().is_some_and(|entry| entry.success == Some(true));
            // A file need only be asked for what it carries where there was success.
            let carry = match (&standing.source, row.as_ref().filter(|_| success && carries)) {
                (Source::Frozen(frozen), Some(row)) => {
                    let text = frozen.text_at(row.position).map_err(|error| unreadable(&error))?;
                    Some(text.streak)
                }
                _ => None,
            };
            let later = next.replace(season.span.starts_at);
            streak.season(Outcome {
                success,
                open: season.state(now) == SeasonState::Open,
                apart: later.is_some_and(|later| later > season.span.ends_at),
                carry,
            });
            let Some((entry, row)) = entry.zip(row) else { continue };
            let here = Best {
                folded: row.record.key.folded,
                starts_at: season.span.starts_at,
                season: season.span.id.clone(),
            };
            best = Best::of([Some(here), best].into_iter().flatten());
            let within = season.span.ends_at > query.from && season.span.starts_at < query.to;
            if shown && within {
                entries.push(entry);
            }
        }
        let gone = self.read_history(|history| history.best(player, no))?;
        let best = Best::of([gone, best].into_iter().flatten());
        let best = best.map(|best| SeasonBest {
            score: definition.order().unfold(best.folded),
            season: best.season,
        });
        let more = entries.len() > query.limit;
        entries.truncate(query.limit);
        let streak = goals.then(|| streak.streak());
        Ok(Ok(PlayerSeasons { seasons: entries, more, best, streak, exactness: Exactness::Exact }))
    }

    pub(crate) fn snapshots(
        &self,
        board: &BoardId,
        query: &SnapshotsQuery,
    ) -> Result<SnapshotsPage> {
        let catalog = self.catalog.read();
        let state = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        let mut dates = state.snapshot_dates(self.clock.now());
        drop(catalog);
        dates.retain(|(date, _)| query.before.is_none_or(|before| *date < before));
        let mut dates = dates.into_iter();
        let mut snapshots = Vec::new();
        while snapshots.len() < query.limit
            && let Some((date, writing)) = dates.next()
        {
            if writing {
                snapshots.push(SnapshotInfo { date, players: None });
                continue;
            }
            let Some(standing) = self.still_there(board, date)? else { continue };
            let players = Some(standing.figures()?.players);
            snapshots.push(SnapshotInfo { date, players });
        }
        Ok(SnapshotsPage { snapshots, more: dates.len() > 0 })
    }

    /// A snapshot from a list; `None` if it has gone since the list was made.
    fn still_there(&self, board: &BoardId, date: LocalDate) -> Result<Option<OpenStanding>> {
        match self.locate(board, &SnapshotRef::Date(date).into()) {
            Ok(found) => Ok(Some(found)),
            Err(EngineError::UnknownBoard(_) | EngineError::UnknownSnapshot { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn player_snapshots(
        &self,
        player: &PlayerId,
        query: &PlayerSnapshotsQuery,
    ) -> Result<PlayerSnapshotsPage> {
        let before = query.before.as_ref().map(day_of).transpose()?;
        let now = self.clock.now();
        let mut wanted: Vec<(LocalDate, BoardId)> = {
            let catalog = self.catalog.read();
            let boards: Vec<_> = match &query.board {
                Some(id) => {
                    let board = catalog.board(id);
                    vec![board.ok_or_else(|| EngineError::UnknownBoard(id.clone()))?]
                }
                None => catalog.boards().filter(|board| !board.snapshots.is_empty()).collect(),
            };
            let all = boards.iter().flat_map(|board| {
                board.readable(now).map(|snapshot| (snapshot.date, board.id.clone()))
            });
            all.filter(|(date, _)| {
                query.from.is_none_or(|from| *date >= from) && query.to.is_none_or(|to| *date <= to)
            })
            .collect()
        };
        wanted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        wanted.dedup();
        let skip = before.map_or(0, |(date, board)| {
            wanted.partition_point(|(d, b)| {
                (std::cmp::Reverse(*d), b) <= (std::cmp::Reverse(date), &board)
            })
        });
        let mut snapshots: Vec<PlayerSnapshot> = Vec::new();
        let mut next = None;
        for (date, board) in wanted.drain(..).skip(skip) {
            let Some(standing) = self.still_there(&board, date)? else { continue };
            let Some(entry) = standing.entry_of(player, None)? else { continue };
            if snapshots.len() == query.limit {
                let last = snapshots.last();
                next = last.map(|last| Cursor::of(&[&last.date, &last.board]));
                break;
            }
            let row = standing.row(entry.row)?;
            let name = row.profile.and_then(|profile| profile.name.clone());
            let (score, rank, official_rank) = (row.score, row.rank, row.official_rank);
            snapshots.push(PlayerSnapshot { date, board, name, score, rank, official_rank });
        }
        Ok(PlayerSnapshotsPage { snapshots, next })
    }
}

/// A season of a player's past.
struct Visited {
    season: Season,
    found: Found,
    /// Whether it may be in the list.
    shown: bool,
    /// Whether its rows carry the streaks that reach up to it.
    carries: bool,
}

/// A player in a season.
fn season_entry(standing: &OpenStanding, season: &Season, row: &Ranked) -> PlayerSeason {
    let Found { definition, goal, now, .. } = &standing.found;
    let order = definition.order();
    let score = order.unfold(row.record.key.folded);
    PlayerSeason {
        span: season.span.clone(),
        state: season.state(*now),
        score,
        rank: row.rank,
        success: goal.map(|goal| !order.better(goal, score)),
        at: row.record.key.at,
        updated_at: row.record.updated_at,
    }
}

fn day_of(cursor: &Cursor) -> Result<(LocalDate, BoardId)> {
    let [date, board] = cursor.parts()?;
    let day = date.parse().ok().zip(BoardId::new(board).ok());
    day.ok_or(EngineError::BadCursor)
}

/// What boards and seasons are called.
#[derive(Default)]
struct Names(HashMap<(BoardNo, SeasonNo), Option<(BoardId, standings_core::SeasonId)>>);

impl Names {
    fn of(
        &mut self,
        shared: &Shared,
        board: BoardNo,
        season: SeasonNo,
    ) -> Option<(BoardId, standings_core::SeasonId)> {
        let named = self.0.entry((board, season)).or_insert_with(|| {
            let catalog = shared.catalog.read();
            let state = catalog.board_no(board)?;
            let slot = state.timeline.slot(season)?;
            let kept = state.is_kept(season, shared.clock.now());
            kept.then(|| (state.id.clone(), slot.span.id.clone()))
        });
        named.clone()
    }
}
