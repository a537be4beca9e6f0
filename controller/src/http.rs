//! The API: read-only JSON over HTTP.
//!
//! | path | gives |
//! |---|---|
//! | `/v1/snapshot` | a [`Snapshot`] |
//! | `/v1/events` | server-sent events, one `snapshot` event a change or second |
//! | `/v1/topology` | `discover --format json` of the contract |
//! | `/v1/epochs` | [`crate::api::EpochInfo`] of every epoch kept |
//! | `/metrics` | Prometheus text |
//! | `/healthz` | `ok`, without a token |
use crate::api::Snapshot;
use crate::metrics;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::{Stream, StreamExt};
use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;

/// Where the API listens when nothing else is asked for.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7171);

/// A token shorter than this could be guessed.
const SHORTEST_TOKEN: usize = 16;

/// A snapshot and its JSON, made once for all who look.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The same as JSON.
    pub json: Arc<str>,
}

impl Shown {
    /// Makes the JSON.
    pub fn new(snapshot: Snapshot) -> Shown {
        let json = serde_json::to_string(&snapshot).unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        Shown { snapshot: Arc::new(snapshot), json: json.into() }
    }
}

/// Why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// It would be open to the network.
    #[error("--listen {0}: reachable from other machines, which wants a token; nothing was started: add --token-file FILE")]
    NoToken(SocketAddr),
    /// The token cannot be used.
    #[error("token file {path}: {problem}; nothing was started")]
    Token {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The address cannot be had.
    #[error("--listen {address}: {cause}; nothing was started: is another controller running?")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        cause: std::io::Error,
    },
}

/// What a client must show.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Reads a token: the file's text without white space around it.
    ///
    /// # Errors
    /// [`HttpError::Token`] where it cannot be read, is short, or could not be sent in a header.
    pub fn read(path: &Path) -> Result<Token, HttpError> {
        let bad = |problem: String| HttpError::Token { path: path.to_owned(), problem };
        let text = fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
        match text.trim() {
            t if t.len() < SHORTEST_TOKEN => {
                Err(bad(format!("expected at least {SHORTEST_TOKEN} characters, such as `openssl rand -hex 32` gives")))
            }
            t if !t.bytes().all(|b| b.is_ascii_graphic()) => Err(bad("expected printable ASCII without blanks".to_owned())),
            t => Ok(Token(t.into())),
        }
    }

    fn fits(&self, request: &Request) -> bool {
        let shown = request.headers().get(header::AUTHORIZATION).and_then(|v| v.as_bytes().strip_prefix(b"Bearer "));
        shown.is_some_and(|shown| shown.ct_eq(self.0.as_bytes()).into())
    }
}

/// Takes the address, after making sure that strangers cannot look.
///
/// # Errors
/// [`HttpError`].
pub async fn bind(address: SocketAddr, token: Option<&Token>) -> Result<TcpListener, HttpError> {
    if !address.ip().is_loopback() && token.is_none() {
        return Err(HttpError::NoToken(address));
    }
    TcpListener::bind(address).await.map_err(|cause| HttpError::Listen { address, cause })
}

/// Serves the API until its task is dropped.
///
/// # Errors
/// The system's refusal to accept connections.
pub async fn serve(listener: TcpListener, token: Option<Token>, shown: watch::Receiver<Shown>) -> std::io::Result<()> {
    axum::serve(listener, router(token, shown)).await
}

fn router(token: Option<Token>, shown: watch::Receiver<Shown>) -> Router {
    let api = Router::new()
        .route("/v1/snapshot", get(|State(shown): State<watch::Receiver<Shown>>| async move { json(shown.borrow().json.to_string()) }))
        .route("/v1/events", get(|State(shown): State<watch::Receiver<Shown>>| async move { events(shown) }))
        .route("/v1/topology", get(|State(shown): State<watch::Receiver<Shown>>| async move { as_json(&shown.borrow().snapshot.topology) }))
        .route("/v1/epochs", get(|State(shown): State<watch::Receiver<Shown>>| async move { as_json(&shown.borrow().snapshot.epochs) }))
        .route("/metrics", get(|State(shown): State<watch::Receiver<Shown>>| async move { prometheus(&shown.borrow().snapshot) }));
    let api = match token {
        Some(token) => api.layer(middleware::from_fn_with_state(token, with_token)),
        None => api.layer(middleware::from_fn(from_here)),
    };
    api.route("/healthz", get(|| async { "ok\n" })).with_state(shown)
}

async fn with_token(State(token): State<Token>, request: Request, next: Next) -> Response {
    if token.fits(&request) {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, "expected the header \"Authorization: Bearer TOKEN\" with the controller's token\n")
        .into_response()
}

/// Without a token only names of this machine are served: a web page that made its own name resolve to loopback could
/// otherwise read the API through somebody's browser.
async fn from_here(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or("localhost");
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())).map_or(host, |(name, _)| name);
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    if name == "localhost" || ip.is_ok_and(|ip| ip.is_loopback()) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "expected a Host header that names this machine: localhost or a loopback address\n").into_response()
}

fn events(shown: watch::Receiver<Shown>) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let stream = WatchStream::new(shown).map(|shown| Ok(sse::Event::default().event("snapshot").data(&*shown.json)));
    Sse::new(stream).keep_alive(KeepAlive::default())
}

fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn as_json(value: &impl serde::Serialize) -> Response {
    axum::Json(value).into_response()
}

fn prometheus(snapshot: &Snapshot) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::text(snapshot)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::Millis;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    async fn start(token: Option<&str>) -> (SocketAddr, watch::Sender<Shown>) {
        let (tx, rx) = watch::channel(Shown::new(Snapshot { at: Millis(1), ..Snapshot::default() }));
        let token = token.map(|t| Token(t.into()));
        let listener = bind("127.0.0.1:0".parse().unwrap(), token.as_ref()).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, token, rx));
        (address, tx)
    }

    async fn ask(address: SocketAddr, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn serves_every_path_over_a_socket() {
        let (address, _tx) = start(None).await;
        let here = "Host: localhost:7171\r\n";
        for (path, part) in [
            ("/v1/snapshot", "\"directory\""),
            ("/v1/topology", "\"nodes\""),
            ("/v1/epochs", "[]"),
            ("/metrics", "heddle_epoch 0"),
            ("/healthz", "ok"),
        ] {
            let answer = ask(address, path, here).await;
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(part), "{path}: {answer}");
        }
        assert!(ask(address, "/v2", here).await.starts_with("HTTP/1.1 404"));
        assert!(ask(address, "/v1/snapshot", "Host: evil.example\r\n").await.starts_with("HTTP/1.1 403"));
        assert!(ask(address, "/v1/snapshot", "Host: [::1]:7171\r\n").await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn a_token_is_wanted_where_one_is_set() {
        let (address, _tx) = start(Some("0123456789abcdef")).await;
        let with = |t: &str| format!("Host: head.cluster\r\nAuthorization: Bearer {t}\r\n");
        assert!(ask(address, "/v1/snapshot", "Host: x\r\n").await.starts_with("HTTP/1.1 401"));
        assert!(ask(address, "/metrics", &with("0123456789abcdee")).await.starts_with("HTTP/1.1 401"));
        assert!(ask(address, "/v1/snapshot", &with("0123456789abcdef")).await.starts_with("HTTP/1.1 200"));
        assert!(ask(address, "/healthz", "Host: x\r\n").await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn listening_to_the_network_wants_a_token() {
        let problem = bind("0.0.0.0:0".parse().unwrap(), None).await.unwrap_err().to_string();
        assert!(problem.contains("--token-file"), "{problem}");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        fs::write(&file, "short\n").unwrap();
        assert!(Token::read(&file).err().unwrap().to_string().contains("at least 16"));
        fs::write(&file, "0123456789abcdef\n").unwrap();
        assert!(bind("0.0.0.0:0".parse().unwrap(), Token::read(&file).ok().as_ref()).await.is_ok());
    }

    #[tokio::test]
    async fn events_follow_the_snapshots() {
        let (address, tx) = start(None).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut heard = String::new();
        let mut buffer = [0; 4096];
        for at in 1..=3 {
            let wanted = format!("\"at\":{at},");
            while !heard.contains(&wanted) {
                let n = stream.read(&mut buffer).await.unwrap();
                assert!(n > 0, "the stream ended after {heard}");
                heard.push_str(&String::from_utf8_lossy(&buffer[..n]));
            }
            tx.send(Shown::new(Snapshot { at: Millis(at + 1), ..Snapshot::default() })).unwrap();
        }
        assert!(heard.contains("text/event-stream") && heard.contains("event: snapshot"), "{heard}");
    }
}
