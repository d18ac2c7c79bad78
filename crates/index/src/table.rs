//! Small values by number, side by side: finding one is a single addition.
//!
//! What is looked at in every operation is here. All of it moves when it grows, which is little: eight bytes for each leaf, a line for each
//! node, four more for the few upper ones. What is larger is [`Paged`](super::paged::Paged).

use std::ops::{Deref, DerefMut};

use super::mem::{HUGE, Plain, Region};

/// Up to so many bytes a table doubles, so that a small index pays for what it has; a larger one grows by an eighth.
const SMALL: usize = 16 << 10;
/// From so many bytes on it has huge pages: there are a few tables, each of which is read at places that are anywhere.
const LARGE: usize = HUGE / 2;

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
            let more = number + if small { number.max(1) } else { number / 8 };
            let bytes = more * size_of::<T>();
            let pages = if bytes < LARGE { bytes } else { bytes.next_multiple_of(HUGE) };
            self.memory.resize(pages / size_of::<T>());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Link;

    #[test]
    fn values_stay_while_a_table_becomes_large() {
        let mut table = Table::new();
        for code in 0..1_100_000 {
            assert_eq!(table.push(Link::from_code(code)), code as usize);
        }
        assert!(table.iter().zip(0..).all(|(link, code)| link.code() == code));
        assert_eq!(table.bytes(), 3 * HUGE, "4.4 MB are three huge pages");
    }
}
