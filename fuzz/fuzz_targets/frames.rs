//! Frames of neighbours by what they say: what is read can be said again, and then means the same.
#![allow(dead_code, reason = "each target uses its part")]
use agent::frames::ethernet::{Ethernet, Payload};
use agent::frames::{Frame, cdp, lldp};
use inventory::Mac;

pub fn lldp(content: &[u8]) {
    again(Payload::Typed { ethertype: lldp::ETHERTYPE, content });
}

/// With a right checksum, which else nothing would pass.
pub fn cdp(content: &[u8]) {
    again(Payload::Llc(&[&[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0][..], &cdp::sealed(content.to_vec())].concat()));
}

pub fn bpdu(content: &[u8]) {
    again(Payload::Llc(&[&[0x42, 0x42, 3], content].concat()));
}

fn again(payload: Payload) {
    let octets = Ethernet { destination: lldp::NEAREST_BRIDGE, source: Mac([2, 0, 0, 0, 0, 1]), payload }.write();
    if let Ok(frame) = Frame::read(&octets) {
        // Texts of wrong encoding may be cut when written.
        let written = Frame::read(&frame.write()).expect("what is read can be written");
        assert_eq!(Frame::read(&written.write()), Ok(written));
    }
}
