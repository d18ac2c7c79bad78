//! A checkpoint is exact for the instant at which it began, whatever happens while it is written.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::RwLock;
use standings_core::{IndexRecord as Row, Millis, Position, SortKey, timeline::Transition};

use crate::tests::kit::{board, definition, player};
use crate::{
    files::{disk::Disk, sim_disk::SimDisk},
    operations::checkpoint::{self, View},
    record::LogRecord,
    state::{catalog::Catalog, live::Live},
};
use standings_engine::conformance::model::Random;

const PLAYERS: u64 = 9000;

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let json = definition(r#"{"season":"never"}"#).to_json();
    catalog.apply(&LogRecord::BoardPut {
        board: 0,
        id: board("b"),
        definition: json,
        at: Millis(0),
    });
    let span = catalog.board_no(0).unwrap().definition.season_at(Millis(0));
    let transition = Box::new(Transition::Open(0, span));
    catalog.apply(&LogRecord::Season { board: 0, transition });
    catalog
}

fn rows(live: &Live) -> Vec<(String, Row)> {
    let mut rows = Vec::new();
    live.index().scan(Position(0), |player: &str, row: Row| {
        rows.push((player.to_owned(), row));
        ControlFlow::<()>::Continue(())
    });
    rows
}

/// Moves someone anywhere, takes someone off, or lets someone join.
fn change(live: &RwLock<Live>, random: &mut Random) {
    let who = player(&format!("p{:05}", random.below(PLAYERS + 500)));
    if random.one_in(10) {
        live.write().remove(&who);
    } else {
        let folded = random.below(5000).cast_signed();
        let key = SortKey { folded, at: Millis(random.below(50).cast_signed()) };
        live.write().set(&who, Row { key, updated_at: Millis(7) });
    }
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Writes a checkpoint and reads it back.
fn written(view: View) -> Vec<(String, Row)> {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
    view.write(&disk).unwrap();
    let loaded = checkpoint::load(disk.as_ref()).unwrap().unwrap();
    assert_eq!(loaded.position, 77);
    rows(&loaded.catalog.live(0, 0).unwrap().read())
}

#[test]
fn what_changed_before_the_scan_is_as_it_was() {
    let catalog = catalog();
    let live = Arc::clone(catalog.live(0, 0).unwrap());
    let mut random = Random(1);
    (0..20_000).for_each(|_| change(&live, &mut random));
    for _ in 0..5 {
        let before = rows(&live.read());
        let view = View::begin(&catalog, 77);
        (0..5_000).for_each(|_| change(&live, &mut random));
        assert_eq!(written(view), before);
    }
}

#[test]
fn what_changes_during_the_scan_is_as_it_was() {
    let catalog = catalog();
    let live = Arc::clone(catalog.live(0, 0).unwrap());
    let mut random = Random(2);
    (0..20_000).for_each(|_| change(&live, &mut random));
    for round in 0..20 {
        let before = rows(&live.read());
        let view = View::begin(&catalog, 77);
        let done = AtomicBool::new(false);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(round + 100);
                while !done.load(Ordering::Acquire) {
                    change(&live, &mut random);
                }
            });
            // Also where it fails, or the other thread would never end.
            let _end = End(&done);
            written(view)
        });
        assert_eq!(found, before, "round {round}");
    }
}

#[test]
fn a_view_that_was_given_up_costs_nothing_more() {
    let catalog = catalog();
    let live = Arc::clone(catalog.live(0, 0).unwrap());
    let mut random = Random(3);
    (0..1000).for_each(|_| change(&live, &mut random));
    let view = View::begin(&catalog, 77);
    view.end();
    (0..1000).for_each(|_| change(&live, &mut random));
    assert!(!live.read().has_views());
    let before = rows(&live.read());
    assert_eq!(written(View::begin(&catalog, 77)), before);
}
