//! Removing what nothing names any more, on one shard, piece by piece.

use standings_core::PlayerId;

use super::ShardState;
use crate::traits::{BoardNo, Dead, Half, ItemKey, Stream, Version};

/// What is removed at once.
pub(super) const PIECE: usize = 100;

impl ShardState {
    /// Removes a piece. Tells whether there may be more.
    pub(super) fn clear(&mut self, dead: &Dead) -> bool {
        match dead {
            Dead::Entries(of) => {
                let gone = self.entries(*of, None).map(|(player, _)| player.clone());
                let gone: Vec<_> = gone.take(PIECE).collect();
                for player in &gone {
                    self.items.remove(&ItemKey::Entry(*of, player.clone()));
                }
                gone.len() == PIECE
            }
            Dead::Events(of) => {
                let is_dead = |key: &crate::traits::EventKey| {
                    (key.board, key.season) == (of.board, of.season)
                };
                piece(&mut self.events, |(_, key), _| is_dead(key))
            }
            Dead::Items(items) => {
                for (key, version) in items {
                    if self.items.get(key).is_some_and(|item| item.version == *version) {
                        self.items.remove(key);
                    }
                }
                false
            }
            Dead::PlayerEvents(player, below) => self.clear_player(player, *below),
            Dead::Ids(board, before) => self.clear_ids(*board, *before),
            Dead::Outbox(stream, through) => self.clear_outbox(stream, *through),
            Dead::Stream(stream) => {
                if self.streams.get(stream).is_some_and(|log| log.sealed) {
                    self.streams.remove(stream);
                }
                false
            }
            Dead::Board(board) => {
                let is_carry = |key: &ItemKey| matches!(key, ItemKey::Carry(of, _) if of == board);
                let more = piece(&mut self.items, |key, _| is_carry(key));
                self.clear_ids(*board, Half(i64::MAX)) || more
            }
        }
    }

    fn clear_player(&mut self, player: &PlayerId, below: Version) -> bool {
        let ids = piece(&mut self.ids, |_, used| used.player == *player && used.version < below);
        let events =
            piece(&mut self.events, |(whose, key), _| whose == player && key.version < below);
        ids || events
    }

    fn clear_ids(&mut self, board: BoardNo, before: Half) -> bool {
        piece(&mut self.ids, |(of, _, half), _| *of == board && *half < before)
    }

    fn clear_outbox(&mut self, stream: &Stream, through: u64) -> bool {
        let Some(log) = self.streams.get_mut(stream) else { return false };
        let newest = log.newest;
        piece(&mut log.records, |n, _| *n <= through && *n < newest)
    }
}

/// Removes up to a piece of what is dead.
fn piece<K: Ord + Clone, V>(
    all: &mut std::collections::BTreeMap<K, V>,
    is_dead: impl Fn(&K, &V) -> bool,
) -> bool {
    let dead = all.iter().filter(|(key, value)| is_dead(key, value)).map(|(key, _)| key.clone());
    let dead: Vec<K> = dead.take(PIECE).collect();
    for key in &dead {
        all.remove(key);
    }
    dead.len() == PIECE
}
