//! What is asked, and whether the answer is one.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use crate::{
    board::Ids,
    random::Random,
    server::KEY,
    wire::{self, Answer},
};

/// The points of every submission.
pub const POINTS: u64 = 3;
/// Submissions of a [`Work::Batch`].
pub const BATCH: u64 = 1_000;
/// Rows of a [`Work::Page`].
const PAGE: u64 = 1_000;
/// Rows of a window: four above and four below.
const WINDOW: u64 = 9;

/// One kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `POST …/scores`
    Submit,
    /// `GET …/scores/{user_id}`
    Rank,
    /// `GET …/scores`
    Top,
    /// `GET …/scores/{user_id}?around=4`
    Around,
    /// `GET …/scores?limit=1000&offset=…` at any offset
    Page,
    /// `POST …/scores/batch` with [`BATCH`] submissions
    Batch,
    /// The same with an event id for each
    BatchWithIds,
    /// `POST /v1/boards/b7/scores`, on any of so many boards as there are players
    AnyBoardSubmit,
    /// `GET /v1/boards/b7/scores`, likewise; the board may be empty
    AnyBoardTop,
    /// `ZREVRANK` of Redis
    RedisRank,
    /// `ZREVRANGE` of Redis: nine rows from a random position on
    RedisWindow,
}

impl Work {
    /// Writes a request; what its answer must contain.
    pub fn request(self, random: &mut Random, players: u64, out: &mut Vec<u8>) -> String {
        out.clear();
        let id = Ids::Numbered.id(random.below(players));
        match self {
            Self::Top => {
                out.extend_from_slice(b"GET /v1/scores HTTP/1.1\r\nHost: x\r\n\r\n");
                "\"rank\":1,".to_owned()
            }
            Self::Page => {
                let offset = random.below(players.saturating_sub(PAGE).max(1));
                let line = format!(
                    "GET /v1/scores?limit={PAGE}&offset={offset} HTTP/1.1\r\nHost: x\r\n\r\n"
                );
                out.extend_from_slice(line.as_bytes());
                "{\"board\":\"main\"".to_owned()
            }
            Self::Rank | Self::Around => {
                let query = if self == Self::Around { "?around=4" } else { "" };
                let line = format!("GET /v1/scores/{id}{query} HTTP/1.1\r\nHost: x\r\n\r\n");
                out.extend_from_slice(line.as_bytes());
                format!("{{\"user_info\":{{\"user_id\":\"{id}\"")
            }
            Self::Submit => {
                let body = format!("{{\"user_id\":\"{id}\",\"points\":{POINTS}}}");
                post("/v1/scores", "application/json", &body, out);
                format!("{{\"user_id\":\"{id}\"")
            }
            Self::AnyBoardSubmit => {
                let body = format!("{{\"user_id\":\"{id}\",\"points\":{POINTS}}}");
                let path = format!("/v1/boards/b{}/scores", random.below(players));
                post(&path, "application/json", &body, out);
                format!("{{\"user_id\":\"{id}\"")
            }
            Self::AnyBoardTop => {
                let board = random.below(players);
                let line = format!("GET /v1/boards/b{board}/scores HTTP/1.1\r\nHost: x\r\n\r\n");
                out.extend_from_slice(line.as_bytes());
                format!("{{\"board\":\"b{board}\"")
            }
            Self::Batch | Self::BatchWithIds => {
                batch(random, players, self == Self::BatchWithIds, out)
            }
            Self::RedisRank => {
                wire::redis_command(&["ZREVRANK", "board", id.as_ref()], out);
                ":".to_owned()
            }
            Self::RedisWindow => {
                let from = random.below(players.saturating_sub(WINDOW).max(1));
                let (from, to) = (from.to_string(), (from + WINDOW - 1).to_string());
                wire::redis_command(&["ZREVRANGE", "board", &from, &to, "WITHSCORES"], out);
                format!("*{}\r\n", 2 * WINDOW)
            }
        }
    }

    /// How an answer is found in what was read.
    pub fn answer(self) -> fn(&[u8]) -> Result<Option<Answer>> {
        match self {
            Self::RedisRank | Self::RedisWindow => wire::redis,
            _ => wire::http,
        }
    }

    /// Checks an answer.
    pub fn check(self, status: u16, body: &[u8], wanted: &str) -> Result<()> {
        let text = String::from_utf8_lossy(body);
        ensure!(status == 200, "{self:?} was answered {status}: {text}");
        let named = match self {
            Self::Top => text.contains(wanted) && text.matches("\"user_id\"").count() == 10,
            _ => text.starts_with(wanted),
        };
        let single = !matches!(self, Self::Batch | Self::BatchWithIds);
        let whole = single || text.ends_with("\"rejected\":0}");
        let of_redis = matches!(self, Self::RedisRank | Self::RedisWindow);
        let ranked = of_redis
            || self == Self::AnyBoardTop
            || text.get(..1000).unwrap_or(&text).contains("\"rank\":");
        ensure!(named && whole && ranked, "{self:?} was answered without {wanted}: {text}");
        Ok(())
    }
}

fn batch(random: &mut Random, players: u64, with_ids: bool, out: &mut Vec<u8>) -> String {
    let first = Ids::Numbered.id(random.below(players));
    let mut body = String::with_capacity(64_000);
    for number in 0..BATCH {
        let id = if number == 0 { first } else { Ids::Numbered.id(random.below(players)) };
        body.push_str("{\"user_id\":\"");
        body.push_str(id.as_ref());
        body.push_str("\",\"points\":3");
        if with_ids {
            // A string takes all that is written to it.
            let _ = write!(body, ",\"event_id\":\"{:016x}{number:08x}\"", random.bits());
        }
        body.push_str("}\n");
    }
    post("/v1/boards/main/scores/batch", "application/x-ndjson", &body, out);
    format!("{{\"results\":[{{\"user_id\":\"{first}\"")
}

/// Writes a request with a body and a key.
fn post(path: &str, media: &str, body: &str, out: &mut Vec<u8>) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: {media}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body.as_bytes());
}
