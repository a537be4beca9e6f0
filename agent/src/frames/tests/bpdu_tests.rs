//! BPDUs: read, write, refuse.
use super::*;

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

/// The layout of 802.1Q-2018, Figure 14-1. Each field has different octets.
#[test]
fn reads_the_bridge_of_mstp_where_mstp_has_it() {
    let common =
        "0000 03 02 7c 2000aaaaaaaaaaaa 00004e20 3000bbbbbbbbbbbb 8002 0100 1400 0200 0f00";
    let region = format!("00 0040 {} 000007d0 4000cccccccccccc 13", "11".repeat(51));
    let mst = |tail: &str| match Bpdu::read(&octets(&format!("{common} {tail}"))) {
        Ok(Bpdu::Configuration(output)) => output,
        other => panic!("{other:?}"),
    };
    let output = mst(&region);
    assert_eq!(
        (
            output.root_bridge,
            output.root_path_cost,
            output.bridge,
            output.port
        ),
        (id(0x2000, 0xaa), 20_000, id(0x4000, 0xcc), 0x8002)
    );
    let version = StpVersion::Mstp {
        regional_root: id(0x3000, 0xbb),
        internal_path_cost: 2000,
        remaining_hops: 0x13,
    };
    assert_eq!((output.version, output.is_designated()), (version, true));
    assert_eq!(output.holds_for(), std::time::Duration::from_secs(19));
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

fn id(priority: u16, octet: u8) -> BridgeId {
    BridgeId {
        priority,
        address: Mac([octet; 6]),
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
