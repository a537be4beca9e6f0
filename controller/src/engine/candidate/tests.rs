use super::*;
use inventory::host_report::Nic;
use inventory::observation::{BridgePort, BridgeTable};
use inventory::topology::Node;

pub(crate) fn node(name: &str, kind: NodeKind) -> Node {
    Node::new(name, kind)
}

pub(crate) fn link(a: &str, a_port: &str, b: &str, state: LinkState) -> Link {
    Link {
        state,
        ..Link::new(a, a_port, b, "up")
    }
}

/// Two switches, n0 on s0, n1 on s1, and n2 on `switch`.
pub(crate) fn network(switch: &str) -> Topology {
    let nodes = ["s0", "s1"]
        .map(|s| node(s, NodeKind::Switch))
        .into_iter()
        .chain(["n0", "n1", "n2"].map(|h| node(h, NodeKind::Host)))
        .collect();
    let f = LinkState::Forwarding;
    let links = vec![
        link("s0", "p9", "s1", f),
        link("s0", "p0", "n0", f),
        link("s1", "p1", "n1", f),
        link(switch, "p2", "n2", f),
    ];
    Topology {
        nodes,
        links,
        ..Topology::default()
    }
}

/// A candidate with n2 on `switch`.
pub(crate) fn candidate(switch: &str) -> EpochCandidate {
    whole(&inventory(), &DeviceViews::new(), network(switch), None).unwrap()
}

pub(crate) fn inventory() -> Inventory {
    let text = "switches: {s0: {address: 10.0.0.1}, s1: {address: 10.0.0.2}}\nhosts: [n2, n1, \
                n0]\nsnmp: {default: {version: 2c, community: c}}";
    Inventory::parse("i.yaml", text).unwrap()
}

/// Both switches answer; every port has the given state.
pub(crate) fn views(up: bool, state: StpState) -> DeviceViews {
    let ports = ["p0", "p1", "p2", "p9"];
    let view = DeviceView {
        interfaces: Some(
            ports
                .iter()
                .enumerate()
                .map(|(i, name)| InterfaceRow {
                    index: i as u32 + 1,
                    name: (*name).into(),
                    up,
                    ..InterfaceRow::default()
                })
                .collect(),
        ),
        bridge: Some(BridgeTable {
            ports: (1..=4)
                .map(|i| BridgePort {
                    number: i,
                    if_index: i,
                    state: Some(state),
                    designated_bridge: None,
                    designated_port: None,
                })
                .collect(),
            ..BridgeTable::default()
        }),
        ..DeviceView::default()
    };
    ["s0", "s1"].map(|s| (s.to_owned(), view.clone())).into()
}

#[test]
fn order_makes_no_difference_and_the_file_has_the_inventorys_order() {
    let c = candidate("s0");
    assert_eq!(c.file.hosts.keys().collect::<Vec<_>>(), ["n2", "n1", "n0"]);
    let mut turned = network("s0");
    turned.links.reverse();
    turned.nodes.reverse();
    assert_eq!(
        whole(&Inventory::default(), &DeviceViews::new(), turned, None)
            .unwrap()
            .key,
        c.key
    );
    assert_ne!(candidate("s1").key, c.key);
}

#[test]
fn a_switch_without_hosts_that_nothing_connects_is_left_out() {
    let mut t = network("s0");
    t.nodes.push(node("s7", NodeKind::Switch));
    assert_eq!(
        whole(&inventory(), &DeviceViews::new(), t, None)
            .unwrap()
            .key,
        candidate("s0").key
    );
}

#[test]
fn addresses_are_as_stated_else_as_reported_of_the_card_on_the_cable_else_as_published() {
    let mut inventory = inventory();
    inventory.hosts["n0"].address = Some("10.77.0.1".parse().unwrap());
    let mut views = views(true, StpState::Forwarding);
    for (host, address) in [("n0", "10.77.0.9"), ("n1", "10.77.0.2")] {
        let nics = vec![nic("mgmt0", "10.0.0.7"), nic("eth0", address)];
        let report = inventory::host_report::HostReport {
            host: host.into(),
            slots: 1,
            nics,
            ..Default::default()
        };
        views.insert(
            host.into(),
            DeviceView {
                host: Some(report),
                ..DeviceView::default()
            },
        );
    }
    let mut network = network("s0");
    network
        .links
        .iter_mut()
        .filter(|l| l.b.starts_with('n'))
        .for_each(|l| l.b_port = "eth0".into());
    let whole = |views: &DeviceViews, published: Option<&TopologyFile>| {
        whole(&inventory, views, network.clone(), published).unwrap()
    };
    let reported = whole(&views, None);
    assert_eq!(addresses(&reported), ["10.77.0.1", "10.77.0.2", ""]);
    let settled = PublishedNetwork::new(4, reported);
    views.retain(|name, _| name.starts_with('s'));
    let silent = whole(&views, Some(&settled.key));
    assert_eq!(
        silent.key, settled.key,
        "agents that did not report yet are no reason for an epoch"
    );
}

fn nic(name: &str, address: &str) -> Nic {
    Nic {
        name: name.into(),
        addresses: vec![(address.parse().unwrap(), 24)],
        up: true,
        ..Nic::default()
    }
}

fn addresses(c: &EpochCandidate) -> [String; 3] {
    ["n0", "n1", "n2"].map(|h| {
        c.file.hosts[h]
            .address
            .map(|a| a.to_string())
            .unwrap_or_default()
    })
}

#[test]
fn ranks_are_as_stated_else_as_offered_else_as_published() {
    let mut inventory = inventory();
    inventory.hosts["n0"].ranks = Some(2);
    let mut views = views(true, StpState::Forwarding);
    for (host, slots) in [("n0", 8), ("n1", 4), ("n2", 0)] {
        let report = inventory::host_report::HostReport {
            host: host.into(),
            slots,
            ..Default::default()
        };
        views.insert(
            host.into(),
            DeviceView {
                host: Some(report),
                ..DeviceView::default()
            },
        );
    }
    let ranks = |views: &DeviceViews, published: Option<&TopologyFile>| {
        let file = whole(&inventory, views, network("s0"), published)
            .unwrap()
            .file;
        ["n0", "n1", "n2"].map(|h| file.hosts[h].ranks)
    };
    assert_eq!(ranks(&views, None), [2, 4, 1]);
    let settled = PublishedNetwork::new(4, whole(&inventory, &views, network("s0"), None).unwrap());
    views.retain(|name, _| name.starts_with('s'));
    assert_eq!(
        ranks(&views, Some(&settled.key)),
        [2, 4, 1],
        "agents that did not report yet are no reason for an epoch"
    );
}

/// n0 and n1 have a card at s0 and one at m0. Of n0 the inventory states the address at m0.
#[test]
fn without_agents_addresses_are_those_of_arp_tables_in_each_network() {
    let mut topology = network("s0");
    topology.nodes.push(node("m0", NodeKind::Switch));
    let f = LinkState::Forwarding;
    topology.links.push(link("m0", "p0", "n0", f));
    topology.links.push(link("m0", "p1", "n1", f));
    let management = [("n0", "10.2.0.1"), ("n1", "10.2.0.2")];
    topology.networks = vec![
        own_network("s0", &["s0", "s1"], &[("n1", "10.1.0.2")]),
        own_network("m0", &["m0"], &management),
    ];
    let mut inventory = inventory();
    inventory.hosts["n0"].address = Some("10.2.0.1".parse().unwrap());
    assert_eq!(
        addresses_in(&topology, "s0", None, &inventory).0,
        [None, Some("10.1.0.2".to_owned())]
    );
    assert_eq!(
        addresses_in(&topology, "m0", None, &inventory).0,
        management.map(|(_, ip)| Some(ip.to_owned()))
    );

    // A second address of a card, or a row that aged out, changes nothing.
    let (_, published) = addresses_in(&topology, "m0", None, &inventory);
    let mut later = topology.clone();
    let lower = "10.2.0.0".parse().unwrap();
    later.networks[1]
        .addresses
        .entry("n0".into())
        .or_default()
        .insert(0, lower);
    later.networks[1].addresses.remove("n1");
    let (stay, _) = addresses_in(&later, "m0", Some(&published), &inventory);
    assert_eq!(stay, management.map(|(_, ip)| Some(ip.to_owned())));
}

fn own_network(name: &str, switches: &[&str], addresses: &[(&str, &str)]) -> Network {
    Network {
        name: name.to_owned(),
        switches: switches.iter().map(ToString::to_string).collect(),
        hosts: vec!["n0".to_owned(), "n1".to_owned()],
        addresses: addresses
            .iter()
            .map(|(host, address)| ((*host).to_owned(), vec![address.parse().unwrap()]))
            .collect(),
        ..Network::default()
    }
}

fn addresses_in(
    topology: &Topology,
    name: &str,
    published: Option<&TopologyFile>,
    inventory: &Inventory,
) -> ([Option<String>; 2], TopologyFile) {
    let alone = topology.in_network(name).unwrap();
    let found = whole(inventory, &DeviceViews::new(), alone, published).unwrap();
    (
        ["n0", "n1"].map(|host| found.file.hosts[host].address.map(|ip| ip.to_string())),
        TopologyFile::clone(&found.file),
    )
}

#[test]
fn ports_hold_what_the_inventory_states_of_every_switch() {
    let text = "switches: {s0: {queue: 1M}, s1: {queue: 512k}, spare: {}}\nhosts: [n0, n1, n2]\n\
                snmp: {default: {version: 2c, community: c}}";
    assert_eq!(queue(text), Some(inventory::Bytes(512 << 10)));
    assert_eq!(queue(&text.replace("{queue: 1M}", "{}")), None);
}

fn queue(text: &str) -> Option<inventory::Bytes> {
    let inventory = Inventory::parse("i.yaml", text).unwrap();
    let candidate = whole(&inventory, &DeviceViews::new(), network("s0"), None).unwrap();
    candidate.file.queue
}
