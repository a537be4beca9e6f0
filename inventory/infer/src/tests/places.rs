//! The places of hosts, by switches alone.
use super::*;

#[test]
fn a_host_without_lldp_hangs_on_the_edge_port_that_learned_it() {
    let mut net = InferenceFixture::new(
        &["s0", "s1"],
        "{n0: {mac: \"02:68:00:00:00:00\"}, n1: {address: 10.1.0.1}}",
    );
    net.cable(("s0", 1, F), ("s1", 1, F));
    for (s, far, near) in [("s0", 1, 0), ("s1", 0, 1)] {
        net.port(s, 5, F);
        net.learns(s, 5, host_mac(&format!("n{near}")));
        net.learns(s, 1, host_mac(&format!("n{far}")));
    }
    let unresolved = net.infer();
    assert!(
        alarms(&unresolved).contains("host \"n1\": seen nowhere: no LLDP under this name"),
        "{}",
        alarms(&unresolved)
    );
    net.view("s0").arp = Some(vec![ArpEntry::new(
        "10.1.0.1".parse().unwrap(),
        host_mac("n1"),
    )]);
    let t = net.infer();
    assert_eq!((alarms(&t).as_str(), t.tree().unwrap().hosts()), ("", 2));
    for (s, n) in [("s0", "n0"), ("s1", "n1")] {
        let l = link(&t, s, n);
        assert_eq!(
            (l.a_port.as_str(), l.grade, l.state),
            ("swp5", LinkGrade::Inferred, LinkState::Forwarding)
        );
        assert!(
            l.evidence[0]
                .to_string()
                .starts_with(&format!("FDB: {s} learned")),
            "{:?}",
            l.evidence
        );
    }
}

#[test]
fn learned_only_on_trunks_is_nowhere() {
    let mut net = InferenceFixture::new(&["s0", "s1"], "{n0: {mac: \"02:68:00:00:00:00\"}}");
    net.cable(("s0", 1, F), ("s1", 1, F));
    net.learns("s0", 1, host_mac("n0"));
    let t = net.infer();
    assert!(
        alarms(&t).contains("learned only on trunk ports (s0 swp1)"),
        "{}",
        alarms(&t)
    );
    assert!(t.tree().is_err());
}

#[test]
fn a_cable_without_lldp_is_no_edge_port() {
    let mut net = InferenceFixture::new(&["s0", "s1"], "{n0: {mac: \"02:68:00:00:00:00\"}}");
    for s in ["s0", "s1"] {
        net.port(s, 1, F);
    }
    net.port("s1", 5, F);
    net.learns("s0", 1, host_mac("n0"));
    net.learns("s0", 1, mac("s1", 0));
    net.learns("s1", 5, host_mac("n0"));
    let t = net.infer();
    assert_eq!(
        (link(&t, "s1", "n0").a_port.as_str(), t.links.len()),
        ("swp5", 1)
    );
}

#[test]
fn several_hosts_behind_one_port_hang_on_an_unmanaged_bridge() {
    let mut net = ring();
    net.view("s3")
        .lldp
        .as_mut()
        .unwrap()
        .neighbours
        .retain(|r| r.name != "n3");
    net.hears("s2", 5, host_row("n3"));
    let t = net.infer();
    assert_eq!(t.kind("s2-swp5"), Some(NodeKind::Unmanaged));
    assert_eq!(
        (
            link(&t, "s2-swp5", "n2").grade,
            link(&t, "s2", "s2-swp5").state
        ),
        (LinkGrade::Inferred, LinkState::Forwarding)
    );
    assert!(
        alarms(&t).contains("n2, n3 are all behind it"),
        "{}",
        alarms(&t)
    );
    assert_eq!(
        (
            t.tree().unwrap().hosts(),
            t.to_file().tree().unwrap().hosts()
        ),
        (4, 4)
    );
}

#[test]
fn a_host_that_moved_is_where_its_port_is_up() {
    let mut net = ring();
    net.host("n3", "s1", 7);
    net.view("s3")
        .interfaces
        .as_mut()
        .unwrap()
        .last_mut()
        .unwrap()
        .up = false;
    let t = net.infer();
    assert_eq!(
        (link(&t, "s1", "n3").a_port.as_str(), alarms(&t).as_str()),
        ("swp7", "")
    );
}

#[test]
fn a_host_that_moved_is_where_its_frames_come_in() {
    let mut net = ring();
    net.host("n3", "s1", 7);
    net.learns("s1", 7, host_mac("n3"));
    net.learns("s3", 2, host_mac("n3"));
    let t = net.infer();
    assert_eq!(
        (link(&t, "s1", "n3").grade, alarms(&t).as_str()),
        (LinkGrade::Certain, "")
    );
}

#[test]
fn a_switch_that_answers_outweighs_one_that_is_stale() {
    let mut net = ring();
    net.host("n3", "s1", 7);
    net.view("s3").stale = Some((Millis(9), "no answer".into()));
    assert_eq!(link(&net.infer(), "s1", "n3").a_port, "swp7");
}

#[test]
fn a_host_on_two_switches_is_an_alarm_and_never_a_silent_pick() {
    let mut net = ring();
    net.host("n3", "s1", 7);
    let t = net.infer();
    assert_eq!(
        (link(&t, "s1", "n3").grade, link(&t, "s3", "n3").grade),
        (LinkGrade::Ambiguous, LinkGrade::Ambiguous)
    );
    assert!(
        alarms(&t)
            .contains("host \"n3\": seen on s1 port swp7 and s3 port swp5; its place is ambiguous"),
        "{}",
        alarms(&t)
    );
    assert!(t.tree().unwrap_err().to_string().contains("host \"n3\""));
    assert!(!t.to_file().hosts.contains_key("n3"));
}

#[test]
fn two_hosts_with_one_mac_are_an_alarm() {
    let mut net = ring();
    for row in &mut net.view("s3").lldp.as_mut().unwrap().neighbours {
        if row.name == "n3" {
            (row.chassis, row.port) = (
                Some(NeighbourId::Mac(host_mac("n2"))),
                Some(NeighbourId::Mac(host_mac("n2"))),
            );
        }
    }
    let t = net.infer();
    for (host, other) in [("n2", "n3"), ("n3", "n2")] {
        assert!(
            alarms(&t).contains(&format!(
                "host \"{host}\": its MAC address 02:68:00:00:00:02 is \
                                          claimed by host \"{other}\" too"
            )),
            "{}",
            alarms(&t)
        );
    }
    assert_eq!(
        (
            link(&t, "s2", "n2").a_port.as_str(),
            link(&t, "s3", "n3").a_port.as_str()
        ),
        ("swp5", "swp5"),
        "their names still tell them apart"
    );
}

#[test]
fn an_address_claimed_by_two_stations_is_an_alarm() {
    let mut net = InferenceFixture::new(&["s0"], "{n0: {address: 10.1.0.1}}");
    let arp = |n| ArpEntry::new("10.1.0.1".parse().unwrap(), host_mac(n));
    net.view("s0").arp = Some(vec![arp("n1"), arp("n2")]);
    for (port, host) in [(5, "n1"), (6, "n2")] {
        net.port("s0", port, F);
        net.learns("s0", port, host_mac(host));
    }
    let t = net.infer();
    assert!(
        alarms(&t).contains("its address is claimed by 02:68:00:00:00:01, 02:68:00:00:00:02"),
        "{}",
        alarms(&t)
    );
    assert!(t.links.iter().all(|l| l.grade == LinkGrade::Ambiguous) && t.links.len() == 2);
}
