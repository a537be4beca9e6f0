//! The ports that sessions ask from: one for a few switches, and none twice.
//!
//! Each port has a task of the SNMP library, which wakes up once a second even if nothing is asked.
//! A thousand of them took several percent of a core. Sessions that share a port do not hear each
//! other: an answer counts only from the switch that was asked, with the id that it was asked by.
//!
//! The SNMP library binds its sockets with SO_REUSEADDR. Linux can give the same ephemeral port to
//! several such sockets, and a datagram for the port goes to the youngest of them (udp(7),
//! socket(7)): the older session never receives an answer again. With a thousand switches about ten
//! sockets were deaf in this way; with a hundred, one socket in one run of six. A socket without
//! SO_REUSEADDR gets a port that no other socket has, and keeps it for the library's socket.
use nix::sys::socket::{setsockopt, sockopt};
use snmp::{Error, UdpHandle, UdpTransport};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The most switches that share a port. Each has two requests under way at most, and their answers
/// must fit into the socket's buffer, 208 KiB by default, of which a datagram takes up to 4 KiB.
pub(crate) const SHARED_BY: usize = 16;

/// A port for some sessions, opened when the first of them needs it.
#[derive(Clone, Default)]
pub(crate) struct SessionPort {
    v4: Arc<OnceCell<UdpTransport>>,
    v6: Arc<OnceCell<UdpTransport>>,
}

impl SessionPort {
    /// The end of the port that talks with this address.
    ///
    /// # Errors
    /// The system's refusal of a socket; the next session tries again.
    pub(crate) async fn to(&self, address: SocketAddr) -> snmp::Result<UdpHandle> {
        let (slot, any): (_, IpAddr) = if address.is_ipv4() {
            (&self.v4, Ipv4Addr::UNSPECIFIED.into())
        } else {
            (&self.v6, Ipv6Addr::UNSPECIFIED.into())
        };
        slot.get_or_try_init(|| open((any, 0).into()))
            .await?
            .handle(address)
    }
}

/// A transport on a free port of `any`, an unspecified address with port 0.
///
/// # Errors
/// The system's refusal of a socket.
async fn open(any: SocketAddr) -> snmp::Result<UdpTransport> {
    let (_keeper, own) = keep(any).map_err(|source| Error::Network {
        target: any,
        source,
    })?;
    let builder = UdpTransport::builder()
        .bind(own.to_string())
        .receive_capacity(snmp::MAX_UDP_PAYLOAD);
    // Answers from elsewhere are reported by the failure that they cause: crate::switch_socket.
    builder.warn_on_source_mismatch(false).build().await
}

/// A port that no other socket has, and the socket that keeps it. Only a socket that shares
/// addresses and asks for just this port can get it as well.
fn keep(any: SocketAddr) -> io::Result<(UdpSocket, SocketAddr)> {
    let keeper = UdpSocket::bind(any)?;
    let own = keeper.local_addr()?;
    // After bind: before it, the kernel could choose a port that others share. Without it, the
    // library's own bind to the port would fail.
    setsockopt(&keeper, sockopt::ReuseAddr, &true)?;
    Ok((keeper, own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[tokio::test]
    async fn no_two_sessions_share_a_port() {
        // If the library chooses, 600 sockets share six ports on average, and only one run in 600
        // has no shared port.
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
