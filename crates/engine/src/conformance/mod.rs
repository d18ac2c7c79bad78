//! The conformance suite: what every engine must do, one behaviour a function.
//!
//! A function is named as the statement that it checks and uses nothing but the [`Engine`] trait, so that each engine
//! passes the same ones. An engine's test file makes a [`Fixture`] and calls [`conformance_suite!`](crate::conformance_suite),
//! which turns each behaviour into a test of its own.
//!
//! Time is a [`ManualClock`]. Engines open and close seasons in the background, so whoever turns the clock across a boundary
//! waits until the engine has followed ([`World::turn_to`]).

pub mod batches;
pub mod boards;
mod cases;
pub mod duplicates;
pub mod erasure;
pub mod former_names;
pub mod friends;
pub mod history;
pub mod imports;
pub mod keys;
pub mod model;
pub mod paging;
pub mod player_seasons;
pub mod players;
pub mod reading;
mod recall;
pub mod retention;
pub mod rules;
pub mod seasons;
pub mod seasons_closed;
pub mod snapshots;
pub mod snapshots_daily;
pub mod snapshots_imported;
pub mod snapshots_of_players;
pub mod standings;
pub mod streaks;
mod world;

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Engine, ManualClock};

pub use world::World;

/// An engine under test on a store of its own, empty at first.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// The engine as it is open now.
    fn engine(&self) -> Arc<dyn Engine>;

    /// The clock that the engine goes by.
    fn clock(&self) -> Arc<ManualClock>;

    /// Stops the engine and opens it on the same data. Nobody else may hold the engine by then.
    async fn restart(&mut self);
}

/// Makes a `#[tokio::test]` of every behaviour. The argument is an async function from the clock's first reading to a
/// `Box<dyn Fixture>`.
#[macro_export]
macro_rules! conformance_suite {
    ($open:path) => {
        $crate::conformance_cases! { [$crate::conformance_tests] $open }
    };
}

/// Tests of the given cases; for [`conformance_suite!`](crate::conformance_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($open:path; $($module:ident { $($case:ident,)* })*) => {
        $($(
            #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let fixture = $open($crate::conformance::World::start()).await;
                let mut world = $crate::conformance::World::new(fixture);
                $crate::conformance::$module::$case(&mut world).await;
            }
        )*)*
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    macro_rules! names {
        ($ignored:ident; $($module:ident { $($case:ident,)* })*) => {
            [$(($crate::conformance::tests::source(stringify!($module)), vec![$(stringify!($case)),*]),)*]
        };
    }

    fn source(module: &str) -> String {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance");
        std::fs::read_to_string(format!("{dir}/{module}.rs"))
            .or_else(|_| std::fs::read_to_string(format!("{dir}/{module}/mod.rs")))
            .unwrap()
    }

    #[test]
    fn every_behaviour_is_in_the_table() {
        for (source, listed) in crate::conformance_cases!([names] ignored) {
            let written = source.lines().filter_map(|line| {
                line.strip_prefix("pub async fn ").and_then(|rest| rest.split('(').next())
            });
            assert_eq!(written.collect::<BTreeSet<_>>(), listed.into_iter().collect());
        }
    }
}
