//! Records on their way into the store.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Instant,
};

use standings_core::{EventId, PlayerId, Profile};

use super::{Group, StoredId};
use crate::record::{BoardNo, LogRecord};

/// Acknowledged records that the store does not have yet, oldest first, and what reads need to find among them.
pub(super) struct Tail {
    groups: VecDeque<Arc<Group>>,
    records: usize,
    /// The number of the first record that is not in the store.
    position: u64,
    /// Records before this number may go into the store.
    released: u64,
    /// How many groups those are, how many events' worth, and since when there are any.
    ready_groups: usize,
    ready: usize,
    ready_since: Option<Instant>,
    /// With so much ready the feeding thread wants to be woken.
    pub(super) wanted: usize,
    /// Someone needs all this in the store.
    pub(super) hurry: bool,
    /// The latest profile of each player who has one here, with its number; `None` for who was erased.
    profiles: HashMap<PlayerId, (u64, Option<Arc<Profile>>)>,
    /// The latest lists of friends, likewise.
    friends: HashMap<PlayerId, (u64, Arc<Vec<PlayerId>>)>,
    /// Who was erased, and by which record: what the store has of them is from before that.
    erased: Arc<HashMap<PlayerId, u64>>,
    /// What each event id here was last used for, with the number of that record.
    ids: HashMap<BoardNo, HashMap<EventId, (u64, StoredId)>>,
    pub(super) closing: bool,
}

/// What of a player's profile is on its way into the store.
pub(super) enum Waiting {
    Profile(Arc<Profile>),
    /// There is none any more.
    Erased,
    Nothing,
}

/// Forgets what is in the store by now. A later one of the same player stays.
fn forget<T>(waiting: &mut HashMap<PlayerId, (u64, T)>, player: &PlayerId, seq: u64) {
    if waiting.get(player).is_some_and(|(latest, _)| *latest == seq) {
        waiting.remove(player);
    }
}

impl Tail {
    pub(super) fn new(position: u64) -> Self {
        Self {
            groups: VecDeque::new(),
            records: 0,
            position,
            released: position,
            ready_groups: 0,
            ready: 0,
            ready_since: None,
            wanted: 1,
            hurry: false,
            profiles: HashMap::new(),
            friends: HashMap::new(),
            erased: Arc::default(),
            ids: HashMap::new(),
            closing: false,
        }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn len(&self) -> usize {
        self.records
    }

    pub(super) fn push(&mut self, group: Arc<Group>) {
        self.records += group.weight;
        for (record, seq) in group.notable() {
            match record {
                LogRecord::PlayerPut { player, profile } => {
                    let profile = Some(Arc::new(profile.clone()));
                    self.profiles.insert(player.clone(), (seq, profile));
                }
                LogRecord::FriendsPut { player, friends } => {
                    self.friends.insert(player.clone(), (seq, Arc::new(friends.clone())));
                }
                LogRecord::PlayerErased { player, .. } => {
                    self.profiles.insert(player.clone(), (seq, None));
                    self.friends.insert(player.clone(), (seq, Arc::default()));
                    Arc::make_mut(&mut self.erased).insert(player.clone(), seq);
                    for ids in self.ids.values_mut() {
                        ids.retain(|_, (_, stored)| stored.player != *player);
                    }
                }
                LogRecord::Event(event) => {
                    if let Some(id) = &event.event_id {
                        let stored = StoredId::of(event);
                        self.ids.entry(event.board).or_default().insert(id.clone(), (seq, stored));
                    }
                }
                _ => {}
            }
        }
        self.groups.push_back(group);
    }

    /// Lets everything before this number into the store; whether the feeding thread wants to know.
    pub(super) fn release(&mut self, before: u64) -> bool {
        self.released = self.released.max(before);
        while let Some(group) = self.groups.get(self.ready_groups)
            && group.end() <= self.released
        {
            self.ready_groups += 1;
            self.ready += group.haste;
            self.ready_since.get_or_insert_with(Instant::now);
        }
        self.ready >= self.wanted
    }

    /// What may go into the store, in events.
    pub(super) fn ready(&self) -> usize {
        self.ready
    }

    /// Since when there are any.
    pub(super) fn ready_since(&self) -> Option<Instant> {
        self.ready_since
    }

    /// Groups that may go into the store, of at most about so many events' worth.
    pub(super) fn next(&self, most: usize) -> Vec<Arc<Group>> {
        let mut records = 0;
        let fits = |group: &&Arc<Group>| {
            let fits = records < most;
            records += group.haste;
            fits
        };
        self.groups.iter().take(self.ready_groups).take_while(fits).cloned().collect()
    }

    /// Forgets the first groups: the store has them.
    pub(super) fn applied(&mut self, groups: usize) {
        self.ready_groups -= groups;
        self.ready_since = (self.ready_groups > 0).then(Instant::now);
        for group in self.groups.drain(..groups) {
            self.records -= group.weight;
            self.ready -= group.haste;
            self.position = group.end();
            for (record, seq) in group.notable() {
                match record {
                    LogRecord::PlayerPut { player, .. } => forget(&mut self.profiles, player, seq),
                    LogRecord::FriendsPut { player, .. } => forget(&mut self.friends, player, seq),
                    LogRecord::PlayerErased { player, .. } => {
                        forget(&mut self.profiles, player, seq);
                        forget(&mut self.friends, player, seq);
                        if self.erased.get(player) == Some(&seq) {
                            Arc::make_mut(&mut self.erased).remove(player);
                        }
                    }
                    LogRecord::Event(event) => {
                        if let Some(id) = &event.event_id
                            && let Some(ids) = self.ids.get_mut(&event.board)
                            && ids.get(id).is_some_and(|(latest, _)| *latest == seq)
                        {
                            ids.remove(id);
                        }
                    }
                    LogRecord::BoardDeleted { board } => {
                        self.ids.remove(board);
                    }
                    _ => {}
                }
            }
        }
        self.ids.retain(|_, ids| !ids.is_empty());
    }

    /// The profile that is on its way.
    pub(super) fn profile(&self, player: &str) -> Waiting {
        match self.profiles.get(player) {
            Some((_, Some(profile))) => Waiting::Profile(Arc::clone(profile)),
            Some((_, None)) => Waiting::Erased,
            None => Waiting::Nothing,
        }
    }

    /// A list of friends that is on its way, and the number of its record.
    pub(super) fn friends(&self, player: &PlayerId) -> Option<(u64, Arc<Vec<PlayerId>>)> {
        self.friends.get(player).cloned()
    }

    pub(super) fn is_erased(&self, player: &PlayerId) -> bool {
        self.erased.contains_key(player)
    }

    /// Who was erased by a record here after this one.
    pub(super) fn erased_after(&self, seq: u64) -> HashSet<PlayerId> {
        let later = self.erased.iter().filter(|(_, erased)| **erased > seq);
        later.map(|(player, _)| player.clone()).collect()
    }

    /// The record that erased a player.
    pub(super) fn erased_at(&self, player: &PlayerId) -> Option<u64> {
        self.erased.get(player).copied()
    }

    /// Everyone of whom the store still has what is erased, and by which record.
    pub(super) fn erased(&self) -> Arc<HashMap<PlayerId, u64>> {
        Arc::clone(&self.erased)
    }

    pub(super) fn event_id(&self, board: BoardNo, id: &EventId) -> Option<StoredId> {
        self.ids.get(&board)?.get(id).map(|(_, stored)| stored.clone())
    }

    /// All that waits, to be searched without holding up whoever writes.
    pub(super) fn groups(&self) -> Vec<Arc<Group>> {
        self.groups.iter().cloned().collect()
    }
}
