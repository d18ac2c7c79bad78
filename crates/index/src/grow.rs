//! Putting players into the tree: the insertion, the split, the way up.

use super::IndexRecord;
use super::draft::Draft;
use super::edit::{self, Insertion};
use super::head::{Head, Run, narrow};
use super::heap::Address;
use super::leaf::{Leaf, Tagged};
use super::locator::Locator;
use super::moves::Moves;
use super::node::{Child, Link, Node, NodeRef, number_of};
use super::packed::Packed;
use super::tree::{NONE, NodeSlot, Tree};
use standings_core::SortKey;

/// Bytes for more rows that a leaf gets with a new block.
pub(super) const SPARE: usize = 32;
/// Bytes without rows that are worth a smaller block. A leaf whose rows come and go keeps its block for some eleven removals more
/// than insertions.
pub(super) const SLACK: usize = 192;

/// The rows do not fit one leaf.
#[derive(Debug)]
pub(super) struct TooMany;

impl Tree {
    /// Inserts a player who is not in the tree. The locator is told of players who get into other leaves on the way; of this one the
    /// caller tells it.
    pub(super) fn insert(
        &mut self,
        locator: &mut Locator,
        player: Tagged<'_>,
        record: IndexRecord,
    ) -> NodeSlot {
        let (id, _) = player;
        if self.root == NONE {
            let mut draft = Draft::default();
            draft.append_new(player, record);
            let (root, place) = self.new_leaf(&draft, 0, 1, 0, &mut Moves::default());
            (self.root, self.height) = (root, 0);
            return place.expect("the only row is new");
        }
        let finger = if self.trust.is_due() { self.finger(record.key) } else { None };
        let leaf = match finger {
            Some(leaf) => {
                self.count_above(leaf);
                leaf
            }
            None => self.count_down_to(record.key, id),
        };
        let slot = self.leaf(leaf).before(record.key, id);
        let place = self.insert_at(locator, NodeSlot { leaf, slot }, player, record);
        self.point_at(record.key, place);
        place
    }

    /// Remembers where a player was put: the next one with this score will probably come right after it.
    #[inline]
    pub(super) fn point_at(&mut self, key: SortKey, NodeSlot { leaf, slot }: NodeSlot) {
        let block = self.leaves.at(leaf);
        let end = block.line_of(self.leaf(leaf).header.at(slot + 1) - 1);
        self.ends.set(key.folded, leaf, block, end);
    }

    /// Counts one more player in every node above a leaf.
    #[inline]
    pub(super) fn count_above(&mut self, leaf: u32) {
        let mut link = self.leaves.parent(leaf);
        while let Some((parent, index)) = link.get() {
            link = self.nodes.count_up(parent, index);
        }
    }

    /// The same on the way from the root to the leaf of a player who is not there yet.
    fn count_down_to(&mut self, key: SortKey, id: Packed<'_>) -> u32 {
        let mut leaf = self.root;
        for _ in 0..self.height {
            let index = self.child_for(leaf, key, id);
            self.nodes.count_up(leaf, index);
            let node = self.node(leaf);
            leaf = node.child(index);
            if node.level() > 1 {
                self.nodes.prefetch_pilots(leaf);
            }
        }
        self.prefetch_block(leaf);
        leaf
    }

    /// Inserts before a place, which is known to be right, the counts above being right already.
    pub(super) fn insert_at(
        &mut self,
        locator: &mut Locator,
        NodeSlot { leaf, slot }: NodeSlot,
        player: Tagged<'_>,
        record: IndexRecord,
    ) -> NodeSlot {
        let (id, _) = player;
        let now = loop {
            let at = self.leaves.at(leaf);
            match edit::try_insert(self.blocks.block_mut(at), slot, player, record) {
                Insertion::Done(slot) => break NodeSlot { leaf, slot },
                // It was full: there was no hole, so that slots stay as they are.
                Insertion::Full if self.make_room(leaf, id) => {}
                Insertion::Full if self.is_run(leaf, slot, id) => {
                    return self.begin_leaf(leaf, player, record);
                }
                // Rows that are wider than they have to be by now are narrowed before a leaf in the middle counts as full.
                Insertion::Full | Insertion::Refused => {
                    let view = self.leaf(leaf);
                    let row = view.row_at(slot);
                    let run = view.head().run.moved(|slot| view.row_at(slot.min(view.slots())));
                    let run = run.after(row);
                    let mut draft = Draft::default();
                    draft.append(leaf, view);
                    draft.insert(row, player, record);
                    let mut moves = Moves::default();
                    let all = (0, draft.len());
                    let Ok(new) = self.rewrite(leaf, &draft, all, run, &mut moves) else {
                        return self.split(locator, leaf, &draft, row, run);
                    };
                    break new.expect("the draft has a new row");
                }
            }
        };
        if self.leaf(leaf).first() == now.slot {
            self.first_changed(leaf);
        }
        now
    }

    /// Whether a row that does not fit its leaf comes at the end of others that came so.
    fn is_run(&self, leaf: u32, slot: usize, id: Packed<'_>) -> bool {
        let head = self.leaf(leaf).head();
        let full =
            head.size() >= self.limits.leaf_bytes * 7 / 8 || head.rows >= self.limits.leaf_rows;
        slot == head.slots && full && head.run.is_long() && head.form == Some(id.form)
    }

    /// Bytes for more rows where one row follows another. A large tree has few such places for its size.
    fn long_spare(&self) -> usize {
        if self.leaves.len() < self.limits.fingers_from { 384 } else { 1024 }
    }

    /// Begins a new leaf after one that is full.
    fn begin_leaf(&mut self, leaf: u32, player: Tagged<'_>, record: IndexRecord) -> NodeSlot {
        self.start_fingers();
        let view = self.leaf(leaf);
        let left = Child {
            number: leaf,
            count: u32::from(narrow(view.rows())),
            key: number_of(view.key(view.first())),
        };
        let (mut head, bytes) = self.with_room(view.head().next(record), self.long_spare());
        // Whatever came after the old leaf comes after the new one now.
        let same_score = view.last_folded() == record.key.folded;
        head.closed = view.header.closed() && same_score;
        let number = self.new_number();
        let at = self.blocks.allocate(bytes, number);
        self.leaves.set_at(number, at);
        edit::begin(self.blocks.block_mut(at), head, player);
        let at = self.leaves.at(leaf);
        Head::write_closed(self.blocks.block_mut(at), !same_score);
        let parent = self.leaves.parent(leaf);
        self.add_child(parent, 0, left, Child { number, count: 1, key: number_of(record.key) });
        NodeSlot { leaf: number, slot: 0 }
    }

    /// Gives a leaf that is full a larger block, if it may have one in which there is room for this id.
    fn make_room(&mut self, leaf: u32, id: Packed<'_>) -> bool {
        let head = self.leaf(leaf).head();
        // Where one row follows another, all the room will be needed.
        let spare = if head.run.is_long() { self.long_spare() } else { SPARE + id.bytes.len() };
        let (larger, bytes) = self.with_room(head.exact(), spare);
        let enough = larger.has_room_for(id, bytes);
        if enough {
            self.resize(leaf, larger, bytes);
        }
        enough
    }

    /// Moves a leaf to a block with room for more rows, or for fewer, and closes its holes.
    pub(super) fn resize(&mut self, leaf: u32, head: Head, bytes: usize) {
        let old = self.leaves.at(leaf);
        let new = self.blocks.allocate(bytes, leaf);
        let (from, to) = self.blocks.pair(old, new);
        Leaf::new(from).copy_to(head, to);
        self.leaves.set_at(leaf, new);
        self.free_block(old);
    }

    /// Replaces the content of a leaf by some rows of a draft, unless they are too many for one leaf. Returns the place of the row
    /// that is new, if there is one.
    pub(super) fn rewrite(
        &mut self,
        leaf: u32,
        draft: &Draft,
        (from, to): (usize, usize),
        run: Run,
        moves: &mut Moves,
    ) -> Result<Option<NodeSlot>, TooMany> {
        let mut head = draft.head(from, to);
        if !self.is_leaf(&head) {
            return Err(TooMany);
        }
        head.run = run;
        let spare = match head.form {
            // Ids of many forms need room in two places, and one of them runs out.
            None => SPARE + 2 * head.row_bytes(),
            Some(_) if run.is_long() => self.long_spare(),
            Some(_) => SPARE,
        };
        let (head, bytes) = self.with_room(head, spare);
        let old = self.leaves.at(leaf);
        let mut at = old;
        if self.blocks.capacity(old) != bytes {
            at = self.blocks.allocate(bytes, leaf);
            self.free_block(old);
        }
        self.leaves.set_at(leaf, at);
        let new = draft.encode(from, head, (leaf, self.blocks.block_mut(at)), moves);
        Ok(new.map(|slot| NodeSlot { leaf, slot }))
    }

    pub(super) fn free_block(&mut self, at: Address) {
        if let Some(moved) = self.blocks.free(at) {
            self.leaves.set_at(moved.owner, moved.to);
        }
    }

    /// Distributes a draft that is too long over a leaf and a new one after it. Returns the place of row `new`.
    pub(super) fn split(
        &mut self,
        locator: &mut Locator,
        leaf: u32,
        draft: &Draft,
        new: usize,
        run: Run,
    ) -> NodeSlot {
        self.start_fingers();
        let Some(middle) = self.split_at(draft, new, run) else {
            return self.split_around(locator, leaf, draft, new);
        };
        // What comes next is expected where the first part ends, or nowhere.
        let run = if middle == new + 1 { run } else { Run::default() };
        let (right, place) = self.cut(locator, leaf, draft, (middle, middle), run);
        if new == 0 {
            self.first_changed(leaf);
        }
        let left = draft.child(leaf, 0, middle);
        let parent = self.leaves.parent(leaf);
        self.add_child(parent, 0, left, draft.child(right, middle, draft.len()));
        place.expect("the draft has a new row")
    }

    /// Where to cut so that both parts fit a leaf, if there is such a place near the middle or at the new row.
    fn split_at(&self, draft: &Draft, new: usize, run: Run) -> Option<usize> {
        let half = draft.middle(new);
        // Where rows come one after another, the next one is expected after the new one. Cut there, all that are to come go to the
        // end of a leaf, and leave full leaves behind.
        let places = if run.is_long() { [new + 1, half, new] } else { [half, new + 1, new] };
        let fits = |from, to| self.is_leaf(&draft.head(from, to));
        let mut places = places.into_iter().filter(|middle| (1..draft.len()).contains(middle));
        places.find(|&middle| fits(0, middle) && fits(middle, draft.len()))
    }

    /// A new row that is unlike the others, in a leaf of many: with it either part would be too wide. It gets a leaf of
    /// its own between them.
    fn split_around(
        &mut self,
        locator: &mut Locator,
        leaf: u32,
        draft: &Draft,
        new: usize,
    ) -> NodeSlot {
        let (right, _) = self.cut(locator, leaf, draft, (new, new + 1), Run::default());
        // The counts above have the new row already: until it has its leaf, it counts with the left part.
        let mut left = draft.child(leaf, 0, new);
        left.count += 1;
        let parent = self.leaves.parent(leaf);
        self.add_child(parent, 0, left, draft.child(right, new + 1, draft.len()));
        left.count -= 1;
        let (alone, place) = self.new_leaf(draft, new, new + 1, 0, &mut Moves::default());
        let parent = self.leaves.parent(leaf);
        self.add_child(parent, 0, left, draft.child(alone, new, new + 1));
        place.expect("the only row is new")
    }

    /// Leaves the rows before `end` in a leaf and puts those from `start` on into a new one. With it the place of the row that is new,
    /// if it is among them.
    fn cut(
        &mut self,
        locator: &mut Locator,
        leaf: u32,
        draft: &Draft,
        (end, start): (usize, usize),
        run: Run,
    ) -> (u32, Option<NodeSlot>) {
        let mut moves = Moves::default();
        let (right, in_right) = self.new_leaf(draft, start, draft.len(), SPARE, &mut moves);
        moves.fetch(locator);
        let in_left = self.rewrite(leaf, draft, (0, end), run, &mut moves);
        moves.tell(locator);
        (right, in_left.expect("a part that was chosen to fit").or(in_right))
    }

    fn is_leaf(&self, head: &Head) -> bool {
        head.rows <= self.limits.leaf_rows && head.size() <= self.limits.leaf_bytes
    }

    /// Adds a child after `left`, whose count changed with it, to the node `parent`, or to a new root above both.
    pub(super) fn add_child(&mut self, parent: Link, level: u16, left: Child, added: Child) {
        let Some((parent, index)) = parent.get() else {
            let mut root = Node::new(level + 1, Link::NONE);
            root.get_mut().insert(0, left);
            root.get_mut().insert(1, added);
            self.root = self.new_node(&root);
            self.height = level + 1;
            self.relink(self.root, 0);
            return;
        };
        let mut node = self.nodes.get_mut(parent);
        node.set_count(index, left.count);
        let len = node.get().len();
        if len < self.limits.fanout {
            node.insert(index + 1, added);
            self.relink(parent, index + 1);
            return;
        }
        // As with leaves, a child at the end starts a node of its own.
        let middle = if index + 1 == len { len } else { len / 2 };
        let (above, mut right) = (node.counts.parent, Node::new(level + 1, Link::NONE));
        node.move_to(middle, &mut right);
        if index + 1 > middle || middle == self.limits.fanout {
            right.get_mut().insert(index + 1 - middle, added);
        } else {
            node.insert(index + 1, added);
        }
        let child =
            |number, node: NodeRef<'_>| Child { number, count: node.count(), key: node.key(0) };
        let left = child(parent, node.get());
        let number = self.new_node(&right);
        self.relink(parent, 0);
        self.relink(number, 0);
        self.add_child(above, level + 1, left, child(number, right.get()));
    }

    /// Tells the children of a node, from one on, where they are.
    pub(super) fn relink(&mut self, number: u32, from: usize) {
        let (len, level) = (self.node(number).len(), self.node(number).level());
        for index in from..len {
            let child = self.node(number).child(index);
            let link = Link::new(number, index);
            if level == 1 {
                self.leaves.set_parent(child, link);
            } else {
                self.nodes.counts_mut(child).parent = link;
            }
        }
    }

    /// The first row of a leaf is another: tells every node for which it is the first.
    pub(super) fn first_changed(&mut self, leaf: u32) {
        let view = self.leaf(leaf);
        let key = number_of(view.key(view.first()));
        self.set_first(self.leaves.parent(leaf), key);
    }

    pub(super) fn set_first(&mut self, mut link: Link, key: u128) {
        while let Some((parent, index)) = link.get() {
            let mut node = self.nodes.get_mut(parent);
            node.set_key(index, key);
            if index > 0 {
                return;
            }
            link = node.counts.parent;
        }
    }
}
