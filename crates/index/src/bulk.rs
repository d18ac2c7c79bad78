//! Loading a standing that is in order already, as a checkpoint is: leaves are built full, one after another.

use super::draft::Draft;
use super::fill::{Bits, Gathered};
use super::head::{Head, numbers};
use super::leaf::tag_of;
use super::moves::Moves;
use super::node::{Child, Link, Node, number_of};
use super::packed::{Buffer, Form, Packed};
use super::tally::Tally;
use super::tree::{Limits, NONE, Tree};
use super::{IndexRecord, MOST_SCORES, RankIndex, due_after, most_scores};
use standings_core::SortKey;

/// Why rows cannot be loaded as they come. The row counts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A row does not sort after the one before it.
    #[error("row {row} does not sort after the row before it")]
    OutOfOrder {
        /// Which row.
        row: u64,
    },
    /// A player came twice.
    #[error("a player among the rows up to {row} comes twice")]
    Duplicate {
        /// The last row: it is noticed at the end.
        row: u64,
    },
}

/// Leaves and nodes are left with room for the first changes after the load.
const FILL: (usize, usize) = (15, 16);

impl RankIndex {
    /// An index of rows in ascending order of (key, id bytes). `expected` players are prepared for; more or fewer may come.
    pub fn from_sorted<I: AsRef<str>>(
        rows: impl IntoIterator<Item = (I, IndexRecord)>,
        expected: usize,
    ) -> Result<Self, LoadError> {
        Self::from_sorted_with(&Limits::REAL, rows, expected)
    }

    pub(super) fn from_sorted_with<I: AsRef<str>>(
        limits: &'static Limits,
        rows: impl IntoIterator<Item = (I, IndexRecord)>,
        expected: usize,
    ) -> Result<Self, LoadError> {
        let mut loader = Loader {
            tree: Tree::new(limits),
            gathered: Gathered::new(expected),
            draft: Draft::default(),
            hashes: Vec::new(),
            extent: Extent::EMPTY,
            children: Vec::new(),
            rows: 0,
            tally: Box::new(Tally::new()),
            tied: (0, 0),
        };
        let mut total = 0;
        let mut buffer = Buffer::new();
        for (id, record) in rows {
            total += i128::from(record.key.folded);
            loader.push(Packed::new(id.as_ref(), &mut buffer), record)?;
        }
        loader.flush();
        loader.count(0);
        let Loader { mut tree, gathered, children, rows, tally, .. } = loader;
        let locator = gathered
            .into_locator(|bits, leaves| differ(&tree, bits, leaves))
            .ok_or(LoadError::Duplicate { row: rows.saturating_sub(1) })?;
        tree.build(children);
        let worth = tree.leaves.len() >= limits.tally_from && tally.scores() <= most_scores(&tree);
        let tally_due =
            if worth { usize::MAX } else { due_after(tree.leaves.len()).max(limits.tally_from) };
        Ok(Self { tree, locator, tally: worth.then_some(tally), tally_due, total })
    }
}

struct Loader {
    tree: Tree,
    gathered: Gathered,
    draft: Draft,
    /// Of those in the draft.
    hashes: Vec<u64>,
    extent: Extent,
    /// The leaves so far, for the nodes above.
    children: Vec<Child>,
    rows: u64,
    tally: Box<Tally>,
    /// The last score, and how many had it so far.
    tied: (i64, u32),
}

impl Loader {
    fn push(&mut self, id: Packed<'_>, record: IndexRecord) -> Result<(), LoadError> {
        if let Some((key, last)) = self.last()
            && key.cmp(&record.key).then_with(|| last.cmp_text(id)).is_ge()
        {
            return Err(LoadError::OutOfOrder { row: self.rows });
        }
        let extent = self.extent.with(id, record);
        let &Limits { leaf_bytes, leaf_rows, .. } = self.tree.limits;
        if extent.rows > 1
            && (extent.rows > leaf_rows || extent.size() > leaf_bytes * FILL.0 / FILL.1)
        {
            self.flush();
            self.extent = Extent::EMPTY.with(id, record);
        } else {
            self.extent = extent;
        }
        let hash = id.hash();
        self.draft.append_new((id, tag_of(hash)), record);
        self.hashes.push(hash);
        if self.tied.0 != record.key.folded {
            self.count(record.key.folded);
        }
        self.tied.1 += 1;
        self.rows += 1;
        Ok(())
    }

    /// Tells the tally how many had a score, while it may be worth it; the next score is another.
    fn count(&mut self, next: i64) {
        if self.tally.scores() <= MOST_SCORES {
            self.tally.add(self.tied.0, self.tied.1);
        }
        self.tied = (next, 0);
    }

    fn last(&self) -> Option<(SortKey, Packed<'_>)> {
        if let Some(last) = self.draft.len().checked_sub(1) {
            return Some((self.draft.key(last), self.draft.id(last)));
        }
        None
    }

    /// Makes a leaf of the draft.
    fn flush(&mut self) {
        let rows = self.draft.len();
        if rows == 0 {
            return;
        }
        let (leaf, _) = self.tree.new_leaf(&self.draft, 0, rows, 0, &mut Moves::default());
        let count = u32::try_from(rows).expect("a leaf is small");
        self.children.push(Child { number: leaf, count, key: number_of(self.draft.key(0)) });
        for hash in self.hashes.drain(..) {
            self.gathered.push(hash, leaf);
        }
        self.draft.clear();
    }
}

/// Whether all in some leaves whose hashes have these bits are different players.
fn differ(tree: &Tree, bits: Bits, leaves: &[u32]) -> bool {
    let mut seen: Vec<Packed<'_>> = Vec::new();
    // Leaves are in order, and come as often as there are such players.
    for leaf in leaves.chunk_by(|a, b| a == b) {
        let leaf = tree.leaf(leaf[0]);
        for id in leaf.tagged(tag_of(bits.example())).map(|slot| leaf.id_in(slot)) {
            if bits.fit(id.hash()) {
                if seen.contains(&id) {
                    return false;
                }
                seen.push(id);
            }
        }
    }
    true
}

impl Tree {
    /// Builds the nodes above leaves in order, level by level.
    fn build(&mut self, mut children: Vec<Child>) {
        let mut level = 0;
        while children.len() > 1 {
            level += 1;
            let per_node = (self.limits.fanout * FILL.0 / FILL.1).max(2);
            let mut above = Vec::with_capacity(children.len().div_ceil(per_node));
            for group in children.chunks(per_node) {
                let mut node = Node::new(level, Link::NONE);
                for (index, &child) in group.iter().enumerate() {
                    node.get_mut().insert(index, child);
                }
                let number = self.new_node(&node);
                self.relink(number, 0);
                let node = node.get();
                above.push(Child { number, count: node.count(), key: node.key(0) });
            }
            children = above;
        }
        self.start_fingers();
        self.root = children.first().map_or(NONE, |child| child.number);
        self.height = level;
    }
}

/// What the rows of a draft need, kept up with each row.
#[derive(Clone, Copy)]
struct Extent {
    rows: usize,
    id_bytes: usize,
    form: Option<Form>,
    low: [i64; 3],
    high: [i64; 3],
}

impl Extent {
    const EMPTY: Self =
        Self { rows: 0, id_bytes: 0, form: None, low: [i64::MAX; 3], high: [i64::MIN; 3] };

    fn with(mut self, id: Packed<'_>, record: IndexRecord) -> Self {
        if self.rows == 0 {
            self.form = Some(id.form);
        }
        self.form = self.form.filter(|form| *form == id.form);
        self.rows += 1;
        self.id_bytes += id.bytes.len();
        for (column, number) in numbers(record).into_iter().enumerate() {
            self.low[column] = self.low[column].min(number);
            self.high[column] = self.high[column].max(number);
        }
        self
    }

    fn size(&self) -> usize {
        Head::new(self.rows, self.form, self.id_bytes, self.low, self.high).size()
    }
}
