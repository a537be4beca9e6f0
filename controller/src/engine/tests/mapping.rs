//! Measurements of flows between hosts: when one is ordered, and what becomes of it.
use super::world::mac;
use super::*;
use inventory::Bytes;
use inventory::host_report::{HostReport, Nic};
use inventory::mapped_place::{MappedPlace, MappedPlaces, PlaceTrunk};
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest time before a place is measured unasked again.
const AGAIN: Duration = Duration::from_secs(3600);

/// Hosts n0 and n1 on ports of their own, n2 to n6 behind one port, with agents that measure.
fn place(settings: &str) -> SimulatedCluster {
    let mut w = SimulatedCluster::new(&["s0"], "[n0, n1, n2, n3, n4, n5, n6]");
    w.allow(settings);
    w.host("n0", "s0", 1);
    w.host("n1", "s0", 2);
    // Something without LLDP is on the port, and hosts are learned there.
    w.host("n2", "s0", 7);
    w.lose_row("s0", 7);
    let learned = ["n2", "n3", "n4", "n5", "n6"].map(|host| (host.to_owned(), 7));
    w.devices.get_mut("s0").unwrap().learned.extend(learned);
    w.start(None);
    for n in 0..7 {
        w.reports(n, true);
    }
    w.run(3_000);
    w
}

/// The report of a host with one card, which measures.
pub(super) fn report(number: u8) -> HostReport {
    let host = format!("n{number}");
    let nic = Nic {
        name: "eth0".into(),
        mac: Some(mac(&host)),
        addresses: vec![(format!("10.77.0.{}", 10 + number).parse().unwrap(), 24)],
        up: true,
        ..Nic::default()
    };
    HostReport {
        host,
        slots: 1,
        nics: vec![nic],
        measures: true,
        ..HostReport::default()
    }
}

impl SimulatedCluster {
    pub(super) fn allow(&mut self, settings: &str) {
        let mut inventory = self.inventory.clone();
        inventory.measuring =
            (!settings.is_empty()).then(|| serde_json::from_str(settings).unwrap());
        self.engine = ControllerEngine::new(inventory.clone(), ControllerOptions::default());
        self.inventory = inventory;
    }

    pub(super) fn reports(&mut self, number: u8, measures: bool) {
        self.tells(HostReport {
            measures,
            ..report(number)
        });
    }

    pub(super) fn tells(&mut self, report: HostReport) {
        self.event(ControllerEvent::Observed(Observation {
            at: self.now,
            reporter: report.host.clone(),
            source: ObservationSource::Agent,
            fact: DeviceFact::Host(report),
        }));
    }

    pub(super) fn order(&mut self, request: u64) -> api::mapping::MappingStatus {
        self.event(ControllerEvent::MappingOrdered { request });
        self.engine.snapshot(self.now).mapping
    }

    /// The end of the measurement that was ordered last.
    pub(super) fn measured(&mut self, side: &[&str]) {
        let order = self.mapping.last().unwrap().clone();
        let place = MappedPlace {
            bridge: order.place.clone(),
            hosts: names(&order.inside),
            beside: names(&order.beside),
            at: self.now,
            rounds: 40,
            moved: Bytes(9 << 20),
            trunks: vec![PlaceTrunk {
                side: side.iter().map(|host| (*host).to_owned()).collect(),
                rate: inventory::BitsPerSec::mega(100),
                probability: 999,
                filled: 20,
            }],
            rates: BTreeMap::new(),
            link_losses: BTreeMap::new(),
            switches: BTreeMap::new(),
        };
        let outcome = MappingOutcome {
            ways: None,
            moved: place.moved,
            place: Some(place),
            rates: BTreeMap::from([("n5".to_owned(), inventory::BitsPerSec::mega(200))]),
            problem: None,
        };
        self.ends(outcome);
    }

    pub(super) fn ends(&mut self, outcome: MappingOutcome) {
        let ticket = self.mapping.last().unwrap().ticket;
        let outcome = Box::new(outcome);
        self.event(ControllerEvent::PlaceMapped { ticket, outcome });
        self.run(3_000);
    }

    pub(super) fn switch_of(&self, host: &str) -> &str {
        &self.published.last().unwrap().file.hosts[host].switch
    }
}

fn names<T>(hosts: &[(String, T)]) -> Vec<String> {
    hosts.iter().map(|(name, _)| name.clone()).collect()
}

#[test]
fn hosts_of_a_bridge_that_is_cut_off_are_dropped() {
    let mut w = place("");
    w.devices.get_mut("s0").unwrap().learned.clear();
    w.unplug("s0", 7);
    w.run(10_000);
    assert!(
        w.alarmed("no link leads there from another one, so it is dropped 30 s"),
        "{:#?}",
        w.logged
    );
    w.run(110_000);
    let hosts = w.published.last().unwrap().file.hosts.keys();
    assert!(hosts.eq(["n0", "n1"]), "{:#?}", w.logged);
}

#[test]
fn a_measured_place_becomes_an_epoch_and_is_kept() {
    let mut w = place("{}");
    assert_eq!((w.switch_of("n2"), w.mapping.len()), ("s0-swp7", 0));
    let status = w.order(1);
    let running = status.running.unwrap();
    assert_eq!(
        (running.place.as_str(), running.hosts, status.request),
        ("s0-swp7", 7, 1)
    );
    let order = &w.mapping[0];
    let beside: Vec<&str> = order.beside.iter().map(|(host, _)| host.as_str()).collect();
    assert_eq!((order.inside.len(), beside), (5, vec!["n0", "n1"]));
    assert_eq!((order.share, order.budget), (0.1, Bytes(1 << 30)));
    w.measured(&["n5", "n6"]);
    let hosts = ["n1", "n4", "n5"].map(|host| w.switch_of(host));
    assert_eq!(hosts, ["s0", "s0-swp7", "s0-swp7-1"]);
    let status = w.engine.snapshot(w.now).mapping;
    assert!(status.is_idle() && status.failures == 0);
    assert!(
        status.results[0].contains("trunk 100M beside n5 n6"),
        "{status:?}"
    );
    assert_eq!(w.mapped.places.len(), 1);
    // A controller that starts knows it.
    let settled = w.published.last().unwrap();
    let current = StoredEpoch {
        number: settled.number,
        network: settled.network.clone(),
        file: settled.file.clone(),
    };
    let (mut next, kept) = (place("{}"), MappedPlaces::clone(&w.mapped));
    next.engine = ControllerEngine::new(next.inventory.clone(), ControllerOptions::default());
    let before = next.published.len();
    next.event(ControllerEvent::Started {
        current: Some(current),
        highest: 9,
        epochs: Vec::new(),
        problem: None,
        learned: Default::default(),
        mapped: kept,
    });
    (0..7).for_each(|n| next.reports(n, true));
    next.run(5_000);
    assert_eq!(next.published.len(), before, "{:#?}", next.logged);
    // The place is measured as a whole again.
    next.order(2);
    assert_eq!(
        (next.mapping[0].place.as_str(), next.mapping[0].inside.len()),
        ("s0-swp7", 5)
    );
}

#[test]
fn what_the_operator_does_not_allow_is_refused() {
    // The simulated time begins at 00:16.
    for (settings, refusal) in [
        ("", "the inventory does not allow it"),
        (&one_hour(5), "allows measurements at 05:00-06:00 UTC only"),
    ] {
        let status = place(settings).order(1);
        assert!(status.is_idle() && status.failures == 1, "{status:?}");
        assert!(status.results[0].contains(refusal), "{status:?}");
    }
    assert!(place(&one_hour(0)).order(1).running.is_some());
    let mut w = place("{\"budget\": \"9M\"}");
    assert!(w.order(1).running.is_some());
    w.measured(&["n5", "n6"]);
    let status = w.order(2);
    assert!(
        status.results[0].contains("budget of 9M bytes for 24 hours is spent"),
        "{status:?}"
    );
    let figures = w.engine.figures().measuring;
    let counts = [figures.measured, figures.failed, figures.refused];
    assert_eq!((counts, figures.sent), ([1, 0, 1], Bytes(9 << 20)));
}

fn one_hour(from: u64) -> String {
    format!("{{\"times\": [\"{from:02}:00-{:02}:00\"]}}", from + 1)
}

#[test]
fn hosts_without_an_agent_that_measures_are_named() {
    let mut w = place("{}");
    w.reports(4, false);
    w.run(1_000);
    let status = w.order(1);
    assert!(status.results[0].contains("reports for n4"), "{status:?}");
    w.reports(4, true);
    w.run(1_000);
    assert!(w.order(2).running.is_some());
    w.ends(MappingOutcome::failed(
        "n3: no agent there takes part".into(),
    ));
    let status = w.engine.snapshot(w.now).mapping;
    assert_eq!((status.failures, w.mapped.places.len()), (1, 0));
    assert!(
        status.results[0].contains("what was known before stays"),
        "{status:?}"
    );
}

#[test]
fn unasked_a_place_is_measured_once_and_again_when_its_hosts_change() {
    let mut w = place("{\"unasked\": true}");
    w.run(60_000);
    assert_eq!(w.mapping.len(), 1, "{:#?}", w.logged);
    w.measured(&["n5", "n6"]);
    w.run(120_000);
    assert_eq!((w.mapping.len(), w.switch_of("n6")), (1, "s0-swp7-1"));
    // n2 goes to a port of its own: the measurement is stale.
    w.devices.get_mut("s0").unwrap().learned.remove("n2");
    w.host("n2", "s0", 3);
    w.run(60_000);
    assert_eq!(w.switch_of("n6"), "s0-swp7", "{:#?}", w.logged);
    assert_eq!(w.mapping.len(), 2, "{:#?}", w.logged);
    w.ends(MappingOutcome::failed("no".into()));
    w.run(600_000);
    assert_eq!(w.mapping.len(), 2, "not again so soon");
    assert_eq!(place("{}").mapping.len(), 0);
    // The list of results does not grow for ever.
    w.run(4_000_000);
    assert_eq!(w.mapping.len(), 3, "an hour later");
    w.ends(MappingOutcome::failed("no".into()));
    let status = w.engine.snapshot(w.now).mapping;
    assert_eq!(
        (status.results.len(), status.failures),
        (1, 1),
        "{status:?}"
    );
}

#[test]
fn unasked_a_place_is_measured_again_when_a_link_was_lost_and_ever_more_seldom() {
    let mut w = place("{\"unasked\": true}");
    w.tells(losses(0));
    w.run(60_000);
    let mut pauses = Vec::new();
    for times in 1..=8 {
        w.measured(&["n5", "n6"]);
        let (measured, before) = (w.now, w.mapping.len());
        w.tells(losses(times));
        while w.mapping.len() == before && w.now.since(measured) < AGAIN * 2 {
            w.run(10_000);
        }
        pauses.push(w.now.since(measured).as_secs() / 60);
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
}

fn losses(times: u32) -> HostReport {
    HostReport {
        link_losses: BTreeMap::from([("eth0".to_owned(), times)]),
        ..report(5)
    }
}
