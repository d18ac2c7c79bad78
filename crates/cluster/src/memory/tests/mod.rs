//! The store passes the suite in each of its forms, and shows what it lost.

mod loss;
mod trouble;
mod writers;

use std::sync::Arc;

use standings_core::Millis;

use super::{Fencing, ManualClock, Memory, Options};

fn open(options: Options) -> Memory {
    Memory::new(options, Arc::new(ManualClock::new(Millis(1_790_000_000_000))))
}

/// The suites on a store of a form.
macro_rules! form {
    ($name:ident, $shards:expr, $fencing:expr, $partitions:expr) => {
        mod $name {
            use super::*;

            fn open() -> Memory {
                let (shards, fencing, partitions) = ($shards, $fencing, $partitions);
                super::open(Options { shards, fencing, partitions, ..Options::default() })
            }

            mod ledger {
                crate::ledger_suite!(super::open());
            }
            mod archive {
                crate::archive_suite!(super::open());
            }
            mod standings {
                crate::standings_suite!(super::open());
            }
        }
    };
}

form!(one_shard_with_rows, 1, Fencing::Row, 1);
form!(three_shards_with_rows, 3, Fencing::Row, 3);
form!(one_shard_with_streams, 1, Fencing::Streams, 2);
form!(three_shards_with_streams, 3, Fencing::Streams, 5);
