//! Accepting connections and serving each until it ends or the server stops.

use std::{
    convert::Infallible,
    io,
    num::NonZero,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use anyhow::Context as _;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use standings_embedded::open_mailbox;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    runtime::{self, Handle},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch},
    time::{Instant, sleep},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::{app::App, config::TlsFiles, edge, limits::HEAD_BYTES, socket::Socket};

/// How long accepting rests when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What every connection is served with.
struct Server {
    app: Arc<App>,
    http: http1::Builder,
    tls: Option<TlsAcceptor>,
    /// Set when the server stops.
    stopping: AtomicBool,
}

/// Serves until `shutdown` completes; then accepts no more, finishes the requests under way, and returns.
///
/// Over the limit of connections a further one waits in the kernel's queue until another ends.
pub async fn run(
    listener: TcpListener,
    app: Arc<App>,
    tls: Option<TlsAcceptor>,
    shutdown: impl Future<Output = ()>,
) {
    let options = app.options.clone();
    let mut http = http1::Builder::new();
    // Not `pipeline_flush`: it keeps an answer back while unread bytes wait, and so loses one that refuses a body. An answer is
    // short, and copying it behind its head costs less than writing two pieces. Time is kept by `Idle`.
    http.header_read_timeout(None).max_header_size(HEAD_BYTES).writev(false);
    // A client may end its side with its request and wait for the answer. Looking for that end while a request is answered would
    // also cost each request a buffer to read into.
    http.half_close(true);
    let server = Arc::new(Server { app, http, tls, stopping: AtomicBool::new(false) });
    let permits = Arc::new(Semaphore::new(options.max_connections.min(Semaphore::MAX_PERMITS)));
    let workers = match Workers::start() {
        Ok(workers) => workers,
        Err(error) => return tracing::error!(%error, "cannot start the threads that serve"),
    };
    let (stop, stopped) = watch::channel(());
    // Every connection holds a sender; when the last is dropped, all have ended.
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);

    let mut shutdown = pin!(shutdown);
    for worker in workers.in_turn() {
        let next = accept(&listener, &permits);
        let (socket, permit) = tokio::select! {
            next = next => next,
            () = &mut shutdown => break,
        };
        // From the poller of this thread to that of the worker.
        let Ok(socket) = socket.into_std() else { continue };
        let (server, stopped, alive) = (Arc::clone(&server), stopped.clone(), alive.clone());
        worker.spawn(async move {
            let Ok(socket) = TcpStream::from_std(socket) else { return };
            server.app.metrics.accepted.inc();
            server.app.metrics.connections.inc();
            connection(&server, socket, stopped).await;
            server.app.metrics.connections.dec();
            drop((permit, alive));
        });
    }
    drop((listener, alive));
    server.stopping.store(true, Ordering::Relaxed);
    stop.send_replace(());
    if tokio::time::timeout(options.stop_timeout, ended.recv()).await.is_err() {
        tracing::warn!("requests were still under way when the time to stop was over");
    }
}

/// The threads that serve, each with a runtime of its own. A connection stays with its thread: no work is stolen, and no
/// thread is woken for what another can do.
struct Workers {
    handles: Vec<Handle>,
    /// Dropping them ends the threads.
    _stop: Vec<oneshot::Sender<Infallible>>,
}

impl Workers {
    /// Starts one for each core.
    fn start() -> io::Result<Self> {
        let (mut handles, mut stops) = (Vec::new(), Vec::new());
        for number in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            handles.push(runtime.handle().clone());
            let (stop, stopped) = oneshot::channel();
            stops.push(stop);
            let work = move || {
                let _ = runtime.block_on(async {
                    open_mailbox();
                    stopped.await
                });
                // What still runs was waited for long enough.
                runtime.shutdown_background();
            };
            std::thread::Builder::new().name(format!("http-{number}")).spawn(work)?;
        }
        Ok(Self { handles, _stop: stops })
    }

    /// One after the other, without end.
    fn in_turn(&self) -> impl Iterator<Item = &Handle> {
        self.handles.iter().cycle()
    }
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so that there always is a permit.
    let permit = Arc::clone(permits).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((socket, _)) => return (socket, permit),
            Err(error) if of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Whether the error concerns a connection that is gone, and not the listener.
fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(server: &Server, socket: TcpStream, mut stopped: watch::Receiver<()>) {
    // An answer is one write: waiting to fill a packet would only add latency.
    let _ = socket.set_nodelay(true);
    let Some(tls) = &server.tls else { return serve(server, socket, stopped).await };
    let accepted = tokio::time::timeout(server.app.options.idle_timeout, tls.accept(socket));
    let accepted = tokio::select! {
        accepted = accepted => accepted,
        // It has asked for nothing yet: a stop need not wait for it.
        _ = stopped.changed() => return,
    };
    match accepted {
        Ok(Ok(stream)) => serve(server, stream, stopped).await,
        Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
        Err(_) => tracing::debug!("no TLS in time"),
    }
}

async fn serve<S>(server: &Server, stream: S, mut stopped: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Server { app, http, stopping, .. } = server;
    let idle = &Idle::new();
    let service = service_fn(|request| async {
        idle.request();
        let answer = edge::answer(app, request).await;
        idle.answer();
        Ok::<_, Infallible>(answer)
    });
    let socket = Socket::new(stream, app.options.body_timeout, idle);
    let mut connection = pin!(http.serve_connection(TokioIo::new(socket), service));
    let patience = app.options.idle_timeout;
    let (mut timer, mut stop) = (pin!(sleep(patience)), pin!(stopped.changed()));
    let (mut registered, mut stops) = (false, false);
    let end = std::future::poll_fn(|context| {
        // Timer and signal wake this task whichever poll of it they have seen, so that they need not see each.
        if !registered {
            registered = true;
            let _ = (stop.as_mut().poll(context), timer.as_mut().poll(context));
        }
        if !stops && stopping.load(Ordering::Relaxed) {
            stops = true;
            connection.as_mut().graceful_shutdown();
        }
        if let Poll::Ready(end) = connection.as_mut().poll(context) {
            return Poll::Ready(end.map_err(|error| error.to_string()));
        }
        while timer.is_elapsed() {
            let left = idle.left(patience);
            if left.is_zero() {
                return Poll::Ready(Err("nothing came in time".to_owned()));
            }
            timer.as_mut().reset(Instant::now() + left);
            let _ = timer.as_mut().poll(context);
        }
        Poll::Pending
    });
    if let Err(error) = end.await {
        tracing::debug!(error, "connection broke off");
    }
}

/// Since when a connection waits for its client. One timer a connection looks at it, and not one a request.
pub(crate) struct Idle {
    start: Instant,
    /// In milliseconds from the start, or one of the two below.
    since: AtomicU64,
}

/// A request is being answered, and has bounds of its own.
const BUSY: u64 = u64::MAX;
/// The answer is ready, and its first bytes are going to be written.
const ANSWERED: u64 = u64::MAX - 1;

impl Idle {
    fn new() -> Self {
        Self { start: Instant::now(), since: AtomicU64::new(0) }
    }

    fn request(&self) {
        self.since.store(BUSY, Ordering::Relaxed);
    }

    fn answer(&self) {
        self.since.store(ANSWERED, Ordering::Relaxed);
    }

    /// The client takes what is written, of which some may follow.
    pub(crate) fn written(&self) {
        if self.since.load(Ordering::Relaxed) != BUSY {
            let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(0);
            self.since.store(since, Ordering::Relaxed);
        }
    }

    /// How much longer the client is waited for.
    fn left(&self, patience: Duration) -> Duration {
        match self.since.load(Ordering::Relaxed) {
            BUSY | ANSWERED => patience,
            since => (Duration::from_millis(since) + patience).saturating_sub(self.start.elapsed()),
        }
    }
}

/// Reads certificate and key.
pub fn tls(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let cert = || format!("cannot read the certificate {}", files.cert.display());
    let chain = CertificateDer::pem_file_iter(&files.cert).with_context(cert)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().with_context(cert)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .with_context(|| format!("cannot read the private key {}", files.key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("certificate and key do not fit")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
