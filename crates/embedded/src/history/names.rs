//! Players by display name, in any letter case.

use std::collections::BTreeMap;

use standings_core::{Name, PlayerId, name::fold};

use crate::history::{History, HistoryError, Result, tail::Waiting};
use standings_engine::{NameQuery, NamedPlayer};

/// Names hold no control characters, so a zero byte ends one.
pub(super) fn name_key(name: &str, player: &str) -> Vec<u8> {
    let mut key = fold(name).into_bytes();
    key.push(0);
    key.extend_from_slice(player.as_bytes());
    key
}

impl History {
    /// Players by name, in the order of folded names, then of ids.
    pub(crate) fn players_by_name(
        &self,
        query: &NameQuery,
        limit: usize,
    ) -> Result<Vec<NamedPlayer>> {
        let prefix = match query {
            NameQuery::Is(name) => name_key(name, ""),
            NameQuery::StartsWith(start) => fold(start).into_bytes(),
        };
        // The tail before the store: what leaves the one meanwhile is in the other.
        let waiting = self.tail.lock().names(&prefix, limit);
        let mut found = BTreeMap::new();
        for (key, player) in waiting {
            found.extend(self.waiting_name(&key, player));
        }
        let mut stored = 0;
        for guard in self.names.prefix(&prefix) {
            if stored == limit {
                break;
            }
            let (key, name) = guard.into_inner()?;
            let player = player_of(&key)?;
            // Whoever has a profile in the tail has the name that it gives, if any.
            match self.tail.lock().profile(&player) {
                Waiting::Nothing => {}
                Waiting::Erased => continue,
                Waiting::Profile(profile) => {
                    let name = profile.name.clone();
                    let named = name.map(|name| (name_key(&name, &player), name));
                    let named = named.filter(|(key, _)| key.starts_with(&prefix));
                    found.extend(named.map(|(key, name)| (key, NamedPlayer { player, name })));
                    continue;
                }
            }
            let name = std::str::from_utf8(&name).ok().and_then(|name| Name::new(name).ok());
            let name = name.ok_or(HistoryError::Key)?;
            found.insert(key.to_vec(), NamedPlayer { player, name });
            stored += 1;
        }
        Ok(found.into_values().take(limit).collect())
    }
}

impl History {
    /// A name that waited under a key a moment ago. What has reached the store since is found there.
    fn waiting_name(&self, key: &[u8], player: PlayerId) -> Option<(Vec<u8>, NamedPlayer)> {
        let Waiting::Profile(profile) = self.tail.lock().profile(&player) else { return None };
        let name = profile.name.clone().filter(|name| *name_key(name, &player) == *key)?;
        Some((key.to_vec(), NamedPlayer { player, name }))
    }
}

fn player_of(key: &[u8]) -> Result<PlayerId> {
    let split = || {
        let zero = key.iter().rposition(|&byte| byte == 0)?;
        PlayerId::new(std::str::from_utf8(&key[zero + 1..]).ok()?).ok()
    };
    split().ok_or(HistoryError::Key)
}
