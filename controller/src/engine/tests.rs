//! The engine in virtual time, on a network that answers as real agents do.
mod agents;
mod announced_switches;
mod epochs;
mod flapping;
mod learning;
mod mapping;
mod mapping_hosts;
mod moved_cables;
mod moves;
mod no_switches;
mod rollback;
mod world;

use super::*;
use inventory::observation::StpState;
use std::time::Duration;
use world::SimulatedCluster;

/// The tree of `s0-s1` with n0 on s0, n1 and n2 on s1, and a host's port to move to on s0.
fn two_switches() -> SimulatedCluster {
    let mut w = SimulatedCluster::new(&["s0", "s1"], "[n0, n1, n2]");
    w.cable("s0", 9, "s1", 9);
    w.host("n0", "s0", 1);
    w.host("n1", "s1", 1);
    w.host("n2", "s1", 2);
    w
}

/// The same tree, with epoch 1 published.
fn running() -> SimulatedCluster {
    let mut w = two_switches();
    w.start(None);
    w.run(3_000);
    assert_eq!(w.published.len(), 1, "{:#?}", w.logged);
    w
}

#[test]
fn the_first_look_is_published_once_and_then_nothing() {
    let mut w = running();
    assert_eq!(w.published[0].number, 1);
    assert_eq!(w.place("n2"), "s1");
    w.run(300_000);
    assert_eq!(w.published.len(), 1);
    assert_eq!(w.alarms(), []);
}

#[test]
fn the_first_epoch_waits_for_hosts_that_are_not_seen_yet_but_not_for_ever() {
    let mut w = two_switches();
    w.unplug("s1", 2);
    w.start(None);
    w.run(9_000);
    assert_eq!(w.published.len(), 0);
    w.run(3_000);
    assert_eq!(
        w.published[0].file.hosts.keys().collect::<Vec<_>>(),
        ["n0", "n1"]
    );
    assert!(w.alarmed("host \"n2\": seen nowhere"));
}

#[test]
fn a_move_is_one_epoch_once_the_new_port_forwards() {
    let mut w = running();
    w.unplug("s1", 2);
    w.run(300);
    w.host("n2", "s0", 2);
    w.stp("s0", 2, StpState::Listening);
    w.run(2_000);
    w.stp("s0", 2, StpState::Learning);
    w.run(2_000);
    assert_eq!(
        w.published.len(),
        1,
        "nothing while the new port does not forward"
    );
    assert!(
        w.alarmed("on its way, epoch 1 keeps it on \"s1\""),
        "{:?}",
        w.alarms()
    );
    let forwards = w.now;
    w.stp("s0", 2, StpState::Forwarding);
    w.run(2_000);
    assert_eq!(w.published.len(), 2);
    assert_eq!((w.published[1].number, w.place("n2")), (2, "s0"));
    let epoch = w.engine.snapshot(w.now).epochs.pop().unwrap();
    assert!(
        epoch.at.since(forwards).as_millis() <= 500 + 500 + 100,
        "poll, hold-down and a little: {:?}",
        epoch.at.since(forwards)
    );
    assert_eq!(
        epoch.changes,
        ["n2 moved from s1 port swp2 to s0 port swp2"]
    );
    let s = epoch.stages;
    let order = [
        Some(Duration::ZERO),
        s.inferred,
        s.believed,
        s.planned,
        s.published,
    ];
    assert!(order.is_sorted() && !order.contains(&None), "{s:?}");
    assert_eq!(w.alarms(), []);
}

#[test]
fn of_two_networks_the_faster_one_is_published_and_stays_so() {
    let mut w = two_switches();
    w.switch("m1");
    for (host, port) in [("n0", 1), ("n1", 2), ("n2", 3)] {
        w.second_card(host, "m1", port);
    }
    w.start(None);
    w.run(3_000);
    assert_eq!(
        (w.published.len(), w.place("n2")),
        (1, "s1"),
        "{:#?}",
        w.logged
    );
    let snapshot = w.engine.snapshot(w.now);
    let networks = &snapshot.topology.networks;
    assert_eq!(
        networks.iter().map(|n| n.hosts.len()).collect::<Vec<_>>(),
        [3, 3]
    );
    assert_eq!(snapshot.alarms, []);
    w.unplug("s1", 2);
    w.run(3_000);
    assert_eq!(w.published.len(), 1);
    assert!(w.alarmed("host \"n2\""), "{:?}", w.alarms());
    w.host("n2", "s0", 2);
    w.run(3_000);
    assert_eq!((w.published.len(), w.place("n2")), (2, "s0"));
}

#[test]
fn an_epoch_has_the_tree_of_each_network() {
    let mut w = two_switches();
    w.switch("m1");
    w.switch("m2");
    w.cable("m1", 9, "m2", 9);
    for (host, port) in [("n0", 1), ("n1", 2), ("n2", 3)] {
        w.second_card(host, "m1", port);
    }
    w.start(None);
    w.run(3_000);
    assert_eq!(management_switch(&w, "n2"), "m1", "{:#?}", w.logged);
    // Nobody sees it: it stays.
    w.unplug("m1", 3);
    w.run(10_000);
    assert_eq!(w.published.len(), 1);
    w.second_card("n2", "m2", 1);
    w.run(3_000);
    assert_eq!((w.published.len(), w.place("n2")), (2, "s1"));
    assert_eq!(management_switch(&w, "n2"), "m2");
    let epoch = w.engine.snapshot(w.now).epochs.pop().unwrap();
    assert_eq!(epoch.changes, ["network m1: n2 from m1 to m2"]);
    // A port of which nobody says whether it forwards: the tree stays, with an alarm.
    w.stp("m1", 9, StpState::Listening);
    w.run(10_000);
    assert_eq!(w.published.len(), 2);
    let line = "network m1: there is no complete tree to plan on: ";
    let alarms = w.alarms();
    let alarm = alarms.iter().find(|alarm| alarm.text.starts_with(line));
    assert!(
        alarm.is_some_and(|alarm| alarm.text.ends_with("; its tree of epoch 2 stays")),
        "{alarms:?}"
    );
    w.stp("m1", 9, StpState::Forwarding);
    w.host("n2", "s0", 2);
    w.unplug("s1", 2);
    w.run(3_000);
    assert_eq!((w.published.len(), w.place("n2")), (3, "s0"));
    assert_eq!(w.alarms(), []);
}

fn management_switch(w: &SimulatedCluster, host: &str) -> String {
    let file = &w.published.last().unwrap().file;
    let (_, network) = file.networks.first().unwrap();
    assert_eq!((network.hosts.len(), network.name.is_some()), (3, true));
    network.hosts[host].switch.clone()
}

#[test]
fn a_port_made_anew_is_not_taken_for_one_without_stp() {
    let mut w = running();
    w.unplug("s1", 2);
    w.run(1_000);
    w.host("n2", "s0", 2);
    w.remake("s0", 2);
    w.stp("s0", 2, StpState::Listening);
    w.run(10_000);
    assert_eq!(w.published.len(), 1);
    w.stp("s0", 2, StpState::Forwarding);
    w.run(2_000);
    assert_eq!((w.published.len(), w.place("n2")), (2, "s0"));
    w.remake("s0", 2);
    // The port is down, with two dead rows of its name, and LLDP still lists the neighbour.
    w.unplug_silently("s0", 2);
    w.run(20_000);
    assert_eq!(w.published.len(), 2);
}

#[test]
fn a_trap_is_quicker_than_the_poll() {
    assert!(published_after(true) < 1_000 && published_after(false) > 5_000);
}

fn published_after(trap: bool) -> u128 {
    let mut w = running();
    w.poll_every = 10_000;
    w.run(10_000);
    let begin = w.now;
    w.unplug("s1", 2);
    w.host("n2", "s0", 2);
    if trap {
        w.event(ControllerEvent::Trap {
            source: "10.0.0.1".parse().unwrap(),
            kind: TrapTopic::Lldp,
        });
        w.event(ControllerEvent::Trap {
            source: "10.0.0.1".parse().unwrap(),
            kind: TrapTopic::Link,
        });
        w.event(ControllerEvent::Trap {
            source: "10.0.0.2".parse().unwrap(),
            kind: TrapTopic::Link,
        });
    }
    w.run(20_000);
    w.engine
        .snapshot(w.now)
        .epochs
        .last()
        .unwrap()
        .at
        .since(begin)
        .as_millis()
}

#[test]
fn a_row_restored_within_the_same_tick_of_the_counter_is_seen() {
    let mut w = running();
    w.run(500 - w.now.0 % 500 + 10);
    w.lose_row("s1", 2);
    w.run(500); // The poll sees the counter move, and the table without the row.
    assert!(
        w.hears_at("s1").iter().all(|host| host != "n2"),
        "{:?}",
        w.hears_at("s1")
    );
    w.restore_row("s1", 2, "n2");
    w.run(1_100);
    assert!(
        w.hears_at("s1").iter().any(|host| host == "n2"),
        "{:?}",
        w.hears_at("s1")
    );
}

/// A journal may contain any time.
#[test]
fn no_moment_is_beyond_the_last_one() {
    let mut w = running();
    w.now = Millis(u64::MAX - 100);
    w.unplug("s1", 2);
    for _ in 0..3 {
        w.engine.handle(
            w.now,
            ControllerEvent::Trap {
                source: "10.0.0.1".parse().unwrap(),
                kind: TrapTopic::Lldp,
            },
        );
        w.engine.handle(w.now, ControllerEvent::Tick);
    }
    assert!(w.engine.deadline().is_some());
}

#[test]
fn clocks_that_jump_fire_nothing() {
    let mut w = running();
    // A device's uptime goes back: its SNMP agent restarted, or the counter wrapped.
    w.set_uptime_back("s1", 400_000);
    w.run(5_000);
    assert_eq!((w.published.len(), w.alarms()), (1, vec![]));
    // The machine slept for five hours: no switch was polled meanwhile, and none is stale.
    w.now.0 += 5 * 3_600_000;
    w.run(5_000);
    assert_eq!((w.published.len(), w.alarms()), (1, vec![]));
    // A job's clock is hours ahead, or behind: it runs, and its burst ends within the epoch's.
    for (n, hours) in [5 * 3_600_000_i64, -5 * 3_600_000].into_iter().enumerate() {
        let mut job = crate::jobs::tests::record(&format!("j{n}"), 1, 1, 1.0);
        let theirs = Millis(w.now.0.saturating_add_signed(hours));
        (job.started, job.updated, job.epoch_since) = (theirs, theirs, theirs);
        w.event(ControllerEvent::Job(job));
    }
    w.run(5_000);
    let snapshot = w.engine.snapshot(w.now);
    assert!(
        snapshot.jobs.iter().all(|j| j.running),
        "{:?}",
        snapshot.jobs
    );
    // A change is believed as before.
    w.unplug("s1", 2);
    w.host("n2", "s0", 2);
    w.run(2_000);
    assert_eq!((w.published.len(), w.place("n2")), (2, "s0"));
}

#[test]
fn a_switch_that_stops_answering_loses_nothing_and_is_named() {
    let mut w = running();
    w.mute("s1");
    w.run(200_000);
    assert_eq!(w.published.len(), 1);
    assert!(w.alarmed("switch \"s1\" is stale"), "{:?}", w.alarms());
    w.unmute("s1");
    w.run(5_000);
    assert_eq!((w.published.len(), w.alarms()), (1, vec![]));
}

#[test]
fn while_one_switch_is_silent_changes_elsewhere_are_published() {
    let mut w = two_switches();
    w.switch("s2");
    w.cable("s0", 8, "s2", 8);
    w.start(None);
    w.run(3_000);
    w.mute("s1");
    w.run(5_000);
    w.unplug("s0", 1);
    w.host("n0", "s2", 1);
    w.run(5_000);
    assert_eq!(
        (w.published.len(), w.place("n0"), w.place("n1")),
        (2, "s2", "s1")
    );
}

#[test]
fn a_slow_a_lying_and_a_dead_switch_delay_nobody() {
    let mut w = two_switches();
    for (switch, port) in [("s2", 8), ("s3", 7), ("s4", 6)] {
        w.switch(switch);
        w.cable("s0", port, switch, port);
    }
    w.cable("s0", 9, "s1", 9);
    w.start(None);
    w.run(3_000);
    assert_eq!(w.published.len(), 1, "{:#?}", w.logged);
    w.mute("s2");
    w.garble("s3", DeviceTable::Lldp);
    w.garble("s3", DeviceTable::Fdb);
    w.slow("s4", 400);
    // The moves cover all the times from one full read to the next.
    for n in 0..60_u32 {
        w.touch_lldp("s4");
        w.run(900);
        let (from, to) = if n % 2 == 0 {
            ("s1", "s0")
        } else {
            ("s0", "s1")
        };
        let port = 20 + n; // A new port each time: a cable that moves on does not flap.
        w.unplug(from, if n == 0 { 2 } else { 19 + n });
        w.host("n2", to, port);
        let moved = w.now;
        w.run(1_200);
        assert_eq!(
            (w.published.len(), w.place("n2")),
            (2 + n as usize, to),
            "move {n}: {:?}",
            w.alarms()
        );
        let published = w.engine.snapshot(w.now).epochs.last().unwrap().at;
        assert!(
            published.since(moved).as_millis() <= 1_100,
            "poll, hold-down and a little: {:?}",
            published.since(moved)
        );
    }
}

#[test]
fn a_switch_that_never_answered_is_waited_for_and_then_left_out() {
    let mut w = two_switches();
    w.switch("s2");
    w.cable("s0", 8, "s2", 8);
    w.mute("s2");
    w.start(None);
    w.run(9_000);
    assert_eq!(w.published.len(), 0);
    w.run(5_000);
    assert_eq!(w.published.len(), 1, "{:?}", w.alarms());
    assert!(w.alarmed("switch \"s2\" never answered"));
}

#[test]
fn a_trunk_on_its_way_keeps_the_epoch_and_raises_an_alarm() {
    let mut w = running();
    for state in [StpState::Blocking, StpState::Listening, StpState::Learning] {
        w.stp("s0", 9, state);
        w.run(10_000);
        assert_eq!(w.published.len(), 1);
        assert!(w.alarmed("no complete tree to plan on"), "{state:?}");
        assert!(w.alarmed("epoch 1 stays"));
    }
    w.stp("s0", 9, StpState::Forwarding);
    w.run(5_000);
    assert_eq!(
        (w.published.len(), w.alarms()),
        (1, vec![]),
        "the same tree again does not make an epoch"
    );
}

#[test]
fn a_failed_table_keeps_the_epoch() {
    let mut w = running();
    w.garble("s1", DeviceTable::Lldp);
    w.touch_lldp("s1");
    w.run(100_000);
    assert_eq!(w.published.len(), 1);
    assert!(w.alarmed("table lldp"), "{:?}", w.alarms());
}

#[test]
fn a_host_unplugged_for_good_is_dropped_later_and_one_that_comes_back_is_not() {
    let mut w = running();
    w.unplug("s1", 2);
    w.run(20_000);
    w.host("n2", "s1", 2);
    w.run(20_000);
    assert_eq!(w.published.len(), 1);
    w.unplug("s1", 2);
    w.run(29_000);
    assert_eq!(w.published.len(), 1);
    w.run(5_000);
    assert_eq!(w.published.len(), 2);
    assert_eq!(
        w.published[1].file.hosts.keys().collect::<Vec<_>>(),
        ["n0", "n1"]
    );
}

#[test]
fn a_host_in_two_places_keeps_its_place_and_raises_an_alarm() {
    let mut w = running();
    w.host("n2", "s0", 2); // It is still on s1, too.
    w.run(60_000);
    assert_eq!((w.published.len(), w.place("n2")), (1, "s1"));
    assert!(w.alarmed("ambiguous"), "{:?}", w.alarms());
}

#[test]
fn traps_of_a_stranger_make_a_message_now_and_then_and_no_alarm() {
    let mut w = running();
    for minute in 1..=3 {
        for n in 0..100 {
            w.event(ControllerEvent::Trap {
                source: [192, 0, 2, n].into(),
                kind: TrapTopic::Link,
            });
            w.run(600);
        }
        let lines = w
            .logged
            .iter()
            .filter(|text| text.contains("is not a switch of the inventory"))
            .count();
        assert_eq!((lines, w.alarms()), (minute, vec![]));
    }
}

#[test]
fn an_inventory_that_changed_is_looked_at_anew() {
    let mut w = running();
    w.host("n9", "s0", 3);
    w.run(10_000);
    assert_eq!(w.published.len(), 1);
    let inventory = SimulatedCluster::new(&["s0", "s1"], "[n0, n1, n9]").inventory;
    w.event(ControllerEvent::InventoryChanged(Box::new(inventory)));
    w.run(5_000);
    assert_eq!(
        w.published[1].file.hosts.keys().collect::<Vec<_>>(),
        ["n0", "n1", "n9"]
    );
}

#[test]
fn traps_come_from_where_the_name_of_a_switch_was_looked_up() {
    let mut w = running();
    let mut inventory = w.inventory.clone();
    inventory.switches["s0"].address = "leaf1.example.org".parse().unwrap();
    w.event(ControllerEvent::InventoryChanged(Box::new(inventory)));
    w.run(1_000);
    let source = "10.0.0.77".parse().unwrap();
    assert!(!trap_is_followed(&mut w, source), "a stranger so far");
    w.event(ControllerEvent::LookedUp {
        switch: "s0".into(),
        address: source,
    });
    assert!(trap_is_followed(&mut w, source));
    let shown = &w.engine.snapshot(w.now).switches[0].address;
    assert_eq!(shown, "leaf1.example.org:161 (10.0.0.77)");
    let replayed = ControllerEngine::resume_from(w.engine.header());
    assert_eq!(&replayed.snapshot(w.now).switches[0].address, shown);
}

fn trap_is_followed(w: &mut SimulatedCluster, source: std::net::IpAddr) -> bool {
    let trap = ControllerEvent::Trap {
        source,
        kind: TrapTopic::Link,
    };
    let effects = w.engine.handle(w.now, trap);
    effects
        .iter()
        .any(|e| matches!(e, ControllerEffect::Read { switch, .. } if switch == "s0"))
}

#[test]
fn loads_are_measured_and_planned() {
    let mut w = running();
    w.traffic("s1", 1, 125_000); // One megabit per second, from s1 to n1.
    w.run(10_000);
    let snapshot = w.engine.snapshot(w.now);
    assert_eq!(snapshot.loads.len(), snapshot.topology.links.len());
    assert_eq!(
        load("s1", "n1", &snapshot).a_to_b,
        Some(inventory::BitsPerSec(1_000_000))
    );
    assert_eq!(
        load("s0", "n0", &snapshot).a_to_b,
        Some(inventory::BitsPerSec(0))
    );
    assert_eq!(
        (
            load("s0", "s1", &snapshot).aapc_load,
            load("s1", "n1", &snapshot).aapc_load
        ),
        (2, 2)
    );
    assert!(
        load("s0", "s1", &snapshot).bottleneck
            && !snapshot.switches[1].root_bridge
            && snapshot.switches[0].root_bridge
    );
}

fn load<'a>(a: &str, b: &str, snapshot: &'a api::Snapshot) -> &'a api::LinkLoad {
    snapshot
        .loads
        .iter()
        .find(|l| l.a == a && l.b == b)
        .unwrap()
}
