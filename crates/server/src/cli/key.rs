//! `standings key`: who may call.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    client::{Call, Path},
    failure::Result,
    output::{Column, rows, table, text},
};

/// List, create and delete access keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// List the keys; the keys themselves are stored nowhere
    #[command(after_help = "Example:\n  standings key list")]
    List(Call),
    /// Make a key; it is shown once
    #[command(after_help = "Example:\n  standings key create game-eu-1 --role game")]
    Create(Create),
    /// Delete a key; it stops working at once
    #[command(after_help = "Example:\n  standings key delete game-eu-1")]
    Delete(Delete),
}

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Under which it is listed and deleted
    name: String,
    /// What it may do; a role includes the ones after it
    #[arg(long)]
    role: Role,
    #[command(flatten)]
    call: Call,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Its name
    name: String,
    #[command(flatten)]
    call: Call,
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
            Self::List(call) => call.get(&Path::v1(&["keys"]), listed),
            Self::Create(Create { name, role, call }) => {
                let new = json!({"name": name, "role": role.name()});
                let reply = call.client()?.post(&Path::v1(&["keys"]), &new)?;
                // The key alone, so that `KEY=$(standings key create …)` works; what to know about it goes to the person.
                if !call.output.is_json() {
                    eprintln!("{name} may {}. The key is shown only here:", may(role));
                }
                call.output.show(&reply, |key| text(key, "key"))
            }
            Self::Delete(Delete { name, call }) => {
                call.client()?.delete(&Path::v1(&["keys", &name]))?;
                call.output.done(&format!("{name} is deleted"))
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
