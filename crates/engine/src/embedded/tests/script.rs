//! A fixed sequence of writes of every kind, and everything that can be read after each.
//!
//! Run once in peace, it tells what the engine shows before and after each write. Run again and crashed anywhere, the
//! recovered engine must show one of the two.

use std::fmt::Write as _;

use standings_core::{KeyName, Millis, Name, Profile, Score, SeasonId};

use super::kit::{board, definition, event, player, points};
use crate::{
    Engine, KeyHash, NameQuery, PageQuery, Result, Role, ScoreRow, SeasonRef, SeasonsQuery,
};

/// One write, after the clock has been turned on.
pub(super) struct Step {
    pub(super) pass: Millis,
    pub(super) write: Write,
}

pub(super) enum Write {
    Board(&'static str, &'static str),
    Delete(&'static str),
    /// Points of players, with event ids.
    Events(&'static str, Vec<(&'static str, i64, String)>),
    /// Points of an earlier time.
    Late(&'static str, &'static str, i64, Millis),
    Set(&'static str, Vec<(&'static str, i64)>),
    Remove(&'static str, SeasonRef, &'static str),
    Close(&'static str),
    Import(&'static str, &'static str, Vec<(&'static str, i64)>),
    Rename(&'static str, &'static str),
    Key(&'static str, u8),
    DropKey(&'static str),
}

fn row((id, value): &(&str, i64)) -> ScoreRow {
    ScoreRow { player: player(id), score: Score::new(*value).unwrap(), at: None, user_name: None }
}

impl Write {
    /// Does it. Whatever breaks a rule is a mistake of the script.
    pub(super) async fn apply(&self, engine: &dyn Engine, now: Millis) -> Result<()> {
        match self {
            Self::Board(id, json) => {
                engine.put_board(&board(id), definition(json)).await.map(|_| ())
            }
            Self::Delete(id) => engine.delete_board(&board(id)).await,
            Self::Events(id, events) => {
                let batch = events.iter().map(|(who, value, id)| event(who, *value, id)).collect();
                let answers = engine.submit(&board(id), batch).await?;
                assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|r| !r.duplicate)));
                Ok(())
            }
            Self::Late(id, who, value, before) => {
                let mut late = points(who, *value);
                late.at = Some(Millis(now.0 - before.0));
                engine.submit(&board(id), vec![late]).await?.remove(0).unwrap();
                Ok(())
            }
            Self::Set(id, rows) => {
                let rows = rows.iter().map(row).collect();
                engine.set_scores(&board(id), rows).await.map(|_| ())
            }
            Self::Remove(id, season, who) => {
                engine.remove_entry(&board(id), season, &player(who)).await
            }
            Self::Close(id) => engine.close_season(&board(id)).await.map(|_| ()),
            Self::Import(id, season, rows) => {
                let season = SeasonId::parse(season).unwrap();
                let mut import = engine.import_season(&board(id), &season).await?;
                import.rows(rows.iter().map(row).collect()).await?;
                import.finish().await.map(|_| ())
            }
            Self::Rename(who, name) => {
                let profile =
                    Profile { name: Some(Name::new(name).unwrap()), ..Profile::default() };
                engine.put_player(&player(who), profile).await
            }
            Self::Key(name, byte) => {
                let (name, hash) = (KeyName::new(name).unwrap(), KeyHash([*byte; 32]));
                engine.put_key(&name, Role::Game, hash, true).await
            }
            Self::DropKey(name) => engine.delete_key(&KeyName::new(name).unwrap()).await,
        }
    }
}

/// The script: `rounds` days of a board that is reset daily beside one that never is.
pub(super) fn script(rounds: u32) -> Vec<Step> {
    const DAILY: &str = r#"{"season":"daily","grace":"1 hour","goal":5}"#;
    const BEST: &str = r#"{"season":"never","rule":"best","order":"asc","ties":"earliest"}"#;
    let mut writes = vec![
        (0, Write::Board("daily", DAILY)),
        (0, Write::Board("best", BEST)),
        (0, Write::Key("game", 1)),
        (0, Write::Rename("z", "Zed")),
    ];
    let (minute, hour) = (60_000, 3_600_000);
    for round in 0..rounds {
        let ids = |kind: &str, events: &[(&'static str, i64)]| {
            let events = events
                .iter()
                .zip(0..)
                .map(|(&(who, value), n)| (who, value, format!("{kind}-{round}-{n}")));
            events.collect::<Vec<_>>()
        };
        writes.extend([
            (minute, Write::Events("daily", ids("d", &[("a", 3), ("b", 9), ("a", 4), ("c", 1)]))),
            (1, Write::Events("best", ids("b", &[("a", 70 - i64::from(round)), ("b", 65)]))),
            (1, Write::Set("daily", vec![("s", 6), ("t", 2)])),
            (1, Write::Rename("z", if round % 2 == 0 { "Zett" } else { "Zed" })),
            (1, Write::Remove("daily", SeasonRef::Current, "c")),
            (1, Write::Board("extra", r#"{"season":"daily","title":"Extra"}"#)),
            (1, Write::Events("extra", ids("x", &[("x", 1), ("y", 2)]))),
            (1, Write::Close("extra")),
            (1, Write::Events("extra", ids("w", &[("x", 5)]))),
            (1, Write::Remove("extra", SeasonRef::Previous, "y")),
            (1, Write::Import("extra", "2026-10-01", vec![("i", 4), ("j", 8)])),
            (1, Write::Import("extra", "2026-10-01", vec![("k", 1)])),
            // The next day; the old season is in its grace, then closed.
            (24 * hour, Write::Events("daily", ids("e", &[("a", 1)]))),
            (
                1,
                Write::Board(
                    "daily",
                    if round % 2 == 0 {
                        r#"{"season":"daily","grace":"1 hour","goal":2}"#
                    } else {
                        DAILY
                    },
                ),
            ),
            (1, Write::Key("other", 2)),
            (1, Write::DropKey("other")),
            (1, Write::Delete("extra")),
        ]);
        if round == 0 {
            writes.push((13 * hour + 30 * minute, Write::Late("daily", "b", 2, Millis(hour))));
            writes.push((hour, Write::Remove("daily", SeasonRef::Previous, "b")));
        }
    }
    writes.into_iter().map(|(pass, write)| Step { pass: Millis(pass), write }).collect()
}

/// All that an engine shows, as text.
pub(super) async fn everything(engine: &dyn Engine) -> String {
    let mut text = String::new();
    for info in engine.boards().await.unwrap() {
        let (id, season) = (&info.id, &info.season);
        writeln!(text, "{id} {} {season:?} {}", info.definition.to_json(), info.players).unwrap();
        let query = SeasonsQuery { year: None, before: None, limit: 1000 };
        for season in engine.seasons(id, &query).await.unwrap().seasons {
            let (span, state) = (&season.span, season.state);
            let (players, met) = (season.players, season.successes);
            writeln!(text, "  {span:?} {state:?} {players} {:?} {met:?}", season.mean).unwrap();
            let which = SeasonRef::Id(span.id.clone());
            let query = PageQuery { season: which.clone(), limit: 1000, ..PageQuery::default() };
            for row in engine.page(id, &query).await.unwrap().rows {
                let entry = engine.entry(id, &which, &row.player, None).await.unwrap();
                assert_eq!((entry.row.rank, entry.row.score), (row.rank, row.score));
                let name = row.profile.as_ref().and_then(|profile| profile.name.as_deref());
                let (rank, score, at) = (row.rank.rank, row.score, row.at);
                let (who, met, updated) = (&row.player, row.success, entry.updated_at);
                writeln!(text, "    {rank} {who} {score} {at} {updated} {met:?} {name:?}").unwrap();
            }
        }
    }
    writeln!(text, "{:?}", engine.keys().await.unwrap()).unwrap();
    writeln!(text, "{:?}", engine.key(&KeyHash([2; 32])).await.unwrap()).unwrap();
    let named = engine.players_by_name(&NameQuery::StartsWith("z".into()), 10).await.unwrap();
    writeln!(text, "{named:?}").unwrap();
    text
}
