//! The end of memory.

use std::{fs, time::Duration};

use serde_json::json;

use super::{agent, call, get, times, tried, until};
use crate::process::Server;

/// What the process may take beyond what it has when it starts.
const MORE_KIB: u64 = 32 << 10;
const BATCH: usize = 2000;

/// What of a process's address space is in use, in KiB.
fn address_space(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Loads new players until the server ends; returns the batch that was not answered, and notes those that were
/// acknowledged.
fn load(server: &mut Server, from: usize, acknowledged: &mut Vec<usize>) -> usize {
    let agent = agent();
    for batch in from..from + 5000 {
        let players = (0..BATCH).map(|n| json!({"user_id": player(batch, n), "points": 1}));
        let url = format!("{}/v1/boards/main/scores/batch", server.address);
        let (status, answer) = call(&agent, "POST", &url, &json!(players.collect::<Vec<_>>()));
        match status {
            200 => {
                assert_eq!(answer["accepted"], BATCH, "{answer}");
                acknowledged.push(batch);
            }
            0 => return batch,
            // Refused, or not known to have counted.
            _ => assert_eq!(status, 503, "{answer}"),
        }
    }
    panic!("the limit was never reached");
}

/// Ids that do not pack, so that memory is soon used up.
fn player(batch: usize, number: usize) -> String {
    format!("{:->100}-{number}", format!("player-{batch}"))
}

#[test]
fn a_server_without_memory_ends_with_a_message_and_loses_nothing_acknowledged() {
    let rounds = times("STANDINGS_MEMORY_ROUNDS", 1);
    let server = Server::start();
    let limit = address_space(server.id()) + MORE_KIB;
    drop(server);
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("stderr");
    let mut server = Server::start_after(dir, ":", &[]);
    let mut next = 0;
    let mut acknowledged = Vec::new();
    for round in 0..rounds as u64 {
        // What is there already takes memory as well.
        let limit = limit + round * MORE_KIB;
        let setup = format!("exec 2>>{}; ulimit -v {limit}", said.display());
        server.restart_after(&setup, &[]);
        // The one in doubt may have counted; it is not sent again.
        next = load(&mut server, next, &mut acknowledged) + 1;
        until("the process ends", Duration::from_secs(10), || server.ended().is_some());
        let text = fs::read_to_string(&said).unwrap();
        assert!(text.contains("memory allocation of"), "{text}");
        server.restart_after(":", &[]);
        verify(&server, &acknowledged);
    }
    let players = acknowledged.len() * BATCH;
    tried(&format!("memory used up {rounds} times, {players} players acknowledged, none lost"));
}

/// Every acknowledged player is there.
fn verify(server: &Server, batches: &[usize]) {
    let agent = agent();
    let (_, top) = get(&agent, &format!("{}/v1/scores?limit=1", server.address));
    let players = usize::try_from(top["players"].as_u64().unwrap()).unwrap();
    assert!(players >= batches.len() * BATCH, "{players} of {}", batches.len() * BATCH);
    for &batch in batches {
        for number in [0, BATCH / 2, BATCH - 1] {
            let url = format!("{}/v1/scores/{}", server.address, player(batch, number));
            let (status, entry) = get(&agent, &url);
            assert_eq!((status, &entry["user_info"]["score"]), (200, &json!(1)), "{batch}");
        }
    }
}
