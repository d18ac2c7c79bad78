//! `standings import`: sets scores from a file.
//!
//! Into the open season, rows go in requests of [`Import::batch`] rows, and after each answer the position in the file is
//! noted beside it: an import that was interrupted goes on from there. The request under way at the interruption is sent
//! again, which is harmless because a row sets a score and does not add to it. A closed season or a snapshot is replaced whole by
//! one request, and so has no position to go on from.
//!
//! A thread reads and checks rows while the server works on those before them. Rows are checked here, by the types the
//! server uses, so that a bad one is named by its line in the file.

mod position;
mod record;
mod row;
mod source;

use std::{
    io::{self, Read},
    path::PathBuf,
    sync::mpsc,
    thread,
    time::Duration,
};

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::{
    client::{Client, Connection, Path},
    failure::{Failure, Problem, Result},
    output::{Output, print, thousands},
    progress::{Progress, Unit},
};
use position::{Identity, Noted, Position};
use row::Kind;
pub(crate) use source::Format;
use source::{Batch, Source};

/// Rows in one piece of a streamed body: small, so that a slow pipe does not look like a stalled client.
const STREAM_ROWS: u64 = 4096;

/// How often a request is tried again while the server is busy: with the second it usually asks for, five minutes.
const RETRIES: u32 = 300;

/// Set scores from a CSV or NDJSON file.
///
/// Rows are `user_id,score[,at,user_name]`. A CSV file may have a header line that names its columns, in any order; NDJSON has
/// one object with these members on each line. `at` is RFC 3339 or milliseconds since 1970. Rows of a snapshot may also have
/// `official_rank`, given by someone else. In the open season a player's last row counts; elsewhere a player has one row. An
/// interrupted import into the open season continues when the same command is run again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  standings import players.csv --board main
  standings import october.ndjson --board main --season 2026-10
  standings import level.csv --board level --snapshot 2026-02-21
  mysql -NBe 'select id, points from players' | tr '\\t' , | standings import - --board main --format csv")]
pub(crate) struct Import {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// The board
    #[arg(long)]
    board: String,
    /// A closed season, which is replaced whole [default: the open one, whose other players stay]
    #[arg(long)]
    season: Option<String>,
    /// The snapshot of a date such as 2026-02-21, which is replaced whole
    #[arg(long, value_name = "DATE", conflicts_with = "season")]
    snapshot: Option<String>,
    /// What the file is [default: by its name, else by its first character]
    #[arg(long)]
    format: Option<Format>,
    /// Begin at the first row, even where an earlier import of the file was interrupted
    #[arg(long)]
    restart: bool,
    /// Rows in one request
    #[arg(long, value_name = "ROWS", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: Connection,
}

impl Import {
    pub(crate) fn run(self) -> Result<()> {
        let client = self.connection.clone().client()?;
        match (&self.season, &self.snapshot) {
            (Some(id), _) => self.replace(&client, Kind::Scores, id),
            (None, Some(date)) => self.replace(&client, Kind::Snapshot, date),
            (None, None) => self.set_open(&client),
        }
    }

    fn set_open(&self, client: &Client) -> Result<()> {
        let identity = Identity::of(&self.file, client.server(), &self.board)?;
        let start = match &identity {
            Some(identity) if !self.restart => Position::load(&self.file, identity),
            _ => Position::default(),
        };
        let source = Source::open(&self.file, self.format, Kind::Scores, &start)?;
        let total = identity.as_ref().map(|identity| identity.size);
        let mut progress = Progress::start(Unit::Bytes, total, start.offset, start.rows);
        if start.rows > 0 {
            progress.say(&format!("continuing after row {}", thousands(start.rows)));
        }
        let path = Path::scores(Some(&self.board), &[]);
        let mut noted = Noted::new(&self.file, identity.as_ref(), &start);
        let mut at = start;
        let sent = ahead(source, self.batch, |batches| {
            for batch in batches {
                let batch = batch?;
                let season = set(client, &path, &batch, &progress)?;
                if at.season.as_ref().is_some_and(|before| *before != season) {
                    return Err(season_changed(&at, &season));
                }
                at = Position {
                    offset: batch.offset,
                    line: batch.line,
                    rows: at.rows + batch.rows,
                    season: Some(season),
                };
                noted.note(&at, &progress);
                progress.at(at.offset, at.rows);
            }
            Ok(())
        });
        if let Err(failure) = sent {
            let words = match at.rows {
                0 => "no row was set".to_owned(),
                rows if rows == noted.rows() => format!(
                    "{} rows were set; the same command goes on from there",
                    thousands(rows)
                ),
                rows => format!("{} rows were set", thousands(rows)),
            };
            return Err(failure.and(&words));
        }
        noted.forget()?;
        let (rows, season) = (at.rows, at.season);
        let speed = progress.finish(rows);
        if self.output.is_json() {
            let done = json!({"board": self.board, "season": season, "rows": rows});
            return print(done.to_string().as_bytes());
        }
        let season = season.map_or_else(String::new, |season| format!(", season {season}"));
        let rows = thousands(rows);
        print(format!("{}{season}: {rows} rows set, {speed}", self.board).as_bytes())
    }

    /// Replaces a closed season or a snapshot.
    fn replace(&self, client: &Client, kind: Kind, id: &str) -> Result<()> {
        let (list, word) = match kind {
            Kind::Scores => ("seasons", "season"),
            Kind::Snapshot => ("snapshots", "snapshot"),
        };
        let source = Source::open(&self.file, self.format, kind, &Position::default())?;
        let total = std::fs::metadata(&self.file).ok().map(|file| file.len());
        let progress = Progress::start(Unit::Bytes, total, 0, 0);
        let path = Path::v1(&["boards", &self.board, list, id]);
        let (reply, speed) = ahead(source, STREAM_ROWS, |batches| {
            // An empty file would replace what is there by nothing, which nobody means.
            let Some(first) = batches.next().transpose()? else {
                let words = format!("{} has no rows; nothing was imported", self.file.display());
                return Err(Failure::Other(words));
            };
            let mut body = Body { batches, batch: first, read: 0, rows: 0, progress, bad: None };
            let reply = client.stream_rows(&path, &mut body);
            match body.bad {
                Some(bad) => Err(bad.and("nothing was imported")),
                None => Ok((reply?, body.progress.finish(body.rows))),
            }
        })?;
        self.output.show(&reply, |done| {
            let players = thousands(done["players"].as_u64().unwrap_or(0));
            format!("{}, {word} {id}: {players} players, {speed}", self.board)
        })
    }
}

/// Reads batches on a thread of their own, one ahead of what `take` does with them.
fn ahead<T>(
    mut source: Source,
    rows: u64,
    take: impl FnOnce(&mut dyn Iterator<Item = Result<Batch>>) -> Result<T>,
) -> Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(batch) = source.next_batch(rows).transpose() {
                let bad = batch.is_err();
                // Nobody takes them any more after a failure.
                if sender.send(batch).is_err() || bad {
                    break;
                }
            }
        });
        // The receiver goes away with the closure, which ends a thread that waits to send.
        let mut receiver = receiver.into_iter();
        let taken = take(&mut receiver);
        drop(receiver);
        taken
    })
}

#[derive(Deserialize)]
struct ScoresSet {
    season: String,
}

/// Sets one batch, waiting while the server asks for it. Returns the season that took the rows.
fn set(client: &Client, path: &Path, batch: &Batch, progress: &Progress) -> Result<String> {
    for tried in 0.. {
        match client.put_rows(path, &batch.body) {
            Ok(reply) => return Ok(reply.json::<ScoresSet>()?.season),
            Err(Failure::Problem(problem)) if is_busy(&problem) && tried < RETRIES => {
                if tried == 0 {
                    progress.say(&format!("waiting: {}", problem.detail));
                }
                thread::sleep(problem.retry_after.unwrap_or(Duration::from_secs(1)));
            }
            Err(failure) => return Err(failure),
        }
    }
    unreachable!("the last try returns")
}

/// Whether the same request may be taken later. It may even have been applied: setting a score twice is setting it.
fn is_busy(problem: &Problem) -> bool {
    matches!(problem.status, 429 | 503)
}

fn season_changed(at: &Position, now: &str) -> Failure {
    let (rows, before) = (thousands(at.rows), at.season.as_deref().unwrap_or_default());
    Failure::Other(format!(
        "a new season has begun: {rows} rows are in {before}, the last ones in {now}; --restart sets all in {now}"
    ))
}

/// Batches as the body of a request.
struct Body<'a> {
    batches: &'a mut dyn Iterator<Item = Result<Batch>>,
    batch: Batch,
    /// How much of the batch has been read.
    read: usize,
    rows: u64,
    progress: Progress,
    /// The first bad row. The request is broken off, and the server imports nothing.
    bad: Option<Failure>,
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.batch.body.len() {
            self.rows += self.batch.rows;
            self.progress.at(self.batch.offset, self.rows);
            self.read = 0;
            match self.batches.next() {
                Some(Ok(batch)) => self.batch = batch,
                Some(Err(bad)) => {
                    self.bad = Some(bad);
                    return Err(io::Error::other("a row cannot be read"));
                }
                None => {
                    self.batch.body.clear();
                    self.batch.rows = 0;
                    return Ok(0);
                }
            }
        }
        let rest = &self.batch.body[self.read..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}
