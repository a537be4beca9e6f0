//! An inventory that lists no switch: the agents of the hosts tell which network they share.
use super::mapping::report;
use super::*;

/// Hosts with agents that measure, and nobody else.
fn hosts_alone(hosts: u8) -> SimulatedCluster {
    let names: Vec<String> = (0..hosts).map(|n| format!("n{n}")).collect();
    let mut w = SimulatedCluster::new(&[], &format!("[{}]", names.join(", ")));
    w.allow("{}");
    w.start(None);
    for n in 0..hosts {
        w.reports(n, true);
    }
    w.run(3_000);
    w
}

fn measured() -> SimulatedCluster {
    let mut w = hosts_alone(5);
    w.order(1);
    w.measured(&["n3", "n4"]);
    w
}

impl SimulatedCluster {
    /// Takes another inventory.
    fn takes(&mut self, text: &str) {
        self.inventory = Inventory::parse("i.yaml", text).unwrap();
        let inventory = Box::new(self.inventory.clone());
        self.event(ControllerEvent::InventoryChanged(inventory));
    }

    fn agent_falls_silent(&mut self, host: &str) {
        let fact = DeviceFact::Failed {
            table: None,
            problem: "no report for 11 s".into(),
            refused: None,
        };
        self.event(ControllerEvent::Observed(Observation {
            at: self.now,
            reporter: host.into(),
            source: ObservationSource::Agent,
            fact,
        }));
    }
}

/// A controller that starts anew with what the old one published and measured.
fn restarted(old: &SimulatedCluster) -> SimulatedCluster {
    let order = old.published.last().unwrap().clone();
    let hosts: Vec<&str> = old.inventory.hosts.keys().map(String::as_str).collect();
    let mut w = SimulatedCluster::new(&[], &format!("[{}]", hosts.join(", ")));
    w.allow("{}");
    w.event(ControllerEvent::Started {
        current: Some(StoredEpoch {
            number: order.number,
            network: order.network,
            file: order.file,
        }),
        highest: order.number,
        epochs: Vec::new(),
        problem: None,
        learned: Default::default(),
        mapped: (*old.mapped).clone(),
    });
    w
}

#[test]
fn hosts_of_one_network_are_published_on_one_bridge_and_measured() {
    let mut w = hosts_alone(5);
    assert_eq!(
        (w.published.len(), w.places()),
        (1, vec!["net-10.77.0.0-24"; 5])
    );
    let addresses: Vec<_> = w.published[0]
        .file
        .hosts
        .values()
        .map(|h| h.address)
        .collect();
    assert_eq!(addresses[4], Some("10.77.0.14".parse().unwrap()));
    assert!(
        w.alarmed("network 10.77.0.0/24: the inventory lists no switch"),
        "{:#?}",
        w.logged
    );
    w.order(1);
    let order = w.mapping.last().expect("a measurement");
    assert_eq!((order.inside.len(), order.beside.len()), (5, 0));
    w.measured(&["n3", "n4"]);
    let [near, far] = ["net-10.77.0.0-24", "net-10.77.0.0-24-1"];
    assert_eq!(w.places(), [near, near, near, far, far]);
    assert!(
        !w.alarmed("the inventory lists no switch"),
        "{:#?}",
        w.logged
    );
}

#[test]
fn the_first_epoch_waits_for_agents_that_are_late() {
    let mut w = SimulatedCluster::new(&[], "[n0, n1, n2]");
    w.allow("{}");
    w.start(None);
    w.reports(0, true);
    w.reports(1, true);
    w.run(3_000);
    assert!(w.published.is_empty(), "{:#?}", w.logged);
    w.reports(2, true);
    w.run(3_000);
    assert_eq!(w.places().len(), 3, "{:#?}", w.logged);
}

#[test]
fn a_host_whose_card_is_down_is_dropped_and_one_whose_agent_is_silent_stays() {
    let mut w = hosts_alone(4);
    w.order(1);
    w.measured(&["n2", "n3"]);
    let measured = w.published.len();
    w.agent_falls_silent("n0");
    w.run(100_000);
    assert_eq!(w.published.len(), measured, "{:#?}", w.logged);
    let mut down = report(3);
    down.nics[0].up = false;
    w.tells(down);
    w.run(5_000);
    let why = "its card there is down, so it is dropped 30 s";
    assert!(w.alarmed(why), "{:#?}", w.logged);
    w.run(60_000);
    let hosts = w.published.last().unwrap().file.hosts.keys();
    assert!(hosts.eq(["n0", "n1", "n2"]), "{:#?}", w.logged);
}

#[test]
fn after_a_restart_the_tree_stays_while_agents_are_missing() {
    let mut w = restarted(&measured());
    // Those on the bridge of the way in come last.
    for n in [3, 4, 0, 1] {
        w.reports(n, true);
        w.run(2_000);
    }
    w.run(40_000);
    assert!(!w.alarmed("tree"), "{:#?}", w.logged);
    w.reports(2, true);
    w.run(100_000);
    assert!(w.published.is_empty(), "{:#?}", w.logged);
}

#[test]
fn a_published_tree_stays_where_no_agent_reports() {
    let mut w = restarted(&measured());
    w.run(200_000);
    let hosts = "hosts: [n0, n1, n2, n3, n4]";
    w.takes(&format!("switches: {{}}\n{hosts}"));
    w.run(200_000);
    assert!(w.published.is_empty(), "{:#?}", w.logged);
    let alarms = w.alarms();
    assert!(alarms.is_empty(), "{alarms:#?}");
}

#[test]
fn without_agents_nothing_is_published_and_it_says_why() {
    let mut w = SimulatedCluster::new(&[], "[n0, n1, n2]");
    w.start(None);
    w.run(5_000);
    assert!(w.alarms().is_empty());
    w.run(200_000);
    let alarm = "host \"n1\": seen nowhere: no agent reports";
    assert!(w.alarmed(alarm), "{:#?}", w.alarms());
    assert!(w.published.is_empty());
}

#[test]
fn with_a_host_down_the_tree_outlives_a_restart() {
    for down in [0, 4] {
        let mut w = restarted(&measured());
        for n in (0..5).filter(|n| *n != down) {
            w.reports(n, true);
        }
        w.run(300_000);
        assert!(w.published.is_empty(), "{down}: {:#?}", w.logged);
        assert!(!w.alarmed("tree"), "{down}: {:#?}", w.logged);
        w.reports(down, true);
        w.run(20_000);
        assert!(w.published.is_empty(), "{down}: {:#?}", w.logged);
        assert!(w.alarms().is_empty());
    }
}

#[test]
fn a_card_that_is_down_for_a_moment_changes_no_tree() {
    let mut w = measured();
    let before = w.published.len();
    for n in [0, 3, 4] {
        let mut down = report(n);
        down.nics[0].up = false;
        w.tells(down);
        w.run(3_000);
        w.reports(n, true);
        w.run(5_000);
    }
    assert_eq!(w.published.len(), before, "{:#?}", w.logged);
}

#[test]
fn when_all_agents_are_silent_it_is_reported() {
    let mut w = measured();
    let alarm = "no agent reports any more";
    for n in 0..5 {
        assert!(!w.alarmed(alarm));
        w.agent_falls_silent(&format!("n{n}"));
    }
    w.run(10_000);
    assert!(w.alarmed(alarm), "{:#?}", w.logged);
    w.reports(2, true);
    w.run(1_000);
    assert!(!w.alarmed(alarm), "{:#?}", w.logged);
}

#[test]
fn none_listed_for_a_while_and_a_silent_switch_lose_no_host() {
    let hosts = "hosts: [n0, n1, n2]";
    let mut w = two_switches();
    w.start(None);
    w.run(3_000);
    for n in 0..3 {
        w.reports(n, true);
    }
    w.run(3_000);
    w.takes(&format!("switches: {{}}\n{hosts}"));
    w.run(20_000);
    w.mute("s1");
    let both = "switches: {s0: {address: 10.0.0.1}, s1: {address: 10.0.0.2}}\nsnmp: {default: \
                {version: 2c, community: c}}";
    w.takes(&format!("{both}\n{hosts}"));
    w.run(200_000);
    let left = w.published.last().unwrap().file.hosts.len();
    assert_eq!(left, 3, "{:#?}", w.logged);
}
