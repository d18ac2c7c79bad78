//! Records on their way into the store.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use standings_core::{EventId, PlayerId, Profile};

use super::{Group, StoredId};
use crate::embedded::record::{BoardNo, Record};

/// Acknowledged records that the store does not have yet, oldest first, and what reads need to find among them.
pub(super) struct Tail {
    groups: VecDeque<Arc<Group>>,
    records: usize,
    /// The number of the first record that is not in the store.
    position: u64,
    /// Records before this number may go into the store.
    released: u64,
    /// The latest profile of each player who has one here, with its number.
    profiles: HashMap<PlayerId, (u64, Arc<Profile>)>,
    /// What each event id here was last used for, with the number of that record.
    ids: HashMap<BoardNo, HashMap<EventId, (u64, StoredId)>>,
    pub(super) closing: bool,
}

impl Tail {
    pub(super) fn new(position: u64) -> Self {
        Self {
            groups: VecDeque::new(),
            records: 0,
            position,
            released: position,
            profiles: HashMap::new(),
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
        self.records += group.weight();
        for (record, seq) in group.records.iter().zip(group.first_seq..) {
            match record {
                Record::PlayerPut { player, profile } => {
                    self.profiles.insert(player.clone(), (seq, Arc::new(profile.clone())));
                }
                Record::Event(event) => {
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

    pub(super) fn release(&mut self, before: u64) {
        self.released = self.released.max(before);
    }

    /// Groups that may go into the store, with at most about so many records.
    pub(super) fn next(&self, most: usize) -> Vec<Arc<Group>> {
        let mut records = 0;
        self.groups
            .iter()
            .take_while(|group| {
                let fits = records < most && group.end() <= self.released;
                records += group.weight();
                fits
            })
            .cloned()
            .collect()
    }

    /// Forgets the first groups: the store has them.
    pub(super) fn applied(&mut self, groups: usize) {
        for group in self.groups.drain(..groups) {
            self.records -= group.weight();
            self.position = group.end();
            for (record, seq) in group.records.iter().zip(group.first_seq..) {
                match record {
                    // A later one of the same player stays.
                    Record::PlayerPut { player, .. }
                        if self.profiles.get(player).is_some_and(|(latest, _)| *latest == seq) =>
                    {
                        self.profiles.remove(player);
                    }
                    Record::Event(event) => {
                        if let Some(id) = &event.event_id
                            && let Some(ids) = self.ids.get_mut(&event.board)
                            && ids.get(id).is_some_and(|(latest, _)| *latest == seq)
                        {
                            ids.remove(id);
                        }
                    }
                    Record::BoardDeleted { board } => {
                        self.ids.remove(board);
                    }
                    _ => {}
                }
            }
        }
        self.ids.retain(|_, ids| !ids.is_empty());
    }

    pub(super) fn profile(&self, player: &PlayerId) -> Option<Arc<Profile>> {
        self.profiles.get(player).map(|(_, profile)| Arc::clone(profile))
    }

    pub(super) fn event_id(&self, board: BoardNo, id: &EventId) -> Option<StoredId> {
        self.ids.get(&board)?.get(id).map(|(_, stored)| stored.clone())
    }

    /// All that waits, to be searched without holding up whoever writes.
    pub(super) fn groups(&self) -> Vec<Arc<Group>> {
        self.groups.iter().cloned().collect()
    }
}
