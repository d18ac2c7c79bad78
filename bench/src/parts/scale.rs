//! How the cost of a submission and of a rank query grows: with players, boards, closed seasons and history.
//!
//! Everything goes through the embedded engine as it is by default, on a real disk. A submission's cost is the processor time of the
//! whole process for it, that of the background included: the wait for the disk is the same at every size and would hide the growth.

use std::{path::PathBuf, process::Command, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use standings_core::{Board, BoardId};
use standings_embedded::Embedded;
use standings_engine::Engine as _;

use crate::{
    board::{Ids, count_text},
    engine::{self, Boards, Costs},
    meter::{float, own_resident_bytes},
    options::Common,
    progress,
    random::Random,
    report::{Report, Row, number},
};

/// Growth with players, boards, closed seasons and history, through the embedded engine.
///
/// At 25 million players it takes about ten minutes and 8 GB of disk.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Numbers of players below `--players` that are measured as well.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000, 5_000_000])]
    sizes: Vec<u64>,
    /// Numbers of boards, among which up to a million players are spread evenly.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100, 10_000, 100_000])]
    boards: Vec<u64>,
    /// Numbers of closed seasons, each with up to 100,000 players.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 12, 36])]
    seasons: Vec<u64>,
    /// Events in the history of up to 100,000 players [default: as many as there are players, up to 10 million].
    #[arg(long)]
    events: Option<u64>,
    /// Seconds for every figure.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Opens a directory, prints how many bytes that takes, and ends: what an idle board costs needs a process of its own.
    #[arg(long, hide = true)]
    open: Option<PathBuf>,
}

/// Players on the boards that the number of players does not matter for.
const FEW: u64 = 100_000;
/// Players spread over many boards.
const SPREAD: u64 = 1_000_000;
/// What counts as flat: figures of a few seconds differ by that much by themselves.
const FLAT: f64 = 1.5;

/// Measures, and writes the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    if let Some(dir) = &arguments.open {
        return runtime.block_on(open_and_tell(dir));
    }
    let scratch = arguments.common.scratch()?;
    let mut report = Report::new("scale", arguments.common.players, scratch.path())?
        .under("embedded engine, every submission flushed");
    drop(scratch);
    runtime.block_on(async {
        players(&mut report, arguments).await?;
        boards(&mut report, arguments).await?;
        seasons(&mut report, arguments).await?;
        history(&mut report, arguments).await
    })?;
    report.write(&arguments.common.results)
}

/// Costs at several points along one direction of growth.
struct Curve {
    chart: &'static str,
    /// What grows, in the plural.
    what: &'static str,
    points: Vec<(u64, Costs)>,
}

impl Curve {
    fn new(chart: &'static str, what: &'static str) -> Self {
        Self { chart, what, points: Vec::new() }
    }

    fn push(&mut self, at: u64, costs: Costs) {
        let Costs { submit, rank, rate } = costs;
        let what = self.what;
        progress::step(&format!("{at} {what}: {submit:.0} ns, {rate:.0}/s; rank {rank:.0} ns"));
        self.points.push((at, costs));
    }

    /// A row for each point, and lines for the chart.
    fn report(&self, report: &mut Report) {
        type Of = fn(&Costs) -> f64;
        let kinds: [(&str, Of); 2] =
            [("submission", |costs| costs.submit), ("rank", |costs| costs.rank)];
        for (kind, of) in kinds {
            for (at, costs) in &self.points {
                let name = format!("engine, {kind}; {}: {}", self.what, count_text(*at));
                let mut row = Row::new(name, "ns", of(costs));
                if kind == "submission" {
                    row = row.note(format!("{}/s", number(costs.rate)));
                }
                report.push(row);
            }
            let points = self.points.iter().map(|(at, costs)| (float(*at), of(costs)));
            let name = match self.what.split_once(", ") {
                Some((_, how)) => format!("engine {kind}, {how}"),
                None => format!("engine {kind}"),
            };
            report.line(self.chart, name, points.collect());
        }
    }

    /// How much the last point costs over another.
    fn growth(&self, report: &mut Report, from: u64, of: &str, most: f64) {
        let (Some((_, small)), Some((largest, large))) =
            (self.points.iter().find(|(at, _)| *at == from), self.points.last())
        else {
            return;
        };
        if *largest == from {
            return;
        }
        let over = format!("{}: {} over {}", self.what, count_text(*largest), count_text(from));
        for (kind, ratio) in
            [("submission", large.submit / small.submit), ("rank", large.rank / small.rank)]
        {
            let row = Row::new(format!("engine, {kind}; {over}"), "×", ratio);
            report.push(row.of(of).at_most(most));
        }
    }
}

fn board_id(number: u64) -> BoardId {
    BoardId::new(&format!("board-{number:06}")).expect("a word")
}

/// An engine with one board that has the first players.
async fn one_board(dir: &std::path::Path, players: u64) -> Result<(Arc<Embedded>, Boards)> {
    let engine = engine::open(dir)?;
    let board = BoardId::new("main")?;
    engine.put_board(&board, Board::default()).await?;
    progress::step(&format!("engine: loading {players} players"));
    engine::load(&engine, &board, 0..players).await?;
    Ok((engine, Boards { boards: Arc::new(vec![board]), players }))
}

async fn players(report: &mut Report, arguments: &Arguments) -> Result<()> {
    let largest = arguments.common.players;
    let mut sizes: Vec<u64> =
        arguments.sizes.iter().copied().filter(|size| *size < largest && *size > 0).collect();
    sizes.sort_unstable();
    sizes.push(largest);
    let mut curve = Curve::new("cost-over-size", "players");
    for players in sizes {
        let dir = arguments.common.scratch()?;
        let (engine, boards) = one_board(dir.path(), players).await?;
        curve.push(players, engine::costs(&engine, &boards, time(arguments)).await?);
        engine.shutdown().await;
    }
    curve.report(report);
    curve.growth(report, SPREAD, "growth", 2.0);
    Ok(())
}

async fn boards(report: &mut Report, arguments: &Arguments) -> Result<()> {
    let spread = arguments.common.players.min(SPREAD);
    let mut on_all = Curve::new("cost-over-boards", "boards, playing on all");
    let mut on_one = Curve::new("cost-over-boards", "boards, playing on one");
    for &count in arguments.boards.iter().filter(|count| (1..=spread).contains(*count)) {
        let dir = arguments.common.scratch()?;
        let (engine, one) = one_board(dir.path(), arguments.common.players.min(FEW)).await?;
        let boards = Boards { boards: create(&engine, count).await?, players: spread / count };
        progress::step(&format!("{count} boards with {} players each", boards.players));
        fill(&engine, &boards).await?;
        on_one.push(count, engine::costs(&engine, &one, time(arguments)).await?);
        on_all.push(count, engine::costs(&engine, &boards, time(arguments)).await?);
        engine.shutdown().await;
    }
    for curve in [&on_one, &on_all] {
        curve.report(report);
        if let Some((least, _)) = curve.points.first() {
            curve.growth(report, *least, "growth-boards", FLAT);
        }
    }
    if let Some(most) = arguments.boards.iter().max() {
        idle(report, arguments, *most).await?;
    }
    Ok(())
}

/// Creates boards, many at once so that they share flushes.
async fn create(engine: &Arc<Embedded>, count: u64) -> Result<Arc<Vec<BoardId>>> {
    progress::step(&format!("creating {count} boards"));
    let one = |number| {
        let engine = Arc::clone(engine);
        async move {
            engine.put_board(&board_id(number), Board::default()).await?;
            Ok(())
        }
    };
    engine::for_each(count, one).await?;
    Ok(Arc::new((0..count).map(board_id).collect()))
}

/// Everyone plays once on every board.
async fn fill(engine: &Arc<Embedded>, boards: &Boards) -> Result<()> {
    if let [board] = &boards.boards[..] {
        return engine::load(engine, board, 0..boards.players).await;
    }
    let one = |number: u64| {
        let (engine, players) = (Arc::clone(engine), boards.players);
        async move {
            let wins = (0..players).map(|player| engine::win(Ids::Hex.player(player)));
            engine::submit(&engine, &board_id(number), wins.collect()).await
        }
    };
    engine::for_each(boards.boards.len() as u64, one).await
}

/// What an idle board costs: boards in a directory, and a process that opens it.
async fn idle(report: &mut Report, arguments: &Arguments, count: u64) -> Result<()> {
    let dir = arguments.common.scratch()?;
    let engine = engine::open(dir.path())?;
    create(&engine, count).await?;
    engine.shutdown().await;
    drop(engine);
    let output = Command::new(std::env::current_exe()?)
        .args(["scale", "--open"])
        .arg(dir.path())
        // What was freed goes back to the system, and is not counted.
        .env("MALLOC_ARENA_MAX", "1")
        .env("MALLOC_TRIM_THRESHOLD_", "0")
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes: u64 = text.trim().parse().with_context(|| format!("it said {text:?}"))?;
    let name = format!("memory of an idle board, {} of them", count_text(count));
    report
        .push(Row::new(name, "B", float(bytes) / float(count)).of("growth-boards").at_most(1024.0));
    Ok(())
}

async fn open_and_tell(dir: &std::path::Path) -> Result<()> {
    let before = own_resident_bytes();
    let engine = engine::open(dir)?;
    println!("{}", own_resident_bytes().saturating_sub(before));
    engine.shutdown().await;
    Ok(())
}

async fn seasons(report: &mut Report, arguments: &Arguments) -> Result<()> {
    let players = arguments.common.players.min(FEW);
    let dir = arguments.common.scratch()?;
    let (engine, boards) = one_board(dir.path(), players).await?;
    let mut curve = Curve::new("cost-over-seasons", "closed seasons");
    let mut closed = 0;
    for &count in &arguments.seasons {
        progress::step(&format!("{count} closed seasons with {players} players each"));
        while closed < count {
            engine.close_season(&boards.boards[0], None).await?;
            engine::load(&engine, &boards.boards[0], 0..players).await?;
            closed += 1;
        }
        curve.push(count, engine::costs(&engine, &boards, time(arguments)).await?);
    }
    engine.shutdown().await;
    curve.report(report);
    if let Some((least, _)) = curve.points.first() {
        curve.growth(report, *least, "growth-seasons", FLAT);
    }
    Ok(())
}

async fn history(report: &mut Report, arguments: &Arguments) -> Result<()> {
    const BATCH: u64 = 1_000;
    let players = arguments.common.players.min(FEW);
    let events = arguments.events.unwrap_or(arguments.common.players.min(10_000_000));
    let dir = arguments.common.scratch()?;
    let (engine, boards) = one_board(dir.path(), players).await?;
    let mut curve = Curve::new("cost-over-history", "events kept");
    let mut kept = 0;
    for count in [0, events / 10, events] {
        progress::step(&format!("{count} events in the history"));
        let batch = |number: u64| {
            let (engine, board) = (Arc::clone(&engine), boards.boards[0].clone());
            async move {
                let mut random = Random(number << 32);
                let wins = (0..BATCH).map(|_| engine::win(Ids::Hex.player(random.below(players))));
                engine::submit(&engine, &board, wins.collect()).await
            }
        };
        engine::for_each((count - kept) / BATCH, batch).await?;
        kept = count;
        curve.push(count, engine::costs(&engine, &boards, time(arguments)).await?);
    }
    engine.shutdown().await;
    curve.report(report);
    curve.growth(report, 0, "growth-history", FLAT);
    Ok(())
}

fn time(arguments: &Arguments) -> Duration {
    Duration::from_secs(arguments.seconds)
}
