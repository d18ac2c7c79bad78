//! How far an import or an export is: a bar at a terminal, a line now and then elsewhere.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::output::thousands;

/// How often a log gets a line. A terminal is redrawn by indicatif at its own pace.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What is counted besides rows, for the bar.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Bytes of a file that is read.
    Bytes,
    /// Rows of a board that is read.
    Rows,
}

/// How far something is.
pub(crate) struct Progress {
    /// Absent where standard error is not a terminal.
    bar: Option<ProgressBar>,
    total: Option<u64>,
    started: Instant,
    next_line: Instant,
}

impl Progress {
    /// Starts, with a total where that is known.
    pub(crate) fn start(unit: Unit, total: Option<u64>) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
            let template = match (unit, total) {
                (Unit::Bytes, Some(_)) => {
                    "{wide_bar} {binary_bytes} of {binary_total_bytes}, {msg}, {eta} left"
                }
                (Unit::Rows, Some(_)) => "{wide_bar} {percent} %, {msg}, {eta} left",
                (_, None) => "{spinner} {msg}",
            };
            // The templates are ours; the default style stands in rather than a panic.
            bar.set_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar
        });
        let started = Instant::now();
        Self { bar, total, started, next_line: started + LINE_EVERY }
    }

    /// It has come to a position, with so many rows in all.
    pub(crate) fn at(&mut self, position: u64, rows: u64) {
        let words = || {
            format!("{} rows, {} rows/s", thousands(rows), thousands(self.rows_per_second(rows)))
        };
        if let Some(bar) = &self.bar {
            bar.set_message(words());
            bar.set_position(position);
        } else if Instant::now() >= self.next_line {
            match self.total {
                Some(total) => eprintln!("{}, {} %", words(), position * 100 / total.max(1)),
                None => eprintln!("{}", words()),
            }
            self.next_line = Instant::now() + LINE_EVERY;
        }
    }

    /// Says something without disturbing the bar.
    pub(crate) fn say(&self, words: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{words}")),
            None => eprintln!("{words}"),
        }
    }

    /// Takes the bar away and tells how it went: `in 1.2 s, 830,000 rows/s`.
    pub(crate) fn finish(self, rows: u64) -> String {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let speed = thousands(self.rows_per_second(rows));
        format!("in {:.1} s, {speed} rows/s", self.started.elapsed().as_secs_f64())
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a speed for people to read"
    )]
    fn rows_per_second(&self, rows: u64) -> u64 {
        (rows as f64 / self.started.elapsed().as_secs_f64().max(0.001)) as u64
    }
}
