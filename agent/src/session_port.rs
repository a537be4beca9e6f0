//! A port of its own for each session.
//!
//! The SNMP library binds its sockets with SO_REUSEADDR. Among such sockets Linux gives one
//! ephemeral port away several times, and what arrives there goes to the youngest (udp(7),
//! socket(7)): the older session never hears an answer again. Of the sockets for a thousand
//! switches some ten were deaf in this way, of a hundred one in six times. A socket without
//! SO_REUSEADDR is given a port that nobody has, and keeps it for the library's.
use nix::sys::socket::{setsockopt, sockopt};
use snmp::{Error, UdpTransport};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// A transport on a free port of the unspecified address `any`, its port 0.
///
/// # Errors
/// The system's refusal of a socket.
pub(crate) async fn open(any: SocketAddr) -> snmp::Result<UdpTransport> {
    let (_keeper, own) = keep(any).map_err(|source| Error::Network {
        target: any,
        source,
    })?;
    let builder = UdpTransport::builder()
        .bind(own.to_string())
        .receive_capacity(snmp::MAX_UDP_PAYLOAD);
    // Answers from elsewhere are told by the failure that they end in: crate::line.
    builder.warn_on_source_mismatch(false).build().await
}

/// A port nobody else has, and the socket that keeps it from everybody but who shares addresses and
/// asks for just this port.
fn keep(any: SocketAddr) -> io::Result<(UdpSocket, SocketAddr)> {
    let keeper = UdpSocket::bind(any)?;
    let own = keeper.local_addr()?;
    setsockopt(&keeper, sockopt::ReuseAddr, &true)?;
    Ok((keeper, own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[tokio::test]
    async fn no_two_sessions_share_a_port() {
        // Left to the library, 600 sockets share six ports on average, and none in one of 600 runs.
        for any in ["0.0.0.0:0", "[::]:0"] {
            let mut open_ones = Vec::new();
            for _ in 0..600 {
                open_ones.push(open(any.parse().unwrap()).await.unwrap());
            }
            let ports: BTreeSet<u16> = open_ones
                .iter()
                .map(|transport| transport.local_addr().port())
                .collect();
            assert_eq!(ports.len(), open_ones.len(), "{any}");
        }
    }
}
