//! Fetching ahead: the cache misses of many players at once instead of one after another.

use super::RankIndex;
use super::mem::prefetch;
use super::node::Node;
use super::packed::{Buffer, Packed};
use super::tree::{NONE, Tree};
use crate::SortKey;

/// Players to fetch ahead in one go. More would push each other out of the cache before they are used.
pub const WARM: usize = 64;

impl RankIndex {
    /// Fetches what finding, ranking and updating these players will need, up to [`WARM`] of them. Work on a large batch
    /// goes in groups of so many: warm a group, then use it.
    pub fn warm(&self, ids: &[&str]) {
        let ids = &ids[..ids.len().min(WARM)];
        if self.is_empty() {
            return;
        }
        let mut hashes = [0; WARM];
        let mut buffer = Buffer::new();
        for (hash, id) in hashes.iter_mut().zip(ids) {
            *hash = Packed::new(id, &mut buffer).hash();
            self.locator.prefetch(*hash);
        }
        // Which of the candidates is the right one would need the leaf; the first nearly always is.
        let mut leaves = [NONE; WARM];
        for (leaf, hash) in leaves.iter_mut().zip(&hashes[..ids.len()]) {
            *leaf = self.locator.find(*hash, Some).unwrap_or(NONE);
            if *leaf != NONE {
                prefetch(&self.tree.leaves[*leaf as usize]);
            }
        }
        self.tree.prefetch_leaves(&leaves[..ids.len()]);
    }

    /// Fetches the places that these keys will have, up to [`WARM`] of them: the other half of what an update needs.
    pub fn warm_keys(&self, keys: &[SortKey]) {
        let keys = &keys[..keys.len().min(WARM)];
        let tree = &self.tree;
        if tree.root == NONE {
            return;
        }
        let mut numbers = [tree.root; WARM];
        for _ in 0..tree.height {
            for (number, key) in numbers.iter_mut().zip(keys) {
                let node = tree.node(*number);
                *number = node.children[node.children_up_to(super::node::number_of(*key)) - 1];
                if node.level > 1 {
                    prefetch_keys(tree.node(*number));
                } else {
                    prefetch(&tree.leaves[*number as usize]);
                }
            }
        }
        tree.prefetch_leaves(&numbers[..keys.len()]);
    }
}

fn prefetch_keys(node: &Node) {
    for key in node.keys.iter().step_by(4) {
        prefetch(key);
    }
}

impl Tree {
    /// Asks for the leaves and for the counts in their parents.
    fn prefetch_leaves(&self, leaves: &[u32]) {
        for &leaf in leaves.iter().filter(|&&leaf| leaf != NONE) {
            self.prefetch_block(leaf);
            self.prefetch_parent(leaf);
        }
    }

    /// Asks for what a climb reads of a leaf's parent.
    #[inline]
    pub(super) fn prefetch_parent(&self, leaf: u32) {
        let parent = self.leaves[leaf as usize].parent;
        if parent == NONE {
            return;
        }
        let node = self.node(parent);
        prefetch(&node.parent);
        for at in (0..node.children.len()).step_by(16) {
            prefetch(&node.children[at]);
            prefetch(&node.counts[at]);
        }
    }

    /// Asks for a leaf's block.
    #[inline]
    pub(super) fn prefetch_block(&self, leaf: u32) {
        self.blocks.prefetch(self.leaves[leaf as usize].at);
    }
}
