//! What cases begin with.

use standings_core::{EventId, IndexRecord, Millis, PlayerId, Profile, Score, SortKey};

use crate::traits::{
    BoardNo, Commit, Epoch, Event, EventKey, Facts, Half, Hold, Item, ItemKey, Ledger, Needs,
    NewId, Shard, StandingNo, Store, Stored, Stream, Token, Told, Used, Value, Version,
};

/// The board of most cases.
pub const BOARD: BoardNo = BoardNo(7);
/// Its season.
pub const SEASON: StandingNo = StandingNo { board: BOARD, season: 3 };
/// Its epoch.
pub const EPOCH: Epoch = Epoch(1);

/// A player.
pub fn player(number: u32) -> PlayerId {
    PlayerId::new(&format!("player-{number:03}")).expect("a player id")
}

/// So many players of a shard.
pub fn players<S: Ledger>(store: &S, shard: Shard, count: usize) -> Vec<PlayerId> {
    (0..).map(player).filter(|player| store.shard_of(player) == shard).take(count).collect()
}

/// A record with a folded score.
pub fn record(folded: i64) -> IndexRecord {
    IndexRecord { key: SortKey { folded, at: Millis(5) }, updated_at: Millis(6) }
}

/// The key of a player's entry.
pub fn entry(player: &PlayerId) -> ItemKey {
    ItemKey::Entry(SEASON, player.clone())
}

/// A stream of the board.
pub fn stream(shard: Shard, id: u64) -> Stream {
    Stream { board: BOARD, shard, id }
}

/// An item that replaces nothing.
pub fn new(key: ItemKey, version: u64, value: Value) -> Store {
    let version = Version(version);
    Store { key, was: Item::default(), version, value: Some(value) }
}

/// An entry that replaces nothing.
pub fn new_entry(player: &PlayerId, version: u64, folded: i64) -> Store {
    new(entry(player), version, Value::Entry(record(folded)))
}

/// What a store leads to, replaced in turn.
pub fn after(store: &Store, value: Option<Value>) -> Store {
    let was = Item { version: store.version, epoch: EPOCH, value: store.value.clone() };
    Store { key: store.key.clone(), was, version: store.version.next(), value }
}

/// A profile with a name.
pub fn named(player: &PlayerId, version: u64, name: &str) -> Store {
    let profile = Profile { name: name.parse().ok(), ..Profile::default() };
    let value = Value::Profile { profile, folded: Some(name.to_lowercase()) };
    new(ItemKey::Profile(player.clone()), version, value)
}

/// A commit of stores.
pub fn commit(n: u64, token: u64, stores: Vec<Store>) -> Commit {
    Commit {
        n,
        token: Token(token),
        epoch: EPOCH,
        confirmed: 0,
        stores,
        holds: Vec::new(),
        ids: Vec::new(),
        events: Vec::new(),
    }
}

/// An item that must be as it was.
pub fn hold(key: ItemKey, version: u64) -> Hold {
    Hold { key, version: Version(version) }
}

/// An event id used up.
pub fn used_id(id: &str, half: i64, player: &PlayerId, version: u64) -> NewId {
    let points = Score::new(5).expect("a score");
    let used =
        Used { player: player.clone(), points, season: SEASON.season, version: Version(version) };
    NewId { id: event_id(id), half: Half(half), used }
}

/// An event id.
pub fn event_id(id: &str) -> EventId {
    EventId::new(id).expect("an event id")
}

/// An event of a player.
pub fn event(player: &PlayerId, of: StandingNo, version: u64) -> Event {
    let key = EventKey { board: of.board, season: of.season, version: Version(version) };
    let score = Score::new(5).expect("a score");
    let (at, accepted_at) = (Millis(5), Millis(6));
    Event { player: player.clone(), key, points: score, score, at, accepted_at, id: None }
}

/// The board's fence stands on every shard.
pub async fn fenced<S: Ledger>(store: &S, board: BoardNo, epoch: Epoch) {
    for shard in 0..store.shards() {
        let fence = store.fence(board, Shard(shard), epoch).await.map(|told| told.0);
        assert_eq!(fence, Ok(epoch));
    }
}

/// A commit that is answered.
pub async fn committed<S: Ledger>(store: &S, to: &Stream, commit: &Commit) -> Stored {
    answer(store.commit(to, commit).await)
}

/// A commit that is stored.
pub async fn stored<S: Ledger>(store: &S, to: &Stream, commit: &Commit) {
    assert_eq!(committed(store, to, commit).await, Stored::Stored);
}

/// Items as they are.
pub async fn items<S: Ledger>(store: &S, shard: Shard, keys: &[ItemKey]) -> Vec<Item> {
    let needs = Needs { items: keys.to_vec(), ..Needs::default() };
    facts(store, shard, &needs).await.items
}

/// An item as it is.
pub async fn item<S: Ledger>(store: &S, key: &ItemKey) -> Item {
    items(store, store.shard_of(key.player()), std::slice::from_ref(key)).await.remove(0)
}

/// Facts of the board.
pub async fn facts<S: Ledger>(store: &S, shard: Shard, needs: &Needs) -> Facts {
    answer(store.facts(shard, BOARD, needs).await)
}

/// What was told.
pub fn answer<T>(told: Told<T>) -> T {
    told.expect("an answer").0
}
