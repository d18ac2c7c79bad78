//! The rank index beside Redis: bytes a player, and what each operation costs, at several sizes.

use anyhow::Result;
use clap::Args;

use crate::{
    board::{Ids, count_text},
    index::{Board, Costs, Plan},
    memory_floor,
    meter::{float, median},
    options::Common,
    progress,
    redis::{self, Redis, State},
    report::{Report, Row},
};

/// The rank index alone and what Redis says its commands cost inside the server, at 10 thousand players and up.
///
/// One thread, no I/O, time on the processor, in turns with Redis, which is idle meanwhile. Redis counts wall time, which a busy machine
/// lengthens: compare on an idle one. At 25 million players it takes about 12 minutes, most of them for loading Redis.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Numbers of players below `--players` that are measured as well.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000, 5_000_000])]
    sizes: Vec<u64>,
    /// Operations of each kind that are timed, beside each state of Redis; of Redis a quarter of it, up to 500,000 and to a quarter of the
    /// players.
    #[arg(long, default_value_t = 2_000_000)]
    operations: u64,
    /// Random updates between loading and measuring [default: as many as there are players, up to 10 million].
    #[arg(long)]
    churn: Option<u64>,
    /// Only ids that pack.
    #[arg(long)]
    hex_only: bool,
    /// Leave Redis out.
    #[arg(long)]
    no_redis: bool,
}

/// What one size came to.
struct Measured {
    players: u64,
    /// Bytes a player of the index as it was loaded, and after updates.
    loaded: f64,
    churned: f64,
    /// Seconds to load everyone in order, and nanoseconds for a new player.
    load: f64,
    insert: f64,
    /// In turns with Redis as inserts have left it, and after its restart.
    grown: Beside,
    restarted: Beside,
    /// Bytes a player that Redis says it uses.
    peer_bytes: Option<f64>,
}

/// The index and Redis in turns: how fast the machine's memory is changes within minutes, so that one after the other would compare
/// the hours.
#[derive(Clone, Copy)]
struct Beside {
    ours: Costs,
    peer: Option<redis::Costs>,
}

/// Turns that each takes. What counts is the median.
const TURNS: u64 = 5;

/// A figure of one size.
type Of = fn(&Measured) -> Option<f64>;

/// The size over which growth is counted.
const MILLION: u64 = 1_000_000;

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let scratch = arguments.common.scratch()?;
    let mut report = Report::new("index", arguments.common.players, scratch.path())?
        .beside_redis()
        .under("24 hex digits as ids, one thread, no I/O");
    progress::step("the machine's memory");
    let floor = memory_floor::measure();
    let mut all = Vec::new();
    for players in sizes(arguments) {
        all.push(measure(arguments, players)?);
    }
    let largest = all.last().expect("there is at least one size");
    memory(&mut report, largest, arguments);
    costs(&mut report, largest);
    growth(&mut report, &all);
    report.push(
        Row::new(
            "the machine: a random read of memory that waits for the one before",
            "ns",
            floor.dependent,
        )
        .note("512 MiB in huge pages; a rank is three of them in a row"),
    );
    report.push(Row::new("the machine: one of 64 reads fetched ahead", "ns", floor.fetched_ahead));
    lines(&mut report, &all);
    report.write(&arguments.common.results)
}

/// One size, with Redis loaded beside it and idle while the index is measured.
fn measure(arguments: &Arguments, players: u64) -> Result<Measured> {
    let mut board = Board::load(plan(Ids::Hex, players, arguments));
    let operations = arguments.operations;
    let mut peer = None;
    let mut peer_bytes = None;
    if !arguments.no_redis {
        let mut redis = Redis::start(arguments.common.scratch()?)?;
        let (empty, _) = redis.memory()?;
        redis.load(Ids::Hex, players)?;
        peer_bytes = Some(float(redis.memory()?.0 - empty) / float(players));
        peer = Some(redis);
    }
    let grown = in_turns(&mut board, peer.as_mut(), players, operations)?;
    if let Some(redis) = &mut peer {
        redis.restart()?;
    }
    let restarted = in_turns(&mut board, peer.as_mut(), players, operations)?;
    drop(peer);
    let Board { loaded, churned, load, .. } = board;
    let insert = board.insert(operations.div_ceil(4));
    Ok(Measured { players, loaded, churned, load, insert, grown, restarted, peer_bytes })
}

fn in_turns(
    board: &mut Board,
    mut peer: Option<&mut Redis>,
    players: u64,
    operations: u64,
) -> Result<Beside> {
    progress::step(&format!("{operations} operations of each kind, in {TURNS} turns"));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        ours.push(board.costs(operations.div_ceil(TURNS)));
        if let Some(redis) = &mut peer {
            // Fewer than a twentieth of the players: what has moved is no longer in the order of the file it was read from.
            let operations = (operations / 4 / TURNS).min(players / 20).clamp(1, 100_000);
            theirs.push(redis.costs(7 + turn, players, operations)?);
        }
    }
    let of = |kind: fn(&redis::Costs) -> f64| median(theirs.iter().map(kind).collect());
    let peer = (!theirs.is_empty())
        .then(|| redis::Costs { update: of(|costs| costs.update), rank: of(|costs| costs.rank) });
    Ok(Beside { ours: Costs::median(&ours), peer })
}

/// The sizes below the one asked for, and that one.
fn sizes(arguments: &Arguments) -> Vec<u64> {
    let largest = arguments.common.players;
    let mut sizes: Vec<u64> =
        arguments.sizes.iter().copied().filter(|size| *size < largest && *size > 0).collect();
    sizes.sort_unstable();
    sizes.push(largest);
    sizes
}

fn plan(ids: Ids, players: u64, arguments: &Arguments) -> Plan {
    let churn = arguments.churn.unwrap_or(players.min(10_000_000));
    Plan { ids, players, churn }
}

fn memory(report: &mut Report, largest: &Measured, arguments: &Arguments) {
    let peer = largest.peer_bytes;
    let note = format!("{:.1} as loaded", largest.loaded);
    let name = "index, bytes a player after updates, 24 hex digits";
    let row = Row::new(name, "B", largest.churned).beside(peer).of("memory");
    report.push(row.at_most(26.0).note(note));
    if !arguments.hex_only {
        let text = Board::load(plan(Ids::Text, largest.players, arguments));
        let note = format!("{:.1} as loaded", text.loaded);
        let name = "index, bytes a player after updates, any 24 bytes";
        let row = Row::new(name, "B", text.churned).beside(peer).of("memory-text");
        report.push(row.at_most(46.0).note(note));
    }
}

/// Every operation of the largest board; those that Redis has, beside both states of it.
fn costs(report: &mut Report, largest: &Measured) {
    for state in [State::Grown, State::Restarted] {
        // After a restart Redis is twice as fast, and the targets half.
        let (part, Beside { ours, peer }) = match state {
            State::Grown => (1.0, largest.grown),
            State::Restarted => (0.5, largest.restarted),
        };
        let name = state.name();
        let updates = [
            ("update", ours.update, 20.0),
            ("update in batches of 64", ours.update_in_batches, 40.0),
        ];
        for (what, value, parts) in updates {
            let row = Row::new(format!("{what}; {name}"), "ns", value).of("update");
            report.push(row.beside(peer.map(|peer| peer.update)).at_most_one_in(parts * part));
        }
        let ranks = [
            ("rank, earliest leads", ours.rank, 16.0),
            ("rank, ties share", ours.shared, 16.0),
            ("rank, both", ours.both, 16.0),
            ("rank in batches of 64, both", ours.both_in_batches, 40.0),
        ];
        for (what, value, parts) in ranks {
            let row = Row::new(format!("{what}; {name}"), "ns", value).of("rank");
            report.push(row.beside(peer.map(|peer| peer.rank)).at_most_one_in(parts * part));
        }
    }
    report.push(Row::new("nine-row window", "ns", largest.grown.ours.window));
    report.push(Row::new("top 10", "ns", largest.grown.ours.top));
    report.push(Row::new("insert of a new player", "ns", largest.insert));
    report.push(Row::new("load of everyone in order", "s", largest.load));
}

/// How much the largest board costs over one of a million.
fn growth(report: &mut Report, all: &[Measured]) {
    let largest = all.last().expect("there is at least one size");
    let Some(small) = all.iter().find(|one| one.players == MILLION && largest.players > MILLION)
    else {
        return;
    };
    let over = |of: Of| Some(of(largest)? / of(small)?);
    let kinds: [(&str, Of, Of); 3] = [
        ("update", |one| Some(one.grown.ours.update), |one| Some(one.grown.peer?.update)),
        ("rank, earliest leads", |one| Some(one.grown.ours.rank), |one| Some(one.grown.peer?.rank)),
        ("rank, ties share", |one| Some(one.grown.ours.shared), |one| Some(one.grown.peer?.rank)),
    ];
    for (what, ours, peer) in kinds {
        let name = format!("index, {what}: {} players over 1 million", count_text(largest.players));
        let value = over(ours).unwrap_or(f64::NAN);
        report.push(Row::new(name, "×", value).beside(over(peer)).of("growth").at_most(2.0));
    }
}

/// Cost over size, for the chart.
fn lines(report: &mut Report, all: &[Measured]) {
    let kinds: [(&str, Of); 8] = [
        ("Redis update, grown", |one| Some(one.grown.peer?.update)),
        ("Redis update, restarted", |one| Some(one.restarted.peer?.update)),
        ("Redis rank, grown", |one| Some(one.grown.peer?.rank)),
        ("Redis rank, restarted", |one| Some(one.restarted.peer?.rank)),
        ("index update", |one| Some(one.grown.ours.update)),
        ("index update, batches", |one| Some(one.grown.ours.update_in_batches)),
        ("index rank", |one| Some(one.grown.ours.rank)),
        ("index rank, batches", |one| Some(one.grown.ours.both_in_batches)),
    ];
    for (name, of) in kinds {
        let points: Vec<_> =
            all.iter().filter_map(|one| Some((float(one.players), of(one)?))).collect();
        if !points.is_empty() {
            report.line("cost-over-size", name, points);
        }
    }
}
