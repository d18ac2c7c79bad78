//! The index against a sorted list, after every single operation.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;
use standings_core::Millis;

use super::*;

/// Few rows and children, so that two hundred players make a tree of five levels.
pub(super) const SMALL: Limits = Limits {
    leaf_bytes: 1024,
    leaf_rows: 4,
    fanout: 4,
    leaves: bucket::MAX_LEAVES,
    fingers_from: 3,
    tally_from: 2,
};
/// Leaves that split by bytes.
const TIGHT: Limits = Limits {
    leaf_bytes: 512,
    leaf_rows: 128,
    fanout: 3,
    leaves: bucket::MAX_LEAVES,
    fingers_from: 8,
    tally_from: 8,
};

/// Leaves of few rows in nodes of many children, as in a large tree: fingers know where nearly all scores end.
const WIDE: Limits = Limits {
    leaf_bytes: 1024,
    leaf_rows: 6,
    fanout: node::FANOUT,
    leaves: bucket::MAX_LEAVES,
    fingers_from: 3,
    tally_from: 2,
};

/// The same thing the simple way.
#[derive(Default)]
struct Model {
    records: BTreeMap<String, IndexRecord>,
    sorted: Vec<(SortKey, Vec<u8>)>,
}

impl Model {
    fn upsert(&mut self, id: &str, record: IndexRecord) -> Option<IndexRecord> {
        let previous = self.remove(id);
        let row = (record.key, id.as_bytes().to_vec());
        let at = self.sorted.partition_point(|other| *other < row);
        self.sorted.insert(at, row);
        self.records.insert(id.to_owned(), record);
        previous
    }

    fn remove(&mut self, id: &str) -> Option<IndexRecord> {
        let record = self.records.remove(id)?;
        self.sorted.retain(|(_, other)| other != id.as_bytes());
        Some(record)
    }

    /// The place of a player by a tie rule.
    fn place(&self, id: &str, ties: Ties) -> Option<Position> {
        let key = self.records.get(id)?.key;
        let place = self.sorted.partition_point(|(other, other_id)| match ties {
            Ties::Earliest => (*other, other_id.as_slice()) < (key, id.as_bytes()),
            Ties::Share => other.folded < key.folded,
        });
        Some(Position(place as u64))
    }

    /// What a change will do, having done it.
    fn change(&mut self, id: &str, record: IndexRecord, ties: Option<Ties>) -> Change {
        let before = ties.and_then(|ties| self.place(id, ties));
        let previous = self.upsert(id, record);
        Change { previous, before, after: ties.and_then(|ties| self.place(id, ties)) }
    }

    fn rows(&self) -> impl Iterator<Item = (&str, IndexRecord)> {
        self.sorted.iter().map(|(_, id)| {
            let id = std::str::from_utf8(id).unwrap();
            (id, self.records[id])
        })
    }
}

fn rows_of(index: &RankIndex, from: u64, limit: usize) -> Vec<(String, IndexRecord)> {
    let mut rows = Vec::new();
    if limit > 0 {
        let full = index.scan(Position(from), |id, record| {
            rows.push((id.to_owned(), record));
            if rows.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(full.is_some(), rows.len() == limit);
    }
    rows
}

fn assert_same(index: &RankIndex, model: &Model) {
    index.check();
    assert_eq!(index.len(), model.records.len() as u64);
    assert_eq!(index.is_empty(), model.records.is_empty());
    let scores = model.sorted.iter().map(|(key, _)| i128::from(key.folded));
    assert_eq!(index.total(), scores.sum());
    let rows: Vec<_> = model.rows().map(|(id, record)| (id.to_owned(), record)).collect();
    assert_eq!(rows_of(index, 0, usize::MAX), rows);
    for (at, (id, record)) in rows.iter().enumerate() {
        let position = Position(at as u64);
        let better = |(key, _): &(SortKey, Vec<u8>)| key.folded < record.key.folded;
        let first_of_score = Position(model.sorted.partition_point(better) as u64);
        let found = Found { position, first_of_score, record: *record };
        assert_eq!(index.find(id), Some(found), "{id}");
        assert_eq!(index.get(id), Some(*record));
        assert_eq!(index.position(id), Some((position, *record)));
        assert_eq!(index.shared_position(id), Some((first_of_score, *record)));
        assert_eq!(index.through(record.key, id), Position(position.0 + 1));
        assert_eq!(index.before_score(record.key.folded), first_of_score);
    }
    let ids: Vec<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(index.find_many(&ids), ids.iter().map(|id| index.find(id)).collect::<Vec<_>>());
    for group in rows.chunks(WARM - 1) {
        // Someone who is not there does not disturb the others.
        let ids: Vec<&str> = group.iter().map(|(id, _)| id.as_str()).chain(["nobody"]).collect();
        let mut found = Vec::new();
        let parts = |(record, Spot { place, hash }): (IndexRecord, Spot)| (record, place, hash);
        index.look_up_many(&ids, |row| found.push(row.map(parts)));
        assert_eq!(found, ids.iter().map(|id| index.look_up(id).map(parts)).collect::<Vec<_>>());
        let records = found.iter().map(|found| found.map(|(record, ..)| record));
        assert!(records.eq(ids.iter().map(|id| index.get(id))));
        assert_eq!(index.find_many(&ids), ids.iter().map(|id| index.find(id)).collect::<Vec<_>>());
    }
}

/// Positions of things that are not there.
fn assert_same_bounds(index: &RankIndex, model: &Model, key: SortKey, id: &str) {
    let row = (key, id.as_bytes().to_vec());
    let through = model.sorted.partition_point(|other| *other <= row) as u64;
    assert_eq!(index.through(key, id), Position(through));
    let better = model.sorted.partition_point(|(other, _)| other.folded < key.folded);
    assert_eq!(index.before_score(key.folded), Position(better as u64));
}

pub(super) fn record(folded: i64, at: i64) -> IndexRecord {
    IndexRecord { key: SortKey { folded, at: Millis(at) }, updated_at: Millis(at) }
}

/// Ids of every form, few enough to meet again, and look-alikes that must not be confused.
fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0..60_u64).prop_map(|n| format!("{:024x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        1 => (0..20_u64).prop_map(|n| format!("{:024X}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        1 => (0..8_u64).prop_map(|n| format!("{n:032x}")),
        1 => (0..20_u32).prop_map(|n| format!("{:08x}-0000-4000-8000-{:012x}", n * 7919, n)),
        2 => (0..30_u64).prop_map(|n| (n * n * 977).to_string()),
        1 => (0..30_u64).prop_map(|n| format!("00{n}")),
        1 => (0..6_u64).prop_map(|n| (u64::MAX - n).to_string()),
        1 => (0..6_u32).prop_map(|n| (u32::MAX - 3 + n.min(3)).to_string()),
        1 => "[a-c]{1,3}",
        1 => "[é플a]{1,4}",
        1 => (0..6_usize).prop_map(|n| "x".repeat(123 + n)),
    ]
}

/// Records with many ties in score and in both, or with none, or at the ends of what is allowed.
fn any_record() -> impl Strategy<Value = IndexRecord> {
    let score = prop_oneof![
        4 => 0..4_i64,
        2 => -1_000_000..1_000_000_i64,
        1 => Just(standings_core::limits::MAX_SCORE),
        1 => Just(-standings_core::limits::MAX_SCORE),
    ];
    let at = prop_oneof![
        3 => Just(1_794_736_800_000_i64),
        3 => 1_794_736_800_000..1_797_328_800_000_i64,
        1 => Just(Millis::MIN.0),
        1 => Just(Millis::MAX.0),
    ];
    let lag = prop_oneof![4 => Just(0_i64), 1 => 0..100_000_i64, 1 => -5..5_i64];
    (score, at, lag).prop_map(|(folded, at, lag)| IndexRecord {
        key: SortKey { folded, at: Millis(at) },
        updated_at: Millis((at + lag).clamp(Millis::MIN.0, Millis::MAX.0)),
    })
}

#[derive(Clone, Debug)]
enum Step {
    Upsert(String, IndexRecord),
    /// A small step in score, as most updates are.
    Nudge(prop::sample::Index, i64),
    Remove(prop::sample::Index),
    Look(String, IndexRecord),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (any_id(), any_record()).prop_map(|(id, record)| Step::Upsert(id, record)),
        2 => (any::<prop::sample::Index>(), -2..3_i64).prop_map(|(at, by)| Step::Nudge(at, by)),
        2 => any::<prop::sample::Index>().prop_map(Step::Remove),
        1 => (any_id(), any_record()).prop_map(|(id, record)| Step::Look(id, record)),
    ];
    prop::collection::vec(step, 1..150)
}

fn run(limits: &'static Limits, steps: Vec<Step>) {
    let mut index = RankIndex::with_limits(limits);
    let mut model = Model::default();
    // Where players were found at some time: the older, the more of them have left since.
    let mut spots: BTreeMap<String, Spot> = BTreeMap::new();
    let mut keys = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        // Whatever is expected where, by now or by an earlier look, nothing comes of it but speed.
        if let Step::Upsert(_, record) = &step {
            keys.push(record.key);
        }
        index.warm_keys(&keys[keys.len().saturating_sub(WARM)..]);
        index.warm_spots(&spots.values().copied().collect::<Vec<_>>());
        let ties = [None, Some(Ties::Earliest), Some(Ties::Share)][number % 3];
        let pick = |at: prop::sample::Index| {
            let (_, id) = at.get(&model.sorted);
            String::from_utf8(id.clone()).unwrap()
        };
        match step {
            Step::Upsert(id, record) => {
                let change = index.change(&id, spots.get(&id).copied(), record, ties);
                assert_eq!(change, model.change(&id, record, ties));
            }
            Step::Nudge(..) | Step::Remove(..) if model.sorted.is_empty() => {}
            Step::Nudge(at, by) => {
                let id = pick(at);
                let mut record = model.records[&id];
                record.key.folded = (record.key.folded + by).clamp(-1 << 53, 1 << 53);
                let (_, spot) = index.look_up(&id).unwrap();
                spots.insert(id.clone(), spot);
                let change = index.change(&id, Some(spot), record, ties);
                assert_eq!(change, model.change(&id, record, ties));
            }
            Step::Remove(at) => {
                let id = pick(at);
                assert_eq!(index.remove(&id), model.remove(&id));
                assert_eq!(index.remove(&id), None);
            }
            Step::Look(id, record) => {
                assert_same_bounds(&index, &model, record.key, &id);
                assert_eq!(index.get(&id), model.records.get(&id).copied());
            }
        }
        assert_same(&index, &model);
    }
    let rows: Vec<_> = rows_of(&index, 0, usize::MAX);
    let loaded = RankIndex::from_sorted_with(limits, rows, 0).unwrap();
    assert_same(&loaded, &model);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_index_agrees_with_a_sorted_list_after_every_step(steps in steps()) {
        run(&SMALL, steps);
    }

    #[test]
    fn leaves_that_split_by_size_agree_as_well(steps in steps()) {
        run(&TIGHT, steps);
    }

    #[test]
    fn leaves_of_real_size_agree_as_well(steps in steps()) {
        run(&Limits::REAL, steps);
    }
}

/// A generator of one's own: the same numbers in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

pub(super) fn hex_id(player: u64) -> String {
    let mut random = Random(player);
    format!("{:016x}{:08x}", random.next(), random.next() >> 32)
}

fn deep(limits: &'static Limits, players: u64, steps: u64, scores: u64) {
    let mut index = RankIndex::with_limits(limits);
    let mut records: BTreeMap<u64, IndexRecord> = BTreeMap::new();
    let mut random = Random(players ^ scores);
    for step in 0..steps {
        let player = random.below(players);
        // Grows, shrinks almost to nothing, and grows again.
        let removing = step % (steps / 2) > steps / 3;
        if removing && random.below(10) < 8 {
            assert_eq!(index.remove(&hex_id(player)), records.remove(&player));
        } else {
            let folded = i64::try_from(random.below(scores)).unwrap();
            let at = i64::try_from(random.below(1_000) * 1_000 + step).unwrap();
            let record = record(-folded, at);
            assert_eq!(index.upsert(&hex_id(player), record), records.insert(player, record));
        }
        if step % (steps / 8) == 0 {
            index.check();
        }
    }
    index.check();
    let mut sorted: Vec<_> = records.iter().map(|(player, r)| (r.key, hex_id(*player))).collect();
    sorted.sort();
    for (at, (key, id)) in sorted.iter().enumerate().step_by(97) {
        let found = index.find(id).unwrap();
        assert_eq!((found.position.0, found.record.key), (at as u64, *key));
        let first = sorted.partition_point(|(other, _)| other.folded < key.folded);
        assert_eq!(found.first_of_score.0, first as u64);
        let window = rows_of(&index, at as u64, 9);
        let expected = sorted.iter().skip(at).take(9).map(|(_, id)| id);
        assert!(window.iter().map(|(id, _)| id).eq(expected));
    }
    assert_eq!(rows_of(&index, 0, usize::MAX).len(), sorted.len());
}

/// Players win now and then: each win goes to the end of the players with that score, as on a board in use.
fn wins(limits: &'static Limits, players: u64, steps: u64, hex: bool) {
    let id = |player: u64| if hex { hex_id(player) } else { format!("p{}", player * player) };
    let mut index = RankIndex::with_limits(limits);
    let mut model = Model::default();
    let mut random = Random(players);
    for step in 0..steps {
        let id = id(random.below(players));
        let found = index.look_up(&id);
        let folded = found.map_or(0, |(record, _)| record.key.folded);
        let won = record(folded - 1, i64::try_from(step).unwrap());
        let spot = found.map(|(_, spot)| spot);
        let change = index.change(&id, spot, won, Some(Ties::Earliest));
        assert_eq!(change, model.change(&id, won, Some(Ties::Earliest)));
    }
    assert_same(&index, &model);
}

/// The same on leaves that split by bytes, with few scores: new leaves begin after full ones, and all is looked at after each step.
#[test]
fn leaves_that_begin_after_full_ones_keep_the_order() {
    let mut index = RankIndex::with_limits(&TIGHT);
    let mut model = Model::default();
    let mut random = Random(3);
    for step in 0..1_500_i64 {
        // Everyone comes in order at first, then some win and some go.
        let player = if step < 600 { step.cast_unsigned() } else { random.below(600) };
        let id = hex_id(player);
        if step >= 600 && step % 7 == 0 {
            assert_eq!(index.remove(&id), model.remove(&id));
        } else {
            let folded = model.records.get(&id).map_or(-1, |held| held.key.folded - step % 3);
            let mut won = record(folded.max(-4), step * 50);
            // Now and then one that was told of later, which takes a column that the others do not need.
            won.updated_at.0 += if step % 97 == 0 { 100_000 } else { 0 };
            let change = index.change(&id, None, won, Some(Ties::Earliest));
            assert_eq!(change, model.change(&id, won, Some(Ties::Earliest)));
        }
        index.check();
    }
    assert_same(&index, &model);
}

#[test]
fn wins_that_follow_one_another_keep_the_order() {
    wins(&SMALL, 300, 3_000, true);
    wins(&TIGHT, 500, 4_000, false);
    wins(&Limits { fingers_from: 4, ..Limits::REAL }, 2_000, 10_000, true);
    wins(&Limits::REAL, 1_000, 10_000, false);
}

/// What became of players who went to the end of a leaf.
#[derive(Default, Debug)]
struct Appended {
    all: u32,
    within_their_leaf: u32,
    as_the_last_of_their_leaf: u32,
    as_the_first_of_their_leaf: u32,
    so_that_leaves_joined: u32,
    not_for_lack_of_room: u32,
}

/// Wins on a small board, which is looked at after each of them.
fn appended(limits: &'static Limits, id: impl Fn(u64) -> String, scores: i64) -> Appended {
    let mut index = RankIndex::with_limits(limits);
    let mut model = Model::default();
    let mut random = Random(scores.unsigned_abs());
    let mut seen = Appended::default();
    let leaves = |index: &RankIndex| {
        let numbers = 0..u32::try_from(index.tree.leaves.len()).unwrap();
        numbers.filter(|leaf| index.tree.leaves.in_use(*leaf).is_some()).count()
    };
    for step in 0..4_000_i64 {
        let id = id(random.below(60));
        let found = index.look_up(&id);
        // Who has the best score begins again, and some only reach theirs anew.
        let by = i64::from(step % 5 > 0);
        let folded = found.map_or(0, |(record, _)| (record.key.folded - by) % scores);
        let won = record(folded, step);
        let before = leaves(&index);
        let expected = index.tree.expected(won.key).and_then(|finger| {
            let leaf = finger.leaf;
            let ends = index.tree.leaf_in_use(leaf)?;
            ends.ends_before(won.key).then_some((leaf, ends.slots() == ends.header.cap()))
        });
        let place = found.map(|(_, spot)| spot.place);
        let rows = place.map_or(0, |place| index.tree.leaf(place.leaf).rows());
        let first = place.is_some_and(|place| index.tree.leaf(place.leaf).first() == place.slot);
        let change = index.change(&id, found.map(|(_, spot)| spot), won, Some(Ties::Earliest));
        assert_eq!(change, model.change(&id, won, Some(Ties::Earliest)));
        index.check();
        let (Some(place), Some((leaf, full))) = (place, expected) else { continue };
        seen.all += 1;
        seen.not_for_lack_of_room += u32::from(full);
        seen.within_their_leaf += u32::from(leaf == place.leaf);
        seen.as_the_last_of_their_leaf += u32::from(leaf != place.leaf && rows == 1);
        seen.as_the_first_of_their_leaf += u32::from(first && rows > 1);
        seen.so_that_leaves_joined += u32::from(rows > 1 && leaves(&index) < before);
    }
    assert_same(&index, &model);
    seen
}

#[test]
fn players_go_to_the_end_of_a_leaf_from_anywhere() {
    let mixed = |player: u64| match player % 3 {
        0 => hex_id(player),
        1 => player.to_string(),
        _ => format!("player {player}"),
    };
    let all =
        [appended(&WIDE, hex_id, 12), appended(&WIDE, mixed, 12), appended(&WIDE, hex_id, 40)];
    for seen in &all {
        assert!(seen.all > 500, "{all:?}");
        assert!(seen.within_their_leaf > 0, "{all:?}");
        assert!(seen.as_the_last_of_their_leaf > 0, "{all:?}");
        assert!(seen.as_the_first_of_their_leaf > 0, "{all:?}");
        assert!(seen.so_that_leaves_joined > 0, "{all:?}");
        assert!(seen.not_for_lack_of_room > 0, "{all:?}");
    }
}

#[test]
fn nearly_all_who_win_find_the_end_of_their_score_without_a_search() {
    const LIMITS: Limits = Limits { fingers_from: 4, fanout: 8, ..Limits::REAL };
    let mut index = RankIndex::with_limits(&LIMITS);
    let mut random = Random(9);
    for player in 0..20_000 {
        index.upsert(&hex_id(player), record(-(player.cast_signed() % 20), player.cast_signed()));
    }
    let (mut wins, mut searches) = (0, 0);
    for step in 0..60_000 {
        let id = hex_id(random.below(20_000));
        let (held, spot) = index.look_up(&id).unwrap();
        let folded = (held.key.folded - 1 - random.below(3).cast_signed()) % 20;
        let won = record(folded, 100_000 + step);
        let at_end = index.tree.expected(won.key).is_some_and(|finger| {
            index.tree.leaf_in_use(finger.leaf).is_some_and(|leaf| leaf.ends_before(won.key))
        });
        index.change(&id, Some(spot), won, None);
        wins += 1;
        searches += u32::from(!at_end);
    }
    index.check();
    assert!(searches * 10 < wins, "{searches} of {wins}");
}

#[test]
fn a_leaf_that_loses_a_long_id_may_get_more_slots_as_it_shrinks() {
    let slots = |index: &RankIndex| index.tree.leaf(index.tree.root).header.cap();
    let mut more = 0;
    for players in 4..40 {
        let (mut index, mut model) = (RankIndex::new(), Model::default());
        let long = ["x".repeat(128), "x".repeat(127)];
        for id in long.iter().cloned().chain((0..players).map(hex_id)) {
            index.upsert(&id, record(1, 1));
            model.upsert(&id, record(1, 1));
        }
        for id in &long {
            let before = slots(&index);
            assert_eq!(index.remove(id), model.remove(id));
            more += usize::from(slots(&index) > before);
            assert_same(&index, &model);
        }
    }
    assert!(more > 0);
}

#[test]
fn a_spot_of_an_index_that_is_gone_is_only_slow() {
    let mut index = RankIndex::with_limits(&SMALL);
    for player in 0..200 {
        index.upsert(&hex_id(player), record(1, 1));
    }
    let spots: Vec<_> = (0..200).map(|player| index.look_up(&hex_id(player)).unwrap().1).collect();
    for player in 0..200 {
        index.remove(&hex_id(player));
        index.warm_spots(&spots);
    }
    for (player, spot) in (0..).zip(&spots) {
        let change = index.change(&hex_id(player), Some(*spot), record(2, 1), Some(Ties::Share));
        assert_eq!(change, Change { previous: None, before: None, after: Some(Position(0)) });
    }
    index.check();
    let mut other = RankIndex::new();
    other.warm_spots(&spots);
    other.change("a", Some(spots[199]), record(1, 1), None);
    assert_eq!(other.get("a"), Some(record(1, 1)));
    other.check();
}

/// A full leaf of players in order of score, all at one time, and someone who is unlike them in score and both times.
fn someone_unlike_the_others(ids: &[String], at_row: usize) {
    let rows: Vec<(String, IndexRecord)> =
        ids.iter().cloned().zip((0..).map(|folded| record(folded, 1_790_000_000_000))).collect();
    for limits in [&Limits::REAL, &TIGHT] {
        for (score, at) in [(-1 << 53, 0), (-1 << 53, -62_167_219_200_000), (0, 0), (0, 1)] {
            let mut index = RankIndex::from_sorted_with(limits, rows.clone(), 0).unwrap();
            let mut model = Model::default();
            for (id, record) in &rows {
                model.upsert(id, *record);
            }
            let key = SortKey { folded: i64::try_from(at_row).unwrap() + score, at: Millis(at) };
            let unlike = IndexRecord { key, updated_at: Millis(253_402_207_200_000) };
            for id in ["7", "18446744073709551615", "0123456789abcdef01234567"] {
                let change = index.change(id, None, unlike, Some(Ties::Earliest));
                assert_eq!(change, model.change(id, unlike, Some(Ties::Earliest)));
                assert_same(&index, &model);
            }
        }
    }
}

#[test]
fn someone_unlike_the_others_of_a_full_leaf_finds_room() {
    let long: Vec<String> = (0..128_u64).map(|n| (u64::MAX - 1 - n).to_string()).collect();
    let short: Vec<String> = (1_000..1_128_u64).map(|n| n.to_string()).collect();
    let texts: Vec<String> = (0..60).map(|n| format!("{n:0>24}z")).collect();
    let mut mixed: Vec<String> = (1_000..1_120_u64).map(|n| n.to_string()).collect();
    mixed.extend((0..4).map(|n| format!("{n}").repeat(128)));
    for ids in [long, short, texts, mixed] {
        for at_row in [0, 1, ids.len() / 2, ids.len() - 5, ids.len() - 1, ids.len()] {
            someone_unlike_the_others(&ids, at_row);
        }
    }
}

#[test]
fn trees_of_many_levels_survive_growth_and_shrinking() {
    deep(&SMALL, 2_000, 20_000, 50);
    deep(&SMALL, 2_000, 20_000, u64::MAX >> 12);
    deep(&TIGHT, 5_000, 30_000, 3);
}

#[test]
fn real_sizes_survive_growth_and_shrinking() {
    deep(&Limits { fingers_from: 100, ..Limits::REAL }, 150_000, 400_000, 1_000);
    deep(&Limits::REAL, 50_000, 200_000, u64::MAX >> 12);
}

#[test]
fn who_leaves_leaves_a_hole_which_someone_else_fills() {
    let mut index = RankIndex::new();
    let mut model = Model::default();
    let rows: Vec<_> = (0..400).map(|n: i64| (hex_id(n.cast_unsigned()), record(n, n))).collect();
    for (id, record) in &rows {
        index.upsert(id, *record);
        model.upsert(id, *record);
    }
    let holes = |index: &RankIndex| -> usize {
        let leaves = 0..u32::try_from(index.tree.leaves.len()).unwrap();
        let leaves = leaves.filter(|leaf| index.tree.leaves.in_use(*leaf).is_some());
        leaves.map(|leaf| index.tree.leaf(leaf)).map(|leaf| leaf.slots() - leaf.rows()).sum()
    };
    let before = holes(&index);
    for (id, _) in rows.iter().step_by(20) {
        assert_eq!(index.remove(id), model.remove(id));
        assert_same(&index, &model);
    }
    assert!(holes(&index) >= before + 15, "{} holes, {before} before", holes(&index));
    let held = holes(&index);
    for (n, (_, record)) in rows.iter().enumerate().step_by(20).skip(1) {
        let id = hex_id(1_000 + n as u64);
        assert_eq!(index.upsert(&id, *record), model.upsert(&id, *record));
        assert_same(&index, &model);
    }
    assert!(holes(&index) + 15 <= held, "{} of {held} holes are left", holes(&index));
}

#[test]
fn a_leaf_of_128_slots_has_holes_at_its_edges() {
    let id = |n: i64| format!("{n:04x}");
    for gone in [vec![0], vec![0, 63, 126], vec![127], vec![63, 64, 126, 127], vec![0, 1, 2]] {
        for came in [-1, 0, 1, 126, 127, 128, 129, 253, 254, 255, 256] {
            let mut index = RankIndex::new();
            let mut model = Model::default();
            for n in 0..128 {
                index.upsert(&id(n), record(2 * n, 7));
                model.upsert(&id(n), record(2 * n, 7));
            }
            assert_eq!((index.tree.height, index.tree.leaf(0).slots()), (0, 128));
            for n in &gone {
                assert_eq!(index.remove(&id(*n)), model.remove(&id(*n)));
                assert_same(&index, &model);
            }
            for n in 0..4 {
                let (id, record) = (id(1_000 + n), record(came, n));
                assert_eq!(index.upsert(&id, record), model.upsert(&id, record));
                assert_same(&index, &model);
            }
        }
    }
}

#[test]
fn players_whom_the_locator_cannot_tell_apart_are_both_there_when_it_grows() {
    let mut seen: BTreeMap<u16, String> = BTreeMap::new();
    let mut pairs = Vec::new();
    for player in 0.. {
        let id = hex_id(player);
        let bits = bucket::bits_of(Packed::new(&id, &mut Buffer::new()).hash());
        match seen.remove(&bits) {
            Some(other) => pairs.push([other, id]),
            None => {
                seen.insert(bits, id);
            }
        }
        if pairs.len() == 100 {
            break;
        }
    }
    let mut index = RankIndex::new();
    for (score, pair) in (0..).zip(&pairs) {
        for id in pair {
            index.upsert(id, record(score, 1));
        }
    }
    let leaf_of = |index: &RankIndex, id: &str| index.look_up(id).unwrap().1.place.leaf;
    let together = |index: &RankIndex| {
        pairs.iter().filter(|[a, b]| leaf_of(index, a) == leaf_of(index, b)).count()
    };
    assert!(together(&index) > 90);
    for player in 1_000_000..1_020_000 {
        index.upsert(&hex_id(player), record(1_000 + player.cast_signed() % 100, 1));
    }
    assert!(together(&index) > 90);
    index.check();
    for [a, b] in &pairs {
        assert!(index.remove(a).is_some() && index.get(a).is_none() && index.get(b).is_some());
    }
    index.check();
}

#[test]
fn a_tie_is_ordered_by_time_then_id_bytes() {
    let mut index = RankIndex::new();
    for (id, at) in [("9", 5), ("10", 5), ("b", 4), ("Z", 5), ("ff", 5), ("FF", 5)] {
        index.upsert(id, record(-7, at));
    }
    let order: Vec<_> = rows_of(&index, 0, 10).into_iter().map(|(id, _)| id).collect();
    assert_eq!(order, ["b", "10", "9", "FF", "Z", "ff"]);
    let found = index.find("ff").unwrap();
    assert_eq!((found.position, found.first_of_score), (Position(5), Position(0)));
}

#[test]
fn players_equal_in_score_and_time_are_found_by_id_alone() {
    let mut index = RankIndex::with_limits(&SMALL);
    for player in 0..500 {
        index.upsert(&hex_id(player * 7 % 500), record(-1, 1));
    }
    index.check();
    let mut ids: Vec<_> = (0..500).map(hex_id).collect();
    ids.sort();
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(index.through(record(-1, 1).key, id), Position(at as u64 + 1));
        let found = index.find(id).unwrap();
        assert_eq!((found.position.0, found.first_of_score.0), (at as u64, 0));
    }
}

#[test]
fn an_empty_index_answers() {
    let mut index = RankIndex::new();
    let key = record(0, 0).key;
    assert_eq!((index.get("a"), index.find("a"), index.remove("a")), (None, None, None));
    assert_eq!(index.through(key, "a"), Position(0));
    assert_eq!((index.before_score(0), index.total()), (Position(0), 0));
    assert_eq!(rows_of(&index, 0, 3), []);
    index.warm(&["a"]);
    index.warm_keys(&[key]);
    index.upsert("a", record(1, 1));
    index.remove("a");
    assert_eq!(rows_of(&index, 0, 3), []);
    index.check();
}

#[test]
fn warming_changes_nothing() {
    let mut index = RankIndex::new();
    for player in 0..5_000 {
        index.upsert(&hex_id(player), record(-5, 5));
    }
    let ids: Vec<_> = (4_000..6_000).map(hex_id).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    index.warm(&ids);
    index.warm(&[]);
    index.warm_keys(&[record(-6, 5).key, record(-5, 5).key, record(0, 0).key]);
    index.check();
}

#[test]
fn sorted_rows_load_whatever_number_was_expected() {
    let mut index = RankIndex::new();
    for player in 0..20_000_u64 {
        index.upsert(&hex_id(player), record(-(player.cast_signed() % 100), player.cast_signed()));
    }
    let rows = rows_of(&index, 0, usize::MAX);
    for expected in [0, 1, 5_000, 20_000, 100_000] {
        let loaded = RankIndex::from_sorted(rows.iter().cloned(), expected).unwrap();
        loaded.check();
        assert_eq!(rows_of(&loaded, 0, usize::MAX), rows);
    }
}

#[test]
fn rows_out_of_order_or_twice_are_refused() {
    type Rows = Vec<(String, IndexRecord)>;
    let rows = |changes: &dyn Fn(&mut Rows)| {
        let mut rows: Rows = (0..5_000).map(|n| (hex_id(n), record(n.cast_signed(), 1))).collect();
        changes(&mut rows);
        RankIndex::from_sorted(rows, 5_000).map(|index| index.len())
    };
    assert_eq!(rows(&|_| ()), Ok(5_000));
    assert_eq!(rows(&|rows| rows.swap(70, 71)), Err(LoadError::OutOfOrder { row: 71 }));
    assert_eq!(rows(&|rows| rows[9] = rows[8].clone()), Err(LoadError::OutOfOrder { row: 9 }));
    for (first, second) in [(8, 9), (8, 20), (8, 400), (8, 4_999)] {
        let twice = rows(&|rows| rows[second].0 = rows[first].0.clone());
        assert!(matches!(twice, Err(LoadError::Duplicate { .. })), "{first} {second} {twice:?}");
    }
}

#[test]
#[should_panic(expected = "up to 64 players at once")]
fn more_players_than_fit_a_group_are_not_answered_in_part() {
    RankIndex::new().look_up_many(&["a"; WARM + 1], |_| {});
}

#[test]
fn readers_share_an_index() {
    fn shared<T: Send + Sync>() {}
    shared::<RankIndex>();
}
