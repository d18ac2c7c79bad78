//! `standings serve`: from settings to a running server, and back down in good order.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use standings_core::{Board, BoardId, KeyName, Millis};
use standings_embedded::{Durability, Embedded, Options};
use standings_engine::{Engine, FirstStart, Role, SystemClock};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
};

use crate::{
    app::{App, DEFAULT_BOARD},
    auth::{hash, new_key},
    config::{Config, Durable, Settings},
    descriptors,
    listen::{run, tls},
    telemetry::init_logs,
};

/// The name under which the first admin key is listed.
const ADMIN: &str = "admin";

/// What `durability = "interval"` may lose to a power cut.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the server until SIGTERM or SIGINT.
pub fn serve(settings: Settings) -> anyhow::Result<()> {
    let mut config = settings.with_file()?.resolve()?;
    init_logs(config.log_format, &config.log_level)?;
    config.http.max_connections = descriptors::connections(config.http.max_connections);
    // Connections are served by threads of their own: this one accepts them and waits for signals.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let result = runtime.block_on(until_signal(config));
    // A recovery that was interrupted goes on in its thread; the data is safe without it.
    runtime.shutdown_background();
    result
}

/// Connections that the system may keep ready while they wait to be accepted, if it allows so many: thousands of players
/// come back at once when a game does, and one who finds the queue full is held for a second.
const BACKLOG: u32 = 4096;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As for any server: a port in use by connections that are ending is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn until_signal(config: Config) -> anyhow::Result<()> {
    let tls = config.tls.as_ref().map(tls).transpose()?;
    // The port answers from the start, so that an orchestrator sees a process that is up and not ready yet.
    let listener =
        listen(config.listen).with_context(|| format!("cannot listen on {}", config.listen))?;
    let address = listener.local_addr()?;
    let app = App::new(config.http.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let served = tokio::spawn(run(listener, Arc::clone(&app), tls, async {
        // A dropped sender means stop as well.
        let _ = stopped.await;
    }));
    tracing::info!(%address, data = %config.data.display(), "listening; recovering");

    let mut signal = std::pin::pin!(signal());
    let engine = tokio::select! {
        engine = open(config.clone()) => engine?,
        () = &mut signal => return Ok(()),
    };
    let first_key = prepare(&*engine, config.admin_key.as_deref()).await?;
    app.start(engine.clone());
    greet(scheme, address, &config, first_key.as_deref())?;
    tracing::info!(%address, "ready");

    signal.await;
    tracing::info!("stopping");
    drop(stop);
    served.await.context("the server broke off")?;
    engine.shutdown().await;
    tracing::info!("stopped");
    Ok(())
}

/// Opens the engine in a thread of its own: recovery computes and reads for seconds.
async fn open(config: Config) -> anyhow::Result<Arc<Embedded>> {
    let (send, receive) = oneshot::channel();
    std::thread::Builder::new()
        .name("recovery".to_owned())
        .spawn(move || send.send(Embedded::open(options(&config), Arc::new(SystemClock))))
        .context("cannot start a thread")?;
    Ok(receive.await.context("the recovery broke off")??)
}

fn options(config: &Config) -> Options {
    let window = i64::try_from(config.event_id_window.as_millis()).unwrap_or(i64::MAX);
    Options {
        dir: config.data.clone(),
        durability: match config.durability {
            Durable::Always => Durability::Always,
            Durable::Interval => Durability::Interval(FLUSH_INTERVAL),
        },
        event_id_window: Millis(window),
        max_players: config.max_players.unwrap_or(u64::MAX),
        ..Options::default()
    }
}

/// Makes sure that there is an admin key and, in new data, the default board. Returns a key that was made here.
async fn prepare(engine: &dyn Engine, admin_key: Option<&str>) -> anyhow::Result<Option<String>> {
    let main = BoardId::new(DEFAULT_BOARD).context("the default board")?;
    let name = KeyName::new(ADMIN).context("the admin key")?;
    let made = match admin_key {
        Some(_) => None,
        None => Some(new_key().context("no random numbers are to be had")?),
    };
    let hash = hash(admin_key.or(made.as_deref()).unwrap_or_default().as_bytes());
    let first = FirstStart { board: (main, Board::default()), admin: (name.clone(), hash) };
    let done = engine.initialise(first).await?;
    if admin_key.is_some() && !done.admin {
        // Not anew at every start: a disk that is full must not keep reads from being served.
        let known = engine.key(&hash)?;
        if !known.is_some_and(|known| known.name == name && known.role == Role::Admin) {
            engine.put_key(&name, Role::Admin, hash, true).await?;
        }
    }
    Ok(made.filter(|_| done.admin))
}

/// What a person should see who has just started it.
fn greet(
    scheme: &str,
    address: SocketAddr,
    config: &Config,
    first_key: Option<&str>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Standings is ready at {scheme}://{address} (data in {})",
        config.data.display()
    )?;
    if let Some(key) = first_key {
        writeln!(out, "\nAdmin key, shown only this once:\n  {key}")?;
    }
    let key = first_key.unwrap_or("$STANDINGS_ADMIN_KEY");
    writeln!(
        out,
        "\nSubmit a score:\n  curl -H 'Content-Type: application/json' -H \"Authorization: Bearer {key}\" \
         -d '{{\"user_id\":\"alice\",\"points\":3}}' {scheme}://{address}/v1/scores\n\
         Read the top:\n  curl {scheme}://{address}/v1/scores\n\
         All calls: {scheme}://{address}/docs"
    )?;
    out.flush()?;
    Ok(())
}

/// Completes on SIGTERM or SIGINT.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = term.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
