//! Players who were erased and of whom something may be left in files. Readers share the set as it was when they looked.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use standings_core::{Millis, PlayerId};

use crate::record::ErasureNo;

/// When a player was erased.
#[derive(Clone, Copy)]
pub(crate) struct Erased {
    pub(crate) number: ErasureNo,
    pub(crate) at: Millis,
}

/// The erasures, the last one of each player.
#[derive(Clone, Default)]
pub(crate) struct Erasures {
    of: HashMap<PlayerId, Erased>,
    players: BTreeMap<ErasureNo, PlayerId>,
}

impl Erasures {
    pub(crate) fn insert(&mut self, player: &PlayerId, erased: Erased) {
        if let Some(before) = self.of.insert(player.clone(), erased) {
            self.players.remove(&before.number);
        }
        self.players.insert(erased.number, player.clone());
    }

    /// Forgets those before a number.
    pub(crate) fn purge(&mut self, before: ErasureNo) {
        self.of.retain(|_, erased| erased.number >= before);
        self.players = self.players.split_off(&before);
    }

    pub(crate) fn get(&self, player: &str) -> Option<Erased> {
        self.of.get(player).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PlayerId, &Erased)> {
        self.of.iter()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }
}

/// Players who were erased after a file, or what is to be one, was made: it may still have them.
#[derive(Clone)]
pub(crate) struct Hidden {
    erasures: Arc<Erasures>,
    since: ErasureNo,
}

impl Hidden {
    /// No player, where none was erased since.
    pub(crate) fn since(erasures: &Arc<Erasures>, since: ErasureNo) -> Option<Self> {
        let any = erasures.players.range(since..).next().is_some();
        any.then(|| Self { erasures: Arc::clone(erasures), since })
    }

    pub(crate) fn contains(&self, player: &str) -> bool {
        self.erasures.get(player).is_some_and(|erased| erased.number >= self.since)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PlayerId> {
        self.numbered().map(|(_, player)| player)
    }

    /// Each with the number of the erasure.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (ErasureNo, &PlayerId)> {
        self.erasures.players.range(self.since..).map(|(number, player)| (*number, player))
    }
}
