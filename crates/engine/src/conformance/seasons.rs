//! Seasons that come and go by the clock.

use standings_core::rule::Rejection;

use super::{
    World,
    recall::{all_seasons, on},
    world::{
        by_id, event, expect, fails, id, ms, offset, row, score, season_id, submission,
        submission_at,
    },
};
use crate::{EngineError, PlayerSeasonsQuery, SeasonState, SeasonsQuery, StandingRef};

/// The one that contains the clock, from its beginning.
pub async fn a_board_begins_with_the_season_of_the_present(world: &mut World) {
    let cases = [
        ("monthly", "2026-11", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        ("weekly", "2026-W46", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z"),
        ("daily", "2026-11-15", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z"),
        ("yearly", "2026", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("0 9 * * *", "2026-11-15T09:00:00Z", "2026-11-15T09:00:00Z", "2026-11-16T09:00:00Z"),
    ];
    for (number, (schedule, id, starts_at, ends_at)) in (0..).zip(cases) {
        let json = format!(r#"{{"season":"{schedule}"}}"#);
        let board = world.board(&format!("b{number}"), &json).await;
        let season = world.engine().board(&board).await.unwrap().board.season;
        assert_eq!(season.id.as_str(), id);
        assert_eq!((season.starts_at, season.ends_at), (ms(starts_at), ms(ends_at)));
        let seasons = world.seasons(&board).await;
        assert_eq!((seasons.len(), seasons[0].state), (1, SeasonState::Open));
        // What happened before the board was made, in the same season, counts.
        let early = submission_at("a", 1, ms(starts_at));
        assert_eq!(world.decide(&board, early).await.unwrap().season.as_str(), id);
    }
}

/// Ranks that were announced do not change with the board.
pub async fn what_is_final_keeps_the_tie_rule_that_it_had(world: &mut World) {
    let shared = [("a", 1, 5), ("b", 1, 5), ("c", 3, 1)];
    let apart = [("a", 1, 5), ("b", 2, 5), ("c", 3, 1)];
    let board = world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    world.play(&board, &[("a", 5), ("b", 5), ("c", 1)]).await;
    world.take(&board).await;
    world.quiesce().await;
    world.turn_to("2026-11-16T12:00:00Z").await;
    world.board("b", r#"{"season":"daily","grace":"0 seconds","ties":"earliest"}"#).await;
    world.play(&board, &[("a", 5), ("b", 5), ("c", 1)]).await;
    for _ in 0..2 {
        assert_eq!(world.top(&board).await, expect(&apart));
        for past in [by_id("2026-11-15"), on("2026-11-15")] {
            assert_eq!(world.top_of(&board, past.clone()).await, expect(&shared), "{past:?}");
            let entry = world.engine().entry(&board, &past, &id("b"), Some(1)).await.unwrap();
            assert_eq!((entry.row.rank.get(), entry.around.len()), (1, 3));
            assert_eq!(entry.around[1].rank.get(), 1);
        }
        assert_eq!(world.seasons_of(&board, "b").await, ["2026-11-16 5 2", "2026-11-15 5 1"]);
        world.quiesce().await;
        world.restart().await;
    }
    // And the other way round, also in a file that is written anew for want of a player.
    world.turn_to("2026-11-17T12:00:00Z").await;
    world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    world.engine().erase_player(&id("a")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.top_of(&board, by_id("2026-11-16")).await, expect(&apart[1..]));
        world.quiesce().await;
        world.restart().await;
    }
}

/// At the first millisecond of December the board is empty, and November is the previous season.
pub async fn a_season_rolls_over_at_the_boundary(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.play(&board, &[("a", 2), ("b", 1)]).await;
    world.turn_to("2026-11-30T23:59:59.999Z").await;
    assert_eq!(world.submit(&board, "b", 3).await.season.as_str(), "2026-11");
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
    world.turn_to("2026-12-01T00:00:00Z").await;
    assert_eq!(world.top(&board).await, []);
    assert_eq!(world.season_ids(&board).await, ["2026-12", "2026-11"]);
    let first = world.submit(&board, "a", 7).await;
    assert_eq!((first.score, first.season.as_str()), (score(7), "2026-12"));
    let november = expect(&[("b", 1, 4), ("a", 2, 2)]);
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, november);
    assert_eq!(world.top_of(&board, by_id("2026-11")).await, november);
    assert_eq!(world.top_of(&board, by_id("2026-12")).await, expect(&[("a", 1, 7)]));
}

/// Not to that of its arrival.
pub async fn an_event_belongs_to_the_season_of_its_own_time(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"1 hour"}"#).await;
    world.turn_to("2026-11-16T00:30:00Z").await;
    let times = [
        ("2026-11-15T23:59:59.999Z", "2026-11-15"),
        ("2026-11-16T00:00:00Z", "2026-11-16"),
        ("2026-11-15T00:00:00Z", "2026-11-15"),
    ];
    for (at, season) in times {
        let receipt = world.decide(&board, submission_at("a", 1, ms(at))).await.unwrap();
        assert_eq!((receipt.season.as_str(), receipt.at.max(ms(at))), (season, receipt.at));
    }
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 1)]));
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, expect(&[("a", 1, 2)]));
}

/// A sender's clock may be fast; the season is not there to be read before its time.
pub async fn an_event_ahead_of_the_boundary_is_in_the_next_season(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.turn_to("2026-11-30T23:59:00Z").await;
    let ahead = submission_at("a", 5, ms("2026-12-01T00:00:00Z"));
    let receipt = world.decide(&board, ahead).await.unwrap();
    assert_eq!((receipt.season.as_str(), receipt.score), ("2026-12", score(5)));
    assert_eq!(world.submit(&board, "a", 1).await.season.as_str(), "2026-11");
    fails!(
        world.engine().entry(&board, &by_id("2026-12"), &super::world::id("a"), None).await,
        EngineError::UnknownSeason { .. }
    );
    assert_eq!(world.season_ids(&board).await, ["2026-11"]);
    world.restart().await;
    world.turn_to("2026-12-01T00:00:00Z").await;
    assert_eq!(world.top(&board).await, expect(&[("a", 1, 5)]));
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, expect(&[("a", 1, 1)]));
}

/// State `closing`, ranks not final yet.
pub async fn a_late_event_counts_during_the_grace(world: &mut World) {
    let board = world.board("b", r#"{"grace":"10 minutes"}"#).await;
    world.play(&board, &[("a", 1), ("b", 2)]).await;
    world.turn_to("2026-12-01T00:09:59.999Z").await;
    let states: Vec<_> = world.seasons(&board).await.iter().map(|season| season.state).collect();
    assert_eq!(states, [SeasonState::Open, SeasonState::Closing]);
    let late = submission_at("a", 5, ms("2026-11-30T23:00:00Z"));
    let receipt = world.decide(&board, late).await.unwrap();
    assert_eq!((receipt.season.as_str(), receipt.score), ("2026-11", score(6)));
    let november = expect(&[("a", 1, 6), ("b", 2, 2)]);
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, november);
}

/// To the millisecond, also for a repeat of an id that was never used.
pub async fn after_the_grace_a_season_is_closed(world: &mut World) {
    let board = world.board("b", r#"{"grace":"10 minutes"}"#).await;
    world.submit(&board, "a", 1).await;
    world.turn_to("2026-12-01T00:10:00Z").await;
    let states: Vec<_> = world.seasons(&board).await.iter().map(|season| season.state).collect();
    assert_eq!(states, [SeasonState::Open, SeasonState::Closed]);
    let mut late = event("a", 5, "late");
    late.at = Some(ms("2026-11-30T23:59:59.999Z"));
    assert_eq!(world.decide(&board, late.clone()).await, Err(Rejection::SeasonClosed));
    assert_eq!(world.top_of(&board, StandingRef::PREVIOUS).await, expect(&[("a", 1, 1)]));
    // The id is still free.
    late.at = None;
    assert!(!world.decide(&board, late).await.unwrap().duplicate);
}

/// A board has no past.
pub async fn a_season_before_the_first_takes_nothing(world: &mut World) {
    let board = world.board("b", r#"{"grace":"31 days"}"#).await;
    let past = submission_at("a", 1, ms("2026-10-31T23:59:59.999Z"));
    assert_eq!(world.decide(&board, past).await, Err(Rejection::SeasonClosed));
    fails!(
        world
            .engine()
            .page(&board, &offset(0, 1))
            .await
            .map(|page| assert!(page.rows.is_empty()))
            .and(world.engine().distribution(&board, &StandingRef::PREVIOUS).await.map(|_| ())),
        EngineError::UnknownSeason { .. }
    );
}

/// Midnight is where the players are.
pub async fn boundaries_are_in_the_zone_of_the_board(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","time_zone":"Asia/Seoul"}"#).await;
    world.turn_to("2026-11-15T14:59:59.999Z").await;
    assert_eq!(world.submit(&board, "a", 1).await.season.as_str(), "2026-11-15");
    world.turn_to("2026-11-15T15:00:00Z").await;
    assert_eq!(world.submit(&board, "a", 1).await.season.as_str(), "2026-11-16");
}

/// Even empty ones, with the events of the time before where they belong.
pub async fn every_season_exists_after_a_long_downtime(world: &mut World) {
    let board = world.board("b", r#"{"season":"daily","grace":"0 seconds"}"#).await;
    world.submit(&board, "a", 3).await;
    world.clock().set(ms("2026-12-25T12:00:00Z"));
    world.restart().await;
    // Right from the first answer, also without waiting.
    assert_eq!(world.engine().board(&board).await.unwrap().board.season.id.as_str(), "2026-12-25");
    assert_eq!(world.top(&board).await, []);
    world.quiesce().await;
    let seasons = world.seasons(&board).await;
    assert_eq!(seasons.len(), 41);
    for pair in seasons.windows(2) {
        assert_eq!(pair[1].span.ends_at, pair[0].span.starts_at);
        assert_eq!(
            (pair[1].state, pair[1].players),
            (SeasonState::Closed, u64::from(pair[1].span.id == season_id("2026-11-15")))
        );
    }
    assert_eq!(world.top_of(&board, by_id("2026-11-15")).await, expect(&[("a", 1, 3)]));
    assert_eq!(world.top_of(&board, by_id("2026-12-24")).await, []);
    let late = submission_at("a", 1, ms("2026-12-24T23:59:59Z"));
    assert_eq!(world.decide(&board, late).await, Err(Rejection::SeasonClosed));
    world.decide(&board, submission("a", 1)).await.unwrap();
}

/// Newest first; `year` goes by the id.
pub async fn seasons_are_listed_by_year_and_page(world: &mut World) {
    let board = world.board("b", r#"{"goal":2}"#).await;
    world.play(&board, &[("a", 1), ("b", 2), ("c", 6)]).await;
    world.turn_to("2027-02-10T00:00:00Z").await;
    let list = async |year, before: Option<&str>, limit| {
        let query = SeasonsQuery { year, before: before.map(season_id), limit };
        let page = world.engine().seasons(&board, &query).await.unwrap();
        let ids: Vec<_> = page.seasons.iter().map(|s| s.span.id.to_string()).collect();
        (ids.join(" "), page.more)
    };
    assert_eq!(list(None, None, 10).await, ("2027-02 2027-01 2026-12 2026-11".into(), false));
    assert_eq!(list(None, None, 2).await, ("2027-02 2027-01".into(), true));
    assert_eq!(list(None, Some("2027-01"), 2).await, ("2026-12 2026-11".into(), false));
    assert_eq!(list(Some(2026), None, 10).await, ("2026-12 2026-11".into(), false));
    assert_eq!(list(Some(2026), Some("2026-12"), 1).await, ("2026-11".into(), false));
    assert_eq!(list(Some(2025), None, 10).await, (String::new(), false));
    let november = world.seasons(&board).await.pop().unwrap();
    assert_eq!((november.players, november.mean, november.successes), (3, Some(3.0), Some(2)));
    assert_eq!(november.span.ends_at, ms("2026-12-01T00:00:00Z"));
    let february = world.seasons(&board).await.remove(0);
    assert_eq!((february.players, february.mean, february.successes), (0, None, Some(0)));
}

/// A list goes on by order: the season that it goes on from may have gone meanwhile, or never been there.
pub async fn seasons_are_listed_from_one_that_is_not_there(world: &mut World) {
    let board = world.board("b", "{}").await;
    world.engine().close_season(&board, None).await.unwrap();
    world.import(&board, "2026-06", vec![row("a", 1, None)]).await.unwrap();
    world.submit(&board, "a", 1).await;
    let query = |before: &str| SeasonsQuery { before: Some(season_id(before)), ..all() };
    let of_player =
        |before: &str| PlayerSeasonsQuery { before: Some(season_id(before)), ..all_seasons() };
    for (before, seasons, of_a) in [
        ("2027-03", "2026-11.2 2026-11 2026-06", "2026-11.2 2026-06"),
        ("2026-11.3", "2026-11.2 2026-11 2026-06", "2026-11.2 2026-06"),
        ("2026-11.2", "2026-11 2026-06", "2026-06"),
        ("2026-08.2", "2026-06", "2026-06"),
        ("2026-08", "2026-06", "2026-06"),
        ("2026-06", "", ""),
        ("2025-12", "", ""),
    ] {
        let page = world.engine().seasons(&board, &query(before)).await.unwrap();
        let ids: Vec<_> = page.seasons.iter().map(|s| s.span.id.to_string()).collect();
        assert_eq!(ids.join(" "), seasons, "{before}");
        let query = of_player(before);
        let page = world.engine().player_seasons(&id("a"), &board, &query).await.unwrap();
        let ids: Vec<_> = page.seasons.iter().map(|s| s.span.id.to_string()).collect();
        assert_eq!(ids.join(" "), of_a, "{before}");
    }
    for other in ["2026-W46", "2026", "all", "2026-11-01"] {
        let list = world.engine().seasons(&board, &query(other)).await;
        fails!(list, EngineError::UnknownSeason { season, .. } if season == other);
        let list = world.engine().player_seasons(&id("a"), &board, &of_player(other)).await;
        fails!(list, EngineError::UnknownSeason { season, .. } if season == other);
    }
}

fn all() -> SeasonsQuery {
    SeasonsQuery { year: None, before: None, limit: 100 }
}

/// It is called `all`, and time does not end it.
pub async fn a_board_without_seasons_has_one(world: &mut World) {
    let board = world.forever().await;
    world.submit(&board, "a", 1).await;
    world.turn_to("2031-01-01T00:00:00Z").await;
    assert_eq!(world.submit(&board, "a", 1).await.score, score(2));
    let old = submission_at("a", 1, ms("1999-01-01T00:00:00Z"));
    assert_eq!(world.decide(&board, old).await.unwrap().season.as_str(), "all");
    assert_eq!(world.season_ids(&board).await, ["all"]);
    fails!(
        world.engine().distribution(&board, &StandingRef::PREVIOUS).await,
        EngineError::UnknownSeason { .. }
    );
}
