//! The command line, but for `serve`. Every subcommand is an HTTP client of a running server, so that there is one way into
//! the data; only `check`, `rebuild` and `restore` work on the files of a stopped one.

mod backup;
mod board;
mod client;
mod export;
mod failure;
mod import;
mod key;
mod offline;
mod output;
mod player;
mod progress;
mod rows;
mod scores;
mod season;
mod snapshot;

use std::process::ExitCode;

use clap::Subcommand;

/// The subcommands. One whose own type has longer help has none here: it would take the place of that.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List, create and delete access keys
    #[command(subcommand)]
    Key(key::Key),
    /// List, create, show and delete boards
    #[command(subcommand)]
    Board(board::Board),
    /// List and close seasons
    #[command(subcommand)]
    Season(season::Season),
    #[command(subcommand)]
    Snapshot(snapshot::Snapshot),
    /// Show, befriend and erase players
    #[command(subcommand)]
    Player(player::Player),
    /// Show the best of a board
    Top(scores::Top),
    /// Show a player's rank
    Rank(scores::Rank),
    /// Submit a score
    Submit(scores::Submit),
    Import(import::Import),
    Export(export::Export),
    /// Copy a running server's data
    Backup(backup::Backup),
    /// Make a data directory from a backup
    Restore(offline::Restore),
    /// Check a stopped server's data
    Check(offline::Check),
    /// Recompute a stopped server's standings from its ledger
    Rebuild(offline::Rebuild),
}

impl Command {
    /// Runs it. Returns the exit code.
    pub(crate) fn run(self) -> ExitCode {
        let done = match self {
            Self::Key(command) => command.run(),
            Self::Board(command) => command.run(),
            Self::Season(command) => command.run(),
            Self::Snapshot(command) => command.run(),
            Self::Player(command) => command.run(),
            Self::Top(command) => command.run(),
            Self::Rank(command) => command.run(),
            Self::Submit(command) => command.run(),
            Self::Import(command) => command.run(),
            Self::Export(command) => command.run(),
            Self::Backup(command) => command.run(),
            Self::Restore(command) => command.run(),
            Self::Check(command) => command.run(),
            Self::Rebuild(command) => command.run(),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        }
    }
}
