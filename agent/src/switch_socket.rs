//! The connection to one switch. Only answers from the switch count, and nobody can guess which
//! answer is awaited.
//!
//! By itself the SNMP library takes an answer from any address and port, and counts the ids of its
//! requests up from one number for the whole process. An attacker who sees one request could then
//! answer the next ones of every switch, from anywhere. Here an answer must come from the address
//! and port that were asked, and each request gets a random id from the system: the request-id, and
//! SNMPv3's msgID as well. An attacker who reads the cable and sends under the switch's address is
//! stopped only by SNMPv3's signatures.
//!
//! The library itself could drop answers from elsewhere (`strict_source`), but it would not name
//! their sender. A switch with several addresses that answers from another one would then look as
//! if it were down. The price: the library keeps 16 unjudged answers to a request, so an attacker
//! who sees the request and sends more at once can crowd out the true answer, but cannot replace
//! it.
use bytes::Bytes;
use snmp::{Candidate, ReceiveLimits, RequestRegistration, Result, Transport, UdpHandle};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A socket that talks with one switch.
pub(crate) struct SwitchSocket {
    socket: UdpHandle,
    elsewhere: ForeignSender,
}

/// The sender of an answer that did not come from the switch, since the last answer of the switch.
#[derive(Clone, Default)]
pub(crate) struct ForeignSender(Arc<Mutex<Option<SocketAddr>>>);

impl ForeignSender {
    fn set(&self, from: Option<SocketAddr>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = from;
    }

    /// The address and port, given once.
    pub(crate) fn take(&self) -> Option<SocketAddr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl SwitchSocket {
    /// A connection over this socket.
    pub(crate) fn new(socket: UdpHandle, elsewhere: ForeignSender) -> SwitchSocket {
        SwitchSocket { socket, elsewhere }
    }
}

impl Transport for SwitchSocket {
    async fn send(&self, data: &[u8]) -> Result<()> {
        self.socket.send(data).await
    }

    async fn request_with<T, F>(
        &self,
        data: &[u8],
        registration: RequestRegistration,
        mut validate: F,
    ) -> Result<T>
    where
        T: Send,
        F: FnMut(Bytes, SocketAddr) -> Result<Candidate<T>> + Send,
    {
        let asked = place(self.socket.peer_addr());
        self.socket
            .request_with(data, registration, |answer, from| {
                let there = place(from) == asked;
                self.elsewhere.set((!there).then_some(from));
                if there {
                    validate(answer, from)
                } else {
                    Ok(Candidate::Reject)
                }
            })
            .await
    }

    fn peer_addr(&self) -> SocketAddr {
        self.socket.peer_addr()
    }

    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn alloc_request_id(&self) -> i32 {
        draw().unwrap_or_else(|| self.socket.alloc_request_id())
    }

    fn is_reliable(&self) -> bool {
        self.socket.is_reliable()
    }

    fn receive_limits(&self) -> ReceiveLimits {
        self.socket.receive_limits()
    }

    fn send_capacity(&self) -> usize {
        self.socket.send_capacity()
    }
}

/// The address and port. A received IPv6 address also has a scope and a flow, which no inventory
/// states.
fn place(address: SocketAddr) -> (std::net::IpAddr, u16) {
    (address.ip(), address.port())
}

/// An id above zero (RFC 3412, 6: up to 2^31 - 1); `None` if the system has no randomness.
fn draw() -> Option<i32> {
    std::iter::repeat_with(|| getrandom::u32().ok())
        .map(|drawn| drawn.map(|n| (n & 0x7fff_ffff) as i32))
        .find(|id| *id != Some(0))?
}
