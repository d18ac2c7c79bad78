//! Writing frozen standings: rows in order, the names of the moment of writing, and streaks.

use std::{collections::HashSet, io, sync::Arc};

use parking_lot::RwLock;
use standings_core::standing::as_of::{AsOfRow, Cursor};
use standings_core::{IndexRecord, Name, PlayerId, Score, board::Ties};

use super::{
    Shared,
    catalog::{BoardState, Rows, Season},
    frozen::{self, Frozen, FrozenRow, FrozenWriter, Text},
    live::{Live, ViewId},
    record::{BoardNo, FrozenFile, SeasonNo},
};

/// Rows read under one lock while a standing is written: some ten microseconds.
const SCAN_ROWS: usize = 512;

/// The file that the streaks of a season continue which were counted while a season before it took submissions: none has this name.
/// When that one is in a file too they are counted anew.
pub(crate) const UNSETTLED: &str = "unsettled";

/// The seasons before one, as far back as they are needed to tell a streak: to the first whose file knows its own for good.
pub(crate) struct Before {
    seasons: Vec<Earlier>,
    /// Whether the last of them does.
    settled: bool,
    /// The name of the file right before, if it is one.
    name: String,
}

struct Earlier {
    rows: EarlierRows,
    goal: Option<i64>,
    /// Players who were erased since: should they come back, they start anew.
    hidden: Option<Arc<HashSet<PlayerId>>>,
}

enum EarlierRows {
    Live(Arc<RwLock<Live>>),
    Frozen(Arc<Frozen>),
}

impl Before {
    pub(crate) fn of(shared: &Shared, board: BoardNo, season: SeasonNo) -> io::Result<Self> {
        let mut before = Self::none();
        let catalog = shared.catalog.read();
        let Some(board) = catalog.board_no(board) else { return Ok(before) };
        let chain: Vec<&Season> = board.seasons_before(season).collect();
        // What was counted after a season that takes submissions is not what it will be, in a file or not.
        let unsettled = chain.iter().rposition(|s| !s.is_settled()).map_or(0, |last| last + 1);
        for season in chain.iter().take(unsettled + 1) {
            let (rows, since) = match &season.rows {
                Rows::Live(live) => {
                    let since = season.closed.map(|closed| closed.erasures);
                    (EarlierRows::Live(Arc::clone(live)), since)
                }
                Rows::Frozen(file) => {
                    (EarlierRows::Frozen(shared.frozen.get(file)?), Some(file.erasures))
                }
            };
            let goal = folded_goal(board, season);
            let hidden = since.and_then(|since| hidden(&catalog, since));
            before.seasons.push(Earlier { rows, goal, hidden });
        }
        before.settled = chain.len() > unsettled;
        before.name = match chain.first().map(|season| &season.rows) {
            Some(Rows::Frozen(file)) if unsettled == 0 => file.name.clone(),
            Some(_) => UNSETTLED.to_owned(),
            None => String::new(),
        };
        Ok(before)
    }

    /// No season at all.
    pub(crate) fn none() -> Self {
        Self { seasons: Vec::new(), settled: false, name: String::new() }
    }

    /// What the streaks that are counted from here continue: the name of the file right before, if it is one and will not change.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The streak of a player that reaches up to here.
    pub(crate) fn streak(&self, player: &str) -> io::Result<u32> {
        let mut length = 0;
        for (number, Earlier { rows, goal, hidden }) in (1..).zip(&self.seasons) {
            if hidden.as_ref().is_some_and(|hidden| hidden.contains(player)) {
                break;
            }
            let (record, stored) = match rows {
                EarlierRows::Frozen(file) => match file.row_of(player)? {
                    Some((_, record, text)) => (Some(record), text.streak),
                    None => (None, 0),
                },
                EarlierRows::Live(live) => (live.read().index().get(player), 0),
            };
            if self.settled && number == self.seasons.len() {
                return Ok(length + stored);
            }
            match (record, goal) {
                (Some(record), Some(goal)) if record.key.folded <= *goal => length += 1,
                _ => break,
            }
        }
        Ok(length)
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
        let file = frozen::write(&shared.disk, name, self.ties, players, |writer| {
            let mut cursor = Cursor::default();
            while !cursor.done {
                let rows = self.live.read().view_rows(self.view, &mut cursor, SCAN_ROWS);
                self.push(shared, writer, &rows)?;
            }
            Ok(())
        })?;
        let after = self.streaks.map_or(String::new(), |(_, before)| before.name.clone());
        Ok(FrozenFile { after, ..file })
    }

    fn push(
        &self,
        shared: &Shared,
        writer: &mut FrozenWriter<'_>,
        rows: &[AsOfRow],
    ) -> io::Result<()> {
        for ((player, record), name) in rows.iter().zip(Self::names(shared, rows)?) {
            let streak = match self.streaks {
                Some((goal, before)) if record.key.folded <= goal => 1 + before.streak(player)?,
                _ => 0,
            };
            let (name, record, official_rank) = (name.as_deref(), *record, None);
            writer.push(FrozenRow { player, name, record, streak, official_rank })?;
        }
        Ok(())
    }

    /// What players are called now.
    fn names(shared: &Shared, rows: &[AsOfRow]) -> io::Result<Vec<Option<Name>>> {
        let mut names = Vec::with_capacity(rows.len());
        for (player, _) in rows {
            let profile = match PlayerId::new(player) {
                Ok(id) => shared.history.profile_uncached(&id).map_err(io::Error::other)?,
                Err(_) => None,
            };
            names.push(profile.and_then(|profile| profile.name.clone()));
        }
        Ok(names)
    }
}

/// Writes a frozen standing anew with some rows changed or left out.
pub(crate) fn rewrite(
    shared: &Shared,
    old: &Frozen,
    name: String,
    players: u64,
    mut change: impl FnMut(&IndexRecord, &mut Text) -> io::Result<Keep>,
) -> io::Result<FrozenFile> {
    frozen::write(&shared.disk, name, old.ties, players, |writer| {
        old.rows(|record, mut text| match change(&record, &mut text)? {
            Keep::Row => writer.push(text.row(record)),
            Keep::Place => {
                let (player, name, streak, official_rank) = ("", None, 0, None);
                writer.push(FrozenRow { player, name, record, streak, official_rank })
            }
            Keep::Nothing => Ok(()),
        })
    })
}

/// What is kept of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Row,
    /// Nobody is told who it was.
    Place,
    Nothing,
}

/// The streaks that a frozen season should have, compared with those that it has: `None` where they are the same.
pub(crate) fn recounted(
    old: &Frozen,
    goal: i64,
    before: &Before,
    only: Option<&PlayerId>,
) -> io::Result<bool> {
    let wrong = |folded: i64, text: &Text| -> io::Result<bool> {
        let wanted = if folded <= goal { 1 + before.streak(&text.player)? } else { 0 };
        Ok(!text.player.is_empty() && wanted != text.streak)
    };
    if let Some(player) = only {
        return match old.row_of(player)? {
            Some((_, record, text)) => wrong(record.key.folded, &text),
            None => Ok(false),
        };
    }
    let mut differs = false;
    old.rows(|record, text| {
        differs = differs || wrong(record.key.folded, &text)?;
        Ok(())
    })?;
    Ok(differs)
}

/// A season of a board whose streaks do not continue those of the season before it, as that is now. Where one before it takes
/// submissions they would not continue them for long, and it is left until that one is in a file.
pub(crate) fn stale(board: &BoardState) -> Option<(SeasonNo, Arc<FrozenFile>)> {
    let before = std::iter::once(None).chain(board.seasons.iter().map(Some));
    let mut waits = false;
    before.zip(&board.seasons).find_map(|(before, season)| {
        waits = waits && before.is_some_and(|before| before.meets(season));
        let Rows::Frozen(file) = &season.rows else {
            waits = true;
            return None;
        };
        let stale = before.is_some_and(|before| differs(before, season, file));
        let counts = !file.name.is_empty() && goal_of(season).is_some();
        (stale && counts && !waits).then(|| (season.no, Arc::clone(file)))
    })
}

/// Whether the streaks of a season continue something else than the season listed before it.
fn differs(before: &Season, season: &Season, file: &FrozenFile) -> bool {
    let Rows::Frozen(continued) = &before.rows else { return false };
    if before.meets(season) {
        file.after != continued.name
    } else {
        // One in between has gone, or they never belonged together.
        !continued.name.is_empty() && file.after == continued.name
    }
}

fn goal_of(season: &Season) -> Option<Score> {
    season.closed.and_then(|closed| closed.goal)
}

/// Players of whom a file may still know.
pub(crate) fn hidden(
    catalog: &super::catalog::Catalog,
    since: u64,
) -> Option<Arc<HashSet<PlayerId>>> {
    let erased = catalog.erased().iter().filter(|(_, erased)| erased.number >= since);
    let hidden: HashSet<PlayerId> = erased.map(|(player, _)| player.clone()).collect();
    (!hidden.is_empty()).then(|| Arc::new(hidden))
}
