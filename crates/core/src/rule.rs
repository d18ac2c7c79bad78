//! What a submission does to an entry: the one place where the rules of a board are applied.
//!
//! [`decide`] is pure. The engine looks up what the rules need (the current entry), passes the time in, and stores the
//! decided, absolute result. Replaying a stored result needs neither rules nor a clock.

use serde::{Deserialize, Serialize};

use crate::{
    board::{Board, Rule},
    id::{EventId, Name, PlayerId},
    limits::{MAX_AHEAD, MAX_SCORE},
    score::Score,
    time::Millis,
};

/// What a game server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Who scored.
    pub player: PlayerId,
    /// What it does to the score is the board's rule.
    pub points: Score,
    /// Makes it count once.
    pub event_id: Option<EventId>,
    /// When it happened; when absent, the moment it is decided.
    pub at: Option<Millis>,
    /// Sets the player's display name in the same step.
    pub user_name: Option<Name>,
    /// Apply only if the player has no entry, or one last updated before this instant.
    pub updated_before: Option<Millis>,
}

/// A player's place in a season, but for the rank, which is the standing's to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The current score.
    pub score: Score,
    /// When that score was reached.
    pub at: Millis,
    /// When a submission was last accepted for it, by the server's clock.
    pub updated_at: Millis,
}

/// Why a submission was not accepted. Nothing changes and no event id is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Outside the board's `min_points` and `max_points`.
    #[error("points must lie within the board's limits ({}); send a value in that range", limits(*min, *max))]
    PointsOutOfRange {
        /// The board's `min_points`.
        min: Option<Score>,
        /// The board's `max_points`.
        max: Option<Score>,
    },
    /// Further ahead than clocks may differ.
    #[error(
        "at is more than {} s ahead of the server's clock; check the sender's clock",
        MAX_AHEAD.0 / 1000
    )]
    AtInFuture,
    /// The season that contains the time no longer takes submissions.
    #[error(
        "the season of this time no longer takes submissions; only the current season does, and the one before during its grace"
    )]
    SeasonClosed,
    /// The event id was used for something else.
    #[error(
        "this event_id was accepted before with another user_id or other points; use a new event_id for a new event"
    )]
    EventIdReused,
    /// `expect` did not hold.
    #[error(
        "the entry was updated at or after the time given in expect.updated_before; read it again and decide anew"
    )]
    ConditionFailed,
    /// The board takes one submission per period, and has it.
    #[error(
        "this board takes one submission per player and period, and has already accepted one; try again in the next"
    )]
    TooSoon,
    /// The sum would leave the range of scores.
    #[error("the sum would leave the range of scores, ±{MAX_SCORE}")]
    ScoreOutOfRange,
    /// A new player, and the season has as many as it may have.
    #[error(
        "this season has as many players as it may have, and takes no new ones; those who are on it go on scoring; raise max_players if the server has the memory"
    )]
    BoardFull,
}

fn limits(min: Option<Score>, max: Option<Score>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "none".to_owned(),
    }
}

impl Rejection {
    /// The stable name of the rule that was broken.
    pub fn code(self) -> &'static str {
        match self {
            Self::PointsOutOfRange { .. } => "points_out_of_range",
            Self::AtInFuture => "at_in_future",
            Self::SeasonClosed => "season_closed",
            Self::EventIdReused => "event_id_reused",
            Self::ConditionFailed => "condition_failed",
            Self::TooSoon => "too_soon",
            Self::ScoreOutOfRange => "score_out_of_range",
            Self::BoardFull => "board_full",
        }
    }
}

/// When a submission counts: its own time, or the moment it is decided.
pub fn event_time(submission: &Submission, now: Millis) -> Result<Millis, Rejection> {
    match submission.at {
        Some(at) if at > now.plus(MAX_AHEAD) => Err(Rejection::AtInFuture),
        Some(at) => Ok(at),
        None => Ok(now),
    }
}

/// Applies the board's rule to the player's entry in the season of the submission. `at` is the [`event_time`], `now` the
/// server's clock.
///
/// The checks come in this order, and the first that fails is the answer: limits of points, the client's condition, one
/// per period, range of the sum. Whether there is room for a new player is the engine's to say, after all of these.
pub fn decide(
    board: &Board,
    entry: Option<Entry>,
    submission: &Submission,
    at: Millis,
    now: Millis,
) -> Result<Entry, Rejection> {
    let points = submission.points;
    let (min, max) = (board.min_points(), board.max_points());
    if min.is_some_and(|min| points < min) || max.is_some_and(|max| points > max) {
        return Err(Rejection::PointsOutOfRange { min, max });
    }
    let updated_at = entry.map(|entry| entry.updated_at);
    if submission.updated_before.zip(updated_at).is_some_and(|(limit, at)| at >= limit) {
        return Err(Rejection::ConditionFailed);
    }
    let used = |(period, last)| board.same_period(period, last, now);
    if board.once_per().zip(updated_at).is_some_and(used) {
        return Err(Rejection::TooSoon);
    }
    let (score, at) = apply(board, entry, points, at).ok_or(Rejection::ScoreOutOfRange)?;
    Ok(Entry { score, at, updated_at: now })
}

/// The score that points lead to and when it was reached, or `None` where a sum leaves the range. This is all that a
/// recomputation from the ledger needs of the rules.
pub fn apply(
    board: &Board,
    entry: Option<Entry>,
    points: Score,
    at: Millis,
) -> Option<(Score, Millis)> {
    let Some(entry) = entry else { return Some((points, at)) };
    let kept = (entry.score, entry.at);
    Some(match board.rule() {
        Rule::Sum => match entry.score.checked_add(points)? {
            // Reached when the last counted event happened, whatever order they arrive in.
            sum if sum != entry.score => (sum, entry.at.max(at)),
            _ => kept,
        },
        Rule::Best if board.order().better(points, entry.score) => (points, at),
        // A run that equals the best one but happened earlier does not move the player: it was not the one that counted.
        Rule::Best => kept,
        Rule::Latest if at < entry.at || points == entry.score => kept,
        Rule::Latest => (points, at),
    })
}

/// The entry that an import or a correction leads to, whatever the rule. It is no submission: when one was last accepted stays, and
/// where there was none, a board that takes one per period must not find one.
pub fn set(board: &Board, entry: Option<Entry>, score: Score, at: Millis) -> Entry {
    let none = if board.once_per().is_some() { Millis::MIN } else { at };
    Entry { score, at, updated_at: entry.map_or(none, |entry| entry.updated_at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_794_736_800_000); // 2026-11-15T10:00:00Z

    fn board(json: &str) -> Board {
        Board::from_json(json).unwrap()
    }

    fn score(value: i64) -> Score {
        Score::new(value).unwrap()
    }

    fn entry(value: i64, at: i64) -> Entry {
        Entry { score: score(value), at: Millis(at), updated_at: Millis(at) }
    }

    fn submission(points: i64) -> Submission {
        Submission {
            player: PlayerId::new("p").unwrap(),
            points: score(points),
            event_id: None,
            at: None,
            user_name: None,
            updated_before: None,
        }
    }

    /// The rule, the order, the entry before (score, at), the points and their time, and the entry after.
    type Case = (&'static str, Option<(i64, i64)>, (i64, i64), (i64, i64));

    #[test]
    fn each_rule_leads_to_its_score_and_to_when_it_was_reached() {
        let cases: &[Case] = &[
            // The first score is the score, whatever the rule.
            (r#"{"rule":"sum"}"#, None, (5, 10), (5, 10)),
            (r#"{"rule":"best"}"#, None, (-5, 10), (-5, 10)),
            (r#"{"rule":"latest"}"#, None, (0, 10), (0, 10)),
            // A sum is reached when the last counted event happened, whatever order they arrive in.
            (r#"{"rule":"sum"}"#, Some((5, 10)), (3, 20), (8, 20)),
            (r#"{"rule":"sum"}"#, Some((5, 10)), (3, 7), (8, 10)),
            (r#"{"rule":"sum"}"#, Some((5, 10)), (-9, 20), (-4, 20)),
            (r#"{"rule":"sum"}"#, Some((5, 10)), (0, 20), (5, 10)),
            // A best score keeps the run that reached it.
            (r#"{"rule":"best"}"#, Some((5, 10)), (6, 20), (6, 20)),
            (r#"{"rule":"best"}"#, Some((5, 10)), (6, 3), (6, 3)),
            (r#"{"rule":"best"}"#, Some((5, 10)), (4, 20), (5, 10)),
            (r#"{"rule":"best"}"#, Some((5, 10)), (5, 3), (5, 10)),
            (r#"{"rule":"best","order":"asc"}"#, Some((5, 10)), (4, 20), (4, 20)),
            (r#"{"rule":"best","order":"asc"}"#, Some((5, 10)), (6, 20), (5, 10)),
            // The latest replaces, but not one that happened after it.
            (r#"{"rule":"latest"}"#, Some((5, 10)), (1, 20), (1, 20)),
            (r#"{"rule":"latest"}"#, Some((5, 10)), (1, 10), (1, 10)),
            (r#"{"rule":"latest"}"#, Some((5, 10)), (9, 9), (5, 10)),
            (r#"{"rule":"latest"}"#, Some((5, 10)), (5, 20), (5, 10)),
        ];
        for (definition, before, (points, at), (after, reached)) in cases {
            let before = before.map(|(value, at)| entry(value, at));
            let decided =
                decide(&board(definition), before, &submission(*points), Millis(*at), NOW);
            let expected = Entry { score: score(*after), at: Millis(*reached), updated_at: NOW };
            assert_eq!(decided, Ok(expected), "{definition} {before:?} {points} at {at}");
        }
    }

    #[test]
    fn the_first_broken_rule_is_the_answer_in_the_order_of_the_checks() {
        let strict = board(r#"{"min_points":1,"max_points":10,"once_per":"day"}"#);
        let today = Entry { score: score(MAX_SCORE), at: NOW, updated_at: NOW };
        let yesterday = Entry { updated_at: Millis(NOW.0 - 86_400_000), ..today };
        let conditional = Submission { updated_before: Some(NOW), ..submission(5) };
        let refuse = |entry: Entry, submission: &Submission| {
            decide(&strict, Some(entry), submission, NOW, NOW).map_err(Rejection::code)
        };
        let wrong_points = Submission { points: score(11), ..conditional.clone() };
        assert_eq!(refuse(today, &wrong_points), Err("points_out_of_range"));
        assert_eq!(refuse(today, &submission(0)), Err("points_out_of_range"));
        assert_eq!(refuse(today, &conditional), Err("condition_failed"));
        assert_eq!(refuse(today, &submission(5)), Err("too_soon"));
        assert_eq!(refuse(yesterday, &submission(5)), Err("score_out_of_range"));
        assert_eq!(refuse(yesterday, &conditional), Err("score_out_of_range"));
        // Without an entry there is nothing that a condition could refuse.
        assert!(decide(&strict, None, &conditional, NOW, NOW).is_ok());
    }

    #[test]
    fn a_day_is_the_boards_own() {
        let seoul = board(r#"{"once_per":"day","time_zone":"Asia/Seoul"}"#);
        let at = |text: &str| Millis::parse(text).unwrap();
        let before = Entry { updated_at: at("2026-11-15T14:59:59Z"), ..entry(1, 0) };
        let again = |now| decide(&seoul, Some(before), &submission(1), now, now);
        // Midnight in Seoul is 15:00 UTC.
        assert_eq!(again(at("2026-11-15T14:59:59.999Z")), Err(Rejection::TooSoon));
        assert!(again(at("2026-11-15T15:00:00Z")).is_ok());
    }

    #[test]
    fn what_is_set_uses_up_nothing() {
        let daily = board(r#"{"once_per":"day"}"#);
        let new = set(&daily, None, score(7), NOW);
        assert_eq!((new.score, new.at), (score(7), NOW));
        assert!(decide(&daily, Some(new), &submission(1), NOW, NOW).is_ok());
        let before = Entry { updated_at: Millis(NOW.0 - 1000), ..entry(1, 5) };
        let corrected = set(&daily, Some(before), score(9), Millis(3));
        assert_eq!(corrected, Entry { score: score(9), at: Millis(3), ..before });
        let again = decide(&daily, Some(corrected), &submission(1), NOW, NOW);
        assert_eq!(again, Err(Rejection::TooSoon));
        assert_eq!(set(&board("{}"), None, score(7), Millis(3)).updated_at, Millis(3));
    }

    #[test]
    fn an_event_may_be_a_minute_ahead_and_no_more() {
        let at = |at| Submission { at: Some(Millis(at)), ..submission(1) };
        assert_eq!(event_time(&submission(1), NOW), Ok(NOW));
        assert_eq!(event_time(&at(NOW.0 + 60_000), NOW), Ok(Millis(NOW.0 + 60_000)));
        assert_eq!(event_time(&at(NOW.0 + 60_001), NOW), Err(Rejection::AtInFuture));
        assert_eq!(event_time(&at(0), NOW), Ok(Millis(0)));
    }

    #[test]
    fn limits_are_told_in_the_refusal() {
        let refused = |definition: &str| {
            decide(&board(definition), None, &submission(0), NOW, NOW).unwrap_err().to_string()
        };
        assert!(refused(r#"{"min_points":1,"max_points":3}"#).contains("1 to 3"));
        assert!(refused(r#"{"min_points":1}"#).contains("at least 1"));
        assert!(refused(r#"{"max_points":-1}"#).contains("at most -1"));
    }
}
