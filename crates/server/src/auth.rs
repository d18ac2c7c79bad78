//! Who may call: `Authorization: Bearer <key>`, a key's role, and how often it may call.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use hyper::{
    HeaderMap,
    header::{AUTHORIZATION, HeaderValue},
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use standings_core::KeyName;
use standings_engine::{KeyHash, Role};

use crate::{
    app::App,
    config::Reads,
    problem::{Code, Problem},
};

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everyone, always.
    Open,
    /// Readers: everyone, unless the configuration wants a key.
    Read,
    /// Game servers.
    Game,
    /// Administrators.
    Admin,
}

/// Whether one who sends these headers may make a call now.
pub(crate) async fn authorise(
    app: &App,
    headers: &HeaderMap,
    access: Access,
) -> Result<(), Problem> {
    let needed = match access {
        Access::Open => return Ok(()),
        // Whatever key a reader sends, it would see the same.
        Access::Read if app.options.reads == Reads::Open => return Ok(()),
        Access::Read => Role::Read,
        Access::Game => Role::Game,
        Access::Admin => Role::Admin,
    };
    let engine = app.engine()?;
    let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let Some(key) = given.and_then(bearer) else { return Err(unauthorized()) };
    let Some(info) = engine.key(&hash(key))? else { return Err(unauthorized()) };
    if info.role < needed {
        return Err(Problem::new(
            Code::Forbidden,
            match needed {
                Role::Admin => "this call needs a key with the role admin",
                _ => "this call needs a key with the role game or admin",
            },
        ));
    }
    app.rates.take(&info.name).map_err(|wait| {
        Problem::new(Code::RateLimited, "this key sends more requests than it may; slow down")
            .retry_after(wait)
    })
}

fn unauthorized() -> Problem {
    Problem::new(
        Code::Unauthorized,
        "send a valid key as \"Authorization: Bearer <key>\"; an administrator makes keys with POST /v1/keys",
    )
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(7)?;
    (scheme.eq_ignore_ascii_case(b"bearer ") && !key.is_empty()).then(|| key.trim_ascii())
}

/// What is stored of a key. Keys are long and random, so that a plain hash is enough.
pub fn hash(key: &[u8]) -> KeyHash {
    KeyHash(Sha256::digest(key).into())
}

/// A new key: 256 random bits with a prefix by which leaked keys can be searched for.
pub fn new_key() -> Result<String, getrandom::Error> {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)?;
    Ok(format!("sk_{}", URL_SAFE_NO_PAD.encode(bits)))
}

/// Token buckets, one per key. Only keys that exist have one, so that their number is bounded.
#[derive(Debug)]
pub(crate) struct Rates {
    per_second: u32,
    burst: u32,
    buckets: Mutex<HashMap<KeyName, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Rates {
    /// Limits every key to so many requests a second, with so many at once; 0 is without limit.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second, burst, buckets: Mutex::default() }
    }

    /// Counts a request, or says how long to wait.
    fn take(&self, key: &KeyName) -> Result<(), Duration> {
        if self.per_second == 0 {
            return Ok(());
        }
        self.take_at(key, Instant::now())
    }

    fn take_at(&self, key: &KeyName, now: Instant) -> Result<(), Duration> {
        let (rate, burst) = (f64::from(self.per_second), f64::from(self.burst));
        let mut buckets = self.buckets.lock();
        let bucket = buckets.entry(key.clone()).or_insert(Bucket { tokens: burst, filled: now });
        let gained = now.saturating_duration_since(bucket.filled).as_secs_f64() * rate;
        bucket.tokens = (bucket.tokens + gained).min(burst);
        bucket.filled = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            Ok(())
        } else {
            Err(Duration::from_secs_f64((1.0 - bucket.tokens) / rate))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_refills_with_time_and_not_beyond_its_burst() {
        let rates = Rates::new(10, 2);
        let (a, b) = (KeyName::new("a").unwrap(), KeyName::new("b").unwrap());
        let start = Instant::now();
        assert_eq!(rates.take_at(&a, start), Ok(()));
        assert_eq!(rates.take_at(&a, start), Ok(()));
        assert_eq!(rates.take_at(&a, start), Err(Duration::from_millis(100)));
        assert_eq!(rates.take_at(&b, start), Ok(()), "each key has its own");
        let later = start + Duration::from_secs(60);
        assert_eq!(rates.take_at(&a, later), Ok(()));
        assert_eq!(rates.take_at(&a, later), Ok(()));
        assert!(rates.take_at(&a, later).is_err());
    }

    #[test]
    fn the_scheme_is_read_in_any_letter_case_and_nothing_else_is_a_key() {
        let key = |value: &'static str| bearer(value.as_bytes());
        assert_eq!(key("Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(key("bearer abc"), Some(&b"abc"[..]));
        for not in ["Bearer", "Bearer ", "Basic abc", "abc", ""] {
            assert_eq!(key(not), None, "{not:?}");
        }
    }

    #[test]
    fn two_new_keys_differ() {
        let (a, b) = (new_key().unwrap(), new_key().unwrap());
        assert_ne!(a, b);
        assert!(a.starts_with("sk_") && a.len() == 46, "{a}");
    }
}
