//! Where the next page of a list begins, as an opaque text: base64url of JSON.
//!
//! A cursor says of which list it is, so that one of another list is a `bad_cursor` and not a wrong page. A client that makes
//! up its own gets whatever page that names: a cursor gives access to nothing.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use standings_core::{BoardId, LocalDate, Millis, PlayerId, Score, SeasonId};
use standings_engine::{Cursor as ListCursor, Filter, Place, StandingId};

use crate::problem::{Code, Problem};

fn encode(cursor: &impl Serialize) -> String {
    // Texts and numbers can always be written.
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(cursor).unwrap_or_default())
}

fn decode<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

/// The end of a page of a board. It carries everything that makes the list: board, season and snapshot by their own ids (so
/// that paging goes on in the same one when another becomes current), filter, and the place of the last row shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// What is being read.
    pub(crate) standing: StandingId,
    /// The filter that is being applied.
    pub(crate) filter: Filter,
    /// The last row that was shown.
    pub(crate) place: Place,
}

/// A cursor as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageEnd {
    board: BoardId,
    season: SeasonId,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<LocalDate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    score: Score,
    at: i64,
    player: PlayerId,
}

impl Cursor {
    /// Writes it.
    pub(crate) fn encode(self, board: &BoardId) -> String {
        let Self { standing, filter, place } = self;
        encode(&PageEnd {
            board: board.clone(),
            season: standing.season,
            snapshot: standing.snapshot,
            min: filter.min,
            max: filter.max,
            success: filter.success,
            score: place.score,
            at: place.at.0,
            player: place.player,
        })
    }

    /// Reads one that was written for this board.
    pub(crate) fn decode(board: &BoardId, text: &str) -> Result<Self, Problem> {
        let read = || {
            let end = decode::<PageEnd>(text).filter(|end| end.board == *board)?;
            Some(Self {
                standing: StandingId { season: end.season, snapshot: end.snapshot },
                filter: Filter { min: end.min, max: end.max, success: end.success },
                place: Place { score: end.score, at: Millis::new(end.at)?, player: end.player },
            })
        };
        read().ok_or_else(|| {
            let detail = "after takes the value of \"next\" of a page of this board, unchanged; \
                          without after the list starts from the top";
            Problem::new(Code::BadCursor, detail)
        })
    }
}

/// A list of one player, on one board or on all. Where its next page begins, the engine says in its own terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlayerList<'a> {
    /// What it lists.
    pub(crate) of: &'static str,
    /// Whose it is.
    pub(crate) player: &'a PlayerId,
    /// On which board.
    pub(crate) board: Option<&'a BoardId>,
}

/// A list and a place in it, as they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListEnd {
    list: String,
    player: PlayerId,
    board: Option<BoardId>,
    mark: String,
}

impl PlayerList<'_> {
    /// Writes a place.
    pub(crate) fn encode(self, mark: ListCursor) -> String {
        encode(&ListEnd {
            list: self.of.to_owned(),
            player: self.player.clone(),
            board: self.board.cloned(),
            mark: mark.0,
        })
    }

    /// Reads a place in this list.
    pub(crate) fn decode(self, text: &str) -> Result<ListCursor, Problem> {
        let ours = |end: &ListEnd| {
            end.list == self.of && end.player == *self.player && end.board.as_ref() == self.board
        };
        decode::<ListEnd>(text).filter(ours).map(|end| ListCursor(end.mark)).ok_or_else(|| {
            let detail = "before takes the value of \"next\" of a page of this list, unchanged and with the same board; \
                          without before the list starts from the newest";
            Problem::new(Code::BadCursor, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        Cursor {
            standing: StandingId { season: SeasonId::parse("2026-11").unwrap(), snapshot: None },
            filter: Filter { min: Score::new(-5), max: None, success: Some(true) },
            place: Place {
                score: Score::new(42).unwrap(),
                at: Millis(1_794_736_800_000),
                player: PlayerId::new("플레이어").unwrap(),
            },
        }
    }

    fn is_plain(text: &str) -> bool {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    }

    #[test]
    fn a_page_goes_on_in_its_own_standing_with_its_own_filter() {
        let board = BoardId::new("main").unwrap();
        let mut of_date = cursor();
        of_date.standing.snapshot = Some(LocalDate::parse("2026-02-21").unwrap());
        for cursor in [cursor(), of_date] {
            let text = cursor.clone().encode(&board);
            assert!(is_plain(&text), "{text}");
            assert_eq!(Cursor::decode(&board, &text).unwrap(), cursor);
        }
    }

    #[test]
    fn a_cursor_of_another_board_or_list_and_what_is_none_is_refused() {
        let (main, other) = (BoardId::new("main").unwrap(), BoardId::new("other").unwrap());
        let page = cursor().encode(&main);
        let (a, b) = (PlayerId::new("a").unwrap(), PlayerId::new("b").unwrap());
        let list = PlayerList { of: "scores", player: &a, board: None };
        let mark = ListCursor("17/플레이어".to_owned());
        let text = list.encode(mark.clone());
        assert!(is_plain(&text), "{text}");
        assert_eq!(list.decode(&text).unwrap(), mark);
        for other in [
            PlayerList { player: &b, ..list },
            PlayerList { of: "snapshots", ..list },
            PlayerList { board: Some(&main), ..list },
        ] {
            assert_eq!(other.decode(&text).unwrap_err().code(), Code::BadCursor, "{other:?}");
        }
        assert_eq!(Cursor::decode(&other, &page).unwrap_err().code(), Code::BadCursor);
        let cut = &page[..page.len() - 4];
        for bad in [text.as_str(), cut, "!", "", "e30"] {
            assert_eq!(Cursor::decode(&main, bad).unwrap_err().code(), Code::BadCursor, "{bad}");
        }
        assert!(list.decode(&page).is_err() && list.decode("").is_err());
    }
}
