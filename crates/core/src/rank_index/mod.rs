//! The rank index: every player of one standing, by id and in order.
//!
//! # Structure
//! A B+ tree holds the players in order, and a hash table finds a player's leaf. Both are one type, and one method changes
//! both.
//! ```text
//!   hash of the id ──► locator (5.9 B a player) ──► number of the leaf
//!                                                        │
//!          root                                    table of leaves ──► parent ──► … ──► root
//!        ┌──┴──┐   nodes of 56: count and first          │                climbing adds up the counts to the left
//!      node   node key of each child                     ▼
//!     ┌─┴─┐  ┌─┴─┐                             block of up to 1.5 KiB: order, ids, scores, times, by column
//!    leaf … leaf …
//! ```
//! - **leaf** (`leaf`, `head`, `edit`, `draft`): some sixty players by column, ids packed (`packed`: 24 hex digits are 12
//!   bytes), numbers at the width that the leaf needs. A player keeps its slot in the columns; a byte a row says the order. The leaf
//!   is the only place where an id and a record are stored.
//! - **node** (`node`, `tree`, `grow`, `shrink`): 56 children with their counts. Children know their parents, and which child they are.
//! - **locator** (`locator`): 18 bits of hash and 24 bits of leaf number a player. It cannot tell players apart; leaves can.
//! - **fingers** (`fingers`): the leaves where the players of a score begin and end, for the scores that are used.
//! - **heap** (`heap`): blocks of any multiple of 64 bytes without holes, for leaves and for the locator's shards.
//!
//! # Cost
//! With 25 million players everything but the upper nodes is out of the cache, so cost is counted in cache misses that wait for
//! each other, some 100 to 200 ns each, and in lines that are fetched at the same time, some 10 ns each. Groups of players
//! (`warm`) pay only the latter.
//!
//! | operation | misses | and |
//! |---|---|---|
//! | [`get`](RankIndex::get) | bucket, table of leaves, leaf | a scan of two bytes of sixty ids |
//! | [`position`](RankIndex::position) | the same, and a line of a node fetched beside the leaf | the climb |
//! | [`shared_position`](RankIndex::shared_position) | the same, or where the score begins: by its finger node and leaf, else down from the root | |
//! | [`change`](RankIndex::change), order in the leaf unchanged | none after [`look_up`](RankIndex::look_up) | some bytes of order |
//! | `change` otherwise | node and leaf of the new place, by its finger or down from the root | now and then a split or a merge |
//! | [`scan`](RankIndex::scan) | one per leaf, in sequence | unpacking ids |
//!
//! # What is unusual, and why
//! - **The id is in the leaf, not in the hash table.** A scan, a window and a checkpoint read ids in order instead of
//!   jumping to each, ties compare in place, and nothing outside the leaf has to be told when a table grows.
//! - **The locator holds no ids** and yields candidates; one in twenty at most is false and costs a look into another leaf.
//! - **Rows stay where they are in a leaf.** A byte a player for the order spares moving half a leaf at every change.
//! - **Blocks grow and shrink with their leaves.** A B+ tree under random updates is two thirds full; that third would be more
//!   than all the scores. With blocks of the right size it costs some 7 percent, whatever the updates: 24 bytes a player with
//!   24 hex digits as id when loaded, 25.6 after 10 million random updates (25 million players).
//! - **Leaves split where rows come in.** Among players with equal scores the latest is the last, so new rows come one after another
//!   at few places. A leaf that notices splits after them: they then fill one leaf after the other, instead of leaving halves.
//! - **Leaf numbers, not pointers.** They are three bytes, survive moving the block, and make everything below safe code; huge
//!   pages, prefetching and work on sixteen bytes at once are the one unsafe file, `mem`.
//! - **Separators are first keys without ids.** Nodes stay fixed in size; where keys are equal, down to the millisecond, the
//!   descent looks into the leaves. Slower only for boards whose players all have the same score and time.
//!
//! # Limits
//! 2^24 − 1 leaves, some 600 million players with short ids; 2^32 − 1 players in any case. Both are asserted.

mod bucket;
mod bulk;
#[cfg(test)]
mod check;
mod draft;
mod edit;
mod fill;
mod fingers;
mod grow;
mod head;
mod heap;
mod lanes;
mod leaf;
mod locator;
mod mem;
mod node;
mod packed;
mod paged;
mod shrink;
#[cfg(test)]
mod tests;
mod tree;
mod warm;

use std::ops::ControlFlow;

pub use bulk::LoadError;
use leaf::Leaf;
use locator::Locator;
pub use mem::give_back;
use packed::{Buffer, Packed};
use tree::{Limits, Place, Tree};
pub use warm::WARM;

use crate::{Position, SortKey, board::Ties, time::Millis};

/// What the index holds of a player besides the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the player sorts.
    pub key: SortKey,
    /// When the entry last changed, which may be later than when its score was reached.
    pub updated_at: Millis,
}

/// A player and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of players before this one; ties are in order of time, then id.
    pub position: Position,
    /// The number of players with a better score: the place that ties share.
    pub first_of_score: Position,
    /// The player's record.
    pub record: Record,
}

/// Where a player was found.
#[derive(Clone, Copy, Debug)]
pub struct Spot(Place);

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The record that the player had.
    pub previous: Option<Record>,
    /// The place that it had, if places were asked for.
    pub before: Option<Position>,
    /// The place that it has.
    pub after: Option<Position>,
}

/// The players of one standing, by id and in order of (score, time, id bytes).
///
/// Ids are texts of 1 to 128 bytes. Reading takes `&self` and may run on many threads at once.
pub struct RankIndex {
    tree: Tree,
    locator: Locator,
    total: i128,
}

impl Default for RankIndex {
    fn default() -> Self {
        Self::new()
    }
}

impl RankIndex {
    /// An index without players, which holds no memory of its own.
    pub const fn new() -> Self {
        Self::with_limits(Limits::REAL)
    }

    const fn with_limits(limits: Limits) -> Self {
        Self { tree: Tree::new(limits), locator: Locator::new(), total: 0 }
    }

    /// How many players there are.
    pub fn len(&self) -> u64 {
        self.locator.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum of all folded scores.
    pub fn total(&self) -> i128 {
        self.total
    }

    /// All memory that the index holds, itself included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.tree.bytes() + self.locator.bytes()
    }

    /// The record of a player.
    pub fn get(&self, id: &str) -> Option<Record> {
        self.read(id, false, |_, leaf, row| leaf.record(row))
    }

    /// A player with both of its places. Where one is enough, [`position`](Self::position) or
    /// [`shared_position`](Self::shared_position) costs less.
    pub fn find(&self, id: &str) -> Option<Found> {
        self.rank(id, |before, leaf, row| Found {
            position: Position(before + row as u64),
            first_of_score: self.first_of_score(leaf, row, || before),
            record: leaf.record(row),
        })
    }

    /// A player and the number of players before it.
    pub fn position(&self, id: &str) -> Option<(Position, Record)> {
        self.rank(id, |before, leaf, row| (Position(before + row as u64), leaf.record(row)))
    }

    /// A player and the number of players with a better score.
    pub fn shared_position(&self, id: &str) -> Option<(Position, Record)> {
        self.read(id, true, |number, leaf, row| {
            let position = self.first_of_score(leaf, row, || self.tree.before_leaf(number));
            (position, leaf.record(row))
        })
    }

    /// How many players have a smaller folded score.
    pub fn before_score(&self, folded: i64) -> Position {
        self.tree.before_score(folded)
    }

    /// How many players sort before this key and id, whether or not there is such a player.
    pub fn before(&self, key: SortKey, id: &str) -> Position {
        self.bounds(key, id).0
    }

    /// How many players sort before this key and id or have both: where a page after it starts.
    pub fn through(&self, key: SortKey, id: &str) -> Position {
        self.bounds(key, id).1
    }

    /// Calls `visit` with the players from a position on, best first, until it breaks.
    pub fn scan<B>(
        &self,
        from: Position,
        mut visit: impl FnMut(&str, Record) -> ControlFlow<B>,
    ) -> Option<B> {
        let mut place = self.tree.at(from.0)?;
        let (mut buffer, mut packed) = (Buffer::new(), Buffer::new());
        loop {
            let leaf = self.tree.leaf(place.leaf);
            for row in place.row..leaf.rows() {
                let id = leaf.id(row, &mut packed);
                if let ControlFlow::Break(value) = visit(id.unpack(&mut buffer), leaf.record(row)) {
                    return Some(value);
                }
            }
            place = Place { leaf: self.tree.next_leaf(place.leaf)?, row: 0 };
        }
    }

    /// The record of a player, and where it is: [`change`](Self::change) then need not search.
    pub fn look_up(&self, id: &str) -> Option<(Record, Spot)> {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let place = locate(&self.tree, &self.locator, id.hash(), id, true)?;
        Some((self.tree.leaf(place.leaf).record(place.row), Spot(place)))
    }

    /// Adds a player or replaces its record; returns the record it had.
    pub fn upsert(&mut self, id: &str, record: Record) -> Option<Record> {
        self.change(id, None, record, None).previous
    }

    /// The same for a player who may have been looked up before, with the places before and after by one of the tie rules.
    /// A spot that the player has left in the meantime costs a search, no more.
    pub fn change(
        &mut self,
        id: &str,
        spot: Option<Spot>,
        record: Record,
        ties: Option<Ties>,
    ) -> Change {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let hash = id.hash();
        let ranked = ties == Some(Ties::Earliest);
        let Self { tree, locator, total } = self;
        tree.prefetch_where(record.key);
        *total += i128::from(record.key.folded);
        let place = match spot {
            Some(Spot(place)) if tree.holds(place, id) => Some(place),
            _ => locate(tree, locator, hash, id, true),
        };
        let Some(place) = place else {
            assert!(locator.len() < u32::MAX as usize, "an index counts players in 32 bits");
            tree.prefetch_expected(record.key);
            // Before the tree changes: a split of a shard asks the leaves who is in them.
            locator.reserve(|leaves, out| hashes_in(tree, leaves, out));
            let inserted = tree.insert(locator, id, record, ranked);
            locator.insert(hash, inserted.leaf);
            let after = self.place_by(ties, record.key, || inserted.position);
            return Change { previous: None, before: None, after };
        };
        let leaf = tree.leaf(place.leaf);
        let previous = leaf.record(place.row);
        let within = tree.height == 0 || leaf.spans(record.key);
        *total -= i128::from(previous.key.folded);
        let before = self.place_by(ties, previous.key, || Some(self.tree.position(place)));
        let Self { tree, locator, .. } = self;
        let row = within.then(|| tree.update_within(locator, place, id, hash, record)).flatten();
        let position = if let Some(row) = row {
            before
                .filter(|_| ranked)
                .map(|before| Position(before.0 - place.row as u64 + row as u64))
        } else {
            tree.prefetch_expected(record.key);
            tree.remove(locator, place);
            // The freed number of the old leaf may be that of the new one, which does not matter to the locator.
            let inserted = tree.insert(locator, id, record, ranked);
            locator.relocate(hash, place.leaf, inserted.leaf);
            inserted.position
        };
        let after = self.place_by(ties, record.key, || position);
        Change { previous: Some(previous), before, after }
    }

    /// A place by one of the tie rules, if one is asked for.
    fn place_by(
        &self,
        ties: Option<Ties>,
        key: SortKey,
        position: impl FnOnce() -> Option<Position>,
    ) -> Option<Position> {
        match ties? {
            Ties::Earliest => position(),
            Ties::Share => Some(self.before_score(key.folded)),
        }
    }

    /// Removes a player and returns the record it had.
    pub fn remove(&mut self, id: &str) -> Option<Record> {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let hash = id.hash();
        let place = locate(&self.tree, &self.locator, hash, id, true)?;
        let record = self.tree.leaf(place.leaf).record(place.row);
        self.total -= i128::from(record.key.folded);
        self.tree.remove(&mut self.locator, place);
        self.locator.remove(hash, place.leaf);
        Some(record)
    }

    /// Reads a player in its leaf, before which there are so many others.
    #[inline]
    fn rank<R>(&self, id: &str, read: impl FnOnce(u64, Leaf<'_>, usize) -> R) -> Option<R> {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let (leaf, before, row) = self.locator.find(id.hash(), |leaf| {
            self.tree.prefetch_parent(leaf);
            self.tree.prefetch_block(leaf);
            // The nodes above are nearer than the leaf: the climb is over by the time that the leaf is here.
            let before = self.tree.before_leaf(leaf);
            self.tree.leaf(leaf).row_of(id).map(|row| (leaf, before, row))
        })?;
        Some(read(before, self.tree.leaf(leaf), row))
    }

    #[inline]
    fn read<R>(
        &self,
        id: &str,
        climb: bool,
        read: impl FnOnce(u32, Leaf<'_>, usize) -> R,
    ) -> Option<R> {
        if self.is_empty() {
            return None;
        }
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let place = locate(&self.tree, &self.locator, id.hash(), id, climb)?;
        Some(read(place.leaf, self.tree.leaf(place.leaf), place.row))
    }

    /// Ties often begin in the same leaf; otherwise the way down from the root finds where.
    #[inline]
    fn first_of_score(&self, leaf: Leaf<'_>, row: usize, before: impl FnOnce() -> u64) -> Position {
        let folded = leaf.folded(row);
        match leaf.before_score(folded) {
            0 => self.tree.before_score(folded),
            first => Position(before() + first as u64),
        }
    }

    fn bounds(&self, key: SortKey, id: &str) -> (Position, Position) {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let Some((number, before)) = self.tree.seek(key, id) else {
            return (Position(0), Position(0));
        };
        let leaf = self.tree.leaf(number);
        let row = leaf.before(key, id);
        let held = row < leaf.rows() && leaf.cmp(row, key, id).is_eq();
        let before = before + row as u64;
        (Position(before), Position(before + u64::from(held)))
    }
}

/// The place of a player. The leaf's lines are fetched all at once, and with `climb` also what a climb from it will read.
#[inline]
fn locate(tree: &Tree, locator: &Locator, hash: u64, id: Packed<'_>, climb: bool) -> Option<Place> {
    locator.find(hash, |leaf| {
        if climb {
            tree.prefetch_parent(leaf);
        }
        tree.prefetch_block(leaf);
        tree.leaf(leaf).row_of(id).map(|row| Place { leaf, row })
    })
}

/// The hashes of all players in some leaves, each with its leaf.
fn hashes_in(tree: &Tree, leaves: &[u32], out: &mut Vec<(u64, u32)>) {
    let mut buffer = Buffer::new();
    for (at, &leaf) in leaves.iter().enumerate() {
        if let Some(&ahead) = leaves.get(at + 8) {
            tree.prefetch_block(ahead);
        }
        let view = tree.leaf(leaf);
        out.extend((0..view.rows()).map(|row| (view.id(row, &mut buffer).hash(), leaf)));
    }
}
