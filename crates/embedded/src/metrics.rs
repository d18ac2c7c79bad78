//! What the embedded engine counts.

use std::sync::Arc;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{
        counter::Counter,
        gauge::{ConstGauge, Gauge},
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use crate::{Shared, state::catalog::Rows};

/// Counters of the sequencer and the keeper.
pub(crate) struct Metrics {
    pub(crate) groups: Histogram,
    pub(crate) flushes: Histogram,
    pub(crate) accepted: Counter,
    pub(crate) failed_groups: Counter,
    pub(crate) log_bytes: Gauge,
    pub(crate) checkpoints: Counter,
    pub(crate) repairs: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            groups: Histogram::new(exponential_buckets(1.0, 2.0, 15)),
            flushes: Histogram::new(exponential_buckets(0.000_05, 2.0, 16)),
            accepted: Counter::default(),
            failed_groups: Counter::default(),
            log_bytes: Gauge::default(),
            checkpoints: Counter::default(),
            repairs: Counter::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn register(&self, shared: Arc<Shared>, registry: &mut Registry) {
        registry.register("group_records", "Records made durable together", self.groups.clone());
        registry.register_with_unit(
            "log_flush",
            "Time to make a group durable",
            Unit::Seconds,
            self.flushes.clone(),
        );
        registry.register("events", "Accepted scores", self.accepted.clone());
        registry.register(
            "failed_groups",
            "Groups of writes that the disk refused",
            self.failed_groups.clone(),
        );
        registry.register_with_unit("log", "Size of the log", Unit::Bytes, self.log_bytes.clone());
        registry.register("checkpoints", "Checkpoints written", self.checkpoints.clone());
        registry.register(
            "log_repairs",
            "Torn ends of the log that were cut off at start",
            self.repairs.clone(),
        );
        registry.register_collector(Box::new(BoardMetrics(shared)));
    }
}

/// What is read when it is asked for.
struct BoardMetrics(Arc<Shared>);

impl std::fmt::Debug for BoardMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BoardMetrics")
    }
}

impl Collector for BoardMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let shared = &self.0;
        let mut gauge = |name, help, value: usize| {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge("queue_depth", "Submissions that wait for the sequencer", shared.queue.waiting())?;
        gauge(
            "history_lag_records",
            "Records that the history does not have yet",
            shared.history.lag(),
        )?;
        let history_bytes = usize::try_from(shared.history.disk_bytes()).unwrap_or(usize::MAX);
        gauge("history_bytes", "Size of the history on disk", history_bytes)?;
        // One series a board, only for boards with players: thousands of idle ones would drown the rest.
        let mut rows = Vec::new();
        for board in shared.catalog.read().boards() {
            let mut players = 0;
            let mut bytes = 0;
            for slot in board.timeline.slots() {
                if let Rows::Live(live) = &slot.data.rows {
                    let live = live.read();
                    players += live.index().len();
                    bytes += live.index().memory_bytes() as u64;
                }
            }
            if players > 0 {
                rows.push((board.id.clone(), players, bytes));
            }
        }
        let series = [
            ("board_players", "Players in open seasons", 1),
            ("board_bytes", "Memory of open seasons", 2),
        ];
        for (name, help, column) in series {
            let kind = ConstGauge::new(0i64).metric_type();
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (board, players, bytes) in &rows {
                let value = if column == 1 { *players } else { *bytes };
                let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
                gauge.encode(family.encode_family(&[("board", board.as_str())])?)?;
            }
        }
        Ok(())
    }
}
