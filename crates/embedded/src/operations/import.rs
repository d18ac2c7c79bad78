//! Importing a closed season or a snapshot whole.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use standings_core::{
    BoardId, LocalDate, Millis, Name, Order, PlayerId, SeasonId, SortKey, limits::MAX_AHEAD,
    rule::Rejection,
};
use standings_index::RankIndex;
use tokio::sync::oneshot;

use crate::{
    Shared,
    engine::answer,
    operations::{
        jobs::Jobs,
        keeper::{self, Job},
    },
    record::{BoardNo, ErasureNo},
};
use standings_engine::{
    Clock, EngineError, IMPORT_EXPIRY, Imported, Result, ScoreRow, StandingImport,
};

/// What is imported.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Season(SeasonId),
    Snapshot(LocalDate),
}

/// The board that an import began on. Its rows are folded by the order of then, and its file is named by the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) board: BoardNo,
    pub(crate) order: Order,
}

/// Held while rows are gathered and written: who is erased meanwhile is remembered, and left out.
pub(crate) struct Importing {
    shared: Arc<Shared>,
    /// The number of the next erasure when it began.
    pub(crate) erasures: ErasureNo,
}

impl Importing {
    pub(crate) fn begin(shared: &Arc<Shared>) -> Self {
        let erasures = shared.catalog.read().next_erasure();
        shared.importing.lock().push(erasures);
        Self { shared: Arc::clone(shared), erasures }
    }
}

impl Drop for Importing {
    fn drop(&mut self) {
        let mut importing = self.shared.importing.lock();
        if let Some(own) = importing.iter().position(|since| *since == self.erasures) {
            importing.swap_remove(own);
        }
    }
}

/// A standing being imported: its rows are gathered and ranked in memory.
pub(crate) struct Import {
    jobs: Jobs,
    board: BoardId,
    begun: Begun,
    target: Target,
    importing: Importing,
    /// When a score was reached that comes without a time.
    default_at: Millis,
    clock: Arc<dyn Clock>,
    /// When it was last heard of.
    touched: Millis,
    rows: Box<RankIndex>,
    names: HashMap<PlayerId, Name>,
    official_ranks: HashMap<PlayerId, u32>,
    count: u64,
    /// The first row that could not be taken, and why. Nothing is put in place after it.
    bad_row: Option<(u64, Option<Rejection>, String)>,
}

impl Import {
    pub(crate) fn new(
        jobs: Jobs,
        board: BoardId,
        begun: Begun,
        target: Target,
        importing: Importing,
        default_at: Millis,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            jobs,
            board,
            begun,
            target,
            importing,
            default_at,
            touched: clock.now(),
            clock,
            rows: Box::default(),
            names: HashMap::new(),
            official_ranks: HashMap::new(),
            count: 0,
            bad_row: None,
        }
    }

    /// Notes that it goes on, unless it was left alone for too long.
    fn touch(&mut self) -> Result<()> {
        let now = self.clock.now();
        if now >= self.touched.plus(IMPORT_EXPIRY) {
            let why = "the import was left alone for too long and was given up; begin anew";
            return Err(EngineError::Conflict(why.to_owned()));
        }
        self.touched = now;
        Ok(())
    }
}

#[async_trait]
impl StandingImport for Import {
    async fn rows(&mut self, rows: Vec<ScoreRow>) -> Result<()> {
        self.touch()?;
        let latest = self.clock.now().plus(MAX_AHEAD);
        for row in rows {
            self.count += 1;
            if row.at.is_some_and(|at| at > latest) {
                let rule = Rejection::AtInFuture;
                self.bad_row.get_or_insert((self.count, Some(rule), rule.to_string()));
                return Err(EngineError::rejected_row(self.count, rule));
            }
            if self.rows.room() == 0 {
                let why = String::from(
                    "a season holds no more players; import the rest into another board",
                );
                let rule = Some(Rejection::BoardFull);
                self.bad_row.get_or_insert((self.count, rule, why.clone()));
                return Err(EngineError::BadRow { row: self.count, rule, why });
            }
            let at = row.at.unwrap_or(self.default_at);
            let key = SortKey::new(self.begun.order, row.score, at);
            let record = standings_core::IndexRecord { key, updated_at: at };
            if self.rows.upsert(&row.player, record).is_some() {
                let why = format!("player {:?} comes twice", row.player.as_str());
                self.bad_row.get_or_insert((self.count, None, why.clone()));
                return Err(EngineError::BadRow { row: self.count, rule: None, why });
            }
            if let Some(rank) = row.official_rank {
                self.official_ranks.insert(row.player.clone(), rank);
            }
            if let Some(name) = row.user_name {
                self.names.insert(row.player, name);
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<Imported> {
        self.touch()?;
        if let Some((row, rule, why)) = self.bad_row.clone() {
            return Err(EngineError::BadRow { row, rule, why });
        }
        let Self { jobs, board, begun, target, importing, rows, names, official_ranks, .. } = *self;
        let (reply, done) = oneshot::channel();
        let import =
            keeper::Import { board, begun, target, importing, rows, names, official_ranks, reply };
        jobs.send(Job::Import(Box::new(import)))?;
        let players = answer(done).await?;
        Ok(Imported { players, in_place: true })
    }

    async fn abort(self: Box<Self>) {}
}
