//! The power goes at every operation of the disk, and the log is torn at every byte.

use std::{path::Path, sync::Arc};

use standings_core::{Millis, limits::EVENT_ID_WINDOW, rule::Rejection};
use tempfile::TempDir;

use crate::tests::{
    kit::{board, definition, directory, event, standing, submit, times, tried},
    retention::until,
    script::{Keep, Step, Write, everything, script, settled},
};
use crate::{
    Durability, Embedded, OpenError, Options,
    files::{
        disk::Disk as _,
        sim_disk::{Failure, SimDisk, Survive},
    },
    operations::checkpoint::{self, View},
    recovery::open::recover,
};
use standings_engine::{
    Clock as _, Engine, EngineError, ManualClock, SeasonRef, StandingRef,
    conformance::{World, decided},
};

/// An engine on a simulated disk; only the history is in a directory.
struct Machine {
    disk: SimDisk,
    dir: TempDir,
    options: Options,
    clock: Arc<ManualClock>,
}

/// What the history is after a power cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HistoryThen {
    /// All that it was given.
    Whole,
    /// Nothing: it had not been made durable. The log must then still have everything.
    Empty,
}

impl Machine {
    fn new(options: Options) -> Self {
        let clock = Arc::new(ManualClock::new(World::start()));
        Self { disk: SimDisk::new(), dir: directory(), options, clock }
    }

    fn open(&self) -> Arc<Embedded> {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<Arc<Embedded>, OpenError> {
        Embedded::open(self.options(), self.clock.clone())
    }

    fn options(&self) -> Options {
        let dir = self.dir.path().to_owned();
        Options { dir, disk: Some(Arc::new(self.disk.clone())), ..self.options.clone() }
    }

    /// The machine after the power has returned.
    async fn revive(&mut self, engine: Arc<Embedded>, survive: Survive, history: HistoryThen) {
        engine.shutdown().await;
        drop(engine);
        self.disk = self.disk.crash(survive);
        if history == HistoryThen::Empty {
            std::fs::remove_dir_all(self.dir.path().join("history")).unwrap();
        }
    }
}

fn small(history: HistoryThen) -> Options {
    let segment_bytes = if history == HistoryThen::Empty { 1 << 20 } else { 2000 };
    Options { checkpoint_bytes: 700, segment_bytes, ..Options::default() }
}

/// What is shown before and after each step when nothing fails, and how many operations the disk did.
async fn in_peace(steps: &[Step], options: &Options) -> (Vec<[String; 2]>, u64) {
    let machine = Machine::new(options.clone());
    let engine = machine.open();
    let mut shown = Vec::new();
    for step in steps {
        machine.clock.advance(step.pass);
        // A change makes the engine look at the clock.
        engine.submit(&board("none"), vec![]).await.unwrap_err();
        settled(&engine).await;
        let before = everything(&*engine).await;
        step.write.apply(&*engine, machine.clock.now()).await.unwrap();
        settled(&engine).await;
        shown.push([before, everything(&*engine).await]);
    }
    engine.shutdown().await;
    drop(engine);
    let engine = machine.open();
    settled(&engine).await;
    assert_eq!(everything(&*engine).await, shown[shown.len() - 1][1]);
    engine.shutdown().await;
    (shown, machine.disk.operations())
}

/// Runs the script until the power goes at an operation, and looks at what is there when it has returned.
async fn crash_at(
    steps: &[Step],
    shown: &[[String; 2]],
    operation: u64,
    survive: Survive,
    history: HistoryThen,
) {
    let mut machine = Machine::new(small(history));
    machine.disk.fail_at(operation, Failure::Crash);
    // It may go while the engine opens for the first time.
    let Ok(engine) = machine.try_open() else {
        machine.disk = machine.disk.crash(survive);
        return machine.open().shutdown().await;
    };
    let mut failed = None;
    for (number, step) in (0..).zip(steps) {
        machine.clock.advance(step.pass);
        match step.write.apply(&*engine, machine.clock.now()).await {
            Ok(()) => {}
            Err(error) => {
                let unknown = match error {
                    EngineError::OutcomeUnknown { .. } => true,
                    EngineError::Unavailable { .. } => false,
                    other => panic!("{other:?} at step {number}"),
                };
                failed = Some((number, unknown));
                break;
            }
        }
    }
    machine.revive(engine, survive, history).await;
    let engine = machine.open();
    settled(&engine).await;
    let now = everything(&*engine).await;
    let what = format!("power cut at operation {operation}, {survive:?}, step {failed:?}");
    let mut done = steps.len();
    match failed {
        None => assert_eq!(now, shown[steps.len() - 1][1], "{what}"),
        Some((number, unknown)) => {
            let [before, after] = &shown[number];
            done = number + usize::from(unknown && now == *after);
            let right = now == *before || (unknown && now == *after);
            assert!(right, "{what}\nbefore:\n{before}\nafter:\n{after}\nfound:\n{now}");
        }
    }
    repeat_events(&*engine, &steps[..done], machine.clock.now()).await;
    assert_eq!(everything(&*engine).await, now, "{what}: a duplicate counted");
    engine.shutdown().await;
}

/// Sends every event again that was accepted: none may count.
async fn repeat_events(engine: &dyn Engine, steps: &[Step], now: Millis) {
    let since = |id: &str| {
        steps.iter().rposition(|step| matches!(&step.write, Write::Delete(gone) if *gone == id))
    };
    for (number, step) in (0..).zip(steps) {
        let Write::Events(id, events) = &step.write else { continue };
        // A board that was deleted has forgotten its ids, and any board does after the window.
        let accepted =
            World::start().0 + steps[..=number].iter().map(|step| step.pass.0).sum::<i64>();
        let expired = now.0 - accepted >= EVENT_ID_WINDOW.0;
        if since(id).is_some_and(|deleted| deleted > number) || expired {
            continue;
        }
        let erased = |who: &str| {
            let later = &steps[number..];
            later.iter().any(|step| matches!(&step.write, Write::Erase(gone) if *gone == who))
        };
        // Nor is anything known of who was erased.
        for (who, value, name) in events.iter().filter(|(who, ..)| !erased(who)) {
            let answer = submit(engine, &board(id), event(who, *value, name)).await.unwrap();
            assert!(answer.duplicate, "{name} was forgotten");
            let other = engine.submit(&board(id), vec![event(who, value + 1, name)]).await;
            let other = other.unwrap().remove(0);
            assert_eq!(decided(other), Err(Rejection::EventIdReused), "{name}");
        }
    }
}

async fn crash_everywhere(history: HistoryThen, step_by: usize) {
    let mut cuts = 0;
    // The bests of dropped seasons are in the history alone, made durable before they are dropped: it cannot be empty then.
    let keep = if history == HistoryThen::Empty { Keep::Forever } else { Keep::One };
    let steps = script(2, keep);
    let (shown, operations) = in_peace(&steps, &small(history)).await;
    for (number, operation) in (0..operations).step_by(step_by).enumerate() {
        let survive = match number % 4 {
            0 => Survive::Nothing,
            1 => Survive::Garbage(operation),
            2 => Survive::Everything,
            _ => Survive::Prefix(operation),
        };
        crash_at(&steps, &shown, operation, survive, history).await;
        cuts += 1;
    }
    tried(&format!("{cuts} power cuts, at as many of {operations} operations of the disk"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_at_any_operation_takes_back_nothing_acknowledged() {
    crash_everywhere(HistoryThen::Whole, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_that_takes_the_history_with_it_takes_back_nothing_acknowledged() {
    crash_everywhere(HistoryThen::Empty, times("STANDINGS_CRASH_EVERY", 3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_torn_at_any_byte_of_its_last_frame_keeps_what_was_acknowledged() {
    let board = board("b");
    // The frame that will be torn: written, and not synced when the power goes.
    let prepare = async || {
        let machine = Machine::new(Options::default());
        let engine = machine.open();
        engine.put_board(&board, definition(r#"{"season":"never"}"#)).await.unwrap();
        submit(&*engine, &board, event("a", 5, "one")).await.unwrap();
        // The next write is the frame; the operation after it is its sync.
        machine.disk.fail_at(machine.disk.operations() + 1, Failure::Crash);
        let batch = vec![event("a", 1, "two"), event("b", 2, "three")];
        let answer = engine.submit(&board, batch).await;
        assert!(matches!(answer, Err(EngineError::OutcomeUnknown { .. })), "{answer:?}");
        (machine, engine)
    };
    let old = [("a".to_owned(), 1, 5)];
    let new = [("a".to_owned(), 1, 6), ("b".to_owned(), 2, 2)];
    let (mut bytes, mut whole) = (0, false);
    while !whole {
        let (mut machine, engine) = prepare().await;
        machine.revive(engine, Survive::Bytes(bytes), HistoryThen::Whole).await;
        let engine = machine.open();
        let found = standing(&*engine, &board, StandingRef::CURRENT).await;
        whole = found == new;
        assert!(whole || found == old, "{bytes} bytes: {found:?}");
        let again = submit(&*engine, &board, event("b", 2, "three")).await.unwrap();
        assert_eq!(again.duplicate, whole, "{bytes} bytes");
        assert!(submit(&*engine, &board, event("a", 5, "one")).await.unwrap().duplicate);
        engine.shutdown().await;
        bytes += 1;
        assert!(bytes < 1000, "the whole frame is never found");
    }
    assert!(bytes > 40, "a frame of two events has more than {bytes} bytes");
    tried(&format!("the log torn at each of {bytes} bytes"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_interval_a_power_cut_takes_a_suffix_and_no_more() {
    let board = board("b");
    for seed in 0..12 {
        let durability = Durability::Interval(std::time::Duration::from_millis(20));
        let options = Options { durability, checkpoint_bytes: 2000, ..Options::default() };
        let mut machine = Machine::new(options);
        let engine = machine.open();
        engine.put_board(&board, definition(r#"{"season":"never"}"#)).await.unwrap();
        let mut durable = 0;
        let mut accepted = 0;
        for number in 0..60 {
            submit(&*engine, &board, event("a", 1, &format!("e{number}"))).await.unwrap();
            accepted += 1;
            if number % 20 == 10 {
                let before = accepted;
                tokio::time::sleep(std::time::Duration::from_millis(150)).await;
                durable = before;
            }
        }
        machine.disk.fail_next(Failure::Crash);
        let _ = submit(&*engine, &board, event("a", 1, "last")).await;
        machine.revive(engine, Survive::Garbage(seed), HistoryThen::Whole).await;
        let engine = machine.open();
        let found = standing(&*engine, &board, StandingRef::CURRENT).await;
        let kept = found.first().map_or(0, |row| row.2);
        assert!((durable..=accepted + 1).contains(&kept), "{kept} of {accepted}, {durable} due");
        // A suffix: exactly the first so many are known.
        for number in 0..60 {
            let event = event("a", 1, &format!("e{number}"));
            let again = submit(&*engine, &board, event).await.unwrap();
            assert_eq!(again.duplicate, number < kept, "event {number} of {kept} kept");
        }
        engine.shutdown().await;
    }
}

/// With `interval` a file must not go before the record that replaces it is durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_interval_a_power_cut_leaves_every_closed_season_readable() {
    let id = board("b");
    let hour = std::time::Duration::from_secs(3600);
    for survive in [Survive::Nothing, Survive::Everything, Survive::Sectors(1), Survive::Sectors(2)]
    {
        let options = Options { durability: Durability::Interval(hour), ..Options::default() };
        let mut machine = Machine::new(options);
        let engine = machine.open();
        engine.put_board(&id, definition("{}")).await.unwrap();
        for (who, value) in [("a", 1), ("b", 2), ("c", 3)] {
            submit(&*engine, &id, event(who, value, who)).await.unwrap();
        }
        engine.close_season(&id, None).await.unwrap();
        for who in ["a", "b"] {
            let who = crate::tests::kit::player(who);
            engine.remove_entry(&id, &SeasonRef::Previous, &who).await.unwrap();
        }
        engine.delete_board(&id).await.unwrap();
        machine.disk.fail_next(Failure::Crash);
        let _ = engine.put_board(&id, definition("{}")).await;
        machine.revive(engine, survive, HistoryThen::Whole).await;
        let engine = machine.open();
        // Whatever was kept can be read.
        let _ = everything(&*engine).await;
        engine.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_season_that_ended_while_the_power_was_off_is_closed_before_the_first_answer() {
    let id = board("b");
    let mut machine = Machine::new(Options::default());
    let engine = machine.open();
    engine.put_board(&id, definition(r#"{"season":"daily","grace":"0 seconds"}"#)).await.unwrap();
    submit(&*engine, &id, event("a", 1, "e")).await.unwrap();
    machine.revive(engine, Survive::Nothing, HistoryThen::Whole).await;
    machine.clock.advance(Millis(10 * 24 * 3_600_000));
    let engine = machine.open();
    assert_eq!(engine.board(&id).await.unwrap().board.season.id.as_str(), "2026-11-25");
    assert_eq!(standing(&*engine, &id, StandingRef::CURRENT).await, []);
    let old = SeasonRef::Id("2026-11-15".parse().unwrap()).into();
    assert_eq!(standing(&*engine, &id, old).await, [("a".to_owned(), 1, 1)]);
    engine.shutdown().await;
}

/// A copy of a directory.
pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The next start goes on from what it finds, and what it finds need not be durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_whose_writer_was_killed_survives_a_power_cut_later_on() {
    let mut machine = Machine::new(Options { segment_bytes: 500, ..Options::default() });
    let engine = machine.open();
    engine.put_board(&board("b"), definition(r#"{"season":"never"}"#)).await.unwrap();
    for number in 0..50 {
        submit(&*engine, &board("b"), event("a", 1, &format!("e{number}"))).await.unwrap();
    }
    engine.shutdown().await;
    drop(engine);
    let recovered = recover(&machine.options()).unwrap();
    let position = recovered.log.next_seq();
    View::begin(&recovered.catalog, position).write(&recovered.disk).unwrap();
    drop(recovered);
    // All but the last step: it has its name, and a power cut would take it back.
    let name = checkpoint::newest(&machine.disk).unwrap().unwrap();
    let (name, temporary) = (format!("checkpoint/{name}"), format!("checkpoint/{name}.tmp"));
    machine.disk.rename(&name, &temporary).unwrap();
    machine.disk.sync_dir("checkpoint").unwrap();
    machine.disk.rename(&temporary, &name).unwrap();

    let segments = || machine.disk.list("log").unwrap().len();
    let before = segments();
    let engine = machine.open();
    until("the log drops what the checkpoint has", || segments() < before).await;
    machine.revive(engine, Survive::Nothing, HistoryThen::Whole).await;
    let engine = machine.open();
    let found = standing(&*engine, &board("b"), StandingRef::CURRENT).await;
    assert_eq!(found, [("a".to_owned(), 1, 50)]);
    engine.shutdown().await;
}
