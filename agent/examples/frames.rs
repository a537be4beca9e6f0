//! Frames to start fuzzing from: `cargo run -p agent --example frames -- fuzz/corpus` writes one
//! folder a protocol.
use agent::frames::bpdu::{Bpdu, ConfigurationBpdu, StpVersion};
use agent::frames::cdp::CdpAnnouncement;
use agent::frames::lldp::Lldpdu;
use inventory::Mac;
use inventory::observation::{BridgeId, NeighbourId, SystemCapabilities};
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = std::env::args().nth(1).ok_or("usage: frames DIR")?;
    for (number, (protocol, content)) in seeds()?.into_iter().enumerate() {
        let folder = Path::new(&corpus).join(protocol);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("frame-{number}")), content)?;
    }
    Ok(())
}

fn seeds() -> Result<Vec<(&'static str, Vec<u8>)>, std::net::AddrParseError> {
    let lldp = Lldpdu {
        chassis: NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 1])),
        port: NeighbourId::Text("swp1".into()),
        ttl: 120,
        port_descr: "uplink".into(),
        name: "s0".into(),
        descr: "a switch".into(),
        capabilities: Some(SystemCapabilities {
            bridge: true,
            router: true,
        }),
        management: vec!["10.0.0.1".parse()?, "fe80::1".parse()?],
    };
    let addressed = Lldpdu {
        chassis: NeighbourId::Address("10.0.0.1".parse()?),
        port: NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 1])),
        ..lldp.clone()
    };
    let cdp = CdpAnnouncement {
        version: 2,
        ttl: 180,
        device: NeighbourId::Text("s0".into()),
        port: NeighbourId::Text("GigabitEthernet0/1".into()),
        name: "s0.example.org".into(),
        capabilities: lldp.capabilities,
        addresses: lldp.management.clone(),
    };
    let mut seeds = vec![
        ("lldp", lldp.farewell().write()),
        ("lldp", lldp.write()),
        ("lldp", addressed.write()),
        ("cdp", cdp.write()),
    ];
    seeds.extend(bpdus().iter().map(|bpdu| ("bpdu", bpdu.write())));
    Ok(seeds)
}

/// A topology change, and a configuration of each protocol version.
fn bpdus() -> [Bpdu; 4] {
    let bridge = BridgeId {
        priority: 0x8000,
        address: Mac([2, 0, 0, 0, 0, 1]),
    };
    let stp = ConfigurationBpdu {
        version: StpVersion::Stp,
        flags: 0x3c,
        root_bridge: bridge,
        root_path_cost: 20_000,
        bridge,
        port: 0x8001,
        message_age: 1 << 8,
        max_age: 20 << 8,
        hello_time: 2 << 8,
        forward_delay: 15 << 8,
    };
    let rstp = ConfigurationBpdu {
        version: StpVersion::Rstp,
        ..stp
    };
    let mstp = ConfigurationBpdu {
        version: StpVersion::Mstp {
            regional_root: bridge,
            internal_path_cost: 2_000,
            remaining_hops: 19,
        },
        ..stp
    };
    [
        Bpdu::TopologyChange,
        Bpdu::Configuration(stp),
        Bpdu::Configuration(rstp),
        Bpdu::Configuration(mstp),
    ]
}
