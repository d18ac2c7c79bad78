//! What the behaviours are written with.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use standings_core::{
    Board, BoardId, EventId, Millis, Name, PlayerId, Rank, Score, SeasonId,
    rule::{Rejection, Submission},
};

use super::Fixture;
use crate::{
    BoardInfo, BoardsQuery, Capabilities, Clock as _, Engine, EngineError, Exactness, ManualClock,
    PageQuery, PlayerEntry, Receipt, Refused, Result, Row, ScoreRow, SeasonInfo, SeasonRef,
    SeasonsQuery, StandingRef, Start,
};

/// Servers under test, with short words for what tests do with them.
pub struct World {
    fixture: Box<dyn Fixture>,
    turn: AtomicUsize,
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
        Self { fixture, turn: AtomicUsize::new(0) }
    }

    /// One of the servers, in turn.
    pub fn engine(&self) -> Arc<dyn Engine> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.fixture.server(turn % self.fixture.servers())
    }

    /// What the engine promises.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.fixture.capabilities()
    }

    /// The servers, each once.
    pub(crate) fn servers(&self) -> Vec<Arc<dyn Engine>> {
        (0..self.fixture.servers()).map(|number| self.fixture.server(number)).collect()
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

    /// Turns the clock and has done what it brings.
    pub(crate) async fn turn_to(&self, time: &str) {
        self.clock().set(ms(time));
        self.quiesce().await;
    }

    pub(crate) async fn pass(&self, span: Millis) {
        self.clock().advance(span);
        self.quiesce().await;
    }

    /// Has done whatever is due.
    pub(crate) async fn quiesce(&self) {
        self.fixture.quiesce().await;
    }

    /// Waits for as long as another server may go by what has been deleted.
    pub(crate) async fn elsewhere(&self) {
        self.pass(self.capabilities().elsewhere).await;
    }

    /// All boards by id.
    pub(crate) async fn boards(&self) -> Vec<BoardInfo> {
        let query = BoardsQuery { after: None, limit: 10_000 };
        self.engine().boards(&query).await.unwrap().boards
    }

    /// Players on a board.
    pub(crate) async fn players(&self, board: &BoardId) -> u64 {
        let status = self.engine().board(board).await.unwrap();
        assert_eq!(status.exactness, Exactness::Exact);
        status.players
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
        decided(self.engine().submit(board, vec![submission]).await.unwrap().remove(0))
    }

    /// Submits several at once.
    pub(crate) async fn batch(
        &self,
        board: &BoardId,
        submissions: Vec<Submission>,
    ) -> Vec<Result<Receipt, Rejection>> {
        let answers = self.engine().submit(board, submissions).await.unwrap();
        answers.into_iter().map(decided).collect()
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
        let page = self.engine().page(board, &query).await.unwrap();
        assert_eq!(page.exactness, Exactness::Exact);
        page.rows
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
        Ok(import.finish().await?.players)
    }
}

/// What became of a submission that the store could take.
pub fn decided(answer: Result<Receipt, Refused>) -> Result<Receipt, Rejection> {
    answer.map_err(|refused| match refused {
        Refused::Rule(rejection) => rejection,
        Refused::Store(error) => panic!("the store could not take it: {error}"),
    })
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

/// What is compared of rows.
pub(crate) fn lines(rows: &[Row]) -> Vec<Line> {
    let line = |row: &Row| (row.player.to_string(), row.rank.get(), row.score.get());
    rows.iter().map(line).collect()
}

/// The lines to compare with.
pub(crate) fn expect(lines: &[(&str, u64, i64)]) -> Vec<Line> {
    lines.iter().map(|(player, rank, score)| ((*player).to_owned(), *rank, *score)).collect()
}

pub(crate) fn offset(offset: u64, limit: usize) -> PageQuery {
    PageQuery { start: Start::Offset(offset), limit, ..PageQuery::default() }
}

/// The rank of a receipt, which must be exact, as it is in a season this small on any engine.
pub(crate) fn rank(receipt: &Receipt) -> Option<u64> {
    assert_eq!(receipt.exactness, Exactness::Exact);
    receipt.rank.map(Rank::get)
}

pub(crate) fn previous_rank(receipt: &Receipt) -> Option<u64> {
    receipt.previous_rank.map(Rank::get)
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
