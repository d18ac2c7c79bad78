//! Batches in groups against one submission after the other on plain maps.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const START: i64 = 1_794_736_800_000; // 2026-11-15T10:00:00Z
const MINUTE: i64 = 60_000;
const WINDOW: Millis = Millis(90 * MINUTE);
const MOST: usize = 3;

/// What is stored: seasons by the instant at which they begin, since this schedule has no other.
#[derive(Default, PartialEq, Debug)]
struct Stored {
    entries: BTreeMap<(Millis, PlayerId), Entry>,
    ids: BTreeMap<EventId, (Millis, Recorded)>,
    names: BTreeMap<PlayerId, Name>,
}

impl Stored {
    fn players(&self, starts_at: Millis) -> usize {
        self.entries.keys().filter(|(season, _)| *season == starts_at).count()
    }

    /// What one submission leads to, as one would do it by hand.
    fn submit(&mut self, board: &Board, submission: &Submission, now: Millis) -> Told {
        if let Some((_, used)) = submission.event_id.as_ref().and_then(|id| self.ids.get(id))
            && now < used.entry.updated_at.plus(WINDOW)
        {
            let same = (&used.player, used.points) == (&submission.player, submission.points);
            return if same { Told::Again(used.entry) } else { Told::Not("event_id_reused") };
        }
        let at = submission.at.unwrap_or(now);
        if at > now.plus(MAX_AHEAD) {
            return Told::Not("at_in_future");
        }
        let span = board.season_at(at);
        if now >= span.ends_at.plus(board.grace()) || span.ends_at <= Millis(START) {
            return Told::Not("season_closed");
        }
        let key = (span.starts_at, submission.player.clone());
        let before = self.entries.get(&key).copied();
        let entry = match rule::decide(board, before, submission, at, now) {
            Ok(entry) => entry,
            Err(rejection) => return Told::Not(rejection.code()),
        };
        if before.is_none() && self.players(span.starts_at) == MOST {
            return Told::Not("board_full");
        }
        self.entries.insert(key, entry);
        if let Some(name) = &submission.user_name {
            self.names.insert(submission.player.clone(), name.clone());
        }
        if let Some(id) = &submission.event_id {
            let (player, points) = (submission.player.clone(), submission.points);
            let used = Recorded { season: 0, player, points, entry };
            self.ids.insert(id.clone(), (span.starts_at, used));
        }
        Told::Counted(before, entry)
    }

    fn set(&mut self, board: &Board, row: SetRow<'_>, now: Millis) {
        let key = (board.season_at(now).starts_at, row.player.clone());
        let at = row.at.unwrap_or(now);
        let before = self.entries.get(&key).map(|entry| entry.updated_at);
        let updated_at = before.unwrap_or(Millis::MIN);
        self.entries.insert(key, Entry { score: row.score, at, updated_at });
    }
}

#[derive(Debug, PartialEq)]
enum Told {
    Counted(Option<Entry>, Entry),
    Again(Entry),
    Not(&'static str),
}

/// An engine that stores what was decided, a group at a time.
struct Groups {
    timeline: Timeline<()>,
    stored: Stored,
}

/// What a group has decided, to be stored at its end.
#[derive(Default)]
struct Group {
    pending: Pending,
    names: Names,
    transitions: Vec<Transition>,
    entries: Vec<(Millis, PlayerId, Entry)>,
    ids: Vec<(EventId, Millis, Recorded)>,
    renamed: Vec<(PlayerId, Name)>,
}

impl Groups {
    fn rules<'a>(&'a self, board: &'a Board, now: Millis) -> Rules<'a, ()> {
        Rules { board, timeline: &self.timeline, id_window: WINDOW, now }
    }

    fn room(&self) -> impl Fn(Option<&Slot<()>>) -> u64 {
        |slot| (MOST - slot.map_or(0, |slot| self.stored.players(slot.span.starts_at))) as u64
    }

    fn batch(
        &self,
        group: &mut Group,
        board: &Board,
        batch: &[Submission],
        now: Millis,
    ) -> Vec<Told> {
        let rules = self.rules(board, now);
        let wanted = rules.wanted(&mut group.pending, batch, self.room());
        let facts = batch.iter().zip(&wanted).map(|(submission, wanted)| {
            let season = wanted.season.ok().map(|index| &group.pending.seasons()[index]);
            let season = season.filter(|season| season.no.is_some());
            let player = &submission.player;
            let key = season.map(|season| (season.span.starts_at, player.clone()));
            let recorded = submission.event_id.as_ref().and_then(|id| self.stored.ids.get(id));
            let name = self.stored.names.get(player).cloned();
            Facts {
                entry: key.and_then(|key| self.stored.entries.get(&key).copied()),
                recorded: recorded.map(|(_, recorded)| Box::new(recorded.clone())),
                profile: name
                    .map(|name| Arc::new(Profile { name: Some(name), ..Profile::default() })),
            }
        });
        let facts: Vec<_> = facts.collect();
        let batch = batch.iter().cloned().zip(wanted).zip(facts);
        let batch = batch.map(|((submission, wanted), facts)| (submission, wanted, facts));
        let outcomes: Vec<_> =
            rules.decide_batch(&mut group.pending, &mut group.names, batch).collect();
        outcomes.into_iter().map(|outcome| group.note(outcome)).collect()
    }

    fn set(&self, group: &mut Group, board: &Board, rows: &[SetRow<'_>], now: Millis) -> bool {
        let rules = self.rules(board, now);
        let season = rules.season_at(&mut group.pending, now, self.room()).unwrap();
        let starts_at = group.pending.seasons()[season].span.starts_at;
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (*row, self.stored.entries.get(&(starts_at, row.player.clone())).copied()))
            .collect();
        if rules.check_rows(&group.pending, season, &rows).is_err() {
            return false;
        }
        for (row, stored) in rows {
            let (opens, _, entry) = rules.set(&mut group.pending, season, row, stored);
            group.transitions.extend(opens);
            group.entries.push((starts_at, row.player.clone(), entry));
        }
        true
    }

    fn store(&mut self, group: Group) {
        for transition in &group.transitions {
            self.timeline.take(transition, || ());
        }
        for (season, player, entry) in group.entries {
            self.stored.entries.insert((season, player), entry);
        }
        for (id, season, recorded) in group.ids {
            self.stored.ids.insert(id, (season, recorded));
        }
        self.stored.names.extend(group.renamed);
    }
}

impl Group {
    fn note(&mut self, outcome: Outcome) -> Told {
        let accepted = match outcome {
            Outcome::Accepted(accepted) => accepted,
            Outcome::Duplicate(recorded) => return Told::Again(recorded.entry),
            Outcome::Rejected(rejection) => return Told::Not(rejection.code()),
        };
        let Accepted { opens, season, player, points, event_id, previous, entry, renamed, .. } =
            accepted;
        let starts_at = self.pending.seasons()[season.0].span.starts_at;
        self.transitions.extend(opens);
        self.entries.push((starts_at, player.clone(), entry));
        if let Some(id) = event_id {
            let recorded = Recorded { season: 0, player: player.clone(), points, entry };
            self.ids.push((id, starts_at, recorded));
        }
        if let Some(name) = renamed.and_then(|profile| profile.name) {
            self.renamed.push((player, name));
        }
        Told::Counted(previous, entry)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Wait(i64),
    Batch(Vec<Submission>),
    Set(Vec<(PlayerId, Score, Option<Millis>)>),
    /// The group is stored.
    Store,
}

fn player() -> impl Strategy<Value = PlayerId> {
    (0..5).prop_map(|number| PlayerId::new(&format!("p{number}")).unwrap())
}

fn score() -> impl Strategy<Value = Score> {
    (-3..9i64).prop_map(|points| Score::new(points).unwrap())
}

fn submission() -> impl Strategy<Value = Submission> {
    let ago = prop::option::weighted(0.4, -2 * MINUTE..130 * MINUTE);
    let id = prop::option::weighted(0.4, 0..4);
    let name = prop::option::weighted(0.3, 0..2);
    let before = prop::option::weighted(0.1, 0..60 * MINUTE);
    (player(), score(), id, ago, name, before).prop_map(
        |(player, points, id, ago, name, before)| {
            Submission {
                player,
                points,
                event_id: id.map(|id| EventId::new(&format!("e{id}")).unwrap()),
                // Told from the clock when it is sent.
                at: ago.map(Millis),
                user_name: name.map(|name| Name::new(&format!("n{name}")).unwrap()),
                updated_before: before.map(Millis),
            }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let row = (player(), score(), prop::option::of(Just(Millis(START))));
    prop_oneof![
        2 => (0..40 * MINUTE).prop_map(Step::Wait),
        5 => prop::collection::vec(submission(), 1..8).prop_map(Step::Batch),
        1 => prop::collection::vec(row, 1..4).prop_map(Step::Set),
        2 => Just(Step::Store),
    ]
}

fn board() -> impl Strategy<Value = Board> {
    let rule = prop_oneof![Just("sum"), Just("best"), Just("latest")];
    let grace = prop_oneof![Just("0 seconds"), Just("5 minutes"), Just("70 minutes")];
    (rule, grace).prop_map(|(rule, grace)| {
        let json = format!(
            r#"{{"season":"0 * * * *","rule":"{rule}","grace":"{grace}","once_per":"hour","min_points":-2}}"#
        );
        Board::from_json(&json).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_group_leads_to_what_one_submission_after_the_other_leads_to(
        board in board(),
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let mut now = Millis(START);
        let mut one_by_one = Stored::default();
        let timeline = Timeline::new(&board, now);
        let mut engine = Groups { timeline, stored: Stored::default() };
        let mut group = Group::default();
        for step in steps {
            match step {
                Step::Wait(span) => {
                    // A group is of one instant.
                    engine.store(std::mem::take(&mut group));
                    now = now.plus(Millis(span));
                    for due in engine.timeline.due(&board, now, |()| true, 10) {
                        engine.timeline.take(&due, || ());
                    }
                }
                Step::Batch(mut batch) => {
                    for submission in &mut batch {
                        let ago = |ago: Millis| Millis(now.0 - ago.0);
                        submission.at = submission.at.map(ago);
                        submission.updated_before = submission.updated_before.map(ago);
                    }
                    let wanted: Vec<_> =
                        batch.iter().map(|s| one_by_one.submit(&board, s, now)).collect();
                    let got = engine.batch(&mut group, &board, &batch, now);
                    prop_assert_eq!(got, wanted);
                }
                Step::Set(rows) => {
                    let rows: Vec<_> =
                        rows.iter().map(|(player, score, at)| SetRow { player, score: *score, at: *at }).collect();
                    let season = board.season_at(now).starts_at;
                    let new = rows.iter().map(|row| (season, row.player.clone()));
                    let new: BTreeSet<_> =
                        new.filter(|key| !one_by_one.entries.contains_key(key)).collect();
                    let fits = one_by_one.players(season) + new.len() <= MOST;
                    prop_assert_eq!(engine.set(&mut group, &board, &rows, now), fits);
                    for row in rows.into_iter().filter(|_| fits) {
                        one_by_one.set(&board, row, now);
                    }
                }
                Step::Store => engine.store(std::mem::take(&mut group)),
            }
        }
        engine.store(group);
        prop_assert_eq!(&engine.stored, &one_by_one);
        // Every season with entries has a slot, and no number is left out.
        let with_entries: BTreeSet<_> = one_by_one.entries.keys().map(|(season, _)| *season).collect();
        let slots: BTreeSet<_> = engine.timeline.slots().iter().map(|s| s.span.starts_at).collect();
        prop_assert_eq!(slots, with_entries);
        prop_assert!(!engine.timeline.has_dropped());
    }
}
