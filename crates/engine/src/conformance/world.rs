//! What the behaviours are written with.

use std::{future::Future, sync::Arc, time::Duration};

use standings_core::{
    Board, BoardId, EventId, Millis, Name, PlayerId, Score, SeasonId,
    rule::{Rejection, Submission},
};

use super::Fixture;
use crate::{
    Clock as _, Engine, EngineError, ManualClock, PageQuery, PlayerEntry, Receipt, Result, Row,
    ScoreRow, SeasonInfo, SeasonRef, SeasonState, SeasonsQuery, StandingRef, Start,
};

/// How long an engine may take to follow the clock.
const PATIENCE: Duration = Duration::from_secs(20);

/// An engine under test, with short words for what tests do with it.
pub struct World {
    fixture: Box<dyn Fixture>,
}

/// A row as it is compared: who, rank, score.
pub(super) type Line = (String, u64, i64);

impl World {
    /// What the clock shows at first: a Sunday in the middle of a month.
    pub fn start() -> Millis {
        ms("2026-11-15T10:00:00Z")
    }

    /// A world around a fixture.
    pub fn new(fixture: Box<dyn Fixture>) -> Self {
        Self { fixture }
    }

    /// The engine as it is open now.
    pub fn engine(&self) -> Arc<dyn Engine> {
        self.fixture.engine()
    }

    pub(crate) fn clock(&self) -> Arc<ManualClock> {
        self.fixture.clock()
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock().now()
    }

    pub(crate) async fn restart(&mut self) {
        self.fixture.restart().await;
    }

    /// Turns the clock and waits until seasons have followed, by themselves.
    pub(crate) async fn turn_to(&self, time: &str) {
        self.clock().set(ms(time));
        self.settle().await;
    }

    pub(crate) async fn pass(&self, span: Millis) {
        self.clock().advance(span);
        self.settle().await;
    }

    /// Waits until every season is in the state that the clock asks for.
    pub(crate) async fn settle(&self) {
        self.until("seasons follow the clock", async || self.is_settled().await).await;
    }

    pub(crate) async fn is_settled(&self) -> bool {
        let now = self.now();
        for board in self.engine().boards().await.unwrap() {
            let grace = board.definition.grace();
            let due = |season: &SeasonInfo| now >= season.span.ends_at.plus(grace);
            let late = |season: &SeasonInfo| season.state != SeasonState::Closed && due(season);
            if !board.season.contains(now) || self.seasons(&board.id).await.iter().any(late) {
                return false;
            }
        }
        true
    }

    /// Waits until a condition holds.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let started = std::time::Instant::now();
        while !holds().await {
            assert!(started.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Creates or changes a board.
    pub(crate) async fn board(&self, id: &str, definition: &str) -> BoardId {
        let board = BoardId::new(id).unwrap();
        self.engine().put_board(&board, definition_of(definition)).await.unwrap();
        board
    }

    /// A board of one season.
    pub(crate) async fn forever(&self) -> BoardId {
        self.board("forever", r#"{"season":"never"}"#).await
    }

    pub(crate) async fn decide(
        &self,
        board: &BoardId,
        submission: Submission,
    ) -> Result<Receipt, Rejection> {
        self.engine().submit(board, vec![submission]).await.unwrap().remove(0)
    }

    /// Submits points that must be accepted.
    pub(crate) async fn submit(&self, board: &BoardId, player: &str, points: i64) -> Receipt {
        self.decide(board, submission(player, points)).await.unwrap()
    }

    /// Submits points of each player, in order, a second apart.
    pub(crate) async fn play(&self, board: &BoardId, points: &[(&str, i64)]) {
        for (player, points) in points {
            self.submit(board, player, *points).await;
            self.clock().advance(Millis(1000));
        }
    }

    pub(crate) async fn rows(&self, board: &BoardId, query: PageQuery) -> Vec<Row> {
        self.engine().page(board, &query).await.unwrap().rows
    }

    /// The top of the current season.
    pub(crate) async fn top(&self, board: &BoardId) -> Vec<Line> {
        self.top_of(board, StandingRef::CURRENT).await
    }

    pub(crate) async fn top_of(&self, board: &BoardId, season: StandingRef) -> Vec<Line> {
        lines(
            &self
                .rows(board, PageQuery { standing: season, limit: 1000, ..PageQuery::default() })
                .await,
        )
    }

    pub(crate) async fn entry(&self, board: &BoardId, player: &str) -> PlayerEntry {
        self.engine().entry(board, &StandingRef::CURRENT, &id(player), None).await.unwrap()
    }

    /// All seasons of a board, newest first.
    pub(crate) async fn seasons(&self, board: &BoardId) -> Vec<SeasonInfo> {
        let query = SeasonsQuery { year: None, before: None, limit: 10_000 };
        self.engine().seasons(board, &query).await.unwrap().seasons
    }

    pub(crate) async fn season_ids(&self, board: &BoardId) -> Vec<String> {
        self.seasons(board).await.iter().map(|season| season.span.id.to_string()).collect()
    }

    pub(crate) async fn import(
        &self,
        board: &BoardId,
        season: &str,
        rows: Vec<ScoreRow>,
    ) -> Result<u64> {
        let mut import = self.engine().import_season(board, &season_id(season)).await?;
        import.rows(rows).await?;
        import.finish().await
    }
}

pub(crate) fn ms(time: &str) -> Millis {
    Millis::parse(time).unwrap()
}

pub(crate) fn id(player: &str) -> PlayerId {
    PlayerId::new(player).unwrap()
}

pub(crate) fn name(name: &str) -> Name {
    Name::new(name).unwrap()
}

pub(crate) fn score(value: i64) -> Score {
    Score::new(value).unwrap()
}

pub(crate) fn season_id(text: &str) -> SeasonId {
    SeasonId::parse(text).unwrap()
}

pub(crate) fn by_id(season: &str) -> StandingRef {
    StandingRef::Season(SeasonRef::Id(season_id(season)))
}

pub(crate) fn definition_of(json: &str) -> Board {
    Board::from_json(json).unwrap()
}

pub(crate) fn submission(player: &str, points: i64) -> Submission {
    Submission {
        player: id(player),
        points: score(points),
        event_id: None,
        at: None,
        user_name: None,
        updated_before: None,
    }
}

pub(crate) fn submission_at(player: &str, points: i64, at: Millis) -> Submission {
    Submission { at: Some(at), ..submission(player, points) }
}

/// A submission with an event id.
pub(crate) fn event(player: &str, points: i64, event: &str) -> Submission {
    let event_id = Some(EventId::new(event).unwrap());
    Submission { event_id, ..submission(player, points) }
}

pub(crate) fn row(player: &str, points: i64, at: Option<Millis>) -> ScoreRow {
    ScoreRow { player: id(player), score: score(points), at, user_name: None, official_rank: None }
}

/// What is compared of rows. Every rank must be exact, as it is in a season this small on any engine.
pub(crate) fn lines(rows: &[Row]) -> Vec<Line> {
    rows.iter()
        .map(|row| {
            assert_eq!(row.rank.error_bound, None, "{row:?}");
            (row.player.to_string(), row.rank.rank.get(), row.score.get())
        })
        .collect()
}

/// The lines to compare with.
pub(crate) fn expect(lines: &[(&str, u64, i64)]) -> Vec<Line> {
    lines.iter().map(|(player, rank, score)| ((*player).to_owned(), *rank, *score)).collect()
}

pub(crate) fn offset(offset: u64, limit: usize) -> PageQuery {
    PageQuery { start: Start::Offset(offset), limit, ..PageQuery::default() }
}

/// The rank of a receipt, which must be exact.
pub(crate) fn rank(receipt: &Receipt) -> Option<u64> {
    receipt.rank.map(|rank| {
        assert_eq!(rank.error_bound, None);
        rank.rank.get()
    })
}

pub(crate) fn previous_rank(receipt: &Receipt) -> Option<u64> {
    receipt.previous_rank.map(|rank| rank.rank.get())
}

/// Asserts that a call failed as a pattern says.
macro_rules! fails {
    ($call:expr, $pattern:pat $(if $guard:expr)?) => {
        match $call {
            Err($pattern) $(if $guard)? => {}
            Err(other) => panic!("another error than {}: {other:?}", stringify!($pattern)),
            Ok(_) => panic!("no error where {} was due", stringify!($pattern)),
        }
    };
}
pub(crate) use fails;

/// Whether an error says that the store could not take it.
pub(crate) fn is_unavailable(error: &EngineError) -> bool {
    matches!(error, EngineError::Unavailable { .. })
}
