//! The API: JSON over HTTP. Viewers read it, and host agents report to it.
//!
//! | path | answer |
//! |---|---|
//! | `/v1/snapshot` | a [`Snapshot`] |
//! | `/v1/events` | server-sent events: a `snapshot` for each change, and each second |
//! | `/v1/topology` | `discover --format json` of the contract |
//! | `/v1/topology.svg` | the same as a picture, for the page; `?network=NAME` |
//! | `/v1/epochs` | [`api::EpochInfo`] of every epoch kept |
//! | `/v1/schema` | the JSON schema of all this |
//! | `/metrics` | Prometheus text |
//! | `/healthz` | `ok`, without a token |
//! | `/` | a page for browsers, without a token; its script needs one |
//! | `POST /v1/hosts/NAME/report` | [`ProbeDirections`], for a [`HostReport`] |
//! | `POST /v1/hosts/NAME/flows` | the next order, for a host that measures flows |
//! | `POST /v1/map` | the number of an order to measure |
//!
//! A client cannot harm the controller's own work: `connection_limiter` bounds connections in
//! number and time, each answer is made once for all viewers, and a viewer that does not read is
//! disconnected.
//!
//! [`ProbeDirections`]: inventory::host_report::ProbeDirections
//! [`HostReport`]: inventory::host_report::HostReport
mod connection_limiter;
mod connections;
mod orders;
mod page;
mod rate_limiter;
mod reports;
mod snapshot_feed;
mod tls;
mod token;

pub use orders::MappingOrders;
pub use reports::ReportIntake;
pub use snapshot_feed::{SnapshotFeed, SnapshotSender, snapshot_feed};
pub use tls::TlsCertificate;
pub use token::{ApiTokens, BearerToken};

use crate::metrics::{self, ControllerFigures};
use api::Snapshot;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use connection_limiter::{ApiConnection, ConnectionLimiter, EventViewer};
use drawing::network::{self, NetworkView};
use futures_util::stream;
use nix::sys::socket::{setsockopt, sockopt};
use serde::Deserialize;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpListener;

/// The default address of the API.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7171);

/// The time between two signs of life to viewers, if there is no news.
const ALIVE: Duration = Duration::from_secs(15);
/// The system's buffers of a connection, in octets. By default, a viewer that does not read could
/// pile up megabytes.
const BUFFER: usize = 256 << 10;
/// The text before and after a snapshot's JSON in an event (HTML Living Standard, section 9.2.6).
const EVENT: (&str, &str) = ("event: snapshot\ndata: ", "\n\n");
/// The schema of every JSON here.
const SCHEMA: &str = include_str!("../../docs/api.schema.json");

/// A snapshot and its event. The event is made once, for the first viewer, and all viewers share
/// it.
#[derive(Debug, Clone)]
pub struct ServedSnapshot {
    pub snapshot: Arc<Snapshot>,
    /// Further figures of the same moment, which no viewer shows.
    pub(crate) figures: Arc<ControllerFigures>,
    event: Arc<OnceLock<Bytes>>,
    /// One for each network.
    pictures: Arc<[OnceLock<Bytes>]>,
}

impl Default for ServedSnapshot {
    fn default() -> ServedSnapshot {
        ServedSnapshot::new(Snapshot::default())
    }
}

impl ServedSnapshot {
    /// Shows a snapshot.
    pub fn new(snapshot: Snapshot) -> ServedSnapshot {
        ServedSnapshot {
            pictures: snapshot.networks().map(|_| OnceLock::new()).collect(),
            snapshot: Arc::new(snapshot),
            figures: Arc::default(),
            event: Arc::default(),
        }
    }

    /// The same with further figures.
    pub(crate) fn with(mut self, figures: ControllerFigures) -> ServedSnapshot {
        self.figures = Arc::new(figures);
        self
    }

    /// The same as JSON.
    pub fn json(&self) -> Bytes {
        let event = self.event();
        event.slice(EVENT.0.len()..event.len() - EVENT.1.len())
    }

    /// The network of this name as a picture, made once for all viewers; the main one, if there is no name.
    fn picture(&self, network: Option<&str>) -> Option<Bytes> {
        let mut networks = self.snapshot.networks().zip(self.pictures.iter());
        let ((topology, _), picture) = networks.find(|((topology, _), _)| {
            network.is_none_or(|name| topology.own_network().is_some_and(|own| own.name == name))
        })?;
        Some(
            picture
                .get_or_init(|| {
                    let view = NetworkView::new(topology).live();
                    let about = network::summary(topology);
                    network::picture(&view, "").within_page(&about).into()
                })
                .clone(),
        )
    }

    /// The same as an event.
    fn event(&self) -> Bytes {
        self.event
            .get_or_init(|| {
                let json = serde_json::to_string(&*self.snapshot)
                    .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
                [EVENT.0, &json, EVENT.1].concat().into()
            })
            .clone()
    }
}

/// The reason why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The API would be open to the network.
    #[error(
        "--listen {0}: this address is reachable from other machines, so viewers need a token; \
         nothing was started: add --token-file FILE (the agents' token is not for viewing)"
    )]
    NoToken(SocketAddr),
    /// Viewers could report, or agents could view.
    #[error(
        "--token-file and --agent-token-file: both files have the same token, but viewers may not \
         report; nothing was started: give agents a token of their own, for example from \
         `openssl rand -hex 32`"
    )]
    OneToken,
    /// The token cannot be used.
    #[error("token file {path}: {problem}; nothing was started")]
    Token {
        path: PathBuf,
        /// The reason.
        problem: String,
    },
    /// A certificate or its key cannot be used.
    #[error("TLS file {path}: {problem}")]
    Tls {
        path: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The address cannot be bound.
    #[error("--listen {address}: {cause}; nothing was started: {}", way_out(cause))]
    Listen {
        address: SocketAddr,
        /// The reason.
        cause: std::io::Error,
    },
}

/// The remedy for an address that cannot be listened on.
fn way_out(cause: &std::io::Error) -> &'static str {
    match cause.kind() {
        std::io::ErrorKind::AddrInUse => {
            "is another controller running? ss -ltnp names the program that has the port"
        }
        std::io::ErrorKind::AddrNotAvailable => {
            "no interface of this machine has the address; ip address lists those that it has"
        }
        std::io::ErrorKind::PermissionDenied => "only root may take a port below 1024",
        _ => "choose another address",
    }
}

/// The state that the API serves.
#[derive(Clone)]
pub struct ApiState {
    /// The tokens of viewers and agents.
    pub keys: ApiTokens,
    pub shown: SnapshotFeed,
    /// The receiver of reports.
    pub intake: ReportIntake,
    /// The receiver of operators' orders.
    pub orders: MappingOrders,
}

/// Binds the address, after a check that strangers cannot view.
pub async fn bind(address: SocketAddr, keys: &ApiTokens) -> Result<TcpListener, HttpError> {
    if !address.ip().is_loopback() && keys.all_may_view() {
        return Err(HttpError::NoToken(address));
    }
    let failed = |cause| HttpError::Listen { address, cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    // Connections inherit both settings.
    setsockopt(&listener, sockopt::SndBuf, &BUFFER).map_err(|e| failed(e.into()))?;
    setsockopt(&listener, sockopt::RcvBuf, &BUFFER).map_err(|e| failed(e.into()))?;
    Ok(listener)
}

/// Serves the API until its task is dropped, as HTTPS if there is a certificate. Connections take
/// at most half of the `files` that the process may open.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsCertificate>,
    api: ApiState,
    files: usize,
) {
    connections::serve(listener, tls, router(api), ConnectionLimiter::new(files)).await;
}

type SnapshotState = State<SnapshotFeed>;

fn router(api: ApiState) -> Router {
    let ApiState {
        keys,
        shown,
        intake,
        orders,
    } = api;
    let read = Router::new()
        .route("/v1/snapshot", get(snapshot))
        .route("/v1/events", get(events))
        .route("/v1/topology", get(topology))
        .route("/v1/topology.svg", get(picture))
        .route("/v1/epochs", get(epochs))
        .route("/v1/schema", get(schema))
        .route("/metrics", get(prometheus))
        .route_layer(from_fn_with_state(keys.clone(), token::viewing))
        .with_state(shown);
    let order = Router::new()
        .route("/v1/map", post(orders::map))
        .layer(DefaultBodyLimit::max(orders::LONGEST))
        .route_layer(from_fn_with_state(keys.clone(), token::viewing))
        .with_state(orders);
    let report = Router::new()
        .route("/v1/hosts/{host}/report", post(reports::post))
        .route(
            "/v1/hosts/{host}/flows",
            post(orders::flows).layer(DefaultBodyLimit::max(orders::LONGEST)),
        )
        .route_layer(from_fn_with_state(keys, token::reporting))
        .with_state(intake);
    read.merge(report)
        .merge(order)
        .merge(page::routes())
        .route("/healthz", get(|| async { "ok\n" }))
        .layer(from_fn(connections::refuse_transfer_coding))
}

/// Each snapshot as it comes. A viewer that is too slow for one gets the next one instead.
async fn events(
    State(mut shown): SnapshotState,
    Extension(caller): Extension<Arc<ApiConnection>>,
) -> Response {
    let Some(viewing) = caller.start_following() else {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            "too many viewers of this address follow events; close some\n",
        )
            .into_response();
    };
    let share = shown.follow();
    let first = shown.fresh().await.event(); // The first snapshot comes at once.
    let events = stream::unfold(
        (shown, viewing, share, Some(first)),
        |(mut shown, viewing, share, first)| async {
            let event = next(&mut shown, &viewing, first).await?;
            Some((Ok::<_, Infallible>(event), (shown, viewing, share, None)))
        },
    );
    let head = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (head, Body::from_stream(events)).into_response()
}

/// The next event for a viewer, which is `first` if there is one; `None` once the controller stops.
async fn next(
    shown: &mut SnapshotFeed,
    viewing: &EventViewer,
    first: Option<Bytes>,
) -> Option<Bytes> {
    viewing.mark_ready();
    let event = match first {
        Some(first) => first,
        None => match tokio::time::timeout(ALIVE, shown.next()).await {
            Ok(new) => new?.event(),
            Err(_) => Bytes::from_static(b":\n\n"),
        },
    };
    viewing.mark_event_given();
    Some(event)
}

async fn snapshot(State(mut shown): SnapshotState) -> Response {
    let shown = shown.fresh().await;
    ([(header::CONTENT_TYPE, "application/json")], shown.json()).into_response()
}

async fn topology(State(mut shown): SnapshotState) -> Response {
    as_json(&shown.fresh().await.snapshot.topology)
}

/// The network that is asked for, where there are several.
#[derive(Deserialize)]
struct NetworkQuery {
    network: Option<String>,
}

async fn picture(
    State(mut shown): SnapshotState,
    Query(NetworkQuery { network }): Query<NetworkQuery>,
) -> Response {
    let shown = shown.fresh().await;
    // The network of a large fleet takes a tenth of a second.
    let drawn = tokio::task::spawn_blocking(move || shown.picture(network.as_deref()));
    match drawn.await {
        Ok(Some(picture)) => ([(header::CONTENT_TYPE, "image/svg+xml")], picture).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, "no network has this name\n").into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn epochs(State(mut shown): SnapshotState) -> Response {
    as_json(&shown.fresh().await.snapshot.epochs)
}

async fn schema() -> Response {
    let kind = "application/schema+json";
    ([(header::CONTENT_TYPE, kind)], SCHEMA).into_response()
}

fn as_json(value: &impl serde::Serialize) -> Response {
    axum::Json(value).into_response()
}

async fn prometheus(State(mut shown): SnapshotState) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let shown = shown.fresh().await;
    let text = metrics::text(&shown.snapshot, &shown.figures);
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

#[cfg(test)]
mod tests;
