//! Tools for a stopped server's files: verify them, and recompute the standings from the ledger.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs, io,
    ops::ControlFlow,
    os::unix::fs::symlink,
    path::Path,
    sync::Arc,
};

use standings_core::{
    IndexRecord as Row, Millis, PlayerId, Position, SortKey, limits::EVENT_ID_WINDOW, rule,
    rule::Entry, standing::Standing,
};
use standings_index::RankIndex;

use super::{
    Options,
    catalog::{BoardState, Catalog, Rows, Season},
    checkpoint::{self, Loaded, View},
    disk::{Disk, RealDisk},
    frozen::Frozen,
    history::{History, StoredEvent},
    live::{Live, entry_of, record_of},
    log::{Log, LogOptions, LogReader},
    open::{FIRST_SEQ, OpenError, lock, lock_existing, recover},
    record::{self, BoardNo, LogRecord, SeasonNo},
};

/// Why a tool could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The data directory cannot be opened at all.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is nothing here.
    #[error("{0} is not a data directory of this server: it has no log")]
    NotData(String),
    /// A new checkpoint would forget it.
    #[error(
        "a snapshot was taken that is not in a file yet, and would be lost; start the server, so that it writes the file, and \
         rebuild after that"
    )]
    SnapshotWaits,
}

/// What a check has found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Records in the log.
    pub log_records: u64,
    /// Players in the live standings, by checkpoint and log.
    pub checkpoint_players: u64,
    /// Frozen standings.
    pub frozen_files: u64,
    /// Events in the history.
    pub history_events: u64,
    /// What is wrong; empty where all is well.
    pub findings: Vec<String>,
}

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
    differing: BTreeSet<Place>,
}

impl RebuildReport {
    fn differ(&mut self, entries: u64, finding: String) {
        self.differences += entries;
        self.findings.push(finding);
    }
}

/// Reads every byte of a data directory and verifies it. Changes nothing in it.
pub fn check(dir: &Path, progress: &mut dyn FnMut(&str)) -> Result<CheckReport, OfflineError> {
    must_have_log(dir)?;
    let _lock = lock_existing(dir)?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(dir)?);
    Log::check_version(disk.as_ref()).map_err(OpenError::from)?;
    let mut report = CheckReport::default();
    progress("log");
    let options = LogOptions { start_seq: FIRST_SEQ, ..LogOptions::default() };
    let mut log_end = FIRST_SEQ;
    let mut log_start = FIRST_SEQ;
    let mut log = Vec::new();
    match Log::check(disk.as_ref(), &options) {
        Ok((segments, repair)) => {
            log_start = segments.first().map_or(FIRST_SEQ, |segment| segment.first_seq);
            log_end = segments.last().map_or(FIRST_SEQ, |segment| segment.next_seq);
            report.log_records = log_end - log_start;
            if let Some(repair) = repair {
                report.findings.push(format!(
                    "{}: an unfinished write of {} bytes at offset {}; it was never acknowledged, and the next start cuts it off",
                    repair.file, repair.dropped_bytes, repair.offset
                ));
            }
            log = segments;
        }
        Err(error) => report.findings.push(error.to_string()),
    }
    progress("checkpoint and frozen standings");
    let mut views = vec![];
    match checkpoint::load(disk.as_ref()) {
        Ok(loaded) => {
            let loaded = loaded.unwrap_or_else(|| Loaded::empty(FIRST_SEQ));
            let Loaded { position, mut catalog } = loaded;
            views.push(("checkpoint", position));
            if (log_start..=log_end).contains(&position) {
                // Files may have been replaced since the checkpoint: the log names those that count.
                let mut reader = LogReader::new(Arc::clone(&disk), log, position);
                if let Err(error) = read_records(&mut reader, |seq, record| {
                    if seq >= position {
                        catalog.apply(&record);
                    }
                }) {
                    report.findings.push(error.to_string());
                }
            }
            check_standings(disk.as_ref(), &catalog, &mut report);
        }
        Err(error) => report.findings.push(error.to_string()),
    }
    progress("history");
    let view = tempfile::tempdir()?;
    view_of_store(&dir.join("history"), &view.path().join("history"))?;
    match History::open(&view.path().join("history"), EVENT_ID_WINDOW) {
        Ok(history) => {
            views.push(("history", history.position()));
            if let Err(error) = history.visit_events(|_, _, _, _| report.history_events += 1) {
                report.findings.push(error.to_string());
            }
            if let Err(error) = history.catalog_records() {
                report.findings.push(error.to_string());
            }
        }
        Err(error) => report.findings.push(error.to_string()),
    }
    for (view, position) in views {
        let position = position.max(FIRST_SEQ);
        if position > log_end || position < log_start {
            report.findings.push(format!(
                "the {view} is at record {position}, and the log has records {log_start} to {log_end}"
            ));
        }
    }
    Ok(report)
}

/// Reads the records that a reader comes upon, each with its number.
fn read_records(
    reader: &mut LogReader,
    mut visitor: impl FnMut(u64, LogRecord),
) -> Result<(), OpenError> {
    while let Some(frame) = reader.next_frame()? {
        let records = record::decode(&frame)
            .map_err(|error| OpenError::Record { seq: frame.first_seq, why: error.to_string() })?;
        for (record, seq) in records.into_iter().zip(frame.first_seq..) {
            visitor(seq, record);
        }
    }
    Ok(())
}

fn check_standings(disk: &dyn Disk, catalog: &Catalog, report: &mut CheckReport) {
    for live in catalog.boards().flat_map(|board| &board.seasons).filter_map(Season::live) {
        report.checkpoint_players += live.read().index().len();
    }
    let mut seen = BTreeSet::new();
    for file in catalog.boards().flat_map(BoardState::files) {
        if file.name.is_empty() || !seen.insert(file.name.as_str()) {
            continue;
        }
        report.frozen_files += 1;
        if let Err(error) = Frozen::open(disk, file).and_then(|frozen| frozen.verify()) {
            report.findings.push(error.to_string());
        }
    }
}

/// Makes another directory that has what the store in `from` has. Opening a store writes to its journals and manifests, so those are copied.
/// Tables, which are nearly all of it, are never written to again: links to them do.
fn view_of_store(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let (from_entry, to_entry) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            view_of_store(&from_entry, &to_entry)?;
        } else if from.ends_with("tables") {
            symlink(from_entry.canonicalize()?, to_entry)?;
        } else {
            fs::copy(from_entry, to_entry)?;
        }
    }
    Ok(())
}

fn must_have_log(dir: &Path) -> Result<(), OfflineError> {
    if dir.join(super::log::DIR).is_dir() {
        return Ok(());
    }
    Err(OfflineError::NotData(dir.display().to_string()))
}

/// A season, by its numbers.
type Place = (BoardNo, SeasonNo);

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
    sets: BTreeMap<Place, Sets>,
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
        for (seq, record) in history.catalog_records().map_err(OpenError::from)? {
            ledger.add(seq, record);
        }
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
            LogRecord::Scores { board, season, at, rows } => {
                self.catalog.note_import(board);
                let Some(state) = self.catalog.board_no(board) else { return };
                let order = state.definition.order();
                let sets = self.sets.entry((board, season)).or_default();
                let key = SortKey { folded: seq.cast_signed(), at: Millis(0) };
                let kept =
                    |player: &PlayerId| self.erased.get(player).is_none_or(|erased| seq > *erased);
                for row in rows.into_iter().filter(|row| kept(&row.player)) {
                    sets.entries.upsert(&row.player, record_of(order, row.entry(at)));
                    sets.seqs.upsert(&row.player, Row { key, updated_at: Millis(0) });
                }
            }
            other => self.catalog.apply(&other),
        }
    }

    /// What a player's entry was last set to in a season, and by which record.
    fn last_set(&self, place: Place, player: &str) -> (u64, Option<Entry>) {
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
    ) -> Result<BTreeMap<Place, RankIndex>, OfflineError> {
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
        let mut standings: BTreeMap<Place, RankIndex> =
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
    entries: HashMap<Place, (u64, Option<Entry>)>,
}

/// What came out of folding.
#[derive(Default)]
struct Results {
    computed: BTreeMap<Place, RankIndex>,
    /// Who has no entry any more, though one may have been set.
    removed: Vec<(Place, PlayerId)>,
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
    computed: &BTreeMap<Place, RankIndex>,
    report: &mut RebuildReport,
) {
    let none = RankIndex::new();
    for board in catalog.boards() {
        for season in &board.seasons {
            let place = (board.no, season.no);
            let expected = computed.get(&place).unwrap_or(&none);
            let found = board.found_season(catalog, season, Millis(0));
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
        let wanted = expected.get(player);
        seen += u64::from(wanted.is_some());
        differing += u64::from(wanted != Some(row) && !hides(player));
        ControlFlow::Continue(())
    })?;
    Ok(differing + expected.len() - seen)
}

/// Puts computed standings into the catalog. A closed season that was recomputed is frozen anew at the next start.
fn install(
    catalog: &mut Catalog,
    differing: &BTreeSet<Place>,
    mut computed: BTreeMap<Place, RankIndex>,
) {
    catalog.for_each_season(|board, season| {
        let place = (board, season.no);
        if season.live().is_some() || differing.contains(&place) {
            let live = Live::from_index(computed.remove(&place).unwrap_or_default());
            season.rows = Rows::Live(Arc::new(parking_lot::RwLock::new(live)));
        }
    });
}
