//! Frames that describe neighbours, read and written. No I/O.
//!
//! | module | one idea |
//! |---|---|
//! | [`ethernet`] | addresses, tags, type or length |
//! | [`lldp`] | LLDP, IEEE 802.1AB |
//! | [`cdp`] | CDP, Cisco's protocol for the same purpose |
//! | [`bpdu`] | BPDUs, the messages between bridges: STP, RSTP, MSTP |
//! | `id` | identifiers of chassis and ports |
//!
//! Anyone on the cable can send any frame. So a frame is read with checked arithmetic, the memory
//! kept for it never exceeds its size, and its content is a claim, not a fact.
pub mod bpdu;
pub mod cdp;
pub mod ethernet;
pub(crate) mod id;
pub mod lldp;

use ethernet::{EthernetFrame, EthernetPayload};
use inventory::{Mac, sanitize};

/// A frame that describes a neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighbourFrame {
    /// The sender's address on this cable.
    pub source: Mac,
    pub message: NeighbourPdu,
}

/// The message of a frame, by protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeighbourPdu {
    /// LLDP, IEEE 802.1AB.
    Lldp(lldp::Lldpdu),
    /// Cisco's protocol.
    Cdp(cdp::CdpAnnouncement),
    /// Spanning tree, IEEE 802.1D and 802.1Q.
    Bpdu(bpdu::Bpdu),
}

/// The reason why a frame cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{protocol} frame: octet {at} of its content: {problem}; frame ignored")]
pub struct FrameError {
    /// The protocol whose rule the frame breaks: "LLDP".
    pub protocol: &'static str,
    /// The place of the error, in octets from the beginning of the protocol's part.
    pub at: usize,
    pub problem: &'static str,
}

impl FrameError {
    fn new(protocol: &'static str, at: usize, problem: &'static str) -> FrameError {
        FrameError {
            protocol,
            at,
            problem,
        }
    }
}

impl NeighbourFrame {
    /// Reads a frame that begins with its destination address and has no check sequence.
    ///
    /// # Errors
    /// If the frame belongs to another protocol, or breaks a rule of its own protocol.
    pub fn read(octets: &[u8]) -> Result<NeighbourFrame, FrameError> {
        let frame = EthernetFrame::read(octets)?;
        let message = match frame.payload {
            EthernetPayload::Typed {
                ethertype: lldp::ETHERTYPE,
                content,
            } => NeighbourPdu::Lldp(lldp::Lldpdu::read(content)?),
            EthernetPayload::Llc([bpdu::LLC0, bpdu::LLC1, bpdu::LLC2, content @ ..]) => {
                NeighbourPdu::Bpdu(bpdu::Bpdu::read(content)?)
            }
            EthernetPayload::Llc(llc) => match llc.strip_prefix(&cdp::SNAP) {
                Some(content) => NeighbourPdu::Cdp(cdp::CdpAnnouncement::read(content)?),
                None => return Err(OTHER),
            },
            EthernetPayload::Typed { .. } => return Err(OTHER),
        };
        Ok(NeighbourFrame {
            source: frame.source,
            message,
        })
    }

    /// Writes a frame to the group address of its protocol.
    pub fn write(&self) -> Vec<u8> {
        let (destination, content, llc): (_, _, &[u8]) = match &self.message {
            NeighbourPdu::Lldp(lldpdu) => {
                let content = lldpdu.write();
                let payload = EthernetPayload::Typed {
                    ethertype: lldp::ETHERTYPE,
                    content: &content,
                };
                return EthernetFrame {
                    destination: lldp::NEAREST_BRIDGE,
                    source: self.source,
                    payload,
                }
                .write();
            }
            NeighbourPdu::Cdp(announcement) => (cdp::GROUP, announcement.write(), &cdp::SNAP),
            NeighbourPdu::Bpdu(bpdu) => (
                bpdu::GROUP,
                bpdu.write(),
                &[bpdu::LLC0, bpdu::LLC1, bpdu::LLC2],
            ),
        };
        EthernetFrame {
            destination,
            source: self.source,
            payload: EthernetPayload::Llc(&[llc, &content].concat()),
        }
        .write()
    }
}

const OTHER: FrameError = FrameError {
    protocol: "Ethernet",
    at: 0,
    problem: "neither LLDP nor CDP nor a BPDU",
};

/// The text in octets that come from outside.
fn text(octets: &[u8]) -> String {
    sanitize::clean_octets(octets)
}

/// At most `most` octets of a text, in whole characters.
fn cut(text: &str, most: usize) -> &[u8] {
    let end = (0..=text.len().min(most))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    &text.as_bytes()[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests;
