//! Memory the way large random access needs it: huge pages, lazily zeroed, and hints to fetch ahead.
//!
//! This is the one file of the product with unsafe code. At 25 million players every operation is a handful of cache
//! misses, and each miss into 4 KiB pages is also a miss in the address translation: asking for 2 MiB pages takes a third
//! off a rank. That needs `madvise` on memory aligned to 2 MiB, which no safe allocation offers, and a prefetch is an
//! intrinsic, as is working on sixteen bytes at once. Everything unsafe is behind [`Region`], a slice that owns its
//! memory, [`prefetch`], [`give_back`], and what is done with sixteen bytes at once.
#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    marker::PhantomData,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

use super::heap::Address;
use super::node::{Children, Counts, Link, Sums};

/// The size of a huge page, and of the pages that blocks are cut from.
pub(super) const HUGE: usize = 2 << 20;
/// From here on a region is mapped on its own. The last page of every size grows step by step, and what an allocator keeps of
/// the steps would be 2 bytes a player.
const MAPPED: usize = 128 << 10;
/// Regions start on a cache line.
pub(super) const LINE: usize = 64;

/// Types for which any bytes, all zero among them, are a value, and which own nothing.
///
/// # Safety
/// The type has no invalid bit patterns, no drop glue and no interior mutability.
pub(super) unsafe trait Plain: Copy + Send + Sync {}
// SAFETY: integers, and `repr(C)` structs of integers.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for Address {}
// SAFETY: as above.
unsafe impl Plain for Link {}
// SAFETY: as above.
unsafe impl Plain for Counts {}
// SAFETY: as above.
unsafe impl Plain for Sums {}
// SAFETY: as above.
unsafe impl Plain for Children {}

/// Values in memory of their own, zero at first, aligned to a cache line, and from 2 MiB on made of huge
/// pages where the system has them.
pub(super) struct Region<T> {
    start: NonNull<T>,
    len: usize,
    owns: PhantomData<T>,
}

// SAFETY: a region owns its memory and hands out borrows by the usual rules, like a boxed slice.
unsafe impl<T: Plain> Send for Region<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Region<T> {}

impl<T: Plain> Region<T> {
    /// Of no values, and without memory.
    pub(super) const fn empty() -> Self {
        Self { start: NonNull::dangling(), len: 0, owns: PhantomData }
    }

    pub(super) fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        assert!(layout.size() > 0, "a region holds something");
        let start = if layout.size() >= MAPPED {
            mapping::map(layout)
        } else {
            // SAFETY: the size is not zero.
            unsafe { alloc_zeroed(layout) }
        };
        let Some(start) = NonNull::new(start.cast()) else { handle_alloc_error(layout) };
        Self { start, len, owns: PhantomData }
    }

    /// Another size with as much of the content as fits. What is new is zero, or what was there before.
    pub(super) fn resize(&mut self, len: usize) {
        let (old, new) = (Self::layout(self.len), Self::layout(len));
        let small = |layout: Layout| (MAPPED..HUGE).contains(&layout.size());
        if small(old)
            && small(new)
            && let Some(start) = mapping::remap(self.start.cast(), old, new)
        {
            (self.start, self.len) = (start.cast(), len);
            return;
        }
        let mut other = Self::zeroed(len);
        let keep = len.min(self.len);
        other[..keep].copy_from_slice(&self[..keep]);
        *self = other;
    }

    pub(super) fn bytes(&self) -> usize {
        Self::layout(self.len).size()
    }

    fn layout(len: usize) -> Layout {
        let exact = Layout::array::<T>(len).expect("far below the address space");
        let align = if exact.size() >= HUGE { HUGE } else { LINE };
        exact.align_to(align).expect("alignments are powers of two")
    }
}

impl<T: Plain> Deref for Region<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `start` points to `len` values, all initialised (zero is one), owned by self; or to nowhere, and there are none.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for Region<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and self is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T> Drop for Region<T> {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        let exact = Layout::array::<T>(self.len).expect("it was allocated with it");
        let align = if exact.size() >= HUGE { HUGE } else { LINE };
        let layout = exact.align_to(align).expect("it was allocated with it");
        if layout.size() >= MAPPED {
            mapping::unmap(self.start.as_ptr().cast(), layout);
        } else {
            // SAFETY: allocated in `zeroed` with this layout, and dropped once.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) }
        }
    }
}

/// Mapped by hand: the memory arrives zeroed without being touched, and goes back to the system when it is dropped.
#[cfg(target_os = "linux")]
mod mapping {
    use super::{HUGE, Layout, NonNull};

    /// Null on failure, like an allocator.
    pub(super) fn map(layout: Layout) -> *mut u8 {
        let size = layout.size().next_multiple_of(4096);
        let extra = if layout.align() == HUGE { HUGE } else { 0 };
        // SAFETY: a new anonymous mapping touches nothing that exists. The parts cut off before and after the aligned middle
        // are ours and unused. The advice changes no content, so its failure is harmless.
        unsafe {
            let raw = libc::mmap(
                std::ptr::null_mut(),
                size + extra,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if raw == libc::MAP_FAILED {
                return std::ptr::null_mut();
            }
            if extra == 0 {
                return raw.cast();
            }
            let before = raw.cast::<u8>().align_offset(HUGE);
            let start = raw.cast::<u8>().add(before);
            if before > 0 {
                libc::munmap(raw, before);
            }
            if before < HUGE {
                libc::munmap(start.add(size).cast(), HUGE - before);
            }
            libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE);
            start
        }
    }

    /// Moves a mapping without huge pages to one of another size, page by page and not byte by byte. None on failure, with nothing
    /// changed.
    pub(super) fn remap(start: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        let [old, new] = [old, new].map(|layout| layout.size().next_multiple_of(4096));
        // SAFETY: exactly what `map` made, to which only the caller refers, who forgets the old address.
        let moved = unsafe { libc::mremap(start.as_ptr().cast(), old, new, libc::MREMAP_MAYMOVE) };
        NonNull::new(moved.cast()).filter(|_| moved != libc::MAP_FAILED)
    }

    pub(super) fn unmap(start: *mut u8, layout: Layout) {
        // SAFETY: exactly what `map` kept of its mapping, which nothing refers to any more.
        unsafe { libc::munmap(start.cast(), layout.size().next_multiple_of(4096)) };
    }
}

#[cfg(not(target_os = "linux"))]
mod mapping {
    use super::{Layout, NonNull, alloc_zeroed, dealloc};

    pub(super) fn remap(_: NonNull<u8>, _: Layout, _: Layout) -> Option<NonNull<u8>> {
        None
    }

    pub(super) fn map(layout: Layout) -> *mut u8 {
        // SAFETY: the size is at least that of [`MAPPED`](super::MAPPED).
        unsafe { alloc_zeroed(layout) }
    }

    pub(super) fn unmap(start: *mut u8, layout: Layout) {
        // SAFETY: allocated in `map` with this layout.
        unsafe { dealloc(start, layout) }
    }
}

/// Has the allocator give the system back what it keeps for later. On its own it only cuts off the end of what a thread has
/// allocated, and one small value that lives on there holds everything before it: tens of megabytes after an import, for good.
///
/// Others who allocate may wait for it: something to do after large work, not during it.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it changes nothing that is allocated, and may be called from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Asks for the cache line that holds a value, and goes on without waiting.
#[inline]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch cannot fault, and the address is that of a live borrow.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(std::ptr::from_ref(value).cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Asks for every line of a slice.
#[inline]
pub(super) fn prefetch_all(bytes: &[u8]) {
    for line in bytes.chunks(LINE) {
        prefetch(&line[0]);
    }
}

/// Bytes that are compared at once.
pub(super) const WIDTH: usize = 16;

/// A bit for each byte that is equal to the one sought.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn equal_bytes(lanes: &[u8; WIDTH], sought: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every x86-64 has SSE2, and the load is of sixteen bytes at any address.
    unsafe {
        let lanes = _mm_loadu_si128(lanes.as_ptr().cast());
        let equal = _mm_cmpeq_epi8(lanes, _mm_set1_epi8(sought.cast_signed()));
        _mm_movemask_epi8(equal).cast_unsigned()
    }
}

/// Two bits for each pair of bytes that is equal to the one sought, whose lower byte comes first.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn equal_pairs(lanes: &[u8; WIDTH], sought: u16) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi16};
    // SAFETY: as above.
    unsafe {
        let lanes = _mm_loadu_si128(lanes.as_ptr().cast());
        let equal = _mm_cmpeq_epi16(lanes, _mm_set1_epi16(sought.cast_signed()));
        _mm_movemask_epi8(equal).cast_unsigned()
    }
}

/// The sum of the first `count` of 56 bytes: without a branch, because how many is anyone's guess.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn sum_of_first(bytes: &[u8; 56], count: usize) -> u64 {
    use std::arch::x86_64::{
        _mm_add_epi64, _mm_and_si128, _mm_cmpgt_epi8, _mm_cvtsi128_si64, _mm_loadl_epi64,
        _mm_loadu_si128, _mm_sad_epu8, _mm_set_epi8, _mm_set1_epi8, _mm_setzero_si128,
        _mm_unpackhi_epi64,
    };
    #[expect(clippy::cast_possible_truncation, reason = "at most 56")]
    let count = count as i8;
    let (sixteens, rest) = bytes.as_chunks::<WIDTH>();
    // SAFETY: every x86-64 has SSE2; the loads are of sixteen bytes of a chunk, and of the eight that are left.
    unsafe {
        let numbers = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        let zero = _mm_setzero_si128();
        let mut sums = zero;
        for at in 0..4_i8 {
            let lanes = match sixteens.get(at.cast_unsigned() as usize) {
                Some(lanes) => _mm_loadu_si128(lanes.as_ptr().cast()),
                None => _mm_loadl_epi64(rest.as_ptr().cast()),
            };
            let counted = _mm_cmpgt_epi8(_mm_set1_epi8(count - 16 * at), numbers);
            sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_and_si128(lanes, counted), zero));
        }
        let both = _mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums));
        _mm_cvtsi128_si64(both).cast_unsigned()
    }
}

/// The sum of the first `count` of 56 bytes.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn sum_of_first(bytes: &[u8; 56], count: usize) -> u64 {
    bytes.iter().take(count).map(|&byte| u64::from(byte)).sum()
}

/// The bytes that sixteen lower-case hex digits stand for.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn hex_of_sixteen(digits: &[u8; WIDTH]) -> Option<[u8; 8]> {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_and_si128, _mm_cmpgt_epi8, _mm_cvtsi128_si64, _mm_loadu_si128,
        _mm_movemask_epi8, _mm_or_si128, _mm_packus_epi16, _mm_set1_epi8, _mm_set1_epi16,
        _mm_slli_epi16, _mm_srli_epi16,
    };
    // SAFETY: as above.
    unsafe {
        let text = _mm_loadu_si128(digits.as_ptr().cast());
        let between = |low: u8, high: u8| -> __m128i {
            let above = _mm_cmpgt_epi8(text, _mm_set1_epi8(low.cast_signed() - 1));
            _mm_and_si128(above, _mm_cmpgt_epi8(_mm_set1_epi8(high.cast_signed() + 1), text))
        };
        let (digit, letter) = (between(b'0', b'9'), between(b'a', b'f'));
        if _mm_movemask_epi8(_mm_or_si128(digit, letter)) != 0xffff {
            return None;
        }
        let low = _mm_and_si128(text, _mm_set1_epi8(15));
        let values = _mm_add_epi8(low, _mm_and_si128(letter, _mm_set1_epi8(9)));
        // Each pair of values, the first of which is the higher half, to a byte.
        let pairs = _mm_or_si128(_mm_slli_epi16(values, 4), _mm_srli_epi16(values, 8));
        let bytes = _mm_and_si128(pairs, _mm_set1_epi16(0xff));
        Some(_mm_cvtsi128_si64(_mm_packus_epi16(bytes, bytes)).to_le_bytes())
    }
}

/// The bytes that sixteen lower-case hex digits stand for.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn hex_of_sixteen(digits: &[u8; WIDTH]) -> Option<[u8; 8]> {
    use super::packed::hex_of_eight;
    let (eights, _) = digits.as_chunks::<8>();
    let mut packed = [0; 8];
    for (eight, four) in eights.iter().zip(packed.as_chunks_mut::<4>().0) {
        *four = hex_of_eight(*eight)?;
    }
    Some(packed)
}

/// A bit for each byte that is equal to the one sought.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn equal_bytes(lanes: &[u8; WIDTH], sought: u8) -> u32 {
    lanes.iter().enumerate().fold(0, |mask, (at, &byte)| mask | u32::from(byte == sought) << at)
}

/// Two bits for each pair of bytes that is equal to the one sought, whose lower byte comes first.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn equal_pairs(lanes: &[u8; WIDTH], sought: u16) -> u32 {
    let pairs = lanes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).enumerate();
    pairs.fold(0, |mask, (at, pair)| mask | (u32::from(pair == sought) * 3) << (2 * at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_up_to_every_index() {
        for bytes in [[255; 56], std::array::from_fn(|at| (at * 37 % 256).to_le_bytes()[0])] {
            for count in 0..=56 {
                let plain: u64 = bytes[..count].iter().map(|&byte| u64::from(byte)).sum();
                assert_eq!(sum_of_first(&bytes, count), plain, "{count}");
            }
        }
    }
}
