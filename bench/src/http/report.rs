//! The table: on the screen, as Markdown and as JSON.

use std::{
    fmt::Write as _,
    path::Path,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use serde::Serialize;
use standings_core::Millis;

/// One figure beside its peer and its target.
#[derive(Serialize)]
pub(crate) struct Row {
    figure: String,
    ours: f64,
    peer: Option<f64>,
    ratio: Option<f64>,
    target: String,
    met: Option<bool>,
    note: String,
}

impl Row {
    /// A rate that is to reach a multiple of the peer's.
    pub(crate) fn throughput(
        figure: String,
        ours: f64,
        peer: Option<f64>,
        target: f64,
        note: &str,
    ) -> Self {
        let ratio = peer.map(|peer| ours / peer);
        let met = ratio.map(|ratio| ratio >= target);
        let target = format!("{target} × Redis");
        Self { figure, ours, peer, ratio, target, met, note: note.to_owned() }
    }

    /// A rate that is to reach a figure.
    pub(crate) fn absolute(figure: String, ours: f64, target: f64, note: &str) -> Self {
        let met = Some(ours >= target);
        let (target, note) = (target.to_string(), note.to_owned());
        Self { figure, ours, peer: None, ratio: None, target, met, note }
    }

    /// A figure that is to stay within a limit.
    pub(crate) fn at_most(figure: String, ours: f64, most: f64, note: &str) -> Self {
        let met = Some(ours <= most);
        let (target, note) = (format!("at most {most}"), note.to_owned());
        Self { figure, ours, peer: None, ratio: None, target, met, note }
    }

    fn markdown(&self) -> String {
        let number = |value: f64| {
            if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.2}") }
        };
        let optional = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
        let met = match self.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "–",
        };
        format!(
            "| {} | {} | {} | {} | {} | {met} | {} |",
            self.figure,
            number(self.ours),
            optional(self.peer),
            optional(self.ratio),
            self.target,
            self.note
        )
    }
}

/// All figures of a run, and what they were measured on.
#[derive(Serialize)]
pub(crate) struct Report {
    date: String,
    cpu: String,
    cores: usize,
    memory_of_machine: String,
    kernel: String,
    standings: String,
    redis: String,
    players: u64,
    connections: usize,
    /// What the server keeps in memory once the board is loaded.
    pub(crate) memory: Option<u64>,
    pub(crate) rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(players: u64, connections: usize, server: &Path) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(Self {
            date: Millis(i64::try_from(now.as_secs())? * 1000).to_string(),
            cpu: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism()?.get(),
            memory_of_machine: field("/proc/meminfo", "MemTotal"),
            kernel: output("uname", &["-sr"]),
            standings: output(&server.display().to_string(), &["--version"]),
            redis: output("redis-server", &["--version"]),
            players,
            connections,
            memory: None,
            rows: Vec::new(),
        })
    }

    /// Prints the table and writes it beside its figures.
    pub(crate) fn write(&self, to: &Path) -> Result<()> {
        let table = self.markdown()?;
        print!("{table}");
        std::fs::create_dir_all(to)?;
        std::fs::write(to.join("http.md"), table)?;
        std::fs::write(to.join("http.json"), serde_json::to_string_pretty(self)? + "\n")?;
        Ok(())
    }

    fn markdown(&self) -> Result<String> {
        let mut text = String::new();
        writeln!(
            text,
            "{}; {}, {} cores, {}; {}; {}; {}.\n\n{} players, {} connections, generator and servers on the same machine.\n",
            self.date,
            self.cpu,
            self.cores,
            self.memory_of_machine,
            self.kernel,
            self.standings,
            self.redis,
            self.players,
            self.connections
        )?;
        writeln!(
            text,
            "| figure | Standings | Redis | ratio | target | | |\n|---|---|---|---|---|---|---|"
        )?;
        for row in &self.rows {
            writeln!(text, "{}", row.markdown())?;
        }
        Ok(text)
    }
}

/// A line's value in a file of the kernel.
fn field(file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim());
    value.unwrap_or("unknown").to_owned()
}

/// What a program says of itself.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().trim().to_owned()
}
