//! The sparse timeline against a dense one, in which every season has a place in a list.

use proptest::prelude::*;

use super::*;

const START: i64 = 1_794_736_800_000; // 2026-11-15T10:00:00Z
const HOUR: i64 = 3_600_000;

/// Every season of the board, oldest first, as one would write it down.
struct Dense {
    seasons: Vec<(SeasonSpan, bool)>,
}

impl Dense {
    fn new(board: &Board, now: Millis) -> Self {
        Self { seasons: vec![(board.season_at(now), false)] }
    }

    /// Opens what has begun, and closes what is over.
    fn roll(&mut self, board: &Board, now: Millis) {
        while let Some((last, _)) = self.seasons.last()
            && last.ends_at <= now
            && last.ends_at != Millis::MAX
        {
            self.seasons.push((board.season_at(last.ends_at), false));
        }
        for (span, closed) in &mut self.seasons {
            *closed |= span.ends_at != Millis::MAX && span.ends_at.plus(board.grace()) <= now;
        }
    }

    fn close(&mut self, now: Millis) -> (SeasonId, SeasonId) {
        let (span, closed) = self.seasons.last_mut().unwrap();
        let (ended, rest) = span.close_at(now);
        let ids = (ended.id.clone(), rest.id.clone());
        (*span, *closed) = (ended, true);
        self.seasons.push((rest, false));
        ids
    }

    /// Newest first, as far as the board keeps them.
    fn kept(&self, board: &Board, now: Millis) -> Vec<(SeasonSpan, SeasonState)> {
        let mut since = 0;
        let mut kept = Vec::new();
        for (span, closed) in self.seasons.iter().rev() {
            let state = match closed {
                true => SeasonState::Closed,
                false if span.ends_at <= now => SeasonState::Closing,
                false => SeasonState::Open,
            };
            let expired = board.keep().is_expired(span.ends_at, now, since, board.zone());
            since += u64::from(*closed);
            if !(*closed && expired) {
                kept.push((span.clone(), state));
            }
        }
        kept
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// The clock goes on.
    Wait(i64),
    /// A submission of this long ago.
    Submit(i64),
    /// The current season is ended by hand.
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![0..HOUR / 6, 0..3 * HOUR, 0..50 * HOUR].prop_map(Step::Wait),
        4 => prop_oneof![0..60_000i64, 0..2 * HOUR, 0..60 * HOUR].prop_map(Step::Submit),
        1 => Just(Step::Close),
    ]
}

fn board() -> impl Strategy<Value = Board> {
    let season = prop_oneof![
        Just("daily"),
        Just("weekly"),
        Just("monthly"),
        Just("never"),
        Just("0 * * * *"),
        Just("30 */5 * * *"),
    ];
    let zone = prop_oneof![Just("UTC"), Just("Asia/Kolkata"), Just("America/Sao_Paulo")];
    let keep = prop_oneof![Just("forever"), Just("2 seasons"), Just("7 seasons"), Just("2 days")];
    let grace = prop_oneof![Just("0 seconds"), Just("5 minutes"), Just("3 hours")];
    (season, zone, keep, grace).prop_map(|(season, zone, keep, grace)| {
        let json = format!(
            r#"{{"season":"{season}","time_zone":"{zone}","keep":"{keep}","grace":"{grace}"}}"#
        );
        Board::from_json(&json).unwrap()
    })
}

/// Takes all that is due, piece by piece.
fn roll(timeline: &mut Timeline<()>, board: &Board, now: Millis) {
    while timeline.next_due(board, |()| true).is_some_and(|due| due <= now) {
        let due = timeline.due(board, now, |()| true, 2);
        assert!(!due.is_empty(), "what is due has a transition");
        for transition in due {
            timeline.take(&transition, || ());
            // What has expired goes.
            if let Transition::Expire(no) = transition {
                timeline.take(&Transition::Drop(no), || ());
            }
        }
    }
}

fn seen(timeline: &Timeline<()>, board: &Board, now: Millis) -> Vec<(SeasonSpan, SeasonState)> {
    let seasons = timeline.begun(board, now);
    seasons.map(|s| (s.span.clone().into_owned(), s.state(board, now))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_sparse_timeline_shows_what_a_dense_one_has(
        board in board(),
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let mut now = Millis(START);
        let mut dense = Dense::new(&board, now);
        let mut timeline: Timeline<()> = Timeline::new(&board, now);
        for step in steps {
            match step {
                Step::Wait(span) => now = now.plus(Millis(span)),
                Step::Submit(ago) => {
                    let at = Millis(now.0 - ago);
                    let index = dense.seasons.iter().position(|(s, closed)| s.contains(at) && !closed);
                    let wanted = index.map(|i| dense.seasons[i].0.clone());
                    let season = timeline.accepting(&board, at, now).map(|accepting| match accepting {
                        Accepting::Slot(slot) => (slot.no, None),
                        Accepting::Once(no, transition) => (no, Some(transition)),
                    });
                    if let Some((_, Some(transition))) = &season {
                        timeline.take(transition, || ());
                    }
                    let got = season.and_then(|(no, _)| timeline.slot(no)).map(|slot| slot.span.clone());
                    prop_assert_eq!(got, wanted);
                }
                Step::Close => {
                    let ended = timeline.close_now(&board, None, now).unwrap();
                    for transition in &ended.transitions {
                        timeline.take(transition, || ());
                    }
                    let ids = (ended.season.clone(), ended.current.clone());
                    prop_assert_eq!(&ids, &dense.close(now));
                    // Asked again for the same season, it answers the same and ends nothing.
                    let again = timeline.close_now(&board, Some(&ids.0), now).unwrap();
                    prop_assert_eq!((again.season, again.current), ids);
                    prop_assert!(again.transitions.is_empty());
                }
            }
            dense.roll(&board, now);
            roll(&mut timeline, &board, now);
            let (wanted, got) = (dense.kept(&board, now), seen(&timeline, &board, now));
            prop_assert_eq!(&got, &wanted);
            let current = timeline.current(&board, now).span.into_owned();
            prop_assert_eq!(&current, &wanted[0].0);
            let previous = timeline.resolve(&board, &SeasonRef::Previous, now);
            prop_assert_eq!(previous.map(|s| s.span.into_owned()), wanted.get(1).map(|s| s.0.clone()));
            for (index, (span, _)) in wanted.iter().enumerate().step_by(1 + wanted.len() / 3) {
                let named = timeline.resolve(&board, &SeasonRef::Id(span.id.clone()), now);
                prop_assert_eq!(named.map(|s| s.span.into_owned()), Some(span.clone()));
                let older = timeline.begun_before(&board, &span.id, now).unwrap();
                let older: Vec<_> = older.map(|s| s.span.into_owned()).collect();
                let rest: Vec<_> = wanted[index + 1..].iter().map(|s| s.0.clone()).collect();
                prop_assert_eq!(older, rest);
            }
            for (span, closed) in dense.seasons.iter().step_by(1 + dense.seasons.len() / 5) {
                if *closed && !wanted.iter().any(|(kept, _)| kept.id == span.id) {
                    prop_assert!(timeline.resolve(&board, &SeasonRef::Id(span.id.clone()), now).is_none());
                    let placed = timeline.place_import(&board, &span.id, now);
                    prop_assert!(matches!(placed, Err(NotPlaced::TooOld | NotPlaced::Unknown)));
                }
            }
        }
    }
}

fn daily(extra: &str) -> Board {
    Board::from_json(&format!(r#"{{"season":"daily"{extra}}}"#)).unwrap()
}

fn id(text: &str) -> SeasonId {
    SeasonId::parse(text).unwrap()
}

fn take(timeline: &mut Timeline<()>, transitions: &[Transition]) {
    for transition in transitions {
        timeline.take(transition, || ());
    }
}

#[test]
fn an_idle_board_has_nothing_due_and_all_its_seasons() {
    let board = daily("");
    let timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let now = Millis(START + 100 * 24 * HOUR);
    assert_eq!(timeline.next_due(&board, |()| true), None);
    assert_eq!(timeline.begun(&board, now).count(), 101);
    assert_eq!(timeline.slots().len(), 0);
}

#[test]
fn a_list_that_goes_on_from_a_distant_future_begins_at_the_current_season() {
    let board = Board::from_json(r#"{"season":"0 * * * *"}"#).unwrap();
    let timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let distant = board.season_at(Millis(200_000_000_000_000)).id;
    let first = timeline.begun_before(&board, &distant, Millis(START)).unwrap().next().unwrap();
    assert_eq!(first.span.starts_at, Millis(START));
}

#[test]
fn an_import_goes_to_a_season_that_is_over_and_kept() {
    let board = daily(r#","keep":"10 days""#);
    let mut timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let now = Millis(START + 30 * 24 * HOUR); // 2026-12-15
    let place = |timeline: &Timeline<()>, name| timeline.place_import(&board, &id(name), now);
    assert_eq!(place(&timeline, "2026-12-15"), Err(NotPlaced::Open));
    assert_eq!(place(&timeline, "2026-12-16"), Err(NotPlaced::Unknown));
    assert_eq!(place(&timeline, "2026-11"), Err(NotPlaced::Unknown));
    assert_eq!(place(&timeline, "2026-12-14.2"), Err(NotPlaced::Unknown));
    assert_eq!(place(&timeline, "2026-12-02"), Err(NotPlaced::TooOld));
    assert_eq!(place(&timeline, "2025-01-01"), Err(NotPlaced::TooOld));
    let placed = place(&timeline, "2026-12-10").unwrap();
    assert_eq!((placed.no, placed.transitions.len()), (0, 2));
    take(&mut timeline, &placed.transitions);
    // Again it replaces what is there.
    let again = place(&timeline, "2026-12-10").unwrap();
    assert_eq!((again.no, again.transitions.len()), (0, 0));
}

#[test]
fn a_season_older_than_the_board_may_come_from_elsewhere_and_leaves_a_gap() {
    let board = daily(r#","keep":"forever","grace":"31 days""#);
    let mut timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let now = Millis(START);
    for older in ["2026-10-01", "2026-11-13"] {
        let placed = timeline.place_import(&board, &id(older), now).unwrap();
        take(&mut timeline, &placed.transitions);
    }
    let ids: Vec<_> = timeline.begun(&board, now).map(|s| s.span.id.to_string()).collect();
    assert_eq!(ids, ["2026-11-15", "2026-11-13", "2026-10-01"]);
}

#[test]
fn a_season_in_its_grace_can_be_ended_by_name() {
    let board = daily(r#","grace":"3 hours""#);
    let mut timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let now = Millis(START + 15 * HOUR); // 01:00 the next day
    let ended = timeline.close_now(&board, Some(&id("2026-11-15")), now).unwrap();
    assert_eq!((ended.season, ended.current), (id("2026-11-15"), id("2026-11-16")));
    take(&mut timeline, &ended.transitions);
    assert!(timeline.accepting(&board, Millis(START), now).is_none());
    assert!(timeline.accepting(&board, now, now).is_some());
    assert_eq!(timeline.close_now(&board, Some(&id("2026-11-17")), now), Err(NotEnded::Unknown));
}

#[test]
fn snapshots_that_were_missed_are_of_the_season_of_their_date() {
    let board = daily(r#","snapshots":{"at":"12:00","keep":"2 days"}"#);
    let mut timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let Some(Accepting::Once(no, open)) = timeline.accepting(&board, Millis(START), Millis(START))
    else {
        panic!("the season has no slot yet");
    };
    timeline.take(&open, || ());
    assert_eq!(timeline.next_due(&board, |()| true), Some(Millis(START + 2 * HOUR)));
    let now = Millis(START + 30 * HOUR); // 16:00 the next day
    let due = timeline.due(&board, now, |()| true, 100);
    let of: Vec<_> = due
        .iter()
        .filter_map(|transition| match transition {
            Transition::AsOf(as_of) => Some((as_of.no, as_of.of, as_of.season.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(of, [(0, Some(no), "2026-11-15".into()), (1, None, "2026-11-16".into())]);
    assert_eq!(due.len(), 3, "and the season closes: {due:?}");
    take(&mut timeline, &due);
    assert!(timeline.due(&board, now, |()| true, 100).is_empty());
    // Of those that were missed for long only the last is taken, and those that are kept.
    let later = Millis(now.0 + 100 * 24 * HOUR);
    let dates = timeline.due(&board, later, |()| true, 1000).into_iter().map(|t| match t {
        Transition::AsOf(as_of) => as_of.dates.len(),
        other => panic!("nothing else is due: {other:?}"),
    });
    assert_eq!(dates.sum::<usize>(), 2);
}

#[test]
fn a_board_that_starts_anew_forgets_its_seasons() {
    let board = daily("");
    let mut timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let ended = timeline.close_now(&board, None, Millis(START)).unwrap();
    take(&mut timeline, &ended.transitions);
    assert!(!timeline.has_dropped());
    let weekly = Board::from_json(r#"{"season":"weekly"}"#).unwrap();
    let begins = weekly.season_at(Millis(START)).starts_at;
    timeline.take(&Transition::Restart(begins), || ());
    let ids: Vec<_> =
        timeline.begun(&weekly, Millis(START)).map(|s| s.span.id.to_string()).collect();
    assert_eq!(ids, ["2026-W46"]);
    assert_eq!((timeline.first_no(), timeline.next_no()), (2, 2));
}

#[test]
fn a_season_whose_end_the_zone_moved_goes_on() {
    // As if it had been opened by rules under which the day was over at 20:00.
    let board = daily("");
    let mut timeline: Timeline<()> = Timeline::new(&board, Millis(START));
    let span = board.season_at(Millis(START));
    let end = Millis(span.ends_at.0 - 4 * HOUR);
    timeline.take(&Transition::Open(0, SeasonSpan { ends_at: end, ..span.clone() }), || ());
    let current = timeline.current(&board, end);
    assert_eq!((current.span.as_ref(), current.slot.map(|slot| slot.no)), (&span, Some(0)));
    let Some(Accepting::Once(0, Transition::Ends(0, moved))) = timeline.accepting(&board, end, end)
    else {
        panic!("it goes on with another end");
    };
    assert_eq!(moved, span.ends_at);
    let due = timeline.due(&board, Millis(end.0 + HOUR), |()| true, 10);
    assert_eq!(due, [Transition::Ends(0, span.ends_at)]);
    assert_eq!(timeline.begun(&board, Millis(end.0 + HOUR)).count(), 1);
}
