//! Lists of friends.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};
use standings_core::PlayerId;

use crate::history::{History, Result, numbered};
use crate::record::LogRecord;

/// A list of friends, and the number of the record that set it: whoever was erased later is to be taken out of it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredFriends {
    pub(super) seq: u64,
    pub(super) friends: Vec<PlayerId>,
}

impl History {
    /// The list of a player's friends, in the order given, and the number of the record that set it.
    pub(crate) fn friends(&self, player: &PlayerId) -> Result<(u64, Arc<Vec<PlayerId>>)> {
        if let Some(waiting) = self.tail.lock().friends(player) {
            return Ok(waiting);
        }
        let Some(bytes) = self.friends.get(player.as_bytes())? else {
            return Ok((0, Arc::default()));
        };
        let StoredFriends { seq, friends } = postcard::from_bytes(&bytes)?;
        Ok((seq, Arc::new(friends)))
    }

    /// Who was erased by a record after this one. Of erasures that are cleared away nothing is known, and nothing is left.
    pub(crate) fn erased_after(&self, seq: u64) -> Result<HashSet<PlayerId>> {
        // The tail before the store: what leaves the one meanwhile is in the other.
        let mut erased = self.tail.lock().erased_after(seq);
        for guard in self.erasures.iter() {
            let (number, record) = numbered(guard)?;
            if let LogRecord::PlayerErased { player, .. } = record
                && number > seq
            {
                erased.insert(player);
            }
        }
        Ok(erased)
    }
}
