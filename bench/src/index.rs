//! What the rank index costs: bytes a player, and nanoseconds for each thing an engine asks of it.
//!
//! One thread, no I/O, time on the processor. The board is deterministic (see `index_board`). `--redis` loads the same board into a Redis that
//! the program starts itself, and compares with what Redis says its commands cost inside the server.

mod index_board;
mod index_redis;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use index_board::{Id, Ids, MONTH, Random, START, after_win, sorted};
use standings_core::rank_index::WARM;
use standings_core::{Position, RankIndex, Record};

/// Measures the rank index.
#[derive(Parser)]
struct Arguments {
    /// Numbers of players, each a board of its own.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000_000, 25_000_000])]
    sizes: Vec<u64>,
    /// Operations of each kind that are timed.
    #[arg(long, default_value_t = 2_000_000)]
    operations: u64,
    /// Random updates between loading and measuring, so that the board is not as tidy as one just loaded; as many as
    /// there are players, unless given.
    #[arg(long)]
    churn: Option<u64>,
    /// Only ids that pack.
    #[arg(long)]
    hex_only: bool,
    /// Load the same boards into a Redis and compare.
    #[arg(long)]
    redis: bool,
}

/// One column of the table.
struct Figures {
    heading: String,
    /// Name and value, in the order in which they are printed.
    rows: Vec<(&'static str, f64)>,
}

impl Figures {
    fn get(&self, name: &str) -> f64 {
        self.rows.iter().find(|(row, _)| *row == name).map_or(f64::NAN, |(_, value)| *value)
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut columns = Vec::new();
    for &players in &arguments.sizes {
        columns.push(measure(Ids::Hex, players, &arguments));
        if !arguments.hex_only {
            columns.push(measure(Ids::Text, players, &arguments));
        }
    }
    print_table(&columns);
    print_growth(&columns);
    if arguments.redis {
        for &players in &arguments.sizes {
            let peer = index_redis::measure(players, arguments.operations.min(500_000))?;
            let heading = heading(Ids::Hex, players);
            let ours = columns.iter().find(|column| column.heading == heading);
            print_comparison(ours.expect("every size was measured"), &peer);
        }
    }
    Ok(())
}

fn heading(ids: Ids, players: u64) -> String {
    format!("{} M, {}", float(players) / 1e6, ids.name())
}

fn measure(ids: Ids, players: u64, arguments: &Arguments) -> Figures {
    let heading = heading(ids, players);
    eprintln!("{heading}: sorting");
    let rows = sorted(ids, players);
    let resident = resident_bytes();
    eprintln!("{heading}: loading");
    let start = Clock::start();
    let expected = rows.len();
    let sorted = rows.iter().map(|(record, player)| (ids.id(*player), *record));
    let mut index = RankIndex::from_sorted(sorted, expected).expect("the rows are sorted");
    let load = start.nanoseconds() / 1e9;
    let loaded = float(index.memory_bytes() as u64);
    let loaded_resident = resident_bytes() - resident;
    drop(rows);

    let churn = arguments.churn.unwrap_or(players);
    eprintln!("{heading}: {churn} updates");
    let mut run = Run { ids, players, random: Random(players), now: START + MONTH };
    let before_churn = (resident_bytes(), loaded);
    let mut left = churn;
    while left > 0 {
        let count = left.min(100_000);
        run.update_in_batches(&mut index, count);
        left -= count;
    }
    let churned = float(index.memory_bytes() as u64);
    let churned_resident = loaded_resident + resident_bytes() - before_churn.0;

    eprintln!("{heading}: measuring");
    let n = arguments.operations;
    let each = float(players);
    let rows = vec![
        ("bytes a player, loaded", loaded / each),
        ("  resident", loaded_resident / each),
        ("bytes a player, after updates", churned / each),
        ("  resident", churned_resident / each),
        ("load in order, s", load),
        ("update, ns", run.update(&mut index, n)),
        ("update, batches, ns", run.update_in_batches(&mut index, n)),
        ("rank, earliest leads, ns", run.rank(n, 1, |id| index.position(id).map(|found| found.0))),
        (
            "rank, ties share, ns",
            run.rank(n, 1, |id| index.shared_position(id).map(|found| found.0)),
        ),
        ("rank, earliest, batches, ns", run.rank_in_batches(&index, n, false)),
        ("rank, shared, batches, ns", run.rank_in_batches(&index, n, true)),
        ("nine-row window, ns", run.rank(n / 4, 1, |id| window(&index, id))),
        ("top 10, ns", run.rank(n / 4, 0, |_| rows_from(&index, 0, 10))),
        ("insert of a new player, ns", run.insert(&mut index, n / 4)),
    ];
    Figures { heading, rows }
}

/// The rank of a player with the four before and after.
fn window(index: &RankIndex, id: &str) -> Option<u64> {
    let (position, _) = index.position(id)?;
    Some(rows_from(index, position.0.saturating_sub(4), 9))
}

/// Visits some rows and returns something made of them.
fn rows_from(index: &RankIndex, from: u64, rows: u64) -> u64 {
    let (mut left, mut sum) = (rows, 0);
    index.scan(Position(from), |id, record| {
        sum += record.key.folded.unsigned_abs() + id.len() as u64;
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    sum
}

/// Random players and a clock that goes on.
struct Run {
    ids: Ids,
    players: u64,
    random: Random,
    now: i64,
}

impl Run {
    /// Ids and points are made before the clock starts.
    fn players(&mut self, count: u64) -> Vec<(Id, u64)> {
        let player =
            |run: &mut Self| (run.ids.id(run.random.below(run.players)), 1 + run.random.below(10));
        (0..count).map(|_| player(self)).collect()
    }

    /// What a win does: read the entry, add points, store it.
    fn update(&mut self, index: &mut RankIndex, count: u64) -> f64 {
        let players = self.players(count);
        let start = Clock::start();
        for (id, points) in &players {
            self.now += 20;
            let record = index.get(id.as_ref()).expect("all players are loaded");
            black_box(index.upsert(id.as_ref(), after_win(record, *points, self.now)));
        }
        per(&start, count)
    }

    fn update_in_batches(&mut self, index: &mut RankIndex, count: u64) -> f64 {
        let players = self.players(count);
        let mut records: Vec<Record> = Vec::new();
        let start = Clock::start();
        for batch in players.chunks(WARM) {
            let ids: [&str; WARM] =
                std::array::from_fn(|at| batch.get(at).map_or("", |(id, _)| id.as_ref()));
            index.warm(&ids[..batch.len()]);
            records.clear();
            for (id, points) in batch {
                self.now += 20;
                let record = index.get(id.as_ref()).expect("all players are loaded");
                records.push(after_win(record, *points, self.now));
            }
            let keys: [_; WARM] = std::array::from_fn(|at| records[at.min(records.len() - 1)].key);
            index.warm_keys(&keys[..batch.len()]);
            // A player who comes twice in a batch loses points here, which costs neither more nor less.
            for ((id, _), record) in batch.iter().zip(&records) {
                black_box(index.upsert(id.as_ref(), *record));
            }
        }
        per(&start, count)
    }

    fn rank<R>(&mut self, count: u64, step: u64, ask: impl Fn(&str) -> R) -> f64 {
        let players = self.players(if step == 0 { 1 } else { count });
        let start = Clock::start();
        for at in 0..count {
            let (id, _) = &players[usize::try_from(at * step).expect("an index")];
            black_box(ask(id.as_ref()));
        }
        per(&start, count)
    }

    fn rank_in_batches(&mut self, index: &RankIndex, count: u64, shared: bool) -> f64 {
        let players = self.players(count);
        let start = Clock::start();
        for batch in players.chunks(WARM) {
            let ids: [&str; WARM] =
                std::array::from_fn(|at| batch.get(at).map_or("", |(id, _)| id.as_ref()));
            index.warm(&ids[..batch.len()]);
            for id in &ids[..batch.len()] {
                if shared {
                    black_box(index.shared_position(id));
                } else {
                    black_box(index.position(id));
                }
            }
        }
        per(&start, count)
    }

    fn insert(&mut self, index: &mut RankIndex, count: u64) -> f64 {
        let new = self.players..self.players + count;
        let rows: Vec<_> =
            new.map(|player| (self.ids.id(player), index_board::first_record(player))).collect();
        let start = Clock::start();
        for (id, record) in &rows {
            black_box(index.upsert(id.as_ref(), *record));
        }
        per(&start, count)
    }
}

/// The time that this thread was on a processor: on a machine that does other things as well, what the others take does
/// not count. Waiting for memory does.
struct Clock {
    on_processor: Option<u64>,
    wall: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { on_processor: Self::read(), wall: Instant::now() }
    }

    /// Linux tells it in nanoseconds; elsewhere the wall clock has to do.
    fn read() -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        stat.split(' ').next()?.parse().ok()
    }

    fn nanoseconds(&self) -> f64 {
        match self.on_processor.zip(Self::read()) {
            Some((start, end)) => float(end - start),
            None => self.wall.elapsed().as_secs_f64() * 1e9,
        }
    }
}

fn per(start: &Clock, count: u64) -> f64 {
    start.nanoseconds() / float(count)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Memory of this process that is in RAM; 0 where the system does not tell.
fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    float(pages.unwrap_or(0)) * 4096.0
}

fn print_table(columns: &[Figures]) {
    print!("{:<32}", "");
    for column in columns {
        print!("{:>24}", column.heading);
    }
    println!();
    for (at, (name, _)) in columns[0].rows.iter().enumerate() {
        print!("{name:<32}");
        for column in columns {
            print!("{:>24.2}", column.rows[at].1);
        }
        println!();
    }
}

/// How much a large board costs over a small one.
fn print_growth(columns: &[Figures]) {
    let hex: Vec<_> =
        columns.iter().filter(|column| column.heading.ends_with(Ids::Hex.name())).collect();
    if let [small, .., large] = hex[..] {
        println!("\n{} over {} (target: at most 2)", large.heading, small.heading);
        for name in ["update, ns", "rank, earliest leads, ns", "rank, ties share, ns"] {
            println!("{name:<32}{:>8.2}", large.get(name) / small.get(name));
        }
    }
}

fn print_comparison(ours: &Figures, peer: &index_redis::Peer) {
    println!("\n{:<32}{:>12}{:>12}{:>10}{:>10}", ours.heading, "index", "redis", "ratio", "target");
    // The targets for a Redis set grown by inserts, as this one is: after a restart Redis is twice as fast, and the
    // targets half. Redis counts wall time, which a busy machine lengthens: compare on an idle one.
    let rows = [
        ("bytes a player, after updates", peer.bytes_per_player, 4.9),
        ("update, ns", peer.update_ns, 20.0),
        ("update, batches, ns", peer.update_ns, 40.0),
        ("rank, earliest leads, ns", peer.rank_ns, 16.0),
        ("rank, ties share, ns", peer.rank_ns, 16.0),
        ("rank, earliest, batches, ns", peer.rank_ns, 40.0),
    ];
    for (name, theirs, target) in rows {
        let ratio = theirs / ours.get(name);
        let met = if ratio >= target { "met" } else { "not met" };
        println!(
            "{name:<32}{:>12.1}{theirs:>12.1}{ratio:>10.1}{target:>10.1} {met}",
            ours.get(name)
        );
    }
}
