//! What is counted of the calls to stores, by the same names for every store.

use std::{fmt, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use tokio::time::Instant;

use crate::{call::Call, traits::Fault, wrap::Around};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    store: &'static str,
    call: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FaultLabels {
    store: &'static str,
    call: &'static str,
    kind: &'static str,
}

/// Counts calls, how long they take, and faults by kind. What it wraps is what is counted: around a guard it counts calls of the
/// engine, inside of it each attempt.
#[derive(Clone, Debug)]
pub struct Meter {
    latency: Family<CallLabels, Histogram>,
    faults: Family<FaultLabels, Counter>,
    retries: Family<CallLabels, Counter>,
    refusals: Family<FaultLabels, Counter>,
}

impl Default for Meter {
    fn default() -> Self {
        // From a quarter of a millisecond to 8 s.
        let histogram: fn() -> Histogram =
            || Histogram::new(exponential_buckets(0.000_25, 2.0, 16));
        Self {
            latency: Family::new_with_constructor(histogram),
            faults: Family::default(),
            retries: Family::default(),
            refusals: Family::default(),
        }
    }
}

impl Meter {
    /// Publishes what is counted.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "standings_store_call_seconds",
            "How long calls to stores take",
            self.latency.clone(),
        );
        registry.register(
            "standings_store_faults",
            "Calls to stores without an answer, by kind",
            self.faults.clone(),
        );
        registry.register(
            "standings_store_retries",
            "Calls to stores that were made again",
            self.retries.clone(),
        );
        registry.register(
            "standings_store_refusals",
            "Commits and changes that rested on what no longer held, by kind",
            self.refusals.clone(),
        );
    }

    /// A call is made again.
    pub fn retried(&self, call: Call) {
        self.retries.get_or_create(&labels(call)).inc();
    }

    /// What was decided no longer held.
    pub fn refused(&self, call: Call, kind: &'static str) {
        let CallLabels { store, call } = labels(call);
        self.refusals.get_or_create(&FaultLabels { store, call, kind }).inc();
    }

    fn count(&self, call: Call, took: Duration, fault: Option<&Fault>) {
        let labels = labels(call);
        if let Some(fault) = fault {
            let (store, call) = (labels.store, labels.call);
            let labels = FaultLabels { store, call, kind: kind(fault) };
            self.faults.get_or_create(&labels).inc();
        }
        self.latency.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

impl Around for Meter {
    async fn around<T: Send, F: Future<Output = Result<T, Fault>> + Send>(
        &self,
        call: Call,
        run: impl Fn() -> F + Send + Sync,
    ) -> Result<T, Fault> {
        let began = Instant::now();
        let answer = run().await;
        self.count(call, began.elapsed(), answer.as_ref().err());
        answer
    }
}

fn labels(call: Call) -> CallLabels {
    CallLabels { store: call.kind().name(), call: call.name() }
}

fn kind(fault: &Fault) -> &'static str {
    match fault {
        Fault::NotApplied(_) => "not_applied",
        Fault::Unknown(_) => "unknown",
        Fault::Busy(_) => "busy",
        Fault::TooDeep => "too_deep",
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind().name(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[tokio::test]
    async fn calls_and_faults_are_counted_by_store_and_call() {
        let meter = Meter::default();
        let ok = meter.around(Call::Facts, || async { Ok(7) }).await;
        let lost: Result<(), _> =
            meter.around(Call::Apply, || async { Err(Fault::Unknown("lost".into())) }).await;
        meter.retried(Call::Apply);
        meter.refused(Call::Commit, "conflict");
        let mut registry = Registry::default();
        meter.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert_eq!((ok, lost.is_err()), (Ok(7), true));
        for line in [
            r#"standings_store_call_seconds_count{store="ledger",call="facts"} 1"#,
            r#"standings_store_faults_total{store="standings",call="apply",kind="unknown"} 1"#,
            r#"standings_store_retries_total{store="standings",call="apply"} 1"#,
            r#"standings_store_refusals_total{store="ledger",call="commit",kind="conflict"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
