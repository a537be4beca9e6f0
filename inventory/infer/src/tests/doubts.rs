//! Evidence that fits several networks, and evidence that another table refutes.
use super::*;
use inventory::inventory_file::InventoryHost;

fn add_host(net: &mut InferenceFixture, host: &str) {
    let known = InventoryHost {
        mac: Some(host_mac(host)),
        ..InventoryHost::default()
    };
    net.inventory.hosts.insert(host.to_owned(), known);
}

fn learn_all(net: &mut InferenceFixture, switch: &str, rows: &[(&str, u8)]) {
    for (host, port) in rows {
        net.port(switch, *port, F);
        net.learns(switch, *port, host_mac(host));
    }
}

/// s0 hears a card of n0, and s1, which speaks no LLDP, learned an address of n0.
#[test]
fn a_card_that_another_switch_learned_is_no_other_place_of_the_card_that_is_received() {
    let card = Mac([2, b'h', 0, 0, 1, 0]);
    let [own, other] = [host_mac("n0"), card].map(|mac| {
        let mut net = InferenceFixture::new(&["s0", "s1"], "[n0]");
        net.port("s0", 5, F);
        net.hears(
            "s0",
            5,
            LldpNeighbour {
                port: Some(NeighbourId::Mac(card)),
                ..host_row("n0")
            },
        );
        net.port("s1", 6, F);
        net.learns("s1", 6, mac);
        net.view("s1").lldp = None;
        link(&net.infer(), "s0", "n0").grade
    });
    assert_eq!(own, LinkGrade::Certain);
    assert_eq!(other, LinkGrade::Ambiguous, "s1 may pass LLDP on");
}

/// n0 is on a bridge between s1 and s2, and n4 on s2.
#[test]
fn a_host_at_a_port_that_may_have_another_host_has_no_place() {
    let mut net = InferenceFixture::new(&["s1", "s2"], "{}");
    (0..6).for_each(|n| add_host(&mut net, &format!("n{n}")));
    let rows = [
        ("n0", 2),
        ("n4", 2),
        ("n1", 5),
        ("n2", 5),
        ("n3", 5),
        ("n5", 1),
    ];
    learn_all(&mut net, "s1", &rows);
    let rows = [
        ("n0", 4),
        ("n1", 4),
        ("n2", 4),
        ("n3", 4),
        ("n5", 4),
        ("n4", 3),
    ];
    learn_all(&mut net, "s2", &rows);
    let t = net.infer();
    let at: Vec<_> = t.links.iter().filter(|l| l.b == "n0").collect();
    assert!(
        at.iter().all(|l| l.grade == LinkGrade::Ambiguous),
        "{at:#?}"
    );
}

/// s9 never answered. s0 hears a bridge that gives no name, and spanning tree names another one.
#[test]
fn a_silent_switch_is_not_found_by_elimination_where_a_neighbour_may_be_it() {
    let [alone, beside_a_row] = [false, true].map(|is_announced| {
        let mut net = InferenceFixture::new(&["s0", "s9"], "[]");
        net.views.remove("s9");
        net.port("s0", 1, F);
        net.port("s0", 2, F);
        let row = net.view("s0").bridge.as_mut().unwrap().ports.last_mut();
        row.unwrap().designated_bridge = Some(BridgeId {
            priority: 4096,
            address: mac("other", 0),
        });
        if is_announced {
            let nameless = LldpNeighbour {
                name: String::new(),
                capabilities: Some(SystemCapabilities {
                    bridge: true,
                    router: false,
                }),
                ..named("unknown", 3)
            };
            net.hears("s0", 1, nameless);
        }
        let t = net.infer();
        let found = t
            .links
            .iter()
            .find(|l| [&l.a_port, &l.b_port].contains(&&"swp2".to_owned()));
        let found = found.expect("a link at swp2");
        [&found.a, &found.b].contains(&&"s9".to_owned())
    });
    assert!(alone);
    assert!(!beside_a_row);
}

#[test]
fn a_cable_on_whose_segment_a_third_switch_is_designated_is_in_doubt() {
    let mut net = InferenceFixture::new(&["s0", "s1", "s2"], "[]");
    net.cable(("s0", 1, F), ("s1", 1, F));
    let row = net.view("s1").bridge.as_mut().unwrap().ports.last_mut();
    row.unwrap().designated_bridge = Some(BridgeId {
        priority: 4096,
        address: mac("s2", 0),
    });
    assert_eq!(link(&net.infer(), "s0", "s1").grade, LinkGrade::Ambiguous);
}

/// s0 serves no database and names s2 at swp2. Behind the port of s2 that it names is n3, and behind another one
/// the hosts of s1, which s0 is cabled to.
#[test]
fn a_row_is_refuted_by_what_the_neighbours_of_its_device_learned() {
    let [agreed, doubted] = [1, 5].map(|port| {
        let mut net = InferenceFixture::new(&["s0", "s1", "s2"], "{}");
        (1..4).for_each(|n| add_host(&mut net, &format!("n{n}")));
        net.cable(("s0", 1, F), ("s1", 1, F));
        learn_all(&mut net, "s1", &[("n1", 3), ("n2", 4)]);
        learn_all(&mut net, "s2", &[("n1", 1), ("n2", 1), ("n3", 5)]);
        net.port("s0", 2, F);
        net.hears("s0", 2, named("s2", port));
        link(&net.infer(), "s0", "s2").clone()
    });
    assert_eq!(agreed.grade, LinkGrade::Certain);
    assert_eq!(doubted.grade, LinkGrade::Inferred);
    let why = "FDB: s2 has s1 behind another port than swp5";
    let mut evidence = doubted.evidence.iter();
    assert!(evidence.any(|e| e.to_string() == why), "{doubted:#?}");
}

/// The identifier of a pair stands at a port that forwards and at one without a cable.
#[test]
fn the_identifier_at_ports_that_are_off_is_no_other_bridge() {
    let mut net = InferenceFixture::new(&["s0"], "[]");
    net.port("s0", 1, F);
    net.port("s0", 2, StpState::Disabled);
    for row in &mut net.view("s0").bridge.as_mut().unwrap().ports {
        row.designated_bridge = Some(BridgeId {
            priority: 4096,
            address: Mac([2, 0xc0, 0xff, 0xee, 0, 1]),
        });
        row.designated_port = Some(0x8000 | row.number as u16);
    }
    let t = net.infer();
    assert_eq!(t.nodes.len(), 1, "{:?}", t.nodes);
}
