//! Which charts there are, drawn from the figures of all parts.

use std::path::Path;

use anyhow::Result;

use crate::{
    chart::{Axis, Chart, Scale},
    report::{Report, Series},
};

/// A chart: its file, its title and its axes.
type Kind = (&'static str, &'static str, Axis<'static>, Axis<'static>);

const fn axis(label: &'static str, scale: Scale) -> Axis<'static> {
    Axis { label, scale }
}

/// Latency by how rare it is.
const ONE_IN: Axis<'static> = axis("one request in … takes longer", Scale::Log);
const NANOSECONDS: Axis<'static> = axis("nanoseconds", Scale::Log);
const COST: Axis<'static> = axis("nanoseconds on a processor", Scale::Linear);
const MILLISECONDS: Axis<'static> = axis("milliseconds", Scale::Log);

const KINDS: [Kind; 7] = [
    (
        "cost-over-size",
        "Cost of one operation over players",
        axis("players", Scale::Log),
        NANOSECONDS,
    ),
    ("cost-over-boards", "Cost over boards", axis("boards", Scale::Log), COST),
    ("cost-over-seasons", "Cost over closed seasons", axis("closed seasons", Scale::Linear), COST),
    ("cost-over-history", "Cost over events kept", axis("events", Scale::Linear), COST),
    ("latency", "Latency over HTTP, from when a request was due", ONE_IN, MILLISECONDS),
    (
        "latency-over-time",
        "Latency of the design's own load",
        axis("seconds", Scale::Linear),
        MILLISECONDS,
    ),
    ("latency-while-freezing", "How long submissions wait", ONE_IN, MILLISECONDS),
];

/// Draws every chart that has figures; names and titles of those.
pub fn write(reports: &[Report], to: &Path) -> Result<Vec<(&'static str, &'static str)>> {
    std::fs::create_dir_all(to)?;
    let mut written = Vec::new();
    for (name, title, x, y) in KINDS {
        let of_chart = |series: &&Series| series.chart == name && !series.points.is_empty();
        let series: Vec<&Series> =
            reports.iter().flat_map(|report| &report.series).filter(of_chart).collect();
        if !series.is_empty() {
            let chart = Chart { title, x, y, series };
            std::fs::write(to.join(format!("{name}.svg")), chart.svg())?;
            written.push((name, title));
        }
    }
    Ok(written)
}
