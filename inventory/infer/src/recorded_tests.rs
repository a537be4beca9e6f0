//! Inference from recordings, without a list of the devices that belong to the network.
mod aggregates;
mod port_ids;

use super::infer_recorded;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::observation::{
    BridgeId, BridgePort, BridgeTable, CdpNeighbour, CdpTable, InterfaceRow, LldpNeighbour,
    LldpPort, LldpTable, NeighbourId, SpanningInstance, SpanningInstanceId, StpState,
    SystemCapabilities, SystemGroup,
};
use inventory::topology::{LinkGrade, LinkState, NodeKind, Topology};
use inventory::{BitsPerSec, Mac, Millis};

fn mac(n: u8) -> NeighbourId {
    NeighbourId::Mac(Mac([2, 0, 0, 0, n, 0]))
}

fn text(text: &str) -> Option<NeighbourId> {
    Some(NeighbourId::Text(text.to_owned()))
}

/// A device with six ports that have two forms of names: `Gi0/1` is `GigabitEthernet0/1`.
fn device(n: u8) -> DeviceView {
    let lldp = LldpTable {
        chassis: Some(mac(n)),
        name: format!("sw{n}"),
        ports: (1..=6)
            .map(|i| LldpPort {
                number: i,
                kind: None,
                id: NeighbourId::Text(format!("Gi0/{i}")),
                descr: String::new(),
            })
            .collect(),
        ..LldpTable::default()
    };
    DeviceView {
        seen: Some(Millis(1)),
        interfaces: Some(
            (1..=6)
                .map(|i| InterfaceRow {
                    index: 100 + i,
                    name: format!("Gi0/{i}"),
                    descr: format!("GigabitEthernet0/{i}"),
                    rate: Some(BitsPerSec::GIGABIT),
                    up: true,
                    ..InterfaceRow::default()
                })
                .collect(),
        ),
        lldp: Some(lldp),
        ..DeviceView::default()
    }
}

fn network(devices: u8) -> DeviceViews {
    (1..=devices)
        .map(|n| (format!("d{n}"), device(n)))
        .collect()
}

fn lldp_of<'v>(views: &'v mut DeviceViews, device: &str) -> &'v mut LldpTable {
    views.get_mut(device).unwrap().lldp.as_mut().unwrap()
}

fn hears(views: &mut DeviceViews, device: &str, port: u32, row: LldpNeighbour) {
    lldp_of(views, device).neighbours.push(LldpNeighbour {
        local_port: port,
        ..row
    });
}

fn hears_by_cdp(views: &mut DeviceViews, device: &str, port: u32, who: &str, there: &str) {
    let row = CdpNeighbour {
        if_index: 100 + port,
        device: text(who),
        port: text(there),
        ..CdpNeighbour::default()
    };
    lldp_of(views, device).cdp.neighbours.push(row);
}

fn named(n: u8, port: u32) -> LldpNeighbour {
    LldpNeighbour {
        chassis: Some(mac(n)),
        port: text(&format!("Gi0/{port}")),
        name: format!("sw{n}"),
        ..LldpNeighbour::default()
    }
}

/// Each link as `a port b port`.
fn links(t: &Topology) -> Vec<String> {
    t.links
        .iter()
        .map(|l| format!("{} {} {} {}", l.a, l.a_port, l.b, l.b_port))
        .collect()
}

fn alarms(t: &Topology) -> String {
    t.alarms.iter().map(|a| format!("{}\n", a)).collect()
}

#[test]
fn cdp_counts_where_lldp_is_silent_and_is_never_certain() {
    let mut views = network(3);
    hears_by_cdp(
        &mut views,
        "d1",
        1,
        "sw2.example.org(FOX1234)",
        "GigabitEthernet0/2",
    );
    hears_by_cdp(&mut views, "d2", 2, "SW1", "Gi0/1");
    hears(&mut views, "d1", 3, named(3, 4));
    hears_by_cdp(&mut views, "d1", 3, "sw2", "GigabitEthernet0/6");
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["d1 Gi0/1 d2 Gi0/2", "d1 Gi0/3 d3 Gi0/4"]);
    assert_eq!(
        [t.links[0].grade, t.links[1].grade],
        [LinkGrade::Inferred, LinkGrade::Certain]
    );
    assert_eq!(
        t.links[0].evidence[0].to_string(),
        "CDP: d1 Gi0/1 names d2 by name sw2.example.org"
    );
}

#[test]
fn a_device_that_says_nothing_of_itself_is_who_its_neighbour_names() {
    let mut views = network(1);
    let cdp = CdpTable {
        device: String::new(),
        neighbours: vec![CdpNeighbour {
            if_index: 24,
            device: text("sw1"),
            port: text("GigabitEthernet0/5"),
            ..CdpNeighbour::default()
        }],
    };
    views.insert(
        "quiet".into(),
        DeviceView {
            seen: Some(Millis(1)),
            lldp: Some(LldpTable {
                cdp,
                ..LldpTable::default()
            }),
            ..DeviceView::default()
        },
    );
    hears(
        &mut views,
        "d1",
        5,
        LldpNeighbour {
            port: text("24"),
            name: "ProCurve Switch".into(),
            ..named(9, 0)
        },
    );
    let t = infer_recorded(&views);
    assert_eq!(
        (links(&t), t.nodes.len()),
        (vec!["d1 Gi0/5 quiet 24".to_owned()], 2)
    );
    assert_eq!(t.links[0].grade, LinkGrade::Certain);
}

#[test]
fn who_speaks_of_itself_is_no_neighbour() {
    let mut views = network(1);
    hears(&mut views, "d1", 1, named(1, 1));
    hears(&mut views, "d1", 0, named(2, 1));
    hears(
        &mut views,
        "d1",
        2,
        LldpNeighbour {
            port: text("7"),
            ..LldpNeighbour::default()
        },
    );
    assert_eq!(infer_recorded(&views).links, []);
}

#[test]
fn strangers_are_distinguished_by_what_distinguishes_them() {
    let mut views = network(2);
    hears(&mut views, "d1", 1, nameless(20));
    hears(
        &mut views,
        "d2",
        1,
        LldpNeighbour {
            port: text("Gi0/2"),
            ..nameless(20)
        },
    );
    hears(&mut views, "d1", 2, nameless(21));
    let t = infer_recorded(&views);
    assert_eq!(
        links(&t),
        [
            "02:00:00:00:14:00 Gi0/1 d1 Gi0/1",
            "02:00:00:00:14:00 Gi0/2 d2 Gi0/1",
            "02:00:00:00:15:00 Gi0/1 d1 Gi0/2"
        ]
    );

    hears(
        &mut views,
        "d2",
        3,
        LldpNeighbour {
            name: "core/1".into(),
            port: text("9"),
            ..named(20, 1)
        },
    );
    let t = infer_recorded(&views);
    assert_eq!(
        t.nodes.iter().filter(|n| n.name == "core/1").count(),
        1,
        "the name comes with one row of three"
    );
    assert_eq!(t.links.iter().filter(|l| l.a == "core/1").count(), 3);
}

fn nameless(n: u8) -> LldpNeighbour {
    LldpNeighbour {
        name: String::new(),
        ..named(n, 1)
    }
}

#[test]
fn a_name_with_many_chassis_is_one_core_or_many_of_one_factory() {
    let mut views = network(1);
    hears(&mut views, "d1", 1, bogus(30, "1"));
    hears(&mut views, "d1", 2, bogus(31, "2"));
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["core 1 d1 Gi0/1", "core 2 d1 Gi0/2"]);
    hears(&mut views, "d1", 3, bogus(32, "2"));
    let t = infer_recorded(&views);
    assert_eq!(
        (t.nodes.len(), t.links.len(), alarms(&t).as_str()),
        (4, 3, ""),
        "one port cannot be two: they only share a name"
    );

    let mut views = network(1);
    hears(&mut views, "d1", 1, card(40));
    hears(&mut views, "d1", 2, card(41));
    let t = infer_recorded(&views);
    assert_eq!(
        t.names(NodeKind::Host).collect::<Vec<_>>(),
        ["02:00:00:00:28:00", "02:00:00:00:29:00"]
    );
}

fn bogus(n: u8, port: &str) -> LldpNeighbour {
    LldpNeighbour {
        name: "core".into(),
        port: text(port),
        ..named(n, 1)
    }
}

fn card(n: u8) -> LldpNeighbour {
    LldpNeighbour {
        name: "10Gb NIC".into(),
        port: Some(mac(n)),
        ..named(n, 1)
    }
}

#[test]
fn everybody_named_is_a_node_of_its_kind() {
    let mut views = network(1);
    for (port, name, bridge, router) in [
        (1, "edge", true, true),
        (2, "gw", false, true),
        (3, "n0", false, false),
    ] {
        hears(
            &mut views,
            "d1",
            port,
            LldpNeighbour {
                name: name.into(),
                capabilities: Some(SystemCapabilities { bridge, router }),
                ..named(50 + port as u8, 1)
            },
        );
    }
    let t = infer_recorded(&views);
    assert_eq!(
        [t.kind("edge"), t.kind("gw"), t.kind("n0")],
        [
            Some(NodeKind::Switch),
            Some(NodeKind::Router),
            Some(NodeKind::Host)
        ]
    );
    assert_eq!(
        (
            t.links.len(),
            t.clusters[0].hosts.as_slice(),
            alarms(&t).as_str()
        ),
        (3, &["n0".to_owned()][..], "")
    );
}

#[test]
fn a_neighbour_on_a_port_that_is_down_is_ambiguous() {
    let mut views = network(2);
    hears(&mut views, "d1", 1, named(2, 3));
    views.get_mut("d1").unwrap().interfaces.as_mut().unwrap()[0].up = false;
    let t = infer_recorded(&views);
    assert_eq!(
        (links(&t), t.links[0].grade),
        (vec!["d1 Gi0/1 d2 Gi0/3".to_owned()], LinkGrade::Ambiguous)
    );
    assert_eq!(
        alarms(&t),
        "d1 port Gi0/1: names a neighbour, but is down; the link is ambiguous, one of the two is \
         old\n"
    );
}

#[test]
fn a_file_name_gives_way_to_what_devices_say() {
    let mut views = network(1);
    views.insert("sw9".into(), device(8));
    views.insert(
        "other".into(),
        DeviceView {
            lldp: Some(LldpTable {
                name: "sw9".into(),
                ..LldpTable::default()
            }),
            ..device(9)
        },
    );
    hears(
        &mut views,
        "d1",
        1,
        LldpNeighbour {
            chassis: None,
            ..named(9, 2)
        },
    );
    assert_eq!(links(&infer_recorded(&views)), ["d1 Gi0/1 other Gi0/2"]);
}

#[test]
fn ports_are_named_by_interfaces_however_neighbours_name_them() {
    for name in ["Gi0/2", "GigabitEthernet0/2", "gigabitethernet0/2", "102"] {
        let mut views = network(2);
        hears(
            &mut views,
            "d1",
            1,
            LldpNeighbour {
                port: text(name),
                ..named(2, 0)
            },
        );
        assert_eq!(
            links(&infer_recorded(&views)),
            ["d1 Gi0/1 d2 Gi0/2"],
            "{name}"
        );
    }
    let mut views = network(2);
    let local = &mut lldp_of(&mut views, "d1").ports;
    (local[0].id, local[0].descr) = (mac(99), "eth0".into());
    local[1].id = NeighbourId::Text("01".into());
    hears(&mut views, "d1", 1, named(2, 1));
    hears(&mut views, "d1", 2, named(2, 2));
    assert_eq!(
        links(&infer_recorded(&views)),
        ["d1 01 d2 Gi0/2", "d1 eth0 d2 Gi0/1"],
        "without an interface, LLDP's own word"
    );
}

#[test]
fn what_a_recorded_device_is_it_says_itself_or_its_neighbours_do() {
    let mut views = network(5);
    let capable = |bridge, router| Some(SystemCapabilities { bridge, router });
    lldp_of(&mut views, "d2").capabilities = capable(false, false);
    hears(
        &mut views,
        "d1",
        3,
        LldpNeighbour {
            capabilities: capable(true, true),
            ..named(3, 1)
        },
    );
    views.get_mut("d4").unwrap().system = Some(SystemGroup {
        services: Some(4),
        ..SystemGroup::default()
    });
    let port = BridgePort {
        number: 1,
        if_index: 101,
        state: None,
        designated_bridge: None,
        designated_port: None,
    };
    let bridge = |view: &mut DeviceView| {
        view.bridge = Some(BridgeTable {
            ports: vec![port.clone()],
            ..BridgeTable::default()
        })
    };
    let t = infer_recorded(&views);
    let kinds = |t: &Topology| ["d1", "d2", "d3", "d4", "d5"].map(|d| t.kind(d).unwrap());
    assert_eq!(
        kinds(&t),
        [
            NodeKind::Switch,
            NodeKind::Host,
            NodeKind::Router,
            NodeKind::Router,
            NodeKind::Switch
        ]
    );
    ["d3", "d4"]
        .iter()
        .for_each(|d| bridge(views.get_mut(*d).unwrap()));
    assert_eq!(
        kinds(&infer_recorded(&views))[2..],
        [NodeKind::Switch, NodeKind::Switch, NodeKind::Switch],
        "what has bridge ports bridges"
    );
}

#[test]
fn a_second_name_for_a_confirmed_neighbour_is_nobody() {
    let mut views = network(2);
    hears(&mut views, "d1", 1, named(2, 2));
    hears(&mut views, "d2", 2, named(1, 1));
    hears(
        &mut views,
        "d2",
        2,
        LldpNeighbour {
            name: "sw1(FOX1234)".into(),
            ..named(77, 1)
        },
    );
    let t = infer_recorded(&views);
    assert_eq!(
        (links(&t), t.nodes.len()),
        (vec!["d1 Gi0/1 d2 Gi0/2".to_owned()], 2)
    );
}

#[test]
fn disabled_does_not_mean_blocked_while_the_port_is_up() {
    let mut views = network(2);
    hears(&mut views, "d1", 1, named(2, 2));
    let port = BridgePort {
        number: 1,
        if_index: 101,
        state: Some(StpState::Disabled),
        designated_bridge: None,
        designated_port: None,
    };
    views.get_mut("d1").unwrap().bridge = Some(BridgeTable {
        ports: vec![port],
        ..BridgeTable::default()
    });
    assert_eq!(
        infer_recorded(&views).links[0].state,
        LinkState::Forwarding,
        "the only way, and no spanning tree to block it"
    );
    let root = Some(BridgeId {
        priority: 0,
        address: Mac([2, 0, 0, 0, 1, 0]),
    });
    views
        .get_mut("d1")
        .unwrap()
        .bridge
        .as_mut()
        .unwrap()
        .root_bridge = root;
    assert_eq!(
        infer_recorded(&views).links[0].state,
        LinkState::Forwarding,
        "a port that is up takes no part in spanning tree, and carries frames all the same"
    );
}

#[test]
fn a_row_stated_twice_counts_once_and_zeros_are_no_port() {
    let mut views = network(1);
    let anonymous = LldpNeighbour {
        chassis: Some(NeighbourId::Mac(Mac([0; 6]))),
        port: Some(NeighbourId::Mac(Mac([0; 6]))),
        name: "ap".into(),
        ..LldpNeighbour::default()
    };
    for port in [1, 1, 2] {
        hears(&mut views, "d1", port, anonymous.clone());
    }
    let t = infer_recorded(&views);
    assert_eq!(
        links(&t),
        [
            "ap 00:00:00:00:00:00 d1 Gi0/1",
            "ap 00:00:00:00:00:00 d1 Gi0/2"
        ]
    );
    assert!(
        t.links.iter().all(|l| l.grade == LinkGrade::Certain),
        "{}",
        alarms(&t)
    );
}

#[test]
fn a_port_that_blocks_in_one_tree_of_several_is_unknown() {
    let mut views = network(2);
    hears(&mut views, "d1", 1, named(2, 2));
    hears(&mut views, "d2", 2, named(1, 1));
    hears(&mut views, "d1", 3, named(2, 4));
    hears(&mut views, "d2", 4, named(1, 3));
    let bridge = |instances| BridgeTable {
        root_bridge: Some(BridgeId {
            priority: 0,
            address: Mac([2, 0, 0, 0, 1, 0]),
        }),
        ports: (1..=4).map(port).collect(),
        instances,
        ..BridgeTable::default()
    };
    views.get_mut("d2").unwrap().bridge = Some(bridge(vec![]));
    for (state, expected) in [
        (StpState::Forwarding, LinkState::Forwarding),
        (StpState::Blocking, LinkState::Unknown),
    ] {
        views.get_mut("d1").unwrap().bridge =
            Some(bridge(vec![tree(1, StpState::Forwarding), tree(20, state)]));
        assert_eq!(infer_recorded(&views).links[0].state, expected);
    }
}

fn port(n: u32) -> BridgePort {
    BridgePort {
        number: n,
        if_index: 100 + n,
        state: Some(StpState::Forwarding),
        designated_bridge: None,
        designated_port: None,
    }
}

fn tree(vlan: u16, state: StpState) -> SpanningInstance {
    SpanningInstance {
        id: SpanningInstanceId::Vlan(vlan),
        root_bridge: None,
        states: [(101, state)].into(),
    }
}
