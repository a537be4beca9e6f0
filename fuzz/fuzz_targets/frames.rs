//! Frames of neighbours: an accepted frame can be written again, and keeps its meaning.
#![allow(dead_code, reason = "each target uses its part")]
use agent::frames::ethernet::{EthernetFrame, EthernetPayload};
use agent::frames::{NeighbourFrame, cdp, lldp};
use inventory::Mac;

/// Reads an LLDP frame, and writes it again.
pub fn lldp(content: &[u8]) {
    again(EthernetPayload::Typed {
        ethertype: lldp::ETHERTYPE,
        content,
    });
}

/// Corrects the checksum, because otherwise no frame would be accepted.
pub fn cdp(content: &[u8]) {
    again(EthernetPayload::Llc(
        &[
            &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0][..],
            &cdp::sealed(content.to_vec()),
        ]
        .concat(),
    ));
}

/// Reads a BPDU, and writes it again.
pub fn bpdu(content: &[u8]) {
    again(EthernetPayload::Llc(&[&[0x42, 0x42, 3], content].concat()));
}

fn again(payload: EthernetPayload) {
    let octets = EthernetFrame {
        destination: lldp::NEAREST_BRIDGE,
        source: Mac([2, 0, 0, 0, 0, 1]),
        payload,
    }
    .write();
    if let Ok(frame) = NeighbourFrame::read(&octets) {
        // Texts with a wrong encoding may be cut when they are written.
        let written = NeighbourFrame::read(&frame.write()).expect("what is read can be written");
        assert_eq!(NeighbourFrame::read(&written.write()), Ok(written));
    }
}
