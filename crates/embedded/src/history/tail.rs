//! Records on their way into the store.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    ops::Bound,
    sync::Arc,
    time::Instant,
};

use standings_core::{EventId, PlayerId, Profile};

use crate::history::{Group, Recorded, recorded};
use crate::record::{BoardNo, LogRecord};

/// Acknowledged records that the store does not have yet, oldest first, and what reads need to find among them.
pub(super) struct Tail {
    groups: VecDeque<Arc<Group>>,
    /// The same for readers, who copy it while writers wait: one pointer for many groups.
    chunks: VecDeque<Arc<Vec<Arc<Group>>>>,
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
    /// The names in them, by their keys.
    names: BTreeMap<Arc<[u8]>, PlayerId>,
    /// The key of each of these players.
    keys: HashMap<PlayerId, Arc<[u8]>>,
    /// The latest lists of friends, likewise.
    friends: HashMap<PlayerId, (u64, Arc<Vec<PlayerId>>)>,
    /// Who was erased, and by which record: what the store has of them is from before that.
    erased: Arc<HashMap<PlayerId, u64>>,
    /// What each event id here was last used for, with the number of that record.
    ids: HashMap<BoardNo, HashMap<EventId, (u64, Recorded)>>,
    pub(super) closing: bool,
}

/// Groups that readers copy with one pointer.
const CHUNK: usize = 64;

/// Records that waited when someone looked, in order.
pub(super) struct Groups(Vec<Arc<Vec<Arc<Group>>>>);

impl Groups {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Group>> {
        self.0.iter().flat_map(|chunk| chunk.iter())
    }
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
            chunks: VecDeque::new(),
            records: 0,
            position,
            released: position,
            ready_groups: 0,
            ready: 0,
            ready_since: None,
            wanted: 1,
            hurry: false,
            profiles: HashMap::new(),
            names: BTreeMap::new(),
            keys: HashMap::new(),
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
                    self.set_name(player, group.name_key(seq));
                }
                LogRecord::FriendsPut { player, friends } => {
                    self.friends.insert(player.clone(), (seq, Arc::new(friends.clone())));
                }
                LogRecord::PlayerErased { player, .. } => {
                    self.profiles.insert(player.clone(), (seq, None));
                    self.set_name(player, None);
                    self.friends.insert(player.clone(), (seq, Arc::default()));
                    Arc::make_mut(&mut self.erased).insert(player.clone(), seq);
                    for ids in self.ids.values_mut() {
                        ids.retain(|_, (_, stored)| stored.player != *player);
                    }
                }
                LogRecord::Event(event) => {
                    if let Some(id) = &event.event_id {
                        let stored = recorded(event);
                        self.ids.entry(event.board).or_default().insert(id.clone(), (seq, stored));
                    }
                }
                _ => {}
            }
        }
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK => Arc::make_mut(last).push(Arc::clone(&group)),
            _ => self.chunks.push_back(Arc::new(vec![Arc::clone(&group)])),
        }
        self.groups.push_back(group);
    }

    fn set_name(&mut self, player: &PlayerId, key: Option<Arc<[u8]>>) {
        if let Some(old) = self.keys.remove(player) {
            self.names.remove(&old);
        }
        if let Some(key) = key {
            self.names.insert(Arc::clone(&key), player.clone());
            self.keys.insert(player.clone(), key);
        }
    }

    /// Forgets a profile that is in the store by now, if it is the latest.
    fn forget_profile(&mut self, player: &PlayerId, seq: u64) {
        if self.profiles.get(player).is_some_and(|(latest, _)| *latest == seq) {
            self.profiles.remove(player);
            self.set_name(player, None);
        }
    }

    /// Takes the first groups from what readers see.
    fn forget_chunks(&mut self, mut groups: usize) {
        while let Some(first) = self.chunks.front_mut().filter(|_| groups > 0) {
            let taken = first.len().min(groups);
            groups -= taken;
            if taken == first.len() {
                self.chunks.pop_front();
            } else {
                Arc::make_mut(first).drain(..taken);
            }
        }
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
        self.forget_chunks(groups);
        let applied: Vec<_> = self.groups.drain(..groups).collect();
        for group in applied {
            self.records -= group.weight;
            self.ready -= group.haste;
            self.position = group.end();
            for (record, seq) in group.notable() {
                match record {
                    LogRecord::PlayerPut { player, .. } => self.forget_profile(player, seq),
                    LogRecord::FriendsPut { player, .. } => forget(&mut self.friends, player, seq),
                    LogRecord::PlayerErased { player, .. } => {
                        self.forget_profile(player, seq);
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

    pub(super) fn event_id(&self, board: BoardNo, id: &EventId) -> Option<Recorded> {
        self.ids.get(&board)?.get(id).map(|(_, stored)| stored.clone())
    }

    /// All that waits, to be searched without holding up whoever writes.
    pub(super) fn groups(&self) -> Groups {
        Groups(self.chunks.iter().cloned().collect())
    }

    /// The first names whose keys begin so.
    pub(super) fn names(&self, prefix: &[u8], limit: usize) -> Vec<(Arc<[u8]>, PlayerId)> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let names = self.names.range::<[u8], _>(from);
        let names = names.take_while(|(key, _)| key.starts_with(prefix)).take(limit);
        names.map(|(key, player)| (Arc::clone(key), player.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use standings_core::Name;
    use standings_engine::conformance::model::Random;

    use super::*;

    fn put(who: &str, name: Option<&str>) -> LogRecord {
        let player = PlayerId::new(who).unwrap();
        let name = name.map(|name| Name::new(name).unwrap());
        LogRecord::PlayerPut { player, profile: Profile { name, ..Profile::default() } }
    }

    /// What readers copy is what waits, and its names are those of the latest profiles.
    #[test]
    fn readers_see_what_waits_whatever_was_applied() {
        let (mut tail, mut random) = (Tail::new(1), Random(3));
        let mut waiting: VecDeque<(u64, String, Option<String>)> = VecDeque::new();
        let mut held = Vec::new();
        let mut seq = 1;
        for round in 0..2000 {
            let who = format!("p{}", random.below(9));
            let name = (!random.one_in(4)).then(|| format!("N{}", random.below(5)));
            tail.push(Arc::new(Group::new(seq, vec![put(&who, name.as_deref())])));
            waiting.push_back((seq, who, name));
            seq += 1;
            tail.release(seq);
            if random.one_in(50) {
                let most = random.below(waiting.len() as u64 + 1);
                let applied = usize::try_from(most).unwrap();
                tail.applied(applied);
                waiting.drain(..applied);
            }
            // Some look while others write.
            held.truncate(2);
            held.insert(0, tail.groups());
            let seen = held[0].iter().map(|group| group.first_seq);
            assert!(seen.eq(waiting.iter().map(|(seq, ..)| *seq)), "round {round}");
            let latest: HashMap<&str, Option<&str>> =
                waiting.iter().map(|(_, who, name)| (who.as_str(), name.as_deref())).collect();
            let mut expected: Vec<String> = latest
                .iter()
                .filter(|(_, n)| **n == Some("N3"))
                .map(|(w, _)| (*w).into())
                .collect();
            expected.sort();
            let found = tail.names(b"n3", 100);
            let found: Vec<String> = found.into_iter().map(|(_, p)| p.to_string()).collect();
            assert_eq!(found, expected, "round {round}");
        }
    }
}
