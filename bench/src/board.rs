//! The reference board: the same players, scores and times in every run, in every part and on both sides.

use standings_core::{IndexRecord, Millis, PlayerId, SortKey};

use crate::random::Random;

/// How ids look. All are 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Random hex digits, which pack into 12 bytes.
    Hex,
    /// Letters, digits and signs, which do not pack.
    Text,
    /// Hex digits as redis-benchmark can make them: a common beginning and a number of twelve digits.
    Numbered,
}

/// What numbered ids begin with.
pub const PREFIX: &str = "5eed5eed5eed";

/// An id without an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id([u8; 24]);

impl AsRef<str> for Id {
    fn as_ref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("ASCII")
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_ref())
    }
}

impl Ids {
    /// The id of a player.
    pub fn id(self, player: u64) -> Id {
        match self {
            Self::Hex => drawn(b"0123456789abcdef", player),
            Self::Text => {
                drawn(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", player)
            }
            Self::Numbered => numbered(player),
        }
    }

    /// The same as the engine takes it.
    pub fn player(self, player: u64) -> PlayerId {
        PlayerId::new(self.id(player).as_ref()).expect("24 plain characters")
    }

    /// For headings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hex | Self::Numbered => "24 hex digits",
            Self::Text => "any 24 bytes",
        }
    }
}

/// An id drawn from an alphabet whose size is a power of two up to 64.
fn drawn(alphabet: &[u8], player: u64) -> Id {
    let mut random = Random(player);
    let mut id = [0; 24];
    let (mut bits, mut left) = (0, 0);
    for byte in &mut id {
        if left == 0 {
            (bits, left) = (random.bits(), 10);
        }
        let digit = usize::try_from(bits & 63).expect("six bits");
        *byte = alphabet[digit % alphabet.len()];
        bits >>= 6;
        left -= 1;
    }
    Id(id)
}

fn numbered(player: u64) -> Id {
    let mut id = [b'0'; 24];
    id[..12].copy_from_slice(PREFIX.as_bytes());
    let mut rest = player;
    for byte in id[12..].iter_mut().rev() {
        *byte = b'0' + u8::try_from(rest % 10).expect("a digit");
        rest /= 10;
    }
    Id(id)
}

/// A month from which the scores come, and what follows it.
pub const START: i64 = 1_793_491_200_000;
/// Its length.
pub const MONTH: i64 = 30 * 24 * 3_600_000;
/// Above every first score.
pub const SCORES: u64 = 5_000;

/// A player's first score. Scores lean to the low end by the fourth power: an eighth of all players share the lowest score, and the
/// best few hundred scores have a handful of players each.
pub fn first_score(player: u64) -> u64 {
    let part = Random(player ^ 0x5ee3).below(1 << 20);
    u64::try_from((u128::from(part).pow(4) * u128::from(SCORES)) >> 80).expect("below 5,000")
}

/// A player's first record: the score, at some time of the month.
pub fn first_record(player: u64) -> IndexRecord {
    let at = START + Random(player ^ 0x7135).below(MONTH.unsigned_abs()).cast_signed();
    let key = SortKey { folded: -first_score(player).cast_signed(), at: Millis(at) };
    IndexRecord { key, updated_at: key.at }
}

/// All players in the order of the standing.
pub fn sorted(ids: Ids, players: u64) -> Vec<(IndexRecord, u64)> {
    let mut rows: Vec<(IndexRecord, u64)> =
        (0..players).map(|player| (first_record(player), player)).collect();
    rows.sort_unstable_by(|(a, player_a), (b, player_b)| {
        a.key.cmp(&b.key).then_with(|| ids.id(*player_a).cmp(&ids.id(*player_b)))
    });
    rows
}

/// A record after a win at `now`.
pub fn after_win(record: IndexRecord, points: u64, now: i64) -> IndexRecord {
    let folded = record.key.folded - points.cast_signed();
    IndexRecord { key: SortKey { folded, at: Millis(now) }, updated_at: Millis(now) }
}

/// A number as people read it.
pub fn count_text(count: u64) -> String {
    match count {
        1_000_000.. if count.is_multiple_of(100_000) => {
            format!("{} million", crate::meter::float(count / 100_000) / 10.0)
        }
        _ => crate::report::thousands(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_in_every_run_and_differ_by_player() {
        assert_eq!(Ids::Numbered.id(42).as_ref(), "5eed5eed5eed000000000042");
        assert_eq!(Ids::Hex.id(7), Ids::Hex.id(7));
        let mut all: Vec<_> = (0..10_000).map(|player| Ids::Hex.id(player)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 10_000);
    }

    #[test]
    fn scores_are_skewed_and_tied() {
        let scores: Vec<_> = (0..10_000).map(first_score).collect();
        let lowest = scores.iter().filter(|score| **score == 0).count();
        assert!((1_000..1_500).contains(&lowest), "{lowest}");
        assert!(scores.iter().any(|score| *score > 4_500));
    }

    #[test]
    fn counts_are_readable() {
        assert_eq!(count_text(25_000_000), "25 million");
        assert_eq!(count_text(1_500_000), "1.5 million");
        assert_eq!(count_text(100_000), "100,000");
    }
}
