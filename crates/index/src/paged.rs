//! A vector that never moves more than one page: numbers stay valid, growth costs one page, not a copy of everything.

use std::ops::{Index, IndexMut};

use super::mem::{Plain, Region};

/// Values by number, in pages of `2^SHIFT`. The first page starts with one value and doubles, so that a small index
/// pays for what it has.
pub(super) struct Paged<T, const SHIFT: u32> {
    pages: Vec<Region<T>>,
}

impl<T: Plain, const SHIFT: u32> Paged<T, SHIFT> {
    const PER_PAGE: usize = 1 << SHIFT;

    pub(super) const fn new() -> Self {
        Self { pages: Vec::new() }
    }

    /// Puts a value after all others, of which there are so many.
    pub(super) fn put(&mut self, number: usize, value: T) {
        if number >> SHIFT >= self.pages.len() {
            let first = self.pages.is_empty();
            self.pages.reserve_exact(if first { 1 } else { self.pages.len() });
            self.pages.push(Region::zeroed(if first { 1 } else { Self::PER_PAGE }));
        } else if number == self.pages[0].len() {
            self.pages[0].resize(number * 2);
        }
        self[number] = value;
    }

    pub(super) fn bytes(&self) -> usize {
        self.pages.capacity() * size_of::<Region<T>>()
            + self.pages.iter().map(Region::bytes).sum::<usize>()
    }
}

impl<T: Plain, const SHIFT: u32> Index<usize> for Paged<T, SHIFT> {
    type Output = T;
    #[inline]
    fn index(&self, number: usize) -> &T {
        &self.pages[number >> SHIFT][number & (Self::PER_PAGE - 1)]
    }
}

impl<T: Plain, const SHIFT: u32> IndexMut<usize> for Paged<T, SHIFT> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.pages[number >> SHIFT][number & (Self::PER_PAGE - 1)]
    }
}
