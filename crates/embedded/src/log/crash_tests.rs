//! The log against a simple model, on a disk that fails and loses power at every turn.
//!
//! The model is a list of groups and how many of them were acknowledged. Whatever happens, a log
//! opened afterwards must hold a prefix of that list with all that was acknowledged, except what
//! was dropped from its front on request.

use std::io::ErrorKind;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::files::sim_disk::{Failure, SimDisk, Survive};

#[derive(Debug, Clone, Copy)]
enum Step {
    Append {
        count: u32,
        bytes: usize,
    },
    Sync,
    Roll,
    /// Drop all but so many of the newest records.
    Drop {
        keep: u64,
    },
    /// The process ends and starts again.
    Restart,
    /// The machine does.
    PowerCut(Survive),
    /// Break the operation after so many others.
    Fail {
        after: u64,
        failure: Failure,
    },
    Heal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    first_seq: u64,
    count: u32,
    payload: Vec<u8>,
}

struct Model {
    disk: SimDisk,
    options: LogOptions,
    log: Option<Log>,
    /// Every group that was written or may have been, from the very first.
    groups: Vec<Group>,
    acknowledged: usize,
    /// Records from here on were never asked to be dropped.
    keep_from: u64,
    payloads: u8,
}

impl Model {
    fn new(options: LogOptions) -> Self {
        let mut model = Self::empty(SimDisk::new(), options);
        model.restart();
        model
    }

    fn empty(disk: SimDisk, options: LogOptions) -> Self {
        let (groups, log) = (Vec::new(), None);
        Self { disk, options, log, groups, acknowledged: 0, keep_from: 1, payloads: 0 }
    }

    /// Returns false once the log cannot be written to any more.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Append { count, bytes } => return self.append(count, bytes),
            Step::Sync | Step::Roll => {
                let Some(log) = &mut self.log else { return false };
                let sync = matches!(step, Step::Sync);
                match if sync { log.sync() } else { log.roll() } {
                    Ok(()) => self.acknowledged = self.groups.len(),
                    Err(WriteError::NotApplied(_)) if !sync => {}
                    Err(_) => return false,
                }
            }
            Step::Drop { keep } => {
                let Some(log) = &mut self.log else { return false };
                // Views pass only what is durable.
                let seq = log.next_seq().saturating_sub(keep).min(log.durable_seq());
                self.keep_from = self.keep_from.max(seq);
                return log.drop_before(seq).is_ok();
            }
            Step::Restart => self.restart(),
            Step::PowerCut(survive) => self.power_cut(survive),
            Step::Fail { after, failure } => {
                self.disk.fail_at(self.disk.operations() + after, failure);
            }
            Step::Heal => self.disk.heal(),
        }
        true
    }

    fn append(&mut self, count: u32, bytes: usize) -> bool {
        let Some(log) = &mut self.log else { return false };
        // Each payload differs from the one that may have been refused before it; some are zeros.
        self.payloads = self.payloads.wrapping_add(1);
        let payload = vec![if bytes % 7 == 3 { 0 } else { self.payloads }; bytes];
        let first_seq = log.next_seq();
        let result = log.append(count, &payload);
        let group = Group { first_seq, count, payload };
        match result {
            Ok(range) => {
                assert_eq!(range, first_seq..first_seq + u64::from(count));
                self.groups.push(group);
            }
            Err(WriteError::Unknown(_)) => {
                self.groups.push(group);
                return false;
            }
            Err(WriteError::NotApplied(_)) => assert!(!log.is_poisoned()),
            Err(error) => {
                assert!(log.is_poisoned(), "{error}");
                return false;
            }
        }
        true
    }

    fn power_cut(&mut self, survive: Survive) {
        self.log = None;
        self.disk = self.disk.crash(survive);
        self.restart();
    }

    /// Opens the log and compares. A failure still planned may hit the opening; without it, or with
    /// power back, opening must work.
    fn restart(&mut self) {
        self.log = None;
        let mut opened = Log::open(Arc::new(self.disk.clone()), self.options.clone());
        if opened.is_err() {
            self.disk.heal();
            opened = Log::open(Arc::new(self.disk.clone()), self.options.clone());
        }
        if opened.is_err() && self.disk.list(DIR).is_err() {
            self.disk = self.disk.crash(Survive::Sectors(self.disk.operations()));
            opened = Log::open(Arc::new(self.disk.clone()), self.options.clone());
        }
        let opened = opened.unwrap_or_else(|error| panic!("{error}"));
        self.compare(&opened.log);
        self.log = Some(opened.log);
    }

    fn compare(&mut self, log: &Log) {
        let mut found = Vec::new();
        let mut reader = log.read_from(log.first_seq()).unwrap();
        while let Some(frame) = reader.next_frame().unwrap() {
            let (first_seq, count, payload) = (frame.first_seq, frame.count, frame.payload);
            found.push(Group { first_seq, count, payload: payload.to_vec() });
        }
        assert!(log.first_seq() <= self.keep_from, "dropped more than was asked");
        let before = self.groups.iter().take_while(|group| group.first_seq < log.first_seq());
        let before = before.count();
        let after = before + found.len();
        assert!(after >= self.acknowledged, "{} of {}", after, self.acknowledged);
        assert_eq!(found, self.groups[before..after]);
        let next_seq = found.last().map_or(log.first_seq(), |g| g.first_seq + u64::from(g.count));
        assert_eq!(log.next_seq(), next_seq);
        // What is shown is durable, and the rest is gone for good.
        self.groups.truncate(after);
        self.acknowledged = after;
    }
}

fn options() -> LogOptions {
    LogOptions { segment_bytes: 2048, ahead_bytes: 700, start_seq: 1, must_reach: 0 }
}

/// Appends of varied sizes that cross sectors and segments, with a sync after every `groups`.
fn workload(groups: usize) -> Vec<Step> {
    let sizes = [0, 1, 40, 3, 600, 511, 17, 900, 484, 2100, 5, 64, 300, 31, 1000, 700, 10, 129];
    let mut steps = Vec::new();
    for (i, bytes) in sizes.into_iter().enumerate() {
        let count = u32::try_from(i % 5).unwrap() + 1;
        steps.push(Step::Append { count, bytes });
        if (i + 1) % groups == 0 {
            steps.push(Step::Sync);
        }
        match i {
            8 | 16 => steps.push(Step::Drop { keep: 6 }),
            12 => steps.push(Step::Roll),
            _ => {}
        }
    }
    steps
}

/// Runs the workload on a disk that fails at one operation.
fn run(steps: &[Step], operation: u64, failure: Failure) -> Model {
    let mut model = Model::empty(SimDisk::new(), options());
    model.disk.fail_at(operation, failure);
    let opened = Log::open(Arc::new(model.disk.clone()), model.options.clone());
    model.log = opened.ok().map(|opened| opened.log);
    for &step in steps {
        if !model.step(step) {
            break;
        }
    }
    model
}

fn survivals(seed: u64) -> impl Iterator<Item = Survive> {
    let seeded = (0..4).flat_map(move |i| {
        let seed = seed * 4 + i;
        [Survive::Prefix(seed), Survive::Sectors(seed), Survive::Garbage(seed)]
    });
    [Survive::Nothing, Survive::Everything].into_iter().chain(seeded)
}

#[test]
fn after_a_crash_at_any_operation_the_log_is_a_prefix_with_all_that_was_acknowledged() {
    let mut crashes = 0;
    for groups in [1, 3] {
        let steps = workload(groups);
        let operations = run(&steps, u64::MAX, Failure::Crash).disk.operations();
        assert!(operations > 50, "{operations}");
        for operation in 0..operations {
            for survive in survivals(operation) {
                let mut model = run(&steps, operation, Failure::Crash);
                model.power_cut(survive);
                for step in [Step::Append { count: 2, bytes: 90 }, Step::Sync, Step::Restart] {
                    assert!(model.step(step));
                }
                crashes += 1;
            }
        }
    }
    println!("\ntried: {crashes} crashes of the log alone, at each operation of its disk");
}

#[test]
fn a_crash_while_recovering_from_a_crash_loses_nothing_either() {
    for groups in [1, 3] {
        let steps = workload(groups);
        let operations = run(&steps, u64::MAX, Failure::Crash).disk.operations();
        for operation in 0..operations {
            for (again, survive) in survivals(operation).enumerate() {
                let mut model = run(&steps, operation, Failure::Crash);
                model.disk = model.disk.crash(survive);
                model.disk.fail_at(again as u64 % 6, Failure::Crash);
                let _ = Log::open(Arc::new(model.disk.clone()), model.options.clone());
                model.power_cut(survive);
            }
        }
    }
}

#[test]
fn after_a_failure_at_any_operation_only_what_may_have_counted_is_in_doubt() {
    let kinds = [ErrorKind::StorageFull, ErrorKind::Other];
    let failures = kinds.into_iter().flat_map(|kind| [Failure::Error(kind), Failure::Stuck(kind)]);
    let mut failed = 0;
    for failure in failures.chain([Failure::Full]) {
        for groups in [1, 3] {
            let steps = workload(groups);
            let operations = run(&steps, u64::MAX, Failure::Crash).disk.operations();
            for operation in 0..operations {
                for survive in survivals(operation) {
                    let mut model = run(&steps, operation, failure);
                    model.disk.heal();
                    // A poisoned log refuses; any other takes the next group as if nothing had
                    // been.
                    if model.step(Step::Append { count: 1, bytes: 50 }) {
                        assert!(model.step(Step::Sync));
                    }
                    model.power_cut(survive);
                    failed += 1;
                }
            }
        }
    }
    println!(
        "\ntried: {failed} failures of the log's disk, full, failing once or for good, at each operation"
    );
}

fn survive() -> impl Strategy<Value = Survive> {
    prop_oneof![
        Just(Survive::Nothing),
        Just(Survive::Everything),
        any::<u64>().prop_map(Survive::Prefix),
        any::<u64>().prop_map(Survive::Sectors),
        any::<u64>().prop_map(Survive::Garbage),
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        Just(Failure::Crash),
        Just(Failure::Full),
        Just(Failure::Error(ErrorKind::Other)),
        Just(Failure::Stuck(ErrorKind::Other)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1..6u32, 0..900usize).prop_map(|(count, bytes)| Step::Append { count, bytes }),
        8 => Just(Step::Sync),
        1 => Just(Step::Roll),
        2 => (0..40u64).prop_map(|keep| Step::Drop { keep }),
        1 => Just(Step::Restart),
        2 => survive().prop_map(Step::PowerCut),
        2 => (0..8u64, failure()).prop_map(|(after, failure)| Step::Fail { after, failure }),
        2 => Just(Step::Heal),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_operations_failures_and_crashes_never_break_the_model(
        steps in proptest::collection::vec(step(), 1..120),
        end in survive(),
    ) {
        let mut model = Model::new(options());
        for step in steps {
            model.step(step);
        }
        model.power_cut(end);
    }
}
