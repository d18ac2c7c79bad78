//! What an index takes, and how much it can hold.

use super::tests::{Random, SMALL, hex_id, record};
use super::{Limits, RankIndex};

#[test]
fn a_small_index_is_small() {
    assert!(size_of::<RankIndex>() <= 400, "{}", size_of::<RankIndex>());
    let mut index = RankIndex::new();
    for player in 0..5 {
        index.upsert(
            &hex_id(player),
            record(player.cast_signed() * -1_000, player.cast_signed() * 100_000),
        );
    }
    assert!(index.memory_bytes() < 900, "{}", index.memory_bytes());
    for player in 0..5 {
        index.remove(&hex_id(player));
    }
    assert!(index.memory_bytes() < 700, "{}", index.memory_bytes());
}

#[test]
fn memory_follows_the_players_down_as_well_as_up() {
    let mut index = RankIndex::new();
    for player in 0..100_000 {
        index.upsert(
            &hex_id(player),
            record(-(player.cast_signed() % 1_000), player.cast_signed() * 26_000),
        );
    }
    let full = index.memory_bytes();
    assert!(full < 100_000 * 34, "{}", full / 100_000);
    for player in 0..99_000 {
        index.remove(&hex_id(player));
    }
    index.check();
    assert!(index.memory_bytes() < full / 8, "{} of {full}", index.memory_bytes());
}

#[test]
fn there_is_room_until_three_quarters_of_the_leaves_are_used() {
    const FEW: Limits = Limits { leaves: 100, ..SMALL };
    assert!(RankIndex::new().room() > 1_000_000);
    let mut index = RankIndex::with_limits(&FEW);
    let mut random = Random(5);
    let mut players = 0;
    while index.room() > 0 {
        // As long as there is room, it is no less than what may come at least.
        let before = index.room();
        index.upsert(&hex_id(players), record(random.below(1 << 40).cast_signed(), 1));
        assert!(index.room() + 1 >= before);
        players += 1;
    }
    // Those who are there move about for as long as they like.
    for step in 0..20_000 {
        let player = random.below(players);
        index.upsert(&hex_id(player), record(random.below(1 << 40).cast_signed(), step));
        assert!(index.tree.leaves.len() < 100, "{} leaves", index.tree.leaves.len());
    }
    index.check();
    for player in 0..players {
        index.remove(&hex_id(player));
    }
    assert_eq!(index.room(), 37, "free numbers count as room");
}

#[test]
fn memory_stays_where_players_come_and_go_at_random() {
    let mut index = RankIndex::new();
    let mut random = 1_u64;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % bound
    };
    let mut bytes = Vec::new();
    for number in 0..300_000 {
        let player = if number < 30_000 { number } else { below(30_000) };
        let at = 1_000 * number.cast_signed();
        index.upsert(&hex_id(player), record(-below(1 << 40).cast_signed(), at));
        if number % 30_000 == 29_999 {
            bytes.push(index.memory_bytes());
        }
    }
    index.check();
    // Times spread, and leaves are less full than right after all had come: an eighth more, and that is it.
    assert!(bytes.iter().all(|now| *now < bytes[0] * 8 / 7), "{bytes:?}");
}
