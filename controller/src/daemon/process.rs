//! The process around the daemon: its limits, its signals, and what it says of its API.
use crate::http::ApiTokens;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::net::SocketAddr;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Logs the address of the API, and what its tokens leave open.
pub(super) fn log_api(keys: &ApiTokens, tls: bool, address: SocketAddr) {
    if keys.takes_reports() && keys.all_may_view() {
        tracing::info!(
            "API: the agents' token guards reports only; everybody on this machine may view, \
             unless --token-file is given"
        );
    }
    if !tls && !address.ip().is_loopback() {
        tracing::warn!(
            "API: {address} is reachable from other machines, and without TLS tokens cross the \
             network in the clear, where anybody on the way can read and use them; make \
             certificates with heddle cert, and start with --tls-cert and --tls-key"
        );
    }
    let scheme = if tls { "https" } else { "http" };
    tracing::info!("API on {scheme}://{address}");
}

/// Raises the limit of open files to the highest allowed one, and returns it. The usual limit is
/// 1,024 until a process asks for more.
pub(super) fn all_files() -> std::io::Result<usize> {
    let (now, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let files = if setrlimit(Resource::RLIMIT_NOFILE, most, most).is_ok() {
        most
    } else {
        now
    };
    Ok(usize::try_from(files).unwrap_or(usize::MAX))
}

/// The daemon's signals. They are caught from the start on: a SIGHUP while the daemon starts must
/// not end it.
pub(super) struct DaemonSignals {
    pub(super) terminate: Signal,
    pub(super) interrupt: Signal,
    pub(super) hangup: Signal,
}

impl DaemonSignals {
    pub(super) fn catch() -> std::io::Result<DaemonSignals> {
        let [terminate, interrupt, hangup] = [
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::hangup(),
        ]
        .map(signal);
        Ok(DaemonSignals {
            terminate: terminate?,
            interrupt: interrupt?,
            hangup: hangup?,
        })
    }
}
