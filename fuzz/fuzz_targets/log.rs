//! What recovery reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| standings_embedded::fuzzing::log(bytes));
