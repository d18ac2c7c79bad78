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

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(settings) => match serve(*settings) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        },
        Command::Other(command) => command.run(),
    }
}
