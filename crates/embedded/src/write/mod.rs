//! The one thread that writes.
//!
//! It drains whatever submissions are waiting, decides each against the current entry, appends the decided results to the
//! log as one group, makes the group durable with one flush, publishes it, and only then answers everyone in it. Many small
//! requests share one flush, there are no locks to get wrong, and [`Sequencer::commit_group`] is the whole protocol.
//!
//! A crash before the flush loses what was never acknowledged; a crash after it loses nothing, since recovery replays the
//! group. Nothing is published before it is durable, so no reader sees a score that a crash can take back (with durability
//! `interval` a reader may; that is what it trades).
//!
//! Rare changes (boards, seasons, keys) are calls that run on this thread between two groups, each with a flush
//! of its own.

pub(super) mod changes;
mod freezes;
mod group;
mod imports;
pub(crate) mod mailbox;
mod publish;
mod seasons;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use standings_core::{BoardId, Millis, PlayerId, Profile, rule::Submission};
use tokio::sync::oneshot;

use crate::{
    Durability, Shared,
    history::Group,
    log::{Log, WriteError},
    operations::{checkpoint::View, jobs::Jobs, keeper::Job},
    out_of_order,
    record::{self, BoardNo, LogRecord, SeasonNo},
    write::mailbox::Reply,
};
pub(super) use imports::Prepared;
use standings_engine::{EngineError, Result, ScoreRow, ScoresSet};

/// Submissions in one group: the flush is long paid for, and the readers' wait for the lock stays short.
const GROUP_SUBMISSIONS: usize = 4096;
/// How often clock and housekeeping are looked at when nothing arrives.
const TICK: Duration = Duration::from_millis(100);
/// A clean stop writes a checkpoint if the next start would have to replay more than this.
const REPLAY_BYTES: u64 = 1 << 20;
/// How long to wait before a checkpoint that could not begin is asked for again.
const CHECKPOINT_AGAIN: Duration = Duration::from_secs(1);
/// Players whose names come with scores, and are compared with what is known.
const CACHED_PROFILES: usize = 100_000;
/// What to tell a client whose write met a store that is out of order.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What is sent to the sequencer.
pub(crate) enum Command {
    /// Decide submissions.
    Submit { board: BoardId, submissions: Vec<Submission>, reply: Reply },
    /// Set scores of the current season, which must be the one in which that was begun.
    Set {
        board: BoardId,
        begun: Option<ScoresSet>,
        rows: Vec<ScoreRow>,
        reply: oneshot::Sender<Result<ScoresSet>>,
    },
    /// Replace what is known of a player: profile or friends.
    Player { record: LogRecord, reply: oneshot::Sender<Result<()>> },
    /// Do something between two groups.
    Change(Box<dyn FnOnce(&mut Sequencer) + Send>),
    /// Finish what was accepted and end.
    Stop,
}

impl Command {
    fn weight(&self) -> usize {
        match self {
            Self::Submit { submissions, .. } => submissions.len(),
            Self::Set { rows, .. } => rows.len(),
            Self::Player { record: LogRecord::FriendsPut { friends, .. }, .. } => {
                1 + friends.len() / 16
            }
            Self::Player { .. } | Self::Change(_) | Self::Stop => 1,
        }
    }
}

/// The way to the sequencer. It counts what waits, so that a flood is refused at the door.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: Sender<Command>,
    waiting: Arc<AtomicUsize>,
}

impl Queue {
    pub(crate) fn new(sender: Sender<Command>) -> Self {
        Self { sender, waiting: Arc::default() }
    }

    /// Submissions that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn send(&self, command: Command) -> Result<()> {
        self.waiting.fetch_add(command.weight(), Ordering::Relaxed);
        self.sender.send(command).map_err(|refused| {
            self.waiting.fetch_sub(refused.0.weight(), Ordering::Relaxed);
            stopped()
        })
    }

    /// Runs a change on the sequencer and waits for its result.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Sequencer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Change(Box::new(move |sequencer| {
            // Whoever asked may have gone.
            let _ = reply.send(change(sequencer));
        })))?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// The same for a thread that may block.
    pub(crate) fn change_blocking<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Sequencer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Change(Box::new(move |sequencer| {
            let _ = reply.send(change(sequencer));
        })))?;
        answer.blocking_recv().unwrap_or_else(|_| Err(stopped()))
    }
}

/// The server is stopping and has not taken the write.
pub(crate) fn stopped() -> EngineError {
    EngineError::Unavailable { why: "the server is stopping".into(), retry_after: RETRY_AFTER }
}

/// Tells everyone that nothing was done.
fn refuse(commands: Vec<Command>) {
    let why = || out_of_order("the disk does not take the write");
    for command in commands {
        match command {
            Command::Submit { reply, .. } => reply.send(Err(why())),
            Command::Set { reply, .. } => drop(reply.send(Err(why()))),
            Command::Player { reply, .. } => drop(reply.send(Err(why()))),
            Command::Change(_) | Command::Stop => {}
        }
    }
}

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checkpointing {
    No,
    /// The keeper will ask for it when it is free.
    Asked,
    /// Standings keep what entries were.
    Begun,
}

/// The thread's own state. Everything that others see is in [`Shared`].
pub(crate) struct Sequencer {
    shared: Arc<Shared>,
    log: Log,
    commands: Receiver<Command>,
    jobs: Jobs,
    /// When each board next needs attention: a season to open or to close.
    deadlines: BTreeSet<(Millis, BoardNo)>,
    deadline_of: HashMap<BoardNo, Millis>,
    /// Whether the disk took nothing of what is due when it was last asked.
    refused: bool,
    /// The position of the newest checkpoint, and the size of the log then.
    checkpoint: u64,
    log_bytes_at_checkpoint: u64,
    checkpointing: Checkpointing,
    /// After one could not begin, when to ask again.
    checkpoint_again: Instant,
    /// Who was taken off seasons that have closed and are not in a file yet.
    removed: HashMap<(BoardNo, SeasonNo), Vec<PlayerId>>,
    /// Names of files given in this run.
    names_given: u64,
    last_purge: Instant,
    /// Profiles as this thread knows them: it is the only one that changes them, so they are never stale here.
    profiles: quick_cache::sync::Cache<PlayerId, Option<Arc<Profile>>>,
    last_sync: Instant,
    /// Reused by every group.
    payload: Vec<u8>,
}

impl Sequencer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        log: Log,
        commands: Receiver<Command>,
        jobs: Jobs,
        checkpoint: u64,
        replayed_bytes: u64,
    ) -> Self {
        let log_bytes_at_checkpoint = log.bytes().saturating_sub(replayed_bytes);
        let mut sequencer = Self {
            shared,
            log,
            commands,
            jobs,
            deadlines: BTreeSet::new(),
            deadline_of: HashMap::new(),
            refused: false,
            checkpoint,
            log_bytes_at_checkpoint,
            checkpointing: Checkpointing::No,
            checkpoint_again: Instant::now(),
            removed: HashMap::new(),
            names_given: 0,
            last_purge: Instant::now(),
            profiles: quick_cache::sync::Cache::new(CACHED_PROFILES),
            last_sync: Instant::now(),
            payload: Vec::new(),
        };
        sequencer.schedule_all();
        sequencer
    }

    /// Works until told to stop.
    pub(crate) fn run(mut self) {
        loop {
            let first = match self.commands.recv_timeout(self.patience()) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
            };
            let (group, change) = first.map_or_else(Default::default, |first| self.drain(first));
            // One reading of the clock for all: what is due by it on a board comes before what is decided at it.
            let now = self.shared.clock.now();
            let rolled = self.roll_portion(now);
            // A disk that refuses now is asked again when something is to be decided, and later.
            self.refused = rolled.is_err();
            if !group.is_empty() {
                match self.roll_boards(&self.boards_of(&group, now), now) {
                    Ok(()) => self.commit_group(group, now),
                    Err(_) => refuse(group),
                }
            }
            let mut stop = false;
            match change {
                Some(Command::Change(change)) => change(&mut self),
                Some(Command::Stop) => stop = true,
                _ => {}
            }
            self.sync_if_due();
            self.housekeeping();
            if stop {
                return self.stop();
            }
        }
    }

    /// The boards of a group, if anything is due at all.
    fn boards_of(&self, group: &[Command], now: Millis) -> Vec<BoardNo> {
        if self.deadlines.first().is_none_or(|(due, _)| *due > now) {
            return Vec::new();
        }
        let catalog = self.shared.catalog.read();
        let ids = group.iter().filter_map(|command| match command {
            Command::Submit { board, .. } | Command::Set { board, .. } => Some(board),
            Command::Player { .. } | Command::Change(_) | Command::Stop => None,
        });
        let boards: BTreeSet<BoardNo> = ids.filter_map(|id| Some(catalog.board(id)?.no)).collect();
        boards.into_iter().collect()
    }

    fn patience(&self) -> Duration {
        let more = self.deadlines.first().is_some_and(|(due, _)| *due <= self.shared.clock.now());
        if more && !self.refused {
            return Duration::ZERO;
        }
        match self.shared.options.durability {
            Durability::Interval(interval) if self.log.durable_seq() < self.log.next_seq() => {
                interval.saturating_sub(self.last_sync.elapsed()).min(TICK)
            }
            _ => TICK,
        }
    }

    /// Takes what is waiting, up to a group's worth or to the first change, which runs after the group.
    fn drain(&mut self, first: Command) -> (Vec<Command>, Option<Command>) {
        let mut group = Vec::new();
        let mut weight = 0;
        let mut next = Some(first);
        while let Some(command) = next.take() {
            self.shared.queue.waiting.fetch_sub(command.weight(), Ordering::Relaxed);
            if matches!(command, Command::Change(_) | Command::Stop) {
                return (group, Some(command));
            }
            weight += command.weight();
            group.push(command);
            if weight < GROUP_SUBMISSIONS {
                next = self.commands.try_recv().ok();
            }
        }
        (group, None)
    }

    /// The write protocol: decide, log, flush, publish, answer.
    fn commit_group(&mut self, commands: Vec<Command>, now: Millis) {
        let mut draft = self.decide(commands, now);
        match self.log(draft.records()) {
            Ok(group) => self.publish_draft(draft, group),
            Err(error) => draft.refuse(&error),
        }
    }

    /// Makes records durable and applies them: a change of its own.
    pub(super) fn commit(&mut self, records: Vec<LogRecord>) -> Result<()> {
        let group = self.log(records)?;
        if let Some(group) = group {
            self.shared.apply(&group.records);
            self.publish_group(group);
        }
        Ok(())
    }

    /// Appends records as one group and makes it durable. Nothing is visible yet.
    fn log(&mut self, records: Vec<LogRecord>) -> Result<Option<Group>> {
        if records.is_empty() {
            return Ok(None);
        }
        let count = u32::try_from(records.len()).expect("a group is small");
        record::encode(&records, &mut self.payload);
        let range = self.log.append(count, &self.payload).map_err(|error| self.failed(&error))?;
        if self.shared.options.durability == Durability::Always {
            self.sync()?;
        }
        let metrics = &self.shared.metrics;
        metrics.groups.observe(f64::from(count));
        metrics.log_bytes.set(self.log.bytes().cast_signed());
        Ok(Some(Group::new(range.start, records)))
    }

    fn sync(&mut self) -> Result<()> {
        let started = Instant::now();
        self.log.sync().map_err(|error| self.failed(&error))?;
        self.last_sync = Instant::now();
        self.shared.metrics.flushes.observe(started.elapsed().as_secs_f64());
        self.shared.history.release(self.log.durable_seq());
        Ok(())
    }

    /// Does what is due, and makes it durable for the history. Says when something is due next.
    pub(super) fn catch_up(&mut self) -> Result<Option<Millis>> {
        self.roll_all(self.shared.clock.now())?;
        if self.log.durable_seq() < self.log.next_seq() {
            self.sync()?;
        }
        Ok(self.deadlines.first().map(|(due, _)| *due))
    }

    fn sync_if_due(&mut self) {
        if let Durability::Interval(interval) = self.shared.options.durability
            && self.log.durable_seq() < self.log.next_seq()
            && self.last_sync.elapsed() >= interval
        {
            // The failure was noted; every later write will be refused.
            let _ = self.sync();
        }
    }

    /// Says whether a write that failed may have counted.
    fn failed(&self, error: &WriteError) -> EngineError {
        tracing::error!(%error, "a group of writes was not made durable");
        self.shared.metrics.failed_groups.inc();
        if self.log.is_poisoned() {
            *self.shared.broken.lock() = Some(error.to_string());
        }
        match error {
            WriteError::Unknown(_) => EngineError::OutcomeUnknown { why: "the disk failed".into() },
            WriteError::NotApplied(_) | WriteError::Poisoned | WriteError::TooLarge { .. } => {
                let why = "the disk does not take the write".into();
                EngineError::Unavailable { why, retry_after: RETRY_AFTER }
            }
        }
    }

    /// Hands a group that has been applied to the history.
    fn publish_group(&self, group: Group) {
        for record in group.profile_changes() {
            match record {
                LogRecord::PlayerPut { player, profile } => {
                    self.profiles.insert(player.clone(), Some(Arc::new(profile.clone())));
                }
                LogRecord::PlayerErased { player, .. } => {
                    self.profiles.insert(player.clone(), None);
                }
                _ => {}
            }
        }
        self.shared.history.push(group);
        self.shared.history.release(self.log.durable_seq());
    }

    /// Starts a checkpoint when there is enough to replay, lets the log drop what every view has, and has cleared away
    /// what is past its time.
    fn housekeeping(&mut self) {
        if self.last_purge.elapsed() >= self.shared.options.purge_every {
            self.last_purge = Instant::now();
            let _ = self.jobs.send(Job::Purge);
        }
        let grown = self.log.bytes().saturating_sub(self.log_bytes_at_checkpoint);
        if grown > self.shared.options.checkpoint_bytes && Instant::now() >= self.checkpoint_again {
            self.ask_checkpoint();
        }
        let keep_from = self.checkpoint.min(self.shared.history.durable());
        let held = self.shared.backups.load(Ordering::Acquire) > 0;
        if !held && self.log.segments().first().is_some_and(|oldest| oldest.next_seq <= keep_from) {
            let before = self.log.bytes();
            if let Err(error) = self.log.drop_before(keep_from) {
                tracing::warn!(%error, "an old log segment cannot be removed");
            }
            self.log_bytes_at_checkpoint -=
                (before - self.log.bytes()).min(self.log_bytes_at_checkpoint);
        }
    }

    /// Asks for a checkpoint, unless one is under way.
    pub(super) fn ask_checkpoint(&mut self) {
        // After a flush that failed there is none until the next start.
        if self.checkpointing == Checkpointing::No && !self.log.is_poisoned() {
            self.checkpointing = Checkpointing::Asked;
            // The thread that writes it ends after this one does.
            let _ = self.jobs.send(Job::Checkpoint(None));
        }
    }

    /// Freezes what a checkpoint is of: called by the keeper when it is about to write one.
    pub(super) fn begin_view(&mut self) -> Result<View> {
        // What a checkpoint cannot tell is recovered by replaying the log from before it.
        if self.shared.catalog.read().needs_log() {
            self.not_now();
            return Err(out_of_order("a snapshot or a closed season is not written yet"));
        }
        // A checkpoint must not be ahead of the log.
        if let Err(error) = self.sync() {
            self.not_now();
            return Err(error);
        }
        self.shared.history.release(self.log.durable_seq());
        self.checkpointing = Checkpointing::Begun;
        self.log_bytes_at_checkpoint = self.log.bytes();
        Ok(View::begin(&self.shared.catalog.read(), self.log.next_seq()))
    }

    /// A checkpoint cannot begin. Asked for again at once, it would be refused as often as this thread and the keeper's can.
    fn not_now(&mut self) {
        self.checkpointing = Checkpointing::No;
        self.checkpoint_again = Instant::now() + CHECKPOINT_AGAIN;
    }

    /// The keeper has written a checkpoint, or failed to.
    pub(super) fn checkpoint_done(&mut self, position: Option<u64>) {
        self.checkpointing = Checkpointing::No;
        if let Some(position) = position {
            self.checkpoint = position;
            self.shared.catalog.write().traces = false;
        }
    }

    fn stop(mut self) {
        let _ = self.sync();
        self.shared.history.release(self.log.durable_seq());
        let grown = self.log.bytes().saturating_sub(self.log_bytes_at_checkpoint);
        let begun = self.checkpointing == Checkpointing::Begun;
        if !begun
            && !self.log.is_poisoned()
            && grown > REPLAY_BYTES
            && let Ok(view) = self.begin_view()
        {
            let _ = self.jobs.send(Job::Checkpoint(Some(view)));
        }
    }
}
