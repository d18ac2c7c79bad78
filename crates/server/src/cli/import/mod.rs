//! `standings import`: sets scores from a file.
//!
//! Rows of the open season go in requests of [`BATCH_ROWS`]. A row sets a score and does not add to it, so that an import that failed is
//! repaired by running it again. A closed season or a snapshot is replaced whole by one request.
//!
//! A thread reads and checks rows while the server works on those before them. Rows are checked here, by the types the
//! server uses, so that a bad one is named by its number in the file.

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
    client::{Call, Client, Path},
    failure::{Failure, Result},
    output::{print, thousands, written},
    progress::{Progress, Unit},
};
pub(crate) use source::Format;
use source::{Batch, Source};

/// Rows in a request for the open season: some 3 MB, which a connection's buffers can hold. So a refusal can be read also where
/// the server does not read the rest.
const BATCH_ROWS: u64 = 50_000;

/// Rows in one piece of a streamed body: small, so that a slow pipe does not look like a stalled client.
const STREAM_ROWS: u64 = 4096;

/// How often a request is tried again while the server is busy: with the second it usually asks for, five minutes.
const RETRIES: u32 = 300;

/// Set scores from a CSV or NDJSON file.
///
/// Rows are `user_id,score[,at,user_name]`. A CSV file may have a header line that names its columns, in any order; NDJSON has
/// one object with these members on each line. `at` is RFC 3339 or milliseconds since 1970. Rows of a snapshot may also have
/// `official_rank`, given by someone else. In the open season a player's last row counts; elsewhere a player has one row. An
/// import that failed can be run again: each row sets the same.
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
    #[command(flatten)]
    call: Call,
}

impl Import {
    pub(crate) fn run(self) -> Result<()> {
        let client = self.call.client()?;
        let source = Source::open(&self.file, self.format, self.snapshot.is_some())?;
        let total = std::fs::metadata(&self.file).ok().map(|file| file.len());
        let progress = Progress::start(Unit::Bytes, total);
        match (&self.season, &self.snapshot) {
            (Some(id), _) => self.replace(&client, source, progress, "season", id),
            (None, Some(date)) => self.replace(&client, source, progress, "snapshot", date),
            (None, None) => self.set_open(&client, source, progress),
        }
    }

    fn set_open(&self, client: &Client, source: Source, mut progress: Progress) -> Result<()> {
        let path = Path::scores(Some(&self.board), &[]);
        let (mut rows, mut season) = (0, None);
        let set = ahead(source, BATCH_ROWS, |batches| {
            for batch in batches {
                let batch = batch?;
                let now = set(client, &path, &batch, &progress)?;
                if season.as_ref().is_some_and(|before| *before != now) {
                    let words =
                        format!("season {now} began meanwhile; run it again to set all rows in it");
                    return Err(Failure::Other(words));
                }
                season = Some(now);
                rows += batch.rows;
                progress.at(batch.offset, rows);
            }
            Ok(())
        });
        let words = match &season {
            Some(season) => {
                format!("{}, season {season}: {} rows set", self.board, thousands(rows))
            }
            None => format!("{}: no row was set", self.board),
        };
        set.map_err(|failure| failure.and(&words))?;
        let speed = progress.finish(rows);
        if self.call.output.is_json() {
            let done = json!({"board": self.board, "season": season, "rows": rows});
            return print(done.to_string().as_bytes());
        }
        print(format!("{words}, {speed}").as_bytes())
    }

    /// Replaces a closed season or a snapshot.
    fn replace(
        &self,
        client: &Client,
        source: Source,
        progress: Progress,
        word: &str,
        id: &str,
    ) -> Result<()> {
        let path = Path::v1(&["boards", &self.board, &format!("{word}s"), id]);
        let (reply, speed) = ahead(source, STREAM_ROWS, |batches| {
            // An empty file would replace what is there by nothing: more likely a mistake.
            let Some(batch) = batches.next().transpose()? else {
                let words = format!("{} has no rows; nothing was imported", self.file.display());
                return Err(Failure::Other(words));
            };
            let mut body = Body { batches, batch, read: 0, rows: 0, progress, bad: None };
            let reply = client.stream_rows(&path, &mut body);
            match body.bad {
                Some(bad) => Err(bad.and("nothing was imported")),
                None => Ok((reply?, body.progress.finish(body.rows))),
            }
        })?;
        self.call
            .output
            .show(&reply, |done| format!("{}, {word} {id}: {}, {speed}", self.board, written(done)))
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
                // There is no receiver any more after a failure.
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
    let mut tried = 0;
    loop {
        match client.put_rows(path, &batch.body) {
            // It may even have been applied: setting a score twice is setting it.
            Err(Failure::Problem(problem))
                if matches!(problem.status, 429 | 503) && tried < RETRIES =>
            {
                if tried == 0 {
                    progress.say(&format!("waiting: {}", problem.detail));
                }
                tried += 1;
                thread::sleep(problem.retry_after.unwrap_or(Duration::from_secs(1)));
            }
            reply => return Ok(reply?.json::<ScoresSet>()?.season),
        }
    }
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
                }
            }
        }
        let count = (&self.batch.body[self.read..]).read(buffer)?;
        self.read += count;
        Ok(count)
    }
}
