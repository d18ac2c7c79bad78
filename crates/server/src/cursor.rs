//! Where the next page of a board begins, as an opaque text.
//!
//! It carries everything that makes the list: board, season and snapshot by their own ids (so that paging goes on in the same
//! one when another becomes current), filter, and the place of the last row shown. A client that changes it gets `bad_cursor`;
//! the checksum is against accidents, not against forgery, for a cursor gives access to nothing.
//!
//! Layout before base64url: version, flags, season, board and player as length and text, then the numbers that the
//! flags announce, then the date of a snapshot as length and text if they announce one, then a CRC-32 of it all.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use standings_core::{BoardId, LocalDate, Millis, PlayerId, Score, SeasonId};
use standings_engine::{Filter, Place, StandingId};

use crate::problem::{Code, Problem};

const VERSION: u8 = 1;
const HAS_MIN: u8 = 1;
const HAS_MAX: u8 = 2;
const HAS_SUCCESS: u8 = 4;
const SUCCESS: u8 = 8;
const HAS_SNAPSHOT: u8 = 16;

/// The end of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// What is being read.
    pub(crate) standing: StandingId,
    /// The filter that is being applied.
    pub(crate) filter: Filter,
    /// The last row that was shown.
    pub(crate) place: Place,
}

impl Cursor {
    /// Writes it.
    pub(crate) fn encode(&self, board: &BoardId) -> String {
        let mut bytes = Vec::with_capacity(96);
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        bytes.push(VERSION);
        bytes.push(
            flag(self.filter.min.is_some(), HAS_MIN)
                | flag(self.filter.max.is_some(), HAS_MAX)
                | flag(self.filter.success.is_some(), HAS_SUCCESS)
                | flag(self.filter.success == Some(true), SUCCESS)
                | flag(self.standing.snapshot.is_some(), HAS_SNAPSHOT),
        );
        for text in [self.standing.season.as_str(), board, &self.place.player] {
            push_text(&mut bytes, text);
        }
        let numbers = [
            Some(self.place.score.get()),
            Some(self.place.at.0),
            self.filter.min.map(Score::get),
            self.filter.max.map(Score::get),
        ];
        for number in numbers.into_iter().flatten() {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        if let Some(date) = self.standing.snapshot {
            push_text(&mut bytes, &date.to_string());
        }
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads one that was written for this board.
    pub(crate) fn decode(board: &BoardId, text: &str) -> Result<Self, Problem> {
        let bad = || {
            Problem::new(
                Code::BadCursor,
                "after takes the value of \"next\" of a page of this board, unchanged; \
                 without after the list starts from the top",
            )
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
        let (theirs, cursor) = Reader::parse(&bytes).ok_or_else(bad)?;
        if theirs == *board { Ok(cursor) } else { Err(bad()) }
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    // Ids are at most 128 bytes.
    bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(text.as_bytes());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn parse(bytes: &'a [u8]) -> Option<(BoardId, Cursor)> {
        let (bytes, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(bytes) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut reader = Reader(bytes);
        if reader.byte()? != VERSION {
            return None;
        }
        let flags = reader.byte()?;
        let season = SeasonId::parse(reader.text()?).ok()?;
        let board = BoardId::new(reader.text()?).ok()?;
        let player = PlayerId::new(reader.text()?).ok()?;
        let score = Score::new(reader.number()?)?;
        let at = Millis::new(reader.number()?)?;
        let mut limit = |flag| {
            if flags & flag == 0 { Some(None) } else { Score::new(reader.number()?).map(Some) }
        };
        let filter = Filter {
            min: limit(HAS_MIN)?,
            max: limit(HAS_MAX)?,
            success: (flags & HAS_SUCCESS != 0).then_some(flags & SUCCESS != 0),
        };
        let snapshot = match flags & HAS_SNAPSHOT {
            0 => None,
            _ => Some(LocalDate::parse(reader.text()?).ok()?),
        };
        let (standing, place) = (StandingId { season, snapshot }, Place { score, at, player });
        reader.0.is_empty().then_some((board, Cursor { standing, filter, place }))
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.byte()?;
        std::str::from_utf8(self.take(length.into())?).ok()
    }

    fn number(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
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

    #[test]
    fn what_was_written_is_read_again() {
        let board = BoardId::new("main").unwrap();
        let text = cursor().encode(&board);
        assert_eq!(Cursor::decode(&board, &text).unwrap(), cursor());
    }

    #[test]
    fn a_list_goes_on_in_its_snapshot() {
        let board = BoardId::new("main").unwrap();
        let mut of_date = cursor();
        of_date.standing.snapshot = Some(LocalDate::parse("2026-02-21").unwrap());
        let text = of_date.encode(&board);
        assert_eq!(Cursor::decode(&board, &text).unwrap(), of_date);
        assert_ne!(text, cursor().encode(&board));
    }

    #[test]
    fn a_cursor_of_an_earlier_version_is_read() {
        let text = "AQ0HMjAyNi0xMQRtYWlu";
        assert!(cursor().encode(&BoardId::new("main").unwrap()).starts_with(text));
    }

    #[test]
    fn a_cursor_of_another_board_is_refused() {
        let text = cursor().encode(&BoardId::new("main").unwrap());
        let error = Cursor::decode(&BoardId::new("other").unwrap(), &text).unwrap_err();
        assert_eq!(error.code(), Code::BadCursor);
    }

    #[test]
    fn every_change_of_one_byte_and_every_cut_is_refused() {
        let board = BoardId::new("main").unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(cursor().encode(&board)).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Cursor::decode(&board, &URL_SAFE_NO_PAD.encode(&changed)).is_err());
            assert!(Cursor::decode(&board, &URL_SAFE_NO_PAD.encode(&bytes[..at])).is_err());
        }
        assert!(Cursor::decode(&board, "!").is_err());
        assert!(Cursor::decode(&board, "").is_err());
    }
}
