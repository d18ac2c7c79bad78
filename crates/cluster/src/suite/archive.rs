//! Standings that no longer change, and what both kinds of standings answer.

use standings_core::{Millis, Name, PlayerId, Position, SortKey, standing::Size};

use super::{
    cut::{Cut, How},
    given::{BOARD, player, record},
};
use crate::{
    call::Call,
    traits::{Answers, Archive, ArchiveNo, Fault, Placed, Probe, Reply, Row, Start, Version},
};

const ARCHIVE: ArchiveNo = ArchiveNo { board: BOARD, no: 5 };
const OTHER: ArchiveNo = ArchiveNo { board: BOARD, no: 6 };

/// Rows of a standing with ties, best first: folded scores 0, 0, 1, 1, 2 …
pub(super) fn rows(count: u32) -> Vec<Row> {
    let row = |number| {
        let who = Some(player(number));
        let record = record(i64::from(number / 2));
        Row { player: who, record, version: Version(10), name: None, streak: 0 }
    };
    (0..count).map(row).collect()
}

/// Every kind of probe, at every place of these rows, between them, before and behind.
pub(super) fn probes(rows: &[Row]) -> Vec<Probe> {
    let mut probes = vec![Probe::Size, Probe::Find(player(900)), Probe::Better(i64::MIN)];
    let places = rows.iter().filter_map(|row| Some((row.record.key, row.player.clone()?)));
    for (position, (key, who)) in (0..).zip(places) {
        probes.push(Probe::Find(who.clone()));
        probes.push(Probe::Better(key.folded));
        probes.push(Probe::Through(key, who.clone()));
        let before = SortKey { at: Millis(key.at.0 - 1), ..key };
        probes.push(Probe::Through(before, who.clone()));
        probes.push(Probe::Rows(Start::At(Position(position)), 3));
        probes.push(Probe::Rows(Start::After(key, who), 2));
    }
    probes.push(Probe::Better(i64::MAX));
    probes.push(Probe::Rows(Start::At(Position(500)), 3));
    probes
}

/// What a sorted list of rows without gaps answers.
pub(super) fn expected(rows: &[Row], probes: &[Probe]) -> Answers {
    let place = |row: &Row| (row.record.key, row.player.clone());
    let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count() as u64;
    let better = |folded: i64| Position(count(&|row| row.record.key.folded < folded));
    let through =
        |key: SortKey, who: &PlayerId| count(&|row| place(row) <= (key, Some(who.clone())));
    let reply = |probe: &Probe| match probe {
        Probe::Size => {
            let total = rows.iter().map(|row| i128::from(row.record.key.folded)).sum();
            Reply::Size(Size { players: rows.len() as u64, total })
        }
        Probe::Find(who) => {
            let row = rows.iter().position(|row| row.player.as_ref() == Some(who));
            Reply::Placed(row.map(|position| Placed {
                position: Position(position as u64),
                first_of_score: better(rows[position].record.key.folded),
                row: rows[position].clone(),
            }))
        }
        Probe::Better(folded) => Reply::Position(better(*folded)),
        Probe::Through(key, who) => Reply::Position(Position(through(*key, who))),
        Probe::Rows(start, limit) => {
            let start = match start {
                Start::At(position) => position.0,
                Start::After(key, who) => through(*key, who),
            };
            let skip = usize::try_from(start).expect("few");
            let rows: Vec<_> = rows.iter().skip(skip).take(*limit).cloned().collect();
            let first = rows.first().map_or(Position(start), |row| better(row.record.key.folded));
            Reply::Rows { start: Position(start), first_of_score: first, rows }
        }
    };
    Answers { replies: probes.iter().map(reply).collect(), within: 0 }
}

async fn read<S: Archive>(store: &Cut<S>, archive: ArchiveNo, probes: &[Probe]) -> Vec<Reply> {
    let answers = store.read(archive, probes).await.expect("an answer");
    assert_eq!(answers.within, 0);
    answers.replies
}

async fn write<S: Archive>(store: &Cut<S>, archive: ArchiveNo, from: usize, rows: &[Row]) {
    let from = Position(from as u64);
    assert_eq!(store.write(archive, from, rows).await, Ok(()));
}

/// With ties, at every place.
pub async fn answers_are_those_of_a_sorted_list<S: Archive>(store: &Cut<S>) {
    let mut rows = rows(11);
    rows[3].name = Name::new("Ann").ok();
    rows[3].streak = 4;
    write(store, ARCHIVE, 0, &rows).await;
    let probes = probes(&rows);
    let replies = read(store, ARCHIVE, &probes).await;
    for (number, (reply, wanted)) in
        replies.iter().zip(expected(&rows, &probes).replies).enumerate()
    {
        assert_eq!(*reply, wanted, "{:?}", probes[number]);
    }
}

/// The same rows again change nothing.
pub async fn pieces_are_written_in_any_order_and_again<S: Archive>(store: &Cut<S>) {
    let rows = rows(11);
    store.around.next(Call::ArchiveWrite, How::Lost);
    let lost = store.write(ARCHIVE, Position(8), &rows[8..]).await;
    assert!(matches!(lost, Err(Fault::Unknown(_))));
    for (from, to) in [(4, 8), (8, 11), (0, 4), (4, 8)] {
        write(store, ARCHIVE, from, &rows[from..to]).await;
    }
    let probes = probes(&rows);
    assert_eq!(read(store, ARCHIVE, &probes).await, expected(&rows, &probes).replies);
}

/// No player was on it.
pub async fn one_without_rows_is_empty<S: Archive>(store: &Cut<S>) {
    let probes = probes(&rows(1));
    assert_eq!(read(store, ARCHIVE, &probes).await, expected(&[], &probes).replies);
}

/// In the order of the archives.
pub async fn a_player_is_found_in_many<S: Archive>(store: &Cut<S>) {
    let rows = rows(6);
    write(store, ARCHIVE, 0, &rows).await;
    write(store, OTHER, 0, &rows[4..]).await;
    let of = |who, archives: &[ArchiveNo]| {
        let archives = archives.to_vec();
        async move { store.of_player(&player(who), &archives).await.expect("an answer") }
    };
    let row = |position, number: usize| Some((Position(position), rows[number].clone()));
    assert_eq!(of(4, &[OTHER, ARCHIVE]).await, [row(0, 4), row(4, 4)]);
    let never = ArchiveNo { board: BOARD, no: 99 };
    assert_eq!(of(3, &[OTHER, never, ARCHIVE]).await, [None, None, row(3, 3)]);
}

/// And so do all others; the player is not found, and the name is gone.
pub async fn a_gap_keeps_its_place_and_its_score<S: Archive>(store: &Cut<S>) {
    let mut rows = rows(8);
    rows[5].name = Name::new("Ann").ok();
    write(store, ARCHIVE, 0, &rows).await;
    assert_eq!(store.blank(ARCHIVE, &[Position(5)]).await, Ok(()));
    let all = [Probe::Size, Probe::Rows(Start::At(Position(0)), 99), Probe::Find(player(5))];
    let before = expected(&rows, &all);
    (rows[5].player, rows[5].name) = (None, None);
    let replies = read(store, ARCHIVE, &all).await;
    assert_eq!(replies[0], before.replies[0]);
    let zero = Position(0);
    assert_eq!(replies[1], Reply::Rows { start: zero, first_of_score: zero, rows: rows.clone() });
    assert_eq!(replies[2], Reply::Placed(None));
    assert_eq!(store.of_player(&player(5), &[ARCHIVE]).await, Ok(vec![None]));
    let others = [Probe::Find(player(4)), Probe::Find(player(6)), Probe::Better(3)];
    assert_eq!(read(store, ARCHIVE, &others).await, expected(&rows, &others).replies);
}

/// A piece that was under way when the gap was made does not bring the player back.
pub async fn a_write_that_comes_late_fills_no_gap<S: Archive>(store: &Cut<S>) {
    let rows = rows(4);
    write(store, ARCHIVE, 0, &rows).await;
    for _ in 0..2 {
        assert_eq!(store.blank(ARCHIVE, &[Position(1)]).await, Ok(()));
        write(store, ARCHIVE, 0, &rows).await;
        assert_eq!(store.of_player(&player(1), &[ARCHIVE]).await, Ok(vec![None]));
    }
}

/// To the last row; another one stays.
pub async fn what_is_removed_is_empty<S: Archive>(store: &Cut<S>) {
    let rows = rows(250);
    write(store, ARCHIVE, 0, &rows).await;
    write(store, OTHER, 0, &rows[..3]).await;
    let mut pieces = 0;
    while store.remove(ARCHIVE).await.expect("an answer") {
        pieces += 1;
        assert!(pieces < 1000, "removing comes to an end");
    }
    let size = [Probe::Size];
    assert_eq!(read(store, ARCHIVE, &size).await, expected(&[], &size).replies);
    assert_eq!(read(store, OTHER, &size).await, expected(&rows[..3], &size).replies);
    let found = store.of_player(&player(1), &[ARCHIVE]).await;
    assert_eq!(found, Ok(vec![None]));
}
