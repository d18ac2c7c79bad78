//! Random operations on friends, snapshots and whole players.

use standings_core::{BoardId, PlayerId};

use super::{
    Run,
    reads::{Standing, shown},
};
use crate::{EngineError, PageQuery, SnapshotRef, SnapshotsQuery};

impl Run<'_> {
    pub(super) async fn put_friends(&mut self) {
        let owner = self.player();
        let mut friends: Vec<PlayerId> = Vec::new();
        for _ in 0..self.random.below(20) {
            let friend = self.player();
            if !friends.contains(&friend) {
                friends.push(friend);
            }
        }
        self.world.engine().put_friends(&owner, friends.clone()).await.unwrap();
        self.model.friends.insert(owner, friends);
    }

    pub(super) async fn take_snapshot(&mut self) {
        let now = self.world.now();
        let (board, _) = self.board();
        let answer = self.world.engine().take_snapshot(&board).await;
        let Some(model) = self.model.boards.get_mut(&board) else {
            assert!(matches!(answer, Err(EngineError::UnknownBoard(_))), "{answer:?}");
            return;
        };
        let (taken, date) = (answer.unwrap(), model.definition.local_date(now));
        model.take(date, now, &self.model.names);
        let players = model.snapshots[&date].rows.len() as u64;
        assert_eq!(taken.date, date, "{board} at {now}");
        match taken.players {
            Some(counted) => assert_eq!(counted, players, "{board} at {now}"),
            None => self.world.quiesce().await,
        }
    }

    pub(super) async fn erase(&mut self) {
        let player = self.player();
        let engine = self.world.engine();
        match engine.erase_player(&player).await {
            Ok(()) => {}
            Err(EngineError::UnknownPlayer(_)) if !self.model.seen.contains(&player) => {}
            Err(other) => panic!("{player} could not be erased: {other:?}"),
        }
        self.model.erase(&player);
    }

    /// One random read of a snapshot.
    pub(super) async fn read_snapshot(&mut self, board: &BoardId, kind: u64) {
        let Some(model) = self.model.boards.get(board) else { return };
        let (which, found) = if self.random.one_in(3) || model.snapshots.is_empty() {
            (SnapshotRef::Latest, model.snapshots.last_key_value())
        } else {
            let index = self.random.index(model.snapshots.len());
            let found = model.snapshots.iter().nth(index);
            (SnapshotRef::Date(*found.expect("it was counted").0), found)
        };
        let Some((date, snapshot)) = found else {
            let answer = self.world.engine().distribution(board, &which.into()).await;
            assert!(matches!(answer, Err(EngineError::UnknownSnapshot { .. })), "{answer:?}");
            return;
        };
        let standing = Standing {
            board: board.clone(),
            which: which.into(),
            rows: snapshot.rows.clone(),
            definition: model.definition.clone(),
            goal: snapshot.goal,
            exact: !snapshot.erased,
            what: format!("{board} on {date}"),
        };
        self.read_standing(&standing, kind).await;
    }

    /// Every snapshot, and all that was accepted of everyone.
    pub(super) async fn compare_the_past(&mut self) {
        let engine = self.world.engine();
        for (board, model) in &self.model.boards {
            let query = SnapshotsQuery { before: None, limit: 10_000 };
            let listed = engine.snapshots(board, &query).await.unwrap().snapshots;
            let listed: Vec<_> = listed.into_iter().map(|s| (s.date, s.players)).collect();
            let expected: Vec<_> = model
                .snapshots
                .iter()
                .rev()
                .map(|(d, s)| (*d, Some(s.rows.len() as u64)))
                .collect();
            assert_eq!(listed, expected, "{board}");
            for (date, snapshot) in &model.snapshots {
                let standing = SnapshotRef::Date(*date).into();
                let query = PageQuery { standing, limit: 1000, ..PageQuery::default() };
                let page = engine.page(board, &query).await.unwrap();
                assert_eq!(shown(&page.rows), snapshot.rows, "{board} on {date}");
                assert_eq!(page.standing.season, snapshot.season, "{board} on {date}");
                for row in &page.rows {
                    let official = snapshot.official_rank(row.rank.get());
                    assert_eq!(row.official_rank, official, "{board} on {date}");
                    let name = row.profile.as_ref().and_then(|profile| profile.name.clone());
                    let expected = snapshot.names.get(&row.player).cloned();
                    assert_eq!(name, expected, "{board} on {date}: {}", row.player);
                }
            }
        }
        drop(engine);
        let players: Vec<_> = self.model.seen.iter().cloned().collect();
        for player in players {
            self.compare_events(&player, None, 500, usize::MAX).await;
        }
    }
}
