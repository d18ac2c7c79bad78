//! What all requests share, and the one list of routes.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{Router, extract::Request, handler::Handler, response::Response, routing::MethodRouter};
use standings_core::BoardId;
use standings_engine::Engine;

use crate::{
    auth::Rates,
    config::HttpOptions,
    problem::{Code, Problem},
    routes::{
        boards, friends, history, import, keys, operations, players, read, seasons, snapshots,
        submit,
    },
    telemetry::{Metrics, RouteSeries},
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
}

impl App {
    /// An app that waits for its engine.
    pub fn new(options: HttpOptions) -> Arc<Self> {
        Arc::new(Self {
            engine: OnceLock::new(),
            default_board: BoardId::new(DEFAULT_BOARD).expect("a word is a board id"),
            rates: Rates::new(options.rate_limit, options.rate_burst),
            metrics: Metrics::default(),
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

/// Every route of the server.
pub(crate) fn router(app: &Arc<App>) -> Router {
    Routes { app, router: Router::new() }
        // Submitting and reading; `/v1/scores` is the default board.
        .at("/v1/scores", |at| at.get(read::page).post(submit::one))
        .at("/v1/scores/{user_id}", |at| at.get(read::entry))
        .at("/v1/scores/at/{score}", |at| at.get(read::place))
        .at("/v1/distribution", |at| at.get(read::distribution))
        .at("/v1/boards/{board}/scores", |at| {
            at.get(read::page).post(submit::one).put(import::scores)
        })
        .at("/v1/boards/{board}/scores/{user_id}", |at| {
            at.get(read::entry)
                .delete(boards::remove_entry)
                // A player may be called `batch`, so that the batch has to share the player's route.
                .named("/v1/boards/{board}/scores/batch")
                .post(submit::batch)
        })
        .at("/v1/boards/{board}/scores/at/{score}", |at| at.get(read::place))
        .at("/v1/boards/{board}/distribution", |at| at.get(read::distribution))
        // Boards, seasons and snapshots.
        .at("/v1/boards", |at| at.get(boards::list))
        .at("/v1/boards/{board}", |at| at.get(boards::get).put(boards::put).delete(boards::delete))
        .at("/v1/boards/{board}/seasons", |at| at.get(seasons::list))
        .at("/v1/boards/{board}/seasons/close", |at| at.post(seasons::close))
        .at("/v1/boards/{board}/seasons/{season}", |at| at.put(import::season))
        .at("/v1/boards/{board}/snapshots", |at| at.get(snapshots::list).post(snapshots::take))
        .at("/v1/boards/{board}/snapshots/{date}", |at| at.put(import::snapshot))
        // Players.
        .at("/v1/players", |at| at.get(players::find))
        .at("/v1/players/{user_id}", |at| {
            at.get(players::get).put(players::put).delete(players::erase)
        })
        .at("/v1/players/{user_id}/friends", |at| at.get(friends::get).put(friends::put))
        .at("/v1/players/{user_id}/scores", |at| at.get(history::scores))
        .at("/v1/players/{user_id}/seasons", |at| at.get(history::seasons))
        .at("/v1/players/{user_id}/snapshots", |at| at.get(history::snapshots))
        // Keys and operations.
        .at("/v1/keys", |at| at.get(keys::list).post(keys::create))
        .at("/v1/keys/{name}", |at| at.delete(keys::delete))
        .at("/v1/backup", |at| at.post(operations::backup))
        .at("/healthz", |at| at.get(operations::healthz))
        .at("/readyz", |at| at.get(operations::readyz))
        .at("/metrics", |at| at.get(operations::metrics))
        .at("/openapi.json", |at| at.get(operations::openapi))
        .at("/docs", |at| at.get(operations::docs))
        .at("/", |at| at.get(operations::index))
        .finish()
}

/// Builds the router with handlers that count into the series of their route, looked up here and not per request.
struct Routes<'a> {
    app: &'a Arc<App>,
    router: Router<Arc<App>>,
}

impl Routes<'_> {
    fn at(self, path: &'static str, methods: impl FnOnce(At<'_>) -> At<'_>) -> Self {
        let at = methods(At { app: self.app, name: path, methods: MethodRouter::new() });
        Self { app: self.app, router: self.router.route(path, at.methods) }
    }

    fn finish(self) -> Router {
        let at = At { app: self.app, name: "unmatched", methods: MethodRouter::new() };
        self.router
            .fallback(at.timed("any", operations::not_found))
            .method_not_allowed_fallback(at.timed("any", operations::method_not_allowed))
            .with_state(Arc::clone(self.app))
    }
}

/// One path of the router, while its methods are listed.
struct At<'a> {
    app: &'a App,
    /// How the path is called in metrics.
    name: &'static str,
    methods: MethodRouter<Arc<App>>,
}

impl At<'_> {
    fn timed<H>(&self, method: &'static str, handler: H) -> Timed<H> {
        Timed { handler, series: Arc::new(self.app.metrics.route(self.name, method)) }
    }

    fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    fn get<T: Send + 'static>(self, handler: impl Handler<T, Arc<App>>) -> Self {
        let handler = self.timed("GET", handler);
        Self { methods: self.methods.get(handler), ..self }
    }

    fn post<T: Send + 'static>(self, handler: impl Handler<T, Arc<App>>) -> Self {
        let handler = self.timed("POST", handler);
        Self { methods: self.methods.post(handler), ..self }
    }

    fn put<T: Send + 'static>(self, handler: impl Handler<T, Arc<App>>) -> Self {
        let handler = self.timed("PUT", handler);
        Self { methods: self.methods.put(handler), ..self }
    }

    fn delete<T: Send + 'static>(self, handler: impl Handler<T, Arc<App>>) -> Self {
        let handler = self.timed("DELETE", handler);
        Self { methods: self.methods.delete(handler), ..self }
    }
}

/// A handler whose answers are counted and timed.
#[derive(Clone)]
struct Timed<H> {
    handler: H,
    series: Arc<RouteSeries>,
}

impl<H, T, S> Handler<T, S> for Timed<H>
where
    H: Handler<T, S>,
    T: Send + 'static,
    S: Send + 'static,
{
    type Future = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, state: S) -> Self::Future {
        let started = Instant::now();
        let answer = self.handler.call(request, state);
        let series = self.series;
        Box::pin(async move {
            let response = answer.await;
            series.answered(response.status(), started.elapsed());
            response
        })
    }
}
