//! Runs that a seed decides, and can be had again.
//!
//! All tasks of a run share one thread and a clock that stands still while any of them can go on. Each step to the store waits for a time that the
//! seed draws, so the order in which the steps' times come is the order in which they have their effects. There is nothing else to
//! decide: the same plan gives the same run.

use std::sync::Arc;

use standings_core::Millis;

use super::{Faults, Memory, Options, Plan, Trouble, VirtualClock};

/// When every run begins.
pub const START: Millis = Millis(1_790_000_000_000);

/// Runs a scenario on a store with the faults of a plan, in time that is not real.
pub fn simulate<T, F: Future<Output = T>>(
    plan: &Plan,
    options: Options,
    scenario: impl FnOnce(Memory, Arc<Faults>) -> F,
) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let faults = Arc::new(Faults::new(plan.clone(), VirtualClock::starting_at(START)));
        let store = Memory::behind(faults.clone(), options, faults.clone());
        scenario(store, faults).await
    })
}

/// Makes a plan under which a run fails smaller: without the kinds of fault that it does not need, then with one that is enough, or as few as can
/// be found by leaving out ever smaller parts of them. `fails` runs a plan, and gives what went wrong in it if it still fails.
pub fn shrink(plan: &Plan, mut fails: impl FnMut(&Plan) -> Option<Vec<(u64, Trouble)>>) -> Plan {
    let mut smallest = plan.clone();
    for trouble in Trouble::ALL {
        let smaller = smallest.without(trouble);
        if smaller != smallest && fails(&smaller).is_some() {
            smallest = smaller;
        }
    }
    let Some(troubles) = fails(&smallest) else { return smallest };
    let mut steps: Vec<u64> = troubles.iter().map(|(step, _)| *step).collect();
    steps.dedup();
    let kinds = smallest.clone();
    let with =
        |steps: &[u64]| Plan { only: Some(steps.iter().copied().collect()), ..kinds.clone() };
    // Often any one of them is enough.
    for step in &steps {
        if fails(&with(&[*step])).is_some() {
            return with(&[*step]);
        }
    }
    let mut part = steps.len();
    while part > 0 {
        let mut from = 0;
        while from < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(from..(from + part).min(steps.len()));
            if fails(&with(&fewer)).is_some() {
                steps = fewer;
            } else {
                from += part;
            }
        }
        part /= 2;
    }
    with(&steps)
}
