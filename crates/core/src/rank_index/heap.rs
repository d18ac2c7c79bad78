//! Blocks of many sizes without fragmentation.
//!
//! Leaves and hash shards grow and shrink all the time, and an allocator's holes would cost more than the ids. Here the
//! blocks of one size are always dense: freeing a block moves the last block of that size into the hole. That works because
//! every block is referred to from exactly one place, its owner's, whose number is the first four bytes of the block; the
//! caller is told which owner moved. Blocks are multiples of a cache line, cut from 2 MiB pages that belong to one size;
//! a page that empties is free for any size.

use super::mem::{HUGE, LINE, Region, prefetch_all};

/// Where a block is: page number and line within the page. 17 + 15 bits reach 256 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Address(u32);

const LINES_PER_PAGE: usize = HUGE / LINE;
const LINE_BITS: u32 = LINES_PER_PAGE.trailing_zeros();

impl Address {
    /// Of no block: there is no page of this number.
    pub(super) const NONE: Self = Self(u32::MAX);

    fn new(page: usize, line: usize) -> Self {
        let page = u32::try_from(page).ok().filter(|page| *page < u32::MAX >> LINE_BITS);
        let page = page.expect("an index below 256 GiB");
        #[expect(clippy::cast_possible_truncation, reason = "a line number has 15 bits")]
        Self(page << LINE_BITS | line as u32)
    }

    #[inline]
    fn page(self) -> usize {
        (self.0 >> LINE_BITS) as usize
    }

    #[inline]
    fn line(self) -> usize {
        self.0 as usize % LINES_PER_PAGE
    }
}

/// A block that took the place of a freed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) owner: u32,
    pub(super) to: Address,
}

pub(super) struct Heap {
    pages: Vec<Page>,
    /// One list per size in use, in order of creation: there are at most a few dozen sizes, of which few are in use.
    classes: Vec<Class>,
    /// Numbers of pages without memory.
    vacant: Vec<u32>,
}

struct Page {
    memory: Option<Region<u8>>,
    lines_per_block: usize,
    /// Where this page is in its class, to tell a block's index from its address.
    ordinal: usize,
}

struct Class {
    lines: usize,
    blocks: usize,
    pages: Vec<u32>,
}

impl Class {
    fn per_page(&self) -> usize {
        LINES_PER_PAGE / self.lines
    }

    fn address(&self, block: usize) -> Address {
        let page = self.pages[block / self.per_page()] as usize;
        Address::new(page, block % self.per_page() * self.lines)
    }
}

impl Heap {
    pub(super) const fn new() -> Self {
        Self { pages: Vec::new(), classes: Vec::new(), vacant: Vec::new() }
    }

    /// The largest block there can be.
    pub(super) const MAX_BYTES: usize = HUGE;

    /// A block of at least so many bytes, with content as an earlier owner left it but for the owner's number.
    pub(super) fn allocate(&mut self, bytes: usize, owner: u32) -> Address {
        assert!((1..=Self::MAX_BYTES).contains(&bytes), "a block of {bytes} bytes");
        let lines = bytes.div_ceil(LINE);
        let class = self.class(lines);
        let (block, per_page) = (self.classes[class].blocks, self.classes[class].per_page());
        if block / per_page == self.classes[class].pages.len() {
            self.add_page(class);
        }
        let class = &mut self.classes[class];
        class.blocks += 1;
        let address = class.address(block);
        let end = (address.line() + lines) * LINE;
        let page = &mut self.pages[address.page()];
        let memory = page.memory.as_mut().expect("a page of a class has memory");
        if memory.len() < end {
            // Only the last page of a size may be smaller than a page: small indexes stay small, large ones lose little.
            memory.resize((memory.len() + memory.len() / 4).max(end).min(HUGE));
        }
        memory[end - lines * LINE..][..4].copy_from_slice(&owner.to_le_bytes());
        address
    }

    /// Gives a block back. The block that moved into its place, if any, is at its new address from now on.
    pub(super) fn free(&mut self, address: Address) -> Option<Moved> {
        let lines = self.pages[address.page()].lines_per_block;
        let class = self.class(lines);
        let class = &mut self.classes[class];
        let per_page = class.per_page();
        debug_assert!(
            self.pages[address.page()].ordinal * per_page + address.line() / lines < class.blocks,
            "freed once"
        );
        class.blocks -= 1;
        let last = class.address(class.blocks);
        let moved = (last != address).then(|| {
            let mut owner = [0; 4];
            owner.copy_from_slice(&self.block(last)[..4]);
            let (from, to) = self.pair(last, address);
            to.copy_from_slice(&from[..lines * LINE]);
            Moved { owner: u32::from_le_bytes(owner), to: address }
        });
        if last.line() == 0 {
            self.drop_last_page(lines);
        } else {
            let memory = self.pages[last.page()].memory.as_mut();
            let memory = memory.expect("a page of a class has memory");
            let used = last.line() * LINE;
            if memory.len() > 4096 && used < memory.len() / 2 {
                memory.resize(used + (used / 4).max(2048));
            }
        }
        moved
    }

    /// The block, and whatever follows it in its page: readers know their own length.
    #[inline]
    pub(super) fn block(&self, address: Address) -> &[u8] {
        match &self.pages[address.page()].memory {
            Some(memory) => &memory[address.line() * LINE..],
            None => &[],
        }
    }

    #[inline]
    pub(super) fn block_mut(&mut self, address: Address) -> &mut [u8] {
        let page = &mut self.pages[address.page()];
        let memory = page.memory.as_mut().expect("a block's page has memory");
        &mut memory[address.line() * LINE..][..page.lines_per_block * LINE]
    }

    /// Asks for the whole block.
    #[inline]
    pub(super) fn prefetch(&self, address: Address) {
        let page = &self.pages[address.page()];
        if let Some(memory) = &page.memory {
            prefetch_all(&memory[address.line() * LINE..][..page.lines_per_block * LINE]);
        }
    }

    /// Asks for the block that will move when this one is given back.
    pub(super) fn prefetch_last(&self, address: Address) {
        let lines = self.pages[address.page()].lines_per_block;
        if let Some(class) = self.classes.iter().find(|class| class.lines == lines) {
            self.prefetch(class.address(class.blocks - 1));
        }
    }

    /// How many bytes the block has room for.
    #[inline]
    pub(super) fn capacity(&self, address: Address) -> usize {
        self.pages[address.page()].lines_per_block * LINE
    }

    pub(super) fn bytes(&self) -> usize {
        let memory = self.pages.iter().filter_map(|page| page.memory.as_ref());
        memory.map(Region::bytes).sum::<usize>()
            + self.pages.capacity() * size_of::<Page>()
            + self.classes.capacity() * size_of::<Class>()
            + self.classes.iter().map(|class| class.pages.capacity() * 4).sum::<usize>()
            + self.vacant.capacity() * 4
    }

    fn class(&mut self, lines: usize) -> usize {
        if let Some(class) = self.classes.iter().position(|class| class.lines == lines) {
            return class;
        }
        // A class that has no blocks is as good as none: its entry is reused, and small indexes keep a single one.
        let new = Class { lines, blocks: 0, pages: Vec::new() };
        if let Some(class) = self.classes.iter().position(|class| class.blocks == 0) {
            self.classes[class] = new;
            return class;
        }
        grow_gently(&mut self.classes);
        self.classes.push(new);
        self.classes.len() - 1
    }

    fn add_page(&mut self, class: usize) {
        let class = &mut self.classes[class];
        let wanted = class.lines.max(if class.pages.is_empty() { 0 } else { LINES_PER_PAGE / 16 });
        let page = Page {
            memory: Some(Region::zeroed(wanted * LINE)),
            lines_per_block: class.lines,
            ordinal: class.pages.len(),
        };
        let number = if let Some(number) = self.vacant.pop() {
            self.pages[number as usize] = page;
            number
        } else {
            grow_gently(&mut self.pages);
            self.pages.push(page);
            u32::try_from(self.pages.len() - 1).expect("an address has fewer bits")
        };
        grow_gently(&mut class.pages);
        class.pages.push(number);
    }

    fn drop_last_page(&mut self, lines: usize) {
        let class = self.class(lines);
        let number = self.classes[class].pages.pop().expect("the block was in one");
        self.pages[number as usize].memory = None;
        grow_gently(&mut self.vacant);
        self.vacant.push(number);
    }

    /// A block to read, with whatever follows it in its page, and another to write.
    pub(super) fn pair(&mut self, from: Address, to: Address) -> (&[u8], &mut [u8]) {
        let (source, target) = (from.line() * LINE, to.line() * LINE);
        let target_len = self.pages[to.page()].lines_per_block * LINE;
        if from.page() == to.page() {
            let memory = self.pages[from.page()].memory.as_mut().expect("both blocks exist");
            if source < target {
                let (before, after) = memory.split_at_mut(target);
                return (&before[source..], &mut after[..target_len]);
            }
            let (before, after) = memory.split_at_mut(source);
            return (after, &mut before[target..][..target_len]);
        }
        let pages = self.pages.get_disjoint_mut([from.page(), to.page()]);
        let [from, to] = pages.expect("two pages of the heap");
        let (from, to) = (from.memory.as_ref(), to.memory.as_mut());
        let (from, to) = from.zip(to).expect("both blocks exist");
        (&from[source..], &mut to[target..][..target_len])
    }
}

/// Room for one more without the four that a vector starts with: 100,000 small boards would pay for them.
pub(super) fn grow_gently<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 2).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(heap: &mut Heap, at: &mut [Option<(Address, usize)>], slot: usize) {
        let Some((address, _)) = at[slot].take() else { return };
        if let Some(moved) = heap.free(address) {
            at[moved.owner as usize].as_mut().unwrap().0 = moved.to;
        }
    }

    #[test]
    fn blocks_keep_their_content_while_others_come_and_go() {
        let mut heap = Heap::new();
        let mut at: Vec<Option<(Address, usize)>> = Vec::new();
        let mut random = 1_u64;
        for step in 0..200_000_usize {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pick = (random >> 33) as usize;
            if at.len() < 5_000 || pick.is_multiple_of(2) && step < 100_000 {
                let bytes = 64 + pick / 2 % 1500;
                let owner = u32::try_from(at.len()).unwrap();
                let address = heap.allocate(bytes, owner);
                heap.block_mut(address)[4..bytes].fill(owner.to_le_bytes()[0]);
                at.push(Some((address, bytes)));
            } else {
                free(&mut heap, &mut at, pick / 2 % 5_000);
            }
        }
        for (owner, slot) in at.iter().enumerate() {
            let Some((address, bytes)) = slot else { continue };
            let fill = owner.to_le_bytes()[0];
            assert_eq!(heap.block(*address)[..4], u32::try_from(owner).unwrap().to_le_bytes());
            assert!(heap.block(*address)[4..*bytes].iter().all(|&byte| byte == fill));
        }
        let live: usize = at.iter().flatten().map(|(_, bytes)| bytes).sum();
        assert!(heap.bytes() < live * 3 / 2, "{} bytes for {live}", heap.bytes());
        for slot in 0..at.len() {
            free(&mut heap, &mut at, slot);
        }
        assert!(heap.bytes() < 4_096, "an empty heap keeps nothing: {}", heap.bytes());
    }
}
