//! Inference on hand-made views.
mod announced_and_measured;
mod announced_switches;
mod blocked_members;
mod carried;
mod cloned_identities;
mod contradicted;
mod crossed;
mod doubts;
mod hostile;
mod hosts;
mod impostors;
mod measured;
mod measured_attachments;
mod neighbours;
mod networks;
mod next_routers;
mod parted;
mod places;
mod routers;
mod shared_networks;
mod silent_links;
mod stated;
mod ways;

use super::infer;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::host_report::HostReport;
use inventory::inventory_file::Inventory;
use inventory::observation::{
    ArpEntry, BridgeId, BridgePort, BridgeTable, FdbEntry, InterfaceRow, LldpNeighbour, LldpPort,
    LldpTable, NeighbourId, StpState, SystemCapabilities, SystemGroup,
};
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind, Topology};
use inventory::{BitsPerSec, Mac, Millis};

/// A network of views under construction. Numbers differ on purpose: port n of a switch has ifIndex
/// 10 + n, bridge port 20 + n and LLDP local port 30 + n.
struct InferenceFixture {
    inventory: Inventory,
    views: DeviceViews,
}

fn mac(switch: &str, port: u8) -> Mac {
    let n = switch
        .bytes()
        .fold(7u8, |h, b| h.wrapping_mul(31).wrapping_add(b));
    Mac([2, b's', 0, n, switch.len() as u8, port])
}

fn host_mac(host: &str) -> Mac {
    let n: u8 = host[1..].parse().unwrap();
    Mac([2, b'h', 0, 0, 0, n])
}

impl InferenceFixture {
    fn new(switches: &[&str], hosts: &str) -> InferenceFixture {
        let stated: String = switches
            .iter()
            .enumerate()
            .map(|(i, s)| format!("{s}: {{address: 10.0.0.{}}}, ", i + 1))
            .collect();
        let text = format!(
            "switches: {{{stated}}}\nsnmp: {{default: {{version: 2c, community: c}}}}\nhosts: \
             {hosts}"
        );
        let views = switches
            .iter()
            .map(|s| ((*s).to_owned(), switch(s)))
            .collect();
        InferenceFixture {
            inventory: Inventory::parse("i.yaml", &text).unwrap(),
            views,
        }
    }

    fn tells(&mut self, report: HostReport) {
        let view = DeviceView {
            seen: Some(Millis(1)),
            host: Some(report.clone()),
            ..DeviceView::default()
        };
        self.views.insert(report.host, view);
    }

    fn view(&mut self, switch: &str) -> &mut DeviceView {
        self.views.get_mut(switch).unwrap()
    }

    fn port(&mut self, switch: &str, port: u8, state: StpState) {
        let view = self.view(switch);
        let (index, name) = (10 + u32::from(port), format!("swp{port}"));
        let bridge = view.bridge.as_mut().unwrap();
        if let Some(known) = bridge.ports.iter_mut().find(|p| p.if_index == index) {
            known.state = Some(state);
            return;
        }
        bridge.ports.push(BridgePort {
            number: 20 + u32::from(port),
            if_index: index,
            state: Some(state),
            designated_bridge: None,
            designated_port: None,
        });
        let rate = Some(BitsPerSec::GIGABIT);
        view.interfaces.as_mut().unwrap().push(InterfaceRow {
            index,
            name: name.clone(),
            mac: Some(mac(switch, port)),
            rate,
            up: true,
            ..InterfaceRow::default()
        });
        view.lldp.as_mut().unwrap().ports.push(LldpPort {
            number: 30 + u32::from(port),
            kind: None,
            id: NeighbourId::Text(name),
            descr: String::new(),
        });
    }

    fn hears(&mut self, switch: &str, port: u8, row: LldpNeighbour) {
        let row = LldpNeighbour {
            local_port: 30 + u32::from(port),
            ..row
        };
        self.view(switch)
            .lldp
            .as_mut()
            .unwrap()
            .neighbours
            .push(row);
    }

    /// Adds a cable with the statements of both ends.
    fn cable(&mut self, (a, pa, sa): (&str, u8, StpState), (b, pb, sb): (&str, u8, StpState)) {
        self.port(a, pa, sa);
        self.port(b, pb, sb);
        self.hears(a, pa, named(b, pb));
        self.hears(b, pb, named(a, pa));
    }

    fn host(&mut self, host: &str, switch: &str, port: u8) {
        self.port(switch, port, StpState::Forwarding);
        self.hears(switch, port, host_row(host));
    }

    fn learns(&mut self, switch: &str, port: u8, mac: Mac) {
        self.view(switch)
            .fdb
            .get_or_insert_default()
            .push(FdbEntry::new(mac, 20 + u32::from(port)));
    }

    fn infer(&self) -> Topology {
        infer(&self.inventory, &self.views)
    }
}

fn switch(name: &str) -> DeviceView {
    let bridge = BridgeTable {
        address: Some(mac(name, 0)),
        root_bridge: Some(BridgeId {
            priority: 4096,
            address: mac("s0", 0),
        }),
        priority: 4096,
        ..BridgeTable::default()
    };
    let lldp = LldpTable {
        chassis: Some(NeighbourId::Mac(mac(name, 0))),
        name: name.to_owned(),
        ..LldpTable::default()
    };
    DeviceView {
        seen: Some(Millis(1)),
        system: Some(SystemGroup {
            name: name.to_owned(),
            ..SystemGroup::default()
        }),
        interfaces: Some(vec![]),
        lldp: Some(lldp),
        bridge: Some(bridge),
        ..DeviceView::default()
    }
}

fn named(switch: &str, port: u8) -> LldpNeighbour {
    let port = Some(NeighbourId::Text(format!("swp{port}")));
    LldpNeighbour {
        chassis: Some(NeighbourId::Mac(mac(switch, 0))),
        port,
        name: switch.to_owned(),
        ..LldpNeighbour::default()
    }
}

fn host_row(host: &str) -> LldpNeighbour {
    let id = Some(NeighbourId::Mac(host_mac(host)));
    LldpNeighbour {
        chassis: id.clone(),
        port: id,
        port_descr: "eth0".into(),
        name: host.to_owned(),
        ..LldpNeighbour::default()
    }
}

const F: StpState = StpState::Forwarding;
const B: StpState = StpState::Blocking;

/// Four switches in a ring with a host on each; s2-s3 is blocked at s3.
fn ring() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "s1", "s2", "s3"], "[n0, n1, n2, n3]");
    net.cable(("s0", 1, F), ("s1", 1, F));
    net.cable(("s1", 2, F), ("s2", 1, F));
    net.cable(("s3", 1, B), ("s2", 2, F));
    net.cable(("s3", 2, F), ("s0", 2, F));
    for n in 0..4 {
        net.host(&format!("n{n}"), &format!("s{n}"), 5);
    }
    net
}

fn link<'t>(t: &'t Topology, a: &str, b: &str) -> &'t Link {
    let mut all = t.links.iter().filter(|l| l.a == a && l.b == b);
    let one = all
        .next()
        .unwrap_or_else(|| panic!("no link {a}-{b} in {:#?}", t.links));
    assert!(all.next().is_none(), "two links {a}-{b}");
    one
}

fn alarms(t: &Topology) -> String {
    t.alarms.iter().map(|a| format!("{}\n", a)).collect()
}

#[test]
fn a_ring_with_one_blocked_port_is_a_tree() {
    let t = ring().infer();
    let seen: Vec<String> = t
        .links
        .iter()
        .map(|l| format!("{} {} {} {} {:?}", l.a, l.a_port, l.b, l.b_port, l.state))
        .collect();
    assert_eq!(
        seen,
        [
            "s0 swp1 s1 swp1 Forwarding",
            "s0 swp2 s3 swp2 Forwarding",
            "s0 swp5 n0 eth0 Forwarding",
            "s1 swp2 s2 swp1 Forwarding",
            "s1 swp5 n1 eth0 Forwarding",
            "s2 swp2 s3 swp1 Blocked",
            "s2 swp5 n2 eth0 Forwarding",
            "s3 swp5 n3 eth0 Forwarding",
        ]
    );
    assert!(
        t.links
            .iter()
            .all(|l| l.grade == LinkGrade::Certain && l.evidence.len() >= 2),
        "{:#?}",
        t.links
    );
    assert_eq!(
        (alarms(&t).as_str(), t.root_bridge.as_deref()),
        ("", Some("s0"))
    );
    assert_eq!(
        (
            t.clusters.len(),
            t.clusters[0].name.as_str(),
            t.clusters[0].hosts.len()
        ),
        (1, "cluster-s0", 4)
    );
    let tree = t.tree().unwrap();
    assert_eq!((tree.hosts(), tree.nodes()), (4, 8));
    let file = t.to_file();
    assert_eq!(file.tree().unwrap().hosts(), 4);
    assert_eq!(
        inventory::TopologyFile::parse("t.yaml", &file.to_yaml()).unwrap(),
        file
    );
    let json = serde_json::to_string(&t).unwrap();
    assert_eq!(
        serde_json::to_string(&serde_json::from_str::<Topology>(&json).unwrap()).unwrap(),
        json
    );
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let (a, mut b) = (ring(), ring());
    for view in b.views.values_mut() {
        view.lldp.as_mut().unwrap().neighbours.reverse();
        view.interfaces.as_mut().unwrap().reverse();
        view.bridge.as_mut().unwrap().ports.reverse();
    }
    assert_eq!(a.infer(), b.infer());
}

#[test]
fn between_stp_states_nothing_is_known() {
    for state in [StpState::Listening, StpState::Learning] {
        let mut net = ring();
        net.port("s2", 1, state);
        let t = net.infer();
        assert_eq!(link(&t, "s1", "s2").state, LinkState::Unknown);
        assert!(t.tree().unwrap_err().to_string().contains("two parts"));
        assert_eq!(t.clusters.len(), 1, "a transition splits no cluster");
    }
}

#[test]
fn the_slower_end_sets_the_rate() {
    let mut net = ring();
    net.view("s1").interfaces.as_mut().unwrap()[0].rate = Some(BitsPerSec::mega(100));
    assert_eq!(
        link(&net.infer(), "s0", "s1").rate_bps,
        BitsPerSec::mega(100)
    );
    for s in ["s0", "s1"] {
        net.view(s).interfaces.as_mut().unwrap()[0].rate = None;
    }
    let t = net.infer();
    assert_eq!(link(&t, "s0", "s1").rate_bps, BitsPerSec::GIGABIT);
    assert!(
        link(&t, "s0", "s1")
            .evidence
            .iter()
            .any(|e| e.to_string().contains("1G assumed"))
    );
}

#[test]
fn parallel_cables_stay_apart() {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1]");
    net.cable(("s0", 1, F), ("s1", 2, F));
    net.cable(("s0", 2, F), ("s1", 1, B));
    net.host("n0", "s0", 5);
    net.host("n1", "s1", 5);
    let t = net.infer();
    let trunks: Vec<_> = t
        .links
        .iter()
        .filter(|l| l.b == "s1")
        .map(|l| (l.a_port.as_str(), l.b_port.as_str(), l.state))
        .collect();
    assert_eq!(
        trunks,
        [
            ("swp1", "swp2", LinkState::Forwarding),
            ("swp2", "swp1", LinkState::Blocked)
        ]
    );
    assert_eq!(t.tree().unwrap().nodes(), 4);
}

#[test]
fn a_loop_among_forwarding_links_is_an_alarm_and_no_tree() {
    let mut net = ring();
    net.port("s3", 1, F);
    let t = net.infer();
    assert!(
        alarms(&t).contains("closes a loop among forwarding links"),
        "{}",
        alarms(&t)
    );
    assert!(t.tree().unwrap_err().to_string().contains("loop"));
}

#[test]
fn a_stale_switch_keeps_its_links() {
    let mut net = ring();
    let before = net.infer();
    net.view("s2").stale = Some((
        Millis(9),
        "no answer from 10.0.0.3:161 after 3 tries of 500 ms".into(),
    ));
    let t = net.infer();
    assert_eq!(t.links.len(), before.links.len());
    assert!(t.nodes.iter().find(|n| n.name == "s2").unwrap().stale);
    assert!(
        alarms(&t).contains("switch \"s2\" is stale: no answer from 10.0.0.3:161"),
        "{}",
        alarms(&t)
    );
    assert_eq!(t.tree().unwrap(), before.tree().unwrap());
}

#[test]
fn a_switch_that_never_answered_is_named() {
    let mut net = ring();
    net.views.remove("s3");
    let t = net.infer();
    assert!(
        alarms(&t).contains("switch \"s3\" never answered: 10.0.0.4:161"),
        "{}",
        alarms(&t)
    );
    assert_eq!(
        link(&t, "s0", "s3").state,
        LinkState::Unknown,
        "half the word on a ring"
    );
    assert!(alarms(&t).contains("host \"n3\": seen nowhere"));
}

#[test]
fn a_switch_outside_the_inventory_is_kept_with_an_alarm() {
    let mut net = ring();
    net.port("s1", 7, F);
    net.hears(
        "s1",
        7,
        LldpNeighbour {
            capabilities: Some(SystemCapabilities {
                bridge: true,
                router: false,
            }),
            ..named("core 1", 48)
        },
    );
    net.port("s1", 8, F);
    net.hears(
        "s1",
        8,
        LldpNeighbour {
            capabilities: Some(SystemCapabilities::default()),
            ..host_row("n77")
        },
    );
    let t = net.infer();
    assert_eq!(t.kind("core-1"), Some(NodeKind::Switch));
    assert_eq!(link(&t, "core-1", "s1").a_port, "swp48");
    assert!(
        alarms(&t).contains("switch \"core-1\" on s1 port swp7: not in the inventory"),
        "{}",
        alarms(&t)
    );
    assert!(
        alarms(&t).contains("station \"n77\" on s1 port swp8: not among the inventory's hosts"),
        "{}",
        alarms(&t)
    );
    assert_eq!((t.kind("n77"), t.tree().unwrap().hosts()), (None, 4));
}

#[test]
fn switches_of_one_factory_name_are_distinguished() {
    let mut net = ring();
    for view in net.views.values_mut() {
        view.system.as_mut().unwrap().name = "switch".into();
        view.lldp.as_mut().unwrap().name = "switch".into();
        for row in view
            .lldp
            .as_mut()
            .unwrap()
            .neighbours
            .iter_mut()
            .filter(|r| r.name.starts_with('s'))
        {
            row.name = "switch".into();
        }
    }
    let t = net.infer();
    assert_eq!((t.links.len(), alarms(&t).as_str()), (8, ""));
}

#[test]
fn without_stp_the_only_way_carries() {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1]");
    net.cable(("s0", 1, F), ("s1", 1, F));
    net.host("n0", "s0", 5);
    net.host("n1", "s1", 5);
    for s in ["s0", "s1"] {
        net.view(s).bridge = Some(BridgeTable::default());
    }
    let t = net.infer();
    assert_eq!(
        (link(&t, "s0", "s1").state, t.root_bridge.as_deref()),
        (LinkState::Forwarding, None)
    );
    assert_eq!(t.tree().unwrap().hosts(), 2);
    for s in ["s0", "s1"] {
        net.port(s, 2, F);
        net.view(s).bridge = Some(BridgeTable::default());
    }
    net.hears("s0", 2, named("s1", 2));
    net.hears("s1", 2, named("s0", 2));
    assert!(
        net.infer()
            .links
            .iter()
            .filter(|l| l.b == "s1")
            .all(|l| l.state == LinkState::Unknown),
        "two ways and no word on either"
    );
}

#[test]
fn a_root_bridge_nobody_watches_is_an_alarm() {
    let mut net = ring();
    for view in net.views.values_mut() {
        view.bridge.as_mut().unwrap().root_bridge = Some(BridgeId {
            priority: 0,
            address: Mac([2, 9, 9, 9, 9, 9]),
        });
    }
    let t = net.infer();
    assert!(
        t.root_bridge.is_none() && alarms(&t).contains("root bridge 0000.02:09:09:09:09:09"),
        "{}",
        alarms(&t)
    );
}

#[test]
fn two_parts_are_two_clusters() {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1, n2]");
    for (h, s, p) in [("n0", "s0", 5), ("n1", "s1", 5), ("n2", "s1", 6)] {
        net.host(h, s, p);
    }
    let t = net.infer();
    assert_eq!(
        t.clusters.len(),
        1,
        "both name one root bridge, so something joins them: {:?}",
        t.clusters
    );
    assert!(t.tree().unwrap_err().to_string().contains("two parts"));
    let bridge = net.view("s1").bridge.as_mut().unwrap();
    bridge.root_bridge = bridge.address.map(|address| BridgeId {
        priority: 0,
        address,
    });
    let t = net.infer();
    let clusters: Vec<_> = t
        .clusters
        .iter()
        .map(|c| (c.name.as_str(), c.hosts.len()))
        .collect();
    assert_eq!(clusters, [("cluster-s0", 1), ("cluster-s1", 2)]);
    assert!(t.tree().unwrap_err().to_string().contains("two parts"));
    assert_eq!(t.to_file().clusters.len(), 2);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Every tree of switches with hosts at any places is found again, whichever ends speak, and in
    /// whichever order.
    #[test]
    fn any_tree_is_found_again(
        parents in proptest::collection::vec(0usize..100, 0..9),
        attachments in proptest::collection::vec(0usize..100, 1..12),
        mute in 0usize..100,
        turn in 0usize..20,
    ) {
        let names: Vec<String> = (0..=parents.len()).map(|i| format!("s{i}")).collect();
        let hosts: Vec<String> = (0..attachments.len()).map(|i| format!("n{i}")).collect();
        let switches: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut net = InferenceFixture::new(&switches, &format!("[{}]", hosts.join(", ")));
        let mut expected = Vec::new();
        for (i, parent) in parents.iter().enumerate() {
            let (up, down) = (&names[parent % (i + 1)], &names[i + 1]);
            net.cable((up, 100 + i as u8, F), (down, 99, F));
            expected.push((up.clone(), down.clone()));
        }
        for (i, attachment) in attachments.iter().enumerate() {
            let switch = &names[attachment % names.len()];
            net.host(&hosts[i], switch, i as u8 + 1);
            expected.push((switch.clone(), hosts[i].clone()));
        }
        for (i, view) in net.views.values_mut().enumerate() {
            let lldp = view.lldp.as_mut().unwrap();
            // One switch does not name its neighbour above, but that neighbour names it.
            if i == mute % names.len() {
                lldp.neighbours.retain(|r| r.local_port != 30 + 99);
            }
            let n = lldp.neighbours.len().max(1);
            lldp.neighbours.rotate_left(turn % n);
        }
        let t = net.infer();
        let mut found: Vec<_> = t.links.iter().map(|l| (l.a.clone(), l.b.clone())).collect();
        found.sort();
        expected.sort();
        proptest::prop_assert_eq!(&found, &expected);
        proptest::prop_assert!(t.alarms.is_empty(), "{}", alarms(&t));
        let tree = t.tree().unwrap();
        proptest::prop_assert_eq!(tree.hosts() as usize, hosts.len());
        proptest::prop_assert_eq!(tree.nodes() as usize, hosts.len() + names.len());
    }
}
