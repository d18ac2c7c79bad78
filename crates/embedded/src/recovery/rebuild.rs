//! Recomputes the standings of a stopped server from its ledger.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    ops::ControlFlow,
    path::Path,
    sync::Arc,
};

use standings_core::{
    IndexRecord as Row, Millis, PlayerId, Position, SortKey, limits::EVENT_ID_WINDOW, rule,
    rule::Entry, standing::Standing,
};
use standings_index::RankIndex;

use crate::{
    Options,
    files::{
        archive::Frozen,
        disk::{Disk, RealDisk},
    },
    history::{History, StoredEvent},
    log::{Log, LogOptions},
    operations::checkpoint::View,
    record::{BoardNo, LogRecord, SeasonNo},
    recovery::{
        check::{OfflineError, must_have_log, read_records},
        open::{FIRST_SEQ, OpenError, lock, recover},
    },
    state::{
        catalog::{Catalog, Rows},
        live::{Live, entry_of, record_of},
    },
};

/// What a rebuild has found.
#[derive(Debug, Default)]
pub struct RebuildReport {
    /// Events that were read.
    pub events: u64,
    /// Standings that were computed.
    pub standings: u64,
    /// Entries in them.
    pub entries: u64,
    /// How many entries differ from what the server had, and events from what the rules make of them.
    pub differences: u64,
    /// A line for each standing that differs, and for what cannot be read.
    pub findings: Vec<String>,
    /// Whether a new checkpoint was written.
    pub written: bool,
    /// The seasons in which anything differs.
    differing: BTreeSet<SeasonKey>,
}

impl RebuildReport {
    fn differ(&mut self, entries: u64, finding: String) {
        self.differences += entries;
        self.findings.push(finding);
    }
}

/// A season, by the numbers of its board and its own.
type SeasonKey = (BoardNo, SeasonNo);

/// Recomputes every standing from the ledger by the rules of its board and compares it with what the server has. With
/// `write`, the recomputed standings take their place where anything differs.
pub fn rebuild(
    dir: &Path,
    write: bool,
    progress: &mut dyn FnMut(&str),
) -> Result<RebuildReport, OfflineError> {
    must_have_log(dir)?;
    let lock = lock(dir)?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(dir)?);
    Log::check_version(disk.as_ref()).map_err(OpenError::from)?;
    let mut report = RebuildReport::default();
    progress("reading the ledger");
    let history = History::open(&dir.join("history"), EVENT_ID_WINDOW).map_err(OpenError::from)?;
    let must_reach = history.position();
    let log_options = LogOptions { start_seq: FIRST_SEQ, must_reach, ..LogOptions::default() };
    let log = Log::open(Arc::clone(&disk), log_options).map_err(OpenError::from)?.log;
    let mut ledger = Ledger::read(&history, &log)?;
    progress("recomputing standings");
    let computed = ledger.recompute(&history, &mut report)?;
    let mut catalog = ledger.catalog;
    drop(history);
    let position = log.next_seq();
    drop((log, lock));

    progress("comparing");
    let options = Options { dir: dir.to_owned(), ..Options::default() };
    let lock = match recover(&options) {
        Ok(recovered) => {
            compare(&recovered.catalog, disk.as_ref(), &computed, &mut report);
            if write && report.differences > 0 && !recovered.catalog.pending_snapshots().is_empty()
            {
                return Err(OfflineError::SnapshotWaits);
            }
            recovered.lock
        }
        Err(OpenError::Checkpoint(error)) => {
            report.differ(1, format!("the checkpoint cannot be read: {error}"));
            // What the ledger says is frozen can still be compared; the rest is empty there and taken as computed.
            compare(&catalog, disk.as_ref(), &computed, &mut report);
            for (board, snapshot) in catalog.pending_snapshots() {
                let lost = "was not in a file yet and is lost";
                report.differ(1, format!("snapshot {snapshot} of board {board} {lost}"));
            }
            self::lock(dir)?
        }
        Err(error) => return Err(error.into()),
    };
    if write && report.differences > 0 {
        progress("writing");
        install(&mut catalog, &report.differing, computed);
        View::begin(&catalog, position).write(&disk)?;
        report.written = true;
    }
    drop(lock);
    Ok(report)
}

/// An event of the log that the history does not have yet: its board and its number.
type TailEvent = (BoardNo, u64, StoredEvent);

/// The ledger, but for the events that the history has.
struct Ledger {
    catalog: Catalog,
    sets: BTreeMap<SeasonKey, Sets>,
    tail: HashMap<PlayerId, Vec<TailEvent>>,
    /// Who was erased, and by which record.
    erased: HashMap<PlayerId, u64>,
}

/// Scores that were set in a season. Only the last one of each player counts: it replaced whatever was before.
#[derive(Default)]
struct Sets {
    entries: RankIndex,
    /// The number of the record that set it, where a score would be: an index finds a player in little memory.
    seqs: RankIndex,
}

impl Ledger {
    fn read(history: &History, log: &Log) -> Result<Self, OfflineError> {
        let mut ledger = Self {
            catalog: Catalog::default(),
            sets: BTreeMap::new(),
            tail: HashMap::new(),
            erased: HashMap::new(),
        };
        history.visit_catalog(|seq, record| ledger.add(seq, record)).map_err(OpenError::from)?;
        history.visit_imports(|seq, record| ledger.add(seq, record)).map_err(OpenError::from)?;
        let position = history.position().max(FIRST_SEQ);
        let mut reader = log.read_from(position).map_err(OpenError::from)?;
        read_records(&mut reader, |seq, record| {
            if seq >= position {
                ledger.add(seq, record);
            }
        })?;
        Ok(ledger)
    }

    fn add(&mut self, seq: u64, record: LogRecord) {
        match record {
            LogRecord::PlayerErased { ref player, .. } => {
                self.tail.remove(player);
                for sets in self.sets.values_mut() {
                    sets.entries.remove(player);
                    sets.seqs.remove(player);
                }
                self.erased.insert(player.clone(), seq);
                self.catalog.apply(&record);
            }
            LogRecord::Event(event) => {
                let stored = StoredEvent::of(&event);
                self.tail.entry(event.player).or_default().push((event.board, seq, stored));
            }
            LogRecord::EntryRemoved { board, season, player, at } => {
                let stored = StoredEvent::Removed { season, at };
                self.tail.entry(player).or_default().push((board, seq, stored));
            }
            LogRecord::Scores { board, season, rows } => {
                self.catalog.note_import(board);
                let Some(state) = self.catalog.board_no(board) else { return };
                let order = state.definition.order();
                let sets = self.sets.entry((board, season)).or_default();
                let key = SortKey { folded: seq.cast_signed(), at: Millis(0) };
                let kept =
                    |player: &PlayerId| self.erased.get(player).is_none_or(|erased| seq > *erased);
                for row in rows.into_iter().filter(|row| kept(&row.player)) {
                    sets.entries.upsert(&row.player, record_of(order, row.entry));
                    sets.seqs.upsert(&row.player, Row { key, updated_at: Millis(0) });
                }
            }
            other => self.catalog.apply(&other),
        }
    }

    /// What a player's entry was last set to in a season, and by which record.
    fn last_set(&self, place: SeasonKey, player: &str) -> (u64, Option<Entry>) {
        let found = self.sets.get(&place).and_then(|sets| {
            let order = self.catalog.board_no(place.0)?.definition.order();
            let entry = entry_of(order, sets.entries.get(player)?);
            Some((sets.seqs.get(player)?.key.folded.cast_unsigned(), Some(entry)))
        });
        found.unwrap_or_default()
    }

    /// Folds the events of each player, in order, by the rules of the boards.
    fn recompute(
        &mut self,
        history: &History,
        report: &mut RebuildReport,
    ) -> Result<BTreeMap<SeasonKey, RankIndex>, OfflineError> {
        let mut tail = std::mem::take(&mut self.tail);
        let mut results = Results::default();
        let mut fold = Fold {
            ledger: self,
            events: 0,
            differing_events: 0,
            player: None,
            entries: HashMap::new(),
        };
        let visited = history.visit_events(|player, board, seq, event| {
            if fold.player.as_ref() != Some(&player) {
                fold.finish(&mut tail, &mut results);
                fold.player = Some(player);
            }
            fold.add(board, seq, &event);
        });
        visited.map_err(OpenError::from)?;
        fold.finish(&mut tail, &mut results);
        while let Some(player) = tail.keys().next().cloned() {
            fold.player = Some(player);
            fold.finish(&mut tail, &mut results);
        }
        report.events = fold.events;
        if fold.differing_events > 0 {
            let count = fold.differing_events;
            report.differ(count, format!("{count} events have another result than the rules give"));
        }
        let Results { computed, removed } = results;
        let sets = std::mem::take(&mut self.sets).into_iter();
        let mut standings: BTreeMap<SeasonKey, RankIndex> =
            sets.map(|(place, sets)| (place, sets.entries)).collect();
        for (place, player) in removed {
            if let Some(standing) = standings.get_mut(&place) {
                standing.remove(&player);
            }
        }
        for (place, computed) in computed {
            let standing = standings.entry(place).or_default();
            computed.scan(Position(0), |player, row| {
                standing.upsert(player, row);
                ControlFlow::<()>::Continue(())
            });
        }
        report.standings = standings.len() as u64;
        report.entries = standings.values().map(RankIndex::len).sum();
        Ok(standings)
    }
}

/// One player's events being folded.
struct Fold<'a> {
    ledger: &'a Ledger,
    events: u64,
    /// Events whose recorded result is not what the rules make of them.
    differing_events: u64,
    player: Option<PlayerId>,
    /// For each season the number from which events count, and the entry so far.
    entries: HashMap<SeasonKey, (u64, Option<Entry>)>,
}

/// What came out of folding.
#[derive(Default)]
struct Results {
    computed: BTreeMap<SeasonKey, RankIndex>,
    /// Who has no entry any more, though one may have been set.
    removed: Vec<(SeasonKey, PlayerId)>,
}

impl Fold<'_> {
    fn add(&mut self, board: BoardNo, seq: u64, event: &StoredEvent) {
        self.events += 1;
        let (Some(player), Some(state)) = (&self.player, self.ledger.catalog.board_no(board))
        else {
            // Events of deleted boards stay until they are cleared away.
            return;
        };
        let (StoredEvent::Accepted { season, .. } | StoredEvent::Removed { season, .. }) = event;
        if state.season(*season).is_none() {
            // Nor is there anything to compare them with where the season is gone.
            return;
        }
        let place = (board, *season);
        let last_set = || self.ledger.last_set(place, player);
        let (since, current) = self.entries.entry(place).or_insert_with(last_set);
        if seq < *since {
            return;
        }
        match event {
            StoredEvent::Removed { .. } => *current = None,
            StoredEvent::Accepted { points, at, entry, .. } => {
                let applied = rule::apply(&state.definition, *current, *points, *at);
                // One that leaves the range would have been refused; the difference shows.
                let computed = applied.map(|(score, at)| Entry { score, at, ..*entry });
                self.differing_events += u64::from(computed != Some(*entry));
                *current = computed.or(*current);
            }
        }
    }

    fn finish(&mut self, tail: &mut HashMap<PlayerId, Vec<TailEvent>>, results: &mut Results) {
        let Some(player) = self.player.clone() else { return };
        for (board, seq, event) in tail.remove(&player).unwrap_or_default() {
            self.add(board, seq, &event);
        }
        for (place, (_, entry)) in self.entries.drain() {
            let board = self.ledger.catalog.board_no(place.0);
            match (entry, board) {
                (Some(entry), Some(board)) => {
                    let record = record_of(board.definition.order(), entry);
                    results.computed.entry(place).or_default().upsert(&player, record);
                }
                _ => results.removed.push((place, player.clone())),
            }
        }
        self.player = None;
    }
}

/// Compares what the server has with what was computed.
fn compare(
    catalog: &Catalog,
    disk: &dyn Disk,
    computed: &BTreeMap<SeasonKey, RankIndex>,
    report: &mut RebuildReport,
) {
    let none = RankIndex::new();
    for board in catalog.boards() {
        for season in board.seasons() {
            let Some(no) = season.no else { continue };
            let place = (board.no, no);
            let expected = computed.get(&place).unwrap_or(&none);
            let found = board.found_season(catalog, &season, Millis(0));
            let hides =
                |player: &str| PlayerId::new(player).map_or(true, |player| found.hides(&player));
            let differing = match &season.rows {
                Rows::Live(live) => differing_rows(&*live.read(), hides, expected),
                Rows::Frozen(file) if file.imported => Ok(0),
                // Names are not in the ledger's events; the checksum covers them.
                Rows::Frozen(file) => Frozen::open(disk, file)
                    .and_then(|frozen| frozen.verify().map(|()| frozen))
                    .and_then(|frozen| differing_rows(&frozen, hides, expected)),
            };
            let (rows, what) = match differing {
                Ok(0) => continue,
                Ok(rows) => (rows, format!("{rows} rows differ, {} computed", expected.len())),
                Err(error) => (expected.len().max(1), error.to_string()),
            };
            report.differ(rows, format!("board {} season {}: {what}", board.id, season.span.id));
            report.differing.insert(place);
        }
    }
}

/// How many players have another row than computed, none, or one that was not computed.
fn differing_rows(
    actual: &dyn Standing<Error = io::Error>,
    hides: impl Fn(&str) -> bool,
    expected: &RankIndex,
) -> io::Result<u64> {
    let (mut differing, mut seen) = (0, 0);
    actual.visit(Position(0), &mut |player, row| {
        // The place of an erased player has no id.
        if !hides(player) {
            let wanted = expected.get(player);
            seen += u64::from(wanted.is_some());
            differing += u64::from(wanted != Some(row));
        }
        ControlFlow::Continue(())
    })?;
    Ok(differing + expected.len() - seen)
}

/// Puts computed standings into the catalog. A closed season that was recomputed is frozen anew at the next start.
fn install(
    catalog: &mut Catalog,
    differing: &BTreeSet<SeasonKey>,
    mut computed: BTreeMap<SeasonKey, RankIndex>,
) {
    catalog.for_each_season(|board, season, rows| {
        let place = (board, season);
        if rows.live().is_some() || differing.contains(&place) {
            let live = Live::from_index(computed.remove(&place).unwrap_or_default());
            *rows = Rows::Live(Arc::new(parking_lot::RwLock::new(live)));
        }
    });
}
