//! Latencies, counted in buckets whose width grows with the value: every quantile is within 2 %.

use std::time::Duration;

use crate::meter::float;

const BITS: u32 = 6;
const STEPS: usize = 1 << BITS;

/// Counts durations.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    longest: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; 64 * STEPS], total: 0, longest: Duration::ZERO }
    }
}

impl Histogram {
    /// Counts one.
    pub fn record(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
        self.longest = self.longest.max(took);
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest, exactly, in milliseconds.
    pub fn longest_millis(&self) -> f64 {
        self.longest.as_secs_f64() * 1e3
    }

    /// The latency that a share of the requests stayed within, in milliseconds.
    pub fn millis(&self, quantile: f64) -> f64 {
        let wanted = float(self.total) * quantile;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if *count > 0 && float(seen) >= wanted {
                return (float(upper(bucket)) / 1e6).min(self.longest_millis());
            }
        }
        0.0
    }

    /// The usual quantiles.
    pub fn text(&self) -> String {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| self.millis(quantile));
        format!("p50 {p50:.2} ms, p99 {p99:.2} ms, p99.9 {p999:.2} ms")
    }

    /// Latency by quantile for a chart: how many requests there are to one that takes longer, and milliseconds.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let one_in = [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000];
        let enough = one_in.into_iter().filter(|one_in| one_in * 5 <= self.total);
        enough.map(|one_in| (float(one_in), self.millis(1.0 - 1.0 / float(one_in)))).collect()
    }
}

fn bucket(nanos: u64) -> usize {
    let exponent = nanos.max(1).ilog2().saturating_sub(BITS);
    let step = usize::try_from(nanos >> exponent).expect("at most seven bits");
    // From the second power on, only the upper half of the steps is in use.
    usize::try_from(exponent).expect("small") * STEPS + step
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
        let mut histogram = Histogram::default();
        for micros in 1..=10_000 {
            histogram.record(Duration::from_micros(micros));
        }
        for (quantile, millis) in [(0.5, 5.0), (0.99, 9.9), (0.001, 0.01)] {
            let found = histogram.millis(quantile);
            assert!((found / millis - 1.0).abs() < 0.03, "{quantile}: {found}");
        }
    }

    #[test]
    fn every_time_has_a_bucket_that_is_not_below_it() {
        for nanos in [0, 1, 63, 64, 127, 128, 129, 255, 256, 1_000_000, u64::MAX / 2, u64::MAX] {
            let bucket = bucket(nanos);
            assert!(bucket < 64 * STEPS, "{nanos}");
            if nanos < u64::MAX / 2 {
                let upper = upper(bucket);
                assert!(upper > nanos && upper <= nanos + nanos / 32 + 1, "{nanos}: {upper}");
            }
        }
    }

    #[test]
    fn two_add_up() {
        let [mut a, mut b] = [Histogram::default(), Histogram::default()];
        a.record(Duration::from_millis(1));
        b.record(Duration::from_millis(9));
        a.add(&b);
        assert_eq!(a.total(), 2);
        assert!((a.millis(1.0) - 9.0).abs() < 1e-9 && (a.longest_millis() - 9.0).abs() < 1e-9);
        assert!((a.millis(0.5) - 1.0).abs() < 0.03);
    }

    #[test]
    fn a_curve_ends_where_too_few_were_counted() {
        let mut histogram = Histogram::default();
        for micros in 1..=1_000 {
            histogram.record(Duration::from_micros(micros));
        }
        let ends: Vec<f64> = histogram.curve().iter().map(|(one_in, _)| *one_in).collect();
        assert_eq!(ends, [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
    }
}
