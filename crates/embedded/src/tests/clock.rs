//! Clocks that step backwards and forwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use standings_core::{BoardId, Millis, rule::Rejection};

use crate::tests::kit::{
    InDirectory, board, definition, event, points, standing, submit, times, tried,
};
use crate::{
    Options, check, rebuild,
    record::{LogRecord, Transition},
};
use standings_engine::{
    Clock as _, SeasonRef, SeasonState, SeasonsQuery, StandingRef,
    conformance::{Fixture as _, World, decided, model::Random},
};

const HOUR: i64 = 3_600_000;

/// How far the clock steps, either way.
const STEPS: [i64; 8] = [1, 999, 30_000, 61_000, HOUR, 25 * HOUR, 40 * 24 * HOUR, 400 * 24 * HOUR];

const BOARDS: [(&str, &str); 4] = [
    ("daily", r#"{"season":"daily","goal":1,"keep":"forever"}"#),
    (
        "shifts",
        r#"{"season":"0 */6 * * *","grace":"0 seconds","time_zone":"Asia/Kolkata","keep":"forever"}"#,
    ),
    ("monthly", r#"{"grace":"3 hours","snapshots":{"keep":"forever"},"keep":"forever"}"#),
    ("never", r#"{"season":"never"}"#),
];

/// Board, season, player.
type Place = (usize, String, String);

/// An engine, and what it has acknowledged.
struct Walk {
    home: InDirectory,
    random: Random,
    sums: BTreeMap<Place, i64>,
    /// Events with the instant of their acceptance, the board and the score that their receipt gave.
    events: Vec<(String, Millis, usize, String, i64)>,
    closed: BTreeSet<(usize, String)>,
    refused: usize,
}

impl Walk {
    async fn new(seed: u64) -> Self {
        let home = InDirectory::usual();
        for (id, json) in BOARDS {
            home.engine().put_board(&board(id), definition(json)).await.unwrap();
        }
        let (sums, closed) = (BTreeMap::new(), BTreeSet::new());
        Self { home, random: Random(seed), sums, events: Vec::new(), closed, refused: 0 }
    }

    /// Sets the clock to somewhere else and submits to every board.
    async fn step(&mut self) {
        // The long ones are rare.
        let span = STEPS[self.random.index(STEPS.len()).min(self.random.index(STEPS.len()))];
        let back = self.random.one_in(3);
        let first = World::start().0 - 1000 * 24 * HOUR;
        let now = self.home.clock().now().0 + if back { -span } else { span };
        self.home.clock().set(Millis(now.clamp(first, World::start().0 + 1000 * 24 * HOUR)));
        for index in 0..BOARDS.len() {
            self.submit(index).await;
        }
        self.repeat().await;
        if self.random.one_in(15) {
            // There may be nothing to close where the clock is now.
            let id = board(BOARDS[self.random.index(3)].0);
            let _ = self.home.engine().close_season(&id, None).await;
        }
        if self.random.one_in(25) {
            self.home.restart().await;
        }
        self.nothing_reopened().await;
    }

    async fn submit(&mut self, index: usize) {
        let (who, id) = (format!("p{}", self.random.below(5)), format!("e{}", self.events.len()));
        let (engine, now) = (self.home.engine(), self.home.clock().now());
        let event = event(&who, 1, &id);
        let answer = engine.submit(&board(BOARDS[index].0), vec![event]).await.unwrap().remove(0);
        match decided(answer) {
            Ok(receipt) => {
                assert!(!receipt.duplicate);
                let season = receipt.season.to_string();
                *self.sums.entry((index, season, who.clone())).or_default() += 1;
                self.events.push((id, now, index, who, receipt.score.get()));
            }
            Err(rejection) => {
                // Its season was closed at a later time, or the clock is before the board.
                assert_eq!(rejection, Rejection::SeasonClosed);
                assert_ne!(BOARDS[index].0, "never", "a season without end takes everything");
                self.refused += 1;
            }
        }
    }

    /// Sends an event again that was accepted less than a window ago, as this clock counts.
    async fn repeat(&mut self) {
        let now = self.home.clock().now();
        let window = Options::default().event_id_window;
        let recent = |accepted: Millis| now < accepted.plus(window);
        let known: Vec<_> = self.events.iter().rev().take(200).filter(|e| recent(e.1)).collect();
        if known.is_empty() {
            return;
        }
        let (id, _, index, who, score) = known[self.random.index(known.len())];
        let engine = self.home.engine();
        let again = submit(&*engine, &board(BOARDS[*index].0), event(who, 1, id)).await.unwrap();
        assert!(again.duplicate, "{id} counted twice");
        assert_eq!(again.score.get(), *score, "{id}");
    }

    /// A season that has closed stays so, whatever the clock says.
    async fn nothing_reopened(&mut self) {
        for (index, (id, _)) in BOARDS.iter().enumerate() {
            let query = SeasonsQuery { year: None, before: None, limit: 30 };
            let seasons = self.home.engine().seasons(&board(id), &query).await.unwrap().seasons;
            let mut ids = BTreeSet::new();
            for season in seasons {
                let id = season.span.id.to_string();
                assert!(season.span.starts_at <= season.span.ends_at, "{season:?}");
                assert!(ids.insert(id.clone()), "{id} is there twice");
                // Without entries it is a matter of the clock alone.
                if season.state == SeasonState::Closed && season.players > 0 {
                    self.closed.insert((index, id));
                } else {
                    assert!(!self.closed.contains(&(index, id.clone())), "{id} was closed");
                }
            }
        }
    }

    /// What every season shows, seen from after all of them.
    async fn shown(&self) -> BTreeMap<Place, i64> {
        let mut shown = BTreeMap::new();
        let of: BTreeSet<_> = self.sums.keys().map(|(index, season, _)| (*index, season)).collect();
        for (index, season) in of {
            let id: BoardId = board(BOARDS[index].0);
            let which = SeasonRef::Id(season.parse().unwrap()).into();
            for (who, _, score) in standing(&*self.home.engine(), &id, which).await {
                shown.insert((index, season.clone(), who), score);
            }
        }
        shown
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_clock_does_nothing_is_lost_counted_twice_or_reopened() {
    let steps = times("STANDINGS_CLOCK_STEPS", 400);
    let mut walk = Walk::new(0x00c1_0c4b).await;
    for _ in 0..steps {
        walk.step().await;
    }
    let last = World::start().0 + 1001 * 24 * HOUR;
    walk.home.clock().set(Millis(last));
    // Whatever is due by then is done before the next answer.
    submit(&*walk.home.engine(), &board("never"), points("last", 1)).await.unwrap();
    for _ in 0..2 {
        assert_eq!(walk.shown().await, without_last(&walk.sums));
        walk.home.restart().await;
    }
    walk.home.stop().await;
    let report = rebuild(walk.home.path(), false, &mut |_| {}).unwrap();
    assert_eq!((report.differences, report.findings.len()), (0, 0), "{:?}", report.findings);
    assert_eq!(check(walk.home.path(), &mut |_| {}).unwrap().findings, [""; 0]);
    tried(&format!(
        "{steps} steps of the clock of up to 400 days either way, {} scores acknowledged, {} refused in closed seasons, {} seasons closed",
        walk.events.len(),
        walk.refused,
        walk.closed.len()
    ));
}

/// The sums as the standing of all time shows them, with the one that was submitted last.
fn without_last(sums: &BTreeMap<Place, i64>) -> BTreeMap<Place, i64> {
    let mut all = sums.clone();
    all.insert((3, "all".to_owned(), "last".to_owned()), 1);
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_forward_ends_a_season_once_and_a_step_back_does_not_bring_it_back() {
    let mut home = InDirectory::usual();
    let id = board("b");
    let json = r#"{"season":"daily","grace":"5 minutes"}"#;
    home.engine().put_board(&id, definition(json)).await.unwrap();
    submit(&*home.engine(), &id, event("a", 5, "first")).await.unwrap();
    let (before, after) = (World::start(), Millis(World::start().0 + 24 * HOUR));
    for round in 0..3i64 {
        home.clock().set(after);
        let receipt = submit(&*home.engine(), &id, points("a", 1)).await.unwrap();
        assert_eq!((receipt.season.as_str(), receipt.score.get()), ("2026-11-16", round + 1));
        home.clock().set(before);
        let refused = home.engine().submit(&id, vec![points("a", 1)]).await.unwrap().remove(0);
        assert_eq!(decided(refused), Err(Rejection::SeasonClosed), "the 15th is over");
        // What counted then is still known, and counts no second time.
        let again = submit(&*home.engine(), &id, event("a", 5, "first")).await.unwrap();
        assert_eq!((again.duplicate, again.season.as_str()), (true, "2026-11-15"));
        assert!(home.engine().close_season(&id, None).await.is_err(), "it is closed already");
        let now = standing(&*home.engine(), &id, StandingRef::CURRENT).await;
        assert_eq!(now, [("a".to_owned(), 1, 5)], "it is the current one again, and read");
        home.restart().await;
    }
    home.clock().set(after);
    let query = SeasonsQuery { year: None, before: None, limit: 10 };
    let seasons = home.engine().seasons(&id, &query).await.unwrap().seasons;
    let seasons: Vec<_> = seasons.iter().map(|s| (s.span.id.as_str(), s.state)).collect();
    let expected = [("2026-11-16", SeasonState::Open), ("2026-11-15", SeasonState::Closed)];
    assert_eq!(seasons, expected);
    home.stop().await;
}

/// A newer database of time zones may move the midnight that an open season ends at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_season_whose_end_moves_is_opened_once_and_met_by_the_next() {
    let midnight = Millis(World::start().0 + 14 * HOUR);
    for (moved, met) in [(-HOUR, midnight), (HOUR, midnight.plus(Millis(HOUR)))] {
        let mut home = InDirectory::usual();
        let id = board("b");
        let json = r#"{"season":"daily","grace":"0 seconds"}"#;
        home.engine().put_board(&id, definition(json)).await.unwrap();
        submit(&*home.engine(), &id, points("a", 1)).await.unwrap();
        // As it was by the rules before.
        let ends_at = midnight.plus(Millis(moved));
        let transition = Box::new(Transition::Ends(0, ends_at));
        let old = vec![LogRecord::Season { board: 0, transition }];
        home.embedded().shared.queue.change(|s| s.commit(old)).await.unwrap();
        home.restart().await;
        for (at, season) in [
            (ends_at.plus(Millis(-30_000)), "2026-11-15"),
            (met.plus(Millis(-1)), "2026-11-15"),
            (met, "2026-11-16"),
        ] {
            home.clock().set(at);
            let receipt = submit(&*home.engine(), &id, points("a", 1)).await.unwrap();
            assert_eq!(receipt.season.as_str(), season, "{moved} {at}");
        }
        let query = SeasonsQuery { year: None, before: None, limit: 10 };
        let seasons = home.engine().seasons(&id, &query).await.unwrap().seasons;
        let spans = seasons.iter().map(|season| &season.span);
        let spans: Vec<_> = spans.map(|s| (s.id.as_str(), s.starts_at, s.ends_at)).collect();
        let (begin, end) = (midnight.plus(Millis(-24 * HOUR)), midnight.plus(Millis(24 * HOUR)));
        assert_eq!(spans, [("2026-11-16", met, end), ("2026-11-15", begin, met)]);
        let before = standing(&*home.engine(), &id, StandingRef::PREVIOUS).await;
        assert_eq!(before, [("a".to_owned(), 1, 3)]);
        home.stop().await;
        assert_eq!(rebuild(home.path(), false, &mut |_| {}).unwrap().findings, [""; 0]);
    }
}

/// What never ends does not end with the last instant that can be written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_end_of_time_scores_are_still_taken() {
    let home = InDirectory::usual();
    let (engine, id) = (home.engine(), board("b"));
    engine.put_board(&id, definition(r#"{"season":"never"}"#)).await.unwrap();
    home.clock().set(Millis::MAX);
    let taken = submit(&*engine, &id, points("a", 1));
    tokio::time::timeout(Duration::from_secs(10), taken).await.unwrap().unwrap();
    engine.shutdown().await;
}
