//! Reading what is known of a player: friends, events, seasons, snapshots.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use standings_core::{
    BoardId, IndexRecord, LocalDate, Millis, PlayerId, Position,
    standing::{self, Standing as _, now},
    streak::StreakCounter,
};

use super::{
    Shared,
    catalog::Season,
    found::{Found, Source},
    freeze::Before,
    history::{StoredBest, StoredEvent},
    reads::unreadable,
    record::{BoardNo, SeasonNo},
};
use standings_engine::{
    AmongFriends, EngineError, EventsPage, EventsQuery, FriendRow, Mark, PlayerEvent, PlayerSeason,
    PlayerSeasons, PlayerSeasonsQuery, PlayerSnapshot, PlayerSnapshotsPage, PlayerSnapshotsQuery,
    RankAnswer, Result, SeasonBest, SeasonState, SnapshotInfo, SnapshotRef, SnapshotsPage,
    SnapshotsQuery, StandingRef, StreakCount,
};

/// Rows counted under one lock.
const SCAN_ROWS: usize = 4096;
/// Streaks of a season that takes submissions are counted anew when they are older than this many times what counting took.
const REUSE: u32 = 20;

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
        let now = self.clock.now();
        let (no, seasons, older) = {
            let catalog = self.catalog.read();
            let state =
                catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
            let older = state.older_than(query.before.as_ref())?;
            let begun = state.seasons.iter().filter(|season| season.span.starts_at <= now);
            let found = begun.map(|season| {
                let mut season = season.clone();
                season.expired = !state.is_kept(&season, now);
                let found = state.found_season(&catalog, &season, now);
                (season, found)
            });
            (state.no, found.collect::<Vec<_>>(), older)
        };
        let mut entries = Vec::new();
        let mut counter = StreakCounter::default();
        let mut goals = false;
        let mut best = self.read_history(|history| history.best(player, no))?;
        let mut ended_at = Millis::MIN;
        for (number, (season, found)) in seasons.into_iter().enumerate() {
            if season.span.starts_at > ended_at {
                counter.gap();
            }
            ended_at = season.span.ends_at;
            let source = match self.source(&season.rows) {
                Ok(source) => source,
                Err(error) if error.kind() == io::ErrorKind::NotFound && season.expired => continue,
                Err(_) => {
                    let id = standings_engine::SeasonRef::Id(season.span.id.clone());
                    self.locate(board, &id.into())?.1
                }
            };
            let entry = season_entry(&found, &source, &season, player, now)?;
            goals |= found.goal.is_some();
            count(&mut counter, &source, &season, entry.as_ref(), player, now)?;
            let Some(entry) = entry else { continue };
            let here = StoredBest {
                folded: found.definition.order().fold(entry.score),
                starts_at: season.span.starts_at,
                season: season.span.id.clone(),
            };
            best = Some(best.map_or(here.clone(), |best| best.better(here)));
            let within = season.span.ends_at > query.from && season.span.starts_at < query.to;
            if number < older && within && !season.expired {
                entries.push(entry);
            }
        }
        let definition = self.find(board, &StandingRef::CURRENT)?.definition;
        let best = best.map(|best| SeasonBest {
            score: definition.order().unfold(best.folded),
            season: best.season,
        });
        entries.reverse();
        let more = entries.len() > query.limit;
        entries.truncate(query.limit);
        let streak = (goals || definition.goal().is_some()).then(|| counter.streak());
        Ok(PlayerSeasons { seasons: entries, more, best, streak })
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

/// Takes a season into account. A settled one knows the streak that reaches up to it, even where seasons before it are gone.
fn count(
    counter: &mut StreakCounter,
    source: &Source,
    season: &Season,
    entry: Option<&PlayerSeason>,
    player: &PlayerId,
    now: Millis,
) -> Result<()> {
    match source {
        Source::Frozen(frozen) if season.is_settled() => {
            let row = match entry {
                Some(_) => frozen.row_of(player).map_err(|error| unreadable(&error))?,
                None => None,
            };
            counter.counted(row.map_or(0, |(_, _, text)| text.streak));
        }
        Source::Live(_) | Source::Frozen(_) => {
            let success = entry.is_some_and(|entry| entry.success == Some(true));
            counter.season(success, season.state(now) == SeasonState::Open);
        }
    }
    Ok(())
}

/// Counts the streaks that reach up to a season which is not settled.
pub(crate) fn count_streaks(
    source: &Source,
    goal: i64,
    before: &Before,
    hides: impl Fn(&PlayerId) -> bool,
) -> Result<Vec<StreakCount>> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut last: Option<(String, IndexRecord)> = None;
    loop {
        let mut players: Vec<(String, IndexRecord)> = Vec::new();
        source.ask(|standing| {
            let from = match &last {
                Some((player, row)) => standing.through(row.key, player)?,
                None => Position(0),
            };
            standing.visit(from, &mut |player, record| {
                if record.key.folded > goal {
                    return ControlFlow::Break(());
                }
                // Where someone was erased there is only a place.
                if !player.is_empty() {
                    players.push((player.to_owned(), record));
                }
                let full = players.len() == SCAN_ROWS;
                if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        })?;
        for (player, _) in &players {
            if PlayerId::new(player).is_ok_and(|player| hides(&player)) {
                continue;
            }
            let streak = before.streak(player).map_err(|error| unreadable(&error))?;
            *counts.entry(1 + streak).or_default() += 1;
        }
        match players.pop() {
            Some(row) => last = Some(row),
            None => break,
        }
    }
    Ok(counts.into_iter().map(|(length, players)| StreakCount { length, players }).collect())
}

/// Streaks of seasons that are not settled, as they were counted lately.
#[derive(Default)]
pub(crate) struct LiveStreaks(Mutex<HashMap<(BoardNo, SeasonNo), Counted>>);

struct Counted {
    streaks: Vec<StreakCount>,
    players: u64,
    at: Instant,
    took: Duration,
}

impl LiveStreaks {
    /// The streaks of a season, counted anew where that is due. Counting looks at every player who met the goal.
    pub(crate) fn get(
        &self,
        board: BoardNo,
        season: &Season,
        count: impl FnOnce() -> Result<Vec<StreakCount>>,
    ) -> Result<Vec<StreakCount>> {
        let key = (board, season.no);
        let players = season.live().map_or(0, |live| live.read().index().len());
        {
            let mut counted = self.0.lock();
            counted.retain(|_, counted| counted.at.elapsed() < counted.took * REUSE);
            if let Some(counted) = counted.get(&key).filter(|counted| counted.players == players) {
                return Ok(counted.streaks.clone());
            }
        }
        let at = Instant::now();
        let streaks = count()?;
        let counted = Counted { streaks: streaks.clone(), players, at, took: at.elapsed() };
        self.0.lock().insert(key, counted);
        Ok(streaks)
    }
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
