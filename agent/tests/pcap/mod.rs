//! Frames of real devices, and frames that were made to break readers.
use super::networks;
use agent::frames::bpdu::Bpdu;
use agent::frames::{FrameError, NeighbourFrame, NeighbourPdu};
use inventory::observation::{NeighbourId, SystemCapabilities};
use std::fs;

/// The frames of a capture file (draft-ietf-opsawg-pcap), as far as it is complete.
fn frames(file: &str) -> Vec<Result<NeighbourFrame, FrameError>> {
    let path = networks().join("pcap").join(file);
    let octets = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let number = |at: usize| {
        let four: [u8; 4] = octets[at..at + 4].try_into().unwrap();
        if octets[0] == 0xa1 {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        }
    };
    let mut frames = Vec::new();
    let mut at = 24;
    while at + 16 <= octets.len() {
        let end = (at + 16 + number(at + 8) as usize).min(octets.len());
        frames.push(NeighbourFrame::read(&octets[at + 16..end]));
        at = end;
    }
    frames
}

/// The different contents of the frames, each once.
fn messages(file: &str) -> Vec<String> {
    let output = |frame: Result<NeighbourFrame, FrameError>| match frame.map(|frame| frame.message)
    {
        Ok(NeighbourPdu::Lldp(u)) => {
            format!(
                "lldp {} {} ({}) {} {} s {}",
                shown(&u.chassis),
                shown(&u.port),
                u.port_descr,
                u.name,
                u.ttl,
                does(u.capabilities)
            )
        }
        Ok(NeighbourPdu::Cdp(a)) => {
            format!(
                "cdp {} {} {:?} {} s {}",
                shown(&a.device),
                shown(&a.port),
                a.addresses,
                a.ttl,
                does(a.capabilities)
            )
        }
        Ok(NeighbourPdu::Bpdu(Bpdu::Configuration(c))) => {
            let (root, bridge) = (c.root_bridge, c.bridge);
            let which = if c.is_designated() {
                "designated"
            } else {
                "other"
            };
            format!(
                "{:?} {which} {:04x}.{} {:04x}.{} {:04x}",
                c.version, root.priority, root.address, bridge.priority, bridge.address, c.port
            )
        }
        Ok(NeighbourPdu::Bpdu(Bpdu::TopologyChange)) => "topology change".into(),
        Err(problem) => problem.to_string(),
    };
    let mut all: Vec<String> = frames(file).into_iter().map(output).collect();
    all.sort();
    all.dedup();
    all
}

fn shown(id: &NeighbourId) -> String {
    match id {
        NeighbourId::Mac(mac) => mac.to_string(),
        NeighbourId::Address(address) => address.to_string(),
        NeighbourId::Text(text) => text.clone(),
    }
}

fn does(capabilities: Option<SystemCapabilities>) -> &'static str {
    match capabilities {
        None => "?",
        Some(SystemCapabilities {
            bridge: false,
            router: false,
        }) => "nothing",
        Some(SystemCapabilities {
            bridge: true,
            router: false,
        }) => "bridges",
        Some(SystemCapabilities {
            bridge: false,
            router: true,
        }) => "routes",
        Some(SystemCapabilities {
            bridge: true,
            router: true,
        }) => "bridges and routes",
    }
}

#[test]
fn neighbours_of_real_switches() {
    assert_eq!(
        messages("lldpd/8023bt.pcap"),
        ["lldp c0:64:e4:a9:9b:80 Gi1/0/2 (GigabitEthernet1/0/2) cisco-bt-switch 120 s bridges"]
    );
    assert_eq!(
        messages("lldpd/sg200.pcap"),
        ["lldp 00:35:35:35:35:35 g1 ()  120 s ?"]
    );
    assert_eq!(
        messages("tcpdump/3560_CDP.pcap"),
        ["cdp Switch GigabitEthernet0/5 [192.168.0.1] 180 s bridges"]
    );
    let both = [
        "cdp S1 FastEthernet0/13 [0.0.0.0] 180 s bridges",
        "cdp S2 GigabitEthernet0/13 [0.0.0.0] 180 s bridges",
        "lldp 00:18:ba:98:68:8f Fa0/13 (FastEthernet0/13) S1.cisco.com 120 s bridges",
        "lldp 00:19:2f:a7:b2:8d Uplink to S1 (GigabitEthernet0/13) S2.cisco.com 120 s bridges",
    ];
    assert_eq!(messages("tcpdump/LLDP_and_CDP.pcap"), both);
    let leaf = "lldp 00:00:00:02:00:02 leaf0b-eth10 (Big Cloud Fabric Switch Port leaf0b-eth10) \
                leaf0b 120 s ?";
    assert_eq!(messages("tcpdump/lldp-app-priority.pcap"), [leaf]);
}

#[test]
fn bpdus_of_a_real_switch() {
    let designated = "Rstp designated 8001.00:19:06:ea:b8:80 8001.00:19:06:ea:b8:80 800c";
    assert_eq!(
        messages("tcpdump/802.1w_rapid_STP.pcap"),
        [designated],
        "proposing, learning and forwarding"
    );
}

#[test]
fn hostile_frames_are_refused_or_say_what_is_left() {
    assert_eq!(
        messages("tcpdump/lldp-infinite-loop-1.pcap"),
        ["lldp 08:00:27:42:ba:59 08:00:27:42:ba:59 ()  120 s ?"]
    );
    assert_eq!(
        messages("tcpdump/lldp_asan.pcap"),
        ["LLDP frame: octet 8 of its content: no port ID where it must stand; frame ignored"]
    );
    let [other, short] = [
        "octet 0 of its content: neither LLDP nor CDP nor a BPDU",
        "octet 19 of its content: shorter than its length field says",
    ]
    .map(|problem| format!("Ethernet frame: {problem}; frame ignored"));
    assert_eq!(
        messages("tcpdump/stp-heapoverflow-1.pcap"),
        [other.clone(), short]
    );
    assert_eq!(messages("tcpdump/LACP.pcap"), [other]);
}
