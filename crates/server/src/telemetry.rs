//! Logs and metrics.

use std::{io::IsTerminal as _, sync::Arc, time::Duration};

use clap::ValueEnum;
use hyper::StatusCode;
use parking_lot::Mutex;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use serde::Deserialize;
use standings_engine::Engine;
use tracing_subscriber::EnvFilter;

use crate::problem::Code;

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for collectors.
    Json,
}

/// Starts logging to standard error. Standard output is for what a person should read once: address and key.
pub(crate) fn init_logs(format: LogFormat, filter: &str) -> anyhow::Result<()> {
    // A word alone would pass as the name of a module, and nothing would be logged.
    let word = !filter.contains(['=', ',']);
    if word && filter.parse::<tracing_subscriber::filter::LevelFilter>().is_err() {
        anyhow::bail!("log_level {filter:?} is none of off, error, warn, info, debug, trace");
    }
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| anyhow::anyhow!("log_level {filter:?} is not understood: {error}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        // A line that cannot be written is lost. Complaining of it where it could not be written would panic, and end the
        // thread that had something to say: the one that writes, when the disk is full.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    }
    .map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    method: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    code: &'static str,
}

/// Everything that is counted, and the registry that publishes it. One per app, so that tests do not meet each other.
#[derive(Debug)]
pub(crate) struct Metrics {
    requests: Family<RequestLabels, Counter>,
    latency: Family<RouteLabels, Histogram>,
    refusals: Family<CodeLabels, Counter>,
    /// Connections that are open now.
    pub(crate) connections: Gauge,
    /// Connections since the start.
    pub(crate) accepted: Counter,
    registry: Mutex<Registry>,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            requests: Family::default(),
            // 50 µs to 13 s in steps of two: from a read in memory to a stalled disk.
            latency: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.000_05, 2.0, 19))
            }),
            refusals: Family::default(),
            connections: Gauge::default(),
            accepted: Counter::default(),
            registry: Mutex::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&self) {
        let mut registry = self.registry.lock();
        let http = registry.sub_registry_with_prefix("standings_http");
        http.register("requests", "Answered requests", self.requests.clone());
        http.register(
            "request_duration_seconds",
            "From the request's head to the answer's",
            self.latency.clone(),
        );
        http.register("problems", "Answers that were problems, by code", self.refusals.clone());
        http.register("connections", "Open connections", self.connections.clone());
        http.register("connections_accepted", "Accepted connections", self.accepted.clone());
    }

    /// Adds what the engine counts.
    pub(crate) fn add_engine(&self, engine: Arc<dyn Engine>) {
        engine.register_metrics(self.registry.lock().sub_registry_with_prefix("standings"));
    }

    /// The series of one route, looked up once.
    pub(crate) fn route(&self, route: &'static str, method: &'static str) -> RouteSeries {
        let ok = RequestLabels { route, method, status: 200 };
        RouteSeries {
            route,
            method,
            ok: self.requests.get_or_create_owned(&ok),
            requests: self.requests.clone(),
            latency: self.latency.get_or_create_owned(&RouteLabels { route, method }),
        }
    }

    /// Counts a problem.
    pub(crate) fn refused(&self, code: Code) {
        self.refusals.get_or_create(&CodeLabels { code: code.name() }).inc();
    }

    /// All series as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(16 * 1024);
        // Writing into a String cannot fail.
        let _ = encode(&mut text, &self.registry.lock());
        text
    }
}

/// The series of one route: what is nearly always wanted is at hand, without a look-up by labels.
#[derive(Debug)]
pub(crate) struct RouteSeries {
    route: &'static str,
    method: &'static str,
    ok: Counter,
    requests: Family<RequestLabels, Counter>,
    latency: Histogram,
}

impl RouteSeries {
    /// Counts an answer.
    pub(crate) fn answered(&self, status: StatusCode, took: Duration) {
        if status == StatusCode::OK {
            self.ok.inc();
        } else {
            let (route, method) = (self.route, self.method);
            let labels = RequestLabels { route, method, status: status.as_u16() };
            self.requests.get_or_create(&labels).inc();
        }
        self.latency.observe(took.as_secs_f64());
    }
}
