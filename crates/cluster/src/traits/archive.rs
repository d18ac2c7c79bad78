//! The archive: standings that no longer change.

use async_trait::async_trait;
use standings_core::{PlayerId, Position};

use super::{Answers, ArchiveNo, Fault, Probe, Row};

/// Standings that no longer change. Each is written once, under a number of its own, and is read only after all of it was
/// written: the record that names it comes last.
#[async_trait]
pub trait Archive: Send + Sync + 'static {
    /// Writes rows that follow each other, the first at a position. They come best first, pieces in any order. The same rows
    /// again change nothing: not even a gap that was made meanwhile.
    async fn write(&self, archive: ArchiveNo, from: Position, rows: &[Row]) -> Result<(), Fault>;
    /// Answers probes about a standing of which all rows are written. Positions and sizes count gaps; the answers are exact. One without
    /// rows is empty.
    async fn read(&self, archive: ArchiveNo, probes: &[Probe]) -> Result<Answers, Fault>;
    /// A player's row in each of these archives.
    async fn of_player(
        &self,
        player: &PlayerId,
        archives: &[ArchiveNo],
    ) -> Result<Vec<Option<(Position, Row)>>, Fault>;
    /// Removes who is at these positions, and the name; the place, score and times stay. Nothing finds the player there from then on.
    async fn blank(&self, archive: ArchiveNo, positions: &[Position]) -> Result<(), Fault>;
    /// Removes a bounded piece of an archive that nothing names any more. Tells whether something is left.
    async fn remove(&self, archive: ArchiveNo) -> Result<bool, Fault>;
}
