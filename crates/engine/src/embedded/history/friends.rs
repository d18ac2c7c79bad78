//! Lists of friends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use standings_core::PlayerId;

use super::{History, Result};

/// A list of friends, and the number of the record that set it: whoever was erased later is to be taken out of it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredFriends {
    pub(super) seq: u64,
    pub(super) friends: Vec<PlayerId>,
}

impl History {
    /// The list of a player's friends, in the order given.
    pub(crate) fn friends(&self, player: &PlayerId) -> Result<Arc<Vec<PlayerId>>> {
        if let Some(friends) = self.tail.lock().friends(player) {
            return Ok(friends);
        }
        match self.friends.get(player.as_bytes())? {
            Some(bytes) => Ok(Arc::new(postcard::from_bytes::<StoredFriends>(&bytes)?.friends)),
            None => Ok(Arc::default()),
        }
    }
}
