//! `standings`: the server and its command line.

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
}

fn main() -> anyhow::Result<()> {
    let Command::Serve(settings) = Cli::parse().command;
    serve(*settings)
}
