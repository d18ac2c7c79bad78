//! `standings key`: who may call.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    client::{Connection, Path},
    failure::Result,
    output::{Column, Output, rows, table, text},
};

/// List, create and delete access keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// List the keys; the keys themselves are stored nowhere
    #[command(after_help = "Example:\n  standings key list")]
    List(List),
    /// Make a key; it is shown once
    #[command(after_help = "Example:\n  standings key create game-eu-1 --role game")]
    Create(Create),
    /// Delete a key; it stops working at once
    #[command(after_help = "Example:\n  standings key delete game-eu-1")]
    Delete(Delete),
}

#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Under which it is listed and deleted
    name: String,
    /// What it may do; a role includes the ones after it
    #[arg(long)]
    role: Role,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Its name
    name: String,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Role {
    /// Everything
    Admin,
    /// A game server: submits scores, writes players
    Game,
    /// Reads
    Read,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Game => "game",
            Self::Read => "read",
        }
    }
}

impl Key {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::List(List { output, connection }) => {
                let reply = connection.client()?.get(&Path::v1(&["keys"]))?;
                output.show(&reply, listed)
            }
            Self::Create(Create { name, role, output, connection }) => {
                let new = json!({"name": name, "role": role.name()});
                let reply = connection.client()?.post(&Path::v1(&["keys"]), &new)?;
                // The key alone, so that `KEY=$(standings key create …)` works; what to know about it goes to the person.
                if !output.is_json() {
                    eprintln!("{name} may {}. The key is shown only here:", may(role));
                }
                output.show(&reply, |key| text(key, "key"))
            }
            Self::Delete(Delete { name, output, connection }) => {
                connection.client()?.delete(&Path::v1(&["keys", &name]))?;
                output.done(&format!("{name} is deleted"))
            }
        }
    }
}

fn may(role: Role) -> &'static str {
    match role {
        Role::Admin => "do everything",
        Role::Game => "submit scores, write players and read",
        Role::Read => "read",
    }
}

fn listed(reply: &Value) -> String {
    let columns = [Column::Left("NAME"), Column::Left("ROLE"), Column::Left("CREATED")];
    let row = |key: &Value| ["name", "role", "created_at"].map(|member| text(key, member)).to_vec();
    table(&columns, &rows(reply, "data").iter().map(row).collect::<Vec<_>>())
}
