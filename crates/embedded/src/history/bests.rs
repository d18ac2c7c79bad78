//! The best that players had in seasons that are gone.

use compact_str::CompactString;
use fjall::PersistMode;
use standings_core::{PlayerId, best::Best};

use crate::history::{History, HistoryError, Result};
use crate::{record::BoardNo, state::erasures::Hidden};

/// Rows kept in one batch.
const BATCH_ROWS: usize = 16_384;

impl History {
    /// What a player had in seasons that are gone.
    pub(crate) fn best(&self, player: &PlayerId, board: BoardNo) -> Result<Option<Best>> {
        if self.tail.lock().is_erased(player) {
            return Ok(None);
        }
        match self.bests.get(best_key(player, board))? {
            Some(bytes) => Ok(Some(postcard::from_bytes(&bytes)?)),
            None => Ok(None),
        }
    }

    /// Keeps what players had in a season that is about to go, where it is better than what is known; but not of those who
    /// are hidden. Doing it twice is harmless. It is durable when this returns.
    pub(crate) fn keep_bests<E: From<HistoryError>>(
        &self,
        board: BoardNo,
        hidden: impl Fn() -> Option<Hidden>,
        visit: impl FnOnce(&mut dyn FnMut(&str, Best) -> Result<()>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut rows: Vec<(CompactString, Best)> = Vec::new();
        visit(&mut |player, best| {
            rows.push((player.into(), best));
            if rows.len() >= BATCH_ROWS { self.keep(board, &hidden, &mut rows) } else { Ok(()) }
        })?;
        self.keep(board, &hidden, &mut rows).map_err(E::from)?;
        self.persist().map_err(E::from)
    }

    fn keep(
        &self,
        board: BoardNo,
        hidden: impl Fn() -> Option<Hidden>,
        rows: &mut Vec<(CompactString, Best)>,
    ) -> Result<()> {
        self.room_for(rows.len())?;
        let _changing = self.changing.lock();
        // Asked only now: who is erased after this is erased from the store after this, and what is kept here goes with it.
        let hidden = hidden();
        let seen = |player: &str| hidden.as_ref().is_none_or(|hidden| !hidden.contains(player));
        let mut batch = self.db.batch();
        for (player, best) in rows.drain(..).filter(|(player, _)| seen(player)) {
            let key = best_key(&player, board);
            let known: Option<Best> = match self.bests.get(&key)? {
                Some(bytes) => Some(postcard::from_bytes(&bytes)?),
                None => None,
            };
            let kept = known.clone().map_or(best.clone(), |known| known.or(best));
            if known.as_ref() != Some(&kept) {
                batch.insert(&self.bests, key, postcard::to_stdvec(&kept)?);
            }
        }
        // Out of this process at once, as long as there is room for it.
        batch.durability(Some(PersistMode::Buffer)).commit()?;
        Ok(())
    }
}

/// The board of a key.
pub(super) fn board_of(key: &[u8]) -> Option<BoardNo> {
    key.last_chunk().copied().map(BoardNo::from_be_bytes)
}

/// Ids hold no control characters, so a zero byte ends one.
fn best_key(player: &str, board: BoardNo) -> Vec<u8> {
    [player.as_bytes(), &[0], &board.to_be_bytes()].concat()
}
