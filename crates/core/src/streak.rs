//! Streaks: consecutive seasons with success, told from the newest season back.
//!
//! A streak is derived when it is read, from what the seasons are then. A closed season may know for each player the streak that
//! reaches up to it, its *carry*. With it the seasons before need not be asked, and those that are gone still count.

/// A player's streaks on a board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    /// The one that goes on: it reaches up to the newest season, or to the one before it while that one is open.
    pub current: u32,
    /// The longest there was.
    pub longest: u32,
}

/// A player's part in a season.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the goal was met; not so without an entry.
    pub success: bool,
    /// Whether the season is open: it can extend a streak, and not yet break it.
    pub open: bool,
    /// Whether it does not end where the one taken before it begins: no streak leads from the one to the other.
    pub apart: bool,
    /// The streak that reaches up to it, where that is known.
    pub carry: Option<u32>,
}

/// Tells a player's streaks, season by season from the newest back.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreakFold {
    /// Seasons with success since the last one that broke a streak.
    run: u32,
    /// Set once it is known.
    current: Option<u32>,
    longest: u32,
}

impl StreakFold {
    /// Takes the next older season.
    pub fn season(&mut self, outcome: Outcome) {
        if outcome.apart {
            self.end();
        }
        let length = outcome.carry.unwrap_or(outcome.success.into());
        self.run = self.run.saturating_add(length);
        self.longest = self.longest.max(self.run);
        let breaks = !outcome.success && !outcome.open;
        if breaks || outcome.carry.is_some() {
            self.end();
        }
    }

    fn end(&mut self) {
        self.current.get_or_insert(self.run);
        self.run = 0;
    }

    /// Whether older seasons make no difference to the current streak.
    pub fn is_over(&self) -> bool {
        self.current.is_some()
    }

    /// The streaks, as far as they are known.
    pub fn streak(&self) -> Streak {
        Streak { current: self.current.unwrap_or(self.run), longest: self.longest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MET: Outcome = Outcome { success: true, open: false, apart: false, carry: None };
    const MISSED: Outcome = Outcome { success: false, ..MET };

    /// Of seasons from the oldest on.
    fn streak(seasons: &[Outcome]) -> (u32, u32) {
        let mut fold = StreakFold::default();
        seasons.iter().rev().for_each(|season| fold.season(*season));
        let Streak { current, longest } = fold.streak();
        (current, longest)
    }

    #[test]
    fn a_season_without_success_breaks_a_streak_and_the_longest_stays() {
        assert_eq!(streak(&[]), (0, 0));
        assert_eq!(streak(&[MET, MET, MISSED, MET]), (1, 2));
        assert_eq!(streak(&[MET, MET, MET, MISSED]), (0, 3));
    }

    #[test]
    fn an_open_season_extends_a_streak_and_does_not_break_it() {
        let open = |season| Outcome { open: true, ..season };
        assert_eq!(streak(&[MET, MET, open(MET)]), (3, 3));
        assert_eq!(streak(&[MET, MET, open(MISSED)]), (2, 2));
        assert_eq!(streak(&[MET, MISSED, open(MISSED)]), (0, 1));
        assert_eq!(streak(&[open(MET)]), (1, 1));
    }

    #[test]
    fn a_gap_between_seasons_breaks_a_streak() {
        let apart = Outcome { apart: true, ..MET };
        assert_eq!(streak(&[MET, apart, MET]), (1, 2));
    }

    #[test]
    fn a_carry_stands_for_the_seasons_before() {
        let carry = |length| Outcome { carry: Some(length), ..MET };
        assert_eq!(streak(&[carry(5), MET]), (6, 6));
        assert_eq!(streak(&[MISSED, carry(5), carry(6), MET]), (7, 7));
        assert_eq!(streak(&[carry(9), MISSED, MET]), (1, 9));
    }

    /// What is known of the seasons before changes nothing, but for those that are gone.
    fn carried(seasons: &[(bool, bool)], known: &[bool], gone: usize) -> Vec<Outcome> {
        let mut length = 0;
        let outcomes = seasons.iter().zip(known).map(|((success, apart), known)| {
            if *apart {
                length = 0;
            }
            length = if *success { length + 1 } else { 0 };
            Outcome { success: *success, open: false, apart: false, carry: known.then_some(length) }
        });
        let mut outcomes: Vec<_> = outcomes.collect();
        // A season is apart from the one before it, and says so of the older one.
        for (number, (_, apart)) in seasons.iter().enumerate().skip(1) {
            outcomes[number - 1].apart = *apart;
        }
        outcomes.split_off(gone)
    }

    proptest! {
        #[test]
        fn carries_change_nothing_wherever_they_are_known(
            seasons in proptest::collection::vec((any::<bool>(), proptest::bool::weighted(0.2)), 1..12),
            known in proptest::collection::vec(any::<bool>(), 12),
            gone in 0..12usize,
        ) {
            let plain = carried(&seasons, &[false; 12], 0);
            prop_assert_eq!(streak(&plain), streak(&carried(&seasons, &known, 0)));
            // The oldest that is kept knows what came before it.
            let gone = gone.min(seasons.len() - 1);
            let mut known = known;
            known[gone] = true;
            let kept = streak(&carried(&seasons, &known, gone));
            prop_assert_eq!(streak(&plain).0, kept.0);
        }
    }
}
