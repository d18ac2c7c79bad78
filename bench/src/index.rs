//! Index benchmark.
fn main() {}
