//! Hosts with cards in several networks, and switches' own ports.
use super::*;
use inventory::evidence::Evidence;
use inventory::host_report::{HostReport, Nic, ProbedPath};
use inventory::networks::StatedNetwork;
use inventory::observation::{SpanningInstance, SpanningInstanceId};

const OPEN: StpState = StpState::Forwarding;

/// A management switch and two data switches, with a host on each of these, and a card of both on the
/// first.
fn two_networks() -> InferenceFixture {
    let mut fixture = InferenceFixture::new(&["m1", "d1", "d2"], "{n0: {}, n1: {}}");
    for (switch, root) in [("m1", "m1"), ("d1", "d1"), ("d2", "d1")] {
        let bridge = fixture.view(switch).bridge.as_mut().unwrap();
        bridge.root_bridge.as_mut().unwrap().address = mac(root, 0);
    }
    fixture.cable(("d1", 1, OPEN), ("d2", 1, OPEN));
    for (host, switch, port) in [("n0", "d1", 2), ("n1", "d2", 2)] {
        fixture.host(host, switch, port);
        fixture.rated(switch, port, 25);
    }
    for (host, port) in [("n0", 2), ("n1", 3)] {
        fixture.port("m1", port, OPEN);
        let row = LldpNeighbour {
            port: Some(NeighbourId::Text("mgmt0".into())),
            ..host_row(host)
        };
        fixture.hears("m1", port, row);
    }
    fixture
}

impl InferenceFixture {
    fn rated(&mut self, switch: &str, port: u8, gigabits: u64) {
        let index = 10 + u32::from(port);
        let interfaces = self.view(switch).interfaces.as_mut().unwrap();
        let row = interfaces.iter_mut().find(|row| row.index == index);
        row.unwrap().rate = Some(BitsPerSec::mega(1000 * gigabits));
    }

    /// The port by which a switch is managed, on port 5, is cabled to a port of `m1`. It is no bridge port.
    fn managed_by(&mut self, switch: &str, port: u8) {
        self.cable((switch, 5, OPEN), ("m1", port, OPEN));
        let bridge = self.view(switch).bridge.as_mut().unwrap();
        bridge.ports.retain(|row| row.if_index != 15);
        self.learns("m1", port, mac(switch, 5));
    }
}

fn networks(topology: &Topology) -> Vec<(String, usize, usize)> {
    let networks = topology.networks.iter();
    networks
        .map(|n| (n.name.clone(), n.switches.len(), n.hosts.len()))
        .collect()
}

#[test]
fn a_host_has_a_place_in_each_network() {
    let fixture = two_networks();
    let topology = infer(&fixture.inventory, &fixture.views);
    assert_eq!(topology.alarms, []);
    assert_eq!(
        networks(&topology),
        [("d1".into(), 2, 2), ("m1".into(), 1, 2)]
    );
    let of = |name| topology.in_network(name).unwrap();
    let main = topology.clone().main_network();
    assert_eq!(main.tree().unwrap().hosts(), 2);
    assert_eq!(main.attachments()["n0"], ("d1", "eth0"));
    assert_eq!(of("m1").attachments()["n0"], ("m1", "mgmt0"));
    assert_eq!(of("m1").names(NodeKind::Switch).collect::<Vec<_>>(), ["m1"]);
    assert_eq!(
        topology.in_network("x").unwrap_err().to_string(),
        "there is no network \"x\"; there are d1, m1"
    );
}

/// The switches of two networks hear the host. n9, without LLDP, makes the databases count.
#[test]
fn a_host_that_is_seen_in_another_network_too_is_no_other_station() {
    let mut fixture = two_networks();
    fixture.inventory.hosts.insert(
        "n9".to_owned(),
        inventory::inventory_file::InventoryHost {
            mac: Some(host_mac("n9")),
            ..Default::default()
        },
    );
    fixture.port("d1", 9, OPEN);
    fixture.learns("d1", 9, host_mac("n9"));
    for (host, switch) in [("n0", "d1"), ("n1", "d2")] {
        fixture.learns(switch, 2, host_mac(host));
    }
    let topology = infer(&fixture.inventory, &fixture.views);
    assert_eq!(topology.alarms, []);
    assert_eq!(
        networks(&topology),
        [("d1".into(), 2, 3), ("m1".into(), 1, 2)]
    );
}

/// A mute switch whose own port is on the management network is on no trunk of it.
#[test]
fn databases_are_not_read_across_own_ports() {
    let mut fixture = two_networks();
    for (switch, port) in [("d1", 6), ("d2", 7)] {
        fixture.managed_by(switch, port);
    }
    assert_eq!(
        networks(&infer(&fixture.inventory, &fixture.views)).len(),
        2
    );
    // Stations of the data network, on the trunk of d2 and on a port of d1.
    for n in 2..12 {
        let station = host_mac(&format!("n{n}"));
        fixture.learns("d2", 1, station);
        fixture.learns("d1", 2, station);
    }
    fixture.learns("d2", 1, mac("d1", 1));
    // d2 speaks no LLDP any more.
    for (switch, other) in [("d1", 1), ("m1", 7)] {
        let lldp = fixture.view(switch).lldp.as_mut().unwrap();
        lldp.neighbours.retain(|row| row.local_port != 30 + other);
    }
    fixture.view("d2").lldp = None;
    let topology = infer(&fixture.inventory, &fixture.views);
    let wrong = |l: &&Link| {
        [&l.a, &l.b].contains(&&"m1".to_owned()) && [&l.a, &l.b].contains(&&"d2".to_owned())
    };
    let wrong: Vec<&Link> = topology.links.iter().filter(wrong).collect();
    assert!(
        wrong.iter().all(|link| link.state == LinkState::Blocked),
        "{wrong:?}"
    );
}

#[test]
fn a_switchs_own_port_is_in_no_tree() {
    let mut fixture = two_networks();
    for (switch, port) in [("d1", 6), ("d2", 7)] {
        fixture.managed_by(switch, port);
    }
    let topology = infer(&fixture.inventory, &fixture.views);
    assert_eq!(topology.alarms, []);
    assert_eq!(networks(&topology).len(), 2);
    let own = |link: &&Link| {
        link.evidence
            .iter()
            .any(|e| matches!(e, Evidence::OwnPort(_)))
    };
    let own: Vec<&Link> = topology.links.iter().filter(own).collect();
    assert!(
        own.iter().all(|link| link.state == LinkState::Blocked),
        "{own:?}"
    );
    assert_eq!(own.len(), 2);
    assert_eq!(topology.main_network().tree().unwrap().hosts(), 2);
}

/// What comes through a port from other stations was forwarded to it.
#[test]
fn a_port_through_which_others_come_forwards() {
    let mut fixture = two_networks();
    fixture.managed_by("d1", 6);
    fixture.learns("m1", 6, mac("d2", 1));
    let topology = infer(&fixture.inventory, &fixture.views);
    assert_eq!(networks(&topology), []);
}

#[test]
fn one_card_that_is_seen_at_two_switches_is_in_one_network() {
    let mut fixture = two_networks();
    let rows = &mut fixture.view("m1").lldp.as_mut().unwrap().neighbours;
    rows.iter_mut()
        .for_each(|row| row.port = Some(NeighbourId::Text("eth0".into())));
    let topology = infer(&fixture.inventory, &fixture.views);
    assert_eq!(networks(&topology), []);
    assert_eq!(
        topology
            .links
            .iter()
            .filter(|link| link.grade == LinkGrade::Ambiguous)
            .count(),
        4
    );
}

#[test]
fn a_switch_whose_place_is_unknown_may_join_them() {
    let mut fixture = two_networks();
    let text = "switches: {m1: {address: 10.0.0.1}, d1: {address: 10.0.0.2}, d2: {address: 10.0.0.3}, s9: {address: \
                10.0.0.4}}\nsnmp: {default: {version: 2c, community: c}}\nhosts: {n0: {}, n1: {}}";
    fixture.inventory = Inventory::parse("i.yaml", text).unwrap();
    let topology = infer(&fixture.inventory, &fixture.views);
    assert_eq!(networks(&topology), []);
}

#[test]
fn an_operator_names_networks_by_their_addresses() {
    let mut fixture = two_networks();
    let prefixes = [
        ("data", "10.1.0.0/16"),
        ("management", "10.2.0.0/16"),
        ("storage", "10.3.0.0/16"),
    ];
    for (name, prefix) in prefixes {
        let prefix = prefix.parse().unwrap();
        fixture
            .inventory
            .networks
            .insert(name.to_owned(), StatedNetwork { prefix });
    }
    fixture.learns("d1", 2, mac("n0", 0));
    fixture.learns("m1", 2, mac("n0", 1));
    fixture.learns("m1", 3, mac("n1", 1));
    // One row is wrong.
    let rows = [("10.1.0.1", mac("n0", 0)), ("10.1.0.9", mac("n1", 1))];
    let more = [("10.2.0.1", mac("n0", 1)), ("10.2.0.2", mac("n1", 1))];
    let rows = rows.into_iter().chain(more);
    fixture.view("m1").arp = Some(
        rows.map(|(ip, mac)| ArpEntry::new(ip.parse().unwrap(), mac))
            .collect(),
    );
    let topology = infer(&fixture.inventory, &fixture.views);
    let names: Vec<&str> = topology.networks.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["data", "management"]);
    assert_eq!(
        topology.networks[1].prefix,
        Some("10.2.0.0/16".parse().unwrap())
    );
    let alarms: Vec<String> = topology.alarms.iter().map(ToString::to_string).collect();
    let unseen = "network \"storage\": no address of 10.3.0.0/16 is seen in any network, so none has this \
                  name; correct the prefix in the inventory, or run heddle agent on its hosts";
    assert_eq!(alarms, [unseen]);
}

/// Without agents. n0's card of the management network shares its port with a board controller.
#[test]
fn addresses_of_hosts_come_from_arp_tables_by_the_station_at_the_port() {
    let mut fixture = two_networks();
    fixture.learns("d1", 2, host_mac("n0"));
    fixture.learns("d2", 2, host_mac("n1"));
    fixture.learns("m1", 2, mac("n0", 1));
    fixture.learns("m1", 3, mac("n1", 1));
    let row = |text: &str, mac: Mac| ArpEntry::new(text.parse().unwrap(), mac);
    let rows = [
        row("10.1.0.1", host_mac("n0")),
        row("169.254.0.1", mac("n1", 1)),
        row("10.2.0.1", mac("n0", 1)),
        row("10.2.0.2", mac("n1", 1)),
        row("fd00::2", mac("n1", 1)),
    ];
    fixture.view("m1").arp = Some(rows.to_vec());
    let addresses = |fixture: &InferenceFixture| {
        let networks = fixture.infer().networks.into_iter();
        networks
            .map(|network| {
                network
                    .addresses
                    .into_values()
                    .map(|all| all[0].to_string())
            })
            .map(|addresses| addresses.collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(addresses(&fixture), ["10.1.0.1", "10.2.0.1 10.2.0.2"]);
    let prefix = "10.2.0.2/32".parse().unwrap();
    let stated = StatedNetwork { prefix };
    let networks = &mut fixture.inventory.networks;
    networks.insert("management".to_owned(), stated);
    assert_eq!(addresses(&fixture), ["10.1.0.1", "10.2.0.2"]);
    fixture.inventory.networks.clear();
    fixture.learns("m1", 2, mac("board", 1));
    assert_eq!(addresses(&fixture), ["10.1.0.1", "10.2.0.2"]);
}

#[test]
fn an_address_of_two_hosts_is_neithers() {
    let mut fixture = two_networks();
    fixture.learns("m1", 2, mac("n0", 1));
    fixture.learns("m1", 3, mac("n1", 1));
    let both =
        [mac("n0", 1), mac("n1", 1)].map(|mac| ArpEntry::new("10.2.0.1".parse().unwrap(), mac));
    fixture.view("m1").arp = Some(both.to_vec());
    let topology = fixture.infer();
    assert!(topology.networks[1].addresses.is_empty());
    let alarms: Vec<String> = topology.alarms.iter().map(ToString::to_string).collect();
    let shared = "network \"m1\": address 10.2.0.1 is that of several hosts (n0, n1), so no job is recognised by \
                  it; give each card its own";
    assert_eq!(alarms, [shared]);
}

/// n1 has a bridge between its cards, and says so nowhere.
#[test]
fn a_host_that_bridges_two_networks_is_reported() {
    let mut fixture = two_networks();
    fixture.learns("d1", 2, host_mac("n0"));
    fixture.learns("d2", 2, host_mac("n1"));
    fixture.learns("m1", 2, mac("n0", 1));
    fixture.learns("m1", 3, mac("n1", 1));
    assert_eq!(fixture.infer().alarms, []);
    // n0's card of the data network speaks to the management network.
    fixture.learns("m1", 3, host_mac("n0"));
    let topology = fixture.infer();
    assert_eq!(networks(&topology).len(), 2);
    let alarms: Vec<String> = topology.alarms.iter().map(ToString::to_string).collect();
    let alarm = "host \"n1\": stations of one of networks d1 and m1 are learned behind its card in the other, \
                so it bridges them; no tree has this way: look for a bridge between its cards";
    assert!(alarms.contains(&alarm.to_owned()), "{alarms:?}");
    assert_eq!(topology.main_network().tree().unwrap().hosts(), 2);
}

/// n1 routes from the management network, where n7 is, to n0's card of the data network.
#[test]
fn a_host_that_routes_between_two_networks_is_reported_and_parts_no_network() {
    let mut fixture = two_networks();
    let n7 = inventory::inventory_file::InventoryHost::default();
    fixture.inventory.hosts.insert("n7".to_owned(), n7);
    fixture.host("n7", "m1", 4);
    let through = ProbedPath {
        to: "n0".into(),
        address: "10.1.0.1".parse().unwrap(),
        hops: vec![Some("10.2.0.2".parse().unwrap())],
        reached: true,
        round_trip: None,
    };
    let both = |n: u8| {
        vec![
            nic("eth0", &format!("10.1.0.{n}")),
            nic("mgmt0", &format!("10.2.0.{n}")),
        ]
    };
    for (host, nics, paths) in [
        ("n0", both(1), vec![]),
        ("n1", both(2), vec![]),
        ("n7", vec![nic("eth0", "10.2.0.9")], vec![through]),
    ] {
        let view = fixture.views.entry(host.to_owned()).or_default();
        view.host = Some(report(host, nics, paths));
    }
    let topology = fixture.infer();
    let management = topology.in_network("m1").unwrap();
    assert_eq!(management.clusters.len(), 1, "{:?}", management.clusters);
    let alarms: Vec<String> = topology.alarms.iter().map(ToString::to_string).collect();
    let alarm = "host \"n1\": packets from \"n7\" to \"n0\" pass it (10.2.0.2), so it routes between \
                networks; no tree has this way, and the probe joins and parts nothing: jobs across it go the \
                library's way";
    assert_eq!(alarms, [alarm]);
}

fn nic(name: &str, address: &str) -> Nic {
    Nic {
        name: name.into(),
        addresses: vec![(address.parse().unwrap(), 16)],
        up: true,
        ..Nic::default()
    }
}

fn report(host: &str, nics: Vec<Nic>, paths: Vec<ProbedPath>) -> HostReport {
    HostReport {
        host: host.into(),
        slots: 1,
        nics,
        paths,
        ..HostReport::default()
    }
}

/// d1 and d2 carry VLAN 10 for data and VLAN 20 for storage, and each host has a card on a port of each. Of
/// two cables between them one is blocked in VLAN 10, and the other in VLAN 20.
fn two_vlans() -> InferenceFixture {
    let mut fixture = InferenceFixture::new(&["d1", "d2"], "{n0: {}, n1: {}}");
    fixture.cable(("d1", 1, OPEN), ("d2", 1, OPEN));
    fixture.cable(("d1", 8, OPEN), ("d2", 8, OPEN));
    for (host, switch) in [("n0", "d1"), ("n1", "d2")] {
        fixture.host(host, switch, 2);
        fixture.rated(switch, 2, 25);
        fixture.port(switch, 3, OPEN);
        let row = LldpNeighbour {
            port: Some(NeighbourId::Text("eth1".into())),
            port_descr: "eth1".into(),
            ..host_row(host)
        };
        fixture.hears(switch, 3, row);
        let bridge = fixture.view(switch).bridge.as_mut().unwrap();
        bridge.root_bridge.as_mut().unwrap().address = mac("d1", 0);
        bridge.vlans = [(11, 1), (12, 10), (13, 20), (18, 1)].into();
        for (vlan, blocked) in [(10, 18), (20, 11)] {
            let state = |port| match port == blocked && switch == "d2" {
                true => StpState::Blocking,
                false => OPEN,
            };
            bridge.instances.push(SpanningInstance {
                id: SpanningInstanceId::Vlan(vlan),
                root_bridge: None,
                states: [11, 12, 13, 18].map(|port| (port, state(port))).into(),
            });
        }
    }
    fixture
}

#[test]
fn vlans_on_the_same_cables_are_networks_with_states_of_their_own() {
    let fixture = two_vlans();
    let topology = fixture.infer();
    assert_eq!(
        networks(&topology),
        [("d1-vlan10".into(), 2, 2), ("d1-vlan20".into(), 2, 2)]
    );
    for (name, card, cable) in [("d1-vlan10", "eth0", "swp1"), ("d1-vlan20", "eth1", "swp8")] {
        let one = topology.in_network(name).unwrap();
        assert_eq!(one.own_network().unwrap().name, name);
        assert_eq!(one.tree().unwrap().hosts(), 2);
        assert_eq!(one.attachments()["n0"].1, card);
        let mut trunks = one.links.iter().filter(|link| link.b == "d2");
        let open = trunks
            .find(|link| link.state == LinkState::Forwarding)
            .unwrap();
        assert_eq!(open.a_port, cable);
    }
    let alarms: Vec<String> = topology.alarms.iter().map(ToString::to_string).collect();
    assert_eq!(alarms, [shares("10", "20"), shares("20", "10")]);
    assert_eq!(topology.main_network().own_network().unwrap().vlans, [10]);
}

fn shares(a: &str, b: &str) -> String {
    format!(
        "network \"d1-vlan{a}\": shares switches and cables with d1-vlan{b}; what all carry \
             adds up there, and the schedules of each are planned as if it were alone"
    )
}

#[test]
fn cards_on_ports_of_which_a_switch_tells_no_vlan_are_of_one_network() {
    let mut fixture = two_vlans();
    fixture.view("d2").bridge.as_mut().unwrap().vlans.clear();
    assert_eq!(networks(&fixture.infer()), []);
}

/// The agent of each host reports a tagged VLAN over the card that the switch learned.
#[test]
fn networks_whose_addresses_are_on_the_same_cards_are_named_by_an_operator() {
    let mut fixture = InferenceFixture::new(&["s0"], "{n0: {}, n1: {}, n2: {}}");
    for (number, host) in (1..).zip(["n0", "n1", "n2"]) {
        fixture.host(host, "s0", number);
        fixture.learns("s0", number, host_mac(host));
        let mut nics = vec![card("eth0", &format!("10.1.0.{number}"), host)];
        if host != "n2" {
            nics.push(card("eth0.20", &format!("10.2.0.{number}"), host));
        }
        let report = HostReport {
            host: host.to_owned(),
            nics,
            ..HostReport::default()
        };
        fixture.views.entry(host.to_owned()).or_default().host = Some(report);
    }
    assert_eq!(infer(&fixture.inventory, &fixture.views).networks, []);
    for (name, prefix) in [("data", "10.1.0.0/16"), ("storage", "10.2.0.0/16")] {
        let prefix = prefix.parse().unwrap();
        let stated = &mut fixture.inventory.networks;
        stated.insert(name.to_owned(), StatedNetwork { prefix });
    }
    let topology = infer(&fixture.inventory, &fixture.views);
    assert_eq!(
        networks(&topology),
        [("data".into(), 1, 3), ("storage".into(), 1, 2)]
    );
    let of = |name| topology.in_network(name).unwrap();
    assert_eq!(of("data").tree().unwrap().hosts(), 3);
    assert_eq!(of("storage").tree().unwrap().hosts(), 2);
    let address = |n: usize| topology.networks[n].addresses_of("n1")[0].to_string();
    assert_eq!([address(0), address(1)], ["10.1.0.2", "10.2.0.2"]);
    let codes: Vec<_> = topology
        .alarms
        .iter()
        .map(|alarm| alarm.to_string())
        .collect();
    assert!(
        codes
            .iter()
            .all(|alarm| alarm.contains("shares switches and cables with")),
        "{codes:?}"
    );
    assert_eq!(codes.len(), 2);
}

fn card(name: &str, address: &str, host: &str) -> Nic {
    Nic {
        name: name.to_owned(),
        mac: Some(host_mac(host)),
        addresses: vec![(address.parse().unwrap(), 16)],
        up: true,
        ..Nic::default()
    }
}
