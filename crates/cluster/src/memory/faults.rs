//! What goes wrong, by seed.
//!
//! A [`Plan`] says what may go wrong and how often; its seed says when. Whether a fault hits a step depends on the seed, the kind of fault and the
//! number of the step alone, so that switching one kind off leaves the others where they were until the run takes another course.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use standings_core::Millis;

use super::{Clock, Fate, Network, Outcome, Place, State, Step, ViewFault, VirtualClock};
use crate::{
    call::{Call, Kind},
    dice::Dice,
    traits::{Fault, Shard},
};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trouble {
    /// A step has its effect, and the answer is lost.
    Lost,
    /// A step is refused before its effect.
    Refused,
    /// A step has its effect seconds after its caller stopped waiting.
    Late,
    /// A step takes a hundred times as long.
    Delayed,
    /// The store has too much to do.
    Throttled,
    /// A shard is not there for some seconds.
    ShardDown,
    /// A shard takes twenty times as long for some seconds.
    ShardSlow,
    /// Records cannot be read for some seconds.
    Unreadable,
    /// A node of the view is replaced by one that lacks the last changes.
    Promoted,
    /// A node of the view has made room.
    Evicted,
    /// A node of the view has lost everything.
    Flushed,
    /// A clock is off by up to a second, for some seconds.
    Skewed,
}

impl Trouble {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Lost,
        Self::Refused,
        Self::Late,
        Self::Delayed,
        Self::Throttled,
        Self::ShardDown,
        Self::ShardSlow,
        Self::Unreadable,
        Self::Promoted,
        Self::Evicted,
        Self::Flushed,
        Self::Skewed,
    ];
}

/// What may go wrong, how often, and the seed that says when.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// The probability of each kind: for a step, or for one of the spans of time that it lasts. What is not there does not happen.
    pub rates: BTreeMap<Trouble, f64>,
    /// The steps to which something may happen; all, where that is not said.
    pub only: Option<BTreeSet<u64>>,
}

/// How long what lasts for some time lasts.
const SPAN: i64 = 4000;

impl Plan {
    /// Nothing goes wrong; the seed decides who goes on.
    pub fn quiet(seed: u64) -> Self {
        Self { seed, rates: BTreeMap::new(), only: None }
    }

    /// Everything goes wrong now and then, one or two things often, by seed.
    pub fn rough(seed: u64) -> Self {
        let mut dice = Dice::of(seed, &[u64::MAX]);
        let rate = |trouble: &Trouble| match trouble {
            Trouble::Evicted | Trouble::Flushed => 0.002,
            Trouble::Promoted => 0.01,
            Trouble::Skewed => 0.3,
            _ => 0.03,
        };
        let mut rates: BTreeMap<_, _> =
            Trouble::ALL.iter().map(|trouble| (*trouble, rate(trouble))).collect();
        for _ in 0..dice.below(3) {
            let often = dice.below(Trouble::ALL.len() as u64);
            let often = Trouble::ALL[usize::try_from(often).unwrap_or(0)];
            rates.entry(often).and_modify(|rate| *rate *= 5.0);
        }
        Self { seed, rates, only: None }
    }

    /// With one kind alone, at this rate.
    pub fn only(seed: u64, trouble: Trouble, rate: f64) -> Self {
        Self { rates: BTreeMap::from([(trouble, rate)]), ..Self::quiet(seed) }
    }

    /// Without a kind.
    pub fn without(&self, trouble: Trouble) -> Self {
        let mut plan = self.clone();
        plan.rates.remove(&trouble);
        plan
    }

    fn hits(&self, trouble: Trouble, of: &[u64]) -> bool {
        let Some(rate) = self.rates.get(&trouble) else { return false };
        let mut parts = vec![trouble as u64];
        parts.extend(of);
        Dice::of(self.seed, &parts).chance(*rate)
    }

    /// By how much a clock is off at an instant. Clocks of shards have the numbers of the shards; others may have any above.
    pub fn skew(&self, clock: u64, now: Millis) -> Millis {
        let span = now.0.div_euclid(SPAN).unsigned_abs();
        if !self.hits(Trouble::Skewed, &[clock, span]) {
            return Millis(0);
        }
        let off = Dice::of(self.seed, &[clock, span]).below(2001);
        Millis(i64::try_from(off).unwrap_or(0) - 1000)
    }
}

/// The faults of a run, and what has come of the plan.
#[derive(Debug)]
pub struct Faults {
    plan: Plan,
    clock: VirtualClock,
    /// Steps that set out, and those that had their effect.
    steps: AtomicU64,
    stopped: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    troubles: Vec<(u64, Trouble)>,
    effects: u64,
    /// Of all effects in their order, with their times.
    trace: u64,
}

impl Faults {
    /// The faults of a plan, in the runtime's time.
    pub fn new(plan: Plan, clock: VirtualClock) -> Self {
        let seen = Mutex::default();
        Self { plan, clock, steps: AtomicU64::new(0), stopped: AtomicBool::new(false), seen }
    }

    /// From now on nothing goes wrong.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// What went wrong, with the numbers of the steps.
    pub fn troubles(&self) -> Vec<(u64, Trouble)> {
        self.seen.lock().troubles.clone()
    }

    /// How many steps have had an effect.
    pub fn effects(&self) -> u64 {
        self.seen.lock().effects
    }

    /// A number that is the same for two runs only if the same steps had their effects in the same order at the same times.
    pub fn trace(&self) -> u64 {
        self.seen.lock().trace
    }

    /// What a clock shows that is not a shard's; a server has one.
    pub fn clock_of(&self, server: u64) -> Millis {
        self.shown(server + u64::from(u16::MAX))
    }

    fn shown(&self, clock: u64) -> Millis {
        let now = self.clock.now();
        if self.stopped.load(Ordering::SeqCst) { now } else { now.plus(self.plan.skew(clock, now)) }
    }

    /// Whether a kind of fault hits a step, which is noted.
    fn hit(&self, trouble: Trouble, step: u64, of: &[u64]) -> bool {
        let may = self.plan.only.as_ref().is_none_or(|only| only.contains(&step));
        let on = may && !self.stopped.load(Ordering::SeqCst);
        let hit = on && self.plan.hits(trouble, of);
        if hit {
            self.seen.lock().troubles.push((step, trouble));
        }
        hit
    }

    fn outcome(&self, number: u64, step: Step) -> Outcome {
        let span = self.clock.now().0.div_euclid(SPAN).unsigned_abs();
        let shard = match step.place {
            Place::Shard(shard) => u64::from(shard.0),
            Place::View(part) => u64::from(part) + u64::from(u16::MAX),
        };
        let reads_records = matches!(step.call, Call::Records | Call::Boards | Call::Rows);
        let down = self.hit(Trouble::ShardDown, number, &[shard, span])
            || reads_records && self.hit(Trouble::Unreadable, number, &[span]);
        if down || self.hit(Trouble::Refused, number, &[number]) {
            return Outcome::Refused(Fault::NotApplied("refused".into()));
        }
        if self.hit(Trouble::Throttled, number, &[number]) {
            return Outcome::Refused(Fault::Busy(Millis(50)));
        }
        if self.hit(Trouble::Late, number, &[number]) {
            return Outcome::Late(Duration::from_millis(500));
        }
        if self.hit(Trouble::Lost, number, &[number]) { Outcome::Lost } else { Outcome::Answered }
    }

    /// How long a step takes one way: it is what decides who goes on.
    fn takes(&self, number: u64, step: Step, dice: &mut Dice) -> Duration {
        let mut millis = 1 + dice.below(20);
        if let Place::Shard(shard) = step.place {
            let span = self.clock.now().0.div_euclid(SPAN).unsigned_abs();
            if self.hit(Trouble::ShardSlow, number, &[u64::from(shard.0), span]) {
                millis *= 20;
            }
        }
        if self.hit(Trouble::Delayed, number, &[number]) {
            millis *= 100;
        }
        Duration::from_millis(millis)
    }

    fn view(&self, number: u64, dice: &mut Dice) -> Option<ViewFault> {
        if self.hit(Trouble::Promoted, number, &[number]) {
            let lose = usize::try_from(dice.below(4)).unwrap_or(0);
            return Some(ViewFault::Promote { lose, back: dice.chance(0.3) });
        }
        if self.hit(Trouble::Evicted, number, &[number]) {
            return Some(ViewFault::Evict);
        }
        let flushed = self.hit(Trouble::Flushed, number, &[number]);
        flushed.then(|| ViewFault::Flush { restart: dice.chance(0.5) })
    }
}

impl Network for Faults {
    fn fate(&self, step: &Step) -> Fate {
        let number = self.steps.fetch_add(1, Ordering::SeqCst);
        let mut dice = Dice::of(self.plan.seed, &[number]);
        let outcome = self.outcome(number, *step);
        let mut before = self.takes(number, *step, &mut dice);
        let after = Duration::from_millis(1 + dice.below(20));
        if let Outcome::Late(patience) = outcome {
            before += patience + Duration::from_millis(dice.below(5000));
        }
        let of_view = step.call.kind() == Kind::Standings;
        let view = if of_view { self.view(number, &mut dice) } else { None };
        Fate { before, after, outcome, view }
    }

    fn stepped(&self, step: &Step, _: &State) {
        let mut seen = self.seen.lock();
        seen.effects += 1;
        let place = match step.place {
            Place::Shard(shard) => u64::from(shard.0),
            Place::View(part) => 1 << 32 | u64::from(part),
        };
        let now = self.clock.now().0.unsigned_abs();
        seen.trace = Dice::of(seen.trace, &[step.call as u64, place, now]).roll();
    }
}

impl Clock for Faults {
    fn of_shard(&self, shard: Shard) -> Millis {
        self.shown(u64::from(shard.0))
    }
}
