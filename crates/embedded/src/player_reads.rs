//! Reading what is known of a player: friends, events, seasons, snapshots.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    sync::Arc,
};

use standings_core::{
    BoardId, LocalDate, Millis, PlayerId,
    standing::{self, Standing as _, now},
    streak::{Outcome, StreakFold},
};

use super::{
    Shared,
    catalog::Season,
    found::{Found, Source},
    history::{StoredBest, StoredEvent},
    reads::{look, unreadable},
    record::{BoardNo, SeasonNo},
};
use standings_engine::{
    AmongFriends, EngineError, EventsPage, EventsQuery, FriendRow, Mark, PlayerEvent, PlayerSeason,
    PlayerSeasons, PlayerSeasonsQuery, PlayerSnapshot, PlayerSnapshotsPage, PlayerSnapshotsQuery,
    RankAnswer, Result, SeasonBest, SeasonState, SnapshotInfo, SnapshotRef, SnapshotsPage,
    SnapshotsQuery, StandingRef,
};

impl Shared {
    /// A player's friends, but for those who were erased since the list was set.
    pub(crate) fn friends(&self, player: &PlayerId) -> Result<Arc<Vec<PlayerId>>> {
        let (seq, friends) = self.read_history(|history| history.friends(player))?;
        let suspected = {
            let catalog = self.catalog.read();
            let erased = catalog.erased();
            !erased.is_empty() && friends.iter().any(|friend| erased.contains_key(friend))
        };
        if !suspected {
            return Ok(friends);
        }
        let erased = self.read_history(|history| history.erased_after(seq))?;
        let left = friends.iter().filter(|friend| !erased.contains(*friend));
        Ok(Arc::new(left.cloned().collect()))
    }

    pub(crate) fn among_friends(
        &self,
        board: &BoardId,
        which: &StandingRef,
        player: &PlayerId,
    ) -> Result<AmongFriends> {
        let friends = self.friends(player)?;
        let (found, source) = self.locate(board, which)?;
        let entry = self.entry_of(&found, &source, player, None)?;
        let everyone: BTreeSet<&PlayerId> = friends.iter().chain([player]).collect();
        let everyone: Vec<&PlayerId> = everyone.into_iter().collect();
        let selected =
            source.rank(&found, |ranks, gaps| now(standing::selected(ranks, gaps, &everyone)))?;
        let ranks = standing::among(found.ties, &selected.rows);
        let rows = selected.rows;
        let rows = self.dress(&found, &source, rows)?;
        let rows = ranks.into_iter().zip(rows).map(|(rank, row)| FriendRow { rank, row }).collect();
        Ok(AmongFriends { standing: found.id, entry, rows })
    }

    pub(crate) fn player_events(
        &self,
        player: &PlayerId,
        query: &EventsQuery,
    ) -> Result<EventsPage> {
        let before = match &query.before {
            Some(Mark(mark)) => mark.parse().map_err(|_| EngineError::BadMark)?,
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
        let next = events.last().filter(|_| more).map(|(seq, _)| Mark(seq.to_string()));
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
            let mut seasons = Vec::new();
            let mut before: Option<&Season> = None;
            for (number, season) in state.seasons.iter().enumerate() {
                if season.span.starts_at > now {
                    break;
                }
                let before = before.replace(season).filter(|before| before.meets(season));
                seasons.push(Visited {
                    found: state.found_season(&catalog, season, now),
                    shown: number < older && state.is_kept(season, now),
                    carries: season.carries(before),
                    season: season.clone(),
                });
            }
            (state.no, Arc::clone(&state.definition), seasons)
        };
        let mut best: Option<StoredBest> = None;
        let mut entries = Vec::new();
        let mut streak = StreakFold::default();
        let mut goals = definition.goal().is_some();
        let mut next: Option<Millis> = None;
        for Visited { season, found, shown, carries } in seasons.into_iter().rev() {
            let source = match self.source(&season.rows) {
                Ok(source) => source,
                Err(error) => return Ok(Err(error)),
            };
            let entry = season_entry(&found, &source, &season, player, now)?;
            goals |= found.goal.is_some();
            let open = season.state(now) == SeasonState::Open;
            let outcome = outcome(&source, entry.as_ref(), open, carries, player);
            let outcome = outcome.map_err(|error| unreadable(&error))?;
            let apart =
                next.replace(season.span.starts_at).is_some_and(|next| next > season.span.ends_at);
            streak.season(Outcome { apart, ..outcome });
            let Some(entry) = entry else { continue };
            let here = StoredBest {
                folded: found.definition.order().fold(entry.score),
                starts_at: season.span.starts_at,
                season: season.span.id.clone(),
            };
            // The older one of equals is the one in which it was first reached.
            best = Some(best.map_or(here.clone(), |later| here.better(later)));
            let within = season.span.ends_at > query.from && season.span.starts_at < query.to;
            if shown && within {
                entries.push(entry);
            }
        }
        let gone = self.read_history(|history| history.best(player, no))?;
        let best = match (gone, best) {
            (Some(gone), Some(best)) => Some(gone.better(best)),
            (gone, best) => gone.or(best),
        };
        let best = best.map(|best| SeasonBest {
            score: definition.order().unfold(best.folded),
            season: best.season,
        });
        let more = entries.len() > query.limit;
        entries.truncate(query.limit);
        let streak = goals.then(|| streak.streak());
        Ok(Ok(PlayerSeasons { seasons: entries, more, best, streak }))
    }

    pub(crate) fn snapshots(
        &self,
        board: &BoardId,
        query: &SnapshotsQuery,
    ) -> Result<SnapshotsPage> {
        let catalog = self.catalog.read();
        let state = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        let wanted = state.readable(self.clock.now());
        let wanted = wanted.filter(|s| query.before.is_none_or(|before| s.date < before));
        let dates: Vec<LocalDate> = wanted.map(|s| s.date).collect();
        drop(catalog);
        let mut dates = dates.into_iter();
        let mut snapshots = Vec::new();
        while snapshots.len() < query.limit
            && let Some(date) = dates.next()
        {
            let Some((found, source)) = self.still_there(board, date)? else { continue };
            let players = found.figures(&source)?.players;
            snapshots.push(SnapshotInfo { date, players });
        }
        Ok(SnapshotsPage { snapshots, more: dates.len() > 0 })
    }

    /// A snapshot from a list; `None` if it has gone since the list was made.
    fn still_there(&self, board: &BoardId, date: LocalDate) -> Result<Option<(Found, Source)>> {
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
        let before = query.before.as_ref().map(parse_mark).transpose()?;
        let now = self.clock.now();
        let mut wanted: Vec<(LocalDate, BoardId)> = {
            let catalog = self.catalog.read();
            let boards: Vec<_> = match &query.board {
                Some(id) => {
                    let board = catalog.board(id);
                    vec![board.ok_or_else(|| EngineError::UnknownBoard(id.clone()))?]
                }
                None => {
                    catalog.boards().filter(|board| !board.snapshots.list().is_empty()).collect()
                }
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
            let Some((found, source)) = self.still_there(&board, date)? else { continue };
            let Source::Frozen(frozen) = &source else { continue };
            if found.hides(player) {
                continue;
            }
            let place = frozen.find(player).map_err(|error| unreadable(&error))?;
            let Some(place) = place else { continue };
            if snapshots.len() == query.limit {
                let last = snapshots.last();
                next = last.map(|last| Mark(format!("{} {}", last.date, last.board)));
                break;
            }
            let text = frozen.text_at(place.position).map_err(|error| unreadable(&error))?;
            let rank = standing::rank(found.ties, place.position, place.first_of_score);
            snapshots.push(PlayerSnapshot {
                date,
                board,
                score: found.definition.order().unfold(place.record.key.folded),
                rank: RankAnswer::exact(rank),
                official_rank: found.official_rank(rank, &text),
                name: text.name,
            });
        }
        Ok(PlayerSnapshotsPage { snapshots, next })
    }
}

/// A season that a player's past is told from.
struct Visited {
    season: Season,
    found: Found,
    /// Whether it may be in the list.
    shown: bool,
    /// Whether its rows carry the streaks that reach up to it.
    carries: bool,
}

/// A player in a season.
fn season_entry(
    found: &Found,
    source: &Source,
    season: &Season,
    player: &PlayerId,
    now: Millis,
) -> Result<Option<PlayerSeason>> {
    if found.hides(player) {
        return Ok(None);
    }
    let order = found.definition.order();
    let place = source.ask(|standing| standing.find(player))?;
    Ok(place.map(|place| {
        let score = order.unfold(place.record.key.folded);
        let rank = standing::rank(found.ties, place.position, place.first_of_score);
        PlayerSeason {
            span: season.span.clone(),
            state: season.state(now),
            score,
            rank: RankAnswer::exact(rank),
            success: found.goal.map(|goal| !order.better(goal, score)),
            at: place.record.key.at,
            updated_at: place.record.updated_at,
        }
    }))
}

fn parse_mark(mark: &Mark) -> Result<(LocalDate, BoardId)> {
    let split = mark.0.split_once(' ');
    let parsed =
        split.and_then(|(date, board)| Some((date.parse().ok()?, BoardId::new(board).ok()?)));
    parsed.ok_or(EngineError::BadMark)
}

/// What a season says of a player's streak. A file need only be asked for what it carries where there was success.
fn outcome(
    source: &Source,
    entry: Option<&PlayerSeason>,
    open: bool,
    carries: bool,
    player: &PlayerId,
) -> io::Result<Outcome> {
    let success = entry.is_some_and(|entry| entry.success == Some(true));
    let carry = match source {
        Source::Frozen(frozen) if success && carries => {
            frozen.row_of(player)?.map(|(_, _, text)| text.streak)
        }
        _ => None,
    };
    Ok(Outcome { success, open, apart: false, carry })
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
            let season = state.season(season)?;
            if !state.is_kept(season, shared.clock.now()) {
                return None;
            }
            Some((state.id.clone(), season.span.id.clone()))
        });
        named.clone()
    }
}
