//! Links between routers that no neighbour protocol tells.
use super::ways::{routed_leaves_and_spines, routed_port, states};
use super::*;
use inventory::evidence::{Evidence, NextRouterProof};
use std::net::IpAddr;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Two devices with a port each that routes, and two with ports that may.
fn routers() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "s1", "s2", "s3"], "[n0, n1]");
    net.host("n0", "s0", 5);
    net.host("n1", "s1", 5);
    for switch in ["s0", "s1", "s2", "s3"] {
        for port in [1, 2] {
            net.port(switch, port, F);
            routed_port(&mut net, switch, port);
        }
    }
    net
}

/// Gives a port an address with the length of its prefix.
fn address(net: &mut InferenceFixture, (switch, port): (&str, u8), subnet: (&str, u8)) {
    let mut interfaces = net.view(switch).interfaces.iter_mut().flatten();
    let row = interfaces.find(|row| row.index == 10 + u32::from(port));
    row.unwrap().subnets.push((ip(subnet.0), subnet.1));
}

/// A port has a station in its table.
fn station(net: &mut InferenceFixture, (switch, port): (&str, u8), (address, mac): (&str, Mac)) {
    let row = ArpEntry {
        ip: ip(address),
        mac,
        if_index: 10 + u32::from(port),
    };
    net.view(switch).arp.get_or_insert_default().push(row);
}

/// A route has this next hop at a port.
fn next_hop(net: &mut InferenceFixture, (switch, port): (&str, u8), address: &str) {
    let routes = net.view(switch).routes.get_or_insert_default();
    routes.next_hops.push((10 + u32::from(port), ip(address)));
}

/// The words of all links that routers make.
fn routed(net: &InferenceFixture) -> Vec<String> {
    let topology = net.infer();
    let links = topology.links.iter().filter(|link| {
        let mut evidence = link.evidence.iter();
        evidence.any(|e| matches!(e, Evidence::NextRouter { .. }))
    });
    links
        .map(|link| {
            let grade = LinkGrade::Inferred;
            assert_eq!(link.grade, grade, "never more, for a bridge may be between");
            format!("{} {} {} {}", link.a, link.a_port, link.b, link.b_port)
        })
        .collect()
}

const CABLE: &str = "s0 swp1 s1 swp2";

#[test]
fn a_subnet_with_room_for_two_is_a_cable() {
    let mut net = routers();
    address(&mut net, ("s0", 1), ("10.0.0.0", 31));
    assert_eq!(routed(&net), [""; 0], "one end alone");
    address(&mut net, ("s1", 2), ("10.0.0.1", 31));
    assert_eq!(routed(&net), [CABLE]);
    let topology = net.infer();
    let evidence = topology.links.iter().flat_map(|link| &link.evidence);
    let evidence: Vec<String> = evidence.map(ToString::to_string).collect();
    assert!(
        evidence.iter().any(|t| t
            == "IP: s0 swp1 and s1 swp2 have the addresses of 10.0.0.0/31, which has room for two"),
        "{evidence:?}"
    );
    let carried = topology.links.iter().find(|link| link.b == "s1").unwrap();
    assert_eq!(carried.state, LinkState::Forwarding);

    // A station of somebody else, on either side, says that others are there.
    let mut shared = routers();
    for (end, own) in [(("s0", 1), "10.0.0.1"), (("s1", 2), "10.0.0.2")] {
        address(&mut shared, end, (own, 30));
    }
    assert_eq!(routed(&shared), [CABLE]);
    station(&mut shared, ("s1", 2), ("10.0.0.9", host_mac("n1")));
    assert_eq!(routed(&shared), [""; 0]);

    // The same addresses elsewhere: the subnet is used again and again.
    address(&mut net, ("s2", 1), ("10.0.0.1", 31));
    assert_eq!(routed(&net), [""; 0]);
}

#[test]
fn a_bridge_that_learned_an_end_is_in_between() {
    let mut net = routers();
    address(&mut net, ("s0", 1), ("10.0.0.0", 31));
    address(&mut net, ("s1", 2), ("10.0.0.1", 31));
    net.port("s3", 6, F);
    net.learns("s3", 6, mac("s1", 2));
    assert_eq!(routed(&net), [""; 0]);
}

#[test]
fn next_hops_and_stations_tell_where_the_subnet_is_wide() {
    let mut net = routers();
    let ends = [(("s0", 1), "10.0.0.1"), (("s1", 2), "10.0.0.2")];
    for (end, own) in ends {
        address(&mut net, end, (own, 24));
    }
    station(&mut net, ("s0", 1), ("10.0.0.2", mac("s1", 2)));
    station(&mut net, ("s1", 2), ("10.0.0.1", mac("s0", 1)));
    assert_eq!(
        routed(&net),
        [""; 0],
        "as on the network by which both are managed"
    );
    next_hop(&mut net, ("s0", 1), "10.0.0.2");
    assert_eq!(routed(&net), [CABLE]);
    // A third router on the segment: a next hop is no cable.
    let mut third = InferenceFixture {
        inventory: net.inventory.clone(),
        views: net.views.clone(),
    };
    address(&mut third, ("s2", 1), ("10.0.0.3", 24));
    next_hop(&mut third, ("s0", 1), "10.0.0.3");
    assert_eq!(routed(&third), [""; 0]);
    // A station with another's address.
    station(&mut net, ("s1", 2), ("10.0.0.1", mac("s2", 1)));
    assert_eq!(routed(&net), [""; 0]);
}

#[test]
fn a_session_of_bgp_tells_as_well() {
    let mut net = routers();
    for (end, own) in [(("s0", 1), "10.0.0.1"), (("s1", 2), "10.0.0.2")] {
        address(&mut net, end, (own, 29));
    }
    for (switch, own, peer) in [
        ("s0", "10.0.0.1", "10.0.0.2"),
        ("s1", "10.0.0.2", "10.0.0.1"),
    ] {
        let routes = net.view(switch).routes.get_or_insert_default();
        routes.peers.push((ip(own), ip(peer)));
    }
    assert_eq!(routed(&net), [CABLE]);
    // A peer beyond another router.
    net.view("s0").routes.as_mut().unwrap().peers[0].1 = ip("10.9.0.1");
    assert_eq!(routed(&net), [""; 0]);
}

/// The address of one link that a port makes of its MAC address.
fn of_link(Mac([a, b, c, d, e, f]): Mac) -> String {
    format!(
        "fe80::{:x}:{:x}:{:x}:{:x}",
        u16::from_be_bytes([a ^ 2, b]),
        u16::from_be_bytes([c, 0xff]),
        u16::from_be_bytes([0xfe, d]),
        u16::from_be_bytes([e, f])
    )
}

#[test]
fn ports_without_numbers_are_known_by_their_addresses_of_one_link() {
    let mut net = routers();
    // Two cables between two devices: each end hands packets to the port that it faces.
    for (a, b) in [(1, 2), (2, 1)] {
        for (end, far) in [(("s0", a), ("s1", b)), (("s1", b), ("s0", a))] {
            address(&mut net, end, (&of_link(mac(end.0, end.1)), 64));
            next_hop(&mut net, end, &of_link(mac(far.0, far.1)));
        }
    }
    assert_eq!(routed(&net), [CABLE, "s0 swp2 s1 swp1"]);
    // With one address for all ports only a single cable is plain.
    let mut single = routers();
    for (switch, port, far) in [("s0", 1, "s1"), ("s1", 2, "s0")] {
        for row in single.view(switch).interfaces.iter_mut().flatten() {
            row.mac = Some(mac(switch, 0));
        }
        address(&mut single, (switch, port), (&of_link(mac(switch, 0)), 64));
        next_hop(&mut single, (switch, port), &of_link(mac(far, 0)));
    }
    assert_eq!(routed(&single), [CABLE]);
    for (switch, port, far) in [("s0", 2, "s1"), ("s1", 1, "s0")] {
        address(&mut single, (switch, port), (&of_link(mac(switch, 0)), 64));
        next_hop(&mut single, (switch, port), &of_link(mac(far, 0)));
    }
    assert_eq!(routed(&single), [""; 0], "nothing tells which is which");
}

#[test]
fn ports_that_borrow_the_address_of_a_loopback_are_known_by_stations() {
    let mut net = routers();
    for (switch, own) in [("s0", "10.255.0.1"), ("s1", "10.255.0.2")] {
        let interfaces = net.view(switch).interfaces.as_mut().unwrap();
        interfaces.push(InterfaceRow {
            index: 99,
            name: "lo".into(),
            kind: inventory::observation::InterfaceKind::Loopback,
            up: true,
            subnets: vec![(ip(own), 32)],
            ..InterfaceRow::default()
        });
        for port in [1, 2] {
            address(&mut net, (switch, port), (own, 32));
        }
    }
    for (end, far, there) in [
        (("s0", 1), ("s1", 2), "10.255.0.2"),
        (("s1", 2), ("s0", 1), "10.255.0.1"),
    ] {
        station(&mut net, end, (there, mac(far.0, far.1)));
        next_hop(&mut net, end, there);
    }
    assert_eq!(routed(&net), [CABLE]);
}

#[test]
fn a_way_without_lldp_is_beside_the_others() {
    let mut net = routed_leaves_and_spines();
    for (switch, port) in [("s0", 2), ("t2", 1)] {
        let rows = &mut net.view(switch).lldp.as_mut().unwrap().neighbours;
        rows.retain(|row| row.local_port != 30 + port);
    }
    let one_way = states(&net.infer(), LinkState::Multipath);
    assert_eq!(one_way, 4, "s0 has one way");
    address(&mut net, ("s0", 2), ("10.0.0.0", 31));
    address(&mut net, ("t2", 1), ("10.0.0.1", 31));
    let t = net.infer();
    assert_eq!(states(&t, LinkState::Multipath), 6);
    let mut evidence = link(&t, "s0", "t2").evidence.iter();
    assert!(evidence.any(|e| matches!(
        e,
        Evidence::NextRouter {
            by: NextRouterProof::Subnet(..),
            ..
        }
    )));
}
