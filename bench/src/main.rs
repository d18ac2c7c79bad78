//! Side-by-side benchmarks. One program, because linking one takes a minute.

use anyhow::Result;
use clap::{Parser, Subcommand};
use standings_bench::parts::{history, http, index};

/// Measures Standings beside its peers, on this machine, in one run.
///
/// Every part writes a table and its figures to bench/results; `report` makes the table of targets, the charts and the figures of the
/// documents from them. Sizes are a flag: the default is a quick look, the targets are for 25 million players.
#[derive(Parser)]
struct Program {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    Index(index::Arguments),
    Http(http::Arguments),
    History(history::Arguments),
}

fn main() -> Result<()> {
    match Program::parse().part {
        Part::Index(arguments) => index::run(&arguments),
        Part::Http(arguments) => http::run(&arguments),
        Part::History(arguments) => history::run(&arguments),
    }
}
