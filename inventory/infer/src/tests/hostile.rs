//! Absurd tables: they take no more time than their rows need, and harm no other device.
use super::*;
use inventory::observation::{CdpNeighbour, VendorProtocol};

const ROWS: u32 = if cfg!(debug_assertions) {
    5_000
} else {
    200_000
};

/// A device whose every table is as long as it can be.
fn absurd() -> DeviceView {
    let mac = |n: u32| {
        Mac([
            2,
            0xbb,
            (n >> 24) as u8,
            (n >> 16) as u8,
            (n >> 8) as u8,
            n as u8,
        ])
    };
    let port = |n: u32| LldpPort {
        number: n,
        kind: None,
        id: NeighbourId::Text(format!("x{}", n % 7)),
        descr: String::new(),
    };
    let neighbour = |n: u32| LldpNeighbour {
        local_port: n,
        chassis: Some(NeighbourId::Mac(mac(n % 1_000))),
        port: Some(NeighbourId::Text(format!("Ethernet{n}"))),
        name: if n % 2 == 0 {
            "s0".into()
        } else {
            format!("who{n}")
        },
        ..LldpNeighbour::default()
    };
    let interface = |n: u32| InterfaceRow {
        index: n,
        name: format!("e{}.{n}", n / 2),
        mac: Some(mac(n)),
        aggregate: (n % 3 == 0).then_some(n / 3),
        up: true,
        ..InterfaceRow::default()
    };
    let bridge_port = |n: u32| BridgePort {
        number: n,
        if_index: n,
        state: Some(StpState::Disabled),
        designated_bridge: Some(BridgeId {
            priority: 0,
            address: mac(n),
        }),
        designated_port: Some(1),
    };
    DeviceView {
        seen: Some(Millis(1)),
        interfaces: Some((1..ROWS).map(interface).collect()),
        lldp: Some(LldpTable {
            ports: (1..ROWS).map(port).collect(),
            neighbours: (1..ROWS).map(neighbour).collect(),
            cdp: inventory::observation::CdpTable {
                device: String::new(),
                neighbours: (1..ROWS)
                    .map(|n| CdpNeighbour {
                        protocol: VendorProtocol::Mndp,
                        if_index: n % 5,
                        device: Some(NeighbourId::Text("m".into())),
                        ..CdpNeighbour::default()
                    })
                    .collect(),
            },
            ..LldpTable::default()
        }),
        bridge: Some(BridgeTable {
            address: Some(mac(0)),
            root_bridge: Some(BridgeId {
                priority: 0,
                address: mac(0),
            }),
            ports: (1..ROWS).map(bridge_port).collect(),
            ..BridgeTable::default()
        }),
        fdb: Some(
            (1..ROWS)
                .map(|n| FdbEntry {
                    mac: mac(n),
                    port: n % 100,
                })
                .collect(),
        ),
        ..DeviceView::default()
    }
}

#[test]
fn an_absurd_device_takes_nothing_from_the_others() {
    let mut net = ring();
    let sound = net.infer();
    let name = net.views.keys().next_back().unwrap().clone();
    let others = |t: &Topology| {
        let links = t.links.iter().filter(|l| l.a != name && l.b != name);
        links
            .filter(|l| l.a.starts_with('s') && l.b.starts_with('s'))
            .map(|l| (l.a.clone(), l.a_port.clone(), l.b.clone(), l.b_port.clone()))
            .collect::<Vec<_>>()
    };
    let before = others(&sound);
    *net.views.get_mut(&name).unwrap() = absurd();
    let after = others(&net.infer());
    assert!(!before.is_empty());
    assert!(before.iter().all(|l| after.contains(l)), "{after:?}");
}
