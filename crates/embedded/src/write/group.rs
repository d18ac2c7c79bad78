//! Deciding a group of submissions by core's rules, on what is in memory and in the history.

use std::sync::Arc;

use parking_lot::RwLock;
use rapidhash::RapidHashMap;
use standings_core::{
    Board, BoardId, Millis, PlayerId, Profile, Rank, SeasonId,
    decide::{
        Accepted, Facts, Names, Outcome as Decided, Pending, Recorded, Rules, SetRow, Wanted,
    },
    rule::{Entry, Rejection, Submission},
    timeline::{Slot, Transition},
};
use standings_index::{Spot, WARM};
use tokio::sync::oneshot;

use crate::write::{Command, Sequencer, seasons::season as season_record};
use crate::{
    record::{BoardNo, Event, LogRecord, SeasonNo, SetScore},
    state::{
        catalog::{BoardState, SeasonData},
        live::{Live, entry_of},
    },
    write::mailbox::Reply,
};
use standings_engine::{Cursor, EngineError, Result, ScoreRow, ScoresSet};

/// A group that has been decided and is not yet durable. Dropping it leaves no trace.
pub(super) struct Draft {
    pub(super) records: Vec<LogRecord>,
    /// Where each accepted event goes and how it changes the entry, in order.
    pub(super) events: Vec<DraftEvent>,
    pub(super) targets: Vec<Target>,
    pub(super) answers: Vec<Answer>,
    /// What this group has decided so far and the standings do not show yet.
    boards: RapidHashMap<BoardNo, Pending>,
    names: Names,
}

/// A season that takes events of this group.
pub(super) struct Target {
    pub(super) board: BoardNo,
    pub(super) season: SeasonNo,
    pub(super) season_id: SeasonId,
    pub(super) definition: Arc<Board>,
    /// Its rows; none before the group is durable where the group opens the season.
    pub(super) live: Option<Arc<RwLock<Live>>>,
}

pub(super) struct DraftEvent {
    pub(super) target: usize,
    pub(super) player: PlayerId,
    pub(super) previous: Option<Entry>,
    pub(super) spot: Option<Spot>,
    pub(super) entry: Entry,
    /// Whether anyone will be told the ranks.
    pub(super) ranked: bool,
    /// Filled in when it is published; what it was before, and what it is after.
    pub(super) ranks: [Option<Rank>; 2],
}

pub(super) enum Answer {
    Receipts { outcomes: Vec<Outcome>, reply: Reply },
    Done { reply: oneshot::Sender<Result<()>> },
    Set { set: ScoresSet, reply: oneshot::Sender<Result<ScoresSet>> },
}

pub(super) enum Outcome {
    Rejected(Rejection),
    /// The number of its event.
    Accepted(usize),
    /// Accepted before, in this season if it still takes submissions.
    Duplicate(Recorded, SeasonId, Option<usize>),
}

/// What a standing has of a player, and where.
type Held = (Option<Entry>, Option<Spot>);

impl Draft {
    pub(super) fn records(&mut self) -> Vec<LogRecord> {
        std::mem::take(&mut self.records)
    }

    /// Tells everyone that nothing was done, or that it is not known.
    pub(super) fn refuse(self, error: &EngineError) {
        for answer in self.answers {
            match answer {
                Answer::Receipts { reply, .. } => reply.send(Err(error.for_another())),
                Answer::Set { reply, .. } => drop(reply.send(Err(error.for_another()))),
                Answer::Done { reply } => drop(reply.send(Err(error.for_another()))),
            }
        }
    }

    /// The number of a season of which something is to be shown.
    fn target(&mut self, board: &BoardState, no: SeasonNo, id: &SeasonId) -> usize {
        let known = self.targets.iter().rposition(|t| t.board == board.no && t.season == no);
        known.unwrap_or_else(|| {
            let slot = board.timeline.slot(no);
            self.targets.push(Target {
                board: board.no,
                season: no,
                season_id: id.clone(),
                definition: Arc::clone(&board.definition),
                live: slot.and_then(|slot| slot.data.live()).cloned(),
            });
            self.targets.len() - 1
        })
    }

    fn open(&mut self, board: BoardNo, transition: Option<Transition>) {
        self.records.extend(transition.map(|transition| season_record(board, transition)));
    }

    fn accept(
        &mut self,
        target: usize,
        player: PlayerId,
        (previous, spot): Held,
        entry: Entry,
        ranked: bool,
    ) {
        let ranks = [None; 2];
        self.events.push(DraftEvent { target, player, previous, spot, entry, ranked, ranks });
    }

    fn renamed(&mut self, player: &PlayerId, profile: Option<Profile>) {
        let put = |profile| LogRecord::PlayerPut { player: player.clone(), profile };
        self.records.extend(profile.map(put));
    }

    /// Takes what became of a submission.
    fn note(
        &mut self,
        board: &BoardState,
        pending: &Pending,
        decided: Decided,
        spot: Option<Spot>,
    ) -> Outcome {
        let accepted = match decided {
            Decided::Accepted(accepted) => accepted,
            Decided::Duplicate(recorded) => return self.duplicate(board, pending, recorded),
            Decided::Rejected(rejection) => return Outcome::Rejected(rejection),
        };
        let Accepted { opens, season, player, points, event_id, at, previous, entry, renamed } =
            accepted;
        let (index, season) = season;
        self.open(board.no, opens);
        self.renamed(&player, renamed);
        let target = self.target(board, season, &pending.seasons()[index].span.id);
        self.accept(target, player.clone(), (previous, spot), entry, true);
        let event = Event { board: board.no, season, player, points, event_id, at, entry };
        self.records.push(LogRecord::Event(event));
        Outcome::Accepted(self.events.len() - 1)
    }

    /// Where a submission counted that is repeated. In a season that is past its time it must not count in another.
    fn duplicate(&mut self, board: &BoardState, pending: &Pending, recorded: Recorded) -> Outcome {
        let no = recorded.season;
        if let Some(season) = pending.season_no(no) {
            let (id, target) = (season.span.id.clone(), self.target(board, no, &season.span.id));
            return Outcome::Duplicate(recorded, id, Some(target));
        }
        let id = board.timeline.name_of(&board.definition, no, recorded.entry.at);
        let open = board.timeline.slot(no).is_some_and(|slot| slot.closed.is_none());
        let target = open.then(|| self.target(board, no, &id));
        Outcome::Duplicate(recorded, id, target)
    }
}

impl Sequencer {
    /// Decides every submission of the group in order, each against what the ones before it have led to.
    pub(super) fn decide(&self, commands: Vec<Command>, now: Millis) -> Draft {
        let scores = commands.iter().map(Command::weight).sum();
        let mut draft = Draft {
            records: Vec::new(),
            events: Vec::with_capacity(scores),
            targets: Vec::new(),
            answers: Vec::new(),
            boards: RapidHashMap::default(),
            names: Names::default(),
        };
        for command in commands {
            match command {
                Command::Submit { board, submissions, reply } => {
                    match self.decide_submissions(&mut draft, &board, submissions, now) {
                        Ok(outcomes) => draft.answers.push(Answer::Receipts { outcomes, reply }),
                        Err(error) => reply.send(Err(error)),
                    }
                }
                Command::Set { board, begun, rows, reply } => {
                    match self.decide_rows(&mut draft, &board, begun, rows, now) {
                        Ok(set) => draft.answers.push(Answer::Set { set, reply }),
                        Err(error) => drop(reply.send(Err(error))),
                    }
                }
                Command::Player { record, reply } => {
                    if let LogRecord::PlayerPut { player, profile } = &record {
                        draft.names.put(player, profile);
                    }
                    draft.records.push(record);
                    draft.answers.push(Answer::Done { reply });
                }
                Command::Change(_) | Command::Stop => {
                    unreachable!("a group has only writes of scores")
                }
            }
        }
        draft
    }

    fn rules<'a>(&self, board: &'a BoardState, now: Millis) -> Rules<'a, SeasonData> {
        Rules {
            board: &board.definition,
            timeline: &board.timeline,
            id_window: self.shared.options.event_id_window,
            now,
        }
    }

    /// New players that a season takes.
    fn room(&self) -> impl Fn(Option<&Slot<SeasonData>>) -> u64 {
        let most = self.shared.options.max_players;
        move |slot| {
            slot.and_then(|slot| slot.data.live()).map_or(most, |live| {
                let live = live.read();
                most.saturating_sub(live.index().len()).min(live.index().room())
            })
        }
    }

    fn decide_submissions(
        &self,
        draft: &mut Draft,
        board: &BoardId,
        submissions: Vec<Submission>,
        now: Millis,
    ) -> Result<Vec<Outcome>> {
        let catalog = self.shared.catalog.read();
        let board = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        let rules = self.rules(board, now);
        let mut pending = draft.boards.remove(&board.no).unwrap_or_default();
        let wanted = rules.wanted(&mut pending, &submissions, self.room());
        // Everything that can fail comes first: a batch is refused before any of it is decided.
        let facts = self.facts(board, &pending, &submissions, &wanted);
        let (facts, spots) = match facts {
            Ok(facts) => facts,
            Err(error) => {
                draft.boards.insert(board.no, pending);
                return Err(error);
            }
        };
        draft.records.reserve(submissions.len());
        let mut names = std::mem::take(&mut draft.names);
        let batch = submissions.into_iter().zip(wanted).zip(facts);
        let batch = batch.map(|((submission, wanted), facts)| (submission, wanted, facts));
        let decided: Vec<Decided> = rules.decide_batch(&mut pending, &mut names, batch).collect();
        let told = decided.into_iter().zip(spots);
        let outcomes =
            told.map(|(decided, spot)| draft.note(board, &pending, decided, spot)).collect();
        draft.names = names;
        draft.boards.insert(board.no, pending);
        Ok(outcomes)
    }

    /// Looks up what deciding submissions needs, and where the standings have it.
    fn facts(
        &self,
        board: &BoardState,
        pending: &Pending,
        submissions: &[Submission],
        wanted: &[Wanted],
    ) -> Result<(Vec<Facts>, Vec<Option<Spot>>)> {
        let held = submissions.iter().zip(wanted).map(|(submission, wanted)| {
            let season = wanted.season.ok().and_then(|index| pending.seasons()[index].no);
            (season, &submission.player)
        });
        let held = look_up(board, &held.collect::<Vec<_>>());
        let mut facts = Vec::with_capacity(submissions.len());
        let mut spots = Vec::with_capacity(submissions.len());
        for (submission, (entry, spot)) in submissions.iter().zip(held) {
            let recorded = match &submission.event_id {
                Some(id) => self.shared.read_history(|history| history.event_id(board.no, id))?,
                None => None,
            };
            let profile = match &submission.user_name {
                Some(_) => self.known_profile(&submission.player)?,
                None => None,
            };
            facts.push(Facts { entry, recorded: recorded.map(Box::new), profile });
            spots.push(spot);
        }
        Ok((facts, spots))
    }

    /// A player's profile as the last group left it. The readers' cache will not do: it may be a moment behind, and what
    /// is decided here is kept.
    fn known_profile(&self, player: &PlayerId) -> Result<Option<Arc<Profile>>> {
        if let Some(known) = self.profiles.get(player) {
            return Ok(known);
        }
        let loaded = self.shared.read_history(|history| history.profile_uncached(player))?;
        self.profiles.insert(player.clone(), loaded.clone());
        Ok(loaded)
    }

    fn decide_rows(
        &self,
        draft: &mut Draft,
        board: &BoardId,
        begun: Option<ScoresSet>,
        rows: Vec<ScoreRow>,
        now: Millis,
    ) -> Result<ScoresSet> {
        let catalog = self.shared.catalog.read();
        let board = catalog.board(board).ok_or_else(|| EngineError::UnknownBoard(board.clone()))?;
        let set = scores_set(board, now);
        if let Some(begun) = begun.filter(|begun| *begun != set) {
            return Err(EngineError::SeasonEnded(begun.season));
        }
        let profiles = rows.iter().map(|row| match &row.user_name {
            Some(_) => self.known_profile(&row.player),
            None => Ok(None),
        });
        let profiles = profiles.collect::<Result<Vec<_>>>()?;
        let mut pending = draft.boards.remove(&board.no).unwrap_or_default();
        let done = self.set_rows(draft, board, &mut pending, rows, profiles, now);
        draft.boards.insert(board.no, pending);
        done.map(|()| set)
    }

    fn set_rows(
        &self,
        draft: &mut Draft,
        board: &BoardState,
        pending: &mut Pending,
        rows: Vec<ScoreRow>,
        profiles: Vec<Option<Arc<Profile>>>,
        now: Millis,
    ) -> Result<()> {
        let rules = self.rules(board, now);
        let season = rules.season_at(pending, now, self.room()).ok_or_else(|| {
            let why = "the current season is being closed".into();
            EngineError::Unavailable { why, retry_after: crate::write::RETRY_AFTER }
        })?;
        let no = pending.seasons()[season].no;
        let held = look_up(board, &rows.iter().map(|row| (no, &row.player)).collect::<Vec<_>>());
        let wanted = rows.iter().zip(&held).map(|(row, (entry, _))| (set_row(row), *entry));
        let checked = rules.check_rows(pending, season, &wanted.collect::<Vec<_>>());
        checked.map_err(|(row, why)| EngineError::rejected_row(row as u64 + 1, why))?;
        let mut scores = Vec::with_capacity(rows.len());
        let mut number = None;
        for ((row, held), profile) in rows.into_iter().zip(held).zip(profiles) {
            let (opens, no, entry) = rules.set(pending, season, set_row(&row), held.0);
            draft.open(board.no, opens);
            let renamed = draft.names.rename(&row.player, row.user_name, profile.as_deref());
            draft.renamed(&row.player, renamed);
            let target = draft.target(board, no, &pending.seasons()[season].span.id);
            // Nobody is told the ranks.
            draft.accept(target, row.player.clone(), held, entry, false);
            scores.push(SetScore { player: row.player, entry });
            number = Some(no);
        }
        if let Some(season) = number {
            draft.records.push(LogRecord::Scores { board: board.no, season, rows: scores });
        }
        Ok(())
    }
}

fn set_row(row: &ScoreRow) -> SetRow<'_> {
    SetRow { player: &row.player, score: row.score, at: row.at }
}

/// The season in which scores are set. A season of a board has its name for good, unless the board starts anew.
fn scores_set(board: &BoardState, now: Millis) -> ScoresSet {
    let season = board.timeline.current(&board.definition, now).span.id.clone();
    let cursor = Cursor::of(&[&board.no, &board.timeline.first_no(), &season]);
    ScoresSet { season, cursor }
}

/// Looks players up in their seasons, some at once: one by one they would wait for memory. Until the group is published nothing there
/// changes.
fn look_up(board: &BoardState, wanted: &[(Option<SeasonNo>, &PlayerId)]) -> Vec<Held> {
    let order = board.definition.order();
    let mut held = Vec::with_capacity(wanted.len());
    for run in wanted.chunk_by(|a, b| a.0 == b.0) {
        let slot = run[0].0.and_then(|no| board.timeline.slot(no));
        let Some(live) = slot.and_then(|slot| slot.data.live()) else {
            held.extend(run.iter().map(|_| (None, None)));
            continue;
        };
        for few in run.chunks(WARM) {
            let players: Vec<&str> = few.iter().map(|(_, player)| player.as_str()).collect();
            live.read().index().look_up_many(&players, |found| {
                held.push(found.map(|(record, spot)| (entry_of(order, record), spot)).unzip());
            });
        }
    }
    held
}
