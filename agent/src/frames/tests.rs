//! Each protocol four times: read, write, refuse, round trip; and all of them with damaged frames.
use super::bpdu::{Bpdu, ConfigurationBpdu, StpVersion};
use super::cdp::CdpAnnouncement;
use super::lldp::Lldpdu;
use super::*;
use inventory::observation::{BridgeId, NeighbourId, SystemCapabilities};
use proptest::prelude::*;
use proptest::sample::Index;
use std::net::IpAddr;

// Recorded by tcpdump from lldpd 1.0.16 on a port of a bridge in a namespace: `configure lldp
// portidsubtype ifname`; its farewell when it ended; `portidsubtype macaddress` and `configure
// system chassisid rack7-u3`; and CDP version 1 by `lldpd -cc`. The BPDUs are of the kernel's
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

/// What remains of a frame when it is cut after so many octets of its content.
fn problem(hex: &str) -> &'static str {
    read(hex).expect_err("it is refused")
}

#[test]
fn reads_lldp() {
    assert_eq!(
        NeighbourFrame::read(&octets(LLDP)),
        Ok(NeighbourFrame {
            source: PORT,
            message: NeighbourPdu::Lldp(lldp())
        })
    );
    assert_eq!(read(FAREWELL), Ok(NeighbourPdu::Lldp(lldp().farewell())));
    let Ok(NeighbourPdu::Lldp(named)) = read(NAMED) else {
        panic!("{:?}", read(NAMED))
    };
    assert_eq!(
        (named.chassis, named.port, named.capabilities),
        (
            NeighbourId::Text("rack7-u3".into()),
            NeighbourId::Mac(PORT),
            None
        )
    );
}

#[test]
fn reads_lldp_of_every_subtype() {
    let unit = |tlvs: &str| match read(&format!("0180c200000e020000000a0388cc {tlvs}")) {
        Ok(NeighbourPdu::Lldp(unit)) => unit,
        other => panic!("{tlvs}: {other:?}"),
    };
    let text = |t: &str| NeighbourId::Text(t.into());
    for (subtype, value, id) in [
        (1, "72303137", text("r017")),
        (2, "72303137", text("r017")),
        (3, "72303137", text("r017")),
        (4, "020000000a03", NeighbourId::Mac(PORT)),
        (5, "010a090001", NeighbourId::Address(address("10.9.0.1"))),
        (
            5,
            "02fe800000000000000000000000000001",
            NeighbourId::Address(address("fe80::1")),
        ),
        (5, "0600", text("0600")),
        (6, "65746830", text("eth0")),
        (7, "00ff", text("00ff")),
        (200, "72303137", text("r017")),
    ] {
        let tlv = format!(
            "{:04x} {subtype:02x}{value}",
            2 << 8 | (value.len() / 2 + 1)
        );
        assert_eq!(
            unit(&format!("{tlv} 0402 0531 0602 0008")).chassis,
            id,
            "chassis subtype {subtype}, without an end"
        );
    }
    for (subtype, value, id) in [
        (1, "55706c696e6b", text("Uplink")),
        (3, "020000000a03", NeighbourId::Mac(PORT)),
        (4, "010a090001", NeighbourId::Address(address("10.9.0.1"))),
        (5, "73777033", text("swp3")),
        (6, "000000000a03", text("000000000a03")),
        (7, "353031", text("501")),
    ] {
        let tlv = format!(
            "{:04x} {subtype:02x}{value}",
            4 << 8 | (value.len() / 2 + 1)
        );
        assert_eq!(
            unit(&format!("0202 0731 {tlv} 0602 0008 0000")).port,
            id,
            "port subtype {subtype}"
        );
    }
}

#[test]
fn writes_lldp() {
    let content = octets(LLDP);
    // In another order than lldpd's, station-only bits where it says more, and none of its
    // organizational TLVs.
    let expected = "0207 04 020000000a03 0405 05 73777033 0602 0008 0804 73777033 0a02 7331 0c13 \
                    6120627269646765206f6620746865206c6162 0e04 00040004 100c 05 01 0a090001 01 \
                    00000000 00 0000";
    assert_eq!(lldp().write(), octets(expected));
    let frame = NeighbourFrame {
        source: PORT,
        message: NeighbourPdu::Lldp(lldp()),
    }
    .write();
    assert_eq!(frame[..14], content[..14]);
    let farewell = NeighbourFrame {
        source: PORT,
        message: NeighbourPdu::Lldp(lldp().farewell()),
    }
    .write();
    assert_eq!(
        (&farewell[..36], farewell.len()),
        (&octets(FAREWELL)[..], 60),
        "as lldpd's, padded"
    );
}

#[test]
fn refuses_lldp() {
    let start = "0180c200000e020000000a0388cc";
    for (tlvs, why) in [
        ("", "no chassis ID where it must stand"),
        ("0000", "no chassis ID where it must stand"),
        (
            "0405 05 73777033 0207 04 020000000a03 0602 0008",
            "no chassis ID where it must stand",
        ),
        (
            "0207 04 020000000a03 0602 0008 0405 05 73777033",
            "no port ID where it must stand",
        ),
        (
            "0207 04 020000000a03 0405 05 73777033 0000",
            "no time to live where it must stand",
        ),
        (
            "0207 04 020000000a03 0405 05 73777033 0601 08",
            "a mandatory TLV of a wrong length",
        ),
        (
            "0201 04 0405 05 73777033 0602 0008",
            "a mandatory TLV of a wrong length",
        ),
        (
            "0200 0405 05 73777033 0602 0008",
            "a mandatory TLV of a wrong length",
        ),
        (
            "0207 04 020000000a03 0405 05 73777033 0602 0008 0602 0009",
            "a second chassis ID, port ID or time to live",
        ),
        (
            "0207 04 020000000a03 0405 05 73777033 0602 0008 0202 0731",
            "a second chassis ID, port ID or time to live",
        ),
        (
            "0207 04 020000000a03 0405 05 73777033 0602 0008 0aff 7331",
            "a TLV that runs past the end",
        ),
        (
            "0207 04 020000000a03 0405 05 73777033 0602 0008 0a",
            "ends within the head of a TLV",
        ),
    ] {
        assert_eq!(problem(&format!("{start} {tlvs}")), why, "{tlvs}");
    }
    let longest = format!("{start} 0300 07 {} 0402 0531 0602 0008", "61".repeat(255));
    assert!(
        matches!(read(&longest), Ok(NeighbourPdu::Lldp(unit)) if unit.chassis == NeighbourId::Text("a".repeat(255)))
    );
    let longer = format!("{start} 0301 07 {} 0402 0531 0602 0008", "61".repeat(256));
    assert_eq!(problem(&longer), "a mandatory TLV of a wrong length");
    let message = NeighbourFrame::read(&octets(&format!("{start} 0207 04 020000000a03 0602 0008")))
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "LLDP frame: octet 9 of its content: no port ID where it must stand; frame ignored"
    );
}

#[test]
fn passes_over_what_is_optional_and_wrong() {
    let tlvs = "0202 0731 0402 0532 0602 0008 0e01 00 0e04 00100010 0e04 00040004 1002 0501 1003 \
                07 0102 0a00 0a01 61 0a01 62 1800 0c02 0a41 0000 0a01";
    let Ok(NeighbourPdu::Lldp(unit)) = read(&format!("0180c200000e020000000a0388cc {tlvs}")) else {
        panic!("it is read")
    };
    assert_eq!(
        unit.capabilities,
        Some(SystemCapabilities {
            bridge: false,
            router: true
        }),
        "the first whole one"
    );
    assert_eq!(
        (
            unit.name.as_str(),
            unit.descr.as_str(),
            unit.management.len()
        ),
        ("a", "A", 0)
    );
}

#[test]
fn reads_cdp() {
    assert_eq!(
        NeighbourFrame::read(&octets(CDP)),
        Ok(NeighbourFrame {
            source: PORT,
            message: NeighbourPdu::Cdp(cdp())
        })
    );
}

#[test]
fn writes_cdp() {
    // What lldpd says but for its version and platform.
    let expected = "01 08 0000 00010006 7331 00020011 00000001 0101cc0004 0a090001 00030008 \
                    73777033 00040008 00000008";
    let (written, expected) = (cdp().write(), octets(expected));
    assert_eq!(
        (&written[..2], &written[4..]),
        (&expected[..2], &expected[4..])
    );
    assert!(
        CdpAnnouncement::read(&written).is_ok(),
        "and the checksum is right"
    );
    let frame = NeighbourFrame {
        source: PORT,
        message: NeighbourPdu::Cdp(cdp()),
    }
    .write();
    assert_eq!(
        (&frame[..12], &frame[14..22]),
        (&octets(CDP)[..12], &octets(CDP)[14..22])
    );
}

/// Recorded from a switch: 0x2893 above is over 75 octets, whose last is below 0x80. By Cisco's
/// devices the last octet is the low one of a word, and one less and negative from 0x80 on; by RFC
/// 1071 it is the high one.
#[test]
fn an_odd_last_octet_is_summed_in_either_way() {
    let with = |last: u8, sum: u16| {
        let mut octets = octets("0200 0000 00010005 61 00030005 62 00050005 00");
        octets[2..4].copy_from_slice(&sum.to_be_bytes());
        *octets.last_mut().unwrap() = last;
        CdpAnnouncement::read(&octets).is_ok()
    };
    // Words but for the last: 0200 0001 0005 6100 0300 0562 0005 0005.
    let rest: u16 = 0x0200 + 0x0001 + 0x0005 + 0x6100 + 0x0300 + 0x0562 + 0x0005 + 0x0005;
    for (last, word) in [(0x41, 0x0041), (0x41, 0x4100), (0x90, 0x9000)] {
        assert!(with(last, !(rest + word)), "{last:02x} as {word:04x}");
    }
    // 0xff8f carries.
    assert!(with(0x90, !(rest.wrapping_add(0xff8f) + 1)));
    assert!(!with(0x41, !rest) && !with(0x90, !(rest + 0x90)));
}

#[test]
fn refuses_cdp() {
    let sealed =
        |content: &str| CdpAnnouncement::read(&cdp::sealed(octets(content))).map_err(|e| e.problem);
    let whole = "02b4 0000 00010006 7331 00030008 73777033";
    assert!(sealed(whole).is_ok());
    for (content, why) in [
        (
            "03b4 0000 00010006 7331 00030008 73777033",
            "neither version 1 nor 2",
        ),
        (
            "02b4 0000 00010003 7331 00030008 73777033",
            "a TLV that runs past the end, or is shorter than its head",
        ),
        (
            "02b4 0000 00010006 7331 00030009 73777033",
            "a TLV that runs past the end, or is shorter than its head",
        ),
        (
            "02b4 0000 00010006 7331 000300",
            "a TLV that runs past the end, or is shorter than its head",
        ),
        ("02b4 0000 00030008 73777033", "no device ID"),
        ("02b4 0000 00010004 00030008 73777033", "no device ID"),
        ("02b4 0000 00010006 7331", "no port ID"),
    ] {
        assert_eq!(sealed(content), Err(why), "{content}");
    }
    assert_eq!(
        CdpAnnouncement::read(&octets(whole)).map_err(|e| e.problem),
        Err("a wrong checksum")
    );
    assert_eq!(
        CdpAnnouncement::read(&[2, 180, 0]).map_err(|e| e.problem),
        Err("ends within its head")
    );
    let strange_addresses =
        "02b4 0000 00010006 7331 00030008 73777033 00020013 ffffffff 0101cc0004 0a090001 01ff";
    assert_eq!(
        sealed(strange_addresses).map(|a| a.addresses),
        Ok(vec![address("10.9.0.1")]),
        "as far as they are whole"
    );
}

#[test]
fn reads_bpdus() {
    assert_eq!(
        read(BPDU),
        Ok(NeighbourPdu::Bpdu(Bpdu::Configuration(configuration())))
    );
    assert_eq!(
        read("0180c2000000020000000a030007 424203 0000 00 80 00000000"),
        Ok(NeighbourPdu::Bpdu(Bpdu::TopologyChange))
    );
}

/// The layout of 802.1Q-2018, Figure 14-1, each field with octets of its own.
#[test]
fn reads_the_bridge_of_mstp_where_mstp_has_it() {
    let common =
        "0000 03 02 7c 2000aaaaaaaaaaaa 00004e20 3000bbbbbbbbbbbb 8002 0100 1400 0200 0f00";
    let region = format!("00 0040 {} 000007d0 4000cccccccccccc 13", "11".repeat(51));
    let mst = |tail: &str| match Bpdu::read(&octets(&format!("{common} {tail}"))) {
        Ok(Bpdu::Configuration(said)) => said,
        other => panic!("{other:?}"),
    };
    let id = |priority, octet| BridgeId {
        priority,
        address: Mac([octet; 6]),
    };
    let said = mst(&region);
    assert_eq!(
        (
            said.root_bridge,
            said.root_path_cost,
            said.bridge,
            said.port
        ),
        (id(0x2000, 0xaa), 20_000, id(0x4000, 0xcc), 0x8002)
    );
    let version = StpVersion::Mstp {
        regional_root: id(0x3000, 0xbb),
        internal_path_cost: 2000,
        remaining_hops: 0x13,
    };
    assert_eq!((said.version, said.is_designated()), (version, true));
    assert_eq!(said.holds_for(), std::time::Duration::from_secs(19));
    for as_rstp in [
        "",
        "00",
        &region[..region.len() - 2],
        &region.replacen("0040", "0041", 1),
        &region.replacen("00", "01", 1),
    ] {
        assert_eq!(
            (mst(as_rstp).version, mst(as_rstp).bridge),
            (StpVersion::Rstp, id(0x3000, 0xbb)),
            "{as_rstp}"
        );
    }
}

#[test]
fn writes_bpdus() {
    let frame = NeighbourFrame {
        source: PORT,
        message: NeighbourPdu::Bpdu(Bpdu::Configuration(configuration())),
    }
    .write();
    assert_eq!(
        (&frame[..52], frame.len()),
        (&octets(BPDU)[..], 60),
        "as the kernel's, padded"
    );
    let rst = ConfigurationBpdu {
        version: StpVersion::Rstp,
        flags: 0x3c,
        ..configuration()
    };
    let expected =
        "0000 02 02 3c 1000020000000a00 00000000 1000020000000a00 8001 0000 0600 0200 0400 00";
    assert_eq!(Bpdu::Configuration(rst).write(), octets(expected));
    assert_eq!(Bpdu::TopologyChange.write(), [0, 0, 0, 0x80]);
}

#[test]
fn refuses_bpdus() {
    let start = "0180c2000000020000000a03";
    for (content, why) in [
        ("0006 424203 000100", "not the spanning tree protocol"),
        ("0007 424203 00000001", "an unknown type"),
        ("0007 424203 00000002", "an unknown type"),
        ("0007 424203 00000202", "ends too early for its type"),
        (
            "0025 424203 0000 00 00 00 1000020000000a00 00000000 1000020000000a00 8001 0000 0600 \
             0200 04",
            "ends too early for its type",
        ),
        (
            "0026 424203 0000 00 00 00 1000020000000a00 00000000 1000020000000a00 8001 0600 0600 \
             0200 0400",
            "as old as it may become",
        ),
    ] {
        assert_eq!(problem(&format!("{start} {content}")), why, "{content}");
    }
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

/// Whatever a frame says is kept within what a frame can say.
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

/// Texts that come back as they are: what hides or is nothing becomes something else.
fn word() -> impl Strategy<Value = String> {
    "[a-z0-9äß]([a-zA-Z0-9äß/. -]{0,40}[a-z0-9ß])?"
}

fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from)
    ]
}

fn any_mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac)
}

fn any_id() -> impl Strategy<Value = NeighbourId> {
    prop_oneof![
        any_mac().prop_map(NeighbourId::Mac),
        ip().prop_map(NeighbourId::Address),
        word().prop_map(NeighbourId::Text)
    ]
}

fn any_capabilities() -> impl Strategy<Value = Option<SystemCapabilities>> {
    prop::option::of(
        any::<(bool, bool)>().prop_map(|(bridge, router)| SystemCapabilities { bridge, router }),
    )
}

fn optional_word() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), word()]
}

fn any_lldp() -> impl Strategy<Value = NeighbourPdu> {
    let texts = (optional_word(), optional_word(), optional_word());
    let rest = (any_capabilities(), prop::collection::vec(ip(), 0..4));
    (any_id(), any_id(), any::<u16>(), texts, rest).prop_map(
        |(chassis, port, ttl, texts, (capabilities, management))| {
            let (port_descr, name, descr) = texts;
            NeighbourPdu::Lldp(Lldpdu {
                chassis,
                port,
                ttl,
                port_descr,
                name,
                descr,
                capabilities,
                management,
            })
        },
    )
}

fn any_cdp() -> impl Strategy<Value = NeighbourPdu> {
    // A name that reads as a MAC address is one in CDP, which has no subtypes; and addresses are
    // written as texts.
    let named = || "[a-z][a-z0-9./-]{0,30}[g-z]".prop_map(NeighbourId::Text);
    let rest = (
        optional_word(),
        any_capabilities(),
        prop::collection::vec(ip(), 0..4),
    );
    (1..=2u8, any::<u8>(), named(), named(), rest).prop_map(
        |(version, ttl, device, port, (name, capabilities, addresses))| {
            NeighbourPdu::Cdp(CdpAnnouncement {
                version,
                ttl,
                device,
                port,
                name,
                capabilities,
                addresses,
            })
        },
    )
}

fn any_bridge() -> impl Strategy<Value = BridgeId> {
    (any::<u16>(), any_mac()).prop_map(|(priority, address)| BridgeId { priority, address })
}

fn any_bpdu() -> impl Strategy<Value = NeighbourPdu> {
    let version = prop_oneof![
        Just(StpVersion::Stp),
        Just(StpVersion::Rstp),
        (any_bridge(), any::<u32>(), any::<u8>()).prop_map(
            |(regional_root, internal_path_cost, remaining_hops)| StpVersion::Mstp {
                regional_root,
                internal_path_cost,
                remaining_hops
            }
        ),
    ];
    let times = (any::<u16>(), 1..=u16::MAX, any::<u16>(), any::<u16>());
    let configuration = (
        version,
        any::<u8>(),
        any_bridge(),
        any::<u32>(),
        any_bridge(),
        any::<u16>(),
        times,
    )
        .prop_map(
            |(
                version,
                flags,
                root_bridge,
                root_path_cost,
                bridge,
                port,
                (age, max_age, hello_time, forward_delay),
            )| {
                let message_age = age % max_age;
                let said = ConfigurationBpdu {
                    version,
                    flags,
                    root_bridge,
                    root_path_cost,
                    bridge,
                    port,
                    message_age,
                    max_age,
                    hello_time,
                    forward_delay,
                };
                NeighbourPdu::Bpdu(Bpdu::Configuration(said))
            },
        );
    prop_oneof![9 => configuration, 1 => Just(NeighbourPdu::Bpdu(Bpdu::TopologyChange))]
}

fn any_frame() -> impl Strategy<Value = NeighbourFrame> {
    (any_mac(), prop_oneof![any_lldp(), any_cdp(), any_bpdu()])
        .prop_map(|(source, message)| NeighbourFrame { source, message })
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(frame in any_frame()) {
        let octets = frame.write();
        prop_assert!((60..=1514).contains(&octets.len()));
        prop_assert_eq!(NeighbourFrame::read(&octets), Ok(frame));
    }

    #[test]
    fn damaged_frames_are_read_or_refused(
        frame in any_frame(),
        flips in prop::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        end in any::<Index>(),
        more in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut octets = frame.write();
        for (at, with) in flips {
            *at.get_mut(&mut octets) ^= with;
        }
        octets.truncate(end.index(octets.len() + 1));
        octets.extend(more);
        if let Ok(read) = NeighbourFrame::read(&octets) {
            let again = NeighbourFrame::read(&read.write());
            prop_assert_eq!(again, Ok(read), "what is read can be said again");
        }
        // Past the checksum and the LLC, which damage seldom leaves right.
        for content in (0..octets.len().min(30)).map(|at| &octets[at..]) {
            let _ = (Lldpdu::read(content), Bpdu::read(content), CdpAnnouncement::read(&cdp::sealed(content.to_vec())));
        }
    }
}
