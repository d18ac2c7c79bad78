//! The conformance suite: what every engine must do, one behaviour a function.
//!
//! A function is named as the statement that it checks and uses nothing but the [`Engine`](crate::Engine) trait, so that each
//! engine passes the same ones. Where engines differ in what they promise ([`Capabilities`](crate::Capabilities)), it checks what this one
//! does promise. An engine's test file makes a [`Fixture`] and calls [`conformance_suite!`](crate::conformance_suite),
//! which turns each behaviour into a test of its own.
//!
//! There may be several servers on one store: [`World::engine`] gives them in turn, so that what one was told another is asked. Time
//! is a [`ManualClock`](crate::ManualClock). No test sleeps or polls: what the clock brings is there after [`Fixture::quiesce`].

pub mod batches;
pub mod boards;
mod cases;
pub mod duplicates;
pub mod erasure;
mod fixture;
pub mod former_names;
pub mod friends;
pub mod history;
pub mod imports;
pub mod keys;
pub mod linear;
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
pub mod servers;
pub mod snapshots;
pub mod snapshots_daily;
pub mod snapshots_imported;
pub mod snapshots_of_players;
pub mod standings;
pub mod streaks;
mod world;

pub use fixture::Fixture;
pub use world::{World, decided};

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
