//! A fixed sequence of writes of every kind, and everything that can be read after each.
//!
//! Run once in peace, it tells what the engine shows before and after each write. Run again and crashed anywhere, the
//! recovered engine must show one of the two.

use std::fmt::Write as _;

use standings_core::{KeyName, Millis, Name, Profile, Score, SeasonId};

use crate::Embedded;
use crate::tests::kit::{board, definition, event, player, points};
use standings_engine::{
    BoardsQuery, Engine, EventsQuery, KeyHash, NameQuery, PageQuery, PlayerSeasonsQuery,
    PlayerSnapshotsQuery, Result, Role, ScoreRow, SeasonRef, SeasonsQuery, SnapshotRef,
    SnapshotsQuery, StandingRef,
};

/// How many seasons the daily board keeps.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    Forever,
    One,
}

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
    Friends(&'static str, &'static [&'static str]),
    Snapshot(&'static str),
    Erase(&'static str),
    Key(&'static str, u8),
    DropKey(&'static str),
}

pub(super) fn row((id, value): &(&str, i64)) -> ScoreRow {
    ScoreRow {
        player: player(id),
        score: Score::new(*value).unwrap(),
        at: None,
        user_name: None,
        official_rank: None,
    }
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
                engine.set_scores(&board(id), None, rows).await.map(|_| ())
            }
            Self::Remove(id, season, who) => {
                engine.remove_entry(&board(id), season, &player(who)).await
            }
            Self::Close(id) => engine.close_season(&board(id), None).await.map(|_| ()),
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
            Self::Friends(who, friends) => {
                let friends = friends.iter().map(|friend| player(friend)).collect();
                engine.put_friends(&player(who), friends).await
            }
            Self::Snapshot(id) => engine.take_snapshot(&board(id)).await.map(|_| ()),
            Self::Erase(who) => engine.erase_player(&player(who)).await,
            Self::Key(name, byte) => {
                let (name, hash) = (KeyName::new(name).unwrap(), KeyHash([*byte; 32]));
                engine.put_key(&name, Role::Game, hash, true).await
            }
            Self::DropKey(name) => engine.delete_key(&KeyName::new(name).unwrap()).await,
        }
    }
}

/// The script: `rounds` days of a board that is reset daily, beside one that never is and has snapshots.
pub(super) fn script(rounds: u32, keep: Keep) -> Vec<Step> {
    const BEST: &str = r#"{"season":"never","rule":"best","order":"asc","ties":"earliest",
        "snapshots":{"at":"06:00","official":1,"keep":"2 days"}}"#;
    let [daily, easy] = match keep {
        Keep::Forever => [
            r#"{"season":"daily","grace":"1 hour","goal":5}"#,
            r#"{"season":"daily","grace":"1 hour","goal":2}"#,
        ],
        Keep::One => [
            r#"{"season":"daily","grace":"1 hour","goal":5,"keep":"1 season"}"#,
            r#"{"season":"daily","grace":"1 hour","goal":2,"keep":"1 season"}"#,
        ],
    };
    let mut writes = vec![
        (0, Write::Board("daily", daily)),
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
            (1, Write::Events("best", ids("q", &[("q", 60), ("z", 66)]))),
            (1, Write::Friends("a", if round % 2 == 0 { &["b", "q"] } else { &["q", "c", "z"] })),
            (1, Write::Friends("q", &["a"])),
            (1, Write::Set("daily", vec![("s", 6), ("t", 2), ("q", 5)])),
            (1, Write::Snapshot("best")),
            (1, Write::Rename("z", if round % 2 == 0 { "Zett" } else { "Zed" })),
            (1, Write::Remove("daily", SeasonRef::Current, "c")),
            (1, Write::Board("extra", r#"{"season":"daily","title":"Extra"}"#)),
            (1, Write::Events("extra", ids("x", &[("x", 1), ("y", 2), ("z", 3)]))),
            (1, Write::Close("extra")),
            (1, Write::Events("extra", ids("w", &[("x", 5)]))),
            (1, Write::Remove("extra", SeasonRef::Previous, "y")),
            (1, Write::Import("extra", "2026-10-01", vec![("i", 4), ("j", 8)])),
            (1, Write::Import("extra", "2026-10-01", vec![("k", 1)])),
            // An import waits for what is written before it: what has closed has its names by now.
            (1, Write::Rename("z", "Zoe")),
            // The next day; the old season is in its grace, then closed.
            (24 * hour, Write::Events("daily", ids("e", &[("a", 1)]))),
            (1, Write::Board("daily", if round % 2 == 0 { easy } else { daily })),
            (1, Write::Key("other", 2)),
            (1, Write::DropKey("other")),
            (1, Write::Snapshot("daily")),
            (1, Write::Erase("q")),
            (1, Write::Delete("extra")),
        ]);
        if round == 0 {
            writes.push((13 * hour + 30 * minute, Write::Late("daily", "b", 2, Millis(hour))));
            writes.push((hour, Write::Remove("daily", SeasonRef::Previous, "b")));
        }
    }
    writes.into_iter().map(|(pass, write)| Step { pass: Millis(pass), write }).collect()
}

/// Of whom everything is shown.
const PLAYERS: [&str; 4] = ["a", "b", "q", "z"];

/// Waits until everything is in its file or gone that is to be: seasons, snapshots, what is past its time.
pub(super) async fn settled(engine: &Embedded) {
    let started = std::time::Instant::now();
    loop {
        let waits = {
            let catalog = engine.shared.catalog.read();
            let mut slots = catalog.boards().flat_map(|board| board.timeline.slots());
            !catalog.pending_snapshots().is_empty()
                || slots.any(|s| s.expired || (s.closed.is_some() && !s.data.is_archived()))
        };
        if !waits {
            return;
        }
        assert!(started.elapsed().as_secs() < 30, "it is never written");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

/// All that an engine shows, as text.
pub(super) async fn everything(engine: &dyn Engine) -> String {
    let mut text = String::new();
    let query = BoardsQuery { after: None, limit: 1000 };
    for info in engine.boards(&query).await.unwrap().boards {
        let (id, season) = (&info.id, &info.season);
        let players = engine.board(id).await.unwrap().players;
        writeln!(text, "{id} {} {season:?} {players}", info.definition.to_json()).unwrap();
        let query = SeasonsQuery { year: None, before: None, limit: 1000 };
        for season in engine.seasons(id, &query).await.unwrap().seasons {
            let (span, state) = (&season.span, season.state);
            let (players, met) = (season.players, season.successes);
            writeln!(text, "  {span:?} {state:?} {players} {:?} {met:?}", season.mean).unwrap();
            let which = StandingRef::from(SeasonRef::Id(span.id.clone()));
            let query = PageQuery { standing: which.clone(), limit: 1000, ..PageQuery::default() };
            for row in engine.page(id, &query).await.unwrap().rows {
                let entry = engine.entry(id, &which, &row.player, None).await.unwrap();
                assert_eq!((entry.row.rank, entry.row.score), (row.rank, row.score));
                let name = row.profile.as_ref().and_then(|profile| profile.name.as_deref());
                let (rank, score, at) = (row.rank, row.score, row.at);
                let (who, met, updated) = (&row.player, row.success, entry.updated_at);
                writeln!(text, "    {rank} {who} {score} {at} {updated} {met:?} {name:?}").unwrap();
            }
        }
        let query = SnapshotsQuery { before: None, limit: 1000 };
        for snapshot in engine.snapshots(id, &query).await.unwrap().snapshots {
            writeln!(text, "  {snapshot:?}").unwrap();
            let standing = StandingRef::Snapshot(SnapshotRef::Date(snapshot.date));
            let query = PageQuery { standing, limit: 1000, ..PageQuery::default() };
            for row in engine.page(id, &query).await.unwrap().rows {
                let name = row.profile.as_ref().and_then(|profile| profile.name.as_deref());
                let (who, official) = (&row.player, row.official_rank);
                let (rank, score) = (row.rank, row.score);
                writeln!(text, "   {rank} {who} {score} {name:?} {official:?}").unwrap();
            }
        }
        for who in PLAYERS.map(player) {
            let (from, to) = (Millis::MIN, Millis::MAX);
            let query = PlayerSeasonsQuery { from, to, before: None, limit: 1000 };
            let seasons = engine.player_seasons(&who, id, &query).await;
            writeln!(text, "  {who} {seasons:?}").unwrap();
        }
    }
    for who in PLAYERS.map(player) {
        let query = EventsQuery { board: None, before: None, limit: 1000 };
        writeln!(text, "{who} {:?}", engine.player_events(&who, &query).await).unwrap();
        let query =
            PlayerSnapshotsQuery { board: None, from: None, to: None, before: None, limit: 1000 };
        writeln!(text, "{:?}", engine.player_snapshots(&who, &query).await).unwrap();
        writeln!(text, "{:?}", engine.friends(&who).await).unwrap();
    }
    writeln!(text, "{:?}", engine.keys().await.unwrap()).unwrap();
    writeln!(text, "{:?}", engine.key(&KeyHash([2; 32])).unwrap()).unwrap();
    let named = engine.players_by_name(&NameQuery::StartsWith("z".into()), 10).await.unwrap();
    writeln!(text, "{named:?}").unwrap();
    text
}
