//! Flows between hosts that hear switches, where the inventory lists none.
use super::measured::trunk;
use super::*;
use inventory::Bytes;
use inventory::evidence::{Evidence, FlowFinding};
use inventory::mapped_place::{CardLosses, MappedPlace, PlaceTrunk};
use std::collections::BTreeMap;

const NET: &str = "net-10.0.0.0-24";

/// Switches with two hosts each, and two hosts that hear none.
fn net(switches: &[&str]) -> InferenceFixture {
    let count = 2 * switches.len() as u8 + 2;
    let mut net = InferenceFixture::of_hosts(count);
    for (number, switch) in switches.iter().enumerate() {
        let [a, b] = [2 * number, 2 * number + 1].map(|n| format!("n{n}"));
        net.on_switch(switch, &[&a, &b]);
    }
    net
}

/// Measured as the network is, with these trunks.
fn measured(net: &InferenceFixture, trunks: Vec<PlaceTrunk>) -> MappedPlace {
    let topology = net.infer();
    let kinds = topology.kinds();
    let attachments: BTreeMap<&str, (&str, &str)> = topology.attachments().into_iter().collect();
    let own = attachments
        .iter()
        .filter(|(_, attachment)| kinds[attachment.0] == NodeKind::Switch);
    let owned = |host: &&str| (*host).to_owned();
    MappedPlace {
        bridge: NET.into(),
        hosts: attachments.keys().map(owned).collect(),
        beside: vec![],
        at: Millis(1),
        moved: Bytes(1),
        rates: attachments
            .keys()
            .map(|host| (owned(host), BitsPerSec::GIGABIT))
            .collect(),
        switches: own
            .map(|(host, attachment)| (owned(host), attachment.0.to_owned()))
            .collect(),
        ..super::measured::measured(trunks)
    }
}

impl InferenceFixture {
    /// The cable of the host moves to this switch.
    fn moves(&mut self, host: &str, switch: &str) {
        let report = self.view(host).host.as_mut().unwrap();
        report.frames.clear();
        report.link_losses.insert("eth0".to_owned(), 2);
        self.on_switch(switch, &[host]);
    }
}

fn attachments<'t>(topology: &'t Topology, hosts: &[&str]) -> Vec<&'t str> {
    let attachments = topology.attachments();
    hosts.iter().map(|host| attachments[host].0).collect()
}

fn mega(topology: &Topology, a: &str, b: &str) -> u64 {
    link(topology, a, b).rate_bps.0 / 1_000_000
}

#[test]
fn a_trunk_beside_one_switch_is_its_cable() {
    let net = net(&["s0", "s1"]);
    let place = measured(&net, vec![trunk(&["n2", "n3"])]);
    let topology = net.infer_with(place);
    let cable = link(&topology, NET, "s1");
    assert_eq!(
        (cable.rate_bps, cable.grade),
        (BitsPerSec::mega(100), LinkGrade::Inferred)
    );
    assert!(cable.is_measured());
    // Two hosts send there, and flows never filled it.
    assert_eq!(mega(&topology, NET, "s0"), 2000);
    let evidence = &link(&topology, NET, "s0").evidence[1];
    assert!(matches!(
        evidence,
        Evidence::Measured(FlowFinding::NotFilled { .. })
    ));
    assert_eq!(
        evidence.to_string(),
        "measured: flows between 6 hosts are not known to have filled it; 40 rounds, 0.0 MB, \
         1970-01-01 00:00 UTC"
    );
    assert_eq!(alarms(&topology), "");
    assert_eq!(topology.nodes.len(), net.infer().nodes.len());
}

#[test]
fn a_trunk_that_parts_switches_from_switches_is_a_new_bridge() {
    let net = net(&["s0", "s1", "s2"]);
    let place = measured(&net, vec![trunk(&["n2", "n3", "n4", "n5"])]);
    let topology = net.infer_with(place);
    let far = format!("{NET}-1");
    assert_eq!(mega(&topology, NET, &far), 100);
    assert_eq!(
        (mega(&topology, &far, "s1"), mega(&topology, &far, "s2")),
        (2000, 2000)
    );
    assert_eq!(mega(&topology, NET, "s0"), 2000);
    assert_eq!(alarms(&topology), "");
    assert_eq!(topology.tree().unwrap().hosts(), 8);
}

#[test]
fn a_trunk_that_parts_hosts_of_one_switch_raises_an_alarm() {
    let net = net(&["s0", "s1"]);
    let place = measured(&net, vec![trunk(&["n1", "n2", "n3"])]);
    let topology = net.infer_with(place);
    assert_eq!(topology.attachments(), net.infer().attachments());
    let text = alarms(&topology);
    assert!(
        text.contains("flows between hosts tell a trunk beside n1, n2, n3, but"),
        "{text}"
    );
    assert!(text.contains("are not known"), "{text}");
}

#[test]
fn trunks_behind_a_port_and_before_it_are_distinguished() {
    let mut net = InferenceFixture::of_hosts(8);
    net.on_switch("s0", &["n0", "n1"]);
    for host in ["n2", "n3", "n4", "n5"] {
        net.overhears(host, announced_switches::lldp("s0", "swp7"));
    }
    let behind = trunk(&["n4", "n5"]);
    let port = trunk(&["n2", "n3", "n4", "n5"]);
    let way = trunk(&["n0", "n1", "n2", "n3", "n4", "n5"]);
    let topology = net.infer_with(measured(&net, vec![behind, port, way]));
    let [near, far] = ["s0-swp7", "s0-swp7-1"];
    assert_eq!(
        attachments(&topology, &["n0", "n2", "n4", "n6"]),
        ["s0", near, far, NET]
    );
    for (a, b) in [(near, far), ("s0", near), (NET, "s0")] {
        assert_eq!(mega(&topology, a, b), 100, "{a} {b}");
    }
    assert_eq!(alarms(&topology), "");
}

#[test]
fn a_host_that_moved_is_where_it_hears_and_the_trunks_stay() {
    let mut net = net(&["s0", "s1"]);
    let mut place = measured(&net, vec![trunk(&["n2", "n3"])]);
    let losses = CardLosses {
        card: "eth0".into(),
        times: 1,
    };
    place.link_losses.insert("n2".into(), losses);
    net.moves("n2", "s0");
    let topology = net.infer_with(place.clone());
    assert_eq!(attachments(&topology, &["n2", "n3"]), ["s0", "s1"]);
    assert_eq!(mega(&topology, NET, "s1"), 100);
    assert_eq!(alarms(&topology), "");
    // Nobody measured the way to a new switch.
    net.moves("n2", "s9");
    let topology = net.infer_with(place);
    assert_eq!(attachments(&topology, &["n2"]), ["s9"]);
    assert!(!link(&topology, NET, "s9").is_measured());
    assert_eq!(mega(&topology, NET, "s1"), 100);
    assert!(
        alarms(&topology).contains("are not known"),
        "{}",
        alarms(&topology)
    );
}

#[test]
fn what_was_measured_before_switches_were_received_still_counts() {
    let flat = InferenceFixture::of_hosts(6);
    let place = measured(&flat, vec![trunk(&["n2", "n3"])]);
    assert_eq!(
        attachments(&flat.infer_with(place.clone()), &["n3"]),
        [format!("{NET}-1")]
    );
    let topology = net(&["s0", "s1"]).infer_with(place);
    assert_eq!(mega(&topology, NET, "s1"), 100);
    assert_eq!(alarms(&topology), "");
}

#[test]
fn a_new_host_on_a_known_switch_changes_nothing_else() {
    let mut net = net(&["s0", "s1"]);
    let mut place = measured(&net, vec![trunk(&["n2", "n3"])]);
    place.hosts.retain(|host| host != "n1");
    place.switches.remove("n1");
    let topology = net.infer_with(place.clone());
    assert_eq!(mega(&topology, NET, "s1"), 100);
    assert_eq!(alarms(&topology), "");
    // One that hears no switch may be anywhere.
    net.view("n1").host.as_mut().unwrap().frames.clear();
    let topology = net.infer_with(place);
    assert!(!link(&topology, NET, "s1").is_measured());
    assert!(alarms(&topology).contains("are not known"));
}

#[test]
fn a_host_that_is_gone_makes_no_bridge() {
    let mut net = net(&["s0", "s1", "s2"]);
    let place = measured(&net, vec![trunk(&["n2", "n3"]), trunk(&["n4", "n5"])]);
    for gone in ["n3", "n4", "n7"] {
        net.views.remove(gone);
    }
    let topology = net.infer_with(place);
    assert_eq!(
        (mega(&topology, NET, "s1"), mega(&topology, NET, "s2")),
        (100, 100)
    );
    let bridges = topology.nodes.iter();
    let bridges = bridges.filter(|node| node.kind == NodeKind::Unmanaged);
    assert_eq!(bridges.count(), 1);
}

#[test]
fn a_measurement_is_of_its_own_network() {
    let (mut net, other) = (net(&["s0", "s1"]), net(&["s0", "s1"]));
    let mut place = measured(&other, vec![trunk(&["n2", "n3"])]);
    for host in &mut place.hosts {
        host.insert(0, 'x');
    }
    net.on_switch("s0", &["n4", "n5"]);
    let topology = net.infer_with(place);
    assert_eq!(topology, net.infer());
}

proptest::proptest! {
    /// Whatever sides a file holds: each host keeps one place, and the links are a tree.
    #[test]
    fn any_sides_leave_each_host_one_place(
        sides in proptest::collection::vec(0_u8..=255, 0..8),
        gone in 0_usize..9,
    ) {
        let mut net = net(&["s0", "s1"]);
        for host in ["n4", "n5"] {
            net.overhears(host, announced_switches::lldp("s1", "swp7"));
        }
        let place = measured(&net, sides.iter().map(|bits| PlaceTrunk {
            side: (0..6).filter(|n| bits >> n & 1 == 1).map(|n| format!("n{n}")).collect(),
            ..trunk(&[])
        }).collect());
        let all = 6 - u32::from(net.views.remove(&format!("n{gone}")).is_some());
        let topology = net.infer_with(place);
        assert_eq!(topology.attachments().len(), all as usize);
        assert_eq!(topology.tree().unwrap().hosts(), all);
        assert_eq!(topology.to_file().tree().unwrap().hosts(), all);
    }
}
