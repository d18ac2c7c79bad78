//! The tally against a sorted map.

use std::collections::BTreeMap;

use super::*;

/// A tally, and the same thing the simple way.
struct Both(Tally, BTreeMap<i64, u32>);

impl Both {
    fn of(scores: impl IntoIterator<Item = i64>) -> Self {
        let mut both = Self(Tally::new(), BTreeMap::new());
        scores.into_iter().for_each(|folded| both.add(folded, 1));
        both
    }

    fn add(&mut self, folded: i64, players: u32) {
        self.0.add(folded, players);
        *self.1.entry(folded).or_default() += players;
    }

    fn remove(&mut self, folded: i64) {
        self.0.remove(folded);
        let left = self.1.remove(&folded).unwrap() - 1;
        if left > 0 {
            self.1.insert(folded, left);
        }
    }

    fn shift(&mut self, from: i64, to: i64) {
        self.0.shift(from, to);
        *self.1.entry(to).or_default() += 1;
        let left = self.1.remove(&from).unwrap() - 1;
        if left > 0 {
            self.1.insert(from, left);
        }
    }

    /// Compares every score and the one after it, and holds the tally to its invariants.
    fn check(&self) {
        let Self(tally, model) = self;
        let mut before = 0;
        for (&folded, &players) in model {
            let after = before + u64::from(players);
            assert_eq!(tally.before(folded), before, "before {folded}");
            if let Some(next) = folded.checked_add(1) {
                assert_eq!(tally.before(next), after, "before {next}");
            }
            before = after;
        }
        assert_eq!(tally.before(i64::MIN), 0);
        assert_eq!((tally.scores(), u64::from(tally.players)), (model.len(), before));
        let firsts = tally.chunks.iter().map(|chunk| chunk.first());
        assert!(tally.floors.is_sorted() && tally.floors.iter().zip(firsts).all(|(a, b)| *a <= b));
        assert!(tally.chunks.windows(2).all(|two| two[0].len() + two[1].len() > JOINED));
        let most = if model.is_empty() { 0 } else { 1500 + 64 * model.len() };
        assert!(tally.bytes() <= most, "{} bytes, {} scores", tally.bytes(), model.len());
    }
}

/// Players with such scores come and go, more of them coming at first, until all are gone.
fn come_and_go(score: impl Fn(u64) -> i64) {
    let (mut both, mut players, mut random) = (Both::of([]), Vec::new(), 1_u64);
    for step in 0_u32.. {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let coming = random >> 60 < if step % 50_000 < 30_000 { 12 } else { 5 };
        if coming && step < 200_000 {
            let folded = score(random >> 24);
            both.add(folded, 2);
            players.extend([folded; 2]);
        } else if !players.is_empty() {
            let player = usize::try_from(random >> 24).unwrap() % players.len();
            let to = score(random >> 8);
            if random >> 59 & 1 == 0 && step < 200_000 && players[player] != to {
                both.shift(players[player], to);
                players[player] = to;
            } else {
                both.remove(players.swap_remove(player));
            }
        }
        if step % 4_001 == 0 {
            both.check();
        }
        if step > 200_000 && players.is_empty() {
            return both.check();
        }
    }
}

#[test]
fn it_agrees_with_a_sorted_map_whatever_the_scores() {
    come_and_go(|random| -i64::from(random % 40 == 0));
    come_and_go(|random| (random % 300).cast_signed() - 150);
    come_and_go(|random| -(random % 20_000).cast_signed());
    come_and_go(|random| random.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed());
    come_and_go(|random| 1 << (random % 63) | (random % 5).cast_signed());
    come_and_go(|random| (i64::MAX - 100).wrapping_add((random % 200).cast_signed()));
}

#[test]
fn players_go_from_score_to_score() {
    // Every second score, so that there are several chunks and scores that nobody has.
    let scores = || (-400..400).step_by(2).chain([i64::MIN, i64::MAX]);
    let floors = Both::of(scores()).0.floors.clone();
    let near = floors.iter().flat_map(|floor| [floor.saturating_sub(1), *floor, floor + 1]);
    let ends = [i64::MIN, i64::MIN + 1, -401, 401, i64::MAX];
    for to in near.chain(ends) {
        for from in [i64::MIN, -400, floors[1], floors[2] + 2, i64::MAX] {
            // The only one of its score, and one of two.
            for others in 0..2 {
                let mut both = Both::of(scores());
                both.add(from, others + 1);
                (0..=others).for_each(|_| both.remove(from));
                both.add(from, others);
                if from != to {
                    both.shift(from, to);
                }
                both.check();
            }
        }
    }
    let mut alone = Both::of([7]);
    alone.shift(7, -7);
    alone.check();
    // Chunks that lose their scores one by one are joined.
    let mut leaving = Both::of(0..1_000);
    for from in 0..999 {
        leaving.shift(from, 999);
        leaving.check();
    }
}

#[test]
fn scores_may_come_in_any_order() {
    Both::of(-5_000..5_000).check();
    Both::of((-5_000..5_000).rev()).check();
    Both::of((0..10_000).map(|step| step * 7_919 % 10_000)).check();
    Both::of((0..5_000).flat_map(|step| [step, -step * step])).check();
}

#[test]
fn a_score_is_counted_whether_or_not_anybody_has_it() {
    let mut tally = Tally::new();
    assert_eq!(tally.before(0), 0);
    tally.add(10, 3);
    tally.add(20, u32::MAX - 5);
    tally.add(15, 0);
    let before = [i64::MIN, 10, 11, 20, 21, i64::MAX].map(|folded| tally.before(folded));
    assert_eq!(before, [0, 0, 3, 3, 4_294_967_293, 4_294_967_293]);
    assert_eq!(tally.scores(), 2);
}

#[test]
fn a_score_is_forgotten_with_its_last_player_and_memory_with_the_last_score() {
    let mut tally = Tally::new();
    assert_eq!((tally.scores(), tally.bytes()), (0, 0));
    tally.add(7, 2);
    tally.remove(7);
    assert_eq!((tally.scores(), tally.before(8)), (1, 1));
    tally.remove(7);
    assert_eq!((tally.scores(), tally.before(8), tally.bytes()), (0, 0, 0));
}

#[test]
fn memory_is_that_of_the_scores_that_are_left() {
    for direction in [-1, 1] {
        let mut both = Both::of([]);
        for step in 0..1_000_000 {
            both.add(step * direction, 1);
            if step >= 1_000 {
                both.remove((step - 1_000) * direction);
            }
        }
        both.check();
        assert!(both.0.bytes() < 20 * 1_000, "{} bytes", both.0.bytes());
    }
    let mut both = Both::of(0..100_000);
    (0..100_000).filter(|folded| folded % 1_000 > 0).for_each(|folded| both.remove(folded));
    both.check();
}

#[test]
#[should_panic(expected = "a player who leaves a score has had it")]
fn nobody_leaves_a_score_that_nobody_has() {
    Both::of([1, 3]).0.remove(2);
}

#[test]
#[should_panic(expected = "a tally counts players in 32 bits")]
fn more_players_than_an_index_can_have_are_refused() {
    Both::of([1]).0.add(2, u32::MAX);
}
