//! Host agents: they add knowledge, and a missing or bad agent does no harm.
use super::*;
use inventory::host_report::{HostReport, Nic};
use inventory::{BitsPerSec, Mac};

fn report(host: &str, card: u8) -> HostReport {
    let nic = Nic {
        name: "eth0".into(),
        mac: Some(Mac([2, 0xa, 0, 0, 0, card])),
        addresses: vec![(format!("10.77.0.{card}").parse().unwrap(), 24)],
        rate: Some(BitsPerSec::GIGABIT),
        up: true,
        ..Nic::default()
    };
    HostReport {
        host: host.into(),
        slots: 4,
        nics: vec![nic],
        ..HostReport::default()
    }
}

impl SimulatedCluster {
    fn hears(&mut self, host: &str, fact: DeviceFact) {
        self.event(ControllerEvent::Observed(Observation {
            at: self.now,
            reporter: host.into(),
            source: ObservationSource::Agent,
            fact,
        }));
        self.run(50);
    }

    fn times_logged(&self, part: &str) -> usize {
        self.logged.iter().filter(|s| s.contains(part)).count()
    }
}

fn silence() -> DeviceFact {
    DeviceFact::Failed {
        table: None,
        problem: "no report for 11 s".into(),
        refused: None,
    }
}

#[test]
fn hosts_are_ordered_to_probe_a_neighbour_and_those_on_other_switches() {
    let mut w = running();
    assert_eq!(w.assignment.keys().collect::<Vec<_>>(), ["n0", "n1", "n2"]);
    assert!(
        w.assignment
            .values()
            .all(|d| d.peers.is_empty() && d.every_ms == 2_000)
    );
    for (host, card) in [("n0", 10), ("n1", 11), ("n2", 12)] {
        w.hears(host, DeviceFact::Host(report(host, card)));
    }
    assert_eq!(
        (peers("n0", &w).len(), peers("n1", &w), peers("n2", &w)),
        (1, vec!["n2", "n0"], vec![]),
        "each pair of switches, and a neighbour"
    );
}

fn peers<'a>(host: &str, w: &'a SimulatedCluster) -> Vec<&'a str> {
    w.assignment[host]
        .peers
        .iter()
        .map(|p| p.host.as_str())
        .collect::<Vec<_>>()
}

#[test]
fn only_the_card_on_the_known_network_is_probed() {
    let mut w = running();
    let mut two_cards = report("n0", 10);
    let management = Nic {
        name: "mgmt".into(),
        addresses: vec![("192.168.0.10".parse().unwrap(), 24)],
        ..two_cards.nics[0].clone()
    };
    two_cards.nics.insert(
        0,
        Nic {
            mac: Some(Mac([2, 0xb, 0, 0, 0, 10])),
            ..management
        },
    );
    w.hears("n1", DeviceFact::Host(report("n1", 11)));
    w.hears("n0", DeviceFact::Host(two_cards.clone()));
    assert!(
        probed_addresses(&w).contains(&"10.77.0.10".to_owned()),
        "{:?}",
        probed_addresses(&w)
    );
    two_cards.nics[1].up = false;
    w.hears("n0", DeviceFact::Host(two_cards));
    assert!(
        probed_addresses(&w)
            .iter()
            .all(|a| !a.starts_with("192.168.") && a != "10.77.0.10"),
        "{:?}",
        probed_addresses(&w)
    );
}

fn probed_addresses(w: &SimulatedCluster) -> Vec<String> {
    w.assignment["n1"]
        .peers
        .iter()
        .map(|p| p.address.to_string())
        .collect::<Vec<_>>()
}

#[test]
fn slots_are_ranks_and_one_epoch() {
    let mut w = running();
    for (host, card) in [("n0", 10), ("n1", 11), ("n2", 12)] {
        w.hears(host, DeviceFact::Host(report(host, card)));
    }
    w.run(3_000);
    assert_eq!(
        (w.published.len(), w.published[1].file.hosts["n1"].ranks),
        (2, 4)
    );
    assert_eq!(
        w.engine.snapshot(w.now).epochs[1].changes,
        ["n0, n1, n2 offer 4 ranks", "n0, n1, n2 have an address now"]
    );
    w.hears("n1", silence());
    w.run(100_000);
    assert_eq!(w.published.len(), 2);
}

#[test]
fn an_agent_that_changes_its_mind_for_ever_is_held_and_reported_and_others_are_not() {
    let mut w = running();
    for n in 0..100 {
        w.hears(
            "n1",
            DeviceFact::Host(HostReport {
                slots: 4 + n % 2,
                ..report("n1", 11)
            }),
        );
        let mut moving = report("n2", 12);
        moving.nics[0].addresses[0].0 = format!("10.77.0.{}", 20 + n % 2).parse().unwrap();
        w.hears("n2", DeviceFact::Host(moving));
        w.run(1_000);
    }
    let epochs = w.published.len();
    assert!(epochs <= 5, "not one for each of 100 changes: {epochs}");
    assert!(
        w.alarmed("host \"n1\": its agent changed the number of ranks or the address "),
        "{:?}",
        w.alarms()
    );
    assert!(
        w.times_logged("changed the number of ranks") < 20,
        "a message must not flap"
    );
    w.hears("n0", DeviceFact::Host(report("n0", 10)));
    w.run(3_000);
    assert_eq!(
        (
            w.published.len(),
            w.published[epochs].file.hosts["n0"].ranks
        ),
        (epochs + 1, 4),
        "others report meanwhile"
    );
    // After calm its last report counts.
    w.hears(
        "n1",
        DeviceFact::Host(HostReport {
            slots: 9,
            ..report("n1", 11)
        }),
    );
    w.run(400_000);
    assert_eq!(w.published.last().unwrap().file.hosts["n1"].ranks, 9);
    assert_eq!(w.alarms(), []);
}

#[test]
fn a_silent_agent_is_reported_once_and_changes_nothing_else() {
    let mut w = running();
    w.hears("n1", DeviceFact::Host(report("n1", 11)));
    w.run(3_000);
    let (epochs, alarms) = (w.published.len(), w.alarms());
    w.hears("n1", silence());
    w.hears("n1", silence());
    w.run(60_000);
    assert_eq!(
        (
            w.times_logged("its agent is silent: no report for 11 s"),
            w.published.len()
        ),
        (1, epochs)
    );
    assert_eq!(w.alarms(), alarms);
    assert!(
        w.assignment["n0"].peers.iter().all(|p| p.host == "n1"),
        "no other host on that switch reports, so it is still probed"
    );
    w.hears("n1", DeviceFact::Host(report("n1", 11)));
    assert_eq!(w.times_logged("reports again"), 1);
}

#[test]
fn an_agent_under_a_wrong_name_takes_no_address_from_the_host_that_has_it() {
    let mut w = running();
    for (host, card) in [("n0", 10), ("n1", 11), ("n2", 12)] {
        w.hears(host, DeviceFact::Host(report(host, card)));
    }
    w.run(3_000);
    let epochs = w.published.len();
    w.hears("n1", DeviceFact::Host(report("n1", 12)));
    w.run(3_000);
    w.hears("n1", DeviceFact::Host(report("n1", 11)));
    w.run(3_000);
    assert_eq!(w.published.len(), epochs);
}

#[test]
fn two_machines_under_one_name_are_an_alarm_and_neither_is_believed() {
    let mut w = running();
    w.hears("n1", DeviceFact::Host(report("n1", 11)));
    w.hears("n1", DeviceFact::Host(report("n1", 21)));
    assert!(
        !w.alarmed("two machines report"),
        "a new board in the old place"
    );
    w.hears("n1", DeviceFact::Host(report("n1", 11)));
    assert!(w.alarmed(
        "host \"n1\": two machines report under this name in turn, with cards \
                       02:0a:00:00:00:0b and 02:0a:00:00:00:15"
    ));
    for card in [21, 11, 21, 11] {
        w.run(3_000);
        w.hears("n1", DeviceFact::Host(report("n1", card)));
    }
    assert_eq!(w.times_logged("two machines report"), 1);
    for _ in 0..61 {
        w.run(10_000);
        w.hears("n1", DeviceFact::Host(report("n1", 11)));
    }
    assert!(!w.alarmed("two machines report"), "one of them is gone");
}

#[test]
fn a_refused_report_is_announced_once() {
    let mut w = running();
    for _ in 0..5 {
        w.event(refused_report(
            "host \"x\": reports, but the inventory does not list it".into(),
        ));
    }
    assert_eq!(
        w.times_logged("(from 10.9.9.9); its reports are refused"),
        1
    );
    (0..1000).for_each(|i| w.event(refused_report(format!("host \"x{i}\": unknown"))));
    assert!(w.times_logged("its reports are refused") <= 64);
}

fn refused_report(problem: String) -> ControllerEvent {
    ControllerEvent::ReportRefused {
        from: "10.9.9.9".parse().unwrap(),
        problem,
    }
}

#[test]
fn late_reports_of_hosts_that_left_are_nothing() {
    let mut w = running();
    w.hears("n7", DeviceFact::Host(report("n7", 17)));
    w.hears("n2", DeviceFact::Host(report("n2", 12)));
    let mut smaller = w.inventory.clone();
    smaller.hosts.shift_remove("n2");
    w.event(ControllerEvent::InventoryChanged(Box::new(smaller)));
    assert_eq!(w.assignment.keys().collect::<Vec<_>>(), ["n0", "n1"]);
    w.hears("n2", DeviceFact::Host(report("n2", 12)));
    w.run(1_000);
    assert!(!w.assignment.contains_key("n2") && !w.assignment.contains_key("n7"));
}

#[test]
fn cards_are_measured_and_ways_shown_while_an_agent_reports() {
    use inventory::host_report::{ProbedPath, RoundTrip};
    let mut w = running();
    for second in 0..6u64 {
        let mut report = report("n1", 11);
        report.nics[0].in_octets = second * 1_000_000;
        let round_trip = Some(RoundTrip {
            min_us: 150,
            median_us: 200,
            samples: 3,
        });
        report.paths = vec![ProbedPath {
            to: "n0".into(),
            address: "10.77.0.10".parse().unwrap(),
            hops: vec![None],
            reached: true,
            round_trip,
        }];
        w.hears("n1", DeviceFact::Host(report));
        w.run(950);
    }
    let agents = w.engine.snapshot(w.now).agents;
    let [agent] = &agents[..] else {
        panic!("expected one agent, found {agents:?}")
    };
    assert_eq!(
        (agent.host.as_str(), agent.inward, agent.outward),
        ("n1", Some(BitsPerSec(8_000_000)), Some(BitsPerSec(0)))
    );
    assert_eq!((agent.ways[0].hops, agent.ways[0].min_us), (1, Some(150)));
    w.hears("n1", silence());
    assert_eq!(
        w.engine.snapshot(w.now).agents[0].problem.as_deref(),
        Some("no report for 11 s")
    );
}
