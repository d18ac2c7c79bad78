//! `standings`: the server and its command line.

mod cli;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use standings_server::{config::Settings, serve::serve};

/// A real-time leaderboard server.
#[derive(Parser)]
#[command(name = "standings", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    #[command(
        after_help = "Example:\n  standings serve --data /var/lib/standings --listen 0.0.0.0:7878"
    )]
    Serve(Box<Settings>),
    #[command(flatten)]
    Other(Box<cli::Command>),
}

/// An error and its causes, each told once: many an error has its cause in its own words.
fn with_causes(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(settings) => match serve(*settings) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {}", with_causes(&error));
                ExitCode::FAILURE
            }
        },
        Command::Other(command) => command.run(),
    }
}
