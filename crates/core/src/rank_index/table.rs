//! Small values by number, side by side: finding one is a single addition.
//!
//! What is looked at in every operation is here. All of it moves when it grows, which is little: eight bytes for each leaf, a line for each
//! node, four more for the few upper ones. What is larger is [`Paged`](super::paged::Paged).

use std::ops::{Deref, DerefMut};

use super::mem::{Plain, Region};

/// Up to so many bytes a table doubles, so that a small index pays for what it has; a larger one grows by an eighth.
const SMALL: usize = 16 << 10;

pub(super) struct Table<T> {
    memory: Region<T>,
    len: usize,
}

impl<T: Plain> Table<T> {
    /// Holds no memory of its own.
    pub(super) const fn new() -> Self {
        Self { memory: Region::empty(), len: 0 }
    }

    /// Appends a value and returns its number.
    pub(super) fn push(&mut self, value: T) -> usize {
        let number = self.len;
        if number == self.memory.len() {
            let small = number * size_of::<T>() < SMALL;
            self.memory.resize(number + if small { number.max(1) } else { number / 8 });
        }
        self.len += 1;
        self[number] = value;
        number
    }

    pub(super) fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}

impl<T: Plain> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.memory[..self.len]
    }
}

impl<T: Plain> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[..self.len]
    }
}
