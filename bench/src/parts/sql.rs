//! The same questions to an SQL database, for the table only: why a leaderboard is not a query.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use clap::Args;

use crate::{
    board::{Ids, count_text},
    client::{Load, closed},
    database::{Database, MariaDb, Postgres},
    meter::float,
    options::{Common, server_binary},
    progress,
    random::Random,
    report::{Report, Row},
    server::{Server, write_csv},
    work::Work,
};

/// Rank of a player and `RANK() OVER` in `MariaDB` and `PostgreSQL`, beside the same questions to the server.
///
/// Optional, and not part of `make bench`. Five million rows take some minutes to load.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Rows at most.
    #[arg(long, default_value_t = 5_000_000)]
    rows: u64,
    /// Players whose rank is asked for.
    #[arg(long, default_value_t = 20)]
    ranks: u64,
    /// The server's program [default: the one beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
}

/// What a question takes, in milliseconds.
struct Took {
    rank: f64,
    top: f64,
    window_function: f64,
    load: f64,
}

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let rows = arguments.common.players.min(arguments.rows);
    let scratch = arguments.common.scratch()?;
    let mut report = Report::new("sql", rows, scratch.path())?;
    drop(scratch);
    let files = arguments.common.scratch()?;
    let csv = files.path().join("players.csv");
    write_csv(&csv, Ids::Numbered, rows)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ours = runtime.block_on(ours(arguments, rows))?;
    let asked = Asked { csv: &csv, rows, ranks: arguments.ranks, ours };
    asked.of(&mut report, &MariaDb::start(arguments.common.scratch()?)?)?;
    asked.of(&mut report, &Postgres::start(arguments.common.scratch()?)?)?;
    report.write(&arguments.common.results)
}

/// What every database is asked, and what the server takes for it.
struct Asked<'a> {
    csv: &'a Path,
    rows: u64,
    ranks: u64,
    ours: (f64, f64),
}

impl Asked<'_> {
    fn of<D: Database>(&self, report: &mut Report, database: &D) -> Result<()> {
        report.versions.push(format!("{} {}", D::NAME, database.version()?.trim()));
        let theirs = self.ask(database)?;
        let (rank, top) = self.ours;
        let among = format!("among {}, one client; {}", count_text(self.rows), D::NAME);
        let note = "ours over HTTP; theirs COUNT(*) of those ahead, on an index";
        let row = Row::new(format!("rank of a player {among}"), "ms", rank);
        report.push(row.beside(theirs.rank).of("sql").note(note));
        let row = Row::new(format!("top 10 {among}"), "ms", top);
        report.push(row.beside(theirs.top).of("sql"));
        let row = Row::new(format!("rank of a player by RANK() OVER {among}"), "ms", rank);
        report.push(row.beside(theirs.window_function).of("sql"));
        report.push(Row::new(format!("load of the rows into {}", D::NAME), "s", theirs.load));
        Ok(())
    }

    fn ask<D: Database>(&self, database: &D) -> Result<Took> {
        progress::step(&format!("{}: loading {} rows", D::NAME, self.rows));
        let started = Instant::now();
        database.load(self.csv)?;
        let load = started.elapsed().as_secs_f64();
        let loaded = database.query("SELECT COUNT(*) FROM bench.scores")?;
        ensure!(loaded.trim() == self.rows.to_string(), "{} has {loaded} rows", D::NAME);
        let mut random = Random(3);
        let mut ask = |count: u64, question: fn(&str) -> String| -> Result<f64> {
            let mut id = || Ids::Numbered.id(random.below(self.rows));
            let questions: Vec<_> = (0..count).map(|_| question(id().as_ref())).collect();
            progress::step(&format!("{}: {} (× {count})", D::NAME, questions[0]));
            let started = Instant::now();
            let answers = database.query(&questions.join(";"))?;
            ensure!(!answers.is_empty(), "no answer");
            Ok(started.elapsed().as_secs_f64() * 1e3 / float(count))
        };
        Ok(Took {
            rank: ask(self.ranks, count_ahead)?,
            top: ask(self.ranks * 10, |_| {
                "SELECT * FROM bench.scores ORDER BY score DESC LIMIT 10".to_owned()
            })?,
            window_function: ask(1, rank_over)?,
            load,
        })
    }
}

fn count_ahead(id: &str) -> String {
    format!(
        "SELECT 1 + COUNT(*) FROM bench.scores WHERE score > (SELECT score FROM bench.scores WHERE user_id = '{id}')"
    )
}

fn rank_over(id: &str) -> String {
    format!(
        "SELECT place FROM (SELECT user_id, RANK() OVER (ORDER BY score DESC) AS place FROM bench.scores) ranked \
         WHERE user_id = '{id}'"
    )
}

/// One client that asks one thing after the other: a rank and the top 10.
async fn ours(arguments: &Arguments, players: u64) -> Result<(f64, f64)> {
    let binary = server_binary(arguments.server.as_ref())?;
    let server = Server::start(&binary, arguments.common.scratch()?).await?;
    server.load(Ids::Numbered, players).await?;
    let on = |work| Load { address: server.address, work, players, connections: 1 };
    let time = Duration::from_secs(2);
    let rank = closed(on(Work::Rank), time).await?.rate();
    let top = closed(on(Work::Top), time).await?.rate();
    Ok((1e3 / rank, 1e3 / top))
}
