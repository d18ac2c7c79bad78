//! The board that the index benchmark measures: the same players, scores and times in every run.

use standings_core::{Millis, Record, SortKey};

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

/// How ids look. All are 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Hex digits, which pack into 12 bytes.
    Hex,
    /// Letters, digits and signs, which do not pack.
    Text,
}

/// An id without an allocation.
#[derive(Clone, Copy)]
pub(crate) struct Id([u8; 24]);

impl AsRef<str> for Id {
    fn as_ref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("ASCII")
    }
}

impl Ids {
    /// The id of a player.
    pub(crate) fn id(self, player: u64) -> Id {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        const TEXT: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut random = Random(player);
        let mut id = [0; 24];
        let (mut bits, mut left) = (0, 0);
        for byte in &mut id {
            if left == 0 {
                (bits, left) = (random.next(), 10);
            }
            let digit = usize::try_from(bits & 63).expect("six bits");
            *byte = match self {
                Self::Hex => HEX[digit % 16],
                Self::Text => TEXT[digit],
            };
            bits >>= 6;
            left -= 1;
        }
        Id(id)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hex => "24 hex digits",
            Self::Text => "any 24 bytes",
        }
    }
}

/// A month from which the scores come, and what follows it.
pub(crate) const START: i64 = 1_793_491_200_000;
pub(crate) const MONTH: i64 = 30 * 24 * 3_600_000;

/// A player's first record. Scores go to 5,000 and lean to the low end by the fourth power: an eighth of all players
/// share the lowest score, and the best few hundred scores have a handful of players each.
pub(crate) fn first_record(player: u64) -> Record {
    let mut random = Random(player ^ 0x5ee3);
    let part = random.below(1 << 20);
    let skewed = (u128::from(part).pow(4) * 5_000) >> 80;
    let score = i64::try_from(skewed).expect("at most 5,000");
    let at = Millis(START + random.below(MONTH.unsigned_abs()).cast_signed());
    Record { key: SortKey { folded: -score, at }, updated_at: at }
}

/// All players in the order of the standing, ties by id left aside: times are nearly all different.
pub(crate) fn sorted(ids: Ids, players: u64) -> Vec<(Record, u64)> {
    let mut rows: Vec<(Record, u64)> =
        (0..players).map(|player| (first_record(player), player)).collect();
    rows.sort_unstable_by(|(a, player_a), (b, player_b)| {
        let text = |player: u64| ids.id(player).0;
        a.key.cmp(&b.key).then_with(|| text(*player_a).cmp(&text(*player_b)))
    });
    rows
}

/// A record after a win at `now`.
pub(crate) fn after_win(record: Record, points: u64, now: i64) -> Record {
    let folded = record.key.folded - points.cast_signed();
    Record { key: SortKey { folded, at: Millis(now) }, updated_at: Millis(now) }
}
