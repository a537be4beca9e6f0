//! Networks in which flows spread over several ways.
use super::*;
use inventory::host_report::TracedFlows;
use inventory::inventory_file::InventoryHost;
use inventory::observation::InterfaceKind;
use inventory::topology_file::CardSpread;

const SPOKEN: u8 = 5;

/// Makes a port one that routes: no bridge port.
pub(super) fn routed_port(net: &mut InferenceFixture, switch: &str, port: u8) {
    let bridge = net.view(switch).bridge.as_mut().unwrap();
    bridge.ports.retain(|p| p.if_index != 10 + u32::from(port));
}

fn no_states(net: &mut InferenceFixture, switch: &str) {
    for port in &mut net.view(switch).bridge.as_mut().unwrap().ports {
        port.state = None;
    }
}

/// A cable between ports without a state.
fn cable(net: &mut InferenceFixture, (a, pa): (&str, u8), (b, pb): (&str, u8)) {
    net.cable((a, pa, F), (b, pb, F));
    for (switch, port) in [(a, pa), (b, pb)] {
        let bridge = net.view(switch).bridge.as_mut().unwrap();
        let row = bridge
            .ports
            .iter_mut()
            .find(|p| p.if_index == 10 + u32::from(port));
        row.unwrap().state = None;
    }
}

pub(super) fn says_it_routes(net: &mut InferenceFixture, switch: &str) {
    net.view(switch).lldp.as_mut().unwrap().capabilities = Some(SystemCapabilities {
        bridge: true,
        router: true,
    });
}

pub(super) const LEAVES: [&str; 3] = ["s0", "l2", "l3"];

/// Three leaves with a host each, cabled to two spines.
pub(super) fn leaves_and_spines() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "l2", "l3", "t1", "t2"], "[n0, n1, n2]");
    for (n, leaf) in (0..).zip(LEAVES) {
        net.host(&format!("n{n}"), leaf, SPOKEN);
        net.learns(leaf, SPOKEN, host_mac(&format!("n{n}")));
        for (up, spine) in [(1, "t1"), (2, "t2")] {
            cable(&mut net, (leaf, up), (spine, n + 1));
        }
    }
    for leaf in LEAVES {
        no_states(&mut net, leaf);
    }
    net
}

pub(super) fn states(t: &Topology, state: LinkState) -> usize {
    t.links.iter().filter(|link| link.state == state).count()
}

/// The same, where all of them route.
pub(super) fn routed_leaves_and_spines() -> InferenceFixture {
    let mut net = leaves_and_spines();
    for (n, leaf) in (0..).zip(LEAVES) {
        says_it_routes(&mut net, leaf);
        for (up, spine) in [(1, "t1"), (2, "t2")] {
            routed_port(&mut net, leaf, up);
            routed_port(&mut net, spine, n + 1);
        }
    }
    for spine in ["t1", "t2"] {
        says_it_routes(&mut net, spine);
    }
    net
}

#[test]
fn ways_through_routers_are_side_by_side() {
    let mut net = routed_leaves_and_spines();
    let t = net.infer();
    assert_eq!(
        (states(&t, LinkState::Multipath), alarms(&t).as_str()),
        (6, "")
    );
    let text = link(&t, "s0", "t1").evidence.last().unwrap().to_string();
    assert!(
        text.ends_with("flows spread over the ways through t[1-2]"),
        "{text}"
    );
    assert_eq!(t.clusters.len(), 1, "{:#?}", t.clusters);
    let tree = t.tree().unwrap();
    let l3 = (0..tree.nodes()).find(|n| tree.name(*n) == "l3").unwrap();
    assert_eq!(tree.rate(l3), BitsPerSec(2_000_000_000));
    assert_eq!(t.to_file().tree().unwrap().hosts(), tree.hosts());
    // Of all addresses those at ends of ways are kept.
    for (switch, port, address) in [("s0", 1, [10, 0, 0, 1]), ("s0", SPOKEN, [10, 9, 0, 1])] {
        let mut interfaces = net.view(switch).interfaces.iter_mut().flatten();
        let own = interfaces
            .find(|i| i.index == 10 + u32::from(port))
            .unwrap();
        own.addresses.push(address.into());
    }
    let t = net.infer();
    let hops = t.hops();
    let shown = hops
        .iter()
        .map(|hop| format!("{} {} {}", hop.from, hop.at, hop.address));
    assert_eq!(shown.collect::<Vec<_>>(), ["t1 s0 10.0.0.1"]);
    // A spine that is drained takes its ways along, and the others still are ways.
    let mut drained = net;
    for switch in LEAVES {
        let rows = &mut drained.view(switch).lldp.as_mut().unwrap().neighbours;
        rows.retain(|row| row.name != "t2");
    }
    drained.view("t2").lldp.as_mut().unwrap().neighbours.clear();
    let t = drained.infer();
    assert_eq!(states(&t, LinkState::Multipath), 0, "{:#?}", t.links);
    assert!(t.tree().is_ok());
}

#[test]
fn ways_over_which_nobody_was_ever_learned_are_side_by_side() {
    let t = leaves_and_spines().infer();
    assert_eq!(
        (states(&t, LinkState::Multipath), alarms(&t).as_str()),
        (6, "")
    );
    // A station learned behind one of them says that frames are bridged, and something blocks.
    let mut bridged = leaves_and_spines();
    bridged.learns("s0", 1, host_mac("n1"));
    let t = bridged.infer();
    assert_eq!(states(&t, LinkState::Multipath), 0);
    assert!(t.tree().is_err());
    // Nor is it reported where no database was read.
    let mut unread = leaves_and_spines();
    for leaf in LEAVES {
        unread.view(leaf).fdb = None;
    }
    assert_eq!(states(&unread.infer(), LinkState::Multipath), 0);
}

#[test]
fn cables_outside_the_spanning_tree_of_both_ends_are_an_aggregate() {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1]");
    for port in 1..=3 {
        cable(&mut net, ("s0", port), ("s1", port));
    }
    net.host("n0", "s0", SPOKEN);
    net.host("n1", "s1", SPOKEN);
    let t = net.infer();
    assert_eq!(
        (states(&t, LinkState::Multipath), alarms(&t).as_str()),
        (3, "")
    );
    let tree = t.tree().unwrap();
    let trunk = (0..tree.nodes()).map(|n| tree.rate(n)).max();
    assert_eq!(trunk, Some(BitsPerSec(3_000_000_000)));
    no_states(&mut net, "s1");
    assert_eq!(
        states(&net.infer(), LinkState::Multipath),
        0,
        "s1 may run none"
    );
}

/// Two switches that share a bridge identifier, cabled to each other, with two hosts on both and a core.
fn pair_of_switches() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "a1", "a2"], "[n0, n1]");
    let shared = BridgeId {
        priority: 4096,
        address: Mac([2, 0xc0, 0xff, 0xee, 0, 1]),
    };
    net.cable(("s0", 1, F), ("a1", 1, F));
    net.cable(("s0", 2, F), ("a2", 1, F));
    net.cable(("a1", 2, F), ("a2", 2, F));
    for switch in ["a1", "a2"] {
        net.host("n0", switch, SPOKEN);
        net.host("n1", switch, 6);
        for port in &mut net.view(switch).bridge.as_mut().unwrap().ports {
            if port.number > 22 {
                (port.designated_bridge, port.designated_port) =
                    (Some(shared), Some(port.number as u16));
            }
        }
        let rows = &mut net.view(switch).lldp.as_mut().unwrap().neighbours;
        for row in rows.iter_mut().filter(|row| row.name.starts_with('n')) {
            row.port_descr = if switch == "a1" {
                "eth0".into()
            } else {
                "eth1".into()
            };
            row.port = Some(NeighbourId::Text(row.port_descr.clone()));
        }
    }
    net
}

#[test]
fn cables_to_both_switches_of_a_pair_are_side_by_side() {
    let t = pair_of_switches().infer();
    assert_eq!(
        (states(&t, LinkState::Multipath), alarms(&t).as_str()),
        (6, "")
    );
    assert_eq!(link(&t, "a1", "a2").state, LinkState::Forwarding);
    let file = t.to_file();
    assert_eq!(file.hosts["n0"].cards().count(), 2);
    assert_eq!(file.hosts["n0"].spread, CardSpread::Lacp);
    let tree = file.tree().unwrap();
    assert_eq!((tree.hosts(), tree.nodes()), (2, 4));
    assert_eq!(tree.rate(0), BitsPerSec(2_000_000_000));
}

#[test]
fn a_bridge_that_nobody_asked_is_one_behind_both_switches_of_a_pair() {
    let mut net = pair_of_switches();
    for host in ["n2", "n3"] {
        let mac = Some(host_mac(host));
        let known = InventoryHost {
            mac,
            ..InventoryHost::default()
        };
        net.inventory.hosts.insert(host.to_owned(), known);
        for switch in ["a1", "a2"] {
            net.port(switch, 7, F);
            net.learns(switch, 7, host_mac(host));
        }
    }
    let t = net.infer();
    for switch in ["a1", "a2"] {
        let ends = ["a1-swp7", switch];
        let up = t
            .links
            .iter()
            .find(|l| ends.contains(&&*l.a) && ends.contains(&&*l.b));
        let up = up.unwrap_or_else(|| panic!("no bridge at {switch}: {:#?}", t.links));
        assert_eq!(up.state, LinkState::Multipath);
    }
    assert_eq!(link(&t, "a1-swp7", "n2").grade, LinkGrade::Inferred);
    assert_eq!(t.to_file().tree().unwrap().hosts(), 4);
}

#[test]
fn hosts_on_aggregates_without_members_are_on_both_of_a_pair() {
    let hosts = "{n0: {mac: \"02:68:00:00:00:00\"}, n1: {mac: \"02:68:00:00:00:01\"}}";
    let mut net = InferenceFixture::new(&["s0", "a1", "t1"], hosts);
    net.cable(("s0", 2, F), ("a1", 2, F));
    for (n, switch) in (1..).zip(["s0", "a1"]) {
        net.cable((switch, 1, F), ("t1", n, F));
        routed_port(&mut net, switch, 1);
        says_it_routes(&mut net, switch);
        for (host, port) in [("n0", 5), ("n1", 6)] {
            net.port(switch, port, F);
            net.learns(switch, port, host_mac(host));
            let ports = net.view(switch).interfaces.as_mut().unwrap();
            ports.last_mut().unwrap().kind = InterfaceKind::Aggregate;
        }
    }
    let router = net.view("t1");
    router.bridge = None;
    router.lldp.as_mut().unwrap().capabilities = Some(SystemCapabilities {
        bridge: false,
        router: true,
    });
    let t = net.infer();
    for (switch, host) in [("s0", "n0"), ("s0", "n1"), ("a1", "n0"), ("a1", "n1")] {
        let link = link(&t, switch, host);
        assert_eq!(
            (link.grade, link.state),
            (LinkGrade::Inferred, LinkState::Multipath)
        );
    }
}

/// What a host sent before it was moved stays in a switch's table for two minutes.
#[test]
fn one_card_at_two_leaves_is_no_host_with_two_cards() {
    let mut net = leaves_and_spines();
    net.host("n0", "l2", 6);
    no_states(&mut net, "l2");
    let t = net.infer();
    let of_host = t.links.iter().filter(|link| link.b == "n0");
    let attachments: Vec<&str> = of_host.map(|link| link.a.as_str()).collect();
    assert_eq!(
        (states(&t, LinkState::Multipath), attachments),
        (6, vec!["s0"])
    );
}

/// A fabric in which the leaves' hosts traced flows: at the address of each spine's port so many.
fn traced(net: &mut InferenceFixture, from: &str, to: &str, routers: &[([u8; 4], u16)]) {
    let view = net.views.entry(from.to_owned()).or_default();
    view.seen = Some(inventory::Millis(1));
    let report = view.host.get_or_insert_default();
    report.host = from.to_owned();
    report.slots = 1;
    report.traces.retain(|trace| trace.to != to);
    report.traces.push(TracedFlows {
        to: to.to_owned(),
        routers: routers
            .iter()
            .map(|(address, flows)| ((*address).into(), *flows))
            .collect(),
        unanswered: 0,
        parted: true,
    });
}

/// The address of a spine's port to a leaf.
fn at_spine(spine: u8, leaf: u8) -> [u8; 4] {
    [10, spine, 0, leaf]
}

fn addressed_leaves_and_spines() -> InferenceFixture {
    let mut net = routed_leaves_and_spines();
    for (number, spine) in [(1, "t1"), (2, "t2")] {
        for row in net.view(spine).interfaces.iter_mut().flatten() {
            let port = (row.index - 10) as u8;
            row.addresses.push(at_spine(number, port).into());
        }
    }
    net
}

fn blocked(t: &Topology) -> Vec<String> {
    let blocked = t.links.iter().filter(|l| l.state == LinkState::Blocked);
    blocked
        .map(|link| format!("{} {}", link.a, link.b))
        .collect()
}

#[test]
fn a_link_that_no_traced_flow_takes_carries_nothing() {
    let mut net = addressed_leaves_and_spines();
    let both = [(at_spine(1, 1), 9), (at_spine(2, 1), 11)];
    traced(&mut net, "n0", "n1", &both);
    traced(&mut net, "n0", "n2", &both);
    assert_eq!(states(&net.infer(), LinkState::Multipath), 6);
    traced(&mut net, "n0", "n1", &[(at_spine(2, 1), 20)]);
    let t = net.infer();
    assert_eq!(blocked(&t), ["s0 t1"]);
    assert_eq!(
        states(&t, LinkState::Multipath),
        4,
        "t1 joins the other two"
    );
    let text = link(&t, "s0", "t1").evidence.last().unwrap().to_string();
    assert_eq!(text, "traced: none of 20 flows from s0 to l2 takes it");
    assert_eq!(
        alarms(&t),
        "link s0-t1: none of 20 flows from s0 to l2 takes it, and nothing is planned over it: check the routes \
         of s0 and t1\n"
    );
    t.tree().unwrap();
    // Another host's flows take it.
    net.host("n3", "s0", 7);
    let is_enough = [(at_spine(1, 1), 1), (at_spine(2, 1), 19)];
    net.inventory
        .hosts
        .insert("n3".to_owned(), InventoryHost::default());
    traced(&mut net, "n3", "n1", &is_enough);
    assert_eq!(blocked(&net.infer()), Vec::<String>::new());
}

/// How many links are blocked by a trace of which something is changed.
fn blocked_by(change: fn(&mut DeviceView)) -> usize {
    let mut net = addressed_leaves_and_spines();
    traced(&mut net, "n0", "n1", &[(at_spine(2, 1), 20)]);
    change(net.views.get_mut("n0").unwrap());
    blocked(&net.infer()).len()
}

fn trace_of(view: &mut DeviceView) -> &mut TracedFlows {
    &mut view.host.as_mut().unwrap().traces[0]
}

#[test]
fn what_traces_leave_open_blocks_nothing() {
    assert_eq!(blocked_by(|_| {}), 1);
    let without_ports = blocked_by(|view| trace_of(view).parted = false);
    assert_eq!(without_ports, 0, "the hash reads no ports");
    let silent = blocked_by(|view| trace_of(view).unanswered = 1);
    assert_eq!(silent, 0, "the spine may be silent");
    for to in ["n0", "other"] {
        let mut net = addressed_leaves_and_spines();
        traced(&mut net, "n0", to, &[(at_spine(2, 1), 20)]);
        assert_eq!(blocked(&net.infer()).len(), 0, "{to}");
    }
    let few = blocked_by(|view| trace_of(view).routers = [(at_spine(2, 1).into(), 19)].into());
    assert_eq!(few, 0, "chance");
    let elsewhere = blocked_by(|view| {
        let stranger = [192, 0, 2, 1].into();
        trace_of(view).routers.insert(stranger, 1);
    });
    assert_eq!(elsewhere, 0, "a way that the network does not have");
    let old = blocked_by(|view| view.stale = Some((inventory::Millis(2), "silent".into())));
    assert_eq!(old, 0);
}

#[test]
fn a_spine_that_lost_its_route_to_a_leaf_loses_the_link_to_it() {
    let mut net = addressed_leaves_and_spines();
    for (host, leaf) in [("n0", 1), ("n1", 2)] {
        traced(&mut net, host, "n2", &[(at_spine(2, leaf), 20)]);
    }
    assert_eq!(blocked(&net.infer()), ["l3 t1"]);
}
