//! Accepts connections, within the limits of [`ConnectionLimiter`], and serves HTTP/1.1 on each.
use super::connection_limiter::{ApiConnection, ConnectionLimiter};
use super::tls::{self, TlsCertificate};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The pause after the system refused a connection, for example because of too many open files.
const PAUSE: Duration = Duration::from_secs(1);
/// The time between two checks for connections that take too long.
const SWEEP: Duration = Duration::from_secs(1);
/// The longest header fields; longer ones are answered with status 431.
const HEADER: usize = 16 << 10;

/// Serves until its task is dropped, and every connection with it.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsCertificate>,
    router: Router,
    limiter: ConnectionLimiter,
) {
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    if let Some((caller, gone)) = limiter.admit(from.ip(), Instant::now()) {
                        let serving = converse(stream, from, tls.clone(), router.clone(), caller);
                        connections.spawn(async move {
                            tokio::select! { () = serving => {}, _ = gone => {} }
                        });
                    }
                    // An earlier connection gets its request read before a new one replaces it.
                    tokio::task::yield_now().await;
                }
                Err(e) => refused(&e).await,
            },
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => limiter.sweep(Instant::now()),
        }
    }
}

/// Handles a failed accept. A client that left early is not an error; any other failure is the
/// system's.
async fn refused(error: &io::Error) {
    if !matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    ) {
        tracing::warn!("API: no connection accepted: {error}; tried again");
        tokio::time::sleep(PAUSE).await;
    }
}

async fn converse(
    stream: TcpStream,
    from: SocketAddr,
    tls: Option<TlsCertificate>,
    router: Router,
    caller: Arc<ApiConnection>,
) {
    let ended = match tls {
        None => exchange(stream, from, router, caller).await,
        Some(tls) => match tls::handshake(&tls, stream).await {
            Ok(stream) => exchange(stream, from, router, caller).await,
            Err(e) => Err(e.into()),
        },
    };
    if let Err(e) = ended {
        tracing::debug!("API: {from}: {e}");
    }
}

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Answers the requests of one connection.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    from: SocketAddr,
    router: Router,
    caller: Arc<ApiConnection>,
) -> Result<(), BoxedError> {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let working = caller.start_request();
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(from));
        request.extensions_mut().insert(Arc::clone(&caller));
        let answer = router.call(request);
        async move {
            let answer = answer.await;
            drop(working);
            answer
        }
    });
    Ok(http1::Builder::new()
        .max_buf_size(HEADER)
        .serve_connection(TokioIo::new(stream), service)
        .await?)
}

/// Refuses requests with a transfer coding: with a length as well, two readers could disagree on
/// the end of the body (RFC 9112, 6.3), and no client needs one.
pub(super) async fn refuse_transfer_coding(request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::TRANSFER_ENCODING) {
        return (
            StatusCode::LENGTH_REQUIRED,
            "expected Content-Length and no Transfer-Encoding\n",
        )
            .into_response();
    }
    next.run(request).await
}
