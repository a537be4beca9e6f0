//! Tests of each protocol in four groups (read, write, refuse, round trip), and of all protocols
//! with damaged frames.
use super::bpdu::{Bpdu, ConfigurationBpdu, StpVersion};
use super::cdp::CdpAnnouncement;
use super::lldp::Lldpdu;
use super::*;
use inventory::observation::{BridgeId, NeighbourId, SystemCapabilities};
use std::net::IpAddr;

mod bpdu_tests;
mod cdp_tests;
mod lldp_tests;
mod random_frames;

// Recorded by tcpdump from lldpd 1.0.16 on a port of a bridge in a namespace: with `configure lldp
// portidsubtype ifname`; the farewell at its end; with `portidsubtype macaddress` and `configure
// system chassisid rack7-u3`; and CDP version 1 by `lldpd -cc`. The BPDUs come from the kernel's
// bridge: max_age 6 s, forward_delay 4 s.
const LLDP: &str = "0180c200000e020000000a0388cc 0207 04 020000000a03 0405 05 73777033 0602 0008 \
                    0a02 7331 0c13 6120627269646765206f6620746865206c6162 0e04 009c0004 100c 05 01 \
                    0a090001 02 00000003 00 0804 73777033 fe09 00120f030100000000 fe09 \
                    00120f010080000036 0000";
const FAREWELL: &str =
    "0180c200000e020000000a0388cc 0207 04 020000000a03 0405 05 73777033 0602 0000 0000";
const NAMED: &str = "0180c200000e020000000a0388cc 0209 07 7261636b372d7533 0407 03 020000000a03 \
                     0602 0008 0a02 7331 0000";
const CDP: &str = "01000ccccccc020000000a030053 aaaa0300000c2000 01 08 2893 00010006 7331 \
                   00020011 00000001 0101cc0004 0a090001 00030008 73777033 00040008 00000018 \
                   00050017 6120627269646765206f6620746865206c6162 00060009 4c696e7578";
const BPDU: &str = "0180c2000000020000000a030026 424203 0000 00 00 00 1000020000000a00 00000000 \
                    1000020000000a00 8001 0000 0600 0200 0400";

const PORT: Mac = Mac([2, 0, 0, 0, 0x0a, 3]);
const BRIDGE: BridgeId = BridgeId {
    priority: 0x1000,
    address: Mac([2, 0, 0, 0, 0x0a, 0]),
};

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn lldp() -> Lldpdu {
    Lldpdu {
        chassis: NeighbourId::Mac(PORT),
        port: NeighbourId::Text("swp3".into()),
        ttl: 8,
        port_descr: "swp3".into(),
        name: "s1".into(),
        descr: "a bridge of the lab".into(),
        capabilities: Some(SystemCapabilities {
            bridge: true,
            router: false,
        }),
        management: vec![address("10.9.0.1")],
    }
}

fn cdp() -> CdpAnnouncement {
    CdpAnnouncement {
        version: 1,
        ttl: 8,
        device: NeighbourId::Text("s1".into()),
        port: NeighbourId::Text("swp3".into()),
        name: String::new(),
        capabilities: Some(SystemCapabilities {
            bridge: true,
            router: false,
        }),
        addresses: vec![address("10.9.0.1")],
    }
}

fn configuration() -> ConfigurationBpdu {
    ConfigurationBpdu {
        version: StpVersion::Stp,
        flags: 0,
        root_bridge: BRIDGE,
        root_path_cost: 0,
        bridge: BRIDGE,
        port: 0x8001,
        message_age: 0,
        max_age: 6 << 8,
        hello_time: 2 << 8,
        forward_delay: 4 << 8,
    }
}

fn read(hex: &str) -> Result<NeighbourPdu, &'static str> {
    NeighbourFrame::read(&octets(hex))
        .map(|frame| frame.message)
        .map_err(|e| e.problem)
}

/// The reason why a frame is refused.
fn problem(hex: &str) -> &'static str {
    read(hex).expect_err("it is refused")
}

#[test]
fn refuses_other_protocols() {
    for frame in [
        "0180c2000002020000000a03 8809 0101",
        "0180c2000000020000000a03 0003 e0e003",
        "01000ccccccd020000000a03 0008 aaaa0300000c010b",
        "0180c2000000020000000a03 0000",
    ] {
        assert_eq!(problem(frame), "neither LLDP nor CDP nor a BPDU", "{frame}");
    }
}

/// The longest content that the reader keeps fits into one frame.
#[test]
fn the_longest_of_everything_fits_a_frame() {
    let long = "ß".repeat(300);
    let addresses = vec![address("fe80::1"); 100];
    let unit = Lldpdu {
        chassis: NeighbourId::Text(long.clone()),
        port: NeighbourId::Text(long.clone()),
        port_descr: long.clone(),
        name: long.clone(),
        descr: long.clone(),
        management: addresses.clone(),
        ..lldp()
    };
    let announcement = CdpAnnouncement {
        device: NeighbourId::Text(long.clone()),
        port: NeighbourId::Text(long.clone()),
        name: long,
        addresses,
        ..cdp()
    };
    for message in [NeighbourPdu::Lldp(unit), NeighbourPdu::Cdp(announcement)] {
        let read = NeighbourFrame::read(
            &NeighbourFrame {
                source: PORT,
                message,
            }
            .write(),
        )
        .expect("whole");
        assert_eq!(NeighbourFrame::read(&read.write()), Ok(read));
    }
    let short = octets("0202 0731 0402 0532 0602 0008")
        .into_iter()
        .chain([0x10, 6, 5, 1, 10, 9, 0, 1].repeat(180))
        .collect::<Vec<u8>>();
    assert_eq!(
        Lldpdu::read(&short).map(|unit| unit.management.len()),
        Ok(7)
    );
}
