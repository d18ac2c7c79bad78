//! The HTTP client that the subcommands share.

use std::{env, fmt::Write as _, fs, io, path::PathBuf, time::Duration};

use clap::Args;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio_rustls::rustls;
use ureq::{
    Agent, AsSendBody, SendBody,
    http::{Method, Request, Response, header},
    tls::{PemItem, RootCerts, TlsConfig, parse_pem},
};

use super::{
    failure::{Failure, Problem, Result},
    output::Output,
};

/// How long a server may take to accept a connection. There is no limit for an answer: a backup or the ranking of an
/// imported season takes what it takes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest answer. A page of 1,000 rows has at most some 5 MB; a list of all boards may have more.
const ANSWER_BYTES: u64 = 256 * 1024 * 1024;

/// What needs no escape in a path segment or a query.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Which server, and as whom.
#[derive(Args, Debug)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// The running server
    #[arg(
        long,
        env = "STANDINGS_SERVER",
        default_value = "http://127.0.0.1:7878",
        value_name = "URL"
    )]
    server: String,

    /// The access key to call with; without one, `STANDINGS_ADMIN_KEY` is tried
    #[arg(long, env = "STANDINGS_KEY", value_name = "KEY", hide_env_values = true)]
    key: Option<String>,

    /// The certificates to trust instead of the public ones, PEM, for a server with a private CA
    #[arg(long, env = "STANDINGS_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// What every command has that calls a server and shows the answer.
#[derive(Args, Debug)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    connection: Connection,
}

/// A server to call.
pub(crate) struct Client {
    agent: Agent,
    /// Without a slash at the end.
    server: String,
    key: Option<String>,
}

/// An answer that is not a refusal.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Call {
    /// A client for the server. Nothing is sent yet.
    pub(crate) fn client(&self) -> Result<Client> {
        self.connection.client()
    }

    /// Asks, and shows the answer itself to a script, or what `human` makes of it.
    pub(crate) fn get(&self, path: &Path, human: impl FnOnce(&Value) -> String) -> Result<()> {
        self.output.show(&self.client()?.get(path)?, human)
    }
}

impl Connection {
    /// A client for this server. Nothing is sent yet.
    pub(crate) fn client(&self) -> Result<Client> {
        let server = self.server.trim_end_matches('/').to_owned();
        if !server.starts_with("http://") && !server.starts_with("https://") {
            let hint = "write it as http://127.0.0.1:7878 or https://scores.example.org";
            return Err(Failure::Usage(format!("--server {server}: {hint}")));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("standings/", env!("CARGO_PKG_VERSION")));
        if let Some(path) = &self.ca {
            config =
                config.tls_config(TlsConfig::builder().root_certs(certificates(path)?).build());
        }
        let admin = || env::var("STANDINGS_ADMIN_KEY").ok();
        let key = self.key.clone().or_else(admin).filter(|key| !key.is_empty());
        Ok(Client { agent: config.build().into(), server, key })
    }
}

fn certificates(path: &PathBuf) -> Result<RootCerts> {
    let pem = fs::read(path).map_err(|error| Failure::file("read", path, error))?;
    let mut certs = Vec::new();
    for item in parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(cert)) => certs.push(cert),
            Ok(_) => {}
            Err(error) => return Err(Failure::file("read", path, error)),
        }
    }
    if certs.is_empty() {
        return Err(Failure::file("use", path, "there is no certificate in it"));
    }
    Ok(RootCerts::new_with_certs(&certs))
}

impl Client {
    pub(crate) fn get(&self, path: &Path) -> Result<Reply> {
        self.send(Method::GET, path, None, ())
    }

    pub(crate) fn delete(&self, path: &Path) -> Result<Reply> {
        self.send(Method::DELETE, path, None, ())
    }

    pub(crate) fn post(&self, path: &Path, body: &Value) -> Result<Reply> {
        self.send(Method::POST, path, Some("application/json"), body.to_string().as_str())
    }

    pub(crate) fn put(&self, path: &Path, json: &str) -> Result<Reply> {
        self.send(Method::PUT, path, Some("application/json"), json)
    }

    /// Sends rows that are in memory.
    pub(crate) fn put_rows(&self, path: &Path, rows: &[u8]) -> Result<Reply> {
        self.send(Method::PUT, path, Some("application/x-ndjson"), rows)
    }

    /// Sends rows as they come.
    pub(crate) fn stream_rows(&self, path: &Path, rows: &mut dyn io::Read) -> Result<Reply> {
        let body = SendBody::from_reader(rows);
        self.send(Method::PUT, path, Some("application/x-ndjson"), body)
    }

    fn send(
        &self,
        method: Method,
        path: &Path,
        content_type: Option<&str>,
        body: impl AsSendBody,
    ) -> Result<Reply> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.server));
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        if let Some(content_type) = content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
            if content_type == "application/x-ndjson" {
                // A server that refuses says so before the rows are sent; afterwards it could only hang up on them.
                request = request.header(header::EXPECT, "100-continue");
            }
        }
        let request = request.body(body).map_err(|error| Failure::Usage(error.to_string()))?;
        let response = self.agent.run(request).map_err(|error| self.unreachable(error))?;
        self.read(response)
    }

    fn read(&self, mut response: Response<ureq::Body>) -> Result<Reply> {
        let status = response.status().as_u16();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        let body = response.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
        let body = body.map_err(|error| self.unreachable(error))?;
        if (200..300).contains(&status) {
            return Ok(Reply { status, body });
        }
        Err(Failure::Problem(Problem::read(status, &body, retry_after)))
    }

    fn unreachable(&self, error: ureq::Error) -> Failure {
        let server = &self.server;
        match error {
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Failure::Other(format!(
                    "no server answers at {server}; start one with `standings serve`, or name another with --server"
                ))
            }
            ureq::Error::HostNotFound => Failure::Other(format!("there is no host for {server}")),
            ureq::Error::BadUri(uri) => {
                Failure::Usage(format!("--server: {uri} is not an address"))
            }
            ureq::Error::Http(error) => {
                Failure::Usage(format!("the request cannot be written: {error}"))
            }
            ureq::Error::Io(error) if is_plain(&error) => Failure::Other(format!(
                "the server at {server} does not speak TLS; name it with --server {}",
                server.replacen("https://", "http://", 1)
            )),
            ureq::Error::Io(error) if of_tls(&error).is_some() => Failure::Other(format!(
                "cannot trust {server}: {error}; for a private CA, give its certificate with --ca"
            )),
            error => Failure::Other(format!("cannot talk to {server}: {error}")),
        }
    }
}

fn of_tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Whether the answer was none of TLS, such as one of HTTP.
fn is_plain(error: &io::Error) -> bool {
    let no_record = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
    of_tls(error) == Some(&no_record)
}

impl Reply {
    /// The answer as a value.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::Other(format!("the server's answer is not understood: {error}"))
        })
    }
}

impl Problem {
    fn read(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        #[derive(Deserialize)]
        struct Document {
            detail: String,
            code: String,
        }
        match serde_json::from_slice(body) {
            Ok(Document { detail, code }) => Self { status, code, detail, retry_after },
            // Something on the way answered, or --server is something else.
            Err(_) => Self {
                status,
                code: format!("status {status}"),
                detail: "the answer is not one of a Standings server; check --server".to_owned(),
                retry_after,
            },
        }
    }
}

/// The path and query of a call, with every part escaped.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    text: String,
    has_query: bool,
}

impl Path {
    /// `/v1/` and segments.
    pub(crate) fn v1(segments: &[&str]) -> Self {
        let mut text = "/v1".to_owned();
        for segment in segments {
            text.push('/');
            text.extend(utf8_percent_encode(segment, ESCAPED));
        }
        Self { text, has_query: false }
    }

    /// The scores of a board, or of the default one, and further segments.
    pub(crate) fn scores(board: Option<&str>, further: &[&str]) -> Self {
        let mut segments = board.map_or(vec![], |board| vec!["boards", board]);
        segments.push("scores");
        segments.extend(further);
        Self::v1(&segments)
    }

    /// With a parameter, where there is a value for it.
    pub(crate) fn with<T: ToString>(mut self, name: &str, value: Option<T>) -> Self {
        if let Some(value) = value {
            let separator = if self.has_query { '&' } else { '?' };
            let value = value.to_string();
            let value = utf8_percent_encode(&value, ESCAPED);
            // Writing into a String cannot fail.
            let _ = write!(self.text, "{separator}{name}={value}");
            self.has_query = true;
        }
        self
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_path_is_escaped() {
        let path = Path::scores(Some("a b"), &["é/?#%"]).with("season", Some("2026-W46"));
        let path = path.with("limit", None::<u32>).with("after", Some("x+&="));
        assert_eq!(
            path.to_string(),
            "/v1/boards/a%20b/scores/%C3%A9%2F%3F%23%25?season=2026-W46&after=x%2B%26%3D"
        );
        assert_eq!(Path::scores(None, &[]).to_string(), "/v1/scores");
    }

    #[test]
    fn an_answer_of_something_else_is_told_apart() {
        let problem = Problem::read(502, b"<html>", None);
        assert_eq!(problem.code, "status 502");
        let ours = br#"{"type":"x","title":"t","status":409,"detail":"wait","code":"too_soon"}"#;
        let problem = Problem::read(409, ours, None);
        assert_eq!((problem.code.as_str(), problem.detail.as_str()), ("too_soon", "wait"));
    }
}
