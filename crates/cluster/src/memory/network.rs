//! What lies between a caller and the store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::State;
use crate::{
    call::Call,
    traits::{Fault, Shard},
};

/// Where a step has its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// On a shard of the ledger. Records are on shard 0.
    Shard(Shard),
    /// On the node that holds a part of the view.
    View(u16),
}

/// What is done to a store at once. Some calls are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The call that it belongs to.
    pub call: Call,
    /// Where.
    pub place: Place,
}

/// What becomes of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// How long until its effect, or until it is refused.
    pub before: Duration,
    /// How long from its effect until the answer.
    pub after: Duration,
    /// How it ends.
    pub outcome: Outcome,
    /// What happens to the view's node just before.
    pub view: Option<ViewFault>,
}

/// How a step ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has its effect and is answered.
    Answered,
    /// It has no effect, and the caller learns of it.
    Refused(Fault),
    /// It has its effect, and the answer is lost.
    Lost,
    /// The caller stops waiting after so long, whenever the effect comes.
    Late(Duration),
}

/// What may happen to a node of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewFault {
    /// A replica takes over, without the last changes. `back`: and the first node takes over from it again, so that node and run are
    /// as they were.
    Promote {
        /// How many changes it does not have.
        lose: usize,
        /// Whether it happens twice.
        back: bool,
    },
    /// One entry of each build goes to make room.
    Evict,
    /// Everything is lost. `restart`: with the process.
    Flush {
        /// Whether the process began anew.
        restart: bool,
    },
}

/// What lies between callers and the store: it says what becomes of each step, and sees the store after each.
pub trait Network: Send + Sync + 'static {
    /// What becomes of a step that sets out now.
    fn fate(&self, step: &Step) -> Fate;
    /// A step has had its effect.
    fn stepped(&self, _step: &Step, _state: &State) {}
}
