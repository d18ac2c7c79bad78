//! Importing a closed season whole.

use std::{
    collections::HashMap,
    sync::{Arc, mpsc::Sender},
};

use async_trait::async_trait;
use standings_core::{Board, BoardId, Millis, Name, PlayerId, RankIndex, SeasonId, SortKey};
use tokio::sync::oneshot;

use super::{engine::answer, keeper::Job, sequencer};
use crate::{
    SeasonImport,
    error::{EngineError, Result},
    types::ScoreRow,
};

/// A closed season being imported: its rows are gathered and ranked in memory.
pub(super) struct Import {
    pub(super) jobs: Sender<Job>,
    pub(super) board: BoardId,
    pub(super) definition: Arc<Board>,
    pub(super) season: SeasonId,
    pub(super) ends_at: Millis,
    pub(super) rows: Box<RankIndex>,
    pub(super) names: HashMap<PlayerId, Name>,
    pub(super) count: u64,
    /// The first row that could not be taken, and why. Nothing is put in place after it.
    pub(super) bad_row: Option<(u64, String)>,
}

#[async_trait]
impl SeasonImport for Import {
    async fn rows(&mut self, rows: Vec<ScoreRow>) -> Result<()> {
        for row in rows {
            self.count += 1;
            let at = row.at.unwrap_or(Millis(self.ends_at.0 - 1));
            let key = SortKey::new(self.definition.order(), row.score, at);
            let record = standings_core::Record { key, updated_at: at };
            if self.rows.upsert(&row.player, record).is_some() {
                let why = format!("player {:?} comes twice", row.player.as_str());
                self.bad_row.get_or_insert((self.count, why.clone()));
                return Err(EngineError::BadRow { row: self.count, why });
            }
            if let Some(name) = row.user_name {
                self.names.insert(row.player, name);
            }
        }
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<u64> {
        let Self { jobs, board, season, rows, names, bad_row, .. } = *self;
        if let Some((row, why)) = bad_row {
            return Err(EngineError::BadRow { row, why });
        }
        let (reply, done) = oneshot::channel();
        let job = Job::Import { board, season, rows, names, reply };
        jobs.send(job).map_err(|_| sequencer::stopped())?;
        answer(done).await
    }
}
