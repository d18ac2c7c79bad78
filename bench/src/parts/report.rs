//! What becomes of the figures: the table of targets, the charts, and the figures in the documents.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::Result;
use clap::Args;

use crate::{charts, docs, targets};

/// Composes the table of targets from what the parts have written, draws the charts and fills the documents.
///
/// Measures nothing. A part that has not run is missing in the table and says so.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Where the parts write.
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
    /// Where the charts go.
    #[arg(long, default_value = "docs/charts")]
    charts: PathBuf,
    /// Documents with marks to be filled.
    #[arg(long, default_values = ["docs/performance.md"])]
    documents: Vec<PathBuf>,
}

/// Composes, draws and fills.
pub fn run(arguments: &Arguments) -> Result<()> {
    let reports = targets::reports(&arguments.results)?;
    targets::write(&reports, &arguments.results)?;
    let mut images = String::new();
    for (name, title) in charts::write(&reports, &arguments.charts)? {
        eprintln!("{}", arguments.charts.join(format!("{name}.svg")).display());
        // As the documents see them, which are beside the folder.
        writeln!(images, "![{title}](charts/{name}.svg)\n")?;
    }
    std::fs::write(arguments.results.join("charts.md"), images)?;
    for document in &arguments.documents {
        let changed = docs::fill(document, &arguments.results)?;
        eprintln!("{}: {}", document.display(), if changed { "filled" } else { "as it was" });
    }
    Ok(())
}
