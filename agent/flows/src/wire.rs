//! The messages between coordinator and peers, and the first words of a flow: lines of JSON.
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// What all members of a session know and nobody else: a peer does nothing for a caller without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionKey(pub String);

/// The longest line that is read from a caller.
pub(crate) const LONGEST_LINE: u64 = 1024;

/// What a caller wants of a peer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PeerGreeting {
    pub(crate) key: SessionKey,
    pub(crate) wants: PeerService,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PeerService {
    /// To give it orders.
    Orders,
    /// To send it a flow of datagrams that begin with a mark.
    Flow { mark: u64 },
}

/// A peer's part in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundOrder {
    /// The receiver of its flow, if it sends one.
    pub send_to: Option<SocketAddr>,
    /// Another peer sends it a flow.
    pub receives: bool,
    /// The time of the flows.
    pub window: Duration,
}

/// An order of the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerOrder {
    /// Get ready.
    Prepare(RoundOrder),
    /// Start.
    Go,
}

/// The answer to an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PeerAnswer {
    /// Its connections for the round stand.
    Ready,
    /// The flow that it received, in payload bits a second; `None` if it received none.
    Done(Option<f64>),
    /// It cannot take its part.
    Failed(String),
}

pub(crate) fn write_line(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

pub(crate) fn read_line<T: for<'a> Deserialize<'a>>(from: &mut impl BufRead) -> io::Result<T> {
    let mut line = String::new();
    from.take(LONGEST_LINE).read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}
