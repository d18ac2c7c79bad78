//! Streaks: consecutive seasons with success.

/// A player's streaks on a board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    /// The one that goes on: it reaches up to the newest season, or to the one before it while that one is open.
    pub current: u32,
    /// The longest there was.
    pub longest: u32,
}

/// Counts streaks, season by season from the oldest on.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreakCounter(Streak);

impl StreakCounter {
    /// Takes the next season: whether the player had success in it (not so without an entry), and whether it is open. An
    /// open season can extend a streak, and not yet break it.
    pub fn season(&mut self, success: bool, open: bool) {
        let Streak { current, longest } = &mut self.0;
        if success {
            *current = current.saturating_add(1);
            *longest = (*longest).max(*current);
        } else if !open {
            *current = 0;
        }
    }

    /// Takes time in which there was no season: whatever came before is over.
    pub fn gap(&mut self) {
        self.0.current = 0;
    }

    /// Takes a closed season in which a streak had already been counted up to so many seasons; 0 where it was broken.
    pub fn counted(&mut self, length: u32) {
        self.0.current = length;
        self.0.longest = self.0.longest.max(length);
    }

    /// The streaks up to here.
    pub fn streak(self) -> Streak {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streak(seasons: &[bool], open: Option<bool>) -> (u32, u32) {
        let mut counter = StreakCounter::default();
        for success in seasons {
            counter.season(*success, false);
        }
        if let Some(success) = open {
            counter.season(success, true);
        }
        let Streak { current, longest } = counter.streak();
        (current, longest)
    }

    #[test]
    fn a_season_without_success_breaks_a_streak_and_the_longest_stays() {
        assert_eq!(streak(&[], None), (0, 0));
        assert_eq!(streak(&[true, true, false, true], None), (1, 2));
        assert_eq!(streak(&[true, true, true, false], None), (0, 3));
    }

    #[test]
    fn an_open_season_extends_a_streak_and_does_not_break_it() {
        assert_eq!(streak(&[true, true], Some(true)), (3, 3));
        assert_eq!(streak(&[true, true], Some(false)), (2, 2));
        assert_eq!(streak(&[true, false], Some(false)), (0, 1));
        assert_eq!(streak(&[], Some(true)), (1, 1));
    }

    #[test]
    fn a_streak_that_was_counted_before_goes_on() {
        let mut counter = StreakCounter::default();
        counter.counted(5);
        counter.season(true, true);
        assert_eq!(counter.streak(), Streak { current: 6, longest: 6 });
        counter.counted(0);
        assert_eq!(counter.streak(), Streak { current: 0, longest: 6 });
        counter.counted(2);
        counter.gap();
        counter.season(true, true);
        assert_eq!(counter.streak(), Streak { current: 1, longest: 6 });
    }
}
