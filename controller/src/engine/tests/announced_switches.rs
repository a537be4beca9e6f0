//! An inventory that lists no switch, and switches that hosts hear.
use super::mapping::report;
use super::world::mac;
use super::*;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame, HostReport};
use inventory::observation::NeighbourId;
use std::collections::BTreeMap;

const NET: &str = "net-10.77.0.0-24";

/// The report of a host that hears this switch, and lost its link so many times.
fn hearing(number: u8, switch: &str, losses: u32) -> HostReport {
    let content = HeardContent::Neighbour {
        protocol: DiscoveryProtocol::Lldp,
        chassis: NeighbourId::Mac(mac(switch)),
        port: NeighbourId::Text(format!("swp{number}")),
        port_descr: String::new(),
        name: switch.to_owned(),
        capabilities: None,
    };
    let frames = HeardFrame {
        nic: "eth0".into(),
        at: Millis(1),
        content,
    };
    HostReport {
        frames: if switch.is_empty() {
            vec![]
        } else {
            vec![frames]
        },
        link_losses: BTreeMap::from([("eth0".to_owned(), losses)]),
        ..report(number)
    }
}

/// A host on each of these switches; on none where the name is empty.
fn on(switches: &[&str], settings: &str) -> SimulatedCluster {
    let names: Vec<String> = (0..switches.len()).map(|n| format!("n{n}")).collect();
    let mut w = SimulatedCluster::new(&[], &format!("[{}]", names.join(", ")));
    w.allow(settings);
    w.start(None);
    for (number, switch) in switches.iter().enumerate() {
        w.tells(hearing(number as u8, switch, 0));
    }
    w.run(3_000);
    w
}

/// The rate of the cable of a switch to the bridge, in Mbit/s.
fn rate(w: &SimulatedCluster, switch: &str) -> u64 {
    let links = &w.published.last().unwrap().file.links;
    let cable = links
        .iter()
        .find(|l| [&l.a, &l.b].iter().any(|end| **end == switch));
    cable.unwrap().rate.0 / 1_000_000
}

#[test]
fn switches_that_hosts_hear_are_published_and_the_ways_between_are_measured() {
    let mut w = on(&["s0", "s0", "s1", "s1", ""], "{}");
    assert_eq!(
        (w.published.len(), w.places()),
        (1, vec!["s0", "s0", "s1", "s1", NET])
    );
    assert!(w.alarmed("hosts hear 2 switches"), "{:#?}", w.logged);
    w.order(1);
    let order = w.mapping.last().expect("a measurement");
    assert_eq!((order.inside.len(), order.beside.len()), (5, 0));
    assert_eq!(order.place, NET);
    w.measured(&["n2", "n3"]);
    assert_eq!(w.places(), ["s0", "s0", "s1", "s1", NET]);
    assert_eq!(rate(&w, "s1"), 100);
    assert_eq!(w.mapped.places[0].switches["n2"], "s1");
    assert_eq!(w.mapped.places[0].switches.len(), 4);
}

#[test]
fn one_switch_that_all_hosts_hear_leaves_nothing_to_measure() {
    let mut w = on(&["s0"; 4], "{}");
    assert_eq!((w.published.len(), w.places()), (1, vec!["s0"; 4]));
    assert!(!w.alarmed("not known"), "{:#?}", w.logged);
    let status = w.order(1);
    assert!(w.mapping.is_empty() && status.failures == 0);
}

#[test]
fn a_cable_that_moves_is_one_epoch_and_trunks_stay_measured() {
    let mut w = on(&["s0", "s0", "s0", "s1", "s1", "s1"], "{}");
    w.order(1);
    w.measured(&["n3", "n4", "n5"]);
    let before = w.published.len();
    // The link is lost. Then the host is on its way, and at last it hears a switch.
    let mut down = hearing(3, "", 0);
    down.nics[0].up = false;
    w.tells(down);
    w.run(10_000);
    w.tells(hearing(3, "", 1));
    w.run(10_000);
    assert_eq!(w.published.len(), before, "{:#?}", w.logged);
    assert!(
        w.alarmed("keeps it on \"s1\"; until it hears a switch, or for 30 s"),
        "{:#?}",
        w.logged
    );
    w.tells(hearing(3, "s0", 1));
    let moved = w.now;
    w.run(3_000);
    assert_eq!(w.published.len(), before + 1, "{:#?}", w.logged);
    assert_eq!(w.places(), ["s0", "s0", "s0", "s0", "s1", "s1"]);
    assert_eq!(rate(&w, "s1"), 100);
    assert!(w.now.since(moved).as_secs() <= 3);
    assert!(!w.alarmed("the link of n3 was lost"), "{:#?}", w.logged);
}

#[test]
fn an_agent_that_starts_anew_makes_no_epoch() {
    let mut w = on(&["s0", "s0", "s1"], "{}");
    w.tells(hearing(2, "", 0));
    w.run(25_000);
    w.tells(hearing(2, "s1", 0));
    w.run(100_000);
    assert_eq!((w.published.len(), w.places()), (1, vec!["s0", "s0", "s1"]));
}

#[test]
fn agents_that_start_anew_raise_no_alarm_about_the_bridge() {
    let mut w = on(&["s0", "s0", "s0"], "{}");
    (0..3).for_each(|host| w.tells(hearing(host, "", 0)));
    w.run(20_000);
    assert!(w.alarmed("until it hears a switch"), "{:#?}", w.logged);
    (0..3).for_each(|host| w.tells(hearing(host, "s0", 0)));
    w.run(100_000);
    assert_eq!((w.published.len(), w.places()), (1, vec!["s0"; 3]));
    let lines = w.logged.iter().filter(|line| line.contains("not known"));
    assert_eq!(lines.count(), 0, "{:#?}", w.logged);
}

#[test]
fn all_agents_that_start_anew_leave_the_measured_tree() {
    let mut w = on(&["s0", "s0", "s1", "s1", "s2", "s2", "s3"], "{}");
    w.order(1);
    w.measured(&["n2", "n3", "n4", "n5"]);
    let before = w.published.len();
    assert_eq!(w.published.last().unwrap().file.switches.len(), 6);
    (0..7).for_each(|host| w.tells(hearing(host, "", 0)));
    w.run(20_000);
    assert!(!w.alarmed("no complete tree"), "{:#?}", w.logged);
    for (host, switch) in ["s0", "s0", "s1", "s1", "s2", "s2", "s3"]
        .iter()
        .enumerate()
    {
        w.tells(hearing(host as u8, switch, 0));
    }
    w.run(100_000);
    assert_eq!(w.published.len(), before, "{:#?}", w.logged);
}

#[test]
fn a_host_that_hears_no_switch_any_more_goes_to_the_bridge() {
    let mut w = on(&["s0", "s0", "s1", "s1"], "{}");
    w.tells(hearing(2, "", 0));
    w.run(28_000);
    assert_eq!(w.published.len(), 1, "{:#?}", w.logged);
    w.run(5_000);
    assert_eq!(w.places(), ["s0", "s0", NET, "s1"]);
    w.run(100_000);
    assert_eq!((w.published.len(), w.places()[2]), (2, NET));
}

#[test]
fn unasked_a_new_switch_is_measured_and_a_move_is_not() {
    let mut w = on(&["s0", "s0", "s0", "s1", "s1"], "{\"unasked\": true}");
    w.run(60_000);
    assert_eq!(w.mapping.len(), 1, "{:#?}", w.logged);
    w.measured(&["n3", "n4"]);
    w.tells(hearing(2, "s1", 1));
    w.run(600_000);
    assert_eq!(
        (w.mapping.len(), w.places()[2]),
        (1, "s1"),
        "{:#?}",
        w.logged
    );
    w.tells(hearing(2, "s2", 2));
    w.run(180_000);
    assert_eq!(
        (w.mapping.len(), w.places()[2]),
        (2, "s2"),
        "{:#?}",
        w.logged
    );
    assert!(w.alarmed("are not known"), "{:#?}", w.logged);
}
