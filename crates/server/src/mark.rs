//! Where the next page of a player's list begins, as an opaque text.
//!
//! The engine gives a [`Mark`] in its own terms. It travels as base64url behind a version and before a CRC-32 that also
//! covers what the list is of, so that a mark of another list, and one that was damaged, is a `bad_cursor` and not a
//! wrong page. Like the checksum of a board's cursor it is against accidents, not against forgery.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use standings_core::{BoardId, PlayerId};
use standings_engine::Mark;

use crate::{
    extract::Params,
    problem::{Code, Problem},
};

const VERSION: u8 = 1;

/// A list of one player, on one board or on all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlayerList<'a> {
    /// What it lists.
    pub(crate) of: &'static str,
    /// Whose it is.
    pub(crate) player: &'a PlayerId,
    /// On which board.
    pub(crate) board: Option<&'a BoardId>,
}

impl PlayerList<'_> {
    /// Takes `before` from a query.
    pub(crate) fn before(self, params: &mut Params<'_>) -> Result<Option<Mark>, Problem> {
        params.take("before").map(|text| self.decode(&text)).transpose()
    }

    /// Writes a mark.
    pub(crate) fn encode(self, mark: &Mark) -> String {
        let mut bytes = Vec::with_capacity(5 + mark.0.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(mark.0.as_bytes());
        let sum = self.sum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn decode(self, text: &str) -> Result<Mark, Problem> {
        let mark = || {
            let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
            let (bytes, sum) = bytes.split_last_chunk::<4>()?;
            let (version, mark) = bytes.split_first()?;
            let good = *version == VERSION && self.sum(bytes) == u32::from_le_bytes(*sum);
            String::from_utf8(mark.to_vec()).ok().filter(|_| good)
        };
        mark().map(Mark).ok_or_else(|| {
            let detail = "before takes the value of \"next\" of a page of this list, unchanged and with the same board; \
                          without before the list starts from the newest";
            Problem::new(Code::BadCursor, detail)
        })
    }

    fn sum(self, bytes: &[u8]) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        // No id has a `/`, so that no two lists read alike.
        for part in [self.of, self.player, self.board.map_or("", BoardId::as_str)] {
            sum.update(part.as_bytes());
            sum.update(b"/");
        }
        sum.update(bytes);
        sum.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_good_for_its_own_list_and_no_other() {
        let (a, b) = (PlayerId::new("a").unwrap(), PlayerId::new("b").unwrap());
        let main = BoardId::new("main").unwrap();
        let list = PlayerList { of: "scores", player: &a, board: None };
        let mark = Mark("17/플레이어".to_owned());
        let text = list.encode(&mark);
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)), "{text}");
        assert_eq!(list.decode(&text).unwrap(), mark);
        for other in [
            PlayerList { player: &b, ..list },
            PlayerList { of: "snapshots", ..list },
            PlayerList { board: Some(&main), ..list },
        ] {
            assert_eq!(other.decode(&text).unwrap_err().code(), Code::BadCursor, "{other:?}");
        }
    }

    #[test]
    fn every_change_of_one_byte_and_every_cut_is_refused() {
        let player = PlayerId::new("a").unwrap();
        let list = PlayerList { of: "scores", player: &player, board: None };
        let bytes = URL_SAFE_NO_PAD.decode(list.encode(&Mark("12345".to_owned()))).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(list.decode(&URL_SAFE_NO_PAD.encode(&changed)).is_err());
            assert!(list.decode(&URL_SAFE_NO_PAD.encode(&bytes[..at])).is_err());
        }
        assert!(list.decode("!").is_err() && list.decode("").is_err());
    }
}
