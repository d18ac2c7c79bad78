//! What clients send.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| standings_server::fuzzing::request(bytes));
