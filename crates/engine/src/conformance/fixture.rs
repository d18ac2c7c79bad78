//! What an engine's tests give to the suite.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{Capabilities, Engine, ManualClock};

/// How long one call of [`Engine::maintain`] may take. What is due in these tests is done in a moment.
const BUDGET: Duration = Duration::from_secs(60);
/// How often it may say that there is more.
const ROUNDS: usize = 100;

/// Servers under test on one store of their own, empty at first.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// How many servers there are.
    fn servers(&self) -> usize {
        1
    }

    /// One of them, as it is open now.
    fn server(&self, number: usize) -> Arc<dyn Engine>;

    /// The clock that all of them go by.
    fn clock(&self) -> Arc<ManualClock>;

    /// Stops every server and opens it on the same data; where there are several, one after the other. No test holds one by then.
    async fn restart(&mut self);

    /// Has everything done that is due by the clock, and waits until every view has caught up. This is the only way in which a test
    /// waits for background work.
    async fn quiesce(&self) {
        for _ in 0..ROUNDS {
            let mut more = false;
            for number in 0..self.servers() {
                more |= self.server(number).maintain(BUDGET).await.unwrap().more;
            }
            if !more {
                return;
            }
        }
        panic!("after {ROUNDS} rounds there is still something due");
    }

    /// What the engine promises.
    fn capabilities(&self) -> Capabilities {
        self.server(0).capabilities()
    }
}
