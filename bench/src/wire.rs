//! Where an answer ends: HTTP/1 with a length, and the protocol of Redis.

use anyhow::{Context as _, Result, bail};

/// A whole answer at the beginning of what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP; 200 for Redis, whose errors are errors here.
    pub status: u16,
    /// Where its body begins.
    pub body: usize,
    /// Where it ends.
    pub end: usize,
}

/// Finds an answer of HTTP/1, if it is there to its end.
pub fn http(input: &[u8]) -> Result<Option<Answer>> {
    let Some(head) = input.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&input[..head])?;
    let status = text.get(9..12).context("an answer begins with its version")?.parse()?;
    let length = text.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.context("an answer without a length")?.parse()?;
    let (body, end) = (head + 4, head + 4 + length);
    Ok((input.len() >= end).then_some(Answer { status, body, end }))
}

/// Finds a reply of Redis, if it is there to its end.
pub fn redis(input: &[u8]) -> Result<Option<Answer>> {
    let end = redis_end(input, 0)?;
    Ok(end.map(|end| Answer { status: 200, body: 0, end }))
}

/// Where the reply that begins at `at` ends.
fn redis_end(input: &[u8], at: usize) -> Result<Option<usize>> {
    let Some(length) = input[at..].iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    let (line, mut end) =
        (std::str::from_utf8(&input[at..at + length])?.trim_end(), at + length + 1);
    let (kind, rest) = line.split_at_checked(1).context("a reply has a kind")?;
    match kind {
        "+" | ":" => {}
        "$" => {
            // -1 is "nothing", without a body.
            if let Ok(length) = rest.parse::<usize>() {
                end += length + 2;
            }
        }
        "*" => {
            for _ in 0..rest.parse::<usize>().unwrap_or(0) {
                match redis_end(input, end)? {
                    Some(next) => end = next,
                    None => return Ok(None),
                }
            }
        }
        _ => bail!("redis answered {line:?}"),
    }
    Ok((input.len() >= end).then_some(end))
}

/// Writes a command of Redis.
pub fn redis_command(words: &[&str], out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Writing to memory does not fail.
    let _ = write!(out, "*{}\r\n", words.len());
    for word in words {
        let _ = write!(out, "${}\r\n{word}\r\n", word.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_when_it_is_whole() {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        let end = whole.len();
        assert_eq!(http(whole).unwrap(), Some(Answer { status: 200, body: end - 2, end }));
        assert!((0..end).all(|end| http(&whole[..end]).unwrap().is_none()));
        assert!(http(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn a_reply_is_found_when_it_is_whole() {
        for whole in [":1\r\n", "+OK\r\n", "$-1\r\n", "$3\r\nabc\r\n", "*2\r\n$1\r\na\r\n:7\r\n"] {
            let whole = whole.as_bytes();
            assert_eq!(redis(whole).unwrap().unwrap().end, whole.len());
            assert!((0..whole.len()).all(|end| redis(&whole[..end]).unwrap().is_none()));
        }
        assert!(redis(b"-ERR no\r\n").is_err());
    }

    #[test]
    fn a_command_says_how_long_it_is() {
        let mut out = Vec::new();
        redis_command(&["ZREVRANK", "b"], &mut out);
        assert_eq!(out, b"*2\r\n$8\r\nZREVRANK\r\n$1\r\nb\r\n");
    }
}
