//! The table of targets, in its order, composed from the figures of all parts.

use std::{fmt::Write as _, path::Path};

use anyhow::Result;
use serde::Serialize;

use crate::{
    board::count_text,
    report::{Report, Row},
};

/// The parts, in the order in which they run.
pub const PARTS: [&str; 8] =
    ["index", "http", "named", "restart", "scale", "history", "midnight", "soak"];

/// The rows: the name by which figures refer to it, what it is, and the part that measures it.
pub const ROWS: [(&str, &str, &str); 21] = [
    ("memory", "memory per player, everything included, 24 hex digits as id", "restart"),
    ("memory-text", "the same, ids that do not pack (any 24 bytes)", "restart"),
    ("update", "one score update inside the engine, without the flush", "index"),
    ("rank", "one rank query inside the engine", "index"),
    ("growth", "cost of update and rank over the cost at 1 million", "index"),
    ("post", "single `POST …/scores`, durable", "http"),
    ("batches", "batches of 1,000, durable, full HTTP stack", "http"),
    ("get-rank", "`GET …/scores/{user_id}`", "http"),
    ("top", "`GET …/scores` (top 10)", "http"),
    ("around", "`GET …/scores/{user_id}?around=4`", "http"),
    ("design", "the design's own load, 2,500 submissions and 50 top-10 reads a second", "soak"),
    ("reads-under-writes", "reads while 20,000 scores a second are written", "http"),
    ("paging", "submissions while four anonymous clients page through players with names", "named"),
    ("freeze", "closing a season, daily snapshot: no submission waits over 50 ms", "history"),
    (
        "midnight",
        "100,000 boards whose seasons end at once: no submission and no read waits over 50 ms",
        "midnight",
    ),
    ("restart", "restart until ready", "restart"),
    ("load", "load through `import`", "restart"),
    ("sql", "the same questions to MariaDB and PostgreSQL (for the table only)", "sql"),
    ("growth-boards", "growth: with boards", "scale"),
    ("growth-seasons", "growth: with closed seasons", "scale"),
    ("growth-history", "growth: with history", "scale"),
];

/// A row of the table as JSON: what it is, and the figures that belong to it.
#[derive(Serialize)]
struct Target<'a> {
    row: &'a str,
    what: &'a str,
    figures: Vec<Figure<'a>>,
}

#[derive(Serialize)]
struct Figure<'a> {
    part: &'a str,
    players: u64,
    date: &'a str,
    #[serde(flatten)]
    row: &'a Row,
}

/// Reads what the parts wrote; those that have not run are left out.
pub fn reports(from: &Path) -> Result<Vec<Report>> {
    let read = |part: &&str| Report::read(from, part).transpose();
    PARTS.iter().chain(&["sql"]).filter_map(read).collect()
}

fn compose(reports: &[Report]) -> Vec<Target<'_>> {
    let target = |(row, what, _): &(&'static str, &'static str, &'static str)| {
        let figures = reports.iter().flat_map(|report| {
            let own = report.rows.iter().filter(|found| found.row.as_deref() == Some(row));
            own.map(|row| Figure {
                part: &report.part,
                players: report.players,
                date: &report.date,
                row,
            })
        });
        Target { row, what, figures: figures.collect() }
    };
    ROWS.iter().map(target).collect()
}

/// Prints the table and writes it as Markdown and as JSON.
pub fn write(reports: &[Report], to: &Path) -> Result<()> {
    let targets = compose(reports);
    let table = markdown(reports, &targets)?;
    println!("{table}");
    std::fs::create_dir_all(to)?;
    std::fs::write(to.join("targets.md"), table)?;
    std::fs::write(to.join("targets.json"), serde_json::to_string_pretty(&targets)? + "\n")?;
    Ok(())
}

fn markdown(reports: &[Report], targets: &[Target<'_>]) -> Result<String> {
    let mut text = String::new();
    let all = || targets.iter().flat_map(|target| &target.figures);
    let count = |met| all().filter(|figure| figure.row.met == Some(met)).count();
    writeln!(
        text,
        "{} figures meet their target, {} miss it. The targets are for 25 million players.\n",
        count(true),
        count(false)
    )?;
    writeln!(text, "| target | figure | players | Standings | peer | ratio | to reach | |")?;
    writeln!(text, "|---|---|---|---|---|---|---|---|")?;
    for (target, (_, _, part)) in targets.iter().zip(&ROWS) {
        if target.figures.is_empty() {
            writeln!(text, "| {} | not measured: `make bench-{part}` | | | | | | |", target.what)?;
        }
        for (at, figure) in target.figures.iter().enumerate() {
            let what = if at == 0 { target.what } else { "" };
            let (name, players) = (&figure.row.figure, count_text(figure.players));
            writeln!(text, "| {what} | {name} | {players} | {} |", figure.row.cells())?;
        }
    }
    writeln!(text)?;
    for report in reports {
        writeln!(text, "- `make bench-{}`, {}", report.part, report.conditions())?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_there_in_order_measured_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut report = Report::new("restart", 10_000, dir.path()).unwrap();
        report.push(Row::new("import", "s", 4.0).beside(9.0).of("load").at_most_one_in(3.0));
        report.push(Row::new("restart", "s", 1.0).beside(9.0).of("restart").at_most_one_in(3.0));
        let reports = [report];
        let table = markdown(&reports, &compose(&reports)).unwrap();
        assert!(table.starts_with("1 figures meet their target, 1 miss it."));
        assert!(table.contains("| load through `import` | import | 10,000 | 4 s | 9 s | 1/2.25 |"));
        assert!(table.contains("not measured: `make bench-soak`"));
        let places: Vec<_> = ROWS.iter().map(|(_, what, _)| table.find(what).unwrap()).collect();
        assert!(places.is_sorted());
    }
}
