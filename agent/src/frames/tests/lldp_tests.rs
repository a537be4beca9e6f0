//! LLDP: read, write, refuse.
use super::*;

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
    // The order differs from lldpd's, the capabilities are station-only where lldpd sends more, and
    // lldpd's organizational TLVs are missing.
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

/// The TLVs of a damaged unit, and the reason why it is refused.
const REFUSED: &[(&str, &str)] = &[
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
];

#[test]
fn refuses_lldp() {
    let start = "0180c200000e020000000a0388cc";
    for (tlvs, why) in REFUSED {
        assert_eq!(problem(&format!("{start} {tlvs}")), *why, "{tlvs}");
    }
    let longest = format!("{start} 0300 07 {} 0402 0531 0602 0008", "61".repeat(255));
    let Ok(NeighbourPdu::Lldp(unit)) = read(&longest) else {
        panic!("the longest chassis ID is read")
    };
    assert_eq!(unit.chassis, NeighbourId::Text("a".repeat(255)));
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
