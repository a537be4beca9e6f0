//! Links and devices that the operator states.
use super::*;
use inventory::evidence::Evidence;
use inventory::topology::NodeKind;

/// The same network with more in its inventory.
fn with(mut net: InferenceFixture, more: &str) -> InferenceFixture {
    let text = format!(
        "switches: {{{}}}\nsnmp: {{default: {{version: 2c, community: c}}}}\nhosts: [{}]\n{more}",
        net.inventory
            .switches
            .keys()
            .enumerate()
            .map(|(i, s)| format!("{s}: {{address: 10.0.0.{}}}", i + 1))
            .collect::<Vec<_>>()
            .join(", "),
        net.inventory
            .hosts
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(", ")
    );
    net.inventory = Inventory::parse("i.yaml", &text).unwrap();
    net
}

/// Two switches that do not name each other, and two hosts.
fn apart() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1]");
    net.host("n0", "s0", 5);
    net.host("n1", "s1", 5);
    net.port("s0", 1, F);
    net.port("s1", 1, F);
    net
}

#[test]
fn a_stated_link_is_there_though_nobody_says_so() {
    assert!(apart().infer().tree().is_err());
    let t = with(
        apart(),
        "links: [{a: s1, a_port: swp1, b: s0, b_port: swp1, rate: 10G}]",
    )
    .infer();
    let l = link(&t, "s0", "s1");
    assert_eq!(
        (l.a_port.as_str(), l.b_port.as_str(), l.rate_bps.0, l.grade),
        ("swp1", "swp1", 10_000_000_000, LinkGrade::Certain)
    );
    assert_eq!(
        (
            l.state,
            l.evidence
                .iter()
                .map(Evidence::to_string)
                .collect::<Vec<_>>()
                .join("; ")
                .as_str()
        ),
        (
            LinkState::Forwarding,
            "stated in the inventory; STP: s1 swp1 forwarding, s0 swp1 forwarding"
        )
    );
    assert_eq!((t.tree().unwrap().nodes(), alarms(&t).as_str()), (4, ""));
    let mut down = with(apart(), "links: [{a: s0, a_port: swp1, b: s1}]");
    down.view("s0")
        .interfaces
        .as_mut()
        .unwrap()
        .iter_mut()
        .filter(|i| i.name == "swp1")
        .for_each(|i| i.up = false);
    let t = down.infer();
    assert_eq!(link(&t, "s0", "s1").state, LinkState::Blocked);
    assert!(
        alarms(&t).contains("link s0-s1: stated in the inventory, but port swp1 of \"s0\" is down"),
        "{}",
        alarms(&t)
    );
}

#[test]
fn what_is_found_otherwise_gives_way_with_an_alarm() {
    let ring = || ring();
    let t = with(
        ring(),
        "links: [{a: s0, b: s1, rate: 100M, state: blocked}, {a: s2, b: s3, state: forwarding}]",
    )
    .infer();
    assert_eq!(
        (link(&t, "s0", "s1").rate_bps.0, link(&t, "s0", "s1").state),
        (100_000_000, LinkState::Blocked)
    );
    assert_eq!(link(&t, "s2", "s3").state, LinkState::Forwarding);
    let found = alarms(&t);
    for text in [
        "s0-s1: stated in the inventory with 100M, but found with 1G",
        "s0-s1: stated in the inventory to be blocked, but found forwarding",
        "s2-s3: stated in the inventory to be forwarding, but found blocked",
    ] {
        assert!(found.contains(text), "{found}");
    }
    assert!(
        !found.contains("loop") && t.tree().is_ok(),
        "the loop is open where it is stated to be: {found}"
    );
    let t = with(
        ring(),
        "links: [{a: s0, a_port: swp1, b: s2, b_port: swp1}, {a: s3, b: n0}]",
    )
    .infer();
    assert!(link(&t, "s0", "s2").evidence.contains(&Evidence::Stated));
    let at: Vec<&str> = t
        .links
        .iter()
        .filter(|l| l.b == "n0")
        .map(|l| l.a.as_str())
        .collect();
    assert_eq!(at, ["s3"]);
    let found = alarms(&t);
    assert!(
        found.contains(
            "link s0-s2: stated in the inventory, but found s0 (swp1) - s1 (swp1), \
                           LLDP: s0 swp1 names s1"
        ),
        "{found}"
    );
    assert!(
        found.contains("link s3-n0: stated in the inventory, but found s0 (swp5) - n0 (eth0)"),
        "{found}"
    );
}

#[test]
fn a_stated_bridge_takes_the_place_of_one_assumed() {
    let mut net = InferenceFixture::new(&["s0"], "[n0, n1, n2]");
    net.host("n0", "s0", 5);
    for host in ["n1", "n2"] {
        net.host(host, "s0", 7);
    }
    let assumed = net.infer();
    assert!(
        assumed.kind("s0-swp7") == Some(NodeKind::Unmanaged)
            && alarms(&assumed).contains("an unmanaged bridge")
    );
    let t = with(
        net,
        "unmanaged: [u0, u1]\nlinks: [{a: s0, a_port: swp7, b: u0, rate: 100M}, \
                       {a: s0, a_port: swp5, b: u1}]",
    )
    .infer();
    let seen: Vec<String> = t
        .links
        .iter()
        .map(|l| format!("{} {} {:?} {}", l.a, l.b, l.grade, l.state))
        .collect();
    assert_eq!(
        seen,
        [
            "s0 u1 Certain forwarding",
            "s0 u0 Certain forwarding",
            "u0 n1 Inferred forwarding",
            "u0 n2 Inferred forwarding",
            "u1 n0 Inferred forwarding"
        ]
    );
    assert_eq!((t.kind("s0-swp7"), alarms(&t).as_str()), (None, ""));
}

#[test]
fn a_host_behind_a_stated_bridge_has_one_link_of_both_words() {
    for order in [
        [
            "{a: s0, a_port: swp5, b: desk}",
            "{a: desk, b: n0, rate: 10M}",
        ],
        [
            "{a: desk, b: n0, rate: 10M}",
            "{a: desk, b: s0, b_port: swp5}",
        ],
    ] {
        let t = with(
            apart(),
            &format!(
                "unmanaged: [desk]\nlinks: [{}, {{a: s0, b: s1}}]",
                order.join(", ")
            ),
        )
        .infer();
        let l = link(&t, "desk", "n0");
        assert_eq!(
            t.links.iter().filter(|l| l.b == "n0").count(),
            1,
            "{:?}",
            t.links
        );
        assert_eq!(
            (l.a_port.as_str(), l.b_port.as_str(), l.rate_bps.0, l.grade),
            ("", "eth0", 10_000_000, LinkGrade::Certain)
        );
        assert!(
            l.evidence[0] == Evidence::Stated
                && l.evidence
                    .iter()
                    .any(|e| e.to_string().starts_with("LLDP: s0 swp5 names n0")),
            "{:?}",
            l.evidence
        );
        assert_eq!(
            (t.tree().unwrap().hosts(), alarms(&t).as_str()),
            (2, ""),
            "{:?}",
            t.links
        );
    }
}

#[test]
fn a_host_with_a_stated_place_is_not_lost() {
    let net = with(
        apart(),
        "links: [{a: s0, b: s1}, {a: s1, a_port: swp9, b: n7}]"
            .replace("n7", "n1")
            .as_str(),
    );
    let t = net.infer();
    assert_eq!(link(&t, "s1", "n1").a_port, "swp9");
    let silent = with(
        InferenceFixture::new(&["s0"], "[n0]"),
        "links: [{a: s0, b: n0, rate: 10G}]",
    )
    .infer();
    assert_eq!(
        (silent.tree().unwrap().hosts(), alarms(&silent).as_str()),
        (1, "")
    );
}

#[test]
fn a_router_that_cannot_be_asked_joins_where_it_is_stated() {
    let mut net = apart();
    let bridge = net.view("s1").bridge.as_mut().unwrap();
    bridge.root_bridge = bridge.address.map(|address| BridgeId {
        priority: 0,
        address,
    });
    let t = with(
        net,
        "routers: [r0]\nlinks: [{a: s0, a_port: swp1, b: r0}, \
                       {a: r0, b: s1, b_port: swp1, rate: 100M}]",
    )
    .infer();
    assert_eq!(
        (
            t.clusters.len(),
            t.tree().unwrap().nodes(),
            alarms(&t).as_str()
        ),
        (2, 5, "")
    );
    assert_eq!(t.to_file().routers, ["r0"]);
}
