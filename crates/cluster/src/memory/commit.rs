//! Commits and fences, as steps.

use super::{Fencing, Memory, Place, ShardState, State};
use crate::call::Call;
use crate::traits::{
    BoardNo, Commit, Epoch, Facts, Fault, ItemKey, Needs, Shard, Stored, Stream, Value, ViewChange,
};

impl Memory {
    /// One step on a shard.
    pub(super) async fn on<T: Send + 'static>(
        &self,
        call: Call,
        shard: Shard,
        effect: impl FnOnce(&mut ShardState) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let effect = move |state: &mut State| effect(&mut state.shards[usize::from(shard.0)]);
        self.step(call, Place::Shard(shard), effect).await
    }

    /// With a row for a fence, one snapshot; else the fence first.
    pub(super) async fn read_facts(
        &self,
        shard: Shard,
        board: BoardNo,
        needs: &Needs,
    ) -> Result<Facts, Fault> {
        let needs = needs.clone();
        let read = move |state: &ShardState, fence| Facts {
            fence,
            items: needs.items.iter().map(|key| state.item(key)).collect(),
            ids: needs.ids.iter().map(|id| state.used(board, id, needs.since)).collect(),
        };
        match self.options().fencing {
            Fencing::Row => {
                self.on(Call::Facts, shard, move |state| read(state, state.fence(board))).await
            }
            Fencing::Streams => {
                let fence = self.on(Call::Facts, shard, move |state| state.fence(board)).await?;
                self.on(Call::Facts, shard, move |state| read(state, fence)).await
            }
        }
    }

    pub(super) async fn try_commit(&self, to: Stream, commit: &Commit) -> Result<Stored, Fault> {
        let outcome = match self.options().fencing {
            Fencing::Row => None,
            Fencing::Streams => self.register(to, commit).await?,
        };
        let refused = match outcome {
            Some(refused) => refused,
            None => match self.store(to, commit).await? {
                Ok(()) => return Ok(Stored::Stored),
                Err(refused) => refused,
            },
        };
        // It may be refused because it has landed.
        let (n, token) = (commit.n, commit.token);
        let landed = self.on(Call::Commit, to.shard, move |state| state.has(&to, n, token)).await?;
        Ok(if landed { Stored::Already } else { refused })
    }

    async fn store(&self, to: Stream, commit: &Commit) -> Result<Result<(), Stored>, Fault> {
        let (commit, store) = (commit.clone(), self.clone());
        let by_row = self.options().fencing == Fencing::Row;
        self.step(Call::Commit, Place::Shard(to.shard), move |state| {
            let now = store.time(to.shard);
            state.shards[usize::from(to.shard.0)].store(to, &commit, by_row, now)?;
            if store.options().index_lag.is_some() {
                state.view.follow(&entries(&commit), now);
            }
            Ok(())
        })
        .await
    }

    /// A stream belongs to the epoch of its first commit. It is entered in the list of streams before the epoch is looked at, and the
    /// list is read after an epoch was raised: either the commit sees that, or the stream is seen and sealed.
    async fn register(&self, to: Stream, commit: &Commit) -> Result<Option<Stored>, Fault> {
        let epoch = commit.epoch;
        let new = self
            .on(Call::Commit, to.shard, move |state| {
                let log = state.streams.entry(to).or_default();
                if log.newest == 0 && !log.sealed && log.epoch == Epoch(0) {
                    log.epoch = epoch;
                }
                (log.newest == 0, log.epoch)
            })
            .await?;
        match new {
            (_, of) if of != epoch => Ok(Some(Stored::Closed)),
            (false, _) => Ok(None),
            (true, _) => {
                let raising = self.on(Call::Commit, to.shard, move |state| {
                    let raising = state.raising.get(&to.board).copied().unwrap_or_default();
                    raising.max(state.fence(to.board))
                });
                let raising = raising.await?;
                Ok((raising != epoch).then_some(Stored::Stale(raising)))
            }
        }
    }

    pub(super) async fn raise(
        &self,
        board: BoardNo,
        shard: Shard,
        epoch: Epoch,
    ) -> Result<Epoch, Fault> {
        if self.options().fencing == Fencing::Streams {
            self.seal_older(board, shard, epoch).await?;
        }
        self.on(Call::Fence, shard, move |state| {
            let fence = state.fences.entry(board).or_default();
            *fence = epoch.max(*fence);
            *fence
        })
        .await
    }

    /// Seals all streams of older epochs, one by one.
    async fn seal_older(&self, board: BoardNo, shard: Shard, epoch: Epoch) -> Result<(), Fault> {
        self.on(Call::Fence, shard, move |state| {
            let raising = state.raising.entry(board).or_default();
            *raising = epoch.max(*raising);
        })
        .await?;
        let older = self.on(Call::Fence, shard, move |state| {
            let logs = state.streams.iter();
            let older = logs
                .filter(|(stream, log)| stream.board == board && log.epoch < epoch && !log.sealed);
            older.map(|(stream, _)| *stream).collect::<Vec<_>>()
        });
        for stream in older.await? {
            self.on(Call::Fence, shard, move |state| state.seal(stream)).await?;
        }
        Ok(())
    }
}

/// What a commit means for the view.
pub(super) fn entries(commit: &Commit) -> Vec<(crate::traits::StandingNo, ViewChange)> {
    let change = |store: &crate::traits::Store| {
        let ItemKey::Entry(standing, player) = &store.key else { return None };
        let record = match &store.value {
            Some(Value::Entry(record)) => Some(*record),
            _ => None,
        };
        Some((*standing, ViewChange { player: player.clone(), version: store.version, record }))
    };
    commit.stores.iter().filter_map(change).collect()
}
