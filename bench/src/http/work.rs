//! What is asked, and whether the answer is one.

use anyhow::{Result, ensure};

use crate::server::KEY;

/// Splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, near enough to uniform.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(bound)) >> 64).expect("below a u64")
    }
}

/// What ids begin with; a number of twelve digits follows, as redis-benchmark makes them. All are hex digits.
pub(crate) const PREFIX: &str = "5eed5eed5eed";

/// A player's first score: up to 5,000, leaning to the low end, with many ties.
pub(crate) fn score(player: u64) -> u64 {
    let part = Random(player ^ 0x5ee3).below(1 << 20);
    u64::try_from((u128::from(part).pow(4) * 5_000) >> 80).expect("at most 5,000")
}

/// One kind of request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Submit,
    Rank,
    Top,
    Around,
    Batch,
}

impl Work {
    /// Writes a request; what its answer must contain.
    pub(crate) fn request(self, random: &mut Random, players: u64, out: &mut Vec<u8>) -> String {
        let mut id = || format!("{PREFIX}{:012}", random.below(players));
        out.clear();
        match self {
            Self::Top => {
                out.extend_from_slice(b"GET /v1/scores HTTP/1.1\r\nHost: x\r\n\r\n");
                "\"rank\":10,".to_owned()
            }
            Self::Rank | Self::Around => {
                let id = id();
                let query = if matches!(self, Self::Around) { "?around=4" } else { "" };
                let line = format!("GET /v1/scores/{id}{query} HTTP/1.1\r\nHost: x\r\n\r\n");
                out.extend_from_slice(line.as_bytes());
                format!("{{\"user_info\":{{\"user_id\":\"{id}\"")
            }
            Self::Submit => {
                let id = id();
                let body = format!("{{\"user_id\":\"{id}\",\"points\":3}}");
                post("/v1/scores", "application/json", &body, out);
                format!("{{\"user_id\":\"{id}\"")
            }
            Self::Batch => {
                let mut body = String::with_capacity(64_000);
                let mut first = String::new();
                for number in 0..1000 {
                    let id = id();
                    body.push_str("{\"user_id\":\"");
                    body.push_str(&id);
                    body.push_str("\",\"points\":3}\n");
                    if number == 0 {
                        first = id;
                    }
                }
                post("/v1/boards/main/scores/batch", "application/x-ndjson", &body, out);
                format!("{{\"results\":[{{\"user_id\":\"{first}\"")
            }
        }
    }

    /// Checks an answer.
    pub(crate) fn check(self, status: u16, body: &[u8], wanted: &str) -> Result<()> {
        let text = String::from_utf8_lossy(body);
        ensure!(status == 200, "{self:?} was answered {status}: {text}");
        let named = match self {
            Self::Top => text.contains(wanted),
            _ => text.starts_with(wanted),
        };
        let whole = !matches!(self, Self::Batch) || text.ends_with("\"rejected\":0}");
        let ranked = text.get(..1000).unwrap_or(&text).contains("\"rank\":");
        ensure!(named && whole && ranked, "{self:?} was answered without {wanted}: {text}");
        Ok(())
    }
}

/// Writes a request with a body and a key.
pub(crate) fn post(path: &str, media: &str, body: &str, out: &mut Vec<u8>) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: {media}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body.as_bytes());
}
