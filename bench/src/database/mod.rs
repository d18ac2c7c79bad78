//! The databases that leaderboards start in, each a server that this program starts for itself and stops again.

mod mariadb;
mod postgres;

use std::{
    path::Path,
    process::Child,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};

pub use mariadb::MariaDb;
pub use postgres::Postgres;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a statement may take: a load of millions of rows takes minutes.
const STATEMENT: Duration = Duration::from_secs(3_600);

/// A database that can be asked.
pub trait Database {
    /// What it is called.
    const NAME: &'static str;

    /// Its version, as it says it.
    fn version(&self) -> Result<String>;

    /// Makes the table `bench.scores` of `user_id` and `score`, with an index on each, and fills it from a file of such rows.
    fn load(&self, csv: &Path) -> Result<()>;

    /// Runs statements and returns what they print.
    fn query(&self, statements: &str) -> Result<String>;
}

/// Waits until a server that was just started does something for the first time.
fn wait_until(process: &mut Child, mut ready: impl FnMut() -> bool) -> Result<()> {
    let started = Instant::now();
    while !ready() {
        if let Some(status) = process.try_wait()? {
            bail!("the database ended by itself: {status}");
        }
        ensure!(started.elapsed() < PATIENCE, "the database did not answer within {PATIENCE:?}");
        sleep(Duration::from_millis(200));
    }
    Ok(())
}
