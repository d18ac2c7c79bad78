//! Blocks of many sizes without fragmentation.
//!
//! Leaves and hash shards grow and shrink all the time, and an allocator's holes would cost more than the ids. Here some
//! blocks of a size may be holes, one in 64 of the most that there were, for the next block of that size. Beyond that the last block
//! of the size moves into one. That works because every block is referred to from exactly one place, its owner's, whose number is the first four bytes
//! of the block; the caller is told which owner moved. Blocks are multiples of a cache line, cut from 2 MiB pages that belong to one
//! size; a page that empties is free for any size.

use super::mem::{HUGE, LINE, Region};

/// Where a block is: page number and line within the page. 17 + 15 bits reach 256 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub(super) struct Address(u32);

const LINES_PER_PAGE: usize = HUGE / LINE;
const LINE_BITS: u32 = LINES_PER_PAGE.trailing_zeros();

impl Address {
    /// Of no block: there is no page of this number.
    pub(super) const NONE: Self = Self(u32::MAX);

    fn new(page: usize, line: usize) -> Self {
        let page = u32::try_from(page).ok().filter(|page| *page < Self::NONE.0 >> LINE_BITS);
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

    /// The line of a block in which a byte is.
    #[inline]
    pub(super) fn line_of(self, byte: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "blocks end with their page")]
        Self(self.0 + (byte / LINE) as u32)
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
    /// A whole page that nobody needs, where there are many: one size takes what another gives up, and it neither comes from the
    /// system nor has to be cleared.
    spare: Option<Region<u8>>,
}

/// Pages from which on half a page is little: the last page of a size becomes a whole one then, and is not cut up again soon.
const MANY: usize = 64;

struct Page {
    memory: Option<Region<u8>>,
    lines_per_block: u32,
    class: u32,
    /// Where this page is in its class, to tell a block's index from its address.
    ordinal: u32,
}

impl Page {
    #[inline]
    fn bytes_per_block(&self) -> usize {
        self.lines_per_block as usize * LINE
    }
}

/// The smallest boards have two of these.
struct Class {
    lines: u32,
    /// All blocks, those that are holes among them.
    blocks: u32,
    pages: Vec<u32>,
    /// The last block of all never is a hole.
    holes: Option<Box<Holes>>,
}

/// Blocks that nobody owns.
#[derive(Default)]
struct Holes {
    /// In the order in which they became it: the last one is used first, because the caches still have it.
    blocks: Vec<u32>,
    /// None is after this block.
    last: u32,
}

impl Holes {
    fn push(&mut self, block: u32) {
        self.blocks.push(block);
        self.last = self.last.max(block);
    }

    /// Whether a block is a hole, after which there is no other. It then no longer counts as one.
    fn forget(&mut self, block: u32) -> bool {
        // Nearly always it is not, and that is known without looking at all of them.
        if self.last < block {
            return false;
        }
        let at = self.blocks.iter().position(|hole| *hole == block);
        // Their order is for the caches alone.
        let was = at.map(|at| self.blocks.swap_remove(at)).is_some();
        self.last = self.blocks.iter().copied().max().unwrap_or(0);
        was
    }
}

impl Class {
    const fn new(lines: u32) -> Self {
        Self { lines, blocks: 0, pages: Vec::new(), holes: None }
    }

    /// How many holes there may be. What is freed is mostly used again soon, and nothing has to move.
    fn holes_allowed(&self) -> usize {
        self.blocks as usize / 64
    }

    /// Whether the last block is a hole, which then no longer counts as one.
    fn forget_last_hole(&mut self) -> bool {
        let last = self.blocks.checked_sub(1);
        self.holes.as_mut().zip(last).is_some_and(|(holes, last)| holes.forget(last))
    }

    /// Memory outside of the struct.
    fn bytes(&self) -> usize {
        let holes = self.holes.as_ref();
        let numbers = self.pages.capacity() + holes.map_or(0, |holes| holes.blocks.capacity());
        numbers * size_of::<u32>() + holes.map_or(0, |holes| size_of_val(&**holes))
    }

    fn per_page(&self) -> usize {
        LINES_PER_PAGE / self.lines as usize
    }

    fn address(&self, block: u32) -> Address {
        let block = block as usize;
        let page = self.pages[block / self.per_page()] as usize;
        Address::new(page, block % self.per_page() * self.lines as usize)
    }
}

impl Heap {
    pub(super) const fn new() -> Self {
        Self { pages: Vec::new(), classes: Vec::new(), spare: None }
    }

    /// The largest block there can be.
    pub(super) const MAX_BYTES: usize = HUGE;

    /// A block of at least so many bytes, with content as an earlier owner left it but for the owner's number.
    pub(super) fn allocate(&mut self, bytes: usize, owner: u32) -> Address {
        assert!((1..=Self::MAX_BYTES).contains(&bytes), "a block of {bytes} bytes");
        let class = self.class(narrow(bytes.div_ceil(LINE)));
        let hole = self.classes[class].holes.as_mut().and_then(|holes| holes.blocks.pop());
        let address = match hole {
            Some(hole) => self.classes[class].address(hole),
            None => self.append(class),
        };
        self.block_mut(address)[..4].copy_from_slice(&owner.to_le_bytes());
        address
    }

    /// A block after all others.
    fn append(&mut self, class: usize) -> Address {
        let (block, per_page) = (self.classes[class].blocks, self.classes[class].per_page());
        if block as usize / per_page == self.classes[class].pages.len() {
            self.add_page(class);
        }
        let class = &mut self.classes[class];
        class.blocks += 1;
        let address = class.address(block);
        let end = (address.line() + class.lines as usize) * LINE;
        let len = self.memory_of(address).len();
        if len < end {
            // Only the last page of a size may be smaller than a page: small indexes stay small, large ones lose little.
            let more = (len + len / 4).max(end);
            let whole = more >= if self.has_many() { HUGE / 2 } else { HUGE };
            self.resize(address, if whole { HUGE } else { more });
        }
        address
    }

    fn memory_of(&mut self, address: Address) -> &mut Region<u8> {
        let memory = self.pages[address.page()].memory.as_mut();
        memory.expect("a page of a class has memory")
    }

    /// Gives the page of an address memory of another size.
    fn resize(&mut self, address: Address, len: usize) {
        match self.spare.take() {
            Some(mut whole) if len == HUGE => {
                let memory = self.memory_of(address);
                whole[..memory.len()].copy_from_slice(memory);
                *memory = whole;
            }
            spare => {
                self.spare = spare;
                let memory = self.memory_of(address);
                if memory.len() < HUGE {
                    memory.resize(len);
                    return;
                }
                let mut part = Region::zeroed(len);
                part.copy_from_slice(&memory[..len]);
                let whole = std::mem::replace(memory, part);
                self.keep(whole);
            }
        }
    }

    /// Keeps a page that is no longer needed, if it is a whole one and there are many. Where there no longer are, the one that was kept
    /// goes as well.
    fn keep(&mut self, memory: Region<u8>) {
        if !self.has_many() {
            self.spare = None;
        } else if memory.len() == HUGE {
            self.spare = Some(memory);
        }
    }

    /// Whether many pages have memory. Asked where a page comes or goes, or may soon: a number that is kept would cost every small
    /// index.
    fn has_many(&self) -> bool {
        self.pages.iter().filter(|page| page.memory.is_some()).nth(MANY - 1).is_some()
    }

    /// Gives a block back. The block that moved, if any, is at its new address from now on.
    pub(super) fn free(&mut self, address: Address) -> Option<Moved> {
        let page = &self.pages[address.page()];
        let (number, ordinal) = (page.class as usize, page.ordinal as usize);
        let class = &mut self.classes[number];
        let block = narrow(ordinal * class.per_page() + address.line() / class.lines as usize);
        let last = class.blocks - 1;
        let holes = class.holes.as_ref().map_or(&[][..], |holes| &holes.blocks);
        debug_assert!(block <= last && !holes.contains(&block), "freed once");
        if block < last && holes.len() < class.holes_allowed() {
            class.holes.get_or_insert_default().push(block);
            return None;
        }
        let from = class.address(last);
        let moved = (block < last).then(|| {
            let owner = *self.block(from).first_chunk().expect("a block is at least a line");
            let (from, into) = self.pair(from, address);
            into.copy_from_slice(&from[..into.len()]);
            Moved { owner: u32::from_le_bytes(owner), to: address }
        });
        self.drop_last(number);
        // Holes before it go with it.
        while self.classes[number].forget_last_hole() {
            self.drop_last(number);
        }
        moved
    }

    /// Gives the last block's memory back.
    fn drop_last(&mut self, class: usize) {
        let held = &mut self.classes[class];
        held.blocks -= 1;
        let last = held.address(held.blocks);
        if last.line() == 0 {
            self.drop_last_page(class);
            return;
        }
        let (used, len) = (last.line() * LINE, self.memory_of(last).len());
        let enough = used >= len / 2 || len == HUGE && used >= HUGE / 4 && self.has_many();
        if len > 4096 && !enough {
            self.resize(last, used + (used / 4).max(2048));
        }
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
        let bytes = page.bytes_per_block();
        let memory = page.memory.as_mut().expect("a block's page has memory");
        &mut memory[address.line() * LINE..][..bytes]
    }

    /// Just the block.
    #[inline]
    pub(super) fn whole(&self, address: Address) -> &[u8] {
        let page = &self.pages[address.page()];
        match &page.memory {
            Some(memory) => &memory[address.line() * LINE..][..page.bytes_per_block()],
            None => &[],
        }
    }

    /// The first bytes of what was a block some time ago, to fetch ahead: none, if there are not so many any more.
    #[inline]
    pub(super) fn start(&self, address: Address, bytes: usize) -> &[u8] {
        let memory = self.pages.get(address.page()).and_then(|page| page.memory.as_ref());
        let from = address.line() * LINE;
        memory.and_then(|memory| memory.get(from..from + bytes)).unwrap_or(&[])
    }

    /// How many bytes the block has room for.
    #[inline]
    pub(super) fn capacity(&self, address: Address) -> usize {
        self.pages[address.page()].bytes_per_block()
    }

    pub(super) fn bytes(&self) -> usize {
        let memory = self.pages.iter().filter_map(|page| page.memory.as_ref());
        memory.chain(&self.spare).map(Region::bytes).sum::<usize>()
            + self.pages.capacity() * size_of::<Page>()
            + self.classes.capacity() * size_of::<Class>()
            + self.classes.iter().map(Class::bytes).sum::<usize>()
    }

    fn class(&mut self, lines: u32) -> usize {
        if let Some(class) = self.classes.iter().position(|class| class.lines == lines) {
            return class;
        }
        // A class that has no blocks is as good as none: its entry is reused, and small indexes keep a single one.
        let new = Class::new(lines);
        if let Some(class) = self.classes.iter().position(|class| class.blocks == 0) {
            self.classes[class] = new;
            return class;
        }
        grow_gently(&mut self.classes);
        self.classes.push(new);
        self.classes.len() - 1
    }

    fn add_page(&mut self, number: usize) {
        let class = &mut self.classes[number];
        let wanted = (class.lines as usize).max(if class.pages.is_empty() {
            0
        } else {
            LINES_PER_PAGE / 16
        });
        let page = Page {
            memory: Some(Region::zeroed(wanted * LINE)),
            lines_per_block: class.lines,
            class: narrow(number),
            ordinal: narrow(class.pages.len()),
        };
        let vacant = self.pages.iter().position(|page| page.memory.is_none());
        let number = vacant.unwrap_or(self.pages.len());
        if number == self.pages.len() {
            grow_gently(&mut self.pages);
            self.pages.push(page);
        } else {
            self.pages[number] = page;
        }
        grow_gently(&mut class.pages);
        class.pages.push(narrow(number));
    }

    fn drop_last_page(&mut self, class: usize) {
        let class = &mut self.classes[class];
        let number = class.pages.pop().expect("the block was in one");
        if class.blocks == 0 {
            class.holes = None;
        }
        let memory = self.pages[number as usize].memory.take();
        self.keep(memory.expect("a page of a class has memory"));
    }

    /// A block to read, with whatever follows it in its page, and another to write.
    pub(super) fn pair(&mut self, from: Address, to: Address) -> (&[u8], &mut [u8]) {
        let (source, target) = (from.line() * LINE, to.line() * LINE);
        let target_len = self.pages[to.page()].bytes_per_block();
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

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("an address has fewer bits")
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

    impl Heap {
        /// Holes are blocks, each once, and the last block is none of them.
        fn check(&self) {
            for class in &self.classes {
                let Some(held) = &class.holes else { continue };
                let mut holes = held.blocks.clone();
                holes.sort_unstable();
                assert!(holes.is_sorted_by(|a, b| a < b), "a block is a hole once");
                let last = holes.last().copied();
                assert!(last.is_none_or(|last| last + 1 < class.blocks && last <= held.last));
            }
        }
    }

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
            if step % 64 == 0 {
                heap.check();
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
            if slot % 64 == 0 {
                heap.check();
            }
        }
        assert!(heap.bytes() < 4_096, "an empty heap keeps nothing: {}", heap.bytes());
    }

    #[test]
    fn among_many_pages_the_last_one_of_a_size_is_whole_from_the_half_to_a_quarter() {
        let mut heap = Heap::new();
        let large: Vec<Address> =
            (0..).take(MANY - 1).map(|owner| heap.allocate(HUGE, owner)).collect();
        let of_large = heap.bytes();
        let mut last = Vec::new();
        let grow_to = |heap: &mut Heap, last: &mut Vec<Address>, bytes: usize| {
            let more = (last.len()..bytes / 1024).map(|owner| heap.allocate(1024, narrow(owner)));
            last.extend(more);
            heap.bytes() - of_large
        };
        assert!(grow_to(&mut heap, &mut last, HUGE / 3) < HUGE / 2);
        assert!(grow_to(&mut heap, &mut last, HUGE / 2 + 1024) >= HUGE);
        let shrink_to = |heap: &mut Heap, last: &mut Vec<Address>, bytes: usize| {
            last.drain(bytes / 1024..).rev().for_each(|at| assert!(heap.free(at).is_none()));
            heap.bytes() - of_large
        };
        assert!(shrink_to(&mut heap, &mut last, HUGE / 4) >= HUGE, "it may be needed again");
        // The whole page is kept for whoever needs one.
        let with_kept = shrink_to(&mut heap, &mut last, HUGE / 4 - 1024);
        assert!((HUGE..HUGE + HUGE / 2).contains(&with_kept), "{with_kept}");
        assert!(shrink_to(&mut heap, &mut last, 0) < HUGE, "fewer than many keep none");
        drop(large);
    }

    #[test]
    fn among_many_pages_one_size_takes_what_another_gives_up() {
        let mut heap = Heap::new();
        let mut large: Vec<Address> = (0..80).map(|owner| heap.allocate(HUGE, owner)).collect();
        for address in &large {
            heap.block_mut(*address)[4..].fill(0xff);
        }
        let mut small = Vec::new();
        for owner in 100..6_000_u32 {
            let address = heap.allocate(1_000, owner);
            heap.block_mut(address)[4..8].copy_from_slice(&owner.to_le_bytes());
            small.push((address, owner));
            if [1_000, 4_000].contains(&owner) {
                let before = heap.bytes();
                assert!(heap.free(large.pop().unwrap()).is_none());
                assert_eq!(heap.bytes(), before, "a page is kept");
                assert!(heap.free(large.pop().unwrap()).is_none());
                assert_eq!(heap.bytes(), before - HUGE, "but one only");
            }
        }
        for (address, owner) in &small {
            let block = heap.block(*address);
            assert_eq!([&block[..4], &block[4..8]], [owner.to_le_bytes(); 2]);
        }
        for (address, owner) in small.into_iter().skip(100).rev() {
            assert_eq!(heap.block(address)[4..8], owner.to_le_bytes());
            assert!(heap.free(address).is_none(), "it was the last one");
        }
        large.into_iter().rev().for_each(|address| assert!(heap.free(address).is_none()));
        assert!(heap.bytes() < HUGE, "with few pages none is kept: {}", heap.bytes());
    }
}
