//! The one call to Standings.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use ureq::Agent;

/// Longer than Standings takes even on a busy day, shorter than a player waits.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A win as Standings takes it.
#[derive(Serialize)]
pub(crate) struct Win {
    pub(crate) user_id: String,
    pub(crate) points: i64,
    /// Counts once, however often it is sent.
    pub(crate) event_id: String,
}

/// A Standings server and the key for it.
pub(crate) struct Standings {
    agent: Agent,
    scores: String,
    authorization: String,
}

impl Standings {
    pub(crate) fn new(server: &str, key: &str) -> Self {
        Self {
            agent: Agent::config_builder().timeout_global(Some(TIMEOUT)).build().into(),
            scores: format!("{}/v1/scores", server.trim_end_matches('/')),
            authorization: format!("Bearer {key}"),
        }
    }

    /// Reports a win. The receipt, passed on as it came, means that it is durable.
    pub(crate) fn submit(&self, win: &Win) -> anyhow::Result<Box<RawValue>> {
        let mut answer = self
            .agent
            .post(&self.scores)
            .header("authorization", &self.authorization)
            .header("content-type", "application/json")
            .send(serde_json::to_string(win)?)?;
        Ok(serde_json::from_str(&answer.body_mut().read_to_string()?)?)
    }
}
