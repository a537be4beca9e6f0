//! Measurements of flows that decide on which switch a host is.
use super::mapping::report;
use super::*;
use inventory::host_report::HostReport;

/// s0 - s1: n0, n1 and n4 on s0, n2 and n3 on s1, all with agents that measure. Nobody sees n5.
fn unseen(settings: &str) -> SimulatedCluster {
    unseen_of(settings, "[n0, n1, n2, n3, n4, n5]")
}

fn unseen_of(settings: &str, hosts: &str) -> SimulatedCluster {
    let mut w = SimulatedCluster::new(&["s0", "s1"], hosts);
    w.allow(settings);
    w.cable("s0", 1, "s1", 1);
    for (host, switch, port) in [
        ("n0", "s0", 2),
        ("n1", "s0", 3),
        ("n4", "s0", 4),
        ("n2", "s1", 2),
        ("n3", "s1", 3),
    ] {
        w.host(host, switch, port);
    }
    w.start(None);
    (0..6).for_each(|n| w.reports(n, true));
    w.run(20_000);
    w
}

/// The same, and both switches hear n5.
fn torn(settings: &str) -> SimulatedCluster {
    let mut w = unseen(settings);
    w.host("n5", "s0", 9);
    w.host("n5", "s1", 9);
    w.run(20_000);
    w
}

fn names(hosts: &[(String, IpAddr)]) -> Vec<&str> {
    hosts.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn flows_put_a_host_on_one_of_two_switches() {
    for (side, on) in [(&["n2", "n3", "n5"][..], "s1"), (&["n2", "n3"], "s0")] {
        let mut w = torn("{}");
        assert!(w.alarmed("its place is ambiguous"), "{:#?}", w.logged);
        let status = w.order(1);
        assert_eq!(status.running.unwrap().place, "n5");
        let order = &w.mapping[0];
        // One of each switch, then a second one.
        let members = (names(&order.inside), names(&order.beside));
        assert_eq!(members, (vec!["n5"], vec!["n0", "n2", "n1", "n3"]));
        w.measured(side);
        assert_eq!(w.switch_of("n5"), on);
        assert!(!w.alarmed("its place is ambiguous"), "{:#?}", w.logged);
        let results = w.engine.snapshot(w.now).mapping.results;
        let line = format!("n5 is on {on}: probability 0.999");
        assert_eq!(results[0], line);
        // An order measures it again.
        assert_eq!(w.order(2).running.unwrap().place, "n5");
        w.measured(side);
        assert_eq!(w.switch_of("n5"), on);
        // Protocols decide: what flows found is over.
        w.unplug("s0", 9);
        w.unplug("s1", 9);
        w.host("n5", "s0", 7);
        w.run(20_000);
        assert_eq!(w.switch_of("n5"), "s0");
    }
}

#[test]
fn a_host_that_no_switch_has_seen_gets_a_place() {
    let mut w = unseen("{}");
    assert!(!w.published.last().unwrap().file.hosts.contains_key("n5"));
    w.order(1);
    assert_eq!(names(&w.mapping[0].inside), ["n5"]);
    w.measured(&["n2", "n3", "n5"]);
    assert_eq!(w.switch_of("n5"), "s1");
    let file = &w.published.last().unwrap().file;
    assert_eq!(file.hosts["n5"].rate, inventory::BitsPerSec::mega(200));
    // A switch that has a table would have seen it, so it is on the other one.
    let mut w = unseen("{}");
    let seen = w.devices.get_mut("s0").unwrap();
    seen.learned.insert("n0".to_owned(), 2);
    w.run(600_000);
    w.order(1);
    // The hosts of the other one show that it is not there.
    assert_eq!(names(&w.mapping[0].beside), ["n2", "n3", "n0", "n1"]);
    w.measured(&["n2", "n3", "n5"]);
    assert_eq!(w.switch_of("n5"), "s1");
}

#[test]
fn what_flows_do_not_tell_stays_open() {
    let mut w = torn("{}");
    w.order(1);
    // No trunk of the tree parts these.
    w.measured(&["n0", "n3"]);
    let status = w.engine.snapshot(w.now).mapping;
    assert_eq!(
        status.results[0],
        "n5 may be on s0 or s1: flows filled no cable that decides"
    );
    assert!(w.alarmed("its place is ambiguous"), "{:#?}", w.logged);
    // A host that may be switched off is not asked for.
    let mut w = unseen("{}");
    w.reports(5, false);
    w.run(1_000);
    let status = w.order(2);
    assert!(
        status.results[0].contains("nothing to measure"),
        "{status:?}"
    );
    let mut w = torn("{}");
    w.reports(5, false);
    w.run(1_000);
    let status = w.order(2);
    assert!(status.results[0].contains("reports for n5"), "{status:?}");
}

#[test]
fn unasked_a_host_is_measured_that_stays_in_doubt() {
    let mut w = torn("{\"unasked\": true}");
    w.run(90_000);
    assert_eq!(w.mapping.len(), 1, "{:#?}", w.logged);
    w.measured(&["n2", "n3", "n5"]);
    w.run(90_000);
    assert_eq!((w.mapping.len(), w.switch_of("n5")), (1, "s1"));
}

#[test]
fn a_measured_host_whose_link_was_lost_is_measured_again() {
    let mut w = unseen("{\"unasked\": true}");
    w.tells(losses(0));
    w.run(60_000);
    w.measured(&["n2", "n3", "n5"]);
    w.run(2 * 3_600_000);
    assert_eq!((w.mapping.len(), w.switch_of("n5")), (1, "s1"));
    // Its cable is on s0 now, which no switch sees.
    w.tells(losses(1));
    w.run(10_000);
    assert!(
        w.alarmed("\"s1\": the link of n5 was lost"),
        "{:#?}",
        w.logged
    );
    w.run(90_000);
    assert_eq!(w.mapping.len(), 2, "{:#?}", w.logged);
    w.measured(&["n2", "n3"]);
    assert_eq!(w.switch_of("n5"), "s0");
    assert!(!w.alarmed("was lost"), "{:#?}", w.logged);
}

fn losses(times: u32) -> HostReport {
    HostReport {
        link_losses: [("eth0".to_owned(), times)].into(),
        ..report(5)
    }
}

/// As [`unseen`], with a host n6 that nobody sees and that tells nothing yet.
fn two_unseen(settings: &str) -> SimulatedCluster {
    unseen_of(settings, "[n0, n1, n2, n3, n4, n5, n6]")
}

#[test]
fn each_host_is_measured_once_in_an_hour_whoever_else_is_in_doubt() {
    let mut w = two_unseen("{\"unasked\": true}");
    w.run(60_000);
    // Flows tell nothing of n5.
    w.measured(&["n0", "n2"]);
    w.run(60_000);
    assert_eq!(measured_hosts(&w), ["n5"]);
    w.reports(6, true);
    w.run(120_000);
    assert_eq!(measured_hosts(&w), ["n5", "n6"]);
}

fn measured_hosts(w: &SimulatedCluster) -> Vec<String> {
    let orders = w.mapping.iter();
    orders
        .map(|order| names(&order.inside).join(", "))
        .collect()
}

#[test]
fn a_host_in_another_network_keeps_no_other_from_its_measurement() {
    let mut w = two_unseen("{}");
    // A card for management, beside the one of the others' network.
    w.tells(with_addresses(&["10.1.0.6", "10.77.0.16"]));
    assert_eq!(w.order(1).running.unwrap().place, "n5, n6");
    w.measured(&["n2", "n3", "n5"]);
    w.tells(with_addresses(&["10.1.0.6"]));
    w.run(1_000);
    assert_eq!(w.order(2).running.unwrap().place, "n5");
}

fn with_addresses(addresses: &[&str]) -> HostReport {
    let mut report = report(6);
    let addresses = addresses.iter().map(|a| (a.parse().unwrap(), 24));
    report.nics[0].addresses = addresses.collect();
    report
}

#[test]
fn a_measurement_that_rules_the_former_switch_out_ends_it() {
    let mut w = unseen("{}");
    w.switch("s2");
    w.allow("{}");
    w.cable("s1", 8, "s2", 8);
    w.start(None);
    (0..6).for_each(|n| w.reports(n, true));
    w.run(20_000);
    w.order(1);
    w.measured(&["n2", "n3", "n5"]);
    let open = "n5 may be on s1 or s2: flows filled no cable that decides";
    assert_eq!(
        (results(&w)[0].as_str(), w.mapped.attachments.len()),
        (open, 0)
    );
    w.order(2);
    w.measured(&["n2", "n3"]);
    assert_eq!(w.switch_of("n5"), "s0");
    w.order(3);
    w.measured(&["n2", "n3", "n5"]);
    assert_eq!(
        (results(&w)[0].as_str(), w.mapped.attachments.len()),
        (open, 0)
    );
}

fn results(w: &SimulatedCluster) -> Vec<String> {
    w.engine.snapshot(w.now).mapping.results
}

#[test]
fn a_journal_that_begins_in_a_measurement_knows_what_it_is_about() {
    let mut w = torn("{}");
    w.order(1);
    let header = serde_json::to_string(&w.engine.header()).unwrap();
    let header = serde_json::from_str(&header).unwrap();
    w.engine = ControllerEngine::resume_from(header);
    let status = w.engine.snapshot(w.now).mapping;
    assert_eq!(status.running.unwrap().place, "n5");
    w.measured(&["n2", "n3", "n5"]);
    assert_eq!(w.switch_of("n5"), "s1");
}

#[test]
fn a_measurement_ends_with_the_time_that_is_allowed_for_it() {
    // The simulated time begins at 00:16.
    let mut w = torn("{\"times\": [\"00:00-00:20\"]}");
    w.order(1);
    let longest = w.mapping[0].longest;
    let most = std::time::Duration::from_secs(4 * 60);
    assert!(longest < most, "{longest:?}");
    let mut inventory = w.inventory.clone();
    w.event(ControllerEvent::InventoryChanged(Box::new(
        inventory.clone(),
    )));
    assert_eq!(w.ended, 0);
    inventory.measuring = None;
    w.event(ControllerEvent::InventoryChanged(Box::new(inventory)));
    assert_eq!(w.ended, 1);
}
