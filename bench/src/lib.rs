//! Side-by-side benchmarks: the parts, and what they share.
//!
//! Every part (`make bench-index`, `make bench-http`, …) measures the product beside its peers in one run and writes a
//! [`report::Report`]: a table for people and JSON for `make bench-docs`, which makes the table of targets, the charts and the figures
//! of the documents from it. No figure is ever copied by hand.
//!
//! | module | is |
//! |---|---|
//! | [`parts`] | one for each thing that is measured |
//! | [`board`], [`random`] | the reference board: the same players and scores in every run and on both sides |
//! | [`server`], [`redis`], [`database`], [`child`] | processes of our own on loopback, which end with the value that stands for them |
//! | [`client`], [`work`], [`wire`] | the load: many connections, answers checked, latency counted from when a request was due |
//! | [`engine`], [`index`] | the same work without HTTP, and without the engine |
//! | [`meter`], [`memory_floor`], [`latency_floor`], [`histogram`] | processor time, resident memory, what the machine allows, quantiles |
//! | [`report`], [`targets`], [`chart`], [`charts`], [`docs`] | what becomes of the figures |

pub mod board;
pub mod chart;
pub mod charts;
pub mod child;
pub mod client;
pub mod database;
pub mod docs;
pub mod engine;
pub mod histogram;
pub mod index;
pub mod latency_floor;
pub mod memory_floor;
pub mod meter;
pub mod options;
pub mod parts;
pub mod progress;
pub mod random;
pub mod redis;
pub mod report;
pub mod server;
pub mod targets;
pub mod wire;
pub mod work;
