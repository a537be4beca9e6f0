//! Absurd tables: they take no more time than their rows need, and harm no other device.
use super::*;
use inventory::observation::{CdpNeighbour, CdpTable, VendorProtocol};

const ROWS: u32 = if cfg!(debug_assertions) {
    5_000
} else {
    200_000
};

fn address(n: u32) -> Mac {
    let [a, b, c, d] = n.to_be_bytes();
    Mac([2, 0xbb, a, b, c, d])
}

fn interfaces() -> Vec<InterfaceRow> {
    (1..ROWS)
        .map(|n| InterfaceRow {
            index: n,
            name: format!("e{}.{n}", n / 2),
            mac: Some(address(n)),
            aggregate: n.is_multiple_of(3).then_some(n / 3),
            up: true,
            ..InterfaceRow::default()
        })
        .collect()
}

fn neighbours() -> LldpTable {
    LldpTable {
        ports: (1..ROWS)
            .map(|n| LldpPort {
                number: n,
                kind: None,
                id: NeighbourId::Text(format!("x{}", n % 7)),
                descr: String::new(),
            })
            .collect(),
        neighbours: (1..ROWS)
            .map(|n| LldpNeighbour {
                local_port: n,
                chassis: Some(NeighbourId::Mac(address(n % 1_000))),
                port: Some(NeighbourId::Text(format!("Ethernet{n}"))),
                name: format!("s{}", n % 50),
                ..LldpNeighbour::default()
            })
            .collect(),
        cdp: CdpTable {
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
    }
}

fn bridge() -> BridgeTable {
    BridgeTable {
        address: Some(address(0)),
        root_bridge: Some(id(0)),
        ports: (1..ROWS)
            .map(|n| BridgePort {
                number: n,
                if_index: n,
                state: Some(StpState::Disabled),
                designated_bridge: Some(id(n)),
                designated_port: Some(1),
            })
            .collect(),
        ..BridgeTable::default()
    }
}

fn id(n: u32) -> BridgeId {
    BridgeId {
        priority: 0,
        address: address(n),
    }
}

/// A device whose every table is as long as it can be.
fn absurd() -> DeviceView {
    DeviceView {
        seen: Some(Millis(1)),
        interfaces: Some(interfaces()),
        lldp: Some(neighbours()),
        bridge: Some(bridge()),
        fdb: Some(
            (1..ROWS)
                .map(|n| FdbEntry::new(address(n), n % 100))
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
