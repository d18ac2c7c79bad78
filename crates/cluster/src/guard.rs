//! What keeps a caller from waiting for a store that does not answer: time limits, a bounded number of attempts, and a circuit that opens when a
//! store fails and tries it again by itself.
//!
//! Every call may be repeated, so a guard repeats what has no answer. What it may not do is forget: once an attempt may have been
//! carried out, a later one that certainly was not says nothing of it, and the outcome stays unknown.

use std::time::Duration;

use parking_lot::Mutex;
use standings_core::Millis;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    call::{Call, Kind},
    dice::Dice,
    meter::Meter,
    traits::Fault,
    wrap::Around,
};

/// How long a guard waits, and how often it tries.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long one attempt may take.
    pub attempt: Duration,
    /// How often a call is tried.
    pub attempts: u32,
    /// How long the pause is before the second attempt, at most; it doubles with each, and any part of it is as likely.
    pub pause: Duration,
    /// After so many attempts in a row without an answer a circuit opens.
    pub opens_after: u32,
    /// For how long it stays open before one call tries the store again.
    pub open: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(2),
            attempts: 3,
            pause: Duration::from_millis(50),
            opens_after: 10,
            open: Duration::from_secs(1),
        }
    }
}

/// Guards the calls to stores. Each store has a circuit of its own.
#[derive(Debug)]
pub struct Guard {
    limits: Limits,
    meter: Meter,
    dice: Mutex<Dice>,
    circuits: [Mutex<Circuit>; 3],
}

/// Whether a store is called at all.
#[derive(Debug, Default)]
struct Circuit {
    /// Attempts in a row without an answer.
    failed: u32,
    /// Set while it is open, or tried by one call: when another call may try.
    until: Option<Instant>,
}

impl Guard {
    /// A guard. The seed decides about pauses.
    pub fn new(limits: Limits, meter: Meter, seed: u64) -> Self {
        let dice = Mutex::new(Dice::new(seed));
        Self { limits, meter, dice, circuits: Default::default() }
    }

    /// Whether the circuit of a store is open: it is not called, but for a trial now and then.
    pub fn is_open(&self, kind: Kind) -> bool {
        self.circuits[kind as usize].lock().until.is_some()
    }

    /// Whether the store may be called now.
    fn admit(&self, kind: Kind) -> Result<(), Fault> {
        let mut circuit = self.circuits[kind as usize].lock();
        let now = Instant::now();
        match circuit.until {
            Some(until) if now < until => {
                let left = i64::try_from((until - now).as_millis()).unwrap_or(i64::MAX);
                Err(Fault::Busy(Millis(left.max(1))))
            }
            // One call tries it; others wait for what comes of that, or for as long again.
            Some(_) => {
                circuit.until = Some(now + self.limits.open.max(self.limits.attempt));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Notes whether the store answered.
    fn note(&self, kind: Kind, answered: bool) {
        let mut circuit = self.circuits[kind as usize].lock();
        if answered {
            *circuit = Circuit::default();
            return;
        }
        circuit.failed = circuit.failed.saturating_add(1);
        if circuit.failed >= self.limits.opens_after {
            circuit.until = Some(Instant::now() + self.limits.open);
        }
    }

    async fn attempt<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        kind: Kind,
        run: &impl Fn() -> F,
    ) -> Result<T, Fault> {
        self.admit(kind)?;
        let answer = match timeout(self.limits.attempt, run()).await {
            Ok(answer) => answer,
            Err(_) => Err(Fault::Unknown("no answer in time".into())),
        };
        // A store that says how it is has answered.
        let answered = matches!(answer, Ok(_) | Err(Fault::Busy(_) | Fault::TooDeep));
        self.note(kind, answered);
        answer
    }

    fn pause(&self, attempt: u32, fault: &Fault) -> Duration {
        let most = self.limits.pause * 2_u32.saturating_pow(attempt.min(10));
        let pause = most.mul_f64(self.dice.lock().unit());
        match fault {
            Fault::Busy(wait) => pause + Duration::from_millis(wait.0.unsigned_abs()),
            _ => pause,
        }
    }
}

impl Around for Guard {
    async fn around<T: Send, F: Future<Output = Result<T, Fault>> + Send>(
        &self,
        call: Call,
        run: impl Fn() -> F + Send + Sync,
    ) -> Result<T, Fault> {
        let mut unknown = None;
        for attempt in 0.. {
            let fault = match self.attempt(call.kind(), &run).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if !fault.is_harmless() {
                unknown = Some(fault.clone());
            }
            let last = attempt + 1 >= self.limits.attempts || fault == Fault::TooDeep;
            if last || self.is_open(call.kind()) {
                return Err(unknown.unwrap_or(fault));
            }
            sleep(self.pause(attempt, &fault)).await;
            self.meter.retried(call);
        }
        unreachable!("the last attempt returns")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const CALL: Call = Call::Facts;

    fn guard() -> Guard {
        let limits = Limits { opens_after: 4, ..Limits::default() };
        Guard::new(limits, Meter::default(), 1)
    }

    /// Calls a store that gives these answers, then answers; tells also how often it was called.
    async fn call(guard: &Guard, answers: &[Fault]) -> (Result<(), Fault>, u32) {
        let calls = AtomicU32::new(0);
        let run = || {
            let call = calls.fetch_add(1, Ordering::SeqCst) as usize;
            let answer = answers.get(call).cloned();
            async move { answer.map_or(Ok(()), Err) }
        };
        (guard.around(CALL, run).await, calls.into_inner())
    }

    fn unknown() -> Fault {
        Fault::Unknown("lost".into())
    }

    fn refused() -> Fault {
        Fault::NotApplied("refused".into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_answer_is_made_again_a_few_times() {
        assert_eq!(call(&guard(), &[unknown(), refused()]).await, (Ok(()), 3));
        assert_eq!(call(&guard(), &[refused(), refused(), refused()]).await, (Err(refused()), 3));
        assert_eq!(call(&guard(), &[Fault::TooDeep]).await, (Err(Fault::TooDeep), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_been_done_stays_unknown_whatever_later_attempts_say() {
        let answers = [unknown(), refused(), Fault::Busy(Millis(1))];
        assert_eq!(call(&guard(), &answers).await, (Err(unknown()), 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_busy_is_left_alone_for_as_long_as_it_asks() {
        let began = Instant::now();
        assert_eq!(call(&guard(), &[Fault::Busy(Millis(700))]).await, (Ok(()), 2));
        assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_ends_with_its_time_limit() {
        let guard = guard();
        let began = Instant::now();
        let answer: Result<(), _> = guard.around(CALL, std::future::pending).await;
        assert!(matches!(answer, Err(Fault::Unknown(_))), "{answer:?}");
        let waited = began.elapsed();
        assert!(waited >= Duration::from_secs(6) && waited < Duration::from_secs(7), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_circuit_opens_tries_the_store_again_by_itself_and_closes() {
        let guard = guard();
        let failing = vec![unknown(); 9];
        assert_eq!(call(&guard, &failing).await.1, 3);
        assert_eq!(call(&guard, &failing).await, (Err(unknown()), 1));
        assert!(guard.is_open(Kind::Ledger) && !guard.is_open(Kind::Standings));
        let (answer, calls) = call(&guard, &[]).await;
        assert!(matches!(answer, Err(Fault::Busy(_))), "{answer:?}");
        assert_eq!(calls, 0);

        sleep(Duration::from_secs(1)).await;
        assert_eq!(call(&guard, &failing).await, (Err(unknown()), 1));
        assert!(guard.is_open(Kind::Ledger));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(call(&guard, &[]).await, (Ok(()), 1));
        assert!(!guard.is_open(Kind::Ledger));
    }
}
