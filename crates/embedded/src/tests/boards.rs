//! Very many boards.

use std::time::Instant;

use standings_core::{BoardId, Millis};

use crate::tests::kit::{InDirectory, board, definition, points};
use crate::{Embedded, Options};
use standings_engine::{
    BoardsQuery, Engine,
    conformance::{Fixture as _, World},
};

async fn create(engine: &Embedded, count: usize) {
    // Many at once, so that they share flushes of the disk as far as changes do.
    let mut numbers = 0..count;
    loop {
        let piece: Vec<_> = numbers.by_ref().take(500).collect();
        if piece.is_empty() {
            return;
        }
        for number in piece {
            let json = r#"{"season":"daily","grace":"0 seconds"}"#;
            engine.put_board(&id(number), definition(json)).await.unwrap();
        }
    }
}

fn id(number: usize) -> BoardId {
    board(&format!("board-{number:06}"))
}

/// Resident memory of this process.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_boards_roll_over_together() {
    const BOARDS: usize = 10_000;
    let options = Options { checkpoint_bytes: 1 << 20, ..Options::default() };
    let mut home = InDirectory::new(World::start(), options);
    create(&home.embedded(), BOARDS).await;
    for number in (0..BOARDS).step_by(100) {
        home.engine().submit(&id(number), vec![points("a", 1)]).await.unwrap();
    }
    home.clock().advance(Millis(24 * 3_600_000));
    let started = Instant::now();
    let receipt = home.engine().submit(&id(0), vec![points("a", 2)]).await.unwrap();
    let took = started.elapsed();
    assert_eq!(receipt[0].as_ref().unwrap().season.as_str(), "2026-11-16");
    assert!(took.as_secs() < 5, "the first submission of the day waited {took:?}");
    for number in [1, 100, BOARDS - 1] {
        let info = home.engine().board(&id(number)).await.unwrap();
        assert_eq!((info.board.season.id.as_str(), info.players), ("2026-11-16", 0));
    }
    home.restart().await;
    let query = BoardsQuery { after: None, limit: usize::MAX };
    assert_eq!(home.engine().boards(&query).await.unwrap().boards.len(), BOARDS);
    let info = home.engine().board(&id(0)).await.unwrap();
    assert_eq!((info.board.season.id.as_str(), info.players), ("2026-11-16", 1));
    home.stop().await;
}

/// How much memory an idle board costs. In a process of its own, which has not had and freed the memory before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_board_costs_little_memory() {
    const BOARDS: u64 = 100_000;
    const DIR: &str = "STANDINGS_MEASURED_DIR";
    if let Ok(dir) = std::env::var(DIR) {
        let before = resident();
        let started = Instant::now();
        let options = Options { dir: dir.into(), ..Options::default() };
        let clock = std::sync::Arc::new(standings_engine::ManualClock::new(World::start()));
        let engine = Embedded::open(options, clock).unwrap();
        let opened = started.elapsed();
        let each = (resident() - before) / BOARDS;
        eprintln!("{each} bytes a board, opened in {opened:?}");
        engine.shutdown().await;
        assert!(each <= 1024, "{each} bytes");
        return;
    }
    let mut home = InDirectory::usual();
    create(&home.embedded(), usize::try_from(BOARDS).unwrap()).await;
    home.stop().await;
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--nocapture", "an_idle_board_costs_little_memory"]);
    // What was freed goes back to the system, and is not counted.
    child.env("MALLOC_ARENA_MAX", "1").env("MALLOC_TRIM_THRESHOLD_", "0");
    assert!(child.env(DIR, home.path()).status().unwrap().success());
}
