//! Side-by-side benchmarks. One program, because linking one takes a minute.

use anyhow::Result;
use clap::{Parser, Subcommand};
use standings_bench::parts::{
    history, http, index, midnight, named, report, restart, scale, soak, sql,
};

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
    Midnight(midnight::Arguments),
    Named(named::Arguments),
    Restart(restart::Arguments),
    Scale(scale::Arguments),
    History(history::Arguments),
    Soak(soak::Arguments),
    Sql(sql::Arguments),
    Report(report::Arguments),
}

fn main() -> Result<()> {
    match Program::parse().part {
        Part::Index(arguments) => index::run(&arguments),
        Part::Http(arguments) => http::run(&arguments),
        Part::Midnight(arguments) => midnight::run(&arguments),
        Part::Named(arguments) => named::run(&arguments),
        Part::Restart(arguments) => restart::run(&arguments),
        Part::Scale(arguments) => scale::run(&arguments),
        Part::History(arguments) => history::run(&arguments),
        Part::Soak(arguments) => soak::run(&arguments),
        Part::Sql(arguments) => sql::run(&arguments),
        Part::Report(arguments) => report::run(&arguments),
    }
}
