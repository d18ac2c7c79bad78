//! Access keys.

use serde::{Deserialize, Serialize};
use standings_core::{KeyName, Millis};

/// What a key may do. A role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read.
    Read,
    /// A game server: submits scores, writes players.
    Game,
    /// Everything.
    Admin,
}

/// The SHA-256 of a key. The key itself is stored nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyHash(pub [u8; 32]);

/// A key as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyInfo {
    /// Its name.
    pub name: KeyName,
    /// What it may do.
    pub role: Role,
    /// When it was made.
    pub created_at: Millis,
}
