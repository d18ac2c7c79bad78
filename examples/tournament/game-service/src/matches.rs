//! The matches this service saw, and who won them: rock, paper, scissors in as many rounds as there are moves.

use std::{collections::HashMap, io::Read, path::Path};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// Two players and their moves, round by round: `RPS`.
#[derive(Debug, Deserialize)]
struct Match {
    #[serde(rename = "match_id")]
    id: String,
    player_a: String,
    moves_a: String,
    player_b: String,
    moves_b: String,
}

/// Why a reported win is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foul {
    /// There was no such match.
    UnknownMatch,
    /// The player was not in it.
    NotInMatch,
    /// The player was, and did not win.
    NotWon,
}

impl Foul {
    /// What clients can rely on.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::UnknownMatch => "unknown_match",
            Self::NotInMatch => "not_in_match",
            Self::NotWon => "not_won",
        }
    }
}

/// All matches, by id.
pub(crate) struct Matches(HashMap<String, Match>);

impl Matches {
    /// Reads them from a file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let file = std::fs::File::open(path);
        let file = file.with_context(|| format!("cannot read {}", path.display()))?;
        Self::from_csv(file).with_context(|| format!("in {}", path.display()))
    }

    fn from_csv(text: impl Read) -> anyhow::Result<Self> {
        let mut matches = HashMap::new();
        for row in csv::Reader::from_reader(text).deserialize() {
            let one: Match = row?;
            let moves = [&one.moves_a, &one.moves_b];
            let id = &one.id;
            ensure!(
                moves.iter().all(|moves| moves.bytes().all(|m| matches!(m, b'R' | b'P' | b'S'))),
                "match {id}: moves are R, P and S"
            );
            ensure!(moves[0].len() == moves[1].len(), "match {id}: a move is missing");
            matches.insert(id.clone(), one);
        }
        Ok(Self(matches))
    }

    /// Whether the player won the match.
    pub(crate) fn check_win(&self, match_id: &str, player: &str) -> Result<(), Foul> {
        let found = self.0.get(match_id).ok_or(Foul::UnknownMatch)?;
        let (own, other) = if player == found.player_a {
            (&found.moves_a, &found.moves_b)
        } else if player == found.player_b {
            (&found.moves_b, &found.moves_a)
        } else {
            return Err(Foul::NotInMatch);
        };
        if rounds_won(own, other) > rounds_won(other, own) { Ok(()) } else { Err(Foul::NotWon) }
    }
}

fn rounds_won(own: &str, other: &str) -> usize {
    let rounds = own.bytes().zip(other.bytes());
    rounds.filter(|round| matches!(round, (b'R', b'S') | (b'P', b'R') | (b'S', b'P'))).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(rows: &str) -> anyhow::Result<Matches> {
        let csv = format!("match_id,player_a,moves_a,player_b,moves_b\n{rows}");
        Matches::from_csv(csv.as_bytes())
    }

    #[test]
    fn only_who_took_more_rounds_won() {
        let matches = matches("m-1,mary123,RPS,smith,SPP\nm-2,mary123,RPR,smith,SPP\n").unwrap();
        for (match_id, player, outcome) in [
            ("m-1", "mary123", Ok(())),
            ("m-1", "smith", Err(Foul::NotWon)),
            // A draw has no winner.
            ("m-2", "mary123", Err(Foul::NotWon)),
            ("m-2", "smith", Err(Foul::NotWon)),
            ("m-1", "eve", Err(Foul::NotInMatch)),
            ("m-3", "mary123", Err(Foul::UnknownMatch)),
        ] {
            assert_eq!(matches.check_win(match_id, player), outcome, "{match_id} {player}");
        }
    }

    #[test]
    fn a_record_that_cannot_be_is_refused() {
        assert!(matches("m-1,a,RX,b,RR\n").is_err());
        assert!(matches("m-1,a,RP,b,R\n").is_err());
    }
}
