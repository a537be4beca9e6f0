//! The API: JSON over HTTP, to be read by viewers, and reported to by host agents.
//!
//! | path | gives |
//! |---|---|
//! | `/v1/snapshot` | a [`Snapshot`] |
//! | `/v1/events` | server-sent events, one `snapshot` event a change or second |
//! | `/v1/topology` | `discover --format json` of the contract |
//! | `/v1/epochs` | [`crate::api::EpochInfo`] of every epoch kept |
//! | `/metrics` | Prometheus text |
//! | `/healthz` | `ok`, without a token |
//! | `POST /v1/hosts/NAME/report` | [`Directions`](inventory::host_report::Directions), for a [`HostReport`](inventory::host_report::HostReport) |
mod pace;
mod reports;
mod tls;
mod token;

pub use reports::Intake;
pub use tls::Tls;
pub use token::{Keys, Token};

use crate::api::Snapshot;
use crate::metrics;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use futures_util::{Stream, StreamExt};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tls::TlsListener;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;

/// Where the API listens when nothing else is asked for.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7171);

/// A snapshot and its JSON, made once for all who look, when the first one does.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    json: Arc<OnceLock<String>>,
}

impl Shown {
    /// Shows a snapshot.
    pub fn new(snapshot: Snapshot) -> Shown {
        Shown { snapshot: Arc::new(snapshot), json: Arc::default() }
    }

    /// The same as JSON.
    pub fn json(&self) -> &str {
        self.json
            .get_or_init(|| serde_json::to_string(&*self.snapshot).unwrap_or_else(|e| unreachable!("plain data always serializes: {e}")))
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
    /// A certificate or its key cannot be used.
    #[error("TLS file {path}: {problem}")]
    Tls {
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

/// What is served.
#[derive(Clone)]
pub struct Api {
    /// Who may do what.
    pub keys: Keys,
    /// What there is to see.
    pub shown: watch::Receiver<Shown>,
    /// Where reports go.
    pub intake: Intake,
}

/// Takes the address, after making sure that strangers cannot look.
///
/// # Errors
/// [`HttpError`].
pub async fn bind(address: SocketAddr, keys: &Keys) -> Result<TcpListener, HttpError> {
    if !address.ip().is_loopback() && keys.is_open() {
        return Err(HttpError::NoToken(address));
    }
    TcpListener::bind(address).await.map_err(|cause| HttpError::Listen { address, cause })
}

/// Serves the API until its task is dropped, as HTTPS where there is a certificate.
///
/// # Errors
/// The system's refusal to accept connections.
pub async fn serve(listener: TcpListener, tls: Option<Tls>, api: Api) -> std::io::Result<()> {
    let service = router(api).into_make_service_with_connect_info::<SocketAddr>();
    match tls {
        None => axum::serve(listener, service).await,
        // Through a tap, as axum tells the other end's address of listeners of its own only.
        Some(tls) => axum::serve(TlsListener::new(listener, tls)?.tap_io(|_| {}), service).await,
    }
}

fn router(api: Api) -> Router {
    let Api { keys, shown, intake } = api;
    type Look = State<watch::Receiver<Shown>>;
    let read = Router::new()
        .route("/v1/snapshot", get(|State(shown): Look| async move { snapshot(&shown) }))
        .route("/v1/events", get(|State(shown): Look| async move { events(shown) }))
        .route("/v1/topology", get(|State(shown): Look| async move { as_json(&shown.borrow().snapshot.topology) }))
        .route("/v1/epochs", get(|State(shown): Look| async move { as_json(&shown.borrow().snapshot.epochs) }))
        .route("/metrics", get(|State(shown): Look| async move { prometheus(&shown.borrow().snapshot) }))
        .layer(from_fn_with_state(keys.clone(), token::reading))
        .with_state(shown);
    let report = Router::new()
        .route("/v1/hosts/{host}/report", post(reports::post))
        .layer(from_fn_with_state(keys, token::reporting))
        .with_state(intake);
    read.merge(report).route("/healthz", get(|| async { "ok\n" }))
}

fn events(shown: watch::Receiver<Shown>) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let stream = WatchStream::new(shown).map(|shown| Ok(sse::Event::default().event("snapshot").data(shown.json())));
    Sse::new(stream).keep_alive(KeepAlive::default())
}

fn snapshot(look: &watch::Receiver<Shown>) -> Response {
    let shown = look.borrow().clone();
    ([(header::CONTENT_TYPE, "application/json")], shown.json().to_owned()).into_response()
}

fn as_json(value: &impl serde::Serialize) -> Response {
    axum::Json(value).into_response()
}

fn prometheus(snapshot: &Snapshot) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::text(snapshot)).into_response()
}

#[cfg(test)]
mod tests;
