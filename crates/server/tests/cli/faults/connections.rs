//! Thousands of connections that do nothing or little, clients that never read, requests without an end.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;

use super::{agent, call, get, metric, resident, times, tried, until};
use crate::process::{ADMIN, Server};

/// What one connection that waits may cost: its buffer, its timer, its task.
const IDLE_BYTES: u64 = 24 << 10;
/// What the requests that are answered meanwhile may cost.
const SLACK_BYTES: u64 = 48 << 20;
/// How long anyone else may wait for an answer, on a machine that also runs other tests.
const LONGEST: Duration = Duration::from_secs(5);
/// Descriptors of this process that are not connections of these tests.
const OTHER_FILES: u64 = 300;

/// Lets this process, and what it starts, have as many files as the system permits; how many connections that allows.
fn connections(wanted: usize) -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let most = limit.current.map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES));
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Submits and reads as anyone else would; the longest wait for an answer.
fn others(server: &Server, requests: usize) -> Duration {
    let agent = agent();
    let mut longest = Duration::ZERO;
    for number in 0..requests {
        let body = json!({"user_id": format!("other-{}", number % 50), "points": 1});
        let started = Instant::now();
        let (status, receipt) =
            call(&agent, "POST", &format!("{}/v1/scores", server.address), &body);
        assert_eq!(status, 200, "{receipt}");
        assert_eq!(get(&agent, &format!("{}/v1/scores", server.address)).0, 200);
        longest = longest.max(started.elapsed());
    }
    assert!(longest < LONGEST, "someone else waited for {longest:?}");
    longest
}

/// Waits until all connections but the one that asks are gone.
fn all_ended(server: &Server, patience: Duration) {
    let agent = agent();
    until("the connections are ended", patience, || {
        metric(&agent, &server.address, "standings_http_connections") <= 1
    });
}

/// How a connection wastes a server's time.
const MANNERS: [(&str, &str); 5] = [
    // What is sent at first, and what is sent of again and again, a byte at a time.
    ("", ""),
    ("GET /v1/scores HTTP/1.1\r\nHost: x\r\n\r\n", ""),
    ("GET /v1/scores HTTP/1.1\r\nHost: x\r\nX-Half", ""),
    ("GET /v1/scores HTTP/1.1\r\nX-Slow: ", "x"),
    ("", "POST /v1/scores HTTP/1.1\r\n"),
];

#[test]
fn thousands_of_idle_and_slow_connections_cost_little_and_are_ended_while_others_are_served() {
    let count = connections(times("STANDINGS_CONNECTIONS", 1000));
    // Longer than it takes to connect them all: a full queue of the kernel holds a client up for a second at a time.
    let server =
        Server::start_with(&["--idle-timeout", "15 seconds", "--body-timeout", "15 seconds"]);
    others(&server, 50);
    let before = resident(server.id());
    let mut streams: Vec<TcpStream> = Vec::with_capacity(count);
    let body = "POST /v1/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    let slow_body = format!("{body}Authorization: Bearer {ADMIN}\r\nContent-Length: 4000\r\n\r\n");
    for number in 0..count {
        let mut stream = connect(&server);
        let first = MANNERS.get(number % 6).map_or(slow_body.as_str(), |manner| manner.0);
        stream.write_all(first.as_bytes()).unwrap();
        streams.push(stream);
    }
    let agent = agent();
    until("all are accepted", Duration::from_secs(20), || {
        metric(&agent, &server.address, "standings_http_connections") > count as u64
    });
    let grown = resident(server.id()).saturating_sub(before);
    let stop = AtomicBool::new(false);
    let longest = std::thread::scope(|scope| {
        scope.spawn(|| drip(&streams, &stop));
        let longest = others(&server, 200);
        // Half of a head may be waited for twice: once for its beginning, once for its end.
        all_ended(&server, Duration::from_secs(50));
        stop.store(true, Ordering::Relaxed);
        longest
    });
    assert!(grown < count as u64 * IDLE_BYTES + SLACK_BYTES, "{grown} bytes for {count}");
    assert!(streams.iter().all(is_closed), "a connection was counted as ended and is not");
    others(&server, 20);
    tried(&format!(
        "{count} idle and slow connections, {} KiB each, others waited {longest:.0?} at most, all ended",
        grown / 1024 / count as u64
    ));
}

/// Sends another byte on each of the slow connections, five times a second.
fn drip(streams: &[TcpStream], stop: &AtomicBool) {
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        for (number, mut stream) in streams.iter().enumerate() {
            let bytes = MANNERS.get(number % 6).map_or("     ", |manner| manner.1).as_bytes();
            if !bytes.is_empty() {
                // It may have been ended.
                let _ = stream.write(&bytes[turn % bytes.len()..][..1]);
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Whether the server has ended a connection: after its answers there is nothing, at once.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut answers = Vec::new();
    let end = stream.read_to_end(&mut answers);
    end.is_ok() || end.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
}

#[test]
fn clients_that_never_read_hold_little_memory_and_are_ended() {
    let count = connections(times("STANDINGS_CONNECTIONS", 1000)) / 40;
    let server = Server::start_with(&["--body-timeout", "3 seconds"]);
    let batch: Vec<_> =
        (0..1000).map(|n| json!({"user_id": format!("player-{n:04}"), "points": n})).collect();
    let url = format!("{}/v1/boards/main/scores/batch", server.address);
    assert_eq!(call(&agent(), "POST", &url, &json!(batch)).0, 200);
    others(&server, 20);
    let before = resident(server.id());
    // Some 20 MB of answers for each.
    let plain = "GET /v1/scores?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(200);
    let by_router = plain.replace("/v1/scores?", "/v1/boards/main/scores?min=0&");
    let streams: Vec<_> = (0..count)
        .map(|number| {
            let mut stream = connect(&server);
            let requests = if number % 2 == 0 { &plain } else { &by_router };
            stream.write_all(requests.as_bytes()).unwrap();
            stream
        })
        .collect();
    let longest = others(&server, 100);
    let grown = resident(server.id()).saturating_sub(before);
    all_ended(&server, Duration::from_secs(20));
    // One answer each, and what is gathered to be sent with it.
    let bound = count as u64 * (1 << 20) + SLACK_BYTES;
    assert!(grown < bound, "{grown} bytes for {count} clients");
    drop(streams);
    others(&server, 20);
    tried(&format!(
        "{count} clients that never read 20 MB each, {} KiB each, others waited {longest:.0?} at most, all ended",
        grown / 1024 / count as u64
    ));
}

#[test]
fn requests_that_are_too_long_or_never_end_are_cut_off_while_others_are_served() {
    let count = connections(times("STANDINGS_CONNECTIONS", 1000)) / 20;
    let server =
        Server::start_with(&["--idle-timeout", "4 seconds", "--body-timeout", "4 seconds"]);
    others(&server, 50);
    let before = resident(server.id());
    let key = format!("Authorization: Bearer {ADMIN}\r\nContent-Type: application/json\r\n");
    let post = "POST /v1/boards/main/scores/batch HTTP/1.1\r\nHost: x\r\n";
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(65_536));
    let line = "x".repeat(65_536);
    let endless = [
        ("GET /v1/scores HTTP/1.1\r\nX-Long: ".to_owned(), &line),
        (format!("GET /v1/scores?{}", "a=b&".repeat(1000)), &line),
        (format!("{post}{key}Transfer-Encoding: chunked\r\n\r\n"), &chunk),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\n"), &chunk),
        (format!("{post}{key}Content-Length: 999999999999\r\n\r\n"), &line),
    ];
    let (longest, most, sent) = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..count)
            .map(|number| {
                let ((head, more), server) = (&endless[number % endless.len()], &server);
                scope.spawn(move || send_until_refused(server, head, more))
            })
            .collect();
        let longest = others(&server, 100);
        let most = resident(server.id());
        (longest, most, senders.into_iter().map(|sender| sender.join().unwrap()).sum::<u64>())
    });
    all_ended(&server, Duration::from_secs(20));
    // A body may be 4 MiB long; what waits in buffers is small beside it.
    let grown = most.saturating_sub(before);
    assert!(grown < count as u64 * (5 << 20) + SLACK_BYTES, "{grown} bytes for {count} requests");
    tried(&format!(
        "{count} requests without an end, cut off after {} KiB each, others waited {longest:.0?} at most",
        sent / 1024 / count as u64
    ));
}

/// Sends until the server takes no more; how many bytes it took. It must give up before 64 MiB.
fn send_until_refused(server: &Server, head: &str, more: &str) -> u64 {
    let mut stream = connect(server);
    stream.write_all(head.as_bytes()).unwrap();
    let mut sent = 0;
    while stream.write_all(more.as_bytes()).is_ok() {
        sent += more.len() as u64;
        assert!(sent < 64 << 20, "nothing ends {:?}", head.lines().next());
    }
    sent
}

/// More connections than the process may have files: the log and the history must still get theirs.
#[test]
fn connections_leave_files_for_the_data_whatever_their_number() {
    let count = connections(210);
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start_after(dir, "ulimit -n 200", &[]);
    let mut first = connect(&server);
    let streams: Vec<_> = (0..count).map(|_| connect(&server)).collect();
    // The first is served, the last of them wait; a backup needs files of every kind.
    let path = server.path("copy");
    let body = json!({"path": path}).to_string();
    let head = format!("POST /v1/backup HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n");
    let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    write!(first, "{head}{rest}{body}").unwrap();
    let mut answer = [0; 12];
    first.read_exact(&mut answer).unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 200");
    drop(streams);
    drop(first);
    others(&server, 20);
    tried(&format!(
        "{count} connections to a server that may open 200 files, and a backup meanwhile"
    ));
}
