//! Settings: a flag, else an environment variable, else a line of the configuration file, else the default.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use hyper::header::HeaderValue;
use serde::Deserialize;

use crate::telemetry::LogFormat;

/// What `standings serve` takes. Every field is optional here: which source gave it is decided before defaults apply.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A TOML file with the settings that neither flag nor environment gives; its names are those of the flags with `_`
    #[arg(long, env = "STANDINGS_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,

    /// Where the data lives [default: ./standings-data]
    #[arg(long, env = "STANDINGS_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The address to listen on [default: 127.0.0.1:7878]
    #[arg(long, env = "STANDINGS_LISTEN", value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,

    /// What stores and ranks [default: embedded]
    #[arg(long, env = "STANDINGS_ENGINE", value_name = "ENGINE")]
    pub engine: Option<EngineKind>,

    /// The first admin key; without it, and with none stored, one is made and printed once
    #[arg(long, env = "STANDINGS_ADMIN_KEY", value_name = "KEY", hide_env_values = true)]
    pub admin_key: Option<String>,

    /// Who may read [default: open]
    #[arg(long, env = "STANDINGS_READS", value_name = "WHO")]
    pub reads: Option<Reads>,

    /// When an accepted score is on the disk: before its receipt, or at most a second after it [default: always]
    #[arg(long, env = "STANDINGS_DURABILITY", value_name = "WHEN")]
    pub durability: Option<Durable>,

    /// How long an event id counts once [default: 48 hours]
    #[arg(long, env = "STANDINGS_EVENT_ID_WINDOW", value_name = "SPAN")]
    pub event_id_window: Option<Span>,

    /// The certificate chain for TLS, PEM; needs --tls-key
    #[arg(long, env = "STANDINGS_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,

    /// The private key for TLS, PEM; needs --tls-cert
    #[arg(long, env = "STANDINGS_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,

    /// Origins whose pages may read: `*`, `none`, or a list separated by commas [default: *]
    #[arg(long, env = "STANDINGS_CORS_ORIGINS", value_name = "ORIGINS")]
    pub cors_origins: Option<String>,

    /// Requests a second that one key may make; 0 is without limit [default: 0]
    #[arg(long, env = "STANDINGS_RATE_LIMIT", value_name = "N")]
    pub rate_limit: Option<u32>,

    /// Requests that one key may make at once after a pause [default: the rate limit]
    #[arg(long, env = "STANDINGS_RATE_BURST", value_name = "N")]
    pub rate_burst: Option<u32>,

    /// Connections served at a time; further ones wait to be accepted [default: 10000]
    #[arg(long, env = "STANDINGS_MAX_CONNECTIONS", value_name = "N")]
    pub max_connections: Option<usize>,

    /// Players that one season of a board may have; new ones are refused then. 0 is without limit [default: 0]
    #[arg(long, env = "STANDINGS_MAX_PLAYERS", value_name = "N")]
    pub max_players: Option<u64>,

    /// How long a connection may be idle, or take to send a request's head [default: 60 seconds]
    #[arg(long, env = "STANDINGS_IDLE_TIMEOUT", value_name = "SPAN")]
    pub idle_timeout: Option<Span>,

    /// How long a body may take; of a streamed import, how long it may stand still [default: 30 seconds]
    #[arg(long, env = "STANDINGS_BODY_TIMEOUT", value_name = "SPAN")]
    pub body_timeout: Option<Span>,

    /// How long a stop waits for requests under way [default: 30 seconds]
    #[arg(long, env = "STANDINGS_STOP_TIMEOUT", value_name = "SPAN")]
    pub stop_timeout: Option<Span>,

    /// How log lines are written to standard error [default: text]
    #[arg(long, env = "STANDINGS_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    /// What is logged: error, warn, info, debug, trace, or a filter such as `info,standings_server=debug` [default: info]
    #[arg(long, env = "STANDINGS_LOG_LEVEL", value_name = "FILTER")]
    pub log_level: Option<String>,
}

/// What stores and ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// This process, with a data directory.
    #[default]
    Embedded,
}

/// Who may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// Everyone.
    #[default]
    Open,
    /// Whoever has a key.
    Key,
}

/// When an accepted score is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Durable {
    /// Before its receipt is sent.
    #[default]
    Always,
    /// At most a second later: a power cut can take back what was acknowledged in that second.
    Interval,
}

/// A span of time as people write it: `30 seconds`, `48h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

impl std::str::FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let span: Option<jiff::SignedDuration> = text.parse().ok();
        let span = span.and_then(|span| Duration::try_from(span).ok());
        span.map(Self).ok_or_else(|| format!("{text:?} is not a span such as \"30 seconds\""))
    }
}

impl TryFrom<String> for Span {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Which pages' scripts may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cors {
    /// Those of any origin.
    #[default]
    Any,
    /// Those of the server itself.
    None,
    /// Those of these origins.
    Origins(Vec<HeaderValue>),
}

impl std::str::FromStr for Cors {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text.trim() {
            "*" => Ok(Self::Any),
            "none" | "" => Ok(Self::None),
            list => {
                let origins = list.split(',').map(str::trim).map(|text| {
                    origin(text).with_context(|| {
                        format!(
                            "cors_origins: {text:?} is not an origin such as https://example.org: scheme, host and, \
                             where it is another, port, without a path"
                        )
                    })
                });
                Ok(Self::Origins(origins.collect::<anyhow::Result<_>>()?))
            }
        }
    }
}

/// An origin as browsers send it, in lower case: any other form would be compared with what they send in vain.
fn origin(text: &str) -> Option<HeaderValue> {
    let lower = text.to_ascii_lowercase();
    // Browsers show an origin as an address with a slash, which is all that may follow.
    let origin = lower.strip_suffix('/').unwrap_or(&lower);
    let (scheme, host) = origin.split_once("://")?;
    let own_port = if scheme == "https" { ":443" } else { ":80" };
    let origin = origin.strip_suffix(own_port).unwrap_or(origin);
    let named = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
    let is_host = !host.is_empty() && !host.starts_with(':') && host.bytes().all(named);
    let is_origin = matches!(scheme, "http" | "https") && is_host;
    is_origin.then(|| HeaderValue::from_str(origin).ok()).flatten()
}

/// The files for TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// How the HTTP side behaves.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Who may read.
    pub reads: Reads,
    /// Which pages' scripts may read.
    pub cors: Cors,
    /// Requests a second per key; 0 is without limit.
    pub rate_limit: u32,
    /// Requests that a key may make at once after a pause.
    pub rate_burst: u32,
    /// Connections served at a time.
    pub max_connections: usize,
    /// How long a connection may be idle or take to send a head.
    pub idle_timeout: Duration,
    /// How long a body may take, or a streamed one stand still.
    pub body_timeout: Duration,
    /// How long a stop waits for requests under way.
    pub stop_timeout: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            reads: Reads::Open,
            cors: Cors::Any,
            rate_limit: 0,
            rate_burst: 0,
            max_connections: 10_000,
            idle_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(30),
        }
    }
}

/// Settings with every question decided.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the data lives.
    pub data: PathBuf,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The first admin key.
    pub admin_key: Option<String>,
    /// When an accepted score is on the disk.
    pub durability: Durable,
    /// How long an event id counts once.
    pub event_id_window: Duration,
    /// Players that one season may have, if there is a limit.
    pub max_players: Option<u64>,
    /// TLS, where it is wanted.
    pub tls: Option<TlsFiles>,
    /// The HTTP side.
    pub http: HttpOptions,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// What is logged.
    pub log_level: String,
}

/// Our own news, and of the store below only what is wrong.
const LOG_LEVEL: &str = "info,fjall=warn,lsm_tree=warn";

/// A key shorter than this can be guessed.
const ADMIN_KEY_CHARS: usize = 16;

impl Settings {
    /// Reads the file that the settings name, if they name one, and fills up from it.
    pub fn with_file(self) -> anyhow::Result<Self> {
        let Some(path) = &self.config else { return Ok(self) };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the configuration {}", path.display()))?;
        let file = Self::parse(&text).with_context(|| format!("in {}", path.display()))?;
        Ok(self.or(file))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(toml::from_str(text)?)
    }

    /// What is given here, and the rest from another source.
    fn or(self, other: Self) -> Self {
        Self {
            config: self.config,
            data: self.data.or(other.data),
            listen: self.listen.or(other.listen),
            engine: self.engine.or(other.engine),
            admin_key: self.admin_key.or(other.admin_key),
            reads: self.reads.or(other.reads),
            durability: self.durability.or(other.durability),
            event_id_window: self.event_id_window.or(other.event_id_window),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            cors_origins: self.cors_origins.or(other.cors_origins),
            rate_limit: self.rate_limit.or(other.rate_limit),
            rate_burst: self.rate_burst.or(other.rate_burst),
            max_connections: self.max_connections.or(other.max_connections),
            max_players: self.max_players.or(other.max_players),
            idle_timeout: self.idle_timeout.or(other.idle_timeout),
            body_timeout: self.body_timeout.or(other.body_timeout),
            stop_timeout: self.stop_timeout.or(other.stop_timeout),
            log_format: self.log_format.or(other.log_format),
            log_level: self.log_level.or(other.log_level),
        }
    }

    /// Applies the defaults and checks what belongs together.
    pub fn resolve(self) -> anyhow::Result<Config> {
        let EngineKind::Embedded = self.engine.unwrap_or_default();
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (None, None) => None,
            _ => bail!("TLS needs both tls_cert and tls_key"),
        };
        if let Some(key) = &self.admin_key {
            let plain = key.bytes().all(|b| b.is_ascii_graphic());
            ensure!(
                plain && key.len() >= ADMIN_KEY_CHARS,
                "admin_key must be at least {ADMIN_KEY_CHARS} printable ASCII characters without spaces"
            );
        }
        let defaults = HttpOptions::default();
        let span = |given: Option<Span>, default: Duration| given.map_or(default, |span| span.0);
        let rate_limit = self.rate_limit.unwrap_or(defaults.rate_limit);
        let http = HttpOptions {
            reads: self.reads.unwrap_or_default(),
            cors: self.cors_origins.as_deref().unwrap_or("*").parse()?,
            rate_limit,
            rate_burst: self.rate_burst.unwrap_or(rate_limit),
            max_connections: self.max_connections.unwrap_or(defaults.max_connections),
            idle_timeout: span(self.idle_timeout, defaults.idle_timeout),
            body_timeout: span(self.body_timeout, defaults.body_timeout),
            stop_timeout: span(self.stop_timeout, defaults.stop_timeout),
        };
        ensure!(http.max_connections > 0, "max_connections must be at least 1");
        ensure!(rate_limit == 0 || http.rate_burst > 0, "rate_burst must be at least 1");
        Ok(Config {
            data: self.data.unwrap_or_else(|| "./standings-data".into()),
            listen: self.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 7878))),
            admin_key: self.admin_key,
            durability: self.durability.unwrap_or_default(),
            event_id_window: span(self.event_id_window, Duration::from_secs(48 * 3600)),
            max_players: self.max_players.filter(|most| *most > 0),
            tls,
            http,
            log_format: self.log_format.unwrap_or_default(),
            log_level: self.log_level.unwrap_or_else(|| LOG_LEVEL.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_goes_before_the_file() {
        let flags = Settings { listen: "127.0.0.1:1".parse().ok(), ..Settings::default() };
        let file = Settings::parse("listen = \"127.0.0.1:2\"\nreads = \"key\"").unwrap();
        let config = flags.or(file).resolve().unwrap();
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.http.reads, Reads::Key);
    }

    #[test]
    fn a_typo_in_the_file_is_an_error_that_names_it() {
        let error = Settings::parse("lisen = \"127.0.0.1:2\"").unwrap_err();
        assert!(format!("{error:#}").contains("lisen"), "{error:#}");
    }

    #[test]
    fn an_engine_that_is_not_built_in_says_so() {
        let error = Settings::parse("engine = \"redis\"").unwrap_err().to_string();
        assert!(error.contains("expected `embedded`"), "{error}");
    }

    #[test]
    fn spans_are_written_as_people_do() {
        let file = Settings::parse("idle_timeout = \"90 seconds\"\nevent_id_window = \"48h\"");
        let config = file.unwrap().resolve().unwrap();
        assert_eq!(config.http.idle_timeout, Duration::from_secs(90));
        assert_eq!(config.event_id_window, Duration::from_secs(48 * 3600));
        assert!(Settings::parse("idle_timeout = \"soon\"").is_err());
    }

    #[test]
    fn no_players_at_most_is_no_limit() {
        let most = |text: &str| Settings::parse(text).unwrap().resolve().unwrap().max_players;
        assert_eq!(
            [most(""), most("max_players = 0"), most("max_players = 5")],
            [None, None, Some(5)]
        );
    }

    #[test]
    fn an_origin_is_written_as_browsers_send_it() {
        let origins = |text: &str| match text.parse() {
            Ok(Cors::Origins(origins)) => origins,
            other => panic!("{text:?}: {other:?}"),
        };
        assert_eq!(origins("HTTPS://Game.Example"), ["https://game.example"]);
        assert_eq!(origins("https://a.b:443,http://a.b:80"), ["https://a.b", "http://a.b"]);
        assert_eq!(
            origins("http://localhost:3000, https://[::1]:8443 ,https://a.b"),
            ["http://localhost:3000", "https://[::1]:8443", "https://a.b"]
        );
    }

    #[test]
    fn what_no_browser_sends_as_an_origin_is_refused() {
        for bad in [
            "game.example",
            "ftp://game.example",
            "https://",
            "https:///",
            "https://:8080",
            "https://game.example/scores",
            "https://game.example//",
            "https://game.example?a=1",
            "https://game.example#a",
            "https://me@game.example",
            "https://*.example",
            "https://game example",
            "https://spiel\u{e4}.example",
            "https://game.example,",
            "null",
        ] {
            let error = bad.parse::<Cors>().unwrap_err().to_string();
            assert!(error.starts_with("cors_origins: ") && error.contains("https://"), "{error}");
        }
    }

    #[test]
    fn half_of_tls_is_an_error() {
        let half = Settings { tls_cert: Some("cert.pem".into()), ..Settings::default() };
        assert!(half.resolve().is_err());
    }
}
