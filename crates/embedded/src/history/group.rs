//! Records on their way into the store, in the groups in which they became durable.

use std::sync::{Arc, OnceLock};

use standings_core::{PlayerId, Profile};

use crate::history::names::name_key;
use crate::record::{Event, LogRecord};

/// Records that were made durable together.
pub(crate) struct Group {
    pub(crate) first_seq: u64,
    pub(crate) records: Vec<LogRecord>,
    /// How much memory it holds, in events; the scores of an import count one by one, lists and profiles by their length.
    pub(super) weight: usize,
    /// How soon it should be in the store, in events: one with an id takes twice the memory; others gain nothing by
    /// waiting for more of them, a search by name goes through all profiles that wait, and an import waits for room.
    pub(super) haste: usize,
    /// Whether there is anything in it but events without an id: what waits has nothing to note of those.
    notable: bool,
    /// Whether any of it changes a profile.
    pub(super) profiles: bool,
    /// The keys of the names that its profiles give, each with the place of its record: folded here, where no caller waits.
    names: Vec<(usize, Arc<[u8]>)>,
    /// A hash of the player of each event, 0 of other records; made when someone first looks for a player's events.
    players: OnceLock<Box<[u32]>>,
}

impl Group {
    pub(crate) fn new(first_seq: u64, records: Vec<LogRecord>) -> Self {
        let mut group = Self {
            first_seq,
            records,
            weight: 0,
            haste: 0,
            notable: false,
            profiles: false,
            names: Vec::new(),
            players: OnceLock::new(),
        };
        let heavy = |weight| (weight, 16 * weight);
        for (number, record) in group.records.iter().enumerate() {
            if let LogRecord::PlayerPut { player, profile } = record
                && let Some(name) = &profile.name
            {
                group.names.push((number, name_key(name, player).into()));
            }
            let (weight, haste) = match record {
                LogRecord::Event(event) => (1, 1 + usize::from(event.event_id.is_some())),
                LogRecord::Scores { rows, .. } => heavy(rows.len()),
                LogRecord::FriendsPut { friends, .. } => heavy(1 + friends.len() / 16),
                LogRecord::PlayerPut { profile, .. } => heavy(1 + profile_bytes(profile) / 256),
                _ => heavy(1),
            };
            group.weight += weight;
            group.haste += haste;
            group.notable |= !matches!(record, LogRecord::Event(Event { event_id: None, .. }));
            group.profiles |=
                matches!(record, LogRecord::PlayerPut { .. } | LogRecord::PlayerErased { .. });
        }
        group
    }

    /// A player's events, each with its number.
    pub(super) fn events_of<'a>(
        &'a self,
        player: &'a PlayerId,
    ) -> impl Iterator<Item = (u64, &'a Event)> {
        let hash =
            |player: &PlayerId| (rapidhash::v3::rapidhash_v3(player.as_bytes()) >> 32) as u32;
        let players = self.players.get_or_init(|| {
            let of = |record: &LogRecord| match record {
                LogRecord::Event(event) => hash(&event.player),
                _ => 0,
            };
            self.records.iter().map(of).collect()
        });
        let wanted = hash(player);
        let alike = players.iter().enumerate().filter(move |(_, hash)| **hash == wanted);
        alike.filter_map(move |(at, _)| match &self.records[at] {
            LogRecord::Event(event) if event.player == *player => {
                Some((self.first_seq + at as u64, event))
            }
            _ => None,
        })
    }

    /// The key of the name that a record gives.
    pub(super) fn name_key(&self, seq: u64) -> Option<Arc<[u8]>> {
        let number = usize::try_from(seq - self.first_seq).ok()?;
        let found = self.names.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(Arc::clone(&self.names[found].1))
    }

    pub(crate) fn end(&self) -> u64 {
        self.first_seq + self.records.len() as u64
    }

    /// The records that what waits has something to note of, each with its number.
    pub(super) fn notable(&self) -> impl Iterator<Item = (&LogRecord, u64)> {
        let records = if self.notable { &self.records[..] } else { &[] };
        records.iter().zip(self.first_seq..)
    }

    /// Whether it erases anyone.
    pub(super) fn erases(&self) -> bool {
        let erases = |record: &LogRecord| matches!(record, LogRecord::PlayerErased { .. });
        self.profile_changes().iter().any(erases)
    }

    /// The records that change profiles, and perhaps others.
    pub(crate) fn profile_changes(&self) -> &[LogRecord] {
        if self.profiles { &self.records } else { &[] }
    }
}

/// The lengths of what clients choose.
fn profile_bytes(profile: &Profile) -> usize {
    let url = profile.avatar_url.as_ref().map_or(0, |url| url.as_str().len());
    let attributes = profile.attributes.as_ref().map_or(0, |attributes| attributes.as_str().len());
    profile.name.as_ref().map_or(0, |name| name.len()) + url + attributes
}
