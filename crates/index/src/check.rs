//! What must always hold, verified from scratch.

use std::collections::BTreeMap;

use super::node::{Link, number_of};
use super::packed::Buffer;
use super::tree::{NONE, NodeSlot};
use super::{RankIndex, locate};

impl RankIndex {
    pub(super) fn check(&self) {
        self.locator.check();
        let (mut order, mut upper) = (Vec::new(), 0);
        if self.tree.root != NONE {
            let (root, height) = (self.tree.root, self.tree.height);
            let count = self.check_below(root, height, Link::NONE, (&mut order, &mut upper));
            assert_eq!(count, self.len());
        }
        self.tree.nodes.check_sums(upper);
        let mut last: Option<(standings_core::SortKey, Vec<u8>)> = None;
        let (mut rows, mut total) = (0, 0);
        let mut scores: BTreeMap<i64, u64> = BTreeMap::new();
        for number in order {
            let leaf = self.tree.leaf(number);
            assert_eq!(self.tree.block(number)[..4], number.to_le_bytes(), "a leaf owns its block");
            assert!(leaf.rows() > 0, "no leaf is empty");
            assert!(leaf.rows() <= self.tree.limits.leaf_rows);
            leaf.check();
            if leaf.header.closed()
                && let Some(next) = self.tree.next_leaf(number)
            {
                let next = self.tree.leaf(next);
                let next = next.folded(next.first());
                assert!(next > leaf.last_folded(), "a closed leaf ends with its last score");
            }
            for (row, slot) in leaf.filled().enumerate() {
                assert_eq!((leaf.row_at(slot), leaf.slot_of(row)), (row, slot));
                let id = leaf.id_in(slot);
                let (key, text) =
                    (leaf.key(slot), id.unpack(&mut Buffer::new()).as_bytes().to_vec());
                assert!(last.as_ref().is_none_or(|last| *last < (key, text.clone())), "in order");
                last = Some((key, text));
                let place = locate(&self.tree, &self.locator, id.hash(), id);
                let here = NodeSlot { leaf: number, slot };
                assert_eq!(place, Some(here), "the locator knows who is where");
                rows += 1;
                total += i128::from(key.folded);
                *scores.entry(key.folded).or_default() += 1;
            }
        }
        assert_eq!(rows, self.len());
        assert_eq!(total, self.total());
        if let Some(tally) = &self.tally {
            let held: u64 = scores.values().sum();
            assert_eq!((tally.scores(), held), (scores.len(), rows), "the tally knows every score");
            let mut before = 0;
            for (folded, players) in scores {
                assert_eq!(tally.before(folded), before, "before {folded}");
                before += players;
            }
        }
    }

    /// Everything below a node or a leaf. Adds the leaves in order, and how many nodes there are above nodes.
    fn check_below(
        &self,
        number: u32,
        level: u16,
        parent: Link,
        (order, upper): (&mut Vec<u32>, &mut usize),
    ) -> u64 {
        if level == 0 {
            order.push(number);
            assert_eq!(self.tree.leaves.parent(number), parent);
            return self.tree.leaf(number).rows() as u64;
        }
        let node = self.tree.node(number);
        assert_eq!((node.counts.parent, node.level()), (parent, level));
        assert!(
            node.len() > usize::from(parent == Link::NONE),
            "a root has two children, a node one"
        );
        assert!(node.len() <= self.tree.limits.fanout);
        node.check();
        *upper += usize::from(level > 1);
        let mut count = 0;
        for index in 0..node.len() {
            let first = order.len();
            let (child, link) = (node.child(index), Link::new(number, index));
            let below = self.check_below(child, level - 1, link, (&mut *order, &mut *upper));
            assert_eq!(u64::from(node.count_of(index)), below, "counts are exact");
            let first = self.tree.leaf(order[first]);
            let key = number_of(first.key(first.first()));
            assert_eq!(node.key(index), key, "first keys are exact");
            count += below;
        }
        count
    }
}
