//! Limits, time-outs, TLS, starting and stopping: what lies below HTTP's verbs.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use standings_server::config::{HttpOptions, TlsFiles};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{self, pki_types::CertificateDer},
};

use crate::server::Server;

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Everything up to the end of the connection.
fn read_all(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

const HEAD: &str = "POST /v1/scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer game\r\nContent-Type: application/json\r\n";

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let server = Server::start();
    let mut stream = connect(&server);
    write!(stream, "{HEAD}Content-Length: 10000000\r\n\r\n").unwrap();
    // Not one byte of it has been sent.
    let answer = read_all(stream);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(
        answer.contains("\"body_too_large\"") && answer.contains("connection: close"),
        "{answer}"
    );
    let large = " ".repeat(10_000_000);
    server
        .send_raw("POST", "/v1/scores", "game", "application/json", large)
        .refused(413, "body_too_large");
}

#[test]
fn a_refusal_that_comes_before_the_body_leaves_the_connection_usable() {
    let server = Server::start();
    let mut stream = connect(&server);
    let body = r#"{"user_id":"a","points":1}"#;
    write!(stream, "POST /v1/scores HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len())
        .unwrap();
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(body.as_bytes()).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let answers = read_all(stream);
    assert!(answers.starts_with("HTTP/1.1 401 ") && answers.contains("HTTP/1.1 200 "), "{answers}");

    let mut long = connect(&server);
    write!(long, "POST /v1/scores HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n").unwrap();
    let answer = read_all(long);
    assert!(
        answer.starts_with("HTTP/1.1 401 ") && answer.contains("connection: close"),
        "{answer}"
    );
}

#[test]
fn a_body_that_is_refused_is_not_asked_for() {
    let server = Server::start();
    for length in ["Content-Length: 26", "Transfer-Encoding: chunked"] {
        let mut stream = connect(&server);
        let head = "POST /v1/scores HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n";
        write!(stream, "{head}{length}\r\n\r\n").unwrap();
        let answer = read_all(stream);
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
    let body = r#"{"user_id":"a","points":1}"#;
    let mut stream = connect(&server);
    let length = body.len();
    write!(
        stream,
        "{HEAD}Connection: close\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    )
    .unwrap();
    let mut asked = [0; 25];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    assert!(read_all(stream).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_client_may_end_its_side_with_its_request() {
    let server = Server::start();
    let body = r#"{"user_id":"a","points":1}"#;
    let submit = format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len());
    for request in [&submit, "GET /v1/distribution HTTP/1.1\r\nHost: x\r\n\r\n"] {
        let mut stream = connect(&server);
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let answer = read_all(stream);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{request}: {answer}");
    }
}

#[test]
fn an_endless_body_is_cut_off() {
    let server = Server::start();
    let mut stream = connect(&server);
    write!(stream, "{HEAD}Transfer-Encoding: chunked\r\n\r\n").unwrap();
    let mut writer = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(65_536));
        (0..10_000).take_while(|_| writer.write_all(chunk.as_bytes()).is_ok()).count()
    });
    let answer = read_all(stream);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(writing.join().unwrap() < 10_000, "the connection was closed in the end");
}

#[test]
fn headers_have_a_size() {
    let server = Server::start();
    let long = "x".repeat(20_000);
    server.call("GET", "/healthz", &[("x-long", &long)], "").refused(431, "headers_too_large");
    server.get(&format!("/healthz?{long}")).ok(200);
    let longer = "x".repeat(62_000);
    server.get(&format!("/healthz?{longer}")).refused(431, "headers_too_large");
    // Far beyond it nothing is read any more, and the connection is closed on what was sent.
    let mut stream = connect(&server);
    let huge = "x".repeat(1_000_000);
    let _ = write!(stream, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {huge}\r\n\r\n");
    let answer = read_all(stream);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    server.get("/healthz").ok(200);
}

#[test]
fn who_sends_slowly_is_not_waited_for() {
    let server = Server::with(HttpOptions {
        idle_timeout: Duration::from_millis(300),
        body_timeout: Duration::from_millis(300),
        ..HttpOptions::default()
    });
    let started = Instant::now();
    let mut slow_head = connect(&server);
    write!(slow_head, "GET /healthz HTTP/1.1\r\n").unwrap();
    assert_eq!(read_all(slow_head), "");
    let mut slow_body = connect(&server);
    write!(slow_body, "{HEAD}Content-Length: 100\r\n\r\n{{\"user").unwrap();
    let answer = read_all(slow_body);
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("\"timeout\""), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[test]
fn a_connection_may_be_idle_for_a_while_after_each_request() {
    let server = Server::with(HttpOptions {
        idle_timeout: Duration::from_millis(600),
        ..HttpOptions::default()
    });
    let mut stream = connect(&server);
    let started = Instant::now();
    let mut buffer = [0; 1024];
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(300));
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert!(stream.read(&mut buffer).unwrap() > 0, "after {:?}", started.elapsed());
    }
    let idle = Instant::now();
    assert_eq!(stream.read(&mut buffer).unwrap_or(0), 0, "it is closed in the end");
    let idle = idle.elapsed();
    assert!((500..5000).contains(&idle.as_millis()), "{idle:?}");
}

#[test]
fn a_streamed_import_only_has_to_go_on() {
    let server = Server::with(HttpOptions {
        // A request under way is not idle.
        idle_timeout: Duration::from_millis(500),
        body_timeout: Duration::from_secs(1),
        ..HttpOptions::default()
    });
    let mut stream = connect(&server);
    let head = "PUT /v1/boards/main/scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\
                Content-Type: application/x-ndjson\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    for i in 0..6 {
        let row = format!("{{\"user_id\":\"p{i}\",\"score\":{i}}}\n");
        write!(stream, "{:x}\r\n{row}\r\n", row.len()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let answer = read_all(stream);
    assert!(answer.contains("\"rows\":6"), "{answer}");
}

#[test]
fn a_streamed_import_goes_to_one_season() {
    let server = Server::start();
    let mut stream = connect(&server);
    let head = "PUT /v1/boards/main/scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\
                Content-Type: application/x-ndjson\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut send = |from: u32, to: u32| {
        let row = |i| format!("{{\"user_id\":\"p{i}\",\"score\":{i}}}\n");
        let rows = (from..to).map(row).collect::<Vec<_>>().concat();
        write!(stream, "{:x}\r\n{rows}\r\n", rows.len()).unwrap();
    };
    send(0, 4100);
    let started = Instant::now();
    while server.get("/v1/scores").ok(200)["players"] != 4096 {
        assert!(started.elapsed() < Duration::from_secs(10), "the first rows are not set");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.send("POST", "/v1/boards/main/seasons/close", "admin", &Value::Null).ok(200);
    send(4100, 5000);
    stream.write_all(b"0\r\n\r\n").unwrap();
    let answer = read_all(stream);
    assert!(answer.starts_with("HTTP/1.1 409 ") && answer.contains("season_closed"), "{answer}");
    assert!(answer.contains("the first 4096 rows were applied: season 2026-11 has"), "{answer}");
    assert_eq!(server.get("/v1/scores").ok(200)["players"], 0);
    assert_eq!(server.get("/v1/scores?season=previous").ok(200)["players"], 4096);
}

#[test]
fn a_head_that_cannot_be_read_is_refused_and_ends_the_connection() {
    let server = Server::start();
    let get = |target: &[u8], headers: &[u8]| {
        [b"GET ", target, b" HTTP/1.1\r\nHost: x\r\n", headers, b"\r\n"].concat()
    };
    let long = |bytes: usize| format!("/healthz?{}", "x".repeat(bytes)).into_bytes();
    let many = "X-Small: 1\r\n".repeat(200).into_bytes();
    // As the first request of a connection, and after another.
    for before in [Vec::new(), get(b"/v1/scores", b"")] {
        for (head, status) in [
            (get(b"/v1/scores/\xff", b""), "400"),
            (get(b"/v1/scores/a b", b""), "400"),
            (get(b"/v1/scores", b"X-Nul: a\0b\r\n"), "400"),
            (get(b"/v1/scores", b"Content-Length: -5\r\n"), "400"),
            (get(b"/v1/scores", b"Content-Length: 5\r\nContent-Length: 6\r\n"), "400"),
            (b"hello\r\n\r\n".to_vec(), "400"),
            (get(&long(70_000), b""), "414"),
            (get(&long(200_000), b""), "431"),
            (get(b"/healthz", &many), "431"),
        ] {
            let mut stream = connect(&server);
            stream.write_all(&[&before[..], &head].concat()).unwrap();
            let answers = read_all(stream);
            let shown = String::from_utf8_lossy(&head[..head.len().min(99)]).into_owned();
            let start = answers.rfind("HTTP/1.1 4").unwrap_or_else(|| panic!("{shown}: {answers}"));
            assert_eq!(&answers[start + 9..start + 12], status, "{shown}: {answers}");
            assert!(answers[start..].contains("\r\nconnection: close\r\n"), "{shown}: {answers}");
            assert!(answers.ends_with("\r\n\r\n"), "there is no body: {answers}");
            assert_eq!(answers.matches("HTTP/1.1 ").count(), 1 + usize::from(!before.is_empty()));
        }
    }
    for nonsense in ["GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\0\x01\0\x01"] {
        let mut stream = connect(&server);
        stream.write_all(nonsense.as_bytes()).unwrap();
        let answer = read_all(stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{nonsense:?}: {answer}");
    }
    server.get("/healthz").ok(200);
}

#[test]
fn over_the_limit_a_connection_waits_until_another_ends() {
    let server = Server::with(HttpOptions { max_connections: 1, ..HttpOptions::default() });
    let mut first = connect(&server);
    write!(first, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut buffer = [0; 1024];
    assert!(first.read(&mut buffer).unwrap() > 0);
    let mut second = connect(&server);
    write!(second, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    second.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(second.read(&mut buffer).is_err(), "the second waits");
    drop(first);
    second.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert!(read_all(second).starts_with("HTTP/1.1 200 "));
}

#[test]
fn until_recovery_is_complete_it_is_up_but_not_ready() {
    let server = Server::unready(HttpOptions::default(), None);
    server.get("/healthz").ok(200);
    let score = json!({"user_id": "a", "points": 1});
    for reply in [
        server.get("/readyz"),
        server.get("/v1/scores"),
        server.submit("/v1/scores", &score),
        server.send("GET", "/v1/keys", "admin", &Value::Null),
    ] {
        reply.refused(503, "unavailable");
        assert_eq!(reply.header("retry-after"), "1");
    }
    server.recover();
    server.get("/readyz").ok(200);
    server.submit("/v1/scores", &score).ok(200);
}

#[test]
fn a_stop_finishes_what_was_accepted() {
    let server = Server::start();
    let mut idle = connect(&server);
    write!(idle, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut buffer = [0; 1024];
    assert!(idle.read(&mut buffer).unwrap() > 0);
    let mut half_sent = connect(&server);
    let body = r#"{"user_id":"a","points":1}"#;
    write!(half_sent, "{HEAD}Content-Length: {}\r\n\r\n{}", body.len(), &body[..5]).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let address = server.address;
    let stopping = std::thread::spawn(move || server.stop());
    std::thread::sleep(Duration::from_millis(300));
    assert!(TcpStream::connect(address).is_err(), "no further connections");
    half_sent.write_all(&body.as_bytes()[5..]).unwrap();
    let answer = read_all(half_sent);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stopping.join().unwrap();
    assert_eq!(idle.read(&mut buffer).unwrap_or(0), 0, "idle connections are closed");
}

/// What a server speaks TLS with, and the certificate that its clients trust.
fn tls(dir: &Path) -> (TlsAcceptor, CertificateDer<'static>, TlsFiles) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = TlsFiles { cert: dir.join("cert.pem"), key: dir.join("key.pem") };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    (standings_server::tls(&files).unwrap(), made.cert.der().clone(), files)
}

#[test]
fn a_stop_does_not_wait_for_a_client_that_sent_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for acceptor in [None, Some(tls(dir.path()).0)] {
        let server = Server::unready(HttpOptions::default(), acceptor);
        let silent = connect(&server);
        std::thread::sleep(Duration::from_millis(200));
        let started = Instant::now();
        server.stop();
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!(read_all(silent), "");
    }
}

#[test]
fn tls_is_spoken_where_certificate_and_key_are_given() {
    let dir = tempfile::tempdir().unwrap();
    let (acceptor, cert, files) = tls(dir.path());
    let server = Server::unready(HttpOptions::default(), Some(acceptor));

    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = connect(&server);
    let mut stream = rustls::Stream::new(&mut session, &mut socket);
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    let mut plain = connect(&server);
    write!(plain, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(!read_all(plain).starts_with("HTTP/1.1 200"));
    let missing = TlsFiles { cert: dir.path().join("none.pem"), key: files.key.clone() };
    assert!(standings_server::tls(&missing).is_err());
}

#[test]
fn requests_for_scores_and_others_are_answered_in_order_on_one_connection() {
    let server = Server::start();
    let mut stream = connect(&server);
    let body = r#"{"user_id":"a","points":1}"#;
    let submit = format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len());
    let read = "GET /v1/scores/a HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n";
    let unknown = "GET /v1/boards/none/scores HTTP/1.1\r\nHost: x\r\n\r\n";
    let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let last = "GET /v1/scores HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    // All at once, and cut within a body.
    let all = format!("{submit}{read}{unknown}{submit}{health}{read}{last}");
    let cut = submit.len() + read.len() + unknown.len() + submit.len() - 10;
    stream.write_all(&all.as_bytes()[..cut]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(&all.as_bytes()[cut..]).unwrap();
    let answers = read_all(stream);
    let statuses: Vec<_> =
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "200", "404", "200", "200", "200", "200"], "{answers}");
    assert_eq!(answers.matches("x-request-id: ").count(), 7, "{answers}");
    assert_eq!(answers.matches("x-request-id: mine\r\n").count(), 2, "{answers}");
    assert_eq!(answers.matches("access-control-allow-origin: *\r\n").count(), 5, "{answers}");
    assert_eq!(answers.matches("\r\ndate: ").count(), 7, "{answers}");
    assert!(answers.contains("\"score\":2"), "{answers}");
    let counted = server.get("/metrics").text;
    for series in [
        r#"standings_http_requests_total{route="/v1/scores",method="POST",status="200"} 2"#,
        r#"standings_http_requests_total{route="/v1/scores/{user_id}",method="GET",status="200"} 2"#,
        r#"standings_http_requests_total{route="/v1/boards/{board}/scores",method="GET",status="404"} 1"#,
        r#"standings_http_problems_total{code="unknown_board"} 1"#,
    ] {
        assert!(counted.contains(series), "{series} in {counted}");
    }
}
