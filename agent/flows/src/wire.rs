//! The messages between coordinator and peers, and the first words of a flow: lines of JSON.
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The secret of a session's members: a peer does nothing for a caller without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionKey(pub String);

/// The longest line that is read from a caller.
pub(crate) const LONGEST_LINE: u64 = 1024;

/// A caller's first line: it says which service the caller wants.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PeerGreeting {
    pub(crate) key: SessionKey,
    pub(crate) wants: PeerService,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PeerService {
    /// To give it orders.
    Orders,
    /// To send it a flow of datagrams that begin with a mark, in this round.
    Flow { mark: u64, round: u64 },
}

/// A peer's part in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundOrder {
    /// Its number. A flow announced for a round that failed belongs to no other one.
    pub round: u64,
    /// The receiver of its flow, if it sends one.
    pub send_to: Option<SocketAddr>,
    /// Another peer sends it a flow.
    pub receives: bool,
    /// The time of the flows.
    pub window: Duration,
}

/// A flow of TCP segments from a source port to [`DOOR`](inventory::stages::flows::DOOR). They belong to no
/// connection, so nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortFlow {
    /// The receiver.
    pub to: IpAddr,
    /// The source port.
    pub port: u16,
    /// The number of segments, each with [`SEGMENT`] octets.
    pub segments: u32,
}

/// The payload of a segment in a [`PortFlow`].
pub const SEGMENT: usize = 1400;

/// Flows that a peer sends one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortFlows {
    pub flows: Vec<PortFlow>,
    /// Octets a second, at most.
    pub pace: u64,
}

/// An order of the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerOrder {
    /// Get ready.
    Prepare(RoundOrder),
    /// Start.
    Go,
    /// Send these.
    Segments(PortFlows),
}

/// A host's part in a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundOutcome {
    /// The rate of the received flow in payload bits a second; `None` if there was none.
    pub rate: Option<f64>,
    /// The bytes that it sent.
    pub sent: u64,
    /// True if it sent much slower than before: it was busy with other things.
    pub disturbed: bool,
}

/// The answer to an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PeerAnswer {
    /// Its connections for the round stand.
    Ready,
    /// The round is over.
    Done(RoundOutcome),
    /// It cannot take its part.
    Failed(String),
}

/// A host's message to the controller in a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowStatement {
    /// The measurement.
    pub session: u64,
    /// The number of the last order that it carried out; 0 before the first.
    pub order: u64,
    /// Its progress.
    pub step: FlowStep,
}

/// A host's progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FlowStep {
    /// It takes flows on this port.
    Joined { port: u16 },
    /// The order is carried out.
    Answered(PeerAnswer),
    /// It has no news, and waits for the next order.
    Waiting,
}

/// The controller's answer, which comes when there is an order, or after some seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FlowReply {
    /// There is no order yet.
    Wait,
    Order {
        number: u64,
        /// The order itself.
        order: PeerOrder,
    },
    /// The measurement is over, or never was.
    End,
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
