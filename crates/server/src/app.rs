//! What all requests share.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use standings_core::BoardId;
use standings_engine::Engine;

use crate::{
    auth::Rates,
    config::HttpOptions,
    problem::{Code, Problem},
    routes::ROUTES,
    table::Table,
    telemetry::Metrics,
};

/// The board of `/v1/scores`.
pub const DEFAULT_BOARD: &str = "main";

/// What all requests share. It lives as long as the server.
pub struct App {
    /// Set once, when recovery is complete. Until then every call but `/healthz` is answered 503.
    engine: OnceLock<Arc<dyn Engine>>,
    /// The board of `/v1/scores`.
    pub(crate) default_board: BoardId,
    pub(crate) options: HttpOptions,
    pub(crate) metrics: Metrics,
    pub(crate) rates: Rates,
    pub(crate) table: Table,
}

impl App {
    /// An app that waits for its engine.
    pub fn new(options: HttpOptions) -> Arc<Self> {
        let metrics = Metrics::default();
        Arc::new(Self {
            engine: OnceLock::new(),
            default_board: BoardId::new(DEFAULT_BOARD).expect("a word is a board id"),
            rates: Rates::new(options.rate_limit, options.rate_burst),
            table: Table::new(ROUTES, &metrics),
            metrics,
            options,
        })
    }

    /// Gives it a recovered engine. From here on it answers; a second engine is ignored.
    pub fn start(&self, engine: Arc<dyn Engine>) {
        if self.engine.set(Arc::clone(&engine)).is_ok() {
            self.metrics.add_engine(engine);
        }
    }

    /// The engine, or why there is none.
    pub(crate) fn engine(&self) -> Result<&dyn Engine, Problem> {
        self.engine.get().map(AsRef::as_ref).ok_or_else(|| {
            let detail =
                "the server is recovering its data; nothing was applied, try again shortly";
            Problem::new(Code::Unavailable, detail).retry_after(Duration::from_secs(1))
        })
    }
}
