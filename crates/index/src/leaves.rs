//! What is known of a leaf by its number: where its block is, and its parent.
//!
//! Every look-up reads where a block is, at a place that is anywhere, and waits for it; the parents are read while the block is on its
//! way. So they are apart: what is waited for is half as much, and so are the pages whose addresses the processor has to remember.

use super::heap::Address;
use super::node::Link;
use super::table::Table;

/// A free number has no block, and the next free one as its parent.
pub(super) struct Leaves {
    blocks: Table<Address>,
    parents: Table<Link>,
}

impl Leaves {
    pub(super) const fn new() -> Self {
        Self { blocks: Table::new(), parents: Table::new() }
    }

    /// How many numbers there are, those that are free among them.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.blocks.bytes() + self.parents.bytes()
    }

    /// One more number, of a leaf that has no block yet.
    pub(super) fn push(&mut self) -> usize {
        self.parents.push(Link::NONE);
        self.blocks.push(Address::NONE)
    }

    /// Where a leaf's block is.
    #[inline]
    pub(super) fn at(&self, leaf: u32) -> Address {
        self.blocks[leaf as usize]
    }

    /// The same, if the number is that of a leaf.
    #[inline]
    pub(super) fn in_use(&self, leaf: u32) -> Option<Address> {
        self.blocks.get(leaf as usize).copied().filter(|at| *at != Address::NONE)
    }

    #[inline]
    pub(super) fn parent(&self, leaf: u32) -> Link {
        self.parents[leaf as usize]
    }

    #[inline]
    pub(super) fn set_at(&mut self, leaf: u32, at: Address) {
        self.blocks[leaf as usize] = at;
    }

    #[inline]
    pub(super) fn set_parent(&mut self, leaf: u32, parent: Link) {
        self.parents[leaf as usize] = parent;
    }

    /// For fetching ahead: what says where a block is, if there is such a number.
    #[inline]
    pub(super) fn entry(&self, leaf: u32) -> Option<&Address> {
        self.blocks.get(leaf as usize)
    }

    /// The same of the parent.
    #[inline]
    pub(super) fn parent_entry(&self, leaf: u32) -> Option<&Link> {
        self.parents.get(leaf as usize)
    }
}
