//! A line to one switch: only its answers count, and nobody can tell beforehand which one is waited
//! for.
//!
//! By itself the SNMP library takes an answer from any address and port, and counts the ids of its
//! requests up from one number for the whole process. Whoever sees one request could then answer
//! the next ones of every switch, from anywhere. Here an answer must come from the address and port
//! that was asked, and each request has an id of its own from the system's randomness: the
//! request-id, and SNMPv3's msgID as well. Who reads the cable and sends under the switch's address
//! is stopped by SNMPv3's signatures only.
//!
//! The library could drop answers from elsewhere itself (`strict_source`), but would not say whose.
//! A switch that has several addresses and answers from another one would look as if it were down.
//! The price: it keeps 16 answers to a request that nobody has judged yet, so who sees the request
//! and sends more at once from elsewhere can crowd out the true answer, though not replace it.
use bytes::Bytes;
use snmp::{Candidate, ReceiveLimits, RequestRegistration, Result, Transport, UdpHandle};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A socket, one end of which is a switch.
pub(crate) struct SwitchSocket {
    socket: UdpHandle,
    elsewhere: ForeignSender,
}

/// From where an answer came instead of from the switch, since the switch was last heard.
#[derive(Clone, Default)]
pub(crate) struct ForeignSender(Arc<Mutex<Option<SocketAddr>>>);

impl ForeignSender {
    fn set(&self, from: Option<SocketAddr>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = from;
    }

    /// The address and port, told once.
    pub(crate) fn take(&self) -> Option<SocketAddr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl SwitchSocket {
    /// A line over this socket.
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
        let judge = |answer, from: SocketAddr| {
            let there = place(from) == asked;
            self.elsewhere.set((!there).then_some(from));
            if there {
                validate(answer, from)
            } else {
                Ok(Candidate::Reject)
            }
        };
        self.socket.request_with(data, registration, judge).await
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

/// Address and port: an IPv6 address as received has a scope and a flow, too, which nobody states.
fn place(address: SocketAddr) -> (std::net::IpAddr, u16) {
    (address.ip(), address.port())
}

/// An id above zero (RFC 3412, 6: up to 2^31 - 1); none where the system has no randomness.
fn draw() -> Option<i32> {
    std::iter::repeat_with(|| getrandom::u32().ok())
        .map(|drawn| drawn.map(|n| (n & 0x7fff_ffff) as i32))
        .find(|id| *id != Some(0))?
}
