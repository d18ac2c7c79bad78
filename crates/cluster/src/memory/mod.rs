//! A store in memory that is as honest as the stores far away: what is one transaction, statement or script there is one step here,
//! and between two steps anything may happen.
//!
//! Each [`Step`] stops before its effect and before its answer, if there is a [`Network`] to stop it. The effect is a task of its own, as a
//! request on its way is: a caller that is gone, or has stopped waiting, does not take it back. Everything is ordered, nothing
//! reads the machine's clock, so that the network and the callers alone decide what happens.

mod archive;
mod clear;
mod clock;
mod commit;
mod faults;
mod ledger;
mod network;
mod ordered;
mod records;
#[cfg(any(test, feature = "suite"))]
mod schedule;
mod shard;
mod standings;
#[cfg(test)]
mod tests;
mod view;

use std::sync::Arc;

use parking_lot::Mutex;
use standings_core::{Millis, PlayerId};
use tokio::{sync::oneshot, time::sleep};

use crate::{
    call::Call,
    traits::{Fault, Shard},
};
use archive::Archived;
pub use clock::{Clock, ManualClock, VirtualClock};
pub use faults::{Faults, Plan, Trouble};
pub use network::{Fate, Network, Outcome, Place, Step, ViewFault};
pub use records::Records;
#[cfg(any(test, feature = "suite"))]
pub use schedule::{START, shrink, simulate};
pub use shard::{ShardState, StreamLog};
pub use view::{Build, Part, View};

/// How a raised epoch keeps commits of older ones out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// A row of each board on each shard, which a commit locks: raising is one step.
    Row,
    /// Each stream belongs to an epoch, and is sealed at its next number: one step a stream.
    Streams,
}

/// How the store is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Shards of the ledger.
    pub shards: u16,
    /// How epochs fence.
    pub fencing: Fencing,
    /// Parts of a live standing, each on a node of its own.
    pub partitions: u16,
    /// The view follows the ledger by itself, up to so late; otherwise it is fed.
    pub index_lag: Option<Millis>,
    /// How many states of a node of the view are kept for it to fall back to.
    pub history: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { shards: 1, fencing: Fencing::Row, partitions: 1, index_lag: None, history: 0 }
    }
}

/// All that is stored. A simulation looks into it after each step.
#[derive(Clone, Debug)]
pub struct State {
    /// Records and lists, on shard 0.
    pub records: Records,
    /// What belongs to players, by shard.
    pub shards: Vec<ShardState>,
    /// Live standings.
    pub view: View,
    archived: Archived,
}

/// A store in memory: a ledger, live standings and an archive.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    options: Options,
    clock: Arc<dyn Clock>,
    network: Option<Arc<dyn Network>>,
    state: Mutex<State>,
}

impl Memory {
    /// A store without a network: each step has its effect and is answered at once.
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Self {
        Self::open(options, clock, None)
    }

    /// A store behind a network.
    pub fn behind(network: Arc<dyn Network>, options: Options, clock: Arc<dyn Clock>) -> Self {
        Self::open(options, clock, Some(network))
    }

    fn open(options: Options, clock: Arc<dyn Clock>, network: Option<Arc<dyn Network>>) -> Self {
        assert!(options.shards > 0 && options.partitions > 0, "a store has at least one of each");
        let state = State {
            records: Records::default(),
            shards: (0..options.shards).map(|_| ShardState::default()).collect(),
            view: View::new(&options),
            archived: Archived::default(),
        };
        Self(Arc::new(Inner { options, clock, network, state: Mutex::new(state) }))
    }

    /// Looks at all that is stored, at one instant.
    pub fn inspect<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.state.lock())
    }

    /// Does to the node of a part of the view what may happen to it.
    pub fn harm(&self, part: u16, fault: ViewFault) {
        self.0.state.lock().view.harm(part, fault);
    }

    fn options(&self) -> &Options {
        &self.0.options
    }

    fn time(&self, shard: Shard) -> Millis {
        self.0.clock.of_shard(shard)
    }

    /// One step: its effect on the state, and the answer.
    async fn step<T: Send + 'static>(
        &self,
        call: Call,
        place: Place,
        effect: impl FnOnce(&mut State) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let Some(network) = &self.0.network else { return Ok(effect(&mut self.0.state.lock())) };
        let Fate { before, after, outcome, view } = network.fate(&Step { call, place });
        let (answers, patience) = match outcome {
            Outcome::Refused(fault) => {
                sleep(before).await;
                return Err(fault);
            }
            Outcome::Answered => (true, None),
            Outcome::Lost => (false, None),
            Outcome::Late(patience) => (false, Some(patience)),
        };
        let (answer, answered) = oneshot::channel();
        let store = self.clone();
        tokio::spawn(async move {
            sleep(before).await;
            let told = {
                let mut state = store.0.state.lock();
                if let (Some(fault), Place::View(part)) = (view, place) {
                    state.view.harm(part, fault);
                }
                let told = effect(&mut state);
                if let Some(network) = &store.0.network {
                    network.stepped(&Step { call, place }, &state);
                }
                told
            };
            sleep(after).await;
            if answers {
                // The caller may have stopped waiting.
                let _ = answer.send(told);
            }
        });
        if let Some(patience) = patience {
            sleep(patience).await;
            return Err(Fault::Unknown("no answer in time".into()));
        }
        answered.await.map_err(|_| Fault::Unknown("the answer was lost".into()))
    }

    fn home(&self, player: &PlayerId) -> Shard {
        Shard(u16::try_from(hash(player) % 1024 % u64::from(self.options().shards)).unwrap_or(0))
    }
}

/// FNV-1a: the same everywhere and for good.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
        .rotate_right(32)
}
