//! Profiles: a cache of those that are looked at, the tail, the store.
//!
//! The cache holds a tenth of a million names, so where more players are named, most rows of a page deep in a board have to come from
//! the store. They are read in one go, in the order of keys, since neighbours share a block; and a long page does not stay in the
//! cache, where it would only drive out what others look at.

use std::sync::{Arc, atomic::Ordering};

use standings_core::{Name, PlayerId, Profile};

use crate::history::{Group, History, Result, tail::Waiting};
use crate::record::LogRecord;

/// Of more profiles than these, read at once, none stays in the cache: the top hundred is looked at again, a thousand rows are paged
/// through.
const KEPT_AT_ONCE: usize = 100;

impl History {
    /// A player's profile, if there is one, where that is known without the store; else `None`.
    #[expect(clippy::option_option, reason = "whether it is known, and whether there is one")]
    pub(crate) fn known_profile(&self, player: &PlayerId) -> Option<Option<Arc<Profile>>> {
        if !self.any_profiles.load(Ordering::SeqCst) {
            return Some(None);
        }
        self.profiles.get(player)
    }

    /// A player's profile.
    pub(crate) fn profile(&self, player: &PlayerId) -> Result<Option<Arc<Profile>>> {
        match self.known_profile(player) {
            Some(profile) => Ok(profile),
            None => Ok(self.profiles(&[player])?.pop().flatten()),
        }
    }

    /// The profiles of players who are not in the cache, in their order.
    ///
    /// A reader may have loaded a profile just before it changes and put it into the cache just after. The epoch closes
    /// that gap: it is raised before the writer clears the cache, and a reader who sees it raised takes back what it put.
    pub(crate) fn profiles(&self, players: &[&PlayerId]) -> Result<Vec<Option<Arc<Profile>>>> {
        if players.is_empty() {
            return Ok(Vec::new());
        }
        let epoch = self.profile_epoch.load(Ordering::SeqCst);
        let ids: Vec<&str> = players.iter().map(|player| player.as_str()).collect();
        let profiles = self.load_profiles(&ids)?;
        if players.len() <= KEPT_AT_ONCE {
            for (player, profile) in players.iter().zip(&profiles) {
                self.profiles.insert((*player).clone(), profile.clone());
            }
            if self.profile_epoch.load(Ordering::SeqCst) != epoch {
                for player in players {
                    self.profiles.remove(*player);
                }
            }
        }
        Ok(profiles)
    }

    /// One past the cache.
    pub(crate) fn profile_uncached(&self, player: &PlayerId) -> Result<Option<Arc<Profile>>> {
        Ok(self.load_profiles(&[player.as_str()])?.pop().flatten())
    }

    /// What each of many players is called, past the cache: for a scan over everyone.
    pub(crate) fn names_of(&self, players: &[&str]) -> Result<Vec<Option<Name>>> {
        if !self.any_profiles.load(Ordering::SeqCst) {
            return Ok(vec![None; players.len()]);
        }
        let profiles = self.load_profiles(players)?;
        Ok(profiles.into_iter().map(|profile| profile?.name.clone()).collect())
    }

    fn load_profiles(&self, players: &[&str]) -> Result<Vec<Option<Arc<Profile>>>> {
        // As long as a test's patience: with the reads on the wrong thread it fails, and does not hang.
        #[cfg(test)]
        let _gate = self.gate.try_read_for(std::time::Duration::from_secs(20));
        // The tail before the store: what leaves the one meanwhile is in the other.
        let mut stored = Vec::new();
        let mut profiles = vec![None; players.len()];
        {
            let tail = self.tail.lock();
            for (number, player) in players.iter().enumerate() {
                match tail.profile(player) {
                    Waiting::Profile(profile) => profiles[number] = Some(profile),
                    Waiting::Erased => {}
                    Waiting::Nothing => stored.push(number),
                }
            }
        }
        stored.sort_unstable_by_key(|number| players[*number]);
        for number in stored {
            if let Some(bytes) = self.players.get(players[number].as_bytes())? {
                profiles[number] = Some(Arc::new(postcard::from_bytes(&bytes)?));
            }
        }
        Ok(profiles)
    }

    pub(super) fn forget_profiles(&self, group: &Group) {
        self.profile_epoch.fetch_add(1, Ordering::SeqCst);
        for record in group.profile_changes() {
            if let LogRecord::PlayerPut { player, .. } | LogRecord::PlayerErased { player, .. } =
                record
            {
                self.profiles.remove(player);
            }
        }
    }
}
