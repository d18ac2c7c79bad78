//! Shortcuts to the places where scores end.
//!
//! On a board with many ties nearly everything happens at few places: a new score goes to the end of the players who have
//! it. The way down to it from the root is a row of cache misses; a finger is the leaf where it ended last time. It is
//! a hint: the leaf itself says whether it still holds, or the separators above it do.

use super::heap::Address;
use super::tree::NONE;

/// Scores that are remembered, at most: more than most boards have, and small enough for the near caches.
const SLOTS: usize = 8192;

/// Where the players with a score ended last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finger {
    /// The lower half of the score: the leaf knows the rest.
    folded: u32,
    pub(super) leaf: u32,
    /// Where the block of that leaf was then, and mostly still is: it can be fetched before that is known.
    pub(super) block: Address,
    /// The line of the block in which the row ended that was put there.
    pub(super) end: Address,
}

/// A finger for each of some scores.
pub(super) struct Fingers(Option<Box<[Finger; SLOTS]>>);

impl Fingers {
    pub(super) const fn new() -> Self {
        Self(None)
    }

    /// Begins to remember: 128 KiB that a large tree is worth.
    pub(super) fn start(&mut self) {
        if self.0.is_none() {
            let none = Finger { folded: 0, leaf: NONE, block: Address::NONE, end: Address::NONE };
            self.0 = vec![none; SLOTS].try_into().ok();
        }
    }

    #[inline]
    pub(super) fn get(&self, folded: i64) -> Option<Finger> {
        let held = self.0.as_ref()?[slot(folded)];
        (held.folded == lower_half(folded) && held.leaf != NONE).then_some(held)
    }

    #[inline]
    pub(super) fn set(&mut self, folded: i64, leaf: u32, block: Address, end: Address) {
        if let Some(slots) = &mut self.0 {
            slots[slot(folded)] = Finger { folded: lower_half(folded), leaf, block, end };
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.as_deref().map_or(0, size_of_val)
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the half that is meant")]
fn lower_half(folded: i64) -> u32 {
    folded.cast_unsigned() as u32
}

/// Scores side by side are side by side here too, and take each other's place only where they are far apart.
#[inline]
fn slot(folded: i64) -> usize {
    const ALL: u64 = SLOTS as u64;
    let folded = folded.cast_unsigned();
    let far = (folded / ALL).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51;
    (folded.wrapping_add(far) % ALL) as usize
}

/// Whether fingers are worth looking at. A board that is filled from elsewhere, in any order of times, finds nothing at the ends of
/// its scores, and looking costs two cache misses.
#[derive(Clone, Copy)]
pub(super) struct Trust {
    score: u8,
    skipped: u8,
}

impl Trust {
    const MOST: u8 = 16;
    /// How much a failure takes: what fails more often than every fifth time is not worth it.
    const FAILURE: u8 = 4;

    pub(super) const fn new() -> Self {
        Self { score: Self::MOST, skipped: 0 }
    }

    pub(super) fn pays(self) -> bool {
        self.score > 0
    }

    /// Whether to look this time: always while it pays, else every sixteenth time.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.skipped = if self.pays() { 0 } else { (self.skipped + 1) % 16 };
        self.skipped == 0
    }

    #[inline]
    pub(super) fn note(&mut self, found: bool) {
        self.score = if found {
            (self.score + 1).min(Self::MOST)
        } else {
            self.score.saturating_sub(Self::FAILURE)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexRecord, RankIndex, tests::SMALL};
    use standings_core::{SortKey, time::Millis};

    #[test]
    fn a_finger_is_that_of_its_own_score_only() {
        let mut fingers = Fingers::new();
        fingers.set(1, 7, Address::NONE, Address::NONE);
        assert_eq!((fingers.get(1), fingers.bytes()), (None, 0));
        fingers.start();
        for folded in [0, 1, -3, 5_000, -(1 << 53)] {
            assert_eq!(fingers.get(folded), None);
            for leaf in [0xff_fffe, 0] {
                let (block, end) = (Address::NONE, Address::default());
                fingers.set(folded, leaf, block, end);
                let held = Finger { folded: lower_half(folded), leaf, block, end };
                assert_eq!(fingers.get(folded), Some(held));
            }
            assert_eq!(fingers.get(folded + 2), None);
        }
    }

    #[test]
    fn scores_that_share_a_finger_do_not_share_a_place() {
        // As far apart as the lower half does not tell, and in one slot all the same.
        let apart = (1..1 << 20).map(|times: i64| times << 32).find(|far| slot(*far) == slot(0));
        let apart = apart.expect("one of 8,192 is");
        let mut index = RankIndex::with_limits(&SMALL);
        let mut all = Vec::new();
        for step in 0..400 {
            // Many of one before the other, or fingers would not be looked at.
            let key = SortKey { folded: apart * (step / 40 % 2), at: Millis(step) };
            let id = format!("{step:04}");
            index.upsert(&id, IndexRecord { key, updated_at: key.at });
            all.push((key, id));
        }
        index.check();
        all.sort_unstable();
        for ((key, id), position) in all.iter().zip(0..) {
            let found = index.position(id).map(|(position, record)| (position.0, record.key));
            assert_eq!(found, Some((position, *key)));
        }
    }

    #[test]
    fn trust_is_lost_by_failures_and_won_again_by_finds() {
        let mut trust = Trust::new();
        assert!((0..100).all(|_| trust.is_due()));
        for _ in 0..4 {
            trust.note(false);
        }
        assert_eq!((0..160).filter(|_| trust.is_due()).count(), 10);
        trust.note(true);
        assert!((0..100).all(|_| trust.is_due()));
    }
}
