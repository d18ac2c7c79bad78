//! Seasons that are over: closed by hand, read, corrected.

use standings_core::{BoardId, Millis, Profile, rule::Rejection};

use super::{
    World,
    world::{
        by_id, expect, fails, id, lines, ms, name, score, season_id, submission, submission_at,
    },
};
use crate::{EngineError, Filter, PageQuery, SeasonRef, SeasonState, StandingRef, Start};

async fn close(world: &World, board: &BoardId) -> (String, String) {
    let (closed, open) = world.engine().close_season(board, None).await.unwrap();
    (closed.to_string(), open.to_string())
}

/// Without grace; what is left of the time is a new season.
pub async fn a_manual_close_ends_a_season_at_once(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.play(&board, &[("a", 1), ("b", 2)]).await;
    let then = world.now();
    assert_eq!(close(world, &board).await, ("2026-11".into(), "2026-11.2".into()));
    assert_eq!(world.top(&board).await, []);
    let late = submission_at("a", 1, Millis(then.0 - 1));
    assert_eq!(world.decide(&board, late).await, Err(Rejection::SeasonClosed));
    let next = world.submit(&board, "a", 9).await;
    assert_eq!((next.season.as_str(), next.previous_score), ("2026-11.2", None));
    assert_eq!(
        world.top_of(&board, StandingRef::PREVIOUS).await,
        expect(&[("b", 1, 2), ("a", 2, 1)])
    );
    let seasons = world.seasons(&board).await;
    let shown: Vec<_> = seasons
        .iter()
        .map(|s| (s.span.id.as_str(), s.span.starts_at, s.span.ends_at, s.state, s.players))
        .collect();
    let (start, end) = (ms("2026-11-01T00:00:00Z"), ms("2026-12-01T00:00:00Z"));
    let expected = [
        ("2026-11.2", then, end, SeasonState::Open, 1),
        ("2026-11", start, then, SeasonState::Closed, 2),
    ];
    assert_eq!(shown, expected);
    // A board without seasons can start anew by hand, too.
    let forever = world.forever().await;
    world.submit(&forever, "a", 1).await;
    assert_eq!(close(world, &forever).await, ("all".into(), "all.2".into()));
    assert_eq!(world.submit(&forever, "a", 1).await.score, score(1));
}

/// An answer may be lost, and the call is sent again: it answers the same and closes nothing else.
pub async fn a_season_that_is_named_is_closed_once(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.submit(&board, "a", 1).await;
    let close = async |world: &World, id: &str| {
        let which = season_id(id);
        let (closed, next) = world.engine().close_season(&board, Some(&which)).await?;
        crate::Result::Ok((closed.to_string(), next.to_string()))
    };
    for _ in 0..2 {
        let answer = close(world, "2026-11").await.unwrap();
        assert_eq!(answer, ("2026-11".to_owned(), "2026-11.2".to_owned()));
        world.restart().await;
    }
    assert_eq!(world.season_ids(&board).await, ["2026-11.2", "2026-11"]);
    assert_eq!(close(world, "2026-11.2").await.unwrap().1, "2026-11.3");
    assert_eq!(close(world, "2026-11").await.unwrap().1, "2026-11.2", "what followed it");
    for unknown in ["2026-12", "2026-10", "2026-11.4", "all"] {
        fails!(close(world, unknown).await, EngineError::UnknownSeason { .. });
    }
    assert_eq!(world.season_ids(&board).await, ["2026-11.3", "2026-11.2", "2026-11"]);
}

/// Its grace ends, and the current season goes on.
pub async fn a_season_in_its_grace_may_be_closed_by_name(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"1 hour"}"#).await;
    world.submit(&board, "a", 1).await;
    world.turn_to("2026-11-16T00:10:00Z").await;
    let late = || submission_at("a", 1, ms("2026-11-15T23:00:00Z"));
    world.decide(&board, late()).await.unwrap();
    for _ in 0..2 {
        let day = season_id("2026-11-15");
        let (closed, next) = world.engine().close_season(&board, Some(&day)).await.unwrap();
        assert_eq!((closed.as_str(), next.as_str()), ("2026-11-15", "2026-11-16"));
    }
    assert_eq!(world.decide(&board, late()).await, Err(Rejection::SeasonClosed));
    assert_eq!(world.submit(&board, "a", 1).await.season.as_str(), "2026-11-16");
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, expect(&[("a", 1, 2)]));
    assert_eq!(world.season_ids(&board).await, ["2026-11-16", "2026-11-15"]);
}

/// A finger that slips must not leave the board in the past.
pub async fn a_season_may_be_closed_twice_at_one_instant(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.submit(&board, "a", 1).await;
    assert_eq!(close(world, &board).await, ("2026-11".into(), "2026-11.2".into()));
    assert_eq!(close(world, &board).await, ("2026-11.2".into(), "2026-11.3".into()));
    for _ in 0..2 {
        assert_eq!(world.season_ids(&board).await, ["2026-11.3", "2026-11.2", "2026-11"]);
        let receipt = world.decide(&board, submission("a", 5)).await.unwrap();
        assert_eq!(receipt.season.as_str(), "2026-11.3");
        assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, []);
        world.restart().await;
    }
    // Also at the very instant at which a season begins.
    world.turn_to("2026-12-01T00:00:00Z").await;
    assert_eq!(close(world, &board).await, ("2026-12".into(), "2026-12.2".into()));
    assert_eq!(world.submit(&board, "a", 5).await.season.as_str(), "2026-12.2");
    assert_eq!(world.top_of(&board, by_id("2026-12")).await, []);
}

/// Parts end where the season would have.
pub async fn a_closed_part_is_followed_by_the_next_season(world: &mut World) {
    let board = world.board("b", "{}").await;
    // Within the last minute the next season exists already.
    world.turn_to("2026-11-30T23:59:30Z").await;
    let ahead = submission_at("a", 4, ms("2026-12-01T00:00:10Z"));
    assert_eq!(world.decide(&board, ahead).await.unwrap().season.as_str(), "2026-12");
    close(world, &board).await;
    assert_eq!(world.submit(&board, "a", 2).await.season.as_str(), "2026-11.2");
    world.turn_to("2026-12-01T00:00:00Z").await;
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 4)]));
    world.turn_to("2026-12-01T00:05:00Z").await;
    assert_eq!(world.season_ids(&board).await, ["2026-12", "2026-11.2", "2026-11"]);
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, expect(&[("a", 1, 2)]));
    assert_eq!(world.submit(&board, "a", 2).await.score, score(6));
}

/// Everything that can be asked of a standing, in one text.
pub(super) async fn ask(world: &World, board: &BoardId, season: StandingRef) -> String {
    let engine = world.engine();
    let mut shown = Vec::new();
    for (start, min) in [(Start::Offset(0), None), (Start::Offset(7), Some(score(20)))] {
        let filter = Filter { min, max: Some(score(55)), success: None };
        let query = PageQuery { standing: season.clone(), filter, start, limit: 20 };
        let page = engine.page(board, &query).await.unwrap();
        shown.push((page.players, page.more, lines(&page.rows)));
        let last = &page.rows[4];
        let place = crate::Place { score: last.score, at: last.at, player: last.player.clone() };
        let start = Start::After(place);
        let query = PageQuery { start, limit: 5, ..query };
        shown.push((0, false, lines(&engine.page(board, &query).await.unwrap().rows)));
    }
    let entry = engine.entry(board, &season, &id("p20"), Some(3)).await.unwrap();
    shown.push((entry.percentile.to_bits(), entry.row.success == Some(true), lines(&entry.around)));
    let place = engine.place_of(board, &season, score(33), 2).await.unwrap();
    shown.push((place.rank.get(), false, lines(&place.around)));
    let asked = ["p03", "nobody", "p59", "p00"].map(id);
    let chosen = engine.rows_of(board, &season, &asked).await.unwrap();
    shown.push((chosen.missing.len() as u64, true, lines(&chosen.rows)));
    let spread = engine.distribution(board, &season).await.unwrap();
    let deciles: Vec<_> = spread.deciles.iter().map(|d| d.score).collect();
    let bins: Vec<_> = spread.histogram.iter().map(|b| (b.from, b.to, b.players)).collect();
    format!("{shown:?} {:?} {:?} {:?} {deciles:?} {bins:?}", spread.min, spread.max, spread.mean)
}

/// Whatever can be asked of an open one.
pub async fn a_closed_season_answers_every_question(world: &mut World) {
    for order in ["desc", "asc"] {
        let board = world.board(order, &format!(r#"{{"order":"{order}","goal":50}}"#)).await;
        for number in 0..60 {
            world.submit(&board, &format!("p{number:02}"), number * 7 % 61).await;
        }
        let mut answers = Vec::new();
        answers.push(ask(world, &board, StandingRef::CURRENT).await);
        close(world, &board).await;
        answers.push(ask(world, &board, StandingRef::PREVIOUS).await);
        world.restart().await;
        answers.push(ask(world, &board, by_id("2026-11")).await);
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0], answers[2]);
        let nobody =
            world.engine().entry(&board, &StandingRef::PREVIOUS, &id("nobody"), None).await;
        fails!(nobody, EngineError::UnknownPlayer(_));
    }
}

/// A goal that is raised later takes back no success.
pub async fn a_closed_season_keeps_its_goal(world: &mut World) {
    let board = world.board("b", r#"{"goal":5}"#).await;
    world.play(&board, &[("a", 4), ("b", 5)]).await;
    close(world, &board).await;
    world.board("b", r#"{"goal":100}"#).await;
    world.submit(&board, "a", 50).await;
    for _ in 0..2 {
        let seasons = world.seasons(&board).await;
        assert_eq!(seasons.iter().map(|s| s.successes).collect::<Vec<_>>(), [Some(0), Some(1)]);
        let season = StandingRef::PREVIOUS;
        let filter = Filter { success: Some(true), ..Filter::default() };
        let query = PageQuery { standing: season, filter, limit: 10, ..PageQuery::default() };
        assert_eq!(lines(&world.rows(&board, query).await), expect(&[("b", 1, 5)]));
        world.restart().await;
    }
}

/// The row is of that time, the picture of today.
pub async fn a_closed_season_keeps_the_names_of_its_time(world: &mut World) {
    let board = world.board("b", r#"{"grace":"0 seconds"}"#).await;
    let named = |text: &str| Profile { name: Some(name(text)), ..Profile::default() };
    world.engine().put_player(&id("a"), named("Then")).await.unwrap();
    world.submit(&board, "a", 1).await;
    world.turn_to("2026-12-01T00:00:00Z").await;
    // Ranks are final when the season is closed; names are once its rows have been written.
    world.quiesce().await;
    world.engine().put_player(&id("a"), named("Now")).await.unwrap();
    world.submit(&board, "a", 1).await;
    for _ in 0..2 {
        let shown = async |season: StandingRef| {
            let entry = world.engine().entry(&board, &season, &id("a"), Some(1)).await.unwrap();
            assert_eq!(entry.around[0].profile, entry.row.profile);
            entry.row.profile.as_ref().and_then(|profile| profile.name.clone())
        };
        assert_eq!(shown(StandingRef::PREVIOUS).await, Some(name("Then")));
        assert_eq!(shown(StandingRef::CURRENT).await, Some(name("Now")));
        world.restart().await;
    }
}

/// Ranks close up there as well, and others keep their places.
pub async fn a_player_can_be_taken_off_a_closed_season(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.play(&board, &[("a", 3), ("b", 2), ("c", 2), ("d", 1)]).await;
    close(world, &board).await;
    world.submit(&board, "a", 7).await;
    let season = by_id("2026-11");
    let remove =
        async |player| world.engine().remove_entry(&board, &SeasonRef::Previous, &id(player)).await;
    remove("a").await.unwrap();
    fails!(remove("a").await, EngineError::UnknownPlayer(_));
    let left = expect(&[("b", 1, 2), ("c", 1, 2), ("d", 3, 1)]);
    assert_eq!(world.top_of(&board, season.clone()).await, left);
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 7)]));
    for player in ["b", "d", "c"] {
        world.engine().remove_entry(&board, &SeasonRef::Previous, &id(player)).await.unwrap();
    }
    assert_eq!(world.top_of(&board, season.clone()).await, []);
    world.restart().await;
    assert_eq!(world.top_of(&board, season.clone()).await, []);
    fails!(
        world.engine().entry(&board, &season, &id("d"), None).await,
        EngineError::UnknownPlayer(_)
    );
}

/// Several of them, each with its own rows.
pub async fn closed_seasons_survive_a_restart(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    for day in 15..25 {
        world.turn_to(&format!("2026-11-{day}T12:00:00Z")).await;
        world.play(&board, &[("a", day), ("b", 20)]).await;
    }
    for _ in 0..2 {
        world.restart().await;
        for day in 15..24 {
            let mut expected = vec![("a".to_owned(), day), ("b".to_owned(), 20)];
            expected.sort_by_key(|(_, points)| -points);
            let rows = world.top_of(&board, by_id(&format!("2026-11-{day}"))).await;
            let rows: Vec<_> =
                rows.into_iter().map(|(player, _, points)| (player, points)).collect();
            assert_eq!(rows, expected);
        }
    }
}
