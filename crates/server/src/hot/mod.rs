//! Submissions and the commonest reads, from the socket to the engine and back without the router.
//!
//! hyper and axum build a request, a map of headers, a boxed future or two and a response for every call; measured, that
//! costs more than finding a rank among millions. A connection therefore begins here. As long as its requests are plain
//! ones for scores (see [`head`]) they are answered straight from the read buffer; with the first that is not, the
//! connection goes to hyper, together with what was read and not answered, and stays there. What a request means, and what
//! it is answered, is decided by the very functions that the router's handlers call.

pub(crate) mod head;
pub(crate) mod reply;

use std::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::http::StatusCode;
use standings_core::{BoardId, PlayerId};
use standings_engine::Role;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use crate::{
    app::App,
    auth::{authorise, may_read},
    edge::{Asked, is_harmless, log, new_request_id, unwinding},
    extract::{Media, NoParams, invalid, parse_json, slow_body},
    problem::Problem,
    routes::{read, submit},
    socket::Socket,
    telemetry::{Metrics, RouteSeries},
    wire::Object,
};
use head::{Head, What};
use reply::{Manner, Pages};

/// What is read at once: a submission with all its headers fits several times.
const BUFFER: usize = 4096;
/// Answers to requests that came together are sent together, up to this size.
const OUT_BYTES: usize = 64 * 1024;
/// What a connection may keep of its buffers while it is idle.
const KEPT_BYTES: usize = 16 * 1024;

/// What the requests that are answered here count into: the series of their routes.
pub(crate) struct Series {
    /// Page, entry, submission; of the default board, then of a named one.
    routes: [[RouteSeries; 3]; 2],
}

impl Series {
    pub(crate) fn of(metrics: &Metrics) -> Self {
        let routes = |scores, entry| {
            [
                metrics.route(scores, "GET"),
                metrics.route(entry, "GET"),
                metrics.route(scores, "POST"),
            ]
        };
        let named = routes("/v1/boards/{board}/scores", "/v1/boards/{board}/scores/{user_id}");
        Self { routes: [routes("/v1/scores", "/v1/scores/{user_id}"), named] }
    }

    fn route(&self, head: &Head<'_>) -> &RouteSeries {
        let routes = &self.routes[usize::from(head.board.is_some())];
        match head.what {
            What::Page => &routes[0],
            What::Entry(_) => &routes[1],
            What::Submit => &routes[2],
        }
    }
}

/// Serves a connection as far as it can be served here. What is left is for hyper: the stream, and what was read from it.
pub(crate) async fn serve<S>(
    app: &App,
    series: &Series,
    stopping: &AtomicBool,
    socket: Socket<S>,
) -> Option<Socket<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let now = Instant::now();
    let idle = app.options.idle_timeout;
    let mut connection = Connection {
        app,
        stopping,
        socket,
        input: vec![0; BUFFER].into(),
        start: 0,
        end: 0,
        out: Vec::new(),
        body: Vec::new(),
        since: now,
        timer: Box::pin(sleep_until(now + idle)),
    };
    loop {
        match connection.step(series).await {
            Step::On => {}
            Step::Leave => {
                let Connection { socket, input, start, end, .. } = connection;
                return Some(socket.with_read(&input[start..end]));
            }
            Step::End => {
                // The end is announced, and what still arrives is thrown away; see `Socket`.
                let _ = connection.socket.shutdown().await;
                return None;
            }
            Step::Gone => return None,
        }
    }
}

/// What follows.
enum Step {
    /// The next request.
    On,
    /// hyper goes on from here.
    Leave,
    /// The connection ends.
    End,
    /// It has.
    Gone,
}

/// What became of waiting for bytes.
enum Filled {
    Some,
    /// The client sends no more.
    Eof,
    /// None came in time.
    Late,
    /// The server stops, and no request has begun.
    Stop,
    /// The connection broke.
    Broken,
}

struct Connection<'a, S> {
    app: &'a App,
    stopping: &'a AtomicBool,
    socket: Socket<S>,
    /// What was read; between `start` and `end` it is not answered yet.
    input: Box<[u8]>,
    start: usize,
    end: usize,
    /// Answers that are not sent yet.
    out: Vec<u8>,
    /// The body of an answer while it is written.
    body: Vec<u8>,
    /// Since when the client is waited for.
    since: Instant,
    /// One for the whole connection: it is set anew when it rings, not for every request.
    timer: Pin<Box<Sleep>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<'_, S> {
    /// Answers one request, or waits for one.
    async fn step(&mut self, series: &Series) -> Step {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if !self.send().await {
                return Step::Gone;
            }
            return match self.fill(self.app.options.idle_timeout).await {
                Filled::Some => Step::On,
                Filled::Eof | Filled::Late | Filled::Stop => Step::End,
                Filled::Broken => Step::Gone,
            };
        }
        let Some(head) = Head::read(&self.input[self.start..self.end]) else {
            return self.leave().await;
        };
        let bytes = head.bytes + head.body_bytes;
        if bytes > self.end - self.start {
            if bytes > BUFFER {
                return self.leave().await;
            }
            return self.rest_of_body(series, bytes).await;
        }
        let request = Request {
            app: self.app,
            series: series.route(&head),
            stopping: self.stopping.load(Ordering::Relaxed),
            content: Some(&self.input[self.start..][head.bytes..bytes]),
            head,
        };
        let closes = request.answer(&mut self.out, &mut self.body).await;
        self.start += bytes;
        self.since = Instant::now();
        if closes {
            return if self.send().await { Step::End } else { Step::Gone };
        }
        if self.out.len() > OUT_BYTES {
            if !self.send().await {
                return Step::Gone;
            }
            // Whoever asks for much at once has it bit by bit: the others of this thread come in between.
            tokio::task::yield_now().await;
        }
        Step::On
    }

    /// Waits for more of a request whose head is here.
    async fn rest_of_body(&mut self, series: &Series, bytes: usize) -> Step {
        if !self.send().await {
            return Step::Gone;
        }
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        self.since = Instant::now();
        while self.end < bytes {
            match self.fill(self.app.options.body_timeout).await {
                Filled::Some | Filled::Stop => {}
                Filled::Eof => return Step::Leave,
                Filled::Broken => return Step::Gone,
                Filled::Late => return self.refuse_late(series).await,
            }
        }
        Step::On
    }

    /// Refuses a request whose body did not come.
    async fn refuse_late(&mut self, series: &Series) -> Step {
        let Some(head) = Head::read(&self.input[self.start..self.end]) else { return Step::End };
        let series = series.route(&head);
        let request = Request { app: self.app, series, stopping: true, content: None, head };
        request.answer(&mut self.out, &mut self.body).await;
        if self.send().await { Step::End } else { Step::Gone }
    }

    async fn leave(&mut self) -> Step {
        if self.send().await { Step::Leave } else { Step::Gone }
    }

    /// Sends the answers that are ready.
    async fn send(&mut self) -> bool {
        if self.out.is_empty() {
            return true;
        }
        let sent =
            self.socket.write_all(&self.out).await.is_ok() && self.socket.flush().await.is_ok();
        for buffer in [&mut self.out, &mut self.body] {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES);
        }
        sent
    }

    /// Waits for bytes.
    async fn fill(&mut self, patience: Duration) -> Filled {
        std::future::poll_fn(|context| self.poll_fill(context, patience)).await
    }

    fn poll_fill(&mut self, context: &mut Context<'_>, patience: Duration) -> Poll<Filled> {
        let mut buffer = ReadBuf::new(&mut self.input[self.end..]);
        if let Poll::Ready(read) = Pin::new(&mut self.socket).poll_read(context, &mut buffer) {
            let bytes = buffer.filled().len();
            self.end += bytes;
            return Poll::Ready(match read {
                Ok(()) if bytes > 0 => Filled::Some,
                Ok(()) => Filled::Eof,
                Err(_) => Filled::Broken,
            });
        }
        if self.end == 0 && self.stopping.load(Ordering::Relaxed) {
            return Poll::Ready(Filled::Stop);
        }
        loop {
            let due = self.since + patience;
            if self.timer.deadline() > due {
                self.timer.as_mut().reset(due);
            }
            ready!(self.timer.as_mut().poll(context));
            if Instant::now() >= due {
                return Poll::Ready(Filled::Late);
            }
            self.timer.as_mut().reset(due);
        }
    }
}

/// A request that is complete, or will never be.
struct Request<'a> {
    app: &'a App,
    series: &'a RouteSeries,
    stopping: bool,
    head: Head<'a>,
    /// None of a body that did not come in time.
    content: Option<&'a [u8]>,
}

impl Request<'_> {
    /// Writes the answer behind those before it. Whether the connection ends with it.
    async fn answer(&self, out: &mut Vec<u8>, body: &mut Vec<u8>) -> bool {
        let Self { app, series, stopping, head, .. } = self;
        let started = std::time::Instant::now();
        let new_id;
        let request_id = if let Some(given) = head.request_id.filter(|id| is_harmless(id)) {
            given
        } else {
            new_id = new_request_id();
            &new_id
        };
        body.clear();
        let answer = unwinding(self.write_body(body)).await;
        let reads = head.what != What::Submit;
        let method = if reads { "GET" } else { "POST" };
        let asked = Asked { id: request_id, method, path: head.path };
        let pages = if reads { Pages::of(&app.options.cors) } else { Pages::Unsaid };
        let mut manner = Manner { request_id, pages, close: *stopping };
        match answer.and_then(|answer| answer) {
            Ok(()) => {
                series.answered(StatusCode::OK, started.elapsed());
                log(app, &asked, StatusCode::OK, None, started);
                reply::ok(out, body, manner);
            }
            Err(problem) => {
                let status = problem.code().status();
                series.answered(status, started.elapsed());
                log(app, &asked, status, Some(&problem), started);
                manner.close |= problem.closes();
                reply::problem(out, &problem, manner);
            }
        }
        manner.close
    }

    /// Does what is asked and writes the answer's body.
    async fn write_body(&self, body: &mut Vec<u8>) -> Result<(), Problem> {
        let Self { app, head, content, .. } = self;
        // In the order in which the handlers' extractors run.
        if head.what == What::Submit {
            authorise(app, head.authorization, Role::Game).await?;
        } else {
            may_read(app, head.authorization).await?;
        }
        let named = head.board.map(|board| BoardId::new(board).map_err(invalid)).transpose()?;
        let board = named.as_ref().unwrap_or(&app.default_board);
        match head.what {
            What::Page => read::write_page(app, board, head.query, body).await,
            What::Entry(player) => {
                let player = PlayerId::new(player).map_err(invalid)?;
                read::write_entry(app, board, &player, head.query, body).await
            }
            What::Submit => {
                NoParams::of(head.query)?;
                Media::named(head.content_type, Media::Json, &[Media::Json])?;
                let Object(submission) = parse_json(content.ok_or_else(slow_body)?)?;
                submit::write_receipt(app, board, submission, body).await
            }
        }
    }
}
