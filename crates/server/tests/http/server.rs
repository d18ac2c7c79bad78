//! A server of its own for each test, and a small client.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::Value;
use standings_core::{Board, BoardId, KeyName, Millis};
use standings_embedded::{Embedded, Options};
use standings_engine::{Engine, ManualClock, Role};
use standings_server::{App, config::HttpOptions, hash, run};
use tokio::{net::TcpListener, runtime::Runtime, sync::oneshot, task::JoinHandle};

/// 15 November 2026, 10:00 UTC: in the middle of a month and of a day.
pub(crate) const NOW: Millis = Millis(1_794_736_800_000);

/// A running server with a key of each role, whose name is the role.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) app: Arc<App>,
    engine: OnceLock<Arc<Embedded>>,
    runtime: Runtime,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
    agent: ureq::Agent,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The code of a problem, after checking that it is a proper one.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status, "{json}");
        for member in ["type", "title", "detail"] {
            assert!(json[member].as_str().is_some_and(|text| !text.is_empty()), "{json}");
        }
        json["code"].as_str().unwrap().to_owned()
    }

    /// Asserts the status and gives the body.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{}", self.text);
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(HttpOptions::default())
    }

    /// A server with a board `main` and keys.
    pub(crate) fn with(options: HttpOptions) -> Self {
        let server = Self::unready(options, None);
        server.recover();
        server
    }

    /// A server whose engine has not been opened yet.
    pub(crate) fn unready(options: HttpOptions, tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let app = App::new(options);
        let (stop, stopped) = oneshot::channel();
        let running = runtime.spawn(run(listener, Arc::clone(&app), tls, async {
            let _ = stopped.await;
        }));
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .new_agent();
        let clock = Arc::new(ManualClock::new(NOW));
        let dir = tempfile::tempdir().unwrap();
        let engine = OnceLock::new();
        Self { address, clock, dir, app, engine, runtime, stop, running, agent }
    }

    /// Opens the engine, as `serve` does.
    pub(crate) fn recover(&self) {
        let dir = self.dir.path().join("data");
        let clock: Arc<ManualClock> = Arc::clone(&self.clock);
        let engine = Embedded::open(Options { dir, ..Options::default() }, clock).unwrap();
        self.runtime.block_on(async {
            let main = BoardId::new("main").unwrap();
            engine.put_board(&main, Board::default()).await.unwrap();
            for (name, role) in [("admin", Role::Admin), ("game", Role::Game), ("read", Role::Read)]
            {
                let name = KeyName::new(name).unwrap();
                engine.put_key(&name, role, hash(name.as_bytes()), true).await.unwrap();
            }
        });
        self.engine.get_or_init(|| Arc::clone(&engine));
        self.app.start(engine);
    }

    /// Turns the clock and has done what it brings.
    pub(crate) fn turn_to(&self, time: Millis) {
        self.clock.set(time);
        let engine = self.engine.get().expect("it has been opened");
        let budget = Duration::from_secs(30);
        let done = self.runtime.block_on(engine.maintain(budget)).unwrap();
        assert!(!done.more, "not done within {budget:?}");
    }

    /// Stops it as a signal does, and waits.
    pub(crate) fn stop(self) {
        drop(self.stop);
        self.runtime.block_on(self.running).unwrap();
    }

    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Reply {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = self.agent.run(request.body(body.into()).unwrap()).unwrap();
        let text = response.body_mut().with_config().limit(64 << 20).read_to_string().unwrap();
        Reply { status: response.status().as_u16(), headers: response.headers().clone(), text }
    }

    /// A read without any key.
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &[], "")
    }

    /// A JSON call with a key.
    pub(crate) fn send(&self, method: &str, path: &str, key: &str, body: &Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send_raw(method, path, key, "application/json", body)
    }

    pub(crate) fn send_raw(
        &self,
        method: &str,
        path: &str,
        key: &str,
        media: &str,
        body: impl Into<Vec<u8>>,
    ) -> Reply {
        let bearer = format!("Bearer {key}");
        self.call(method, path, &[("authorization", &bearer), ("content-type", media)], body)
    }

    /// Submits as a game server.
    pub(crate) fn submit(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, "game", body)
    }

    pub(crate) fn ndjson(&self, method: &str, path: &str, key: &str, body: &str) -> Reply {
        self.send_raw(method, path, key, "application/x-ndjson", body)
    }
}
