//! Cables that LLDP names on both sides while forwarding databases indicate another device in
//! between.
use super::*;

/// Two neighbouring switches that both learned these hosts as beyond the other.
fn crossed(hosts: &[&str]) -> Topology {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1]");
    net.cable(("s0", 1, F), ("s1", 1, F));
    for (host, switch) in [("n0", "s0"), ("n1", "s1")] {
        net.host(host, switch, 5);
    }
    for host in hosts {
        net.learns("s0", 1, host_mac(host));
        net.learns("s1", 1, host_mac(host));
    }
    net.infer()
}

#[test]
fn stations_between_two_neighbours_are_an_alarm_and_their_cable_stays() {
    let t = crossed(&["n7", "n8"]);
    let cable = link(&t, "s0", "s1");
    assert_eq!(
        (cable.a_port.as_str(), cable.b_port.as_str(), cable.grade),
        ("swp1", "swp1", LinkGrade::Inferred)
    );
    assert_eq!(
        (t.names(NodeKind::Unmanaged).count(), t.links.len()),
        (0, 3)
    );
    assert!(
        alarms(&t).contains("LLDP's word stands as inferred"),
        "{}",
        alarms(&t)
    );
    assert_eq!(t.tree().unwrap().hosts(), 2);
}

#[test]
fn one_station_between_them_may_be_moving() {
    let t = crossed(&["n7"]);
    assert_eq!(
        (link(&t, "s0", "s1").grade, alarms(&t).as_str()),
        (LinkGrade::Inferred, "")
    );
    assert_eq!(link(&crossed(&[]), "s0", "s1").grade, LinkGrade::Certain);
}

#[test]
fn what_a_blocked_port_sends_of_its_own_is_nobody_in_between() {
    let mut net = ring();
    net.learns("s2", 2, mac("s3", 1));
    net.learns("s2", 2, mac("s3", 0));
    let t = net.infer();
    assert_eq!(
        (link(&t, "s2", "s3").grade, alarms(&t).as_str()),
        (LinkGrade::Certain, "")
    );
    net.learns("s2", 2, host_mac("n7"));
    assert_eq!(link(&net.infer(), "s2", "s3").grade, LinkGrade::Inferred);
}
