//! JSON of requests: parsed fast, and where that fails once more, to say which member is wrong.

use serde::Deserialize;
use serde_path_to_error::Segment;
pub(crate) use standings_core::board::Object;

use crate::{call::invalid, problem::Problem};

/// What some editors put before UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// NDJSON without the byte order mark that a file may begin with.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// Parses JSON. Only when that fails is it parsed again, by a slower reader that knows where it is.
pub(crate) fn parse_json<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        if bytes.trim_ascii().is_empty() {
            return Problem::malformed("the body is empty; send JSON");
        }
        if bytes.starts_with(MARK) {
            return Problem::malformed("JSON does not begin with a byte order mark; leave it out");
        }
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let slower = serde_path_to_error::deserialize::<_, T>(&mut reader);
        match slower.map_err(|error| (place(error.path()), error.into_inner())) {
            Err((Some(place), error)) => invalid(error).within(place),
            _ => invalid(error),
        }
    })
}

/// Where in a JSON text something is, as far as its members have names.
fn place(path: &serde_path_to_error::Path) -> Option<String> {
    let known = |part: &&Segment| !matches!(part, Segment::Unknown);
    path.iter().next().filter(known)?;
    let text = path.to_string();
    let named = match path.iter().next_back() {
        Some(Segment::Unknown) => text.trim_end_matches(".?").to_owned(),
        _ => text,
    };
    Some(named)
}

/// Parses one line of NDJSON, or one item of an array: its place is told by its number, not by a line within it.
pub(crate) fn parse_item<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Problem> {
    parse_json(bytes).map_err(|problem| {
        Problem::malformed(problem.detail().replace(" at line 1 column ", " at column "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SubmissionBody;

    #[test]
    fn a_place_that_is_not_known_is_not_named() {
        use serde_json::Value;
        use std::collections::HashMap;
        for body in
            ["{", "{\"a\"", "{\"a\":1,}", "{1:2}", "{\"expect\":{1:2}}", "[1}", "x", "{\"a\":1 2}"]
        {
            for error in [
                parse_json::<HashMap<String, i64>>(body.as_bytes()).map(|_| ()),
                parse_json::<Object<SubmissionBody>>(body.as_bytes()).map(|_| ()),
                parse_json::<Value>(body.as_bytes()).map(|_| ()),
            ] {
                let error = error.unwrap_err();
                assert!(!error.detail().contains('?'), "{body}: {}", error.detail());
            }
        }
    }

    #[test]
    fn a_wrong_type_is_reported_with_its_field() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only parsed")]
        struct Body {
            points: i64,
        }
        let error = parse_json::<Body>(br#"{"points":"5"}"#).unwrap_err();
        assert!(error.detail().starts_with("points: invalid type: string"), "{}", error.detail());
        let error = parse_json::<Body>(br#"{"points":1e400}"#).unwrap_err();
        assert!(error.detail().starts_with("points: number out of range"), "{}", error.detail());
        assert!(parse_json::<Body>(b"").unwrap_err().detail().contains("empty"));
        assert!(
            parse_json::<Body>(br#"{"points":5} x"#).unwrap_err().detail().contains("trailing")
        );
    }
}
