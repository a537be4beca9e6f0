//! Plans of clusters with several networks.
use super::*;
use inventory::evidence::DevicePort;
use inventory::networks::Network;

/// Two data switches, by whose own ports they hang on the management switch.
fn two_networks() -> Topology {
    let mut topology = network(&[
        "d0 up d1 up",
        "d0 p1 n0 eth0",
        "d1 p1 n1 eth0",
        "m0 p1 n0 mgmt0",
        "m0 p2 n1 mgmt0",
        "d0 own m0 p8",
        "d1 own m0 p9",
    ]);
    for link in &mut topology.links[5..] {
        link.state = LinkState::Blocked;
        let own = DevicePort {
            device: link.a.clone(),
            port: link.a_port.clone(),
        };
        link.evidence = vec![Evidence::OwnPort(own)];
    }
    let hosts = vec!["n0".to_owned(), "n1".to_owned()];
    topology.networks = vec![
        own_network("d0", &["d0", "d1"], &hosts),
        own_network("m0", &["m0"], &hosts),
    ];
    topology
}

fn own_network(name: &str, switches: &[&str], hosts: &[String]) -> Network {
    Network {
        name: name.to_owned(),
        switches: switches.iter().map(ToString::to_string).collect(),
        hosts: hosts.to_vec(),
        ..Network::default()
    }
}

const BOTH: &str = "\
switches: [d0, d1, m0]
hosts:
  n[0-1]: {cards: [{switch: d0, port: 'p[1-2]', network: data}, {switch: m0, port: 'p[1-2]', network: management}]}
links: [{a: d0, b: d1}]
networks: {data: {}, management: {prefix: 10.2.0.0/16}}
";

#[test]
fn a_plan_of_several_networks_is_compared_with_each() {
    let plan = BOTH.replace(
        "n[0-1]: {cards: [{switch: d0, port: 'p[1-2]', network: data}",
        "n0: {cards: [{switch: d0, network: data}, {switch: m0, network: management}], address: 10.1.0.5}\n  \
         n1: {cards: [{switch: d1, port: p1, network: data}",
    );
    let plan = plan
        .replace(", address: 10.1.0.5", "")
        .replace("p[1-2]", "p2");
    let mut found = two_networks();
    let notes = [
        "note: unconfirmed: the plan does not name 2 cables of ports by which switches are managed",
    ];
    let report = |found: &Topology| lines(&compare(&yaml_plan(&plan), found));
    let as_planned = [&notes[..], &["ok: 5 cables as planned"]].concat();
    assert_eq!(report(&found), as_planned);
    found.links[4].a_port = "p7".into();
    let moved = "moved: planned m0 (p2) - n1; found m0 (p7) - n1 (mgmt0)";
    assert_eq!(report(&found)[0], moved);
}

#[test]
fn a_plan_of_one_network_says_nothing_of_another() {
    let plan =
        "switches: [d0, d1]\nhosts: {n0: {switch: d0}, n1: {switch: d1}}\nlinks: [{a: d0, b: d1}]";
    assert_eq!(
        lines(&compare(&yaml_plan(plan), &two_networks())),
        [
            "note: unconfirmed: the plan names no switch of network m0; 2 cables not compared",
            "note: unconfirmed: the plan does not name 2 cables of ports by which switches are managed",
            "ok: 3 cables as planned",
        ]
    );
    let with_own = plan
        .replace(
            "b: d1}]",
            "b: d1}, {a: d0, a_port: own, b: m0}, {a: d1, b: m0, state: forwarding}]",
        )
        .replace("[d0, d1]", "[d0, d1, m0]");
    let report = compare(&yaml_plan(&with_own), &two_networks());
    let found: Vec<&str> = report.differences.iter().map(|f| f.text.as_str()).collect();
    let extra = [
        "found m0 (p1) - n0 (mgmt0), 1G; not planned",
        "found m0 (p2) - n1 (mgmt0), 1G; not planned",
    ];
    assert_eq!((found, report.as_planned), (extra.to_vec(), 5));
}

#[test]
fn the_ports_of_each_card_are_a_range_as_hosts_are() {
    let plan = yaml_plan(BOTH);
    let cables: Vec<String> = plan.cables.iter().map(ToString::to_string).collect();
    let cards = [
        "d0 (p1) - n0",
        "m0 (p1) - n0",
        "d0 (p2) - n1",
        "m0 (p2) - n1",
    ];
    assert_eq!(cables, [&["d0 - d1"], &cards[..]].concat());
    for (old, new, problem) in [
        (
            "'p[1-2]', network: m",
            "'p[1-3]', network: m",
            "plan.yaml:3: hosts: \"n0\" and what follows",
        ),
        (
            "network: management}",
            "network: storage}",
            "plan.yaml:3: host \"n0\": unknown network",
        ),
        (
            "port: 'p[1-2]', network: data",
            "prot: p, network: data",
            "plan.yaml:3: hosts.n[0-1].cards[0]: unknown field `prot`",
        ),
        (
            "'p[1-2]', network: data",
            "'p[1-1]', network: data",
            "plan.yaml:3: hosts",
        ),
    ] {
        assert!(BOTH.contains(old), "{old}");
        let error = CablingPlan::parse("plan.yaml", &BOTH.replace(old, new)).unwrap_err();
        assert!(error.to_string().starts_with(problem), "{error}");
    }
    let twice = BOTH
        .replace("switch: m0, port: 'p[1-2]'", "switch: m0, port: p1")
        .replace("n[0-1]", "n0")
        .replace("'p[1-2]'", "p1")
        .replace(
            "]}\nlinks",
            "]}\n  n1: {switch: m0, port: p1, network: management}\nlinks",
        );
    let error = CablingPlan::parse("plan.yaml", &twice).unwrap_err();
    let problem = "plan.yaml:4: port p1 of \"m0\" is planned for two cables; a port holds one";
    assert_eq!(error.to_string(), problem);
}
