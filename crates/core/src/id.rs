//! Names that clients choose: valid once constructed.

use std::{borrow::Borrow, fmt, ops::Deref};

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::limits::{BOARD_ID_BYTES, EVENT_ID_BYTES, NAME_BYTES, PLAYER_ID_BYTES};

/// Why a text cannot be an id. The message tells the client what to send instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Not a player id.
    #[error(
        "a user_id is 1 to {PLAYER_ID_BYTES} bytes of printable UTF-8 without '/', ',', control or invisible characters, \
         and not '.', '..' or only spaces"
    )]
    Player,
    /// Not an event id.
    #[error("an event_id is 1 to {EVENT_ID_BYTES} bytes of UTF-8 without control characters")]
    Event,
    /// Not a board id.
    #[error("a board id matches [a-z0-9][a-z0-9_-]{{0,63}}")]
    Board,
    /// Not a display name.
    #[error("a name is 1 to {NAME_BYTES} bytes of UTF-8 without control characters")]
    Name,
    /// Not the name of a key.
    #[error("a key's name matches [A-Za-z0-9][A-Za-z0-9_.-]{{0,63}}")]
    Key,
}

/// Declares a text type that is checked on construction and on deserialisation. Ids up to 24 bytes are held without an
/// allocation, which covers what most games use.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $invalid:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(CompactString);

        impl $name {
            /// The id, if the text is one.
            pub fn new(text: &str) -> Result<Self, InvalidId> {
                let check: fn(&str) -> bool = $check;
                if check(text) { Ok(Self(text.into())) } else { Err($invalid) }
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = CompactString::deserialize(deserializer)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id!(
    /// A player. Compared bytewise; numeric ids are sent as text.
    PlayerId,
    InvalidId::Player,
    |text| {
        (1..=PLAYER_ID_BYTES).contains(&text.len())
            && !text.chars().any(|c| c == '/' || c == ',' || c.is_control())
            && text != "."
            && text != ".."
    }
);

impl PlayerId {
    /// The id, if a new player may have it: two that look alike would be told apart by nobody. That is more than `new` asks,
    /// because players that are stored under such ids have to be read and can be deleted.
    pub fn printable(self) -> Result<Self, InvalidId> {
        let blank = |c: char| c.is_whitespace() || is_modifier(c);
        if self.0.chars().any(is_invisible) || self.0.chars().all(blank) {
            return Err(InvalidId::Player);
        }
        Ok(self)
    }
}

/// What is not shown and changes how its neighbours are: the two joiners and the variation selectors, which scripts and emoji
/// need.
fn is_modifier(c: char) -> bool {
    matches!(
        c,
        '\u{200C}'..='\u{200D}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}'
    )
}

/// Separators of lines, marks of direction, what has no width or no shape, and what is no character: what Unicode calls
/// `Default_Ignorable_Code_Point` is all in here, but for modifiers.
fn is_invisible(c: char) -> bool {
    let hidden = matches!(
        c,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'
            | '\u{200E}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FDD0}'..='\u{FDEF}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    );
    hidden && !is_modifier(c) || u32::from(c) & 0xFFFE == 0xFFFE
}

text_id!(
    /// What makes a submission count once.
    EventId,
    InvalidId::Event,
    |text| (1..=EVENT_ID_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
);

text_id!(
    /// A board.
    BoardId,
    InvalidId::Board,
    |text| {
        let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        (1..=BOARD_ID_BYTES).contains(&text.len())
            && word(text.as_bytes()[0])
            && text.bytes().all(|b| word(b) || b == b'_' || b == b'-')
    }
);

text_id!(
    /// A player's display name.
    Name,
    InvalidId::Name,
    |text| (1..=NAME_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
);

text_id!(
    /// The name under which an access key is listed and deleted.
    KeyName,
    InvalidId::Key,
    |text| {
        (1..=BOARD_ID_BYTES).contains(&text.len())
            && text.as_bytes()[0].is_ascii_alphanumeric()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_id_is_printable_and_safe_in_a_path() {
        for good in ["a", "1001", "5f9d88b9c3b4e2a1d0f6a7b8", "플레이어", "a b", "..."] {
            assert_eq!(PlayerId::new(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
        let long = "x".repeat(129);
        for bad in ["", ".", "..", "a/b", "a,b", "a\nb", "a\u{0}b", "a\u{85}b", long.as_str()] {
            assert_eq!(PlayerId::new(bad), Err(InvalidId::Player), "{bad:?}");
        }
    }

    #[test]
    fn a_new_player_has_an_id_that_can_be_seen() {
        let printable = |text: &str| PlayerId::new(text).unwrap().printable();
        for good in ["a", "a b", "a\u{A0}b", "플레이어", "👩\u{200D}🚀", "می\u{200C}خواهم"]
        {
            assert_eq!(printable(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
        for bad in [
            " ",
            "\u{A0}",
            "\u{3000} ",
            "\u{200D}",
            "a\u{AD}b",
            "a\u{200B}",
            "a\u{200F}",
            "a\u{2028}b",
            "a\u{202E}b",
            "a\u{2060}b",
            "a\u{2066}b",
            "\u{FEFF}a",
            "a\u{FDD0}",
            "a\u{FFFE}",
            "a\u{10FFFF}",
        ] {
            assert_eq!(printable(bad), Err(InvalidId::Player), "{bad:?}");
        }
    }

    #[test]
    fn a_new_player_has_no_id_of_what_is_not_shown() {
        let printable = |text: &str| PlayerId::new(text).unwrap().printable();
        for good in ["❤\u{FE0F}", "葛\u{E0100}", "\u{180A}a", "a\u{FFFC}", "\u{1D172}"] {
            assert_eq!(printable(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
        for hidden in [
            '\u{34F}',
            '\u{115F}',
            '\u{1160}',
            '\u{17B4}',
            '\u{17B5}',
            '\u{180B}',
            '\u{180C}',
            '\u{180D}',
            '\u{180E}',
            '\u{180F}',
            '\u{2065}',
            '\u{3164}',
            '\u{FFA0}',
            '\u{FFF0}',
            '\u{FFF8}',
            '\u{1BCA0}',
            '\u{1BCA3}',
            '\u{1D173}',
            '\u{1D17A}',
            '\u{E0000}',
            '\u{E0001}',
            '\u{E007F}',
            '\u{E00FF}',
            '\u{E01F0}',
            '\u{E0FFF}',
        ] {
            for bad in [format!("{hidden}"), format!("{hidden}x"), format!("x{hidden}")] {
                assert_eq!(printable(&bad), Err(InvalidId::Player), "{bad:?}");
            }
        }
        for alone in ["\u{FE00}", "\u{FE0F}", "\u{E0100}", "\u{E01EF} ", "\u{200D}\u{FE0F}"] {
            assert_eq!(printable(alone), Err(InvalidId::Player), "{alone:?}");
        }
    }

    #[test]
    fn a_board_id_is_a_lower_case_word() {
        assert!(BoardId::new("weekly-2_x").is_ok());
        for bad in ["", "-a", "_a", "A", "a b", "ä", &"x".repeat(65)] {
            assert_eq!(BoardId::new(bad), Err(InvalidId::Board), "{bad:?}");
        }
    }
}
