//! What must always hold, verified from scratch.

use super::node::{Link, number_of};
use super::packed::Buffer;
use super::tree::NONE;
use super::{Place, RankIndex, locate};

impl RankIndex {
    pub(super) fn check(&self) {
        self.locator.check();
        let mut order = Vec::new();
        if self.tree.root != NONE {
            let count = self.check_below(self.tree.root, self.tree.height, Link::NONE, &mut order);
            assert_eq!(count, self.len());
        }
        let mut last: Option<(crate::SortKey, Vec<u8>)> = None;
        let (mut rows, mut total) = (0, 0);
        for number in order {
            let leaf = self.tree.leaf(number);
            assert_eq!(self.tree.block(number)[..4], number.to_le_bytes(), "a leaf owns its block");
            assert!(leaf.rows() > 0, "no leaf is empty");
            assert!(leaf.rows() <= self.tree.limits.leaf_rows);
            leaf.check();
            let mut buffer = Buffer::new();
            for row in 0..leaf.rows() {
                let id = leaf.id(row, &mut buffer);
                let (key, text) =
                    (leaf.key(row), id.unpack(&mut Buffer::new()).as_bytes().to_vec());
                assert!(last.as_ref().is_none_or(|last| *last < (key, text.clone())), "in order");
                last = Some((key, text));
                let place = locate(&self.tree, &self.locator, id.hash(), id, false);
                assert_eq!(place, Some(Place { leaf: number, row }), "the locator knows the leaf");
                rows += 1;
                total += i128::from(key.folded);
            }
        }
        assert_eq!(rows, self.len());
        assert_eq!(total, self.total());
    }

    fn check_below(&self, number: u32, level: u16, parent: Link, order: &mut Vec<u32>) -> u64 {
        if level == 0 {
            order.push(number);
            assert_eq!(self.tree.leaves[number as usize].parent, parent);
            return self.tree.leaf(number).rows() as u64;
        }
        let node = self.tree.node(number);
        assert_eq!((node.parent, node.level), (parent, level));
        assert!(
            node.len() > usize::from(parent == Link::NONE),
            "a root has two children, a node one"
        );
        assert!(node.len() <= self.tree.limits.fanout);
        node.check();
        let mut count = 0;
        for index in 0..node.len() {
            let first = order.len();
            let below =
                self.check_below(node.children[index], level - 1, Link::new(number, index), order);
            assert_eq!(u64::from(node.count_of(index)), below, "counts are exact");
            let first = self.tree.leaf(order[first]).key(0);
            assert_eq!(node.key(index), number_of(first), "first keys are exact");
            count += below;
        }
        count
    }
}
