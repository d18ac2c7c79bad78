//! The contract as the embedded engine meets it: writes go to the sequencer, large files to the keeper, reads to the
//! standings.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use prometheus_client::registry::Registry;
use standings_core::{
    Board, BoardId, KeyName, LocalDate, Millis, PlayerId, Profile, Score, SeasonId,
    rule::Submission,
};
use tokio::sync::oneshot;

use crate::{
    Embedded, QUEUE_SUBMISSIONS, Shared,
    operations::{
        import::{Import, Target},
        keeper::{CaughtUp, Job},
        remove,
    },
    out_of_order,
    read::{find::OpenStanding, threads::FEW},
    record::LogRecord,
    write,
    write::{Command, Sequencer, changes::Removal, mailbox::Reply},
};
use standings_engine::{
    AmongFriends, BackupInfo, BoardStatus, BoardsPage, BoardsQuery, Capabilities, Distribution,
    Engine, EngineError, EventIds, EventsPage, EventsQuery, Exactness, FirstStart, Initialised,
    KeyHash, KeyInfo, Maintained, NameQuery, NamedPlayer, Page, PageQuery, PlayerEntry, PlayerInfo,
    PlayerSeasons, PlayerSeasonsQuery, PlayerSnapshotsPage, PlayerSnapshotsQuery, Put, Receipt,
    ReceiptRanks, Refused, Result, Role, ScorePlace, ScoreRow, ScoresSet, SeasonRef, SeasonsPage,
    SeasonsQuery, Selected, SnapshotInfo, SnapshotsPage, SnapshotsQuery, StandingImport,
    StandingRef, Visibility,
};

#[async_trait]
impl Engine for Embedded {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            servers: 1,
            ranks: Exactness::Exact,
            receipts: ReceiptRanks::OfLine,
            names: Visibility::AtOnce,
            as_of: Millis(0),
            one_instant: true,
            max_offset: None,
            event_ids: EventIds::OfBoard,
            elsewhere: Millis(0),
            backup: true,
        }
    }

    async fn boards(&self, query: &BoardsQuery) -> Result<BoardsPage> {
        let now = self.shared.clock.now();
        let catalog = self.shared.catalog.read();
        let mut rest = catalog.boards_after(query.after.as_ref());
        let boards = rest.by_ref().take(query.limit).map(|board| board.info(now)).collect();
        Ok(BoardsPage { boards, more: rest.next().is_some() })
    }

    async fn board(&self, board: &BoardId) -> Result<BoardStatus> {
        let now = self.shared.clock.now();
        let catalog = self.shared.catalog.read();
        let found = catalog.board(board).map(|board| board.status(now));
        found.ok_or_else(|| EngineError::UnknownBoard(board.clone()))
    }

    async fn put_board(&self, board: &BoardId, definition: Board) -> Result<Put> {
        let board = board.clone();
        self.shared.queue.change(move |s| s.put_board(&board, &definition)).await
    }

    async fn delete_board(&self, board: &BoardId) -> Result<()> {
        let board = board.clone();
        self.shared.queue.change(move |s| s.delete_board(&board)).await
    }

    async fn submit(
        &self,
        board: &BoardId,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Result<Receipt, Refused>>> {
        self.refuse_if_overloaded(submissions.len())?;
        let (reply, receipts) = Reply::here();
        self.shared.queue.send(Command::Submit { board: board.clone(), submissions, reply })?;
        let mut receipts = answer(receipts).await?;
        self.complete(board, &mut receipts).await;
        Ok(receipts)
    }

    async fn set_scores(
        &self,
        board: &BoardId,
        begun: Option<&ScoresSet>,
        rows: Vec<ScoreRow>,
    ) -> Result<ScoresSet> {
        self.wait_for_room().await?;
        let (board, begun, (reply, set)) = (board.clone(), begun.cloned(), oneshot::channel());
        self.shared.queue.send(Command::Set { board, begun, rows, reply })?;
        answer(set).await
    }

    async fn remove_entry(
        &self,
        board: &BoardId,
        season: &SeasonRef,
        player: &PlayerId,
    ) -> Result<()> {
        let (id, which, who) = (board.clone(), season.clone(), player.clone());
        let removal = self.shared.queue.change(move |s| s.remove_entry(&id, &which, &who)).await?;
        let Removal::Frozen { board, season } = removal else { return Ok(()) };
        let player = player.clone();
        self.read_soon(move |shared| remove::remove(shared, board, season, &player)).await
    }

    async fn seasons(&self, board: &BoardId, query: &SeasonsQuery) -> Result<SeasonsPage> {
        let (board, query) = (board.clone(), query.clone());
        self.read_disk(move |shared| shared.seasons(&board, &query)).await
    }

    async fn close_season(
        &self,
        board: &BoardId,
        which: Option<&SeasonId>,
    ) -> Result<(SeasonId, SeasonId)> {
        let (board, which) = (board.clone(), which.cloned());
        self.shared.queue.change(move |s| s.close_season(&board, which.as_ref())).await
    }

    async fn import_season(
        &self,
        board: &BoardId,
        season: &SeasonId,
    ) -> Result<Box<dyn StandingImport>> {
        self.import(board, Target::Season(season.clone())).await
    }

    async fn snapshots(&self, board: &BoardId, query: &SnapshotsQuery) -> Result<SnapshotsPage> {
        let (board, query) = (board.clone(), query.clone());
        self.read_disk(move |shared| shared.snapshots(&board, &query)).await
    }

    async fn take_snapshot(&self, board: &BoardId) -> Result<SnapshotInfo> {
        let board = board.clone();
        let (date, written) = self.shared.queue.change(move |s| s.take_snapshot(&board)).await?;
        let written = tokio::time::timeout(WRITING, written).await;
        Ok(SnapshotInfo { date, players: written.ok().and_then(std::result::Result::ok) })
    }

    async fn import_snapshot(
        &self,
        board: &BoardId,
        date: LocalDate,
    ) -> Result<Box<dyn StandingImport>> {
        self.import(board, Target::Snapshot(date)).await
    }

    async fn page(&self, board: &BoardId, query: &PageQuery) -> Result<Page> {
        let (which, query) = (query.standing.clone(), query.clone());
        self.read(board, &which, move |standing| standing.page(&query)).await
    }

    async fn rows_of(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        players: &[PlayerId],
    ) -> Result<Selected> {
        let players = players.to_vec();
        if players.len() <= FEW {
            return self.read(board, standing, move |standing| standing.rows_of(&players)).await;
        }
        self.read_slowly(board, standing, move |standing| standing.rows_of(&players)).await
    }

    async fn entry(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        player: &PlayerId,
        around: Option<usize>,
    ) -> Result<PlayerEntry> {
        let player = player.clone();
        self.read(board, standing, move |standing| standing.entry(&player, around)).await
    }

    async fn among_friends(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        player: &PlayerId,
    ) -> Result<AmongFriends> {
        let (board, standing, player) = (board.clone(), standing.clone(), player.clone());
        self.read_soon(move |shared| shared.among_friends(&board, &standing, &player)).await
    }

    async fn place_of(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        score: Score,
        around: usize,
    ) -> Result<ScorePlace> {
        self.read(board, standing, move |standing| standing.place(score, around)).await
    }

    async fn distribution(&self, board: &BoardId, standing: &StandingRef) -> Result<Distribution> {
        self.read_slowly(board, standing, OpenStanding::distribution).await
    }

    async fn put_player(&self, player: &PlayerId, profile: Profile) -> Result<()> {
        self.put(LogRecord::PlayerPut { player: player.clone(), profile }).await
    }

    async fn player(&self, player: &PlayerId, boards: usize) -> Result<PlayerInfo> {
        let player = player.clone();
        self.read_disk(move |shared| shared.player(&player, boards)).await
    }

    async fn players_by_name(&self, query: &NameQuery, limit: usize) -> Result<Vec<NamedPlayer>> {
        let query = query.clone();
        self.read_disk(move |shared| {
            shared.read_history(|history| history.players_by_name(&query, limit))
        })
        .await
    }

    async fn erase_player(&self, player: &PlayerId) -> Result<()> {
        let player = player.clone();
        self.shared.queue.change(move |s| s.erase_player(player)).await
    }

    async fn put_friends(&self, player: &PlayerId, friends: Vec<PlayerId>) -> Result<()> {
        self.put(LogRecord::FriendsPut { player: player.clone(), friends }).await
    }

    async fn friends(&self, player: &PlayerId) -> Result<Vec<PlayerId>> {
        let player = player.clone();
        self.read_soon(move |shared| Ok(shared.friends(&player)?.to_vec())).await
    }

    async fn player_events(&self, player: &PlayerId, query: &EventsQuery) -> Result<EventsPage> {
        let (player, query) = (player.clone(), query.clone());
        self.read_disk(move |shared| shared.player_events(&player, &query)).await
    }

    async fn player_seasons(
        &self,
        player: &PlayerId,
        board: &BoardId,
        query: &PlayerSeasonsQuery,
    ) -> Result<PlayerSeasons> {
        let (player, board, query) = (player.clone(), board.clone(), query.clone());
        self.read_disk(move |shared| shared.player_seasons(&player, &board, &query)).await
    }

    async fn player_snapshots(
        &self,
        player: &PlayerId,
        query: &PlayerSnapshotsQuery,
    ) -> Result<PlayerSnapshotsPage> {
        let (player, query) = (player.clone(), query.clone());
        self.read_disk(move |shared| shared.player_snapshots(&player, &query)).await
    }

    async fn keys(&self) -> Result<Vec<KeyInfo>> {
        let catalog = self.shared.catalog.read();
        Ok(catalog.keys().filter_map(|(name, _)| catalog.key_named(name)).collect())
    }

    fn key(&self, hash: &KeyHash) -> Result<Option<KeyInfo>> {
        Ok(self.shared.catalog.read().key(hash))
    }

    async fn put_key(
        &self,
        name: &KeyName,
        role: Role,
        hash: KeyHash,
        replace: bool,
    ) -> Result<()> {
        let name = name.clone();
        self.shared.queue.change(move |s| s.put_key(name, role, hash, replace)).await
    }

    async fn delete_key(&self, name: &KeyName) -> Result<()> {
        let name = name.clone();
        self.shared.queue.change(move |s| s.delete_key(name)).await
    }

    async fn initialise(&self, first: FirstStart) -> Result<Initialised> {
        self.shared.queue.change(move |s| s.initialise(first)).await
    }

    async fn maintain(&self, budget: Duration) -> Result<Maintained> {
        let caught_up = tokio::time::timeout(budget, self.catch_up()).await;
        caught_up.unwrap_or(Ok(Maintained { more: true, next: None }))
    }

    fn ready(&self) -> Result<()> {
        if let Some(why) = &*self.shared.broken.lock() {
            return Err(out_of_order(why));
        }
        if self.shared.history.has_failed() {
            return Err(out_of_order(
                "the history store has failed and takes nothing until a restart",
            ));
        }
        if self.shared.stopping() { Err(write::stopped()) } else { Ok(()) }
    }

    async fn backup(&self, to: &Path) -> Result<BackupInfo> {
        let (reply, done) = oneshot::channel();
        let job = Job::Backup { to: to.to_owned(), reply };
        self.jobs.send(job)?;
        answer(done).await
    }

    fn register_metrics(self: Arc<Self>, registry: &mut Registry) {
        self.shared.metrics.register(Arc::clone(&self.shared), registry);
    }

    async fn shutdown(&self) {
        let Some(threads) = self.threads.lock().take() else { return };
        self.shared.stopping.store(true, Ordering::Release);
        let _ = self.shared.queue.send(Command::Stop);
        let (shared, jobs) = (Arc::clone(&self.shared), self.jobs.clone());
        let stop = move || {
            // In the order of what depends on what: no job after the last write, no view after the last job.
            let _ = threads.sequencer.join();
            jobs.stop();
            threads.background.into_iter().for_each(join);
            shared.history.close();
            join(threads.historian);
        };
        let _ = tokio::task::spawn_blocking(stop).await;
    }
}

/// How long a client waits for the file of a snapshot that it asked for. A large board takes longer, and the list tells.
const WRITING: Duration = Duration::from_secs(20);

/// How long a thread may take to end. All that is acknowledged is in the log by then, and whoever stops a server that hangs would
/// kill it.
const ENDING: Duration = Duration::from_secs(300);

fn join(thread: JoinHandle<()>) {
    let started = Instant::now();
    while !thread.is_finished() {
        if started.elapsed() > ENDING {
            let name = thread.thread().name();
            return tracing::error!(name, "a thread does not end; the next start makes up for it");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // How it ended was logged where it happened.
    let _ = thread.join();
}

impl Embedded {
    /// Adds the rank to duplicates of events whose season has been frozen since: it is in the file. Without it where too many read.
    async fn complete(&self, board: &BoardId, receipts: &mut [Result<Receipt, Refused>]) {
        let receipts = receipts.iter_mut().flatten();
        let receipts: Vec<_> = receipts.filter(|r| r.duplicate && r.rank.is_none()).collect();
        if receipts.is_empty() {
            return;
        }
        let wanted = receipts.iter().map(|r| (r.season.clone(), r.player.clone()));
        let (board, wanted) = (board.clone(), wanted.collect::<Vec<_>>());
        let rank = move |shared: &Shared, season: SeasonId, player: &PlayerId| {
            let standing = shared.locate(&board, &SeasonRef::Id(season).into()).ok()?;
            standing.entry(player, None).ok().map(|entry| entry.row.rank)
        };
        let ranks = self.read_soon(move |shared| {
            Ok(wanted.into_iter().map(|(season, who)| rank(shared, season, &who)).collect())
        });
        let ranks: Vec<_> = ranks.await.unwrap_or_default();
        for (receipt, rank) in receipts.into_iter().zip(ranks) {
            receipt.rank = rank;
        }
    }

    /// Replaces what is known of a player.
    async fn put(&self, record: LogRecord) -> Result<()> {
        self.refuse_if_overloaded(1)?;
        let (reply, done) = oneshot::channel();
        self.shared.queue.send(Command::Player { record, reply })?;
        answer(done).await
    }

    /// Waits while the store catches up.
    async fn wait_for_room(&self) -> Result<()> {
        loop {
            // Asked for before the look, so that room made in between is not missed.
            let room = self.shared.history.room.notified();
            let Shared { queue, history, options, .. } = &*self.shared;
            let behind = history.lag() > options.lag_records / 5;
            if !behind && queue.waiting() <= QUEUE_SUBMISSIONS / 2 {
                return Ok(());
            }
            if behind {
                history.hurry();
            }
            self.ready()?;
            let _ = tokio::time::timeout(Duration::from_millis(100), room).await;
        }
    }

    /// Has all done that is due, and waits for it. The threads see to it by themselves as well, each in its time.
    async fn catch_up(&self) -> Result<Maintained> {
        let mut before = None;
        loop {
            // What is due is written to the log; files follow from that, and what is due next may follow from those.
            let next = self.shared.queue.change(Sequencer::catch_up).await?;
            let CaughtUp { done, refused } = self.jobs.caught_up().await?;
            if before == Some(done) {
                self.history_caught_up().await;
                return Ok(Maintained { more: refused, next });
            }
            before = Some(done);
        }
    }

    async fn history_caught_up(&self) {
        loop {
            let room = self.shared.history.room.notified();
            if self.shared.history.lag() == 0 {
                return;
            }
            self.shared.history.hurry();
            // What comes while it writes a batch needs another word.
            let _ = tokio::time::timeout(Duration::from_millis(100), room).await;
        }
    }

    async fn import(&self, board: &BoardId, target: Target) -> Result<Box<dyn StandingImport>> {
        let (id, wanted) = (board.clone(), target.clone());
        let begun = self.shared.queue.change(move |s| s.begin_import(&id, &wanted)).await?;
        let (begun, at, importing) = begun;
        let clock = Arc::clone(&self.shared.clock);
        let jobs = self.jobs.clone();
        Ok(Box::new(Import::new(jobs, board.clone(), begun, target, importing, at, clock)))
    }
}

/// The answer of a thread that may have ended without one.
pub(super) async fn answer<T>(answer: oneshot::Receiver<Result<T>>) -> Result<T> {
    answer.await.unwrap_or_else(|_| Err(write::stopped()))
}
