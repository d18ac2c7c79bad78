//! Players who came into another leaf while leaves were changed, for the locator.

use super::bucket::Bucket;
use super::locator::Locator;
use super::mem::prefetch;

/// What the locator has to be told. It is all over memory, so that is done for many players at once.
#[derive(Default)]
pub(super) struct Moves(Vec<Move>);

struct Move {
    hash: u64,
    from: u32,
    to: u32,
}

impl Moves {
    #[inline]
    pub(super) fn push(&mut self, hash: u64, from: u32, to: u32) {
        self.0.push(Move { hash, from, to });
    }

    /// Asks for what the locator has of these players, so that it is there by the time they are told of.
    pub(super) fn fetch(&self, locator: &Locator) {
        for few in self.0.chunks(16) {
            let mut buckets = [None::<[&Bucket; 2]>; 16];
            for (both, moved) in buckets.iter_mut().zip(few) {
                *both = locator.buckets_for(moved.hash);
            }
            for bucket in buckets.into_iter().flatten().flatten() {
                prefetch(bucket);
            }
        }
    }

    pub(super) fn tell(self, locator: &mut Locator) {
        for Move { hash, from, to } in self.0 {
            locator.relocate(hash, from, to);
        }
    }
}
