//! Writing frozen standings: rows in order, the names of the moment of writing, and streaks.

use std::io;

use parking_lot::RwLock;
use standings_core::standing::as_of::{AsOfRow, Cursor};
use standings_core::{
    IndexRecord, Millis,
    board::Ties,
    streak::{Outcome, StreakFold},
};

use crate::{
    Shared,
    files::{
        archive,
        archive::{Frozen, FrozenRow, FrozenWriter, Text},
    },
    read::find::Source,
    record::{BoardNo, FrozenFile, SeasonNo},
    state::{
        catalog::{BoardState, Season},
        erasures::Hidden,
        live::{Live, ViewId},
    },
};

/// Rows read under one lock while a standing is written: some ten microseconds.
const SCAN_ROWS: usize = 512;
/// Rows whose names are looked up together, in the order of the store.
const NAMED_ROWS: usize = 16 * SCAN_ROWS;

/// The seasons before one, newest first, as far back as they are needed to tell a streak: to the first whose rows carry theirs.
pub(crate) struct Before {
    seasons: Vec<Earlier>,
    /// Whether they are all closed.
    pub(crate) closed: bool,
}

struct Earlier {
    rows: Source,
    goal: Option<i64>,
    /// Players who were erased since: should they come back, they start anew.
    hidden: Option<Hidden>,
    carries: bool,
}

impl Before {
    /// Those before a season that begins at an instant.
    pub(crate) fn of(
        shared: &Shared,
        board: BoardNo,
        (season, starts_at): (SeasonNo, Millis),
    ) -> io::Result<Self> {
        let mut before = Self::none();
        let catalog = shared.catalog.read();
        let Some(board) = catalog.board_no(board) else { return Ok(before) };
        let mut oldest = starts_at;
        let mut chain = board.seasons_before(season, starts_at).peekable();
        while let Some(season) = chain.next() {
            let rows = shared.source(&season.rows)?;
            let goal = folded_goal(board, &season);
            let since = season.settled_erasures();
            let hidden = since.and_then(|since| Hidden::since(catalog.erased(), since));
            let carries = season.carries(chain.peek());
            before.seasons.push(Earlier { rows, goal, hidden, carries });
            before.closed &= season.closed.is_some();
            oldest = season.span.starts_at;
            if carries {
                break;
            }
        }
        if chain.peek().is_none() {
            before.closed &= !board.may_open_before(oldest, shared.clock.now());
        }
        Ok(before)
    }

    /// No season at all.
    pub(crate) fn none() -> Self {
        Self { seasons: Vec::new(), closed: true }
    }

    /// The streak of a player that reaches up to here.
    pub(crate) fn streak(&self, player: &str) -> io::Result<u32> {
        let mut streak = StreakFold::default();
        for season in &self.seasons {
            streak.season(season.outcome(player)?);
            if streak.is_over() {
                break;
            }
        }
        Ok(streak.streak().current)
    }
}

impl Earlier {
    fn outcome(&self, player: &str) -> io::Result<Outcome> {
        if self.hidden.as_ref().is_some_and(|hidden| hidden.contains(player)) {
            return Ok(Outcome::default());
        }
        let (record, stored) = match &self.rows {
            Source::Frozen(file) => match file.row_of(player)? {
                Some((_, record, text)) => (Some(record), Some(text.streak)),
                None => (None, None),
            },
            Source::Live(live) => (live.read().index().get(player), None),
        };
        let met = record.zip(self.goal).is_some_and(|(record, goal)| record.key.folded <= goal);
        let carry = stored.filter(|_| met && self.carries);
        Ok(Outcome { success: met, carry, ..Outcome::default() })
    }
}

/// The worst score that meets the goal, folded.
pub(crate) fn folded_goal(board: &BoardState, season: &Season) -> Option<i64> {
    season.goal(&board.definition).map(|goal| board.definition.order().fold(goal))
}

/// What a standing in memory is written as.
pub(crate) struct Writing<'a> {
    pub(crate) live: &'a RwLock<Live>,
    pub(crate) view: ViewId,
    pub(crate) ties: Ties,
    /// Where streaks are counted, the goal and the seasons before.
    pub(crate) streaks: Option<(i64, &'a Before)>,
}

impl Writing<'_> {
    /// Writes the view; the file is durable when this returns.
    pub(crate) fn write(&self, shared: &Shared, name: String) -> io::Result<FrozenFile> {
        let players = self.live.read().view_players(self.view);
        let file = archive::write(&shared.disk, name, self.ties, players, |writer| {
            let mut cursor = Cursor::default();
            while !cursor.done {
                let mut rows = Vec::new();
                while !cursor.done && rows.len() < NAMED_ROWS {
                    rows.extend(self.live.read().view_rows(self.view, &mut cursor, SCAN_ROWS));
                }
                self.push(shared, writer, &rows)?;
            }
            Ok(())
        })?;
        let carries = self.streaks.is_some_and(|(_, before)| before.closed);
        Ok(FrozenFile { carries, ..file })
    }

    fn push(
        &self,
        shared: &Shared,
        writer: &mut FrozenWriter<'_>,
        rows: &[AsOfRow],
    ) -> io::Result<()> {
        let players: Vec<&str> = rows.iter().map(|(player, _)| player.as_str()).collect();
        let names = shared.history.names_of(&players).map_err(io::Error::other)?;
        for ((player, record), name) in rows.iter().zip(names) {
            let streak = match self.streaks {
                Some((goal, before)) if record.key.folded <= goal => 1 + before.streak(player)?,
                _ => 0,
            };
            let (name, record, official_rank) = (name.as_deref(), *record, None);
            writer.push(FrozenRow { player, name, record, streak, official_rank })?;
        }
        Ok(())
    }
}

/// Writes a frozen standing anew with some rows changed, and without those of players who were taken off.
pub(crate) fn rewrite(
    shared: &Shared,
    old: &Frozen,
    name: String,
    file: &FrozenFile,
    mut change: impl FnMut(&IndexRecord, &mut Text) -> io::Result<Keep>,
) -> io::Result<FrozenFile> {
    let rows = file.rows() - file.removed.len() as u64;
    let mut position = 0..;
    archive::write(&shared.disk, name, old.ties, rows, |writer| {
        old.rows(|record, mut text| match change(&record, &mut text)? {
            _ if position.next().is_some_and(|position| old.is_removed(position)) => Ok(()),
            Keep::Row => writer.push(text.row(record)),
            Keep::Place => {
                let (player, name, streak, official_rank) = ("", None, 0, None);
                writer.push(FrozenRow { player, name, record, streak, official_rank })
            }
        })
    })
}

/// What is kept of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Row,
    /// Its name is not given out.
    Place,
}
