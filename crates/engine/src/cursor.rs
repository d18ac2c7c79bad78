//! Where a list goes on, as a text.

use std::{fmt::Display, str::FromStr};

use crate::{EngineError, Result};

/// Where the next page of a list begins, in the engine's own terms. To everyone else it is opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub String);

impl Cursor {
    /// Writes parts, none of which has a space in it.
    pub fn of(parts: &[&dyn Display]) -> Self {
        let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
        Self(parts.join(" "))
    }

    /// Reads as many parts; an error where it was not given so.
    pub fn parts<const N: usize>(&self) -> Result<[&str; N]> {
        let parts: Vec<&str> = self.0.split(' ').collect();
        parts.try_into().map_err(|_| EngineError::BadCursor)
    }

    /// Reads the one part.
    pub fn parse<T: FromStr>(&self) -> Result<T> {
        let [part] = self.parts()?;
        part.parse().map_err(|_| EngineError::BadCursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_in_no_other_way() {
        let cursor = Cursor::of(&[&"2026-11-15", &"main"]);
        assert_eq!(cursor.parts::<2>().unwrap(), ["2026-11-15", "main"]);
        assert!(matches!(cursor.parts::<1>(), Err(EngineError::BadCursor)));
        assert_eq!(Cursor::of(&[&17_u64]).parse::<u64>().unwrap(), 17);
        assert!(matches!(Cursor("x".to_owned()).parse::<u64>(), Err(EngineError::BadCursor)));
    }
}
