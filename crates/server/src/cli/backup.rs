//! `standings backup`: a consistent copy of a running server's data.

use std::path::{PathBuf, absolute};

use clap::Args;
use serde_json::{Value, json};

use super::{
    client::{Call, Path},
    failure::{Failure, Result},
    output::text,
};

/// Copy a running server's data.
///
/// The server writes the copy to its own disk while it goes on serving.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  standings backup /var/backups/standings-2026-11-15
  standings serve --data /var/backups/standings-2026-11-15    # a copy can be served as it is")]
pub(crate) struct Backup {
    /// A directory on the server's disk that does not exist yet; a relative one starts where this command runs
    path: PathBuf,
    #[command(flatten)]
    call: Call,
}

impl Backup {
    pub(crate) fn run(self) -> Result<()> {
        let path = absolute(&self.path).map_err(|error| Failure::file("use", &self.path, error))?;
        let path = path.to_str().ok_or_else(|| Failure::Usage("PATH must be UTF-8".to_owned()))?;
        let reply = self.call.client()?.post(&Path::v1(&["backup"]), &json!({"path": path}))?;
        self.call.output.show(&reply, |made: &Value| {
            let [path, sequence, bytes] =
                ["path", "sequence", "bytes"].map(|member| text(made, member));
            format!("{path}: everything up to number {sequence} of the ledger, {bytes} bytes")
        })
    }
}
