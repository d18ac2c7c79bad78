//! More words for tests: friends, history, snapshots.

use standings_core::{BoardId, LocalDate, Millis, Profile};

use super::{
    World,
    world::{id, name},
};
use crate::{
    EventsQuery, Exactness, NameQuery, NamedPlayer, PlayerSeasons, PlayerSeasonsQuery,
    PlayerSnapshotsQuery, Result, ScoreRow, SnapshotInfo, SnapshotRef, SnapshotsQuery, StandingRef,
    Visibility,
};

/// A row among friends as it is compared: who, rank among them, rank on the board, score.
pub(super) type FriendLine = (String, u64, u64, i64);

impl World {
    pub(crate) async fn befriend(&self, player: &str, friends: &[&str]) {
        let friends = friends.iter().map(|friend| id(friend)).collect();
        self.engine().put_friends(&id(player), friends).await.unwrap();
    }

    pub(crate) async fn friends_of(&self, player: &str) -> Vec<String> {
        let friends = self.engine().friends(&id(player)).await.unwrap();
        friends.iter().map(ToString::to_string).collect()
    }

    /// A player among friends.
    pub(crate) async fn among(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        player: &str,
    ) -> Vec<FriendLine> {
        let answer = self.engine().among_friends(board, standing, &id(player)).await.unwrap();
        assert_eq!(answer.exactness, Exactness::Exact);
        let rows = answer.rows.iter().map(|friend| {
            let row = &friend.row;
            let who = row.player.to_string();
            (who, friend.rank.get(), row.rank.get(), row.score.get())
        });
        rows.collect()
    }

    /// All that was accepted of a player, in one text a submission: board, season, points, score.
    pub(crate) async fn events(&self, player: &str, board: Option<&BoardId>) -> Vec<String> {
        let query = EventsQuery { board: board.cloned(), before: None, limit: 1000 };
        let page = self.engine().player_events(&id(player), &query).await.unwrap();
        assert_eq!(page.next, None);
        let shown = page.events.iter().map(|event| {
            format!("{} {} {} {}", event.board, event.season, event.points, event.score)
        });
        shown.collect()
    }

    /// All that there is of a player on a board.
    pub(crate) async fn career(&self, board: &BoardId, player: &str) -> PlayerSeasons {
        self.engine().player_seasons(&id(player), board, &all_seasons()).await.unwrap()
    }

    /// A player's seasons in one text each: season, score, rank.
    pub(crate) async fn seasons_of(&self, board: &BoardId, player: &str) -> Vec<String> {
        season_lines(&self.career(board, player).await)
    }

    /// A player's best score, and in which season.
    pub(crate) async fn best_of(&self, board: &BoardId, player: &str) -> Option<(i64, String)> {
        let best = self.career(board, player).await.best;
        best.map(|best| (best.score.get(), best.season.to_string()))
    }

    /// A player's current and longest streak.
    pub(crate) async fn streak_of(&self, board: &BoardId, player: &str) -> Option<(u32, u32)> {
        let streak = self.career(board, player).await.streak;
        streak.map(|streak| (streak.current, streak.longest))
    }

    /// Takes a snapshot: its date and players.
    pub(crate) async fn take(&self, board: &BoardId) -> (String, u64) {
        let taken = self.engine().take_snapshot(board).await.unwrap();
        // Of so few players it is written at once, or soon.
        self.quiesce().await;
        (taken.date.to_string(), self.players_on(board, taken.date).await)
    }

    /// Players in a snapshot that can be read.
    pub(crate) async fn players_on(&self, board: &BoardId, date: LocalDate) -> u64 {
        let snapshots = self.snapshots(board).await;
        let found = snapshots.iter().find(|snapshot| snapshot.date == date);
        found.and_then(|found| found.players).expect("it is there")
    }

    /// The snapshots of a board, newest first.
    pub(crate) async fn snapshots(&self, board: &BoardId) -> Vec<SnapshotInfo> {
        let query = SnapshotsQuery { before: None, limit: 10_000 };
        self.engine().snapshots(board, &query).await.unwrap().snapshots
    }

    /// The dates of a board's snapshots, newest first. All of them can be read.
    pub(crate) async fn dates(&self, board: &BoardId) -> Vec<String> {
        let snapshots = self.snapshots(board).await;
        assert!(snapshots.iter().all(|snapshot| snapshot.players.is_some()), "{snapshots:?}");
        snapshots.iter().map(|snapshot| snapshot.date.to_string()).collect()
    }

    /// Turns the clock to when a snapshot is due, which the engine takes by itself.
    pub(crate) async fn turn_to_snapshot(&self, time: &str, board: &BoardId, date: &str) {
        self.turn_to(time).await;
        let dates = self.dates(board).await;
        assert!(dates.iter().any(|taken| taken == date), "{date} is none of {dates:?}");
    }

    pub(crate) async fn import_snapshot(
        &self,
        board: &BoardId,
        date: &str,
        rows: Vec<ScoreRow>,
    ) -> Result<u64> {
        let mut import = self.engine().import_snapshot(board, day(date)).await?;
        import.rows(rows).await?;
        Ok(import.finish().await?.players)
    }

    /// A player in all snapshots, in one text each: date, board, name, score, rank, official rank.
    pub(crate) async fn days_of(&self, player: &str, board: Option<&BoardId>) -> Vec<String> {
        let board = board.cloned();
        let query = PlayerSnapshotsQuery { board, limit: 1000, ..PlayerSnapshotsQuery::default() };
        self.days_by(player, &query).await
    }

    pub(crate) async fn days_by(&self, player: &str, query: &PlayerSnapshotsQuery) -> Vec<String> {
        let page = self.engine().player_snapshots(&id(player), query).await.unwrap();
        let shown = page.snapshots.iter().map(|at| {
            let name = at.name.as_ref().map_or("-", |name| name.as_str());
            let official = at.official_rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
            format!("{} {} {name} {} {} {official}", at.date, at.board, at.score, at.rank)
        });
        shown.collect()
    }

    /// Players by name, once the engine can find them.
    pub(crate) async fn by_name(&self, query: &NameQuery, limit: usize) -> Vec<NamedPlayer> {
        if self.capabilities().names == Visibility::Eventually {
            self.quiesce().await;
        }
        self.engine().players_by_name(query, limit).await.unwrap()
    }

    /// Gives a player a name, or takes it.
    pub(crate) async fn rename(&self, player: &str, to: Option<&str>) {
        let profile = Profile { name: to.map(name), ..Profile::default() };
        self.engine().put_player(&id(player), profile).await.unwrap();
    }

    /// The name on a player's row.
    pub(crate) async fn name_on(
        &self,
        board: &BoardId,
        standing: &StandingRef,
        player: &str,
    ) -> Option<String> {
        let entry = self.engine().entry(board, standing, &id(player), None).await.unwrap();
        let name = entry.row.profile.as_ref().and_then(|profile| profile.name.clone());
        name.map(|name| name.to_string())
    }
}

pub(crate) fn all_seasons() -> PlayerSeasonsQuery {
    PlayerSeasonsQuery { from: Millis::MIN, to: Millis::MAX, before: None, limit: 1000 }
}

/// Seasons in one text each: season, score, rank.
pub(crate) fn season_lines(career: &PlayerSeasons) -> Vec<String> {
    assert_eq!(career.exactness, Exactness::Exact);
    let seasons = career.seasons.iter();
    seasons.map(|season| format!("{} {} {}", season.span.id, season.score, season.rank)).collect()
}

pub(crate) fn day(date: &str) -> LocalDate {
    LocalDate::parse(date).unwrap()
}

/// The snapshot of a date.
pub(crate) fn on(date: &str) -> StandingRef {
    SnapshotRef::Date(day(date)).into()
}

/// The newest snapshot.
pub(crate) const LATEST: StandingRef = StandingRef::Snapshot(SnapshotRef::Latest);

pub(crate) fn friend_lines(lines: &[(&str, u64, u64, i64)]) -> Vec<FriendLine> {
    lines.iter().map(|(who, rank, on, score)| ((*who).to_owned(), *rank, *on, *score)).collect()
}
