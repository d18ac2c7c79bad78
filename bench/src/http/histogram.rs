//! Latencies, counted in buckets whose width grows with the value: every quantile is within 2 %.

use std::time::Duration;

const BITS: u32 = 6;
const STEPS: usize = 1 << BITS;

/// Counts durations.
#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; 64 * STEPS], total: 0 }
    }

    pub(crate) fn record(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The latency that a share of the requests stayed within, in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "counts and times are far below 2^52")]
    pub(crate) fn millis(&self, quantile: f64) -> f64 {
        let wanted = self.total as f64 * quantile;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if *count > 0 && seen as f64 >= wanted {
                return upper(bucket) as f64 / 1e6;
            }
        }
        0.0
    }

    pub(crate) fn text(&self) -> String {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| self.millis(quantile));
        format!("p50 {p50:.2} ms, p99 {p99:.2} ms, p99.9 {p999:.2} ms")
    }
}

fn bucket(nanos: u64) -> usize {
    let exponent = nanos.max(1).ilog2().saturating_sub(BITS);
    let step = usize::try_from(nanos >> exponent).expect("at most seven bits");
    // From the second power on, only the upper half of the steps is in use.
    usize::try_from(exponent).expect("small") * STEPS + step.min(2 * STEPS - 1)
}

fn upper(bucket: usize) -> u64 {
    let (exponent, step) =
        if bucket < 2 * STEPS { (0, bucket) } else { (bucket / STEPS - 1, STEPS + bucket % STEPS) };
    (step as u64 + 1) << exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_near_the_value() {
        let mut histogram = Histogram::new();
        for micros in 1..=10_000 {
            histogram.record(Duration::from_micros(micros));
        }
        for (quantile, millis) in [(0.5, 5.0), (0.99, 9.9), (0.001, 0.01)] {
            let found = histogram.millis(quantile);
            assert!((found / millis - 1.0).abs() < 0.03, "{quantile}: {found}");
        }
    }
}
