//! The embedded engine does what every engine must.

use standings_core::Millis;

use crate::Options;
use crate::tests::kit::InDirectory;
use standings_engine::conformance::Fixture;

#[expect(clippy::unused_async, reason = "other engines connect to something")]
async fn open(now: Millis) -> Box<dyn Fixture> {
    Box::new(InDirectory::new(now, Options::default()))
}

standings_engine::conformance_suite!(open);
