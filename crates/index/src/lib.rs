//! The rank index: every player of one standing, by id and in order.
//!
//! # Structure
//! A B+ tree holds the players in order, and a hash table finds a player's leaf. Both are one type, and one method changes both.
//! ```text
//!   hash of the id ──► locator (5.4 B a player) ──► number of the leaf
//!                                                        │
//!          root                                    table of leaves ──► parent ──► … ──► root
//!        ┌──┴──┐   nodes of 56: count and first          │                climbing adds up the counts to the left
//!      node   node key of each child                     ▼
//!     ┌─┴─┐  ┌─┴─┐                             block of up to 1.4 KiB: a tag for each player, then a row for each
//!    leaf … leaf …
//! ```
//! - **leaf** (`leaf`, `head`, `edit`, `draft`): some seventy players in order, each in a row of its own, ids packed (`packed`: 24 hex
//!   digits are 12 bytes), numbers at the width that the leaf needs. A tag, a byte of hash, finds a player; who leaves, leaves a
//!   hole. The leaf is the only place where an id and a record are stored.
//! - **table of leaves** (`leaves`): where the block of a leaf is, and its parent.
//! - **node** (`node`, `tree`, `grow`, `shrink`, `update`): 56 children with their counts. Children know their parents, and which child they are.
//! - **locator** (`locator`, `bucket`, `moves`): 16 bits of hash and 22 bits of leaf a player. It cannot tell players apart; leaves can.
//! - **tally** (`tally`): how many players have each score, where there are far fewer scores than players. A shared rank is answered
//!   from it alone.
//! - **fingers** (`fingers`): the leaves where the players of a score end, for the scores that are used.
//! - **heap** (`heap`): blocks of any multiple of 64 bytes with next to no holes, for leaves and for the locator's shards.
//!
//! # Cost
//! With 25 million players everything but the upper nodes is out of the cache. A read that waits for the one before it takes some 100
//! to 200 ns. On a machine whose own memory is in small pages, as under most hypervisors, most of that is looking up the address of
//! the page; another line of the same page is 10 to 20. So cost is counted in pages, one after another; groups of players (`warm`)
//! have them looked up side by side.
//!
//! | operation | pages | and |
//! |---|---|---|
//! | [`get`](RankIndex::get) | bucket, table of leaves, leaf | the tags of the leaf |
//! | [`position`](RankIndex::position) | the same | the holes before it, and the climb |
//! | [`shared_position`](RankIndex::shared_position) | the same | the tally; without one where the score begins, down from the root |
//! | [`change`](RankIndex::change), order in the leaf unchanged | none after [`look_up`](RankIndex::look_up) | the rows in between |
//! | `change` otherwise | leaf of the new place, by its finger, or down from the root | every tenth time or so the old leaf gets a smaller block |
//! | [`scan`](RankIndex::scan) | one per leaf, in sequence | unpacking ids |
//!
//! # What is unusual, and why
//! - **The id is in the leaf, not in the hash table.** A scan, a window and a checkpoint read ids in order instead of
//!   jumping to each, ties compare in place, and nothing outside the leaf has to be told when a table grows.
//! - **The locator holds no ids** and yields candidates; one in twenty is false and costs a look into another leaf.
//! - **The locator knows the leaf, and the leaf finds the player** by comparing all its tags at once. So rows move about in a leaf, and
//!   leaves from block to block, without telling anyone: only players who get into another leaf are told of.
//! - **Holes stay in order.** A hole keeps the key of who left, so that a search need not know which rows are holes; a removal is a byte
//!   and a count.
//! - **Blocks grow and shrink with their leaves.** A B+ tree under random updates is two thirds full; that third would be more
//!   than all the scores. With blocks of the right size it costs some 8 percent, whatever the updates.
//! - **Leaves split where rows come in.** Among players with equal scores the latest is the last, so new rows come one after another
//!   at few places. A leaf that notices splits after them: they then fill one leaf after the other, instead of leaving halves.
//! - **A leaf that grows at its end ends with its score.** Its header says that the next leaf begins with another one, and it is not
//!   joined with that: who wins goes to the end, which the finger knows, without a search. On a large board 96 of 100 do.
//! - **Leaf numbers, not pointers.** They are 22 bits, survive moving the block, and make everything below safe code; huge
//!   pages, prefetching and work on sixteen bytes at once are the one unsafe file, `mem`.
//! - **Separators are first keys without ids.** Nodes stay fixed in size; where keys are equal, down to the millisecond, the
//!   descent looks into the leaves. Slower only for boards whose players all have the same score and time.
//!
//! # Limits
//! 2^22 − 1 leaves: some 300 million players with 24 hex digits as ids, some 30 million where all ids have 128 bytes. New players are for the
//! caller to refuse from three quarters of that on ([`room`](RankIndex::room)); the rest is for those who are there.

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
mod leaves;
mod locator;
mod mem;
#[cfg(test)]
mod memory_tests;
mod moves;
mod node;
mod packed;
mod paged;
mod shrink;
mod table;
mod tally;
#[cfg(test)]
mod tests;
mod tree;
mod update;
mod warm;

use std::ops::ControlFlow;

pub use bulk::LoadError;
use leaf::{Leaf, tag_of};
use locator::Locator;
pub use mem::give_back;
use packed::{Buffer, Packed};
use tally::Tally;
use tree::{Limits, NodeSlot, Tree};
use update::Player;
pub use warm::WARM;
use warm::hashes_of;

use standings_core::{Found, IndexRecord, Position, SortKey, board::Ties};

/// Where a player was found.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    place: NodeSlot,
    /// To fetch what the locator has of the player.
    hash: u64,
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The record that the player had.
    pub previous: Option<IndexRecord>,
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
    /// The players of each score, where there are far fewer scores than players.
    tally: Option<Box<Tally>>,
    /// Leaves from which on a tally is tried next.
    tally_due: usize,
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
        Self::with_limits(&Limits::REAL)
    }

    const fn with_limits(limits: &'static Limits) -> Self {
        Self {
            tree: Tree::new(limits),
            locator: Locator::new(),
            tally: None,
            tally_due: limits.tally_from,
            total: 0,
        }
    }

    /// How many players there are.
    pub fn len(&self) -> u64 {
        self.locator.len() as u64
    }

    /// How many more there can be, at least: who comes has to be refused before there is no room.
    pub fn room(&self) -> u64 {
        self.tree.room()
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
        let tally = self.tally.as_ref().map_or(0, |tally| size_of::<Tally>() + tally.bytes());
        size_of::<Self>() + self.tree.bytes() + self.locator.bytes() + tally
    }

    /// The record of a player.
    pub fn get(&self, id: &str) -> Option<IndexRecord> {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let hash = id.hash();
        self.locator.find(hash, |leaf| {
            self.tree.prefetch_block(leaf);
            let leaf = self.tree.leaf(leaf);
            Some(leaf.record_in(leaf.find(id, tag_of(hash))?))
        })
    }

    /// A player with both of its places. Where one is enough, [`position`](Self::position) or
    /// [`shared_position`](Self::shared_position) costs less.
    pub fn find(&self, id: &str) -> Option<Found> {
        self.rank(id, |before, leaf, slot| self.found(before, leaf, slot))
    }

    /// Both places of the player in a slot of a leaf, before which there are so many others.
    #[inline]
    fn found(&self, before: u64, leaf: Leaf<'_>, slot: usize) -> Found {
        let record = leaf.record_in(slot);
        Found {
            position: Position(before + leaf.row_at(slot) as u64),
            first_of_score: self.first_of_score(leaf, record.key.folded, || before),
            record,
        }
    }

    /// A player and the number of players before it.
    pub fn position(&self, id: &str) -> Option<(Position, IndexRecord)> {
        self.rank(id, |before, leaf, slot| {
            (Position(before + leaf.row_at(slot) as u64), leaf.record_in(slot))
        })
    }

    /// A player and the number of players with a better score.
    pub fn shared_position(&self, id: &str) -> Option<(Position, IndexRecord)> {
        if let Some(tally) = &self.tally {
            let record = self.get(id)?;
            return Some((Position(tally.before(record.key.folded)), record));
        }
        self.rank(id, |before, leaf, slot| {
            let record = leaf.record_in(slot);
            (self.first_of_score(leaf, record.key.folded, || before), record)
        })
    }

    /// How many players have a smaller folded score.
    pub fn before_score(&self, folded: i64) -> Position {
        match &self.tally {
            Some(tally) => Position(tally.before(folded)),
            None => self.tree.before_score(folded),
        }
    }

    /// How many players sort before this key and id or have both: where a page after it starts.
    pub fn through(&self, key: SortKey, id: &str) -> Position {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let Some((number, before)) = self.tree.seek(key, id) else { return Position(0) };
        let leaf = self.tree.leaf(number);
        let slot = leaf.before(key, id);
        let held = leaf.is_in(slot, id) && leaf.key(slot) == key;
        Position(before + leaf.row_at(slot) as u64 + u64::from(held))
    }

    /// Calls `visit` with the players from a position on, best first, until it breaks.
    pub fn scan<B>(
        &self,
        from: Position,
        mut visit: impl FnMut(&str, IndexRecord) -> ControlFlow<B>,
    ) -> Option<B> {
        let NodeSlot { mut leaf, mut slot } = self.tree.at(from.0)?;
        let mut buffer = Buffer::new();
        loop {
            let view = self.tree.leaf(leaf);
            for slot in view.filled().from(slot) {
                let id = view.id_in(slot).unpack(&mut buffer);
                if let ControlFlow::Break(value) = visit(id, view.record_in(slot)) {
                    return Some(value);
                }
            }
            (leaf, slot) = (self.tree.next_leaf(leaf)?, 0);
        }
    }

    /// The record of a player, and where it is: [`change`](Self::change) then need not search.
    pub fn look_up(&self, id: &str) -> Option<(IndexRecord, Spot)> {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let hash = id.hash();
        let place = locate(&self.tree, &self.locator, hash, id)?;
        Some((self.record_at(place), Spot { place, hash }))
    }

    #[inline]
    fn record_at(&self, place: NodeSlot) -> IndexRecord {
        self.tree.leaf(place.leaf).record_in(place.slot)
    }

    /// Adds a player or replaces its record; returns the record it had.
    pub fn upsert(&mut self, id: &str, record: IndexRecord) -> Option<IndexRecord> {
        self.change(id, None, record, None).previous
    }

    /// The same for a player who may have been looked up before, with the places before and after by one of the tie rules.
    /// A spot that the player has left in the meantime costs a search, no more.
    pub fn change(
        &mut self,
        id: &str,
        spot: Option<Spot>,
        record: IndexRecord,
        ties: Option<Ties>,
    ) -> Change {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let ranked = ties == Some(Ties::Earliest);
        let Self { tree, locator, total, .. } = self;
        let finger = tree.expected(record.key);
        tree.prefetch_expected(finger);
        *total += i128::from(record.key.folded);
        // Not the spot's, which may be anyone's.
        let hash = id.hash();
        let spot = spot.and_then(|Spot { place, .. }| tree.still_at(place, id, hash));
        tree.prefetch_parent_of(finger);
        let Some(place) = spot.or_else(|| locate(tree, locator, hash, id)) else {
            // Before the tree changes: a split of a shard asks who is where.
            locator.reserve(|slots, known, out| hashes_of(tree, slots, known, out));
            let place = tree.insert(locator, (id, tag_of(hash)), record);
            locator.insert(hash, place.leaf);
            self.count(None, Some(record.key.folded));
            self.count_all_if_due();
            let position = ranked.then(|| self.tree.position(place));
            let after = self.place_by(ties, record.key, position);
            return Change { previous: None, before: None, after };
        };
        let leaf = tree.leaf(place.leaf);
        let previous = leaf.record_in(place.slot);
        let within = tree.height == 0 || leaf.spans(record.key);
        *total -= i128::from(previous.key.folded);
        let player = Player { id, hash, place };
        let had = ranked.then(|| (tree.before_leaf(place.leaf), leaf.row_at(place.slot)));
        let position = had.map(|(before, row)| Position(before + row as u64));
        let before = self.place_by(ties, previous.key, position);
        self.count(Some(previous.key.folded), Some(record.key.folded));
        let Self { tree, locator, .. } = self;
        let row = within.then(|| tree.update_within(locator, player, record)).flatten();
        let has = if let Some(row) = row {
            had.map(|(before, _)| Position(before + row as u64))
        } else {
            let now = tree.update(locator, player, record, finger);
            ranked.then(|| tree.position(now))
        };
        self.count_all_if_due();
        let after = self.place_by(ties, record.key, has);
        Change { previous: Some(previous), before, after }
    }

    /// A place by one of the tie rules, if one is asked for.
    fn place_by(
        &self,
        ties: Option<Ties>,
        key: SortKey,
        position: Option<Position>,
    ) -> Option<Position> {
        match ties? {
            Ties::Earliest => position,
            Ties::Share => Some(self.before_score(key.folded)),
        }
    }

    /// Removes a player and returns the record it had.
    pub fn remove(&mut self, id: &str) -> Option<IndexRecord> {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let hash = id.hash();
        let place = locate(&self.tree, &self.locator, hash, id)?;
        let record = self.record_at(place);
        self.total -= i128::from(record.key.folded);
        self.tree.remove(&mut self.locator, place);
        self.locator.remove(hash, place.leaf);
        self.count(Some(record.key.folded), None);
        self.count_all_if_due();
        Some(record)
    }

    /// Tells the tally of a player who had one score and has another.
    #[inline]
    fn count(&mut self, had: Option<i64>, has: Option<i64>) {
        if let Some(tally) = &mut self.tally
            && had != has
        {
            match (had, has) {
                (Some(had), Some(has)) => tally.shift(had, has),
                (Some(had), None) => tally.remove(had),
                (None, Some(has)) => tally.add(has, 1),
                (None, None) => {}
            }
            if tally.scores() > 2 * most_scores(&self.tree) {
                self.stop_tally();
            }
        }
    }

    /// Starts a tally of an index that has become large enough.
    #[inline]
    fn count_all_if_due(&mut self) {
        if self.tree.leaves.len() >= self.tally_due {
            self.start_tally();
        }
    }

    /// Counts everyone, unless there are too many scores for it to be worth it.
    #[cold]
    fn start_tally(&mut self) {
        self.tally_due = due_after(self.tree.leaves.len());
        let mut tally = Box::new(Tally::new());
        let most = most_scores(&self.tree);
        let mut run = (0, 0);
        let mut leaf = (self.tree.root != tree::NONE).then(|| self.tree.first());
        while let Some(number) = leaf {
            let view = self.tree.leaf(number);
            for folded in view.filled().map(|slot| view.folded(slot)) {
                if run.0 != folded {
                    tally.add(run.0, run.1);
                    run = (folded, 0);
                }
                run.1 += 1;
            }
            if tally.scores() > most {
                return;
            }
            leaf = self.tree.next_leaf(number);
        }
        tally.add(run.0, run.1);
        (self.tally, self.tally_due) = (Some(tally), usize::MAX);
    }

    /// There are so many scores that the tree itself is faster, and smaller.
    #[cold]
    fn stop_tally(&mut self) {
        self.tally = None;
        self.tally_due = due_after(self.tree.leaves.len());
    }

    /// Reads a player in its leaf, before which there are so many others.
    #[inline]
    fn rank<R>(&self, id: &str, read: impl FnOnce(u64, Leaf<'_>, usize) -> R) -> Option<R> {
        let mut buffer = Buffer::new();
        let id = Packed::new(id, &mut buffer);
        let hash = id.hash();
        let (before, leaf, slot) = self.locator.find(hash, |number| {
            self.tree.prefetch_parent(number);
            self.tree.prefetch_block(number);
            // The nodes above are nearer than the leaf: the climb is over by the time that the leaf is here.
            let before = self.tree.before_leaf(number);
            let leaf = self.tree.leaf(number);
            Some((before, leaf, leaf.find(id, tag_of(hash))?))
        })?;
        Some(read(before, leaf, slot))
    }

    /// Without a tally ties often begin in the same leaf; otherwise the way down from the root finds where.
    #[inline]
    fn first_of_score(
        &self,
        leaf: Leaf<'_>,
        folded: i64,
        before: impl FnOnce() -> u64,
    ) -> Position {
        if let Some(tally) = &self.tally {
            return Position(tally.before(folded));
        }
        match leaf.before_score(folded) {
            0 => self.tree.before_score(folded),
            first => Position(before() + first as u64),
        }
    }
}

/// With more scores than leaves, the players of a score are mostly in one leaf, and it can tell. With very many, new ones would take
/// long.
fn most_scores(tree: &Tree) -> usize {
    tree.leaves.len().min(MOST_SCORES)
}

/// Scores of a tally, at most.
const MOST_SCORES: usize = 1 << 17;

/// When to try next: at twice as many leaves, up to a size at which everyone can be counted within some ten milliseconds.
fn due_after(leaves: usize) -> usize {
    let next = (leaves + 1).next_power_of_two();
    if next > 1 << 14 { usize::MAX } else { next }
}

/// The place of a player. The leaf is fetched all at once, and with it what a climb will read.
#[inline]
fn locate(tree: &Tree, locator: &Locator, hash: u64, id: Packed<'_>) -> Option<NodeSlot> {
    locator.find(hash, |leaf| {
        tree.prefetch_block(leaf);
        tree.prefetch_parent(leaf);
        tree.find_in(leaf, id, hash)
    })
}
