//! The engine contract: what a store of ledger and standings must do, in terms that one machine, a Redis Cluster with
//! `MySQL`, and `DynamoDB` can all meet.
//!
//! Every call may wait for a network, fail on its own and race with other servers on the same store. Hence:
//! - a write is one call that is durable when it returns, takes a batch, and says of each item what became of it;
//! - a read is one call that returns everything its answer needs, so that it is consistent where the engine can be;
//! - an error says whether the write may have been applied ([`EngineError`]);
//! - an answer says once how exact its numbers are ([`Exactness`]), and an engine what it promises beyond that ([`Capabilities`]);
//! - what is due by the clock is done by a call that anyone may make ([`Engine::maintain`]).
//!
//! Where a read takes several questions to the store, what it shows may shift by the submissions that come meanwhile. Whose clock
//! counts is the engine's matter: one for all servers of a store, so that none takes a score for a season that another has closed.
//!
//! Rules are not here: they live in `standings-core`, once.

mod clock;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod cursor;
mod error;
mod types;

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use standings_core::{
    Board, BoardId, KeyName, LocalDate, Millis, PlayerId, Profile, Score, SeasonId,
    rule::Submission,
};

pub use clock::{Clock, ManualClock, SystemClock};
pub use cursor::Cursor;
pub use error::{EngineError, Result};
pub use types::*;

/// How long an import may be left alone, by the engine's clock, before it is given up, so that what it took is not kept for good.
pub const IMPORT_EXPIRY: Millis = Millis(3_600_000);

/// A store of ledger and standings.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// What this engine promises beyond what all of them do.
    fn capabilities(&self) -> Capabilities;

    // ---- boards -----------------------------------------------------------------------------

    /// Boards by id.
    async fn boards(&self, query: &BoardsQuery) -> Result<BoardsPage>;

    /// One board, with the number of its players.
    async fn board(&self, board: &BoardId) -> Result<BoardStatus>;

    /// Creates a board, or changes what may change.
    async fn put_board(&self, board: &BoardId, definition: Board) -> Result<Put>;

    /// Deletes a board with all its seasons. One created later under the same id inherits nothing. It holds at once here, and on
    /// other servers within the time that [`Capabilities::elsewhere`] says.
    async fn delete_board(&self, board: &BoardId) -> Result<()>;

    // ---- writing scores ---------------------------------------------------------------------

    /// Decides submissions in order and makes the accepted ones durable before it returns. Each stands alone: one that is refused, or
    /// that the store could not take, leaves the others untouched. An `Err` speaks for the whole batch.
    async fn submit(
        &self,
        board: &BoardId,
        submissions: Vec<Submission>,
    ) -> Result<Vec<Result<Receipt, Refused>>>;

    /// Sets scores whatever the rule: import and correction. They are of the current season, or of the one in which that was
    /// `begun`: `SeasonEnded` where another one is current by now. Durable when it returns; waits, rather than refusing, while the store
    /// catches up. After a failure the same rows can be sent again: each sets the same.
    async fn set_scores(
        &self,
        board: &BoardId,
        begun: Option<&ScoresSet>,
        rows: Vec<ScoreRow>,
    ) -> Result<ScoresSet>;

    /// Takes a player off a season, open or closed; ranks close up.
    async fn remove_entry(
        &self,
        board: &BoardId,
        season: &SeasonRef,
        player: &PlayerId,
    ) -> Result<()>;

    // ---- seasons ----------------------------------------------------------------------------

    /// Seasons of a board, newest first.
    async fn seasons(&self, board: &BoardId, query: &SeasonsQuery) -> Result<SeasonsPage>;

    /// Ends a season now, without grace: the current one, or a given one. Returns it and the one that followed it. A given one that is
    /// closed already is answered alike, and nothing else is closed: so the call can be sent again after a lost answer.
    async fn close_season(
        &self,
        board: &BoardId,
        which: Option<&SeasonId>,
    ) -> Result<(SeasonId, SeasonId)>;

    /// Begins to import a closed season whole, `PastRetention` where it would be deleted at once. Nothing shows until
    /// [`StandingImport::finish`]; dropping it abandons it.
    async fn import_season(
        &self,
        board: &BoardId,
        season: &SeasonId,
    ) -> Result<Box<dyn StandingImport>>;

    // ---- snapshots --------------------------------------------------------------------------

    /// Snapshots of a board, newest first.
    async fn snapshots(&self, board: &BoardId, query: &SnapshotsQuery) -> Result<SnapshotsPage>;

    /// Freezes the board as it is now under today's date in its zone, in place of an earlier snapshot of that date. It is taken for
    /// good when this returns; where it has no `players` yet it cannot be read yet. Those that a board's definition asks for are
    /// taken by the engine itself.
    async fn take_snapshot(&self, board: &BoardId) -> Result<SnapshotInfo>;

    /// Begins to import a snapshot whole, `PastRetention` where it would be deleted at once. Nothing shows until
    /// [`StandingImport::finish`]; dropping it abandons it.
    async fn import_snapshot(
        &self,
        board: &BoardId,
        date: LocalDate,
    ) -> Result<Box<dyn StandingImport>>;

    // ---- reading a board --------------------------------------------------------------------

    /// A page of a standing, best first. `TooDeep` where the engine cannot page to the offset.
    async fn page(&self, board: &BoardId, query: &PageQuery) -> Result<Page>;

    /// The rows of given players, best first, and which of them have no entry.
    async fn rows_of(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        players: &[PlayerId],
    ) -> Result<Selected>;

    /// One player's entry; with `around`, the rows on each side of it.
    async fn entry(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        player: &PlayerId,
        around: Option<usize>,
    ) -> Result<PlayerEntry>;

    /// A player's entry, if there is one, and those of the friends on its list as it is now, ranked among each other.
    async fn among_friends(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        player: &PlayerId,
    ) -> Result<AmongFriends>;

    /// Where a score would stand, had someone reached it last; with `around`, the rows on each side of that place.
    async fn place_of(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        score: Score,
        around: usize,
    ) -> Result<ScorePlace>;

    /// How the scores of a standing are distributed.
    async fn distribution(&self, board: &BoardId, standing: &StandingRef) -> Result<Distribution>;

    // ---- players ----------------------------------------------------------------------------

    /// Replaces a player's profile.
    async fn put_player(&self, player: &PlayerId, profile: Profile) -> Result<()>;

    /// A player's profile and current entries on the first `boards` boards by id that have one; `UnknownPlayer` where there is neither.
    async fn player(&self, player: &PlayerId, boards: usize) -> Result<PlayerInfo>;

    /// Players by display name in any letter case, in the order of names.
    async fn players_by_name(&self, query: &NameQuery, limit: usize) -> Result<Vec<NamedPlayer>>;

    /// Erases a player everywhere: profile, friends, entries, history, closed seasons and snapshots, where the others keep
    /// their ranks. No read shows the player from now on (on other servers within the time that [`Capabilities::elsewhere`] says); the
    /// bytes are gone from the store within a day. Who comes back under the same id starts anew.
    async fn erase_player(&self, player: &PlayerId) -> Result<()>;

    /// Replaces the list of a player's friends. It is one-way.
    async fn put_friends(&self, player: &PlayerId, friends: Vec<PlayerId>) -> Result<()>;

    /// The list of a player's friends, in the order given; empty where there is none.
    async fn friends(&self, player: &PlayerId) -> Result<Vec<PlayerId>>;

    // ---- history ----------------------------------------------------------------------------

    /// A player's accepted submissions, the last accepted first, as far as their seasons are kept. What a receipt was given
    /// for is among them.
    async fn player_events(&self, player: &PlayerId, query: &EventsQuery) -> Result<EventsPage>;

    /// A player's seasons on a board, newest first, with the best of all time and the streaks.
    async fn player_seasons(
        &self,
        player: &PlayerId,
        board: &BoardId,
        query: &PlayerSeasonsQuery,
    ) -> Result<PlayerSeasons>;

    /// A player's entries in snapshots, newest first.
    async fn player_snapshots(
        &self,
        player: &PlayerId,
        query: &PlayerSnapshotsQuery,
    ) -> Result<PlayerSnapshotsPage>;

    // ---- access keys ------------------------------------------------------------------------

    /// All keys by name.
    async fn keys(&self) -> Result<Vec<KeyInfo>>;

    /// The key with this hash, from memory: every request that carries one asks. `Unavailable` where what is in memory may be older
    /// than [`Capabilities::elsewhere`] says.
    fn key(&self, hash: &KeyHash) -> Result<Option<KeyInfo>>;

    /// Stores a key. With `replace`, one of the same name is replaced instead of being an error.
    async fn put_key(&self, name: &KeyName, role: Role, hash: KeyHash, replace: bool)
    -> Result<()>;

    /// Deletes a key. It stops working at once here, and on other servers within the time that [`Capabilities::elsewhere`] says.
    async fn delete_key(&self, name: &KeyName) -> Result<()>;

    // ---- operations -------------------------------------------------------------------------

    /// Puts what a store needs to be of use where it is not there yet, wholly or not at all.
    async fn initialise(&self, first: FirstStart) -> Result<Initialised>;

    /// Does what is due by the engine's clock: seasons, snapshots, retention, clearing, estimates. Anyone may call it, and many at
    /// once; a schedule does where no server runs all the time. It begins nothing new once the budget is used up.
    async fn maintain(&self, budget: Duration) -> Result<Maintained>;

    /// Whether it answers truthfully and takes writes now; otherwise an error that says why not. It is answered from memory.
    fn ready(&self) -> Result<()>;

    /// Makes a consistent copy of the running server's data in a directory that must not exist yet, where the engine makes
    /// backups itself.
    async fn backup(&self, _to: &Path) -> Result<BackupInfo> {
        Err(EngineError::Unsupported("the store behind this server has backups of its own"))
    }

    /// Adds the numbers that the engine keeps to what the server publishes. Reading them asks no store.
    fn register_metrics(self: Arc<Self>, registry: &mut prometheus_client::registry::Registry);

    /// Finishes what was accepted and closes the store. Later calls answer `Unavailable`.
    async fn shutdown(&self);
}

/// A closed season or a snapshot being imported. Left alone for [`IMPORT_EXPIRY`] it is given up, and answers `Conflict`.
#[async_trait]
pub trait StandingImport: Send {
    /// Adds rows in any order. A player that comes twice is an error at [`finish`](Self::finish), and so is a time further ahead
    /// than a submission's may be.
    async fn rows(&mut self, rows: Vec<ScoreRow>) -> Result<()>;

    /// Ranks the rows and puts them in place of what was there, wholly or not at all.
    async fn finish(self: Box<Self>) -> Result<Imported>;

    /// Gives it up, and the store what it has taken. Dropping it does the same in its own time.
    async fn abort(self: Box<Self>);
}
