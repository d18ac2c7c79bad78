//! What a run is doing, on standard error: a line for each step, and a bar where a step is long and someone looks.

use std::{sync::OnceLock, time::Instant};

use indicatif::{ProgressBar, ProgressStyle};

static STARTED: OnceLock<Instant> = OnceLock::new();

/// Says what comes next, with the time since the first step.
pub fn step(what: &str) {
    let seconds = STARTED.get_or_init(Instant::now).elapsed().as_secs();
    eprintln!("[{:>3}:{:02}] {what}", seconds / 60, seconds % 60);
}

/// A bar for `total` of something; invisible where standard error is a file.
pub fn bar(total: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "         {bar:30} {human_pos} of {human_len} {msg}, {eta} left",
    );
    let bar = ProgressBar::new(total).with_message(what.to_owned());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
