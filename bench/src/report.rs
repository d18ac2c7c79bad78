//! The table of a part: on the screen, as Markdown and as JSON.

use std::{fmt::Write as _, path::Path, process::Command};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use standings_core::Millis;
use standings_engine::{Clock as _, SystemClock};

use crate::{board::count_text, meter::float};

/// One figure beside its peer and its target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub figure: String,
    /// What it is counted in.
    pub unit: String,
    /// Ours.
    pub ours: f64,
    /// The peer's, measured in the same run.
    pub peer: Option<f64>,
    /// Ours over the peer's.
    pub ratio: Option<f64>,
    /// What is to be reached.
    pub target: String,
    /// Whether it is; `None` where there is no target, or no peer to compare with.
    pub met: Option<bool>,
    /// What else there is to say.
    pub note: String,
    /// The row of the table of targets that it belongs to.
    pub row: Option<String>,
}

impl Row {
    /// A figure that only describes.
    pub fn new(figure: impl Into<String>, unit: &str, ours: f64) -> Self {
        Self {
            figure: figure.into(),
            unit: unit.to_owned(),
            ours,
            peer: None,
            ratio: None,
            target: String::new(),
            met: None,
            note: String::new(),
            row: None,
        }
    }

    /// The row of the table of targets that it belongs to: one of [`crate::targets::ROWS`].
    pub fn of(mut self, row: &str) -> Self {
        self.row = Some(row.to_owned());
        self
    }

    /// What the peer needs or reaches.
    pub fn beside(mut self, peer: impl Into<Option<f64>>) -> Self {
        self.peer = peer.into();
        self.ratio = self.peer.map(|peer| self.ours / peer);
        self
    }

    /// Something else to say.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// It is to reach a multiple of the peer's.
    pub fn at_least_times(mut self, times: f64) -> Self {
        self.target = format!("at least {times:.1} ×");
        self.met = self.ratio.map(|ratio| ratio >= times);
        self
    }

    /// It is to be at most one of so many parts of the peer's.
    pub fn at_most_one_in(mut self, parts: f64) -> Self {
        self.target = format!("at most 1/{parts}");
        self.met = self.ratio.map(|ratio| ratio <= 1.0 / parts);
        self
    }

    /// It is to be at most a multiple of the peer's.
    pub fn at_most_times(mut self, times: f64) -> Self {
        self.target = format!("at most {} ×", number(times));
        self.met = self.ratio.map(|ratio| ratio <= times);
        self
    }

    /// It is to reach a figure.
    pub fn at_least(mut self, least: f64) -> Self {
        self.target = format!("at least {}", number(least));
        self.met = Some(self.ours >= least);
        self
    }

    /// It is to stay within a limit.
    pub fn at_most(mut self, most: f64) -> Self {
        self.target = format!("at most {}", number(most));
        self.met = Some(self.ours <= most);
        self
    }

    /// The cells that every table has: ours, the peer's, ratio, target, met or not.
    pub fn cells(&self) -> String {
        let met = match self.met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "–",
        };
        let optional = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!(
            "{}{unit} | {} | {} | {} | {met}",
            number(self.ours),
            optional(self.peer.map(|peer| format!("{}{unit}", number(peer)))),
            optional(self.ratio.map(ratio_text)),
            if self.target.is_empty() { "–" } else { &self.target },
        )
    }
}

/// A ratio as targets are written: `1/12` or `1.8`.
fn ratio_text(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.5 { format!("1/{}", number(1.0 / ratio)) } else { number(ratio) }
}

/// A value with as many digits as matter.
pub fn number(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded, and not negative"
    )]
    let whole = || thousands(value.round() as u64);
    match value {
        1000.0.. => whole(),
        100.0.. => format!("{value:.0}"),
        10.0.. => trimmed(format!("{value:.1}")),
        _ => trimmed(format!("{value:.2}")),
    }
}

/// Without zeros at the end of a fraction.
fn trimmed(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A count with commas.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One line of a chart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// The chart it belongs to: one of those in [`crate::charts`].
    pub chart: String,
    /// For the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// What a run was measured on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The processor.
    pub cpu: String,
    /// How many of its cores there are.
    pub cores: usize,
    /// RAM.
    pub memory: String,
    /// The kernel.
    pub kernel: String,
    /// The file system that the data was on.
    pub disk: String,
}

/// All figures of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Which part.
    pub part: String,
    /// When it began.
    pub date: String,
    /// Players on the board.
    pub players: u64,
    /// What else the figures depend on.
    pub settings: String,
    /// Where.
    pub machine: Machine,
    /// Of what was measured.
    pub versions: Vec<String>,
    /// The figures.
    pub rows: Vec<Row>,
    /// Lines for charts.
    pub series: Vec<Series>,
}

impl Report {
    /// An empty report of a part whose data is in `dir`.
    pub fn new(part: &str, players: u64, dir: &Path) -> Result<Self> {
        let cores = std::thread::available_parallelism()?.get();
        let machine = Machine {
            cpu: field("/proc/cpuinfo", "model name"),
            cores,
            memory: gibibytes(&field("/proc/meminfo", "MemTotal")),
            kernel: output("uname", &["-sr"]),
            disk: last_line(&output("df", &["--output=fstype", &dir.display().to_string()])),
        };
        let commit = output("git", &["rev-parse", "--short", "HEAD"]);
        let version = format!("standings {} {commit}", env!("CARGO_PKG_VERSION"));
        let now = SystemClock.now().0;
        Ok(Self {
            part: part.to_owned(),
            date: Millis(now - now % 1000).to_string(),
            players,
            settings: String::new(),
            machine,
            versions: vec![version.trim_end().to_owned()],
            rows: Vec::new(),
            series: Vec::new(),
        })
    }

    /// Says that Redis is the peer, and which one.
    pub fn beside_redis(mut self) -> Self {
        let version = output("redis-server", &["--version"]);
        self.versions.extend((!version.is_empty()).then_some(version));
        self
    }

    /// Says what else the figures depend on.
    pub fn under(mut self, settings: impl Into<String>) -> Self {
        self.settings = settings.into();
        self
    }

    /// Adds a figure and shows it, so that a long run can be followed.
    pub fn push(&mut self, row: Row) {
        eprintln!("          {} | {}", row.figure, row.cells());
        self.rows.push(row);
    }

    /// Adds a line of a chart.
    pub fn line(&mut self, chart: &str, name: impl Into<String>, points: Vec<(f64, f64)>) {
        self.series.push(Series { chart: chart.to_owned(), name: name.into(), points });
    }

    /// The figure of that name.
    pub fn get(&self, figure: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.figure == figure).map(|row| row.ours)
    }

    /// Prints the table and writes it beside its figures.
    pub fn write(&self, to: &Path) -> Result<()> {
        let table = self.markdown()?;
        println!("\n{table}");
        std::fs::create_dir_all(to)?;
        std::fs::write(to.join(format!("{}.md", self.part)), table)?;
        let json = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(to.join(format!("{}.json", self.part)), json)?;
        Ok(())
    }

    /// Reads what [`Self::write`] wrote; `None` where the part has not run.
    pub fn read(from: &Path, part: &str) -> Result<Option<Self>> {
        let file = from.join(format!("{part}.json"));
        if !file.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&file)?;
        let report = serde_json::from_str(&text);
        Ok(Some(report.with_context(|| format!("{} is not a report", file.display()))?))
    }

    /// What it was measured on, in one sentence.
    pub fn conditions(&self) -> String {
        let Machine { cpu, cores, memory, kernel, disk } = &self.machine;
        let versions: Vec<_> = self.versions.iter().map(|version| short(version)).collect();
        format!(
            "{}: {} players{}{}; {cores} cores of {cpu}, {memory}, {disk}, {kernel}; {}.",
            self.date,
            count_text(self.players),
            if self.settings.is_empty() { "" } else { ", " },
            self.settings,
            versions.join("; ")
        )
    }

    fn markdown(&self) -> Result<String> {
        let mut text = format!("{}\n\n", self.conditions());
        writeln!(
            text,
            "| figure | Standings | peer | ratio | target | | |\n|---|---|---|---|---|---|---|"
        )?;
        for row in &self.rows {
            writeln!(text, "| {} | {} | {} |", row.figure, row.cells(), row.note)?;
        }
        Ok(text)
    }
}

/// `Redis server v=7.0.15 sha=… bits=64` without the build's details.
fn short(version: &str) -> String {
    version.split(" sha=").next().unwrap_or(version).replace("Redis server v=", "Redis ")
}

/// Megabytes.
pub fn megabytes(bytes: u64) -> f64 {
    float(bytes) / 1e6
}

/// A line's value in a file of the kernel.
fn field(file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim());
    value.unwrap_or("unknown").to_owned()
}

/// `24682416 kB` as people say it.
fn gibibytes(text: &str) -> String {
    let kilobytes = text.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    kilobytes.map_or_else(String::new, |count| format!("{:.0} GiB", float(count) / 1_048_576.0))
}

fn last_line(text: &str) -> String {
    text.lines().next_back().unwrap_or_default().to_owned()
}

/// What a program says; nothing where it is not there.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_or_missed_by_the_ratio() {
        let update = |ours| Row::new("update", "ns", ours).beside(20_000.0).at_most_one_in(20.0);
        assert_eq!((update(900.0).met, update(1_100.0).met), (Some(true), Some(false)));
        let rate = |ours| Row::new("rate", "/s", ours).beside(50_000.0).at_least_times(1.0);
        assert_eq!((rate(50_000.0).met, rate(49_000.0).met), (Some(true), Some(false)));
        let alone = Row::new("rate", "/s", 1.0).beside(None).at_least_times(1.0);
        assert_eq!((alone.met, alone.ratio), (None, None));
    }

    #[test]
    fn cells_are_for_people() {
        let row = Row::new("update", "ns", 1234.5).beside(20_000.0).at_most_one_in(20.0);
        assert_eq!(row.cells(), "1,235 ns | 20,000 ns | 1/16.2 | at most 1/20 | **missed**");
        let row = Row::new("wait", "ms", 4.25).at_most(5.0);
        assert_eq!(row.cells(), "4.25 ms | – | – | at most 5 | met");
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        for (value, text) in [
            (0.5, "0.5"),
            (1.0, "1"),
            (26.04, "26"),
            (99.94, "99.9"),
            (1e6, "1,000,000"),
            (250.2, "250"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut report = Report::new("some", 25_000_000, dir.path()).unwrap();
        report.push(Row::new("memory", "B", 25.0).of("memory").at_most(26.0));
        report.line("growth", "update", vec![(1.0, 2.0)]);
        report.write(dir.path()).unwrap();
        let read = Report::read(dir.path(), "some").unwrap().unwrap();
        assert_eq!(read.get("memory"), Some(25.0));
        assert_eq!(read.series[0].points, [(1.0, 2.0)]);
        assert!(Report::read(dir.path(), "other").unwrap().is_none());
        let table = std::fs::read_to_string(dir.path().join("some.md")).unwrap();
        assert!(table.contains("25 million players") && table.contains("at most 26 | met"));
    }
}
