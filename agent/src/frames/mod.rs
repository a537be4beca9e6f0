//! Frames that tell of neighbours, read and written. No I/O.
//!
//! | module | one idea |
//! |---|---|
//! | [`ethernet`] | addresses, tags, and whether a type or a length follows |
//! | [`lldp`] | LLDP, IEEE 802.1AB |
//! | [`cdp`] | Cisco's protocol of the same purpose |
//! | [`bpdu`] | what bridges say among themselves: STP, RSTP, MSTP |
//! | `id` | identifiers of chassis and ports |
//!
//! A frame comes from whoever is on the cable: it is read with checked arithmetic, keeps no more
//! memory than it has octets, and what it says is a claim.
pub mod bpdu;
pub mod cdp;
pub mod ethernet;
pub(crate) mod id;
pub mod lldp;

use ethernet::{EthernetFrame, EthernetPayload};
use inventory::{Mac, sanitize};

/// A frame that tells of a neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighbourFrame {
    /// The sender's address on this cable.
    pub source: Mac,
    /// What it says.
    pub message: NeighbourPdu,
}

/// What a frame says, by protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeighbourPdu {
    /// IEEE 802.1AB.
    Lldp(lldp::Lldpdu),
    /// Cisco's.
    Cdp(cdp::CdpAnnouncement),
    /// IEEE 802.1D and 802.1Q.
    Bpdu(bpdu::Bpdu),
}

/// Why a frame says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{protocol} frame: octet {at} of its content: {problem}; frame ignored")]
pub struct FrameError {
    /// Whose rule it breaks: "LLDP".
    pub protocol: &'static str,
    /// Where: octets from the beginning of what the protocol wrote.
    pub at: usize,
    /// What is wrong.
    pub problem: &'static str,
}

impl NeighbourFrame {
    /// Reads a frame from its destination address on, without its check sequence.
    ///
    /// # Errors
    /// Where it is of another protocol, or breaks a rule of its own.
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

    /// Writes it to the group address of its protocol.
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

/// A text out of octets that somebody else wrote.
fn text(octets: &[u8]) -> String {
    sanitize::clean_line(&String::from_utf8_lossy(octets))
}

/// At most so many octets of a text, whole characters only.
fn cut(text: &str, most: usize) -> &[u8] {
    let end = (0..=text.len().min(most))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    &text.as_bytes()[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests;
