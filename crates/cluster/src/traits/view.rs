//! Live standings: an ordered view of entries that may be lost at any time.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use standings_core::{IndexRecord, PlayerId};

use super::{Answers, Fault, Generation, Probe, StandingNo, Stream, Version};

/// A part of a standing that one node holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition {
    /// The standing.
    pub standing: StandingNo,
    /// The part, below [`Standings::partitions`].
    pub part: u16,
}

/// What tells whether a partition may have lost something: another one after a restart, a promotion or a flush.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Node(pub String);

/// An entry as the view takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewChange {
    /// Whose.
    pub player: PlayerId,
    /// The version that was committed.
    pub version: Version,
    /// The entry; `None` is a tombstone.
    pub record: Option<IndexRecord>,
}

/// What one outbox record means for a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feed {
    /// The part.
    pub part: u16,
    /// The stream.
    pub stream: Stream,
    /// Up to this number nothing of the stream is missing, if the partition has it: the last one before `n` that concerned it.
    pub previous: u64,
    /// The number of the record.
    pub n: u64,
    /// Its entries in this partition; none where it only tells that nothing up to `n` concerns the partition.
    pub changes: Vec<ViewChange>,
}

/// What a partition made of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fed {
    /// The partition has all of the stream up to the feed's number.
    Taken,
    /// Nothing has changed: what follows this number is missing.
    Gap(u64),
    /// Nothing has changed: the partition is not as complete as it was, or was never built.
    NotReady,
}

/// Feeds taken, and what was asked after them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// One for each feed.
    pub fed: Vec<Fed>,
    /// The answers; `None` where a feed was not taken or a partition is not ready.
    pub answers: Option<Answers>,
}

/// Which build of a partition a repair works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The current one, which was last complete on another node; the partition is on this one now.
    Current(Node),
    /// One that is not current yet, on the node where it was begun.
    Building(Generation, Node),
}

/// What became of making a generation current.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flipped {
    /// It is current.
    Done,
    /// Of these streams the current one has more, up to these numbers: replay them and ask again.
    Behind(Vec<(Stream, u64)>),
    /// A newer one is current, it is not there, or the node has changed.
    NotReady,
}

/// A build of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationState {
    /// Which.
    pub generation: Generation,
    /// Where it was last complete.
    pub node: Node,
    /// Whether it has as many entries as were put in.
    pub whole: bool,
    /// How far it has taken in each stream.
    pub offsets: Vec<(Stream, u64)>,
}

/// A partition as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionState {
    /// Where it is now.
    pub node: Node,
    /// The build that answers.
    pub current: Option<GenerationState>,
}

impl PartitionState {
    /// Whether it answers and takes feeds.
    pub fn is_ready(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.whole && current.node == self.node)
    }
}

/// The ordered view of live entries. It has nothing that the ledger does not have, and may lose all or part of it at any time. Each
/// method is atomic for one partition, and for no two.
///
/// A partition is *ready* when its current generation has every entry that was put in, on the node where it was last complete. It tells by
/// itself with each call: nothing has to notice that a node was lost.
#[async_trait]
pub trait Standings: Send + Sync + 'static {
    /// Whether it has to be fed. One that follows the ledger by itself is always ready and takes every feed; nothing of repair concerns it.
    fn is_fed(&self) -> bool;
    /// How many parts a standing has: at least 1, and always as many.
    fn partitions(&self) -> u16;
    /// The part that has a player: always the same.
    fn part_of(&self, player: &PlayerId) -> u16;

    /// Feeds partitions of a standing, then answers probes. A feed is taken by the current generation of its partition, if that is ready: it
    /// does nothing but say so where the partition has its number; it is a gap where the partition does not have `previous`; else every
    /// entry that is newer than the one there takes its place.
    async fn apply(
        &self,
        of: StandingNo,
        feeds: &[Feed],
        probes: &[Probe],
    ) -> Result<Applied, Fault>;
    /// Answers probes; `None` where a partition that is asked is not ready.
    async fn read(&self, of: StandingNo, probes: &[Probe]) -> Result<Option<Answers>, Fault>;

    /// A partition as it is.
    async fn look(&self, of: Partition) -> Result<PartitionState, Fault>;
    /// As [`apply`](Self::apply), for repair: on the given build, whether or not it is ready, if the partition is on the given node and the
    /// build is whole.
    async fn replay(&self, of: Partition, target: &Target, feed: &Feed) -> Result<Fed, Fault>;
    /// Says that the current generation is complete on this node. Tells whether that was done: only if it is whole and the partition
    /// is on this node.
    async fn confirm(&self, of: Partition, current: Generation, node: &Node)
    -> Result<bool, Fault>;
    /// Begins a generation that is not current, without entries, which is to have all of these streams up to these numbers. Tells whether the
    /// partition is on this node and has no generation as new; one that was begun by the same call is there already.
    async fn begin(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
        offsets: &[(Stream, u64)],
    ) -> Result<bool, Fault>;
    /// Puts entries into a generation that is being built, where they are newer than those there. Tells whether it is there, not current,
    /// whole, and the partition on the node where it was begun.
    async fn load(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
        entries: &[ViewChange],
    ) -> Result<bool, Fault>;
    /// Makes a generation current, and removes older ones, if it has at least as much of every stream as the current one, which must be
    /// older, and the node is still that where it was begun.
    async fn flip(
        &self,
        of: Partition,
        generation: Generation,
        node: &Node,
    ) -> Result<Flipped, Fault>;

    /// Tombstones of a partition, in the order of the players' ids, after one of them.
    async fn tombstones(
        &self,
        of: Partition,
        after: Option<&PlayerId>,
        limit: usize,
    ) -> Result<Vec<(PlayerId, Version)>, Fault>;
    /// Removes tombstones that still have these versions from a partition; nothing where it is not ready, or where another generation is
    /// being built. Tells whether it was ready and none was.
    async fn prune(&self, of: Partition, tombstones: &[(PlayerId, Version)])
    -> Result<bool, Fault>;
    /// Brings up to date what estimates rest on.
    async fn refresh(&self, of: StandingNo) -> Result<(), Fault>;
    /// Removes a bounded piece of a standing that nothing names any more. Tells whether something is left.
    async fn forget(&self, of: StandingNo) -> Result<bool, Fault>;
}
