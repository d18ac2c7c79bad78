//! What belongs to players, on one shard.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use standings_core::{EventId, Millis, PlayerId};

use crate::traits::{
    BoardNo, Commit, Epoch, Event, EventKey, Half, Item, ItemKey, Named, OutboxRecord, Page,
    StandingNo, Store, Stored, Stream, StreamState, Token, Used, Value, Version,
};

/// What belongs to players, on one shard.
#[derive(Clone, Debug, Default)]
pub struct ShardState {
    /// The epoch in which each board takes commits.
    pub fences: BTreeMap<BoardNo, Epoch>,
    /// The epoch to which each board is being raised, where streams fence.
    pub raising: BTreeMap<BoardNo, Epoch>,
    /// Items.
    pub items: BTreeMap<ItemKey, Item>,
    /// Event ids used.
    pub ids: BTreeMap<(BoardNo, EventId, Half), Used>,
    /// Accepted submissions.
    pub events: BTreeMap<(PlayerId, EventKey), Event>,
    /// Players by folded name.
    pub names: BTreeSet<(String, PlayerId)>,
    /// Streams.
    pub streams: BTreeMap<Stream, StreamLog>,
}

/// A stream and its records.
#[derive(Clone, Debug, Default)]
pub struct StreamLog {
    /// The newest number.
    pub newest: u64,
    /// The token of the newest.
    pub token: Token,
    /// What the newest says is confirmed.
    pub confirmed: u64,
    /// When the newest was stored.
    pub at: Millis,
    /// The epoch to which it belongs, where streams fence.
    pub epoch: Epoch,
    /// Whether it takes nothing any more.
    pub sealed: bool,
    /// Records that were not cleared.
    pub records: BTreeMap<u64, OutboxRecord>,
}

impl ShardState {
    pub(super) fn fence(&self, board: BoardNo) -> Epoch {
        self.fences.get(&board).copied().unwrap_or_default()
    }

    pub(super) fn item(&self, key: &ItemKey) -> Item {
        self.items.get(key).cloned().unwrap_or_default()
    }

    fn version(&self, key: &ItemKey) -> Version {
        self.items.get(key).map_or(Version::ABSENT, |item| item.version)
    }

    /// What an id was last used for, in this half of the window or a later one.
    pub(super) fn used(&self, board: BoardNo, id: &EventId, since: Half) -> Option<Used> {
        let range = (board, id.clone(), since)..=(board, id.clone(), Half(i64::MAX));
        self.ids.range(range).next_back().map(|(_, used)| used.clone())
    }

    /// Stores a commit, or says why not. `fence`: whether its row decides, or the stream's seal.
    pub(super) fn store(
        &mut self,
        to: Stream,
        commit: &Commit,
        fence: bool,
        at: Millis,
    ) -> Result<(), Stored> {
        let new = StreamLog::default();
        let stream = self.streams.get(&to).unwrap_or(&new);
        if commit.n <= stream.newest || stream.sealed {
            return Err(Stored::Closed);
        }
        debug_assert_eq!(commit.n, stream.newest + 1, "a number follows one that is settled");
        if fence && self.fence(to.board) != commit.epoch {
            return Err(Stored::Stale(self.fence(to.board)));
        }
        let stored = commit.stores.iter().map(|store| (&store.key, store.was.version));
        let held = commit.holds.iter().map(|hold| (&hold.key, hold.version));
        let unchanged = stored.chain(held).all(|(key, was)| self.version(key) == was);
        let used = commit
            .ids
            .iter()
            .any(|new| self.ids.contains_key(&(to.board, new.id.clone(), new.half)));
        if !unchanged || used {
            return Err(Stored::Conflict);
        }
        self.land(to, commit, at);
        Ok(())
    }

    fn land(&mut self, to: Stream, commit: &Commit, at: Millis) {
        for store in &commit.stores {
            self.replace(store, commit.epoch);
        }
        for new in &commit.ids {
            self.ids.insert((to.board, new.id.clone(), new.half), new.used.clone());
        }
        for event in &commit.events {
            self.events.insert((event.player.clone(), event.key), event.clone());
        }
        let is_entry = |store: &&Store| matches!(store.key, ItemKey::Entry(..));
        let entries = commit.stores.iter().filter(is_entry).cloned().collect();
        let (n, token, epoch) = (commit.n, commit.token, commit.epoch);
        let record = OutboxRecord { stream: to, n, token, epoch, at, entries };
        let stream = self.streams.entry(to).or_default();
        (stream.newest, stream.token, stream.at) = (n, token, at);
        stream.confirmed = commit.confirmed;
        stream.records.insert(n, record);
    }

    fn replace(&mut self, store: &Store, epoch: Epoch) {
        let Store { key, was, version, value } = store;
        assert!(*version > was.version, "a version grows: {store:?}");
        debug_assert!(fits(key, value.as_ref()), "{store:?}");
        let old = self.items.get(key).and_then(|item| item.value.as_ref());
        debug_assert_eq!(old, was.value.as_ref(), "facts of a version are what it says");
        if let Some(folded) = folded(old) {
            self.names.remove(&(folded.to_owned(), key.player().clone()));
        }
        if let Some(folded) = folded(value.as_ref()) {
            self.names.insert((folded.to_owned(), key.player().clone()));
        }
        let item = Item { version: *version, epoch, value: value.clone() };
        self.items.insert(key.clone(), item);
    }

    /// Whether this attempt was stored.
    pub(super) fn has(&self, stream: &Stream, n: u64, token: Token) -> bool {
        let Some(log) = self.streams.get(stream) else { return false };
        let newest = log.newest == n && log.token == token;
        newest || log.records.get(&n).is_some_and(|record| record.token == token)
    }

    pub(super) fn seal(&mut self, stream: Stream) -> u64 {
        let log = self.streams.entry(stream).or_default();
        log.sealed = true;
        log.newest
    }

    pub(super) fn streams(&self, first: Stream, page: &Page<u64>) -> Vec<StreamState> {
        let from = page
            .after
            .map_or(Bound::Included(first), |after| Bound::Excluded(Stream { id: after, ..first }));
        let last = Stream { id: u64::MAX, ..first };
        let logs = self.streams.range((from, Bound::Included(last)));
        let state = |(stream, log): (&Stream, &StreamLog)| {
            let StreamLog { newest, confirmed, at, sealed, .. } = *log;
            StreamState { stream: *stream, newest, confirmed, at, sealed }
        };
        logs.map(state).take(page.limit).collect()
    }

    pub(super) fn outbox(&self, stream: &Stream, after: u64, limit: usize) -> Vec<OutboxRecord> {
        let Some(log) = self.streams.get(stream) else { return Vec::new() };
        let records = log.records.range((Bound::Excluded(after), Bound::Unbounded));
        records.map(|(_, record)| record.clone()).take(limit).collect()
    }

    pub(super) fn entries(
        &self,
        of: StandingNo,
        after: Option<&PlayerId>,
    ) -> impl Iterator<Item = (&PlayerId, &Item)> {
        // No id sorts before this one.
        let least = PlayerId::new(" ").expect("a player id");
        let from = match after {
            Some(after) => Bound::Excluded(ItemKey::Entry(of, after.clone())),
            None => Bound::Included(ItemKey::Entry(of, least)),
        };
        self.items.range((from, Bound::Unbounded)).map_while(move |(key, item)| match key {
            ItemKey::Entry(standing, player) if *standing == of => Some((player, item)),
            _ => None,
        })
    }

    pub(super) fn events(
        &self,
        player: &PlayerId,
        board: Option<BoardNo>,
        page: &Page<EventKey>,
    ) -> Vec<Event> {
        let key = |board, season, version| EventKey { board, season, version: Version(version) };
        let first = key(board.unwrap_or_default(), 0, 0);
        let last = key(board.unwrap_or(BoardNo(u32::MAX)), u32::MAX, u64::MAX);
        let to = match page.after {
            Some(after) if after <= last => Bound::Excluded((player.clone(), after)),
            _ => Bound::Included((player.clone(), last)),
        };
        if page.after.is_some_and(|after| after <= first) {
            return Vec::new();
        }
        let events = self.events.range((Bound::Included((player.clone(), first)), to));
        events.rev().map(|(_, event)| event.clone()).take(page.limit).collect()
    }

    pub(super) fn named(&self, prefix: &str, page: &Page<(String, PlayerId)>) -> Vec<Named> {
        let from = match &page.after {
            Some(after) if after.0.as_str() >= prefix => Bound::Excluded(after.clone()),
            _ => Bound::Included((prefix.to_owned(), PlayerId::new(" ").expect("a player id"))),
        };
        let names = self.names.range((from, Bound::Unbounded));
        let profile = |(folded, player): &(String, PlayerId)| {
            let value = self.items.get(&ItemKey::Profile(player.clone()))?.value.as_ref()?;
            let Value::Profile { profile, .. } = value else { return None };
            let name = profile.name.clone()?;
            Some(Named { folded: folded.clone(), player: player.clone(), name })
        };
        let like = names.take_while(|(folded, _)| folded.starts_with(prefix));
        like.filter_map(profile).take(page.limit).collect()
    }
}

fn folded(value: Option<&Value>) -> Option<&str> {
    match value {
        Some(Value::Profile { folded, .. }) => folded.as_deref(),
        _ => None,
    }
}

fn fits(key: &ItemKey, value: Option<&Value>) -> bool {
    matches!(
        (key, value),
        (_, None)
            | (ItemKey::Entry(..), Some(Value::Entry(_)))
            | (ItemKey::Carry(..), Some(Value::Carry(_)))
            | (ItemKey::Profile(_), Some(Value::Profile { .. }))
            | (ItemKey::Friends(_), Some(Value::Friends(_)))
            | (ItemKey::Player(_), Some(Value::Player))
    )
}
