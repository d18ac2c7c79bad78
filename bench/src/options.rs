//! What every program can be told.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use tempfile::TempDir;

/// Flags of every part.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Players on the board.
    #[arg(long, default_value_t = 1_000_000)]
    pub players: u64,
    /// Where data goes while it is measured: a real disk. By default beside this program; removed at the end.
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// Where the table and its figures are written.
    #[arg(long, default_value = "bench/results")]
    pub results: PathBuf,
}

impl Common {
    /// A new directory for data, which goes when the value does.
    pub fn scratch(&self) -> Result<TempDir> {
        let within = match &self.dir {
            Some(dir) => dir.clone(),
            None => std::env::current_exe()?.with_file_name("bench-data"),
        };
        std::fs::create_dir_all(&within)
            .with_context(|| format!("cannot create {}", within.display()))?;
        Ok(tempfile::tempdir_in(within)?)
    }
}

/// Where the server's program is: as given, or beside this one.
pub fn server_binary(given: Option<&PathBuf>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("standings"),
    };
    anyhow::ensure!(
        path.exists(),
        "{} does not exist; build it with `cargo build --release --bin standings`",
        path.display()
    );
    Ok(path)
}
